"""Which line of a kernel's source an instruction comes from, where the compiler left line tables.

pyelftools reads the tables, and trusts them: it reads numbers of any length, and as many names as a
header says. So what it is given is bounded first.

Invariant: any bytes cost no more than `LARGEST` suggests, and raise nothing: without readable
tables no address has a line. Source: DWARF 5, section 6.2.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile

LARGEST: Final = 4 << 20
"""Bytes of a line table; larger ones are left alone."""
_MOST_UNITS: Final = 1 << 12
_LARGEST_SECTIONS: Final = 256 << 20
_LONG_NUMBER: Final = re.compile(rb"[\x80-\xff]{256}")
_COMPRESSED: Final = 1 << 11
_STRING, _UDATA = 0x08, 0x0F
_FIXED_FORMS: Final = {0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0E: 4, 0x1E: 16, 0x1F: 4}
"""Of names, times, sizes and digests: bytes."""
_READ: Final = (".debug_line", ".debug_info", ".debug_abbrev", ".debug_str", ".debug_line_str")
_UNREADABLE: Final = (
    ELFError, DWARFError, NotImplementedError, AssertionError, ArithmeticError, LookupError,
    TypeError, ValueError, AttributeError, OSError, RecursionError,
)  # fmt: skip
"""Raised by pyelftools for tables that say what cannot be."""

Row = tuple[int, str, int]
"""Where a line's instructions begin; its file and its number, empty and 0 behind a sequence."""


class SourceLines:
    """The line tables of one object, by its own addresses."""

    def __init__(self, data: bytes) -> None:
        rows = sorted(_rows(data), key=lambda row: (row[0], row[2]))
        self._starts = [row[0] for row in rows]
        self._places = [row[1:] for row in rows]

    def at(self, address: int) -> tuple[str, int] | None:
        """Name of the file and number of the line, from 1; None where no table says."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        file, line = self._places[place]
        return (file, line) if line > 0 else None


def _rows(data: bytes) -> list[Row]:
    """All rows, or none if the tables are damaged."""
    try:
        elf = ELFFile(BytesIO(data))
        return list(_rows_of(elf)) if _bounded(elf) else []
    except _UNREADABLE:
        return []


def _bounded(elf: Any) -> bool:
    """Whether the sections are there, as large as they say, and no number in them is endless."""
    found = {name: elf.get_section_by_name(name) for name in _READ}
    if any(found[name] is None for name in _READ[:3]):
        return False
    for name, section in found.items():
        if section is None:
            continue
        if section["sh_flags"] & _COMPRESSED or section["sh_type"] == "SHT_NOBITS":
            return False
        if section["sh_size"] > (LARGEST if name == ".debug_line" else _LARGEST_SECTIONS):
            return False
        data = section.data()
        if len(data) != section["sh_size"] or _LONG_NUMBER.search(data):
            return False
    return _counts_fit(found[".debug_line"].data())


def _counts_fit(table: bytes) -> bool:
    """Whether each program of version 5 has at least a byte for each name it promises."""
    offset = 0
    while offset + 12 <= len(table):
        length = int.from_bytes(table[offset : offset + 4], "little")
        if length >= 0xFFFF_FFF0:  # 64-bit DWARF: no compiler writes it for this target
            return False
        end = offset + 4 + length
        if table[offset + 4] == 5 and not _names_fit(table[offset + 6 : end]):
            return False
        offset = end
    return True


def _names_fit(header: bytes) -> bool:
    """``header``: behind the version. Twice a list of forms, and entries that have them: folders,
    files."""
    at = 11 + (header[11] if len(header) > 11 else 0)
    try:
        for _ in range(2):
            forms, at = [], at + 1
            for _ in range(header[at - 1]):
                _, at = _number(header, at)
                form, at = _number(header, at)
                forms.append(form)
            entries, at = _number(header, at)
            if entries > len(header) - at or (entries and not forms):
                return False
            for _ in range(entries):
                for form in forms:
                    at = _behind(form, header, at)
    except (IndexError, KeyError, ValueError):
        return False
    return True


def _behind(form: int, data: bytes, at: int) -> int:
    """Where the value behind one of this form begins. Raises KeyError for one of another section,
    ValueError for a text without an end."""
    if form == _STRING:
        return data.index(0, at) + 1
    if form == _UDATA:
        return _number(data, at)[1]
    return at + _FIXED_FORMS[form]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A ULEB128 and where the next value begins."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return value, at


def _rows_of(elf: Any) -> Iterator[Row]:
    dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
    seen = set()
    for number, unit in enumerate(dwarf.iter_CUs()):
        if number >= _MOST_UNITS:
            return
        program = dwarf.line_program_for_CU(unit)
        if program is None or program.program_start_offset in seen:
            continue
        seen.add(program.program_start_offset)
        first = 0 if program["version"] >= 5 else 1
        names = [_name(entry.name) for entry in program["file_entry"]]
        for entry in program.get_entries():
            state = entry.state
            if state is None:
                continue
            if state.end_sequence:
                yield state.address, "", 0
            elif 0 <= state.file - first < len(names):
                yield state.address, names[state.file - first], state.line


def _name(text: bytes) -> str:
    """Without its folders: places are shown in messages."""
    return text.decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
