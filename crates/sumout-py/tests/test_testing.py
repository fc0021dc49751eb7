"""Networks whose CPTs are selected by posteriors."""

import json
from pathlib import Path

import numpy as np
import pytest
import sumout

KIDNEY = Path(__file__).parents[3] / "models/kidney.json"


def soft():
    """Kidney stones, with a sigmoid instead of the step."""
    network = json.loads(KIDNEY.read_text())
    network["cpts"][2]["test"] = {"select": "sigmoid", "thresholds": 0.6, "slope": 9}
    return sumout.reads(json.dumps(network), format="json")


@pytest.mark.parametrize("net", [sumout.read(str(KIDNEY)), soft()], ids=["step", "sigmoid"])
def test_circuits_answer_as_queries_do(net, tmp_path):
    circuit = net.compile("recovery", given=["size", "treatment"])
    cases = [{}, {"treatment": "a"}, {"size": "large"}, {"size": "small", "treatment": "b"}, {"treatment": [0.9, 0.2]}]
    wanted = [list(net.query("recovery", given=case).values()) for case in cases]
    np.testing.assert_allclose(circuit.posterior(cases), wanted, atol=1e-12)
    np.testing.assert_allclose(circuit.log_evidence(cases), [net.log_evidence(case) for case in cases], atol=1e-12)
    circuit.save(tmp_path / "tested.sumout")
    np.testing.assert_array_equal(sumout.load(tmp_path / "tested.sumout").posterior(cases), circuit.posterior(cases))


def test_derivatives_go_through_tests():
    circuit = soft().compile("recovery", given=["size", "treatment"])
    assert not circuit.parameters
    likelihoods = np.array([[0.9, 0.3, 1.0, 0.4], [1.0, 1.0, 0.2, 0.7]])
    of_posterior, of_log = np.array([[1.0, -0.5], [0.3, 2.0]]), np.array([0.7, -1.0])

    def loss(likelihoods):
        posterior, log_evidence = circuit.forward(likelihoods)
        return (posterior * of_posterior).sum() + (log_evidence * of_log).sum()

    found, _ = circuit.backward(likelihoods, of_posterior, of_log)
    for place in np.ndindex(likelihoods.shape):
        step = np.zeros(likelihoods.shape)
        step[place] = 1e-6
        np.testing.assert_allclose(found[place], (loss(likelihoods + step) - loss(likelihoods - step)) / 2e-6, atol=1e-6)


def test_thresholds_are_learned():
    net = soft()
    rng = np.random.default_rng(1)
    known = rng.integers(-1, 2, (400, 2))
    names = {"size": ["small", "large"], "treatment": ["a", "b"]}
    rows = {name: [values[k] if k >= 0 else None for k in column] for (name, values), column in zip(names.items(), known.T)}
    # Who is observed completely recovers, and others do not: no network without tests could say so.
    labels = ["yes" if (row >= 0).all() else "no" for row in known]
    circuit = net.compile("recovery", given=["size", "treatment"])
    learned = circuit.fit(rows, labels, epochs=150, seed=3, progress=False)
    assert circuit.accuracy(rows, labels) > 0.98
    test = json.loads(learned.network.to_string("json"))["cpts"][2]["test"]
    assert test["thresholds"] != 0.6


def test_programs_have_tests(tmp_path):
    circuit = soft().compile("recovery", given=["size", "treatment"])
    circuit.export(tmp_path / "tested.py", to="numpy")
    names: dict[str, object] = {"__file__": str(tmp_path / "tested.py")}
    exec((tmp_path / "tested.py").read_text(), names)
    wanted = circuit.posterior({"size": ["small", None, "large"], "treatment": [None, "b", "a"]})
    found, _ = names["Model"]()({"size": [0, -1, 1], "treatment": [-1, 1, 0]})
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_layer_passes_gradients_through_tests():
    torch = pytest.importorskip("torch")
    from sumout.torch import Circuit

    layer = Circuit(soft().compile("recovery", given=["size", "treatment"]))
    assert not list(layer.parameters())
    likelihoods = torch.tensor([[0.9, 0.3, 1.0, 0.4], [1.0, 1.0, 0.2, 0.7]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, likelihoods)
