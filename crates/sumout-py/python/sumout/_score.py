"""How well a network fits data."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import _evidence
from ._errors import Error

if TYPE_CHECKING:
    from ._network import Network

Score = Literal["log_likelihood", "aic", "bic", "bdeu"]
SCORES: Sequence[Score] = ("log_likelihood", "aic", "bic", "bdeu")


def counts(net: Network, data: Any) -> tuple[int, dict[str, NDArray[np.float64]]]:
    """The number of cases, and for each family how often each of its joint states occurs."""
    if net.is_markov:
        raise Error("unsupported", "a Markov network has no families to be counted")
    every = list(range(len(net)))
    rows, columns = _evidence.columns(net._variables, every, data, strict=None)
    for k, name in enumerate(net.variables):
        if k not in columns or columns[k].ndim != 1 or (columns[k] < 0).any():
            hint = "drop the cases that are not complete; `net.log_likelihood(data)` takes them"
            raise Error("evidence", f"`{name}` is not known in all cases", hint=hint)
    found = {}
    for name in net.variables:
        family = [*net.parents(name), name]
        cards = [len(net.values(member)) for member in family]
        states = np.ravel_multi_index([columns[net._variables.index[member]] for member in family], cards)
        found[name] = np.bincount(states, minlength=int(np.prod(cards))).astype(np.float64).reshape(-1, cards[-1])
    return rows, found


def score(net: Network, data: Any, kind: Score, sample_size: float) -> float:
    """The score of the structure, whose parameters are those that fit best."""
    if kind not in SCORES:
        raise Error("options", f"there is no score `{kind}`", hint="the scores are " + ", ".join(f"`{name}`" for name in SCORES))
    rows, found = counts(net, data)
    if kind == "bdeu":
        return sum(_bdeu(table, sample_size) for table in found.values())
    parameters = sum(table.shape[0] * (table.shape[1] - 1) for table in found.values())
    penalty = {"log_likelihood": 0.0, "aic": parameters, "bic": 0.5 * log(max(rows, 1)) * parameters}[kind]
    return sum(_best(table) for table in found.values()) - penalty


def _best(table: NDArray[np.float64]) -> float:
    total = table.sum(axis=1, keepdims=True)
    share = np.divide(table, total, out=np.ones_like(table), where=table > 0)
    return float((table * np.log(share)).sum())


def _bdeu(table: NDArray[np.float64], sample_size: float) -> float:
    of_row, of_cell = sample_size / table.shape[0], sample_size / table.size
    found = 0.0
    for row in table[table.sum(axis=1) > 0]:
        found += lgamma(of_row) - lgamma(of_row + row.sum())
        found += sum(lgamma(of_cell + count) - lgamma(of_cell) for count in row[row > 0])
    return found
