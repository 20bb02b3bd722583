"""A functional access: bytes read or written at once, outside of time.

Debuggers and checkers use it to look through the protocol. Invariant: ``data`` and ``done``
are relative to ``address``; an access lies inside one line.
"""

from __future__ import annotations

from runtime.types.values import DataBlock, WriteMask


class Packet:
    """``size`` bytes at byte ``address``; ``data`` is unsigned little-endian.

    ``done`` is the expanded mask of the bytes that were found, for partial reads.
    """

    __slots__ = ("address", "data", "done", "size")

    def __init__(self, address: int, size: int, data: int = 0) -> None:
        self.address = address
        self.size = size
        self.data = data
        self.done = 0


def _offset_in(line: int, packet: Packet) -> int | None:
    """Where the packet stands in the line, None when in another one.

    Protocols pass the line address, so an access at or above it and inside one line is in it.
    """
    offset = packet.address - line
    return offset if 0 <= offset < 4096 else None


def testAndRead(line: int, block: DataBlock, packet: Packet) -> bool:
    """Copy from the block into the packet if it is the same line."""
    offset = _offset_in(line, packet)
    if offset is None:
        return False
    packet.data = block.read(offset, packet.size)
    packet.done = (1 << 8 * packet.size) - 1
    return True


def testAndReadMask(line: int, block: DataBlock, mask: WriteMask, packet: Packet) -> bool:
    """Copy those bytes that the mask selects; true if there was one."""
    offset = _offset_in(line, packet)
    if offset is None:
        return False
    wanted = mask.bits >> 8 * offset & ((1 << 8 * packet.size) - 1)
    found = block.read(offset, packet.size)
    packet.data ^= (packet.data ^ found) & wanted
    packet.done |= wanted
    return wanted != 0


def testAndWrite(line: int, block: DataBlock, packet: Packet) -> bool:
    """Copy from the packet into the block if it is the same line."""
    offset = _offset_in(line, packet)
    if offset is None:
        return False
    block.write(offset, packet.size, packet.data)
    return True
