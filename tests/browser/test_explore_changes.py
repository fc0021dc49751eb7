"""Changes in `sumout explore`: bars of the prior or of a pinned state, what moved most, and orders of the list."""

import math

import pytest

from explorer import load, row, settled


def ghosts(page):
    """The outlined bars of the list: {(variable, value): probability}."""
    found = page.eval_on_selector_all(
        "#list .row .ghost:not([hidden])",
        "ghosts => ghosts.map(g => [g.closest('.row').dataset.variable, g.closest('.row').dataset.value, parseFloat(g.style.width) / 100])",
    )
    return {(variable, value): p for variable, value, p in found}


def expected(before, after):
    """Those that move by at least half a percent."""
    pairs = [(name, value) for name, values in after.items() for value in values]
    return {(n, v): pytest.approx(before[n][v], abs=1e-4) for n, v in pairs if abs(before[n][v] - after[n][v]) >= 0.005}


def distance(before, after, name):
    return sum(abs(before[name][value] - p) for value, p in after[name].items()) / 2


def moved(page):
    return [text.split()[0] for text in page.locator("#moved-list .moved").all_inner_texts()]


@pytest.mark.parametrize("begin", ["", "#model=asia&g.xray=yes"])
def test_what_moved_since_no_evidence_is_outlined_and_listed(watched, explore, cli, screenshot, begin):
    page = watched.page(viewport={"width": 1400, "height": 1000})
    load(page, explore("asia") + begin)
    before, after = cli("query", "asia")["posteriors"], cli("query", "asia", "--given", "xray=yes")["posteriors"]
    if not begin:
        assert ghosts(page) == {} and page.locator("#moved").is_hidden()
        place = row(page, "xray", "yes").bounding_box()
        row(page, "xray", "yes").click()
    page.wait_for_selector("#moved:not([hidden])")
    assert ghosts(page) == expected(before, after)
    far = sorted((n for n in after if n != "xray"), key=lambda n: -distance(before, after, n))
    assert moved(page) == far[:5]
    assert page.locator("#moved-list .moved").first.inner_text().split() == "either yes 6.5 % → 57.6 % ▲".split()
    if not begin:
        assert row(page, "xray", "yes").bounding_box() == place, "a value stays under the pointer when it is clicked"
    assert page.locator("#graph .node[data-name=lung] .ghost").first.get_attribute("width") == f"{50 * before['lung']['yes']:.1f}"
    screenshot(page, "changes")
    page.locator("#moved-list .moved").first.click()
    assert page.locator(".node.selected").get_attribute("data-name") == "either"


def test_a_pinned_state_is_compared_with(browser_page, explore, cli):
    page = browser_page
    load(page, explore("asia"))
    row(page, "xray", "yes").click()
    settled(page, "lung", "yes", "48.9 %")
    page.get_by_role("button", name="Pin", exact=True).click()
    assert ghosts(page) == {} and page.eval_on_selector("#base", "s => s.selectedOptions[0].textContent") == "pinned: xray = yes"
    row(page, "dysp", "no").click()
    settled(page, "lung", "yes", "25.2 %")
    pinned = cli("query", "asia", "--given", "xray=yes")["posteriors"]
    assert ghosts(page) == expected(pinned, cli("query", "asia", "--given", "xray=yes", "dysp=no")["posteriors"])
    page.select_option("#base", "none")
    assert ghosts(page) == {} and page.locator("#moved").is_hidden()
    page.select_option("#base", "prior")
    assert ghosts(page) != {}


def test_the_list_is_sorted_in_many_ways(browser_page, explore, cli):
    page = browser_page
    load(page, explore("asia"))
    row(page, "xray", "yes").click()
    settled(page, "lung", "yes", "48.9 %")
    before, after = cli("query", "asia")["posteriors"], cli("query", "asia", "--given", "xray=yes")["posteriors"]
    entropy = lambda name: -sum(p * math.log2(p) for p in after[name].values() if p > 0)
    orders = {
        "name": sorted(after),
        "change": sorted(after, key=lambda n: -distance(before, after, n)),
        "entropy": sorted(after, key=lambda n: -entropy(n)),
        "=yes": sorted(after, key=lambda n: -after[n]["yes"]),
        "": list(after),
    }
    listed = lambda: page.eval_on_selector_all("#list .card", "cards => cards.map(card => card.dataset.name)")
    for order, names in orders.items():
        page.select_option("#sort", order)
        assert listed() == names, order
    page.select_option("#sort", "=no")
    row(page, "smoke", "no").focus()
    page.keyboard.press("Enter")
    settled(page, "smoke", "no", "100 %")
    after = cli("query", "asia", "--given", "xray=yes", "smoke=no")["posteriors"]
    page.wait_for_function("() => document.querySelector('#list .card').dataset.name === 'smoke'")
    assert listed() == sorted(after, key=lambda n: -after[n]["no"])
    assert page.evaluate("document.activeElement.dataset.variable") == "smoke", "the focus moves along"
