"""The database: what is there twice, what is not ours, what readers leave behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from protocols.loader import load_protocol
from tester.campaign.drawing.options import Options
from tester.campaign_directory.leg_task import LegRecord, LegRunner, LegTask
from tester.campaign_directory.store import LINE, OWN, FailureRow, LegRow, Store, StoreError
from tester.engines.selection import PYTHON
from tests.tester.campaign_directory.kept import contents

CAUSE = FailureRow(1, "hang", "L1Cache.I.Load", "no answer", 1, "system", {"leg": "a.leg"}, "1")


@pytest.fixture(scope="module")
def records() -> list[LegRecord]:
    runner = LegRunner(load_protocol("MI"), Options(3, 100, leg_episodes=4), PYTHON)
    return [runner.run(LegTask(number)) for number in range(3)]


def row(record: LegRecord, *pairs: int) -> LegRow:
    return LegRow(record, np.array(pairs, np.int64), np.array([7], np.int64)[: len(pairs)], 1.5)


def filled(path: Path, records: list[LegRecord]) -> Path:
    with Store(path, create=True) as store:
        store.add([row(records[0], 1, 2), row(records[1])])
    return path


def test_what_was_added_is_read_again(tmp_path: Path, records: list[LegRecord]) -> None:
    with Store(filled(tmp_path / "campaign.sqlite", records), read_only=True) as store:
        assert (store.next_leg(), store.episodes(), store.elapsed()) == (2, 8, 1.5)
        assert store.pairs(OWN).tolist() == [1, 2] and store.pairs(LINE).tolist() == [7]
        first, second = store.yields(0)
        assert (first.turn.profile, first.pairs) == (records[0].profile, 3)
        assert dict(second.turn.pinned) == dict(records[1].pinned or {})
        hit = {
            (name, machine.states[s], machine.events[e])
            for record in records[:2]
            for name, machine in record.coverage.machines.items()  # type: ignore[union-attr]
            for (s, e), count in machine.counts.items()
            if count
        }
        assert store.hit_cells() == hit
        new = store.rows("SELECT sum(new_cells) FROM legs")[0][0]
        assert new == len(hit)


def test_legs_that_are_there_are_left_out(tmp_path: Path, records: list[LegRecord]) -> None:
    """A process may be interrupted between a commit and what it knows of it."""
    path = filled(tmp_path / "campaign.sqlite", records)
    failed = replace(row(records[2], 3), new_line=np.zeros(0, np.int64), failure=1)
    with Store(path, create=True) as store:
        for _ in range(2):
            store.add([row(records[0], 1, 2), row(records[1]), failed], [CAUSE])
        assert store.next_leg() == 3
        assert store.failures() == [CAUSE] and store.legs_of_failures() == {1: 1}
        assert CAUSE.cause == "hang, blamed on L1Cache.I.Load"


def test_a_batch_is_stored_whole_or_not_at_all(tmp_path: Path, records: list[LegRecord]) -> None:
    path = filled(tmp_path / "campaign.sqlite", records)
    before = contents(tmp_path)
    with Store(path, create=True) as store, pytest.raises(StoreError, match="UNIQUE"):
        store.add([row(records[2], 5, 1)])  # pair 1 is not new
    assert contents(tmp_path) == before


def test_readers_leave_nothing_behind(tmp_path: Path, records: list[LegRecord]) -> None:
    path = filled(tmp_path / "campaign.sqlite", records)
    with Store(path, read_only=True) as store, pytest.raises(StoreError, match="readonly"):
        store.set_facts({"seed": 4})
    assert [each.name for each in tmp_path.iterdir()] == ["campaign.sqlite"]
