"""The HTML for notebooks: well-formed, complete, and safe whatever the names are."""

import base64
import io
import itertools
import json
import re
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

import numpy as np
import pytest
import sumout
from sumout import _draw, _progress
from sumout._progress import Bar

MODELS = Path(__file__).resolve().parents[3] / "models"


def svgs(html):
    """All pictures, be they part of the page or images in it."""
    html += "".join(base64.b64decode(data).decode() for data in re.findall(r"image/svg\+xml;base64,([^']*)'", html))
    parts = html.split("<svg")[1:]
    return [tree.fromstring("<svg" + part[: part.index("</svg>") + 6]) for part in parts]


def texts(svg):
    return ["".join(node.itertext()) for node in svg.iter() if node.tag.endswith("text")]


def rects(svg):
    return [node for node in svg.iter() if node.tag.endswith("rect")]


def test_networks_are_drawn(asia):
    (svg,) = svgs(asia._repr_html_())
    assert set(texts(svg)) == set(asia.variables)
    edges = [node for node in svg.iter() if node.tag.endswith("path") and "marker-end" in node.attrib]
    assert len(edges) == sum(len(asia.parents(name)) for name in asia) == 8
    assert len(rects(svg)) == len(asia) + 1  # the function has a double frame
    place = {text.text: float(text.attrib["y"]) for text in svg.iter() if text.tag.endswith("text")}
    assert all(place[parent] < place[name] for name in asia for parent in asia.parents(name))
    assert svgs(sumout.read("rect:10")._repr_html_()) == [] and "125" in sumout.read("rect:10")._repr_html_()


def test_no_edge_goes_through_a_variable():
    """Long edges bend around what is in between."""
    net = sumout.read(MODELS / "alarm.bif.gz")
    (svg,) = svgs(net._repr_html_())
    boxes = [tuple(float(rect.attrib[key]) for key in ("x", "y", "width", "height")) for rect in rects(svg)]
    paths = [node.attrib["d"] for node in svg.iter() if node.tag.endswith("path") and "marker-end" in node.attrib]
    assert len(boxes) == 37 and len(paths) == 46
    for path in paths:
        for x, y1, y2 in straight(path):
            assert not [box for box in boxes if box[0] < x < box[0] + box[2] and y1 < box[1] + 13 < y2], path
    for (x, y, wide, _), (other, at, _, _) in itertools.combinations(sorted(boxes), 2):
        assert y != at or x + wide < other


def straight(path):
    """Where a path goes through layers, straight down; curves are between layers."""
    ends = [tuple(map(float, end)) for end in re.findall(r" ([-\d.]+) ([-\d.]+)(?= L|$)", path)]
    starts = [tuple(map(float, start)) for start in re.findall(r" L([-\d.]+) ([-\d.]+)", path)]
    return [(x, y1, y2) for (x, y1), (_, y2) in zip(ends, starts[1:])]


def test_posteriors_are_bars(asia):
    (svg,) = svgs(asia.query("lung", given={"xray": "yes"})._repr_html_())
    assert "0.4887" in texts(svg) and "lung" in texts(svg)
    widths = [float(rect.attrib["width"]) for rect in rects(svg)][1::2]
    assert widths == pytest.approx([180 * 0.48871, 180 * 0.51129], abs=0.01)
    (all_of_them,) = svgs(asia.query()._repr_html_())
    assert set(asia.variables) <= set(texts(all_of_them))
    many = {f"v{k}": {str(v): 1 / 50 for v in range(50)} for k in range(60)}
    shown = texts(tree.fromstring(_draw.bars(many)))
    assert "… and 38 more" in shown and "… and 20 more variables" in shown


def test_jointrees_and_profiles():
    report = sumout.read("rect:4").compile("label", given="pixel_*", level="functional", effort=0.1).report()
    (jointree,) = svgs(report.jointree._repr_html_())
    assert "<style" in report.jointree.svg and "<style" not in report.jointree._repr_html_()  # it would hold for the whole notebook
    assert any("label" in text for text in texts(jointree))
    (profile,) = svgs(report.profile._repr_html_())
    assert len(rects(profile)) == len(report.clusters)
    assert len(svgs(report._repr_html_())) == 1 and "<pre>" in report._repr_html_()


def test_names_cannot_break_out():
    b = sumout.Builder("<script>")
    b.add("a&b<script>", ["<x>", "y'\""], cpt=[0.5, 0.5])
    net = b.build()
    for html in [net._repr_html_(), net.query("a&b<script>")._repr_html_(), net.mpe()._repr_html_(), net.compile()._repr_html_()]:
        assert "<script>" not in html
    assert texts(svgs(net._repr_html_())[0]) == ["a&b<script>"]


def test_pictures_are_saved(asia, tmp_path):
    asia.plan("lung", given="xray").jointree.save(tmp_path / "tree.svg")
    tree.parse(tmp_path / "tree.svg")


def test_the_bar_of_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    epoch = json.dumps({"loss": 0.5, "accuracy": 0.75})
    for stream, shown in [(Terminal(), True), (io.StringIO(), False)]:
        monkeypatch.setattr(sys, "stderr", stream)
        bar = Bar(None, _progress.epochs)
        bar._begun -= 1
        bar(3, 10, epoch)
        bar.close()
        assert ("epoch 3 of 10 at most, loss 0.5000, 75.0 % right" in stream.getvalue()) == shown
        assert stream.getvalue().endswith("\r\x1b[K") == shown


def test_the_bar_of_a_notebook(monkeypatch):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html._repr_html_())

    def display(html, display_id):
        shown.append(html._repr_html_())
        return Handle()

    monkeypatch.setattr("sumout._progress._display", lambda: display)
    bar = Bar(None, _progress.epochs)
    bar._begun -= 1
    for done in (1, 2):
        bar._last = 0
        bar(done, 10, json.dumps({"loss": 0.5}))
    bar.close()
    assert "value='1' max='10'" in shown[0] and "value='2'" in shown[1] and shown[2] == ""


def test_the_bar_of_a_long_batch(asia, monkeypatch):
    """Told before each part; the answers are those of the parts."""
    circuit = asia.compile("lung", given=["xray", "dysp"])
    cells = np.random.default_rng(0).integers(-1, 2, (200_000, 2))
    told = []
    monkeypatch.setattr(Bar, "__call__", lambda self, done, most, what: told.append(self._told(done, most, what)))
    found = circuit.evaluate(cells)
    assert told == ["0 of 200,000 examples", "65,536 of 200,000 examples", "131,072 of 200,000 examples"]
    for rows in [slice(0, 1000), slice(65_000, 66_000), slice(199_000, None)]:
        np.testing.assert_array_equal(found.posterior[rows], circuit.posterior(cells[rows]))
        np.testing.assert_array_equal(found.log_evidence[rows], circuit.log_evidence(cells[rows]))
