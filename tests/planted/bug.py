"""A planted bug is a small change to a protocol's text, with what it should look like when found.

Changes name the place by short exact snippets instead of line numbers, so that the protocols can be
rewritten around them. Invariant: a change applies in exactly one place or not at all; `Misplanted`
says which snippet no longer fits.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from tester.execution.events import ATOMIC_VERDICTS, VALUE_VERDICTS, Verdict

PROTOCOLS: Final = Path(__file__).parents[2] / "protocols"


TESTED: Final = (
    "MI",
    "MSI",
    "MSI_Snoop",
    "MESI_Two_Level",
    "GPU_VIPER",
    "MOESI_AMD_Base",
    "GPU_VIPER_APU",
)
"""Protocols that bugs are planted into."""
_SHARED: Final = {
    "MOESI_AMD_Base-dir.sm": "GPU_VIPER",
    "MOESI_AMD_Base-APUdir.sm": "GPU_VIPER_APU",
}
"""Files that are not, or not only, part of the protocol that they are named after."""


class BugClass(Enum):
    """What goes wrong, as agents of the memory system see it."""

    STALE_L1 = "stale L1 after acquire"
    OWN_STORE = "own store not seen"
    OUTSIDE_MASK = "bytes outside the mask"
    UPPER_BYTES = "upper bytes lost"
    STALE_L2 = "stale L2"
    LOST_WRITE = "lost write"
    LOST_DIRTY = "lost dirty data"
    PARTIAL_LINE = "partial line served"
    LOST_WAKE_UP = "lost wake-up"
    LOST_COMPLETION = "lost completion"
    EARLY_COMPLETION = "completed too early"
    LEAK = "leak"
    UNDEFINED_PAIR = "undefined pair"
    REPEATED_ATOMIC = "repeated atomic"
    SKIPPED_ATOMIC = "skipped atomic"
    NO_ROOM = "no room"


class Misplanted(ValueError):
    """A snippet does not occur exactly once where it should."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace ``old`` by ``new``. ``old`` occurs exactly once in the file or, if ``where`` is
    given, in the block (action, transition, port) whose heading contains that snippet."""

    old: str
    new: str
    where: str = ""

    def apply(self, text: str) -> str:
        """The changed text. Raises Misplanted."""
        first, last = 0, len(text)
        if self.where:
            first = _only(text, self.where, 0, last)
            end = text.find("\n  }", first)
            last = len(text) if end < 0 else end + len("\n  }")
        place = _only(text, self.old, first, last)
        return text[:place] + self.new + text[place + len(self.old) :]


def _only(text: str, snippet: str, first: int, last: int) -> int:
    count = text.count(snippet, first, last)
    if count != 1:
        raise Misplanted(f"{snippet!r} occurs {count} times, expected once")
    return text.index(snippet, first, last)


VALUE: Final = frozenset(VALUE_VERDICTS)
"""A load, or memory at the end, showed bytes that it should not."""
ATOMIC: Final = frozenset(ATOMIC_VERDICTS)
"""A fetch-add returned what no order of the fetch-adds explains."""
HANG: Final = frozenset({Verdict.HANG})
LEAK: Final = frozenset({Verdict.LEAK})
REFUSED: Final = frozenset({Verdict.PROTOCOL_ERROR, Verdict.PANIC, Verdict.UNDEFINED_TRANSITION})
"""The protocol, or the model underneath, stopped the run."""
UNDEFINED: Final = frozenset({Verdict.UNDEFINED_TRANSITION})
RESPONSE: Final = frozenset({Verdict.UNEXPECTED_RESPONSE, Verdict.EARLY_RELEASE})


@dataclass(frozen=True, slots=True)
class Bug:
    """One bug: the edits of one file of a protocol, and the verdicts that would name it well."""

    name: str
    kind: BugClass
    file: str
    wrong: str
    """One sentence: what the protocol does wrong."""
    edits: tuple[Edit, ...]
    verdicts: frozenset[Verdict]
    episodes: int = 2000
    """Within which the default campaign finds it, whatever the seed."""

    @property
    def protocol(self) -> str:
        """The one that is attacked."""
        return _SHARED.get(self.file, self.file.partition("-")[0])

    def change(self, text: str) -> str:
        """The file's text with the bug in it. Raises Misplanted."""
        for edit in self.edits:
            text = edit.apply(text)
        return text

    def plant(self, directory: Path) -> Path:
        """Write the protocol with the bug into an empty directory; returns its main file."""
        for path in PROTOCOLS.glob("*.*"):
            if path.suffix in (".sm", ".slicc", ".toml"):
                shutil.copy(path, directory / path.name)
        changed = directory / self.file
        changed.write_text(self.change(changed.read_text(encoding="utf-8")), encoding="utf-8")
        return directory / f"{self.protocol}.slicc"


def plant_together(bugs: Sequence[Bug], directory: Path) -> tuple[Path, list[Bug]]:
    """Plant the first bug into an empty directory, and all others that still fit beside it.

    Returns the main file and the bugs that did not fit.
    """
    main = bugs[0].plant(directory)
    left = []
    for bug in bugs[1:]:
        changed = directory / bug.file
        try:
            changed.write_text(bug.change(changed.read_text(encoding="utf-8")), encoding="utf-8")
        except Misplanted:
            left.append(bug)
    return main, left
