"""An object in tiers: the same results on each, and no process or file left behind."""

from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from runtime.native.build import Recipe, build, recipe
from runtime.native.ctypes_api import ABI, LibraryError
from runtime.native.tiered_object import LARGE_LEG, Libraries, NotHere
from runtime.native.toolchain.compiler import Compilation, Compiler, ToolchainError
from runtime.native.toolchain.object_cache import Cache
from runtime.native.toolchain.pending_object import PendingObject, stop_all
from slicc.text.command.exit_status import FINE, MISUSED
from tester.campaign.campaign import Campaign
from tester.engines import selection
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.generator import native_loader
from tester.generator.native_loader import PendingLoops
from tester.generator.native_loops import load_loops, loops_recipe
from tester.native.batch import LegBatch
from tester.native.leg import NativeLegRun
from tester.native.system import TESTER_CLIENTS
from tests.compiling import CHECKED
from tests.processes import gone, in_two_processes, see_end, until
from tests.sampling import sampled
from tests.tester.native.equality import leg_of, loaded, native_engine, run_natively
from tests.tester.native.tiers import (
    SIZES,
    SMALL,
    compiler_that,
    copying,
    leavings,
    objects,
    run,
    sources_of,
    unit,
    without_rates,
)

# ------------------------------------------------------------------ the tiers


@pytest.fixture(autouse=True)
def _tiers(real: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLICC_CXXFLAGS", raising=False)


@pytest.fixture(scope="module")
def finished() -> Path:
    """An object of MI, where only its coming matters."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)
        engine = native_engine(loaded("MI")).native
        assert engine is not None
        return engine.library(SIZES).path


HURRIED = 'set -- "$@" -O0'
"""For a compiler whose optimised objects are none: where only their coming matters."""


@pytest.mark.slow
def test_all_tiers_run_alike(real: Compiler, tmp_path: Path) -> None:
    engine = native_engine(loaded("MI")).native
    assert engine is not None
    said: list[str] = []
    cache = Cache(tmp_path / "cache")
    quick, better, best = recipe(sources_of("MI"), TESTER_CLIENTS, SIZES, real).tiers
    libraries = Libraries(sources_of("MI"), TESTER_CLIENTS, real, cache, said.append)
    engine = type(engine)(engine.info, engine.plans, libraries)
    leg = leg_of("MI", "default", 7)
    assert libraries(SIZES).path == quick.find(cache)
    results = [run_natively(loaded("MI"), engine, leg)[0]]
    large = libraries(SIZES, LARGE_LEG)  # a large leg waits, but not for the best
    assert large.path == better.find(cache)
    results.append(run_natively(loaded("MI"), engine, leg)[0])
    until(lambda: libraries(SIZES) is not large)
    assert libraries(SIZES).path == best.find(cache)
    results.append(run_natively(loaded("MI"), engine, leg)[0])
    assert results[0] == results[1] == results[2]
    assert said == []
    assert libraries.began_on_tier0
    assert objects(cache.root) == 3
    assert leavings(cache.root) == []


def test_a_later_run_begins_with_the_best_object_there_is(
    real: Compiler, tmp_path: Path, finished: Path
) -> None:
    """What no run lasts long enough for is not compiled in vain again and again."""
    cache = Cache(tmp_path / "cache")
    note = tmp_path / "note"
    body = (
        "[ $how = -O3 ] && sleep 0.2\n"  # its priority is set once it has begun
        f"echo $how $(nice) >> {note}; [ $how = -O3 ] && exec sleep 600\n"
    )
    compiler = Compiler(
        (str(compiler_that(tmp_path, real, body + copying(finished))),), real.version
    )

    def begun() -> Libraries:
        return Libraries(sources_of("MI"), TESTER_CLIENTS, compiler, cache, print)

    def asked(times: int) -> list[str]:
        until(lambda: len(note.read_text().splitlines()) >= times)
        return note.read_text().splitlines()

    first = begun()
    first(SIZES)
    first(SIZES, LARGE_LEG)
    assert first.began_on_tier0
    asked(3)
    first.close()
    second = begun()
    assert second.have(SIZES)
    assert second(SIZES).path == second(SIZES, LARGE_LEG).path
    assert not second.began_on_tier0
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    assert asked(4) == [f"-O0 {usual}", f"-O1 {usual}", "-O3 19", "-O3 19"]
    second.close()
    assert objects(cache.root) == 2
    assert leavings(cache.root) == []


@pytest.mark.slow
def test_switching_in_the_middle_of_a_run_is_not_seen(
    place: Path, tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", str(compiler_that(tmp_path, real, HURRIED)))
    asked = 0

    def slowly(self: PendingObject) -> Path | None:
        nonlocal asked
        asked += 1
        return None if asked < 6 else self.wait()

    monkeypatch.setattr(PendingObject, "path", slowly)
    status, first, complaint = run(*SMALL, "--engine", "native")
    assert (status, complaint) == (FINE, "")
    assert asked >= 6
    assert first.endswith(" transitions/s; not yet optimised at first\n")
    status, second, _ = run(*SMALL, "--engine", "native")
    assert status == FINE
    assert second.endswith(" transitions/s\n")
    assert without_rates(first) == without_rates(second)


def test_the_first_legs_do_not_wait_for_a_compiler(
    place: Path, tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python engine runs them; the compiler that is not needed is stopped at the end."""
    expected = run(*SMALL, "--engine", "python")[1]
    note = tmp_path / "note"
    body = f"[ $how = none ] || {{ sleep 600 & echo $$ $! >> {note}; wait; }}"
    monkeypatch.setenv("CXX", str(compiler_that(tmp_path, real, body)))
    status, said, complaint = run(*SMALL)
    assert (status, complaint) == (FINE, "")
    assert "native engine, compiled by" in said
    assert said.endswith(" transitions/s; not yet optimised at first\n")
    assert without_rates(said)[2:] == without_rates(expected)[2:]  # not the compiler's name
    assert note.exists()
    assert all(gone(int(child)) for child in note.read_text().split())
    assert objects(place) == 0
    assert leavings(place) == []


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_later_legs_run_natively(
    jobs: str, place: Path, tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With workers as well: they find what their parent has stored, which compiles alone."""
    gate, done, log = tmp_path / "gate", tmp_path / "done", tmp_path / "legs"
    wait = f"while [ ! -e {gate} ]; do sleep 0.02; done"
    compile_ = f'{real} "$@"; case "$*" in *protocol*) touch {done};; esac; exit 0'
    body = f"[ $how = -O0 ] && {{ {wait}; {compile_}; }}; {HURRIED}"
    monkeypatch.setenv("CXX", str(compiler_that(tmp_path, real, body)))
    monkeypatch.setattr(LegBatch, "takes", lambda self, leg: False)
    in_python, natively = Campaign._run_in_python, NativeLegRun.run

    def noted_python(self: Campaign, *given: Any) -> Any:
        note("python")
        gate.touch()
        while not done.exists():
            time.sleep(0.02)
        return in_python(self, *given)

    def noted_native(self: NativeLegRun) -> Any:
        note("native")
        return natively(self)

    def note(engine: str) -> None:
        with log.open("a") as file:
            file.write(f"{engine}\n")

    monkeypatch.setattr(Campaign, "_run_in_python", noted_python)
    monkeypatch.setattr(NativeLegRun, "run", noted_native)
    small = ("--protocol", "MI", "--episodes", "240", "--seed", "3", "--leg-episodes", "20")
    status, said, complaint = run(*small, "--jobs", jobs)
    assert (status, complaint) == (FINE, "")
    engines = log.read_text().split()
    assert engines[0] == "python"
    assert engines[-1] == "native"
    assert len(engines) >= 12
    assert without_rates(said)[2:] == without_rates(run(*small, "--engine", "python")[1])[2:]


def test_large_legs_wait_for_a_compiler(
    tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    body = "[ $how = none ] || exec sleep 600"
    monkeypatch.setenv("CXX", str(compiler_that(tmp_path, real, body)))
    chosen = choose(Choice.auto, loaded("MI"), print, python_meanwhile=True)
    try:
        assert not chosen.is_ready(leg_of("MI", "default", 7))
        monkeypatch.setattr(selection, "MEANWHILE_ACCESSES", 10)
        assert chosen.is_ready(leg_of("MI", "default", 7))
    finally:
        chosen.close()


def test_code_that_measures_gets_the_optimised_object(
    real: Compiler, tmp_path: Path, finished: Path
) -> None:
    said: list[str] = []
    cache = Cache(tmp_path / "cache")
    hurried = Compiler((str(compiler_that(tmp_path, real, copying(finished))),), real.version)
    tiny = unit(real)
    assert tiny.find(cache) is None
    made = tiny.make(cache)
    assert tiny.find(cache) == made
    quick, better, best = tiny.tiers
    assert best == tiny
    assert quick.find(cache) is None
    assert better.find(cache) is None
    assert len({each.key for each in tiny.tiers}) == 3
    libraries = Libraries(
        sources_of("MI"), TESTER_CLIENTS, hurried, cache, said.append, optimised=True
    )
    libraries(SIZES)
    assert not libraries.began_on_tier0
    assert objects(cache.root) == 2
    assert said == []


@pytest.mark.parametrize(("flags", "tiers"), [("-O1", 1), ("-g", 3), ("-Og -g", 1)])
def test_flags_with_a_level_of_their_own_make_one_tier(
    flags: str, tiers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICC_CXXFLAGS", flags)
    assert len(unit(Compiler(("c++",), "1")).tiers) == tiers


# ------------------------------------------------------------------ failures


@pytest.mark.slow
def test_a_failing_background_compilation_is_a_warning(
    place: Path, tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = 'case $how in -O[13]) echo "out of cheese"; exit 1;; esac'
    monkeypatch.setenv("CXX", str(compiler_that(tmp_path, real, body)))
    monkeypatch.setattr(PendingObject, "path", PendingObject.wait)
    status, said, complaint = run(*SMALL, "--engine", "native")
    assert status == FINE
    assert "native engine" in said
    less, without = complaint.splitlines()
    assert re.fullmatch(
        r"gpu-tester: the run continues with code that is less optimised: "
        r".*cxx failed \(status 1\): "
        r"out of cheese",
        less,
    )
    assert "programs are generated without compiled code: " in without
    assert objects(place) == 1
    assert leavings(place) == []


def test_what_a_failing_compiler_prints_at_tier0_is_the_error(
    place: Path, tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note"
    body = f'echo $how >> {note}; [ $how = -O0 ] && echo "out of cheese" && exit 1'
    monkeypatch.setenv("CXX", str(compiler_that(tmp_path, real, body)))
    status, _, complaint = run(*SMALL, "--engine", "native")
    assert status == MISUSED
    assert "out of cheese" in complaint
    assert note.read_text().split() == ["none", "-O0"]
    assert objects(place) == 0


@pytest.mark.parametrize("begun", [False, True])
def test_what_a_compiler_refuses_is_asked_for_once(
    begun: bool, tmp_path: Path, real: Compiler
) -> None:
    """Each candidate of a shrunk leg would wait for it, where a toolchain lacks its linker."""
    note = tmp_path / "note"
    bad = compiler_that(tmp_path, real, f'echo $how >> {note}; echo "no linker"; exit 1')
    cache = Cache(tmp_path / "cache")
    how = Compiler((str(bad),), "1")
    libraries = Libraries(sources_of("MI"), TESTER_CLIENTS, how, cache, lambda _: None)
    if begun:
        assert not libraries.have(SIZES)
    for ask in (libraries, libraries, libraries.have):
        with pytest.raises(ToolchainError, match="no linker"):
            ask(SIZES)
    assert note.read_text().split() == ["-O0"]
    assert leavings(cache.root) == []


@pytest.mark.slow
def test_a_full_disk_costs_only_time(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Recipe, cache: Cache, idle: bool = False) -> PendingObject:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Recipe, "begin", full)
    status, said, complaint = run(*SMALL, "--engine", "native")
    assert status == FINE
    assert "native engine" in said
    assert complaint.count("No space left on device") == 2


def test_a_hanging_background_compiler_is_stopped_in_time(
    tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note"
    path = compiler_that(tmp_path, real, f"sleep 600 & echo $! > {note}; wait")
    monkeypatch.setenv("SLICC_COMPILE_SECONDS", "1")
    cache = Cache(tmp_path / "cache")
    pending = unit(Compiler((str(path),), "1")).begin(cache)
    assert pending.path() is None
    with pytest.raises(ToolchainError, match="had not finished after 1 seconds"):
        pending.wait()
    pending.stop()
    assert gone(int(note.read_text()))
    assert leavings(cache.root) == []


def test_a_disk_that_fills_while_a_compiler_works_costs_only_time(
    tmp_path: Path, real: Compiler, finished: Path
) -> None:
    body = f'case "$*" in *{tmp_path}/cache/*) echo "No space left on device"; exit 1;; esac'
    body = f"{body}\n{copying(finished)}"
    compiler = Compiler((str(compiler_that(tmp_path, real, body)),), real.version)
    cache = Cache(tmp_path / "cache")
    libraries = Libraries(sources_of("MI"), TESTER_CLIENTS, compiler, cache, print)
    assert not libraries.have(SIZES)
    assert libraries(SIZES).abi() == ABI
    assert not cache.root.is_relative_to(tmp_path)
    assert "No space left on device" in cache.note
    libraries.close()


def test_stopping_twice_is_no_mistake(tmp_path: Path, real: Compiler) -> None:
    cache = Cache(tmp_path / "cache")
    pending = unit(real).begin(cache)
    pending.stop()
    pending.stop()
    assert list(cache.root.iterdir()) == []


def test_a_compiler_that_cannot_be_run_leaves_nothing(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    with pytest.raises(ToolchainError, match="cannot be run"):
        unit(Compiler(("/nowhere/c++",), "1")).begin(cache)
    assert list(cache.root.iterdir()) == []
    with pytest.raises(ToolchainError, match="cannot be run"):
        Compilation(Compiler(("/nowhere/c++",), "1"), tmp_path, tmp_path / "a.so", [], {}, [])
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


# ------------------------------------------------------------------ the end of the process


@pytest.mark.parametrize("ending", sampled(["exit", "error", "SIGINT", "SIGTERM", "SIGHUP"], 3))
def test_nothing_is_left_at_the_end(ending: str, tmp_path: Path, real: Compiler) -> None:
    """Of a program that heeds endings, as our commands do."""
    note, root = tmp_path / "note", tmp_path / "cache"
    compiler = compiler_that(tmp_path, real, f"sleep 600 & echo $$ $! >> {note}; wait")
    program = "from slicc.text.command.exit_status import heed_endings\nheed_endings()\n"
    see_end(program + beginning(compiler, root), ending, busy=note.exists)
    children = note.read_text().split() if note.exists() else []
    assert all(gone(int(child)) for child in children)
    assert list(root.iterdir()) == []


def beginning(compiler: Path, root: Path) -> str:
    """A program that begins to compile."""
    return (
        "from pathlib import Path\n"
        "from runtime.native.toolchain.object_cache import Cache\n"
        "from runtime.native.toolchain.compiler import Compiler\n"
        "from tests.tester.native.tiers import unit\n"
        f"unit(Compiler(({str(compiler)!r},), '1')).begin(Cache(Path({str(root)!r})))\n"
    )


@pytest.mark.slow
def test_a_run_that_is_ended_stops_its_compilers(
    place: Path, tmp_path: Path, real: Compiler
) -> None:
    note = tmp_path / "note"
    body = f"case $how in -O[13]) sleep 600 & echo $$ $! >> {note}; wait;; esac"
    path = compiler_that(tmp_path, real, body)
    program = (
        "from slicc.text.command.exit_status import heed_endings\n"
        "from tester.engines.choice import Choice\n"
        "from tester.engines.selection import choose\n"
        "from protocols.loader import load_protocol\n"
        "heed_endings()\n"
        "choose(Choice.native, load_protocol('MI', native=True), print)\n"
    )

    def busy() -> bool:
        return note.exists() and len(note.read_text().split()) == 4

    see_end(program, "SIGTERM", {**os.environ, "CXX": str(path)}, busy)
    assert all(gone(int(child)) for child in note.read_text().split())
    assert objects(place) == 1
    assert leavings(place) == []


def test_signals_stay_as_they_are(tmp_path: Path, real: Compiler) -> None:
    """They belong to the program that uses us; its command line may handle them."""
    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = [signal.getsignal(each) for each in signals]
    unit(real).begin(Cache(tmp_path / "cache")).wait()
    assert [signal.getsignal(each) for each in signals] == before


def test_a_killed_process_leaves_a_compiler_that_ends_and_no_object(
    tmp_path: Path, real: Compiler
) -> None:
    """What it leaves in the cache is swept away later, as any abandoned directory."""
    note = tmp_path / "note"
    compiler = compiler_that(tmp_path, real, f"echo $$ >> {note}; sleep 0.5")
    root = tmp_path / "cache"
    see_end(beginning(compiler, root), "SIGKILL", busy=note.exists)
    assert gone(int(note.read_text()))
    assert objects(root) == 0
    (left,) = root.iterdir()
    os.utime(left, (0, 0))
    Cache(root).prune()
    assert list(root.iterdir()) == []


def test_what_is_finished_at_the_end_is_kept(tmp_path: Path, real: Compiler) -> None:
    cache = Cache(tmp_path / "cache")
    how = unit(real)
    pending = how.begin(cache)
    until(lambda: pending._compilation._process._process.poll() is not None)
    assert how.find(cache) is None
    stop_all()
    assert how.find(cache) is not None
    assert leavings(cache.root) == []


# ------------------------------------------------------------------ several processes


def _make(root: Path, compiler: Compiler) -> None:
    answer = ctypes.CDLL(str(unit(compiler, TALE).begin(Cache(root)).wait()))
    assert answer is not None


TALE = "".join(f"int f{n}(int x) {{ return x * {n}; }}\n" for n in range(50))


def test_two_processes_may_compile_the_same(tmp_path: Path, real: Compiler) -> None:
    root = tmp_path / "cache"
    in_two_processes(_make, root, real)
    assert objects(root) == 1
    assert leavings(root) == []
    assert unit(real, TALE).find(Cache(root)) is not None


def _as_a_worker(pending: PendingObject, path: Path, libraries: Libraries) -> None:
    assert pending.path() is None
    pending.stop()
    stop_all()
    with pytest.raises(NotHere):
        libraries(SIZES)
    path.touch()
    until(lambda: pending.path() is not None)


def test_forks_look_into_the_cache_only(tmp_path: Path, real: Compiler) -> None:
    gate, asked = tmp_path / "gate", tmp_path / "asked"
    path = compiler_that(tmp_path, real, f"while [ ! -e {gate} ]; do sleep 0.05; done")
    cache = Cache(tmp_path / "cache")
    pending = unit(Compiler((str(path),), "1")).begin(cache)
    libraries = Libraries(sources_of("MI"), TESTER_CLIENTS, real, cache, print)
    worker = multiprocessing.get_context("fork").Process(
        target=_as_a_worker, args=(pending, asked, libraries)
    )
    worker.start()
    while not asked.exists() and worker.is_alive():
        time.sleep(0.05)
    gate.touch()
    pending.wait()
    worker.join(60)
    assert worker.exitcode == 0


@pytest.mark.slow
def test_workers_compile_nothing(
    place: Path, tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run(*SMALL, "--engine", "python")[1]
    note = tmp_path / "note"
    monkeypatch.setenv("CXX", str(compiler_that(tmp_path, real, f"echo $how >> {note}; {HURRIED}")))
    status, said, _ = run(*SMALL, "--engine", "native", "--jobs", "2")
    assert status == FINE
    assert without_rates(said)[2:] == without_rates(expected)[2:]  # not the compiler's name
    begun = sorted(note.read_text().split())
    assert begun in (["-O0", "-O1", "-O3", "none"], ["-O0", "-O1", "-O3", "-O3", "none"])


# ------------------------------------------------------------------ objects that are none


def test_an_object_that_cannot_be_loaded_is_made_anew(
    tmp_path: Path, real: Compiler, finished: Path
) -> None:
    """One from a machine with another library of C, or from a compiler that has had a bad day."""
    cache = Cache(tmp_path / "cache")
    compiler = Compiler((str(compiler_that(tmp_path, real, copying(finished))),), real.version)
    how = recipe(sources_of("MI"), TESTER_CLIENTS, SIZES, compiler).tiers[0]

    def fill(directory: Path) -> None:
        (directory / "protocol.so").write_bytes(b"\x7fELF from elsewhere")

    cache.make("object", how.key, fill)
    assert how.find(cache) is not None
    assert build(how, TESTER_CLIENTS, cache).abi() == ABI
    assert build(how, TESTER_CLIENTS, cache).path == how.find(cache)


def test_an_object_that_is_none_is_not_kept(tmp_path: Path, real: Compiler) -> None:
    bad = compiler_that(tmp_path, real, 'for last; do :; done; echo no > "$last"; exit 0')
    cache = Cache(tmp_path / "cache")
    how = recipe(sources_of("MI"), TESTER_CLIENTS, SIZES, Compiler((str(bad),), "1"))
    with pytest.raises(LibraryError, match="cannot be loaded"):
        build(how, TESTER_CLIENTS, cache)
    assert list(cache.root.iterdir()) == []


# ------------------------------------------------------------------ native loops


@pytest.mark.slow
def test_native_loops_come_later(tmp_path: Path, real: Compiler) -> None:
    said: list[str] = []
    cache = Cache(tmp_path / "cache")
    loops = PendingLoops(real, cache, said.append)
    assert loops() is None
    until(lambda: loops() is not None)
    assert loops() is loops()
    assert loops() is not None
    assert PendingLoops(real, cache, said.append)() is not None
    assert said == []


def test_native_loops_of_another_version_are_left_away(
    tmp_path: Path, real: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = 'extern "C" __attribute__((visibility("default"))) '
    text = f"{seen} long tester_loops_version() {{ return 1; }}\n"
    foreign = unit(real, text).make(Cache(tmp_path / "cache"))
    with pytest.raises(LibraryError, match="of version 1, not"):
        load_loops(foreign)
    nonsense = tmp_path / "nonsense.so"
    nonsense.write_text("nonsense")
    with pytest.raises(LibraryError):
        load_loops(nonsense)
    monkeypatch.setattr(native_loader, "loops_recipe", lambda compiler: unit(compiler, text))
    said: list[str] = []
    loops = PendingLoops(real, Cache(tmp_path / "cache"), said.append)
    assert loops() is None
    assert len(said) == 1
    assert "without compiled code: the generator's native loops are of version 1" in said[0]
    assert unit(real, text).find(Cache(tmp_path / "cache")) is None, "nor found again"


def test_native_loops_that_are_there_are_used_at_once(
    real: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLICC_CXXFLAGS", CHECKED)
    cache = Cache(tmp_path / "cache")
    loops_recipe(real).make(cache)
    assert PendingLoops(real, cache, print)() is not None
