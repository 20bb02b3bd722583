"""Verbs and options: spellings, help, what each verb refuses, the verbs that run nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from slicc.text.command.options import written
from tester.cli.main import VERBS, app
from tester.cli.main import meant as given_to_the_verb
from tester.cli.verbs import programs
from tester.program import verifier
from tester.program.program import Program
from tester.program.replay_file import load_leg

SMALL = ("-p", "MI", "--episodes", "20", "--seed", "3")


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gpu_tester(*words: str, width: int = 80) -> Result:
    return CliRunner().invoke(app, list(words), terminal_width=width)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("", "run"),
        ("--seed 3 --episodes 5", "run --seed 3 --episodes 5"),
        ("run --seed 3", "run --seed 3"),
        ("--replay a.leg -q", "replay a.leg -q"),
        ("-q --replay=a.leg", "replay -q a.leg"),
        ("--replay", "replay"),
        ("--diff-engines --seed 1", "diff --seed 1"),
        ("diff-engines -p MI", "diff -p MI"),
        ("diff-engines --replay a.leg", "diff a.leg"),
        ("--replay a.leg --protocol x.sm --diff-engines", "diff a.leg --protocol x.sm"),
        ("-h", "-h"),
        ("--version", "--version"),
        ("rn --seed 3", "rn --seed 3"),
        ("MI --episodes 5", "run --protocol MI --episodes 5"),
        ("MI -p MI", "run --protocol MI -p MI"),
        ("x/Mine.slicc -q", "run --protocol x/Mine.slicc -q"),
        ("MSX", "run --protocol MSX"),
        ("--episodes 5 --seed", "run --episodes 5"),
        ("generate a.leg --seed -p MI", "generate a.leg -p MI"),
        ("--seed -5", "run --seed -5"),
        ("run MI --episodes 5", "run --protocol MI --episodes 5"),
        ("replay a.leg --seed", "replay a.leg --seed"),
    ],
)
def test_spellings(words: str, meant: str) -> None:
    assert given_to_the_verb(words.split()) == meant.split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rn", "No such command 'rn'. Did you mean 'run'?"),
        ("MSX", "there is no protocol MSX; did you mean MSI?"),
        ("Mine", "Mine is neither a verb (run, replay, "),
        ("Mine", "nor a protocol: one of GPU_VIPER, "),
        (
            "explore MSI",
            "MSI: cannot be read: No such file or directory; the protocol is --protocol MSI",
        ),
        ("run --history al", "'al' is neither a number of rows nor all"),
        ("run --history -3", "'-3' is neither a number of rows nor all"),
        ("run --max-seconds -1", "'-1' is not a number of seconds, 0 or more"),
        ("verify a.leg -q", "-q. It is an option of run, replay, trace, campaign, litmus, mutate"),
        ("MI -p MSI --episodes 5", "two protocols are given, MI and MSI: name one"),
        ("MI --protocol=MSI", "two protocols are given, MI and MSI: name one"),
        ("litmus", "name a protocol (--protocol NAME), or files that name theirs"),
        ("litmus no.litmus -p MI", "no.litmus: cannot be read"),
        ("litmus -p MI --runs 0", "0: 1 to 1073741824 are possible"),
        ("litmus . -p MI", ".: no file there ends in .litmus"),
        ("run -p MI -q -v", "--quiet and --verbose: only one of them is possible"),
        ("replay a.leg -qv", "--quiet and --verbose: only one of them is possible"),
        ("diff -p MI -q -v", "--quiet and --verbose: only one of them is possible"),
        ("run --stats a.jsn", "a.jsn: .jsn is the ending of no format; there are .txt, .json"),
        ("trace a.csv -p MI --stats a.foo", "--stats a.foo: .foo is the ending of no format"),
        ("run --history 0", "0: 1 to 4000 are possible"),
        ("run --sed 3", "No such option: --sed (Possible options: --seed"),
        ("diff --jobs 2", "--jobs. It is an option of run, campaign, shrink, mutate and explore."),
        ("diff --trace all", "No such option: --trace. It is an option of run, replay and trace."),
        ("replay a.leg --jobs 2", "replay runs a leg as it is, so --jobs has no effect with it"),
        ("-j 2 --replay a.leg", "replay runs a leg as it is, so -j has no effect with it"),
        ("run --jobs -1", "Invalid value for '--jobs' / '-j': -1: 1 to 256 are possible"),
        ("replay", "Missing argument"),
        ("--replay", "Missing argument"),
        ("generate", "Missing argument"),
        ("verify no.leg", "no.leg: cannot be read"),
        ("report .", "gpu-tester: .: cannot be read: Is a directory"),
        ("shrink /", "gpu-tester: /: cannot be read: Is a directory"),
        ("generate no/a.leg -p MI", "FILE no/a.leg: cannot be written: no does not exist"),
    ],
)
def test_misuse(words: str, message: str) -> None:
    done = gpu_tester(*words.split(), width=200)
    assert done.exit_code == 2, done.output
    assert message in done.stderr


def test_output_has_its_letter_in_every_verb() -> None:
    for verb in VERBS:
        names = written(verb.options)
        assert ("--output" in names) == ("-o" in names), verb.name


@pytest.mark.parametrize("verb", [verb.name for verb in VERBS])
@pytest.mark.parametrize("width", [80, 120])
def test_help_fits_and_has_sections(verb: str, width: int) -> None:
    done = gpu_tester(verb, "-h", width=width)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert ("What to run:" in lines) == (verb != "status")
    assert ("Arguments:" in lines) == (verb not in ("run", "mutate"))


def test_every_verb_is_in_the_help_in_one_line() -> None:
    lines = gpu_tester("-h").stdout.splitlines()
    for verb in VERBS:
        assert f"  {verb.name:<8}  {verb.help}" in lines


def test_a_generated_leg_is_the_one_that_a_run_begins_with(empty_directory: Path) -> None:
    shown = gpu_tester("generate", "a.leg", *SMALL).stdout.splitlines()
    assert shown[0] == "a.leg: MI, seed 3"
    assert " ".join(shown[1].split()).startswith("leg 0: ")
    assert shown[1].endswith("  2 L1Cache, 2 Directory, 1 DMA")
    assert gpu_tester(*SMALL, "--save-program", "b.leg").exit_code == 0
    files = [(empty_directory / name).read_bytes() for name in ("a.leg", "b.leg")]
    assert files[0] == files[1]
    assert gpu_tester("replay", "a.leg", "-q").stdout.startswith("PASSED: 20 episodes in 1 leg")


def test_a_right_program_is_verified() -> None:
    assert gpu_tester("generate", "a.leg", *SMALL, "-q").stdout == ""
    done = gpu_tester("verify", "a.leg")
    assert done.exit_code == 0
    assert done.stdout.startswith("verified: 20 episodes of ")


def test_a_program_with_a_race_is_a_bug_of_ours(
    empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program without its waits; files have none, so `load_leg` stands for a faulty one."""
    assert gpu_tester("generate", "a.leg", *SMALL).exit_code == 0
    leg = load_leg("a.leg")
    leg = replace(leg, program=without_waits(leg.program))
    monkeypatch.setattr(programs, "load_leg", lambda path: leg)
    done = gpu_tester("verify", "a.leg")
    assert done.exit_code == 70
    assert "BUG OF THE TESTER: a.leg: the program of leg 0 of seed 3 is wrong:" in done.stderr
    assert " races with episode " in done.stderr


def without_waits(program: Program) -> Program:
    return replace(
        program,
        wait_first=program.wait_first * 0,
        wait_thread=program.wait_thread[:0],
        wait_count=program.wait_count[:0],
        wait_kind=program.wait_kind[:0],
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_can_verify_its_programs(
    jobs: str, empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*SMALL, "--leg-episodes", "10", "--verify", "--engine", "python", "-j", jobs)
    done = gpu_tester(*words)
    assert done.exit_code == 0, done.output

    honest = verifier.verify
    monkeypatch.setattr(verifier, "verify", lambda program: [*honest(program), "planted"])
    done = gpu_tester(*words)
    assert done.exit_code == 70
    assert "BUG OF THE TESTER: the program of leg 0 of seed 3 is wrong:\n  planted" in done.stderr
    assert "gpu-tester verify MI-seed3-leg0.leg shows it again" in done.stderr
    assert "BROKEN: a fault of the tester" in done.stdout
    assert (empty_directory / "MI-seed3-leg0.leg").is_file()
