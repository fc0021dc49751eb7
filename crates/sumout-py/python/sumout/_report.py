"""The cost of a circuit, and the savings of each step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from . import _draw, _sumout
from ._draw import Picture


class Report(Mapping[str, Any]):
    """The cost of a plan: a dictionary of numbers, printed as a table, and drawn in notebooks.

    The names are those of ``sumout compile --json``: ``entries``, ``multiply_adds``, ``max_cluster_binary_rank``, ``classical``, …
    """

    def __init__(self, raw: _sumout.Plan):
        self._raw = raw
        self._numbers: dict[str, Any] = json.loads(raw.json)

    def __getitem__(self, name: str) -> Any:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __str__(self) -> str:
        return self._raw.text

    def __repr__(self) -> str:
        return self._raw.text

    @property
    def jointree(self) -> Picture:
        """The jointree, with the variables that functions allow to drop in red."""
        return Picture(self._raw.svg)

    @property
    def dot(self) -> str:
        """The jointree in the language of Graphviz."""
        return self._raw.dot

    @property
    def clusters(self) -> list[float]:
        """The numbers of joint states of the clusters, children before parents."""
        return [cluster for cluster, _ in self._raw.profile]

    @property
    def profile(self) -> Picture:
        """The sizes of the clusters, largest first."""
        return Picture(_draw.profile(self._raw.profile))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._raw.text)}</pre>{_draw.profile(self._raw.profile)}"
