"""Files that a command names: examples by their bare names, and outputs that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.cli.common.files import check_writable, open_code_object, runnable_kernel
from gpu.cli.options import SourceOptions
from gpu.code_object import CodeObjectError
from gpu.code_object.code_object import EXAMPLES


def test_a_file_comes_before_the_example_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example = open_code_object(Path("vadd.co"), SourceOptions())
    assert runnable_kernel(example, "vadd").name == "vadd"
    (tmp_path / "vadd.co").write_bytes(b"mine")
    with pytest.raises(CodeObjectError, match="not an ELF file"):
        open_code_object(Path("vadd.co"), SourceOptions())


def test_options_of_sources_are_refused_where_nothing_is_compiled() -> None:
    with pytest.raises(CodeObjectError, match="--target: it is compiled already"):
        open_code_object(EXAMPLES / "vadd.co", SourceOptions(target="gfx900"))


def test_a_file_that_cannot_be_written_is_known_before_the_work(tmp_path: Path) -> None:
    check_writable(tmp_path / "new")
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)
    with pytest.raises(FileNotFoundError):
        check_writable(tmp_path / "nowhere" / "new")
