"""Pictures of runs that a book shows: SVG, or pages of ``gpu-tester report``.

Invariant: a picture is shown as an image, in which no script runs; a page stays a page of its own.
"""

from __future__ import annotations

import re
from base64 import b64encode
from pathlib import Path

from slicc.text.lazy_dataclass import dataclass
from slicc.text.markup import page_text

_LARGEST = 20_000_000
_WIDTH = re.compile(rb'<svg[^>]*\swidth="(\d{1,6})(?:px)?"')
_LEAST = 0.65
"""Of its own size; what is smaller than that cannot be read."""


def fitting(width: float, unit: str) -> str:
    """The style of a picture that shrinks to the width of the page, as far as it can be read."""
    return f"max-width: max(100%, {width * _LEAST:.0f}{unit})"


class NoPicture(Exception):
    """The file cannot be shown; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class RunPicture:
    """``is_page``: HTML, else SVG."""

    title: str
    anchor: str
    is_page: bool
    content: bytes

    @property
    def style(self) -> str:
        """How wide the picture is shown."""
        width = _WIDTH.search(self.content[:2000])
        return "" if width is None else fitting(float(width[1]), "px")

    @property
    def image(self) -> str:
        """An address that holds the picture itself."""
        return f"data:image/svg+xml;base64,{b64encode(self.content).decode()}"


def read_runs(paths: tuple[Path, ...]) -> list[RunPicture]:
    """In their order. Raises NoPicture, OSError."""
    return [_read(path, number) for number, path in enumerate(paths, 1)]


def _read(path: Path, number: int) -> RunPicture:
    suffix = path.suffix.lower()
    if suffix not in (".svg", ".html"):
        raise NoPicture(
            f"{path} is no picture of a run: take a page (.html) that `gpu-tester report` writes, "
            "or a picture (.svg) that is saved from it"
        )
    content = path.read_bytes()
    if len(content) > _LARGEST:
        raise NoPicture(f"{path} has {len(content):,} bytes; at most {_LARGEST:,} are shown")
    start = content[:2000].lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    if not (b"<svg" in start if suffix == ".svg" else start.startswith(b"<!doctype html")):
        raise NoPicture(f"{path} does not hold what its name says: it starts with {start[:20]!r}")
    title = page_text(path.stem.replace("-", " ").replace("_", " "))
    return RunPicture(title, f"run-{number}", suffix == ".html", content)
