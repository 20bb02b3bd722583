"""What a trace file may hold, and what is said of one that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tester.program.program import ATOMIC, LOAD, STORE
from tester.trace_file import reader
from tester.trace_file.reader import TraceError, TraceRow, read_trace

HEAD = "tick,agent,operation,address,bytes\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "a.csv"


def test_rows_come_in_the_order_of_ticks(file: Path) -> None:
    file.write_text(
        f"{HEAD}7,P1, store ,0x40,8\n\n2,P0,load,64,4\n7,0,atomic,0X44,4\n9,I,fetch,0,1\n"
    )
    assert read_trace(file) == [
        TraceRow(4, 2, "P0", LOAD, 64, 4, False),
        TraceRow(2, 7, "P1", STORE, 64, 8, False),
        TraceRow(5, 7, "0", ATOMIC, 68, 4, False),
        TraceRow(6, 9, "I", LOAD, 0, 1, True),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the first line is tick,agent,operation,address,bytes, not"),
        ("tick,agent\n", 1, 'not "tick,agent"'),
        (HEAD, 1, "there is no request in it"),
        (f"{HEAD}1,P0,load,0x40\n", 2, '5 values are needed, not "1,P0,load,0x40"'),
        (f"{HEAD}1,P0,load,0,4\n1,P0,laod,0,4\n", 3, '(did you mean load?), not "laod"'),
        (f"{HEAD}-1,P0,load,0,4\n", 2, 'a tick is 0 to 0x3fffffffffffffff, not "-1"'),
        (f"{HEAD}1,,load,0,4\n", 2, "the agent is missing"),
        (f"{HEAD}1,P0,load,zero,4\n", 2, 'an address is 0 to 0xffffffffffff, not "zero"'),
        (f"{HEAD}1,P0,load,1_0,4\n", 2, 'not "1_0"'),
        (f"{HEAD}1,P0,load,{'9' * 5000},4\n", 2, "an address is 0 to"),
        (f"{HEAD}1,P0,load,0,0\n", 2, 'a number of bytes is 1 to 0x200, not "0"'),
        (f'{HEAD}1,"P0,load,0,4\n', 2, "it is no CSV"),
        (f"{HEAD}1,P0,load,\x1b[2J,4\n", 2, r'not "\x1b[2J"'),
    ],
)
def test_an_error_names_file_line_and_value(text: str, line: int, message: str, file: Path) -> None:
    file.write_text(text)
    with pytest.raises(TraceError) as caught:
        read_trace(file)
    assert str(caught.value).startswith(f"{file}:{line}: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def test_what_is_no_text_is_refused(file: Path) -> None:
    file.write_bytes(HEAD.encode() + b"\xff\xfe\n")
    with pytest.raises(TraceError, match="it is not UTF-8"):
        read_trace(file)


def test_rows_are_counted_before_they_are_kept(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MOST_ROWS", 2)
    file.write_text(HEAD + "1,P0,load,0,4\n" * 3)
    with pytest.raises(TraceError, match=":4: more than 2 requests"):
        read_trace(file)


def test_a_file_without_an_end_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single line of zeroes; and a pipe without a writer, whose opening waits."""
    monkeypatch.setattr(reader, "MOST_FILE_BYTES", 1000)
    with pytest.raises(TraceError, match="/dev/zero:1: larger than 1000 bytes"):
        read_trace(Path("/dev/zero"))
    os.mkfifo(file)
    with pytest.raises(TraceError, match="the first line is"):
        read_trace(file)
