"""A mutant's edit of the text means its IR; names are stable; every operator finds a place."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path

import pytest

from protocols import shipped
from slicc import ir
from slicc.compiled import CompiledProtocol
from slicc.compiler import compile, compile_source
from slicc.ir.verifier import verify
from slicc.mutation.mutant import Mutant, Operator
from slicc.mutation.mutants import mutants

SMALL = """
machine(MachineType:L1Cache, "cache")
  : MessageBuffer * answers, network="To", virtual_network="0", vnet_type="response";
    MessageBuffer * requests, network="From", virtual_network="1", vnet_type="request";
{
  state_declaration(State) { I, AccessPermission:Invalid; S, AccessPermission:Read_Only; }
  enumeration(Event) { Get; Put; }
  enumeration(Kind) { Data; Ack; Nack; }
  structure(Answer, interface="Message") {
    Addr addr; Kind Type; MachineID Requestor; NetDest Destination; bool Dirty;
    MessageSizeType MessageSize;
  }
  structure(TBE) { State TBEState; NetDest Sharers; int pendingAcks; bool Dirty; WriteMask mask; }
  structure(TBETable, external="yes") {
    TBE lookup(Addr); void allocate(Addr); void deallocate(Addr); bool isPresent(Addr);
  }
  TBETable TBEs, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";
  Tick clockEdge();
  MachineID mapAddressToMachine(Addr a, MachineType t);
  void wakeUpAllBuffers(Addr a);
  State getState(TBE tbe, Addr addr) {
    if (is_valid(tbe)) { return tbe.TBEState; }
    return State:I;
  }
  void setState(TBE tbe, Addr addr, State state) {
    if (is_valid(tbe)) { tbe.TBEState := state; }
  }
  void functionalRead(Addr addr, Packet *pkt) { }
  int functionalWrite(Addr addr, Packet *pkt) { return 0; }
  AccessPermission getAccessPermission(Addr addr) { return AccessPermission:NotPresent; }
  void setAccessPermission(Addr addr, State state) { }
  out_port(answers_out, Answer, answers);
  in_port(requests_in, Answer, requests) {
    if (requests_in.isReady(clockEdge())) {
      peek(requests_in, Answer) {
        TBE tbe := TBEs[in_msg.addr];
        if (in_msg.Dirty && tbe.pendingAcks == 1) {
          trigger(Event:Put, in_msg.addr, tbe);
        } else {
          trigger(Event:Get, in_msg.addr, tbe);
        }
      }
    }
  }
  action(a_answer, "a") {
    peek(requests_in, Answer) {
      enqueue(answers_out, Answer, 1) {
        out_msg.addr := address;
        out_msg.Type := Kind:Ack;
        out_msg.Requestor := machineID;
        out_msg.Destination.add(in_msg.Requestor);
        out_msg.Dirty := tbe.Dirty;
        out_msg.MessageSize := MessageSizeType:Control;
      }
    }
  }
  action(s_share, "s") {
    peek(requests_in, Answer) { tbe.Sharers.add(in_msg.Requestor); }
    tbe.pendingAcks := tbe.Sharers.count();
    tbe.mask.clear();
  }
  action(p_pop, "p") { requests_in.dequeue(clockEdge()); }
  action(w_wake, "w") { wakeUpAllBuffers(address); }
  action(z_wait, "z") { stall_and_wait(requests_in, address); }
  transition({I, S}, Get, S) { s_share; a_answer;  // both
    p_pop; }
  transition(S, Put) { w_wake; z_wait; }
}
"""


@cache
def small() -> CompiledProtocol:
    return compile_source(SMALL)


@cache
def of(name: str) -> tuple[CompiledProtocol, tuple[Mutant, ...]]:
    compiled = compile(shipped()[name])
    return compiled, tuple(mutants(compiled.protocol))


def compiled_edit(mutant: Mutant, original: Path, directory: Path) -> ir.Protocol:
    """What the compiler makes of the edited text."""
    shutil.copytree(original.parent, directory, ignore=shutil.ignore_patterns("*.py*"))
    file = directory / Path(mutant.edit.span.file.name).name
    file.write_text(mutant.edit.applied(), encoding="utf-8")
    compiled = compile(directory / original.name).protocol
    assert compiled.name == mutant.ir.name
    return compiled


@pytest.mark.parametrize("operator", Operator)
def test_edits_of_one_text_mean_what_the_ir_says(operator: Operator) -> None:
    found = [each for each in mutants(small().protocol) if each.operator is operator]
    assert found, f"the text has a place for {operator}"
    for mutant in found:
        edited = compile_source(mutant.edit.applied()).protocol
        assert edited.machines == mutant.ir.machines, mutant.diff()
        assert edited.machines != small().protocol.machines, mutant.diff()
        assert not list(verify(mutant.ir))


def check_sample(name: str, sample: int, directory: Path) -> None:
    compiled, found = of(name)
    chosen = random.Random(7).sample(found, min(sample, len(found)))
    for number, mutant in enumerate(chosen):
        edited = compiled_edit(mutant, compiled.path, directory / str(number))
        assert edited.machines == mutant.ir.machines, mutant.diff()


def test_edits_of_a_shipped_protocol(tmp_path: Path) -> None:
    check_sample("MSI", 4, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", shipped())
def test_edits_of_shipped_protocols(name: str, tmp_path: Path) -> None:
    check_sample(name, 60, tmp_path)


@pytest.mark.parametrize("name", ["MSI", "MESI_Two_Level", "GPU_VIPER"])
def test_names_are_unique_and_spans_are_inside_the_protocol(name: str) -> None:
    compiled, found = of(name)
    assert len({each.name for each in found}) == len(found)
    machines = {machine.name for machine in compiled.protocol.machines}
    for mutant in found:
        assert mutant.machine in machines and mutant.name.startswith(mutant.machine)
        assert mutant.span.file.text[mutant.edit.span.start : mutant.edit.span.end] != (
            mutant.edit.replacement
        )


def test_the_same_text_has_the_same_mutants() -> None:
    compiled, found = of("MSI")
    again = mutants(compile(compiled.path).protocol)
    assert [(each.name, each.description) for each in again] == [
        (each.name, each.description) for each in found
    ]


def test_a_diff_is_one_that_patch_reads() -> None:
    _, found = of("MSI")
    mutant = next(each for each in found if each.operator is Operator.ACTION_DROPPED)
    lines = mutant.diff().splitlines()
    assert lines[0].startswith("--- ") and lines[1].startswith("+++ ")
    assert [line[0] for line in lines[3:]].count("-") == 1


def test_functions_that_no_run_reaches_have_no_mutants() -> None:
    _, found = of("MSI")
    assert not any("functionalRead" in each.changed for each in found)
    assert any(each.changed == "getState" for each in found)
