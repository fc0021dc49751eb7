"""Evidence in all the forms that people have it in.

In dictionaries and tables, what is known of a variable is the name of a value, a likelihood for each value, or nothing. A number
is the value of that name if the values are numbers, and else a position. In a plain array there are no names: numbers are
positions, and negative where nothing is known.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Union

import numpy as np
from numpy.typing import NDArray

from . import _sumout
from ._errors import Error, suggest

Finding = Union[str, int, bool, float, None, Sequence[float], Mapping[str, float], NDArray[Any]]
"""The evidence on a variable."""

_TRUE = {"true": "false", "t": "f", "yes": "no", "y": "n", "on": "off", "1": "0", "present": "absent"}


class Variables:
    """The variables of a network, by name."""

    def __init__(self, variables: list[tuple[str, list[str]]]):
        self.names = [name for name, _ in variables]
        self.index = {name: k for k, name in enumerate(self.names)}
        self.values = [values for _, values in variables]
        self._positions = [{value: k for k, value in enumerate(values)} for values in self.values]

    def position(self, variable: int, value: Any) -> int:
        """The position of a value that may be called by its name, its number, or its truth."""
        if isinstance(value, (np.generic, np.ndarray)) and np.ndim(value) == 0:
            value = value.item()
        if isinstance(value, str):
            found = self._positions[variable].get(value)
            return self.unknown(variable, value) if found is None else found
        if isinstance(value, bool):
            return self.truth(variable)[int(value)]
        if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
            return int(self.numbers(variable, np.array([int(value)], dtype=object))[0])
        return self.unknown(variable, value)

    def unknown(self, variable: int, value: Any) -> NoReturn:
        """Complains of a value that the variable does not have."""
        hint = suggest(str(value), self.values[variable], "its values")
        raise Error("name", f"variable `{self.names[variable]}` has no value `{value}`", hint=hint)

    def truth(self, variable: int) -> tuple[int, int]:
        """The positions of what is false and of what is true."""
        lower = [value.lower() for value in self.values[variable]]
        for true, false in _TRUE.items():
            if sorted(lower) == sorted([true, false]):
                return lower.index(false), lower.index(true)
        name, shown = self.names[variable], ", ".join(f"`{v}`" for v in self.values[variable][:12])
        raise Error("name", f"variable `{name}` is neither true nor false", hint=f"its values are {shown}")

    def numbers(self, variable: int, numbers: NDArray[Any]) -> NDArray[np.int32]:
        """The positions of values called by numbers: their names, if they are numbers, and else their positions."""
        values = self.values[variable]
        if all(_is_integer(value) for value in values):
            known = np.array([int(value) for value in values])
            order = np.argsort(known)
            at = order[np.searchsorted(known, numbers, sorter=order).clip(max=len(known) - 1)]
            wrong = known[at] != numbers
        else:
            at, wrong = numbers, (numbers < 0) | (numbers >= len(values))
        if wrong.any():
            self.unknown(variable, numbers[wrong][0])
        return at.astype(np.int32)

    def column(self, variable: int, cells: Any) -> NDArray[Any]:
        """Positions of values, -1 where one is missing; or a row of likelihoods for each example."""
        categories = getattr(cells, "cat", None)
        if categories is not None and hasattr(categories, "codes"):  # pandas: each name is looked up once, if a cell has it
            categories = categories.remove_unused_categories().cat
            known = self.column(variable, np.asarray(categories.categories))
            return np.append(known, np.int32(-1))[categories.codes.to_numpy()]
        array = _array(cells)
        if array.ndim == 2:
            return np.ascontiguousarray(array, dtype=np.float64)
        if array.ndim != 1:
            raise Error("evidence", f"`{self.names[variable]}` has an array of {array.ndim} dimensions")
        kind = array.dtype.kind
        if kind == "b":
            false, true = self.truth(variable)
            return np.where(array, true, false).astype(np.int32)
        if kind in "iu":
            return self.numbers(variable, array)
        if kind == "f":
            return self._floats(variable, array)
        return self._objects(variable, array)

    def _floats(self, variable: int, array: NDArray[Any]) -> NDArray[np.int32]:
        missing = np.isnan(array)
        whole = np.where(missing, 0, array)
        broken = (whole != np.round(whole)) | (np.abs(whole) >= 2**63)
        if broken.any():
            self.unknown(variable, whole[broken][0])
        positions = np.full(len(array), -1, dtype=np.int32)
        positions[~missing] = self.numbers(variable, whole[~missing].astype(np.int64))
        return positions

    def _objects(self, variable: int, array: NDArray[Any]) -> NDArray[np.int32]:
        known: dict[Any, int] = {None: -1, **self._positions[variable]}

        def find(cell: Any) -> int:
            try:
                return known[cell]
            except KeyError:
                is_word = isinstance(cell, str) and cell.lower() in _MISSING
                found = -1 if is_word or _is_missing(cell) else self.position(variable, cell)
                known[cell] = found
                return found

        cells = array.tolist()
        try:  # nearly always all of them are names
            return np.fromiter(map(known.__getitem__, cells), dtype=np.int32, count=len(cells))
        except (KeyError, TypeError):
            return np.fromiter(map(find, cells), dtype=np.int32, count=len(cells))

    def finding(self, variable: int, finding: Finding) -> int | list[float] | None:
        """A position, likelihoods, or nothing."""
        if finding is None or _is_missing(finding):
            return None
        if isinstance(finding, Mapping):
            finding = self._by_value(variable, finding)
        if isinstance(finding, (list, tuple, np.ndarray)) and np.ndim(finding) > 0:
            return self._likelihood(variable, finding)
        return self.position(variable, finding)

    def _by_value(self, variable: int, finding: Mapping[str, float]) -> list[Any]:
        likelihood: list[Any] = [0.0] * len(self.values[variable])
        for value, number in finding.items():
            likelihood[self.position(variable, value)] = number
        return likelihood

    def _likelihood(self, variable: int, numbers: Any) -> list[float]:
        try:
            likelihood = np.asarray(numbers, dtype=np.float64)
        except (TypeError, ValueError):
            likelihood = np.zeros((0, 0))
        if likelihood.shape == (len(self.values[variable]),):
            return [float(number) for number in likelihood]
        name, shown = self.names[variable], ", ".join(f"`{value}`" for value in self.values[variable][:12])
        hint = f"give a number for each of {shown}; for many examples, an array of names, integers, or likelihoods row by row"
        raise Error("evidence", f"`{name}` has {len(self.values[variable])} values, and {numbers!r} is not a likelihood of them", hint=hint)


_MISSING = {"", "na", "nan", "null", "?"}  # text for a missing cell, unless it is the name of a value


def _is_missing(cell: Any) -> bool:
    """NaN, NaT or pandas' NA."""
    return type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, (float, np.floating)) and bool(np.isnan(cell)))


def _is_integer(text: str) -> bool:
    return text.lstrip("-").isdecimal() and str(int(text)) == text


def is_one(evidence: Any) -> bool:
    """Whether it is a dictionary for one example, and not one of columns."""
    return isinstance(evidence, Mapping) and not any(map(_is_column, evidence.values()))


def _is_column(cells: Any) -> bool:
    if isinstance(cells, np.ndarray):
        return cells.ndim == 2 or (cells.ndim == 1 and cells.dtype.kind in "iubOUT")
    if isinstance(cells, (list, tuple)):  # of names; numbers would be a likelihood
        return any(isinstance(cell, str) for cell in cells)
    return hasattr(cells, "to_numpy") or hasattr(cells, "__arrow_c_stream__")  # a column of pandas, Polars or Arrow


def columns(variables: Variables, inputs: list[int], evidence: Any) -> tuple[int, dict[int, NDArray[Any]]]:
    """The number of rows, and a column for each variable of which something is known."""
    if isinstance(evidence, Mapping):
        return _named(variables, inputs, {name: cells for name, cells in evidence.items() if cells is not None}, strict=True)
    if isinstance(evidence, (list, tuple)) and all(isinstance(row, Mapping) for row in evidence):
        return _rows(variables, inputs, evidence)
    if type(evidence).__module__.startswith("pandas") and hasattr(evidence, "columns"):
        return _pandas(variables, inputs, evidence)
    if hasattr(evidence, "__arrow_c_stream__"):
        return _arrow(variables, inputs, evidence)
    try:
        array = np.asarray(evidence)
    except ValueError:  # lists of different lengths
        raise Error("evidence", "rows have different lengths", hint=_inputs("", variables, inputs)) from None
    return _matrix(variables, inputs, array)


def _pandas(variables: Variables, inputs: list[int], frame: Any) -> tuple[int, dict[int, NDArray[Any]]]:
    """Texts are read as Arrow has them, if it is there; all others as arrays."""
    wanted = {variables.names[k]: k for k in inputs if variables.names[k] in frame.columns}
    for name in wanted:
        if frame[name].ndim != 1:
            raise Error("name", f"there are several columns `{name}`")
    texts = [name for name in wanted if str(frame.dtypes[name]) in ("str", "string")] if "pyarrow" in sys.modules else []
    # An index is never evidence.
    found = _arrow(variables, [wanted[name] for name in texts], frame[texts].reset_index(drop=True))[1] if texts else {}
    others = {name: frame[name] for name in wanted if name not in set(texts)}
    return len(frame), {**found, **(_named(variables, inputs, others)[1] if others or not texts else {})}


def _arrow(variables: Variables, inputs: list[int], table: Any) -> tuple[int, dict[int, NDArray[Any]]]:
    """The columns of a table that speaks Arrow's C interface, read where they lie."""
    wanted = [(variables.names[k], variables.values[k]) for k in inputs]
    rows, found = _sumout.arrow_columns(table, wanted)
    read: dict[int, NDArray[Any]] = {}
    for name, kind, cells in found:
        k = variables.index[name]
        if kind == "numbers":
            cells = variables.column(k, cells)
        elif kind == "unknown":
            variables.unknown(k, cells)
        elif kind == "truths":
            cells = np.array([*variables.truth(k), -1], dtype=np.int32)[cells]
        read[k] = cells
    if not read:
        raise _no_input(variables, inputs)
    return rows, read


def _array(cells: Any) -> NDArray[Any]:
    return cells.to_numpy() if hasattr(cells, "to_numpy") else np.asarray(cells)


def _named(variables: Variables, inputs: list[int], found: Mapping[str, Any], strict: bool = False):
    allowed = {variables.names[k]: k for k in inputs}
    all_columns = {}
    for name, cells in found.items():
        if name not in allowed:
            if strict and name not in variables.index:
                raise Error("name", f"`{name}` is not a variable of the network", hint=_inputs(name, variables, inputs))
            continue
        all_columns[allowed[name]] = variables.column(allowed[name], cells)
    if not all_columns:
        raise _no_input(variables, inputs)
    lengths = {len(column) for column in all_columns.values()}
    if len(lengths) > 1:
        raise Error("evidence", f"columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
    return lengths.pop(), all_columns


def _inputs(written: str, variables: Variables, inputs: list[int]) -> str:
    return suggest(str(written), [variables.names[k] for k in inputs], "the inputs")


def _no_input(variables: Variables, inputs: list[int]) -> Error:
    return Error("name", "no column is an input of this circuit", hint=_inputs("", variables, inputs))


def _rows(variables: Variables, inputs: list[int], rows: Sequence[Mapping[str, Any]]):
    allowed = {variables.names[k]: k for k in inputs}
    found: dict[int, list[Any]] = {}
    for at, row in enumerate(rows):
        for name, value in row.items():
            if name not in allowed:
                raise Error("name", f"`{name}` is not an input of this circuit", hint=_inputs(name, variables, inputs))
            cells = found.setdefault(allowed[name], [None] * len(rows))
            cells[at] = variables.finding(allowed[name], value)
    return len(rows), {k: _mixed(variables, k, cells) for k, cells in found.items()}


def _mixed(variables: Variables, variable: int, cells: list[Any]) -> NDArray[Any]:
    """Positions if all are; likelihoods if one is."""
    if not any(isinstance(cell, list) for cell in cells):
        return np.array([-1 if cell is None else cell for cell in cells], dtype=np.int32)
    card = len(variables.values[variable])
    hot = np.eye(card)
    return np.array([np.ones(card) if cell is None else cell if isinstance(cell, list) else hot[cell] for cell in cells], dtype=np.float64)


def _matrix(variables: Variables, inputs: list[int], array: NDArray[Any]) -> tuple[int, dict[int, NDArray[Any]]]:
    """A column for each input, in their order."""
    if array.ndim != 2 or array.shape[1] != len(inputs):
        shape = f"an array of shape {array.shape}"
        hint = f"give a row for each example, with {len(inputs)} columns: `circuit.inputs` lists them in order"
        raise Error("evidence", f"the circuit has {len(inputs)} inputs, and the evidence is {shape}", hint=hint)
    kind = array.dtype.kind
    if kind == "f":
        array, kind = np.where(np.isnan(array), -1, array), "i"
        if (array != np.round(array)).any():
            hint = "likelihoods come as a dictionary: {name: array of rows by values}"
            raise Error("evidence", "positions of values are whole numbers", hint=hint)
    if kind in "iu":
        if array.size and array.max() >= 2**31:
            raise Error("evidence", f"there is no value {array.max()}")
        known = array if kind == "u" else np.maximum(array, -1)  # all that are negative say that nothing is known
        return len(array), {k: known[:, at].astype(np.int32) for at, k in enumerate(inputs)}
    return len(array), {k: variables.column(k, array[:, at]) for at, k in enumerate(inputs)}


def batch(variables: Variables, inputs: list[int], evidence: Any) -> _sumout.Batch:
    """The evidence of many examples."""
    rows, found = columns(variables, inputs, evidence)
    batch = _sumout.Batch(rows)
    for variable, column in found.items():
        (batch.likelihoods if column.ndim == 2 else batch.values)(variable, column)
    return batch


def one(variables: Variables, check, evidence: Mapping[str, Finding]) -> _sumout.Batch:
    """The evidence of one example."""
    batch = _sumout.Batch(1)
    for name, finding in evidence.items():
        variable = check(name)
        found = variables.finding(variable, finding)
        if isinstance(found, list):
            batch.likelihoods(variable, np.array([found], dtype=np.float64))
        elif found is not None:
            batch.values(variable, np.array([found], dtype=np.int32))
    return batch
