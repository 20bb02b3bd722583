"""The texts of a protocol as a value: what a leg carries, so that it can be run anywhere.

Texts may come from anyone. Invariant: names are relative and stay below the directory that they are
written to, sizes are bounded, and what is compiled from them reads nothing else.
"""

from __future__ import annotations

import os.path
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from slicc.text.lazy_dataclass import dataclass

MAX_FILES: Final = 500
MAX_BYTES: Final = 1 << 22
_MAX_NAME: Final = 255
_MAX_DEPTH: Final = 8


class WrongTexts(ValueError):
    """Texts that cannot be those of a protocol; the message completes a sentence."""


@dataclass(frozen=True, slots=True)
class ProtocolTexts:
    """``files``: texts by name, relative to the protocol's directory. ``driver``, ``preludes``:
    names among them. Raises WrongTexts."""

    driver: str
    files: Mapping[str, str]
    preludes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.files) > MAX_FILES:
            raise WrongTexts(f"{len(self.files)} files, {MAX_FILES} are possible")
        if sum(len(text) for text in self.files.values()) > MAX_BYTES:
            raise WrongTexts(f"more than {MAX_BYTES} bytes of text")
        for name in self.files:
            if not _is_safe(name):
                raise WrongTexts(f"{name[:80]!r} is no name of a file below its directory")
        for name in (self.driver, *self.preludes):
            if name not in self.files:
                raise WrongTexts(f"{name[:80]!r} is not among its files")

    @contextmanager
    def written(self) -> Iterator[tuple[Path, Path, list[Path]]]:
        """Directory, driver and preludes, in a private directory that is gone afterwards."""
        with tempfile.TemporaryDirectory(prefix="gpu-tester-") as name:
            root = Path(name)
            for file, text in self.files.items():
                path = root / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="")
            yield root, root / self.driver, [root / each for each in self.preludes]


def _is_safe(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return (
        0 < len(parts) <= _MAX_DEPTH
        and name == "/".join(parts)
        and name.isprintable()
        and not any(part in ("..", "/") or len(part) > _MAX_NAME for part in parts)
        and not set(name) & set('\\:*?"<>|')
    )


def texts_of(
    driver: Path, sources: Sequence[str], include: Sequence[Path], preludes: Sequence[Path]
) -> ProtocolTexts | None:
    """The texts of the files that a protocol was compiled from, and its description beside them.

    None: they are too many, or lie where no names lead that other directories could have.
    """
    roots = [driver.parent, *include]
    try:
        beside = driver.with_suffix(".toml")
        paths = [Path(each) for each in sources] + [beside] * beside.is_file() + [*preludes]
        files = {_name_below(roots, path): _text(path) for path in paths if path.is_file()}
        names = tuple(_name_below(roots, path) for path in preludes)
        return ProtocolTexts(driver.name, files, names)
    except (OSError, ValueError):
        return None


def _text(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1).decode("utf-8-sig")


def _name_below(roots: Sequence[Path], path: Path) -> str:
    for root in roots:
        name = PurePosixPath(Path(os.path.relpath(path, root)).as_posix())
        if ".." not in name.parts:
            return str(name)
    return path.name
