"""Statements as the author writes them, and the Python that they become."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from slicc import ir
from slicc.codegen.python.errors import NotInRuntime
from slicc.codegen.python.package import Package, package
from slicc.codegen.python.writer import write_package
from slicc.compiler import compile_text
from slicc.diagnostics.model import DiagnosticSink
from tests.slicc.codegen.tools import assert_fits, assert_linted, assert_typed

FRAME = """
structure(Note, interface="Message") {{
  Addr addr; int count; bool last; NetDest Destination; MessageSizeType MessageSize;
  DataBlock DataBlk; MachineID from;
  bool functionalRead(Packet *pkt) {{ return false; }}
  bool functionalWrite(Packet *pkt) {{ return false; }}
}}
machine(MachineType:L1Cache, "{title}")
  : Cycles lat := 3; {parameters}
    MessageBuffer * rx, network="From", virtual_network="0", vnet_type="request";
    MessageBuffer * tx, network="To", virtual_network="1", vnet_type="response";
{{
  state_declaration(State, default="L1Cache_State_I") {{ I, AccessPermission:Invalid; }}
  enumeration(Event) {{ Go; Stop; Final; mro; }}
  structure(TBE) {{ State st; int n; DataBlock DataBlk; NetDest Sharers; }}
  structure(TBETable, external="yes") {{
    TBE lookup(Addr); void allocate(Addr); void deallocate(Addr); bool isPresent(Addr); }}
  TBETable T, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";
  Tick clockEdge(); Cycles curCycle(); void set_tbe(TBE t); void unset_tbe();
  State getState(TBE tbe, Addr a) {{ return State:I; }}
  void setState(TBE tbe, Addr a, State s) {{ }}
  AccessPermission getAccessPermission(Addr a) {{ return AccessPermission:Invalid; }}
  void setAccessPermission(Addr a, State s) {{ }}
  void functionalRead(Addr a, Packet *pkt) {{ }}
  int functionalWrite(Addr a, Packet *pkt) {{ return 0; }}
  {functions}
  out_port(tx_out, Note, tx);
  in_port(rx_in, Note, rx) {{
    if (rx_in.isReady(clockEdge())) {{ peek(rx_in, Note) {{
      {port}
      trigger(Event:Go, in_msg.addr, T[in_msg.addr]);
    }} }}
  }}
  action({action}, "a", desc="{desc}") {{ {body} }}
  transition(I, Go) {{ {action}; }}
}}
"""


def compiled(
    body: str = "",
    *,
    functions: str = "",
    port: str = "",
    parameters: str = "",
    action: str = "a_act",
    desc: str = "Act",
    title: str = "Frame",
) -> ir.Protocol:
    text = FRAME.format(
        body=body,
        functions=functions,
        port=port,
        parameters=parameters,
        action=action,
        desc=desc,
        title=title,
    )
    sink = DiagnosticSink()
    protocol = compile_text(text, sink, "Frame")
    assert protocol is not None, sink.diagnostics
    return protocol


def method(made: Package, name: str) -> str:
    """The lines of one method without its header and docstring."""
    found = re.search(
        rf"^    def {name}\(.*?\) -> \w+:\n(.*?)(?=^\S|^    \S|\Z)",
        made.files["l1cache.py"],
        re.DOTALL | re.MULTILINE,
    )
    assert found is not None, f"no method {name}"
    lines = [line.removeprefix("        ") for line in found[1].rstrip().split("\n")]
    return "\n".join(line for line in lines if not line.startswith('"""'))


def act(body: str, **parts: str) -> str:
    return method(package(compiled(body, **parts)), "a_act")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", ""),
        ("check_allocate(T);", ""),
        ("rx_in.dequeue(clockEdge());", "self.rx_in.dequeue()"),
        (
            "rx_in.recycle(clockEdge(), cyclesToTicks(recycle_latency));",
            "self.rx_in.recycle(self.recycle_latency)",
        ),
        ("stall_and_wait(rx_in, address);", "self.stall_and_wait(self.rx_in, t.address)"),
        ("set_tbe(T[address]);", "t.tbe = self.T.lookup(t.address)"),
        ("unset_tbe();", "t.tbe = None"),
        ("tbe.n := tbe.n + 1;", "t.tbe.n = int32(t.tbe.n + 1)"),
        ("tbe.n := 1 + 2 * 3;", "t.tbe.n = 1 + 2 * 3"),
        ('error("no");', 'self.panic("no")'),
        ("assert(false);", 'self.assertion_failed("false")'),
        ("assert(tbe.n  >\n 3);", 'if not (t.tbe.n > 3):\n    self.assertion_failed("tbe.n > 3")'),
        ("if (is_valid(tbe)) { unset_tbe(); }", "if t.tbe is not None:\n    t.tbe = None"),
        (
            "if (is_invalid(tbe) == false) { unset_tbe(); }",
            "if t.tbe is not None:\n    t.tbe = None",
        ),
        (
            "if (tbe.n == 1) { } else if (tbe.n == 2) { unset_tbe(); } else { unset_tbe(); }",
            "if t.tbe.n == 1:\n    pass\nelif t.tbe.n == 2:\n    t.tbe = None\n"
            "else:\n    t.tbe = None",
        ),
        ("peek(rx_in, Note) { rx_in.dequeue(clockEdge()); }",
         "self.rx_in.peek(Note)\nself.rx_in.dequeue()"),
        ("peek(rx_in, Note) { tbe.n := in_msg.count; }",
         "in_msg = self.rx_in.peek(Note)\nt.tbe.n = in_msg.count"),
        ("peek(rx_in, Note) { tbe.DataBlk := in_msg.DataBlk; }",
         "in_msg = self.rx_in.peek(Note)\nt.tbe.DataBlk.assign(in_msg.DataBlk)"),
        ("peek(rx_in, Note) { DataBlock mine := in_msg.DataBlk; tbe.DataBlk := mine; }",
         "in_msg = self.rx_in.peek(Note)\nmine = in_msg.DataBlk.copy()\n"
         "t.tbe.DataBlk.assign(mine)"),
        ('DPRINTF(RubySlicc, "%s 9%% %p", tbe.st, address);',
         'if self.debug:\n    self.dprintf("RubySlicc", "%s 9%% %#x", '
         "State.name_of(t.tbe.st), t.address)"),
        ('DPRINTF(RubySlicc, "%d %s\\n", tbe);',
         'if self.debug:\n    self.dprintf("RubySlicc", "%s %%s\\n", t.tbe)'),
    ],
)  # fmt: skip
def test_one_statement(body: str, expected: str) -> None:
    assert act(body) == expected


def test_a_message_gets_objects_of_its_own() -> None:
    body = """enqueue(tx_out, Note, lat + 1) {
        out_msg.addr := address; out_msg.from := machineID;
        out_msg.Destination.add(machineID); out_msg.DataBlk := tbe.DataBlk; }"""
    assert act(body).split("\n") == [
        "out_msg = Note()",
        "out_msg.Destination = NetDest()",
        "out_msg.addr = t.address",
        "out_msg.from_ = self.machineID",
        "out_msg.Destination.add(self.machineID)",
        "out_msg.DataBlk = t.tbe.DataBlk.copy()",
        "self.tx_out.enqueue(out_msg, int64(self.lat + 1))",
    ]


def test_a_result_by_value_is_a_copy_and_by_reference_is_not() -> None:
    functions = """
      DataBlock value(Addr a) { return T[a].DataBlk; }
      DataBlock place(Addr a), return_by_ref="yes" { return T[a].DataBlk; }
    """
    made = package(compiled("place(address) := value(address);", functions=functions))
    assert method(made, "value") == "return self.T.lookup(a).DataBlk.copy()"
    assert method(made, "place") == "return self.T.lookup(a).DataBlk"
    assert method(made, "a_act") == "self.place(t.address).assign(self.value(t.address))"


def test_a_trigger_that_stalls_goes_on_with_the_next_statement() -> None:
    port = "if (in_msg.last) { trigger(Event:Stop, in_msg.addr, T[in_msg.addr]); }"
    assert method(package(compiled(port=port)), "rx_in_poll").split("\n") == [
        "if self.rx_in.isReady():",
        "    in_msg = self.rx_in.peek(Note)",
        "    if in_msg.last:",
        "        if self.trigger(Event.Stop, in_msg.addr, tbe=self.T.lookup(in_msg.addr)):",
        "            return True",
        "    if self.trigger(Event.Go, in_msg.addr, tbe=self.T.lookup(in_msg.addr)):",
        "        return True",
        "return False",
    ]


def test_a_locked_victim_delays_the_head() -> None:
    made = package(
        compiled(port="Addr victim := in_msg.addr; check_on_cache_probe(rx_in, victim);")
    )
    assert (
        "    if self.is_locked_by(victim, self.rx_in):\n"
        "        self.rx_in.delay_head(1)\n"
        "        return UNCOUNTED\n"
    ) in method(made, "rx_in_poll")


ODD = """
    int self := 1; int t := self; int class := t; int None := class; int State_ := None;
    int int_ := State_; int lambda := int_; int unread := 3; int Note_ := lambda;
    int Enumeration := Note_; int __slots__ := Enumeration; tbe.n := __slots__;"""


@pytest.mark.slow
def test_odd_names_stay_apart(tmp_path: Path) -> None:
    protocol = compiled(
        ODD,
        functions="int del(int import, int _private) { return import + _private; }",
        parameters="int engine := 1; bool True_ := true; int parameters := 4; int trigger_ := 5;",
        action="wakeup",
    )
    written = write_package(protocol, tmp_path)
    assert_fits(written)
    assert_linted(written)
    assert_typed(written)
    made = package(protocol)
    assert method(made, "wakeup_").split("\n") == [
        "self_ = 1",
        "t_ = self_",
        "class_ = t_",
        "None_ = class_",
        "State_ = None_",
        "int_ = State_",
        "lambda_ = int_",
        "_unread = 3",
        "Note_ = lambda_",
        "Enumeration_ = Note_",
        "slots____ = Enumeration_",
        "t.tbe.n = slots____",
    ]
    text = made.files["l1cache.py"]
    assert "    Final_: Final = 2\n" in text
    assert "    mro_: Final = 3\n" in text
    assert "def del_(self, import_: int, private_: int) -> int:" in text
    assert 'self.engine_: int = context.parameter("engine", int)' in text
    assert 'self.parameters_: int = context.parameter("parameters", int)' in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["State", "Transition", "TBE", "Note", "int"])
def test_methods_do_not_hide_what_their_class_reads(tmp_path: Path, name: str) -> None:
    protocol = compiled("tbe.n := 1;", action=name)
    assert_typed(write_package(protocol, tmp_path))
    assert method(package(protocol), f"{name}_") == "t.tbe.n = 1"


def test_a_function_that_ends_without_a_value_gives_the_default() -> None:
    protocol = compiled(functions="bool maybe(int n) { if (n > 3) { return true; } return false; }")
    machine = protocol.machines[0]
    functions = tuple(
        replace(each, body=each.body[:1]) if each.ref.name == "maybe" else each
        for each in machine.functions
    )
    made = package(replace(protocol, machines=(replace(machine, functions=functions),)))
    assert method(made, "maybe") == "if n > 3:\n    return True\nreturn False"


@pytest.mark.parametrize(
    "evil", ['"""', "\\", '\\"""', '"""\n__import__("os")\n"""', "a\x1f1\r\n# b\x00"]
)
def test_a_hostile_description_is_only_text(tmp_path: Path, evil: str) -> None:
    protocol = compiled()
    machine = protocol.machines[0]
    machine = replace(
        machine,
        title=evil,
        actions=tuple(replace(each, desc=evil) for each in machine.actions),
        in_ports=tuple(replace(each, desc=evil) for each in machine.in_ports),
        parameters=tuple(replace(each, desc=evil) for each in machine.parameters),
        states=replace(
            machine.states,
            desc=evil,
            members=tuple(replace(each, desc=evil) for each in machine.states.members),
        ),
        structs=tuple(replace(each, desc=evil) for each in machine.structs),
    )
    written = write_package(replace(protocol, machines=(machine,)), tmp_path)
    assert_fits(written)
    tree = ast.parse((written / "l1cache.py").read_text(encoding="utf-8"))
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    assert classes == ["State", "Event", "TBE", "L1CacheController"]
    assert not [node for node in tree.body if isinstance(node, ast.Expr)][1:]


def test_what_the_runtime_lacks_is_said_before_anything_is_written(tmp_path: Path) -> None:
    protocol = compiled("int k := mod(5, 3);")
    machine = protocol.machines[0]
    (action,) = machine.actions
    (declare,) = action.body
    assert isinstance(declare, ir.Declare) and isinstance(declare.initial, ir.CallBuiltin)
    lacking = replace(declare, initial=replace(declare.initial, name="modulo"))
    action = replace(action, body=(lacking,))
    protocol = replace(protocol, machines=(replace(machine, actions=(action,)),))
    with pytest.raises(NotInRuntime, match=r"`modulo`, which machine L1Cache \(Frame\.sm"):
        write_package(protocol, tmp_path)
    assert not list(tmp_path.iterdir())
