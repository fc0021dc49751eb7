"""The layer of PyTorch: gradients, compilation, training, several processes."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sumout

torch = pytest.importorskip("torch")
from sumout.torch import Circuit  # noqa: E402

QUESTIONS = [("asia", "lung", ["xray", "dysp"]), ("asia", "either", ["xray", "tub"]), ("rect:3", "label", ["pixel_*"])]


def layer_of(model, target, given, **options):
    trainable = "*" if model == "asia" else None
    return Circuit(sumout.read(model).compile(target, given=given, trainable=trainable, effort=0.1), dtype=torch.float64, **options)


def random_likelihoods(layer, rows, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    width = sum(len(layer.circuit.values(name)) for name in layer.circuit.inputs)
    return torch.rand(rows, width, generator=generator, dtype=dtype) * 0.9 + 0.1


@pytest.mark.parametrize("model, target, given", QUESTIONS)
def test_gradcheck_is_clean(model, target, given):
    layer = layer_of(model, target, given, threads=1)
    evidence = random_likelihoods(layer, 3).requires_grad_()
    logits = [logits.detach().clone().requires_grad_() for logits in layer.logits]
    free = [k for k, table in enumerate(logits) if torch.isfinite(table).all()]
    assert free and len(layer.trained) == len(logits)

    def run(evidence, *some):
        values = {f"logits.{k}": value for k, value in zip(free, some)}
        return torch.func.functional_call(layer, values, (evidence,))

    assert torch.autograd.gradcheck(run, (evidence, *[logits[k] for k in free]), fast_mode=model != "asia")


def test_the_operation_is_what_it_says():
    layer = layer_of(*QUESTIONS[0])
    tables = torch.cat([table.reshape(-1) for table in layer.tables().values()]).detach().requires_grad_()
    evidence = random_likelihoods(layer, 4).requires_grad_()
    rest = layer.get_buffer("_program"), layer._layout.key, layer._layout.width, 0
    torch.library.opcheck(torch.ops.sumout.circuit, (evidence, tables, *rest))


def test_answers_are_those_of_the_circuit():
    layer = layer_of(*QUESTIONS[0])
    cells = {"xray": [0, 1, -1, 0], "dysp": [[0.0, 1.0], [1.0, 1.0], [0.8, 0.1], [1.0, 0.0]]}
    hot = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    given = {"xray": hot[cells["xray"]], "dysp": torch.tensor(cells["dysp"], dtype=torch.float64)}
    posterior, log_evidence = layer(given)
    wanted = layer.circuit.evaluate({"xray": np.array(["yes", "no", "yes", "yes"]), "dysp": np.array(cells["dysp"])})
    known = [0, 1, 3]
    np.testing.assert_allclose(posterior.detach()[known], wanted.posterior[known], atol=1e-12)
    np.testing.assert_allclose(log_evidence.detach()[known], wanted.log_evidence[known], atol=1e-12)
    alone = layer({"dysp": given["dysp"][2:3]})
    torch.testing.assert_close(alone[0][0], posterior[2])


def test_impossible_evidence_has_zeros_and_no_gradient():
    layer = layer_of("asia", "dysp", ["either", "tub"])
    evidence = layer.likelihoods(sumout.Positions({"either": torch.tensor([1, 0]), "tub": torch.tensor([0, 0])})).requires_grad_()
    posterior, log_evidence = layer(evidence)
    assert log_evidence[0] == -torch.inf and (posterior[0] == 0).all() and log_evidence[1] > -torch.inf
    (posterior[:, 0].sum() + log_evidence[1]).backward()
    assert torch.isfinite(evidence.grad).all() and (evidence.grad[0] == 0).all()
    assert all(torch.isfinite(logits.grad).all() for logits in layer.logits)


def test_compilation_breaks_no_graph():
    circuit = layer_of(*QUESTIONS[0]).float()
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Sigmoid(), circuit)
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    compiled = torch.compile(network, fullgraph=True, backend="aot_eager")
    for got, wanted in zip(compiled(x), network(x)):
        torch.testing.assert_close(got, wanted)
    compiled(x)[1].sum().backward()
    by_compiled = [p.grad.clone() for p in network.parameters()]
    network.zero_grad()
    network(x)[1].sum().backward()
    for got, wanted in zip(by_compiled, network.parameters()):
        torch.testing.assert_close(got, wanted.grad)


def test_copies_are_independent_and_equal():
    layer = layer_of("rect:3", "label", ["pixel_*"], trainable=False)
    evidence = random_likelihoods(layer, 2)
    for other in [copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]:
        torch.testing.assert_close(other(evidence), layer(evidence))


def test_wrong_inputs_are_named():
    layer = layer_of(*QUESTIONS[0])
    with pytest.raises(sumout.Error, match="`xry` is not an input"):
        layer({"xry": torch.tensor([True])})
    with pytest.raises(sumout.Error, match="4 values, but there are 3"):
        layer(torch.ones(1, 3))


def test_truths_are_truths_and_integers_must_be_clear():
    layer = Circuit(sumout.read("asia").compile("lung", given=["xray"]))
    wanted = layer.circuit.posterior({"xray": np.array([True, False])})
    for evidence in [
        {"xray": torch.tensor([True, False])},
        sumout.Positions({"xray": torch.tensor([0, 1])}),
        torch.tensor([[0], [1]]),
        torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
    ]:
        np.testing.assert_allclose(layer(evidence)[0].detach(), wanted, atol=1e-6)
    with pytest.raises(sumout.Error, match="integers for `xray` are ambiguous: 1 is `yes` as a boolean, and `no` as a position"):
        layer({"xray": torch.tensor([0, 1])})
    with pytest.raises(sumout.Error, match=r"`xray` has floats of the shape \(2,\)"):
        layer({"xray": torch.tensor([0.8, 0.2])})
    b = sumout.Builder()
    b.add("die", [1, 2, 3], cpt=[0.2, 0.3, 0.5])
    b.add("high", ["no", "yes"], ["die"], lambda die: "yes" if die > 1 else "no")
    dice = Circuit(b.build().compile("high", given="die"))
    with pytest.raises(sumout.Error, match="integers for `die` are ambiguous"):
        dice({"die": torch.tensor([1])})
    assert dice(torch.tensor([[0]]))[0][0, 0] == 1


def test_positions_that_do_not_exist_are_refused():
    layer = Circuit(sumout.read("asia").compile("lung", given=["xray", "dysp"]))
    for run in [layer, torch.compile(layer, fullgraph=True, backend="eager")]:
        with pytest.raises(sumout.Error, match="`dysp` has no value at position 7, in example 2"):
            run(torch.tensor([[0, 1], [1, 7]]))


def test_circuits_without_a_target_have_gradients():
    circuit = sumout.read("asia").compile(given=["xray", "dysp"])
    layer = Circuit(circuit, dtype=torch.float64)
    evidence = random_likelihoods(layer, 3).requires_grad_()
    layer(evidence)[1].sum().backward()
    with_none, _ = circuit.backward(evidence.detach().numpy(), None, np.ones(3))
    np.testing.assert_allclose(evidence.grad, with_none)


def test_a_loss_may_outlive_its_layer():
    circuit = sumout.read("asia").compile("lung", given=["xray"])
    evidence = torch.tensor([[0.8, 0.2]], dtype=torch.float64, requires_grad=True)
    loss = Circuit(circuit)(evidence)[0][0, 0]
    sumout.torch._recent.clear()  # as if many other circuits had been used
    loss.backward()
    wanted, _ = circuit.backward(evidence.detach().numpy(), np.array([[1.0, 0.0]]), np.zeros(1))
    np.testing.assert_allclose(evidence.grad, wanted, atol=1e-6)
    assert torch.autograd.gradcheck(lambda x: Circuit(circuit, dtype=torch.float64)(x), (evidence,))


def test_exported_programs_carry_their_circuit(tmp_path):
    asia = sumout.read("asia")
    layer, x = Circuit(asia.compile("lung", given=["xray"])), torch.tensor([[0.8, 0.2]])
    torch.export.save(torch.export.export(layer, (x,)), tmp_path / "lung.pt2")
    script = f"""
import sumout, sumout.torch, torch
other = sumout.torch.Circuit(sumout.read("asia").compile("bronc", given=["smoke"]))  # another circuit, made first
program = torch.export.load({str(tmp_path / "lung.pt2")!r})
print(*program.module()(torch.tensor([[0.8, 0.2]]))[0][0].tolist())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    np.testing.assert_allclose([float(p) for p in done.stdout.split()], layer(x)[0][0].detach(), atol=1e-6)


def train(layer, evidence, labels, steps, forward=None):
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        posterior, log_evidence = (forward or layer)(evidence)
        loss = -(posterior.gather(1, labels[:, None])[:, 0].log() + 0.1 * log_evidence).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def data(rows=64):
    asia = sumout.read("asia")
    cells = dict(zip(asia.variables, torch.from_numpy(asia.sample_positions(rows, seed=3)).long().T))
    return {name: cells[name] == 0 for name in ["xray", "dysp"]}, cells["lung"]


def test_tables_are_trained_and_stay_probabilities():
    layer = layer_of("asia", "lung", ["xray", "dysp"])
    evidence, labels = data()
    losses = train(layer, evidence, labels, 20)
    assert losses[-1] < losses[0] - 0.01
    network = layer.network()
    for name, table in layer.tables().items():
        torch.testing.assert_close(table.sum(1), torch.ones(len(table), dtype=torch.float64))
        np.testing.assert_allclose(network.cpt(name).reshape(-1, 2), table.detach(), atol=1e-12)
    again = network.compile("lung", given=["xray", "dysp"]).evaluate({name: column.numpy() for name, column in evidence.items()})
    np.testing.assert_allclose(again.posterior, layer(evidence)[0].detach(), atol=1e-9)


def shared_work(rank, world, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=world)
    layer = layer_of("asia", "lung", ["xray", "dysp"], threads=1)
    evidence, labels = data()
    part = slice(rank, None, world)
    shared = torch.nn.parallel.DistributedDataParallel(layer)
    train(layer, {name: cells[part] for name, cells in evidence.items()}, labels[part], 8, forward=shared)
    torch.save([logits.detach() for logits in layer.logits], f"{folder}/{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.mark.skipif(not torch.distributed.is_available(), reason="this PyTorch has no torch.distributed")
def test_two_processes_learn_what_one_does(tmp_path):
    torch.multiprocessing.spawn(shared_work, args=(2, tmp_path), nprocs=2)
    alone = layer_of("asia", "lung", ["xray", "dysp"])
    train(alone, *data(), 8)
    for rank in range(2):
        for got, wanted in zip(torch.load(tmp_path / f"{rank}.pt"), alone.logits):
            torch.testing.assert_close(got, wanted.detach(), rtol=0, atol=1e-9)
