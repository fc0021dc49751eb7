"""Circuits: evidence in every form, batches, files, and what is computed along the way."""

import copy
import pickle

import numpy as np
import pytest
import sumout


@pytest.fixture(scope="module")
def circuit(asia):
    return asia.compile("lung", given=["smoke", "xray", "dysp"])


ROWS = [{"xray": "yes", "dysp": "no"}, {"smoke": "no"}, {"xray": "no", "dysp": "yes", "smoke": "yes"}, {}]


def test_a_batch_answers_as_queries_do(asia, circuit):
    found = circuit.evaluate(ROWS)
    for row, posterior, log in zip(ROWS, *found):
        assert dict(zip(["yes", "no"], posterior)) == pytest.approx(asia.query("lung", given=row), abs=1e-12)
        assert log == pytest.approx(asia.log_evidence(row), abs=1e-12) == circuit.log_evidence(row)
        assert circuit.posterior(row)["lung"] == pytest.approx(asia.query("lung", given=row), abs=1e-12)


def forms():
    pandas, polars, arrow = (pytest.importorskip(name) for name in ["pandas", "polars", "pyarrow"])
    names = {"smoke": [None, "no", "yes", None], "xray": ["yes", None, "no", None], "dysp": ["no", None, "yes", None]}
    positions = np.array([[-1, 0, 1], [1, -1, -1], [0, 1, 0], [-1, -1, -1]])
    frame = pandas.DataFrame(names)
    return {
        "rows": ROWS,
        "positions": positions,
        "positions as bytes": positions.astype(np.int8),
        "lists of positions": positions.tolist(),
        "positions, not contiguous": np.asfortranarray(np.repeat(positions, 2, axis=1))[:, ::2],
        "floats with NaN": np.where(positions < 0, np.nan, positions),
        "names": np.array([[cells[row] for cells in names.values()] for row in range(4)], dtype=object),
        "columns": {name: np.array(cells, dtype=object) for name, cells in names.items()},
        "columns as lists of names": names,
        "no rows but names": [{k: v for k, v in zip(names, cells)} for cells in zip(*names.values())],
        "columns of positions": sumout.Positions({"smoke": frame["smoke"], "xray": np.array([0.0, np.nan, 1.0, np.nan]).astype(object), "dysp": frame["dysp"]}),
        "one column of positions": {"smoke": frame["smoke"], "xray": sumout.Positions(np.array([0, -1, 1, -1])), "dysp": frame["dysp"]},
        "pandas": frame.assign(other=1),
        "pandas categories": frame.astype("category"),
        "pandas categories that no cell has": frame.astype(pandas.CategoricalDtype(["maybe", "no", "yes"])),
        "pandas with an index called as an input": frame.set_index(pandas.Index(["a", "b", "c", "d"], name="smoke")),
        "pandas with an index of two levels": frame.set_index(pandas.MultiIndex.from_product([[1, 2], ["a", "b"]])),
        "pandas nullable numbers": sumout.Positions(pandas.DataFrame(np.where(positions < 0, np.nan, positions), columns=list(names)).astype("Int64")),
        "pandas nullable booleans": frame.replace({"yes": True, "no": False}).astype("boolean"),
        "pandas with Arrow's texts": frame.astype(pandas.ArrowDtype(arrow.string())),
        "pandas strings": frame.astype("string"),
        "pandas numbers": sumout.Positions(pandas.DataFrame(np.where(positions < 0, np.nan, positions), columns=["smoke", "xray", "dysp"])),
        "polars": polars.DataFrame(names),
        "polars categories": polars.DataFrame(names, schema={name: polars.Categorical for name in names}),
        "polars numbers": sumout.Positions(polars.DataFrame({name: [None if p < 0 else int(p) for p in column] for name, column in zip(names, positions.T)})),
        "polars booleans": polars.DataFrame({name: [None if c is None else c == "yes" for c in cells] for name, cells in names.items()}),
        "arrow": arrow.table(names),
        "arrow dictionaries": arrow.table({name: arrow.array(cells).dictionary_encode() for name, cells in names.items()}),
        "arrow in batches": arrow.Table.from_batches([b for b in arrow.table(names).to_batches(max_chunksize=3)]),
        "masked positions": np.ma.masked_array(np.abs(positions), positions < 0),
        "masked names": {name: np.ma.masked_array([c or "no" for c in cells], [c is None for c in cells]) for name, cells in names.items()},
        "arrow arrays": {name: arrow.chunked_array([cells]) for name, cells in names.items()},
        "likelihoods": {name: np.array([[1, 1] if c is None else [c == "yes", c == "no"] for c in cells], dtype=float) for name, cells in names.items()},
    }


def test_evidence_comes_in_every_form(circuit):
    assert circuit.inputs == ["smoke", "xray", "dysp"]
    wanted = circuit.posterior(ROWS)
    for what, evidence in forms().items():
        np.testing.assert_allclose(circuit.posterior(evidence), wanted, atol=1e-12, err_msg=what)
        likelihoods = circuit.likelihoods(evidence)
        np.testing.assert_allclose(circuit.forward(likelihoods)[0], wanted, atol=1e-12, err_msg=what)


def test_mistakes_in_evidence(circuit):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for evidence, kind, what in [
        (np.zeros((2, 2), int), "evidence", "3 inputs"),
        (np.zeros(3, int), "evidence", "3 inputs"),
        (np.full((1, 3), 2), "evidence", "no value 2"),
        (np.full((1, 3), 0.5), "evidence", "whole numbers"),
        ({"lung": "yes"}, "name", "`lung` is not an input"),
        ([{"lung": "yes"}], "name", "`lung` is not an input"),
        ({"lnug": np.array(["yes"])}, "name", "`lnug` is not a variable"),
        ({"lung": np.array(["yes"])}, "name", "no column is an input"),
        ({"xray": np.array(["yes", "maybe"])}, "name", "no value `maybe`"),
        ({"xray": np.array(["yes"]), "dysp": np.array(["yes", "no"])}, "evidence", "different lengths"),
        ({"xray": np.array([[0.5, 0.5, 0.5]])}, "evidence", "likelihoods"),
        ({"xray": np.array([[0.5, -0.5]])}, "evidence", "not negative"),
        (pandas.DataFrame({"lung": ["yes"]}), "name", "no column is an input"),
        (polars.DataFrame({"xray": ["yes", "perhaps"]}), "name", "no value `perhaps`"),
        (polars.DataFrame({"xray": [[1]]}), "evidence", "cells of type"),
        ({"xray": 7}, "name", "no value `7`"),
        ({"xray": 10**30}, "name", "no value `1000"),
        ({"xray": float("inf")}, "name", "no value `inf`"),
        ({"xray": np.array([np.inf]).astype(object)}, "name", "no value `inf`"),
        (pandas.DataFrame({"xray": [np.inf]}), "name", "no value `inf`"),
        (np.full((1, 3), np.inf), "evidence", "no value inf"),
        ({"xray": 0.5}, "name", "no value `0.5`"),
        ({"xray": [0.1, 0.2, 0.7]}, "evidence", "not a likelihood"),
        ({"xray": [[0.1, 0.9]]}, "evidence", "not a likelihood"),
        ([{"xray": [0.1, 0.2, 0.7]}, {}], "evidence", "not a likelihood"),
        ([{"xray": ["yes", "no"]}], "evidence", "not a likelihood"),
        ({"xray": {"yes": "a lot"}}, "evidence", "not a likelihood"),
        ({"xrya": "yes"}, "name", "did you mean `xray`"),
        ([{"xrya": "yes"}], "name", "did you mean `xray`"),
        ({"xrya": np.array(["yes"])}, "name", "did you mean `xray`"),
        ([{"xray": "yess"}], "name", "did you mean `yes`"),
        (polars.DataFrame({"xray": ["yess"]}), "name", "did you mean `yes`"),
        (polars.DataFrame({"xray": ["yess"]}, schema={"xray": polars.Categorical}), "name", "did you mean `yes`"),
        (pandas.DataFrame([["yes", "no"]], columns=["xray", "xray"]), "name", "several columns `xray`"),
        ("xray", "evidence", "3 inputs"),
        (None, "evidence", "3 inputs"),
    ]:
        with pytest.raises(sumout.Error, match=what) as raised:
            circuit.posterior(evidence)
        assert raised.value.kind == kind, raised.value


def test_scalars_of_numpy_are_values(circuit):
    wanted = circuit.posterior({"xray": "yes", "smoke": "no"})
    for yes in [np.int8(0), np.float32(0), np.array(0)]:
        assert circuit.posterior(sumout.Positions({"xray": yes, "smoke": "no"})) == wanted
    for yes in [np.str_("yes"), np.array("yes"), True, np.True_]:
        assert circuit.posterior({"xray": yes, "smoke": "no", "dysp": np.float32("nan")}) == wanted


def test_no_examples_have_no_answers(circuit):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    names = {"xray": [], "dysp": []}
    tables = [pandas.DataFrame(names), pandas.DataFrame(names, dtype="str"), polars.DataFrame(names, schema=dict.fromkeys(names, polars.String))]
    for nothing in [[], np.zeros((0, 3), dtype=int), {"xray": np.array([], dtype=object)}, *tables]:
        assert circuit.posterior(nothing).shape == (0, 2) and circuit.predict(nothing).shape == (0,)


def test_one_example_has_one_row(circuit):
    one = {"xray": "yes", "smoke": "yes"}
    assert circuit.predict(one).tolist() == ["yes"]
    np.testing.assert_array_equal(circuit.evaluate(one).posterior, circuit.posterior([one]))
    assert circuit.marginals(one).keys() == {"lung", "smoke", "xray", "dysp"}


def test_integers_are_names_where_values_are_integers():
    b = sumout.Builder()
    b.add("die", [1, 2, 3], cpt=[0.2, 0.3, 0.5])
    b.add("high", ["f", "t"], ["die"], lambda die: "t" if die > 1 else "f")
    circuit = b.build().compile("high", given="die")
    assert circuit.posterior({"die": 1})["high"]["f"] == 1
    assert circuit.posterior({"die": np.array([1, 3])}).argmax(axis=1).tolist() == [0, 1]
    assert circuit.posterior(np.array([[0], [2]])).argmax(axis=1).tolist() == [0, 1]  # but positions in a plain array
    with pytest.raises(sumout.Error, match="no value `0`"):
        circuit.posterior({"die": 0})
    high = b.build().compile("die", given="high")
    assert high.posterior({"high": True})["die"][1] == 0 and high.posterior({"high": np.array([False])})[0, 0] == 1


def test_all_marginals(asia):
    circuit = asia.compile(given=["xray", "dysp"])
    found = circuit.posterior({"xray": "yes"})
    assert found == {name: pytest.approx(p, abs=1e-12) for name, p in asia.query(given={"xray": "yes"}).items()}
    batch = circuit.posterior([{"xray": "yes"}, {}])
    assert batch["lung"].shape == (2, 2) and batch["lung"][0, 0] == pytest.approx(found["lung"]["yes"])
    both = asia.compile("lung", given=["xray", "dysp"]).marginals([{"xray": "yes"}])
    assert set(both) == {"lung", "xray", "dysp"} and both["dysp"][0, 0] == pytest.approx(found["dysp"]["yes"])


def test_families(asia):
    circuit = asia.compile(families=True)
    found = circuit.families([{"xray": "yes"}, {}])
    assert found["either"].shape == (2, 4, 2)
    np.testing.assert_allclose(found["lung"].sum(axis=1)[0], list(asia.query("lung", given={"xray": "yes"}).values()), atol=1e-9)
    np.testing.assert_allclose(found["smoke"][1], [[0.5, 0.5]])


def test_explanations_of_a_batch(asia):
    circuit = asia.compile(mpe=True, given=["xray", "dysp"])
    rows = [{"xray": "yes"}, {"dysp": "no"}]
    found = circuit.mpe(rows)
    for row, positions, log in zip(rows, found.positions, found.log_probability):
        wanted = asia.mpe(row)
        assert log == pytest.approx(wanted.log_probability)
        assert {name: asia.values(name)[p] for name, p in zip(found.variables, positions)} == wanted == circuit.mpe(row)
    with pytest.raises(sumout.Error, match="explanations"):
        circuit.posterior({})


def test_the_best_explanations_of_a_batch(asia):
    circuit = asia.compile(mpe=True)
    rows = [{"xray": "yes"}, {"dysp": "no"}]
    places = circuit.mpe(rows, k=3)
    for at, row in enumerate(rows):
        wanted = [one.log_probability for one in asia.mpe(row, k=3)]
        assert [found.log_probability[at] for found in places] == pytest.approx(wanted)
    with pytest.raises(sumout.Error, match="every variable as an input"):
        asia.compile(mpe=True, given=["xray"]).mpe(rows[:1], k=2)


def test_files_and_pickles(circuit, tmp_path):
    circuit.save(tmp_path / "lung.sumout")
    for again in [sumout.load(tmp_path / "lung.sumout"), pickle.loads(pickle.dumps(circuit)), copy.deepcopy(circuit)]:
        assert again.inputs == circuit.inputs and again.targets == ["lung"] and again.values("lung") == ["yes", "no"]
        assert (again.posterior(ROWS) == circuit.posterior(ROWS)).all()
    assert copy.deepcopy(circuit).network is circuit.network == pickle.loads(pickle.dumps(circuit)).network and sumout.load(tmp_path / "lung.sumout").network is None
    with pytest.raises(sumout.Error, match="nothing is known of how"):
        sumout.load(tmp_path / "lung.sumout").report()
    (tmp_path / "lung.sumout").write_bytes(b"no circuit")
    with pytest.raises(sumout.Error, match="damaged") as raised:
        sumout.load(tmp_path / "lung.sumout")
    assert raised.value.kind == "format"


def test_trainable_circuits_stay_so_in_files(asia):
    circuit = asia.compile("lung", given="xray", trainable=["lung", "xray"])
    again = pickle.loads(pickle.dumps(circuit))
    assert {k: v.tolist() for k, v in again.parameters.items()} == {k: v.tolist() for k, v in circuit.parameters.items()} != {}


@pytest.mark.parametrize("precision, tolerance", [("f64", 0), ("f32", 0)])
def test_rows_do_not_depend_on_others_nor_on_threads(precision, tolerance):
    net = sumout.read("rect:6")
    circuit = net.compile("label", given="pixel_*", effort=0.1)
    columns = [net.variables.index(name) for name in circuit.inputs]
    data = net.sample_positions(9001, seed=2)[:, columns]
    whole = circuit.posterior(data, precision=precision)
    assert np.abs(whole - circuit.posterior(data, precision=precision, threads=1)).max() <= tolerance
    assert np.abs(whole[:100] - circuit.posterior(data[:100], precision=precision)).max() <= tolerance
    assert np.abs(whole - circuit.posterior(data)).max() < 1e-5


def test_hard_inputs_must_have_a_value(asia):
    circuit = asia.compile("lung", given="xray", hard="smoke")
    assert circuit.hard == ["smoke"]
    with pytest.raises(sumout.Error, match="`smoke` has no value"):
        circuit.posterior([{"xray": "yes"}])


def test_reports(asia):
    circuit = sumout.read("rect:6").compile("label", given="pixel_*", effort=0.2)
    report = circuit.report()
    assert report["level"] == "support" and report["entries"] < report["classical"]["entries"]
    assert "largest cluster" in str(report) and len(report.clusters) == 2 * report["leaves"] - 1
    assert report["max_cluster_rank"] >= 2 and "digraph" in report.dot
    plan = sumout.read("digits:16").plan("d", given="p_*", effort=0.01)
    assert plan["classical"]["max_cluster_binary_rank"] > 100  # refused by no limit, since nothing is allocated


def test_programs_in_other_languages(circuit, tmp_path):
    circuit.export(tmp_path / "lung.py", to="numpy")
    assert "import numpy" in (tmp_path / "lung.py").read_text()
    with pytest.raises(sumout.Error, match="did you mean `lung`"):
        circuit.values("lnug")
    with pytest.raises(sumout.Error, match="fortran"):
        circuit.export(tmp_path / "lung.f", to="fortran")


def test_predictions(asia, circuit):
    assert circuit.predict([{"xray": "yes", "smoke": "yes"}, {}]).tolist() == ["yes", "no"]
    cases = asia.sample(500)
    wanted = np.mean(circuit.predict({n: cases[n] for n in circuit.inputs}) == cases["lung"])
    assert circuit.accuracy({n: cases[n] for n in circuit.inputs}, cases["lung"]) == wanted > 0.9
    some = ["yes", None, "no"]
    assert circuit.accuracy([{}, {}, {}], some) == 0.5  # who has no label does not count
    for labels, what in [(["yes"], "3 examples, and labels of shape"), ([None] * 3, "no example has a label"), (["ye"] * 3, "did you mean")]:
        with pytest.raises(sumout.Error, match=what):
            circuit.accuracy([{}, {}, {}], labels)


def test_several_targets_are_answered_side_by_side(asia):
    circuit = asia.compile(["lung", "tub"], given=["xray", "dysp"])
    assert circuit.targets == ["tub", "lung"]
    found = circuit.evaluate(ROWS[:1])
    assert sorted(found.posterior) == ["lung", "tub"]
    for name, rows in found.posterior.items():
        assert dict(zip(["yes", "no"], rows[0])) == pytest.approx(asia.query(name, given=ROWS[0]), abs=1e-12)


def test_a_joint_posterior_is_one_table(asia):
    names, given = ("lung", "bronc"), {"xray": "yes", "dysp": "no"}
    found = asia.query(joint=names, given=given)
    assert found.table.shape == (2, 2) and found.variables == list(names)
    assert found.table.sum(axis=1) == pytest.approx(list(asia.query("lung", given=given).values()), abs=1e-12)
    chain = asia.query("lung", given=given)["yes"] * asia.query("bronc", given={**given, "lung": "yes"})["no"]
    assert found["yes", "no"] == pytest.approx(chain, abs=1e-12)
    assert pickle.loads(pickle.dumps(found)) == found

    circuit = asia.compile(joint=names, given=["xray", "dysp"])
    for one in (circuit, pickle.loads(pickle.dumps(circuit))):
        assert one.evaluate([given, {}]).posterior.shape == (2, 2, 2)
        assert one.posterior([given])[0] == pytest.approx(found.table, abs=1e-12)
        assert one.posterior(given) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("names", ["lung", ["lung"], ["lung", "lung"]])
def test_a_joint_posterior_is_of_several_variables(asia, names):
    with pytest.raises(sumout.Error):
        asia.query(joint=names)
    with pytest.raises(sumout.Error):
        asia.compile(joint=names)
