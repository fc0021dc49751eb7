"""Exported programs answer as `sumout eval` does: python bench/test_export.py SUMOUT

Each circuit is compiled at every level, exported to NumPy and (if it is there) to PyTorch, and run on the same rows.
"""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

try:
    import torch
except ImportError:
    torch = None

LEVELS = ["classical", "paper", "functional", "tables", "support"]
QUESTIONS = [
    ("asia", ["lung", "--given", "xray", "dysp", "smoke"]),
    ("asia", ["either", "--given", "xray", "tub"]),
    ("rect:4", ["label", "--given", "pixel_*"]),
    ("rect:4", ["label", "--hard", "pixel_*"]),
    ("rect:4,noise=0", ["row", "--given", "pixel_*", "label"]),
    ("digits:8", ["d", "--given", "p_*"]),
]
ROWS = 7


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def given(module, lines, missing):
    """The cells of a sample as positions of values; some of them missing."""
    names = lines[0].split(",")
    rows = [line.split(",") for line in lines[1:]]
    column = lambda name: [values_of(module, name).index(row[names.index(name)]) for row in rows]
    evidence = {name: np.array(column(name)) for name in module.INPUTS}
    if missing:
        for k, values in enumerate(evidence.values()):
            values[k % ROWS] = -1
    return evidence


def values_of(module, name):
    return module.INPUTS[name]


def check(sumout, folder, model, question, level):
    circuit, program, cases = folder / "c.sumout", folder / "c.py", folder / "cases.npy"
    effort = ["--level", level, "--effort", "0.1"]
    run(sumout, "compile", model, *question, *effort, "-o", circuit)
    sample = run(sumout, "sample", model, "-n", ROWS, "--seed", 1).splitlines()
    for library in ["numpy"] + ["torch"] * (torch is not None):
        run(sumout, "export", circuit, "-o", program, "--to", library)
        module = load(program)
        evidence = given(module, sample, missing="--given" in question)
        np.save(cases, np.stack(list(evidence.values()), axis=1).astype(np.int32))
        table = run(sumout, "eval", circuit, cases, "--precision", "f64").splitlines()[1:]
        expected = np.array([[float(cell) for cell in row.split(",")[:-1]] for row in table])
        compare(module, library, evidence, expected, f"{model} {question} {level} {library}")


def compare(module, library, evidence, expected, what):
    kinds = [(torch.float64, 1e-9), (torch.float32, 2e-4)] if library == "torch" else [(np.float64, 1e-9), (np.float32, 2e-4)]
    soft = {name: np.eye(len(module.INPUTS[name]))[values] for name, values in evidence.items()}
    for name, values in evidence.items():
        soft[name][values < 0] = 1
    for dtype, tolerance in kinds:
        for cells in [evidence, soft]:
            posterior, log_evidence = module.Model(dtype)(cells)
            answer = np.concatenate([np.asarray(posterior), np.asarray(log_evidence)[:, None]], axis=1)
            error = np.abs(answer - expected).max()
            assert error < tolerance, f"{what}: {error}"


def check_gradients(sumout, folder):
    """The gradients of the tables are those of finite differences."""
    circuit, program = folder / "g.sumout", folder / "g.py"
    run(sumout, "compile", "asia", "lung", "--given", "xray", "dysp", "--level", "functional", "-o", circuit)
    run(sumout, "export", circuit, "-o", program)
    model = load(program).Model(torch.float64, trainable=True)
    loss = lambda: model({"xray": [0, 1, -1], "dysp": [1, 0, 0]})[1].sum()
    loss().backward()
    for table in model.parameters():
        flat, step = table.data.view(-1), 1e-6
        for k in range(flat.numel()):
            flat[k] += step
            above = loss().item()
            flat[k] -= 2 * step
            below = loss().item()
            flat[k] += step
            assert abs(table.grad.view(-1)[k] - (above - below) / (2 * step)) < 1e-5


def main(sumout):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model, question in QUESTIONS:
            for level in LEVELS:
                if level == "classical" and model.startswith(("rect", "digits")):
                    continue
                check(sumout, folder, model, question, level)
        if torch is not None:
            check_gradients(sumout, folder)
    print("exported programs answer as `sumout eval` does, with", "NumPy and PyTorch" if torch else "NumPy; PyTorch is not there")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
