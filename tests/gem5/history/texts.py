"""The protocols of a commit and of its parent, out of a clone's objects."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Final

from tests.gem5.history.rows import Row

FOLDERS: Final = ("src/mem/ruby/protocol", "src/mem/protocol", "configs/ruby")


def both_texts(clone: Path, row: Row, directory: Path) -> tuple[Path, Path]:
    """The drivers of the text with the fault and of the mended one, below ``directory``."""
    return (
        driver_of(clone, f"{row.commit}^", row.protocol, directory / "before"),
        driver_of(clone, row.commit, row.protocol, directory / "after"),
    )


def driver_of(clone: Path, revision: str, protocol: str, directory: Path) -> Path:
    """Extract what a revision has in the folders of protocols; the path of one driver.

    Raises FileNotFoundError if the revision has no such protocol.
    """
    names = _git(clone, "ls-tree", "-r", "-z", "--name-only", revision, *FOLDERS).split(b"\0")
    archive = _git(clone, "archive", revision, *{f for f in FOLDERS if _has(names, f)})
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(directory, filter="data")
    found = sorted(directory.rglob(f"{protocol}.slicc"))
    if not found:
        raise FileNotFoundError(f"{revision} has no {protocol}.slicc")
    return found[0]


def later_commits(clone: Path, row: Row, driver: Path) -> list[str]:
    """Those after a row's that change the files of its protocol, oldest first.

    ``driver``: that of the mended text. Files are recognised by how their names begin, so that
    those which included files include count.
    """
    included = re.findall(r'include "(\w+)-', driver.read_text(encoding="utf-8"))
    files = [f":(glob){folder}/**/{name}-*" for folder in FOLDERS for name in {*included}]
    listed = _git(clone, "log", "--reverse", "--format=%H", f"{row.commit}..HEAD", "--", *files)
    return listed.decode().split()


def _has(names: list[bytes], folder: str) -> bool:
    return any(name.startswith(f"{folder}/".encode()) for name in names)


def _git(clone: Path, *arguments: str) -> bytes:
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout
