"""The errors between a host program's call and the end of its kernel.

Invariant: each error names what it is about (kernel, queue, packet, address), the rule that was
broken where there is one, and the value that broke it. Command lines print the text alone.
"""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass


class GpuError(Exception):
    """Base of all errors of a device and its host API."""


class HostError(GpuError):
    """The host program made a call that the API does not allow; it had no effect."""


class RuleError(GpuError):
    """A packet breaks a rule. ``rule``: what has to hold. ``value``: what was found."""

    def __init__(self, rule: str, value: object, kernel: str = "") -> None:
        of_kernel = f"kernel {kernel}: " if kernel else ""
        super().__init__(f"{of_kernel}{rule}, not {value}")
        self.rule = rule
        self.value = value
        self.kernel = kernel
        self.where = ""

    def locate(self, where: str) -> None:
        """Set which packet of which queue it was; shown before the rule."""
        self.where = where

    def __str__(self) -> str:
        text = super().__str__()
        return f"{self.where}: {text}" if self.where else text


class PacketError(RuleError):
    """The packet completes with an error, and its queue takes no further one."""


class QueueError(RuleError):
    """The packet is malformed: its queue stops and the packet does not complete."""


@dataclass(frozen=True, slots=True)
class WaveRegisters:
    """What a wave held when its group failed. ``number``: in its group. ``scalars``: by operand
    code. ``vectors``: 64 dwords of each vector register, one after the other."""

    number: int
    pc: int
    scalars: tuple[int, ...]
    vectors: bytes

    def vector(self, register: int, lane: int) -> int:
        """Raises IndexError for a register that it has not."""
        at = 4 * (64 * register + lane)
        if not 0 <= lane < 64 or not 0 <= at < len(self.vectors):
            raise IndexError(f"no v{register} of lane {lane}")
        return int.from_bytes(self.vectors[at : at + 4], "little")


class KernelError(GpuError):
    """A wave stopped its kernel: a trap, an unmapped address, an instruction without meaning.
    ``waves``: those of its group, where the units have them."""

    def __init__(
        self, kernel: str, where: str, why: str, waves: tuple[WaveRegisters, ...] = ()
    ) -> None:
        super().__init__(f"{where}: kernel {kernel}: {why}")
        self.kernel = kernel
        self.why = why
        self.waves = waves


class InactiveQueueError(GpuError):
    """The host or its driver made the queue inactive; what was left completes with an error."""


class NoProgressError(GpuError):
    """Nothing that is under way can change what the host waits for.

    ``waiting``: one line for each party that waits, and for what.
    """

    def __init__(self, what: str, waiting: list[str]) -> None:
        lines = "".join(f"\n  {line}" for line in waiting or ["nothing is under way"])
        super().__init__(f"{what} can never happen:{lines}")
        self.waiting = waiting
