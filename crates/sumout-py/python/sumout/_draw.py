"""Pictures for notebooks: plain SVG, readable in light and in dark themes."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from math import log2

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
        return f"<div style='overflow:auto;max-height:40em'>{self.svg}</div>"

    def save(self, path) -> None:
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
    layers = _order(_layers(parents), parents)
    place, width = {}, max(sum(_wide(name) + 16 for name in layer) for layer in layers)
    for row, layer in enumerate(layers):
        x = (width - sum(_wide(name) + 16 for name in layer)) / 2 + 8
        for name in layer:
            place[name] = (x + _wide(name) / 2, 20 + 56 * row)
            x += _wide(name) + 16
    parts = [
        f"<defs><marker id='sumout-arrow' viewBox='0 0 8 8' refX='8' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
        f"<path d='M0 0 L8 4 L0 8 z' fill='{GREY}'/></marker></defs>"
    ]
    parts += [_edge(place[parent], place[child]) for child, of in parents.items() for parent in of]
    parts += [_node(name, place[name], name in functional) for name in parents]
    return _svg(width, 56 * len(layers) + 4, parts)


def _wide(name: str) -> float:
    return 7.2 * len(_short(name, 24)) + 18


def _layers(parents: Mapping[str, list[str]]) -> list[list[str]]:
    depth: dict[str, int] = {}
    for name, of in parents.items():  # parents come before children
        depth[name] = 1 + max((depth[parent] for parent in of), default=-1)
    layers: list[list[str]] = [[] for _ in range(1 + max(depth.values(), default=0))]
    for name, at in depth.items():
        layers[at].append(name)
    return layers


def _order(layers: list[list[str]], parents: Mapping[str, list[str]]) -> list[list[str]]:
    """Sorts each layer by the middle of its neighbours above, then below, so that few edges cross."""
    children: dict[str, list[str]] = {name: [] for name in parents}
    for child, of in parents.items():
        for parent in of:
            children[parent].append(child)
    for sweep in range(6):
        near = parents if sweep % 2 == 0 else children
        at = {name: k / max(len(layer) - 1, 1) for layer in layers for k, name in enumerate(layer)}
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            middle = {name: _middle([at[other] for other in near[name]], at[name]) for name in layer}
            layer.sort(key=middle.__getitem__)
            at.update({name: k / max(len(layer) - 1, 1) for k, name in enumerate(layer)})
    return layers


def _middle(places: list[float], own: float) -> float:
    return sum(places) / len(places) if places else own


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    bend = (y2 - y1) / 2
    path = f"M{x1:.1f} {y1 + 13:.1f} C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2 - 14:.1f}"
    return f"<path d='{path}' fill='none' stroke='{GREY}' marker-end='url(#sumout-arrow)'/>"


def _node(name: str, place: tuple[float, float], is_function: bool) -> str:
    (x, y), wide = place, _wide(name)
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
