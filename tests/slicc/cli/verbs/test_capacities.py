"""Bounded buffers reach the analysis from the system beside a protocol, or from another one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from typer.testing import CliRunner

from slicc.cli.application import app
from tests.slicc.analysis.blocking.test_cycles import ANSWERED
from tests.slicc.cli.test_cli import slicc as command


def checked(tmp_path: Path, system: str, *arguments: str) -> tuple[int, str]:
    (tmp_path / "Small.slicc").write_text(f'protocol "Small";\n{ANSWERED}', encoding="utf-8")
    (tmp_path / "Small.toml").write_text(system, encoding="utf-8")
    command = ["check", str(tmp_path / "Small.slicc"), "--select", "waiting-cycle", *arguments]
    result = CliRunner().invoke(app, command)
    return result.exit_code, result.output + str(result.exception or "")


SYSTEM: Final = """
[machine.L1Cache.buffer]
returnToHome = { capacity = 1 }
fromHome = { capacity = 2 }
[machine.Directory.buffer]
returnFromCache = { capacity = 3 }
toCache = { capacity = 4 }
"""


def test_the_command_reads_the_system_beside_the_protocol(tmp_path: Path) -> None:
    code, output = checked(tmp_path, SYSTEM)
    assert (code, output.count("warning[waiting-cycle]")) == (0, 1)
    assert "`fromHome` of L1Cache: 2" in output
    assert "waiting-cycle" not in checked(tmp_path, SYSTEM.replace("capacity = 2", ""))[1]


def test_the_command_reads_another_system(tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(SYSTEM, encoding="utf-8")
    assert "`toCache` of Directory: 4" in checked(tmp_path, "", "--system", str(other))[1]
    other.write_text(SYSTEM.replace("3", "-3"), encoding="utf-8")
    assert "other.toml" in checked(tmp_path, "", "--system", str(other))[1]


@pytest.mark.parametrize("analysis", [(), ("--no-analysis",)])
def test_another_system_must_be_a_description(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, analysis: tuple[str, ...]
) -> None:
    """Whether or not a check asks for what it bounds; in the words of gpu-tester."""
    monkeypatch.chdir(tmp_path)
    checked(tmp_path, "")
    Path("no.toml").write_text("no description")
    messages = {
        "nope": "nope: cannot be read: No such file or directory",
        ".": ".: cannot be read: Is a directory",
        "no.toml": "no.toml:1: not TOML: ",
    }
    for system, message in messages.items():
        for protocol in ("Small.slicc", "MI"):
            found = command("check", protocol, "--system", system, *analysis)
            assert found.returncode == 2
            assert found.stderr.startswith(f"slicc: {message}"), found.stderr
