"""Measures networks that zeros and functions decide: fault trees, grids, circuits, diagnosis, pedigrees.

    python bench/logic.py [SET…] [--seconds N] [--sumout PATH] [--networks FOLDER]

Every network is one process: reading, compiling and answering, with default options on one thread. Answers are
compared with those beside the networks. Prints a table for each set, in Markdown.
"""

import argparse
import csv
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

SETS = ["faulttrees", "grids", "dqmr", "ace", "pedigree", "promedas", "sat", "bn"]


class Run:
    """One process of the command: its seconds, its memory and its answer."""

    def __init__(self, sumout, arguments, seconds):
        start = time.perf_counter()
        process = subprocess.Popen(
            [sumout, *map(str, arguments), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
        self.seconds = time.perf_counter() - start
        self.fate = "ok" if process.returncode in (0, 1) else "stopped" if process.returncode < 0 else "refused"
        self.answer = json.loads(out) if self.fate == "ok" else {}
        self.error = err.decode(errors="replace").strip()

    @property
    def log10(self):
        log_evidence = self.answer["log_evidence"]
        return -math.inf if log_evidence is None else log_evidence / math.log(10)

    def probability(self, target, value):
        return self.answer["posteriors"][target][value]


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def difference(found, expected):
    """The relative difference, as a text; empty if nothing is known."""
    if not expected:
        return ""
    expected = float(expected)
    return f"{abs(found - expected) / abs(expected):.0e}" if expected else f"{abs(found):.0e}"


class Bench:
    def __init__(self, options):
        self.options = options
        self.wild = options.networks / "wild"

    def run(self, *arguments):
        return Run(self.options.sumout, ["query", *arguments], self.options.seconds)

    def faulttrees(self):
        for row in rows_of(self.wild / "faulttrees" / "answers.tsv"):
            path = self.wild / "faulttrees" / f"{row['network']}.bif.gz"
            expected = row["P(top=v1)_by_BDD(CUDD)"]
            run = self.run(path, row["top"])
            error = difference(run.probability(row["top"], "v1"), expected) if run.fate == "ok" else ""
            yield row["network"], run, error, row["bdd_seconds"]

    def grids(self):
        for row in rows_of(self.wild / "grids" / "answers.tsv"):
            path = self.wild / "grids" / f"{row['network']}.uai.gz"
            if not path.exists():
                continue
            sink = (self.wild / "grids" / f"{row['network']}.query").read_text().split("=")[0]
            run = self.run(path, sink, "--normalize")
            error = difference(run.probability(sink, "s1"), row["P(sink=true)"]) if run.fate == "ok" else ""
            yield row["network"], run, error, row["fastest_seconds"]
            if row["network"].endswith("-1"):
                yield row["network"] + ", all", self.run(path, "--normalize"), "", ""

    def dqmr(self):
        for row in rows_of(self.wild / "dqmr" / "answers.tsv"):
            folder = self.wild / "dqmr"
            run = self.run(folder / row["network"], "x0", "--evidence", folder / row["evidence_file"])
            error = difference(math.exp(run.answer["log_evidence"]), row["P(evidence)"]) if run.fate == "ok" else ""
            yield row["evidence_file"], run, error, row["bdd_seconds"]

    def ace(self):
        yield from self.all_marginals("ace")

    def pedigree(self):
        yield from self.all_marginals("pedigree")

    def promedas(self):
        yield from self.all_marginals("promedas")

    def all_marginals(self, folder):
        known = {row["problem"]: row for row in rows_of(self.wild / "uai2022_reference.tsv") if row["task"] == "PR"}
        for path in sorted((self.wild / folder).glob("*.uai.gz")):
            name = path.name.removesuffix(".uai.gz")
            run = self.run(path, "--normalize")
            expected = known.get(name, {}).get("log10_value_(0.1)", "")
            error = f"{run.log10 - float(expected):+.2f}" if run.fate == "ok" and expected else ""
            yield name, run, error, ""

    def sat(self):
        for path in sorted((self.wild / "sat").glob("*.uai.gz")):
            base = str(path).removesuffix(".gz")
            evidence = ["--evidence", base + ".evid"] if Path(base + ".evid").exists() else []
            run = self.run(path, *evidence)
            expected = Path(base + ".PR").read_text().split()[-1]
            yield path.name.removesuffix(".uai.gz"), run, difference(run.log10, expected) if run.fate == "ok" else "", ""

    def bn(self):
        for name in ["BN_69", "BN_74", "linkage_11", "linkage_15", "linkage_23", "Promedus_11"]:
            path = self.options.networks / "uai" / f"{name}.uai"
            run = self.run(f"{path}.gz", "--evidence", f"{path}.evid") if Path(f"{path}.evid").exists() else self.run(f"{path}.gz")
            yield name, run, "", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--sumout", default="target/release/sumout")
    parser.add_argument("--networks", type=Path, default=Path(os.environ.get("SUMOUT_NETWORKS", "../shared/networks")))
    options = parser.parse_args()
    bench = Bench(options)
    for name in options.sets or SETS:
        print(f"\n| {name} | seconds | difference | published seconds |\n|---|---|---|---|")
        for network, run, error, published in getattr(bench, name)():
            fate = f"{run.seconds:.2f}" if run.fate == "ok" else f"{run.fate} after {run.seconds:.1f}"
            print(f"| {network} | {fate} | {error} | {published} |", flush=True)
            if run.fate == "refused":
                print(run.error, file=sys.stderr)


if __name__ == "__main__":
    main()
