"""Networks from and to other libraries: pgmpy, pyAgrum and networkx; and from edges with a frame of cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._build import Builder
from ._errors import Error
from ._network import Network


def from_pgmpy(model: Any, *, name: str | None = None) -> Network:
    """The network of a `DiscreteBayesianNetwork`, or of a `DiscreteMarkovNetwork`, of pgmpy. States keep their type."""
    if hasattr(model, "factors") and not hasattr(model, "cpds"):
        return _markov(model, name)
    builder = Builder(name or model.name or "network")
    values = {child: list(model.get_cpds(child).state_names[child]) for child in model.nodes()}
    for child in model.nodes():
        cpd = model.get_cpds(child)
        parents = [str(parent) for parent in cpd.variables[1:]]
        table = _aligned(np.asarray(cpd.values, dtype=np.float64), cpd.variables, cpd.state_names, values)
        builder.add(str(child), values[child], parents, np.moveaxis(table, 0, -1))
    return builder.build()


def _markov(model: Any, name: str | None) -> Network:
    builder, values = Builder(name or model.name or "network", markov=True), {}
    for factor in model.factors:
        for variable in factor.variables:
            values.setdefault(variable, list(factor.state_names[variable]))
    for variable in model.nodes():
        builder.add(str(variable), values[variable])
    for factor in model.factors:
        table = _aligned(np.asarray(factor.values, dtype=np.float64), factor.variables, factor.state_names, values)
        builder.factor([str(variable) for variable in factor.variables], table)
    return builder.build()


def _aligned(table: Any, scope: Sequence[Any], names: Mapping[Any, Sequence[Any]], values: Mapping[Any, Sequence[Any]]) -> Any:
    """A table in the order of the values; each factor of pgmpy has an order of its own."""
    for axis, variable in enumerate(scope):
        if list(names[variable]) != list(values[variable]):
            table = np.take(table, [list(names[variable]).index(value) for value in values[variable]], axis=axis)
    return table


def to_pgmpy(net: Network, *, lossy: bool = False) -> Any:
    """The network as a `DiscreteBayesianNetwork` of pgmpy. Roles of CPTs are lost, which ``lossy`` accepts."""
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    _check(net, "pgmpy", lossy)
    model = DiscreteBayesianNetwork()
    model.name = net.name
    model.add_nodes_from(net.variables)
    for child in net.variables:
        parents = net.parents(child)
        model.add_edges_from((parent, child) for parent in parents)
        table = np.moveaxis(net.cpt(child), -1, 0)
        states = {name: list(net.values(name)) for name in [child, *parents]}
        cards = [len(states[name]) for name in parents]
        flat = table.reshape(len(states[child]), -1)
        model.add_cpds(TabularCPD(child, len(states[child]), flat, parents or None, cards or None, state_names=states))
    return model


def from_pyagrum(bn: Any, *, name: str | None = None) -> Network:
    """The network of a `BayesNet` of pyAgrum. Labels of integer and range variables become integers."""
    builder = Builder(name or _property(bn, "name") or "network")
    for node in sorted(bn.nodes()):
        variable, table = bn.variable(node), bn.cpt(node)
        child, *parents = list(table.names)
        # The axes of an array of pyAgrum are those of the table from the last to the first.
        array = np.asarray(table.toarray(), dtype=np.float64)
        builder.add(child, _labels(variable), parents, np.transpose(array, [*range(len(parents) - 1, -1, -1), len(parents)]))
    return builder.build()


def _property(bn: Any, key: str) -> str | None:
    try:
        return bn.property(key)
    except Exception:  # pyAgrum raises one of its own if there is none
        return None


def _labels(variable: Any) -> list[Any]:
    kind = str(variable).removeprefix(f"{variable.name()}:")
    labels = list(variable.labels())
    return [int(label) for label in labels] if kind.startswith(("Range(", "Integer(")) else labels


def to_pyagrum(net: Network, *, lossy: bool = False) -> Any:
    """The network as a `BayesNet` of pyAgrum. Roles of CPTs are lost, which ``lossy`` accepts."""
    import pyagrum

    _check(net, "pyAgrum", lossy)
    bn = pyagrum.BayesNet(net.name)
    for name in net.variables:
        bn.add(pyagrum.LabelizedVariable(name, "", [str(value) for value in net.values(name)]))
    for child in net.variables:
        for parent in net.parents(child):
            bn.addArc(parent, child)
    for child in net.variables:
        table = net.cpt(child)
        parents = table.ndim - 1
        # It is filled with the variable itself fastest, and its first parent next.
        order = np.transpose(table, [*range(parents - 1, -1, -1), parents])
        bn.cpt(child).fillWith(order.ravel().tolist())
    return bn


def _check(net: Network, library: str, lossy: bool) -> None:
    if net.is_markov:
        raise Error("unsupported", "a Markov network is no Bayesian network", hint="`net.factors()` has its potentials")
    roles = [name for name, (_, _, role) in zip(net.variables, net._factors) if any(role)]
    if roles and not lossy:
        raise Error("format", f"{library} cannot keep the role of the CPT of `{roles[0]}`", hint="pass `lossy=True` to lose it")


def from_networkx(graph: Any, cases: Any = None, *, name: str | None = None, prior: float = 0.0) -> Network:
    """The network of a `DiGraph` of networkx.

    Nodes have their ``values``, and their ``cpt`` as a :class:`Builder` takes it, the parents in the order of
    ``graph.predecessors``: as :func:`to_networkx` writes them. Or CPTs are counted from ``cases``: see :func:`from_edges`.
    """
    if cases is not None:
        return from_edges(graph.edges, cases, nodes=graph.nodes, name=name or graph.name, prior=prior)
    builder = Builder(name or graph.name or "network")
    for node, attributes in graph.nodes(data=True):
        if "values" not in attributes:
            raise Error("model", f"node `{node}` has no attribute `values`", hint="set it, or count from `cases`")
        parents = attributes.get("parents", graph.predecessors(node))
        builder.add(str(node), attributes["values"], [str(parent) for parent in parents], attributes.get("cpt"))
    return builder.build()


def to_networkx(net: Network) -> Any:
    """The network as a `DiGraph` of networkx, whose nodes have ``values``, ``parents`` in order, and ``cpt``."""
    import networkx

    graph = networkx.DiGraph(name=net.name)
    for name in net.variables:
        graph.add_node(name, values=net.values(name), parents=net.parents(name), cpt=net.cpt(name))
    graph.add_edges_from((parent, name) for name in net.variables for parent in net.parents(name))
    return graph


def from_edges(
    edges: Iterable[tuple[str, str]], cases: Any, *, nodes: Iterable[str] = (), name: str | None = None, prior: float = 0.0
) -> Network:
    """The network with these edges, from parents to children, whose CPTs are counted from a frame of pandas.

    The values of a variable are those in its column: the categories in their order, or else sorted. Cells may be missing: then it is
    expectation–maximisation. ``prior`` is added to each count; without it, a row of a CPT that no case has stays uniform.
    """
    pairs = [(str(parent), str(child)) for parent, child in edges]
    names = list(dict.fromkeys([*map(str, nodes), *(end for pair in pairs for end in pair)]))
    builder = Builder(name or "network")
    for variable in names:
        if variable not in cases:
            raise Error("name", f"there is no column for `{variable}`", hint="the cases have a column for each variable")
        builder.add(variable, _observed(cases[variable], variable), [parent for parent, child in pairs if child == variable])
    return builder.build().fit({variable: cases[variable] for variable in names}, method="em", prior=prior).network


def _observed(column: Any, name: str) -> list[Any]:
    """The values of a column."""
    categories = getattr(column, "cat", None)
    if categories is not None:
        found = list(categories.categories)
    else:
        found = [cell for cell in dict.fromkeys(_plain(column)) if cell is not None and cell == cell and cell != ""]
        found.sort(key=lambda value: (isinstance(value, str), value))
    if not found:
        raise Error("evidence", f"column `{name}` has no values", hint="drop it, or give it categories")
    is_whole = all(isinstance(value, float) and value.is_integer() for value in found)
    return [int(value) for value in found] if is_whole else found


def _plain(column: Any) -> list[Any]:
    array = column.to_numpy(dtype=object) if hasattr(column, "to_numpy") and hasattr(column, "index") else np.asarray(column, dtype=object)
    return [cell.item() if isinstance(cell, np.generic) else None if type(cell).__name__ in ("NAType", "NaTType") else cell for cell in array]
