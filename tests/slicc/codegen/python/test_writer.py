"""A package is written whole or not at all, and nothing but a package of ours is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.codegen.python.writer import NotOurPackage, write_package
from tests.slicc.codegen.sample_ir import PROTOCOL


def files(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(directory.iterdir())}


def test_an_older_package_is_replaced(tmp_path: Path) -> None:
    written = write_package(PROTOCOL, tmp_path)
    before = files(written)
    (written / "l1cache.py").write_text("broken", encoding="utf-8")
    (written / "machine_of_yesterday.py").write_text("", encoding="utf-8")
    (written / "__pycache__").mkdir()
    assert write_package(PROTOCOL, tmp_path) == written
    assert files(written) == before
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_a_package_that_is_there_does_not_move(tmp_path: Path) -> None:
    """Two processes store the same package at once; the first is importing it already."""
    written = write_package(PROTOCOL, tmp_path)
    before = written.stat().st_ino
    assert write_package(PROTOCOL, tmp_path) == written
    assert written.stat().st_ino == before
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_directories_above_are_made(tmp_path: Path) -> None:
    assert write_package(PROTOCOL, tmp_path / "a" / "b") == tmp_path / "a" / "b" / "toy"


@pytest.mark.parametrize("name", ["notes.txt", "__init__.py", "linemap.json"])
def test_a_directory_of_somebody_else_is_kept(tmp_path: Path, name: str) -> None:
    target = tmp_path / "toy"
    target.mkdir()
    (target / name).write_text("mine", encoding="utf-8")
    with pytest.raises(NotOurPackage, match="toy exists and is not a generated package"):
        write_package(PROTOCOL, tmp_path)
    assert files(target) == {name: "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_a_package_with_something_else_in_it_is_kept(tmp_path: Path) -> None:
    written = write_package(PROTOCOL, tmp_path)
    (written / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(NotOurPackage, match=r"it holds notes\.txt"):
        write_package(PROTOCOL, tmp_path)


def test_a_file_and_a_link_are_kept(tmp_path: Path) -> None:
    (tmp_path / "toy").write_text("mine", encoding="utf-8")
    with pytest.raises(NotOurPackage, match="it is a file"):
        write_package(PROTOCOL, tmp_path)
    (tmp_path / "toy").unlink()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "toy").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotOurPackage, match="symbolic link"):
        write_package(PROTOCOL, tmp_path)


def test_a_failure_leaves_the_old_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = write_package(PROTOCOL, tmp_path)
    (written / "l1cache.py").write_text("old", encoding="utf-8")
    before = files(written)
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError("disk on fire")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="disk on fire"):
        write_package(PROTOCOL, tmp_path)
    assert files(written) == before
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]
