"""Main memory.

Sparse: a line that was never written holds bytes hashed from the run key and its address, so that a
lost write or a read of the wrong line is seen. Invariant: reads and writes take effect in the
order in which controllers hand them over; the latency delays answers only. A request whose data is
echoed leaves memory alone: its protocol keeps the bytes in the entries of its directories, and asks
memory for the time that an access takes.
"""

from __future__ import annotations

from struct import pack

from runtime.errors import ErrorKind, ProtocolError
from runtime.prng import GOLDEN, MASK64, hash64, mix64
from runtime.types.messages import MemoryMsg, MemoryRequestType, MessageSizeType, Packet
from runtime.types.values import DataBlock, MachineID


def initial_line(run_key: int, line: int, line_bits: int = 6) -> int:
    """The first contents of a line as one little-endian integer; ``line`` is its address."""
    base = mix64(run_key + GOLDEN) + (line >> 3) * GOLDEN
    words = [mix64(base + word * GOLDEN) for word in range(1 << line_bits >> 3)]
    return int.from_bytes(pack(f"<{len(words)}Q", *words), "little")


class Memory:
    """The bytes of the system. ``latency``: cycles from taking a request to its answer.

    ``zeroed``: what was never written is zero, not hashed.
    """

    __slots__ = (
        "echoes",
        "latency",
        "line_bits",
        "line_mask",
        "line_size",
        "lines",
        "run_key",
        "zeroed",
    )

    def __init__(self, run_key: int, latency: int = 40, line_bits: int = 6) -> None:
        if latency < 0:
            raise ValueError(f"memory latency {latency} is negative")
        self.run_key = run_key
        self.latency = latency
        self.line_bits = line_bits
        self.line_size = 1 << line_bits
        self.line_mask = self.line_size - 1
        self.lines: dict[int, int] = {}
        self.zeroed = False
        self.echoes = False
        """Whether a request was echoed: then what is here is not what the system holds."""

    def read_line(self, line: int) -> int:
        """The bytes of a line as an integer; ``line`` is its address."""
        data = self.lines.get(line)
        if data is None:
            return 0 if self.zeroed else initial_line(self.run_key, line, self.line_bits)
        return data

    def write_line(self, line: int, data: int) -> None:
        self.lines[line] = data

    def access(self, request: MemoryMsg, machine: MachineID) -> MemoryMsg:
        """Carry a request out and return the answer to send to ``machine``.

        Reads answer with the line's bytes from ``addr`` on, at offset 0; writes take ``Len``
        bytes (0: the whole line) at the offset of ``addr``.
        """
        address = request.addr
        line = address & ~self.line_mask
        offset = address - line
        length = request.Len or self.line_size
        if length < 0 or (request.Len and offset + length > self.line_size):
            raise ProtocolError(
                ErrorKind.BAD_MEMORY_REQUEST,
                f"memory request for {length} bytes at {address:#x} crosses its line",
            )
        response = MemoryMsg()
        response.addr = address
        response.Sender = machine
        response.OriginalRequestorMachId = request.Sender
        response.Len = request.Len
        if request.Echoed:
            self._echo(request, response)
        elif request.Type == MemoryRequestType.MEMORY_READ:
            response.Type = MemoryRequestType.MEMORY_READ
            response.MessageSize = MessageSizeType.Response_Data
            response.DataBlk = DataBlock(self.read_line(line) >> 8 * offset)
        elif request.Type == MemoryRequestType.MEMORY_WB:
            response.Type = MemoryRequestType.MEMORY_WB
            response.MessageSize = MessageSizeType.Writeback_Control
            if request.Len and request.Len < self.line_size:
                old = self.read_line(line)
                written = ((1 << 8 * length) - 1) << 8 * offset
                self.lines[line] = old ^ ((old ^ request.DataBlk.data) & written)
            else:
                self.lines[line] = request.DataBlk.data
        else:
            raise ProtocolError(
                ErrorKind.BAD_MEMORY_REQUEST,
                f"memory request of type {MemoryRequestType.name_of(request.Type)}",
            )
        return response

    def _echo(self, request: MemoryMsg, response: MemoryMsg) -> None:
        self.echoes = True
        response.Type = request.Type
        response.MessageSize = request.MessageSize
        response.DataBlk = request.DataBlk.copy()

    def functional_read(self, packet: Packet) -> None:
        """Fill in the bytes of a packet that lies in one line."""
        line = packet.address & ~self.line_mask
        packet.data = DataBlock(self.read_line(line)).read(packet.address - line, packet.size)
        packet.done = (1 << 8 * packet.size) - 1

    def functional_write(self, packet: Packet) -> None:
        line = packet.address & ~self.line_mask
        block = DataBlock(self.read_line(line))
        block.write(packet.address - line, packet.size, packet.data)
        self.lines[line] = block.data

    def digest(self) -> int:
        """A 64-bit hash of everything that was written, independent of the order of writing."""
        state = 0
        words = range(0, 8 * self.line_size, 64)
        for line in sorted(self.lines):
            data = self.lines[line]
            state = hash64(state, line, *[data >> bit & MASK64 for bit in words])
        return state
