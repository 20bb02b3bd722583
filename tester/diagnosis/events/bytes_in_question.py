"""Where the bytes that a failing access compared are while the run is repeated.

Invariant: only blocks that the system really keeps are looked at; a copy in a cache without
permission does not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from runtime.system.inspection import Copy, carried, held
from runtime.types.message import Message
from runtime.types.messages import AccessPermission
from slicc.text.lazy_dataclass import dataclass
from tester.diagnosis.value_attribution import ByteVerdict
from tester.execution.events import ATOMIC_VERDICTS, Finding

_SHOWN_SIZE: Final = 8
_VOID: Final = (AccessPermission.Invalid, AccessPermission.NotPresent)


@dataclass(frozen=True, slots=True)
class BytesInQuestion:
    """``size`` bytes at ``address``; ``wrong``: those of them that a load found wrong.

    ``followed``: whether their value matters, not only who accessed them.
    """

    address: int = -1
    size: int = 0
    expected: int = 0
    got: int = 0
    wrong: int = 0
    """Mask of the wrong bytes, eight ones a byte; 0: no value was wrong."""
    followed: bool = False

    @classmethod
    def of(cls, finding: Finding, verdicts: Iterable[ByteVerdict]) -> BytesInQuestion:
        """The bytes of a finding that has an address, with what was found out about each."""
        wrong = sum(0xFF << 8 * (v.address - finding.address) for v in verdicts if not v.right)
        followed = wrong != 0 or finding.verdict in ATOMIC_VERDICTS
        size = max(1, finding.size)
        return cls(finding.address, size, finding.expected, finding.got, wrong, followed)

    @property
    def range(self) -> range:
        """The addresses of the bytes."""
        return range(self.address, self.address + self.size)

    def of_block(self, data: int, line: int) -> int:
        """The value of the bytes in a block of the line at ``line``."""
        return data >> 8 * (self.address - line) & (1 << 8 * self.size) - 1

    def as_expected(self, value: int) -> bool:
        """Whether the bytes that were wrong are right in this value."""
        return self.wrong != 0 and not (value ^ self.expected) & self.wrong

    def as_loaded(self, value: int) -> bool:
        """Whether the bytes that were wrong are so in this value."""
        return self.wrong != 0 and not (value ^ self.got) & self.wrong

    def matters(self, value: int) -> bool:
        """Whether a value is one of the two; where none was wrong, every value matters."""
        return not self.wrong or self.as_expected(value) or self.as_loaded(value)

    def text(self, value: int) -> str:
        """``[0x1505b694 expected]``."""
        mark = ""
        if self.as_expected(value):
            mark = "expected"
        elif self.as_loaded(value):
            mark = "as loaded"
        shown = f"{value:#0{2 + 2 * self.size}x}" if self.size <= _SHOWN_SIZE else ""
        return f"[{f'{shown} {mark}'.strip()}]"


NO_BYTES: Final = BytesInQuestion()
"""For failures that are about no address."""


class Copies:
    """Follows the copies of the bytes in question through a run."""

    def __init__(self, bytes_: BytesInQuestion, line_size: int) -> None:
        self._bytes = bytes_
        self._line = bytes_.address & -line_size
        self._line_size = line_size
        self._values: dict[str, dict[str, int]] = {}
        """By controller and place."""
        self._existed = False

    def in_message(self, message: Message) -> tuple[str, bool]:
        """The bytes that a message carries, as text, and whether they matter; masked out: none."""
        values = self._carried(message)
        return self._shown(values[0]) if values else ("", False)

    def after(self, controller: Any, taken: Iterable[Message]) -> tuple[str, bool]:
        """The bytes of a controller after a transition that changed them or took data.

        Empty if it did neither, ``[dropped]`` if it has none any more.
        """
        before = self._values.get(repr(controller), {})
        now = {copy.where: self._value(copy) for copy in self._held(controller)}
        self._values[repr(controller)] = now
        if before and not now:
            return "[dropped]", any(map(self._bytes.matters, before.values()))
        filled = any(map(self._carried, taken))
        # A new entry has zeros until its data arrives.
        changed = [v for place, v in now.items() if filled or before.get(place, 0) != v]
        return self._shown(changed[0]) if changed else ("", False)

    def _shown(self, value: int) -> tuple[str, bool]:
        return self._bytes.text(value), self._bytes.matters(value)

    def last_copy_went(self, system: Any, taken: Iterable[Message]) -> bool:
        """Whether a transition took or dropped the last copy of the expected bytes."""
        if any(map(self._bytes.as_expected, self._everywhere())):
            self._existed = True
            return False
        took_expected = any(self._bytes.as_expected(v) for m in taken for v in self._carried(m))
        if not (self._existed or took_expected):
            return False
        copies: list[Copy] = system.copies(self._bytes.address)
        left = any(self._bytes.as_expected(self._value(copy)) for copy in copies if _counts(copy))
        gone = not left
        self._existed = left
        return gone

    @property
    def exist(self) -> bool:
        """Whether there was a copy of the expected bytes after the last transition. Zeros are no
        copy for sure: a new entry has them, too."""
        return self._existed and self._bytes.expected & self._bytes.wrong != 0

    def _everywhere(self) -> list[int]:
        return [value for places in self._values.values() for value in places.values()]

    def _held(self, controller: Any) -> list[Copy]:
        return [copy for copy in held(controller, self._line) if _counts(copy)]

    def _value(self, copy: Copy) -> int:
        return self._bytes.of_block(copy.data, self._line)

    def _carried(self, message: Message) -> list[int]:
        return [
            self._value(copy)
            for copy in carried("", self._line, self._line_size, message)
            if all(map(copy.holds, self._bytes.range))
        ]


def _counts(copy: Copy) -> bool:
    return copy.kind != "cache" or copy.permission not in _VOID
