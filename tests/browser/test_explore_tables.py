"""Tables in `sumout explore`: the rows that the evidence leaves, functions, edited numbers, undo, and the file."""

import json

import pytest

from explorer import load, row, same, settled, shown
from test_explore_pictures import violations


def opened(page, name):
    """Opens the table of a variable from the picture."""
    page.locator(f".node[data-name={name}] .name").click()
    page.wait_for_selector("#table:not([hidden])")


def cells(page):
    return page.eval_on_selector_all("#table-rows tr", "rows => rows.map(tr => [[...tr.querySelectorAll('th')].map(th => th.textContent), [...tr.querySelectorAll('input')].map(i => Number(i.value))])")


def lit(page):
    return page.eval_on_selector_all("#table-rows tr.lit", "rows => rows.map(tr => [...tr.querySelectorAll('th')].map(th => th.textContent))")


def test_a_click_opens_the_table_with_the_rows_that_evidence_leaves_lit(watched, explore, screenshot):
    page = watched.page(viewport={"width": 1400, "height": 900})
    load(page, explore("asia"))
    opened(page, "dysp")
    assert page.inner_text("#table-name") == "P(dysp | bronc, either)" and page.inner_text("#table-note") == "4 rows"
    assert page.locator("#table thead th").all_inner_texts() == ["bronc", "either", "yes", "no"]
    assert cells(page) == [[["yes", "yes"], [0.9, 0.1]], [["yes", "no"], [0.8, 0.2]], [["no", "yes"], [0.7, 0.3]], [["no", "no"], [0.1, 0.9]]]
    assert len(lit(page)) == 4 and page.locator("#table-rows.some").count() == 0
    row(page, "tub", "yes").click()
    settled(page, "either", "yes", "100 %")
    assert lit(page) == [["yes", "yes"], ["no", "yes"]], "tub implies either"
    assert page.locator("#table-rows.some").count() == 1
    covered = """() => { const [a, b] = ['#table', '.node.selected'].map(s => document.querySelector(s).getBoundingClientRect());
      return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom; }"""
    assert not page.evaluate(covered)
    screenshot(page, "table")
    page.locator(".node[data-name=xray] .name").click()
    page.wait_for_function("() => document.querySelector('#table-name').textContent === 'P(xray | either)'")
    assert not page.evaluate(covered), "a table does not cover its node"
    page.locator(".node[data-name=dysp] .name").click()
    page.wait_for_function("() => document.querySelector('#table-name').textContent === 'P(dysp | bronc, either)'")
    page.locator(".node[data-name=dysp] .name").click()
    assert page.locator("#table").is_hidden(), "a second click closes it"
    opened(page, "dysp")
    page.keyboard.press("3")
    assert page.locator("#table").is_hidden(), "it is of the network"
    page.keyboard.press("1")
    page.keyboard.press("t")
    page.wait_for_selector("#table:not([hidden])")
    page.keyboard.press("Escape")
    assert page.locator("#table").is_hidden() and page.locator(".node.selected").count() == 0


def test_a_function_is_shown_as_a_function(browser_page, explore):
    page = browser_page
    load(page, explore("asia"))
    opened(page, "either")
    assert page.inner_text("#table-note") == "a function of its parents, 4 rows"
    assert page.locator("#table thead th").all_inner_texts() == ["lung", "tub", "either"]
    assert page.eval_on_selector_all("#table-rows select", "all => all.map(s => s.selectedOptions[0].textContent)") == ["yes", "yes", "yes", "no"]


def test_an_edited_number_answers_at_once_and_can_be_undone_and_saved(browser_page, explore, cli, screenshot, tmp_path):
    page = browser_page
    load(page, explore("asia"))
    row(page, "xray", "yes").click()
    settled(page, "lung", "yes", "48.9 %")
    original = shown(page)
    opened(page, "lung")
    number = page.get_by_label("Probability of yes if smoke is yes")
    number.fill("30 %")
    number.press("Enter")
    page.wait_for_function("() => Math.abs(document.querySelector('#list [data-variable=lung][data-value=yes]').dataset.p - 0.489) > 0.05")
    assert cells(page)[0] == [["yes"], [0.3, 0.7]], "the rest of the row is shared"
    with page.expect_download() as download:
        page.get_by_role("link", name="Save network").click()
    saved = tmp_path / download.value.suggested_filename
    download.value.save_as(saved)
    assert saved.name.endswith("-changed.json") and json.loads(saved.read_text())
    same(shown(page), cli("query", str(saved), "--given", "xray=yes")["posteriors"])
    screenshot(page, "table-edited")
    page.get_by_label("Probability of no if smoke is no").fill("0.5")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#table-rows input')[2].value === '0.5'")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => document.querySelectorAll('#table-rows input')[2].value === '0.01'")
    page.wait_for_timeout(500)
    same(shown(page), cli("query", str(saved), "--given", "xray=yes")["posteriors"])
    page.get_by_role("button", name="Undo").click()
    settled(page, "lung", "yes", "48.9 %")
    same(shown(page), original)
    assert page.get_by_role("button", name="Undo").is_hidden()


def test_what_if_is_what_the_edited_network_answers(browser_page, explore, cli, screenshot, tmp_path):
    page = browser_page
    load(page, explore("asia") + "#model=asia&g.xray=yes&g.dysp=no")
    before = shown(page)
    opened(page, "lung")
    page.get_by_label("Probability of yes if smoke is yes").focus()
    page.get_by_role("button", name="What if").click()
    page.wait_for_selector("#whatif:not([hidden])")
    told = lambda: [text.rsplit(maxsplit=2) for text in page.locator("#whatif li").all_inner_texts()]
    assert len(told()) == 3 and told()[0][0] == "lung yes" and told()[0][1] == f"{100 * before['lung']['yes']:.1f}"
    assert page.locator("#whatif .curve").count() == 3
    page.locator("#whatif input").fill("0.62")
    promised = told()
    screenshot(page, "what-if")
    page.get_by_role("button", name="Use this number").click()
    page.wait_for_function("() => document.querySelector('#table-rows input').value === '0.62'")
    with page.expect_download() as download:
        page.get_by_role("link", name="Save network").click()
    download.value.save_as(tmp_path / "changed.json")
    answer = cli("query", str(tmp_path / "changed.json"), "--given", "xray=yes", "dysp=no")["posteriors"]
    assert abs(answer["lung"]["yes"] - before["lung"]["yes"]) > 0.1
    for who, number, _ in promised:
        name, value = who.split()
        assert number == f"{100 * answer[name][value]:.1f}", who


def test_a_number_that_is_no_probability_is_refused(browser_page, explore):
    page = browser_page
    load(page, explore("asia"))
    opened(page, "smoke")
    number = page.locator("#table-rows input").first
    for wrong in ("1.5", "-0.1", "x", ""):
        number.fill(wrong)
        number.press("Tab")
        page.wait_for_function("() => document.querySelector('#table-rows input').value === '0.5'")
    assert "from 0 to 1" in page.inner_text("#toast") and page.get_by_role("button", name="Undo").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tables_of_large_networks_on_narrow_screens(watched, explore, screenshot, scheme):
    page = watched.page(viewport={"width": 420, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    load(page, explore("models/alarm.bif.gz", "--effort", "0.1"))
    page.evaluate("document.querySelector('.node[data-name=CATECHOL] .box').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    page.wait_for_selector("#table:not([hidden])")
    box = page.locator("#table").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 420 and page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.inner_text("#table-note") == "54 rows" and page.locator("#table-rows tr").count() == 54
    assert violations(page) == []
    screenshot(page, f"table-narrow-{scheme}")
