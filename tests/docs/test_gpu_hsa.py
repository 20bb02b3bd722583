"""The page on user queues: its program runs, its table names tests that exist, its rules hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.gpu.kernels.stored import stored_bytes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gpu-hsa.md").read_text()


def test_the_program_prints_what_it_says(tmp_path: Path) -> None:
    found = re.search(r"```python file=demo\.py\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "demo.py").write_text(found[1])
    (tmp_path / "vadd.co").write_bytes(stored_bytes("vadd"))
    run = subprocess.run(
        [sys.executable, "demo.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    promised = re.search(r"# (\[0\. 2\. .*)\n", found[1])
    assert promised is not None and run.stdout == promised[1] + "\n"


def test_the_table_names_tests_that_exist() -> None:
    rows = re.findall(r"^\| D\d \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    assert len(rows) > 70
    for row, state in rows:
        files = re.findall(r"[\w/]+/(?:test_\w+\.py)?|test_\w+\.py", state)
        assert files or re.search(r"\b(later|out|through compiled code|tester\.md)\b", state), row
        folder = ""
        for name in files:
            folder = name.rpartition("/")[0] or folder
            path = name if "/" in name or name == "test_occupancy.py" else f"{folder}/{name}"
            assert (ROOT / "tests" / "gpu" / path).exists(), (row, name)
