"""A circuit as a layer of PyTorch.

A neural network feeds likelihoods in, and posteriors and ln P(e) come out; gradients go back through the circuit into the network, and
into the CPTs that were compiled as trainable.

>>> import sumout, torch
>>> from sumout.torch import Circuit
>>> layer = Circuit(sumout.read("asia").compile("lung", given=["xray", "dysp"]))
>>> seen = torch.tensor([[0.9, 0.1], [0.2, 0.8]], requires_grad=True)  # what a classifier of X-rays believes
>>> posterior, log_evidence = layer({"xray": seen, "dysp": torch.tensor([1, -1])})
>>> posterior.shape
torch.Size([2, 2])

The layer is one operation, ``sumout::circuit``, that ``torch.compile`` takes without breaking its graph. It runs on the processor:
tensors from elsewhere are copied there and back. It can be differentiated once.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import _circuit
from ._errors import Error
from ._learned import with_cpts
from ._network import Network

_circuits: weakref.WeakValueDictionary[int, _Layout] = weakref.WeakValueDictionary()
_numbers = itertools.count()


class Circuit(torch.nn.Module):
    """A circuit as a module: likelihoods in, posteriors and ln P(e) out.

    Its parameters are the logits of the CPTs that the circuit was compiled to train, one tensor for each variable of
    :attr:`trained`: a softmax over each row gives probabilities, so that any optimiser keeps them what they are, and zeros stay zero.
    With ``trainable=False`` it has none, and the CPTs are those of the circuit. Numbers are of 32 or of 64 bits, as the likelihoods
    are; the parameters are of ``dtype``.
    """

    def __init__(
        self, circuit: _circuit.Circuit, *, trainable: bool = True, dtype: torch.dtype | None = None, threads: int = 0
    ):
        super().__init__()
        dtype = dtype or torch.get_default_dtype()
        self.circuit = circuit
        self._layout = _Layout(circuit, threads)
        cpts = circuit.parameters if trainable else {}
        self.trained = list(cpts)
        """The variables whose CPTs are trained."""
        self.logits = torch.nn.ParameterList(torch.nn.Parameter(_logits(torch.from_numpy(cpt)).to(dtype)) for cpt in cpts.values())
        for place, cpt in enumerate(cpts.values()):
            # Impossible values are not part of a circuit. Their share of a row does not change.
            self.register_buffer(f"mass_{place}", torch.from_numpy(cpt.sum(1, keepdims=True)).to(dtype))
        self.register_buffer("_like", torch.zeros(0, dtype=dtype), persistent=False)
        """Positions become likelihoods of this type, on this device."""

    def forward(self, evidence: Tensor | Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The posterior of the target, a row for each example, and ln P(e): negative infinity, with zeros, where the evidence is
        impossible.

        Evidence is a tensor of likelihoods for all values of all inputs side by side, in the order of ``circuit.inputs``; or a
        dictionary, with a tensor of likelihoods [examples, values] or of positions of values [examples] for each input, -1 where
        nothing is known. Of inputs that are left out, nothing is known.
        """
        likelihoods = self.likelihoods(evidence) if isinstance(evidence, Mapping) else evidence
        tables = [table.reshape(-1) for table in self.tables().values()]
        flat = torch.cat(tables) if tables else likelihoods.new_zeros(0)
        return _evaluate(likelihoods, flat.to(likelihoods), self._layout.key)

    def tables(self) -> dict[str, Tensor]:
        """The CPTs that are trained: for each joint state of the parents, the last one fastest, a row of probabilities."""
        rows = [torch.softmax(logits, dim=-1) * self.get_buffer(f"mass_{place}") for place, logits in enumerate(self.logits)]
        return dict(zip(self.trained, rows))

    def likelihoods(self, evidence: Mapping[str, Tensor]) -> Tensor:
        """Evidence by names as one tensor of likelihoods."""
        unknown = sorted(set(evidence) - set(self._layout.cards))
        if unknown or not evidence:
            known = ", ".join(f"`{name}`" for name in self._layout.cards)
            what = f"`{unknown[0]}` is not an input of this circuit" if unknown else "there is not evidence"
            raise Error("name", what, hint=f"its inputs are {known}")
        soft = [tensor for tensor in evidence.values() if tensor.is_floating_point()]
        like = soft[0] if soft else self.get_buffer("_like")
        rows = len(next(iter(evidence.values())))
        return torch.cat([self._column(evidence.get(name), card, rows, like) for name, card in self._layout.cards.items()], dim=1)

    def _column(self, given: Tensor | None, card: int, rows: int, like: Tensor) -> Tensor:
        if given is None:
            return like.new_ones(rows, card)
        if given.dim() == 2:
            return given.to(like)
        positions = given.to(like.device)[:, None]
        is_value = positions == torch.arange(card, device=like.device)
        return (is_value | (positions < 0)).to(like)

    def network(self) -> Network:
        """The network that the circuit was compiled from, with the CPTs as they are now."""
        source = self.circuit._network
        if source is None:
            raise Error("unsupported", "a circuit from a file has no network", hint="compile it from a network in this process")
        return with_cpts(source, {name: table.detach().cpu().double().numpy() for name, table in self.tables().items()})

    def extra_repr(self) -> str:
        return repr(self.circuit)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_layout": self._layout.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._layout = _Layout(self.circuit, state["_layout"])


class _Layout:
    """A circuit, known to the operation by a number; and what is where in its tensors."""

    def __init__(self, circuit: _circuit.Circuit, threads: int):
        self.circuit, self.threads = circuit, threads
        self.cards = {name: len(circuit.values(name)) for name in circuit.inputs}
        self.width = len(circuit.values(circuit.targets[0])) if len(circuit.targets) == 1 else 0
        self.shapes = {name: cpt.shape for name, cpt in circuit.parameters.items()}
        self.key = next(_numbers)
        _circuits[self.key] = self

    def parameters(self, flat: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]] | None:
        if not flat.size:
            return None
        ends = np.cumsum([rows * values for rows, values in self.shapes.values()])
        parts = np.split(flat, ends[:-1])
        return {name: part.reshape(shape) for (name, shape), part in zip(self.shapes.items(), parts)}

    def running(self, like: Tensor) -> dict[str, Any]:
        return {"precision": "f64" if like.dtype == torch.float64 else "f32", "threads": self.threads}


def _logits(cpt: Tensor) -> Tensor:
    """Logits that a softmax turns into the rows of a CPT, but for their sums."""
    return torch.where((cpt.sum(1, keepdim=True) == 0), torch.zeros_like(cpt), cpt.log())


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    return tensor.detach().to("cpu", torch.float64).contiguous().numpy()


@torch.library.custom_op("sumout::circuit", mutates_args=())
def _evaluate(likelihoods: Tensor, tables: Tensor, key: int) -> tuple[Tensor, Tensor]:
    layout = _circuits[key]
    parameters = layout.parameters(_array(tables))
    posterior, log_evidence = layout.circuit.forward(_array(likelihoods), parameters, **layout.running(likelihoods))
    return torch.from_numpy(posterior).to(likelihoods), torch.from_numpy(log_evidence).to(likelihoods)


@_evaluate.register_fake
def _(likelihoods: Tensor, tables: Tensor, key: int) -> tuple[Tensor, Tensor]:
    rows = likelihoods.shape[0]
    return likelihoods.new_empty(rows, _circuits[key].width), likelihoods.new_empty(rows)


@torch.library.custom_op("sumout::circuit_backward", mutates_args=())
def _differentiate(likelihoods: Tensor, tables: Tensor, posterior: Tensor, log_evidence: Tensor, key: int) -> tuple[Tensor, Tensor]:
    layout = _circuits[key]
    parameters = layout.parameters(_array(tables))
    above = _array(posterior), _array(log_evidence)
    of_likelihoods, of_tables = layout.circuit.backward(_array(likelihoods), *above, parameters, **layout.running(likelihoods))
    flat = np.concatenate([of_tables[name].ravel() for name in layout.shapes]) if tables.numel() else np.zeros(0)
    return torch.from_numpy(of_likelihoods).to(likelihoods), torch.from_numpy(flat).to(tables)


@_differentiate.register_fake
def _(likelihoods: Tensor, tables: Tensor, posterior: Tensor, log_evidence: Tensor, key: int) -> tuple[Tensor, Tensor]:
    return torch.empty_like(likelihoods), torch.empty_like(tables)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.key = inputs[2]


def _backward(ctx: Any, posterior: Tensor, log_evidence: Tensor) -> tuple[Tensor, Tensor, None]:
    likelihoods, tables = ctx.saved_tensors
    return *_differentiate(likelihoods, tables, posterior, log_evidence, ctx.key), None


_evaluate.register_autograd(_backward, setup_context=_remember)
