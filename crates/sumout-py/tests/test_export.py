"""Exported programs and models answer as the circuit does. `bench/test_export.py` does the same for many circuits, from the shell."""

import importlib.util

import numpy as np
import pytest
import sumout

QUESTIONS = [("asia", "lung", ["xray", "dysp"]), ("rect:4", "label", ["pixel_*"]), ("random:14,3,0.6,1", "x0", ["x1*"])]


def program(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Model()


def cells_of(circuit, rows=9):
    """Random positions of values, some of them missing."""
    return np.random.default_rng(0).integers(-1, [len(circuit.values(name)) for name in circuit.inputs], (rows, len(circuit.inputs)))


@pytest.mark.parametrize("model, target, given", QUESTIONS)
@pytest.mark.parametrize("to", ["numpy", "torch", "jax"])
def test_programs(model, target, given, to, tmp_path):
    pytest.importorskip(to)
    circuit = sumout.read(model).compile(target, given=given)
    circuit.export(tmp_path / "program.py", to=to)
    cells, wanted = cells_of(circuit), circuit.evaluate(cells_of(circuit))
    posterior, log_evidence = program(tmp_path / "program.py")(dict(zip(circuit.inputs, cells.T)))
    np.testing.assert_allclose(posterior, wanted.posterior, atol=1e-5)
    np.testing.assert_allclose(log_evidence, wanted.log_evidence, atol=1e-4)


@pytest.mark.parametrize("model, target, given", QUESTIONS)
def test_models(model, target, given, tmp_path):
    runtime, onnx = pytest.importorskip("onnxruntime"), pytest.importorskip("onnx")
    circuit = sumout.read(model).compile(target, given=given)
    path = str(tmp_path / "model.onnx")
    circuit.export(path)  # what it is called says what it is
    onnx.checker.check_model(path, full_check=True)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows in [1, 9]:
        cells = cells_of(circuit, rows)
        wanted = circuit.evaluate(cells)
        posterior, log_evidence, impossible = session.run(None, {"evidence": cells})
        np.testing.assert_allclose(posterior, wanted.posterior, atol=1e-5)
        np.testing.assert_allclose(log_evidence, wanted.log_evidence, atol=1e-4)
        np.testing.assert_array_equal(impossible, wanted.impossible)


def test_other_languages_are_refused(asia, tmp_path):
    with pytest.raises(sumout.Error, match="use torch, numpy, jax or onnx"):
        asia.compile("lung", given="xray").export(tmp_path / "program", to="cobol")
