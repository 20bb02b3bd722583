"""The output of ``gcn disasm``: functions as an assembler for the processor reads them.

Invariant: the text of a function, assembled at its address, gives its bytes again; bytes that are
no instruction are printed as data.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu.cli.common.files import open_code_object
from gpu.cli.options import DisasmOptions
from gpu.code_object import RUNNABLE, CodeObject, CodeObjectError, generation_of
from gpu.code_object.elf import KERNEL_V2, Symbol
from gpu.generation import Generation
from gpu.isa.encoding.disassembler import assembler_lines
from slicc.text.terminal import printable


def disasm(options: DisasmOptions) -> None:
    """Print the instructions of kernels, with labels for what is branched to."""
    for line in disassemble(open_code_object(options.file, options), options.kernel):
        print(line)


def disassemble(code_object: CodeObject, kernel: str | None = None) -> Iterator[str]:
    """All functions, or one kernel's, line by line. Raises `CodeObjectError` for an unknown one,
    and for a processor whose instructions are not known."""
    processor = code_object.target.processor
    generation = generation_of(processor)
    if generation is None:
        known = ", ".join(RUNNABLE)
        raise CodeObjectError(
            code_object.path,
            f"compiled for {processor}; only code for {known} and their like is read",
        )
    if kernel is None:
        for function in code_object.functions():
            yield from _function(code_object, function, generation)
        return
    found = code_object[kernel]
    yield from _lines(code_object, kernel, found.entry, found.code_size, generation)


def _function(code_object: CodeObject, symbol: Symbol, generation: Generation) -> Iterator[str]:
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
    address, size = symbol.address + header, symbol.size - header
    yield from _lines(code_object, symbol.name, address, size, generation)


def _lines(
    code_object: CodeObject, name: str, address: int, size: int, generation: Generation
) -> Iterator[str]:
    code = code_object.elf.read(address, size) or b""
    yield f"{printable(name)}: // {size} bytes at {address:#x}"
    for line in assembler_lines(code, address, generation):
        if line.label:
            yield f"{line.label}:"
        yield f"  {line}"
    yield ""
