"""Verbs and options that show a run: report, --trace-out, --break, --pdb."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import tester
from tester.cli.main import app
from tester.program.replay_file import save_leg
from tests.tester.diagnosis.recorded import passing


@pytest.fixture(autouse=True)
def leg_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    save_leg(passing()[0], tmp_path / "run.leg")
    return "run.leg"


def gpu_tester(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(app, list(words), input=typed)


def test_report_writes_one_page(leg_file: str) -> None:
    result = gpu_tester("report", leg_file, "--engine", "python")
    assert result.exit_code == 0 and result.stdout.startswith("passed, ")
    page = Path("run.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
    again = gpu_tester("report", leg_file, "--engine", "python", "-o", "other.html")
    assert again.exit_code == 0
    assert Path("other.html").read_text(encoding="utf-8") == page


def test_report_refuses_what_it_cannot_draw(leg_file: str) -> None:
    Path("bad.leg").write_bytes(b"no leg")
    for words in (("bad.leg",), ("missing.leg",), (leg_file, "-o", "no/such/place.html")):
        result = gpu_tester("report", *words)
        assert result.exit_code == 2, words
        assert len(result.stderr.strip().splitlines()) == 1 and words[-1] in result.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["bad.leg", "run.leg"]


def test_the_replay_file_is_not_written_over(leg_file: str) -> None:
    before = Path(leg_file).read_bytes()
    other = f"{leg_file.removesuffix('.leg')}-other2.leg"
    Path(other).write_bytes(before)
    for words in (
        ("report", leg_file, "-o", leg_file),
        ("replay", leg_file, "--trace-out", leg_file),
        ("replay", leg_file, "--coverage", leg_file),
        ("diff", leg_file, "--coverage", leg_file),
        ("shrink", leg_file, "-o", leg_file),
        ("shrink", leg_file, "-o", str(Path(leg_file).with_suffix(".litmus"))),
        ("shrink", other, "-o", leg_file),
    ):
        result = gpu_tester(*words)
        assert result.exit_code == 2 and ", the replay file" in result.stderr, words
    assert Path(leg_file).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("trace own -p MI --stats own", "the trace"),
        ("trace a.csv -p MI --prelude own --coverage ./own", "a prelude"),
        ("MI --system own --save-program own", "the system's description"),
        ("generate --system own own", "the system's description"),
        ("run -p own.slicc --coverage own.slicc", "the protocol"),
        ("run -p own.slicc --coverage own.toml", "the system's description"),
        ("explore -p own.slicc --coverage own.invariants", "the protocol's invariants"),
        ("run -p own.slicc --coverage own-cache.sm", "the text of a protocol"),
        ("coverage a.json --prelude own --output own", "a prelude"),
    ],
)
def test_what_is_read_is_not_written_over(
    words: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("own", "own.slicc", "own.toml", "own.invariants", "own-cache.sm")
    for name in names:
        Path(name).write_text("mine")
    *_, written = words.split()
    result = gpu_tester(*words.split())
    assert result.exit_code == 2, result.output
    assert f"would overwrite {Path(written)}, {what}" in result.stderr
    assert {Path(name).read_text() for name in names} == {"mine"}


def test_a_trace_is_written_beside_the_verdict(leg_file: str) -> None:
    result = gpu_tester("replay", leg_file, "--trace-out", "run.json", "-q")
    assert result.exit_code == 0 and "PASSED" in result.stdout
    assert json.loads(Path("run.json").read_text(encoding="ascii"))["traceEvents"]
    refused = gpu_tester("replay", leg_file, "--trace-out", "no/such/run.json")
    assert refused.exit_code == 2 and "--trace-out" in refused.stderr


def test_break_without_a_debugger_shows_each_moment(leg_file: str) -> None:
    result = gpu_tester("replay", leg_file, "--break", "L1Cache.M.Fwd_GETX@A")
    assert result.exit_code == 0
    heads = [line for line in result.stdout.splitlines() if line.startswith("tick ")]
    assert heads and all("Fwd_GETX in M  [MI-cache.sm:" in line for line in heads)
    count = "once" if len(heads) == 1 else f"{len(heads)} times"
    assert result.stdout.endswith(f"PASSED: run.leg stopped {count} at L1Cache.M.Fwd_GETX@A\n")
    assert "  entry    CacheState = M" in result.stdout


def test_the_debugger_stops_in_generated_code(leg_file: str) -> None:
    typed = "\n".join(
        (
            "entry",
            "tbe",
            "buffers",
            "copies",
            "states",
            "sm",
            "step",
            "p t.address == self.line",
            "q",
        )
    )
    result = gpu_tester("replay", leg_file, "--break", "L1Cache.M.Fwd_GETX", "--pdb", typed=typed)
    assert result.exit_code == 130
    text = result.stdout
    for expected in (
        "-> if self.trigger(Event.Fwd_GETX, ",
        "CacheState = M",
        "no TBE",
        "FWD (Requestor=",
        "memory ",
        "Directory 0",
        "transition(M, Fwd_GETX, I) {",
        "action(d_sendDataFromCache, ",
        "-> def d_sendDataFromCache(self, t: Transaction) -> None:",
    ):
        assert expected in text, expected
    assert "/tester/" not in text and "/runtime/" not in text, "code of ours is stepped over"


def test_the_debugger_continues_to_the_verdict(leg_file: str) -> None:
    typed = "c\n" * 200
    result = gpu_tester("replay", leg_file, "--break", "L1Cache.M.Fwd_GETX@A", "--pdb", typed=typed)
    assert result.exit_code == 0 and "PASSED: run.leg stopped" in result.stdout


def test_a_start_up_file_of_the_debugger_is_not_read(leg_file: str) -> None:
    Path(".pdbrc").write_text("p 'from the file'\n", encoding="utf-8")
    result = gpu_tester("replay", leg_file, "--break", "L1Cache.M.Fwd_GETX", "--pdb", typed="q\n")
    assert result.exit_code == 130 and "from the file" not in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--pdb", "--pdb has no effect without --break"),
        ("--break L1Cach.M.Data", "there is no machine L1Cach; did you mean L1Cache?"),
        ("--break L1Cache.M.Load --trace all", "--trace has no effect with --break"),
        ("--break L1Cache.M.Load --trace-out x", "--trace-out has no effect with --break"),
        ("--break L1Cache.M.Load --engine native", "--break needs the Python engine"),
    ],
)
def test_misuse_is_one_message(words: str, message: str, leg_file: str) -> None:
    result = gpu_tester("replay", leg_file, *words.split())
    assert result.exit_code == 2 and message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_program_can_draw_a_leg(leg_file: str) -> None:
    recording = tester.draw(leg_file, "drawn.html")
    assert recording.finding is None and recording.events
    assert "every byte as expected" in Path("drawn.html").read_text(encoding="utf-8")
    with pytest.raises(tester.ReplayError):
        tester.draw("missing.leg", "other.html")


def test_a_protocol_of_ones_own_is_drawn_with_its_texts() -> None:
    protocols = Path(__file__).parents[3] / "protocols"
    for file in protocols.glob("MI*"):
        shutil.copy(file, file.name)
    result = gpu_tester("report", "run.leg", "-p", "MI.slicc", "--engine", "python")
    assert result.exit_code == 0
    assert "transition(M, Fwd_GETX, I) {" in Path("run.html").read_text(encoding="utf-8")
