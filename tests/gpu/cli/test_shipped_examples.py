"""The kernel that is shipped: what it is, and when its bare name means it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from gpu.cli.common.files import open_code_object
from gpu.cli.options import SourceOptions
from gpu.code_object.code_object import EXAMPLES
from tests.gpu.cli.calling import gcn

OBJECTS = Path(__file__).parents[1] / "kernels" / "objects" / "clang14-O2.zip"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_object_is_what_clang_made_of_the_source() -> None:
    with zipfile.ZipFile(OBJECTS) as archive:
        assert (EXAMPLES / "vadd.co").read_bytes() == archive.read("vadd.co")


def test_a_bare_name_is_the_shipped_object(here: Path) -> None:
    assert Path(open_code_object(Path("vadd.co"), SourceOptions()).path) == EXAMPLES / "vadd.co"


def test_a_file_that_is_there_comes_first(here: Path) -> None:
    (here / "vadd.co").write_text("mine")
    answer = gcn("info", "vadd.co")
    assert answer.status == 2
    assert "vadd.co" in answer.err and str(EXAMPLES) not in answer.err


@pytest.mark.parametrize("name", ["./sub/vadd.co", "sub/vadd.co", "vad.co", "../examples/vadd.co"])
def test_other_names_are_files(here: Path, name: str) -> None:
    answer = gcn("info", name)
    assert answer.status == 2
    assert "No such file" in answer.err
