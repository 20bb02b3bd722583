"""What a description says, and what is refused: with file, line, field and value.

What only a system that is built refuses is here, too: its place is the description's.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from runtime.controller.declarations import Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import (
    DELAYS,
    DescriptionError,
    SystemDescription,
    load_description,
    parse_assignment,
)
from runtime.description.inference import complete
from runtime.sim.delay_policy import POLICY_NAMES
from tests.runtime.mini_protocol import GPU, DirectoryController, build


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("line_size = 48", 1, "line_size = 48: must be a power of two"),
        ("line_size = 512", 1, "between 16 and 256"),
        ("\nlinesize = 64", 2, "linesize = 64: no such field; did you mean `line_size`?"),
        ("[network]\nlatency = 0", 2, "network.latency = 0"),
        ("[network]\ndelays = 'gem6'", 2, "did you mean `gem5`"),
        ("[machine.L2Cache]\ncount = 1", 1, "machine.L2Cache: no such machine; did you mean"),
        ("[machine.L1Cache]\ncount = -1", 2, "count = -1: must be between 0 and 64"),
        ("[machine.L1Cache]\ncount = true", 2, "expected an integer"),
        ("[machine.L1Cache.cache.cache]\n\nways = 0", 3, "ways = 0"),
        ("[machine.L1Cache.cache.cache]\nsets = 3", 2, "sets = 3: must be a power of two"),
        ("[machine.L1Cache.cache.cache]\nways = 3", 2, "tree_plru needs a power of two"),
        (
            "[machine.L1Cache.cache.cache]\nsets = 1048576\nways = 2",
            2,
            "more than 1048576 lines",
        ),
        ("[machine.L1Cache.cache.cash]\nsets = 1", 1, "no such cache; did you mean `cache`?"),
        ("[machine.L1Cache.parameters]\nlatenzy = 1", 2, "did you mean `latency`?"),
        ("[machine.L1Cache.parameters]\nlatency = -1", 2, "must be between 0 and"),
        ("[machine.L1Cache.parameters]\nlatency = 'a'", 2, "expected an integer (Cycles)"),
        ("[machine.L1Cache.parameters]\nsend_evictions = 1", 2, "expected true or false"),
        ("[machine.L1Cache.parameters]\ncache = 1", 2, "is a CacheMemory, not a number"),
        ("[machine.L1Cache.parameters]\nnumber_of_TBEs = 0", 2, "between 1 and"),
        ("[machine.L1Cache.buffer]\nout = { capacity = -1 }", 2, "capacity = -1"),
        (
            "[machine.L1Cache.buffer]\n\n\nmandatoryQueue.capacity = 4",
            4,
            "must be 0 (unbounded), because requester cpu fills",
        ),
        ("[machine.L1Cache.buffer.into]\nlatency = 2", 2, "only buffers towards the network"),
        ("[machine.L1Cache.buffer.out]\njoined = 'DMA.into'", 2, "connected to the network"),
        ("[machine.L1Cache.buffer.out]\njoined = 'DMA'", 2, "expected Machine.name"),
        ("[machine.L1Cache.buffer.out]\njoined = 'DMB.x'", 2, "no such machine"),
        ("[machine.L1Cache.buffer.out]\njoined = 'DMA.x'", 2, "no such buffer"),
        ("[requester.a]\nmachine = 'Directory'", 1, "requester.a.parameter: required"),
        ("[requester.a]\nqueue = 'x'", 1, "requester.a.machine: required"),
        ("[requester.a]\nmachine = 'DMA'\nqueue = 'x'", 3, "no such buffer"),
        ("[requester.a]\nmachine = 'DMA'\nqueue = 'into'", 3, "connected to the network"),
        ("[requester.a]\nmachine = 'DMA'\nclass = 'Sequencer'", 3, "is a DMASequencer"),
        ("[requester.a]\nmachine = 'DMA'\nparameter = 'dma'", 3, "there is dma_sequencer"),
        ("[requester.a]\nmachine = 'L1Cache'\ncaches = ['x']", 3, "no such cache of L1Cache"),
        ("[requester.a]\nmachine = 'L1Cache'\ninvalidates = 'b'", 3, "no such requester"),
        ("[requester.a]\nmachine = 'L1Cache'\ninvalidates = 'a'", 3, "behind a Sequencer"),
        (
            "[requester.a]\nmachine = 'DMA'\n[requester.b]\nmachine = 'DMA'",
            3,
            "requester a is DMA.dma_sequencer already",
        ),
        ("[agents.a]\nrequester = 'cpu'\nlanes = 65", 3, "lanes = 65: must be between 1 and 64"),
        ("[agents.a]\nrequester = 'cpu'\nlanes = 0", 3, "lanes = 0"),
        ("[agents.a]\nlanes = 1", 1, "required: the requester"),
        ("[agents.a]\nrequester = 'cpv'", 2, "did you mean `cpu`?"),
        ("[agents.a]\nrequester = 'dma'\nkind = 'cpu'", 3, "its requester is a DMASequencer"),
        ("[agents.a]\nrequester = 'cpu'\nwithout = ['store']", 3, "did you mean `stores`?"),
        (
            "[agents.a]\nrequester='cpu'\nkind = 'gpu'\nwithout = ['loads']",
            4,
            "wavefronts cannot do without loads",
        ),
        ("[[defect]]\nwhere = 'there'", 1, "defect[0].what: required"),
        ("[[defect]]\nwhat = 'x'\n[defect.avoid]\n'a.b' = 1.5", 4, "expected an integer"),
        ("defect = 3", 1, "expected at most 256 tables [[defect]]"),
        (
            "[agents.a]\nrequester = 'cpu'\nlanes = 20\n[requester.cpu]\nmachine='L1Cache'\n"
            "outstanding = 10",
            6,
            "the 20 lanes of its agents need as many",
        ),
        ("[[handover]]\ngiver = 'cpu'\ntaker = 'gpu'", 3, "no such group of agents"),
        ("[[handover]]\ngiver = 'cpu'", 1, "handover[0].taker: required"),
        ("[[handover]]\ngiver='cpu'\ntaker='cpu'\ngiver_steps = ['fly']", 4, 'giver_steps[0] = "f'),
        ("handover = 3", 1, "expected at most 256 tables"),
        ("machine = 3", 1, "machine = 3: expected a table"),
        ("a = [1,\n", 2, "not TOML"),
        ("a = 1\na = 2", 2, "not TOML: Cannot overwrite a value"),
        (f"\nline_size = {'9' * 5000}", 2, "a number of too many digits"),
        ("line_size = 2020-01-01", 1, "line_size = 2020-01-01: expected an integer"),
    ],
)
def test_a_bad_description_names_file_line_field_and_value(
    text: str, line: int, words: str
) -> None:
    with pytest.raises(DescriptionError) as caught:
        build(text)
    error = caught.value
    assert (error.file, error.line) == ("mini.toml", line)
    assert words in str(error)
    assert str(error).startswith(f"mini.toml:{line}: ")


def test_a_parameter_without_default_must_be_given() -> None:
    class Picky(DirectoryController):
        PARAMETERS = (
            Parameter("width", "int"),
            Parameter("label", "std::string"),
            *DirectoryController.PARAMETERS,
        )

    protocol = ProtocolInfo("picky", (Picky,))
    with pytest.raises(DescriptionError) as caught:
        build("line_size = 64", protocol)
    assert "machine Directory has no default for `width` (int), `label` (std::string)" in str(
        caught.value
    )
    text = "[machine.Directory.parameters]\nwidth = 3\nlabel = 'x'"
    assert build(text, protocol).controllers[0].parameters["width"] == 3


def test_bank_counts_behind_a_logarithm_are_powers_of_two() -> None:
    with pytest.raises(DescriptionError, match=r"x.toml:2: .*count = 3: must be a power of two"):
        complete(SystemDescription.from_toml("[machine.Directory]\ncount = 3", "x.toml"), GPU)


def test_sizes_are_bounded_together() -> None:
    text = "[machine.L1Cache]\ncount = 64\n[machine.L1Cache.cache.cache]\nsets = 131072\nways = 8"
    with pytest.raises(DescriptionError, match="cached lines"):
        build(text)
    with pytest.raises(DescriptionError, match="agents in all"):
        build("machine.L1Cache.count = 64\n[agents.a]\nrequester = 'cpu'\nwavefronts = 65")
    with pytest.raises(DescriptionError, match="larger than"):
        SystemDescription.from_toml("#" * (1 << 21), "big.toml")
    with pytest.raises(DescriptionError, match="more than 64 tables"):
        SystemDescription.from_toml("".join(f"[machine.M{i}]\n" for i in range(65)))
    with pytest.raises(
        DescriptionError, match=r"nested too deeply|no such field"
    ):  # Python's limit
        SystemDescription.from_toml("a = " + "[" * 5000 + "]" * 5000)
    with pytest.raises(DescriptionError, match=r"expected an integer|nested too deeply"):
        SystemDescription.from_toml("line_size = " + "[" * 300 + "]" * 300)
    assert parse_assignment("a=" + "[" * 5000) == ("a", "[" * 5000)


def test_overrides_name_the_option_that_was_wrong() -> None:
    base = SystemDescription.from_toml("[machine.L1Cache]\ncount = 2", "x.toml")
    changed = base.override(dict([parse_assignment("machine.L1Cache.count=3")]))
    assert changed.machines["L1Cache"].count == 3
    changed = changed.override({"network.delays": "gem5", "machine.Directory.count": 2})
    assert (changed.network.delays, changed.machines["Directory"].count) == ("gem5", 2)
    for option, words in (
        ("machine.L1Cache.count=65", "--set machine.L1Cache.count=65: .*between 0 and 64"),
        ("machine.L1Cache.size=1", "no such field"),
        ("colour=1", "no such field; there is protocol, line_size, "),
        ("machine.L1Cache.count.x.y=1", "machine.L1Cache.count is not a table"),
        ("line_size.x=1", "line_size has no field x"),
    ):
        with pytest.raises(DescriptionError, match=words):
            base.override(dict([parse_assignment(option)]))
    assert parse_assignment("a.b = word") == ("a.b", "word")
    assert parse_assignment(f"a=0x{'f' * 5000}") == ("a", f"0x{'f' * 5000}")
    assert parse_assignment("a=[1, 'x']") == ("a", [1, "x"])
    with pytest.raises(DescriptionError, match="expected path=value"):
        parse_assignment("count")


def test_an_option_that_begins_a_table_is_named_for_what_the_table_lacks() -> None:
    text = '[requester.cpu]\nmachine = "Cache"\n[agents.cpu]\nrequester = "cpu"\n'
    with pytest.raises(DescriptionError, match=r"^--set agents\.cpus\.lanes=2: agents\.cpus\."):
        SystemDescription.from_toml(text).override({"agents.cpus.lanes": 2})


def test_handovers_keep_their_positions_in_overrides() -> None:
    text = "[[handover]]\ngiver = 'cpu'\ntaker = 'dma'\n"
    base = SystemDescription.from_toml(text)
    changed = base.override({"handover.0.allowed": False})
    assert not changed.handovers[0].allowed
    assert replace(changed.handovers[0], allowed=True) == base.handovers[0]


def test_an_override_leaves_alone_what_it_is_given() -> None:
    base = SystemDescription.from_toml("[machine.L1Cache.cache.first]\nsets = 2\n[machine.Other]")
    before = base.to_dict()
    given = {"first": {"ways": 4}}
    path = "machine.L1Cache.cache"
    changed = base.override({path: given, f"{path}.first.sets": 8})
    cache = changed.machines["L1Cache"].caches["first"]
    assert (cache.ways, cache.sets) == (4, 8)
    assert given == {"first": {"ways": 4}}
    assert base.to_dict() == before
    assert SystemDescription.from_dict(changed.to_dict()) == changed
    with pytest.raises(
        DescriptionError, match=r'machine = \{"L1Cache": \{"downstream": .*64 tables'
    ):
        base.override({f"machine.M{number}.count": 1 for number in range(70)})


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="cannot be read"):
        load_description(tmp_path / "none.toml")
    bad = tmp_path / "bad.toml"
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(DescriptionError, match="not UTF-8 text"):
        load_description(bad)
    good = tmp_path / "good.toml"
    good.write_text("line_size = 32\n")
    assert load_description(good).line_size == 32


def test_tables_in_tables_without_end() -> None:
    deep = "gpu." + "a." * 500 + "b"
    with pytest.raises(DescriptionError, match=r"gpu = .*: nested too deeply"):
        SystemDescription.from_toml(f"{deep} = 1\n")
    with pytest.raises(DescriptionError, match=r"--set gpu.a.a.*: nested too deeply"):
        SystemDescription().override({deep: 1})
    assert SystemDescription.from_toml("gpu.a.b.c = 1\n").gpu == {"a": {"b": {"c": 1}}}


def test_a_replay_file_may_hold_nulls() -> None:
    """TOML has none, JSON does."""
    tables = {"machine": {"L1Cache": {"parameters": {"latency": None}}}}
    with pytest.raises(DescriptionError, match=r"parameters.latency: expected an integer, or true"):
        SystemDescription.from_dict(tables, "x.leg")


def test_keys_are_found_whatever_the_toml_looks_like() -> None:
    text = '''
# a comment with [machine.X]
"machine" . 'L1Cache'.count = 2   # dotted
[machine."L1Cache".cache]
cache = { sets = 4, "ways" = 2, replacement = "lru" }
[machine.L1Cache.parameters]
note = """
[machine.L1Cache]
count = 9 \\"""
"""
'''
    description = SystemDescription.from_toml(text, "x.toml")
    cache = ("machine", "L1Cache")
    assert description.origin.place((*cache, "count")) == ("x.toml", 3)
    assert description.origin.place((*cache, "cache", "cache", "ways")) == ("x.toml", 5)
    assert description.origin.place((*cache, "parameters", "note")) == ("x.toml", 7)
    assert description.origin.place((*cache, "interleaved")) == ("x.toml", 3)
    assert SystemDescription.from_toml(description.to_toml()) == description


def test_the_manual_shows_descriptions_that_read() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "system.md").read_text()
    blocks = manual.split("```toml\n")[1:]
    assert len(blocks) >= 2
    for block in blocks:
        description = SystemDescription.from_toml(block.split("```")[0], "docs/system.md")
        assert description.machines or description.requesters
    assert DELAYS == POLICY_NAMES
