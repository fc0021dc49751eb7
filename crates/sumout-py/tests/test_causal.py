"""Interventions and counterfactuals, on models whose answers can be checked by hand."""

from pathlib import Path

import numpy as np
import pytest

import sumout

MODELS = Path(__file__).resolve().parents[3] / "models"


@pytest.fixture(scope="module")
def squad():
    return sumout.read(MODELS / "squad.json")


def test_seeing_is_not_doing(squad):
    assert squad.query("b", given={"a": "shoots"})["shoots"] == pytest.approx(0.7 / 0.73)
    assert squad.query("b", do={"a": "shoots"})["shoots"] == pytest.approx(0.7)
    assert squad.intervene({"a": "shoots"}).query("b") == squad.query("b", do={"a": "shoots"})
    assert squad.query(joint=("a", "b"), do={"a": "waits"})["waits", "shoots"] == pytest.approx(0.7)


def test_what_would_have_happened_to_the_same_unit(squad):
    twins = squad.with_worlds("prisoner[a=waits]")
    assert twins.query("prisoner[a=waits]", given={"prisoner": "dead"})["dead"] == pytest.approx(0.7 / 0.73)
    circuit = twins.compile("prisoner[a=waits]", given=["prisoner", "a"])
    rows = circuit.posterior({"prisoner": np.array(["dead", "alive"], dtype=object), "a": np.array([None, None], dtype=object)})
    assert rows[:, 1] == pytest.approx([0.7 / 0.73, 0.0])


def test_an_intervention_is_an_input_of_a_circuit(squad):
    circuit = squad.with_regimes("a").compile("b", given="prisoner", hard="do(a)")
    columns = {"do(a)": np.array(["shoots", "idle"], dtype=object), "prisoner": np.array([None, "dead"], dtype=object)}
    assert circuit.posterior(columns)[:, 1] == pytest.approx([0.7, 0.7 / 0.73])


def test_causes_are_necessary_and_sufficient(squad):
    found = squad.causation(("a", "shoots"), ("prisoner", "dead"))
    assert found["necessity"] == pytest.approx(0.3 * 0.1 / 0.73)
    assert found["sufficiency"] == pytest.approx(1.0)
    assert found["necessity_and_sufficiency"] == pytest.approx(0.3)


def test_values_of_other_worlds_have_their_types():
    b = sumout.Builder("n")
    b.add("x", [0, 1], cpt=[0.5, 0.5])
    b.add("y", [0, 1], parents=["x"], cpt=lambda x: 1 - x)
    net = b.build()
    twins = net.with_worlds("y[x=0]")
    assert twins.values("y[x=0]") == [0, 1]
    assert twins.query("y[x=0]")[1] == 1.0


def test_what_is_not_determined_is_refused():
    asia = sumout.read("asia")
    with pytest.raises(sumout.Error, match="`lung` is random given its parents") as raised:
        asia.with_worlds("lung[smoke=no]")
    assert "`net.completed()`" in (raised.value.hint or "")
    complete = asia.completed()
    assert complete.not_structural == [] and "lung" in asia.not_structural
    assert complete.with_worlds("lung[smoke=no]").query("lung[smoke=no]")["yes"] == pytest.approx(0.01)
