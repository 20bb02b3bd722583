"""The code sequences of the memory model: what each atomic operation and fence becomes.

Source: LLVM "User Guide for AMDGPU Backend", "Memory Model" of gfx6-gfx9, gfx90a and gfx942. A row
here is a row of these tables: operation, orders, scopes; then the instructions if the location is
in global memory, in LDS, or in either (a generic pointer). Of a fence, the columns are the address
spaces that it orders: global, local, both.

    V, L     s_waitcnt vmcnt(0), lgkmcnt(0); both in one instruction if they stand together
    L?       the same, where one order holds for both address spaces (HSA); OpenCL has one for each,
             and its compilers leave out what would order LDS against global memory
    op       the access itself, with bits of its encoding behind it
    INV ..   what caches do, see `CACHE_OPERATIONS`

The bit that makes an atomic operation return the old value belongs to the instruction and is in no
row. Invariant: every valid combination of operation, order and scope has exactly one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import Final

from gpu.memory_model.program import Order, Space
from gpu.memory_model.scopes import Scope
from slicc.text.lazy_dataclass import dataclass


class Kind(StrEnum):
    """Operations that have rows."""

    load = "load"
    store = "store"
    rmw = "rmw"
    fence = "fence"


ACCESS: Final = "access"
WAIT: Final = "s_waitcnt"
VECTOR, LDS_AND_SCALAR = "vmcnt", "lgkmcnt"


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction. ``parts``: the counters that a wait waits for, or the bits of an access or a
    cache operation."""

    name: str
    parts: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.name == WAIT:
            return f"{WAIT} {' '.join(f'{part}(0)' for part in self.parts)}"
        return " ".join((self.name, *self.parts))


Sequence = tuple[Step, ...]

CACHE_OPERATIONS: Final = {
    "INV": "buffer_wbinvl1_vol",
    "INVL2": "buffer_invl2",
    "WBL2": "buffer_wbl2",
    "BUFINV": "buffer_inv",
}
"""Drop the lines of the first-level cache, and of the second; write back the second; what gfx942
has instead of the first two."""

_GFX6_TO_GFX9: Final = """
load  | non-atomic              | any         | op                  | op        | op
load  | relaxed                 | ..group     | op                  | op        | op
load  | relaxed                 | agent..     | op glc              | op        | op glc
load  | acquire                 | ..wavefront | op                  | op        | op
load  | acquire                 | group       | op                  | op; L?    | op; L?
load  | acquire                 | agent..     | op glc; V; INV      | op; L?    | op glc; V L?; INV
load  | seq_cst                 | ..wavefront | op                  | op        | op
load  | seq_cst                 | group       | L; op               | L; op; L  | L; op; L
load  | seq_cst                 | agent..     | V L; op glc; V; INV | L; op; L  | V L; op glc; V L; INV
store | non-atomic relaxed      | any         | op                  | op        | op
store | release seq_cst         | ..wavefront | op                  | op        | op
store | release                 | group       | L?; op              | L?; op    | L?; op
store | release                 | agent..     | V L?; op            | L?; op    | V L?; op
store | seq_cst                 | group       | L; op               | L; op     | L; op
store | seq_cst                 | agent..     | V L; op             | L; op     | V L; op
rmw   | relaxed                 | any         | op                  | op        | op
rmw   | acquire release acq_rel seq_cst | ..wavefront | op          | op        | op
rmw   | acquire                 | group       | op                  | op; L?    | op; L?
rmw   | acquire                 | agent..     | op; V; INV          | op; L?    | op; V L?; INV
rmw   | release                 | group       | L?; op              | L?; op    | L?; op
rmw   | release                 | agent..     | V L?; op            | L?; op    | V L?; op
rmw   | acq_rel                 | group       | L?; op              | L?; op; L?| L?; op; L?
rmw   | acq_rel                 | agent..     | V L?; op; V; INV    | L?; op; L?| V L?; op; V L?; INV
rmw   | seq_cst                 | group       | L; op               | L; op; L  | L; op; L
rmw   | seq_cst                 | agent..     | V L; op; V; INV     | L; op; L  | V L; op; V L; INV
fence | acquire release acq_rel seq_cst | ..wavefront |             |           |
fence | acquire release acq_rel seq_cst | group |                   | L         | L
fence | acquire acq_rel seq_cst | agent..     | V; INV              | L         | V L; INV
fence | release                 | agent..     | V                   | L         | V L
"""  # noqa: E501

_GFX90A_SYSTEM: Final = """
load  | acquire                 | system | op glc; V; INVL2; INV             | op; L? | op glc; V L?; INVL2; INV
load  | seq_cst                 | system | V L; op glc; V; INVL2; INV        | L; op; L | V L; op glc; V L; INVL2; INV
store | release                 | system | WBL2; V L?; op                    | L?; op | WBL2; V L?; op
store | seq_cst                 | system | WBL2; V L; op                     | L; op  | WBL2; V L; op
rmw   | acquire                 | system | op; V; INVL2; INV                 | op; L? | op; V L?; INVL2; INV
rmw   | release                 | system | WBL2; V L?; op                    | L?; op | WBL2; V L?; op
rmw   | acq_rel                 | system | WBL2; V L?; op; V; INVL2; INV     | L?; op; L? | WBL2; V L?; op; V L?; INVL2; INV
rmw   | seq_cst                 | system | WBL2; V L; op; V; INVL2; INV      | L; op; L | WBL2; V L; op; V L; INVL2; INV
fence | acquire                 | system | V; INVL2; INV                     | L      | V L; INVL2; INV
fence | release                 | system | WBL2; V                           | L      | WBL2; V L
fence | acq_rel seq_cst         | system | WBL2; V; INVL2; INV               | L      | WBL2; V L; INVL2; INV
"""  # noqa: E501
"""What gfx90a does otherwise: its second-level cache keeps stores until they are written back."""

_GFX942: Final = """
load  | non-atomic              | any         | op        | op | op
load  | relaxed acquire seq_cst | ..wavefront | op        | op | op
load  | relaxed                 | group  | op sc0         | op | op sc0
load  | relaxed                 | agent  | op sc1         | op | op sc1
load  | relaxed                 | system | op sc0 sc1     | op | op sc0 sc1
load  | acquire                 | group  | op sc0         | op; L? | op sc0; L?
load  | acquire                 | agent  | op sc1; V; BUFINV sc1         | op; L? | op sc1; V L?; BUFINV sc1
load  | acquire                 | system | op sc0 sc1; V; BUFINV sc0 sc1 | op; L? | op sc0 sc1; V L?; BUFINV sc0 sc1
load  | seq_cst                 | group  | L; op sc0      | L; op; L | L; op sc0; L
load  | seq_cst                 | agent  | V L; op sc1; V; BUFINV sc1    | L; op; L | V L; op sc1; V L; BUFINV sc1
load  | seq_cst                 | system | V L; op sc0 sc1; V; BUFINV sc0 sc1 | L; op; L | V L; op sc0 sc1; V L; BUFINV sc0 sc1
store | non-atomic              | any         | op        | op | op
store | relaxed release seq_cst | ..wavefront | op        | op | op
store | relaxed                 | group  | op sc0         | op | op sc0
store | relaxed                 | agent  | op sc1         | op | op sc1
store | relaxed                 | system | op sc0 sc1     | op | op sc0 sc1
store | release                 | group  | L?; op sc0     | L?; op | L?; op sc0
store | release                 | agent  | WBL2 sc1; V L?; op sc1             | L?; op | WBL2 sc1; V L?; op sc1
store | release                 | system | WBL2 sc0 sc1; V L?; op sc0 sc1     | L?; op | WBL2 sc0 sc1; V L?; op sc0 sc1
store | seq_cst                 | group  | L; op sc0      | L; op | L; op sc0
store | seq_cst                 | agent  | WBL2 sc1; V L; op sc1              | L; op | WBL2 sc1; V L; op sc1
store | seq_cst                 | system | WBL2 sc0 sc1; V L; op sc0 sc1      | L; op | WBL2 sc0 sc1; V L; op sc0 sc1
rmw   | relaxed                 | ..agent | op            | op | op
rmw   | relaxed                 | system | op sc1         | op | op sc1
rmw   | acquire release acq_rel seq_cst | ..wavefront | op | op | op
rmw   | acquire                 | group  | op             | op; L? | op; L?
rmw   | acquire                 | agent  | op; V; BUFINV sc1                  | op; L? | op; V L?; BUFINV sc1
rmw   | acquire                 | system | op sc1; V; BUFINV sc0 sc1          | op; L? | op sc1; V L?; BUFINV sc0 sc1
rmw   | release                 | group  | L?; op         | L?; op | L?; op
rmw   | release                 | agent  | WBL2 sc1; V L?; op                 | L?; op | WBL2 sc1; V L?; op
rmw   | release                 | system | WBL2 sc0 sc1; V L?; op sc1         | L?; op | WBL2 sc0 sc1; V L?; op sc1
rmw   | acq_rel                 | group  | L?; op         | L?; op; L? | L?; op; L?
rmw   | acq_rel                 | agent  | WBL2 sc1; V L?; op; V; BUFINV sc1  | L?; op; L? | WBL2 sc1; V L?; op; V L?; BUFINV sc1
rmw   | acq_rel                 | system | WBL2 sc0 sc1; V L?; op sc1; V; BUFINV sc0 sc1 | L?; op; L? | WBL2 sc0 sc1; V L?; op sc1; V L?; BUFINV sc0 sc1
rmw   | seq_cst                 | group  | L; op          | L; op; L | L; op; L
rmw   | seq_cst                 | agent  | WBL2 sc1; V L; op; V; BUFINV sc1   | L; op; L | WBL2 sc1; V L; op; V L; BUFINV sc1
rmw   | seq_cst                 | system | WBL2 sc0 sc1; V L; op sc1; V; BUFINV sc0 sc1 | L; op; L | WBL2 sc0 sc1; V L; op sc1; V L; BUFINV sc0 sc1
fence | acquire release acq_rel seq_cst | ..wavefront |  |   |
fence | acquire release acq_rel seq_cst | group |        | L | L
fence | acquire                 | agent  | V; BUFINV sc1                      | L | V L; BUFINV sc1
fence | acquire                 | system | V; BUFINV sc0 sc1                  | L | V L; BUFINV sc0 sc1
fence | release                 | agent  | WBL2 sc1; V                        | L | WBL2 sc1; V L
fence | release                 | system | WBL2 sc0 sc1; V                    | L | WBL2 sc0 sc1; V L
fence | acq_rel seq_cst         | agent  | WBL2 sc1; V; BUFINV sc1            | L | WBL2 sc1; V L; BUFINV sc1
fence | acq_rel seq_cst         | system | WBL2 sc0 sc1; V; BUFINV sc0 sc1    | L | WBL2 sc0 sc1; V L; BUFINV sc0 sc1
"""  # noqa: E501

_TABLES: Final = {
    "gfx803": (_GFX6_TO_GFX9,),
    "gfx900": (_GFX6_TO_GFX9,),
    "gfx90a": (_GFX6_TO_GFX9, _GFX90A_SYSTEM),
    "gfx942": (_GFX942,),
}
"""By processor; a later table has precedence."""

PROCESSORS: Final = tuple(_TABLES)
RETURNS: Final = {"gfx803": "glc", "gfx900": "glc", "gfx90a": "glc", "gfx942": "sc0"}
"""The bit of an atomic operation that returns the old value."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row for one order and scope. ``columns``: global, local, generic."""

    kind: Kind
    order: Order
    scope: Scope
    columns: tuple[Sequence, Sequence, Sequence]

    def sequence(self, spaces: frozenset[Space], opencl: bool = False) -> Sequence:
        """For a location that may be in these spaces, or a fence that orders them. ``opencl``:
        without what orders the spaces against one another."""
        place = {
            frozenset({Space.global_}): 0,
            frozenset({Space.local}): 1,
        }.get(spaces, 2)
        return tuple(_settled(self.columns[place], opencl))


@cache
def table(processor: str) -> dict[tuple[Kind, Order, Scope], Row]:
    """All rows of a processor, in the order of the document. Raises KeyError for another one."""
    found: dict[tuple[Kind, Order, Scope], Row] = {}
    for text in _TABLES[processor]:
        for line in text.strip().splitlines():
            for row in _rows(line):
                found[row.kind, row.order, row.scope] = row
    return found


def sequence_of(
    processor: str,
    kind: Kind,
    order: Order,
    scope: Scope,
    spaces: frozenset[Space],
    opencl: bool = False,
) -> Sequence:
    """The instructions of an operation."""
    return table(processor)[kind, order, scope].sequence(spaces, opencl)


def _rows(line: str) -> Iterator[Row]:
    kind, orders, scopes, *columns = (cell.strip() for cell in line.split("|"))
    first, second, third = map(_steps, columns)
    for order in orders.split():
        for scope in _scopes(scopes):
            yield Row(Kind(kind), Order(order), scope, (first, second, third))


_SPELLED: Final = {"wavefront": Scope.wavefront, "group": Scope.work_group}


def _scopes(text: str) -> list[Scope]:
    low, dots, high = text.partition("..")
    if text == "any":
        return list(Scope)
    if not dots:
        return [_scope(text)]
    least = _scope(low) if low else Scope.work_item
    return [scope for scope in Scope if least <= scope <= (_scope(high) if high else Scope.system)]


def _scope(text: str) -> Scope:
    return _SPELLED[text] if text in _SPELLED else Scope[text]


_COUNTERS: Final = {"V": VECTOR, "L": LDS_AND_SCALAR, "L?": LDS_AND_SCALAR + "?"}


def _steps(text: str) -> Sequence:
    return tuple(_step(part.split()) for part in text.split(";") if part.strip())


def _step(words: list[str]) -> Step:
    first, *bits = words
    if first in _COUNTERS:
        return Step(WAIT, tuple(_COUNTERS[word] for word in words))
    return Step(ACCESS if first == "op" else CACHE_OPERATIONS[first], tuple(bits))


def _settled(sequence: Sequence, opencl: bool) -> Iterator[Step]:
    """The steps with the waits of HSA decided."""
    for step in sequence:
        parts = step.parts
        if step.name == WAIT:
            parts = tuple(p.removesuffix("?") for p in parts if not (opencl and p.endswith("?")))
        if parts or step.name != WAIT:
            yield replace(step, parts=parts)
