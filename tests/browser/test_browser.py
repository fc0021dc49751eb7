"""The test environment itself: what it is meant to catch, it catches."""

from conftest import PICTURES, Watched


def complaints(chromium, html):
    watched = Watched(chromium)
    page = watched.page()
    page.set_content(html)
    page.wait_for_timeout(200)
    return watched.close()


def test_a_quiet_page_has_no_complaints(chromium):
    assert complaints(chromium, "<p>hello</p><script>console.log('fine')</script>") == []


def test_console_errors_failed_scripts_and_requests_elsewhere_are_noticed(chromium):
    assert complaints(chromium, "<script>console.error('ouch')</script>") == ["console: ouch"]
    assert complaints(chromium, "<script>throw new Error('ouch')</script>") == ["script: ouch"]
    elsewhere = complaints(chromium, "<img src='https://example.org/x.png'>")
    assert "request to https://example.org/x.png" in elsewhere


def test_pictures_are_kept(browser_page, screenshot):
    browser_page.set_content("<h1>sumout</h1>")
    (PICTURES / "browser.png").unlink(missing_ok=True)
    screenshot(browser_page, "browser")
    assert (PICTURES / "browser.png").read_bytes().startswith(b"\x89PNG")
