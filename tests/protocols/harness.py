"""Races on purpose: accesses at given ticks, messages held back on given channels.

A test of a race states which requester does what at which tick, and which message is late; nothing
is random. Invariant: a held message is late by the given ticks, and every other one is on time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from protocols.loader import LoadedProtocol, load_protocol
from runtime.prng import initial_byte
from runtime.requesters.port import Access, AccessKind, Requester
from runtime.sim.engine import Consumer
from runtime.system.builder import build_system
from runtime.system.system import System
from runtime.types.message import Message
from runtime.types.values import DataBlock

PROTOCOLS = Path(__file__).parents[2] / "protocols"


@cache
def shipped(name: str) -> LoadedProtocol:
    """A shipped protocol, compiled once."""
    return load_protocol(name)


class Late:
    """Delays of one channel: the n-th message of ``line`` is late by ``ticks``."""

    def __init__(self, line: int, ticks: Sequence[int]) -> None:
        self.line = line
        self.ticks = list(ticks)

    def next(self, message: Message) -> int:
        return self.ticks.pop(0) if message.line_address() == self.line and self.ticks else 0


class AccessResult:
    """The values and ticks of one access. Ticks are -1 until it happened."""

    def __init__(self) -> None:
        self.values: list[int] = []
        self.accepted = -1
        self.done = -1

    @property
    def value(self) -> int:
        return self.values[0]


class AccessClient(Consumer):
    """Issues one access at one tick and notes the answers."""

    def __init__(self, harness: Harness, requester: Requester, tick: int, access: Access) -> None:
        super().__init__(harness.system.engine)
        self.requester = requester
        self.access = access
        self.result = AccessResult()
        self.result.values = [0] * len(access.addresses)
        self.open = max(1, len(access.addresses)) if access.kind <= AccessKind.ATOMIC else 1
        access.client = self
        self.engine.schedule(self, tick)

    def wakeup(self) -> None:
        self.requester.issue(self.access)

    def retry(self, requester: Requester) -> None:
        self.engine.schedule(self, self.engine.now + 1)

    def _close(self, count: int) -> None:
        self.open -= count
        if not self.open:
            self.result.done = self.engine.now

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        for lane in lanes:
            bits = data.data >> 8 * (access.addresses[lane] - line)
            self.result.values[lane] = bits & (1 << 8 * access.size) - 1
        self._close(len(lanes))

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        self.result.accepted = self.engine.now

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        self._close(len(lanes))

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        for lane, old in zip(lanes, old_values):
            self.result.values[lane] = old
        self._close(len(lanes))

    def synchronized(self, access: Access) -> None:
        self._close(1)


class Harness:
    """A system, its requesters by name (``gpu0``, ``instructions0``, ``dma0``), and a script."""

    def __init__(self, protocol: str, **settings: object) -> None:
        loaded = shipped(protocol)
        given = {name.replace("__", "."): value for name, value in settings.items()}
        description = loaded.written.override(given)
        self.system: System = build_system(loaded.info, description, run_key=1)
        self.requesters = {r.name: r for r in self.system.requesters}
        self.states: list[tuple[int, str, int, str, str, str]] = []
        self.clients: list[AccessClient] = []
        for controller in self.system.controllers:
            controller.observer = self._note

    def _note(
        self, machine: object, address: int, state: int, event: int, next_: int, comment: str
    ) -> None:
        names = machine.STATES.name_of, machine.EVENTS.name_of  # type: ignore[attr-defined]
        row = (names[0](state), names[1](event), names[0](next_))
        self.states.append((self.system.engine.now, repr(machine), address, *row))

    def ran(self, machine: str, state: str, event: str) -> bool:
        """Whether that cell of the machine's table ran."""
        return any(row[1].startswith(machine) and row[3:5] == (state, event) for row in self.states)

    def hold(self, sender: str, receiver: str, line: int, *ticks: int) -> None:
        """Let messages of ``line`` from ``TCC0.responseToCore`` to ``TCP 0`` come late."""
        port = next(p for p in self.system.network.ports if p.name == sender)
        machine = next(c for c in self.system.controllers if repr(c) == receiver)
        port.set_delays(machine.machineID.node, Late(line, ticks))  # type: ignore[arg-type]

    def at(
        self,
        tick: int,
        who: str,
        what: str,
        addresses: Sequence[int] | int = (),
        values: Sequence[int] | int = (),
        size: int = 1,
        slc: bool = False,
        glc: bool = False,
    ) -> AccessResult:
        """Script an access; look at the result after :meth:`run`."""
        kind = getattr(AccessKind, what.upper())
        addresses = [addresses] if isinstance(addresses, int) else list(addresses)
        values = [values] if isinstance(values, int) else list(values)
        access = Access(kind, None, 0, addresses, size, values, slc=slc, glc=glc)  # type: ignore[arg-type]
        client = AccessClient(self, self.requesters[who], tick, access)
        self.clients.append(client)
        return client.result

    def run(self) -> Harness:
        """To the end; everything must have been answered and nothing may be left over."""
        self.system.engine.run()
        for client in self.clients:
            assert client.result.done >= 0, f"{client.access!r} was never answered"
        assert self.system.leaks() == []
        return self

    def initial(self, address: int) -> int:
        """A byte of memory before the first write."""
        return initial_byte(1, address)
