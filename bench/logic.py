"""Measures networks that zeros and functions decide: fault trees, grids, circuits, diagnosis, pedigrees.

    python bench/logic.py [SET…] [--peers] [--seconds N] [--sumout PATH] [--networks FOLDER]

Every network is one process with default options: reading, compiling, answering. Seconds are of the processor, in all
threads. Answers are compared with those beside the networks. With `--peers`, Ganak and CUDD (`pip install pyganak dd`)
answer the same question in the same run, each in a process of its own. Prints a table for each set, in Markdown.
"""

import argparse
import csv
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

SETS = ["faulttrees", "grids", "dqmr", "ace", "pedigree", "promedas", "sat", "uai"]
UAI = ["BN_69", "BN_74", "linkage_11", "linkage_15", "linkage_23", "Promedus_11"]


def processor_seconds():
    """Of all processes that have ended: what else runs on the machine does not count."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Process:
    """A process with a limit of processor time: its seconds, and the JSON that it prints."""

    def __init__(self, arguments, seconds):
        limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        before = processor_seconds()
        process = subprocess.Popen(
            list(map(str, arguments)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=limit
        )
        out, self.error = process.communicate()
        self.seconds = processor_seconds() - before
        self.fate = "" if process.returncode in (0, 1) else "stopped" if process.returncode < 0 else "refused"
        self.answer = json.loads(out) if self.is_answered else {}

    @property
    def is_answered(self):
        return not self.fate


class Question:
    """A network, perhaps with evidence, and its target; all marginals without one."""

    def __init__(self, name, path, target=None, value="", evidence=None, expected="", published=""):
        self.name, self.path, self.target, self.value = name, path, target, value
        self.evidence, self.expected, self.published = evidence, expected, published

    def arguments(self):
        evidence = ["--evidence", self.evidence] if self.evidence else []
        return [self.path, *([self.target] if self.target else []), *evidence, "--normalize", "--json"]

    def found(self, answer):
        """The number that is compared: a probability, or log10 P(evidence)."""
        if self.value:
            return answer["posteriors"][self.target][self.value]
        return -math.inf if answer["impossible"] else answer["log_evidence"] / math.log(10)


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def stem(path):
    return path.name.split(".uai")[0]


class Questions:
    """The questions of each set."""

    def __init__(self, networks):
        self.networks, self.wild = networks, networks / "wild"

    def faulttrees(self):
        for row in rows_of(self.wild / "faulttrees" / "answers.tsv"):
            path = self.wild / "faulttrees" / f"{row['network']}.bif.gz"
            expected = row["P(top=v1)_by_BDD(CUDD)"]
            yield Question(row["network"], path, row["top"], "v1", None, expected, row["bdd_seconds"])

    def grids(self):
        for row in rows_of(self.wild / "grids" / "answers.tsv"):
            name = row["network"]
            path = self.wild / "grids" / f"{name}.uai.gz"
            if path.exists():
                sink = (self.wild / "grids" / f"{name}.query").read_text().split("=")[0]
                yield Question(name, path, sink, "s1", None, row["P(sink=true)"], row["fastest_seconds"])
                yield Question(f"{name}, all marginals", path)

    def dqmr(self):
        folder = self.wild / "dqmr"
        for row in rows_of(folder / "answers.tsv"):
            expected = math.log10(float(row["P(evidence)"]))
            evidence = folder / row["evidence_file"]
            yield Question(evidence.name, folder / row["network"], "x0", "", evidence, expected, row["bdd_seconds"])

    def ace(self):
        return self.all_marginals("ace")

    def pedigree(self):
        return self.all_marginals("pedigree")

    def promedas(self):
        return self.all_marginals("promedas")

    def all_marginals(self, folder):
        rows = rows_of(self.wild / "uai2022_reference.tsv")
        known = {row["problem"]: row["log10_value_(0.1)"] for row in rows if row["task"] == "PR"}
        for path in sorted((self.wild / folder).glob("*.uai.gz")):
            yield Question(stem(path), path, expected=known.get(stem(path), ""))

    def sat(self):
        for path in sorted((self.wild / "sat").glob("*.uai.gz")):
            base = str(path).removesuffix(".gz")
            yield Question(stem(path), path, expected=Path(base + ".PR").read_text().split()[-1])

    def uai(self):
        for name in UAI:
            path = self.networks / "uai" / f"{name}.uai.gz"
            evidence = path.with_suffix(".evid")
            yield Question(name, path, evidence=evidence if evidence.exists() else None)


def difference(question, answer):
    """The difference from the expected number, relative where that is not near zero."""
    if question.expected == "":
        return ""
    expected = float(question.expected)
    return f"{abs(question.found(answer) - expected) / max(abs(expected), 1e-300):.0e}"


class Peers:
    """Ganak, and for fault trees CUDD, on the same question."""

    def __init__(self, options):
        self.options = options

    def seconds(self, peer, question):
        if not question.value or (peer == "cudd" and question.path.suffixes[-2] != ".bif"):
            return ""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.uai"
            convert = [self.options.sumout, "convert", question.path, path, "--lossy", "--normalize"]
            subprocess.run(convert, check=True, capture_output=True)
            script = Path(__file__).parent / "logic_peers.py"
            process = Process([sys.executable, script, peer, path, self.index(question)], self.options.seconds)
        return f"{process.answer['seconds']:.2f}" if process.is_answered else process.fate or "none"

    def index(self, question):
        """The number of the target in a UAI file, whose variables are in the order of the network's."""
        shown = Process([self.options.sumout, "show", question.path, "--normalize", "--json"], 60).answer
        return [variable["name"] for variable in shown["variables"]].index(question.target)


def row(question, options, peers):
    process = Process([options.sumout, "query", *question.arguments()], options.seconds)
    if process.fate == "refused":
        print(question.name, process.error, file=sys.stderr)
    seconds = f"{process.seconds:.2f}" if process.is_answered else f"{process.fate} after {process.seconds:.1f}"
    error = difference(question, process.answer) if process.is_answered else ""
    others = [peers.seconds(peer, question) for peer in ["ganak", "cudd"]] if options.peers else []
    return [question.name, seconds, error, question.published, *others]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all of them if none is named")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--sumout", default="target/release/sumout")
    parser.add_argument("--networks", type=Path, default=Path(os.environ.get("SUMOUT_NETWORKS", "../shared/networks")))
    options = parser.parse_args()
    for name in options.sets or SETS:
        titles = [name, "seconds", "difference", "published seconds", *(["Ganak", "CUDD"] if options.peers else [])]
        print(f"\n| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
        for question in getattr(Questions(options.networks), name)():
            print(f"| {' | '.join(row(question, options, Peers(options)))} |", flush=True)


if __name__ == "__main__":
    main()
