"""``gcn litmus``: litmus tests as kernels, many times.

Invariant: all tests are read before the first one runs, so a mistake in one costs no runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gpu.cli.litmus.mutants import mutate
from gpu.cli.litmus.picture import draw
from gpu.cli.litmus.report import block, summary
from gpu.cli.options import LitmusOptions
from gpu.code_object.targets import DEFAULT_PROCESSOR
from gpu.errors import GpuError
from gpu.litmus.kernel import Layout, build
from gpu.litmus.kernel import TooLarge as KernelTooLarge
from gpu.litmus.library import SUFFIX, names, shipped
from gpu.litmus.scenario import Test, read_test
from gpu.litmus.series import run_series
from gpu.litmus.single_run import Machine
from gpu.litmus.situation import most_instances, situation
from gpu.memory.coherent.factory import EngineChoice
from gpu.memory_model.events import TooLarge
from gpu.memory_model.model import judge
from gpu.wave_size import LANES
from slicc.scenario_text.parser import read_scenario
from slicc.text.command.exit_status import FOUND
from slicc.text.escapes import quoted
from slicc.text.files import why_not_writable
from slicc.text.suggest import suggest
from slicc.text.terminal import printable

_LAUNCHES: Final = 100
"""As many at least, before runs share them."""


def litmus(options: LitmusOptions) -> int:
    """The exit status: whether an outcome was forbidden or refused, or a mutant missed."""
    if options.list_:
        for name in names():
            print(f"{name:<28} {printable(shipped(name).scenario.title)}".rstrip())
        return 0
    processor = options.target or DEFAULT_PROCESSOR
    if options.mutate and options.instances is not None:
        raise GpuError("--instances: mutants are launched one by one")
    instances = options.instances or _instances(1 if options.mutate else options.runs)
    tests = {word: _read(word, processor, instances) for word in options.tests or names()}
    if options.show is not None:
        _make(options.show)
    machine = Machine(engine=EngineChoice(options.engine.value), processor=processor)
    results = []
    with _workers(options.jobs) as workers:
        if options.mutate:
            missed = mutate(tests, machine, options.seed, options.runs, workers)
            return FOUND if missed else 0
        for name, test in tests.items():
            results.append(
                run_series(test, options.runs, options.seed, machine, workers, instances)
            )
            print("\n".join(block(printable(name), results[-1])), flush=True)
            if options.show is not None:
                for path in draw(options.show, Path(name).stem, results[-1], processor):
                    print(f"  drawn in {printable(str(path))}", flush=True)
    print(summary(results))
    return FOUND if any(each.failed for each in results) else 0


def _make(directory: Path) -> None:
    """Before the runs, of which some take long."""
    why_not = why_not_writable(directory)
    if why_not is None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why_not = f"{quoted(str(directory))}: {error.strerror}"
    if why_not is not None:
        raise GpuError(f"--show: {why_not}")


def _read(word: str, processor: str, instances: int) -> Test:
    if not word.endswith(SUFFIX):
        if word in names():
            return shipped(word)
        near = suggest(word, names())
        help = f"did you mean {near}?" if near else f"--list has all; files end in {SUFFIX}"
        raise GpuError(f"{quoted(word)} is no litmus test; {help}")
    try:
        test = read_test(read_scenario(Path(word)))
    except OSError as error:
        raise GpuError(f"cannot read {quoted(word)}: {error.strerror}") from None
    try:
        judge(test.program, test.rules)
        count = min(instances, most_instances(test.program))
        drawn = situation(test.program, 0, 0, test.units, count)
        build(test.program, drawn, Layout(0, 0, 0), processor=processor)
    except (TooLarge, KernelTooLarge) as error:
        raise GpuError(f"{quoted(word)}: {error}") from None
    return test


def _instances(runs: int) -> int:
    """How many instances a launch has: a power of two that leaves enough launches."""
    share = max(1, min(LANES, runs // _LAUNCHES))
    return 1 << share.bit_length() - 1


@contextmanager
def _workers(jobs: int) -> Iterator[ProcessPoolExecutor | None]:
    if jobs == 1:
        yield None
        return
    with ProcessPoolExecutor(jobs) as workers:
        yield workers
