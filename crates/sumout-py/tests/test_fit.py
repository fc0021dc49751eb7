"""Learning: by gradients, by counting, and by expectation and maximisation."""

import time

import numpy as np
import pytest
import sumout


def rectangles(rows, seed):
    """Noisy images of rectangles that are taller than wide, or wider than tall."""
    net = sumout.read("rect:5")
    cases = net.sample_positions(rows, seed=seed)
    pixels = [net.variables.index(name) for name in net.matching("pixel_*")]
    return net, cases[:, pixels], cases[:, net.variables.index("label")]


def test_a_circuit_learns_from_arrays():
    net, images, labels = rectangles(200, seed=1)
    circuit = net.compile("label", given="pixel_*", effort=0.1)
    _, tests, wanted = rectangles(500, seed=2)
    before, truth = circuit, circuit.accuracy(tests, wanted)
    learned = circuit.fit(images, labels, seed=7, epochs=20, effort=0.1)
    assert before is circuit and circuit.network is learned.network is not net
    assert circuit.accuracy(tests, wanted) > truth - 0.05
    assert learned.best in learned.history and learned.history[-1].start is None
    assert [e.loss for e in learned.history][0] > learned.best.loss
    # The network that was learned answers as the circuit does.
    again = learned.network.compile("label", given="pixel_*", effort=0.1)
    np.testing.assert_allclose(again.posterior(tests), circuit.posterior(tests), atol=1e-9)


def test_arrays_have_labels_last_unless_they_come_apart():
    net, images, labels = rectangles(50, seed=1)
    options = dict(target="label", given="pixel_*", seed=3, epochs=3, starts=1, effort=0.1)
    together = net.fit(np.column_stack([images, labels]), **options)
    assert together.history == net.fit(images, labels, **options).history


def test_the_same_seed_learns_the_same():
    net, images, labels = rectangles(50, seed=1)
    data = sumout.Positions({name: images[:, k] for k, name in enumerate(net.matching("pixel_*"))} | {"label": labels})
    options = dict(target="label", given="pixel_*", seed=3, epochs=5, starts=2, effort=0.1)
    first, second = net.fit(data, **options), net.fit(data, **options)
    assert first.history == second.history and first.network == second.network


def test_complete_examples_are_counted(asia):
    cases = asia.sample(1000, seed=5)
    learned = asia.fit(cases, method="em")
    assert learned.history == [] and learned.circuit is None
    smoke = np.mean(cases["smoke"] == "yes")
    assert learned.network.query("smoke")["yes"] == pytest.approx(smoke)
    lung = np.mean(cases["lung"][cases["smoke"] == "yes"] == "yes")
    assert learned.network.cpt("lung")[0, 0] == pytest.approx(lung)
    assert learned.network.is_functional("either")


def test_complete_examples_are_counted_unless_training_is_asked_for(asia):
    cases = asia.sample(200, seed=5)
    counted = asia.fit(cases)
    assert counted.history == [] and counted.network == asia.fit(cases, method="em").network
    for option in [dict(method="adam"), dict(starts=1), dict(rate=0.1), dict(loss={"likelihood": 1}), dict(validation=0.1), dict(target="lung")]:
        assert asia.fit(cases, **{"epochs": 1, **option}).history, option
    gaps = {**cases, "smoke": np.where(np.arange(200) % 2, None, cases["smoke"].astype(object))}
    assert asia.fit(gaps, method="em", epochs=2).history


def test_expectation_and_maximisation_takes_missing_cells_and_weights(asia):
    cases = {name: cells.astype(object) for name, cells in asia.sample(300, seed=5).items()}
    hidden = {**cases, "smoke": np.where(np.arange(300) % 3 == 0, None, cases["smoke"])}
    learned = asia.fit(hidden, method="em", epochs=20)
    losses = [epoch.loss for epoch in learned.history]
    assert len(losses) > 1 and all(a >= b - 1e-9 for a, b in zip(losses, losses[1:]))
    # An example of weight two is as good as two examples.
    twice = asia.fit({n: np.concatenate([c, c[:100]]) for n, c in hidden.items()}, method="em", epochs=5)
    weighted = asia.fit(hidden, weights=np.where(np.arange(300) < 100, 2.0, 1.0), method="em", epochs=5)
    for name in asia:
        np.testing.assert_allclose(weighted.network.cpt(name), twice.network.cpt(name), atol=1e-9)


def test_tables_of_pandas_and_polars_are_learned_from(asia):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    cases = asia.sample(200, seed=1)
    wanted = asia.fit(cases, method="em").network
    assert asia.fit(pandas.DataFrame(cases), method="em").network == wanted
    assert asia.fit(polars.DataFrame(cases), method="em").network == wanted


def test_mistakes_in_learning(asia):
    cases = asia.sample(20)
    for options, what in [
        (dict(method="magic"), "no method `magic`"),
        (dict(start="here"), "no start `here`"),
        (dict(loss={"hinge": 1}), "hinge"),
        (dict(epochs=0), "at least one epoch"),
        (dict(target="lnug"), "did you mean `lung`"),
        (dict(weights=np.ones(3)), "3 weights for 20"),
        (dict(labels=["yes"] * 20), "labels are those of one target"),
        (dict(labels=["yes"] * 3, target="lung"), "20 examples, and 3 of `lung`"),
    ]:
        with pytest.raises(sumout.Error, match=what):
            asia.fit(cases, **options)
    with pytest.raises(sumout.Error, match="not known"):
        sumout.Circuit.from_bytes(asia.compile("lung", given="xray").to_bytes()).fit([{}], ["yes"])


def declared():
    """x is some function of u, nobody knows which."""
    table = [0.9, 0.1, 0.3, 0.7, 0.8, 0.2, 0.5, 0.5, 0.4, 0.6, 0.1, 0.9]
    builder = sumout.Builder("declared")
    builder.add("u", ["0", "1", "2"], cpt=[0.2, 0.3, 0.5], fixed=True)
    builder.add("x", ["t", "f"], ["u"], [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]], functional=True)
    for name in ["a", "b"]:
        builder.add(name, ["t", "f"], ["u", "x"], np.reshape(table, (3, 2, 2)), fixed=True)
    return builder.build()


def test_all_options_are_taken(asia):
    cases = asia.sample(60, seed=1)
    options = dict(target="lung", method="sgd", start="uniform", epochs=12, patience=12)
    linear = asia.fit(cases, rate=(0.1, 0.02), schedule="linear", decay=8, momentum=0.5, **options)
    rates = [epoch.rate for epoch in linear.history]
    assert rates[6] == pytest.approx(0.06) and rates[11] == pytest.approx(0.02)
    other = asia.fit(cases, rate=(0.1, 0.02), schedule="linear", decay=8, momentum=0.9, **options)
    assert other.history[2].loss != linear.history[2].loss
    constant = asia.fit(cases, rate=0.1, schedule="constant", **options)
    assert {epoch.rate for epoch in constant.history} == {0.1}
    for wrong, what in [(dict(schedule="cosine"), "no schedule `cosine`"), (dict(momentum=1.0), "momentum"), (dict(decay=-1), "`decay` is -1")]:
        with pytest.raises(sumout.Error, match=what):
            asia.fit(cases, **{**options, **wrong})
    with pytest.raises(sumout.Error, match="no sigmoid test"):
        asia.fit(cases, slope=(8, 64), target="lung")


def test_help_lists_the_options_with_their_types_and_defaults():
    import inspect

    for method, more in [(sumout.Network.fit, {"target", "given"}), (sumout.Circuit.fit, set())]:
        found = inspect.signature(method).parameters
        assert {"method", "hidden", "epochs", "seed", *more} <= found.keys() and not any(name[0] == "_" for name in found)
        assert found["seed"].default == 0 and "Method" in str(found["method"].annotation)
        assert not any(p.kind is p.VAR_KEYWORD for p in found.values())


def test_ties_may_be_strict():
    net = sumout.read("digits:10")
    cases = net.sample(20, seed=1)
    options = dict(target="d", given="p_*", epochs=1, starts=1, effort=0)
    assert net.fit(cases, **options).parameters == 275
    with pytest.raises(sumout.Error, match="tied as `pixel`"):
        net.fit(cases, strict_ties=True, **options)


def test_a_target_is_not_predicted_from_itself(asia):
    cases = asia.sample(20, seed=1)
    with pytest.raises(sumout.Error, match="a target cannot be predicted from itself"):
        asia.fit(cases, target="lung", given="lung")


def test_a_batch_size_that_is_given_is_not_made_smaller(asia):
    cases = asia.sample(40, seed=1)
    options = dict(target="lung", start="uniform", epochs=1, effort=0, validation=0.0)
    given = asia.fit(cases, preset="paper", batch=40, **options)
    whole = asia.fit(cases, preset="default", batch=40, loss={"cross_entropy": 1}, prior=0.0, **options)
    assert given.history[0].loss == whole.history[0].loss


def test_snapping_cools_first_and_is_checked():
    net = declared()
    cases = net.sample(100, seed=1)
    options = dict(target="u", given=["a", "b"], epochs=5, starts=1, level="paper")
    snapped = net.fit(cases, snap=True, **options)
    cooled = net.fit(cases, temperature=(1.0, 0.1), **options)
    assert snapped.history == cooled.history != net.fit(cases, **options).history
    assert snapped.network.is_functional("x") and not cooled.network.is_functional("x")
    assert snapped.difference < 1e-9 and cooled.difference > 1e-3
    assert snapped.warnings == []


def test_a_check_that_fails_is_a_warning():
    """Without the declarations, all rows or all columns would be summed over."""
    builder, size = sumout.Builder("grid"), 28
    for name in ["u", "v"]:
        builder.add(name, ["0", "1"], cpt=[0.5, 0.5], fixed=True)
    for kind, parent in [("r", "u"), ("c", "v")]:
        for i in range(size):
            builder.add(f"{kind}{i}", ["t", "f"], [parent], [[0.6, 0.4], [0.3, 0.7]], functional=True)
    table = np.reshape([0.9, 0.1, 0.2, 0.8, 0.3, 0.7, 0.1, 0.9], (2, 2, 2))
    for i in range(size):
        for j in range(size):
            builder.add(f"p{i}_{j}", ["t", "f"], [f"r{i}", f"c{j}"], table, fixed=True)
    net = builder.build()
    cases = {name: sumout.Positions([0, 1]) for name in [*net.matching("p*"), "u"]}
    with pytest.warns(RuntimeWarning, match="could not be checked"):
        learned = net.fit(cases, target="u", given="p*", epochs=1, starts=1, effort=0, level="paper")
    assert learned.difference is None and len(learned.warnings) == 1 and learned.network != net


def test_a_fit_resumes_from_its_checkpoint(asia, tmp_path, monkeypatch):
    cases, path = asia.sample(60, seed=1), tmp_path / "fit.checkpoint"
    options = dict(target="lung", epochs=6, starts=1, seed=3, checkpoint=path)
    whole = asia.fit(cases, **options)
    assert not path.exists()

    class Interrupt(Exception):
        pass

    def stop(_bar, done, most, what):
        if done == 2:
            raise Interrupt

    monkeypatch.setattr(sumout._progress.Bar, "__call__", stop)
    with pytest.raises(Interrupt):
        asia.fit(cases, **options)
    monkeypatch.undo()
    for _ in range(100):
        if path.exists():
            break
        time.sleep(0.05)
    with pytest.raises(sumout.Error, match="belongs to another run"):
        asia.fit(cases, **{**options, "seed": 4}, resume=True)
    again = asia.fit(cases, **options, resume=True)
    assert again.history == whole.history and again.network == whole.network
