"""Which engine runs the legs: the Python one, or the protocol compiled to native code.

Invariant: both give the same results. A leg that fails natively is run again on the Python
engine, whose report is printed; if that run ends differently, one of our engines is wrong, and
:class:`EngineDisagreement` is raised instead of a verdict about the protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from protocols.loader import LoadedProtocol
from runtime.native.ctypes_api import LibraryError
from runtime.native.plan import NotNative, Plans
from runtime.native.statistics import kinds_of
from runtime.native.system import SystemTooLarge
from runtime.native.tiered_object import Libraries
from runtime.native.toolchain.compiler import ToolchainError, find_compiler, one_line
from runtime.native.toolchain.object_cache import CacheError, user_cache
from slicc.text.lazy_dataclass import dataclass
from tester.engines.choice import Choice
from tester.errors import ConfigError
from tester.execution.events import Finding
from tester.execution.handover import handover_rules_of
from tester.generator.native_loader import PendingLoops
from tester.generator.native_loops import CompiledLoops
from tester.native.batch import LegBatch
from tester.native.leg import NativeLegRun, NativeProtocol, sizes_of
from tester.native.system import TESTER_CLIENTS
from tester.program.replay_file import Leg

if TYPE_CHECKING:
    from tester.execution.leg import LegRun


class EngineDisagreement(Exception):
    """Our own bug: a leg ended differently on the two engines."""

    def __init__(self, leg: Leg, native: str, python: str) -> None:
        super().__init__(
            f"the engines disagree about leg {leg.number} of seed {leg.seed}:\n"
            f"  native: {native}\n  Python: {python}"
        )
        self.leg = leg


CANNOT = (ToolchainError, CacheError, LibraryError, NotNative, SystemTooLarge)
"""Why the native engine may be impossible, each with a message for the user."""
MEANWHILE_ACCESSES: Final = 5_000
"""The Python engine runs a leg of so many lane accesses in less time than compilers take."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """``native`` None: the Python engine. ``summary``: one line for the user.

    ``notify``: called when the native engine cannot run a leg and the Python one continues; None
    where the user insists on the native one.
    """

    native: NativeProtocol | None
    summary: str
    notify: Callable[[str], None] | None = None
    libraries: Libraries | None = None
    """The compiled code of the native engine."""
    pending_loops: PendingLoops | None = None
    """The generator's native loops."""
    batch: LegBatch | None = None
    """Runs small legs of the native engine."""
    python_meanwhile: bool = False
    """Whether small legs run on the Python engine until the code of the native one is compiled."""

    @property
    def loops(self) -> CompiledLoops | None:
        """The generator's native loops, if they are compiled by now."""
        return None if self.pending_loops is None else self.pending_loops()

    @property
    def began_on_tier0(self) -> bool:
        """Whether legs ran on code that was not optimised: that affects rates, not results."""
        return self.libraries is not None and self.libraries.began_on_tier0

    def is_ready(self, leg: Leg) -> bool:
        """Whether the native engine is to run a leg, though it may have to be compiled first.

        Raises what is in CANNOT.
        """
        if not self.python_meanwhile or self.libraries is None:
            return True
        large = leg.program.lane_address.size > MEANWHILE_ACCESSES
        return large or self.libraries.have(sizes_of(leg.description))

    def update(self) -> Chosen:
        """Store what was compiled meanwhile, so that forks of this process find it.

        The result is what runs the next legs. Raises ConfigError.
        """
        if self.pending_loops is not None:
            self.pending_loops()
        if self.libraries is not None:
            try:
                self.libraries.update()
            except CANNOT as error:
                return self.without_native(error)
        return self

    def close(self) -> None:
        """No further leg is run: stop what is still being compiled."""
        if self.libraries is not None:
            self.libraries.close()
        if self.pending_loops is not None:
            self.pending_loops.close()

    def notifying(self, notify: Callable[[str], None]) -> Chosen:
        """The choice with another ``notify``."""
        return replace(self, notify=notify)

    def without_native(self, why: Exception) -> Chosen:
        """The Python engine instead. Raises ConfigError where the native one was asked for."""
        if self.notify is None:
            raise ConfigError(f"--engine native: {why}") from None
        summary = _instead(why)
        self.notify(summary)
        if self.libraries is not None:
            self.libraries.close()
        return Chosen(None, summary, pending_loops=self.pending_loops)


PYTHON: Final = Chosen(None, "Python engine")


def choose(
    choice: Choice,
    protocol: LoadedProtocol,
    notify: Callable[[str], None],
    *,
    warn: Callable[[str], None] | None = None,
    optimised: bool = False,
    counts: bool = False,
    python_meanwhile: bool = False,
) -> Chosen:
    """The engine for a run. Raises ConfigError if the native one is asked for and not possible.

    ``notify``: see :class:`Chosen`. ``warn``: called with problems that only cost time; by default
    ``notify``. ``optimised``: compile optimised code at once, for measurements. ``counts``: its
    legs can be counted (`tester.statistics`). ``python_meanwhile``: do not wait for a compiler
    (see :class:`Chosen`), unless the native engine is asked for.
    """
    if choice is Choice.python:
        return PYTHON
    fallback = None if choice is Choice.native else notify
    try:
        meanwhile = python_meanwhile and fallback is not None
        return _native(protocol, fallback, warn or notify, optimised, counts, meanwhile)
    except CANNOT as error:
        if fallback is None:
            raise ConfigError(f"--engine native: {error}") from None
        return Chosen(None, _instead(error))


def _native(
    protocol: LoadedProtocol,
    fallback: Callable[[str], None] | None,
    warn: Callable[[str], None],
    optimised: bool,
    counts: bool,
    python_meanwhile: bool,
) -> Chosen:
    if protocol.native is None:
        raise NotNative(protocol.why_not_native or "the protocol was loaded with native=False")
    compiler = find_compiler()
    cache = user_cache()
    clients = replace(TESTER_CLIENTS, counts=counts)
    libraries = Libraries(protocol.native, clients, compiler, cache, warn, optimised)
    plans = Plans(protocol.info, protocol.native.shape, counts)
    prepare = libraries.have if python_meanwhile else libraries
    prepare(sizes_of(protocol.description))
    loops = PendingLoops(compiler, cache, warn, optimised)
    note = f"\nnote: {cache.note}" if cache.note else ""
    kinds = kinds_of(protocol.native) if counts else ()
    native = NativeProtocol(protocol.info, plans, libraries, kinds)
    return Chosen(
        native,
        f"native engine, compiled by {compiler.version}{note}",
        fallback,
        libraries,
        loops,
        LegBatch(native, handover_rules_of),
        python_meanwhile,
    )


def confirm(leg: Leg, native: NativeLegRun, python: LegRun) -> None:
    """Compare how a failing leg ended on both engines. Raises EngineDisagreement."""
    mine = _ending(native.outcome.finding, native.outcome.episodes)
    theirs = _ending(python.outcome.finding, python.outcome.episodes)
    if mine != theirs:
        raise EngineDisagreement(leg, mine, theirs)
    error, verdict = native.error, python.outcome.error
    if error is not None and (verdict is None or verdict.kind is not error.kind):
        in_python = "no verdict" if verdict is None else verdict.kind.value
        raise EngineDisagreement(leg, error.kind.value, in_python)


def _ending(finding: Finding | None, episodes: int) -> str:
    done = f"after {episodes} episodes"
    if finding is None:
        return f"passed {done}"
    where = f" at {finding.address:#x}" if finding.address >= 0 else ""
    return f"{finding.verdict.value} in tick {finding.tick}{where} {done}"


def _instead(why: Exception) -> str:
    return f"Python engine, because {one_line(why)}"
