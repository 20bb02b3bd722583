"""Reading and writing descriptions: every declared field, every declared limit, hostile text."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.description import (
    CacheDescription,
    DescriptionError,
    SystemDescription,
    load_description,
    origin,
    parts,
)
from runtime.description.reader import alternatives, fields_of, read

PIECES = [
    each
    for each in (SystemDescription, *vars(parts).values())
    if isinstance(each, type) and issubclass(each, parts.Piece)
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
LEAVES = st.integers(-(1 << 63), 1 << 63) | st.booleans() | TEXT | st.floats(allow_nan=False)
GPU = st.recursive(LEAVES | st.lists(LEAVES, max_size=3), lambda x: st.dictionaries(TEXT, x))


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values that a field of that type may hold."""
    return st.one_of([_values(*found) for found in alternatives(kind)])


def _values(kind: Any, limits: Any) -> st.SearchStrategy[Any]:
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        return st.lists(values(get_args(kind)[0]), max_size=3)
    if get_origin(kind) is Mapping:
        inner = get_args(kind)[1]
        return st.dictionaries(TEXT, GPU if inner is Any else values(inner), max_size=3)
    if kind is bool:
        return st.booleans()
    if kind is int and limits.ge is None:
        return st.integers(-(1 << 63), 1 << 64)
    if kind is int:  # powers of two, which some fields ask for
        powers = {1 << bit for bit in range(21) if limits.ge <= 1 << bit <= limits.le}
        return st.sampled_from(sorted(powers | {limits.ge}))
    if kind is str:
        return st.from_regex(limits.pattern) if limits.pattern else TEXT
    required = {f.encode_name: values(f.type) for f in fields_of(kind) if f.required}
    optional = {f.encode_name: values(f.type) for f in fields_of(kind) if not f.required}
    return st.fixed_dictionaries(required, optional=optional)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(values(SystemDescription))
def test_what_is_written_reads_back_as_an_equal_description(data: dict[str, Any]) -> None:
    try:
        described = SystemDescription.from_dict(data)
    except DescriptionError as error:
        assert any(why in str(error) for why in ("power of two", "sets * ways", "one of count"))
        return
    assert SystemDescription.from_toml(described.to_toml()) == described
    assert SystemDescription.from_dict(described.to_dict()) == described


BOUNDED = [
    (piece, field.encode_name, value, f"must be between {limits.ge} and {limits.le}")
    for piece in PIECES
    for field in fields_of(piece)
    for kind, limits in alternatives(field.type)
    if kind is int and limits.ge is not None
    for value in (limits.ge - 1, limits.le + 1, 1 << 4000)
]


@pytest.mark.parametrize(("piece", "name", "value", "message"), BOUNDED)
def test_every_declared_range_is_enforced(
    piece: type[parts.Piece], name: str, value: int, message: str
) -> None:
    needed = {
        field.encode_name: 1 if alternatives(field.type)[0][0] is int else "x"
        for field in fields_of(piece)
        if field.required
    }
    with pytest.raises(DescriptionError, match=message) as caught:
        read(piece, {**needed, name: value}, origin.Origin("x.toml"), ("here",))
    assert (caught.value.field, caught.value.value) == (f"here.{name}", value)


ERRORS = {
    "kind": ("network.kind = 'bux'", 1, "did you mean `bus`?"),
    "numbers": ("network.bus = 0", 1, "expected a list of at most 64 integers"),
    "not a number": ("line_size = nan", 1, "line_size = nan: expected an integer"),
    "hexadecimal": (f"\ngpu.x = 0x{'f' * 5000}", 2, "a number of too many digits"),
    "infinite": ("\nnetwork.latency = -inf", 2, "latency = -inf: expected an integer"),
    "twice": ("[memory]\n[memory]", 2, "not TOML"),
    "deep": ("gpu.x = " + "[" * 40 + "]" * 40, 1, "nested too deeply"),
    "quoted": ("[machine.'a.b']\nof = ''\n'x y' = 1", 3, 'machine."a.b"."x y" = 1: no such f'),
    "misspelt": ("[requester.a]\nmachin = 'x'", 2, "did you mean `machine`?"),
    "item": ("agents.a.requester = 'a'\nagents.a.without = [\n\n3]", 2, "without[0] = 3: expected"),
    "long": (f"protocol = '{'x' * 5000}'", 1, "longer than 4096 characters"),
    "many": (f"[requester.a]\nmachine = 'x'\ncaches = {['a'] * 65}", 3, "a list of at most 64 str"),
    "rows": (
        "[[handover]]\ngiver='a'\ntaker='b'\n" * 257,
        1,
        "expected at most 256 tables [[handover]]",
    ),
    "row": (
        "[[handover]]\ngiver='a'\ntaker='b'\n[[handover]]\ngiver='a'",
        4,
        "[1].taker: req",
    ),
    "strings": ("values = true\n'' = '''\n[a]\n'''\n", 2, "no such field"),
    "comments": ("# [gpu]\n\n# x\nline_size = 24 # y\n", 4, "must be a power of two"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_line_and_reason(name: str) -> None:
    text, line, message = ERRORS[name]
    with pytest.raises(DescriptionError) as caught:
        SystemDescription.from_toml(text, "x.toml")
    assert (caught.value.line, message in str(caught.value)) == (line, True), str(caught.value)


def test_the_line_of_an_error_is_looked_for_with_bounded_effort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Hardly a prefix of such a text is TOML, and each is parsed from its beginning."""
    text = "gpu.x = [\n" + "1,\n" * 5_000 + "]\nline_size = 1\n"
    parsed = []
    whole = origin._parsed
    monkeypatch.setattr(origin, "_parsed", lambda part: parsed.append(len(part)) or whole(part))
    monkeypatch.setattr(origin, "_EFFORT", 1 << 17)
    with pytest.raises(DescriptionError, match="between 16 and 256") as caught:
        SystemDescription.from_toml(text)
    assert 1 <= caught.value.line <= 5_003
    assert sum(parsed) <= (1 << 17) + len(text)


def test_a_piece_is_checked_however_it_is_made() -> None:
    with pytest.raises(parts.FieldError, match="power of two"):
        CacheDescription(ways=3)


def test_a_mark_before_the_text_is_no_error(tmp_path: Path) -> None:
    """Some editors begin UTF-8 files with a byte order mark."""
    file = tmp_path / "marked.toml"
    file.write_text("line_size = 32\n", encoding="utf-8-sig")
    assert load_description(file).line_size == 32


def test_help_needs_no_schema_library() -> None:
    check = "import slicc.cli.main, sys; print({'msgspec', 'tomlkit'} & {*sys.modules})"
    run = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"
