"""The C++ of all meanings that are expressions of one lane, and the object made of it.

Invariant: the text follows from `gpu.isa.semantics` alone; meanings that compute the same share a
function.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from gpu.isa.fp_environment import control_word
from gpu.isa.native.lane_expressions import TYPE_NAMES, Untraceable, lines_of
from gpu.isa.operand_types import TYPES
from gpu.isa.semantics import SEMANTICS, Semantics
from runtime.native.build import Recipe, headers_digest, loaded
from runtime.native.ctypes_api import LibraryError
from runtime.native.toolchain.compiler import ToolchainError, find_compiler
from runtime.native.toolchain.object_cache import CacheError, user_cache

_HEADERS: Final = Path(__file__).parent / "cpp"
HELD: Final = _HEADERS / "held.hpp"
"""What other native code may include of this."""
_UNIT: Final = "lane_functions.cpp"
_EXPORTED: Final = '__attribute__((visibility("default")))'

OnRows = Callable[[ctypes.Array[ctypes.c_char], ctypes.c_void_p], int]


class LaneLibrary(NamedTuple):
    """Functions of what is described at the first address and the vector registers at the second.

    ``execute``: the operations of a run. ``move``: a load or store; whether it was carried out.
    ``hold``: its first step; whether the others will be carried out. ``gather``: the same of one
    that other code carries out. ``perform`` and ``complete``: addresses of the functions of the
    other steps, which take what is held.
    """

    execute: OnRows
    move: OnRows
    hold: OnRows
    gather: OnRows
    perform: int
    complete: int


class LaneFunctions(NamedTuple):
    """``number_of``: by mnemonic, its place in the table of ``text``."""

    number_of: dict[str, int]
    text: str


@cache
def lane_functions() -> LaneFunctions:
    """All that are traceable."""
    bodies: dict[str, int] = {}
    number_of = {}
    for name, semantics in SEMANTICS.items():
        try:
            body = _body(semantics)
        except Untraceable:
            continue
        number_of[name] = bodies.setdefault(body, len(bodies))
    words = ", ".join(f"{control_word(number):#x}" for number in range(16))
    names = ", ".join(f"meaning_{number}" for number in bodies.values())
    parts = [
        '#include "moves.hpp"\n',
        *(f"static u64 meaning_{number}{body}" for body, number in bodies.items()),
        f"const Function FUNCTIONS[] = {{{names}}};",
        f"const u32 WORDS[16] = {{{words}}};\n",
        f'extern "C" {_EXPORTED} void lanes_execute(const Run* run, u32* rows) {{',
        "    execute(*run, rows);",
        "}\n",
        f'extern "C" {_EXPORTED} u64 lanes_move(const Move* m, u32* rows) {{',
        "    return move(*m, rows);",
        "}\n",
        f'extern "C" {_EXPORTED} u64 lanes_hold(const Move* m, u32* rows) {{',
        "    return hold_for_later(*m, rows);",
        "}\n",
        f'extern "C" {_EXPORTED} u64 lanes_gather(const Move* m, u32* rows) {{',
        "    return gather(*m, rows);",
        "}\n",
        f'extern "C" {_EXPORTED} void lanes_perform(Held* held) {{',
        "    perform(*held);",
        "}\n",
        f'extern "C" {_EXPORTED} void lanes_complete(Held* held) {{',
        "    complete(*held);",
        "}\n",
    ]
    return LaneFunctions(number_of, "\n".join(parts))


def _body(semantics: Semantics) -> str:
    """Parameters and body of a meaning's function."""
    lines = lines_of(semantics)
    mask = semantics.gives_mask or semantics.result == "mask"
    loop, types = [], [type for type in semantics.operands if type != "mask"]
    for type, name, row in zip(types, "abc", "xyz"):
        kind = TYPE_NAMES[np.dtype(TYPES[type].dtype)]
        loop.append(f"const {kind} {name} = lane_of<{kind}>({row}, lane);")
    if "mask" in semantics.operands:
        loop.append("const bool in = lanes >> lane & 1;")
    if semantics.result != "mask":
        loop.append(f"u{TYPES[semantics.result].bits} result;")
    loop += ["bool out;"] * mask + list(lines)
    if semantics.result != "mask":
        loop.append("put_lane(row, lane, result);")
    loop += ["given[lane] = out;"] * mask
    parameters = [
        f"const u32* {'xyz'[place : place + 1] if place < len(types) else ''}".strip()
        for place in range(3)
    ]
    parameters.append("u64 lanes" if "mask" in semantics.operands else "u64")
    parameters.append("u32* __restrict row" if semantics.result != "mask" else "u32*")
    inner = "\n".join(f"        {line}" for line in loop)
    return (
        f"({', '.join(parameters)}) {{\n"
        + "    u8 given[LANES];\n" * mask
        + f"    for (u32 lane = 0; lane < LANES; ++lane) {{\n{inner}\n    }}\n"
        + f"    return {'bits_of(given)' if mask else '0'};\n}}\n"
    )


_ASKED: Final = ("CXX", "PATH", "XDG_CACHE_HOME", "HOME", "SLICC_CXXFLAGS")
"""The environment variables that select the compiler and the cache."""


def lane_library() -> LaneLibrary | None:
    """Built once; None where it cannot be built."""
    return _library(os.getpid(), *(os.environ.get(name) for name in _ASKED))


@cache
def _library(*asked: object) -> LaneLibrary | None:
    files = {_UNIT: lane_functions().text}
    files |= {path.name: path.read_text() for path in _HEADERS.glob("*.hpp")}
    try:
        objects = user_cache()
        recipe = Recipe(files, _UNIT, find_compiler(), headers=headers_digest())
        return loaded(recipe.find(objects) or recipe.make(objects), _load)
    except (ToolchainError, CacheError, LibraryError):
        return None


def _load(path: Path) -> LaneLibrary:
    """Without argument types, which cost more than the call; all arguments are pointers."""
    try:
        library = ctypes.PyDLL(str(path))
        execute, move, hold = library.lanes_execute, library.lanes_move, library.lanes_hold
        gather = library.lanes_gather
        later = library.lanes_perform, library.lanes_complete
    except (OSError, AttributeError) as error:
        raise LibraryError(f"{path} cannot be loaded: {error}") from None
    execute.restype = None
    perform, complete = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in later)
    return LaneLibrary(execute, move, hold, gather, perform, complete)
