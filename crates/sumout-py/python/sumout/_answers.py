"""Answers: dictionaries that know a little more, and show themselves in notebooks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _draw
from ._draw import Picture


class Posterior(dict[Any, float]):
    """The probability of each value of a variable.

    Values are those that a builder was given, and strings in a network from a file; they are also found by their names.
    """

    def __init__(self, variable: str, values: Iterable[Any], numbers: Iterable[float], log_evidence: float):
        super().__init__(zip(values, map(float, numbers)))
        self.variable = variable
        self.log_evidence = log_evidence

    def __missing__(self, name: Any) -> float:
        found = [value for value in self if not isinstance(value, str) and str(value) == name]
        if not found:
            raise KeyError(name)
        return self[found[0]]

    def __reduce__(self) -> tuple[Any, ...]:
        return Posterior, (self.variable, list(self), list(self.values()), self.log_evidence)

    def _repr_html_(self) -> str:
        return _draw.bars({self.variable: self})

    @property
    def picture(self) -> Picture:
        """The probabilities as bars."""
        return Picture(_draw.bars({self.variable: self}))

    @property
    def best(self) -> Any:
        """The most probable value."""
        return max(self, key=self.__getitem__)


class JointPosterior(dict[tuple[str, ...], float]):
    """The probability of each combination of the values of some variables."""

    def __init__(self, variables: list[str], values: list[list[str]], numbers, log_evidence: float):
        super().__init__(zip(itertools.product(*values), map(float, np.ravel(numbers))))
        self.variables = variables
        self.table = np.reshape(numbers, [len(names) for names in values])
        """The same as an array, with an axis for each variable."""
        self.log_evidence = log_evidence

    def __reduce__(self):
        values = [list(dict.fromkeys(names)) for names in zip(*self)]
        return JointPosterior, (self.variables, values, self.table, self.log_evidence)

    def _repr_html_(self) -> str:
        return _draw.table([(", ".join(map(str, names)), f"{p:.4f}") for names, p in self.items()])

    @property
    def best(self) -> tuple[str, ...]:
        """The most probable combination."""
        return max(self, key=self.__getitem__)


class Posteriors(dict[str, Posterior]):
    """The posteriors of some variables."""

    def __init__(self, posteriors: Mapping[str, Posterior], log_evidence: float):
        super().__init__(posteriors)
        self.log_evidence = log_evidence

    def __reduce__(self) -> tuple[Any, ...]:
        return Posteriors, (dict(self), self.log_evidence)

    def _repr_html_(self) -> str:
        return self.picture._repr_html_()

    @property
    def picture(self) -> Picture:
        """The probabilities as bars, a group for each variable."""
        return Picture(_draw.bars(self))


class Explanation(dict[str, Any]):
    """The most probable values of all variables together."""

    def __init__(
        self,
        assignment: Mapping[str, Any],
        log_probability: float,
        probability: float | None = None,
        rank: int | None = None,
        tied_beyond: bool = False,
    ):
        super().__init__(assignment)
        self.log_probability = log_probability
        self.probability = probability
        """P(assignment | evidence), of several explanations that were asked for."""
        self.rank = rank
        """The rank among several, from 1; those that are equally probable share a rank."""
        self.tied_beyond = tied_beyond
        """Whether an equally probable one was left out, because no more were asked for."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Explanation, (dict(self), self.log_probability, self.probability, self.rank, self.tied_beyond)

    def _repr_html_(self) -> str:
        cells = [(name, str(value)) for name, value in self.items()]
        return _draw.table([*cells, ("ln P", f"{self.log_probability:.6g}")])


class MarginalMap(dict[str, Any]):
    """The most probable values of some variables together, the others summed out."""

    def __init__(
        self, assignment: Mapping[str, Any], log_probability: float, probability: float, bound: float, proved: bool, nodes: int
    ):
        super().__init__(assignment)
        self.log_probability = log_probability
        """ln P(values, evidence)."""
        self.probability = probability
        """P(values | evidence)."""
        self.bound = bound
        """No assignment has a larger ``log_probability`` than this."""
        self.proved = proved
        """Whether nothing better is possible; not if the search was stopped before it knew."""
        self.nodes = nodes
        """How many partial assignments the search looked at."""

    def __reduce__(self) -> tuple[Any, ...]:
        return MarginalMap, (dict(self), self.log_probability, self.probability, self.bound, self.proved, self.nodes)

    def _repr_html_(self) -> str:
        cells = [(name, str(value)) for name, value in self.items()]
        return _draw.table([*cells, ("ln P", f"{self.log_probability:.6g}")])


class Information(dict[str, float]):
    """How many bits observing each variable is expected to tell about a target, the largest first."""

    def __init__(self, gains: Mapping[str, float], entropy: float):
        super().__init__(gains)
        self.entropy = entropy
        """The entropy of the target, in bits."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Information, (dict(self), self.entropy)

    def _repr_html_(self) -> str:
        return _draw.table([(name, f"{bits:.4f}") for name, bits in self.items()])


class Parameter(NamedTuple):
    """A number of a CPT, and how a probability depends on it."""

    variable: str
    value: Any
    given: dict[str, Any]
    """The values of the parents."""
    number: float
    derivative: float
    range: tuple[float, float]
    """The probability if the number were 0, and if it were 1."""
    function: tuple[float, float, float, float]
    """a, b, c and d: the probability is (a θ + b) / (c θ + d) if the number is θ."""

    def reaching(self, probability: float) -> float | None:
        """The number that makes it this probability; none if none does."""
        a, b, c, d = self.function
        slope = a - probability * c
        if slope == 0 or not min(self.range) <= probability <= max(self.range):
            return None
        return min(1.0, max(0.0, (probability * d - b) / slope))


class Sensitivity(list[Parameter]):
    """How a probability depends on the numbers of the CPTs, those that matter most first."""

    def __init__(self, parameters: Iterable[Parameter], probability: float):
        super().__init__(parameters)
        self.probability = probability
        """The probability as it is."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Sensitivity, (list(self), self.probability)


class Answers(NamedTuple):
    """The answers to a batch: a row for each example."""

    posterior: NDArray[np.float64] | dict[str, NDArray[np.float64]]
    """Of the target, an array of rows by values; of several or all variables, one such array for each; of several together, an array of
    rows with an axis for each of them. Zeros where the evidence is impossible."""

    log_evidence: NDArray[np.float64]
    """ln P(e), negative infinity where the evidence is impossible."""

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Where the evidence has probability zero."""
        return np.isneginf(self.log_evidence)


class Explanations(NamedTuple):
    """The most probable values of all variables together, for each example of a batch."""

    variables: list[str]
    positions: NDArray[np.int32]
    """The positions of the values, a column for each variable; -1 where the evidence is impossible."""

    log_probability: NDArray[np.float64]
    """ln P of all of them together, negative infinity where the evidence is impossible."""
