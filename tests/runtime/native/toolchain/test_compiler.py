"""Finding and running compilers: good ones, bad ones, and none."""

from __future__ import annotations

import os
import signal
import stat
import time
from pathlib import Path

import pytest

from runtime.native import build
from runtime.native.build import Recipe
from runtime.native.toolchain import compiler as toolchain
from runtime.native.toolchain.compiler import (
    Compilation,
    Compiler,
    NoCompiler,
    ToolchainError,
    find_compiler,
    one_line,
)


def script(path: Path, body: str) -> Path:
    """An executable that stands for a compiler."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def no_zig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)


def test_cxx_comes_first_with_its_arguments(tmp_path: Path) -> None:
    made = script(tmp_path / "own", 'echo "own compiler 1 $1"')
    found = find_compiler({"CXX": f"{made} -m64", "PATH": os.environ["PATH"]})
    assert found.command == (str(made), "-m64")
    assert found.version == "own compiler 1 -m64"


def test_clang_comes_before_gcc(tmp_path: Path, no_zig: None) -> None:
    script(tmp_path / "g++", "echo gcc")
    script(tmp_path / "clang++", "echo clang")
    assert find_compiler({"PATH": str(tmp_path)}).version == "clang"


def test_a_compiler_without_version_is_passed_over(tmp_path: Path, no_zig: None) -> None:
    script(tmp_path / "g++", "echo gcc")
    script(tmp_path / "clang++", "exit 1")
    assert find_compiler({"PATH": str(tmp_path)}).version == "gcc"


def test_no_compiler_says_what_was_looked_for(tmp_path: Path, no_zig: None) -> None:
    with pytest.raises(NoCompiler, match=r"neither clang\+\+ nor g\+\+ .*slicc\[native\]"):
        find_compiler({"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("/nowhere/c++", "CXX=/nowhere/c.. cannot be run: No such file"),
        ("false", "CXX=false does not print its version"),
        ("c++ 'half", "No closing quotation"),
    ],
)
def test_a_cxx_that_does_not_work_is_an_error(said: str, words: str) -> None:
    with pytest.raises(ToolchainError, match=words):
        find_compiler({"CXX": said, "PATH": os.environ["PATH"]})


def compiler_that(tmp_path: Path, body: str) -> Compiler:
    return Compiler((str(script(tmp_path / "cxx", body)),), "test")


def start(compiler: Compiler, tmp_path: Path) -> Compilation:
    source = tmp_path / "unit.cpp"
    source.write_text('extern "C" int answer() { return ANSWER; }\n')
    flags = toolchain.all_flags(compiler)
    return Compilation(compiler, source, tmp_path / "unit.so", [tmp_path], {"ANSWER": 42}, flags)


def compile_with(compiler: Compiler, tmp_path: Path) -> None:
    start(compiler, tmp_path).wait()


def test_an_object_is_made(tmp_path: Path) -> None:
    import ctypes

    compile_with(find_compiler(), tmp_path)
    # It hides what is not marked, so only loading can be tested.
    ctypes.CDLL(str(tmp_path / "unit.so"))


def test_the_words_of_a_failing_compiler_are_shown(tmp_path: Path) -> None:
    compiler = compiler_that(tmp_path, "echo 'unit.cpp:1: no such thing' >&2; exit 3")
    with pytest.raises(ToolchainError, match=r"status 3\):\nunit.cpp:1: no such thing"):
        compile_with(compiler, tmp_path)


def test_long_complaints_are_cut(tmp_path: Path) -> None:
    compiler = compiler_that(tmp_path, "seq 1 5000; exit 1")
    with pytest.raises(ToolchainError, match=r"40\n\.\.\. and 4960 lines more"):
        compile_with(compiler, tmp_path)


def test_a_compiler_that_dies_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="signal 9"):
        compile_with(compiler_that(tmp_path, "kill -9 $$"), tmp_path)


def test_a_compiler_that_writes_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"wrote no unit\.so"):
        compile_with(compiler_that(tmp_path, "exit 0"), tmp_path)


def test_a_hanging_compiler_is_stopped_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICC_COMPILE_SECONDS", "1")
    note = tmp_path / "child"
    compiler = compiler_that(tmp_path, f"sleep 600 & echo $! > {note}; wait")
    begun = time.monotonic()
    with pytest.raises(ToolchainError, match="had not finished after 1 seconds and was stopped"):
        compile_with(compiler, tmp_path)
    assert time.monotonic() - begun < 10
    child = int(note.read_text())
    for _ in range(100):
        if not _alive(child):
            break
        time.sleep(0.05)
    assert not _alive(child)


def _alive(process: int) -> bool:
    try:
        os.kill(process, signal.SIG_DFL)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("said", ["soon", "0", "-1", "nan"])
def test_a_senseless_time_limit_is_refused(
    said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICC_COMPILE_SECONDS", said)
    with pytest.raises(ToolchainError, match=f"SLICC_COMPILE_SECONDS={said}"):
        start(Compiler(("true",), ""), tmp_path)


def test_further_flags_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    gcc = Compiler(("g++",), "g++ 12")
    monkeypatch.setenv("SLICC_CXXFLAGS", "-g '-DTEXT=a b'")
    assert toolchain.all_flags(gcc) == (*toolchain.FLAGS, "-g", "-DTEXT=a b")
    clang = Compiler(("clang++",), "clang version 19")
    assert toolchain.all_flags(clang)[-3:] == (toolchain.FOR_CLANG[-1], "-g", "-DTEXT=a b")
    monkeypatch.setenv("SLICC_CXXFLAGS", "-fsanitize=undefined")
    watched = (*toolchain.FLAGS, "-DSLICC_INVARIANTS", "-fsanitize=undefined")
    assert toolchain.all_flags(clang) == toolchain.all_flags(gcc) == watched
    monkeypatch.setenv("SLICC_CXXFLAGS", "'half")
    with pytest.raises(ToolchainError, match="SLICC_CXXFLAGS='half: No closing quotation"):
        toolchain.all_flags(gcc)


def test_one_long_line_is_cut(tmp_path: Path) -> None:
    talk = "head -c 3000000 /dev/zero | tr '\\0' w; printf '\\n\\033[31mred\\n'; exit 1"
    with pytest.raises(ToolchainError) as caught:
        compile_with(compiler_that(tmp_path, talk), tmp_path)
    assert len(str(caught.value)) < 1000
    talk = "printf '\\033[31mred'; exit 1"
    with pytest.raises(ToolchainError, match=r"\n\?\[31mred$"):
        compile_with(compiler_that(tmp_path, talk), tmp_path)


def test_a_long_version_is_cut(tmp_path: Path) -> None:
    made = script(tmp_path / "own", "head -c 3000000 /dev/zero | tr '\\0' v")
    assert find_compiler({"CXX": str(made)}).version == 120 * "v" + "..."


@pytest.mark.parametrize("in_background", [False, True])
def test_a_compiler_that_talks_without_end_is_stopped(tmp_path: Path, in_background: bool) -> None:
    compiler = compiler_that(tmp_path, "exec yes")
    begun = time.monotonic()
    with pytest.raises(ToolchainError, match="did not stop talking and was stopped"):
        compilation = start(compiler, tmp_path)
        while in_background and not compilation.finished():
            time.sleep(0.01)
        compilation.wait()
    compilation.stop()
    assert time.monotonic() - begun < 30
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == []


def test_what_a_compiler_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    """A cache of compilations may start a server, which keeps our end of the pipe."""
    note = tmp_path / "child"
    compiler = compiler_that(tmp_path, f"sleep 600 & echo $! > {note}; exit 3")
    begun = time.monotonic()
    try:
        with pytest.raises(ToolchainError, match="status 3"):
            compile_with(compiler, tmp_path)
        assert time.monotonic() - begun < 10
    finally:
        os.kill(int(note.read_text()), signal.SIGKILL)


def test_why_there_is_no_version_is_shown(tmp_path: Path) -> None:
    made = script(tmp_path / "own", "echo 'libfoo.so: cannot open shared object'; exit 127")
    with pytest.raises(ToolchainError, match=r"version \(status 127\):\nlibfoo.so: cannot"):
        find_compiler({"CXX": str(made)})


def test_one_line_holds_what_the_compiler_had_to_say() -> None:
    words = "g++ failed (status 1):\nIn file included from a.cpp:\na.cpp:3:1: error: no such type"
    assert one_line(ToolchainError(words)) == (
        "g++ failed (status 1): a.cpp:3:1: error: no such type"
    )
    assert one_line(ToolchainError("cxx failed (status 2):\nhelp")) == "cxx failed (status 2): help"
    assert one_line(ToolchainError("no compiler\nat all")) == "no compiler"
    assert one_line(OSError()) == "OSError"


@pytest.mark.parametrize(
    ("command", "flags", "meant"),
    [
        ("g++", "", False),
        ("g++ -march=x86-64-v3", "", False),
        ("g++ -march=native", "", True),
        ("g++", "-O3 -mcpu=native", True),
        ("python -m ziglang c++", "", True),
        ("/opt/zig/zig c++", "", True),
        ("/opt/zig/zig c++ -mcpu=baseline", "", False),
        ("/opt/zig/g++", "", False),
    ],
)
def test_an_object_for_one_processor_is_found_on_no_other(
    command: str, flags: str, meant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICC_CXXFLAGS", flags)

    def key() -> str:
        return Recipe({}, "unit.cpp", Compiler(tuple(command.split()), "1")).key

    before = key()
    assert key() == before
    monkeypatch.setattr(build, "processor_tag", lambda: "another one")
    assert (key() != before) is meant


def test_zig_compiles_for_all_processors_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "find_spec", lambda name: name)
    monkeypatch.setattr(toolchain, "_version", lambda command, called: "clang version 22")
    assert find_compiler({"PATH": "/nowhere"}).command[-3:] == ("ziglang", "c++", "-mcpu=baseline")
