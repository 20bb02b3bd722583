"""``gcn launch``: several kernels and iterations, and the message for every mistake."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpu.cli.run import host_program
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.cli.calling import gcn
from tests.gpu.kernels.stored import stored_bytes

FILE = """\
object = "vadd.co"

[buffers]
a = "i32[64]=iota"
b = "i32[64]=5"
c = "out:i32[64]"

[[step]]
repeat = 3
[[step.dispatch]]
kernel = "vadd_i"
grid = "64"
args = ["a", "b", "c"]
[[step.dispatch]]
kernel = "vadd_i"
grid = "64"
group = "32"
args = ["c", "c", "a"]

[expect]
c = "right.npy"

[save]
a = "a.npy"
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "vadd.co").write_bytes(stored_bytes("vadd"))
    (tmp_path / "l.toml").write_text(FILE)
    a = np.arange(64, dtype=np.int32)
    for _ in range(3):
        c = a + 5
        a = 2 * c
    np.save(tmp_path / "right.npy", c)
    np.save(tmp_path / "a_right.npy", a)
    return tmp_path


@pytest.mark.parametrize("how", ["--functional", "--engine=python"])
def test_each_dispatch_sees_what_the_one_before_it_did(here: Path, how: str) -> None:
    answer = gcn("launch", str(here / "l.toml"), how, "--verify", "--cus", "2")
    assert (answer.status, answer.err) == (0, "")
    assert "as expected: c\n" in answer.out
    assert "verified: 3 buffers are as without caches and time\n" in answer.out
    assert "6 dispatches of vadd_i: 9 groups" in answer.out
    assert np.array_equal(np.load(here / "a.npy"), np.load(here / "a_right.npy"))


def test_turns_are_put_into_arguments(here: Path) -> None:
    path = here / "turns.toml"
    text = FILE.replace("repeat = 3", "each = [16, 48]").replace('grid = "64"', 'grid = "{i}"')
    path.write_text(text.partition("[expect]")[0] + '[save]\nc = "c.npy"\n')
    assert gcn("launch", str(path), "--functional").status == 0
    c, first = np.load(here / "c.npy"), np.arange(16)
    assert np.array_equal(c[:16], 2 * (first + 5) + 5)
    assert np.array_equal(c[16:48], np.arange(16, 48) + 5)
    assert not c[48:].any()


def test_more_dispatches_than_a_queue_has_packets(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = here / "many.toml"
    path.write_text(FILE.replace("repeat = 3", "repeat = 70").partition("[expect]")[0])
    answer = gcn("launch", str(path), "--functional", "--verify", "-q")
    assert (answer.status, answer.err) == (0, "")


@pytest.mark.parametrize("name", ["l.toml", "vadd.co"])
def test_what_is_launched_is_not_overwritten(here: Path, name: str) -> None:
    path = here / "l.toml"
    path.write_text(FILE.replace('"a.npy"', f'"{name}"'))
    before = (here / name).read_bytes()
    answer = gcn("launch", str(path), "--functional")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"gcn: the saved a would overwrite {here / name}, ")
    assert (here / name).read_bytes() == before


def test_wrong_results_are_found(here: Path) -> None:
    np.save(here / "right.npy", np.zeros(64, np.int32))
    answer = gcn("launch", str(here / "l.toml"), "--functional", "-q")
    assert answer.status == 1
    assert "wrong: c: 64 of 64 elements differ" in answer.out


def test_what_caches_spoil_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference begins with other values, as if memory had lost some."""
    honest = host_program.allocate

    def damaged(device: object, program: object) -> object:
        buffers = honest(device, program)  # type: ignore[arg-type]
        if isinstance(getattr(device, "memory", None), FlatMemory):
            buffers["b"].write(np.zeros(64, np.float32))
        return buffers

    monkeypatch.setattr(host_program, "allocate", damaged)
    words = ("--grid", "64", "--arg", "f32[64]=1", "--arg", "f32[64]=2", "--arg", "f32[64]")
    answer = gcn("run", "vadd.co", "vadd", *words, "--arg", "u32=64", "--verify", "--engine=python")
    assert answer.status == 1
    wrong = [line for line in answer.out.splitlines() if line.startswith("wrong: ")]
    assert len(wrong) == 2
    assert wrong[1].startswith("wrong: c: 64 of 64 elements differ, first [0]: 3.0 instead of 1.0")
    assert wrong[1].endswith("(without caches and time)")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["a", "b", "c"]', '["a", "bb", "c"]', ':13: step[0].dispatch[0].args[1] = "bb": no'),
        ('["a", "b", "c"]', '["a", "u32", "c"]', "no such buffer; there is a, b, c"),
        ('["a", "b", "c"]', '["a", "u32=x", "c"]', "neither a buffer nor a value"),
        ('["a", "b", "c"]', '["a", "i32[4]", "c"]', "a buffer has a name, in [buffers]"),
        ('["a", "b", "c"]', '["a", "b"]', "vadd_i takes 3 arguments, 2 are given"),
        ("repeat", "repeet", ":9: step[0].repeet = 3: no such field; did you mean `repeat`?"),
        ("repeat = 3", "repeat = 0", "step[0].repeat = 0: must be between 1 and 65536"),
        ("repeat = 3", "repeat = 3\neach = [1]", "step[0].each = [1]: repeat is given as well"),
        ("repeat = 3", "repeat = 65536", "more than 65,536 dispatches"),
        ('"vadd_i"', '"vad_i"', ':11: step[0].dispatch[0].kernel = "vad_i": no such kernel; did'),
        ('grid = "64"', 'grid = "6a"', "step[0].dispatch[0].grid = \"6a\": grid '6a' is not X"),
        ('group = "32"', 'group = "0"', "step[0].dispatch[1].group"),
        ('c = "right', 'd = "right', 'expect.d = "right.npy": no such buffer'),
        ('"right.npy"', '"none.npy"', "expect.c = \"none.npy\": expect: cannot read"),
        ('a = "i32[64]=iota"', 'a = "i32=4"', "buffers.a = \"i32=4\": no buffer"),
        ('a = "i32[64]=iota"', 'a = "i33[64]"', ":4: buffers.a = \"i33[64]\": argument"),
        ('object = "vadd.co"\n', "", "object: required"),
        ('"vadd.co"', '"vad.co"', "vad.co: No such file"),
        ("[[step]]", "[[step]", "not TOML"),
    ],
)  # fmt: skip
def test_mistakes_are_reported(old: str, new: str, message: str, here: Path) -> None:
    path = here / "wrong.toml"
    assert old in FILE
    path.write_text(FILE.replace(old, new, 1))
    answer = gcn("launch", str(path), "--functional")
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err
    assert "wrong.toml" in answer.err or "vad.co" in answer.err
    assert not (here / "a.npy").exists()
