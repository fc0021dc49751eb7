"""The graph of a network: who is above and below whom, and who tells nothing of whom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping


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


def blanket(name: str, parents: Mapping[str, list[str]], children: Mapping[str, list[str]]) -> list[str]:
    """Parents, children, and other parents of the children."""
    near = [*parents[name], *children[name], *(other for child in children[name] for other in parents[child])]
    return [other for other in dict.fromkeys(near) if other != name]


def moral(parents: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """The edges of the moral graph: parents of a child are neighbours."""
    families = [[*above, child] for child, above in parents.items()]
    pairs = (tuple(sorted((a, b))) for family in families for k, a in enumerate(family) for b in family[k + 1 :])
    return sorted({(a, b) for a, b in pairs})


def active(start: Iterable[str], given: set[str], parents: Mapping[str, list[str]], children: Mapping[str, list[str]]) -> set[str]:
    """The variables that a trail leads to which the evidence does not block.

    A trail that comes from a child goes on to parents and children, unless the variable is given. One that comes from a parent goes on
    to children unless it is given, and to parents if it or a descendant is.
    """
    informed = given | set(reached(given, lambda name: parents[name]))
    left = [(name, True) for name in start]
    seen: set[tuple[str, bool]] = set()
    while left:
        name, from_below = step = left.pop()
        if step in seen:
            continue
        seen.add(step)
        if name not in given:
            left += [(child, False) for child in children[name]]
        if name not in given if from_below else name in informed:
            left += [(parent, True) for parent in parents[name]]
    return {name for name, _ in seen} - given
