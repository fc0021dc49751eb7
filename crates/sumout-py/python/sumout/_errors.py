"""Errors: the cause, the place and a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A place in a file; lines and columns are counted from 1."""

    file: str
    line: int
    column: int


class Error(ValueError):
    """A mistake in a file, a model or a question.

    ``kind`` is for programs: ``"io"``, ``"syntax"``, ``"model"``, ``"name"``, ``"format"``, ``"evidence"``, ``"memory"``,
    ``"options"``, ``"unsupported"``, ``"interrupted"``, ``"impossible"`` or ``"defect"``, which is a mistake in sumout itself: please report it. The text is for people: it shows the offending line if the mistake is in a file, and ends with a hint if
    there is something to be done.
    """

    kind: str
    message: str
    place: Place | None
    hint: str | None

    def __init__(self, kind: str, message: str, *, hint: str | None = None, place: Place | None = None, text: str | None = None):
        self.kind, self.message, self.hint, self.place = kind, message, hint, place
        self._text = text if text is not None else message + (f"\nhint: {hint}" if hint else "")
        super().__init__(self._text)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.kind, self.message, self.hint, self.place, self._text)


class ImpossibleEvidence(Error):
    """The evidence has probability zero, so there is no posterior."""

    def __init__(self, message: str = "the evidence has probability zero"):
        super().__init__("impossible", message, hint="`log_evidence` of it is negative infinity; batches flag such rows instead")


def suggest(written: str, known: Iterable[str], what: str) -> str:
    """A hint: the name that was meant, or else all there are."""
    names = list(known)
    near = difflib.get_close_matches(written, names, 1)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"{what} are " + ", ".join(f"`{name}`" for name in names[:12]) + (", …" if len(names) > 12 else "")


def make(kind: str, message: str, text: str, place: tuple[str, int, int] | None, hint: str | None) -> Error:
    """The library's error, as the extension module raises it."""
    return Error(kind, message, hint=hint, place=None if place is None else Place(*place), text=text)


def _again(kind_of: type[Error], kind: str, message: str, hint: str | None, place: Place | None, text: str) -> Error:
    if kind_of is ImpossibleEvidence:
        return ImpossibleEvidence(message)
    return Error(kind, message, hint=hint, place=place, text=text)
