"""One circuit on many workers: Ray Data, Dask, and training with DistributedDataParallel.

    python scale_out.py [ray] [dask] [ddp]      all that are installed, if none is named

Each part begins with the same compiled circuit, and ends with the same answers as one process gives.
"""

# Needs: pandas

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import sumout

ROWS = 2_000 if "--quick" in sys.argv else 100_000


def question() -> sumout.Circuit:
    """P(lung | what can be seen)."""
    return sumout.read("asia").compile("lung", given=["asia", "smoke", "xray", "dysp"])


def cases() -> pd.DataFrame:
    """Patients, some of whom were not X-rayed."""
    table = pd.DataFrame(sumout.read("asia").sample(ROWS, seed=0)).drop(columns="lung")
    table.loc[::5, "xray"] = None
    return table.assign(patient=range(ROWS))


def check(answers: pd.DataFrame) -> None:
    found = answers.sort_values("patient")[["lung=yes", "lung=no"]].to_numpy()
    np.testing.assert_array_equal(found, question().posterior(cases()))
    print(f"  {len(found):,} patients, the same answers as in one process")


def on_ray() -> None:
    import ray
    import ray.data
    import sumout.ray

    # The two actors take a processor each; reading and writing need some, too.
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    dataset = ray.data.from_pandas(cases()).repartition(8)
    check(sumout.ray.evaluate(dataset, question(), concurrency=2).to_pandas())
    ray.shutdown()


def on_dask() -> None:
    import dask.dataframe as dd
    import sumout.dask
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster):
        frame = dd.from_pandas(cases(), npartitions=8)
        check(sumout.dask.evaluate(frame, question()).compute())


def learn(rank: int, world: int, folder: str) -> None:
    """One of `world` processes that learn together: each from its part of the patients."""
    import torch
    from sumout.torch import Circuit

    asia = sumout.read("asia")
    layer = Circuit(asia.compile("lung", given=["xray", "dysp"], trainable=["lung", "xray"]), dtype=torch.float64, threads=1)
    model: torch.nn.Module = layer
    if world > 1:
        torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
        model = torch.nn.parallel.DistributedDataParallel(layer)
    cells = dict(zip(asia.variables, torch.from_numpy(asia.sample_positions(1000, seed=1)).long().T))
    part = {name: column[rank::world] for name, column in cells.items()}
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(20):
        optimiser.zero_grad()
        posterior, _ = model(sumout.Positions({"xray": part["xray"], "dysp": part["dysp"]}))
        torch.nn.functional.nll_loss(posterior.log(), part["lung"]).backward()
        optimiser.step()
    if rank == 0:
        torch.save({name: table.detach() for name, table in layer.tables().items()}, Path(folder) / f"{world}.pt")
    if world > 1:
        torch.distributed.destroy_process_group()


def on_ddp() -> None:
    import torch
    from torch.multiprocessing.spawn import spawn

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        spawn(learn, args=(2, folder), nprocs=2)
        learn(0, 1, folder)
        together, alone = torch.load(Path(folder) / "2.pt"), torch.load(Path(folder) / "1.pt")
        for name in alone:
            np.testing.assert_allclose(together[name], alone[name], rtol=0, atol=1e-9)
        print(f"  two processes learned what one did: P(xray) = {alone['xray'].numpy().round(3).tolist()}")


PARTS = {"ray": (on_ray, ["ray"]), "dask": (on_dask, ["dask", "distributed"]), "ddp": (on_ddp, ["torch"])}


if __name__ == "__main__":
    for name in [name for name in PARTS if name in sys.argv] or PARTS:
        run, needs = PARTS[name]
        missing = [module for module in needs if not importlib.util.find_spec(module)]
        print(f"{name}: {'not installed' if missing else 'two workers'}")
        if not missing:
            run()
