"""Writing files whole, and whether they could and should be, asked before hours of work.

Invariant: a reader of a path sees the old file or the new one, never half of either.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

_TEXTS: Final = (".sm", ".slicc")

Paths: TypeAlias = str | Path | Iterable[str | Path]
"""What a program may pass where there may be several."""


def write_whole(path: Path, content: bytes, *, parents: bool = False) -> Path:
    """Write under another name beside ``path`` and rename. ``parents``: make missing directories.

    A device or pipe (``/dev/null``) is written to: it must not be replaced by a file. Returns
    ``path``. Raises OSError with a file name, and leaves nothing then.
    """
    try:
        if parents:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path, content)
    except OSError as error:
        error.filename = error.filename or str(path)  # the error of a full disk has none
        raise
    return path


def _replace(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("xb") as stream:
            stream.write(content)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # the temporary name says nothing to the user
        raise


def why_not_writable(directory: Path) -> str | None:
    """Why no file could be made in a directory that may not exist yet; None if one could.

    One without a name is made and forgotten: rights do not tell of every file system that takes
    no files (``/proc``, and any that is mounted for reading).
    """
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        return f"{place} is not a directory"
    if not os.access(place, os.W_OK | os.X_OK):
        return f"{place} may not be written to"
    from tempfile import TemporaryFile

    try:
        with TemporaryFile(dir=place):
            return None
    except OSError as error:
        return f"{place} takes no files: {error.strerror or error}"


def why_lost(outputs: Mapping[str, Path], inputs: Iterable[tuple[str, Path]] = ()) -> str | None:
    """Why an output would overwrite another one or an input; None if none does.

    Names say what each is, as ``--stats``. What is no file, as ``/dev/null``, takes all of them.
    Nothing replaces the text of a protocol, which another one may include.
    """
    read = {os.path.realpath(path): what for what, path in inputs}
    written: dict[str, str] = {}
    for what, path in outputs.items():
        if path.exists() and not path.is_file():
            continue
        place = os.path.realpath(path)
        if place in read:
            return f"{what} would overwrite {path}, {read[place]}"
        if path.suffix in _TEXTS and path.exists():
            return f"{what} would overwrite {path}, the text of a protocol"
        other = written.setdefault(place, what)
        if other != what:
            return f"{other} and {what} both write to {path}"
    return None


def several_paths(given: Paths) -> list[Path]:
    """What a program passes where several paths are possible: one alone is one path, and not as
    many as its string has letters."""
    return [Path(given)] if isinstance(given, str | Path) else [Path(each) for each in given]
