"""Helpers for the tests of `sumout explore`."""

import subprocess

import pytest


class Explorer:
    """A running explorer."""

    def __init__(self, sumout, model, *options):
        command = [sumout, "explore", model, "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.url = self.process.stdout.readline().strip()

    def close(self):
        self.process.kill()
        self.process.wait()


def load(page, url):
    page.goto(url)
    page.wait_for_selector("#list .row[data-p]", state="attached")


def shown(page):
    """All posteriors that the list shows, as they came from the server."""
    rows = page.eval_on_selector_all(
        "#list .row[data-p]", "rows => rows.map(r => [r.dataset.variable, r.dataset.value, Number(r.dataset.p)])"
    )
    posteriors = {}
    for variable, value, p in rows:
        posteriors.setdefault(variable, {})[value] = p
    return posteriors


def same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for variable, values in theirs.items():
        assert ours[variable] == pytest.approx(values, abs=1e-12), variable


def row(page, variable, value):
    return page.locator(f"#list [data-variable='{variable}'][data-value='{value}']")


def settled(page, variable, value, text):
    page.wait_for_function(
        "([name, value, text]) => [...document.querySelectorAll('#list .row')].some(r => r.dataset.variable === name"
        " && r.dataset.value === value && r.querySelector('.number').textContent === text)",
        arg=[variable, value, text],
    )


def drop(page, name, content):
    """Drops a file on the page, as a hand does."""
    transfer = page.evaluate_handle(
        "([name, content]) => { const t = new DataTransfer(); t.items.add(new File([content], name)); return t; }", [name, content]
    )
    for event in ("dragenter", "dragover", "drop"):
        page.dispatch_event("body", event, {"dataTransfer": transfer})
