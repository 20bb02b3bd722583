"""Completion in shells: what is offered, and that bash takes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpu.cli.main import VERBS as GCN
from slicc.cli.main import VERBS
from slicc.diagnostics.registry import CODES
from slicc.text.command.completion import candidates
from tester.cli.main import VERBS as TESTER
from tester.cli.main import meant
from tester.profiles import profiles
from tests.slicc.cli.test_cli import slicc

ROOT = Path(__file__).parents[3]


def offered(*words: str) -> list[str]:
    return slicc("--complete", *words).stdout.splitlines()


def test_verbs_and_options() -> None:
    assert offered("") == sorted(["--help", "--version", *(verb.name for verb in VERBS)])
    assert offered("ex") == ["explain"]
    assert offered("graph", "--fo") == ["--format"]
    assert offered("check", "--fo") == ["--format"]
    assert offered("nothing", "") == offered("--version", "") == []


def test_values() -> None:
    assert offered("graph", "--format", "") == ["dot", "png", "svg"]
    assert offered("check", "--color", "a") == ["always", "auto"]
    assert offered("check", "M") == [
        "MESI_Two_Level",
        "MI",
        "MOESI_AMD_Base",
        "MSI",
        "MSI_Snoop",
    ]
    assert offered("check", "MI", "MS") == ["MSI", "MSI_Snoop"]
    assert offered("system", "GPU_VIPER_") == ["GPU_VIPER_APU"]
    assert offered("explain", "") == sorted(CODES)
    assert offered("check", "--include", "") == []  # a directory: the shell's own completion
    assert offered("ir", "--verify", "MS") == ["MSI", "MSI_Snoop"]  # a flag takes no value


def test_a_command_with_a_verb_by_default() -> None:
    table = {verb.name: verb for verb in TESTER}
    assert candidates(table, meant, ["--episodes"]) == ["--episodes"]
    assert candidates(table, meant, ["MI", "--episodes"]) == ["--episodes"]
    assert candidates(table, meant, ["replay", "--episodes"]) == []
    assert candidates(table, meant, ["--engine", ""]) == ["auto", "native", "python"]
    assert candidates(table, meant, ["--protocol", "MS"]) == ["MSI", "MSI_Snoop"]
    for option in ("--attack", "--avoid"):
        assert candidates(table, meant, ["run", option, "snp"]) == ["snponce-stale"]
    done = subprocess.run(
        [sys.executable, "-m", "tester.cli", "--complete", "MS"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["MSI", "MSI_Snoop"]
    assert candidates(table, meant, ["diff", "-p", "GPU_VIPER_"]) == ["GPU_VIPER_APU"]
    assert candidates(table, meant, ["MI", "--profile", ""]) == sorted(profiles.names())
    assert candidates(table, meant, []) == sorted([*table, "--help", "--version"])


def test_gcn() -> None:
    table = {verb.name: verb for verb in GCN}
    assert candidates(table, list, ["run", "k.cl", "--protocol", "G"]) == [
        "GPU_VIPER",
        "GPU_VIPER_APU",
    ]


def test_bash_completes(tmp_path: Path) -> None:
    """The script, read by bash, with the cursor behind the last word."""
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    program = tmp_path / "slicc"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m slicc "$@"\n')
    program.chmod(0o755)
    lines = f"""
        eval "$("{program}" --show-completion bash)"
        COMP_WORDS=("{program}" check GPU_VIPER_) COMP_CWORD=2
        _slicc "{program}" GPU_VIPER_ check
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", "-c", lines], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("GPU_VIPER_APU\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["slicc"]  # nothing of the user's changes


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(shell: str, tmp_path: Path) -> None:
    text = slicc("--show-completion", shell).stdout
    assert "slicc --complete" in text or '"${words[1]}" --complete' in text
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    (tmp_path / "script").write_text(text)
    done = subprocess.run([shell, "-n", str(tmp_path / "script")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_shell_is_the_users_unless_it_is_named() -> None:
    assert slicc("--show-completion", SHELL="/usr/bin/fish").stdout.startswith("complete -c slicc")
    assert slicc("--show-completion", "bash").stdout.startswith("_slicc() {")
    for words, shell in (("csh",), ""), ((), "/bin/csh"), ((), ""):
        done = slicc("--show-completion", *words, SHELL=shell)
        assert (done.returncode, done.stdout) == (2, "")
        assert "bash, zsh or fish" in done.stderr


def test_completion_imports_nothing_heavy() -> None:
    code = (
        "import sys, slicc.cli.application, slicc.cli.main\n"
        "slicc.cli.main.run(lambda: slicc.cli.application.app(['--complete', 'check', 'M']))\n"
        "heavy = {'lark', 'jinja2', 'networkx', 'numpy', 'rich', 'graphviz', 'slicc.ir'}\n"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"MSI" in done.stdout
