"""What kernels print: a buffer for each dispatch, and its records as text.

A call of printf in a kernel takes room in a buffer whose address is a hidden argument, and writes
its number and its arguments there, each of them padded to 4 bytes; a string argument is written
itself. The formats by number are in the code object. Invariant: a record is read once, and only
after the kernel that wrote it has ended.

Source: LLVM "User Guide for AMDGPU Backend", code object metadata ``amdhsa.printf``; OpenCL C
specification 2.0, 6.13.13.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gpu.code_object import Kernel
from gpu.code_object.metadata import PrintfFormat
from gpu.hsa.host_memory import Host
from gpu.hsa.queue_state import Connection
from gpu.memory.address_space import AddressSpace
from slicc.text.lazy_dataclass import dataclass

HEADER: Final = 8
_ARGUMENT: Final = "hidden_printf_buffer"
_SPECIFICATION: Final = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d{0,4})(?P<precision>(?:\.\d{0,4})?)"
    r"(?:v(?P<lanes>2|3|4|8|16))?(?P<length>hh|hl|h|l)?(?P<kind>[diouxXfFeEgGaAcsp%])"
)
_INTEGERS: Final = {1: "b", 2: "h", 4: "i", 8: "q"}
_FLOATS: Final = {2: "e", 4: "f", 8: "d"}


@dataclass(frozen=True, slots=True)
class _Buffer:
    """``formats``: by number."""

    address: int
    size: int
    kernel: str
    formats: Mapping[int, PrintfFormat]
    link: Connection
    packet: int

    @property
    def over(self) -> bool:
        """Whether the kernel has ended."""
        running = any(run.packet_id == self.packet for run in self.link.runs)
        return self.link.read_id > self.packet and not running


class Printing:
    """Buffers of a device's dispatches. ``size``: bytes of each; ``write`` is called with the
    text."""

    def __init__(
        self, space: AddressSpace, host: Host, size: int, write: Callable[[str], object]
    ) -> None:
        self._space = space
        self._host = host
        self._size = size
        self._write = write
        self._buffers: list[_Buffer] = []

    def room(self, kernel: Kernel) -> int:
        """Address of a new buffer; 0 for a kernel that prints nothing."""
        if not any(each.kind == _ARGUMENT for each in kernel.metadata.arguments):
            return 0
        made = self._space.allocate(self._size, name=f"what {kernel.name} prints")
        self._host.write(made.start, struct.pack("<II", 0, self._size))
        return made.start

    def expect(self, address: int, kernel: Kernel, link: Connection, packet: int) -> None:
        """A packet will print into that buffer."""
        owner = kernel.owner
        formats = () if owner is None else owner.metadata.printf
        by_number = {each.number: each for each in formats}
        self._buffers.append(_Buffer(address, self._size, kernel.name, by_number, link, packet))

    def collect(self) -> None:
        """Write the output of kernels that have ended."""
        over: list[_Buffer] = []
        waiting: list[_Buffer] = []
        for buffer in self._buffers:
            (over if buffer.over else waiting).append(buffer)
        self._buffers = waiting
        for buffer in over:
            used = int.from_bytes(self._host.read(buffer.address, 4), "little")
            used = min(used, buffer.size - HEADER)
            if used:
                self._write(as_text(self._host.read(buffer.address + HEADER, used), buffer.formats))
            self._space.free(buffer.address)


def as_text(data: bytes, formats: Mapping[int, PrintfFormat]) -> str:
    """The records of a buffer, one after the other."""
    texts, place = [], 0
    while place + 4 <= len(data):
        number = int.from_bytes(data[place : place + 4], "little")
        place += 4
        call = formats.get(number)
        if call is None:
            texts.append(f"<printf {number}: the code object has no such format>\n")
            break  # the start of the next one is unknown
        arguments = []
        for size in call.sizes:
            size = max(0, size)
            arguments.append(data[place : place + size])
            place += -(-size // 4) * 4
        texts.append(formatted(call.format, arguments))
    return "".join(texts)


def formatted(text: str, arguments: Sequence[bytes]) -> str:
    """A format with its arguments, each as it lay in memory."""
    left = list(arguments)

    def one(found: re.Match[str]) -> str:
        if found["kind"] == "%":
            return "%"
        if not left:
            return found[0]
        return _converted(found, left.pop(0))

    return _SPECIFICATION.sub(one, _unescaped(text))


def _unescaped(text: str) -> str:
    """Compilers write line ends and the like into the metadata as in a source."""
    named = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}

    def one(found: re.Match[str]) -> str:
        what = found[1]
        return chr(int(what, 8)) if what[0] in "01234567" else named.get(what, what)

    return re.sub(r"\\([0-3]?[0-7]{1,2}|.)", one, text, flags=re.DOTALL)


def _converted(found: re.Match[str], data: bytes) -> str:
    kind = found["kind"]
    if kind == "s":
        text = data.split(b"\0")[0].decode("utf-8", "replace")
        return f"%{found['flags']}{found['width']}{found['precision']}s" % text
    lanes = int(found["lanes"] or 1)
    size = len(data) // (4 if lanes == 3 and len(data) % 3 else lanes)
    letters = _FLOATS if kind in "fFeEgGaA" else _INTEGERS
    if size not in letters:
        return found[0]
    values = struct.unpack_from(f"<{lanes}{letters[size]}", data)
    return ",".join(_number(found, value, 8 * size) for value in values)


def _number(found: re.Match[str], value: int | float, bits: int) -> str:
    kind, pattern = found["kind"], f"%{found['flags']}{found['width']}{found['precision']}"
    if isinstance(value, float):
        if kind in "aA":
            text = f"%{found['flags'].replace('0', '')}{found['width']}s" % value.hex()
            return text.upper() if kind == "A" else text
        return f"{pattern}{kind}" % value
    if kind == "c":
        return f"%{found['flags'].replace('0', '')}{found['width']}s" % chr(value & 0xFF)
    short = {"hh": 8, "h": 16}.get(found["length"] or "", bits)
    if kind in "di":
        value = (value + (1 << short - 1) & (1 << short) - 1) - (1 << short - 1)
        return f"{pattern}d" % value
    value &= (1 << short) - 1
    if kind == "p":
        return f"%{found['flags'].replace('0', '')}{found['width']}s" % f"{value:#x}"
    if "#" in found["flags"] and (kind == "o" or not value):
        pattern = pattern.replace("#", "")
        return f"{pattern}s" % (f"0{value:o}" if value else "0")
    return f"{pattern}{'d' if kind == 'u' else kind}" % value
