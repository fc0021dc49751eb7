"""Circuits on Ray Data and on Dask, with two workers each."""

import os
import pickle

import numpy as np
import pytest
import sumout

pd = pytest.importorskip("pandas")
from sumout import _scale  # noqa: E402

ROWS = 1000


@pytest.fixture(scope="module")
def circuit():
    return sumout.read("asia").compile("lung", given=["xray", "dysp", "either", "tub"])


@pytest.fixture(scope="module")
def cases():
    """Sampled cases with missing cells, an impossible one, and a column that is no variable."""
    table = pd.DataFrame(sumout.read("asia").sample(ROWS, seed=2)).drop(columns="lung")
    table.loc[::7, "xray"] = None
    table.loc[5, ["either", "tub"]] = ["no", "yes"]
    return table.assign(case=np.arange(ROWS))


def check(answers, circuit, cases):
    """The same rows with the same answers, whoever computed them."""
    answers = answers.sort_values("case").reset_index(drop=True)
    wanted = circuit.evaluate(cases)
    assert list(answers["case"]) == list(cases["case"]) and wanted.impossible.sum() == 1
    np.testing.assert_array_equal(answers[["lung=yes", "lung=no"]], wanted.posterior)
    np.testing.assert_array_equal(answers["log_evidence"], wanted.log_evidence)
    np.testing.assert_array_equal(answers["impossible"], wanted.impossible)


def test_a_circuit_is_loaded_once_in_a_process(circuit, cases):
    data = pickle.dumps(_scale.Worker(circuit))
    first, second = pickle.loads(data), pickle.loads(data)
    assert first.circuit is second.circuit is not circuit
    check(pd.concat([cases, pd.DataFrame(first(cases))], axis=1), circuit, cases)
    everything = _scale.Worker(sumout.read("asia").compile(given=["xray"]))
    assert list(everything(cases)) == list(everything.empty()) and len(everything.empty()) == 18


def test_dask(circuit, cases):
    dd = pytest.importorskip("dask.dataframe")
    distributed = pytest.importorskip("distributed")
    import sumout.dask

    frame = dd.from_pandas(cases, npartitions=8)
    check(sumout.dask.evaluate(frame, circuit).compute(scheduler="sync"), circuit, cases)
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        answers = sumout.dask.evaluate(frame, circuit)
        where = answers.map_partitions(lambda part: part.assign(worker=os.getpid()), meta=answers._meta.assign(worker=0))
        found = where.compute()
        loads = client.run(lambda: (os.getpid(), len(_scale._loaded)))
    check(found, circuit, cases)
    assert set(found["worker"]) <= {pid for pid, _ in loads.values()} and os.getpid() not in set(found["worker"])
    assert len(set(found["worker"])) == 2
    assert [count for _, count in loads.values()] == [1, 1]


def test_ray(circuit, cases):
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    import sumout.ray

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        dataset = ray.data.from_pandas(cases).repartition(8)
        answers = sumout.ray.evaluate(dataset, circuit, concurrency=2, batch_size=100)
        check(answers.to_pandas(), circuit, cases)
    finally:
        ray.shutdown()
