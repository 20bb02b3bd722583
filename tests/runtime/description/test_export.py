"""`slicc system`: what it prints is the system, and can be edited into another one."""

from __future__ import annotations

from pathlib import Path

import pytest

import protocols
from protocols.loader import load_protocol
from runtime.description import SystemDescription
from runtime.description.export import editable_toml
from runtime.description.inference import complete
from tests.conftest import Golden
from tests.runtime.mini_protocol import GPU

SHIPPED = sorted(protocols.shipped())


@pytest.mark.parametrize("name", SHIPPED)
def test_systems_of_the_shipped_protocols(name: str, golden: Golden) -> None:
    loaded = load_protocol(name)
    text = editable_toml(f"{name}.slicc", loaded.written, loaded.description, loaded.info)
    golden(f"system-{name}.toml", text)
    assert complete(SystemDescription.from_toml(text), loaded.info) == loaded.description


WRITTEN = """
protocol = "mini.slicc"
[machine.Directory]
count = 2
[machine.Directory.derived]
latency = { count = "L1Cache", plus = 3 }
[machine.L1Cache.cache.cache]
start_index_bit = 9
[requester.a]
machine = "TCP"
tokens = 7
[agents.a]
requester = "a"
lanes = 4
[[handover]]
giver = "a"
taker = "a"
allowed = false
"""


def test_what_follows_is_a_comment_and_follows_edits() -> None:
    written = SystemDescription.from_toml(WRITTEN)
    whole = complete(written, GPU)
    text = editable_toml("mini.slicc", written, whole, GPU)
    assert complete(SystemDescription.from_toml(text), GPU) == whole
    lines = text.splitlines()
    assert "# Directory_select_num_bits = 1  # from the count of Directory" in lines
    assert "# latency = 7  # derived below" in lines
    assert 'latency = {count = "L1Cache", times = 1, plus = 3}' in lines
    assert "tokens = 7" in lines
    assert "start_index_bit = 9" in lines
    assert lines.count("# start_index_bit = 6") == 1
    edited = text.replace("[machine.Directory]\ncount = 2", "[machine.Directory]\ncount = 4")
    again = complete(SystemDescription.from_toml(edited), GPU)
    assert again.machines["TCP"].parameters["Directory_select_num_bits"] == 2


def test_the_command_prints_it_and_takes_it_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from slicc.cli.application import app
    from slicc.cli.main import run

    def called(*words: str) -> tuple[int, str, str]:
        status = run(lambda: app([*words], standalone_mode=False))
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    status, text, _ = called("system", "MI", "--set", "machine.L1Cache.count=7")
    assert status == 0
    assert "[machine.L1Cache]\ncount = 7\n" in text
    file = tmp_path / "edited.toml"
    file.write_text(text.replace("count = 7", "count = 3"))
    status, again, _ = called("system", "MI", "--system", str(file))
    assert (status, again) == (0, text.replace("count = 7", "count = 3"))
    status, _, complaint = called("system", "MI", "--set", "machine.L1Cash.count=7")
    assert status == 2
    assert "did you mean `L1Cache`?" in complaint
    status, _, complaint = called("system", "NoSuchProtocol")
    assert status == 2
