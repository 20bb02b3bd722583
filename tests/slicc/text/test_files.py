"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.text.files import why_lost, why_not_writable, write_whole


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


def test_a_directory_that_takes_no_files_is_told_from_one_that_does(tmp_path: Path) -> None:
    assert why_not_writable(tmp_path) is None
    assert why_not_writable(tmp_path / "new" / "newer") is None
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    assert why_not_writable(tmp_path / "file") == f"{tmp_path}/file is not a directory"
    if Path("/proc/self").exists():
        reason = why_not_writable(Path("/proc")) or ""
        assert reason.startswith(("/proc takes no files: ", "/proc may not be written to"))
        with pytest.raises(OSError) as error:
            write_whole(Path("/proc/x"), b"x")
        assert error.value.filename == "/proc/x"


def test_files_that_would_overwrite_each_other(tmp_path: Path) -> None:
    one, other, device = tmp_path / "a", tmp_path / "b", Path("/dev/null")
    assert why_lost({"--x": one, "--y": other}, [("the input", tmp_path / "c")]) is None
    assert why_lost({"--x": device, "--y": device}) is None
    again = tmp_path / "b" / ".." / "a"
    assert why_lost({"--x": one, "--y": again}) == f"--x and --y both write to {again}"
    link = tmp_path / "link"
    link.symlink_to(one)
    lost = why_lost({"--x": other, "--y": link}, [("the input", one)])
    assert lost == f"--y would overwrite {link}, the input"
    text = tmp_path / "Mine-cache.sm"
    assert why_lost({"--x": text}) is None
    text.touch()
    assert why_lost({"--x": text}) == f"--x would overwrite {text}, the text of a protocol"
