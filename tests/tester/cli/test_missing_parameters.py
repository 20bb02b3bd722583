"""Parameters without a default: asked for, given on the command line, kept in a replay file."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from protocols import DIRECTORY
from tester.campaign.run import generate, replay
from tester.cli.main import app, main
from tests.slicc.cli.test_cli import slicc

DECLARED = "  Cycles patience; std::string label; int mystery;\n"
PATH = "machine.Directory.parameters."
GIVEN = {"patience": 4, "label": "x", "mystery": 3}
OPTIONS = [word for name, value in GIVEN.items() for word in ("--set", f"{PATH}{name}={value}")]


@pytest.fixture
def protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in (*DIRECTORY.glob("MI-*.sm"), DIRECTORY / "MI.slicc"):
        text = file.read_text(encoding="utf-8")
        if "machine(MachineType:Directory" in text:
            at = text.index("{", text.index("machine(MachineType:Directory"))
            text = text[:at] + DECLARED + text[at:]
        (tmp_path / file.name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "MI.slicc"


def status(*words: str) -> int:
    more = ("--engine", "python", "--episodes", "5", "--leg-episodes", "5", "--seed", "1", "-q")
    return CliRunner().invoke(app, ["-p", "MI.slicc", *more, *words]).exit_code


def test_they_are_given_as_the_message_says(protocol: Path) -> None:
    assert status(*OPTIONS) == 0
    assert status(*OPTIONS, "--set", "machine.Directory.count=2") == 0


def test_only_those_that_are_still_missing_are_asked_for(
    protocol: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["gpu-tester", "-p", "MI.slicc", *OPTIONS[:4]])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    complaint = capsys.readouterr().err
    assert "has no default for `mystery` (int); say it" in complaint
    assert f"--set {PATH}mystery=VALUE\n" in complaint


def test_a_replay_has_them_in_its_file(protocol: Path) -> None:
    assignments = {PATH + name: value for name, value in GIVEN.items()}
    leg = generate(protocol, leg_episodes=5, assignments=assignments)
    assert leg.description.machines["Directory"].parameters["label"] == "x"
    assert replay(leg, protocol, engine="python").passed
    assert CliRunner().invoke(app, ["generate", "a.leg", "-p", "MI.slicc", *OPTIONS]).exit_code == 0
    assert CliRunner().invoke(app, ["replay", "a.leg", "--engine", "python"]).exit_code == 0


def test_the_printed_system_has_a_place_for_each(protocol: Path) -> None:
    printed = slicc("system", "MI.slicc").stdout
    assert '# label = ""  # a value of type std::string goes here\n' in printed
    assert "\n# machine Directory has no default for `patience` (Cycles), `label`" in printed
    for name, value in (("patience", "0"), ("label", '""'), ("mystery", "0")):
        assert f"# {name} = {value}  #" in printed
        printed = printed.replace(f"# {name} = {value}  #", f"{name} = {value}  #")
    Path("edited.toml").write_text(printed, encoding="utf-8")
    assert status("--system", "edited.toml") == 0
    again = slicc("system", "MI.slicc", *OPTIONS).stdout
    assert "patience = 4\n" in again
    assert "goes here" not in again


RACY = "P0 | P1\nstore x = 1 | load x -> r0\nexists P1:r0 = 2\n"


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        ("litmus", ["--runs", "1", "--engine", "python", "a.litmus"]),
        ("litmus", ["--runs", "1", "--engine", "python"]),
        ("explore", ["--max-states", "20", "--locations", "1", "--coverage", "a.json"]),
        ("explore", ["a.litmus"]),
    ],
)
def test_each_verb_that_has_set_takes_them(verb: str, more: list[str], protocol: Path) -> None:
    """It was not read when litmus and explore loaded the protocol."""
    Path("a.litmus").write_text(RACY, encoding="utf-8")
    done = CliRunner().invoke(app, [verb, "-p", "MI.slicc", *more, *OPTIONS])
    assert done.exit_code == 0, done.output
    if "a.json" in more:
        read = CliRunner().invoke(app, ["coverage", "a.json", "-p", "MI.slicc"])
        assert read.exit_code == 0, read.output


def test_the_others_say_where_they_may_stand(
    protocol: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.litmus").write_text(RACY, encoding="utf-8")
    python = ("--engine", "python")
    for words in (["mutate", *python], ["replay", *python, "a.litmus"]):
        monkeypatch.setattr("sys.argv", ["gpu-tester", words[0], "-p", "MI.slicc", *words[1:]])
        with pytest.raises(SystemExit) as ended:
            main()
        complaint = capsys.readouterr().err
        assert ended.value.code == 2
        assert "say it under [machine.Directory.parameters] of the description" in complaint
        assert "--set" not in complaint


def test_a_scenario_sets_them(protocol: Path) -> None:
    values = {"patience": 4, "label": '"x"', "mystery": 3}
    lines = [f'set "{PATH}{name}" = {value}' for name, value in values.items()]
    text = "P0 | P1\nstore x = 1 |\n| after P0\n| load x -> 1\n"
    Path("a.litmus").write_text("\n".join([*lines, text]), encoding="utf-8")
    for verb in ("replay", "litmus", "verify"):
        engine = () if verb == "verify" else ("--engine", "python")
        done = CliRunner().invoke(app, [verb, "a.litmus", "-p", "MI.slicc", *engine])
        assert done.exit_code == 0, done.output
