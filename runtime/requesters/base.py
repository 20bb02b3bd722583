"""What all requesters share: the table of outstanding accesses, refusals and retries, releases.

Invariants: ``_live`` holds exactly the accepted, unanswered accesses, oldest first; every client
in ``_refused`` was refused for that reason and has not been called since.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Final

from runtime.requesters.port import Access, AccessKind, Client, Outstanding
from runtime.sim.engine import Consumer, Engine
from runtime.types.atomic_op import AtomicKind, AtomicOp
from runtime.types.enumeration import Enumeration
from runtime.types.messages import RubyRequest, RubyRequestType

if TYPE_CHECKING:
    from runtime.controller.shapes import Controller
    from runtime.sim.message_buffer import MessageBuffer
    from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory

BYTES_MASK: Final = {size: (1 << 8 * size) - 1 for size in (1, 2, 4, 8, 12, 16)}
"""All ones, by access size in bytes; its keys are the sizes that lanes of wavefronts may have."""


class RefusalReason(Enumeration):
    """Why an access was refused. Retries are offered in this order."""

    TOKENS: Final = 0
    """Not enough tokens."""
    ROOM: Final = 1
    """Too much outstanding."""
    WALK: Final = 2
    """An invalidation walk is under way."""


class RequesterBase(Consumer):
    """Common half of the three requesters. Usable once attached to a controller."""

    kind: str = ""
    sizes: Container[int] = BYTES_MASK
    """Bytes that one lane may load or store."""
    allowed_sizes: str = "1, 2, 4, 8, 12 or 16 bytes"

    controller: Controller
    queue: MessageBuffer

    def __init__(self, name: str, index: int, lanes: int, line_size: int) -> None:
        self.name = name
        self.index = index
        self.lanes = lanes
        self.line_size = line_size
        self._next_sequence = 1
        self._live: dict[int, Access] = {}
        self._refused: dict[tuple[int, int], tuple[Client, int]] = {}
        """By (reason, client): who waits for how much."""
        self._grants: dict[tuple[int, int], tuple[int, int]] = {}
        """What is kept for clients that were called back: (need, tick of the call)."""
        self._ending: list[Access] = []
        self._writes: dict[int, int] = {}
        """Open stores and atomics by client."""
        self._releases: dict[int, list[Access]] = {}
        self._operations: dict[tuple[int, int, int, int], AtomicOp] = {}

    def attach(self, engine: Engine, controller: Controller, queue: MessageBuffer) -> None:
        """Join the system: from now on requests go to ``queue`` of ``controller``.

        Two steps because the controller is built with its requesters at hand, while consumers
        are numbered controllers first.
        """
        Consumer.__init__(self, engine)
        self.controller = controller
        self.queue = queue

    def __str__(self) -> str:
        return self.name

    def issue(self, access: Access) -> bool:
        """See :meth:`runtime.requesters.port.Requester.issue`."""
        raise NotImplementedError

    # ------------------------------------------------------------------ what watchdogs ask

    @property
    def completed(self) -> int:
        """How many requests were taken and are answered; one with many lanes may count as many."""
        return self._next_sequence - len(self._live)

    def outstanding(self) -> list[Outstanding]:
        parts = self._parts()
        for access in self._live.values():
            if access.kind == AccessKind.RELEASE:
                where = f"waits for {access.open} stores"
                parts.append(Outstanding(access, [], -1, access.issued, where))
        parts.extend(
            Outstanding(access, [], -1, access.issued, "ends in the next tick")
            for access in self._ending
            if access.kind != AccessKind.RELEASE
        )
        parts.sort(key=lambda part: part.access.sequence)
        return parts

    def _parts(self) -> list[Outstanding]:
        raise NotImplementedError

    def leaks(self) -> list[str]:
        """A line for each access that is still outstanding; empty after a run that drained."""
        found = [f"{self.name}: {part.access!r} {part.where}" for part in self.outstanding()]
        if self._live and not found:
            found.append(f"{self.name}: {len(self._live)} accesses without a part")
        if self._refused:
            found.append(f"{self.name}: {len(self._refused)} refused clients never retried")
        return found

    # ------------------------------------------------------------------ outstanding accesses

    def _misuse(self, access: Access, why: str) -> ValueError:
        return ValueError(f"{self.name}: {access!r}: {why}")

    def _check_lanes(self, access: Access) -> None:
        """Raise ValueError for what can never be right, except addresses (checked per lane)."""
        addresses = access.addresses
        if not addresses:
            raise self._misuse(access, "no lane is active")
        if len(addresses) > self.lanes:
            raise self._misuse(access, f"more than {self.lanes} lanes")
        if access.size not in self.sizes:
            raise self._misuse(access, f"size {access.size} is not {self.allowed_sizes}")
        if access.kind != AccessKind.LOAD and len(access.values) != len(addresses):
            raise self._misuse(access, f"{len(access.values)} values for {len(addresses)} lanes")
        if access.kind == AccessKind.ATOMIC:
            if access.size not in (4, 8):
                raise self._misuse(access, f"an atomic of {access.size} bytes; only 4 or 8 work")
            if not 0 <= access.op < AtomicKind.NUM:
                raise self._misuse(access, f"no atomic operation has number {access.op}")
            if access.op == AtomicKind.CAS and len(access.compares) != len(addresses):
                raise self._misuse(access, "compare-and-swap without one comparand per lane")

    def crossing(self, access: Access, address: int) -> ValueError:
        """What to raise for a lane whose bytes are not in one line of memory."""
        if address < 0:
            return self._misuse(access, f"negative address {address}")
        return self._misuse(
            access, f"address {address:#x}: {access.size} bytes reach into the next line"
        )

    def _accept(self, access: Access, parts: int, numbers: int = 1) -> None:
        """Enter an access that ends after ``parts`` answers; it takes ``numbers`` sequences."""
        assert parts >= 0 and numbers > 0
        access.sequence = sequence = self._next_sequence
        access.issued = self.engine.now
        access.open = parts
        self._next_sequence = sequence + numbers
        self._live[sequence] = access
        if access.kind == AccessKind.STORE or access.kind == AccessKind.ATOMIC:
            client = id(access.client)
            self._writes[client] = self._writes.get(client, 0) + 1

    def _close_part(self, access: Access) -> None:
        """One part has been answered. Call after the client has been notified."""
        access.open = left = access.open - 1
        assert left >= 0, "an access is answered once for each part"
        if left:
            return
        del self._live[access.sequence]
        if access.kind == AccessKind.STORE or access.kind == AccessKind.ATOMIC:
            self._write_closed(access)

    def _write_closed(self, access: Access) -> None:
        client = id(access.client)
        left = self._writes[client] - 1
        assert left >= 0, "a write is closed once"
        if left:
            self._writes[client] = left
        else:
            del self._writes[client]
        releases = self._releases.get(client)
        if releases is None:
            return
        for release in releases[:]:
            if access.sequence < release.sequence:
                release.open -= 1
                assert release.open >= 0, "a release waits for writes that were open"
                if not release.open:
                    releases.remove(release)
                    del self._live[release.sequence]
                    release.client.synchronized(release)
        if not releases:
            self._releases.pop(client, None)

    def operation(self, access: Access, lane: int) -> AtomicOp:
        """The immutable operation of one lane; equal ones are shared, as most are."""
        size = access.size
        mask = BYTES_MASK[size]
        compare = access.compares[lane] & mask if access.op == AtomicKind.CAS else 0
        key = (access.op, access.values[lane] & mask, size, compare)
        operation = self._operations.get(key)
        if operation is None:
            if len(self._operations) >= 4096:
                self._operations.clear()
            self._operations[key] = operation = AtomicOp(*key)
        return operation

    # ------------------------------------------------------------------ refusal and retry

    def _free(self, reason: int) -> int:
        """How much of a resource is free."""
        raise NotImplementedError

    def _may_take(self, client: Client, reason: int, need: int = 1) -> bool:
        """Whether the client may take ``need`` of a resource now; if not, a retry is promised.

        First come, first served: no client overtakes one that was refused, and what was offered
        to one is kept for it for a tick.
        """
        if not self._refused and not self._grants:
            if need <= self._free(reason):
                return True
            self._refused[reason, id(client)] = (client, need)
            return False
        key = (reason, id(client))
        granted = self._grants.pop(key, None) is not None
        waiting = any(waiter[0] == reason for waiter in self._refused)
        if granted or not waiting:
            if need <= self._unreserved(reason):
                return True
            if granted:
                self.engine.schedule(self, self.engine.now + 1)  # others may do with less
        known = self._refused.get(key)
        if known is None or need < known[1]:
            self._refused[key] = (client, need)
        return False

    def _unreserved(self, reason: int) -> int:
        """What is free and not kept for a client that was offered it."""
        kept = sum(need for (why, _), (need, _) in self._grants.items() if why == reason)
        return self._free(reason) - kept

    def _offer(self, reason: int) -> None:
        """Some of a resource became free: call back those whom it satisfies, in order."""
        if not self._refused:
            return
        free = self._unreserved(reason)
        now = self.engine.now
        ready: list[Client] = []
        for key, (client, need) in self._refused.items():
            if key[0] == reason:
                if need > free:
                    break
                free -= need
                ready.append(client)
                self._grants[key] = (need, now)
        for client in ready:
            del self._refused[reason, id(client)]
        if ready:
            self.engine.schedule(self, now + 2)
        for client in ready:
            client.retry(self)

    def _settle(self) -> None:
        """Offer again what no client has taken; call from wakeup."""
        if self._grants:
            now = self.engine.now
            self._grants = {k: grant for k, grant in self._grants.items() if grant[1] + 2 > now}
        for reason in range(RefusalReason.NUM):
            self._offer(reason)

    # ------------------------------------------------------------------ synchronisation

    def _release(self, access: Access) -> bool:
        """RELEASE: ends with the last earlier store or atomic of the client."""
        waiting = self._writes.get(id(access.client), 0)
        self._accept(access, waiting)
        if waiting:
            self._releases.setdefault(id(access.client), []).append(access)
        else:
            self._end_next_tick(access)
        return True

    def _end_next_tick(self, access: Access) -> None:
        """There was nothing to do: answer in the next tick, never within issue()."""
        self._ending.append(access)
        self.engine.schedule(self, self.engine.now + 1)

    def wakeup(self) -> None:
        if self._ending:
            self._end_due()
        if self._refused or self._grants:
            self._settle()

    def _end_due(self) -> None:
        """Answer what :meth:`_end_next_tick` has deferred."""
        now = self.engine.now
        due = [access for access in self._ending if access.issued < now]
        if due:
            self._ending = [access for access in self._ending if access.issued >= now]
            for access in due:
                assert access.open <= 1, "what ends by itself has one part at most"
                del self._live[access.sequence]
                self._ended(access)
                access.client.synchronized(access)

    def _ended(self, access: Access) -> None:
        """Hook: an access that had nothing to do is about to be answered."""

    def send_replacements(self, lines: Iterable[int]) -> None:
        """One REPLACEMENT per line, all in this tick: a walk."""
        latency = self.controller.mandatoryQueueLatency(RubyRequestType.REPLACEMENT)
        for line in lines:
            message = RubyRequest()
            message.LineAddress = line
            message.PhysicalAddress = line
            message.Type = RubyRequestType.REPLACEMENT
            self.queue.enqueue(message, latency)


def resident_lines(caches: Iterable[CacheMemory[AbstractCacheEntry]]) -> list[int]:
    """Line addresses held in any state, cache by cache, ascending, each once."""
    lines: dict[int, None] = {}
    for cache in caches:
        lines.update(dict.fromkeys(sorted(cache.visible)))
    return list(lines)
