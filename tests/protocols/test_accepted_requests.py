"""Agents send what in-ports accept, whatever the events are called."""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from protocols import DIRECTORY
from protocols.accepted_requests import Accepted, accepted_requests, fitted
from protocols.loader import LoadedProtocol, load_protocol
from runtime.description import load_description
from runtime.description.inference import complete
from slicc.cli.options import NewOptions
from slicc.cli.verbs.new import new
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.selection import PYTHON, Chosen
from tests.planted.run import fast_engine

LINKED = frozenset({"line", "linked"})
SHIPPED = {
    ("MI", "cpu"): Accepted(
        fetches=True, atomics=False, scopes=False, evictions=False, ways=LINKED
    ),
    ("MSI", "cpu"): Accepted(atomics=False, scopes=False, evictions=False, ways=LINKED),
    ("GPU_VIPER", "gpu"): Accepted(fetches=True, flushes=True),
    ("GPU_VIPER", "instructions"): Accepted(stores=False, atomics=False, scopes=False),
    ("GPU_VIPER_APU", "second"): Accepted(
        fetches=True, atomics=False, scopes=False, evictions=False, ways=LINKED
    ),
}


@pytest.mark.parametrize(("name", "group"), SHIPPED)
def test_ports_of_shipped_protocols(name: str, group: str) -> None:
    assert load_protocol(name).accepted[group] == SHIPPED[name, group]


def viper(directory: Path, file: str, old: str, changed: str) -> LoadedProtocol:
    """GPU_VIPER with another text, and with its description as if it were a known one."""
    for path in (*DIRECTORY.glob("*.sm"), DIRECTORY / "GPU_VIPER.slicc"):
        text = path.read_text()
        if path.name == file:
            assert text.count(old) == 1
            text = text.replace(old, changed)
        (directory / path.name).write_text(text)
    protocol = load_protocol(str(directory / "GPU_VIPER.slicc"), native=True)
    written = load_description(DIRECTORY / "GPU_VIPER.toml")
    whole = complete(written, protocol.info)
    accepted = accepted_requests(protocol.info, whole)
    written, note = fitted(written, whole, accepted)
    description = complete(written, protocol.info)
    return replace(protocol, written=written, description=description, note=note, accepted=accepted)


def passes(protocol: LoadedProtocol, engine: Chosen = PYTHON, episodes: int = 100) -> Campaign:
    campaign = Campaign(protocol, Options(1, episodes), engine)
    for plan in campaign.plans():
        _, finding = campaign.run_leg(plan.leg)
        assert finding is None, finding
    return campaign


def test_a_cache_that_calls_evictions_fetches_is_left_alone(tmp_path: Path) -> None:
    """As the instruction cache of gem5's GPU_VIPER before 2023."""
    protocol = viper(
        tmp_path,
        "GPU_VIPER-SQC.sm",
        "trigger(Event:Evict, in_msg.LineAddress",
        "trigger(Event:Fetch, in_msg.LineAddress",
    )
    assert not protocol.accepted["instructions"].evictions
    assert "nothing drives SQC: no acquire can empty it" in protocol.note
    assert protocol.description.requesters["gpu"].invalidates is None
    assert "instructions" not in protocol.description.agents
    assert "scalars" not in protocol.description.agents, "the same machine, of which there is none"
    assert passes(protocol).coverage.machines["TCP"].hit > 10


@pytest.mark.slow
def test_a_cache_without_atomics_gets_none(tmp_path: Path) -> None:
    protocol = viper(
        tmp_path,
        "GPU_VIPER-TCP.sm",
        "          trigger(Event:Atomic, in_msg.LineAddress, cache_entry, tbe);",
        '          error("no atomics");',
    )
    assert not protocol.accepted["gpu"].atomics
    assert "TCP accepts no atomics" in protocol.note
    assert protocol.description.agents["gpu"].without == ("atomics",)
    coverage = passes(protocol).coverage.machines["TCP"]
    atomic = coverage.events.index("Atomic")
    assert not sum(count for (_, event), count in coverage.counts.items() if event == atomic)
    assert coverage.hit > 10


def test_a_coalescer_whose_machine_looks_at_no_scope_gets_none() -> None:
    protocol = load_protocol("GPU_VIPER")
    known = replace(protocol.accepted["gpu"], scopes=False)
    changed, note = fitted(protocol.written, protocol.description, {"gpu": known})
    assert changed.agents["gpu"].without == ("scopes",)
    assert note == "TCP accepts no scopes"


def starter(directory: Path, file: str, *edits: tuple[str, str]) -> LoadedProtocol:
    """The protocol that `slicc new` writes, with changes."""
    with redirect_stdout(StringIO()):
        new(NewOptions(name="Mine", output=directory))
    path = directory / file
    text = path.read_text()
    for old, changed in edits:
        assert text.count(old) == 1
        text = text.replace(old, changed)
    path.write_text(text)
    return load_protocol(str(directory / "Mine.slicc"), native=True)


ACCESS = "          trigger(Event:Access, in_msg.LineAddress, entry);\n"


def test_what_ends_in_an_error_is_not_accepted(tmp_path: Path) -> None:
    check = "          assert(in_msg.Type != RubyRequestType:ST);\n"
    protocol = starter(tmp_path, "Mine-cache.sm", (ACCESS, check + ACCESS))
    assert protocol.accepted["cpu"] == Accepted(
        stores=False, atomics=False, scopes=False, evictions=False
    )
    assert protocol.description.agents["cpu"].without == ("stores",)
    assert protocol.note == "L1Cache accepts no stores"


def test_a_port_that_calls_what_has_no_body_says_nothing(tmp_path: Path) -> None:
    """The run tells the user which function is missing; the agents stay."""
    protocol = starter(
        tmp_path,
        "Mine-cache.sm",
        ("  Tick clockEdge();", "  Tick clockEdge();\n  bool labelled(Addr a);"),
        (ACCESS, "          assert(labelled(in_msg.LineAddress));\n" + ACCESS),
    )
    assert not protocol.accepted
    assert not protocol.note
    campaign = Campaign(protocol, Options(1, 30))
    _, finding = campaign.run_leg(campaign.plan(0).leg)
    assert finding is not None
    assert "is external" in finding.headline


def test_a_row_that_is_missing_is_for_the_run_to_find(tmp_path: Path) -> None:
    """A store without any transition is a fault of the protocol, not a type that it refuses."""
    late = ACCESS.replace("Access", "Late").strip()
    store = f"          if (in_msg.Type == RubyRequestType:ST) {{ {late} }}\n"
    protocol = starter(
        tmp_path,
        "Mine-cache.sm",
        ("    Access, ", '    Late, desc="A store";\n    Access, '),
        (ACCESS, store + ACCESS),
    )
    assert protocol.accepted["cpu"].stores
    campaign = Campaign(protocol, Options(1, 30))
    _, finding = campaign.run_leg(campaign.plan(0).leg)
    assert finding is not None
    assert "on Late" in finding.headline


def test_a_cache_of_instructions_is_sent_fetches(tmp_path: Path) -> None:
    check = "          assert(in_msg.Type == RubyRequestType:IFETCH);\n"
    protocol = starter(tmp_path, "Mine-cache.sm", (ACCESS, check + ACCESS))
    assert protocol.description.requesters["cpu"].fetch


def test_directories_that_keep_data_begin_with_that_of_memory(tmp_path: Path) -> None:
    """Memory is read for its answer only, and what is sent are the directory's own bytes."""
    protocol = starter(
        tmp_path,
        "Mine-dir.sm",
        ("    NetDest Borrower, ", '    DataBlock Kept, desc="Bytes";\n    NetDest Borrower, '),
        (
            "Borrower;\n        out_msg.DataBlk := in_msg.DataBlk;",
            "Borrower;\n        out_msg.DataBlk := getEntry(address).Kept;",
        ),
        (
            "      enqueue(memory_out, MemoryMsg, 1) {\n        out_msg.addr := address;\n"
            "        out_msg.Type := MemoryRequestType:MEMORY_WB;",
            "      getEntry(address).Kept := in_msg.DataBlk;\n"
            "      enqueue(memory_out, MemoryMsg, 1) {\n        out_msg.addr := address;\n"
            "        out_msg.Type := MemoryRequestType:MEMORY_WB;",
        ),
    )
    assert passes(protocol).totals == passes(protocol, fast_engine(protocol)).totals
