"""Invariants of the C++ end a run in builds that check them, and cost nothing in others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiling import WARNINGS, compile_unit

SOURCE = """
#include "block/base.hpp"
extern "C" __attribute__((visibility("default"))) int dropped(int references) {
    INVARIANT(references > 0);
    return references - 1;
}
"""


@pytest.mark.parametrize("checked", [False, True])
def test_a_broken_invariant_ends_the_process(tmp_path: Path, checked: bool) -> None:
    unit = tmp_path / "unit.cpp"
    unit.write_text(SOURCE)
    flags = (*WARNINGS, *(["-DSLICC_INVARIANTS"] if checked else []))
    built = compile_unit(unit, flags=flags)
    for references, survives in ((1, True), (0, not checked)):
        command = f"import ctypes; ctypes.CDLL({str(built)!r}).dropped({references})"
        done = subprocess.run([sys.executable, "-c", command], check=False)
        assert (done.returncode == 0) == survives
