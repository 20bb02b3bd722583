"""Protocols that store nothing: answers are counted, their values are not checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from protocols.loader import LoadedProtocol
from tests.tester.native.solo import load, run


def forgetful(directory: Path, monkeypatch: pytest.MonkeyPatch) -> LoadedProtocol:
    """Every load empties the line first."""
    return load(
        directory,
        monkeypatch,
        actions='action(c_clear, "c") { cache_entry.DataBlk.clear(); }',
        on_load="c_clear;",
        objects="",
    )


def test_values_that_mean_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = forgetful(tmp_path, monkeypatch)
    with pytest.raises(AssertionError, match=r"wrong|stale|foreign|lost"):
        run(protocol, [])
    blind = replace(
        protocol,
        written=structs.replace(protocol.written, values=False),
        description=structs.replace(protocol.description, values=False),
    )
    for summary in run(blind, ["Load", "Store"]):
        assert summary.episodes == 60
        assert not summary.flushed
