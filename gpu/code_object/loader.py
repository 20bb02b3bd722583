"""Code objects in a GPU's memory.

Invariant: a loaded object keeps its addresses until it is unloaded; the host writes nothing else
there.
"""

from __future__ import annotations

from itertools import groupby

from gpu.code_object.code_object import PAGE, CodeObject, Kernel
from gpu.code_object.errors import CodeObjectError
from gpu.memory.interface import Memory
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel at its addresses. ``object_address`` is what a dispatch packet names."""

    kernel: Kernel
    object_address: int
    entry: int

    @property
    def name(self) -> str:
        return self.kernel.name

    def line_at(self, address: int) -> str:
        """``vadd.cl:3`` for an address in memory; empty where no line is known."""
        owner = self.kernel.owner
        if owner is None:
            return ""
        found = owner.source_lines.at(address - self.object_address + self.kernel.object_address)
        return "" if found is None else f"{found[0]}:{found[1]}"

    def function_at(self, address: int) -> str:
        """``vadd+0x14`` for an address in memory, as `gcn disasm` counts; empty outside of
        functions."""
        owner = self.kernel.owner
        if owner is None:
            return ""
        return _place(owner, address - self.object_address + self.kernel.object_address) or ""


@dataclass(frozen=True, slots=True)
class LoadedCodeObject:
    """``base``: what is added to the object's own addresses."""

    code_object: CodeObject
    base: int
    kernels: dict[str, LoadedKernel]
    parts: tuple[int, ...]
    """Where its allocations start."""

    def __getitem__(self, name: str) -> LoadedKernel:
        """The kernel of that name. Raises `CodeObjectError`, naming those that exist."""
        self.code_object[name]
        return self.kernels[name]

    @property
    def addresses(self) -> range:
        """All that the image occupies."""
        first = self.base + self.code_object.first_address
        return range(first, first + self.code_object.image_size)

    def symbol(self, name: str) -> int:
        """Address of a function or variable. Raises `CodeObjectError`."""
        symbol = self.code_object.elf.symbols.get(name)
        if symbol is None or not symbol.section:
            raise CodeObjectError(self.code_object.path, f"no symbol {name!r}")
        return self.base + symbol.address

    def where(self, address: int) -> str | None:
        """``name+0x14`` for an address inside a function, for messages."""
        return _place(self.code_object, address - self.base)


def _place(code_object: CodeObject, address: int) -> str | None:
    for each in code_object.functions():
        distance = address - each.address
        if 0 <= distance < each.size:
            return f"{each.name}+{distance:#x}"
    return None


def load(code_object: CodeObject, memory: Memory) -> LoadedCodeObject:
    """Put an object into memory: segments copied, the rest zero, relocations applied.

    Kernels may write only to pages of writable segments. Raises ValueError if the address space
    is full, `CodeObjectError` while symbols are unbound.
    """
    if code_object.unbound:
        missing = ", ".join(map(repr, code_object.unbound))
        raise CodeObjectError(code_object.path, f"symbols that are bound to nothing: {missing}")
    first = code_object.first_address
    parts = memory.space.allocate_parts(
        [
            (len(list(pages)) * PAGE, writable)
            for writable, pages in groupby(_writable_pages(code_object))
        ],
        name=f"code object {code_object.path}",
    )
    base = parts[0].start - first
    image = bytearray(code_object.image_size)
    for segment in code_object.image(base):
        at = segment.address - base - first
        image[at : at + len(segment.data)] = segment.data
    at = 0
    for part in parts:
        memory.write(part.start, bytes(image[at : at + part.size]))
        at += part.size
    kernels = {
        name: LoadedKernel(kernel, base + kernel.object_address, base + kernel.entry)
        for name, kernel in code_object.kernels.items()
    }
    return LoadedCodeObject(code_object, base, kernels, tuple(part.start for part in parts))


def unload(loaded: LoadedCodeObject, memory: Memory) -> None:
    """Unmap it; no kernel of it may be running."""
    for start in loaded.parts:
        memory.space.free(start)


def _writable_pages(code_object: CodeObject) -> list[bool]:
    """For each page of the image: whether a writable segment has a byte there."""
    pages = [False] * (code_object.image_size // PAGE)
    for segment in code_object.elf.segments:
        if segment.writable and segment.size:
            start = segment.address - code_object.first_address
            for page in range(start // PAGE, (start + segment.size - 1) // PAGE + 1):
                pages[page] = True
    return pages
