"""Networks to and from other libraries, and what only the graph or counts are needed for."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
import sumout

pandas = pytest.importorskip("pandas")

NETWORKS = Path(os.environ.get("SUMOUT_NETWORKS", Path(__file__).parents[4] / "shared/networks")) / "bnlearn"
SMALL = ["asia", "cancer", "earthquake", "sachs", "survey", "child"]
EVERY = sorted(path.name.partition(".")[0] for path in NETWORKS.glob("*.bif.gz")) if os.environ.get("SUMOUT_SWEEP") else SMALL


def published(name):
    path = NETWORKS / f"{name}.bif.gz"
    if not path.exists():
        pytest.skip("published networks, because SUMOUT_NETWORKS names no folder with them")
    return sumout.read(path, normalize=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["pgmpy", "pyagrum", "networkx"])
@pytest.mark.parametrize("name", EVERY)
def test_networks_come_back_from_other_libraries(name, library):
    pytest.importorskip(library)
    net = published(name)
    there, back = getattr(sumout, f"to_{library}"), getattr(sumout, f"from_{library}")
    again = back(there(net))
    assert again.variables == net.variables and again.name == net.name
    for variable in net:
        assert again.values(variable) == net.values(variable) and again.parents(variable) == net.parents(variable)
        np.testing.assert_allclose(again.cpt(variable), net.cpt(variable), rtol=0, atol=1e-15)
        assert again.is_functional(variable) == net.is_functional(variable)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["pgmpy", "pyagrum"])
def test_other_libraries_answer_the_same(asia, library):
    pytest.importorskip(library)
    given = {"xray": "yes", "dysp": "no"}
    wanted = list(asia.query("lung", given=given).values())
    if library == "pgmpy":
        from pgmpy.inference import VariableElimination

        found = VariableElimination(sumout.to_pgmpy(asia)).query(["lung"], evidence=given, show_progress=False)
        np.testing.assert_allclose([found.get_value(lung=value) for value in asia.values("lung")], wanted, atol=1e-9)
    else:
        import pyagrum

        inference = pyagrum.LazyPropagation(sumout.to_pyagrum(asia))
        inference.setEvidence(given)
        np.testing.assert_allclose(inference.posterior("lung").toarray(), wanted, atol=1e-9)


def test_networks_of_pyagrum_keep_their_numbers():
    pyagrum = pytest.importorskip("pyagrum")
    bn = pyagrum.fastBN("a[3]->b{x|y|z}<-c{u|v};d[2,4]->b")
    net = sumout.from_pyagrum(bn)
    assert net.values("a") == [0, 1, 2] and net.values("d") == [2, 3, 4] and net.values("c") == ["u", "v"]
    for a, c, d, b in itertools.product(range(3), "uv", [2, 3, 4], "xyz"):
        state = {"a": a, "c": c, "d": d, "b": b}
        instance = pyagrum.Instantiation(bn.cpt("b"))
        instance.fromdict({name: str(value) for name, value in state.items()})
        at = tuple(net.values(name).index(state[name]) for name in [*net.parents("b"), "b"])
        assert net.cpt("b")[at] == bn.cpt("b").get(instance)


@pytest.mark.filterwarnings("ignore")
def test_each_factor_of_pgmpy_may_have_its_own_order_of_states():
    pytest.importorskip("pgmpy")
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork([("p", "x")])
    model.add_cpds(TabularCPD("p", 2, [[0.3], [0.7]], state_names={"p": ["a", "b"]}))
    other = {"p": ["b", "a"], "x": [0, 1]}
    model.add_cpds(TabularCPD("x", 2, [[0.9, 0.2], [0.1, 0.8]], ["p"], [2], state_names=other))
    net = sumout.from_pgmpy(model)
    assert net.cpt("x").tolist() == [[0.2, 0.8], [0.9, 0.1]] and net.values("x") == [0, 1]


def test_edges_and_a_frame_are_a_network(asia):
    cases = pandas.DataFrame(asia.sample(300, seed=1))
    net = sumout.from_edges(asia.edges, cases, name="counted")
    assert net.name == "counted" and set(net.edges) == set(asia.edges)
    assert net.query("smoke")["yes"] == pytest.approx((cases.smoke == "yes").mean())
    some = cases[cases.smoke == "yes"]
    assert net.query("lung", given={"smoke": "yes"})["yes"] == pytest.approx((some.lung == "yes").mean())
    numbered = sumout.from_edges([("a", "b")], pandas.DataFrame({"a": [1, 3, 3], "b": [True, False, True]}))
    assert numbered.values("a") == [1, 3] and numbered.query("b", given={"a": 3})[True] == pytest.approx(0.5)
    with pytest.raises(sumout.Error, match="no column for `c`"):
        sumout.from_edges([("a", "c")], cases.rename(columns={"smoke": "a"}))


def test_roles_are_not_lost_in_silence():
    net = sumout.read("rect:3")
    with pytest.raises(sumout.Error, match="cannot keep the role"):
        sumout.to_pyagrum(net)
    assert sumout.from_pyagrum(sumout.to_pyagrum(net, lossy=True)).variables == net.variables


def random_network(seed, size=6):
    rng = np.random.default_rng(seed)
    b = sumout.Builder("random")
    for k in range(size):
        parents = [f"v{p}" for p in range(k) if rng.random() < 0.35]
        b.add(f"v{k}", ["a", "b"], parents, rng.dirichlet([1, 1], [2] * len(parents)))
    return b.build()


@pytest.mark.parametrize("seed", range(4))
def test_d_separation_is_that_of_networkx(seed):
    networkx = pytest.importorskip("networkx")
    net = random_network(seed)
    graph = sumout.to_networkx(net)
    for name in net:
        assert set(net.ancestors(name)) == networkx.ancestors(graph, name)
        assert set(net.descendants(name)) == networkx.descendants(graph, name)
        rest = [other for other in net if other not in [name, *net.markov_blanket(name)]]
        assert not rest or net.is_separated(name, rest, net.markov_blanket(name))
    for x, y in itertools.combinations(net, 2):
        others = [name for name in net if name not in (x, y)]
        for size in range(len(others) + 1):
            for given in itertools.combinations(others, size):
                wanted = networkx.is_d_separator(graph, {x}, {y}, set(given))
                assert net.is_separated(x, y, given) == wanted == net.is_separated([y], [x], given)
    assert set(net.moral_edges()) == {tuple(sorted(edge)) for edge in networkx.moral_graph(graph).edges}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_those_of_pgmpy(seed):
    pytest.importorskip("pgmpy")
    from pgmpy.structure_score import AIC, BIC, BDeu

    net = random_network(seed)
    cases = pandas.DataFrame(net.sample(200, seed=seed))
    model = sumout.to_pgmpy(net)
    states = {name: ["a", "b"] for name in net}
    for kind, scorer in [("bic", BIC(cases, state_names=states)), ("aic", AIC(cases, state_names=states)), ("bdeu", BDeu(cases, state_names=states))]:
        assert net.score(cases, kind) == pytest.approx(scorer.score(model), abs=1e-6), kind
    learned = net.fit(cases, method="em", prior=0.0).network
    assert net.score(cases, "log_likelihood") == pytest.approx(learned.log_likelihood(cases))
    with pytest.raises(sumout.Error, match="not known in all cases"):
        net.score(cases.assign(v0=None))


def test_the_likelihood_of_cases_with_gaps(asia):
    cases = pandas.DataFrame(asia.sample(50, seed=3)).astype(object)
    cases.loc[::3, "smoke"] = None
    wanted = sum(asia.log_evidence(row.dropna()) for _, row in cases.iterrows())
    assert asia.log_likelihood(cases) == pytest.approx(wanted)
    assert asia.log_likelihood(cases.drop(columns="dysp")) == pytest.approx(
        sum(asia.log_evidence(row.dropna()) for _, row in cases.drop(columns="dysp").iterrows())
    )
