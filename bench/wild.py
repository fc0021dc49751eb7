#!/usr/bin/env python3
"""Reads networks as they are found, and prints a table: read, or refused with the reason.

    bench/wild.py FOLDER ...              the folders of $SUMOUT_NETWORKS/wild if none is named
    bench/wild.py --peers FOLDER ...      also compares all marginals with pyAgrum's, where it reads the file

A network that is read must come back from sumout's own JSON identically. The last line counts. Fails if one does not come
back, or if marginals differ.
"""

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["net", "xdsl", "agrum", "scm"]
PEER_FORMATS = {".bif", ".net", ".uai", ".bifxml", ".xdsl"}
MOST_STATES = 4000  # larger networks are not compared: the peer would take too long
TOLERANCE = 1e-6


def sumout(binary: str, *words: str, text: str | None = None) -> subprocess.CompletedProcess:
    return subprocess.run([binary, *words], capture_output=True, text=True, input=text)


def reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.startswith("error: ")]
    return lines[0].removeprefix("error: ") if lines else f"stderr: {stderr[:200]}"


def notes(stderr: str) -> str:
    found = [line.removeprefix("note: ") for line in stderr.splitlines() if line.startswith("note: ")]
    return "; ".join(found)


def comes_back(binary: str, text: str) -> bool:
    """Whether our own JSON is read as the same network, without a note."""
    again = sumout(binary, "convert", "-", "-", "--to", "json", "--from", "json", text=text)
    return again.returncode == 0 and again.stdout == text and not notes(again.stderr)


def plain(file: Path, folder: str) -> Path:
    """The file without compression, under a name that the peer takes."""
    name = file.name.removesuffix(".gz")
    data = gzip.open(file).read() if file.suffix == ".gz" else file.read_bytes()
    target = Path(folder) / name
    target.write_bytes(data)
    return target


def peer_marginals(path: Path) -> list[list[float]] | None:
    """The marginals that pyAgrum finds; none if it cannot read the file. In a process of its own: it may crash."""
    code = (
        "import sys, json, pyagrum as gum\n"
        "bn = gum.loadBN(sys.argv[1])\n"
        "ie = gum.LazyPropagation(bn); ie.makeInference()\n"
        "print('\\n' + json.dumps({bn.variable(n).name(): ie.posterior(n).tolist() for n in bn.nodes()}))\n"
    )
    try:
        found = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(found.stdout.splitlines()[-1]) if found.returncode == 0 else None


def difference(binary: str, file: Path, network: dict) -> str:
    """How the marginals compare with the peer's."""
    suffix = Path(file.name.removesuffix(".gz")).suffix
    if suffix not in PEER_FORMATS or sum(len(v["values"]) for v in network["variables"]) > MOST_STATES:
        return "not compared"
    with tempfile.TemporaryDirectory() as folder:
        peer = peer_marginals(plain(file, folder))
    if peer is None:
        return "pyAgrum does not read it"
    asked = sumout(binary, "query", str(file), "--json")
    if asked.returncode != 0:
        return f"DIFFERENT: {reason(asked.stderr)}"
    posteriors = json.loads(asked.stdout)["posteriors"]
    ours = {v["name"]: list(posteriors[v["name"]].values()) for v in network["variables"]}
    theirs = [peer[name] for name in ours] if set(peer) >= set(ours) else list(peer.values())
    pairs = zip(ours.values(), theirs)
    worst = max((abs(a - b) for x, y in pairs for a, b in zip(x, y, strict=True)), default=math.inf)
    return f"{'marginals' if worst <= TOLERANCE else 'DIFFERENT: marginals'} within {worst:.0e} of pyAgrum's"


def row(binary: str, file: Path, peers: bool) -> tuple[str, str]:
    read = sumout(binary, "convert", str(file), "-", "--to", "json")
    if read.returncode != 0:
        return "refused", reason(read.stderr)
    if not comes_back(binary, read.stdout):
        return "CHANGED", "our own JSON gives another network"
    remarks = [notes(read.stderr)]
    if peers:
        remarks.append(difference(binary, file, json.loads(read.stdout)))
    return "read", "; ".join(filter(None, remarks))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--peers", action="store_true", help="compare marginals with pyAgrum's")
    parser.add_argument("--sumout", default=str(ROOT / "target" / "release" / "sumout"), help="the command to try")
    args = parser.parse_args()
    wild = Path(os.environ.get("SUMOUT_NETWORKS", ".")) / "wild"
    counts: dict[str, int] = {}
    failed = False
    for folder in args.folders or [wild / name for name in FOLDERS]:
        for file in sorted(folder.iterdir()):
            state, remark = row(args.sumout, file, args.peers)
            counts[state] = counts.get(state, 0) + 1
            failed |= state == "CHANGED" or "DIFFERENT" in remark
            print(f"{folder.name + '/' + file.name:56} {state:8} {remark}", flush=True)
    print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
