"""Every byte of every access of a program, and the native loops over them.

Invariant: the native loops compute what the numpy code beside each call of them does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from tester.arrays import BoolArray, ByteArray, IntArray, WordArray
from tester.program.program import Program

ATTEMPTS: Final = 16
"""Random streams for stored bytes that must differ from earlier ones."""


@dataclass(frozen=True, slots=True)
class ByteEvents:
    """Every byte of every access, sorted by (byte, place in the order).

    `byte` counts within the lines of the ExpectationState; `slot` is action * lanes + lane;
    `offset` is the byte's place in its access; `before`/`after` are the positions here of the
    nearest store to the same byte, -1 without one.
    """

    byte: IntArray
    slot: IntArray
    offset: IntArray
    is_store: BoolArray
    first: IntArray  # positions where a new byte starts
    before: IntArray
    after: IntArray


class NativeLoops(Protocol):
    """Inner loops that may be compiled (`tester.generator.native_loops`)."""

    def explode(self, program: Program, lines: IntArray, events: ByteEvents) -> int: ...

    def assign_versions(
        self,
        events: ByteEvents,
        values: WordArray,
        identity: IntArray,
        history: ByteArray,
        keys: Sequence[int],
    ) -> tuple[WordArray, ByteArray] | None: ...

    def derive(
        self,
        program: Program,
        events: ByteEvents,
        memory: ByteArray,
        stored: IntArray,
        complete: IntArray,
        clocks: IntArray,
        come: IntArray,
        loaded: tuple[IntArray, IntArray],
    ) -> tuple[WordArray, IntArray, IntArray, IntArray]: ...
