"""Every mistake gets its own message, on its line, and does not hide the next one."""

from pathlib import Path

import pytest

from slicc.diagnostics.model import DiagnosticSink
from slicc.parser.parser import parse
from slicc.source import SourceFile
from tests.slicc.case_runner import check_case

CASES = sorted((Path(__file__).parents[2] / "syntax_cases").glob("*.sm"))


def parse_file(path: Path, sink: DiagnosticSink) -> None:
    with path.open(encoding="utf-8", newline="") as stream:
        unit = parse(SourceFile(path.name, stream.read()), sink)
    assert (unit is None) == (sink.error_count > 0)


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    check_case(path, parse_file)
