"""A real browser for the tests: Chromium without a window, which reaches nothing but this machine.

`browser_page` is a page that fails its test if anything was written to the console as an error, if a script failed, or if
a request wanted to leave the machine. `sumout` is the command. `screenshot` keeps a picture in target/browser.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest
from playwright.sync_api import sync_playwright

from explorer import Explorer

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "target" / "browser"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def sumout():
    """The command under test."""
    return os.environ.get("SUMOUT", str(ROOT / "target" / "debug" / "sumout"))


@pytest.fixture(scope="session")
def chromium():
    """The browser, started once."""
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=next(filter(None, found)), args=FLAGS)
        yield browser
        browser.close()


def is_here(url):
    parts = urllib.parse.urlsplit(url)
    return parts.scheme in ("file", "data", "blob", "about") or parts.hostname in ("127.0.0.1", "localhost", "::1")


class Watched:
    """Makes pages, and remembers what went wrong on them."""

    def __init__(self, browser):
        self.browser, self.contexts, self.complaints, self.allowed = browser, [], [], []

    def page(self, **options):
        context = self.browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        self.contexts.append(context)
        context.route("**/*", self.route)
        page = context.new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and self.complaints.append(f"console: {m.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        return page

    def route(self, route):
        if is_here(route.request.url):
            route.continue_()
        else:
            self.complaints.append(f"request to {route.request.url}")
            route.abort()

    def allow(self, pattern):
        """Complaints that match are expected: a browser logs every answer that says 4xx."""
        self.allowed.append(pattern)

    def close(self):
        for context in self.contexts:
            context.close()
        return [c for c in self.complaints if not any(re.search(p, c) for p in self.allowed)]


@pytest.fixture
def watched(chromium):
    """Makes pages with options of their own: `watched.page(color_scheme="dark")`."""
    watched = Watched(chromium)
    yield watched
    assert watched.close() == []


@pytest.fixture
def browser_page(watched):
    """A page of 1280 by 800 pixels."""
    return watched.page()


@pytest.fixture
def screenshot():
    """Keeps a picture of a page: `screenshot(page, "asia")` writes target/browser/asia.png."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def keep(page, name, **options):
        page.screenshot(path=str(PICTURES / f"{name}.png"), **options)

    return keep


@pytest.fixture(scope="session")
def explore(sumout):
    """Starts explorers: `explore("asia")` is an address. They run until all tests are done, as pages may still ask."""
    running = {}

    def start(*arguments):
        if arguments not in running:
            running[arguments] = Explorer(sumout, *arguments)
        return running[arguments].url

    yield start
    for explorer in running.values():
        explorer.close()


@pytest.fixture
def cli(sumout):
    """The JSON answer of the command line."""

    def run(*arguments):
        done = subprocess.run([sumout, *arguments, "--json"], capture_output=True, text=True)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="session")
def python():
    """A Python that has the package, as `crates/sumout-py/test` makes it."""
    found = os.environ.get("SUMOUT_PYTHON", str(ROOT / "target" / "test-venv" / "bin" / "python"))
    if not shutil.which(found) or subprocess.run([found, "-c", "import sumout"], stderr=subprocess.DEVNULL).returncode:
        pytest.skip("no Python with the package: run crates/sumout-py/test first")
    return found
