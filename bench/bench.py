"""Measures sumout against its peers; start it with bench/run, which installs them.

(a) the paper's models: ours at each level against the paper's plan in PyTorch   (b) networks: ours against pyAgrum, pgmpy and cotengra
(c) a step of training against PyTorch   (d) the share of the machine's peaks that is reached   (e) rows of files against rows in memory

Every part has a share of --minutes; rows that are not begun when it is over are left out, and named. A row that fails does not end the run, and
results.json is written after each.
"""

import argparse
import functools
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
SHARES = {"a": 0.5, "b": 0.34, "c": 0.08, "d": 0.03, "e": 0.05}  # of the time
BATCHES = [1024, 16384]  # of rows in memory for (e): the usual one, and that of `sumout eval`
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
    parser.add_argument("--minutes", type=float, default=70, help="minutes for all parts; what is not begun then is left out")
    parser.add_argument("--timeout", type=float, default=30, help="seconds that a peer may take")
    parser.add_argument("--patience", type=float, default=15, help="seconds that a batch may take in PyTorch; else a smaller one")
    parser.add_argument("--memory", type=float, default=8, help="GiB that a peer may use")
    return parser.parse_args()


def sumout(*arguments):
    done = subprocess.run([str(SUMOUT), *map(str, arguments)], check=True, capture_output=True, text=True, timeout=600)
    return done.stdout


def limited(command, args, extra={}):
    """The JSON that a program prints, or the reason why it fails."""
    gib = int(args.memory * 2**30)
    cap = lambda: resource.setrlimit(resource.RLIMIT_DATA, (gib, gib))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **extra}
    seconds = args.timeout * 4 if extra else args.timeout
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, preexec_fn=cap, env=environment)
    except subprocess.TimeoutExpired:
        return {"failed": f"over {seconds:.0f} s"}
    if done.returncode == 0 and done.stdout.strip():
        return json.loads(done.stdout.splitlines()[-1])
    last = (done.stderr.strip().splitlines() or ["killed"])[-1]
    if done.returncode < 0 or any(word in last for word in ("Memory", "memory", "alloc")):
        return {"failed": f"no memory within {args.memory:.0f} GiB, or killed: {last[:60]}"}
    return {"failed": last[:80]}


@functools.cache
def ours(model, level, batch, threads, *more):
    """Seconds for an example, and what else `sumout bench` finds."""
    target, inputs = QUESTIONS[model.split(":")[0]]
    line = ["bench", model, target, "--given", inputs, "--level", level, "--batch", batch, "--threads", threads, "--json", *more]
    return json.loads(sumout(*line))


def answers(*question):
    """The same for the forward pass alone."""
    return ours(*question, "--forward-only")


@functools.cache
def exported(model, folder):
    """The paper's plan as a program for PyTorch, and how many numbers it has for an example."""
    target, inputs = QUESTIONS[model.split(":")[0]]
    circuit, program = folder / "plan.sumout", folder / f"plan-{model.replace(':', '-')}.py"
    sumout("compile", model, target, "--given", inputs, "--level", "paper", "-o", circuit)
    return program, json.loads(sumout("export", circuit, "-o", program, "--json"))["numbers_per_example"]


def theirs(model, batch, mode, args, folder):
    """The paper's plan in PyTorch."""
    try:
        program, numbers = exported(model, folder)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return {"failed": f"there is no program: {reason(error)}"}
    cases = folder / "cases.csv"
    sumout("sample", model, "-n", batch, "-o", cases)
    side = [sys.executable, str(HERE / "torch_side.py"), str(program), str(batch), str(args.patience), str(args.memory * 2**29)]
    return limited(side + [str(numbers), mode, str(cases)], args, KEEP_MEMORY)


def forward(model, batch, args, folder, smaller):
    """The paper's plan in PyTorch, unless a smaller batch has failed or was too large already."""
    last = next(reversed(smaller.values()), {"batch": 0})
    if "failed" in last:
        return {"failed": f"not tried: {last['failed'].removeprefix('not tried: ')}"}
    done = last["batch"] < max(smaller, default=0)
    smaller[batch] = last if done else theirs(model, batch, "forward", args, folder)
    return smaller[batch]


def part_a(args, folder):
    # The smallest and the largest first: if time is short, those between are left out.
    models = ["rect:8", "rect:20", "digits:8", "digits:16", "rect:10", "digits:10", "rect:16", "digits:12", "rect:12", "digits:14", "rect:14"]
    models = args.models.split(",") if args.models else models[:4] if args.quick else models
    for model in models:
        smaller = {}
        for batch in [1, 64] if args.quick else [1, 64, 1024]:
            yield f"{model}, batch {batch}", functools.partial(row_a, model, batch, args, folder, smaller)


def row_a(model, batch, args, folder, smaller):
    row = {"model": model, "batch": batch, "torch": forward(model, batch, args, folder, smaller)}
    is_small = int(model.split(":")[1]) <= 10  # the paper's plan of larger models takes minutes in our engine, too
    for level in LEVELS if batch == 64 and is_small else LEVELS[1:]:
        row[level] = answers(model, level, batch, 1)["seconds_per_example"]
    if batch == 1024:
        row["support, 2 threads"] = answers(model, "support", batch, 2)["seconds_per_example"]
    return [row]


def part_c(args, folder):
    models = ["rect:8", "digits:8"] if args.quick else ["rect:10", "digits:10", "rect:8", "digits:8", "rect:9", "digits:9"]
    for model in args.models.split(",") if args.models else models:
        yield model, functools.partial(row_c, model, args, folder)


def row_c(model, args, folder):
    row = {"model": model, "batch": 64, "torch": theirs(model, 64, "step", args, folder)}
    for level in LEVELS[1:]:
        found = ours(model, level, 64, 1)
        if found["backward_seconds_per_example"] is not None:  # else noise hides it
            row[level] = found["seconds_per_example"] + found["backward_seconds_per_example"]
    return [row]


def part_d(args, folder):
    models = ["rect:20", "digits:16"] if args.quick else ["rect:20", "digits:16", "rect:10", "digits:10"]
    for model in args.models.split(",") if args.models else models:
        for level in LEVELS[1:]:
            yield f"{model}, {level}", lambda model=model, level=level: [{"model": model, **answers(model, level, 1024, 1)}]


def part_e(args, folder):
    """Rows of files, read and answered in constant memory, beside the same circuit on rows in memory, on all processors."""
    yield "rect:10", functools.partial(rows_e, args, folder)


def rows_e(args, folder):
    count, threads = 100_000 if args.quick else 1_000_000, os.cpu_count()
    sumout("compile", "rect:10", "label", "--given", "pixel_*", "--level", "support", "-o", folder / "rect.sumout")
    for kind in FILES:
        sumout("sample", "rect:10", "-n", count, "--columns", "pixel_*", "-o", folder / f"rows.{kind}")
    rates, peaks = {kind: [] for kind in [*BATCHES, *FILES]}, {}
    for _ in range(3):  # in turns, as what else runs on the machine changes
        for batch in BATCHES:
            rates[batch].append(1 / ours.__wrapped__("rect:10", "support", batch, threads, "--forward-only")["seconds_per_example"])
        for kind in FILES:
            line = ["eval", folder / "rect.sumout", folder / f"rows.{kind}", "-o", folder / f"answers.{kind}", "--threads", threads]
            done = timed(*map(str, line), "--json")
            if "failed" in done:
                raise ValueError(f"sumout eval of {kind}: {done['failed']}")
            rates[kind].append(count / done["total"])
            peaks[kind] = max(done["memory"], peaks.get(kind, 0))
    base = {batch: median(rates[batch]) for batch in BATCHES}
    return [{"rows": count, "threads": threads, "file": kind, "rate": median(rates[kind]), "in memory": base, "peak": peaks[kind]} for kind in FILES]


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
    """A peer's result; without a time if its posteriors differ from ours."""
    value = found.pop("value", None)
    if not isinstance(value, dict) or not mine:
        return found
    pairs = [(mine[v][x], p) for v, values in value.items() if v in mine for x, p in values.items()]
    differences = [abs(a - b) for a, b in pairs]
    if all(d < 1e-4 for d in differences):
        return {**found, "difference": max(differences, default=None)}
    return {"failed": "other answers than ours"}


def part_b(args, folder):
    for found in networks(args):
        yield found[0], functools.partial(row_b, args, folder, *found)


def row_b(args, folder, name, file, evidence, target):
    chosen = args.peers.split(",") if args.peers else PEERS[:3] if args.quick else PEERS
    file = prepare(folder, name, file, evidence, target)
    given = ["--given", *(f"{v}={x}" for v, x in evidence.items())]
    row = {"network": name, "ours": {
        "posterior": timed("query", file, target, "--json", *given),
        "marginals": timed("query", file, "--json", *given),
    }}
    gone = {}  # peers that have failed on this network, and why
    for task in ["marginals"] if args.quick else ["posterior", "evidence", "marginals"]:
        row[task] = {}
        for peer in [peer for peer in chosen if (peer, task) != ("pgmpy", "evidence")]:
            found = attempt(peer, task, args, folder, gone)
            mine = row["ours"]["posterior" if task == "posterior" else "marginals"].get("value", {})
            row[task][peer] = checked(found, mine.get("posteriors"))
    row["repeated"] = repeated(args, folder, file, evidence, gone)
    [row["ours"][task].pop("value", None) for task in ("posterior", "marginals")]
    return [row]


def attempt(peer, task, args, folder, gone):
    """A peer's result, unless it ran out of time or memory on another task for the same network."""
    if peer in gone:
        return {"failed": f"not tried: {gone[peer]}"}
    found = limited([sys.executable, str(HERE / "peers.py"), peer, task, str(folder)], args)
    if "failed" in found:
        gone[peer] = found["failed"]
    return found


def repeated(args, folder, file, evidence, gone):
    """All marginals again and again, with new values of the same evidence."""
    peer = attempt("pyagrum", "repeated", args, folder, gone)
    found = {"pyagrum": peer.get("value", peer.get("failed"))}
    for batch in (1, 64):
        try:
            line = ["bench", file, "--hard", *evidence, "--batch", batch, "--threads", 1, "--precision", "f64", "--json", "--forward-only"]
            found[f"ours, batch {batch}"] = json.loads(sumout(*line))["seconds_per_example"]
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            found[f"ours, batch {batch}"] = reason(error)
    return found


def reason(error):
    """Why something failed, in a line."""
    text = getattr(error, "stderr", None) or str(error) or type(error).__name__
    return (text if isinstance(text, str) else text.decode()).strip().splitlines()[0][:80]


class Clock:
    """How long it takes, and when a part has to end."""

    def __init__(self, minutes, parts):
        self.start, self.total, self.parts = time.monotonic(), 60 * minutes, parts

    def elapsed(self):
        return time.monotonic() - self.start

    def shown(self, seconds=None):
        seconds = self.elapsed() if seconds is None else seconds
        return f"{seconds // 60:.0f}:{seconds % 60:02.0f}"

    def end(self, part):
        """Time that one part leaves goes to the next ones."""
        shares = [SHARES[p] for p in self.parts]
        return self.total * sum(shares[: self.parts.index(part) + 1]) / sum(shares)


def run_part(part, tasks, clock, results, save):
    """Measures the rows of a part one by one; each is kept before the next begins."""
    rows, begun = results.setdefault(part, []), clock.elapsed()
    report.title(part)
    for name, measure in tasks:
        if clock.elapsed() > clock.end(part):
            report.say(clock.shown(), f"{name}: left out, the time of this part is over")
            results["left out"].append([part, name])
            continue
        try:
            found = measure()
            rows += found
            [report.SAY[part](clock.shown(), row) for row in found]
        except Exception as error:  # whatever one row meets with, the others are measured
            report.say(clock.shown(), f"{name}: failed, {reason(error)}")
            results["failed"].append([part, name, reason(error)])
        save()
    results["seconds"][part] = clock.elapsed() - begun
    print(f"({part}) took {clock.shown(results['seconds'][part])} minutes, {clock.shown()} since the start", flush=True)


def main():
    args = options()
    parts = {"a": part_a, "b": part_b, "c": part_c, "d": part_d, "e": part_e}
    chosen = args.only.split(",")
    clock = Clock(args.minutes, chosen)
    results = {"machine": report.machine(), "threads": 1, "seconds": {}, "failed": [], "left out": []}
    save = lambda: (HERE / "results.json").write_text(json.dumps(results, indent=1))
    try:
        for part in chosen:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    run_part(part, parts[part](args, Path(folder)), clock, results, save)
                except Exception as error:  # what comes before the first row
                    report.say(clock.shown(), f"({part}) failed, {reason(error)}")
                    results["failed"].append([part, None, reason(error)])
    finally:
        save()
        (HERE / "results.html").write_text(report.page(results))
        print("\nwrote bench/results.json and bench/results.html")


if __name__ == "__main__":
    main()
