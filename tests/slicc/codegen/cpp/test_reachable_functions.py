"""Which functions the native engine runs, and in which order."""

from __future__ import annotations

from slicc.codegen.cpp.reachable_functions import functions_of
from slicc.compiler import compile_text
from tests.slicc.pathological import SHAPES


def test_callees_come_first_in_however_long_a_chain() -> None:
    text = SHAPES["a chain of calls"](3000)
    called = text.replace('action(p_pop, "p") {', 'action(p_pop, "p") { assert(f2997() == 1);')
    protocol = compile_text(called)
    assert protocol is not None
    (machine,) = protocol.machines
    found = [each.written_name for each in functions_of(machine, protocol.structs)]
    chain = [name for name in found if name[1:].isdigit()]
    assert chain == [f"f{number}" for number in range(2998)]  # f2998 and f2999 are never called
