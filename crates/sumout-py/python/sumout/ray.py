"""Evaluates a circuit on Ray Data: as many rows as there are machines for.

>>> import ray, sumout, sumout.ray                                               # doctest: +SKIP
>>> circuit = sumout.read("asia").compile("lung", given=["xray", "dysp"])        # doctest: +SKIP
>>> cases = ray.data.read_parquet("s3://clinic/cases")                           # doctest: +SKIP
>>> sumout.ray.evaluate(cases, circuit).write_parquet("s3://clinic/answers")     # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np
import ray
import ray.data
from numpy.typing import NDArray

from ._circuit import Circuit
from ._options import Precision
from ._scale import Worker


def evaluate(
    dataset: ray.data.Dataset,
    circuit: Circuit,
    *,
    concurrency: int | tuple[int, int] = 1,
    batch_size: int = 4096,
    precision: Precision = "f64",
    threads: int = 1,
    **options: Any,
) -> ray.data.Dataset:
    """The rows of a dataset with answers beside them: a column ``VARIABLE=VALUE`` for each value that is asked for,
    ``log_evidence``, and whether the evidence is ``impossible``.

    Columns that are inputs of the circuit are evidence, as in ``circuit.evaluate``; others are kept. The circuit goes to Ray's store
    once, and each of ``concurrency`` actors loads it once. Other options are those of ``map_batches``, as ``num_cpus``.
    """
    worker = ray.put(Worker(circuit, precision, threads))
    return dataset.map_batches(
        _Actor, fn_constructor_args=(worker,), batch_format="numpy", batch_size=batch_size, concurrency=concurrency, **options
    )


class _Actor:
    def __init__(self, worker: Any):
        self.worker: Worker = ray.get(worker)

    def __call__(self, rows: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return {**rows, **self.worker({name: np.asarray(cells) for name, cells in rows.items()})}
