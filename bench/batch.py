"""A batch of evidence, beside pgmpy and pyAgrum: python bench/batch.py [--rows 10000] [--limit 60]

The posterior of one variable for every row of a data frame: with all other variables given, as pgmpy's `predict_probability` wants it, and
with a part of them given. Peers that need longer than the limit are stopped, and their time is scaled to all rows: the number of rows that
they came to is printed.
"""

import argparse
import logging
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import sumout

MODELS = Path(__file__).resolve().parents[1] / "models"
QUESTIONS = [("alarm.bif.gz", "HYPOVOLEMIA"), ("paper/rect8.bif.gz", "label")]


def best(run, times=5):
    """The shortest of some runs, and the answer."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        answer = run()
        seconds.append(time.perf_counter() - start)
    return min(seconds), answer


def in_parts(rows, limit, size, run):
    """Seconds for all rows, and what came of those that were done within the limit."""
    start, parts, done = time.perf_counter(), [], 0
    while done < rows and time.perf_counter() - start < limit:
        parts.append(run(done, min(done + size, rows)))
        done = min(done + size, rows)
    return (time.perf_counter() - start) * rows / done, done, np.concatenate(parts)


def pgmpy_predict(file, frame, target, values, limit):
    from pgmpy.readwrite import BIFReader

    model = BIFReader(str(file)).get_model()
    columns = [f"{target}_{value}" for value in values]
    return in_parts(len(frame), limit, 100, lambda a, b: model.predict_probability(frame.iloc[a:b])[columns].to_numpy())


def pgmpy_query(file, frame, target, values, limit):
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    engine = VariableElimination(BIFReader(str(file)).get_model())

    def run(a, b):
        answers = []
        for row in frame.iloc[a:b].to_dict("records"):
            factor = engine.query([target], evidence=row, show_progress=False)
            answers.append([factor.values[factor.state_names[target].index(value)] for value in values])
        return np.array(answers)

    return in_parts(len(frame), limit, 20, run)


def pyagrum_loop(file, frame, target, values, limit):
    import pyagrum

    net = pyagrum.loadBN(str(file))
    engine = pyagrum.LazyPropagation(net)
    engine.addTarget(target)
    order = [list(net.variable(target).labels()).index(value) for value in values]

    def run(a, b):
        answers = []
        for row in frame.iloc[a:b].to_dict("records"):
            engine.setEvidence(row)
            engine.makeInference()
            answers.append(engine.posterior(target).toarray()[order])
        return np.array(answers)

    return in_parts(len(frame), limit, 20, run)


def compare(net, file, frame, target, peers, limit):
    start = time.perf_counter()
    circuit = net.compile(target, given=list(frame.columns))
    compiled = time.perf_counter() - start
    circuit.posterior(frame.iloc[:100])
    seconds, ours = best(lambda: circuit.posterior(frame))
    print(f"  sumout               {seconds:10.4f} s   (compiled in {compiled:.2f} s)")
    for name, peer in peers.items():
        theirs, done, answers = peer(file, frame, target, net.values(target), limit)
        error = np.abs(answers - ours[:done]).max()
        note = "" if done == len(frame) else f", {done:,} rows in {limit:.0f} s"
        print(f"  {name:20} {theirs:10.2f} s   {theirs / seconds:10,.0f} times as long, largest difference {error:.0e}{note}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rows", type=int, default=10_000)
    arguments.add_argument("--limit", type=float, default=60)
    options = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    for model, target in QUESTIONS:
        net = sumout.read(MODELS / model)
        file = Path(tempfile.mkdtemp()) / "model.bif"
        net.write(file, lossy=True)
        frame = pd.DataFrame(net.sample(options.rows, seed=1)).drop(columns=target)
        print(f"{model}, {options.rows:,} rows, all other variables given")
        compare(net, file, frame, target, {"pgmpy predict": pgmpy_predict, "pyAgrum loop": pyagrum_loop}, options.limit)
        leaves = [name for name in frame.columns if not net.children(name)]
        print(f"{model}, {options.rows:,} rows, {len(leaves)} leaves given")
        compare(net, file, frame[leaves], target, {"pgmpy query": pgmpy_query, "pyAgrum loop": pyagrum_loop}, options.limit)


if __name__ == "__main__":
    main()
