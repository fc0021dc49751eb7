"""One question to Ganak or CUDD, in a process of its own; logic.py starts it.

    python bench/logic_peers.py ganak|cudd FILE.uai[.gz] [VARIABLE]

Prints the probability that a variable has its second value, or without one the partition function, as JSON, with the
seconds that the peer took: reading the file and writing clauses is not counted. All variables must have two values.
"""

import gzip
import itertools
import json
import sys
import time


def read(path):
    """The scopes and tables of a UAI file."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        words = iter(file.read().split())
    take = lambda count: [int(next(words)) for _ in range(count)]
    next(words)
    count = take(1)[0]
    if set(take(count)) != {2}:
        raise SystemExit("only variables with two values")
    scopes = [take(take(1)[0]) for _ in range(take(1)[0])]
    return count, [(scope, [float(next(words)) for _ in range(take(1)[0])]) for scope in scopes]


def rows(scope):
    return list(itertools.product([0, 1], repeat=len(scope)))


def ganak(count, factors, variable):
    """The encoding of Sang, Beame and Kautz: a chance variable for each row of a CPT that is not 0 and 1."""
    from pyganak import WeightedCounter

    counter, chances = WeightedCounter(), count
    weights = {}

    def clause(scope, row, *more):
        """A clause that excludes a row, or that follows from it."""
        counter.add_clause([(-1 if value else 1) * (v + 1) for v, value in zip(scope, row)] + list(more))

    for scope, table in factors:
        for row, value in zip(rows(scope), table):
            if value == 0:
                clause(scope, row)
            elif value != 1 and row[-1] == 1 and abs(value + table[rows(scope).index(row) - 1] - 1) < 1e-5:
                chances += 1
                weights[chances] = value
                clause(scope[:-1], row[:-1], -chances, scope[-1] + 1)
                clause(scope[:-1], row[:-1], chances, -(scope[-1] + 1))
            elif value != 1 and abs(value + table[rows(scope).index(row) ^ 1] - 1) >= 1e-5:
                raise SystemExit("only CPTs, zeros and ones")
    for v in range(count):
        counter.set_lit_weight(v + 1, 1.0), counter.set_lit_weight(-v - 1, 1.0)
    for chance, weight in weights.items():
        counter.set_lit_weight(chance, weight), counter.set_lit_weight(-chance, 1 - weight)
    if variable is not None:
        counter.add_clause([variable + 1])
    start = time.process_time()
    return counter.count(), time.process_time() - start


def cudd(count, factors, variable):
    """A diagram of a function of roots, in depth-first order, with dynamic reordering as CUDD does it by default."""
    from dd.cudd import BDD

    bdd, functions, chances = BDD(memory_estimate=4 << 30), {}, {}
    definitions = {scope[-1]: (scope[:-1], table) for scope, table in factors}
    start = time.process_time()
    stack = [(variable, False)]
    while stack:
        v, is_ready = stack.pop()
        parents, table = definitions[v]
        if v in functions:
            continue
        if not parents:
            bdd.declare(f"x{v}")
            chances[f"x{v}"], functions[v] = table[1], bdd.var(f"x{v}")
        elif is_ready:
            functions[v] = gate(bdd, [functions[p] for p in parents], table)
        else:
            stack += [(v, True), *((p, False) for p in reversed(parents))]
    return probability(bdd, functions[variable], chances), time.process_time() - start


def gate(bdd, parents, table):
    result = bdd.false
    for row, value in zip(rows(parents), table[1::2]):
        if value == 1:
            term = bdd.true
            for parent, bit in zip(parents, row):
                term &= parent if bit else ~parent
            result |= term
    return result


def probability(bdd, root, chances):
    known = {}

    def of(node):
        key = int(node)
        if node == bdd.true or node == bdd.false:
            return float(node == bdd.true)
        if key not in known:
            chance = chances[node.var]
            low, high = (~node.low, ~node.high) if node.negated else (node.low, node.high)
            known[key] = (1 - chance) * of(low) + chance * of(high)
        return known[key]

    sys.setrecursionlimit(100_000)
    return of(root)


def main():
    peer, path, *variable = sys.argv[1:]
    count, factors = read(path)
    found, seconds = {"ganak": ganak, "cudd": cudd}[peer](count, factors, int(variable[0]) if variable else None)
    print(json.dumps({"probability": found, "seconds": seconds}))


if __name__ == "__main__":
    main()
