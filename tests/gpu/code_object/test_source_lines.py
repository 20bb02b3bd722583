"""Lines of the source: what they are, where messages show them, and tables that are damaged.

``lines-dwarf4.co`` and ``lines-dwarf5.co`` are ``lines.cl``, compiled by stock clang 14 with -O2,
-gline-tables-only and paths relative to the repository.
"""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from gpu import CodeObject, Device, GpuError, Signal
from gpu.code_object.source_lines import SourceLines
from gpu.trace import Trace

HERE = Path(__file__).parent
OBJECTS = [HERE / "lines-dwarf4.co", HERE / "lines-dwarf5.co"]


@pytest.fixture(params=OBJECTS, ids=lambda path: path.stem)
def code(request: pytest.FixtureRequest) -> CodeObject:
    return CodeObject.load(request.param)


def test_every_instruction_has_its_line(code: CodeObject) -> None:
    kernel = code["lines"]
    found = [
        code.source_lines.at(address)
        for address in range(kernel.entry, kernel.entry + kernel.code_size, 4)
    ]
    own = [place[1] for place in found if place is not None and place[0] == "lines.cl"]
    assert set(own) == {3, 4, 5, 6, 7}
    assert {place[0] for place in found if place is not None} == {"lines.cl", "work_items.h"}
    assert found.count(None) * 8 < len(found), "what no line asked for"
    assert code.source_lines.at(kernel.entry - 4) is None
    assert code.source_lines.at(kernel.entry + kernel.code_size) is None


def test_an_object_without_tables_has_none() -> None:
    example = HERE.parents[2] / "gpu" / "examples" / "vadd.co"
    assert CodeObject.load(example).source_lines.at(0x1900) is None


def run(code: CodeObject, device: Device, items: int, size: int) -> None:
    queue, done = device.create_queue(), Signal(1)
    buffer = device.alloc(np.zeros(size, np.int32))
    queue.dispatch(code["lines"], items, 64, [buffer], completion=done)
    queue.ring()
    device.run(until=done)


def test_a_fault_names_its_line(code: CodeObject) -> None:
    with pytest.raises(GpuError, match=r"`flat_store_dword [^`]*` \(lines\.cl:6\): lane 44: "):
        run(code, Device(cus=1), 320, 600)


def test_a_race_names_both_lines(code: CodeObject) -> None:
    device = Device(cus=1, checks=["races"])
    run(code, device, 128, 200)
    texts = [str(finding) for finding in device.findings]
    assert any("(lines.cl:4), lane" in text and "(lines.cl:3), lane" in text for text in texts)


@pytest.mark.parametrize("protocol", [None, "GPU_VIPER"])
def test_a_trace_names_lines(code: CodeObject, protocol: str | None) -> None:
    seen: list[str] = []
    run(
        code, Device(protocol, cus=1, engine="python", trace=Trace(["waves"], seen.append)), 64, 200
    )
    stores = [line for line in seen if "flat_store_dword" in line]
    assert [line.rpartition(" ")[2] for line in stores] == ["(lines.cl:3)", "(lines.cl:4)"]


# ---------------------------------------------------------------- damaged tables


def section_of(data: bytes, name: str) -> tuple[int, int]:
    """Offset and size."""
    section = ELFFile(BytesIO(data)).get_section_by_name(name)
    return section["sh_offset"], section["sh_size"]


@pytest.mark.parametrize("path", OBJECTS, ids=lambda path: path.stem)
def test_damaged_tables_raise_nothing(path: Path) -> None:
    """Every byte of the tables set to values that numbers of all kinds find hard."""
    whole, draw = path.read_bytes(), random.Random(1)
    places = [
        start + offset
        for name in (".debug_line", ".debug_info", ".debug_abbrev")
        for start, size in [section_of(whole, name)]
        for offset in range(size)
    ]
    lost = 0
    for place in draw.sample(places, 120):
        damaged = bytearray(whole)
        for at in range(place, min(place + draw.choice((1, 4)), len(whole))):
            damaged[at] = draw.choice((0, 1, 0x7F, 0x80, 0xFF))
        lost += SourceLines(bytes(damaged)).at(CodeObject.load(path)["lines"].entry) is None
    assert 0 < lost < 120


def test_counts_beyond_the_table_end_at_once() -> None:
    """Folders without forms, 2 to the 62nd of them: a reader that trusts them never ends."""
    data = OBJECTS[1].read_bytes()
    start, _ = section_of(data, ".debug_line")
    opcode_base = data[start + 17]
    at = start + 18 + opcode_base - 1
    bomb = bytes((0,)) + b"\xff" * 8 + b"\x3f"
    damaged = data[:at] + bomb + data[at + len(bomb) :]
    assert SourceLines(damaged).at(CodeObject.from_bytes(data)["lines"].entry) is None


def test_endless_numbers_are_not_read() -> None:
    data = OBJECTS[0].read_bytes()
    start, size = section_of(data, ".debug_line")
    assert size >= 256
    damaged = data[:start] + b"\x80" * 256 + data[start + 256 :]
    assert SourceLines(damaged).at(CodeObject.from_bytes(data)["lines"].entry) is None


def test_compressed_tables_are_left_alone() -> None:
    data = bytearray(OBJECTS[0].read_bytes())
    elf = ELFFile(OBJECTS[0].open("rb"))
    for number in range(elf.num_sections()):
        if elf.get_section(number).name == ".debug_line":
            flags = elf["e_shoff"] + number * elf["e_shentsize"] + 8
            data[flags + 1] |= 0x08  # SHF_COMPRESSED
    assert SourceLines(bytes(data)).at(CodeObject.load(OBJECTS[0])["lines"].entry) is None
