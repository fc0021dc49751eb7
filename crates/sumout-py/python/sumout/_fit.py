"""Learning: what to learn from, how, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from . import _evidence, _progress, _sumout
from ._errors import Error
from ._options import Precision, options, running
from ._progress import Bar

if TYPE_CHECKING:
    from ._circuit import Circuit
    from ._network import Network

Method = Literal["adam", "sgd", "em"]
Preset = Literal["default", "paper"]
Start = Literal["network", "uniform", "random"]


class Epoch(NamedTuple):
    """What came out of an epoch."""

    loss: float
    """The mean loss of the examples that were learned from, while they were."""
    watched_loss: float
    """The mean loss of the examples that are watched; of all, if none are."""
    accuracy: float | None
    """The share of them whose label was found; none without labels."""
    start: int | None
    """Which start it belongs to, while several are tried."""
    rate: float
    impossible: int
    """The number of examples that were impossible."""
    contradicted: int
    """The number of examples whose label had probability zero, given their inputs."""


class Learned(NamedTuple):
    """What was learned."""

    network: Network
    """The network with the numbers that were learned."""
    circuit: Circuit | None
    """The circuit for the target, if there is one."""
    history: list[Epoch]
    """All epochs; none if the examples were complete, and could be counted."""
    best: Epoch | None
    """The epoch whose numbers these are."""
    parameters: int
    """The number of weights that were learned."""
    difference: float | None
    """By how much posteriors of the network differ from those of the circuit, if CPTs that were declared functional are not."""

    def __repr__(self) -> str:
        how = f"{len(self.history)} epochs, the best with loss {self.best.loss:.4f}" if self.best else "counting"
        return f"<sumout.Learned {self.parameters} parameters by {how}>"


class CircuitOptions(TypedDict, total=False):
    """The options of :meth:`Circuit.fit`; :meth:`Network.fit` says what they mean."""

    weights: ArrayLike | None
    train: str | list[str] | None
    freeze: str | list[str]
    snap: bool
    method: Method
    preset: Preset
    loss: Mapping[str, float] | None
    start: Start | None
    starts: int | None
    epochs: int | None
    patience: int | None
    batch: int | None
    rate: float | None
    validation: float | None
    prior: float | None
    temperature: tuple[float, float] | None
    seed: int
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
    weights: ArrayLike | None = None,
    train: str | list[str] | None = None,
    freeze: str | list[str] = (),  # type: ignore[assignment]
    snap: bool = False,
    method: Method = "adam",
    preset: Preset = "default",
    loss: Mapping[str, float] | None = None,
    start: Start | None = None,
    starts: int | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    validation: float | None = None,
    prior: float | None = None,
    temperature: tuple[float, float] | None = None,
    seed: int = 0,
    effort: float = 1.0,
    threads: int = 0,
    precision: Precision = "f32",
    memory: int | str | None = None,
    progress: bool | None = None,
    _inputs: list[int] | None = None,
) -> Learned:
    """See :meth:`Network.fit`."""
    from ._circuit import Circuit
    from ._network import Network

    targets = _names(target)
    found = [net._raw.find(name) for name in targets]
    batch_of = _examples(net, evidence, labels, found, _inputs, _names(given) if given is not None else None)
    weigh = None if weights is None else np.asarray(weights, dtype=np.float64)
    lesson = _sumout.Lesson(
        batch_of,
        weigh,
        found,
        None if given is None else _names(given),
        None if train is None else _names(train),
        _names(freeze),
        snap,
    )
    base = _learning(method, preset, bool(targets), seed)
    _method(base, method, batch, rate)
    _starts(base, start, starts)
    chosen = {"epochs": epochs, "patience": patience, "validation": validation, "prior": prior, "temperature": temperature}
    base.update({key: value for key, value in chosen.items() if value is not None})
    if loss is not None:
        base["loss"] = {**dict.fromkeys(base["loss"], 0.0), **_loss(loss)}
    with Bar(progress, _progress.epochs) as bar:
        how = options("auto", effort, seed, memory), running(precision, threads, memory)
        raw = _sumout.fit(net._raw, lesson, json.dumps(base), *how, bar)
    network = Network(raw.network)
    circuit = None if raw.circuit is None else Circuit(raw.circuit, network)
    history, best = json.loads(raw.history), json.loads(raw.best)
    return Learned(network, circuit, [Epoch(**e) for e in history], best and Epoch(**best), raw.parameters, raw.difference)


def _names(names: Any) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def _examples(net: Network, evidence: Any, labels: Any, targets: list[int], inputs: list[int] | None, given: list[str] | None):
    """The columns of the inputs, and those of the targets."""
    variables = net._variables
    if inputs is None:
        known = range(len(variables.names)) if given is None else {k for name in given for k in net._raw.matching(name)}
        inputs = sorted(set(known) - set(targets))
    # In an array the labels are the last columns, unless they come apart.
    is_array = isinstance(evidence, np.ndarray)
    rows, columns = _evidence.columns(variables, [*inputs, *targets] if labels is None or not is_array else inputs, evidence)
    if labels is not None:
        if len(targets) != 1:
            raise Error("options", "labels are those of one target", hint="name it: target=…")
        columns[targets[0]] = variables.column(targets[0], labels)
    batch = _sumout.Batch(rows)
    for k, column in columns.items():
        if len(column) != rows:
            raise Error("evidence", f"there are {rows} examples, and {len(column)} of `{variables.names[k]}`")
        (batch.likelihoods if column.ndim == 2 else batch.values)(k, column)
    return batch


def _learning(method: Method, preset: str, has_target: bool, seed: int) -> dict[str, Any]:
    if method not in ("adam", "sgd", "em"):
        raise Error("options", f"unknown method `{method}`", hint="use `adam`, `sgd` or `em`")
    base = json.loads(_sumout.learning("em" if method == "em" else preset))
    base["seed"] = seed
    if not has_target and method != "em":
        base["loss"] = {"cross_entropy": 0.0, "squared_error": 0.0, "likelihood": 1.0}
        base["watch"] = "Loss"
    return base


def _method(base: dict[str, Any], method: Method, batch: int | None, rate: float | None) -> None:
    if method == "em":
        return
    how = base["method"]["Gradient"]
    if method == "sgd":
        how["rule"] = {"Sgd": {"momentum": 0.9}}
        how["decay"].update(first=0.5, last=0.05)
    if rate is not None:
        how["decay"].update(first=rate, last=rate / 10)
    if batch is not None:
        how["batch"] = batch


def _starts(base: dict[str, Any], start: Start | None, starts: int | None) -> None:
    if start in ("network", "uniform"):
        base["starts"] = [start.capitalize()]
    elif start == "random" or starts is not None:
        base["starts"] = [{"Random": k} for k in range(1, 1 + (starts or 1))]
    elif start is not None:
        raise Error("options", f"unknown start `{start}`", hint="use `network`, `uniform` or `random`")


def _loss(loss: Mapping[str, float]) -> dict[str, float]:
    known = {"cross_entropy", "squared_error", "likelihood"}
    for name, weight in loss.items():
        if name not in known or not 0 <= weight < float("inf"):
            raise Error("options", f"a loss cannot be {weight} times `{name}`", hint=f"weigh {', '.join(sorted(known))}")
    return dict(loss)
