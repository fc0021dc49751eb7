"""The PyTorch side of a comparison, in a process of its own: python torch_side.py PROGRAM BATCH PATIENCE LIMIT NUMBERS MODE CASES

Runs an exported program on rows that the network generates, as `sumout bench` does, with one thread, and prints the median seconds per example as JSON. They are seconds
of the processor: what else runs on the machine does not count against PyTorch. The batch is made smaller until it fits in LIMIT bytes, NUMBERS of an
example each, and until a run takes no longer than PATIENCE seconds.
"""

import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch


def load(path):
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def evidence(module, cases, batch):
    lines = Path(cases).read_text().splitlines()
    names, rows = lines[0].split(","), [line.split(",") for line in lines[1 : batch + 1]]
    at = {name: k for k, name in enumerate(names)}
    place = {name: {value: k for k, value in enumerate(values)} for name, values in module.INPUTS.items()}
    return {name: torch.tensor([place[name][row[at[name]]] for row in rows]) for name in module.INPUTS}


def forward(model, given):
    start = time.process_time()
    with torch.no_grad():
        model(given)
    return time.process_time() - start


def step(model, given):
    """A step of training without the update: forward, and backward to the tables."""
    start = time.process_time()
    model.zero_grad()
    model(given)[1].sum().backward()
    return time.process_time() - start


def main(path, batch, patience, limit, numbers, mode, cases):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as ours; numbers that are too small are very slow otherwise
    module = load(path)
    model = module.Model(torch.float32, trainable=mode == "step")
    kind = step if mode == "step" else forward
    run = lambda rows: kind(model, evidence(module, cases, rows))
    run(1)
    one = run(1)
    # An einsum may copy its factors; twice the numbers that are alive is what it needs at most.
    fits = max(1, int(limit / (2 * 4 * numbers)))
    batch = max(1, min(batch, fits))
    if batch > 1:
        few = min(batch, 8)
        each = min(one, run(few) / few)
        while batch > few and each * batch > patience:
            batch //= 2
    times = []
    while len(times) < 5 and (not times or sum(times) < patience):
        times.append(run(batch))
    print(json.dumps({"seconds": float(np.median(times)) / batch, "batch": batch, "runs": len(times)}))


if __name__ == "__main__":
    program, batch, patience, limit, numbers, mode, cases = sys.argv[1:]
    main(program, int(batch), float(patience), float(limit), float(numbers), mode, cases)
