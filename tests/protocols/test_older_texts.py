"""What older texts leave to their surroundings: memory that repeats data, and one engine for DMA.

Until 2014 the entries of a directory held memory's bytes, and a memory controller took time only;
until 2019 an engine for DMA made one transfer at a time. MI is rewritten like that.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.accepted_requests import Accepted
from protocols.loader import LoadedProtocol, load_protocol
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.selection import PYTHON
from tester.execution.leg import LegRun
from tester.profiles.machine_roles import answers_one_engine
from tests.planted.run import fast_engine
from tests.sampling import sampled

ENTRY = "getDirectoryEntry(address).DataBlk"
TO_ENTRY = f"{ENTRY} := in_msg.DataBlk;\n      enqueue(memQueue_out"
PARTLY = f"{ENTRY}.copyPartial(tbe.DataBlk, getOffset(tbe.PhysicalAddress), tbe.Len);"
DIRECTORY_EDITS = (
    ("    MessageBuffer * requestToMemory;\n", "    MemoryControl * memBuffer;\n"),
    ("    MessageBuffer * responseFromMemory;\n", ""),
    ("MemoryMsg, requestToMemory", "MemoryMsg, memBuffer"),
    ("MemoryMsg, responseFromMemory", "MemoryMsg, memBuffer"),
    ('interface="AbstractCacheEntry", main="false") {', r"\g<0>" + "\n    DataBlock DataBlk;"),
    ("MemoryRequestType:MEMORY_READ;\n", r"\g<0>" + f"      out_msg.DataBlk := {ENTRY};\n"),
    (
        "out_msg.addr := address;\n      out_msg.Type := MemoryRequestType",
        "out_msg.Address := address;\n out_msg.Waited := 1;\n out_msg.Type := MemoryRequestType",
    ),
    (
        "out_msg.addr := address;\n        out_msg.Type := MemoryRequestType",
        "out_msg.Address := address;\n        out_msg.Type := MemoryRequestType",
    ),
    ("peek(requestNetwork_in, RequestMsg) {\n      enqueue(memQueue_out", None),
    ("peek(responseNetwork_in, ResponseMsg) {\n      enqueue(memQueue_out", None),
    (
        "tbe.Len);\n        out_msg.MessageSize",
        f"tbe.Len);\n        {PARTLY}\n        out_msg.MessageSize",
    ),
    ('bytes to memory") {\n', r"\g<0>    " + PARTLY + "\n"),
)


def rewritten(directory: Path, edits: dict[str, list[tuple[str, str]]]) -> LoadedProtocol:
    """MI with some of its files changed, without its description."""
    for path in (*DIRECTORY.glob("MI-*.sm"), DIRECTORY / "MI.slicc"):
        text = path.read_text(encoding="utf-8")
        for old, new in edits.get(path.name, ()):
            text, count = re.subn(re.escape(old), new, text)
            assert count, old
        (directory / path.name).write_text(text, encoding="utf-8")
    return load_protocol(str(directory / "MI.slicc"), native=True)


def folder(checkout: Path) -> Path:
    """Where a checkout has its protocols."""
    found = checkout / "src" / "mem" / "protocol"
    found.mkdir(parents=True, exist_ok=True)
    return found


LIBRARY = """
structure(MemoryMsg, interface="Message") { Address Address; int Waited; }
"""


def echoing(directory: Path) -> LoadedProtocol:
    """With the library of such a checkout: a field that ours has by today's name, and one that it
    lacks, for which the checkout is asked."""
    (directory / "RubySlicc_MemControl.sm").write_text(LIBRARY, encoding="utf-8")
    edits = [
        (old, new or old.replace("enqueue(memQueue_out", TO_ENTRY)) for old, new in DIRECTORY_EDITS
    ]
    return rewritten(directory, {"MI-dir.sm": edits})


def failures(protocol: LoadedProtocol, engine: object, legs: int) -> list[object]:
    campaign = Campaign(protocol, Options(1, 10_000), engine)  # type: ignore[arg-type]
    return [campaign.run_leg(campaign.plan(number).leg)[1] for number in range(legs)]


def test_memory_repeats_what_the_directory_sends(tmp_path: Path) -> None:
    protocol = echoing(folder(tmp_path))
    assert failures(protocol, fast_engine(protocol), 5) == [None] * 5
    campaign = Campaign(protocol, Options(1, 100, fixed={"units": 2}), PYTHON)
    run, finding = campaign.run_leg(campaign.plan(3).leg)
    assert finding is None
    assert isinstance(run, LegRun)
    assert run.system.memory_echoes
    assert not run.system.memory.lines, "memory itself is not written"


def test_a_directory_that_forgets_a_write_is_found(tmp_path: Path) -> None:
    """The bytes are in the entry alone: what is not written there is lost."""
    path = echoing(folder(tmp_path)) and folder(tmp_path) / "MI-dir.sm"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"{ENTRY} := in_msg.DataBlk;", ""), encoding="utf-8")
    protocol = load_protocol(str(path.with_name("MI.slicc")), native=True)
    assert failures(protocol, PYTHON, 2) != [None, None]


ONE_STATE = [
    ("  Tick clockEdge();", "  State cur_state;\n  Tick clockEdge();"),
    (
        "if (is_valid(tbe)) {\n      return tbe.TBEState;\n    }\n    return State:READY;",
        "return cur_state;",
    ),
    ("if (is_valid(tbe)) {\n      tbe.TBEState := state;\n    }", "cur_state := state;"),
]


@pytest.mark.parametrize("serial", sampled([True, False], 2))
def test_an_engine_with_one_state_makes_one_transfer_at_a_time(
    tmp_path: Path, serial: bool
) -> None:
    protocol = rewritten(tmp_path, {"MI-dma.sm": ONE_STATE if serial else []})
    group = protocol.description.agents["dma"].requester
    assert protocol.accepted.get(group) == (Accepted(overlaps=False) if serial else None)
    assert protocol.description.requesters[group].outstanding == (1 if serial else 64)
    assert failures(protocol, PYTHON, 4) == [None] * 4


def test_answers_by_address_reach_the_first_engine_alone(tmp_path: Path) -> None:
    text = (DIRECTORY / "MI-dir.sm").read_text(encoding="utf-8")
    old = "Destination.add(tbe.Requestor)"
    assert old in text
    new = "Destination.add(map_Address_to_DMA(address))"
    protocol = rewritten(tmp_path, {"MI-dir.sm": [(old, new)]})
    assert answers_one_engine(protocol.info)
    assert not answers_one_engine(load_protocol("MI").info)
    campaign = Campaign(protocol, Options(1, 1000))
    legs = [campaign.plan(number).leg for number in range(12)]
    assert {leg.description.machines["DMA"].count for leg in legs} == {1}
    assert failures(protocol, PYTHON, 3) == [None] * 3


def with_notes(order: str) -> list[tuple[str, str]]:
    """Two notes of a cache to itself for each request, the second of which is due first."""
    queue = "    MessageBuffer * mandatoryQueue;\n"
    port = "  out_port(responseNetwork_out, ResponseMsg, responseFromCache);\n"
    send = "    enqueue(requestNetwork_out, RequestMsg, issue_latency) {\n"
    note = "    enqueue(notes_out, RequestMsg, %d) { out_msg.addr := address; }\n"
    read = """
  in_port(notes_in, RequestMsg, notes, rank=3) {
    if (notes_in.isReady(clockEdge())) {
      notes_in.dequeue(clockEdge());
    }
  }
"""
    return [
        (queue, f"    MessageBuffer * notes{order};\n{queue}"),
        (port, f"{port}  out_port(notes_out, RequestMsg, notes);\n{read}"),
        (send, note % 9 + note % 1 + send),
    ]


@pytest.mark.parametrize(
    ("order", "kind"), [(', ordered="true"', "protocol-error L1Cache"), ("", "")]
)
def test_a_queue_that_its_text_calls_ordered_must_be(tmp_path: Path, order: str, kind: str) -> None:
    protocol = rewritten(tmp_path, {"MI-cache.sm": with_notes(order)})
    for engine in (PYTHON, fast_engine(protocol)):
        campaign = Campaign(protocol, Options(1, 10_000), engine)
        found = campaign.failure_of(campaign.plan(0).leg)
        assert found.startswith(kind) and bool(found) is bool(kind)
