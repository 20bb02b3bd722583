"""Which machines of a system stand by."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols import shipped
from protocols.loader import load_protocol
from tester.cli.options.run import RunOptions
from tester.cli.verbs.run import run
from tester.scenario.machine_roles import undriven

ONLY_PROCESSORS = """
[machine.L1Cache]
count = 2
[requester.cpu]
machine = "L1Cache"
[agents.cpu]
requester = "cpu"
"""


@pytest.mark.parametrize("name", sorted(shipped()))
def test_every_shipped_system_drives_all(name: str) -> None:
    loaded = load_protocol(name)
    assert undriven(loaded.info, loaded.description) == []


def test_a_run_says_which_machine_it_does_not_drive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "MI.toml"
    path.write_text(ONLY_PROCESSORS)
    assert run(RunOptions(protocol="MI", system=path, episodes=30, seed=1, quiet=True)) == 0
    assert capsys.readouterr().out.endswith("; without DMA: the description has no agents there\n")
