"""The graph of a network: who is above and below whom."""

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


def moral(parents: Mapping[str, list[str]]) -> list[tuple[str, str]]:
    """The edges of the moral graph: parents of a child are neighbours."""
    families = [[*above, child] for child, above in parents.items()]
    pairs = (tuple(sorted((a, b))) for family in families for k, a in enumerate(family) for b in family[k + 1 :])
    return sorted({(a, b) for a, b in pairs})
