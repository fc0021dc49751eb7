"""Answers are those of pgmpy and of pyAgrum, on the same networks and the same random evidence."""

import gzip
import logging
from pathlib import Path

import numpy as np
import pytest
import sumout

MODELS = Path(__file__).resolve().parents[3] / "models"
SMALL = ["asia", "cancer", "earthquake", "sachs", "survey", "child", "insurance", "alarm", "hailfinder", "win95pts", "hepar2", "paper/rect8"]
LARGE = ["water", "munin1", "andes", "link", "mildew", "pathfinder"]
QUICK = SMALL + LARGE[:2]
"""The networks that pgmpy reads and answers within a minute."""
ROWS = 4


def question(net, seed):
    """A target, and some values of a case that can occur."""
    rng = np.random.default_rng(seed)
    case = net.sample(1, seed=seed)
    target = rng.choice(net.variables)
    others = [name for name in net.variables if name != target]
    given = rng.choice(others, size=max(1, len(others) // 4), replace=False)
    return str(target), {str(name): str(case[name][0]) for name in given}


@pytest.fixture(scope="module")
def model(request, tmp_path_factory):
    """A network, and its file as the others read it."""
    path = MODELS / f"{request.param}.bif.gz"
    data = gzip.open(path).read() if path.exists() else (MODELS / f"{request.param}.bif").read_bytes()
    file = tmp_path_factory.mktemp("models") / "model.bif"
    file.write_bytes(data)
    return sumout.read(file), file


@pytest.mark.parametrize("model", SMALL + LARGE, indirect=True)
def test_pyagrum_agrees(model):
    pyagrum = pytest.importorskip("pyagrum")
    net, file = model
    try:
        theirs = pyagrum.loadBN(str(file))
    except pyagrum.FatalError:  # it reads no values such as `Asy/Patch` in BIF
        net.write(file.with_suffix(".net"))
        theirs = pyagrum.loadBN(str(file.with_suffix(".net")))
    engine = pyagrum.LazyPropagation(theirs)
    for seed in range(ROWS):
        target, given = question(net, seed)
        engine.setEvidence(given)
        engine.setTargets({target})
        engine.makeInference()
        labels = theirs.variable(target).labels()
        wanted = dict(zip(labels, engine.posterior(target).toarray().tolist()))
        # pyAgrum reads tables as numbers of 32 bits.
        assert net.query(target, given=given) == pytest.approx(wanted, abs=2e-5), (target, given)
        assert net.log_evidence(given) == pytest.approx(np.log(engine.evidenceProbability()), abs=1e-4), given


@pytest.mark.parametrize("model", QUICK, indirect=True)
def test_pgmpy_agrees(model):
    pytest.importorskip("pgmpy")
    logging.disable(logging.CRITICAL)
    from pgmpy.inference import VariableElimination
    from pgmpy.readwrite import BIFReader

    net, file = model
    engine = VariableElimination(BIFReader(str(file)).get_model())
    for seed in range(ROWS):
        target, given = question(net, seed)
        factor = engine.query([target], evidence=given, show_progress=False)
        wanted = dict(zip(factor.state_names[target], factor.values.tolist()))
        assert net.query(target, given=given) == pytest.approx(wanted, abs=1e-8), (target, given)


@pytest.mark.parametrize("model", SMALL, indirect=True)
def test_a_circuit_agrees_with_queries(model):
    net, _ = model
    target, given = question(net, 0)
    circuit = net.compile(target, given=list(given), effort=0.1)
    cases = net.sample(20, seed=1)
    rows = [{name: str(cases[name][k]) for i, name in enumerate(given) if (k + i) % 3} for k in range(20)]
    found = circuit.evaluate(rows)
    for row, posterior, log in zip(rows, *found):
        wanted = net.query(target, given=row)
        np.testing.assert_allclose(posterior, list(wanted.values()), atol=1e-6)
        # Rows of these files sum to one within 1e-7 only, and a query prunes more of them than a circuit can.
        assert log == pytest.approx(wanted.log_evidence, abs=1e-6)
