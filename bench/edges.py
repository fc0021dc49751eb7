"""How long evidence takes to read, beside the circuit: one example, and rows of many forms.

    target/bench-venv/bin/python bench/edges.py NETWORK TARGET       after `maturin develop --release`

The least of many repeats, in microseconds; of many rows, for each row.
"""

import sys
import time

import numpy as np
import pandas as pd
import polars as pl
import sumout


def least(run, repeats, rows=1):
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return 1e6 * min(times) / rows


def main(path, target):
    net = sumout.read(path)
    circuit = net.compile(target, given=[name for name in net if name != target], effort=0.1)
    positions = net.sample_positions(1000, seed=1)[:, [net.variables.index(name) for name in circuit.inputs]]
    cases = pd.DataFrame(net.sample(1000, seed=1))[circuit.inputs]
    forms = {
        "array": positions,
        "pandas texts": cases,
        "pandas categories": cases.astype("category"),
        "polars texts": pl.DataFrame(cases.to_dict("list")),
        "list of dictionaries": cases.to_dict("records"),
    }
    print(f"{path}: {len(circuit.inputs)} inputs\n{'':24}{'1 row':>10}{'10':>10}{'1,000':>10}")
    print(f"{'one dictionary':24}{least(lambda: circuit.posterior(forms['list of dictionaries'][0]), 300):10.1f}")
    for name, form in forms.items():
        row = [least(lambda part=form[:rows]: circuit.posterior(part), repeats, rows) for rows, repeats in [(1, 300), (10, 100), (1000, 10)]]
        print(f"{name:24}" + "".join(f"{micro:10.1f}" for micro in row))
    empty = np.full((1, len(circuit.inputs)), -1, dtype=np.int32)
    print(f"{'nothing known':24}{least(lambda: circuit.posterior(empty), 300):10.1f}")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["asia", "lung"]))
