"""Campaigns in directories, run in this process or in forks, and what they leave there."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import sqlite3
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from slicc.text.command.exit_status import heed_endings
from tester.cli.options.campaign import CampaignOptions
from tester.cli.verbs.campaign import campaign
from tester.engines.choice import Choice

TABLES = ("facts", "legs", "cells", "pairs", "failures")
"""All that may not depend on the machine."""


def options(directory: Path, **more: Any) -> CampaignOptions:
    """A small campaign: legs of some milliseconds."""
    small: dict[str, Any] = {
        "protocol": "MI",
        "seed": 3,
        "leg_episodes": 4,
        "episodes": 80,
        "engine": Choice.python,
        "profile": "line-duel",
        "quiet": True,
    }
    return CampaignOptions(directory=directory, **small | more)


def contents(directory: Path) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all tables, and a hash of every file."""
    base = sqlite3.connect(directory / "campaign.sqlite")
    found = {table: sorted(base.execute(f"SELECT * FROM {table}")) for table in TABLES}
    base.close()
    files = sorted(path for path in (directory / "failures").rglob("*") if path.is_file())
    found["files"] = [(path.name, _digest(path, directory)) for path in files]
    return found


def _digest(path: Path, directory: Path) -> str:
    content = path.read_bytes().replace(str(directory).encode(), b"DIR")
    return hashlib.sha256(content).hexdigest()


def legs(directory: Path) -> int:
    """How many are committed; 0 while there is no database yet."""
    try:
        base = sqlite3.connect(f"file:{directory / 'campaign.sqlite'}?mode=ro", uri=True)
        try:
            return int(base.execute("SELECT count(*) FROM legs").fetchone()[0])
        finally:
            base.close()
    except sqlite3.Error:
        return 0


def started(given: CampaignOptions, limit: int | None = None) -> BaseProcess:
    """The campaign in a fork. ``limit``: bytes that a file may have there."""
    process = multiprocessing.get_context("fork").Process(target=_work, args=(given, limit))
    process.start()
    return process


def _work(given: CampaignOptions, limit: int | None) -> None:
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    heed_endings()
    if limit is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    sys.exit(campaign(given))
