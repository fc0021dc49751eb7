"""Input that could be misread is read right, or refused with both readings."""

import pickle
import warnings

import numpy as np
import pytest
import sumout
from sumout import Positions

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
arrow = pytest.importorskip("pyarrow")

YES, NO = pytest.approx(0.4887114), pytest.approx(0.00123636, rel=1e-5)


@pytest.fixture(scope="module")
def circuit(asia):
    return asia.compile("lung", given=["xray"])


def is_refused(what):
    return pytest.raises(sumout.Error, match=what)


def test_a_truth_is_never_a_position(circuit):
    for cells in [[True, False], [True, None, False]]:
        for column in [
            pandas.DataFrame({"xray": cells}),
            pandas.DataFrame({"xray": cells}).astype("boolean"),
            polars.DataFrame({"xray": cells}),
            arrow.table({"xray": cells}),
            {"xray": cells},
            [{"xray": cell} for cell in cells],
        ]:
            lung = circuit.posterior(column)[:, 0]
            assert lung[0] == YES and lung[-1] == NO, column


@pytest.mark.parametrize("kind", [int, float, "Int64", "int8"])
def test_numbers_that_may_be_truths_are_refused(asia, circuit, kind):
    """`yes` is the position 0, and 1 as a boolean."""
    frame = pandas.DataFrame({"xray": [1, 0]}).astype(kind)
    both = "`[01]` for `xray` is ambiguous: `(yes|no)` as a boolean, `(yes|no)` as a position"
    for evidence in [frame, pandas.concat([frame] * 20), dict(xray=frame["xray"]), polars.from_pandas(frame), arrow.Table.from_pandas(frame)]:
        with is_refused(both):
            circuit.posterior(evidence)
    with is_refused(both):
        asia.query("lung", given={"xray": frame["xray"].iloc[0]})
    with is_refused(both):
        asia.fit(pandas.DataFrame(asia.sample(2)).assign(xray=frame["xray"]))
    with is_refused("`[01]` for `lung` is ambiguous"):
        circuit.accuracy([{}, {}], np.array([1, 0]))


def test_a_boolean_column_with_a_gap_is_not_inverted(circuit):
    frame = pandas.concat([pandas.DataFrame({"xray": [1.0, 0.0]}), pandas.DataFrame({"other": [1]})])
    with is_refused("ambiguous"), warnings.catch_warnings(action="ignore"):
        circuit.posterior(frame)
    assert circuit.posterior(pandas.DataFrame({"xray": [None, float("nan")]})).shape == (2, 2)  # nothing is known


def test_positions_may_be_asked_for(asia, circuit):
    frame = pandas.DataFrame({"xray": [0, 1, -1]})
    for evidence in [Positions(frame), Positions(polars.from_pandas(frame)), Positions({"xray": [0, 1, -1]}), np.array([[0], [1], [-1]])]:
        lung = circuit.posterior(evidence)[:, 0]
        assert lung[0] == YES and lung[1] == NO and lung[2] == pytest.approx(0.055)
    assert asia.query("lung", given=Positions({"xray": 0}))["yes"] == YES
    assert circuit.posterior(Positions({"xray": 0}))["lung"]["yes"] == YES
    assert circuit.accuracy([{}, {}], Positions([1, 0])) == 0.5
    with is_refused("no value `2`"):
        circuit.posterior(Positions({"xray": np.array([2])}))


def test_numbers_are_taken_where_both_readings_are_the_same():
    b = sumout.Builder()
    b.add("rain", ["no", "yes"], cpt=[0.75, 0.25])
    b.add("wet", ["false", "true"], ["rain"], [[0.9, 0.1], [0.2, 0.8]])
    net = b.build()
    assert net.query("rain", given={"wet": 1}) == net.query("rain", given={"wet": True}) == net.query("rain", given={"wet": "true"})


def test_a_dictionary_of_lists_does_not_depend_on_its_length(asia):
    circuit = asia.compile("lung", given=["xray", "dysp"])
    for cells in [{"xray": [0, 1], "dysp": [1, 1]}, {"xray": [0, 1, 1], "dysp": [1, 1, 0]}, {"xray": (1, 0)}, {"xray": np.array([1.0, 0.0])}]:
        with is_refused("is ambiguous: the likelihood of each value in one example, or [23] examples"):
            circuit.posterior(cells)
    assert len(circuit.posterior({"xray": [True, False], "dysp": [True, True]})) == 2
    assert len(circuit.posterior({"xray": ["yes", "no", None], "dysp": ["yes"] * 3})) == 3
    assert circuit.posterior({"xray": [0, 1], "dysp": "yes"})["lung"] == circuit.posterior({"xray": "no", "dysp": "yes"})["lung"]
    assert circuit.posterior({"xray": [0.8, 0.2]})["lung"]["yes"] == pytest.approx(0.1628258)


def test_the_order_of_the_inputs_is_that_of_given(asia, tmp_path):
    circuit = asia.compile("lung", given=["dysp", "xray"])
    assert circuit.inputs == ["dysp", "xray"]
    wanted = asia.query("lung", given={"dysp": "no", "xray": "yes"})["yes"]
    circuit.save(tmp_path / "lung.sumout")
    for same in [circuit, sumout.load(tmp_path / "lung.sumout"), pickle.loads(pickle.dumps(circuit))]:
        assert same.inputs == ["dysp", "xray"]
        assert same.posterior(np.array([[1, 0]]))[0, 0] == pytest.approx(wanted)
        assert same.forward(np.array([[0.0, 1.0, 1.0, 0.0]]))[0][0, 0] == pytest.approx(wanted)
    assert asia.compile("lung", given=["x*", "dysp", "*s*"], hard="smoke").inputs == ["xray", "dysp", "asia", "smoke"]
    cases = asia.sample_positions(100, seed=1)[:, [asia.variables.index(name) for name in ["dysp", "xray", "lung"]]]
    circuit.fit(cases[:, :2], Positions(cases[:, 2]), epochs=1, starts=1)
    assert circuit.inputs == ["dysp", "xray"]
    learned = circuit.network.query("lung", given={"dysp": "no", "xray": "yes"})
    assert circuit.posterior(np.array([[1, 0]]))[0] == pytest.approx(list(learned.values()), abs=1e-6)


def test_a_misspelt_column_is_mentioned(asia):
    circuit = asia.compile("lung", given=["xray", "dysp"])
    frame = pandas.DataFrame({"xray": ["yes"], "dyspp": ["no"]})
    for evidence in [frame, polars.from_pandas(frame), arrow.Table.from_pandas(frame)]:
        with pytest.warns(UserWarning, match="no column for the input `dysp` and no variable for the column `dyspp`\nhint: is `dyspp` meant to be `dysp`"):
            circuit.posterior(evidence)
        with is_refused("no column for the input `dysp`"):
            circuit.posterior(evidence, strict=True)
    with warnings.catch_warnings(action="error"):
        circuit.posterior(pandas.DataFrame({"xray": ["yes"]}))
        circuit.posterior(pandas.DataFrame({"xray": ["yes"], "smoke": ["no"]}))  # a variable that is not asked
        circuit.posterior(pandas.DataFrame({"xray": ["yes"], "dysp": ["no"], "patient": [7]}))
    with is_refused("no variable for the column `patient`"):
        circuit.posterior(pandas.DataFrame({"xray": ["yes"], "dysp": ["no"], "patient": [7]}), strict=True)


def test_a_warning_names_the_line_of_the_user(asia):
    circuit = asia.compile("lung", given=["xray", "dysp"])
    with pytest.warns(UserWarning) as caught:
        circuit.predict(pandas.DataFrame({"xray": ["yes"], "dyspp": ["no"]}))
    assert caught[0].filename == __file__


def test_fit_refuses_a_variable_without_a_column(asia):
    cases = pandas.DataFrame(asia.sample(50)).rename(columns={"smoke": "smoker"})
    with is_refused("no column for `smoke`\nhint: is `smoker` meant to be `smoke`"):
        asia.fit(cases, method="em")
    assert asia.fit(cases, method="em", hidden="smoke", epochs=2).history
    with is_refused("no column for `dysp`"):
        asia.compile("lung", given=["xray", "dysp"]).fit(cases[["xray"]], cases["lung"])


def test_rows_are_read_in_linear_time(circuit, monkeypatch):
    """Counted, not timed: each column is made once."""
    rows = [{"xray": "yes"}] * 50
    counted = []

    class Counting(list):
        def __len__(self):
            counted.append(1)
            return super().__len__()

    circuit.posterior(Counting(rows))
    assert len(counted) < 10


def test_masked_cells_are_missing(circuit):
    wanted = circuit.posterior([{"xray": "yes"}, {}])
    for evidence in [
        np.ma.masked_array([[0], [1]], [[False], [True]]),
        np.ma.masked_array([[0.0], [1.0]], [[False], [True]]),
        {"xray": np.ma.masked_array(["yes", "no"], [False, True])},
        {"xray": np.ma.masked_array([True, False], [False, True])},
        {"xray": np.ma.masked_array([[1.0, 0.0], [0.0, 1.0]], [[False] * 2, [True] * 2])},
        [{"xray": "yes"}, {"xray": np.ma.masked}],
    ]:
        np.testing.assert_allclose(circuit.posterior(evidence), wanted, err_msg=repr(evidence))
    with is_refused("masked in parts of a row"):
        circuit.posterior({"xray": np.ma.masked_array([[1.0, 0.0]], [[False, True]])})


def test_a_labelled_cpt_is_read_by_its_labels():
    def built(cpt, parents=()):
        b = sumout.Builder()
        b.add("w", ["a", "b"], cpt=[0.5, 0.5])
        b.add("x", ["u", "v"], parents, cpt)
        return b.build().cpt("x").tolist()

    assert built(pandas.Series({"v": 0.9, "u": 0.1})) == [0.1, 0.9]
    assert built(pandas.Series([0.1, 0.9])) == [0.1, 0.9]
    frame = pandas.DataFrame({"v": [0.9, 0.2], "u": [0.1, 0.8]}, index=["b", "a"])
    assert built(frame, ["w"]) == [[0.8, 0.2], [0.1, 0.9]]
    with is_refused("not the values of `x`"):
        built(pandas.Series({"v": 0.9, "z": 0.1}))
    with is_refused("masked"):
        built(np.ma.masked_array([0.1, 0.9], [True, False]))


def test_cpts_as_frames_come_back(asia):
    for name in asia:
        frame = asia.cpt(name, frame=True)
        shuffled = frame.iloc[::-1, ::-1]
        assert asia.with_cpts({name: shuffled}) == asia
    assert asia.cpt("either", frame=True).index.names == ["lung", "tub"]


def test_a_row_of_a_frame_is_one_example(asia):
    cases = pandas.DataFrame(asia.sample(3)[name] for name in ["xray"]).T
    row = pandas.DataFrame({"xray": ["yes", "no"]}).iloc[0]
    assert asia.compile("lung", given="xray").posterior(row)["lung"]["yes"] == YES == asia.query("lung", given=row)["yes"]
    assert len(cases) == 3


def test_circuits_without_a_target_are_differentiated(asia):
    circuit = asia.compile(given=["xray", "dysp"])
    likelihoods = circuit.likelihoods([{"xray": [0.8, 0.2], "dysp": [0.5, 0.4]}])
    with_none, _ = circuit.backward(likelihoods, None, np.ones(1))
    with_empty, _ = circuit.backward(likelihoods, np.zeros((1, 0)), np.ones(1))
    np.testing.assert_array_equal(with_none, with_empty)


def test_values_keep_their_type(tmp_path):
    b = sumout.Builder()
    b.add("die", range(3), cpt=[0.5, 0.3, 0.2])
    b.add("size", [0.5, 1.5], ["die"], [[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    b.add("large", [True, False], ["size"], lambda size: size > 1)
    b.add("pair", [(0, 0), (0, 1)], ["die"], lambda die: (0, min(die, 1)))
    net = b.build()
    circuit = net.compile("die", given=["size", "pair"])
    for same in [net, pickle.loads(pickle.dumps(net)), net.with_cpts({"die": [0.5, 0.3, 0.2]})]:
        assert [same.values(name) for name in same] == [[0, 1, 2], [0.5, 1.5], [True, False], [(0, 0), (0, 1)]]
        assert list(same.query("die")) == [0, 1, 2] and same.query("die")["2"] == same.query("die")[2] == pytest.approx(0.2)
        assert same.query("large")[True] == same.query("size")[1.5]
        assert same.query("die", given={"pair": (0, 0)})[0] == 1 and same.query("die", given={"size": 1.5}).best == 2
        assert same.mpe({"die": 2}) == {"die": 2, "size": 1.5, "large": True, "pair": (0, 1)}
        assert same.sample(5)["die"].dtype.kind == "i" and same.sample(5)["large"].dtype.kind == "b"
        learned = same.fit(same.sample(50), method="em").network
        assert learned.values("size") == [0.5, 1.5]
    for same in [circuit, pickle.loads(pickle.dumps(circuit))]:
        predicted = same.predict([{"size": 0.5}, {"size": "1.5"}])
        assert predicted.dtype.kind == "i" and predicted.tolist() == [0, 2]
        assert same.predict(pandas.DataFrame({"size": [0.5, 1.5], "pair": [(0, 0), (0, 1)]})).tolist() == [0, 2]
    impossible = net.compile("pair", given=["die", "large"], hard=()).predict([{"die": 0}])
    assert impossible.tolist() == [(0, 0)]


def test_pickles_keep_the_network(asia):
    circuit = asia.compile("lung", given="xray", effort=0.1)
    again = pickle.loads(pickle.dumps(circuit))
    assert again.network == asia and again.report()["entries"] == circuit.report()["entries"]
    again.fit(asia.sample(20)["xray"][:, None], ["yes", "no"] * 10, epochs=1, starts=1)
    assert circuit.network is asia


def test_copies_do_not_learn_with_the_original(asia):
    import copy

    circuit = asia.compile("lung", given="xray")
    kept, before = copy.copy(circuit), circuit.posterior({"xray": "yes"})
    circuit.fit([{"xray": "yes"}] * 20, ["yes", "no"] * 10, epochs=3, starts=1)
    assert kept.posterior({"xray": "yes"}) == before != circuit.posterior({"xray": "yes"})


def test_files_of_pgmpy_with_latent_variables_are_read(asia):
    text = asia.to_string("bif").replace("variable smoke {", "variable smoke {\n  property roles = {'latents'} ;", 1)
    assert sumout.reads(text, format="bif") == asia
    nameless = sumout.reads(asia.to_string("bif").replace("network asia", "network unknown"))
    assert nameless.name == "network" and "network network {" in nameless.to_string("bif")


def test_a_frame_gives_a_frame_if_asked(asia):
    circuit = asia.compile("lung", given=["xray"])
    cases = pandas.DataFrame({"xray": ["yes", None, "no"]}, index=["a", "b", "c"])
    found = circuit.posterior(cases, frame=True)
    assert found.index.tolist() == ["a", "b", "c"] and found.columns.tolist() == ["yes", "no"] and found.columns.name == "lung"
    np.testing.assert_array_equal(found, circuit.posterior(cases))
    assert circuit.predict(cases, frame=True).loc["b"] == "no" and circuit.log_evidence(cases, frame=True).index.tolist() == ["a", "b", "c"]
    every = asia.compile(given="xray").posterior(cases, frame=True)
    assert every.loc["a", ("lung", "yes")] == YES and every["smoke"].shape == (3, 2)
    best = asia.compile(mpe=True, given="xray").mpe(cases, frame=True)
    assert best.loc["a", "lung"] == "yes" and best.index.tolist() == ["a", "b", "c"]
    by_polars = circuit.posterior(polars.from_pandas(cases), frame=True)
    assert by_polars.columns == ["lung=yes", "lung=no"] and by_polars["lung=yes"][0] == YES
    assert circuit.predict(polars.from_pandas(cases), frame=True).to_list() == ["no", "no", "no"]


def test_pictures_are_saved(asia, tmp_path):
    for k, picture in enumerate([asia.picture, asia.query("lung").picture, asia.query().picture]):
        picture.save(tmp_path / f"{k}.svg")
        assert (tmp_path / f"{k}.svg").read_text().startswith("<svg")


def test_a_parent_may_be_one_name():
    b = sumout.Builder()
    b.add("age", ["a", "b"], cpt=[0.5, 0.5])
    b.add("x", ["u", "v"], "age", [[0.9, 0.1], [0.2, 0.8]])
    assert b.build().parents("x") == ["age"]


def test_a_target_of_explanations_is_refused(asia):
    with is_refused("`lung` cannot be asked for with `mpe=True`"):
        asia.compile("lung", mpe=True)


def test_marginals_of_inputs_keep_their_names(asia):
    """In any order of the inputs."""
    given = [{"dysp": [0.8, 0.3], "xray": [0.1, 0.7]}]
    wanted = asia.compile("lung", given=["xray", "dysp"]).marginals(given)
    found = asia.compile("lung", given=["dysp", "xray"]).marginals(given)
    assert found.keys() == wanted.keys()
    for name in wanted:
        np.testing.assert_allclose(found[name], wanted[name], atol=1e-12)


def test_columns_that_came_from_another_process_may_lie_anywhere():
    """Numbers that are not aligned were read where they lay, which is undefined; a debug build aborts."""
    pa = pytest.importorskip("pyarrow")
    words = pa.array(["yes", "no", None, "yes"] * 8, type=pa.large_string())
    moved = [None if buffer is None else pa.py_buffer(b"x" + buffer.to_pybytes())[1:] for buffer in words.buffers()]
    shifted = pa.Array.from_buffers(words.type, len(words), moved)
    assert any(buffer is not None and buffer.address % 8 for buffer in shifted.buffers())
    circuit = sumout.read("asia").compile("lung", given="xray")
    expected = circuit.posterior(pa.table({"xray": words}))
    assert (circuit.posterior(pa.table({"xray": shifted})) == expected).all()
