"""Pictures for notebooks: plain SVG, readable in light and in dark themes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from html import escape
from math import log2
from os import PathLike
from typing import Union

BLUE, RED, GREY = "#3b76af", "#c23b31", "#8a8a8a"
FONT = "font-family='system-ui, sans-serif' font-size='12'"

MOST_NODES = 80
MOST_VARIABLES = 40
MOST_VALUES = 12


class Picture:
    """A picture that notebooks show, and that can be saved."""

    def __init__(self, svg: str):
        self.svg = svg

    def _repr_html_(self) -> str:
        """The picture itself; if it has styles of its own, which would hold for the whole notebook, as an image."""
        shown = self.svg
        if "<style" in shown:
            shown = f"<img style='max-width:none' src='data:image/svg+xml;base64,{b64encode(shown.encode()).decode()}'>"
        return f"<div style='overflow:auto;max-height:40em'>{shown}</div>"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes it to an .svg file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def _svg(width: float, height: float, parts: list[str]) -> str:
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{width:.0f}' height='{height:.0f}' viewBox='0 0 {width:.0f} {height:.0f}' {FONT}>"
    return head + "".join(parts) + "</svg>"


def _text(x: float, y: float, text: str, anchor: str = "start", colour: str = "currentColor") -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}'>{escape(text)}</text>"


def bars(posteriors: Mapping[str, Mapping[str, float]]) -> str:
    """Posteriors as bars, a group for each variable. Of many variables and values, the first and the most probable."""
    parts, y = [], 4.0
    for name, posterior in list(posteriors.items())[:MOST_VARIABLES]:
        parts.append(f"<text x='4' y='{y + 13:.1f}' fill='currentColor' font-weight='600'>{escape(_short(name, 40))}</text>")
        y += 18
        values = list(posterior.items())
        if len(values) > MOST_VALUES:
            values = sorted(values, key=lambda pair: -pair[1])[:MOST_VALUES]
        for value, p in values:
            parts.append(_text(110, y + 12, _short(value, 16), "end"))
            parts.append(f"<rect x='116' y='{y + 2:.1f}' width='180' height='12' fill='{GREY}' opacity='0.2'/>")
            parts.append(f"<rect x='116' y='{y + 2:.1f}' width='{180 * p:.2f}' height='12' fill='{BLUE}'/>")
            parts.append(_text(302, y + 12, f"{p:.4f}"))
            y += 17
        if len(posterior) > MOST_VALUES:
            parts.append(_text(116, y + 12, f"… and {len(posterior) - MOST_VALUES} more", colour=GREY))
            y += 17
        y += 6
    if len(posteriors) > MOST_VARIABLES:
        parts.append(_text(4, y + 12, f"… and {len(posteriors) - MOST_VARIABLES} more variables", colour=GREY))
        y += 20
    return _svg(360, y, parts)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def network(parents: Mapping[str, list[str]], functional: set[str]) -> str:
    """A network in layers, parents above children; functions have a double frame."""
    above, edges = _with_bends(parents, _depths(parents))
    layers = _order(above)
    across = _across(layers, above)
    place = {node: (across[node], 20 + 56 * row) for row, layer in enumerate(layers) for node in layer}
    parts = [
        f"<defs><marker id='sumout-arrow' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        f"<path d='M0 0 L8 4 L0 8 z' fill='{GREY}'/></marker></defs>"
    ]
    parts += [_edge([place[node] for node in edge]) for edge in edges]
    parts += [_node(name, place[name], name in functional) for name in parents]
    return _svg(max(x + _wide(node) / 2 for node, (x, _) in place.items()) + 8, 56 * len(layers) + 4, parts)


Node = Union[str, tuple[str, str, int]]
"""A variable; or a bend in the edge from one variable to another, with its layer."""


def _wide(node: Node) -> float:
    return 7.2 * len(_short(node, 24)) + 34 if isinstance(node, str) else 24


def _depths(parents: Mapping[str, list[str]]) -> dict[str, int]:
    """The layer of each variable, below its parents; roots are right above their first child."""
    depth: dict[str, int] = {}
    for name, of in parents.items():  # parents come before children
        depth[name] = 1 + max((depth[parent] for parent in of), default=-1)
    for name in [name for name, of in parents.items() if not of]:
        depth[name] = min((depth[child] for child, of in parents.items() if name in of), default=1) - 1
    return depth


def _with_bends(parents: Mapping[str, list[str]], depth: Mapping[str, int]) -> tuple[list[dict[Node, list[Node]]], list[list[Node]]]:
    """For each layer its nodes, with their neighbours in the layer above; and the nodes of each edge. Long edges bend in every layer."""
    layers: list[dict[Node, list[Node]]] = [{} for _ in range(1 + max(depth.values(), default=0))]
    edges: list[list[Node]] = []
    for child, of in parents.items():
        layers[depth[child]][child] = []
        for parent in of:
            edges.append([parent, *((parent, child, row) for row in range(depth[parent] + 1, depth[child])), child])
    for edge in edges:
        first = depth[str(edge[0])]
        for row, (upper, lower) in enumerate(zip(edge, edge[1:]), first + 1):
            layers[row].setdefault(lower, []).append(upper)
    return layers, edges


def _below(layers: list[dict[Node, list[Node]]]) -> dict[Node, list[Node]]:
    below: dict[Node, list[Node]] = {node: [] for layer in layers for node in layer}
    for layer in layers:
        for node, upper in layer.items():
            for other in upper:
                below[other].append(node)
    return below


def _order(layers: list[dict[Node, list[Node]]]) -> list[list[Node]]:
    """Sorts each layer by the middle of its neighbours above, then below, so that few edges cross."""
    above, below = {node: upper for layer in layers for node, upper in layer.items()}, _below(layers)
    ordered = [list(layer) for layer in layers]
    for sweep in range(8):
        near = above if sweep % 2 == 0 else below
        at = {node: k / max(len(layer) - 1, 1) for layer in ordered for k, node in enumerate(layer)}
        for layer in ordered if sweep % 2 == 0 else reversed(ordered):
            middle = {node: _middle([at[other] for other in near[node]], at[node]) for node in layer}
            layer.sort(key=middle.__getitem__)
            at.update({node: k / max(len(layer) - 1, 1) for k, node in enumerate(layer)})
    return ordered


def _across(ordered: list[list[Node]], layers: list[dict[Node, list[Node]]]) -> dict[Node, float]:
    """Where nodes are from left to right: near the middle of their neighbours, and beside each other."""
    above, below = {node: upper for layer in layers for node, upper in layer.items()}, _below(layers)
    x = {node: place for layer in ordered for node, place in zip(layer, _apart(layer, [0.0] * len(layer)))}
    for sweep in range(8):
        for layer in ordered if sweep % 2 == 0 else reversed(ordered):
            wanted = [_middle([x[other] for other in [*above[node], *below[node]]], x[node]) for node in layer]
            x.update(zip(layer, _apart(layer, wanted)))
    left = min(place - _wide(node) / 2 for node, place in x.items())
    return {node: place - left for node, place in x.items()}


def _apart(layer: list[Node], wanted: list[float]) -> list[float]:
    """Places near those that are wanted, so far apart that nothing overlaps: the mean of what pushing right and pushing left gives."""
    gaps = [(_wide(a) + _wide(b)) / 2 for a, b in zip(layer, layer[1:])]
    right, left = wanted[:1], wanted[-1:]
    for place, gap in zip(wanted[1:], gaps):
        right.append(max(place, right[-1] + gap))
    for place, gap in zip(reversed(wanted[:-1]), reversed(gaps)):
        left.append(min(place, left[-1] - gap))
    return [(a + b) / 2 for a, b in zip(right, reversed(left))]


def _middle(places: list[float], own: float) -> float:
    return sum(places) / len(places) if places else own


def _edge(places: list[tuple[float, float]]) -> str:
    """Down from one to the next, and straight through the layers on the way."""
    path = f"M{places[0][0]:.1f} {places[0][1] + 13:.1f}"
    for (x1, y1), (x2, y2) in zip(places, places[1:]):
        middle = (y1 + y2) / 2
        path += f" L{x1:.1f} {y1 + 13:.1f} C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2 - 14:.1f}"
    return f"<path d='{path}' fill='none' stroke='{GREY}' marker-end='url(#sumout-arrow)'/>"


def _node(name: str, place: tuple[float, float], is_function: bool) -> str:
    (x, y), wide = place, _wide(name) - 16
    colour = RED if is_function else BLUE
    frames = [f"<title>{escape(name)}</title>"]
    frames.append(f"<rect x='{x - wide / 2:.1f}' y='{y - 13:.1f}' width='{wide:.1f}' height='26' rx='13' fill='{colour}' fill-opacity='0.12' stroke='{colour}'/>")
    if is_function:
        frames.append(f"<rect x='{x - wide / 2 + 3:.1f}' y='{y - 10:.1f}' width='{wide - 6:.1f}' height='20' rx='10' fill='none' stroke='{colour}'/>")
    return f"<g>{''.join(frames)}{_text(x, y + 4, _short(name, 24), 'middle')}</g>"


def profile(sizes: list[tuple[float, float]]) -> str:
    """The sizes of the clusters of a jointree, largest first, on a logarithmic scale; red where they are the largest."""
    clusters = sorted((log2(max(cluster, 1)) for cluster, _ in sizes), reverse=True)
    step = max(len(clusters) // 300, 1)
    shown = clusters[::step]
    top = max(shown[0], 1.0)
    wide = max(600 / max(len(shown), 1), 1.5)
    parts = []
    for k, size in enumerate(shown):
        height = 100 * size / top
        colour = RED if size > top - 1 else BLUE
        parts.append(f"<rect x='{44 + wide * k:.2f}' y='{112 - height:.2f}' width='{max(wide - 0.5, 1):.2f}' height='{height:.2f}' fill='{colour}'/>")
    for mark in (0, top / 2, top):
        parts.append(_text(38, 116 - 100 * mark / top, f"2^{mark:.1f}", "end"))
    parts.append(f"<line x1='44' y1='112' x2='{44 + wide * len(shown):.1f}' y2='112' stroke='{GREY}'/>")
    parts.append(_text(44, 130, f"{len(clusters)} clusters, largest first: numbers of joint states", colour=GREY))
    return _svg(54 + wide * len(shown), 136, parts)


def table(rows: list[tuple[str, str]]) -> str:
    """Two columns of text."""
    cells = "".join(f"<tr><th style='text-align:left'>{escape(a)}</th><td style='text-align:left'>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table>"
