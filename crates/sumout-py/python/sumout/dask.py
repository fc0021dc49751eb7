"""Evaluates a circuit on Dask: as many rows as there are machines for.

>>> import dask.dataframe, sumout, sumout.dask                                   # doctest: +SKIP
>>> circuit = sumout.read("asia").compile("lung", given=["xray", "dysp"])        # doctest: +SKIP
>>> cases = dask.dataframe.read_parquet("s3://clinic/cases")                     # doctest: +SKIP
>>> sumout.dask.evaluate(cases, circuit).to_parquet("s3://clinic/answers")       # doctest: +SKIP
"""

from __future__ import annotations

import dask.dataframe as dd
import pandas as pd

from ._circuit import Circuit
from ._options import Precision
from ._scale import Worker


def evaluate(frame: dd.DataFrame, circuit: Circuit, *, precision: Precision = "f64", threads: int = 1) -> dd.DataFrame:
    """The rows of a frame with answers beside them: a column ``VARIABLE=VALUE`` for each value that is asked for,
    ``log_evidence``, and whether the evidence is ``impossible``.

    Columns that are inputs of the circuit are evidence, as in ``circuit.evaluate``; others are kept. Partitions are evaluated where
    they are, and each worker process loads the circuit once.
    """
    worker = Worker(circuit, precision, threads)
    meta = pd.concat([frame._meta, pd.DataFrame(worker.empty(), index=frame._meta.index[:0])], axis=1)
    return frame.map_partitions(_answer, worker, meta=meta)


def _answer(part: pd.DataFrame, worker: Worker) -> pd.DataFrame:
    columns = worker(part) if len(part) else worker.empty()
    return pd.concat([part, pd.DataFrame(columns, index=part.index)], axis=1)
