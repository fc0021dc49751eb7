"""Learning: by gradients, by counting, and by expectation and maximisation."""

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
    data = {name: images[:, k] for k, name in enumerate(net.matching("pixel_*"))} | {"label": labels}
    options = dict(target="label", seed=3, epochs=5, starts=2, effort=0.1)
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
        (dict(method="magic"), "unknown method `magic`"),
        (dict(start="here"), "unknown start `here`"),
        (dict(loss={"hinge": 1}), "hinge"),
        (dict(epochs=0), "no epochs"),
        (dict(target="lnug"), "did you mean `lung`"),
        (dict(weights=np.ones(3)), "3 weights for 20"),
        (dict(labels=["yes"] * 20), "labels are those of one target"),
        (dict(labels=["yes"] * 3, target="lung"), "20 examples, and 3 of `lung`"),
    ]:
        with pytest.raises(sumout.Error, match=what):
            asia.fit(cases, **options)
    with pytest.raises(sumout.Error, match="not known"):
        sumout.Circuit.from_bytes(asia.compile("lung", given="xray").to_bytes()).fit([{}], ["yes"])
