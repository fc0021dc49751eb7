"""Interventions, and worlds that differ by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _evidence, _sumout
from ._errors import Error
from ._options import Level, options
from ._values import Finding, Variables

if TYPE_CHECKING:
    from ._network import Network


class Causal:
    """The methods of a network for interventions and counterfactuals."""

    _raw: _sumout.Network
    _variables: Variables

    def intervene(self, settings: Mapping[str, Any]) -> Network:
        """The network in which variables are set to values from outside, whatever their parents are.

        >>> import sumout
        >>> sumout.read("asia").intervene({"smoke": "no"}).query("lung")["yes"]
        0.01...
        """
        return self._changed(self._raw.intervene([self._setting(name, value) for name, value in settings.items()]))

    def with_regimes(self, *names: str) -> Network:
        """The network with a variable ``do(x)`` for each variable named: it sets ``x`` to one of its values, or leaves it to its
        mechanism where it is ``"idle"``.

        As an input that has a value in every example (``hard``), it lets one circuit answer for every intervention.

        >>> import sumout
        >>> circuit = sumout.read("asia").with_regimes("smoke").compile("lung", hard="do(smoke)")
        >>> circuit.posterior({"do(smoke)": "yes"})["lung"]["yes"]
        0.1...
        """
        return self._changed(self._raw.with_regimes(list(names)))

    def with_worlds(self, *names: str) -> Network:
        """The network with variables of other worlds: ``y[x=0]`` is ``y`` if ``x`` were set to ``0`` from outside, for the same unit.

        The variables that an intervention reaches must be functions of their parents; see :meth:`completed`.

        >>> import sumout
        >>> net = sumout.read("rect:4").with_worlds("label[height=v1]")
        >>> round(net.query("label[height=v1]", given={"label": "tall"})["wide"], 4)
        1.0
        """
        return self._changed(self._raw.with_worlds(list(names)))

    def completed(self) -> Network:
        """A structural network with the same distribution: a variable that is random given its parents becomes a function of them and of
        a new root ``response(x)``, and the rows of its CPT are taken to be independent. Counterfactuals depend on that assumption.
        """
        return self._changed(self._raw.completed())

    @property
    def not_structural(self) -> list[str]:
        """The variables that are random given their parents: in another world they could be anything."""
        return [self._variables.names[k] for k in self._raw.not_structural()]

    def causation(
        self,
        cause: tuple[str, Any],
        effect: tuple[str, Any],
        *,
        instead: Any = None,
        given: Mapping[str, Finding] | None = None,
        level: Level = "auto",
        effort: float = 1.0,
        seed: int = 0,
        memory: int | str | None = None,
    ) -> dict[str, float | None]:
        """How much a cause has to do with an effect: the probabilities of ``necessity``, of ``sufficiency`` and of
        ``necessity_and_sufficiency``, the ``effect_on_treated`` and the average ``effect``; None where a condition is impossible.

        The cause is compared with the value ``instead`` of the same variable, by default the other of two.
        """
        (x, value), (y, wanted) = self._setting(*cause), self._setting(*effect)
        other = None if instead is None else self._setting(x, instead)[1]
        findings = self._findings(given)
        found = self._raw.causation((x, value), other, (y, wanted), findings, options(level, effort, seed, memory))
        names = ["necessity", "sufficiency", "necessity_and_sufficiency", "effect_on_treated", "effect"]
        return dict(zip(names, found))

    def _findings(self, given: Mapping[str, Finding] | None) -> tuple[list[tuple[int, int]], list[tuple[int, list[float]]]]:
        if given is not None and not _evidence.is_one(given):
            hint = "give a dictionary: `given={variable: value}`; many examples are answered by a circuit: `net.compile(…)`"
            raise Error("evidence", f"{given!r} is not evidence for one query", hint=hint)
        found = _evidence.findings(self._variables, self._variables.index, self._raw.find, {} if given is None else given)
        soft = [(variable, likelihood) for variable, likelihood in found if isinstance(likelihood, list)]
        return [(variable, at) for variable, at in found if isinstance(at, int)], soft

    def _setting(self, name: str, value: Any) -> tuple[str, str]:
        at = self._raw.find(name)
        return name, self._variables.texts[at][self._variables.position(at, value)]

    def _changed(self, raw: _sumout.Network) -> Network:
        """A network with more variables: those of other worlds have values of the same types."""
        from ._network import Network

        typed: dict[str, Sequence[Any]] = dict(self._variables.typed)
        for name, _ in raw.variables():
            base = name.split("[")[0]
            if name not in typed and base in typed:
                typed[name] = typed[base]
        return Network(raw, typed)
