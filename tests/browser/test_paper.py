"""The page of `sumout paper --html`: every table and every plot is there, and it needs nothing from elsewhere."""

import re
import subprocess

import pytest

ROWS = ["rect:8", "digits:8", "rect:10/default", "digits:10/default", "75/4", "5-10M"]
FIGURES = ["plot-ranks", "plot-accuracy", "plot-time", "samples-rectangles", "samples-digits"]


@pytest.fixture(scope="module")
def page_file(sumout, tmp_path_factory):
    """A small part of each table."""
    path = tmp_path_factory.mktemp("paper") / "page.html"
    options = ["--quick", "--effort", "0", "--runs", "2", "--row", *ROWS, "--html", str(path)]
    subprocess.run([sumout, "paper", *options], check=True, stdout=subprocess.DEVNULL)
    return path


def test_nothing_is_fetched_from_elsewhere(page_file):
    text = page_file.read_text()
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    assert "<script" not in text and "@import" not in text and "url(" not in text


def test_every_table_and_plot_is_there(page_file, browser_page, screenshot):
    browser_page.goto(page_file.as_uri())
    for number in range(1, 7):
        section = browser_page.locator(f"#table-{number}")
        assert section.locator("table").first.is_visible()
        assert section.locator("tbody tr").count() > 0
        assert section.locator("td.paper").count() > 0, "the paper's numbers stand beside ours"
        assert section.locator("li").count() > 0, "differences between text and program are named"
        assert section.locator("td", has_text="NaN").count() == 0
    for figure in FIGURES:
        assert browser_page.locator(f"#{figure} svg").first.is_visible()
    assert browser_page.locator("#plot-ranks .panels polyline").count() == 3
    assert browser_page.locator("#plot-accuracy .panels polygon").count() >= 2, "accuracies have bands"
    assert browser_page.locator("#plot-time .panels polyline").count() == 8
    assert browser_page.locator("#samples-digits li").count() == 7
    assert "NaN" not in page_file.read_text()
    facts = browser_page.locator(".facts").inner_text()
    assert all(word in facts for word in ["sumout", "seed", "machine"])
    screenshot(browser_page, "paper", full_page=True)


def test_dark_readers_get_a_dark_page(page_file, watched, screenshot):
    def background(scheme):
        page = watched.page(color_scheme=scheme)
        page.goto(page_file.as_uri())
        screenshot(page, f"paper-{scheme}", full_page=True)
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = ([int(x) for x in re.findall(r"\d+", background(scheme))] for scheme in ("light", "dark"))
    assert sum(dark) < sum(light) / 3


def test_a_narrow_screen_needs_no_scrolling_sideways(page_file, watched, screenshot):
    page = watched.page(viewport={"width": 390, "height": 800})
    page.goto(page_file.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    screenshot(page, "paper-narrow")


def test_testing_circuits_have_a_table_and_plots(sumout, browser_page, screenshot, tmp_path):
    path = tmp_path / "tac.html"
    options = ["tac", "--quick", "--row", "square", "hmm/0", "--html", str(path)]
    subprocess.run([sumout, "paper", *options], check=True, stdout=subprocess.DEVNULL)
    browser_page.goto(path.as_uri())
    assert browser_page.locator("#table-tac tbody tr").count() == 4
    assert browser_page.locator("#plot-tac svg[role=img]").count() == 2
    assert "NaN" not in path.read_text()
    screenshot(browser_page, "paper-tac", full_page=True)
