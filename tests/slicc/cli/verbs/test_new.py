"""``slicc new``: what it writes works, and it touches nothing that is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import slicc
import tester
from slicc.diagnostics.model import DiagnosticSink
from slicc.parser.parser import parse
from slicc.source import SourceFile
from tests.docs.test_first_protocol import files_at_the_end
from tests.slicc.cli.test_cli import slicc as command
from tests.slicc.syntax.tree_printer import print_unit

FILES = ("{}.slicc", "{}-msg.sm", "{}-cache.sm", "{}-dir.sm")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_it_writes_has_no_finding_and_passes(here: Path) -> None:
    done = command("new", "Lease")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"Lease/{name.format('Lease')}" for name in FILES]
    assert "gpu-tester --protocol Lease/Lease.slicc --episodes 1000 --seed 1" in done.stderr
    compiled = slicc.compile("Lease/Lease.slicc")
    assert compiled.diagnostics == ()
    assert all("$" not in path.read_text() for path in Path("Lease").iterdir())
    assert tester.run("Lease/Lease.slicc", episodes=20, seed=1, engine="python").passed


@pytest.mark.slow
def test_a_thousand_episodes_pass(here: Path) -> None:
    command("new", "Lease")
    assert tester.run("Lease/Lease.slicc", episodes=1000, seed=1).passed


def test_it_is_the_protocol_of_the_tutorial(here: Path) -> None:
    """Only comments, and what the machines are called, differ."""

    def tokens(text: str) -> str:
        sink = DiagnosticSink()
        unit = parse(SourceFile("x.sm", text), sink)
        assert unit is not None and not sink.diagnostics
        return print_unit(unit)

    command("new", "Lend")
    for name, text in files_at_the_end().items():
        ours = tokens(Path("Lend", name).read_text())
        theirs = tokens(text).replace("that keeps nothing", "that keeps what it borrows")
        assert ours == theirs, name


def test_files_that_exist_are_kept(here: Path) -> None:
    Path("Lease").mkdir()
    Path("Lease/Lease-dir.sm").write_text("mine")
    done = command("new", "Lease")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Lease/Lease-dir.sm exists already; choose another name" in done.stderr
    assert [path.name for path in Path("Lease").iterdir()] == ["Lease-dir.sm"]
    assert Path("Lease/Lease-dir.sm").read_text() == "mine"
    assert command("new", "Lease", "-o", "two words").returncode == 0
    assert Path("two words/Lease.slicc").is_file()


def test_what_follows_can_be_pasted(here: Path) -> None:
    assert (
        "slicc check 'two words/Lease.slicc'" in command("new", "Lease", "-o", "two words").stderr
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../Lease", "letters, digits and _ are possible"),
        ("", "cannot name a protocol"),
        ("a b", "cannot name a protocol"),
        ("Lease\n", "cannot name a protocol"),
        ("L\u00e9ase", "cannot name a protocol"),
        ("1st", "a letter comes first"),
        ("L" * 61, "the name has 61 characters; 60 are possible"),
        ("MI", "MI is a shipped protocol"),
        ("class", "a name of the language or its library"),
        ("None", "a name of the language or its library"),
        ("Memory", "a name of the language or its library"),  # MemoryMsg
        ("Machine", "a name of the language or its library"),  # MachineType
    ],
)
def test_names_that_cannot_be(here: Path, name: str, message: str) -> None:
    done = command("new", "--", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and "Traceback" not in done.stderr
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["State", "L1Cache", "Directory", "Entry", "x", "sys", "Message_"])
def test_names_that_look_like_trouble(here: Path, name: str) -> None:
    assert command("new", name).returncode == 0
    assert slicc.compile(f"{name}/{name}.slicc").diagnostics == ()


def test_a_directory_that_cannot_be_written(here: Path) -> None:
    Path("file").write_text("")
    done = command("new", "Lease", "-o", "file")
    assert done.returncode == 2
    assert "cannot write into file: it is not a directory" in done.stderr
    done = command("new", "Lease", "-o", "file/below")
    assert done.returncode == 2
    assert "cannot read or write" in done.stderr


@contextmanager
def no_room(size: int) -> Iterator[None]:
    """Files cannot become larger than ``size`` bytes: a real error while one is written."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_nothing_is_left_without_room_and_it_can_be_repeated(here: Path) -> None:
    with no_room(2000):  # the driver and the messages have room, the cache has not
        done = command("new", "Lease", "-o", "a/b")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("slicc: cannot read or write a/b/Lease-cache.sm: ")
    assert [path for path in here.rglob("*") if path.is_file()] == []
    assert command("new", "Lease", "-o", "a/b").returncode == 0


def test_a_workflow_without_room_is_not_left(here: Path) -> None:
    with no_room(100):
        done = command("ci", "github", "MI", "-o", "w.yml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("slicc: cannot read or write w.yml: ")
    assert list(here.iterdir()) == []
    assert command("ci", "github", "MI", "-o", "w.yml").returncode == 0
