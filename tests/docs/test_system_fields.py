"""The tables of fields in docs/system.md are those of the code; --update rewrites them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from runtime.description import parts
from runtime.description.reader import alternatives, fields_of, meaning
from runtime.description.schema import SystemDescription

MANUAL = Path(__file__).parents[2] / "docs" / "system.md"
SECTIONS: dict[str, type[Struct]] = {
    "Top level": SystemDescription,
    "`[network]`": parts.NetworkDescription,
    "`[[network.script]]`": parts.DelayedMessage,
    "`[memory]`": parts.MemoryDescription,
    "`[machine.NAME]`": parts.MachineDescription,
    "`[machine.NAME.derived]`": parts.DerivedParameter,
    "`[machine.NAME.cache.X]`": parts.CacheDescription,
    "`[machine.NAME.buffer]`": parts.BufferDescription,
    "`[requester.NAME]`": parts.RequesterDescription,
    "`[agents.NAME]`": parts.AgentsDescription,
    "`[[variant]]`": parts.VariantDescription,
    "`[[defect]]`": parts.DefectDescription,
    "`[[handover]]`": parts.HandoverDescription,
}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_manual_has_every_field(section: str, request: pytest.FixtureRequest) -> None:
    lines = ["| field | values | default | meaning |", "| --- | --- | --- | --- |"]
    for field in fields_of(SECTIONS[section]):
        cells = (f"`{field.encode_name}`", _values(field.type), _default(field), meaning(field))
        assert cells[-1], "every field has a meaning"
        lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines)
    manual = MANUAL.read_text(encoding="utf-8")
    heading = f"### {section}\n"
    before, after = manual.split(heading)
    if request.config.getoption("--update"):
        after = re.sub(r"^\|.*?(?=\n\n)", lambda _: table, after, count=1, flags=re.M | re.S)
        MANUAL.write_text(before + heading + after, encoding="utf-8")
    assert table in after.split("\n### ")[0], "--update rewrites the table"


def _values(kind: Any) -> str:
    return " or ".join(_value(inner, limits) for inner, limits in alternatives(kind))


def _value(kind: Any, limits: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(kind))
    if get_origin(kind) is tuple:
        return f"list: {_values(get_args(kind)[0])}"
    if kind is int and limits.ge is not None:
        return f"{limits.ge} to {limits.le}"
    if get_origin(kind) is Mapping or issubclass(kind, Struct):
        return "table"
    return {int: "number", bool: "true, false", str: limits.title or "string"}[kind]


def _default(field: FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default
    if value is NODEFAULT or value is None or isinstance(value, Struct):
        return ""
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    return str(value).lower() if isinstance(value, bool | int) else f"`{value}`" if value else ""
