"""What the native engine lacks is refused before anything is compiled, with its place."""

from __future__ import annotations

import pytest

from slicc.codegen.cpp import Unsupported
from tests.slicc.codegen.cpp.tools import made

CASES = {
    "strings": {"body": 'std::string s; s := "a";'},
    "pointers in structures, as in field `other`": {"tbe": "Entry other;"},
    "pointers that outlive a wake-up": {"objects": "TBE kept;", "body": "kept := tbe;"},
    "`recycle` of a port on a `TimerTable`": {
        "objects": "TimerTable timer; in_port(timer_in, Addr, timer) { "
        "timer_in.recycle(clockEdge(), cyclesToTicks(recycle_latency)); }"
    },
    "machines with 66 in-ports": {
        "objects": " ".join(f"in_port(more{i}, Note, inner, rank=0) {{ }}" for i in range(64))
    },
    "`return` out of an `enqueue`": {
        "functions": "int early() { enqueue(inner_out, Note, 1) { return 1; } return 2; }",
        "body": "assert(early() == 1);",
    },
}


@pytest.mark.parametrize("what", CASES)
def test_it_says_what_and_where(what: str) -> None:
    with pytest.raises(Unsupported) as refused:
        made(**CASES[what])
    assert refused.value.what == what
    assert str(refused.value) == f"the native engine has no {what} ({refused.value.place})"
    assert refused.value.place.startswith("Frame.sm:")


def test_strings_in_traces_are_no_obstacle() -> None:
    made('DPRINTF(RubySlicc, "%s %s\\n", address, L1Cache_State_to_string(State:I));')


def test_what_is_never_run_is_no_obstacle() -> None:
    made(
        functions="int unused() { return tbe_count(); } int tbe_count() { return log(); } "
        "int log() { T[zero()].DataBlk.clearAtomicLogEntries(); return 1; } "
        "Addr zero() { return intToAddress(0); } Addr intToAddress(int v);"
    )
