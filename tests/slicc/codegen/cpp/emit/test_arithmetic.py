"""Integer expressions have the values that the language gives them, computed by compiled C++.

Many expressions are drawn and compiled together; each is compared with a naive evaluation.
"""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from slicc import ir
from slicc.codegen.cpp.emit.expressions import Expressions
from slicc.codegen.cpp.emit.scope import Scope
from slicc.codegen.cpp.names import ProtocolNames
from slicc.codegen.cpp.source_sites import Sites
from slicc.codegen.cpp.types import Types
from tests.compiling import compile_unit
from tests.slicc.codegen.python.emit.test_expressions import (
    CONDITIONS,
    EMPTY,
    NUMBERS,
    VARIABLES,
    Verdict,
    naive,
)

UNIT = """\
#include "system/prelude.hpp"

struct Case {{ u64 value; u32 kind; }};

{functions}

extern "C" __attribute__((visibility("default"))) void evaluate(Case* cases) {{
    using Function = u64 (*)(Context&);
    static const Function functions[] = {{ {names} }};
    for (const Function function : functions) {{
        System system = {{}};
        Context x = {{}};
        x.base = reinterpret_cast<u8*>(&system);
        x.s = &system;
        cases->value = function(x);
        (cases++)->kind = system.error.kind;
    }}
}}
"""


class Case(ctypes.Structure):
    _fields_ = [("value", ctypes.c_uint64), ("kind", ctypes.c_uint32)]


def emitted(node: ir.Expr) -> str:
    names = ProtocolNames(EMPTY)
    return Expressions(Scope(names, Types(names), Sites(), None))(node).text


def variables() -> str:
    """Their values are hidden from the compiler, which would calculate with them."""
    types = Types(ProtocolNames(EMPTY))
    lines = []
    for name, (kind, value) in VARIABLES.items():
        type_ = types(ir.ScalarType(kind), None)
        bits = f"{value & (2**64 - 1):#x}ull" if kind.bits else str(value).lower()
        lines.append(
            f"    [[maybe_unused]] volatile {type_} {name} = static_cast<{type_}>({bits});"
        )
    return "\n".join(lines)


def evaluate(nodes: list[ir.Expr]) -> list[Case]:
    bodies = [
        f"static u64 f{number}([[maybe_unused]] Context& x) {{\n{variables()}\n"
        f"    return static_cast<u64>({emitted(node)});\n}}"
        for number, node in enumerate(nodes)
    ]
    names = ", ".join(f"f{number}" for number in range(len(nodes)))
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "unit.cpp"
        source.write_text(UNIT.format(functions="\n".join(bodies), names=names))
        library = ctypes.CDLL(str(compile_unit(source, flags=())))
        cases = (Case * len(nodes))()
        library.evaluate(cases)
    return list(cases)


@settings(
    max_examples=3,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(st.one_of(NUMBERS, CONDITIONS), min_size=150, max_size=200))
def test_expressions_have_the_values_of_the_language(nodes: list[ir.Expr]) -> None:
    for node, case in zip(nodes, evaluate(nodes)):
        try:
            expected = naive(node)
        except Verdict:
            assert case.kind, f"{emitted(node)}: no verdict"
            continue
        assert not case.kind, f"{emitted(node)}: verdict {case.kind}"
        assert case.value == expected & (2**64 - 1), emitted(node)
