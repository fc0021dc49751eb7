"""The graph of a network: its edges, ancestors and separation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from . import _sumout
from ._errors import Error
from ._values import Variables

Names = str | Iterable[str]


def reached(start: Iterable[str], step: Callable[[str], Iterable[str]]) -> list[str]:
    """All that some steps lead to, without the start."""
    begun = list(start)
    seen, left = set(begun), list(begun)
    found: list[str] = []
    while left:
        for name in step(left.pop()):
            if name not in seen:
                seen.add(name)
                found.append(name)
                left.append(name)
    return found


def moral(parents: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """The edges of the moral graph: parents of a child are neighbours."""
    families = [[*above, child] for child, above in parents.items()]
    pairs = (tuple(sorted((a, b))) for family in families for k, a in enumerate(family) for b in family[k + 1 :])
    return sorted({(a, b) for a, b in pairs})


def names_of(names: Names) -> list[str]:
    """Names or patterns; one of them may stand alone."""
    return [names] if isinstance(names, str) else list(names)


class Graph:
    """Questions that the graph of a network answers."""

    _raw: _sumout.Network
    _variables: Variables
    _factors: list[tuple[list[int], bool, tuple[bool, bool, bool, str | None]]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables.names)

    @property
    def is_markov(self) -> bool:
        """Whether it is a Markov network, whose factors need not be conditional probabilities."""
        return self._raw.is_markov()

    def parents(self, variable: str) -> list[str]:
        """The parents of a variable, in the order of the axes of its CPT."""
        at = self._raw.find(variable)
        return [] if self.is_markov else [self._variables.names[k] for k in self._factors[at][0][:-1]]

    def children(self, variable: str) -> list[str]:
        """The children of a variable, in the order of the network."""
        at = self._raw.find(variable)
        return [] if self.is_markov else [self._variables.names[s[-1]] for s, _, _ in self._factors if at in s[:-1]]

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The edges, from parents to children."""
        return [(parent, child) for child, above in self._above().items() for parent in above]

    def ancestors(self, *variables: str) -> list[str]:
        """The variables above some variables: their parents, the parents of those, and so on; in the order of the network."""
        return self._closure(variables, self._above())

    def descendants(self, *variables: str) -> list[str]:
        """The variables below some variables, in the order of the network."""
        return self._closure(variables, self._below())

    def markov_blanket(self, variable: str) -> list[str]:
        """The variables given which it is independent of all others: its parents, its children, and their other parents."""
        return [self._variables.names[k] for k in self._raw.markov_blanket(self._raw.find(variable))]

    def is_separated(self, first: Names, second: Names, given: Names = ()) -> bool:
        """Whether the graph makes some variables independent of others, given further ones, whatever the numbers are: d-separation."""
        one, two, known = ({self._raw.find(name) for name in names_of(names)} for names in (first, second, given))
        if one & two or (one | two) & known:
            raise Error("options", "a variable is named twice", hint="name each on one side, or as given")
        return all(self._raw.is_separated(a, b, sorted(known)) for a in one for b in two)

    def moral_edges(self) -> list[tuple[str, str]]:
        """The pairs of neighbours in the moral graph: parents and children, and parents of the same child."""
        return moral(self._above())

    def _exact(self, name: str) -> str:
        return self._variables.names[self._raw.find(name)]

    def _above(self) -> dict[str, list[str]]:
        if self.is_markov:
            raise Error("unsupported", "a Markov network has no directed edges", hint="`factors()` has its potentials")
        return {name: self.parents(name) for name in self}

    def _below(self) -> dict[str, list[str]]:
        below: dict[str, list[str]] = {name: [] for name in self}
        for parent, child in self.edges:
            below[parent].append(child)
        return below

    def _closure(self, variables: Iterable[str], steps: Mapping[str, list[str]]) -> list[str]:
        start = [self._exact(name) for name in variables]
        found = set(reached(start, lambda name: steps[name]))
        return [name for name in self if name in found]
