"""Scenarios for tests: texts, and the protocols that they are bound to."""

from __future__ import annotations

from functools import cache

from protocols.loader import LoadedProtocol, load_protocol
from slicc.scenario_text.parser import parse_scenario
from slicc.scenario_text.syntax import Scenario
from slicc.source import SourceFile
from tester.engines.choice import Choice
from tester.engines.selection import Chosen, choose
from tester.litmus.binding import Bound, bind

MP = """
P0          | P1
store x = 1 | load y -> r0
store y = 1 | load x -> r1

forbidden P1:r0 = 1 and P1:r1 = 0
"""
SB = """
P0           | P1
store x = 1  | store y = 1
load y -> r0 | load x -> r1

exists P0:r0 = 0 and P1:r1 = 0
"""


def scenario(text: str) -> Scenario:
    return parse_scenario(SourceFile("a.litmus", text))


@cache
def protocol(name: str = "MI", native: bool = False) -> LoadedProtocol:
    return load_protocol(name, native=native)


def bound(text: str, name: str = "MI") -> Bound:
    return bind(scenario(text), protocol(name))


@cache
def native_engine(name: str) -> Chosen:
    return choose(Choice.native, protocol(name, True), lambda text: None)
