"""Answers as frames: of the kind that the evidence came in, with its index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import Error
from ._values import Positions


def tables(evidence: Any, values: Mapping[str, Sequence[Any]], posteriors: Mapping[str, NDArray[Any]], is_one: bool) -> Any:
    """Posteriors: a column for each value; of several variables, for each variable and value.

    Polars has no columns of two levels: there they are called ``VARIABLE=VALUE``.
    """
    whole = np.concatenate([posteriors[name] for name in posteriors], axis=1)
    if is_polars(evidence):
        titles = [f"{name}={value}" for name in posteriors for value in values[name]]
        return _polars().DataFrame({title: column for title, column in zip(titles, whole.T)})
    pandas = _pandas()
    if len(posteriors) == 1:
        name = next(iter(posteriors))
        columns = pandas.Index(values[name], name=name)
    else:
        pairs = [(name, value) for name in posteriors for value in values[name]]
        columns = pandas.MultiIndex.from_tuples(pairs, names=["variable", "value"])
    return pandas.DataFrame(whole, index=index(evidence, len(whole)), columns=columns)


def series(evidence: Any, name: str, cells: NDArray[Any]) -> Any:
    """A column that goes with a frame."""
    if is_polars(evidence):
        return _polars().Series(name, cells.tolist() if cells.dtype.kind == "O" else cells)
    return _pandas().Series(cells, index=index(evidence, len(cells)), name=name)


def frame(evidence: Any, columns: Mapping[str, NDArray[Any]]) -> Any:
    """Columns that go with a frame."""
    if is_polars(evidence):
        return _polars().DataFrame({name: cells.tolist() if cells.dtype.kind == "O" else cells for name, cells in columns.items()})
    rows = len(next(iter(columns.values())))
    return _pandas().DataFrame(dict(columns), index=index(evidence, rows))


def index(evidence: Any, rows: int) -> Any:
    """The index of a frame of pandas, if the evidence is one."""
    found: Any = getattr(_bare(evidence), "index", None)
    return found if hasattr(found, "get_indexer") and len(found) == rows else None


def is_polars(evidence: Any) -> bool:
    return type(_bare(evidence)).__module__.startswith("polars")


def _bare(evidence: Any) -> Any:
    return evidence.evidence if isinstance(evidence, Positions) else evidence


def cpt(parents: Mapping[str, Sequence[Any]], child: str, values: Sequence[Any], table: NDArray[Any]) -> Any:
    """A CPT: a row for each joint state of the parents, a column for each value."""
    pandas = _pandas()
    rows = table.reshape(-1, len(values))
    columns = pandas.Index(list(values), name=child)
    if not parents:
        return pandas.DataFrame(rows, columns=columns)
    if len(parents) == 1:
        name = next(iter(parents))
        return pandas.DataFrame(rows, index=pandas.Index(list(parents[name]), name=name), columns=columns)
    states = pandas.MultiIndex.from_product([list(of) for of in parents.values()], names=list(parents))
    return pandas.DataFrame(rows, index=states, columns=columns)


def labelled(table: Any, parents: Mapping[str, Sequence[Any]], child: str, values: Sequence[Any]) -> NDArray[np.float64] | None:
    """The numbers of a CPT that is a series or a frame of pandas, in the order of the network; none if it is neither."""
    if not type(table).__module__.startswith("pandas"):
        return None
    if hasattr(table, "columns"):
        return _rows(table, parents, child, values)
    if parents or not hasattr(table, "index"):
        raise Error("model", f"a CPT of `{child}` as a series has no parents", hint="give a frame: a row for each joint state of the parents")
    order = _order(table.index, values, child)
    return np.asarray(table, dtype=np.float64)[order]


def _rows(table: Any, parents: Mapping[str, Sequence[Any]], child: str, values: Sequence[Any]) -> NDArray[np.float64]:
    numbers = np.asarray(table, dtype=np.float64)[:, _order(table.columns, values, child)]
    shape = [len(of) for of in parents.values()]
    if not parents:
        if len(numbers) != 1:
            raise Error("model", f"the CPT of `{child}` has {len(numbers)} rows", hint="without parents it has one")
        return numbers[0]
    index = table.index
    if getattr(index, "nlevels", 1) > 1 and set(index.names) == set(parents):
        numbers = numbers[np.argsort(_states(index, list(parents), parents, child), kind="stable")]
    elif len(parents) == 1:
        numbers = numbers[_order(index, next(iter(parents.values())), next(iter(parents)))]
    else:
        hint = f"its index has the levels {', '.join(f'`{name}`' for name in parents)}"
        raise Error("model", f"the rows of the CPT of `{child}` are not labelled by its parents", hint=hint)
    return numbers.reshape(*shape, len(values))


def _states(index: Any, names: list[str], parents: Mapping[str, Sequence[Any]], child: str) -> NDArray[np.intp]:
    """For each row the number of its joint state, the last parent moving fastest."""
    sizes = [len(parents[name]) for name in names]
    places = []
    for name in names:
        known = {str(value): at for at, value in enumerate(parents[name])}
        cells = [str(cell) for cell in index.get_level_values(name)]
        for cell in cells:
            if cell not in known:
                raise Error("name", f"a row of the CPT of `{child}` has the value `{cell}` of `{name}`, which does not exist")
        places.append([known[cell] for cell in cells])
    states = np.ravel_multi_index(tuple(np.array(column) for column in places), sizes)
    if sorted(states.tolist()) != list(range(int(np.prod(sizes)))):
        raise Error("model", f"the CPT of `{child}` lacks rows, or has some twice", hint="one for each joint state of its parents")
    return states


def _order(labels: Any, values: Sequence[Any], variable: str) -> NDArray[np.intp]:
    """Where each value is among labels; labels that only count are positions."""
    written, wanted = [str(label) for label in labels], [str(value) for value in values]
    if type(labels).__name__ == "RangeIndex" and sorted(written) == sorted(wanted) != wanted:
        raise Error("model", f"the labels of a CPT may be positions or values of `{variable}`", hint="give an array, or name the values")
    counts = written == [str(at) for at in range(len(written))] and type(labels).__name__ == "RangeIndex"
    if counts and len(written) == len(wanted):
        return np.arange(len(wanted))
    if sorted(written) != sorted(wanted):
        shown = ", ".join(f"`{name}`" for name in wanted[:12])
        raise Error("name", f"the labels of a CPT are not the values of `{variable}`: {', '.join(written[:12])}", hint=f"its values are {shown}")
    return np.array([written.index(name) for name in wanted])


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise Error("unsupported", "frames need pandas", hint="pip install pandas") from None
    return pandas


def _polars() -> Any:
    import polars

    return polars
