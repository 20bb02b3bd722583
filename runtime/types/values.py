"""Values that protocols hold, copy and send: machine ids, destination sets, masks, blocks.

Sets and masks are single Python integers, so that a union, a merge of 64 masked bytes or a
comparison is one expression. Invariant: a mutable value belongs to exactly one variable or
field; ``copy()`` and ``assign()`` are the only ways to hand its contents on.

A method whose meaning depends on the system (how many controllers, how long a line) takes the
asking controller first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.errors import ErrorKind, ProtocolError
from runtime.types.atomic_op import AtomicKind as AtomicKind
from runtime.types.atomic_op import AtomicOp as AtomicOp
from runtime.types.enumeration import NO_VALUE
from runtime.types.enumerations import MachineType
from runtime.types.integers import divide as divide
from runtime.types.integers import int32 as int32
from runtime.types.integers import int64 as int64
from runtime.types.integers import remainder as remainder
from runtime.types.integers import shift_left as shift_left
from runtime.types.integers import shift_right as shift_right
from runtime.types.integers import uint32 as uint32
from runtime.types.integers import uint64 as uint64

MAX_BYTES = 65536
"""Of a range of bytes where the length of a line is not known."""
MAX_MEMBERS = 1024
"""Numbers of a Set and flags of a BoolVec are below it."""


class MachineID:
    """The name of a controller: immutable, made and interned by ``Topology.machine_id``.

    ``node`` is its global number and ``bit`` is ``1 << node``; -1 and 0 for an id that names no
    controller of the system. Interning makes ``==`` an identity test. ``alone`` is the set that
    holds just this controller, shared by callers that never change it; asking an id that names no
    controller is a verdict.
    """

    __slots__ = ("alone", "bit", "node", "num", "type")

    alone: NetDest

    def __init__(self, type: int, num: int, node: int = -1) -> None:
        self.type = type
        self.num = num
        self.node = node
        self.bit = 1 << node if node >= 0 else 0
        if node >= 0:
            self.alone = NetDest(self.bit)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Only asked for what is not there, so valid ids pay nothing for the check."""
            if name == "alone":
                raise self.not_in_system()
            raise AttributeError(name)

    def not_in_system(self) -> ProtocolError:
        unset = MachineType.name_of(self.type) == NO_VALUE
        named = "a machine that nothing has set" if unset else repr(self)
        return ProtocolError(ErrorKind.INDEX_RANGE, f"{named} is not part of the system")

    def __repr__(self) -> str:
        return f"{MachineType.name_of(self.type)}-{self.num}"


class TopologyView(Protocol):
    """As much of the network's topology as a set of nodes is asked with."""

    @property
    def nodes(self) -> Sequence[MachineID]: ...
    def mask_of(self, machine_type: int, /) -> int: ...
    def first_node(self, machine_type: int, /) -> int: ...


class ControllerView(Protocol):
    """As much of a controller as values are handed by generated code."""

    @property
    def topology(self) -> TopologyView: ...
    @property
    def line_size(self) -> int: ...
    @property
    def full_mask(self) -> int: ...


class NetDest:
    """A set of controllers; bit ``n`` of ``bits`` is the controller with node number ``n``."""

    __slots__ = ("bits",)

    def __init__(self, bits: int = 0) -> None:
        self.bits = bits

    def copy(self) -> NetDest:
        return NetDest(self.bits)

    def assign(self, other: NetDest) -> None:
        self.bits = other.bits

    def add(self, machine: MachineID) -> None:
        bit = machine.bit
        if not bit:
            raise machine.not_in_system()
        self.bits |= bit

    def remove(self, machine: MachineID) -> None:
        self.bits &= ~machine.bit

    def clear(self) -> None:
        self.bits = 0

    def count(self) -> int:
        return self.bits.bit_count()

    def isElement(self, machine: MachineID) -> bool:
        return self.bits & machine.bit != 0

    def isEmpty(self) -> bool:
        return not self.bits

    def isSuperset(self, other: NetDest) -> bool:
        return not other.bits & ~self.bits

    def intersectionIsEmpty(self, other: NetDest) -> bool:
        return not self.bits & other.bits

    def addNetDest(self, other: NetDest) -> None:
        self.bits |= other.bits

    def removeNetDest(self, other: NetDest) -> None:
        self.bits &= ~other.bits

    def OR(self, other: NetDest) -> NetDest:
        return NetDest(self.bits | other.bits)

    def AND(self, other: NetDest) -> NetDest:
        return NetDest(self.bits & other.bits)

    def broadcast(self, controller: ControllerView, machine_type: int) -> None:
        """Add every controller of the type."""
        self.bits |= controller.topology.mask_of(machine_type)

    def broadcast_all(self, controller: ControllerView) -> None:
        """Add every controller of the system."""
        self.bits |= (1 << len(controller.topology.nodes)) - 1

    def setNetDest(self, controller: ControllerView, machine_type: int, members: Set) -> None:
        """Replace the controllers of one type by the numbers in ``members``."""
        topology = controller.topology
        mask = topology.mask_of(machine_type)
        if members.bits >> mask.bit_count():
            raise ProtocolError(ErrorKind.INDEX_RANGE, f"{members!r} has more than the system")
        self.bits = (self.bits & ~mask) | (members.bits << topology.first_node(machine_type))

    def smallestElement(self, controller: ControllerView) -> MachineID:
        """The member that comes first in node order."""
        bits = self.bits
        if not bits:
            raise ProtocolError(ErrorKind.ASSERTION, "smallest element of an empty NetDest")
        return controller.topology.nodes[(bits & -bits).bit_length() - 1]

    def smallestElement_of(self, controller: ControllerView, machine_type: int) -> MachineID:
        """The first member of one type."""
        bits = self.bits & controller.topology.mask_of(machine_type)
        if not bits:
            raise ProtocolError(ErrorKind.ASSERTION, "NetDest has no member of that type")
        return controller.topology.nodes[(bits & -bits).bit_length() - 1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetDest) and self.bits == other.bits

    __hash__ = None  # type: ignore[assignment]

    def nodes(self) -> list[int]:
        """The node numbers in ascending order."""
        return [node for node in range(self.bits.bit_length()) if self.bits >> node & 1]

    def __repr__(self) -> str:
        return f"NetDest({self.nodes()})"


class Set:
    """A set of numbers below ``size`` (0: not sized yet, any number fits)."""

    __slots__ = ("bits", "size")

    def __init__(self, size: int = 0, bits: int = 0) -> None:
        self.size = size
        self.bits = bits

    def copy(self) -> Set:
        return Set(self.size, self.bits)

    def assign(self, other: Set) -> None:
        self.size = other.size
        self.bits = other.bits

    def setSize(self, size: int) -> None:
        """Set the universe and empty the set."""
        if not 0 <= size <= MAX_MEMBERS:
            raise ProtocolError(ErrorKind.INDEX_RANGE, f"a set of {size} numbers")
        self.size = size
        self.bits = 0

    def _bit(self, number: int) -> int:
        if number < 0 or number >= (self.size or MAX_MEMBERS):
            raise ProtocolError(ErrorKind.INDEX_RANGE, f"{number} in a set of size {self.size}")
        return 1 << number

    def add(self, number: int) -> None:
        self.bits |= self._bit(number)

    def addSet(self, other: Set) -> None:
        self.bits |= other.bits

    def remove(self, number: int) -> None:
        self.bits &= ~self._bit(number)

    def removeSet(self, other: Set) -> None:
        self.bits &= ~other.bits

    def broadcast(self) -> None:
        """Add every number below ``size``."""
        self.bits = (1 << self.size) - 1

    def clear(self) -> None:
        self.bits = 0

    def count(self) -> int:
        return self.bits.bit_count()

    def isElement(self, number: int) -> bool:
        return number >= 0 and self.bits >> number & 1 == 1

    def isEmpty(self) -> bool:
        return not self.bits

    def isEqual(self, other: Set) -> bool:
        return self.bits == other.bits

    def isSuperset(self, other: Set) -> bool:
        return not other.bits & ~self.bits

    def intersectionIsEmpty(self, other: Set) -> bool:
        return not self.bits & other.bits

    def smallestElement(self) -> int:
        if not self.bits:
            raise ProtocolError(ErrorKind.ASSERTION, "smallest element of an empty Set")
        return (self.bits & -self.bits).bit_length() - 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Set) and self.bits == other.bits

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        members = [number for number in range(self.bits.bit_length()) if self.bits >> number & 1]
        return f"Set({members})"


class BoolVec:
    """A growing list of flags."""

    __slots__ = ("flags",)

    def __init__(self, flags: list[bool] | None = None) -> None:
        self.flags = [] if flags is None else flags

    def copy(self) -> BoolVec:
        return BoolVec(self.flags.copy())

    def assign(self, other: BoolVec) -> None:
        self.flags = other.flags.copy()

    def _check(self, index: int) -> None:
        if not 0 <= index < len(self.flags):
            raise ProtocolError(ErrorKind.INDEX_RANGE, f"flag {index} of {len(self.flags)}")

    def at(self, index: int) -> bool:
        self._check(index)
        return self.flags[index]

    def set_at(self, index: int, value: bool) -> None:
        self._check(index)
        self.flags[index] = value

    def clear(self) -> None:
        self.flags.clear()

    def resize(self, size: int) -> None:
        """Cut, or grow with false."""
        if not 0 <= size <= MAX_MEMBERS:
            raise ProtocolError(ErrorKind.INDEX_RANGE, f"a vector of {size} flags")
        self.flags = self.flags[:size] + [False] * (size - len(self.flags))

    def size(self) -> int:
        return len(self.flags)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoolVec) and self.flags == other.flags

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"BoolVec({''.join('01'[flag] for flag in self.flags)})"


def _check_byte(offset: int) -> None:
    if offset < 0:
        raise ProtocolError(ErrorKind.INDEX_RANGE, f"byte {offset}")


def byte_range(offset: int, length: int, end: int = MAX_BYTES) -> int:
    """The expanded mask of ``length`` bytes from ``offset``, which stay below ``end``."""
    if offset < 0 or not 0 <= length <= end - offset:
        raise ProtocolError(ErrorKind.INDEX_RANGE, f"bytes [{offset}, {offset + length})")
    return ((1 << 8 * length) - 1) << 8 * offset


def _range_of_line(controller: ControllerView | None, offset: int, length: int) -> int:
    """The bits of a range of bytes within a line; a method of a structure has no controller that
    knows its size."""
    return byte_range(offset, length, MAX_BYTES if controller is None else controller.line_size)


class WriteMask:
    """A set of bytes of a line, with the atomic operations that go to some of them.

    ``bits`` is expanded: byte ``i`` is selected if and only if ``bits`` has 0xFF at bit
    ``8 * i``; a masked merge of two blocks is then one integer expression. ``atomics`` holds
    ``(byte offset, operation)`` in the order of execution.
    """

    __slots__ = ("atomics", "bits")

    def __init__(self, bits: int = 0, atomics: tuple[tuple[int, AtomicOp], ...] = ()) -> None:
        self.bits = bits
        self.atomics = atomics

    def copy(self) -> WriteMask:
        return WriteMask(self.bits, self.atomics)

    def assign(self, other: WriteMask) -> None:
        self.bits = other.bits
        self.atomics = other.atomics

    def clear(self) -> None:
        """Deselect every byte; the atomic operations stay, as in the reference."""
        self.bits = 0

    def test(self, offset: int) -> bool:
        _check_byte(offset)
        return self.bits >> 8 * offset & 1 == 1

    def setMask(
        self, controller: ControllerView | None, offset: int, length: int, value: bool = True
    ) -> None:
        if value:
            self.bits |= _range_of_line(controller, offset, length)
        else:
            self.bits &= ~_range_of_line(controller, offset, length)

    def getMask(self, controller: ControllerView | None, offset: int, length: int) -> bool:
        """Whether all bytes of the range are selected."""
        wanted = _range_of_line(controller, offset, length)
        return self.bits & wanted == wanted

    def fillMask(self, controller: ControllerView) -> None:
        self.bits = controller.full_mask

    def isFull(self, controller: ControllerView) -> bool:
        return self.bits == controller.full_mask

    def setInvertedMask(self, controller: ControllerView, other: WriteMask) -> None:
        """Become the complement of ``other`` (the old contents do not matter)."""
        self.bits = controller.full_mask & ~other.bits

    def isEmpty(self) -> bool:
        return not self.bits

    def isOverlap(self, other: WriteMask) -> bool:
        return self.bits & other.bits != 0

    def containsMask(self, other: WriteMask) -> bool:
        return not other.bits & ~self.bits

    def orMask(self, other: WriteMask) -> None:
        """Union; takes over the other's atomic operations when it has any."""
        self.bits |= other.bits
        if other.atomics:
            self.atomics = other.atomics

    def andMask(self, other: WriteMask) -> None:
        """Intersection; takes over the other's atomic operations when it has any."""
        self.bits &= other.bits
        if other.atomics:
            self.atomics = other.atomics

    def count(self, offset: int = 0) -> int:
        """Selected bytes at ``offset`` and above."""
        _check_byte(offset)
        return (self.bits >> 8 * offset).bit_count() >> 3

    def firstBitSet(self, controller: ControllerView, value: bool, offset: int = 0) -> int:
        """The lowest byte from ``offset`` on that is selected (for false: that is not).

        The line size if there is none.
        """
        wanted = self.bits if value else controller.full_mask & ~self.bits
        if offset:
            _check_byte(offset)
            wanted = wanted >> 8 * offset << 8 * offset
        if not wanted:
            return controller.line_size
        return ((wanted & -wanted).bit_length() - 1) >> 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WriteMask) and self.bits == other.bits

    __hash__ = None  # type: ignore[assignment]

    def ranges(self) -> list[tuple[int, int]]:
        """Selected bytes as ``(first, end)`` ranges in ascending order."""
        found: list[tuple[int, int]] = []
        for offset in range((self.bits.bit_length() + 7) >> 3):
            if self.bits >> 8 * offset & 1:
                if found and found[-1][1] == offset:
                    found[-1] = (found[-1][0], offset + 1)
                else:
                    found.append((offset, offset + 1))
        return found

    def __repr__(self) -> str:
        text = ", ".join(f"{first}..{end - 1}" for first, end in self.ranges())
        return f"WriteMask({text})" if not self.atomics else f"WriteMask({text}; {self.atomics})"


class DataBlock:
    """The bytes of a line as one integer: byte ``i`` stands at bits ``8 * i`` and up.

    ``log`` holds the whole block as it was before each logged atomic operation, oldest first;
    None when nothing was ever logged. Invariant: ``data`` has no bits beyond the line.
    """

    __slots__ = ("data", "log")

    def __init__(self, data: int = 0, log: list[int] | None = None) -> None:
        self.data = data
        self.log = log

    def copy(self) -> DataBlock:
        log = self.log
        return DataBlock(self.data, None if log is None else log.copy())

    def assign(self, other: DataBlock) -> None:
        """Take over the bytes; the other's atomic log is *appended* to this one's."""
        self.data = other.data
        if other.log:
            self.log = other.log.copy() if self.log is None else self.log + other.log

    def clear(self) -> None:
        self.data = 0

    def copyPartial(self, block: DataBlock, mask: WriteMask) -> None:
        """Copy the bytes that ``mask`` selects."""
        data = self.data
        self.data = data ^ ((data ^ block.data) & mask.bits)

    def copyPartial_range(
        self, controller: ControllerView | None, block: DataBlock, offset: int, length: int
    ) -> None:
        """Copy ``length`` bytes at ``offset`` to the same place."""
        data = self.data
        selected = _range_of_line(controller, offset, length)
        self.data = data ^ ((data ^ block.data) & selected)

    def atomicPartial(self, block: DataBlock, mask: WriteMask, no_return: bool = True) -> None:
        """Take over ``block``'s bytes, then run the mask's operations in order.

        Unless ``no_return``, the block before each operation is appended to the log: that is
        where the old values of a returning atomic are read from.
        """
        data = block.data
        log = self.log
        for offset, operation in mask.atomics:
            if not no_return:
                if log is None:
                    log = self.log = []
                log.append(data)
            shift = 8 * offset
            word = (1 << 8 * operation.size) - 1
            old = data >> shift & word
            data ^= (old ^ operation.apply(old)) << shift
        self.data = data

    def numAtomicLogEntries(self) -> int:
        return 0 if self.log is None else len(self.log)

    def popAtomicLogEntryFront(self) -> int:
        """Remove the oldest logged block and return its bytes."""
        if not self.log:
            raise ProtocolError(ErrorKind.BAD_CALLBACK, "the atomic log of the block is empty")
        return self.log.pop(0)

    def clearAtomicLogEntries(self) -> None:
        self.log = None

    def getByte(self, offset: int) -> int:
        return self.data >> 8 * offset & 0xFF

    def setByte(self, offset: int, value: int) -> None:
        shift = 8 * offset
        self.data ^= ((self.data >> shift & 0xFF) ^ (value & 0xFF)) << shift

    def read(self, offset: int, length: int) -> int:
        """``length`` bytes at ``offset`` as an unsigned little-endian integer."""
        return self.data >> 8 * offset & ((1 << 8 * length) - 1)

    def write(self, offset: int, length: int, value: int) -> None:
        """Store an unsigned little-endian integer of ``length`` bytes at ``offset``."""
        shift = 8 * offset
        mask = (1 << 8 * length) - 1
        self.data ^= ((self.data >> shift & mask) ^ (value & mask)) << shift

    def __eq__(self, other: object) -> bool:
        """Same bytes and same log, as protocols compare blocks."""
        if not isinstance(other, DataBlock):
            return NotImplemented
        return self.data == other.data and (self.log or []) == (other.log or [])

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        length = max(1, (self.data.bit_length() + 7) >> 3)
        text = self.data.to_bytes(length, "little").hex(" ", 4)
        log = f", log of {len(self.log)}" if self.log else ""
        return f"DataBlock({text}{log})"
