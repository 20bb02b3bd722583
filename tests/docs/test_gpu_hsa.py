"""The page on user queues: its program runs, its table names tests that exist, its rules hold."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gpu-hsa.md").read_text()


def test_the_program_prints_what_it_says(tmp_path: Path) -> None:
    found = re.search(r"```python file=demo\.py\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    (tmp_path / "demo.py").write_text(found[1])
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


def table() -> list[tuple[str, list[str], str]]:
    """Row, tests, remark."""
    rows = re.findall(r"^\| D\d \| (.*?) \|(.*?)\|(.*?)\|$", PAGE, re.MULTILINE)
    return [(row, tests.replace(",", " ").split(), remark.strip()) for row, tests, remark in rows]


def test_the_table_names_tests_that_exist() -> None:
    rows = table()
    assert len(rows) > 80
    for row, tests, remark in rows:
        assert tests or remark.startswith("out"), row
        for name in [*tests, *re.findall(r"\S+::\w+", remark)]:
            module, _, function = name.partition("::")
            source = (ROOT / "tests" / "gpu" / f"{module}.py").read_text()
            assert re.search(rf"^ *def {function}\(", source, re.MULTILINE), (row, name)


def test_few_rows_are_partial_and_say_why() -> None:
    remarks = [remark for _, _, remark in table()]
    assert sum(remark.startswith("partial: ") for remark in remarks) <= 5
    assert not any(
        re.search(r"\b(later|missing|planned)\b", remark)
        for remark in remarks
        if "partial" not in remark
    )
