"""The same data, options and seed learn the same in a shell and in Python: the files are equal, byte by byte."""

import csv
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sumout

BINARY = Path(os.environ.get("SUMOUT_BIN", Path(__file__).parents[3] / "target/debug/sumout"))

# x is a function of u, nobody knows which.
DECLARED = """{"sumout": 1, "kind": "bayes", "name": "declared", "variables": [
  {"name": "u", "values": ["0", "1", "2"]}, {"name": "x", "values": ["t", "f"]},
  {"name": "a", "values": ["t", "f"]}, {"name": "b", "values": ["t", "f"]}], "cpts": [
  {"child": "u", "parents": [], "table": [0.2, 0.3, 0.5], "fixed": true},
  {"child": "x", "parents": ["u"], "table": [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]], "functional": true},
  {"child": "a", "parents": ["u", "x"], "table": [[0.9, 0.1], [0.3, 0.7], [0.8, 0.2], [0.5, 0.5], [0.4, 0.6], [0.1, 0.9]], "fixed": true},
  {"child": "b", "parents": ["u", "x"], "table": [[0.7, 0.3], [0.2, 0.8], [0.6, 0.4], [0.1, 0.9], [0.9, 0.1], [0.3, 0.7]], "fixed": true}]}"""

# Soft labels and weights, as `sumout fit` reads them.
SOFT = "xray,dysp,lung=yes,lung=no,count\nyes,yes,1,0,3\nyes,,0,1,1\nno,no,0.2,0.8,2\nno,yes,,,5\nyes,no,0.7,0.3,1.5\n"

SHORT = dict(epochs=3, seed=7)


def run(folder, *words):
    done = subprocess.run([BINARY, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models and data."""
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built")
    folder = tmp_path_factory.mktemp("shell")
    (folder / "declared.json").write_text(DECLARED)
    (folder / "soft.csv").write_text(SOFT)
    run(folder, "sample", "asia", "-n", 90, "--seed", 3, "-o", "cases.csv")
    run(folder, "sample", "declared.json", "-n", 60, "--columns", "u", "a", "b", "-o", "declared.csv")
    run(folder, "data", "rect:5", "-n", 60, "-o", "rect.csv")
    lines = (folder / "cases.csv").read_text().splitlines()
    hidden = [lines[0], *(line if k % 3 else line[line.index(",") :] for k, line in enumerate(lines[1:]))]
    (folder / "hidden.csv").write_text("\n".join(hidden))
    return folder


def columns(path):
    """The columns of a CSV file; empty cells are missing."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] or None for row in rows] for name in rows[0]}


def soft(path):
    """Columns `name=value` side by side, and the weights."""
    table = columns(path)
    likelihoods = np.array([[float(cell or 0) for cell in table[name]] for name in ["lung=yes", "lung=no"]]).T
    data = {name: table[name] for name in ["xray", "dysp"]} | {"lung": likelihoods}
    return data, np.array(table["count"], dtype=float)


def words(options):
    """Options of Python as those of the command."""
    for name, value in options.items():
        if value is True:
            yield f"--{name.replace('_', '-')}"
        elif isinstance(value, dict):
            yield from (f"--{name}", ",".join(f"{k}={v}" for k, v in value.items()))
        elif isinstance(value, tuple):
            yield from (f"--{name}", ",".join(map(str, value)))
        elif isinstance(value, list):
            yield from (f"--{name}", *value)
        else:
            yield from (f"--{name.replace('_', '-')}", str(value))


CASES = {
    "default": ("asia", "cases", dict(target="lung")),
    "paper": ("rect:5", "rect", dict(target="label", preset="paper")),
    "paper in batches": ("rect:5", "rect", dict(target="label", preset="paper", batch=16)),
    "batches": ("rect:5", "rect", dict(target="label", batch=8)),
    "likelihood": ("asia", "cases", dict(starts=2)),
    "likelihood of the paper": ("asia", "cases", dict(preset="paper")),
    "sgd": ("asia", "cases", dict(target="lung", method="sgd", momentum=0.5, schedule="linear", decay=4, rate=(0.1, 0.02))),
    "rate": ("asia", "cases", dict(target="lung", rate=0.03, schedule="constant", start="uniform")),
    "loss": ("asia", "hidden", dict(target="lung", loss={"cross_entropy": 1, "squared_error": 0.5}, prior=0.5)),
    "validation": ("asia", "cases", dict(target="lung", validation=0.3, patience=2, precision="f64")),
    "em": ("asia", "hidden", dict(method="em")),
    "preset em": ("asia", "hidden", dict(preset="em", prior=1)),
    "counting": ("asia", "cases", dict(method="em", freeze=["smoke"])),
    "targets": ("asia", "cases", dict(target=["lung", "bronc"], given=["smoke", "xray", "dysp"], train=["lung", "bronc", "dysp"])),
    "strict ties": ("rect:5", "rect", dict(target="label", given="pixel_*", strict_ties=True)),
    "snapping": ("declared.json", "declared", dict(target="u", given=["a", "b"], snap=True, level="paper")),
    "snapping at a temperature": ("declared.json", "declared", dict(target="u", snap=True, temperature=(1.0, 0.5))),
    "declared": ("declared.json", "declared", dict(level="paper", effort=0.1)),
}


def read(folder, model):
    return sumout.read(folder / model if model.endswith(".json") else model)


@pytest.mark.parametrize("name", CASES)
def test_the_same_is_learned(name, folder, tmp_path):
    model, data, options = CASES[name]
    options = {**SHORT, **options}
    run(folder, "fit", model, f"{data}.csv", *words(options), "-o", tmp_path / "shell.json")
    learned = read(folder, model).fit(columns(folder / f"{data}.csv"), hidden="*", **options)
    learned.network.write(tmp_path / "python.json")
    assert (tmp_path / "shell.json").read_bytes() == (tmp_path / "python.json").read_bytes()


@pytest.mark.parametrize("options", [dict(), dict(preset="paper", validation=0.0, batch=2)], ids=["default", "paper"])
def test_soft_labels_and_weights_are_the_same(options, folder, tmp_path):
    options = {**SHORT, "target": "lung", **options}
    run(folder, "fit", "asia", "soft.csv", *words(options), "--weights", "count", "-o", tmp_path / "shell.json")
    data, weights = soft(folder / "soft.csv")
    sumout.read("asia").fit(data, weights=weights, hidden="*", **options).network.write(tmp_path / "python.json")
    assert (tmp_path / "shell.json").read_bytes() == (tmp_path / "python.json").read_bytes()


@pytest.mark.parametrize("options", [dict(), dict(method="em")], ids=["trained", "counted"])
def test_circuits_are_the_same(options, folder, tmp_path):
    options = {**SHORT, "target": "lung", **options}
    run(folder, "fit", "asia", "cases.csv", *words(options), "-o", tmp_path / "shell.sumout")
    learned = sumout.read("asia").fit(columns(folder / "cases.csv"), **options)
    assert (tmp_path / "shell.sumout").read_bytes() == learned.circuit.to_bytes()


def test_other_seeds_learn_something_else(folder, tmp_path):
    """The files compared above depend on the options."""
    found = set()
    for seed in [1, 2]:
        learned = sumout.read("asia").fit(columns(folder / "cases.csv"), target="lung", epochs=1, seed=seed)
        learned.network.write(tmp_path / "python.json")
        found.add((tmp_path / "python.json").read_bytes())
    assert len(found) == 2
