"""The results of packets: counted, and reported to an observer of the run.

Invariant: the log has no effect on memory or on ticks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field

from gpu.errors import GpuError
from gpu.hsa.aql import PacketType
from gpu.hsa.queue_state import Connection
from slicc.text.lazy_dataclass import dataclass

Report = Callable[[str, str], None]
"""Who, what."""


@dataclass(slots=True)
class PacketLog:
    """``launched``: packets by kind. ``completed`` and ``failed``: how they ended."""

    report: Report | None = None
    launched: Counter[str] = field(default_factory=Counter)
    completed: int = 0
    failed: int = 0
    stopped_queues: int = 0

    def launch(self, link: Connection, kind: PacketType, data: bytes) -> None:
        """A packet was taken out of its queue and is well-formed."""
        name = kind.name.lower().replace("_", " ")
        self.launched[name] += 1
        if self.report is not None:
            completion = int.from_bytes(data[-8:], "little")
            tail = f", completion signal {completion:#x}" if completion else ""
            self.report(link.name, f"packet {link.read_id}: {name}{tail}")

    def command(self, link: Connection, name: str) -> None:
        """A command was taken out of its ring or an indirect buffer."""
        self.launched[name] += 1
        if self.report is not None:
            self.report(link.name, f"dword {link.read_id % link.size}: {name}")

    def active(self, link: Connection, packet_id: int, kernel: str, groups: int) -> None:
        """A kernel's groups can start."""
        if self.report is not None:
            text = f"packet {packet_id}: kernel {kernel} is active, {groups:,} groups"
            self.report(link.name, text)

    def command_done(self, link: Connection) -> None:
        """A command was carried out."""
        self.completed += 1

    def complete(self, link: Connection, well: bool) -> None:
        """A packet's completion signal has been changed."""
        if well:
            self.completed += 1
        else:
            self.failed += 1
        if self.report is not None:
            self.report(link.name, f"a packet completed{'' if well else ' with an error'}")

    def stopped(self, link: Connection, error: GpuError) -> None:
        """A queue takes no further packet."""
        self.stopped_queues += 1
        if self.report is not None:
            self.report(link.name, f"error pending: {error}")

    def inactive(self, link: Connection) -> None:
        """A stopped queue has become inactive."""
        if self.report is not None:
            self.report(link.name, "inactive")

    def as_dict(self) -> dict[str, object]:
        """For a JSON file."""
        return {
            "launched": dict(sorted(self.launched.items())),
            "completed": self.completed,
            "failed": self.failed,
            "stopped_queues": self.stopped_queues,
        }
