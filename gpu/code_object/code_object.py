"""A code object: its target, its kernels and the bytes that are loaded.

Invariant: of every `Kernel`, descriptor and first instruction lie inside the loaded segments, the
first instruction in an executable one.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from gpu.code_object import kernel_descriptor as descriptors
from gpu.code_object import relocations
from gpu.code_object.containers.offload_bundle import (
    COMPRESSED_MAGIC,
    entry_for,
    is_bundle,
    read_bundle,
)
from gpu.code_object.containers.uri import CodeObjectUri, is_uri, read_uri
from gpu.code_object.elf import (
    FUNCTION,
    KERNEL_V2,
    LARGEST_FILE,
    ElfImage,
    Note,
    Segment,
    Symbol,
    define_symbol,
    read_elf,
)
from gpu.code_object.errors import CodeObjectError
from gpu.code_object.kernel_descriptor import KernelDescriptor
from gpu.code_object.metadata import (
    LARGEST_KERNARG,
    KernelMetadata,
    Metadata,
    MetadataError,
    read_message_pack,
    read_version_2,
)
from gpu.code_object.opencl.compiler import LINE_TABLES, compile_kernels
from gpu.code_object.source_lines import SourceLines
from gpu.code_object.targets import (
    DEFAULT_PROCESSOR,
    RUNNABLE,
    WITH_XNACK,
    Target,
    target_of_flags,
    target_of_isa_version,
)
from runtime.files import read_bounded
from slicc.text.lazy_dataclass import dataclass

PAGE: Final = 4096
_NEWEST: Final = 6
_NOTE_OWNER, _NOTE_METADATA = "AMDGPU", 32
_NOT_MODELLED: Final = {"image": "images", "sampler": "samplers"}
"""By kind of argument."""
_OWNER_V2, _ISA_V2, _METADATA_V2 = "AMD", 3, 10
EXAMPLES: Final = Path(__file__).parents[1] / "examples"
"""Kernels that come with the package; ``vadd.co`` is ``vadd.cl``, compiled by stock clang 14."""


def meant(path: Path) -> Path:
    """A bare name without a file of that name means an example."""
    bare = path.name == str(path) and not path.exists() and (EXAMPLES / path).is_file()
    return EXAMPLES / path if bare else path


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel of a code object. Addresses count from the start of the image.

    ``object_address``: what a dispatch packet points at, once the load address is added.
    ``code_size``: bytes of its function; 0 if the symbol table does not say.
    """

    name: str
    version: int
    target: Target
    metadata: KernelMetadata
    descriptor: KernelDescriptor
    object_address: int
    entry: int
    code_size: int
    owner: CodeObject | None = field(default=None, repr=False, compare=False)

    def refusals(self) -> tuple[str, ...]:
        """Why it cannot run here, as text; empty if it can."""
        processor = self.target.processor
        if processor not in RUNNABLE:
            return (f"compiled for {processor}; only {' and '.join(RUNNABLE)} run",)
        found = list(self.descriptor.problems())
        xnack = processor in WITH_XNACK and self.target.xnack == "on"
        if not xnack and "on" in (self.target.xnack, self.target.sramecc):
            found.insert(0, f"compiled for {self.target}, and no {processor} has that feature")
        if self.metadata.wavefront_size != 64:
            found.append(f"waves of {self.metadata.wavefront_size} lanes")
        for index, each in enumerate(self.metadata.explicit):
            if each.kind in _NOT_MODELLED:
                what = f"{each.type_name or each.kind} {each.name}".strip()
                found.append(
                    f"argument {index} ({what}): {_NOT_MODELLED[each.kind]} are not modelled"
                )
        return tuple(found)


@dataclass(frozen=True, slots=True)
class LoadedSegment:
    """Bytes at their address; ``data`` may be shorter than ``size``, the rest is zero."""

    address: int
    size: int
    data: bytes = field(repr=False)
    writable: bool
    executable: bool


class CodeObject:
    """A code object of version 2 to 6, read and checked.

    Reading never depends on the processor: objects for any of them can be inspected. `image` gives
    the content of memory for any load address.
    """

    def __init__(
        self,
        data: bytes,
        path: str,
        origin: CodeObjectUri | None = None,
        partial: bool = False,
    ) -> None:
        """``path`` names the object in messages, ``origin`` is where it lies. ``partial``: symbols
        may be unbound. Raises `CodeObjectError`."""
        self.path = path
        self._partial = partial
        self._origin = origin
        self._data = data
        self.elf: ElfImage = read_elf(data, path)
        self.version = self.elf.abi_version + 2
        if not self.version <= _NEWEST:
            raise self._fail(f"ABI version {self.elf.abi_version} is not known (0 to 4)", 8)
        self.target = self._target()
        self.metadata = self._metadata()
        self.kernels: dict[str, Kernel] = {}
        for metadata in self.metadata.kernels:
            kernel = self._kernel(metadata)
            if kernel.name in self.kernels:
                raise self._fail(f"two kernels are called {kernel.name!r}")
            self.kernels[kernel.name] = kernel
        self._check_relocations()

    @classmethod
    def load(cls, path: str | Path) -> CodeObject:
        """Read a file, or a part of one that a URI names; of an offload bundle, the object for the
        processor that runs. A bare name may be that of an example. Raises `CodeObjectError`, also
        when it cannot be read."""
        name = str(path)
        if not is_uri(name):
            name = str(meant(Path(path)))
        uri = read_uri(name) if is_uri(name) else CodeObjectUri(name)
        if not uri.path:
            raise CodeObjectError(name, "the memory of a process cannot be read")
        try:
            data = read_bounded(uri.path, LARGEST_FILE)
        except OSError as error:
            raise CodeObjectError(uri.path, error.strerror or str(error)) from None
        first, size = uri.offset, len(data) - uri.offset if uri.size is None else uri.size
        if first + size > len(data):
            raise CodeObjectError(name, f"the file has {len(data)} bytes")
        whole = first == 0 and size == len(data)
        data = data[first : first + size]
        if is_bundle(data):
            entry = entry_for(read_bundle(data, name, LARGEST_FILE), RUNNABLE, name)
            if not data.startswith(COMPRESSED_MAGIC):  # of compressed ones, no part is the object
                first, size, whole = first + entry.offset, len(entry.data), False
            data = entry.data
        origin = CodeObjectUri(str(Path(uri.path).absolute()))
        return cls(data, name, origin if whole else replace(origin, offset=first, size=size))

    @property
    def uri(self) -> str:
        """Where it came from, as D1 writes it: a part of a file, or memory of this process."""
        if self._origin is not None:
            return str(self._origin)
        address = ctypes.cast(ctypes.c_char_p(self._data), ctypes.c_void_p).value or 0
        return str(CodeObjectUri(process=os.getpid(), offset=address, size=len(self._data)))

    @classmethod
    def compile(
        cls,
        path: str | Path,
        options: Sequence[str] = ("-O2", LINE_TABLES),
        device_libs: Path | None = None,
        processor: str = DEFAULT_PROCESSOR,
    ) -> CodeObject:
        """Compile an OpenCL file for a processor; ``path`` as for `load`, ``device_libs`` as for
        `compile_kernels`. Raises `CompileError` without a compiler or with the compiler's message,
        `CodeObjectError` for its output."""
        source = meant(Path(path))
        return cls(compile_kernels(source, None, processor, options, device_libs), str(source))

    @classmethod
    def from_bytes(cls, data: bytes, path: str = "code object") -> CodeObject:
        return cls(data, path)

    @property
    def data(self) -> bytes:
        """The file."""
        return self._data

    @cached_property
    def unbound(self) -> tuple[str, ...]:
        """Symbols that relocations need and that are defined nowhere; only of a partial object."""
        symbols = (each.symbol for each in self.elf.relocations if each.type != relocations.NONE)
        names = (each.name for each in symbols if each is not None and not each.section)
        return tuple(dict.fromkeys(names))

    def bind(self, addresses: Mapping[str, int]) -> CodeObject:
        """A copy in which these undefined symbols have these addresses in memory."""
        data = bytearray(self._data)
        for relocation in self.elf.relocations:
            symbol = relocation.symbol
            if symbol is not None and not symbol.section and symbol.name in addresses:
                define_symbol(data, symbol, addresses[symbol.name])
        return CodeObject(bytes(data), self.path, partial=True)

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of that name. Raises `CodeObjectError`, naming those that exist."""
        try:
            return self.kernels[name]
        except KeyError:
            known = ", ".join(self.kernels) or "none"
            raise CodeObjectError(self.path, f"no kernel {name!r}; it has: {known}") from None

    # -------------------------------------------------------------- the image

    @cached_property
    def first_address(self) -> int:
        """Lowest address of the image, a multiple of the page size."""
        return min(each.address for each in self.elf.segments) & -PAGE

    @cached_property
    def image_size(self) -> int:
        """Bytes from `first_address` to the end of the last segment, whole pages."""
        last = max(each.address + each.size for each in self.elf.segments)
        return (last - self.first_address + PAGE - 1) & -PAGE

    def image(self, base: int) -> list[LoadedSegment]:
        """The segments as they are in memory when address 0 of the object is at ``base``,
        relocations applied."""
        parts = [bytearray(each.data) for each in self.elf.segments]
        for relocation in self.elf.relocations:
            if relocation.type != relocations.NONE:
                index = self._segment_of(relocation.address)
                segment, part = self.elf.segments[index], parts[index]
                value = relocations.patch(relocation, base)
                at = relocation.address - segment.address
                part.extend(bytes(max(0, at + len(value) - len(part))))
                part[at : at + len(value)] = value
        return [
            LoadedSegment(
                base + each.address, each.size, bytes(part), each.writable, each.executable
            )
            for each, part in zip(self.elf.segments, parts, strict=True)
        ]

    @cached_property
    def source_lines(self) -> SourceLines:
        """Lines of the source by the object's own addresses."""
        return SourceLines(self._data)

    def functions(self) -> Iterator[Symbol]:
        """Functions with code in the file, by address."""
        found = {
            each.address: each
            for each in self.elf.symbols.values()
            if each.type in (FUNCTION, KERNEL_V2) and each.section and each.size
        }
        for address in sorted(found):
            yield found[address]

    # -------------------------------------------------------------- reading

    def _fail(self, message: str, offset: int | None = None) -> CodeObjectError:
        return CodeObjectError(self.path, message, offset)

    def _note(self, owner: str, kind: int) -> Note | None:
        for note in self.elf.notes:
            if note.owner == owner and note.type == kind:
                return note
        return None

    def _target(self) -> Target:
        if self.version > 2:
            return target_of_flags(self.elf.flags, self.elf.abi_version)
        note = self._note(_OWNER_V2, _ISA_V2)
        if note is None:
            raise self._fail("version 2 without the note that names its processor")
        if len(note.data) < 16:
            raise self._fail(f"note of the processor has {len(note.data)} bytes", note.offset)
        return target_of_isa_version(*struct.unpack_from("<III", note.data, 4))

    def _metadata(self) -> Metadata:
        old = self.version == 2
        note = (
            self._note(_OWNER_V2, _METADATA_V2) if old else self._note(_NOTE_OWNER, _NOTE_METADATA)
        )
        if note is None:
            raise self._fail(
                f"version {self.version} without the note of its metadata, which says what its "
                f"kernels are (in assembly: .amdgpu_metadata)"
            )
        try:
            return read_version_2(note.data) if old else read_message_pack(note.data)
        except MetadataError as error:
            raise self._fail(str(error), note.offset) from None

    def _kernel(self, metadata: KernelMetadata) -> Kernel:
        old = self.version == 2
        name = metadata.symbol.removesuffix("@kd") if old else metadata.symbol
        symbol = self.elf.symbols.get(name)
        if symbol is None or not symbol.section:
            raise self._fail(f"kernel {metadata.name!r}: no symbol {name!r}")
        size = descriptors.SIZE_V2 if old else descriptors.SIZE
        data = self.elf.read(symbol.address, size)
        where = self.elf.file_offset(symbol.address)
        if data is None:
            raise self._fail(
                f"kernel {metadata.name!r}: {size} bytes of its descriptor at address "
                f"{symbol.address:#x} are not in the file"
            )
        if symbol.address % descriptors.ADDRESS_ALIGNMENT:
            raise self._fail(f"descriptor {name!r} is at {symbol.address:#x}, not aligned", where)
        descriptor = descriptors.read_header_v2(data) if old else descriptors.read_descriptor(data)
        if descriptor.kernarg_size > LARGEST_KERNARG:
            raise self._fail(
                f"kernel {metadata.name!r}: its descriptor asks for {descriptor.kernarg_size} "
                f"bytes of arguments, more than {LARGEST_KERNARG}",
                where,
            )
        entry = symbol.address + descriptor.entry_offset
        self._check_entry(metadata.name, entry, where)
        code = self.elf.symbols.get(metadata.name if old else name.removesuffix(".kd"))
        code_size = code.size if code is not None and code.address == entry else 0
        if old:
            code_size = max(0, symbol.size - descriptor.entry_offset)
        return Kernel(
            metadata.name,
            self.version,
            self.target,
            metadata,
            descriptor,
            symbol.address,
            entry,
            code_size,
            self,
        )

    def _check_entry(self, name: str, entry: int, where: int | None) -> None:
        if entry % descriptors.ENTRY_ALIGNMENT:
            raise self._fail(f"kernel {name!r}: entry {entry:#x} is not a multiple of 256", where)
        for segment in self.elf.segments:
            if segment.executable and 0 <= entry - segment.address <= len(segment.data) - 4:
                return
        raise self._fail(f"kernel {name!r}: entry {entry:#x} is in no executable segment", where)

    def _segment_of(self, address: int) -> int:
        for index, each in enumerate(self.elf.segments):
            if 0 <= address - each.address < each.size:
                return index
        return -1

    def _check_relocations(self) -> None:
        for each in self.elf.relocations:
            if each.type == relocations.NONE:
                continue
            try:
                size = relocations.field_size(each)
                if not self._partial:
                    relocations.check(each)
            except relocations.RelocationError as error:
                raise self._fail(str(error)) from None
            index = self._segment_of(each.address)
            segment: Segment | None = self.elf.segments[index] if index >= 0 else None
            if segment is None or each.address + size > segment.address + segment.size:
                raise self._fail(f"relocation of {each.address:#x}, {size} bytes: not loaded")
