"""Networks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _draw, _evidence, _fit, _frames, _score, _sumout
from ._answers import Explanation, Information, JointPosterior, MarginalMap, Parameter, Posterior, Posteriors, Sensitivity
from ._causal import Causal
from ._circuit import Circuit
from ._draw import Picture
from ._errors import Error, ImpossibleEvidence
from ._fit import Learned
from ._options import Level, check_seed, count, options, running
from ._report import Report
from ._structure import Graph, Names, names_of
from ._values import Finding, Variables, array_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = NDArray[np.float64]


class Network(Causal, Graph):
    """A Bayesian or a Markov network. :func:`read` reads one, and a :class:`Builder` builds one."""

    def __init__(self, raw: _sumout.Network, typed: Mapping[str, Sequence[Any]] | None = None):
        self._raw = raw
        self._variables = Variables(raw.variables(), typed)
        self._factors = raw.factors()

    # Properties

    @property
    def name(self) -> str:
        """The name that the file or the builder gave it."""
        return self._raw.name()

    @property
    def variables(self) -> list[str]:
        """The names of all variables; in a Bayesian network, parents before children."""
        return list(self._variables.names)

    def __len__(self) -> int:
        return len(self._variables.names)

    def __contains__(self, name: object) -> bool:
        return name in self._variables.index

    def __repr__(self) -> str:
        kind = "Markov" if self.is_markov else "Bayesian"
        functions = sum(is_function for _, is_function, _ in self._factors)
        return f"<sumout.Network {self.name!r}: {kind}, {len(self)} variables, {functions} functions>"

    def values(self, variable: str) -> list[Any]:
        """The values of a variable, in order: as the builder was given them, or their names."""
        return list(self._variables.values[self._raw.find(variable)])

    def is_functional(self, variable: str) -> bool:
        """Whether the variable is known to be a function of its parents."""
        return not self.is_markov and self._factors[self._raw.find(variable)][1]

    @overload
    def cpt(self, variable: str, *, frame: Literal[False] = ...) -> Array: ...
    @overload
    def cpt(self, variable: str, *, frame: bool) -> Any: ...

    def cpt(self, variable: str, *, frame: bool = False) -> Any:
        """The CPT of a variable: an axis for each parent, and the last for the variable itself.

        With ``frame``, a data frame of pandas: a row for each joint state of the parents, and a column for each value.
        """
        at = self._raw.find(variable)
        if self.is_markov:
            raise Error("unsupported", "a Markov network has no CPTs", hint="`factors()` has its potentials")
        if frame:
            parents = {name: self.values(name) for name in self.parents(variable)}
            return _frames.cpt(parents, self._variables.names[at], self.values(variable), self._table(at))
        return self._table(at)

    def factors(self) -> list[tuple[list[str], Array]]:
        """All factors: the variables of the axes, and the numbers."""
        names = self._variables.names
        return [([names[k] for k in scope], self._table(at)) for at, (scope, _, _) in enumerate(self._factors)]

    def _table(self, factor: int) -> Array:
        shape = [len(self._variables.texts[k]) for k in self._factors[factor][0]]
        return self._raw.table(factor).reshape(shape)

    def matching(self, pattern: str) -> list[str]:
        """The variables whose names match a pattern such as ``pixel_*``."""
        return [self._variables.names[k] for k in self._raw.matching(pattern)]

    # Answers

    @overload
    def query(
        self,
        target: str,
        *,
        given: Mapping[str, Finding] | None = ...,
        do: Mapping[str, Any] | None = ...,
        level: Level = ...,
        effort: float = ...,
        seed: int = ...,
        memory: int | str | None = ...,
    ) -> Posterior: ...
    @overload
    def query(
        self,
        target: None = ...,
        *,
        joint: Iterable[str],
        given: Mapping[str, Finding] | None = ...,
        do: Mapping[str, Any] | None = ...,
        level: Level = ...,
        effort: float = ...,
        seed: int = ...,
        memory: int | str | None = ...,
    ) -> JointPosterior: ...
    @overload
    def query(
        self,
        target: Iterable[str] | None = ...,
        *,
        given: Mapping[str, Finding] | None = ...,
        do: Mapping[str, Any] | None = ...,
        level: Level = ...,
        effort: float = ...,
        seed: int = ...,
        memory: int | str | None = ...,
    ) -> Posteriors: ...

    def query(
        self,
        target: str | Iterable[str] | None = None,
        *,
        joint: Iterable[str] | None = None,
        given: Mapping[str, Finding] | None = None,
        do: Mapping[str, Any] | None = None,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
    ) -> Any:
        """The posterior of a variable: ``{value: p}``. Of several, or of all if none is named: ``{variable: {value: p}}``.

        With ``joint=("lung", "tub")`` it is the joint posterior of several variables: ``{("yes", "no"): p}``, which also is an array with
        an axis for each of them, its ``table``. Evidence is the name of a value, or a likelihood for each value. Variables of ``do`` are
        set from outside, as :meth:`intervene` does; evidence is seen afterwards.
        """
        if do:
            changed: Any = self.intervene(do)
            return changed.query(target, joint=joint, given=given, level=level, effort=effort, seed=seed, memory=memory)
        names = _targets(target, joint)
        asked = [self._raw.find(name) for name in names]
        found, log = self._raw.query(asked, joint is not None, self._findings(given), options(level, effort, seed, memory))
        if log == float("-inf"):
            raise ImpossibleEvidence
        if joint is not None:
            return JointPosterior(names, [self._variables.values[k] for k in asked], found[0][1], log)
        each = {self._variables.names[k]: self._posterior(k, numbers, log) for k, numbers in found}
        return each[target] if isinstance(target, str) else Posteriors(each, log)

    def _posterior(self, variable: int, numbers: list[float], log: float) -> Posterior:
        return Posterior(self._variables.names[variable], self._variables.values[variable], numbers, log)

    def log_evidence(
        self,
        given: Mapping[str, Finding],
        *,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
    ) -> float:
        """ln P(given), in a Markov network ln Z(given); negative infinity if that is impossible."""
        findings = self._findings(given)
        some = [k for k, _ in [*findings[0], *findings[1]]][:1] or [0]
        return self._raw.query(some, False, findings, options(level, effort, seed, memory))[1]

    @overload
    def mpe(
        self,
        given: Mapping[str, Finding] | None = ...,
        *,
        k: None = ...,
        level: Level = ...,
        effort: float = ...,
        seed: int = ...,
        memory: int | str | None = ...,
    ) -> Explanation: ...
    @overload
    def mpe(
        self,
        given: Mapping[str, Finding] | None = ...,
        *,
        k: int,
        level: Level = ...,
        effort: float = ...,
        seed: int = ...,
        memory: int | str | None = ...,
    ) -> list[Explanation]: ...

    def mpe(
        self,
        given: Mapping[str, Finding] | None = None,
        *,
        k: int | None = None,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
    ) -> Any:
        """The most probable values of all variables together: ``{variable: value}``, with ``log_probability``.

        With ``k``, a list of the ``k`` most probable ones in order, each also with its ``probability`` given the evidence and its
        ``rank``; fewer if no more are possible.
        """
        if k is not None:
            return self._best(k, self._findings(given), options(level, effort, seed, memory))
        values, log = self._raw.mpe(self._findings(given), options(level, effort, seed, memory))
        if values is None:
            raise ImpossibleEvidence
        best = zip(self._variables.names, self._variables.values, values)
        return Explanation({name: names[at] for name, names, at in best}, log)

    @overload
    def map(
        self,
        variables: Names,
        given: Mapping[str, Finding] | None = ...,
        *,
        k: None = ...,
        time_limit: float | None = ...,
        level: Level = ...,
        effort: float = ...,
        seed: int = ...,
        memory: int | str | None = ...,
    ) -> MarginalMap: ...
    @overload
    def map(
        self,
        variables: Names,
        given: Mapping[str, Finding] | None = ...,
        *,
        k: int,
        time_limit: float | None = ...,
        level: Level = ...,
        effort: float = ...,
        seed: int = ...,
        memory: int | str | None = ...,
    ) -> list[MarginalMap]: ...

    def map(
        self,
        variables: Names,
        given: Mapping[str, Finding] | None = None,
        *,
        k: int | None = None,
        time_limit: float | None = None,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
    ) -> Any:
        """Marginal MAP: the values of some variables that are most probable together, the others summed out.

        ``variables`` are names or patterns such as ``ok_*``. With ``k``, a list of the ``k`` best. After ``time_limit`` seconds
        the search ends with the best so far and an upper bound, and is then not ``proved``.
        """
        asked = self._matching(variables)
        if time_limit is not None and not 0 < time_limit < 1e9:
            raise Error("options", f"the time limit is {time_limit}", hint="give a number of seconds")
        findings, how = self._findings(given), options(level, effort, seed, memory)
        best, bound, proved, nodes, log = self._raw.map(asked, count(1 if k is None else k), findings, how, time_limit)
        if log == float("-inf"):
            raise ImpossibleEvidence
        found = [
            MarginalMap(self._named(asked, values), of, min(1.0, float(np.exp(of - log))), bound, proved, nodes) for values, of in best
        ]
        if not found:
            raise Error("interrupted", f"nothing was found in time; ln P is at most {bound:.6g}", hint="raise `time_limit`")
        return found[0] if k is None else found

    def information(
        self,
        target: str,
        given: Mapping[str, Finding] | None = None,
        *,
        among: Names = (),
        after: Names = (),
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
    ) -> Information:
        """The variables to observe next: by how many bits each is expected to reduce the entropy of ``target``, the largest first.

        Of those not observed yet, or ``among`` some, by name or by pattern. ``after`` names variables that will be observed
        before, whatever they turn out to be.
        """
        findings, how = self._findings(given), options(level, effort, seed, memory)
        found = self._raw.information(self._raw.find(target), self._matching(among), self._matching(after), findings, how)
        if found is None:
            raise ImpossibleEvidence
        entropy, gains = found
        return Information({self._variables.names[v]: bits for v, bits in gains}, entropy)

    def sensitivity(
        self,
        target: str,
        value: Any,
        given: Mapping[str, Finding] | None = None,
        *,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
    ) -> Sensitivity:
        """How the probability of a value depends on each number of the CPTs, those that matter most first.

        A number varies with the others of its row in proportion. Numbers that are 0 or 1 stay.
        """
        asked, _ = self._findings({target: value})
        if not asked:
            raise Error("options", f"{value!r} is not a value of `{target}`", hint="give one of its values")
        found = self._raw.sensitivity(*asked[0], self._findings(given), options(level, effort, seed, memory))
        if found is None:
            raise ImpossibleEvidence
        probability, numbers = found
        scopes = [scope for scope, _, _ in self._raw.factors()]
        items = [
            Parameter(*self._states(scopes[child], entry), number, slope, ends, function)
            for (child, entry), (number, slope), ends, function in numbers
        ]
        return Sensitivity(items, probability)

    def _states(self, scope: list[int], entry: int) -> tuple[str, Any, dict[str, Any]]:
        """The variable of an entry of a CPT and its value, and the values of its parents."""
        places = np.unravel_index(entry, [len(self._variables.values[v]) for v in scope])
        states = self._named(scope, [int(at) for at in places])
        name = self._variables.names[scope[-1]]
        return name, states.pop(name), states

    def _matching(self, names: Names) -> list[int]:
        patterns = [names] if isinstance(names, str) else names
        return list(dict.fromkeys(found for name in patterns for found in self._raw.matching(name)))

    def _named(self, variables: list[int], values: list[int]) -> dict[str, Any]:
        return {self._variables.names[v]: self._variables.values[v][at] for v, at in zip(variables, values)}

    def _best(self, k: int, findings, how) -> list[Explanation]:
        found = self._raw.explanations(count(k), findings, how)
        if not found:
            raise ImpossibleEvidence
        names, values = self._variables.names, self._variables.values
        return [
            Explanation({name: of[at] for name, of, at in zip(names, values, best)}, log, probability, rank, is_cut)
            for best, log, probability, rank, is_cut in found
        ]

    # Circuits

    def compile(
        self,
        target: Names | None = None,
        *,
        joint: Iterable[str] | None = None,
        given: Names = (),
        hard: Names = (),
        trainable: Names | None = None,
        families: bool = False,
        mpe: bool = False,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
        near: float = 0.0,
    ) -> Circuit:
        """Compiles a query into a circuit.

        Without a target it asks for all variables; ``joint=("lung", "tub")`` asks for the joint posterior of several, and ``mpe=True`` for the most probable values of all together. ``given`` names
        the inputs, by name or by pattern such as ``pixel_*``: in each example they have a value, a likelihood, or nothing. Those of
        ``hard`` have a value in every example. CPTs of ``trainable`` variables can be changed afterwards.
        """
        query = _question(_targets(target, joint), joint is not None, given, hard, trainable, families, mpe)
        how: tuple[Any, ...] = (level, effort, seed, memory, near)
        return Circuit(self._raw.compile(_sumout.Query(*query), options(*how)), self, (query, how))

    def plan(
        self,
        target: Names | None = None,
        *,
        joint: Iterable[str] | None = None,
        given: Names = (),
        hard: Names = (),
        trainable: Names | None = None,
        mpe: bool = False,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
    ) -> Report:
        """The cost of compiling a query. Nothing of its size is allocated, so no query is refused for its size."""
        query = _question(_targets(target, joint), joint is not None, given, hard, trainable, False, mpe)
        return Report(self._raw.plan(_sumout.Query(*query), options(level, effort, seed, None)))

    # Learning

    def fit(self, data: Any, labels: Any = None, **options: Unpack[_fit.Options]) -> Learned:
        """Learns the CPTs of the network from examples.

        ``data`` is a table or a dictionary of columns, with a column for each variable of which something is known; or, if ``given``
        names the inputs, an array. With a ``target`` the circuit for it is trained to predict its labels, which are a column of the data
        or given as ``labels``; without one the likelihood is maximised: complete examples are counted, unless an option of
        training is given. ``method="em"`` is expectation–maximisation, and counting where the examples are complete.

        A variable without a column is an error, unless ``hidden`` names it: a misspelt column would be ignored otherwise.

        The data and their roles: ``target``, ``given``, ``hidden``, ``weights`` (of examples), ``train`` and ``freeze`` (names of variables), ``strict_ties``
        (refuse ties of CPTs of different shapes), ``snap`` (make CPTs that are declared functional functions, after training).

        How: ``preset`` ("default", "paper" or "em"), and what overrides it: ``method`` ("adam", "sgd" or "em"), ``loss`` (weights of
        "cross_entropy", "squared_error" and "likelihood"), ``start`` ("network", "uniform" or "random"), ``starts``, ``epochs``, ``patience``
        (early stopping), ``batch`` (batch size), ``rate`` (initial learning rate, or a pair with the final one), ``schedule`` ("constant",
        "linear" or "cubic"), ``decay`` (epochs over which the learning rate decays), ``momentum``, ``validation`` (fraction held out), ``prior``
        (pseudo-counts), ``temperature`` and ``slope`` (of the first epoch and of the last), ``seed``.

        ``checkpoint`` is a file in which the state is saved after each epoch, and from which ``resume`` continues; it is removed in the end.
        ``level``, ``effort``, ``threads``, ``precision`` and ``memory`` are as everywhere; ``progress`` shows or hides the bar.

        The same data, options and seed give the same numbers as ``sumout fit``.
        """
        return _fit.fit(self, data, labels, **options)

    def log_likelihood(self, data: Any, *, strict: bool = False) -> float:
        """The sum of ln P of all cases, whose cells may be missing; negative infinity if one of them is impossible."""
        positions, given = _evidence.columns(self._variables, list(range(len(self))), data, strict)
        names = [self._variables.names[k] for k in given]
        circuit = self.compile(given=names, effort=0.1)
        batch = _sumout.Batch(positions)
        for k, column in given.items():
            (batch.likelihoods if column.ndim == 2 else batch.values)(k, column)
        return float(circuit._raw.evaluate(batch, running("f64"), False)[1].sum())

    def score(self, data: Any, kind: _score.Score = "bic", *, sample_size: float = 10.0) -> float:
        """A score of the structure on complete cases, the higher the better.

        ``"log_likelihood"`` is that of the parameters that fit best; ``"aic"`` and ``"bic"`` subtract a penalty for each parameter;
        ``"bdeu"`` is ln P of the cases under a uniform prior worth ``sample_size`` cases.
        """
        return _score.score(self, data, kind, sample_size)

    def with_cpts(self, cpts: Mapping[str, ArrayLike]) -> Network:
        """The same network with other numbers in some CPTs: arrays with an axis for each parent, and the last for the variable."""
        tables = []
        for name, cpt in cpts.items():
            parents = {parent: self.values(parent) for parent in self.parents(name)}
            found = _frames.labelled(cpt, parents, name, self.values(name))
            table, wanted = np.asarray(cpt if found is None else found, dtype=np.float64), self.cpt(name).shape
            if table.shape != wanted:
                raise Error("model", f"the CPT of `{name}` has the shape {table.shape}, and not {wanted}")
            if (table < 0).any() or not np.allclose(table.sum(axis=-1), 1, atol=1e-6):
                raise Error("model", f"rows of the CPT of `{name}` are not probabilities", hint="each sums to one")
            tables.append((self._raw.find(name), table))
        return Network(self._raw.with_tables(tables), self._variables.typed)

    @property
    def picture(self) -> Picture:
        """The network in layers, parents above children."""
        functional = {name for name in self if self.is_functional(name)}
        return Picture(_draw.network({name: self.parents(name) for name in self}, functional))

    def _repr_html_(self) -> str:
        if self.is_markov or not 0 < len(self) <= _draw.MOST_NODES:
            functions = sum(is_function for _, is_function, _ in self._factors)
            kind = "Markov network" if self.is_markov else "Bayesian network"
            rows = [(kind, self.name), ("variables", str(len(self))), ("known functions", str(functions))]
            return _draw.table(rows)
        return self.picture._repr_html_()

    # Data and files

    def sample(self, rows: int, *, given: Mapping[str, Finding] | None = None, seed: int = 0) -> dict[str, NDArray[Any]]:
        """Draws cases, exactly from the posterior given evidence if there is some: for each variable, its values, or their names.

        The same seed gives the same cases.
        """
        positions = self.sample_positions(rows, given=given, seed=seed)
        pairs = zip(self._variables.names, self._variables.values, positions.T)
        return {name: array_of(values)[column] for name, values, column in pairs}

    def sample_positions(self, rows: int, *, given: Mapping[str, Finding] | None = None, seed: int = 0) -> NDArray[np.int32]:
        """The same as positions of values: a row for each case, a column for each variable."""
        if rows < 0:
            raise Error("options", f"there cannot be {rows} cases")
        check_seed(seed)
        findings = self._findings(given)
        if not any(findings) and not self.is_markov:
            return self._raw.sample(rows, seed)
        found = self._raw.sample_given(rows, seed, findings)
        if found is None:
            raise ImpossibleEvidence
        return found

    def write(self, path: str | PathLike[str], *, format: str | None = None, lossy: bool = False) -> None:
        """Writes the network to a file, in the format that its extension names: bif, xmlbif, uai, net, xdsl or json, and .gz.

        Information that the format cannot represent is an error; with ``lossy`` it is dropped.
        """
        self._raw.write(path, format, lossy)

    def to_string(self, format: str, *, lossy: bool = False) -> str:
        """The network as text in a format."""
        return self._raw.to_string(format, lossy)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._raw.to_string("json", False), self._variables.typed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self._raw.to_string("json", False) == other._raw.to_string("json", False)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]


def read(path: str | PathLike[str], *, format: str | None = None, normalize: bool = False) -> Network:
    """Reads a network from a file, or one that is built in: ``asia``, or a model such as ``rect:10``.

    The format is told from the extension, or else from the content. Rows of CPTs whose numbers are rounded are rescaled, with a
    warning; with ``normalize``, so are all others that do not sum to one, which are refused otherwise.
    """
    return _noted(_sumout.Network.read(path, format, normalize), f"`{path}`: ")


def reads(text: str | bytes, *, format: str | None = None, normalize: bool = False) -> Network:
    """Reads a network from text."""
    data = text.encode() if isinstance(text, str) else text
    return _noted(_sumout.Network.parse("<text>", data, format, normalize), "")


def _noted(raw: _sumout.Network, origin: str) -> Network:
    """The network that was read, with warnings for its notes."""
    for note in raw.notes():
        warnings.warn(origin + note, stacklevel=3)
    return Network(raw)


def convert(source: str | PathLike[str], target: str | PathLike[str], *, lossy: bool = False) -> None:
    """Writes a network in another format: that of the second file's extension."""
    read(source).write(target, lossy=lossy)


def _unpickled(text: str, typed: Mapping[str, Sequence[Any]]) -> Network:
    return Network(reads(text, format="json")._raw, typed)


def _targets(target: Names | None, joint: Iterable[str] | None) -> list[str]:
    if joint is None:
        return names_of(target or ())
    if target is not None or isinstance(joint, str):
        hint = 'write `joint=("lung", "tub")`, without other targets'
        raise Error("options", "`joint` names the variables that are asked for together", hint=hint)
    return list(joint)


def _question(
    targets: list[str], joint: bool, given: Names, hard: Names, trainable: Names | None, families: bool, mpe: bool
) -> tuple[Any, ...]:
    if targets and mpe:
        raise Error("options", f"`{targets[0]}` cannot be asked for with `mpe=True`, which explains all variables together")
    train = None if trainable is None else names_of(trainable)
    return targets, joint, names_of(given), names_of(hard), train, families, mpe


_fit.shown(Network.fit, "self", "data", "labels")
