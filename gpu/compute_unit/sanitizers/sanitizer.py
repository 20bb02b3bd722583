"""The events that checks are notified of, and the set of enabled checks.

Units call these methods only when a set was given to them. Invariant: a check has no effect on the
run; a run with checks computes what a run without them computes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gpu.compute_unit.memory_ops.access import MemoryAccess
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.sanitizers.data_races import Races
from gpu.compute_unit.sanitizers.findings import Finding, Findings
from gpu.compute_unit.sanitizers.missing_waits import Waits
from gpu.compute_unit.sanitizers.uninitialised import Uninitialised
from gpu.compute_unit.wave.wavefront import Group, Wavefront

NAMES: Final = ("races", "waits", "uninitialised")


class Checks:
    """The checks of one device; all of its units share one. Raises ValueError for other names."""

    def __init__(self, names: Iterable[str]) -> None:
        wanted = list(names)
        for name in wanted:
            if name not in NAMES:
                raise ValueError(f"no check `{name}`; there are {', '.join(NAMES)}")
        self._findings = Findings()
        self._waits = Waits(self._findings) if "waits" in wanted else None
        self._races = Races(self._findings) if "races" in wanted else None
        self._uninitialised = Uninitialised(self._findings) if "uninitialised" in wanted else None

    @property
    def findings(self) -> list[Finding]:
        """All so far."""
        return self._findings.all

    def entered(self, group: Group[Any]) -> None:
        """A group's waves have started."""
        if self._races is not None:
            self._races.entered(group)
        if self._uninitialised is not None:
            self._uninitialised.entered(group)

    def issue(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        """A wave is about to execute an instruction; its registers are as they were before."""
        if self._waits is not None:
            self._waits.issue(wave, decoded)
        if self._uninitialised is not None:
            self._uninitialised.issue(wave, decoded)
        if self._races is not None:
            self._races.issue(wave, decoded)

    def access(
        self, wave: Wavefront, decoded: DecodedInstruction, access: MemoryAccess | None
    ) -> None:
        """A memory instruction has been executed: its addresses are known."""
        if self._waits is not None:
            self._waits.access(wave, decoded, access)
        if access is None:
            return
        if self._uninitialised is not None:
            self._uninitialised.access(wave, decoded, access)
        if self._races is not None:
            self._races.access(wave, decoded, access)

    def returned(self, access: MemoryAccess) -> None:
        """A memory instruction has its answers."""
        if self._races is not None:
            self._races.returned(access)

    def barrier(self, group: Group[Any]) -> None:
        """A barrier opens."""
        if self._races is not None:
            self._races.barrier(group)

    def left(self, group: Group[Any]) -> None:
        """A group was removed."""
        if self._races is not None:
            self._races.left(group)
        for wave in group.waves:
            if self._waits is not None:
                self._waits.forget(wave)
            if self._uninitialised is not None:
                self._uninitialised.forget(wave)
