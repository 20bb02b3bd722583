"""The lock of a campaign directory: one holder at a time, and a query does not take it."""

from __future__ import annotations

import multiprocessing
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from tester.campaign_directory.directory import CampaignDirectory
from tester.errors import ConfigError

FORK = multiprocessing.get_context("fork")


def _ask(root: Path, begun: Event) -> None:
    while True:
        CampaignDirectory(root).lock().process_at_work()
        begun.set()


def _hold(root: Path, held: Event) -> None:
    with CampaignDirectory(root).lock():
        held.set()
        FORK.Event().wait()


def test_asking_who_is_at_work_keeps_no_campaign_out(tmp_path: Path) -> None:
    begun = FORK.Event()
    with CampaignDirectory(tmp_path).lock():
        pass
    asking = FORK.Process(target=_ask, args=(tmp_path, begun))
    asking.start()
    try:
        assert begun.wait(60)
        for _ in range(300):
            with CampaignDirectory(tmp_path).lock():
                pass
    finally:
        asking.kill()
        asking.join()


def test_a_campaign_at_work_keeps_others_out(tmp_path: Path) -> None:
    held = FORK.Event()
    working = FORK.Process(target=_hold, args=(tmp_path, held))
    working.start()
    try:
        assert held.wait(60)
        with (
            pytest.raises(ConfigError, match=rf"\(process {working.pid}\) is at work here"),
            CampaignDirectory(tmp_path).lock(),
        ):
            pass
    finally:
        working.kill()
        working.join()
    with CampaignDirectory(tmp_path).lock():
        pass
