"""The page on the instruction set counts as the tables do, and shows a step as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode
from gpu.isa.execution.instruction_writer import BoundInstruction, InstructionWriter
from gpu.isa.execution.vector_binder import bind_vector
from gpu.isa.tables import OPCODES

PAGE = (Path(__file__).parents[2] / "docs" / "gpu-isa.md").read_text()


def test_opcodes_are_counted() -> None:
    rows = re.findall(r"^\| ([A-Z]\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.M)
    written = {format: tuple(map(int, counts)) for format, *counts in rows}
    assert written == {
        format: (
            len(table),
            *(sum(opcode.tier == tier for opcode in table.values()) for tier in (1, 3, 4)),
        )
        for format, table in OPCODES[Generation.GFX8].items()
    }


def test_what_gfx900_adds_is_counted() -> None:
    rows = re.findall(r"^\| ([A-Z]\w+) \| (\d+) \| (\d+) \| [^|\d\n][^|\n]* \|$", PAGE, re.M)
    written = {format: (int(all), int(executed)) for format, all, executed in rows}
    counted = {
        format: (len(table), sum(opcode.tier == 1 for opcode in table.values()))
        for format, table in OPCODES[Generation.GFX9].items()
    }
    before = {format: len(table) for format, table in OPCODES[Generation.GFX8].items()}
    changed = {format for format in counted if counted[format][0] != before.get(format)}
    assert written == {format: counted[format] for format in changed - {"SOPP"}}
    assert f"gfx900 ({sum(all for all, _ in counted.values())})" in PAGE


def test_the_bound_instruction_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    sources: list[str] = []
    bind = InstructionWriter.bind

    def noted(writer: InstructionWriter) -> BoundInstruction:
        sources.append(writer.text)
        return bind(writer)

    monkeypatch.setattr(InstructionWriter, "bind", noted)
    assert bind_vector(decode(0x02060501)) is not None
    (source,) = sources
    lines = [line[8:] for line in source.splitlines()[2:-1]]
    assert "\n".join("    " + line for line in lines) in PAGE


def test_the_modules_exist() -> None:
    folder = Path(__file__).parents[2] / "gpu" / "isa"
    firsts = re.findall(r"^\| (`.*?) \|", PAGE.split("## What is supported")[0], re.M)
    names = [name for first in firsts for name in re.findall(r"`([\w/]+?)/?`", first)]
    assert "encoding/decoder" in names
    for name in names:
        assert (folder / f"{name}.py").exists() or (folder / name).is_dir(), name
