"""The library files of the checkout that a protocol lies in.

Invariant: all files found are in one folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slicc.loading.reader import real_path

LIBRARY_FILES: tuple[str, ...] = (
    "RubySlicc_interfaces.slicc",
    "RubySlicc_Exports.sm",
    "RubySlicc_Types.sm",
    "RubySlicc_Util.sm",
    "RubySlicc_ComponentMapping.sm",
    "RubySlicc_Defines.sm",
    "RubySlicc_MemControl.sm",
)
"""Files whose contents the compiler declares itself; including them is allowed and does nothing."""

LIBRARY_PATTERN = "RubySlicc_*.sm"
_CHECKOUT_FOLDERS = ("src/mem/ruby/protocol", "src/mem/protocol")
"""Where a checkout keeps its library; protocols may lie anywhere else in it."""


def library_files(driver: Path) -> list[Path]:
    """The files of a checkout's library: of the first folder that has some."""
    for folder in _library_folders(driver):
        files = sorted(folder.glob(LIBRARY_PATTERN))
        if any(path.name in LIBRARY_FILES for path in files):
            return files
    return []


def _library_folders(driver: Path) -> Iterator[Path]:
    """The driver's folder, the one above, and the protocols' folders of a checkout further up."""
    yield driver.parent
    yield driver.parent.parent
    for above in real_path(driver).parents:
        for folder in _CHECKOUT_FOLDERS:
            yield above / folder
