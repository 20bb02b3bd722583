"""Compact signatures: one line of text for one overload of a runtime function or method.

    ``name(T, U!, now) -> R = python_name ; flag flag``

``T!`` is written in place by the callee, ``now`` is the current tick, which SLICC passes and the
runtime does not need (typed ``Tick``, dropped from the call), ``R&`` is a result by reference.
Pseudo types: ``element`` (the type in ``template=``) and ``any``.

Invariant: parsing a line never fails for the tables of this package (a test reads all of them).
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache

from slicc.text.lazy_dataclass import dataclass


class Flag(Enum):
    """Properties of a call that backends need."""

    MUTATES = "mutates"
    """The receiver's value changes."""
    CONTROLLER = "controller"
    """The runtime takes the calling controller as first argument."""
    CAST = "cast"
    """Only converts its argument: no call at all."""


class Home(Enum):
    """Where the runtime keeps a function."""

    CONTROLLER = "controller"
    LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class Parameter:
    """``type`` as SLICC text; ``mutated``: the callee writes it; ``dropped``: not passed on."""

    type: str
    mutated: bool = False
    dropped: bool = False


@dataclass(frozen=True, slots=True)
class Signature:
    """One overload: SLICC ``name``, ``python`` name, parameters and result as type texts."""

    name: str
    python: str
    parameters: tuple[Parameter, ...]
    result: str
    by_reference: bool
    flags: frozenset[Flag]
    setter: str | None = None
    """Python method that assigns through a result by reference (``x.at(i) := v``)."""


_LINE = re.compile(
    r"(?P<name>\w+)\((?P<params>[^)]*)\)"
    r"(?:\s*->\s*(?P<result>[\w:]+)(?P<ref>&?)(?:\s*\[(?P<setter>\w+)\])?)?"
    r"(?:\s*=\s*(?P<python>\w+))?"
    r"(?:\s*;(?P<flags>[\w ]+))?"
)


def _parameter(text: str) -> Parameter:
    if text == "now":
        return Parameter("Tick", dropped=True)
    if text.endswith("!"):
        return Parameter(text[:-1], mutated=True)
    return Parameter(text)


@cache
def parse_signature(line: str) -> Signature:
    """Read one line. ``ValueError`` if it does not have the form above (a bug of the tables)."""
    match = _LINE.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"malformed prelude signature: {line!r}")
    parameters = tuple(_parameter(p.strip()) for p in match["params"].split(",") if p.strip())
    return Signature(
        name=match["name"],
        python=match["python"] or match["name"],
        parameters=parameters,
        result=match["result"] or "void",
        by_reference=bool(match["ref"]),
        flags=frozenset(Flag(flag) for flag in (match["flags"] or "").split()),
        setter=match["setter"],
    )
