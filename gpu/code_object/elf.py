"""The ELF file of a code object: header, segments, symbols, relocations, notes.

Headers are laid out by pyelftools; tables with a count of their own (symbols, relocations,
notes) are read here, because a hostile count or name must cost no more than the file's size. As
for a loader, only program headers and the dynamic segment are required; section headers add names
that are not exported, and may be stripped.

Invariant: every offset and size in a returned value lies inside the file.
Source: LLVM "User Guide for AMDGPU Backend", "ELF Code Object"; System V ABI, "Object Files".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import field
from typing import Any, Final

from gpu.code_object.containers.file_kinds import what_it_is
from gpu.code_object.errors import CodeObjectError
from slicc.text.lazy_dataclass import dataclass

LARGEST_FILE: Final = 256 << 20
LARGEST_IMAGE: Final = 256 << 20
_LARGEST_NAME: Final = 4096
_MOST_HEADERS: Final = 4096
_MOST_ENTRIES: Final = 1 << 20

_MACHINE: Final = 224
_HSA: Final = 64
_OTHER_SYSTEMS: Final = {0: "no operating system", 65: "AMDPAL", 66: "Mesa 3D"}
_READ_TYPES: Final = {1: "a relocatable object (link it first)", 2: "an executable", 4: "a core"}

_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = "PT_LOAD", "PT_DYNAMIC", "PT_NOTE"
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_RELAENT = 4, 5, 6, 7, 8, 9
_DT_STRSZ, _DT_SYMENT, _DT_GNU_HASH = 10, 11, 0x6FFF_FEF5
_PLACES: Final = {"ph": 54, "sh": 58}
"""Where the ELF header says how large a header of each table is; their number comes next."""
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELA: Final = struct.Struct("<QQq")
_WORDS: Final = struct.Struct("<QQ")

ABSOLUTE: Final = 0xFFF1
"""The section of symbols that do not move with the object."""

NOTYPE, OBJECT, FUNCTION, KERNEL_V2 = 0, 1, 2, 10
"""Symbol types; 10 is what version 2 gives to kernels."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the file that is loaded. ``data``: its bytes in the file; the rest, up to
    ``size`` bytes, is zero. ``offset``: where it lies in the file."""

    address: int
    size: int
    offset: int
    data: bytes = field(repr=False)
    writable: bool
    executable: bool


@dataclass(frozen=True, slots=True)
class Symbol:
    """``section`` 0 means that it is not defined here. ``offset``: of its entry in the file."""

    name: str
    address: int
    size: int
    type: int
    section: int
    offset: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Relocation:
    """``symbol`` is None where none is named."""

    address: int
    type: int
    addend: int
    symbol: Symbol | None


@dataclass(frozen=True, slots=True)
class Note:
    """``offset``: where ``data`` lies in the file."""

    owner: str
    type: int
    data: bytes
    offset: int


@dataclass(frozen=True, slots=True)
class ElfImage:
    """The parts of an ELF file that a loader needs."""

    abi_version: int
    flags: int
    segments: tuple[Segment, ...]
    symbols: dict[str, Symbol]
    relocations: tuple[Relocation, ...]
    notes: tuple[Note, ...]

    def file_offset(self, address: int) -> int | None:
        """Where in the file the byte of that address lies, if it does."""
        for segment in self.segments:
            if 0 <= address - segment.address < len(segment.data):
                return segment.offset + address - segment.address
        return None

    def read(self, address: int, size: int) -> bytes | None:
        """Bytes by address as the file has them; None if not all are in one segment's file part."""
        for segment in self.segments:
            start = address - segment.address
            if start >= 0 and start + size <= len(segment.data):
                return segment.data[start : start + size]
        return None


def read_elf(data: bytes, path: str) -> ElfImage:
    """Read a linked AMDGPU code object for HSA. Raises `CodeObjectError` for any other bytes."""
    return _Reader(data, path).image()


def define_symbol(data: bytearray, symbol: Symbol, address: int) -> None:
    """Change a symbol's entry in a file, so that it is defined and does not move."""
    name, kind, other, _, _, length = _SYMBOL.unpack_from(data, symbol.offset)
    _SYMBOL.pack_into(data, symbol.offset, name, kind, other, ABSOLUTE, address, length)


class _Reader:
    """Reads one file, of which nothing is trusted: every offset and count is checked before its
    use."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data = data
        self.path = path

    def fail(self, message: str, offset: int | None = None) -> CodeObjectError:
        return CodeObjectError(self.path, message, offset)

    def image(self) -> ElfImage:
        from elftools.elf.structs import ELFStructs

        self.check_identification()
        structs = ELFStructs(little_endian=True, elfclass=64)
        structs.create_basic_structs()
        header = structs.Elf_Ehdr.parse(self.data[:64])
        structs.create_advanced_structs("ET_DYN", header["e_machine"])
        headers = list(self.headers(header, "ph", "program headers", structs.Elf_Phdr))
        sections = list(self.headers(header, "sh", "section headers", structs.Elf_Shdr))
        segments = tuple(self.segment(each) for each in headers if each["p_type"] == _PT_LOAD)
        if not segments:
            raise self.fail("nothing to load: no PT_LOAD segment")
        self.check_span(segments)
        tags = self.dynamic_tags(headers)
        exported, linked = self.symbols_of(sections)
        dynamic = self.dynamic_symbols(tags, segments) if _DT_SYMTAB in tags else exported
        return ElfImage(
            abi_version=self.data[8],
            flags=header["e_flags"],
            segments=segments,
            symbols={each.name: each for each in [*linked, *dynamic] if each.name},
            relocations=tuple(self.relocations(tags, segments, dynamic)),
            notes=tuple(
                note for each in headers if each["p_type"] == _PT_NOTE for note in self.notes(each)
            ),
        )

    # -------------------------------------------------------------- headers

    def check_identification(self) -> None:
        data = self.data
        if len(data) > LARGEST_FILE:
            raise self.fail(f"more than the {LARGEST_FILE} bytes that are read")
        if data[:4] != b"\x7fELF":
            known = what_it_is(data)
            start = f"it starts with {data[:4].hex(' ')}" if data else "it is empty"
            raise self.fail(f"not an ELF file{f', but {known}' if known else f': {start}'}", 0)
        if len(data) < 64:
            raise self.fail(f"truncated: an ELF header has 64 bytes, the file {len(data)}", 0)
        if data[4] != 2 or data[5] != 1:
            raise self.fail(f"not a 64-bit little-endian ELF file: {data[4]}, {data[5]}", 4)
        kind, machine = struct.unpack_from("<HH", data, 16)
        if machine != _MACHINE:
            raise self.fail(f"machine {machine} is not AMDGPU ({_MACHINE})", 18)
        if data[7] != _HSA:
            system = _OTHER_SYSTEMS.get(data[7], "unknown")
            raise self.fail(f"made for operating system {data[7]} ({system}), not HSA ({_HSA})", 7)
        if kind != 3:
            raise self.fail(f"type {kind}: {_READ_TYPES.get(kind, 'not a shared object')}", 16)

    def headers(self, header: Any, prefix: str, what: str, layout: Any) -> Iterator[Any]:
        """The table that ``e_phoff`` or ``e_shoff`` points at; nothing if there is none."""
        offset, count = header[f"e_{prefix}off"], header[f"e_{prefix}num"]
        if not offset or not count:
            return
        if count > _MOST_HEADERS:
            raise self.fail(f"{count} {what}: more than {_MOST_HEADERS}", _PLACES[prefix] + 2)
        size, given = layout.sizeof(), header[f"e_{prefix}entsize"]
        if given != size:
            raise self.fail(f"{what} of {given} bytes each, not {size}", _PLACES[prefix])
        table = self.part(offset, count * size, f"the table of {count} {what}")
        for at in range(0, len(table), size):
            yield layout.parse(table[at : at + size])

    def part(self, offset: int, size: int, what: str) -> bytes:
        if offset + size > len(self.data):
            raise self.fail(
                f"truncated: {what} has {size} bytes from there, the file ends at "
                f"{len(self.data):#x}",
                offset,
            )
        return self.data[offset : offset + size]

    def segment(self, header: Any) -> Segment:
        address, size = header["p_vaddr"], header["p_memsz"]
        offset, in_file = header["p_offset"], header["p_filesz"]
        if in_file > size:
            raise self.fail(f"segment at {address:#x}: {in_file} bytes in the file, {size} loaded")
        if size > LARGEST_IMAGE or address + size > 1 << 48:
            raise self.fail(f"segment at {address:#x}: {size:#x} bytes are too large to load")
        data = self.part(offset, in_file, f"segment at {address:#x}")
        flags = header["p_flags"]
        return Segment(address, size, offset, data, bool(flags & 2), bool(flags & 1))

    def check_span(self, segments: tuple[Segment, ...]) -> None:
        first = min(each.address for each in segments)
        last = max(each.address + each.size for each in segments)
        if last - first > LARGEST_IMAGE:
            raise self.fail(
                f"segments span {last - first:#x} bytes from {first:#x}; at most "
                f"{LARGEST_IMAGE:#x} are loaded"
            )
        end = first
        for each in sorted(segments, key=lambda segment: segment.address):
            if each.address < end:
                raise self.fail(f"segment at {each.address:#x} overlaps the one before it")
            end = each.address + each.size

    # -------------------------------------------------------------- tables

    def symbols_of(self, sections: list[Any]) -> tuple[list[Symbol], list[Symbol]]:
        """The symbols of ``.dynsym``, in order, and those of ``.symtab``."""
        tables: dict[str, list[Symbol]] = {"SHT_DYNSYM": [], "SHT_SYMTAB": []}
        for header in sections:
            if header["sh_type"] in tables:
                if not header["sh_link"] < len(sections):
                    raise self.fail(f"symbol table without names: link {header['sh_link']}")
                names = sections[header["sh_link"]]
                tables[header["sh_type"]] = self.symbols(header, names)
        return tables["SHT_DYNSYM"], tables["SHT_SYMTAB"]

    def symbols(self, header: Any, names: Any) -> list[Symbol]:
        offset, size = header["sh_offset"], header["sh_size"]
        if header["sh_entsize"] != _SYMBOL.size or size % _SYMBOL.size:
            raise self.fail(
                f"symbol table of {size} bytes in entries of {header['sh_entsize']}", offset
            )
        if size // _SYMBOL.size > _MOST_ENTRIES:
            raise self.fail(f"{size // _SYMBOL.size} symbols: more than {_MOST_ENTRIES}", offset)
        table = self.part(offset, size, "symbol table")
        strings = self.part(names["sh_offset"], names["sh_size"], "string table")
        return self.symbols_in(table, strings, offset)

    def dynamic_symbols(self, tags: dict[int, int], segments: tuple[Segment, ...]) -> list[Symbol]:
        """The symbols of the dynamic segment. Its hash tables give their number."""
        if tags.get(_DT_SYMENT, _SYMBOL.size) != _SYMBOL.size:
            raise self.fail(f"dynamic symbols in entries of {tags[_DT_SYMENT]}, not {_SYMBOL.size}")
        if _DT_HASH in tags:
            (count,) = self.words(segments, tags[_DT_HASH] + 4, 1)
        elif _DT_GNU_HASH in tags:
            count = self.hashed_symbols(segments, tags[_DT_GNU_HASH])
        else:
            raise self.fail("the dynamic segment has symbols and no hash table that counts them")
        if count > _MOST_ENTRIES:
            raise self.fail(f"{count} dynamic symbols: more than {_MOST_ENTRIES}")
        table, offset = self.loaded(
            segments, tags[_DT_SYMTAB], count * _SYMBOL.size, "dynamic symbol table"
        )
        strings, _ = self.loaded(
            segments, tags.get(_DT_STRTAB, 0), tags.get(_DT_STRSZ, 0), "dynamic string table"
        )
        return self.symbols_in(table, strings, offset)

    def hashed_symbols(self, segments: tuple[Segment, ...], address: int) -> int:
        """How many symbols a GNU hash table covers: one more than the last of its last chain."""
        buckets, first, filters, _ = self.words(segments, address, 4)
        if buckets > _MOST_ENTRIES or filters > _MOST_ENTRIES:
            raise self.fail(f"hash table of {buckets} buckets and {filters} filter words")
        chains = address + 16 + 8 * filters + 4 * buckets
        last = max(self.words(segments, chains - 4 * buckets, buckets), default=0)
        if last < first:
            return first
        _, start = self.loaded(segments, chains + 4 * (last - first), 4, "hash table")
        chain = self.data[start : start + 4 * _MOST_ENTRIES : 4]
        length = next((index for index, low in enumerate(chain) if low & 1), None)
        if length is None:
            raise self.fail("a chain of the hash table has no end", start)
        return last + length + 1

    def words(self, segments: tuple[Segment, ...], address: int, count: int) -> tuple[int, ...]:
        data, _ = self.loaded(segments, address, 4 * count, "hash table")
        return struct.unpack(f"<{count}I", data)

    def loaded(
        self, segments: tuple[Segment, ...], address: int, size: int, what: str
    ) -> tuple[bytes, int]:
        """Bytes by the address that they are loaded at, and where they lie in the file."""
        for each in segments:
            start = address - each.address
            if 0 <= start <= len(each.data) - size:
                return each.data[start : start + size], each.offset + start
        raise self.fail(f"{what} at address {address:#x}, {size} bytes: not loaded")

    def symbols_in(self, table: bytes, strings: bytes, offset: int) -> list[Symbol]:
        found = []
        for index, entry in enumerate(_SYMBOL.iter_unpack(table)):
            name, kind, _, section, address, length = entry
            at = offset + index * _SYMBOL.size
            text = self.string(strings, name, at)
            found.append(Symbol(text, address, length, kind & 15, section, at))
        return found

    def string(self, strings: bytes, start: int, at: int) -> str:
        end = strings.find(b"\0", start, start + _LARGEST_NAME)
        if start >= len(strings) and start == 0:
            return ""
        if end < 0:
            raise self.fail(f"symbol name at {start} of its table of {len(strings)} has no end", at)
        return strings[start:end].decode("utf-8", "backslashreplace")

    def relocations(
        self, tags: dict[int, int], segments: tuple[Segment, ...], symbols: list[Symbol]
    ) -> Iterator[Relocation]:
        size = tags.get(_DT_RELASZ, 0)
        if not size:
            return
        if tags.get(_DT_RELAENT) != _RELA.size or size % _RELA.size:
            raise self.fail(f"relocations: {size} bytes in entries of {tags.get(_DT_RELAENT)}")
        if size // _RELA.size > _MOST_ENTRIES:
            raise self.fail(f"{size // _RELA.size} relocations: more than {_MOST_ENTRIES}")
        table, _ = self.loaded(segments, tags.get(_DT_RELA, 0), size, "relocation table")
        for place, info, addend in _RELA.iter_unpack(table):
            number = info >> 32
            if number >= max(1, len(symbols)):
                raise self.fail(f"relocation of {place:#x} names symbol {number}, not there")
            yield Relocation(place, info & 0xFFFF_FFFF, addend, symbols[number] if number else None)

    def dynamic_tags(self, headers: list[Any]) -> dict[int, int]:
        for header in headers:
            if header["p_type"] == _PT_DYNAMIC:
                size = header["p_filesz"] // _WORDS.size * _WORDS.size
                if size // _WORDS.size > _MOST_ENTRIES:
                    raise self.fail(f"dynamic segment of {size} bytes", header["p_offset"])
                table = self.part(header["p_offset"], size, "dynamic segment")
                return {tag: value for tag, value in _WORDS.iter_unpack(table) if tag}
        return {}

    def notes(self, header: Any) -> Iterator[Note]:
        offset, size = header["p_offset"], header["p_filesz"]
        data = self.part(offset, size, "notes")
        at = 0
        while at + 12 <= size:
            name_size, length, kind = struct.unpack_from("<III", data, at)
            name_at = at + 12
            start = name_at + (name_size + 3 & ~3)
            if start + length > size:
                raise self.fail(
                    f"note of type {kind}: name of {name_size} and content of {length} bytes do "
                    f"not fit its segment of {size}",
                    offset + at,
                )
            owner = data[name_at : name_at + name_size].rstrip(b"\0").decode("latin-1")
            yield Note(owner, kind, data[start : start + length], offset + start)
            at = start + (length + 3 & ~3)
