"""Maximum likelihood from data with missing cells and a variable that is never seen: sumout and pyAgrum on the same data.

    bench/em.py SUMOUT

Prints ln P(data) under the parameters that each of them finds, both computed by sumout, and the seconds they take.
Both start from the same network, whose tables are random. It is an error if an iteration of ours makes ln P(data) less, or if
pyAgrum ends with more.
"""

import csv
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyagrum as gum

ROWS = 2000
MISSING = 0.2
# Both stop when an iteration improves little, each by a rule of its own.
TOLERANCE = 0.5
CASES = [("models/asia.bif", "smoke", "lung"), ("models/alarm.bif.gz", "LVFAILURE", "HR")]


def sumout(*line):
    done = subprocess.run([sys.argv[1], *map(str, line)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def hide(rows, latent, rng):
    """Removes a fifth of the cells, and a whole column."""
    titles = rows[0]
    kept = [["" if title == latent or rng.random() < MISSING else cell for title, cell in zip(titles, row)] for row in rows[1:]]
    return [titles, *kept]


def write(path, rows, missing):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([[cell or missing for cell in row] for row in rows])


def likelihood(folder, net, data, target):
    """ln P of all that the data say."""
    sumout("compile", net, target, "--given", *[t for t in data[0] if t != target], "-o", folder / "c.sumout", "--trainable", "none", "--normalize")
    sumout("eval", folder / "c.sumout", folder / "data.csv", "-o", folder / "out.csv", "--precision", "f64")
    with open(folder / "out.csv") as file:
        return sum(float(row["log_evidence"]) for row in csv.DictReader(file))


def scrambled(folder, model, seed):
    """The network with random tables; functions stay what they are."""
    bn = gum.loadBN(str(folder / "true.bif"))
    gum.initRandom(seed)
    for name in bn.names():
        if set(bn.cpt(name).toarray().ravel()) - {0.0, 1.0}:
            bn.generateCPT(name)
    gum.saveBN(bn, str(folder / "start.bif"))
    return bn


def ours(folder):
    start = time.perf_counter()
    line = ["fit", folder / "start.bif", folder / "data.csv", "--method", "em", "--epochs", 1000, "--precision", "f64", "--normalize"]
    report = json.loads(sumout(*line, "-o", folder / "ours.bif", "--json"))
    seconds = time.perf_counter() - start
    losses = [epoch["loss"] for epoch in report["epochs"]]
    if any(after > before + 1e-9 for before, after in zip(losses, losses[1:])):
        sys.exit(f"the likelihood became less: {losses}")
    return seconds


def theirs(folder, bn):
    start = time.perf_counter()
    learner = gum.BNLearner(str(folder / "theirs.csv"), bn, ["?"])
    learner.useEM(1e-8, 0.0)  # no noise: it starts from the network as it is
    learner.EMsetMaxIter(1000)
    learned = learner.learnParameters(bn)
    seconds = time.perf_counter() - start
    gum.saveBN(learned, str(folder / "theirs.bif"))
    return seconds


def compare(model, latent, target):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sumout("convert", model, folder / "true.bif")
        sumout("sample", folder / "true.bif", "-n", ROWS, "-o", folder / "all.csv")
        with open(folder / "all.csv") as file:
            data = hide(list(csv.reader(file)), latent, random.Random(1))
        write(folder / "data.csv", [[cell for cell, title in zip(row, data[0]) if title != latent] for row in data], "")
        write(folder / "theirs.csv", data, "?")
        bn = scrambled(folder, model, 1)
        seen = [[t for t in data[0] if t != latent]]
        found = {}
        seconds = ours(folder)
        found["sumout"] = (likelihood(folder, folder / "ours.bif", seen, target), seconds)
        try:
            seconds = theirs(folder, bn)
            found["pyAgrum"] = (likelihood(folder, folder / "theirs.bif", seen, target), seconds)
        except Exception as error:  # what it cannot do is a result
            print(f"{model}: pyAgrum: {error}")
        found["true tables"] = (likelihood(folder, folder / "true.bif", seen, target), 0.0)
        for who, (log, seconds) in found.items():
            print(f"{model:20} {who:12} ln P(data) = {log:.2f}   {seconds:.2f} s")
        if "pyAgrum" in found and found["pyAgrum"][0] > found["sumout"][0] + TOLERANCE:
            sys.exit(f"{model}: pyAgrum finds parameters that are more likely")


if __name__ == "__main__":
    for case in CASES:
        compare(*case)
