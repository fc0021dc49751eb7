"""Exported programs answer as `sumout eval` does: python bench/test_export.py SUMOUT

Each circuit is compiled at every level, exported to NumPy and, where they are installed, to PyTorch, JAX and ONNX, and run on the same
rows: sampled ones and random ones, some of them impossible, some with missing cells. Testing networks, which cannot be sampled from, have
random ones alone; there is one for each kind of test.
"""

import importlib.util
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def installed(name):
    """A module, if it is there."""
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


torch, jax, onnx, onnxruntime = map(installed, ["torch", "jax", "onnx", "onnxruntime"])
MODELS = Path(__file__).parent.parent / "models"
LEVELS = ["classical", "paper", "functional", "tables", "support"]
QUESTIONS = [
    ("asia", ["lung", "--given", "xray", "dysp", "smoke"], LEVELS),
    ("asia", ["either", "--given", "xray", "tub"], LEVELS),
    ("asia", ["dysp", "--given", "either", "tub", "lung"], LEVELS),
    ("rect:4", ["label", "--given", "pixel_*"], LEVELS[1:]),
    ("rect:4", ["label", "--hard", "pixel_*"], LEVELS[1:]),
    ("rect:4,noise=0", ["row", "--given", "pixel_*", "label"], LEVELS[1:]),
    ("rect:8", ["--given", "pixel_*"], LEVELS[3:]),
    ("digits:8", ["d", "--given", "p_*"], LEVELS[1:]),
    (MODELS / "alarm.bif.gz", ["HYPOVOLEMIA", "--given", "HR*", "CVP", "BP", "EXPCO2"], ["functional", "support"]),
    (MODELS / "water.bif.gz", ["C_NI_12_45", "--given", "C_NI_12_15", "CKNI_12_45", "CBODN_12_00"], ["functional", "support"]),
    *[(f"random:14,3,0.6,{seed}", ["x0", "--given", "x1*"], ["functional", "support", "compiled"]) for seed in range(3)],
    ("asia", ["either", "--given", "xray", "tub"], ["compiled"]),
    ("rect:4", ["label", "--given", "pixel_*"], ["compiled"]),
    ("rect:4,noise=0", ["row", "--given", "pixel_*", "label"], ["compiled"]),
]
ROWS = 12

# Chains x0 → x1 → x2 → x3 with an observation of each; x1 and x3 are tested.
TESTS = {
    "step": {"select": "step", "thresholds": [[0.2, 0.6], [0.3, 0.5]]},
    "below": {"select": "step", "compare": "<", "thresholds": [[0.2, 0.6], [0.3, 0.5]]},
    "sigmoid": {"select": "sigmoid", "slope": 7, "thresholds": [[0.2, 0.6], [0.3, 0.5]]},
    "steep": {"select": "sigmoid", "slope": 64, "thresholds": 0.3},
    "linear": {"select": "linear"},
    "softmax": {"select": "softmax", "of": ["y0", "x0"], "weights": [[1, -1, 0, 2], [0, 0.5, 1, 0], [-1, 0, 0.3, 0]], "biases": [0.1, 0, -0.2]},
    "rows": {"select": "softmax", "of": ["y0"], "weights": [[1, -1], [0, 0.5], [0.2, 0], [1, 3], [0, 0], [2, 1]], "biases": [0, 1, 0, 2, 0, 1]},
    "logits": {"select": "softmax", "of": ["y0"], "weights": [[1, -1], [0, 2], [0.2, 0], [1, 3]], "biases": [0, 1, 0, 2]},
}
TESTED = [["x3", "--given", "y*"], ["x2", "--given", "x0", "y*"], ["--given", "y*", "x1"]]


def testing(test, impossible):
    """The JSON of a testing network; without copies if the test makes rows itself. Some values may be impossible."""
    copies = [[0.9, 0.1, 0.2, 0.8], [0.3, 0.7, 0.6, 0.4], [0.5, 0.5, 0.15, 0.85]]
    count = 0 if len(test.get("biases", [])) == 4 else 2 if test["select"] == "linear" or test.get("thresholds") == 0.3 else 3
    tested = {"copies": [{"table": table} for table in copies[:count]]} if count else {}
    first = [1.0, 0.0] if impossible else [0.4, 0.6]
    variables, cpts = [], []
    for i in range(4):
        variables += [{"name": f"x{i}", "values": ["a", "b"]}, {"name": f"y{i}", "values": ["s", "t"]}]
        own = {"table": first} if i == 0 else {"table": [0.7, 0.3, 0.1, 0.9]} if i == 2 else {**tested, "test": test}
        cpts += [{"child": f"x{i}", **({"parents": [f"x{i - 1}"]} if i else {}), **own}]
        cpts += [{"child": f"y{i}", "parents": [f"x{i}"], "table": [0.8, 0.2, 0.3, 0.7] if i else [1, 0, 0.25, 0.75]}]
    return json.dumps({"sumout": 1, "name": "chain", "variables": variables, "cpts": cpts})


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(inputs, lines, missing):
    """Sampled cells as positions of values, then random ones; some of them missing."""
    chance = np.random.default_rng(1).integers(0, [len(values) for values in inputs.values()], (ROWS, len(inputs)))
    cells = chance.astype(np.int32)
    if lines:
        names = lines[0].split(",")
        sampled = [dict(zip(names, line.split(","))) for line in lines[1:]]
        sampled = np.array([[values.index(row[name]) for name, values in inputs.items()] for row in sampled])
        cells = np.concatenate([sampled, chance]).astype(np.int32)
    if missing:
        cells[np.arange(len(inputs)) % len(cells), np.arange(len(inputs))] = -1
    return cells


def soft(inputs, cells):
    """Positions as likelihoods: ones where nothing is known."""
    likelihood = lambda column, values: np.where(column[:, None] < 0, 1.0, np.eye(len(values))[column])
    return {name: likelihood(column, values) for (name, values), column in zip(inputs.items(), cells.T)}


def check(sumout, folder, model, question, level):
    circuit, program, cases = folder / "c.sumout", folder / "c.py", folder / "cases.npy"
    run(sumout, "compile", model, *question, "--level", level, "--effort", "0.1", "-o", circuit)
    run(sumout, "export", circuit, "-o", program, "--to", "numpy")
    module = load(program)
    is_hard = "--hard" in question
    is_testing = Path(model).name == "testing.json"
    assert module.Model().dtype == (np.float64 if is_testing else np.float32)
    sampled = [] if is_testing else run(sumout, "sample", model, "-n", ROWS, "--seed", 1).splitlines()
    cells = rows(module.INPUTS, sampled, missing=not is_hard)
    np.save(cases, cells)
    expected = answers(run(sumout, "eval", circuit, cases, "--precision", "f64"), module.TARGET)
    libraries = ["numpy"] + ["torch"] * (torch is not None and level != "compiled") + ["jax"] * (jax is not None and level in ["functional", "support", "compiled"])
    for what, answer, tolerance in outcomes(sumout, folder, libraries, circuit, module.INPUTS, cells, is_hard):
        compare(answer, expected, tolerance, f"{model} {question} {level} {what}")
    if is_hard:
        check_hard(module, cells)
    return np.isneginf(expected[:, -1]).sum()


def answers(table, target):
    """The posterior of the target, if there is one, and ln P(e), of each row."""
    lines = table.splitlines()[1:]
    cells = np.array([[float(cell or "-inf") for cell in line.split(",")[:-1]] for line in lines])
    impossible = np.array([line.endswith("true") for line in lines])
    assert (np.isneginf(cells[:, -1]) == impossible).all()
    cells[impossible, :-1] = 0
    return cells if target else cells[:, -1:]


def compare(answer, expected, tolerance, what):
    posterior, log_evidence = (None if part is None else np.asarray(part) for part in answer)
    parts = [log_evidence[:, None]] if posterior is None else [posterior, log_evidence[:, None]]
    found = np.concatenate(parts, axis=1)
    assert (np.isneginf(found) == np.isneginf(expected)).all(), what
    error = np.abs(np.where(np.isneginf(found), 0, found) - np.where(np.isneginf(expected), 0, expected)).max()
    assert error < tolerance, f"{what}: {error}"


def outcomes(sumout, folder, libraries, circuit, inputs, cells, is_hard):
    """Checks the answers of every exported program, within the tolerance of its precision."""
    hard = dict(zip(inputs, cells.T))
    for library in libraries:
        program = folder / f"{library}_program.py"
        run(sumout, "export", circuit, "-o", program, "--to", library)
        module = load(program)
        for kind, tolerance in [("float64", 1e-9), ("float32", 2e-4)]:
            model = module.Model(getattr({"numpy": np, "torch": torch, "jax": jax and jax.numpy}[library], kind))
            if library == "jax":  # which compiles for every kind of input, and takes its time
                yield f"jax {kind}", jax.jit(model)(hard if kind == "float64" else soft(inputs, cells)), tolerance
                continue
            yield f"{library} {kind}", model(hard), tolerance
            yield f"{library} {kind} soft", model(soft(inputs, cells)), tolerance
    if onnxruntime is not None:
        yield from onnx_outcomes(sumout, folder, circuit, inputs, cells, is_hard)


def onnx_outcomes(sumout, folder, circuit, inputs, cells, is_hard):
    for kind, tolerance in [("f64", 1e-9), ("f32", 2e-4)]:
        for likelihoods in [False] if is_hard else [False, True]:
            path = folder / "model.onnx"
            run(sumout, "export", circuit, "-o", path, "--precision", kind, *["--likelihoods"] * likelihoods)
            onnx.checker.check_model(path, full_check=True)
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            notes = json.loads(session.get_modelmeta().custom_metadata_map["inputs"])
            assert {note["name"]: note["values"] for note in notes} == inputs
            evidence = np.concatenate(list(soft(inputs, cells).values()), axis=1) if likelihoods else cells
            evidence = evidence.astype([np.int64, {"f64": np.float64, "f32": np.float32}[kind]][likelihoods])
            names = [output.name for output in session.get_outputs()]
            found = dict(zip(names, session.run(None, {"evidence": evidence})))
            assert (found["impossible"] == np.isneginf(found["log_evidence"])).all()
            if is_hard:
                nothing = dict(zip(names, session.run(None, {"evidence": np.full_like(evidence, -1)})))
                assert nothing["impossible"].all() and not nothing["posterior"].any()
            yield f"onnx {kind} {likelihoods}", (found.get("posterior"), found["log_evidence"]), tolerance


def check_hard(module, cells):
    """Inputs that are hard must have values."""
    evidence = dict(zip(module.INPUTS, cells.T.copy()))
    first = next(iter(evidence))
    for wrong in [{**evidence, first: np.full(len(cells), -1)}, {name: evidence[name] for name in evidence if name != first}]:
        try:
            module.Model()(wrong)
        except (ValueError, KeyError) as error:
            assert first in str(error)
        else:
            raise AssertionError("a hard input was missing, and nobody said so")


def check_gradients(sumout, folder):
    """The gradients of the tables are those of finite differences, and impossible rows have none."""
    circuit, program = folder / "g.sumout", folder / "g.py"
    run(sumout, "compile", "asia", "lung", "--given", "xray", "either", "tub", "--level", "functional", "-o", circuit)
    evidence = {"xray": [0, 1, -1, 0], "either": [1, 0, 0, 1], "tub": [-1, 1, 1, 0]}
    assert (np.isneginf(run_numpy(sumout, circuit, folder, evidence)[1]) == np.logical_not(POSSIBLE)).all()
    differences(sumout, circuit, program, evidence)
    for kind in ["sigmoid", "softmax"]:
        (folder / "testing.json").write_text(testing(TESTS[kind], False))
        run(sumout, "compile", folder / "testing.json", "x3", "--given", "y*", "-o", circuit)
        differences(sumout, circuit, program, {"y0": [0, -1, 0, 1], "y1": [1, 0, -1, 0], "y2": [-1, 1, 0, 0], "y3": [1, 1, -1, 1]})


def differences(sumout, circuit, program, evidence):
    for library in ["torch"] * (torch is not None) + ["jax"] * (jax is not None):
        run(sumout, "export", circuit, "-o", program, "--to", library)
        module = load(program)
        loss, tables, gradients = (torch_loss if library == "torch" else jax_loss)(module, evidence)
        for name, table in tables.items():
            for place in np.ndindex(table.shape):
                step = np.zeros(table.shape)
                step[place] = 1e-6
                difference = (loss({**tables, name: table + step}) - loss({**tables, name: table - step})) / 2e-6
                assert abs(gradients[name][place] - difference) < 1e-5, f"{library} {name} {place}"


POSSIBLE = [True, True, True, False]


def run_numpy(sumout, circuit, folder, evidence):
    run(sumout, "export", circuit, "-o", folder / "n.py", "--to", "numpy")
    return load(folder / "n.py").Model()(evidence)


def torch_loss(module, evidence):
    model = module.Model(torch.float64, trainable=True)

    def loss(tables):
        model.load_state_dict({name: torch.from_numpy(table) for name, table in tables.items()}, strict=False)
        log_evidence = model(evidence)[1]
        return torch.where(torch.tensor(POSSIBLE), log_evidence, 0).sum()

    tables = {name: table.detach().numpy().copy() for name, table in model.named_parameters()}
    loss(tables).backward()
    gradients = {name: table.grad.numpy().copy() for name, table in model.named_parameters()}
    return lambda tables: loss(tables).item(), tables, gradients


def jax_loss(module, evidence):
    model = module.Model(jax.numpy.float64)
    evidence = {name: np.array(cells) for name, cells in evidence.items()}

    def loss(tables):
        log_evidence = model(evidence, tables)[1]
        return jax.numpy.where(np.array(POSSIBLE), log_evidence, 0).sum()

    tables = {name: np.asarray(table) for name, table in model.tables.items()}
    return jax.jit(loss), tables, jax.jit(jax.grad(loss))(tables)


def main(sumout):
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
    impossible = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for model, question, levels in QUESTIONS:
            for level in levels:
                impossible += check(sumout, folder, model, question, level)
        for place, (test, question) in enumerate(itertools.product(TESTS.values(), TESTED)):
            (folder / "testing.json").write_text(testing(test, impossible=place % 3 == 1))
            impossible += check(sumout, folder, folder / "testing.json", question, ["functional", "support"][place % 2])
        check_gradients(sumout, folder)
    assert impossible > 0, "no row was impossible"
    libraries = {"NumPy": np, "PyTorch": torch, "JAX": jax, "onnxruntime": onnx and onnxruntime}
    print("exported programs answer as `sumout eval` does, with", ", ".join(name for name, there in libraries.items() if there))
    for name in [name for name, there in libraries.items() if not there]:
        print(f"not tested: {name} is not installed")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
