#!/usr/bin/env python3
"""Predicted against real memory: one line for each of some forty plans.

    bench/memory.py [SUMOUT] [NETWORK…]

The prediction is the one by which `--memory` refuses. The real number is the largest resident size of the process beyond that of
`sumout show` with the same network, which reads it and compiles nothing. A plan fails if it takes more than 1.15 times its prediction and 64 MiB more,
which is for the search, the report and the threads. Exit code 1 if one fails.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
UNITS = {"bytes": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
SLACK = 64 * 2**20
MOST = 3 * 2**30
NETWORKS = [
    *(str(ROOT / "models" / f"{name}.bif.gz") for name in ("link", "munin1", "mildew")),
    *(f"random:{shape}" for shape in ("60,5,10,1", "60,5,10,2", "75,4,10,1", "75,5,10,1", "75,5,10,2")),
]


def peak(command: list[str]) -> tuple[int, int]:
    """The largest resident size of a command, and its exit code."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def predicted(command: list[str]) -> float | None:
    """The bytes that a command refuses to take when it may take none."""
    refused = subprocess.run([*command, "--memory", "1"], capture_output=True, text=True)
    found = re.search(r"needs ([\d.]+) (\w+) of memory", refused.stderr)
    return float(found[1]) * UNITS[found[2]] if found and found[2] in UNITS else None


def plans(sumout: str, network: str, folder: Path) -> list[tuple[str, list[str]]]:
    """The commands; the first five variables are the inputs of circuits."""
    shown = subprocess.run([sumout, "show", network, "--json"], capture_output=True, text=True)
    names = [variable["name"] for variable in json.loads(shown.stdout)["variables"]]
    circuit, cases = str(folder / "c.sumout"), str(folder / "cases.csv")
    quick = ["--effort", "0"]
    subprocess.run([sumout, "compile", network, "--given", *names[:5], *quick, "-o", circuit], capture_output=True)
    subprocess.run([sumout, "sample", network, "--rows", "200", "--columns", *names[:5], "-o", cases], capture_output=True)
    batch = [sumout, "eval", circuit, cases, "-o", str(folder / "answers.csv")]
    return [
        ("query, all", [sumout, "query", network, *quick]),
        ("query, one", [sumout, "query", network, names[-1], *quick]),
        ("mpe", [sumout, "mpe", network, *quick]),
        ("batch, 1 thread", [*batch, "--threads", "1"]),
        ("batch, 2 threads", [*batch, "--threads", "2"]),
    ]


def measure(name: str, what: str, command: list[str], base: int) -> bool:
    """Prints the line of a plan; whether it holds."""
    expected = predicted(command)
    if expected is None or expected > MOST:
        print(f"{name:17} {what:18} {'not run: ' + ('no plan' if expected is None else 'too large')}", flush=True)
        return True
    real, code = peak(command)
    beyond = max(real - base, 0)
    holds = code == 0 and beyond <= 1.15 * expected + SLACK
    megabytes = [f"{n / 2**20:10.1f}" for n in (expected, beyond)]
    print(f"{name:17} {what:18} {megabytes[0]} {megabytes[1]} {beyond / expected:8.2f}  {'' if holds else f'FAILS, exit code {code}'}", flush=True)
    return holds


def main() -> int:
    sumout = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "target" / "release" / "sumout")
    networks = sys.argv[2:] or NETWORKS
    print(f"{'network':17} {'plan':18} {'predicted':>10} {'real MiB':>10} {'ratio':>8}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for network in networks:
            base, _ = peak([sumout, "show", network])
            name = Path(network).name.removesuffix(".bif.gz")
            for what, command in plans(sumout, network, Path(folder)):
                failed += not measure(name, what, command, base)
    print(f"{failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
