"""Legs on a Dask cluster (``-m cluster``): the results of one process, also when a worker dies."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from protocols.loader import load_protocol
from tester.campaign.drawing.options import Options
from tester.campaign_directory import cluster
from tester.campaign_directory.leg_task import LegTask
from tester.cli.verbs.campaign import campaign
from tester.engines.choice import Choice
from tester.errors import ConfigError
from tests.planted.bugs import BY_NAME
from tests.tester.campaign_directory.kept import contents, legs, options


def test_a_job_travels_as_bytes_and_needs_no_files(tmp_path: Path) -> None:
    """Without a cluster: what a worker gets, and what it makes of it."""
    broken = BY_NAME["mi-victim-without-data"].plant(tmp_path)
    protocol = load_protocol(str(broken))
    job = cluster.Job.of(protocol, Options(3, 100, leg_episodes=4), Choice.python)
    for file in tmp_path.iterdir():
        file.unlink()
    there = pickle.loads(pickle.dumps(job))
    tasks = (LegTask(0), LegTask(1))
    _, record = pickle.loads(pickle.dumps(cluster.run_tasks("a", there, tasks)))
    assert record.number == 1 and record.totals.episodes == 4 and len(record.pairs.own) > 5
    assert there.loaded().description == protocol.description
    assert there.loaded().identity == protocol.identity


def test_another_version_is_refused_by_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = load_protocol("MI")
    job = cluster.Job.of(protocol, Options(3, 100), Choice.python)
    monkeypatch.setattr(cluster, "installed_version", lambda: "0.0.1")
    with pytest.raises(ConfigError, match=r"version 0\.0\.1 of this package, and the campaign"):
        cluster.run_tasks("a", job, [LegTask(1)])


def test_one_kind_of_place_at_a_time(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--jobs and --local-cluster: only one"):
        campaign(options(tmp_path / "a", jobs=2, local_cluster=2))
    with pytest.raises(ConfigError, match="--scheduler and --local-cluster: only one"):
        campaign(options(tmp_path / "a", scheduler="x", local_cluster=2))


def test_without_dask_there_is_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ConfigError, match=r"--local-cluster needs Dask distributed: pip install"):
        campaign(options(tmp_path / "a", local_cluster=2))


@pytest.fixture(scope="module")
def three_workers() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as found:
        yield found


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("campaigns") / "one"
    assert campaign(options(directory, guide=True, episodes=800)) == 0
    return directory


@pytest.mark.cluster
def test_a_cluster_leaves_what_one_process_leaves(
    three_workers: Any, expected: Path, tmp_path: Path
) -> None:
    """One of three workers is killed while legs are under way."""
    directory = tmp_path / "cluster"
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while legs(directory) < 40:
            if over.wait(0.02):
                return
        worker = next(iter(three_workers.workers.values()))
        killed.append(worker.pid)
        os.kill(worker.pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    address = three_workers.scheduler_address
    given = options(directory, guide=True, episodes=800, scheduler=address)
    try:
        assert campaign(given) == 0
    finally:
        over.set()
        thread.join()
    assert killed
    assert contents(directory) == contents(expected)


@pytest.mark.cluster
def test_a_cluster_of_this_machine_finds_failures(tmp_path: Path) -> None:
    """The protocol lies in a file that workers do not read: its text travels."""
    broken = BY_NAME["mi-victim-without-data"].plant(tmp_path)
    small = {
        "protocol": str(broken),
        "profile": "replacement",
        "leg_episodes": 6,
        "units": 2,
        "episodes": 48,
        "no_shrink": True,
    }
    assert campaign(options(tmp_path / "there", local_cluster=2, **small)) == 1
    assert campaign(options(tmp_path / "here", **small)) == 1
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


@pytest.mark.cluster
def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_PATIENCE", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    for wrong in (address, "no address", "tcp://127.0.0.1:99999"):
        with pytest.raises(ConfigError, match="no scheduler answers"):
            campaign(options(tmp_path / "kept", scheduler=wrong))


@pytest.mark.cluster
def test_workers_and_schedulers_of_other_versions(
    three_workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = three_workers.scheduler_address
    with monkeypatch.context() as patch:
        patch.setattr(cluster, "_asked", lambda client, question: {"0.0.1"})
        with pytest.raises(ConfigError, match=r"the workers have version 0\.0\.1"):
            campaign(options(tmp_path / "a", scheduler=address))
    versions = {
        side: {"packages": {"distributed": number}}
        for side, number in (("client", "2"), ("scheduler", "1"))
    }
    with pytest.raises(ConfigError, match="scheduler has version 1 of Dask"):
        cluster._check_dask(versions)
