"""Options, checked and in the numbers that the library takes."""

from __future__ import annotations

import re
from typing import Literal

from . import _sumout
from ._errors import Error

Level = Literal["auto", "classical", "paper", "functional", "tables", "support", "compiled"]
Precision = Literal["f32", "f64"]

_UNITS = "kmgt"


def memory(limit: int | str | None) -> int | None:
    """A number of bytes: 8_000_000_000, or "8GiB"."""
    if limit is None or (isinstance(limit, int) and limit >= 0):
        return limit
    found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*)\s*([kmgt]?)(i?)b?\s*", str(limit).lower())
    if not found:
        raise Error("options", f"`{limit}` is not an amount of memory", hint='write 8_000_000_000, "8GB" or "8GiB"')
    number, unit, binary = found.groups()
    power = _UNITS.index(unit) + 1 if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)


def check_seed(seed: int) -> None:
    if not 0 <= seed < 2**64:
        raise Error("options", f"the seed is {seed}", hint="seeds are not negative, and of 64 bits")


def count(k: int) -> int:
    """How many explanations are wanted."""
    if not 1 <= k <= 100_000:
        raise Error("options", f"{k} explanations cannot be asked for", hint="give a number from 1 to 100,000")
    return k


def options(level: Level, effort: float, seed: int, limit: int | str | None, near: float = 0.0) -> _sumout.Options:
    if not 0 <= effort < float("inf"):
        raise Error("options", f"the effort is {effort}", hint="1 is about a second of search, 0 is none")
    check_seed(seed)
    return _sumout.Options(level, effort, seed, memory(limit), near)


def running(precision: Precision, threads: int = 0, limit: int | str | None = None) -> _sumout.EvalOptions:
    if threads < 0:
        raise Error("options", f"there cannot be {threads} threads", hint="0 is one for each processor")
    return _sumout.EvalOptions(precision, threads, memory(limit))
