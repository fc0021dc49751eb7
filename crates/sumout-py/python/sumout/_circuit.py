"""Compiled queries."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _draw, _evidence, _fit, _frames, _options, _progress, _sumout
from ._answers import Answers, Explanation, Explanations, JointPosterior, Posterior, Posteriors
from ._errors import Error, ImpossibleEvidence, suggest
from ._fit import Learned
from ._options import Precision, count, running
from ._progress import Bar
from ._report import Report
from ._values import Finding, Variables

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._network import Network

Array = NDArray[np.float64]
Question = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The arguments of a query, and of its options."""


class Circuit:
    """A query, compiled: answers any number of examples. :meth:`Network.compile` makes one, and :func:`load` reads one."""

    def __init__(
        self, raw: _sumout.Circuit, network: Network | None = None, question: Question | None = None, typed: Mapping[str, list[Any]] | None = None
    ):
        self._raw = raw
        self._network = network
        self._question = question
        self._variables = Variables(raw.variables(), network._variables.typed if network is not None else typed)
        self._inputs = raw.inputs()
        self._targets = raw.targets()
        self._allowed = {self._variables.names[k]: k for k in self._inputs}
        self._together = raw.together()

    # Properties

    @property
    def inputs(self) -> list[str]:
        """The variables that evidence is about, in the order in which they were given: that of the columns of an array."""
        return [self._variables.names[k] for k in self._inputs]

    @property
    def hard(self) -> list[str]:
        """The inputs that must have a value in every example."""
        return [self._variables.names[k] for k in self._raw.hard()]

    @property
    def targets(self) -> list[str]:
        """The variables that are asked for; several together are one, named ``lung,tub``."""
        return [self._variables.names[k] for k in self._targets]

    def values(self, variable: str) -> list[Any]:
        """The values of a variable, in order: as the builder was given them, or their names."""
        return list(self._variables.values[self._find(variable)])

    def _find(self, name: str) -> int:
        if name not in self._variables.index:
            hint = suggest(str(name), self._variables.names, "its variables")
            raise Error("name", f"`{name}` is not a variable of this circuit's network", hint=hint)
        return self._variables.index[name]

    def __repr__(self) -> str:
        asked = self.targets[0] if self._raw.has_target() else "…"
        given = ", ".join(self.inputs[:6]) + (", …" if len(self._inputs) > 6 else "")
        what = "mpe" if self._raw.explains() else f"P({asked} | {given})"
        return f"<sumout.Circuit {what}>"

    @property
    def network(self) -> Network | None:
        """The network that it was compiled from, or that :meth:`fit` learned; none if it was loaded."""
        return self._network

    def report(self) -> Report:
        """The cost, and the savings of each step: plans the query again, for as long as it took to compile."""
        if self._network is None or self._question is None:
            raise Error("unsupported", "nothing is known of how this circuit was made", hint="`net.compile(…).report()` reports on a plan")
        query, how = self._question
        return Report(self._network._raw.plan(_sumout.Query(*query), _options.options(*how)))

    def _repr_html_(self) -> str:
        given = ", ".join(self.inputs[:12]) + (", …" if len(self._inputs) > 12 else "")
        asked = ", ".join(self.targets[:12]) + (", …" if len(self._targets) > 12 else "")
        rows = [("circuit for", "explanations" if self._raw.explains() else asked), (f"{len(self._inputs)} inputs", given)]
        return _draw.table(rows)

    # Answers

    def evaluate(
        self,
        evidence: Any,
        *,
        precision: Precision = "f64",
        threads: int = 0,
        memory: int | str | None = None,
        progress: bool | None = None,
        strict: bool = False,
    ) -> Answers:
        """The posteriors and ln P(e) of each example of a batch; of one example, a dictionary, they have one row.

        If an input of the circuit has no column in a frame, and a column is not a variable, there is a warning; with ``strict`` either
        is an error. If that takes long, a bar shows how far it is, in terminals and in notebooks, unless ``progress`` is false.
        """
        with Bar(progress, _progress.rows) as bar:
            batch = self._any(evidence, strict)
            posteriors, logs = self._raw.evaluate(batch, running(precision, threads, memory), False, bar)
        if self._together:
            return Answers(posteriors.reshape(-1, *(len(values) for values in self._values_together())), logs)
        if self._raw.has_target():
            return Answers(posteriors, logs)
        return Answers(self._split(self._targets, posteriors), logs)

    def _values_together(self) -> list[list[str]]:
        return [self._variables.values[k] for k in self._together]

    @overload
    def posterior(
        self, evidence: Mapping[str, NDArray[Any]], *, precision: Precision = ..., threads: int = ..., strict: bool = ..., frame: bool = ...
    ) -> Any: ...
    @overload
    def posterior(
        self, evidence: Mapping[str, Finding], *, precision: Precision = ..., threads: int = ..., strict: bool = ..., frame: Literal[False] = ...
    ) -> Posteriors: ...
    @overload
    def posterior(
        self, evidence: Any, *, precision: Precision = ..., threads: int = ..., strict: bool = ..., frame: bool = ...
    ) -> Any: ...

    def posterior(
        self, evidence: Any, *, precision: Precision = "f64", threads: int = 0, strict: bool = False, frame: bool = False
    ) -> Any:
        """The posterior of what is asked for.

        Of one example, a dictionary: ``{variable: {value: p}}``, or ``{(value, value): p}`` of several together. Of many, an array with a row for each, and a column for each value
        of the target; if all variables are asked for, one such array for each of them. Rows of zeros have impossible evidence.

        With ``frame``, a frame as the evidence is, of Polars or else of pandas, with its index and a column for each value. ``strict``
        refuses a frame that lacks inputs, or has columns that are not variables.
        """
        if frame and self._together:
            raise Error("unsupported", "joint posteriors are not given as frames", hint="take the array: `frame=False`")
        if frame:
            found = self.evaluate(evidence, precision=precision, threads=threads, strict=strict).posterior
            tables = found if isinstance(found, dict) else {self.targets[0]: found}
            return _frames.tables(evidence, {name: self.values(name) for name in tables}, tables, _evidence.is_one(evidence))
        if not _evidence.is_one(evidence):
            return self.evaluate(evidence, precision=precision, threads=threads, strict=strict).posterior
        posteriors, logs = self._raw.evaluate(self._one(evidence), running(precision, 1), False)
        log = float(logs[0])
        if log == float("-inf"):
            raise ImpossibleEvidence
        if self._together:
            names = [self._variables.names[k] for k in self._together]
            return JointPosterior(names, self._values_together(), posteriors[0], log)
        parts = self._split(self._targets, posteriors)
        names = self._variables.values
        each = {name: Posterior(name, names[k], parts[name][0], log) for k, name in zip(self._targets, parts)}
        return Posteriors(each, log)

    @overload
    def log_evidence(
        self, evidence: Mapping[str, NDArray[Any]], *, precision: Precision = ..., threads: int = ..., strict: bool = ..., frame: bool = ...
    ) -> Array: ...
    @overload
    def log_evidence(
        self, evidence: Mapping[str, Finding], *, precision: Precision = ..., threads: int = ..., strict: bool = ..., frame: bool = ...
    ) -> float: ...
    @overload
    def log_evidence(
        self, evidence: Any, *, precision: Precision = ..., threads: int = ..., strict: bool = ..., frame: bool = ...
    ) -> Any: ...

    def log_evidence(
        self, evidence: Any, *, precision: Precision = "f64", threads: int = 0, strict: bool = False, frame: bool = False
    ) -> Any:
        """ln P(e), of one example or of each of a batch; negative infinity if the evidence is impossible.

        With ``frame``, a series with the index of the evidence.
        """
        if frame or not _evidence.is_one(evidence):
            logs = self.evaluate(evidence, precision=precision, threads=threads, strict=strict).log_evidence
            return _frames.series(evidence, "log_evidence", logs) if frame else logs
        return float(self._raw.evaluate(self._one(evidence), running(precision, 1), False)[1][0])

    @overload
    def mpe(self, evidence: Mapping[str, NDArray[Any]], *, threads: int = ..., strict: bool = ..., frame: Literal[False] = ...) -> Explanations: ...
    @overload
    def mpe(self, evidence: Mapping[str, Finding], *, threads: int = ..., strict: bool = ..., frame: Literal[False] = ...) -> Explanation: ...
    @overload
    def mpe(self, evidence: Any, *, k: int, threads: int = ..., strict: bool = ...) -> list[Explanations]: ...
    @overload
    def mpe(self, evidence: Any, *, threads: int = ..., strict: bool = ..., frame: bool = ...) -> Any: ...

    def mpe(self, evidence: Any, *, k: int | None = None, threads: int = 0, strict: bool = False, frame: bool = False) -> Any:
        """The most probable values of all variables together, of a circuit that was compiled with ``mpe=True``.

        With ``k``, a list: the best explanation of each example, the second best of each, and so on; of an example that has no more,
        all positions are -1. All variables must be inputs, as they are if none is named when the circuit is compiled.

        With ``frame``, a frame of values with the index of the evidence; missing where the evidence is impossible.
        """
        if k is not None:
            found = self._raw.explain_best(self._any(evidence, strict), count(k), running("f64", threads))
            return [Explanations(self.targets, positions, logs) for positions, logs in found]
        positions, logs = self._raw.explain(self._any(evidence, strict), running("f64", threads))
        if frame:
            named = {self._variables.names[k]: self._values_at(k, column) for k, column in zip(self._targets, positions.T)}
            return _frames.frame(evidence, {**named, "log_probability": logs})
        if not _evidence.is_one(evidence):
            return Explanations(self.targets, positions, logs)
        if np.isneginf(logs[0]):
            raise ImpossibleEvidence
        best = zip(self._targets, positions[0])
        return Explanation({self._variables.names[k]: self._variables.values[k][at] for k, at in best}, float(logs[0]))

    def _values_at(self, variable: int, positions: NDArray[Any]) -> NDArray[Any]:
        """Values at positions, None at negative ones."""
        values = np.empty(len(self._variables.texts[variable]) + 1, dtype=object)
        values[:-1] = self._variables.values[variable]
        return values[positions]

    def marginals(self, evidence: Any, *, precision: Precision = "f64", threads: int = 0) -> dict[str, Array]:
        """The posteriors of all targets, and of all inputs that need not have a value: an array of rows by values for each.

        A circuit that is compiled without a target has those of all variables: see :meth:`posterior`.
        """
        how = running(precision, threads)
        found = self._split(self._targets, self._raw.evaluate(self._any(evidence), how, False)[0])
        hard = set(self._raw.hard())
        soft = sorted(k for k in self._inputs if k not in hard)  # in the order of the network, as they are computed
        if self._raw.has_target() and soft:
            found.update(self._split(soft, self._raw.evaluate(self._any(evidence), how, True)[0]))
        return found

    def families(self, evidence: Any, *, precision: Precision = "f64", threads: int = 0) -> dict[str, Array]:
        """The marginals of all families, of a circuit that was compiled with ``families=True``.

        For each variable and each example, the probability of every joint state of its parents (the last one fastest) and of itself:
        an array of examples by rows of the CPT by values.
        """
        found, logs = self._raw.families(self._any(evidence), running(precision, threads))
        card = {k: len(self._variables.texts[k]) for k, _ in found}
        return {self._variables.names[k]: numbers.reshape(len(logs), -1, card[k]) for k, numbers in found}

    def predict(
        self, evidence: Any, *, precision: Precision = "f64", threads: int = 0, strict: bool = False, frame: bool = False
    ) -> Any:
        """The most probable value of the target, for each example of a batch.

        Names are strings, empty where the evidence is impossible. Values that a builder was given keep their type; where the evidence is
        impossible, the array has ``None``. With ``frame``, a series with the index of the evidence.
        """
        if not self._raw.has_target():
            raise Error("unsupported", "the circuit has no single target", hint="compile it for one")
        found = self.evaluate(evidence, precision=precision, threads=threads, strict=strict)
        best = np.where(found.impossible, -1, np.asarray(found.posterior).argmax(axis=1))
        values = self._named(best)
        return _frames.series(evidence, self.targets[0], values) if frame else values

    def _named(self, positions: NDArray[Any]) -> NDArray[Any]:
        """Values of the target, in an array of their own type if there is one."""
        target = self._targets[0]
        if self.targets[0] not in self._variables.typed:
            return np.array([*self._variables.texts[target], ""])[positions]
        found = self._values_at(target, positions)
        kinds = {type(value) for value in self._variables.values[target]}
        is_plain = len(kinds) == 1 and kinds <= {int, float, bool, str}
        return np.array(found.tolist(), dtype=kinds.pop()) if is_plain and not (positions < 0).any() else found

    def accuracy(self, evidence: Any, labels: Any) -> float:
        """The share of the examples whose most probable value is their label: names of values, or positions.

        Examples without a label do not count; those with impossible evidence are never right.
        """
        if not self._raw.has_target():
            raise Error("unsupported", "the circuit has no single target", hint="compile it for one")
        found = self.evaluate(evidence)
        wanted = self._variables.column(self._targets[0], labels)
        if wanted.shape != found.log_evidence.shape:
            raise Error("evidence", f"there are {len(found.log_evidence)} examples, and labels of shape {wanted.shape}")
        if not (wanted >= 0).any():
            raise Error("evidence", "no example has a label")
        best = np.where(found.impossible, -1, np.asarray(found.posterior).argmax(axis=1))
        return float(np.mean((best == wanted)[wanted >= 0]))

    def fit(self, evidence: Any, labels: Any, **options: Unpack[_fit.CircuitOptions]) -> Learned:
        """Learns the CPTs that are not fixed from examples, and takes them over; see :meth:`Network.fit` for the options.

        ``evidence`` is a batch for this circuit, and ``labels`` the target's values, by name or by position.
        """
        if self._network is None:
            raise Error("unsupported", "the network of this circuit is not known", hint="compile it from a network, and fit that")
        if not self._raw.has_target():
            raise Error("unsupported", "the circuit has no single target", hint="fit the network, or compile it for one target")
        learned = _fit.fit(self._network, evidence, labels, target=self.targets[0], given=self.inputs, _inputs=self._inputs, **options)
        if learned.circuit is not None:
            self._raw, self._network, self._question = learned.circuit._raw, learned.network, None
        return learned

    def _any(self, evidence: Any, strict: bool = False) -> _sumout.Batch:
        if _evidence.is_one(evidence):
            return self._one(evidence)
        return _evidence.batch(self._variables, self._inputs, evidence, strict)

    def _one(self, evidence: Mapping[str, Finding]) -> _sumout.Batch:
        return _evidence.one(self._variables, self._allowed, self._raw.input, evidence)

    def _split(self, variables: list[int], side_by_side: Array) -> dict[str, Array]:
        ends = np.cumsum([len(self._variables.texts[k]) for k in variables])
        parts = np.split(side_by_side, ends[:-1], axis=1)
        return {self._variables.names[k]: part for k, part in zip(variables, parts)}

    # Numbers in, numbers out

    @property
    def parameters(self) -> dict[str, Array]:
        """The CPTs that can be trained: for each joint state of the parents, the last one fastest, a row of probabilities.

        Numbers that nothing depends on are zero.
        """
        return {self._variables.names[k]: self._rows(k, table) for k, table in self._raw.cpts()}

    def likelihoods(self, evidence: Any) -> Array:
        """Any evidence as likelihoods: a row for each example, and side by side the values of all inputs."""
        rows, found = self._columns(evidence)
        parts = []
        for k in self._inputs:
            card, column = len(self._variables.texts[k]), found.get(k)
            if column is None:
                column = np.full(rows, -1)
            if column.ndim == 1:
                column = np.vstack([np.eye(card), np.ones(card)])[column]
            parts.append(column)
        return np.concatenate(parts, axis=1) if parts else np.ones((rows, 0))

    def _columns(self, evidence: Any) -> tuple[int, dict[int, NDArray[Any]]]:
        if not _evidence.is_one(evidence):
            return _evidence.columns(self._variables, self._inputs, evidence)
        found = _evidence.findings(self._variables, self._allowed, self._raw.input, evidence)
        return 1, {k: np.array([one]) for k, one in found}

    def forward(
        self, likelihoods: Array, parameters: Mapping[str, Array] | None = None, *, precision: Precision = "f64", threads: int = 0
    ) -> tuple[Array, Array]:
        """Posteriors of the target and ln P(e), from likelihoods as :meth:`likelihoods` has them.

        Other ``parameters`` may be given for some or all of :attr:`parameters`. If all variables are asked for, the posterior
        has no columns. Where ln P(e) is not a number, numbers are further apart than 64 bits reach.
        """
        given = _side_by_side(likelihoods)
        return self._raw.forward(given, self._tables(parameters), running(precision, threads))

    def backward(
        self,
        likelihoods: Array,
        posterior: Array | None,
        log_evidence: Array | None,
        parameters: Mapping[str, Array] | None = None,
        *,
        precision: Precision = "f64",
        threads: int = 0,
    ) -> tuple[Array, dict[str, Array]]:
        """Derivatives of a number with respect to the likelihoods and to the parameters.

        ``posterior`` and ``log_evidence`` are its derivatives with respect to what :meth:`forward` returns. Examples whose
        evidence is impossible add nothing.
        """
        given = _side_by_side(likelihoods)
        above = None if posterior is None else np.asarray(posterior, dtype=np.float64)
        logs = None if log_evidence is None else np.asarray(log_evidence, dtype=np.float64)
        self._check_above(len(given), above, logs)
        evidence, tables = self._raw.backward(given, self._tables(parameters), above, logs, running(precision, threads))
        return evidence, {self._variables.names[k]: self._rows(k, table) for k, table in tables}

    def _check_above(self, rows: int, posterior: Array | None, logs: Array | None) -> None:
        has_output = self._raw.has_target() or self._together
        width = len(self._variables.texts[self._targets[0]]) if has_output else 0
        for what, array, shape in [("posterior", posterior, (rows, width)), ("log_evidence", logs, (rows,))]:
            if array is not None and array.shape != shape:
                raise Error("evidence", f"`{what}` has the shape {array.shape}, and not {shape}")

    def _rows(self, variable: int, table: Array) -> Array:
        return table.reshape(-1, len(self._variables.texts[variable]))

    def _tables(self, parameters: Mapping[str, Array] | None) -> list[tuple[int, Array]]:
        return [(self._find(name), np.asarray(table, dtype=np.float64).ravel()) for name, table in (parameters or {}).items()]

    # Files

    def export(self, path: str | PathLike[str], *, to: Literal["torch", "numpy", "jax", "onnx"] | None = None) -> None:
        """Writes the circuit as a model of ONNX, or as a program for PyTorch, NumPy or JAX with its numbers beside it.

        Without ``to``, files called ``.onnx`` are models of ONNX, and all others programs for PyTorch.
        """
        self._raw.export(path, to or ("onnx" if fspath(path).endswith(".onnx") else "torch"))

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the circuit to a file, all of it or nothing."""
        self._raw.save(path)

    def to_bytes(self) -> bytes:
        """The bytes that :meth:`save` writes."""
        return self._raw.to_bytes()

    @staticmethod
    def from_bytes(data: bytes) -> Circuit:
        """The circuit that :meth:`to_bytes` was called on."""
        return Circuit(_sumout.Circuit.from_bytes(data))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.to_bytes(), self._network, self._question, self._variables.typed)

    def __copy__(self) -> Circuit:
        return Circuit(self._raw, self._network, self._question, self._variables.typed)

    def __deepcopy__(self, memo: Any) -> Circuit:
        return self.__copy__()


def _side_by_side(likelihoods: Any) -> Array:
    array = np.asarray(likelihoods, dtype=np.float64)
    if array.ndim != 2:
        hint = "a row for each example, and in it the values of all inputs: `circuit.likelihoods` makes one"
        raise Error("evidence", f"the likelihoods have the shape {array.shape}", hint=hint)
    return array


def _unpickled(data: bytes, network: Network | None, question: Question | None, typed: Mapping[str, list[Any]]) -> Circuit:
    return Circuit(_sumout.Circuit.from_bytes(data), network, question, typed)


def load(path: str | PathLike[str]) -> Circuit:
    """Reads a circuit from a file that :meth:`Circuit.save` or ``sumout compile`` wrote."""
    return Circuit(_sumout.Circuit.load(path))


_fit.shown(Circuit.fit, "self", "evidence", "labels", without=("target", "given"))
