"""The network's picture is readable at every size: names, boxes, edges, zoom."""

import pytest

from explorer import load

FONTS = ["DejaVu Sans", "Liberation Sans", "Noto Sans"]

# Every name of the picture: its letters' height on the screen, and whether it is in its box.
NAMES = """() => {
  const frame = document.querySelector('#graph'), scale = frame.querySelector(':scope > svg').getBoundingClientRect().width / frame.querySelector(':scope > svg').width.baseVal.value;
  const inside = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  return [...frame.querySelectorAll('.node')].filter(n => getComputedStyle(n.querySelector('.name')).display !== 'none').map(node => {
    const name = node.querySelector('.name'), box = node.querySelector('.box:not(.shadow)').getBoundingClientRect();
    const texts = [...node.querySelectorAll('text')].filter(t => t.textContent && getComputedStyle(t).display !== 'none');
    return { name: node.dataset.name, shown: name.textContent, size: scale * parseFloat(getComputedStyle(name).fontSize),
             inside: texts.every(t => inside(t.getBoundingClientRect(), box)) };
  });
}"""


def use_font(page, font):
    """Shows the page in a font, if it is there."""
    page.evaluate("font => document.documentElement.style.setProperty('--sans', `'${font}'`)", font)
    is_there = page.evaluate(
        "font => { const c = document.createElement('canvas').getContext('2d');"
        " const wide = f => { c.font = `40px ${f}`; return c.measureText('Wimple 089').width; };"
        " return ['monospace', 'serif'].every(other => wide(`'${font}', ${other}`) === wide(`'${font}'`) || wide(`'${font}', ${other}`) !== wide(other)); }",
        font,
    )
    if not is_there:
        pytest.skip(f"{font} is not installed")


def values(page, are_shown):
    page.evaluate("on => { const box = document.querySelector('#cards'); box.checked = on; box.dispatchEvent(new Event('change')); }", are_shown)
    page.wait_for_timeout(200)


@pytest.mark.parametrize("font", FONTS)
def test_all_names_of_alarm_are_readable_at_fit(watched, explore, screenshot, font):
    page = watched.page(viewport={"width": 1400, "height": 900})
    load(page, explore("models/alarm.bif.gz", "--effort", "0.1"))
    use_font(page, font)
    values(page, False)
    names = page.evaluate(NAMES)
    assert len(names) == 37
    assert [n for n in names if n["shown"] != n["name"] or n["size"] < 10 or not n["inside"]] == []
    screenshot(page, f"alarm-{font.split()[0].lower()}")


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize("are_shown", [True, False])
def test_no_label_is_outside_of_its_box(watched, explore, font, are_shown):
    page = watched.page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    load(page, explore("models/win95pts.bif.gz", "--effort", "0.1"))
    use_font(page, font)
    values(page, are_shown)
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").first.click()
    page.wait_for_timeout(200)
    names = page.evaluate(NAMES)
    assert len(names) == 76 and [n["name"] for n in names if not n["inside"]] == []


# Pairs of an edge and a card that it runs through.
THROUGH = """() => {
  const cards = [...document.querySelectorAll('.node')].map(node => {
    const { e: x, f: y } = node.transform.baseVal.consolidate().matrix, box = node.querySelector('.box:not(.shadow)');
    return [x + 2, y + 2, x + box.width.baseVal.value - 2, y + box.height.baseVal.value - 2];
  });
  const line = document.querySelector('#graph .edge'), through = new Set();
  line.getAttribute('d').split(/(?=M)/).forEach((d, k) => {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', d);
    for (let at = 0, all = path.getTotalLength(); at < all; at += 3) {
      const { x, y } = path.getPointAtLength(at);
      cards.forEach(([left, top, right, bottom], i) => { if (x > left && x < right && y > top && y < bottom) through.add(`${k} ${i}`); });
    }
  });
  return through.size;
}"""


@pytest.mark.parametrize("model", ["asia", "models/alarm.bif.gz", "models/insurance.bif.gz", "models/hailfinder.bif.gz", "models/win95pts.bif.gz"])
def test_no_edge_runs_through_a_card(browser_page, explore, model):
    load(browser_page, explore(model, "--effort", "0.1"))
    assert browser_page.evaluate(THROUGH) == 0
    values(browser_page, True)
    assert browser_page.evaluate(THROUGH) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1400])
def test_a_large_network_has_names_that_do_not_overlap(watched, explore, screenshot, scheme, width):
    page = watched.page(viewport={"width": width, "height": 900 if width > 1000 else 800}, color_scheme=scheme, reduced_motion="reduce")
    page.goto(explore("models/munin1.bif.gz", "--effort", "0.1"))
    page.wait_for_selector("#graph .names span:not([hidden])")
    overlaps = """() => {
      const boxes = [...document.querySelectorAll('#graph .names span:not([hidden])')].map(s => s.getBoundingClientRect());
      const pairs = boxes.filter((a, i) => boxes.some((b, k) => k > i && a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
      return [boxes.length, pairs.length];
    }"""
    count, overlapping = page.evaluate(overlaps)
    assert overlapping == 0 and count >= (60 if width > 1000 else 20)
    screenshot(page, f"munin1-{width}-{scheme}")


def test_a_search_zooms_to_what_it_finds(watched, explore, screenshot):
    page = watched.page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    page.goto(explore("models/munin1.bif.gz", "--effort", "0.1"))
    page.wait_for_selector("#graph .names span:not([hidden])")
    page.fill("#search", "r_med_lat_wa")
    page.press("#search", "Enter")
    page.wait_for_timeout(200)
    found = next(n for n in page.evaluate(NAMES) if n["name"] == "R_MED_LAT_WA")
    box, frame = page.locator(".node[data-name=R_MED_LAT_WA]").bounding_box(), page.locator("#graph").bounding_box()
    assert found["size"] > 11.9 and found["shown"] == "R_MED_LAT_WA"
    assert abs(box["x"] + box["width"] / 2 - frame["x"] - frame["width"] / 2) < 2
    screenshot(page, "munin1-found")


def gates(count):
    """A chain of gates, each with a variable for its health."""
    text = ["network gates { }"]
    for i in range(count):
        text += [f"variable ok_{i} {{ type discrete [ 2 ] {{ yes, no }}; }}", f"variable {chr(97 + i % 26)}{'x' * (i // 26)} {{ type discrete [ 2 ] {{ t, f }}; }}"]
    for i in range(count):
        text.append(f"probability ( ok_{i} ) {{ table 0.9, 0.1; }}")
        name = lambda k: f"{chr(97 + k % 26)}{'x' * (k // 26)}"
        if i == 0:
            text.append("probability ( a | ok_0 ) { (yes) 0.5, 0.5; (no) 0.1, 0.9; }")
        else:
            text.append(f"probability ( {name(i)} | ok_{i}, {name(i - 1)} ) {{ (yes, t) 0.9, 0.1; (yes, f) 0.2, 0.8; (no, t) 0.5, 0.5; (no, f) 0.5, 0.5; }}")
    return "\n".join(text)


def test_a_folded_group_shows_its_edges_only_when_it_is_pointed_at(browser_page, explore, tmp_path, screenshot):
    page = browser_page
    (tmp_path / "gates.bif").write_text(gates(30))
    page.goto(explore(str(tmp_path / "gates.bif"), "--effort", "0.1"))
    page.wait_for_selector(".node.group")
    drawn = "selector => [...document.querySelectorAll(selector)].map(p => p.getAttribute('d').split('M').length - 1)[0] ?? 0"
    assert page.evaluate(drawn, "#graph .edges .edge") == 29
    assert page.evaluate(drawn, "#graph .near .edge") == 0
    page.locator(".node.group").hover()
    assert page.evaluate(drawn, "#graph .near .edge") == 30
    screenshot(page, "gates")
    page.mouse.move(5, 5)
    assert page.evaluate(drawn, "#graph .near .edge") == 0
    page.fill("#search", "ok_17")
    page.press("#search", "Enter")
    page.wait_for_selector(".node[data-name=ok_17].selected")
    assert page.locator(".node.group").count() == 0, "the group is unfolded for what was searched"
    box, frame = page.locator(".node[data-name=ok_17]").bounding_box(), page.locator("#graph").bounding_box()
    assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [420, 1400])
def test_alarm_with_evidence_an_explanation_and_a_table(watched, explore, screenshot, scheme, width):
    page = watched.page(viewport={"width": width, "height": 900 if width > 1000 else 800}, color_scheme=scheme, reduced_motion="reduce")
    load(page, explore("models/alarm.bif.gz", "--effort", "0.1") + "#model=models-alarm.bif.gz&g.HRBP=HIGH&g.CO=LOW")
    page.evaluate("document.querySelector('#explain').click()")
    page.wait_for_selector("#mpe:not([hidden])", state="attached")
    marked = page.eval_on_selector_all("#graph .node", "nodes => nodes.filter(n => n.querySelector('path.best')?.getAttribute('d')).length")
    assert marked == 37 and page.locator(".node.given").count() == 2
    screenshot(page, f"alarm-evidence-{width}-{scheme}")
    page.evaluate("document.querySelector('.node[data-name=BP] .box').dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    page.wait_for_selector("#table:not([hidden])")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    screenshot(page, f"alarm-table-{width}-{scheme}")
