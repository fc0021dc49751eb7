"""Random forms of the same evidence have the same answer, or are refused; never another answer.

`SUMOUT_SWEEP=1`, as `./test --sweep` sets it, takes 2,000 forms.
"""

import os
import warnings

import numpy as np
import pytest
import sumout

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")

FORMS = 2000 if os.environ.get("SUMOUT_SWEEP") else 200

VALUES = {
    "sick": ["yes", "no"],
    "rain": ["false", "true"],
    "level": ["low", "mid", "high"],
    "die": [3, 1, 2],
    "size": [0.5, 1.5],
    "open": [True, False],
    "bit": ["1", "0"],
}


def network():
    rng = np.random.default_rng(7)
    b = sumout.Builder("forms")
    b.add("target", ["a", "b", "c"], cpt=[0.2, 0.3, 0.5])
    for name, values in VALUES.items():
        b.add(name, values, ["target"], rng.dirichlet(np.ones(len(values)), 3))
    return b.build()


@pytest.fixture(scope="module")
def circuit():
    return network().compile("target", given=list(VALUES))


def cells(rng, name, positions, styles):
    """The cells of a column in a random style, None where they are missing; and whether this style must be understood."""
    values = VALUES[name]
    style = styles[rng.integers(len(styles))]
    found = [None if p < 0 else values[p] for p in positions]
    if style == "names":
        return [None if v is None else str(v) for v in found], True
    if style == "values":
        return found, True
    if style == "truths" and name in ("sick", "rain", "open"):
        truth = {"yes": True, "no": False, "true": True, "false": False, True: True, False: False}
        return [None if v is None else truth[v] for v in found], True
    if style == "truths as numbers" and name in ("sick", "rain", "open", "bit"):
        truth = {"yes": 1, "no": 0, "true": 1, "false": 0, True: 1, False: 0, "1": 1, "0": 0}
        return [None if v is None else truth[v] for v in found], False
    if style == "positions" and name in ("sick", "rain", "open", "level"):
        return [None if p < 0 else int(p) for p in positions], False
    if style == "texts of other case":
        return [None if v is None else str(v).upper() for v in found], False
    return [None if v is None else str(v) for v in found], True


STYLES = ["names", "names", "values", "truths", "truths as numbers", "positions", "texts of other case"]


def as_column(rng, column):
    """A column of cells in a random type."""
    kind = rng.integers(9)
    whole = [c for c in column if c is not None]
    if kind == 0:
        return pandas.Series(column, index=rng.permutation(len(column)))
    if kind == 1:
        return pandas.Series(column, dtype=object)
    if kind == 2 and all(isinstance(c, str) for c in whole):
        return pandas.Series(column, dtype="category").cat.add_categories(["never"])
    if kind == 3:
        return polars.Series(column, strict=False) if len({type(c) for c in whole}) == 1 else column
    if kind == 4:
        return arrow.array(column) if len({type(c) for c in whole}) == 1 else column
    if kind == 5 and whole and len({type(c) for c in whole}) == 1:
        filled = [whole[0] if c is None else c for c in column]
        return np.ma.masked_array(filled, [c is None for c in column])
    if kind == 6 and whole and all(isinstance(c, (int, float)) for c in whole):
        return np.array([np.nan if c is None else float(c) for c in column])
    if kind == 7 and whole and all(isinstance(c, bool) for c in whole):
        return pandas.Series(column, dtype="boolean")
    if kind == 8 and len(whole) == len(column):
        return np.array(column) if len({type(c) for c in whole}) == 1 else np.array(column, dtype=object)
    return column


def form(rng, table):
    """Evidence in a random form, and whether it must be understood."""
    kind = ["array", "floats", "masked", "rows", "columns", "pandas", "polars", "arrow", "positions"][rng.integers(9)]
    if kind == "array":
        return table.astype(rng.choice([np.int8, np.int32, np.int64])), True
    if kind == "floats":
        return np.where(table < 0, np.nan, table), True
    if kind == "masked":
        return np.ma.masked_array(np.where(table < 0, 99, table), table < 0), True
    if kind == "positions":
        frame = pandas.DataFrame({n: [None if p < 0 else p for p in c] for n, c in zip(VALUES, table.T)})
        return sumout.Positions(frame if rng.random() < 0.5 else polars.from_pandas(frame)), True
    found = {name: cells(rng, name, column, STYLES) for name, column in zip(VALUES, table.T)}
    columns, sure = {name: c for name, (c, _) in found.items()}, all(s for _, s in found.values())
    if kind == "rows":
        return [{n: c[row] for n, c in columns.items()} for row in range(len(table))], sure
    if kind == "columns":
        return {name: as_column(rng, column) for name, column in columns.items()}, False
    if kind == "pandas":
        order = rng.permutation(list(columns))
        return pandas.DataFrame({n: columns[n] for n in order}).assign(other=1), sure
    frame = {n: polars.Series(c, strict=False) for n, c in columns.items()}
    return (polars.DataFrame(frame), sure) if kind == "polars" else (polars.DataFrame(frame).to_arrow(), sure)


@pytest.mark.parametrize("part", range(10))
def test_forms_of_the_same_evidence_have_the_same_answer(circuit, part):
    understood = 0
    for seed in range(part, FORMS, 10):
        rng = np.random.default_rng(seed)
        rows = int(rng.choice([1, 2, 3, 5, 20, 40]))
        table = np.stack([rng.integers(-1, len(values), rows) for values in VALUES.values()], axis=1)
        evidence, must = form(rng, table)
        wanted = circuit.posterior(table)
        try:
            with warnings.catch_warnings(action="ignore"):
                got = circuit.posterior(evidence)
        except sumout.Error as error:
            assert not must, f"seed {seed}: {evidence!r} is refused: {error}"
            continue
        if isinstance(got, dict):
            got = np.array([list(got["target"].values())])
        assert got.shape == wanted.shape, f"seed {seed}: {evidence!r}"
        np.testing.assert_allclose(got, wanted, atol=1e-12, err_msg=f"seed {seed}: {evidence!r}")
        understood += 1
    assert understood > FORMS / 30
