"""What checks find: each kind of mistake once per place in the program.

Invariant: findings are in the order in which they were first seen; equal runs give equal lists.
"""

from __future__ import annotations

from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.wave.wavefront import Wavefront, line_text
from gpu.dispatch.launch import GroupStart
from slicc.text.lazy_dataclass import dataclass


@dataclass(slots=True)
class Finding:
    """``check``: which one. ``text``: for the user. ``times``: how often it was seen."""

    check: str
    text: str
    times: int = 1

    def __str__(self) -> str:
        often = f" ({self.times:,} times)" if self.times > 1 else ""
        return f"{self.check}: {self.text}{often}"


class Findings:
    """Collected by key; a repeated key is only counted."""

    def __init__(self) -> None:
        self._by_key: dict[tuple[object, ...], Finding] = {}

    def known(self, *key: object) -> bool:
        """Whether this was found before; it is counted then."""
        finding = self._by_key.get(key)
        if finding is None:
            return False
        finding.times += 1
        return True

    def add(self, check: str, text: str, *key: object) -> None:
        """Something new."""
        self._by_key[key] = Finding(check, text)

    @property
    def all(self) -> list[Finding]:
        """In the order in which they were first seen."""
        return list(self._by_key.values())


def place(wave: Wavefront, decoded: DecodedInstruction) -> str:
    """`` `text` at 0x..., wave ...``: where something happened."""
    return f"{instruction_text(wave.group.start, decoded)}, {wave}"


def instruction_text(start: GroupStart, decoded: DecodedInstruction) -> str:
    """`` `text` at 0x... (vadd.cl:3)``: one instruction."""
    address = decoded.instruction.address
    return f"`{decoded}` at {address:#x}{line_text(start, address)}"


def register_name(file: str, number: int) -> str:
    """As an assembler writes it."""
    if file == "scc":
        return "scc"
    if file == "v":
        return f"v{number}"
    return _SPECIAL.get(number, f"s{number}")


_SPECIAL = {
    102: "flat_scratch_lo",
    103: "flat_scratch_hi",
    104: "xnack_mask_lo",
    105: "xnack_mask_hi",
    106: "vcc_lo",
    107: "vcc_hi",
    124: "m0",
    126: "exec_lo",
    127: "exec_hi",
}
