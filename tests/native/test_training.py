"""Code that is trained: the same results, and nothing left behind."""

from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.native.build import PendingObject, Recipe, Sizes
from runtime.native.libraries import Libraries
from runtime.native.object_cache import Cache
from runtime.native.toolchain import Compiler, ToolchainError
from runtime.native.trained import LaterTrained
from runtime.native.training import Exercise
from slicc.exit_status import FINE, MISUSED
from tester import training
from tester.native_leg import NativeProtocol
from tester.training import PATIENCE_SECONDS, Trainer
from tests.native.equality import leg_of, loaded, native, run_natively
from tests.native.tiers import (
    SIZES,
    SMALL,
    compiler_that,
    leavings,
    objects,
    run,
    sources_of,
    unit,
    without_rates,
)
from tests.processes import gone, in_two_processes, see_end

VISIBLE = 'extern "C" __attribute__((visibility("default")))'
BRANCHES = f"""
{VISIBLE} int answer(int x) {{ return x > 3 ? 42 : 41; }}
#ifdef SLICC_TRAINING
extern "C" void __gcov_dump();
{VISIBLE} void slicc_write_counts() {{ __gcov_dump(); }}
#endif
"""
"""As much as training needs, compiled in no time."""


@pytest.fixture
def gcc(real: Compiler) -> Compiler:
    if unit(real).trained("lessons") is None:
        pytest.skip(f"{real.version} compiles nothing that can be trained")
    return real


def tiny(compiler: Compiler) -> Recipe:
    how = unit(compiler, BRANCHES).trained("questions")
    assert how is not None
    return how


def ask(watched: Path) -> None:
    library = ctypes.CDLL(str(watched))
    assert [library.answer(x) for x in range(6)] == [41, 41, 41, 41, 42, 42]


class Eager(Trainer):
    """Finds that it is time at once; ``exercises`` instead of legs."""

    def __init__(self, first: bool = False, exercise: Exercise = ask) -> None:
        super().__init__(loaded("MI"), first)
        self._exercise = exercise

    def due(self) -> bool:
        return True

    def exercise(self, sizes: Sizes) -> Exercise:
        return self._exercise


# ------------------------------------------------------------------ the same results


def test_trained_code_runs_alike(gcc: Compiler, tmp_path: Path) -> None:
    protocol, engine, leg = loaded("MSI"), native("MSI"), leg_of("MSI", "default", 7)
    cache = Cache(tmp_path / "cache")
    said: list[str] = []
    trainer = Trainer(protocol, first=True)
    libraries = Libraries(sources_of("MSI"), gcc, cache, said.append, trainer=trainer)
    path = libraries(SIZES).path
    assert libraries.trained
    trained, _ = run_natively(protocol, NativeProtocol(engine.info, engine.plans, libraries), leg)
    untrained, run = run_natively(protocol, engine, leg)
    assert run.system.library.path.read_bytes() != path.read_bytes()
    assert trained == untrained
    assert said == []
    assert objects(cache.root) == 1
    assert leavings(cache.root) == []


@pytest.mark.slow
def test_training_beside_the_legs_is_not_seen(
    gcc: Compiler, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, expected, _ = run(*SMALL, "--engine", "native", "--train", "never")
    asked = 0

    def slowly(self: PendingObject) -> Path | None:
        nonlocal asked
        asked += 1
        return None if asked < 3 else self.wait()

    monkeypatch.setattr(PendingObject, "path", slowly)
    monkeypatch.setattr(training, "PATIENCE_SECONDS", 0.0)
    status, during, complaint = run(*SMALL, "--engine", "native")
    assert (status, complaint) == (FINE, "")
    assert asked >= 3
    assert during.endswith("; trained\n")
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(place.parents[1]))
    status, after, complaint = run(*SMALL, "--engine", "native")
    assert (status, complaint) == (FINE, "")
    assert after.endswith("; trained\n")
    _, forked, _ = run(*SMALL, "--engine", "native", "--jobs", "2")
    assert forked.endswith("; trained\n")
    _, never, _ = run(*SMALL, "--engine", "native", "--train", "never")
    assert not never.endswith("; trained\n")
    texts = [without_rates(text) for text in (expected, during, after, forked, never)]
    assert texts == 5 * texts[:1]
    assert leavings(place) == []


# ------------------------------------------------------------------ when, and under which name


def test_short_runs_train_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(training.time, "monotonic", lambda: now)
    auto, first = Trainer(loaded("MI")), Trainer(loaded("MI"), first=True)
    assert (auto.due(), first.due()) == (False, True)
    now += PATIENCE_SECONDS - 1
    assert not auto.due()
    now += 1
    assert auto.due()


def test_every_form_has_a_key_of_its_own(gcc: Compiler) -> None:
    how = unit(gcc)
    forms = [how, how.quickly(), how.trained("these legs"), how.trained("those legs")]
    assert len({form.key for form in forms if form is not None}) == 4


def test_what_is_trained_elsewhere_is_found(gcc: Compiler, tmp_path: Path) -> None:
    """By another run that would begin now, and by a fork that only looks."""
    cache = Cache(tmp_path / "cache")
    begins = later_for(tiny(gcc), cache, Eager())
    looks = later_for(tiny(gcc), cache, Trainer(loaded("MI")))
    assert looks.found() is None
    made = tiny(gcc).begin_training(cache, ask).wait()
    assert begins.look() == made
    assert begins._pending is None
    assert looks.look() is None
    assert looks.found() == made


def later_for(how: Recipe, cache: Cache, trainer: Trainer) -> LaterTrained:
    later = LaterTrained(how, SIZES, cache, trainer)
    later._how = how
    return later


@pytest.mark.parametrize(
    ("flags", "version"), [("-g", "g++ 12"), ("-O3", "g++ 12"), ("", "clang version 19.1.0")]
)
def test_who_cannot_be_trained(flags: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLICC_CXXFLAGS", raising=False)
    assert unit(Compiler(("c++",), "g++ 12")).trained("legs") is not None
    monkeypatch.setenv("SLICC_CXXFLAGS", flags)
    assert unit(Compiler(("c++",), version)).trained("legs") is None


def test_a_daemon_cannot_train(gcc: Compiler, tmp_path: Path) -> None:
    """A worker of a pool, say: it may not start processes."""
    context = multiprocessing.get_context("fork")
    cache = Cache(tmp_path / "cache")
    daemon = context.Process(target=_refuse, args=(gcc, cache), daemon=True)
    daemon.start()
    daemon.join(60)
    assert daemon.exitcode == 0
    assert list(cache.root.iterdir()) == []


def _refuse(compiler: Compiler, cache: Cache) -> None:
    with pytest.raises(ToolchainError, match="a daemon may not start"):
        tiny(compiler).begin_training(cache, ask)


def test_what_is_trained_holds_nothing_else(gcc: Compiler, tmp_path: Path) -> None:
    made = tiny(gcc).begin_training(Cache(tmp_path / "cache"), ask).wait()
    assert sorted(path.name for path in made.parent.iterdir()) == [
        "protocol.so",
        "seal.json",
        "unit.cpp",
    ]
    ask(made)
    assert not hasattr(ctypes.CDLL(str(made)), "slicc_write_counts")


# ------------------------------------------------------------------ failures

FAILING = {
    "cannot watch": '[ "$watched" ] && echo "no libgcov" && exit 1',
    "cannot use counts": '[ "$counts" ] && echo "cannot read counts" && exit 1',
    "writes no object": '[ "$counts" ] && exit 0',
}


def compiler_for_training(tmp_path: Path, real: Compiler, body: str) -> Compiler:
    """The body knows $watched and $counts, if it is told to make such an object."""
    flags = (
        'watched=; counts=; for each in "$@"; do case $each in '
        "-fprofile-generate) watched=1;; -fprofile-use) counts=1;; esac; done\n"
    )
    return Compiler((str(compiler_that(tmp_path, real, flags + body)),), real.version)


@pytest.mark.parametrize("what", FAILING)
def test_a_failing_compiler_leaves_nothing(what: str, gcc: Compiler, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    compiler = compiler_for_training(tmp_path, gcc, FAILING[what])
    pending = tiny(compiler).begin_training(cache, ask)
    with pytest.raises(ToolchainError):
        pending.wait()
    with pytest.raises(ToolchainError):
        pending.path()  # nor is it finished when it is asked again
    pending.stop()
    assert list(cache.root.iterdir()) == []


def _breaks(watched: Path) -> None:
    raise ValueError(watched)


def _dies(watched: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _leaves(watched: Path) -> None:
    os._exit(0)


@pytest.mark.parametrize(
    ("exercise", "words"),
    [(_breaks, "with status 1"), (_dies, "with status -9"), (_leaves, "has left no counts")],
)
def test_an_exercise_that_fails_leaves_nothing(
    exercise: Exercise, words: str, gcc: Compiler, tmp_path: Path
) -> None:
    cache = Cache(tmp_path / "cache")
    pending = tiny(gcc).begin_training(cache, exercise)
    with pytest.raises(ToolchainError, match=words):
        pending.wait()
    pending.stop()
    assert list(cache.root.iterdir()) == []


def _sleeps(watched: Path) -> None:
    (watched.parents[2] / "note").write_text(str(os.getpid()))
    time.sleep(600)


def test_an_exercise_without_end_is_stopped(
    gcc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path / "cache")
    pending = tiny(gcc).begin_training(cache, _sleeps)
    note = tmp_path / "note"
    until(lambda: pending.path() is None and note.exists() and bool(note.read_text()))
    monkeypatch.setattr(pending._entry._step._step, "_deadline", 0.0)  # type: ignore[attr-defined]
    with pytest.raises(ToolchainError, match="had not ended after"):
        pending.wait()
    pending.stop()
    assert gone(int(note.read_text()))
    assert list(cache.root.iterdir()) == []


def until(true: Callable[[], bool]) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it never came")


@pytest.mark.parametrize("first", [False, True])
def test_a_run_goes_on_without(
    first: bool, gcc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has not asked for training does not hear of it."""

    def full(self: Recipe, cache: Cache, exercise: Exercise) -> PendingObject:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Recipe, "begin_training", full)
    said: list[str] = []
    cache = Cache(native("MI").library(SIZES, 0).path.parents[1])  # has the optimised object
    libraries = Libraries(sources_of("MI"), gcc, cache, said.append, trainer=Eager(first))
    library = libraries(SIZES)
    assert libraries(SIZES) is library
    assert not libraries.trained
    assert [words.partition(":")[0] for words in said] == ["nothing is trained"] * first


def test_asking_for_what_is_impossible(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, _, complaint = run(*SMALL, "--engine", "python", "--train", "first")
    assert status == MISUSED
    assert "--train first has no effect with --engine python" in complaint
    monkeypatch.setenv("SLICC_CXXFLAGS", "-O0")
    status, _, complaint = run(*SMALL, "--engine", "native", "--train", "first")
    assert status == FINE
    assert complaint.startswith("gpu-tester: nothing is trained: only code that g++ compiles")


# ------------------------------------------------------------------ the end of the process


@pytest.mark.parametrize("ending", ["exit", "SIGINT", "SIGTERM"])
@pytest.mark.parametrize("step", ["watched", "exercise", "counts"])
def test_nothing_is_left_at_the_end(
    step: str, ending: str, gcc: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "note"
    body = f'if [ "${step}" ]; then echo $$ >> {note}; exec sleep 600; fi'
    compiler = compiler_for_training(tmp_path, gcc, body)
    program = (
        "from pathlib import Path\n"
        "from runtime.native.object_cache import Cache\n"
        "from runtime.native.toolchain import Compiler\n"
        "from tests.native.test_training import ask, tiny, until, _sleeps\n"
        f"how = tiny(Compiler(({str(compiler)!r},), {gcc.version!r}))\n"
        f"work = {'_sleeps' if step == 'exercise' else 'ask'}\n"
        f"pending = how.begin_training(Cache(Path({str(tmp_path)!r}) / 'cache'), work)\n"
        f"note = Path({str(note)!r})\n"
        "until(lambda: pending.path() is None and note.exists() and bool(note.read_text()))\n"
    )
    see_end(program, ending)
    assert gone(int(note.read_text()))
    assert list((tmp_path / "cache").iterdir()) == []


def _train(root: Path, compiler: Compiler) -> None:
    ask(tiny(compiler).begin_training(Cache(root), ask).wait())


def test_two_processes_may_train_the_same(gcc: Compiler, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    in_two_processes(_train, root, gcc)
    assert objects(root) == 1
    assert leavings(root) == []
