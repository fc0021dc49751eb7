"""Derivatives are those of central differences."""

import numpy as np
import pytest
import sumout

MODELS = [("asia", "lung", ["xray", "dysp"]), ("asia", "either", ["xray", "tub", "smoke"]), ("rect:4", "label", ["pixel_*"])]


def differences(f, x, step=1e-6):
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[at] += step
        below[at] -= step
        found[at] = (f(above) - f(below)) / (2 * step)
    return found


@pytest.mark.parametrize("model, target, given", MODELS)
@pytest.mark.parametrize("level", ["classical", "functional", "support"])
def test_derivatives_are_those_of_differences(model, target, given, level):
    circuit = sumout.read(model).compile(target, given=given, trainable="*" if model == "asia" else None, level=level, effort=0.1)
    rng = np.random.default_rng(0)
    evidence = rng.uniform(0.1, 1, size=(3, circuit.likelihoods([{}]).shape[1]))
    posterior, logs = circuit.forward(evidence)
    above, scale = rng.normal(size=posterior.shape), rng.normal(size=logs.shape)

    def number(evidence, parameters=None):
        posterior, logs = circuit.forward(evidence, parameters)
        return (posterior * above).sum() + (logs * scale).sum()

    of_evidence, of_parameters = circuit.backward(evidence, above, scale)
    np.testing.assert_allclose(of_evidence, differences(number, evidence), atol=1e-6)
    assert of_parameters.keys() == circuit.parameters.keys() != set()
    for name, table in circuit.parameters.items():
        wanted = differences(lambda x: number(evidence, {**circuit.parameters, name: x}), table)
        np.testing.assert_allclose(of_parameters[name], wanted, atol=1e-6, err_msg=name)


def test_an_input_with_one_possible_value_still_weighs():
    builder_text = """network "n" {} variable a { type discrete [ 2 ] { x, y }; } variable b { type discrete [ 2 ] { x, y }; }
    probability ( a ) { table 1.0, 0.0; } probability ( b | a ) { (x) 0.3, 0.7; (y) 0.5, 0.5; }"""
    circuit = sumout.reads(builder_text, format="bif").compile("b", given="a")
    evidence = np.array([[0.5, 0.25]])
    assert circuit.forward(evidence)[1][0] == pytest.approx(np.log(0.5))
    gradient, _ = circuit.backward(evidence, None, np.ones(1))
    np.testing.assert_allclose(gradient, [[2.0, 0.0]])


def test_a_circuit_without_a_target_has_posteriors_of_no_values(asia):
    circuit = asia.compile(given=["xray", "dysp"])
    evidence = circuit.likelihoods([{"xray": "yes"}, {"dysp": "no"}])
    assert circuit.forward(evidence)[0].shape == (2, 0)
    wanted = circuit.backward(evidence, None, np.ones(2))[0]
    np.testing.assert_array_equal(circuit.backward(evidence, np.zeros((2, 0)), np.ones(2))[0], wanted)


def test_shapes_are_checked(asia):
    circuit = asia.compile("lung", given="xray")
    with pytest.raises(sumout.Error, match="2 values, but there are 3"):
        circuit.forward(np.ones((1, 3)))
    with pytest.raises(sumout.Error, match=r"shape \(1, 3\)"):
        circuit.backward(np.ones((1, 2)), np.ones((1, 3)), None)
    with pytest.raises(sumout.Error, match="`lnug` is not a variable"):
        circuit.forward(np.ones((1, 2)), {"lnug": np.ones(2)})
    with pytest.raises(sumout.Error, match=r"likelihoods have the shape \(2,\)"):
        circuit.forward(np.ones(2))


def test_parameters_are_those_of_one_call(asia):
    """Others, and those of the next call, are the circuit's own."""
    circuit = asia.compile("lung", given=["xray", "dysp"], trainable=["lung", "smoke", "xray"])
    evidence = circuit.likelihoods([{"xray": "yes"}])
    wanted = circuit.forward(evidence)[0]
    other = {"lung": np.full((2, 2), 0.5)}
    of_other = asia.with_cpts(other).query("lung", given={"xray": "yes"})
    np.testing.assert_allclose(circuit.forward(evidence, other)[0], [list(of_other.values())], atol=1e-12)
    np.testing.assert_array_equal(circuit.forward(evidence)[0], wanted)
    circuit.forward(evidence, other)
    np.testing.assert_array_equal(circuit.forward(evidence, {"smoke": circuit.parameters["smoke"]})[0], wanted)
    with pytest.raises(sumout.Error, match="4 numbers was given 2"):
        circuit.forward(evidence, {"lung": np.full((2, 2), 0.5), "xray": np.ones(2)})
    np.testing.assert_allclose(circuit.forward(evidence, other)[0], [list(of_other.values())], atol=1e-12)


def test_only_what_was_compiled_to_be_trained_is_a_parameter(asia):
    circuit = asia.compile("lung", given="xray", trainable="lung")
    with pytest.raises(sumout.Error, match="`smoke` is not a parameter of the circuit") as raised:
        circuit.forward(np.ones((1, 2)), {"smoke": np.array([0.5, 0.5])})
    assert "trainable=" in str(raised.value)
