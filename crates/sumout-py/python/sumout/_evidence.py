"""Evidence in all the forms that people have it in: :mod:`sumout._values` has the rule for their cells."""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _sumout
from ._errors import Error, suggest
from ._values import Finding, Positions, Variables

Columns = dict[int, NDArray[Any]]
"""For each variable of which something is known, positions or likelihoods."""

_SMALL = 16
"""Frames of fewer rows are read cell by cell."""


def is_one(evidence: Any) -> bool:
    """Whether it is one example: a dictionary or a labelled row, and not a dictionary of columns."""
    if isinstance(evidence, Positions):
        given = evidence.evidence
        return is_one(given) and (_is_row(given) or not any(map(_may_be_column, given.values())))
    return _is_row(evidence) or (isinstance(evidence, Mapping) and not any(map(_is_column, evidence.values())))


def _is_row(evidence: Any) -> bool:
    """Whether it is a row of a frame of pandas."""
    return type(evidence).__name__ == "Series" and hasattr(evidence, "to_dict") and hasattr(evidence, "index")


def _is_column(cells: Any) -> bool:
    """Whether it holds a cell for each of many examples, whatever else there is."""
    if cells is None or isinstance(cells, (str, bool, int, float)):
        return False
    if isinstance(cells, Positions):
        return _is_column(cells.evidence) or _may_be_column(cells.evidence)
    if isinstance(cells, np.ma.MaskedArray):
        return cells.ndim > 0
    if isinstance(cells, np.ndarray):
        is_likelihood = cells.dtype.kind == "f" and not np.isnan(cells).any()
        return cells.ndim == 2 or (cells.ndim == 1 and (not is_likelihood or not cells.size))
    if isinstance(cells, (list, tuple)):
        return any(cell is None or isinstance(cell, (str, bool, np.bool_)) for cell in cells)
    return hasattr(cells, "to_numpy") or hasattr(cells, "__arrow_c_stream__") or hasattr(cells, "__array__") and np.ndim(cells) > 0


def _may_be_column(cells: Any) -> bool:
    """Whether it may be whole numbers for many examples as well as a likelihood of one."""
    if isinstance(cells, np.ndarray):
        return cells.ndim == 1 and cells.dtype.kind == "f" and bool((cells == np.floor(cells)).all())
    return isinstance(cells, (list, tuple)) and len(cells) > 0 and all(isinstance(cell, numbers.Integral) for cell in cells)


def _check_readings(variables: Variables, evidence: Mapping[Any, Any]) -> None:
    """Refuses a dictionary that may be one example as well as many."""
    unclear = [name for name, cells in evidence.items() if _may_be_column(cells) and not _is_tuple_value(variables, name, cells)]
    if not unclear or len(unclear) < sum(cells is not None for cells in evidence.values()):
        return
    name, cells = unclear[0], evidence[unclear[0]]
    shown = "[" + ", ".join(map(str, cells[:8])) + (", …]" if len(cells) > 8 else "]")
    message = f"`{shown}` for `{name}` is ambiguous: the likelihood of each value in one example, or {len(cells)} examples"
    hint = "a likelihood is `{value: number}`, or a list of floats with fractions; examples are an array of integers, or a list of dictionaries"
    raise Error("evidence", message, hint=hint)


def _is_tuple_value(variables: Variables, name: Any, cells: Any) -> bool:
    return name in variables.index and variables.is_value(variables.index[name], cells)


# One example


def one(variables: Variables, allowed: Mapping[str, int], check: Callable[[str], int], evidence: Any) -> _sumout.Batch:
    """The evidence of one example."""
    batch = _sumout.Batch(1)
    hard: dict[int, int] = {}
    for variable, found in findings(variables, allowed, check, evidence):
        if isinstance(found, list):
            batch.likelihoods(variable, np.array([found], dtype=np.float64))
        else:
            hard[variable] = found
    if hard:
        batch.table(list(hard), np.array([list(hard.values())], dtype=np.int32))
    return batch


def findings(
    variables: Variables, allowed: Mapping[str, int], check: Callable[[str], int], evidence: Any
) -> list[tuple[int, int | list[float]]]:
    """The findings of one example; ``check`` refuses a name that is not ``allowed``."""
    variables, evidence = unwrapped(variables, evidence)
    given: Mapping[Any, Any] = evidence.to_dict() if _is_row(evidence) else evidence
    _check_readings(variables, given)
    found: list[tuple[int, int | list[float]]] = []
    for name, finding in given.items():
        variable = allowed.get(name)
        if variable is None:
            variable = check(name)
        position = variables.finding(variable, finding)
        if position is not None:
            found.append((variable, position))
    return found


def unwrapped(variables: Variables, evidence: Any) -> tuple[Variables, Any]:
    """Evidence, and how its numbers are read."""
    return (variables.by_position(), evidence.evidence) if isinstance(evidence, Positions) else (variables, evidence)


# Many examples


def batch(variables: Variables, inputs: list[int], evidence: Any, strict: bool = False) -> _sumout.Batch:
    """The evidence of many examples."""
    rows, found = columns(variables, inputs, evidence, strict)
    batch = _sumout.Batch(rows)
    few = {k: column for k, column in found.items() if column.ndim == 1 and len(column) == rows < _SMALL}
    if few:
        batch.table(list(few), np.array(list(few.values()), dtype=np.int32).T)
    for variable, column in found.items():
        if variable not in few:
            (batch.likelihoods if column.ndim == 2 else batch.values)(variable, column)
    return batch


def columns(variables: Variables, inputs: list[int], evidence: Any, strict: bool | None = False) -> tuple[int, Columns]:
    """The number of rows, and a column for each variable of which something is known."""
    variables, evidence = unwrapped(variables, evidence)
    if isinstance(evidence, Mapping):
        _check_columns(variables, inputs, [name for name, cells in evidence.items() if cells is not None], strict, are_inputs=True)
        return _named(variables, inputs, {name: cells for name, cells in evidence.items() if cells is not None})
    if isinstance(evidence, (list, tuple)) and all(isinstance(row, Mapping) for row in evidence):
        return _rows(variables, inputs, evidence)
    names = column_names(evidence)
    if names is not None and type(evidence).__module__.startswith("pandas"):
        _check_columns(variables, inputs, names, strict)
        return _pandas(variables, inputs, evidence)
    if names is not None and hasattr(evidence, "__arrow_c_stream__"):
        _check_columns(variables, inputs, names, strict)
        return _arrow(variables, inputs, evidence)
    return _matrix(variables, inputs, _table(variables, inputs, evidence))


def column_names(evidence: Any) -> list[str] | None:
    """The names of the columns of a frame; none if it is not one."""
    evidence = evidence.evidence if isinstance(evidence, Positions) else evidence
    if type(evidence).__module__.startswith("pandas") and hasattr(evidence, "columns"):
        return evidence.columns.tolist()
    if hasattr(evidence, "columns") and hasattr(evidence, "shape"):
        names = getattr(evidence, "column_names", evidence.columns)
        return [str(name) for name in names]
    schema = getattr(evidence, "schema", None)
    if hasattr(evidence, "__arrow_c_stream__"):
        names = getattr(schema, "names", None) or getattr(evidence, "columns", None)
        return [str(name) for name in names] if names is not None and not hasattr(evidence, "chunks") else [] if schema else None
    return None


def _check_columns(variables: Variables, inputs: list[int], given: list[str], strict: bool | None, are_inputs: bool = False) -> None:
    """Of an input without a column and a column without an input, one is probably meant to be the other."""
    allowed = [variables.names[k] for k in inputs]
    known, unread = set(given), [str(name) for name in given if name not in variables.index]
    if are_inputs and unread:
        raise Error("name", f"`{unread[0]}` is not a variable of the network", hint=suggest(str(unread[0]), allowed, "the inputs"))
    lacking = [name for name in allowed if name not in known]
    if len(lacking) == len(allowed) and not are_inputs or not lacking and not strict:
        return
    if strict and (lacking or unread):
        raise Error("name", _unread(lacking, unread), hint=_meant(lacking, unread) or "`strict=False` takes it as it is")
    if lacking and unread and not are_inputs and strict is not None:
        hint = _meant(lacking, unread) or "`strict=True` makes this an error"
        warnings.warn(f"{_unread(lacking, unread)}\nhint: {hint}", UserWarning, stacklevel=_outside())


def _unread(lacking: list[str], unread: list[str]) -> str:
    """Which inputs have no column, and which columns are not read."""

    def listed(names: list[str]) -> str:
        return ", ".join(f"`{name}`" for name in names[:6]) + (", …" if len(names) > 6 else "")

    inputs = f"no column for the input {listed(lacking)}" if lacking else ""
    columns = f"no variable for the column {listed(unread)}" if unread else ""
    return " and ".join(part for part in (inputs, columns) if part)


def _meant(lacking: list[str], unread: list[str]) -> str | None:
    for name in lacking:
        hint = suggest(name, unread, "")
        if hint.startswith("did you mean"):
            return f"is {hint.removeprefix('did you mean ').removesuffix('?')} meant to be `{name}`?"
    return None


def _outside() -> int:
    """How far up the first caller outside of this package is."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "sumout":
        depth, frame = depth + 1, frame.f_back
    return depth


def _pandas(variables: Variables, inputs: list[int], frame: Any) -> tuple[int, Columns]:
    """Few rows are read cell by cell; of many, texts as Arrow has them, if it is there, and all others as arrays."""
    known = set(frame.columns.tolist())
    wanted = {variables.names[k]: k for k in inputs if variables.names[k] in known}
    if not frame.columns.is_unique:
        for name in wanted:
            if frame[name].ndim != 1:
                raise Error("name", f"there are several columns `{name}`")
    if not wanted:
        raise _no_input(variables, inputs)
    if len(frame) < _SMALL:
        return _few(variables, wanted, frame)
    kinds = frame.dtypes
    texts = [name for name in wanted if str(kinds[name]) in ("str", "string")] if "pyarrow" in sys.modules else []
    # An index is never evidence.
    found = _arrow(variables, [wanted[name] for name in texts], frame[texts].reset_index(drop=True))[1] if texts else {}
    rest = set(wanted) - set(texts)
    return len(frame), {**found, **{wanted[name]: variables.column(wanted[name], frame[name]) for name in wanted if name in rest}}


def _few(variables: Variables, wanted: dict[str, int], frame: Any) -> tuple[int, Columns]:
    """Columns are taken as pandas has them: a series of each would take longer than to read it."""
    found: Columns = {}
    for at, name in enumerate(frame.columns.tolist()):
        k = wanted.get(name)
        if k is None:
            continue
        array = frame._get_column_array(at) if hasattr(frame, "_get_column_array") else frame.iloc[:, at].array
        if hasattr(array, "codes"):
            found[k] = variables.codes(k, array.categories, array.codes)
        elif isinstance(array, np.ndarray):
            found[k] = variables.column(k, array)
        else:
            found[k] = variables.objects(k, array.__arrow_array__().to_pylist() if _has_arrow(array) else list(array))
    return len(frame), found


def _has_arrow(array: Any) -> bool:
    return "pyarrow" in sys.modules and type(array).__name__ in ("ArrowStringArray", "ArrowExtensionArray")


def _arrow(variables: Variables, inputs: list[int], table: Any) -> tuple[int, Columns]:
    """The columns of a table that speaks Arrow's C interface, read where they lie."""
    wanted = [(variables.names[k], variables.texts[k]) for k in inputs]
    rows, found = _sumout.arrow_columns(_aligned(_without_nulls(table)), wanted)
    read: Columns = {}
    for name, kind, cells in found:
        k = variables.index[name]
        if kind == "numbers":
            cells = variables.column(k, cells)
        elif kind == "unknown":
            variables.unknown(k, cells)
        elif kind == "truths":
            cells = np.array([*variables.truth(k), -1], dtype=np.int32)[cells] if len(cells) and (cells >= 0).any() else cells
        read[k] = cells
    if not read:
        raise _no_input(variables, inputs)
    return rows, read


def _aligned(table: Any) -> Any:
    """The same table where numbers lie as processors read them. In frames that came from another process they may lie anywhere."""
    if type(table).__module__.split(".")[0] not in ("pandas", "pyarrow") or "pyarrow" not in sys.modules:
        return table
    pa = sys.modules["pyarrow"]
    whole = pa.table(table)
    buffers = (buffer for column in whole.columns for chunk in column.chunks for buffer in chunk.buffers())
    if all(buffer is None or buffer.address % 8 == 0 for buffer in buffers):
        return whole
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, whole.schema) as stream:
        stream.write_table(whole)
    return pa.ipc.open_stream(out.getvalue()).read_all()


def _without_nulls(table: Any) -> Any:
    """Polars hands over columns of its type `Null`, which have no cells at all, in a form that few can read."""
    if not type(table).__module__.startswith("polars") or not hasattr(table, "schema"):
        return table
    empty = [name for name, kind in table.schema.items() if str(kind) == "Null"]
    return table.cast(dict.fromkeys(empty, sys.modules["polars"].String)) if empty else table


def _named(variables: Variables, inputs: list[int], found: Mapping[str, Any]) -> tuple[int, Columns]:
    allowed = {variables.names[k]: k for k in inputs}
    read = {allowed[name]: variables.column(allowed[name], cells) for name, cells in found.items() if name in allowed}
    if not read:
        raise _no_input(variables, inputs)
    lengths = {len(column) for column in read.values()}
    if len(lengths) > 1:
        raise Error("evidence", f"columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
    return lengths.pop(), read


def _inputs(written: str, variables: Variables, inputs: list[int]) -> str:
    return suggest(str(written), [variables.names[k] for k in inputs], "the inputs")


def _no_input(variables: Variables, inputs: list[int]) -> Error:
    return Error("name", "no column is an input of this circuit", hint=_inputs("", variables, inputs))


def _rows(variables: Variables, inputs: list[int], rows: Sequence[Mapping[Any, Any]]) -> tuple[int, Columns]:
    allowed = {variables.names[k]: k for k in inputs}
    found: dict[int, list[Any]] = {}
    for at, row in enumerate(rows):
        for name, value in row.items():
            if name not in allowed:
                raise Error("name", f"`{name}` is not an input of this circuit", hint=_inputs(name, variables, inputs))
            k = allowed[name]
            if k not in found:
                found[k] = [None] * len(rows)
            found[k][at] = variables.finding(k, value)
    return len(rows), {k: _mixed(variables, k, cells) for k, cells in found.items()}


def _mixed(variables: Variables, variable: int, cells: list[Any]) -> NDArray[Any]:
    """Positions if all are; likelihoods if one is."""
    if not any(isinstance(cell, list) for cell in cells):
        return np.array([-1 if cell is None else cell for cell in cells], dtype=np.int32)
    card = len(variables.texts[variable])
    hot = np.eye(card)
    return np.array([np.ones(card) if cell is None else cell if isinstance(cell, list) else hot[cell] for cell in cells], dtype=np.float64)


def _table(variables: Variables, inputs: list[int], evidence: Any) -> NDArray[Any]:
    """An array, or nested lists."""
    if isinstance(evidence, np.ndarray):
        return evidence
    try:
        array = np.asarray(evidence)
        return np.asarray(evidence, dtype=object) if array.dtype.kind in "US" and array.ndim > 0 else array
    except ValueError:  # lists of different lengths
        raise Error("evidence", "rows have different lengths", hint=_inputs("", variables, inputs)) from None


def _matrix(variables: Variables, inputs: list[int], array: NDArray[Any]) -> tuple[int, Columns]:
    """A column for each input, in their order: numbers are positions, and negative where nothing is known."""
    if array.ndim != 2 or array.shape[1] != len(inputs):
        shape = f"an array of shape {array.shape}"
        hint = f"give a row for each example, with {len(inputs)} columns: `circuit.inputs` lists them in order"
        raise Error("evidence", f"the circuit has {len(inputs)} inputs, and the evidence is {shape}", hint=hint)
    if array.dtype.kind in "iu" and not isinstance(array, np.ma.MaskedArray):
        if array.size and array.max() >= 2**31:
            raise Error("evidence", f"there is no value {array.max()}")
        known = array if array.dtype.kind == "u" else np.maximum(array, -1)
        return len(array), {k: known[:, at].astype(np.int32) for at, k in enumerate(inputs)}
    if array.dtype.kind == "f":
        _check_whole(array)
    if array.dtype.kind in "fiu":
        variables = variables.by_position()
    return len(array), {k: variables.column(k, array[:, at]) for at, k in enumerate(inputs)}


def _check_whole(array: NDArray[Any]) -> None:
    seen = np.ma.compressed(array) if isinstance(array, np.ma.MaskedArray) else array.ravel()
    seen = seen[~np.isnan(seen)]
    if (seen != np.floor(seen)).any():
        hint = "likelihoods come as a dictionary: {name: array of rows by values}"
        raise Error("evidence", "positions of values are whole numbers", hint=hint)
    if (seen >= 2**31).any():
        raise Error("evidence", f"there is no value {seen.max()}")


__all__ = ["Finding", "Positions", "Variables", "batch", "columns", "findings", "is_one", "one"]
