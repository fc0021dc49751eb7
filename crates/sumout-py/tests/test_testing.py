"""Testing networks, whose CPTs are selected by posteriors."""

from pathlib import Path

import numpy as np
import pytest
import sumout

MODEL = Path(__file__).parents[3] / "models" / "kidney.json"


def test_what_is_known_selects() -> None:
    net = sumout.read(MODEL)
    rate = {t: net.query("recovery", given={"treatment": t})["yes"] for t in "ab"}
    assert rate["a"] == pytest.approx(0.78) and rate["b"] == pytest.approx(289 / 350)
    known = {t: net.query("recovery", given={"treatment": t, "size": "large"})["yes"] for t in "ab"}
    assert known["a"] == pytest.approx(192 / 263) and known["b"] == pytest.approx(55 / 80)


def test_each_example_of_a_batch_selects_for_itself(tmp_path: Path) -> None:
    circuit = sumout.read(MODEL).compile("recovery", given=["size", "treatment"])
    rows = np.array([[-1, 0], [-1, 1], [1, 0], [1, 1]])
    found = circuit.posterior(rows)
    assert found[:, 0] == pytest.approx([0.78, 289 / 350, 192 / 263, 55 / 80], rel=1e-5)
    circuit.save(tmp_path / "recovery.sumout")
    assert np.array_equal(sumout.load(tmp_path / "recovery.sumout").posterior(rows), found)


def test_what_cannot_be_done_is_said() -> None:
    net = sumout.read(MODEL)
    with pytest.raises(sumout.Error, match="another distribution for other evidence"):
        net.sample(3)
    with pytest.raises(sumout.Error, match="cannot be exported"):
        net.compile("recovery", given=["size"]).export("circuit.py")
