"""Reading a file ends, whatever it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.files import read_bounded


def test_one_byte_more_tells_that_a_file_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "five"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    assert read_bounded(str(path), 4) == b"12345"
    assert read_bounded(path, 3) == b"1234"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_read_to_its_end_and_never_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert read_bounded(path, 10) == b""
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY)
    os.write(writer, b"content")
    os.close(writer)
    assert read_bounded(path, 10) == b"content"
    os.close(reader)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
def test_a_device_that_never_ends() -> None:
    assert read_bounded("/dev/zero", 1000) == bytes(1001)


@pytest.mark.parametrize("name", ["nowhere", "", "x" * 5000, "a\0b"])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(OSError):
        read_bounded(f"{tmp_path}/{name}", 10)
