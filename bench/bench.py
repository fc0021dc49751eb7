"""Measures sumout against its peers; start it with bench/run, which installs them.

(a) the paper's models: ours at each level against the paper's plan in PyTorch   (b) networks: ours against pyAgrum, pgmpy and cotengra
(c) a step of training against PyTorch   (d) the share of the machine's peaks that is reached   (e) rows of files against rows in memory
"""

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

import peers
import report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SUMOUT = Path(os.environ.get("SUMOUT", ROOT / "target/release/sumout"))
QUESTIONS = {"rect": ("label", "pixel_*"), "digits": ("d", "p_*")}
LEVELS = ["paper", "functional", "tables", "support"]
FILES = ["npy", "parquet", "csv"]
PEERS = ["pyagrum", "pgmpy", "cotengra-greedy", "cotengra-hyper"]
# Without these, glibc gives large tensors back to the system after each use, which makes PyTorch up to three times slower.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(8 << 30), "MALLOC_TRIM_THRESHOLD_": str(16 << 30)}


def options():
    parser = argparse.ArgumentParser(prog="bench/run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="a,b,c,d,e", help="the parts to run, such as a,c")
    parser.add_argument("--quick", action="store_true", help="fewer models and sizes")
    parser.add_argument("--models", help="models for (a) and (c), such as rect:8,digits:16")
    parser.add_argument("--names", help="networks for (b), such as alarm,link")
    parser.add_argument("--networks", action="append", default=[], type=Path, help="a folder with more networks and NAME.SET.json.gz")
    parser.add_argument("--peers", help="peers for (b), such as pyagrum,cotengra-greedy")
    parser.add_argument("--timeout", type=float, default=60, help="seconds that a peer may take")
    parser.add_argument("--patience", type=float, default=60, help="seconds that a batch may take in PyTorch; else a smaller one")
    parser.add_argument("--memory", type=float, default=8, help="GiB that a peer may use")
    return parser.parse_args()


def sumout(*arguments):
    done = subprocess.run([str(SUMOUT), *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


def limited(command, args, extra={}):
    """What a program prints as JSON, or why it does not."""
    gib = int(args.memory * 2**30)
    cap = lambda: resource.setrlimit(resource.RLIMIT_DATA, (gib, gib))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **extra}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout * 4 if extra else args.timeout,
                              preexec_fn=cap, env=environment)
    except subprocess.TimeoutExpired:
        return {"failed": f"over {args.timeout:.0f} s"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    last = (done.stderr.strip().splitlines() or ["killed"])[-1]
    if done.returncode < 0 or any(word in last for word in ("Memory", "memory", "alloc")):
        return {"failed": f"no memory within {args.memory:.0f} GiB, or killed: {last[:60]}"}
    return {"failed": last[:80]}


def ours(model, level, batch, threads, *more):
    """Seconds for an example, and what else `sumout bench` finds."""
    target, inputs = QUESTIONS[model.split(":")[0]]
    line = ["bench", model, target, "--given", inputs, "--level", level, "--batch", batch, "--threads", threads, "--json", *more]
    return json.loads(sumout(*line))


def theirs(model, batch, mode, args, folder):
    """The paper's plan in PyTorch."""
    target, inputs = QUESTIONS[model.split(":")[0]]
    circuit, program = folder / "plan.sumout", folder / "plan.py"
    sumout("compile", model, target, "--given", inputs, "--level", "paper", "-o", circuit)
    cases = folder / "cases.csv"
    sumout("sample", model, "-n", batch, "-o", cases)
    numbers = json.loads(sumout("export", circuit, "-o", program, "--json"))["numbers_per_example"]
    side = [sys.executable, str(HERE / "torch_side.py"), str(program), str(batch), str(args.patience), str(args.memory * 2**29)]
    return limited(side + [str(numbers), mode, str(cases)], args, KEEP_MEMORY)


def part_a(args, folder):
    models = [f"rect:{n}" for n in (8, 10, 12, 14, 16, 20)] + [f"digits:{n}" for n in (8, 10, 12, 14, 16)]
    models = args.models.split(",") if args.models else ["rect:8", "rect:20", "digits:8", "digits:16"] if args.quick else models
    rows = []
    for model in models:
        for batch in [1, 64] if args.quick else [1, 64, 1024]:
            row = {"model": model, "batch": batch, "torch": theirs(model, batch, "forward", args, folder)}
            is_small = int(model.split(":")[1]) <= 10  # the paper's plan of larger models takes minutes in our engine, too
            for level in LEVELS if batch == 64 and is_small else LEVELS[1:]:
                row[level] = ours(model, level, batch, 1)["seconds_per_example"]
            if batch == 1024:
                row["support, 2 threads"] = ours(model, "support", batch, 2)["seconds_per_example"]
            rows.append(row)
            report.say_a(row)
    return rows


def part_c(args, folder):
    rows = []
    models = ["rect:8", "digits:8"] if args.quick else ["rect:8", "rect:9", "rect:10", "digits:8", "digits:9", "digits:10"]
    for model in args.models.split(",") if args.models else models:
        row = {"model": model, "batch": 64, "torch": theirs(model, 64, "step", args, folder)}
        for level in LEVELS[1:]:
            found = ours(model, level, 64, 1)
            row[level] = found["seconds_per_example"] + found["backward_seconds_per_example"]
        rows.append(row)
        report.say_a(row)
    return rows


def part_d(args, folder):
    rows = []
    for model in ["rect:20", "digits:16"] if args.quick else ["rect:10", "rect:20", "digits:10", "digits:16"]:
        for level in LEVELS[1:]:
            found = ours(model, level, 1024, 1)
            rows.append({"model": model, **found})
            report.say_d(rows[-1])
    return rows


def part_e(args, folder):
    """Rows of files, read and answered in constant memory, beside the same circuit on rows in memory, on all processors."""
    count, threads = 100_000 if args.quick else 1_000_000, os.cpu_count()
    sumout("compile", "rect:10", "label", "--given", "pixel_*", "--level", "support", "-o", folder / "rect.sumout")
    for kind in FILES:
        sumout("sample", "rect:10", "-n", count, "--columns", "pixel_*", "-o", folder / f"rows.{kind}")
    rates, peaks = {kind: [] for kind in ["memory", *FILES]}, {}
    for _ in range(3):  # in turns, as what else runs on the machine changes
        rates["memory"].append(1 / ours("rect:10", "support", 1024, threads)["seconds_per_example"])
        for kind in FILES:
            line = ["eval", folder / "rect.sumout", folder / f"rows.{kind}", "-o", folder / f"answers.{kind}", "--threads", threads]
            done = timed(*map(str, line), "--json")
            rates[kind].append(count / done["total"])
            peaks[kind] = max(done["memory"], peaks.get(kind, 0))
    base = median(rates.pop("memory"))
    rows = [{"rows": count, "threads": threads, "file": kind, "rate": median(rates[kind]), "in memory": base, "peak": peaks[kind]} for kind in FILES]
    [report.say_e(row) for row in rows]
    return rows


def networks(args):
    """Networks with evidence: (name, file, evidence, target)."""
    found = []
    for place in [ROOT / "models", *args.networks]:
        for answers in sorted(place.rglob("*.json.gz")):
            known = json.loads(gzip.open(answers, "rt").read())
            if not isinstance(known, dict) or "evidence" not in known or "marginals" not in known:
                continue
            target = known.get("query") or next(name for name in known["marginals"] if name not in known["evidence"])
            files = [f for e in (".bif.gz", ".uai.gz", ".bif") for f in place.rglob(known["network"] + e)]
            if files and known["network"] not in [name for name, *_ in found]:
                found.append((known["network"], str(files[0]), known["evidence"], target))
    for model in ["rect:16", "digits:8"]:
        target, inputs = QUESTIONS[model.split(":")[0]]
        names, cells = (line.split(",") for line in sumout("sample", model, "-n", 1).splitlines()[:2])
        evidence = {n: v for n, v in zip(names, cells) if n.startswith(inputs[:-1]) and n.count("_") == 2}
        found.append((model, model, evidence, target))
    if args.names:
        return [n for n in found if n[0] in args.names.split(",")]
    small = ["alarm", "andes", "75-16-5", "rect:16"]
    return [n for n in found if n[0] in small] if args.quick else found


def timed(*arguments):
    """Wall and processor seconds and the peak memory of a whole process, and what it prints; the median of several."""
    runs = []
    while len(runs) < 5 and sum(seconds for seconds, *_ in runs) < 5:
        with tempfile.TemporaryFile() as out:
            start = time.perf_counter()
            child = subprocess.Popen([str(SUMOUT), *arguments], stdout=out, stderr=subprocess.DEVNULL,
                                     env={**os.environ, "RAYON_NUM_THREADS": "1"})
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - start
            out.seek(0)
            runs.append((seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, out.read().decode()))
        if child.returncode != 0:
            return {"failed": f"exit code {child.returncode}"}
    seconds, processor, memory, texts = zip(*runs)
    return {"total": median(seconds), "processor": median(processor), "memory": max(memory), "value": json.loads(texts[0])}


def prepare(folder, name, file, evidence, target):
    """Writes what the peers are given; the file that we are given, with the same network."""
    file = bayesian(folder, file)
    sumout("convert", file, folder / "model.bif", "--lossy")
    sumout("convert", file, folder / "model.uai", "--lossy")
    # pyAgrum reads no network whose name begins with a digit.
    bif = (folder / "model.bif").read_text()
    (folder / "model.bif").write_text("network model {" + bif[bif.index("{") + 1 :])
    variables = json.loads(sumout("show", file, "--json", "--variables"))["variables"]
    sample = [line.split(",") for line in sumout("sample", file, "-n", 20, "--seed", 5).splitlines()]
    rows = [{n: v for n, v in zip(sample[0], cells) if n in evidence} for cells in sample[1:]]
    question = {"evidence": evidence, "target": target, "rows": rows, "order": order(folder / "model.uai", variables),
                "values": {v["name"]: v["values"] for v in variables}}
    (folder / "question.json").write_text(json.dumps(question))
    return file


def bayesian(folder, file):
    """A Markov network whose factors are CPTs, each with its child at the same place of the scope, as the Bayesian network that it is."""
    if not str(file).endswith(".uai.gz"):
        return file
    words = gzip.open(file, "rt").read()
    if words.split(None, 1)[0] != "MARKOV":
        return file
    plain = folder / "markov.uai"
    plain.write_text(words)
    cards, factors = peers.read_uai(plain)
    for child in (-1, 0):
        sums = [table.sum(axis=child) for _, table in factors]
        if len({scope[child] for scope, _ in factors}) == len(cards) == len(factors) and all((abs(s - 1) < 1e-5).all() for s in sums):
            moved = [([v for v in scope if v != scope[child]] + [scope[child]], np.moveaxis(table, child, -1)) for scope, table in factors]
            return write_bayesian(folder / f"{Path(file).name.split('.')[0]}.uai", cards, moved)
    raise ValueError("it is a Markov network, and its factors are no CPTs")


def write_bayesian(path, cards, factors):
    lines = ["BAYES", str(len(cards)), " ".join(map(str, cards)), str(len(factors))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope, _ in factors]
    for _, table in factors:
        table = table / table.sum(axis=-1, keepdims=True)  # some are printed with few digits
        lines += [str(table.size), " ".join(map(repr, table.ravel().tolist()))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def order(uai, variables):
    """The names of the variables in the order of a UAI file: the one in which its factors are the families."""
    families = {frozenset([v["name"], *v["parents"]]) for v in variables}
    scopes = [scope for scope, _ in peers.read_uai(uai)[1]]
    names = [v["name"] for v in variables]
    numbered = sorted(names, key=lambda name: int(name[1:]) if name[1:].isdigit() else 0)
    for candidate in (names, numbered):
        if {frozenset(candidate[v] for v in scope) for scope in scopes} == families:
            return candidate
    raise ValueError("the UAI file has other factors than the network")


def checked(found, mine):
    """What a peer found, unless its posteriors are not ours: then it has no time that could be compared."""
    value = found.pop("value", None)
    if not isinstance(value, dict) or not mine:
        return found
    pairs = [(mine[v][x], p) for v, values in value.items() if v in mine for x, p in values.items()]
    differences = [abs(a - b) for a, b in pairs]
    if all(d < 1e-4 for d in differences):
        return {**found, "difference": max(differences, default=None)}
    return {"failed": "other answers than ours"}


def part_b(args, folder):
    rows = []
    chosen = args.peers.split(",") if args.peers else PEERS[:3] if args.quick else PEERS
    for name, file, evidence, target in networks(args):
        try:
            file = prepare(folder, name, file, evidence, target)
        except (subprocess.CalledProcessError, ValueError) as error:
            print(f"{name:12} is left out: {getattr(error, 'stderr', None) or error}", flush=True)
            continue
        given = ["--given", *(f"{v}={x}" for v, x in evidence.items())]
        row = {"network": name, "ours": {
            "posterior": timed("query", file, target, "--json", *given),
            "marginals": timed("query", file, "--json", *given),
        }}
        for task in ["marginals"] if args.quick else ["posterior", "evidence", "marginals"]:
            row[task] = {}
            for peer in chosen:
                if peer == "pgmpy" and task == "evidence":
                    continue
                found = limited([sys.executable, str(HERE / "peers.py"), peer, task, str(folder)], args)
                mine = row["ours"]["posterior" if task == "posterior" else "marginals"].get("value", {})
                row[task][peer] = checked(found, mine.get("posteriors"))
        row["repeated"] = repeated(args, folder, file, evidence)
        [row["ours"][task].pop("value", None) for task in ("posterior", "marginals")]
        rows.append(row)
        report.say_b(row)
    return rows


def repeated(args, folder, file, evidence):
    """All marginals again and again, with new values of the same evidence."""
    peer = limited([sys.executable, str(HERE / "peers.py"), "pyagrum", "repeated", str(folder)], args)
    found = {"pyagrum": peer.get("value", peer.get("failed"))}
    for batch in (1, 64):
        try:
            line = ["bench", file, "--hard", *evidence, "--batch", batch, "--threads", 1, "--precision", "f64", "--json"]
            found[f"ours, batch {batch}"] = json.loads(sumout(*line))["seconds_per_example"]
        except subprocess.CalledProcessError as error:
            found[f"ours, batch {batch}"] = error.stderr.splitlines()[0][:80]
    return found


def main():
    args = options()
    parts = {"a": part_a, "b": part_b, "c": part_c, "d": part_d, "e": part_e}
    results = {"machine": report.machine(), "threads": 1}
    for part in args.only.split(","):
        report.title(part)
        with tempfile.TemporaryDirectory() as folder:
            results[part] = parts[part](args, Path(folder))
        (HERE / "results.json").write_text(json.dumps(results, indent=1))
    (HERE / "results.html").write_text(report.page(results))
    print("\nwrote bench/results.json and bench/results.html")


if __name__ == "__main__":
    main()
