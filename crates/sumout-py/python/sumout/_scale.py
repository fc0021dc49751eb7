"""Shared by Ray and Dask: a circuit that is loaded once in each process, and its answers as columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._circuit import Circuit
from ._options import Precision

_loaded: dict[str, Circuit] = {}
"""The circuits that came into this process, by what they are."""


class Worker:
    """Evaluates tables of evidence. It can be sent anywhere; its circuit is loaded when it first arrives in a process."""

    def __init__(self, circuit: Circuit, precision: Precision = "f64", threads: int = 1):
        self.circuit, self.threads = circuit, threads
        self.precision: Precision = precision

    def __call__(self, evidence: Any) -> dict[str, NDArray[Any]]:
        """A column ``VARIABLE=VALUE`` for each value that is asked for, ``log_evidence``, and whether it is ``impossible``."""
        if isinstance(evidence, Mapping):
            evidence = {name: cells for name, cells in evidence.items() if name in self.circuit.inputs}
        answers = self.circuit.evaluate(evidence, precision=self.precision, threads=self.threads)
        posterior = answers.posterior if isinstance(answers.posterior, dict) else {self.circuit.targets[0]: answers.posterior.reshape(len(answers.log_evidence), -1)}
        columns = {title: column for name, table in posterior.items() for title, column in zip(self._titles(name), table.T)}
        return {**columns, "log_evidence": answers.log_evidence, "impossible": answers.impossible}

    def empty(self) -> dict[str, NDArray[Any]]:
        """The columns of no examples at all."""
        titles = [title for name in self.circuit.targets for title in self._titles(name)]
        numbers = {title: np.zeros(0) for title in [*titles, "log_evidence"]}
        return {**numbers, "impossible": np.zeros(0, dtype=bool)}

    def _titles(self, variable: str) -> list[str]:
        return [f"{variable}={value}" for value in self.circuit.values(variable)]

    def __reduce__(self) -> tuple[Any, ...]:
        data = self.circuit.to_bytes()
        return _arrive, (hashlib.sha256(data).hexdigest(), data, self.precision, self.threads)


def _arrive(digest: str, data: bytes, precision: Precision, threads: int) -> Worker:
    if digest not in _loaded:
        _loaded[digest] = Circuit.from_bytes(data)
    return Worker(_loaded[digest], precision, threads)
