"""Networks: read, built, inspected, converted, and asked."""

import pickle

import numpy as np
import pytest
import sumout


def test_what_is_in_a_network(asia):
    assert len(asia) == 8 and "lung" in asia and "lnug" not in asia
    assert asia.variables[:4] == ["asia", "tub", "smoke", "lung"] == list(asia)[:4]
    assert asia.values("lung") == ["yes", "no"]
    assert asia.parents("either") == ["lung", "tub"] and asia.children("either") == ["xray", "dysp"]
    assert asia.is_functional("either") and not asia.is_functional("lung")
    assert asia.cpt("either").shape == (2, 2, 2) and asia.cpt("lung").tolist() == [[0.1, 0.9], [0.01, 0.99]]
    assert asia.matching("*s*") == ["asia", "smoke", "dysp"]
    assert "8 variables" in repr(asia)


def test_queries(asia):
    lung = asia.query("lung", given={"xray": "yes", "dysp": "no"})
    assert lung == pytest.approx({"yes": 0.25229722988, "no": 0.74770277012})
    assert lung.best == "no" and lung.log_evidence == pytest.approx(np.log(0.0396175), abs=1e-4)
    assert asia.log_evidence({"xray": "yes", "dysp": "no"}) == pytest.approx(lung.log_evidence)
    several = asia.query(["lung", "tub"], given={"xray": [0.8, 0.2], "dysp": "yes"})
    assert list(several) == ["lung", "tub"] and several["lung"]["yes"] == pytest.approx(0.2724, abs=1e-4)
    assert several == asia.query(("lung", "tub"), given={"xray": {"yes": 0.8, "no": 0.2}, "dysp": True})
    assert list(asia.query()) == asia.variables
    assert asia.query("xray", given={"xray": None})["yes"] == asia.query("xray")["yes"]


def test_explanations(asia):
    best = asia.mpe({"xray": "yes"})
    assert best["lung"] == "yes" and best["xray"] == "yes" and best.log_probability == pytest.approx(-3.652222, abs=1e-6)


def test_the_best_explanations_in_order(asia):
    best = asia.mpe({"xray": "yes"}, k=5)
    assert best[0] == asia.mpe({"xray": "yes"}) and [one.rank for one in best] == [1, 2, 3, 4, 5]
    everything = asia.mpe({"xray": "yes"}, k=1000)
    assert sum(one.probability for one in everything) == pytest.approx(1)
    assert everything[:5] == best and len({tuple(one.values()) for one in everything}) == len(everything)
    assert pickle.loads(pickle.dumps(best[1])).probability == best[1].probability
    with pytest.raises(sumout.Error, match="explanations cannot be asked for"):
        asia.mpe(k=0)
    with pytest.raises(sumout.ImpossibleEvidence):
        asia.mpe({"lung": "yes", "either": "no"}, k=2)


def test_explanations_that_tie():
    b = sumout.Builder("coins")
    for name in "abc":
        b.add(name, ["h", "t"], cpt=[0.5, 0.5])
    best = b.build().mpe(k=5)
    assert [one.rank for one in best] == [1] * 5 and best[-1].tied_beyond
    assert [one.probability for one in best] == pytest.approx([0.125] * 5)


def test_marginal_map(asia):
    best = asia.map(["lung", "tub"], {"xray": "yes"})
    assert best == {"lung": "yes", "tub": "no"} and best.proved and best.bound == best.log_probability
    everything = asia.map(["lung", "tub"], {"xray": "yes"}, k=9)
    assert sum(one.probability for one in everything) == pytest.approx(1) and everything[0] == best
    lung = asia.query("lung", given={"xray": "yes"})
    assert asia.map("lung", {"xray": "yes"}, time_limit=60)["lung"] == lung.best
    with pytest.raises(sumout.Error, match="asked for and given"):
        asia.map("lung", {"lung": "yes"})
    with pytest.raises(sumout.ImpossibleEvidence):
        asia.map("tub", {"lung": "yes", "either": "no"})


def test_information(asia):
    found = asia.information("lung", {"dysp": "yes"})
    assert next(iter(found)) == "either" and list(found.values()) == sorted(found.values(), reverse=True)
    assert set(found) == set(asia.variables) - {"lung", "dysp"}
    p = asia.query("lung", given={"dysp": "yes"})["yes"]
    assert found.entropy == pytest.approx(-p * np.log2(p) - (1 - p) * np.log2(1 - p))
    assert asia.information("lung", {"dysp": "yes"}, among="x*", after=["either"])["xray"] == pytest.approx(0, abs=1e-12)
    with pytest.raises(sumout.Error, match="cannot be observed again"):
        asia.information("lung", {"lung": "yes"})
    with pytest.raises(sumout.ImpossibleEvidence):
        asia.information("dysp", {"lung": "yes", "either": "no"})


def test_sensitivity(asia):
    found = asia.sensitivity("lung", "yes", {"xray": "yes"})
    assert found.probability == pytest.approx(asia.query("lung", given={"xray": "yes"})["yes"])
    first = found[0]
    assert (first.variable, first.given, first.number) == ("xray", {"either": "no"}, 0.05)
    assert abs(first.derivative) >= abs(found[-1].derivative)
    number = first.reaching(0.6)
    cpt = np.array(asia.cpt("xray"), copy=True)
    cpt[1] = [number, 1 - number]
    assert asia.with_cpts({"xray": cpt}).query("lung", given={"xray": "yes"})["yes"] == pytest.approx(0.6)
    assert first.reaching(0.99) is None
    with pytest.raises(sumout.Error, match="asked for and given"):
        asia.sensitivity("lung", "yes", {"lung": "yes"})
    with pytest.raises(sumout.ImpossibleEvidence):
        asia.sensitivity("dysp", "yes", {"lung": "yes", "either": "no"})


def test_impossible_evidence_is_an_answer_of_its_own(asia):
    impossible = {"lung": "yes", "either": "no"}
    with pytest.raises(sumout.ImpossibleEvidence) as raised:
        asia.query("tub", given=impossible)
    assert raised.value.kind == "impossible"
    with pytest.raises(sumout.ImpossibleEvidence):
        asia.mpe(impossible)
    assert asia.log_evidence(impossible) == float("-inf")
    circuit = asia.compile("tub", given=["lung", "either"])
    found = circuit.evaluate([impossible, {"lung": "no"}])
    assert found.impossible.tolist() == [True, False]
    assert found.posterior[0].tolist() == [0, 0] and found.posterior[1].sum() == pytest.approx(1)
    with pytest.raises(sumout.ImpossibleEvidence):
        circuit.posterior(impossible)


def house():
    b = sumout.Builder("house")
    b.add("fire", ["yes", "no"], cpt=[0.01, 0.99])
    b.add("alarm", ["yes", "no"], ["fire", "test"], lambda fire, test: "yes" if "yes" in (fire, test) else "no")
    b.add("test", ["yes", "no"], cpt=np.array([0.1, 0.9]))
    return b.build()


def test_building_with_arrays_and_functions():
    net = house()
    assert net.is_functional("alarm") and net.parents("alarm") == ["fire", "test"]
    assert net.query("fire", given={"alarm": "yes"})["yes"] == pytest.approx(0.01 / 0.109)


def test_functions_of_numbers_and_rows_of_probabilities():
    b = sumout.Builder()
    b.add("a", range(3), cpt=[0.2, 0.3, 0.5])
    b.add("b", range(3), cpt=lambda: [0.5, 0.5, 0.0])
    b.add("sum", range(5), ["a", "b"], lambda a, b: a + b)
    b.add("seen", [True, False], ["sum"], lambda s: {True: s / 4, False: 1 - s / 4})
    net = b.build()
    assert net.is_functional("sum") and not net.is_functional("seen")
    assert net.query("sum")[2] == pytest.approx(0.3 * 0.5 + 0.5 * 0.5)
    table = sum(pa * pb * (a + b) / 4 for a, pa in enumerate([0.2, 0.3, 0.5]) for b, pb in enumerate([0.5, 0.5, 0.0]))
    assert net.log_evidence({"seen": True}) == pytest.approx(np.log(table))
    assert net.query("a", given={"sum": 3}) == net.query("a", given={"sum": "3"})  # a number is the value of that name


def test_markov_networks():
    b = sumout.Builder("pair", markov=True)
    b.add("x", ["a", "b"])
    b.add("y", ["a", "b"])
    b.factor(["x", "y"], [[2.0, 1.0], [1.0, 4.0]])
    b.factor(["x"], lambda x: 3.0 if x == "a" else 1.0)
    net = b.build()
    assert net.is_markov and net.log_evidence({}) == pytest.approx(np.log(14))
    assert net.query("x")["a"] == pytest.approx(9 / 14)
    assert [scope for scope, _ in net.factors()] == [["x", "y"], ["x"]]


@pytest.mark.parametrize(
    "build, what",
    [
        (lambda b: b.add("x", ["a", "b"], cpt=[0.5, 0.4]), "sums to 0.9"),
        (lambda b: b.add("x", ["a", "b"], ["y"], cpt=[0.5, 0.5]), "parent `y`, and there is no such variable"),
        (lambda b: b.add("x", ["a", "b"], cpt=[[0.5, 0.5]]), r"shape \(1, 2\), and not \(2,\)"),
        (lambda b: b.add("x", ["a", "b"], cpt=lambda: "c"), "the function of `x` returns 'c'"),
        (lambda b: b.add("x", ["a", "a"], cpt=[0.5, 0.5]), "`a`"),
        (lambda b: b.add("x", [], cpt=[]), "`x`"),
    ],
)
def test_mistakes_in_building(build, what):
    b = sumout.Builder()
    with pytest.raises(sumout.Error, match=what):
        build(b)
        b.build()


def test_pgmpys_order_of_a_table_is_recognised():
    b = sumout.Builder()
    b.add("p", ["a", "b"], cpt=[0.5, 0.5])
    b.add("q", ["a", "b"], cpt=[0.5, 0.5])
    b.add("x", ["a", "b", "c"], ["p", "q"], np.full((3, 4), 1 / 3))
    with pytest.raises(sumout.Error, match="pgmpy"):
        b.build()


@pytest.mark.parametrize("extension", ["bif", "xmlbif", "uai", "net", "xdsl", "json", "bif.gz"])
def test_every_format_keeps_the_answers(asia, tmp_path, extension):
    path = tmp_path / f"asia.{extension}"
    if extension == "uai":
        with pytest.raises(sumout.Error, match="lossy=True"):
            asia.write(path)
    asia.write(path, lossy=extension == "uai")
    again = sumout.read(path)
    name = again.variables[asia.variables.index("lung")]  # UAI has no names
    assert again.query(name)[again.values(name)[0]] == pytest.approx(0.055)
    sumout.convert(path, tmp_path / "again.json")
    assert sumout.read(tmp_path / "again.json").variables == again.variables


def test_text_and_pickles(asia):
    assert sumout.reads(asia.to_string("bif"), format="bif") == asia == pickle.loads(pickle.dumps(asia))
    assert house() != asia
    posterior = asia.query("lung", given={"xray": "yes"})
    again = pickle.loads(pickle.dumps(posterior))
    assert again == posterior and again.log_evidence == posterior.log_evidence


def test_errors_have_kind_place_and_hint(tmp_path, asia):
    path = tmp_path / "wrong.bif"
    path.write_text(asia.to_string("bif").replace("0.055", "0.05").replace("0.1, 0.9", "0.1, 0.8", 1))
    with pytest.raises(sumout.Error) as raised:
        sumout.read(path)
    error = raised.value
    assert error.kind == "model" and error.place.file == str(path) and error.place.line > 1 and "sums to 0.9" in error.message
    assert error.hint == "add the missing 0.1" and "^" in str(error) and isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.kind, again.place, again.hint, str(again)) == (error.kind, error.place, error.hint, str(error))
    assert sumout.read(path, normalize=True).variables == asia.variables
    for ask, kind, what in [
        (lambda: sumout.read("nowhere.bif"), "io", "nowhere.bif"),
        (lambda: asia.query("lnug"), "name", "did you mean `lung`"),
        (lambda: asia.query("lung", given={"xray": "yess"}), "name", "did you mean `yes`"),
        (lambda: asia.query("lung", given={"xray": [0.5, 0.25, 0.25]}), "evidence", "2 values"),
        (lambda: asia.query(memory=10), "memory", "memory="),
        (lambda: asia.query("lung", level="best"), "options", "the levels are"),
        (lambda: asia.query("lung", memory="much"), "options", "8GiB"),
        (lambda: asia.compile("lung", given="lung"), "options", "asked for and given"),
        (lambda: asia.write(tmp_path / "x.txt"), "format", "extensions"),
    ]:
        with pytest.raises(sumout.Error, match=what) as raised:
            ask()
        assert raised.value.kind == kind, raised.value


def test_samples_are_seeded_and_follow_the_network(asia):
    cases = asia.sample(20_000, seed=1)
    assert all((cases[name] == asia.sample(20_000, seed=1)[name]).all() for name in asia)
    assert (cases["smoke"] == "yes").mean() == pytest.approx(0.5, abs=0.02)
    assert ((cases["either"] == "yes") == ((cases["lung"] == "yes") | (cases["tub"] == "yes"))).all()
    assert asia.sample_positions(3).shape == (3, 8)


def test_other_cpts(asia):
    other = asia.with_cpts({"smoke": [0.25, 0.75]})
    assert other.query("smoke")["yes"] == 0.25 and asia.query("smoke")["yes"] == 0.5
    with pytest.raises(sumout.Error, match="not probabilities"):
        asia.with_cpts({"smoke": [0.25, 0.25]})


def test_rounded_rows_are_rescaled_with_a_warning(tmp_path):
    text = "network n {} variable a { type discrete [3] { x, y, z }; } probability (a) { table 0.333333, 0.333333, 0.333333; }"
    with pytest.warns(UserWarning, match="rescaled 1 row of rounded numbers: sums were off by at most 1e-6"):
        net = sumout.reads(text, format="bif")
    assert np.allclose(net.cpt("a"), 1 / 3, rtol=0, atol=1e-15)
    path = tmp_path / "n.bif"
    path.write_text(text)
    with pytest.warns(UserWarning, match="n.bif`: rescaled 1 row"):
        assert sumout.read(path) == net


def test_words_for_missing_cells_are_missing_unless_they_are_values():
    circuit = sumout.read("asia").compile("lung", given=["xray"])
    known = circuit.posterior({"xray": np.array(["yes", "NA", "", "?", "Null", "nan"], dtype=object)})
    prior = circuit.posterior({"xray": np.array(["yes", None], dtype=object)})[1]
    assert np.allclose(known[1:], prior)
    assert not np.allclose(known[0], prior)


def test_cases_are_drawn_from_the_posterior(asia):
    given = {"xray": "yes", "dysp": [0.2, 0.9]}
    cases = asia.sample(4000, given=given, seed=3)
    assert (cases["xray"] == "yes").all()
    expected = asia.query("lung", given=given)["yes"]
    assert (cases["lung"] == "yes").mean() == pytest.approx(expected, abs=5 * (expected * (1 - expected) / 4000) ** 0.5)
    assert (asia.sample_positions(10, given=given, seed=3) == asia.sample_positions(4000, given=given, seed=3)[:10]).all()
    with pytest.raises(sumout.ImpossibleEvidence):
        asia.sample(1, given={"lung": "yes", "either": "no"})


def test_the_graph_tells_what_is_independent(asia):
    assert asia.markov_blanket("lung") == ["tub", "smoke", "either"]
    assert asia.is_separated("tub", "lung")
    assert not asia.is_separated("tub", "lung", given="dysp")
