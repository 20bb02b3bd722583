"""What ``gcn disasm`` prints: functions as an assembler for gfx803 takes them back.

Invariant: the text of a function, assembled at its address, gives its bytes again; what is no
instruction stands there as data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu.cli.description import printable
from gpu.code_object import CodeObject
from gpu.code_object.elf import KERNEL_V2, Symbol
from gpu.isa.decoder import NotAnInstruction, decode_at
from gpu.isa.instruction import Instruction
from gpu.isa.printer import text

_INLINE_PATTERNS: Final = frozenset(
    pattern | sign
    for patterns, sign_bit in (
        ((0x3F000000, 0x3F800000, 0x40000000, 0x40800000, 0x3E22F983), 1 << 31),
        ((0x3800, 0x3C00, 0x4000, 0x4400, 0x3118), 1 << 15),
        ((0x3FE00000, 0x3FF00000, 0x40000000, 0x40100000), 1 << 31),
    )
    for pattern in patterns
    for sign in (0, sign_bit)
)
"""Float constants that are encoded in one word: of 32 bits, 16 bits, upper halves of 64."""


def disassemble(code_object: CodeObject, kernel: str | None = None) -> Iterator[str]:
    """All functions, or one kernel's, line by line. Raises `CodeObjectError` for an unknown one."""
    if kernel is None:
        for function in code_object.functions():
            yield from _function(code_object, function)
        return
    found = code_object[kernel]
    yield from _lines(code_object, kernel, found.entry, found.code_size)


def _function(code_object: CodeObject, symbol: Symbol) -> Iterator[str]:
    header = 0
    if symbol.type == KERNEL_V2:
        header = next(
            (
                kernel.descriptor.entry_offset
                for kernel in code_object.kernels.values()
                if kernel.object_address == symbol.address
            ),
            0,
        )
    yield from _lines(code_object, symbol.name, symbol.address + header, symbol.size - header)


def _lines(code_object: CodeObject, name: str, address: int, size: int) -> Iterator[str]:
    code = code_object.elf.read(address, size) or b""
    yield f"{printable(name)}: // {size} bytes at {address:#x}"
    at = 0
    while at < len(code):
        try:
            instruction = decode_at(code, at, address + at)
            length, line, remark = instruction.size, text(instruction), ""
            if _would_be_shorter(instruction):
                line, remark = _data(code[at : at + length]), "  " + line
        except NotAnInstruction as error:
            length = min(4, len(code) - at)
            line, remark = _data(code[at : at + length]), f"  {error.reason}"
        words = " ".join(f"{word:08X}" for word in _words(code[at : at + length]))
        yield f"  {line:60} // {address + at:012X}: {words}{remark}"
        at += length
    yield ""


def _would_be_shorter(instruction: Instruction) -> bool:
    """Whether an assembler would put a literal into the instruction's own word.

    Linkers fill in literals, and some of them happen to be inline constants.
    """
    literal = instruction.fields.get("literal")
    if literal is None or instruction.opcode.operand("literal") is not None:
        return False
    return literal <= 64 or literal >= (1 << 32) - 16 or literal in _INLINE_PATTERNS


def _words(code: bytes) -> list[int]:
    return [int.from_bytes(code[at : at + 4], "little") for at in range(0, len(code), 4)]


def _data(code: bytes) -> str:
    if len(code) % 4:
        return ".byte " + ", ".join(f"{byte:#04x}" for byte in code)
    return ".long " + ", ".join(f"{word:#010x}" for word in _words(code))
