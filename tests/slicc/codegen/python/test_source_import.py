"""Packages from memory when several threads want one."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from slicc.codegen.python.source_import import compile_all, import_package


def test_no_thread_gets_a_half_executed_package() -> None:
    slow = {"__init__.py": "import time\ntime.sleep(0.1)\nPROTOCOL = 1\n"}
    directory = Path("slow")
    codes = compile_all(directory, slow)
    try:
        with ThreadPoolExecutor(3) as threads:
            found = threads.map(
                lambda _: import_package("slicc_compiled_slow", directory, codes).PROTOCOL, range(3)
            )
            assert [*found] == [1, 1, 1]
    finally:
        del sys.modules["slicc_compiled_slow"]
