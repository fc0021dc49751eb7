"""A circuit as a layer of PyTorch.

A neural network feeds likelihoods in, and posteriors and ln P(e) come out; gradients go back through the circuit into the network, and
into the CPTs that were compiled as trainable.

>>> import sumout, torch
>>> from sumout.torch import Circuit
>>> layer = Circuit(sumout.read("asia").compile("lung", given=["xray", "dysp"]))
>>> seen = torch.tensor([[0.9, 0.1], [0.2, 0.8]], requires_grad=True)  # what a classifier of X-rays believes
>>> posterior, log_evidence = layer({"xray": seen, "dysp": torch.tensor([True, False])})
>>> posterior.shape
torch.Size([2, 2])

The layer is one operation, ``sumout::circuit``, that ``torch.compile`` takes without breaking its graph; a program that ``torch.export``
saves has the circuit in it, and needs ``import sumout.torch`` to run. The operation runs on the processor: tensors from elsewhere are
copied there and back. It can be differentiated once.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from . import _circuit
from ._errors import Error
from ._learned import with_cpts
from ._network import Network
from ._values import Positions

_circuits: weakref.WeakValueDictionary[str, _Layout] = weakref.WeakValueDictionary()
"""The circuits of this process, by the hash of their bytes."""

_recent: OrderedDict[str, _Layout] = OrderedDict()
"""Those used last, also if their layers are gone: a loss may outlive its layer."""

_RECENT = 16
_lock = threading.Lock()


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
        self.circuit: _circuit.Circuit = circuit
        self._layout = _Layout(circuit)
        self.threads: int = threads
        self.register_buffer("_program", torch.frombuffer(bytearray(self._layout.data), dtype=torch.uint8), persistent=False)
        """The bytes of the circuit, by which an exported program carries it."""
        cpts = circuit.parameters if trainable else {}
        self.trained: list[str] = list(cpts)
        """The variables whose CPTs are trained."""
        self.logits: torch.nn.ParameterList = torch.nn.ParameterList(torch.nn.Parameter(_logits(torch.from_numpy(cpt)).to(dtype)) for cpt in cpts.values())
        for place, cpt in enumerate(cpts.values()):
            # Impossible values are not part of a circuit. Their share of a row does not change.
            self.register_buffer(f"mass_{place}", torch.from_numpy(cpt.sum(1, keepdims=True)).to(dtype))
        self.register_buffer("_like", torch.zeros(0, dtype=dtype), persistent=False)
        """Positions become likelihoods of this type, on this device."""

    def forward(self, evidence: Tensor | Mapping[str, Tensor] | Positions[Mapping[str, Tensor]]) -> tuple[Tensor, Tensor]:
        """The posterior of the target, a row for each example, and ln P(e): negative infinity, with zeros, where the evidence is
        impossible.

        Evidence is a floating-point tensor of likelihoods for all values of all inputs side by side, in the order of
        ``circuit.inputs``; a tensor of integers [examples, inputs], the positions of their values in that order, -1 where nothing is
        known; or a dictionary. It has for each input likelihoods [examples, values], booleans [examples], or integers [examples]:
        positions, -1 where nothing is known. Integers are refused where they may be booleans, or values of other numbers: in
        :class:`sumout.Positions` they are positions. Of inputs that are left out, nothing is known.
        """
        likelihoods = self.likelihoods(evidence)
        tables = [table.reshape(-1) for table in self.tables().values()]
        flat = torch.cat(tables) if tables else likelihoods.new_zeros(0)
        layout = self._layout
        return _evaluate(likelihoods, flat.to(likelihoods), self.get_buffer("_program"), layout.key, layout.width, self.threads)

    def tables(self) -> dict[str, Tensor]:
        """The CPTs that are trained: for each joint state of the parents, the last one fastest, a row of probabilities."""
        rows = [torch.softmax(logits, dim=-1) * self.get_buffer(f"mass_{place}") for place, logits in enumerate(self.logits)]
        return dict(zip(self.trained, rows))

    def likelihoods(self, evidence: Tensor | Mapping[str, Tensor] | Positions[Mapping[str, Tensor]]) -> Tensor:
        """Evidence of any kind as one tensor of likelihoods."""
        are_positions = isinstance(evidence, Positions)
        given = evidence.evidence if isinstance(evidence, Positions) else evidence
        if not isinstance(given, Mapping):
            return given if given.is_floating_point() else self._side_by_side(given)
        unknown = sorted(set(given) - set(self._layout.cards))
        if unknown or not given:
            known = ", ".join(f"`{name}`" for name in self._layout.cards)
            what = f"`{unknown[0]}` is not an input of this circuit" if unknown else "there is no evidence"
            raise Error("name", what, hint=f"its inputs are {known}")
        soft = [tensor for tensor in given.values() if tensor.is_floating_point()]
        like = soft[0] if soft else self.get_buffer("_like")
        rows = len(next(iter(given.values())))
        parts = [self._column(name, given.get(name), rows, like, are_positions) for name in self._layout.cards]
        return torch.cat(parts, dim=1)

    def _side_by_side(self, positions: Tensor) -> Tensor:
        """A tensor of integers, a column for each input."""
        names = list(self._layout.cards)
        if positions.dim() != 2 or positions.shape[1] != len(names) or positions.dtype == torch.bool:
            shape = f"{tuple(positions.shape)} of {positions.dtype}".replace("torch.", "")
            hint = f"integers are positions, a column for each of {len(names)} inputs; floats are likelihoods"
            raise Error("evidence", f"the evidence has the shape {shape}", hint=hint)
        like = self.get_buffer("_like")
        return torch.cat([self._hot(positions[:, at], self._layout.cards[name], like) for at, name in enumerate(names)], dim=1)

    def _column(self, name: str, given: Tensor | None, rows: int, like: Tensor, are_positions: bool) -> Tensor:
        card = self._layout.cards[name]
        if given is None:
            return like.new_ones(rows, card)
        if given.is_floating_point():
            if given.dim() != 2 or given.shape[1] != card:
                hint = f"likelihoods have the shape [examples, {card}], and integers are positions"
                raise Error("evidence", f"`{name}` has floats of the shape {tuple(given.shape)}", hint=hint)
            return given.to(like)
        if given.dim() != 1:
            raise Error("evidence", f"`{name}` has {given.dtype} of the shape {tuple(given.shape)}".replace("torch.", ""), hint="give one for each example")
        variables = self.circuit._variables
        k = variables.index[name]
        if given.dtype == torch.bool:
            false, true = variables.truth(k)
            given = torch.where(given, true, false)
        elif not are_positions and not variables.names_positions(k):
            raise self._unclear(name)
        return self._hot(given, card, like)

    def _unclear(self, name: str) -> Error:
        """The error for integers that may mean something else than positions."""
        variables = self.circuit._variables
        k = variables.index[name]
        if variables._order(k) is None:
            other, first = f"`{variables.texts[k][variables.truth(k)[1]]}` as a boolean", 1
        else:
            first = next(at for at, value in enumerate(variables.values[k]) if str(value) != str(at))
            other = f"a value of that number, where there is one,"
        message = f"integers for `{name}` are ambiguous: {first} is {other}, and `{variables.texts[k][first]}` as a position"
        return Error("evidence", message, hint="give booleans or likelihoods; or `sumout.Positions({…})`, or one tensor of positions of all inputs")

    def _hot(self, positions: Tensor, card: int, like: Tensor) -> Tensor:
        """Likelihoods of positions. Those that do not exist are marked by negative numbers, which the operation refuses."""
        positions = positions.to(like.device)[:, None]
        is_value = positions == torch.arange(card, device=like.device)
        hot = (is_value | (positions < 0)).to(like)
        return torch.where(positions >= card, -positions.to(like), hot)

    def network(self) -> Network:
        """The network that the circuit was compiled from, with the CPTs as they are now."""
        source = self.circuit._network
        if source is None:
            raise Error("unsupported", "a circuit from a file has no network", hint="compile it from a network in this process")
        return with_cpts(source, {name: table.detach().cpu().double().numpy() for name, table in self.tables().items()})

    def extra_repr(self) -> str:
        return repr(self.circuit)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_layout": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._layout = _Layout(self.circuit)


class _Layout:
    """A circuit, known to the operation by the hash of its bytes; and what is where in its tensors."""

    def __init__(self, circuit: _circuit.Circuit, data: bytes | None = None):
        self.circuit = circuit.__copy__()  # which `fit` does not change
        self.data = circuit.to_bytes() if data is None else data
        self.cards = {name: len(circuit.values(name)) for name in circuit.inputs}
        self.width = len(circuit.values(circuit.targets[0])) if len(circuit.targets) == 1 else 0
        self.shapes = {name: cpt.shape for name, cpt in circuit.parameters.items()}
        self.key = hashlib.sha256(self.data).hexdigest()
        with _lock:
            _circuits[self.key] = self

    def parameters(self, flat: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]] | None:
        if not flat.size:
            return None
        ends = np.cumsum([rows * values for rows, values in self.shapes.values()])
        parts = np.split(flat, ends[:-1])
        return {name: part.reshape(shape) for (name, shape), part in zip(self.shapes.items(), parts)}

    def check(self, likelihoods: np.ndarray[Any, Any]) -> None:
        """Refuses the marks of positions that do not exist."""
        if not (likelihoods < 0).any():
            return
        start = 0
        for name, card in self.cards.items():
            part = likelihoods[:, start : start + card]
            wrong = np.flatnonzero((part < 0).all(axis=1) & (part == part[:, :1]).all(axis=1) & (part[:, 0] <= -card))
            if wrong.size:
                hint = f"it has {card} values, whose positions begin with 0; -1 is for nothing known"
                raise Error("evidence", f"`{name}` has no value at position {-part[wrong[0], 0]:.0f}, in example {wrong[0] + 1}", hint=hint)
            start += card


def _layout_of(program: Tensor, key: str) -> _Layout:
    """The circuit of an operation: one of this process, or else the one that came with the program."""
    with _lock:
        found = _recent.get(key) or _circuits.get(key)
    if found is None:
        data = bytes(program.cpu().numpy())
        if hashlib.sha256(data).hexdigest() != key:
            raise Error("format", "the circuit in this program is damaged", hint="export it again")
        found = _Layout(_circuit.Circuit.from_bytes(data), data)
    with _lock:
        _recent[key] = found
        _recent.move_to_end(key)
        while len(_recent) > _RECENT:
            _recent.popitem(last=False)
    return found


def _running(like: Tensor, threads: int) -> dict[str, Any]:
    return {"precision": "f64" if like.dtype == torch.float64 else "f32", "threads": threads}


def _logits(cpt: Tensor) -> Tensor:
    """Logits that a softmax turns into the rows of a CPT, but for their sums."""
    return torch.where((cpt.sum(1, keepdim=True) == 0), torch.zeros_like(cpt), cpt.log())


def _array(tensor: Tensor) -> np.ndarray[Any, Any]:
    return tensor.detach().to("cpu", torch.float64).contiguous().numpy()


@torch.library.custom_op("sumout::circuit", mutates_args=())
def _evaluate(likelihoods: Tensor, tables: Tensor, program: Tensor, key: str, width: int, threads: int) -> tuple[Tensor, Tensor]:
    layout = _layout_of(program, key)
    given = _array(likelihoods)
    layout.check(given)
    posterior, log_evidence = layout.circuit.forward(given, layout.parameters(_array(tables)), **_running(likelihoods, threads))
    return torch.from_numpy(posterior).to(likelihoods), torch.from_numpy(log_evidence).to(likelihoods)


@_evaluate.register_fake
def _(likelihoods: Tensor, tables: Tensor, program: Tensor, key: str, width: int, threads: int) -> tuple[Tensor, Tensor]:
    rows = likelihoods.shape[0]
    return likelihoods.new_empty(rows, width), likelihoods.new_empty(rows)


@torch.library.custom_op("sumout::circuit_backward", mutates_args=())
def _differentiate(
    likelihoods: Tensor, tables: Tensor, program: Tensor, posterior: Tensor, log_evidence: Tensor, key: str, threads: int
) -> tuple[Tensor, Tensor]:
    layout = _layout_of(program, key)
    parameters = layout.parameters(_array(tables))
    above = _array(posterior) if layout.width else None, _array(log_evidence)
    of_likelihoods, of_tables = layout.circuit.backward(_array(likelihoods), *above, parameters, **_running(likelihoods, threads))
    flat = np.concatenate([of_tables[name].ravel() for name in layout.shapes]) if tables.numel() else np.zeros(0)
    return torch.from_numpy(of_likelihoods).to(likelihoods), torch.from_numpy(flat).to(tables)


@_differentiate.register_fake
def _(
    likelihoods: Tensor, tables: Tensor, program: Tensor, posterior: Tensor, log_evidence: Tensor, key: str, threads: int
) -> tuple[Tensor, Tensor]:
    return torch.empty_like(likelihoods), torch.empty_like(tables)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.key, ctx.threads = inputs[3], inputs[5]


def _backward(ctx: Any, posterior: Tensor, log_evidence: Tensor) -> tuple[Tensor | None, ...]:
    likelihoods, tables, program = ctx.saved_tensors
    found = _differentiate(likelihoods, tables, program, posterior, log_evidence, ctx.key, ctx.threads)
    return *found, None, None, None, None


_evaluate.register_autograd(_backward, setup_context=_remember)
