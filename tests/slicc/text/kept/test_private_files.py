"""Files of the user's cache: byte for byte what was stored, or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.text.kept import private_files
from slicc.text.kept.private_files import load, store


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "slicc"


def test_what_is_stored_is_loaded(place: Path) -> None:
    assert load("a") is None
    store("a", b"content")
    store("a", b"new content")
    assert load("a") == b"new content"
    assert [path.name for path in place.iterdir()] == ["a"]
    assert (place / "a").stat().st_mode & 0o077 == 0


def test_what_is_damaged_or_of_others_is_absent(place: Path, tmp_path: Path) -> None:
    store("a", b"content")
    path = place / "a"
    good = path.read_bytes()
    for bad in (b"", good[:-1], good + b"x", good[:-1] + bytes([good[-1] ^ 1])):
        path.write_bytes(bad)
        assert load("a") is None
    path.write_bytes(good)
    assert load("a") == b"content"
    path.chmod(0o666)
    assert load("a") is None
    path.rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o600)
    path.symlink_to(tmp_path / "elsewhere")
    assert load("a") is None


def test_nothing_is_stored_where_others_may_write(place: Path) -> None:
    place.mkdir(mode=0o700)
    place.chmod(0o777)
    store("a", b"content")
    assert load("a") is None
    assert list(place.iterdir()) == []


def test_a_full_disk_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(private_files.Path, "replace", full)
    store("a", b"content")
    assert load("a") is None
    assert list(place.iterdir()) == []
