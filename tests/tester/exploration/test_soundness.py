"""Reductions are left out where they would change a verdict, and no finding is made up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tester.exploration import small_system
from tester.exploration.exploration import NotReproduced, explore
from tester.exploration.small_system import Bounds
from tests.tester.exploration.starter import DATA, checking, declaring, edited
from tests.tester.exploration.systems import SMALL

TWO_LINES = Bounds(caches=1, lines=2, locations=1)
BITS = declaring("int addressToInt(Addr a);\n  Addr bitSelect(Addr a, int low, int high);")
ODD_LINE = checking('if (addressToInt(bitSelect(address, 4, 4)) == 1) { error("odd line"); }')


def test_what_no_run_shows_is_a_fault_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_system, "_lines_alike", lambda *_: True)
    protocol = edited(tmp_path, BITS, ODD_LINE, DATA)
    with pytest.raises(NotReproduced, match=r"a concrete run does not show$"):
        explore(protocol, TWO_LINES, SMALL)
