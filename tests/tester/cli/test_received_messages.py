"""A field of ``in_msg`` that is assigned keeps its value at the head of the queue."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tester.cli.main import app
from tests.compiling import compiler
from tests.sampling import sampled

SHIPPED = Path(__file__).parents[3] / "protocols"
FIELD = '  CoherenceRequestType Type,   desc="What is asked";\n'
PORT = "        if (in_msg.Type == CoherenceRequestType:GETX) {\n"
PEEK = "\n    peek(requestNetwork_in, RequestMsg) {\n"


@pytest.mark.parametrize("engine", sampled(["python", "native"], 2))
def test_the_action_sees_what_the_port_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if engine == "native":
        compiler()  # skips where there is none
    for path in SHIPPED.glob("MI*"):
        shutil.copy(path, tmp_path / path.name)
    messages, directory = tmp_path / "MI-msg.sm", tmp_path / "MI-dir.sm"
    text = messages.read_text()
    assert FIELD in text
    messages.write_text(text.replace(FIELD, FIELD + '  int Seen, default="0";\n', 1))
    text = directory.read_text()
    assert PORT in text and PEEK in text
    text = text.replace(PORT, "        in_msg.Seen := in_msg.Seen + 1;\n" + PORT)
    directory.write_text(text.replace(PEEK, PEEK + "      assert(in_msg.Seen > 0);\n"))
    words = ("--protocol", str(tmp_path / "MI.slicc"), "--episodes", "20", "--seed", "3")
    done = CliRunner().invoke(app, [*words, "--engine", engine])
    assert done.exit_code == 0, done.output
