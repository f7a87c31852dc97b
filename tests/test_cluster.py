"""The example of *On a cluster*: three worker processes, of which one is killed."""

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from intertwine_book import zoo

ROOT = Path(__file__).parents[1]


def example(address: str) -> str:
    """The code of the page, for this cluster and for small networks."""
    section = (ROOT / "book/adapt.md").read_text().partition("(sec-cluster)=")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    assert "tcp://scheduler:8786" in code and '"width": 16' in code
    code = code.replace("tcp://scheduler:8786", address).replace('"width": 16', '"width": 2')
    return code.replace('zoo.RECIPES["digits"]', "short")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the cluster, not ours
def test_three_workers_train_sixteen_networks_and_stitch_their_pairs_though_one_is_killed(
    tmp_path, monkeypatch
):
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    monkeypatch.setenv("INTERTWINE_ZOO", str(tmp_path / "zoo"))
    workers = {"n_workers": 3, "threads_per_worker": 1, "local_directory": str(tmp_path / "workers")}
    killed: list[int] = []  # how many networks were stored then
    with (
        distributed.LocalCluster(**workers, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        first, *others = client.run(os.getpid).values()
        assert len({first, *others, os.getpid()}) == 4  # processes of their own

        def kill() -> None:
            while not (stored := [*(tmp_path / "zoo").rglob("*.pt")]):
                time.sleep(0.05)
            os.kill(first, signal.SIGKILL)
            killed.append(len(stored))

        threading.Thread(target=kill, daemon=True).start()
        names: dict = {"short": replace(zoo.RECIPES["digits"], epochs=2)}
        exec(example(cluster.scheduler_address), names)
        names["client"].close()
    assert killed and killed[0] < 16 == len([*(tmp_path / "zoo").rglob("*.pt")])
    assert len(names["accuracies"]) == 8 and min(names["accuracies"]) > 0.05
    one_thread = {"n_jobs": torch.get_num_threads()}  # each, as a worker has
    for seed in (0, 15):
        (alone,) = zoo.get(names["spec"], [seed], root=tmp_path / "alone", device="cpu", **one_thread)
        there = names["networks"][seed].state_dict()
        assert all(torch.equal(x, there[name]) for name, x in alone.network.state_dict().items())
