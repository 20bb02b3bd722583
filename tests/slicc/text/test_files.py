"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.text.files import write_whole


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    assert write_whole(path, b"one", parents=True) == path
    assert write_whole(path, b"two").read_bytes() == b"two"
    assert [each.name for each in path.parent.iterdir()] == ["a.txt"]
    (tmp_path / "dir").mkdir()
    with pytest.raises(OSError) as error:
        write_whole(tmp_path / "dir", b"x")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["dir", "new"]
    assert error.value.filename == str(tmp_path / "dir")
