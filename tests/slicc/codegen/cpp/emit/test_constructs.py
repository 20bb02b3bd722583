"""Statements as the author writes them, and the C++ that they become."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.slicc.codegen.cpp.tools import assert_compiles, function, made

STRUCT = "structure(Pair) { int a; DataBlock d; NetDest n; }"
CASES = {
    "check_allocate(T);": "",
    'DPRINTF(RubySlicc, "text %s\\n", address);': "",
    "APPEND_TRANSITION_COMMENT(address);": "",
    "rx_in.dequeue(clockEdge());": "x.site = N; MessageBuffer_dequeue(x, c.rx);",
    "rx_in.recycle(clockEdge(), cyclesToTicks(recycle_latency));": (
        "x.site = N; MessageBuffer_recycle(x, c.rx, c.recycle_latency);"
    ),
    "stall_and_wait(rx_in, address);": (
        "x.site = N; controller_stall_and_wait(x, c, Port::rx_in, t.address);"
    ),
    "wakeup_port(rx_in, address);": (
        "x.site = N; controller_wakeup_port(x, c, Port::rx_in, t.address);"
    ),
    "wakeUpAllBuffers(address);": "controller_wakeUpAllBuffers(x, c, t.address);",
    "T.allocate(address); set_tbe(T[address]);": (
        "x.site = N; new_record<TBE>(x, c.T, t.address);\n"
        "t.tbe = static_cast<TBE*>(TBETable_lookup(x, c.T, t.address));"
    ),
    "unset_tbe();": "t.tbe = nullptr;",
    "set_cache_entry(cache.allocate(address, new Entry));": (
        "x.site = N; t.cache_entry = static_cast<Entry*>("
        "CacheMemory_allocate(x, c.cache, t.address, new_entry<Entry>(x, c)));"
    ),
    "tbe.n := tbe.n + 1;": "valid(x, t.tbe, N).n = i32(u32(valid(x, t.tbe, N).n) + 1);",
    "tbe.DataBlk := cache_entry.DataBlk;": (
        "DataBlock_assign(x, valid(x, t.tbe, N).DataBlk, valid(x, t.cache_entry, N).DataBlk);"
    ),
    "if (is_valid(tbe)) { tbe.n := 2; }": "if (t.tbe != nullptr) {\n    t.tbe->n = 2;\n}",
    "if (is_valid(tbe) && tbe.n == 1) { unset_tbe(); tbe.n := 2; }": (
        "if (t.tbe != nullptr && t.tbe->n == 1) {\n"
        "    t.tbe = nullptr;\n"
        "    valid(x, t.tbe, N).n = 2;\n}"
    ),
    "if (is_invalid(tbe)) { unset_tbe(); } else { tbe.n := 2; }": (
        "if (t.tbe == nullptr) {\n    t.tbe = nullptr;\n} else {\n    t.tbe->n = 2;\n}"
    ),
    'if (is_invalid(tbe)) { error("no record"); } tbe.n := 2;': (
        "if (t.tbe == nullptr) {\n    fail(x, ErrorKind::PANIC, N); return;\n}\nt.tbe->n = 2;"
    ),
    "assert(tbe.n == 2);": (
        "if (valid(x, t.tbe, N).n != 2) {\n    fail(x, ErrorKind::ASSERTION, N); return;\n}"
    ),
    "if (T.isPresent(address)) { unset_tbe(); }"
    " else if (cache.cacheAvail(address)) { unset_tbe(); }": (
        "if (TBETable_isPresent(x, c.T, t.address)) {\n    t.tbe = nullptr;\n} else {\n"
        "    x.site = N; if (CacheMemory_cacheAvail(x, c.cache, t.address)) {\n"
        "        t.tbe = nullptr;\n    }\n}"
    ),
    "peek(rx_in, Note) { tbe.n := in_msg.count; }": (
        "x.site = N; { const Note& in_msg = peek<Note>(x, c.rx);\n"
        "    valid(x, t.tbe, N).n = in_msg.count;\n}"
    ),
    "enqueue(tx_out, Note, lat) { out_msg.addr := address; out_msg.Destination.add(machineID); }": (
        "{ Note& out_msg = new_message<Note>(x); out_msg.touched = 1;\n"
        "    out_msg.addr = t.address;\n"
        "    x.site = N; NetDest_add(x, out_msg.Destination, c.machineID);\n"
        "    x.site = N; NetworkPort_enqueue(x, c.tx, out_msg, c.lat);\n}"
    ),
    "enqueue(inner_out, Note, 0) { out_msg.Destination := tbe.Sharers; }": (
        "{ Note& out_msg = new_message<Note>(x);\n"
        "    out_msg.touched = 1;\n"
        "    out_msg.Destination = valid(x, t.tbe, N).Sharers;\n"
        "    x.site = N; MessageBuffer_enqueue(x, c.inner, out_msg, 0);\n}"
    ),
    "Pair p; Pair q; p.a := 1; q := p; assert(p == q);": (
        "Pair p = default_of<Pair>(x);\nPair q = default_of<Pair>(x);\np.a = 1;\nq = p;\n"
        "if (!equal(x, p, q)) {\n    fail(x, ErrorKind::ASSERTION, N); return;\n}"
    ),
    "sequencer.readCallback(address, cache_entry.DataBlk, false);": (
        "x.site = N; Sequencer_readCallback(x, c.sequencer, t.address, "
        "valid(x, t.cache_entry, N).DataBlk, false);"
    ),
}


def numberless(text: str) -> str:
    """With N for every number of a place."""
    text = re.sub(r"x\.site = \d+", "x.site = N", text)
    return re.sub(r"(valid\(x, [\w.]+|ErrorKind::\w+), \d+\)", r"\1, N)", text)


@pytest.mark.parametrize("body", CASES)
def test_one_statement(body: str) -> None:
    assert numberless(function(made(body, types=STRUCT), "a_act")) == CASES[body]


def test_all_of_them_compile(tmp_path: Path) -> None:
    for number, bodies in enumerate([list(CASES)[::2], list(CASES)[1::2]]):
        text = "\n".join(f"if (address == {each}) {{ {body} }}" for each, body in enumerate(bodies))
        assert_compiles(made(text, types=STRUCT), tmp_path / str(number))


FUNCTIONS = """
  bool recovered() { return true; }
  bool refused() { return false; }
  int counted(Note m, int n) { if (n > 0) { return n + m.count; } return 0; }
  DataBlock copied(DataBlock d) { DataBlock mine := d; return mine; }
  void changed(TBE t, int n) { t.n := n; }
  int twice(int n) { changed(T[intToAddress(0)], n); return n + n; }
  Addr intToAddress(int value);
  Cycles mandatoryQueueLatency(RubyRequestType type) { return intToCycles(3); }
  Cycles intToCycles(int value);
  State getNextState(Addr a) { return State:M; }
  void recordRequestType(RequestType kind, Addr a) {
    cache.recordRequestType(CacheRequestType:TagArrayRead, a); }
  bool checkResourceAvailable(RequestType kind, Addr a) {
    return cache.checkResourceAvailable(CacheResourceType:TagArray, a); }
"""
PARTS = {
    "functions": FUNCTIONS,
    "objects": "enumeration(RequestType) { Read; Write; Again; }\n"
    'DataBlock nothing; int bits, default="RubySystem::getBlockSizeBits()";',
    "pairs": ', rsc_stall_handler="recovered", prot_stall_handler="recovered"',
    "requests": "{Write, Read, Write}",
    "next": "*",
}


def test_what_machines_may_define_compiles(tmp_path: Path) -> None:
    body = "assert(counted_of(twice(2), twice(3)) == 4); nothing := copied(nothing);"
    functions = FUNCTIONS + "int counted_of(int a, int b) { return a * b; }"
    files = made(body, **{**PARTS, "functions": functions})
    text = files.files["L1Cache.hpp"]
    assert "next = getNextState(x, c, address);" in text
    assert "if (recovered(x, c)) return true;" in text
    assert (
        "Requests Write_and_Read_and_Write = {2, 3, {RequestType::Read, RequestType::Write}" in text
    )
    assert "return static_cast<u64>(mandatoryQueueLatency(x, c, kind));" in text
    assert_compiles(files, tmp_path)


def test_arguments_are_evaluated_in_the_authors_order() -> None:
    functions = "int twice(int n) { T.deallocate(zero()); return n; } Addr zero() { return a0(0); }"
    functions += "Addr a0(int n) { return intToAddress(n); } Addr intToAddress(int value);"
    functions += "int both(int a, int b) { return a - b; }"
    text = function(made("assert(both(twice(2), twice(3)) == 4);", functions=functions), "a_act")
    first, second = "auto&& value_1 = twice(x, c, 2);", "auto&& value_2 = twice(x, c, 3);"
    assert text.index(first) < text.index(second)
    assert "return both(x, c, value_1, value_2);" in text


def test_functional_accesses_are_left_out() -> None:
    text = made().files["L1Cache.hpp"]
    assert "functionalRead" not in text
    assert "getAccessPermission" not in text


def test_peeks_may_block_and_wake(tmp_path: Path) -> None:
    port = """
    } }
    if (rx_in.isReady(clockEdge())) { peek(rx_in, Note, block_on="addr", wake_up="addr") {
      check_on_cache_probe(rx_in, addr_of);
    """.replace("check_on_cache_probe(rx_in, addr_of);", "")
    text = made(port=port).files["L1Cache.hpp"]
    assert "if (MessageBuffer_hasStalledMsg(x, c.rx, in_msg.addr)) controller_wakeUpBuffers" in text
    assert "if (controller_is_blocked(x, c, in_msg.addr, c.rx)) {" in text
    assert "return POLL_UNCOUNTED;" in text
    assert_compiles(made(port=port), tmp_path)
