"""Checks of the user's own: called at every transition, every issue and every answer of a leg.

A check that holds for one protocol only (a single owner, an inclusive cache, a fair directory)
does not belong to the tester; it is a subclass of :class:`Watcher`. Legs with a watcher run on the
Python engine. Invariant: watchers observe and change nothing; the run that finds a failure and the
run that explains it call them in the same way, each beginning with ``on_start``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from runtime.controller.shapes import Controller, TransitionObserver
from runtime.controller.trace import Observers
from runtime.system.system import System
from tester.execution.events import Finding, Request, Verdict
from tester.execution.leg import LegRun


class CheckFailed(Exception):
    """What a watcher found; ``address`` is -1 if it is about no line."""

    def __init__(self, headline: str, address: int = -1) -> None:
        super().__init__(headline)
        self.headline = headline
        self.address = address


class Watcher:
    """Base class: override what the check needs, call :meth:`fail` when it does not hold."""

    def on_start(self, system: System) -> None:
        """A leg begins on a system at tick 0: reset the state of the leg before."""

    def on_transition(
        self,
        controller: Controller,
        event: str,
        state: str,
        next_state: str,
        address: int,
        tick: int,
    ) -> None:
        """A controller has made a transition; its actions are done."""

    def on_issue(self, request: Request, tick: int) -> None:
        """A requester took a request."""

    def on_response(
        self, request: Request, indices: list[int], values: list[int], tick: int
    ) -> None:
        """Lanes of a request were answered; ``indices`` index ``request.addresses``.

        ``values``: what loads and fetch-adds returned, parallel to ``indices``; empty when stores
        are globally performed and when an acquire, a release or a flush has finished.
        """

    def on_end(self, system: System) -> None:
        """The leg passed: everything is at rest and memory was compared."""

    def fail(self, headline: str, address: int = -1) -> NoReturn:
        """End the run with a finding; the report shows the history of the address's line."""
        raise CheckFailed(headline, address)


class Watching:
    """Forwards the events of a run's ports (``tester.execution.events``) and controllers to its
    watchers."""

    def __init__(self, watchers: Sequence[Watcher], system: System) -> None:
        self._watchers = watchers
        self._system = system
        for watcher in watchers:
            watcher.on_start(system)

    def attach(self, observer: TransitionObserver | None) -> tuple[Watching, ...]:
        """Let controllers call the observer and the watchers; returns the leg's request observers.

        Without a watcher there are none: most runs have no watcher and do not pay for it.
        """
        if self._watchers:
            mine = self.transition
            observer = mine if observer is None else Observers(observer, mine)
        for controller in self._system.controllers:
            controller.observer = observer
        return (self,) if self._watchers else ()

    def run(self, leg: LegRun) -> None:
        """Run a leg to its end, which may be the failure of a check."""
        try:
            if leg.run().finding is None:
                for watcher in self._watchers:
                    watcher.on_end(self._system)
        except CheckFailed as failed:
            leg.take_stock()
            found = Finding(
                Verdict.FAILED_CHECK,
                self._system.engine.now,
                failed.headline,
                address=failed.address,
            )
            leg.outcome.finding = leg.checker.finding or found

    # ------------------------------------------------------------------ controllers

    def transition(
        self,
        controller: Controller,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
        /,
    ) -> None:
        states = controller.STATES
        what, tick = controller.EVENTS.name_of(event), controller.engine.now
        before, after = states.name_of(state), states.name_of(next_state)
        for watcher in self._watchers:
            watcher.on_transition(controller, what, before, after, address, tick)

    # ------------------------------------------------------------------ ports

    def issued(self, request: Request, tick: int) -> None:
        for watcher in self._watchers:
            watcher.on_issue(request, tick)

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        mask = (1 << 8 * request.size) - 1
        values = [data >> 8 * max(0, request.addresses[i] - line) & mask for i in indices]
        self.returned(request, indices, values, tick)

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        pass

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self.returned(request, indices, [], tick)

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        for watcher in self._watchers:
            watcher.on_response(request, indices, values, tick)

    def synchronized(self, request: Request, tick: int) -> None:
        self.returned(request, [], [], tick)
