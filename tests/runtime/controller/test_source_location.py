"""Mistakes of a protocol become verdicts that say where; mistakes of ours stay what they are."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runtime.errors import ErrorKind, ProtocolError, source_location
from tests.runtime.pingpong import HoldingController, Kind, World

GENERATED = """
from runtime.controller.shapes import Transition
from runtime.types.values import DataBlock, WriteMask
from tests.runtime.pingpong import Event, Kind, PlayerController, State


class Broken(PlayerController):
    MACHINE = "Cache"

    def setAccessPermission(self, cache_entry, address, state):
        pass

    def n_null(self, t):
        helper(t)

    def i_index(self, t):
        self.PERMISSIONS[77]

    def v_value(self, t):
        DataBlock().copyPartial(None, WriteMask(0))

    def r_runtime(self, t):
        DataBlock("seven").read(0, 1)

    def k_key(self, t):
        {}["missing"]

    def c_compare(self, t):
        t.tbe < 3

    def m_message(self, t):
        self.balls_in.peek(object)

    def f_field(self, t):
        self.balls_in.messages[0].nothing

    def g_panic(self, t):
        self.panic("cannot happen")

    def z_assert(self, t):
        self.assertion_failed("a == b")

    TRANSITIONS = {}


def helper(t):
    t.tbe.value = 3
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    folder = tmp_path / "made_for_errors"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "cache.py").write_text(GENERATED)
    rows = [
        [number, "Toy-cache.sm", 100 + number]
        for number in range(1, len(GENERATED.splitlines()) + 1)
        if number % 2
    ]
    (folder / "linemap.json").write_text(json.dumps({"cache.py": rows}))
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    yield import_module("made_for_errors.cache")
    for name in ("made_for_errors.cache", "made_for_errors"):
        sys.modules.pop(name, None)


def run(module: Any, action: str) -> Exception:
    """What a run raises whose only transition runs the action."""
    kind = type(
        "Once",
        (module.Broken,),
        {
            "__module__": module.__name__,
            "TRANSITIONS": {
                (0, 0): module.Transition(None, (getattr(module.Broken, action),)),
            },
        },
    )
    world = World(2, kind)
    world.throw(1, 0x40, latency=6)
    with pytest.raises(Exception) as caught:
        world.engine.run()
    return caught.value


def line_of(text: str) -> int:
    return GENERATED.splitlines().index(text) + 1


@pytest.mark.parametrize(
    ("action", "kind", "text"),
    [
        ("n_null", ErrorKind.NULL_DEREFERENCE, "`value` of a null pointer"),
        ("i_index", ErrorKind.INDEX_RANGE, "index out of range"),
        ("v_value", ErrorKind.NULL_DEREFERENCE, "`data` of a null pointer"),
        ("c_compare", ErrorKind.NULL_DEREFERENCE, "null pointer used"),
        ("m_message", ErrorKind.WRONG_MESSAGE, "not a"),
        ("f_field", ErrorKind.WRONG_MESSAGE, "BallMsg has no field `nothing`"),
        ("g_panic", ErrorKind.PANIC, "cannot happen"),
        ("z_assert", ErrorKind.ASSERTION, "assert\\(a == b\\)"),
    ],
)
def test_mistakes_of_generated_code_are_verdicts(
    package: ModuleType, action: str, kind: ErrorKind, text: str
) -> None:
    if action == "m_message":
        package.__dict__["object"] = World
    error = run(package, action)
    assert isinstance(error, ProtocolError), repr(error)
    assert error.kind is kind
    assert re.search(text, error.message)
    assert (error.machine, error.version, error.tick, error.address) == ("Cache", 1, 6, 0x40)
    assert (error.state, error.event, error.action) == ("I", "Ball", action)
    assert error.location is not None
    assert error.location.startswith("Toy-cache.sm:")


def test_the_location_is_the_line_map_entry_at_or_before_the_line(package: ModuleType) -> None:
    error = run(package, "n_null")
    assert isinstance(error, ProtocolError)
    line = line_of("    t.tbe.value = 3")
    assert error.location == f"Toy-cache.sm:{100 + line - 1 + line % 2}"
    assert package.__file__ is not None
    file = Path(package.__file__)
    assert source_location(file, 1) == "Toy-cache.sm:101"
    assert source_location(file.parent / "other.py", 9) == "other.py:9"


@pytest.mark.parametrize(("action", "kind"), [("r_runtime", TypeError), ("k_key", KeyError)])
def test_other_errors_are_not_disguised(
    package: ModuleType, action: str, kind: type[Exception]
) -> None:
    assert type(run(package, action)) is kind


def test_an_undefined_transition_names_state_and_event() -> None:
    world = World(2, HoldingController)
    world.throw(0, 0x80, Kind.Crash, latency=3)
    with pytest.raises(ProtocolError) as caught:
        world.engine.run()
    error = caught.value
    assert error.kind is ErrorKind.UNDEFINED_TRANSITION
    assert str(error) == (
        "undefined_transition: no transition from I on Crash, in Cache 0, at tick 3, "
        f"address 0x80, transition (I, Crash), [{error.location}]"
    )


def test_a_state_that_was_never_set_is_out_of_range() -> None:
    class Lost(HoldingController):
        def getState(self, tbe: Any, cache_entry: Any, address: int) -> int:
            return self.STATES.NUM

    world = World(2, Lost)
    world.throw(0, 0)
    with pytest.raises(ProtocolError) as caught:
        world.engine.run()
    assert caught.value.kind is ErrorKind.ENUM_RANGE
