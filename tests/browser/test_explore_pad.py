"""The drawing pad of `sumout explore`."""

import subprocess

import pytest

from explorer import load, shown


def digit(sumout, wanted):
    """The pixels of a clean image of a digit."""
    text = subprocess.run([sumout, "data", "digits:10", "--clean"], capture_output=True, text=True, check=True).stdout
    names, *rows = [line.split(",") for line in text.splitlines()]
    image = next(row for row in rows if row[-1] == f"v{wanted}")
    return {name for name, value in zip(names, image) if name.startswith("p_") and value == "t"}


@pytest.mark.parametrize("wanted", [2, 7])
def test_a_painted_digit_wins(browser_page, explore, cli, sumout, screenshot, wanted):
    page = browser_page
    load(page, explore("digits:10"))
    page.get_by_role("tab", name="Paint").click()
    box = page.locator("#pad").bounding_box()
    side = box["width"] / 10
    on = digit(sumout, wanted)
    for name in sorted(on):
        i, j = map(int, name.split("_")[1:])
        page.mouse.click(box["x"] + (j + 0.5) * side, box["y"] + (i + 0.5) * side)
    page.get_by_role("button", name="Set the rest to off").click()
    winner = page.locator("#pad-target .row.winner .value")
    winner.wait_for()
    page.wait_for_function("() => document.querySelectorAll('#chips .chip').length === 1")
    assert winner.inner_text() == str(wanted)
    screenshot(page, f"digit-{wanted}")
    given = [f"{name}={'t' if name in on else 'f'}" for name in (f"p_{i}_{j}" for i in range(10) for j in range(10))]
    expected = cli("query", "digits:10", "d", "--given", *given)["posteriors"]["d"]
    page.wait_for_function(f"() => Math.abs(document.querySelector('#list [data-variable=d][data-value=v{wanted}]').dataset.p - {expected[f'v{wanted}']}) < 1e-9")
    assert shown(page)["d"] == pytest.approx(expected, abs=1e-9)


def test_a_stroke_leaves_no_gaps_and_a_pad_has_keys(browser_page, explore):
    page = browser_page
    load(page, explore("rect:8"))
    page.keyboard.press("4")
    box = page.locator("#pad").bounding_box()
    side = box["width"] / 8
    at = lambda i, j: (box["x"] + (j + 0.5) * side, box["y"] + (i + 0.5) * side)
    page.mouse.move(*at(2, 1))
    page.mouse.down()
    page.mouse.move(*at(2, 6))
    page.mouse.up()
    page.wait_for_function("() => document.querySelectorAll('#pad .ink.known').length === 6")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("0")
    page.wait_for_function("() => document.querySelectorAll('#pad .ink.known').length === 7")
    page.wait_for_function("() => location.hash.includes('g.pixel_3_6=f')")


def test_in_a_low_window_the_pixel_under_the_pointer_is_painted(watched, explore):
    page = watched.page(viewport={"width": 1280, "height": 480})
    load(page, explore("rect:8"))
    page.keyboard.press("4")
    for cell in (0, 29, 63):
        box = page.locator("#pad .ground").nth(cell).bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => document.querySelectorAll('#pad .ink.known').length === 3")
    assert page.inner_text("#chips").split("\n") == ["pixel_0_0 = t ×", "pixel_3_5 = t ×", "pixel_7_7 = t ×"]
