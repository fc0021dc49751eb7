"""One peer on one network, in a process of its own: python peers.py PEER TASK FOLDER

FOLDER has the network as model.bif and model.uai, and question.json: evidence, target, and rows of new evidence. Prints JSON: seconds to
load, to prepare (the search of a path), and to answer; the processor time of all that; how much memory it took; and the answers.
"""

import json
import resource
import sys
import time
from pathlib import Path


def now():
    """Seconds of the clock on the wall, and of the processor: on a shared machine the second can be compared more safely."""
    return time.perf_counter(), time.process_time()


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def pyagrum(task, folder, question):
    import pyagrum

    before, start = peak(), now()
    net = pyagrum.loadBN(str(folder / "model.bif"))
    loaded = now()
    engine = pyagrum.LazyPropagation(net)
    engine.setNumberOfThreads(1)
    if task == "repeated":
        return before, start, loaded, loaded, repeated(engine, net, question)
    engine.setEvidence(question["evidence"])
    if task == "posterior":
        engine.addTarget(question["target"])
        engine.makeInference()
        answer = {question["target"]: posterior(engine, net, question["target"])}
    elif task == "evidence":
        answer = engine.evidenceProbability()
    else:
        engine.makeInference()
        answer = {name: posterior(engine, net, name) for name in net.names()}
    return before, start, loaded, loaded, answer


def posterior(engine, net, name):
    return dict(zip(net.variable(name).labels(), engine.posterior(name).toarray().tolist()))


def repeated(engine, net, question):
    """All marginals, for evidence whose values change; seconds for each, but for the first."""
    times = []
    for row in question["rows"]:
        start = time.perf_counter()
        engine.setEvidence(row)
        engine.makeInference()
        for name in net.names():
            engine.posterior(name)
        times.append(time.perf_counter() - start)
        if sum(times) > 20:
            break
    return sorted(times[1:] or times)[len(times[1:] or times) // 2]


def pgmpy(task, folder, question):
    import logging

    logging.disable(logging.CRITICAL)
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    before, start = peak(), now()
    model = BIFReader(str(folder / "model.bif")).get_model()
    loaded = now()
    engine, evidence = VariableElimination(model), question["evidence"]
    quiet = {"show_progress": False}
    if task == "evidence":
        raise NotImplementedError("pgmpy has no P(e)")
    names = [question["target"]] if task == "posterior" else [n for n in model.nodes() if n not in evidence]
    answer = {}
    for name in names:
        factor = engine.query([name], evidence=evidence, **quiet)
        answer[name] = dict(zip(factor.state_names[name], factor.values.tolist()))
    return before, start, loaded, loaded, answer


def cotengra(task, folder, question, search):
    import cotengra
    import torch

    torch.set_num_threads(1)
    before, start = peak(), now()
    cards, factors = read_uai(folder / "model.uai")
    loaded = now()
    # Evidence selects a part of each factor; a vector of ones for each other variable has its marginal as derivative.
    known = {question["order"].index(name): question["values"][name].index(value) for name, value in question["evidence"].items()}
    inputs, arrays = [], []
    for scope, table in factors:
        inputs.append([v for v in scope if v not in known])
        arrays.append(torch.tensor(table)[tuple(known.get(v, slice(None)) for v in scope)])
    free = [v for v in range(len(cards)) if v not in known] if task == "marginals" else []
    target = question["order"].index(question["target"])
    ones = [torch.ones(cards[v], dtype=torch.float64, requires_grad=True) for v in free]
    inputs, arrays = inputs + [[v] for v in free], arrays + ones
    output = [target] if task == "posterior" else []
    if search == "hyper":
        optimize = cotengra.HyperOptimizer(methods=["greedy"], max_time=4, max_repeats=128, progbar=False, parallel=False)
    else:
        optimize = "greedy"
    sizes = {v: cards[v] for v in range(len(cards))}
    tree = cotengra.array_contract_tree(inputs, output, sizes, optimize=optimize)
    if tree.contraction_width() > 29:
        raise MemoryError(f"width {tree.contraction_width():.0f}")
    prepared = now()
    result = tree.contract(arrays)
    names = question["order"]
    if task == "marginals":
        result.backward()
        answer = {names[v]: dict(zip(question["values"][names[v]], (x.grad / result.detach()).tolist())) for v, x in zip(free, ones)}
    elif task == "posterior":
        answer = {question["target"]: dict(zip(question["values"][question["target"]], (result / result.sum()).tolist()))}
    else:
        answer = float(result)
    return before, start, loaded, prepared, answer


def read_uai(path):
    import numpy as np

    words = iter(path.read_text().split())
    next(words)
    cards = [int(next(words)) for _ in range(int(next(words)))]
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    tables = []
    for scope in scopes:
        numbers = [float(next(words)) for _ in range(int(next(words)))]
        tables.append(np.array(numbers).reshape([cards[v] for v in scope]))
    return cards, list(zip(scopes, tables))


def main(peer, task, folder):
    folder = Path(folder)
    question = json.loads((folder / "question.json").read_text())
    if peer.startswith("cotengra"):
        before, start, loaded, prepared, answer = cotengra(task, folder, question, peer.split("-")[1])
    else:
        before, start, loaded, prepared, answer = {"pyagrum": pyagrum, "pgmpy": pgmpy}[peer](task, folder, question)
    end = now()
    wall = lambda first, last: last[0] - first[0]
    times = {"load": wall(start, loaded), "search": wall(loaded, prepared), "answer": wall(prepared, end), "total": wall(start, end)}
    times["processor"] = end[1] - start[1]
    print(json.dumps({**times, "memory": peak() - before, "value": answer}))


if __name__ == "__main__":
    main(*sys.argv[1:])
