"""The values of variables, and how cells name them: one rule for all forms of evidence.

A text is the name of a value. A truth is for variables that are true or false. A number is the value of that number if all values
are numbers; else it is a position, unless it could as well be a boolean that means another value: that is refused. In plain arrays,
and in :class:`Positions`, numbers are positions, and negative where nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NoReturn, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from ._errors import Error, suggest

Finding = Union[str, int, bool, float, None, Sequence[float], Mapping[Any, float], NDArray[Any]]
"""The evidence on a variable."""

_TRUE = {"true": "false", "t": "f", "yes": "no", "y": "n", "on": "off", "1": "0", "present": "absent"}

_UNKNOWN = -2
"""The position of a cell that names no value."""

E = TypeVar("E")


class Positions(Generic[E]):
    """Evidence whose numbers are positions of values, and negative where nothing is known.

    In dictionaries and tables a number may be read as a value, as a boolean or as a position, and is refused where these differ.

    >>> import sumout
    >>> circuit = sumout.read("asia").compile("lung", given=["xray", "dysp"])
    >>> circuit.posterior(sumout.Positions({"xray": 0}))
    {'lung': {'yes': 0.489..., 'no': 0.510...}}
    """

    def __init__(self, evidence: E):
        self.evidence: E = evidence

    def __len__(self) -> int:
        return len(self.evidence)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"Positions({self.evidence!r})"


class Variables:
    """The variables of a network, by name."""

    def __init__(self, variables: list[tuple[str, list[str]]], typed: Mapping[str, Sequence[Any]] | None = None):
        self.names = [name for name, _ in variables]
        self.index = {name: k for k, name in enumerate(self.names)}
        self.texts = [texts for _, texts in variables]
        """The values by name."""
        self.typed = {name: list(values) for name, values in (typed or {}).items() if name in self.index}
        self.values: list[list[Any]] = [self.typed.get(name, texts) for name, texts in variables]
        """The values as the builder was given them."""
        self._known = [{text: k for k, text in enumerate(texts)} for texts in self.texts]
        self._numbers: dict[int, tuple[NDArray[np.float64], NDArray[np.intp]] | None] = {}
        self._categories: dict[int, tuple[Any, NDArray[np.int32]]] = {}
        self._positional: Variables | None = None
        self.is_positional = False

    def by_position(self) -> Variables:
        """The same variables, whose numbers are positions."""
        if self._positional is None:
            self._positional = Variables(list(zip(self.names, self.texts)), self.typed)
            self._positional.is_positional = True
        return self._positional

    # Single values

    def position(self, variable: int, value: Any) -> int:
        """The position of a value that may be called by its name, its number, or its truth; -1 if it is missing."""
        if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
            value = value.item()
        if isinstance(value, str):
            found = self._known[variable].get(value)
            return self.unknown(variable, value) if found is None else found
        if isinstance(value, bool):
            return self.truth(variable)[int(value)]
        if isinstance(value, (int, float)):
            return int(self.numbers(variable, np.array([value], dtype=object if isinstance(value, int) else None))[0])
        return self.object(variable, value)

    def object(self, variable: int, value: Any) -> int:
        """The position of a value of another kind: the builder was given it."""
        for at, known in enumerate(self.values[variable]):
            if type(known) is type(value) and known == value:
                return at
        return self.unknown(variable, value)

    def is_value(self, variable: int, value: Any) -> bool:
        """Whether it is one of the values that the builder was given, and no text."""
        typed = self.typed.get(self.names[variable], ())
        return any(type(known) is type(value) and known == value for known in typed)

    def unknown(self, variable: int, value: Any) -> NoReturn:
        """Complains of a value that the variable does not have."""
        hint = suggest(str(value), self.texts[variable], "its values")
        if isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and value < 0:
            hint += "; a missing cell is `None`, NaN or null"
        raise Error("name", f"variable `{self.names[variable]}` has no value `{value}`", hint=hint)

    def truth(self, variable: int) -> tuple[int, int]:
        """The positions of what is false and of what is true."""
        found = self._truth(variable)
        if found is None:
            name, shown = self.names[variable], ", ".join(f"`{v}`" for v in self.texts[variable][:12])
            raise Error("name", f"variable `{name}` is neither true nor false", hint=f"its values are {shown}")
        return found

    def _truth(self, variable: int) -> tuple[int, int] | None:
        lower = [text.lower() for text in self.texts[variable]]
        for true, false in _TRUE.items():
            if sorted(lower) == sorted([true, false]):
                return lower.index(false), lower.index(true)
        return None

    # Numbers

    def numbers(self, variable: int, numbers: NDArray[Any]) -> NDArray[np.int32]:
        """The positions of values that numbers name; none of them is missing, unless they are positions."""
        if self.is_positional:
            return self._checked(variable, numbers, np.where(numbers < 0, -1, numbers))
        order = self._order(variable)
        if order is None:
            self._check_truths(variable, numbers)
            return self._checked(variable, numbers, np.where(numbers < 0, _UNKNOWN, numbers))
        known, at = order
        near = np.searchsorted(known, numbers.astype(np.float64)).clip(max=len(known) - 1)
        return self._checked(variable, numbers, np.where(known[near] == numbers, at[near], _UNKNOWN))

    def _checked(self, variable: int, numbers: NDArray[Any], positions: NDArray[Any]) -> NDArray[np.int32]:
        wrong = (positions < -1) | (positions >= len(self.texts[variable])) | (positions != np.floor(positions.astype(np.float64)))
        if wrong.any():
            self.unknown(variable, numbers[wrong][0])
        return positions.astype(np.int32)

    def _order(self, variable: int) -> tuple[NDArray[np.float64], NDArray[np.intp]] | None:
        """The values in ascending order and their positions, if all of them are numbers."""
        if variable not in self._numbers:
            parsed = [_number(value) for value in self.values[variable]]
            known = np.array(parsed, dtype=np.float64)
            is_numeric = bool(np.isfinite(known).all()) and len(set(parsed)) == len(parsed)
            at = np.argsort(known)
            self._numbers[variable] = (known[at], at) if is_numeric else None
        return self._numbers[variable]

    def names_positions(self, variable: int) -> bool:
        """Whether a number can only mean the position of that number."""
        order, truth = self._order(variable), self._truth(variable)
        if order is not None:
            return [_number(value) for value in self.values[variable]] == list(range(len(self.values[variable])))
        return truth in (None, (0, 1))

    def _check_truths(self, variable: int, numbers: NDArray[Any]) -> None:
        if self._truth(variable) != (1, 0):
            return
        for number in (0, 1):
            if (numbers == number).any():
                raise self.ambiguous(variable, number)

    def ambiguous(self, variable: int, number: int) -> Error:
        """The error for a number that is one value as a position, and the other one as a boolean."""
        texts, truth = self.texts[variable], self.truth(variable)
        message = f"`{number}` for `{self.names[variable]}` is ambiguous: `{texts[truth[number]]}` as a boolean, `{texts[number]}` as a position"
        return Error("evidence", message, hint="give names of values, `True` or `False`; or `sumout.Positions(…)` of the evidence")

    # Columns

    def column(self, variable: int, cells: Any) -> NDArray[Any]:
        """Positions of values, -1 where one is missing; or a row of likelihoods for each example."""
        if isinstance(cells, Positions):
            return self.by_position().column(variable, cells.evidence)
        categories = getattr(cells, "cat", None)
        if categories is not None and hasattr(categories, "codes"):
            return self.codes(variable, categories.categories, categories.codes.to_numpy())
        array = _array(cells)
        if array.ndim == 2:
            return self._rows(variable, array)
        if array.ndim != 1:
            raise Error("evidence", f"`{self.names[variable]}` has an array of {array.ndim} dimensions", hint="give a cell for each example")
        if isinstance(array, np.ma.MaskedArray):
            return self._masked(variable, array)
        return self._plain(variable, array)

    def codes(self, variable: int, categories: Any, codes: NDArray[Any]) -> NDArray[np.int32]:
        """A column of categories: each of them is looked up once, and complained of only if a cell has it."""
        known, table = self._categories.get(variable, (None, np.zeros(0, dtype=np.int32)))
        if known is not categories:
            table = np.array([*(self._position_or_unknown(variable, name) for name in categories), -1], dtype=np.int32)
            self._categories[variable] = categories, table
        positions = table[codes]
        if positions.size and positions.min() == _UNKNOWN:
            self.position(variable, categories[codes[positions == _UNKNOWN][0]])
        return positions

    def _position_or_unknown(self, variable: int, name: Any) -> int:
        try:
            return self.position(variable, name)
        except Error:
            return _UNKNOWN

    def _plain(self, variable: int, array: NDArray[Any]) -> NDArray[np.int32]:
        kind = array.dtype.kind
        if kind == "b":
            false, true = self.truth(variable)
            return np.where(array, true, false).astype(np.int32)
        if kind in "iu":
            return self.numbers(variable, array)
        if kind == "f":
            missing = np.isnan(array)
            positions = np.full(len(array), -1, dtype=np.int32)
            positions[~missing] = self.numbers(variable, array[~missing])
            return positions
        return self.objects(variable, array.tolist())

    def _masked(self, variable: int, array: np.ma.MaskedArray[Any, Any]) -> NDArray[np.int32]:
        seen = ~np.ma.getmaskarray(array)
        positions = np.full(len(array), -1, dtype=np.int32)
        positions[seen] = self._plain(variable, np.asarray(array.data)[seen])
        return positions

    def _rows(self, variable: int, array: NDArray[Any]) -> NDArray[np.float64]:
        """Likelihoods row by row. Nothing is known where a whole row is masked."""
        if isinstance(array, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(array)
            if (mask.any(axis=1) != mask.all(axis=1)).any():
                message = f"likelihoods of `{self.names[variable]}` are masked in parts of a row"
                raise Error("evidence", message, hint="mask whole rows, of which nothing is known")
            array = np.where(mask, 1.0, np.asarray(array.data))
        if array.dtype.kind not in "fiu":
            message = f"`{self.names[variable]}` has a table of {array.dtype}"
            raise Error("evidence", message, hint="likelihoods are numbers, a row for each example and a column for each value")
        return np.ascontiguousarray(array, dtype=np.float64)

    def objects(self, variable: int, cells: list[Any]) -> NDArray[np.int32]:
        """A column of names, or of anything at all."""
        known = self._known[variable]
        try:  # nearly always all of them are names
            return np.fromiter(map(known.__getitem__, cells), dtype=np.int32, count=len(cells))
        except (KeyError, TypeError):
            return np.fromiter((self.cell(variable, cell) for cell in cells), dtype=np.int32, count=len(cells))

    def cell(self, variable: int, cell: Any) -> int:
        """The position of a value, -1 if it is missing."""
        found = self._known[variable].get(cell) if isinstance(cell, str) else None
        if found is not None:
            return found
        is_word = isinstance(cell, str) and cell.lower() in _MISSING
        return -1 if is_word or is_missing(cell) else self.position(variable, cell)

    # Findings

    def finding(self, variable: int, finding: Finding) -> int | list[float] | None:
        """A position, likelihoods, or nothing."""
        if isinstance(finding, str):
            return self.position(variable, finding) if finding else self._empty(variable)
        if is_missing(finding):
            return None
        if self.is_value(variable, finding):
            return self.object(variable, finding)
        if isinstance(finding, Mapping):
            finding = self._by_value(variable, finding)
        if isinstance(finding, (list, tuple, np.ndarray)) and np.ndim(finding) > 0:
            return self._likelihood(variable, finding)
        found = self.position(variable, finding)
        return None if found < 0 else found

    def _empty(self, variable: int) -> int | None:
        return self._known[variable].get("")

    def _by_value(self, variable: int, finding: Mapping[Any, float]) -> list[Any]:
        likelihood: list[Any] = [0.0] * len(self.texts[variable])
        for value, number in finding.items():
            likelihood[self.position(variable, value)] = number
        return likelihood

    def _likelihood(self, variable: int, numbers: Any) -> list[float]:
        try:
            given = np.asarray(numbers)
            likelihood = np.asarray([np.nan] if given.dtype.kind == "b" else numbers, dtype=np.float64)
        except (TypeError, ValueError):
            likelihood = np.zeros((0, 0))
        if likelihood.shape == (len(self.texts[variable]),):
            return [float(number) for number in likelihood]
        name, shown = self.names[variable], ", ".join(f"`{value}`" for value in self.texts[variable][:12])
        hint = f"give a number for each of {shown}; for many examples, an array of names, integers, or likelihoods row by row"
        raise Error("evidence", f"`{name}` has {len(self.texts[variable])} values, and {numbers!r} is not a likelihood of them", hint=hint)


_MISSING = {"", "na", "nan", "null", "?"}
"""Words for a missing cell, in any case, unless they are names of values."""


def is_missing(cell: Any) -> bool:
    """None, an empty text, NaN, NaT, pandas' NA, or a masked cell."""
    if cell is None or cell is np.ma.masked:
        return True
    if isinstance(cell, str):
        return not cell
    if isinstance(cell, (float, np.floating)):
        return bool(np.isnan(cell))
    return type(cell).__name__ in ("NAType", "NaTType")


def _number(value: Any) -> float:
    """A value as a number; NaN if it is none, or if its name is not written as numbers are."""
    if isinstance(value, bool):
        return math.nan
    if isinstance(value, (int, float)):
        return float(value)
    if not isinstance(value, str):
        return math.nan
    try:
        number = float(value)
    except ValueError:
        return math.nan
    return number if value in (repr(number), repr(number).removesuffix(".0")) else math.nan


def _array(cells: Any) -> NDArray[Any]:
    if isinstance(cells, np.ndarray):
        return cells
    if type(cells).__module__.startswith("pyarrow"):
        return np.asarray(cells.to_pylist(), dtype=object)
    if hasattr(cells, "to_numpy"):
        return cells.to_numpy()
    array = np.asarray(cells)
    # Numbers and strings side by side are not all strings.
    mixed = array.dtype.kind in "US" and isinstance(cells, (list, tuple)) and not all(isinstance(cell, str) for cell in cells)
    return np.asarray(cells, dtype=object) if mixed else array


def array_of(values: Sequence[Any]) -> NDArray[Any]:
    """Values in an array of their own type, if there is one."""
    if len({type(value) for value in values}) == 1 and isinstance(values[0], (str, int, float)):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
