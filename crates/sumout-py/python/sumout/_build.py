"""Builds networks, from arrays and functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _frames, _sumout
from ._errors import Error
from ._network import Network

_MOST = 1 << 24


class Builder:
    """Collects variables and their CPTs, and builds a :class:`Network` of them.

    >>> b = Builder("house")
    >>> b.add("fire", ["yes", "no"], cpt=[0.01, 0.99])
    >>> b.add("test", ["yes", "no"], cpt=[0.10, 0.90])
    >>> b.add("alarm", ["yes", "no"], ["fire", "test"], lambda fire, test: "yes" if "yes" in (fire, test) else "no")
    >>> b.build().query("fire", given={"alarm": "yes"})["yes"]
    0.0917...
    """

    def __init__(self, name: str = "network", *, markov: bool = False, normalize: bool = False):
        self._name, self._markov, self._normalize = name, markov, normalize
        self._values: dict[str, list[Any]] = {}
        self._drafts: list[tuple[list[str], Any, tuple[bool, bool, bool, str | None]]] = []

    def add(
        self,
        name: str,
        values: Iterable[Any],
        parents: str | Iterable[str] = (),
        cpt: ArrayLike | Callable[..., Any] | None = None,
        *,
        functional: bool = False,
        fixed: bool = False,
        keep_zeros: bool = False,
        tie: str | None = None,
    ) -> None:
        """Adds a variable with its values, its parents and its CPT.

        Values may be of any type, and answers have them as they are; in files, those that are not strings are called by their names.

        A CPT is an array with an axis for each parent and the last for the variable itself; or a function of the parents' values, as
        they were given here, that returns a value, a list of probabilities, or ``{value: p}``. Without one it is uniform, for it to be
        learned. A frame or a series of pandas is read by its labels. ``functional`` declares it a function before its numbers are known, ``fixed`` keeps it from being learned,
        ``keep_zeros`` its zeros, and CPTs with the same ``tie`` share their numbers.
        """
        if name in self._values:
            raise Error("model", f"variable `{name}` is there twice")
        self._values[name] = [value.item() if isinstance(value, np.generic) else value for value in values]
        if self._markov:
            if cpt is not None or parents != ():
                raise Error("model", "variables of a Markov network have no CPTs", hint="add potentials with `factor`")
            return
        above = [parents] if isinstance(parents, str) else list(parents)
        self._drafts.append(([*above, name], cpt, (functional, fixed, keep_zeros, tie)))

    def factor(self, variables: Iterable[str], table: ArrayLike | Callable[..., float]) -> None:
        """Adds a potential of a Markov network: an array with an axis for each variable, or a function of their values."""
        if not self._markov:
            raise Error("model", "only Markov networks have potentials", hint="`Builder(markov=True)`")
        self._drafts.append((list(variables), table, (False, False, False, None)))

    def build(self) -> Network:
        """The network; a mistake is a :class:`sumout.Error`."""
        index = {name: k for k, name in enumerate(self._values)}
        factors = []
        for scope, cpt, role in self._drafts:
            for name in scope:
                if name not in index:
                    raise Error("name", f"`{scope[-1]}` has the parent `{name}`, and there is no such variable")
            factors.append(([index[name] for name in scope], self._numbers(scope, cpt), role))
        variables = [(name, [str(value) for value in values]) for name, values in self._values.items()]
        typed = {name: values for name, values in self._values.items() if not all(isinstance(value, str) for value in values)}
        return Network(_sumout.Network.build(self._name, self._markov, self._normalize, variables, factors), typed)

    def _numbers(self, scope: list[str], cpt: Any) -> list[int] | NDArray[np.float64]:
        cards = [len(self._values[name]) for name in scope]
        if int(np.prod(cards, dtype=object)) > _MOST and callable(cpt):
            raise Error("model", f"`{scope[-1]}` is a function of too many joint states", hint="split it into a chain of smaller functions")
        if cpt is None:
            return np.full(cards, 1 / cards[-1])
        if callable(cpt):
            return self._potential(scope, cpt) if self._markov else self._function(scope, cpt)
        parents = {name: self._values[name] for name in scope[:-1]}
        found = _frames.labelled(cpt, parents, scope[-1], self._values[scope[-1]])
        if np.ma.is_masked(cpt):
            raise Error("model", f"the CPT of `{scope[-1]}` has masked numbers", hint="fill them in")
        table = np.asarray(cpt if found is None else found, dtype=np.float64)
        if table.shape != tuple(cards):
            raise self._misshapen(scope, table.shape, tuple(cards))
        return table

    def _misshapen(self, scope: list[str], shape: tuple[int, ...], wanted: tuple[int, ...]) -> Error:
        hint = "an axis for each parent, and the last for the variable itself"
        if shape == (wanted[-1], int(np.prod(wanted[:-1]))):
            hint += "; of one in pgmpy's order, take `.T.reshape(…)`"
        return Error("model", f"the CPT of `{scope[-1]}` has the shape {shape}, and not {wanted}", hint=hint)

    def _potential(self, scope: list[str], function: Callable[..., Any]) -> NDArray[np.float64]:
        states = itertools.product(*(self._values[name] for name in scope))
        cards = [len(self._values[name]) for name in scope]
        return np.array([float(function(*state)) for state in states]).reshape(cards)

    def _function(self, scope: list[str], function: Callable[..., Any]) -> list[int] | NDArray[np.float64]:
        """A list of positions if it is a function; else a table."""
        *parents, child = scope
        values = self._values[child]
        rows = [function(*state) for state in itertools.product(*(self._values[name] for name in parents))]
        if all(_is_value(row, values) for row in rows):
            return [values.index(row) for row in rows]
        table = np.array([self._row(child, row) for row in rows], dtype=np.float64)
        return table.reshape([len(self._values[name]) for name in scope])

    def _row(self, child: str, row: Any) -> NDArray[np.float64]:
        values = self._values[child]
        if isinstance(row, Mapping) and all(_is_value(value, values) for value in row):
            return np.array([float(row.get(value, 0.0)) for value in values])
        if _is_value(row, values):
            return np.eye(len(values))[values.index(row)]
        if isinstance(row, (list, tuple, np.ndarray)) and np.shape(row) == (len(values),):
            return np.asarray(row, dtype=np.float64)
        hint = f"it returns one of {values}, {len(values)} probabilities, or {{value: p}}"
        raise Error("model", f"the function of `{child}` returns {row!r}", hint=hint)


def _is_value(row: Any, values: list[Any]) -> bool:
    try:
        return row in values
    except ValueError:  # an array, which equals nothing as a whole
        return False
