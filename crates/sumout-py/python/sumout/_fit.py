"""Learning: the examples, the options, and the result."""

from __future__ import annotations

import inspect
import json
import os
import warnings as _warnings
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from . import _evidence, _progress, _sumout
from ._errors import Error, suggest
from ._options import Level, Precision, check_seed, options, running
from ._progress import Bar

if TYPE_CHECKING:
    from ._circuit import Circuit
    from ._network import Network

Method = Literal["adam", "sgd", "em"]
Preset = Literal["default", "paper", "em"]
Start = Literal["network", "uniform", "random"]
Schedule = Literal["constant", "linear", "cubic"]


class Epoch(NamedTuple):
    """The outcome of an epoch."""

    loss: float
    """The mean training loss, during the epoch."""
    validation_loss: float
    """The mean validation loss, after the epoch; without validation, that of all examples."""
    accuracy: float | None
    """The accuracy on the same examples; none without labels."""
    start: int | None
    """The start that it is a trial of, while several are compared."""
    rate: float
    """The learning rate."""
    impossible: int
    """The number of training examples that were impossible."""
    contradicted: int
    """The number of examples whose label had probability zero, given their inputs."""


class Learned(NamedTuple):
    """The result of learning."""

    network: Network
    """The network with the CPTs that were learned."""
    circuit: Circuit | None
    """The circuit for the target, if there is one."""
    history: list[Epoch]
    """All epochs; none if the examples were complete, and could be counted."""
    best: Epoch | None
    """The epoch that was kept."""
    parameters: int
    """The number of parameters that were learned."""
    difference: float | None
    """By how much posteriors of the network differ from those of the circuit, if CPTs that are declared functional are not."""
    warnings: list[str]
    """Problems that did not stop the fit."""

    def __repr__(self) -> str:
        how = f"{len(self.history)} epochs, the best with loss {self.best.loss:.4f}" if self.best else "counting"
        return f"<sumout.Learned {self.parameters} parameters by {how}>"


class CircuitOptions(TypedDict, total=False):
    """The options of :meth:`Circuit.fit`; :meth:`Network.fit` documents them."""

    hidden: str | list[str]
    weights: ArrayLike | None
    train: str | list[str] | None
    freeze: str | list[str]
    strict_ties: bool
    snap: bool
    method: Method | None
    preset: Preset
    loss: Mapping[str, float] | None
    start: Start | None
    starts: int | None
    epochs: int | None
    patience: int | None
    batch: int | None
    rate: float | tuple[float, float] | None
    schedule: Schedule | None
    decay: int | None
    momentum: float | None
    validation: float | None
    prior: float | None
    temperature: tuple[float, float] | None
    slope: tuple[float, float] | None
    checkpoint: str | os.PathLike[str] | None
    resume: bool
    seed: int
    level: Level
    effort: float
    threads: int
    precision: Precision
    memory: int | str | None
    progress: bool | None


class Options(CircuitOptions, total=False):
    """The options of :meth:`Network.fit`."""

    target: str | list[str] | None
    given: str | list[str] | None


def fit(
    net: Network,
    evidence: Any,
    labels: Any = None,
    *,
    target: str | list[str] | None = None,
    given: str | list[str] | None = None,
    hidden: str | list[str] = (),  # type: ignore[assignment]
    weights: ArrayLike | None = None,
    train: str | list[str] | None = None,
    freeze: str | list[str] = (),  # type: ignore[assignment]
    strict_ties: bool = False,
    snap: bool = False,
    method: Method | None = None,
    preset: Preset = "default",
    loss: Mapping[str, float] | None = None,
    start: Start | None = None,
    starts: int | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    batch: int | None = None,
    rate: float | tuple[float, float] | None = None,
    schedule: Schedule | None = None,
    decay: int | None = None,
    momentum: float | None = None,
    validation: float | None = None,
    prior: float | None = None,
    temperature: tuple[float, float] | None = None,
    slope: tuple[float, float] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    seed: int = 0,
    level: Level = "auto",
    effort: float = 1.0,
    threads: int = 0,
    precision: Precision = "f32",
    memory: int | str | None = None,
    progress: bool | None = None,
    _inputs: list[int] | None = None,
) -> Learned:
    """See :meth:`Network.fit`."""
    targets = [net._raw.find(name) for name in _names(target)]
    task = _sumout.Task(
        _examples(net, evidence, labels, targets, _inputs, None if given is None else _names(given), _hidden(net, hidden)),
        None if weights is None else np.asarray(weights, dtype=np.float64),
        targets,
        None if given is None else _names(given),
        None if train is None else _names(train),
        _names(freeze),
        strict_ties,
    )
    check_seed(seed)
    chosen = _sumout.FitOptions(
        preset=preset,
        method=method,
        loss=None if loss is None else list(loss.items()),
        start=start,
        starts=starts,
        epochs=epochs,
        patience=patience,
        batch=batch,
        rate=_rates(rate),
        schedule=schedule,
        decay=decay,
        momentum=momentum,
        validation=validation,
        prior=prior,
        temperature=temperature,
        slope=slope,
        snap=snap,
        seed=seed,
        checkpoint=checkpoint,
        resume=resume,
    )
    with Bar(progress, _progress.epochs) as bar:
        how = options(level, effort, seed, memory), running(precision, threads, memory)
        raw = _sumout.fit(net._raw, task, chosen, *how, bar)
    return _learned(net, raw)


def shown(method: Callable[..., Learned], *lead: str, without: Container[str] = ()) -> None:
    """Gives a method that passes its options on the signature of :func:`fit`, for `help` and completion."""
    own, options = inspect.signature(method).parameters, inspect.signature(fit).parameters.values()
    keywords = [p for p in options if p.kind is p.KEYWORD_ONLY and p.name not in without and not p.name.startswith("_")]
    method.__signature__ = inspect.Signature([*(own[name] for name in lead), *keywords], return_annotation="Learned")  # type: ignore[attr-defined]


def _learned(source: Network, raw: _sumout.Learned) -> Learned:
    from ._circuit import Circuit
    from ._network import Network

    for warning in raw.warnings:
        _warnings.warn(warning, RuntimeWarning, stacklevel=4)
    network = Network(raw.network, source._variables.typed)
    circuit = None if raw.circuit is None else Circuit(raw.circuit, network)
    history, best = json.loads(raw.history), json.loads(raw.best)
    return Learned(network, circuit, [Epoch(**e) for e in history], best and Epoch(**best), raw.parameters, raw.difference, raw.warnings)


def _rates(rate: float | tuple[float, float] | None) -> tuple[float, float | None] | None:
    """The initial learning rate, and the final one if it is given."""
    if rate is None or isinstance(rate, tuple):
        return rate
    return rate, None


def _names(names: Any) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def _hidden(net: Network, patterns: Any) -> set[int]:
    return {k for pattern in _names(patterns) for k in net._raw.matching(pattern)}


def _examples(
    net: Network, evidence: Any, labels: Any, targets: list[int], inputs: list[int] | None, given: list[str] | None, hidden: set[int]
) -> _sumout.Batch:
    """The columns of the inputs, and those of the targets."""
    variables = net._variables
    if inputs is None:
        inputs = _wanted(net, targets, given)
    # In an array the labels are the last columns, unless they come apart.
    plain = evidence.evidence if isinstance(evidence, _evidence.Positions) else evidence
    wanted = [*inputs, *targets] if labels is None or not isinstance(plain, np.ndarray) else inputs
    rows, columns = _evidence.columns(variables, wanted, evidence, strict=None)
    if labels is not None:
        if len(targets) != 1:
            raise Error("options", "labels are those of one target", hint="name it: target=…")
        columns[targets[0]] = variables.column(targets[0], labels)
    _check_hidden(net, [*inputs, *targets], columns, hidden, evidence)
    batch = _sumout.Batch(rows)
    for k, column in columns.items():
        if len(column) != rows:
            raise Error("evidence", f"there are {rows} examples, and {len(column)} of `{variables.names[k]}`")
        (batch.likelihoods if column.ndim == 2 else batch.values)(k, column)
    return batch


def _wanted(net: Network, targets: list[int], given: list[str] | None) -> list[int]:
    """The inputs that are named, in their order; or else all variables but the targets."""
    if given is None:
        return [k for k in range(len(net)) if k not in targets]
    named = dict.fromkeys(k for name in given for k in net._raw.matching(name))
    return [k for k in named if k not in targets]


def _check_hidden(net: Network, wanted: list[int], found: _evidence.Columns, hidden: set[int], evidence: Any) -> None:
    """A variable without a column is hidden on purpose, or its column is misspelt."""
    lacking = [net._variables.names[k] for k in wanted if k not in found and k not in hidden]
    if not lacking:
        return
    unread = [str(name) for name in _evidence.column_names(evidence) or [] if name not in net._variables.index]
    near = [suggest(name, unread, "") for name in lacking]
    meant = [f"is {hint[13:-1]} meant to be `{name}`? " for name, hint in zip(lacking, near) if hint.startswith("did you mean")]
    shown = ", ".join(f"`{name}`" for name in lacking[:6]) + (", …" if len(lacking) > 6 else "")
    hint = "".join(meant[:1]) + f"declare what nobody observed: `hidden={lacking[:3]}`, or name the inputs: `given=…`"
    raise Error("evidence", f"there is no column for {shown}", hint=hint)
