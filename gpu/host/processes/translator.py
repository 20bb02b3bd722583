"""Translates the addresses of processes: TLBs in front of all ports, a walker of page tables.

Each port has a TLB, and all share a larger one. A request whose pages are all known at its port is
entered in the tick in which it is made; else it waits, and with it what comes after it at that
port, until its pages are found: in the shared TLB, or by loads of their entries through the control
port. Invariant: requests of processes enter memory in the order in which a port gets them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from gpu.compute_unit.pipeline.timing_parameters import TlbParameters
from gpu.hsa.activities import Activities, Event, Pause, Steps
from gpu.memory.address_space import Addresses, Unmapped
from gpu.memory.interface import Answer, Memory, MemoryRequest
from gpu.memory.virtual.page_table import (
    ENTRY_BYTES,
    PAGE_BITS,
    Entry,
    PageFault,
    aperture,
    walk,
    walk_at_once,
)
from gpu.memory.virtual.process_space import ProcessSpace
from gpu.memory.virtual.tlb import Tlb
from gpu.memory.virtual.translation import VirtualLanes
from gpu.packet_processor.control_port import ControlPort
from runtime.requesters.port import AccessKind


class AddressTranslation:
    """`gpu.memory.interface.Translator` of a device."""

    def __init__(self, memory: Memory, activities: Activities, parameters: TlbParameters) -> None:
        self._memory = memory
        self._activities = activities
        self._control = ControlPort(activities)
        self._parameters = parameters
        self._tlbs = [Tlb(parameters.entries) for _ in memory.ports]
        self._shared = Tlb(parameters.shared_entries)
        self._untimed = Tlb(parameters.shared_entries)
        """For accesses without time, of the host and of functional units."""
        self._spaces: dict[int, ProcessSpace] = {}
        self._held: dict[int, deque[MemoryRequest]] = {}
        """By port: requests that wait for their pages, and those behind them."""
        self._writing = False
        self._written = Event()
        self._changes = 0
        """Counts what was forgotten: a walk that began before must not be kept."""
        self.walks = 0

    # ------------------------------------------------------------------ processes

    def add(self, space: ProcessSpace) -> None:
        """Translate for a process from now on."""
        self._spaces[space.vmid] = space

    def remove(self, space: ProcessSpace) -> None:
        """Refuse the requests of an address space from now on."""
        del self._spaces[space.vmid]
        self.forget_all(space.vmid)

    def forget_all(self, vmid: int) -> None:
        """The entries of all pages of a process may have changed."""
        addresses = aperture(vmid)
        self.forget(vmid, range(addresses.start >> PAGE_BITS, addresses.stop >> PAGE_BITS))

    def forget(self, vmid: int, pages: range) -> None:
        """The entries of these pages have changed, or will."""
        self._changes += 1
        for tlb in (*self._tlbs, self._shared, self._untimed):
            tlb.forget(vmid, pages)

    def as_dict(self) -> dict[str, object]:
        """Counters, for a JSON file."""
        counters: dict[str, object] = {}
        for port, tlb in zip(self._memory.ports, self._tlbs, strict=True):
            if tlb.hits or tlb.misses:
                counters[f"{port.kind.value} {port.number}"] = _counted(tlb)
        return counters | {
            "shared": _counted(self._shared),
            "untimed": _counted(self._untimed),
            "walks": self.walks,
        }

    # ------------------------------------------------------------------ requests

    def push(self, request: MemoryRequest) -> None:
        """See `gpu.memory.interface.Translator.push`."""
        held = self._held.get(request.port)
        if held is not None:
            held.append(request)
            return
        lanes = VirtualLanes.of(request)
        entries = self._known(request.port, lanes)
        if entries is None:
            self._held[request.port] = deque([request])
            self._activities.start(self._fill(request.port))
        else:
            self._enter(request, lanes, entries)

    def _known(self, port: int, lanes: VirtualLanes) -> dict[int, Entry] | None:
        """The entries of its pages, if its port has them all."""
        tlb, pages = self._tlbs[port], lanes.pages
        if not all((lanes.vmid, page) in tlb for page in pages):
            return None
        found = {page: tlb.find((lanes.vmid, page)) for page in pages}
        return {page: entry for page, entry in found.items() if entry is not None}

    def _fill(self, port: int) -> Steps[None]:
        """Find the pages of the first request that waits at a port, then of the next."""
        held = self._held[port]
        while held:
            request, lanes = held[0], VirtualLanes.of(held[0])
            entries: dict[int, Entry] = {}
            try:
                for page in lanes.pages:
                    entries[page] = yield from self._entry(port, lanes, page)
                self._enter(request, lanes, entries)
            except Unmapped as error:
                if request.failed is not None:
                    request.failed(error)
            held.popleft()
        del self._held[port]

    def _enter(
        self, request: MemoryRequest, lanes: VirtualLanes, entries: Mapping[int, Entry]
    ) -> None:
        """Give memory a request with its own addresses. Raises Unmapped."""
        listener = partial(_answered, request)
        physical = replace(request, vmid=0, failed=None, listener=listener, extent=None)
        try:
            if request.kind <= AccessKind.ATOMIC:
                physical.addresses = lanes.translate(entries)
            self._memory.push(physical)
        except Unmapped as error:
            raise self.as_mapped(lanes, error) from None

    def as_mapped(self, lanes: VirtualLanes, error: Unmapped) -> Unmapped:
        """A refusal of memory in terms of the process."""
        return lanes.as_mapped(error, self._spaces.get(lanes.vmid))

    # ------------------------------------------------------------------ pages

    def _entry(self, port: int, lanes: VirtualLanes, page: int) -> Steps[Entry]:
        """The entry of a page, from the TLBs or the tables. Raises Unmapped."""
        key, tlb, changes = (lanes.vmid, page), self._tlbs[port], self._changes
        found = tlb.find(key)
        if found is not None:
            return found
        yield Pause(self._parameters.shared_cycles)
        found = self._shared.find(key)
        if found is None:
            try:
                found = yield from self._walk(lanes.vmid, page)
            except (PageFault, Unmapped) as error:
                raise self._fault(lanes, page, error) from None
        if changes == self._changes:
            self._shared.keep(key, found)
            tlb.keep(key, found)
        return found

    def _fault(self, lanes: VirtualLanes, page: int, error: PageFault | Unmapped) -> Unmapped:
        why = str(error)
        if isinstance(error, Unmapped):
            why = f"a page table cannot be read: {why}"
        return self.as_mapped(lanes, lanes.refused(page, why))

    def _space(self, vmid: int, page: int) -> ProcessSpace:
        """Whose page it can be. Raises PageFault."""
        space = self._spaces.get(vmid)
        if space is None:
            raise PageFault(f"process {vmid} has ended")
        if page << PAGE_BITS not in aperture(vmid):
            raise PageFault(f"it is no address of process {vmid}")
        self.walks += 1
        return space

    def _walk(self, vmid: int, page: int) -> Steps[Entry]:
        """Raises PageFault, and Unmapped for a table that is not in memory."""
        space = self._space(vmid, page)
        yield from self._update(space)
        steps = walk(space.root, page << PAGE_BITS)
        where = next(steps)
        while True:
            word = yield from self._control.load_int(where)
            try:
                where = steps.send(word)
            except StopIteration as end:
                entry: Entry = end.value
                return entry

    def _update(self, space: ProcessSpace) -> Steps[None]:
        """Write what the driver has changed; walks wait until it is written."""
        while self._writing:
            yield Pause(None, self._written, self._written.count)
        if not space.updates:
            return
        self._writing = True
        try:
            while space.updates:
                where, data = space.updates.popleft()
                yield from self._control.store(where, data)
        finally:
            self._writing = False
            self._written.fire()

    # ------------------------------------------------------------------ at once

    def physical(self, lanes: VirtualLanes) -> Addresses:
        """Where memory has what a process accesses, when it is not busy. Raises Unmapped."""
        entries: dict[int, Entry] = {}
        for page in lanes.pages:
            try:
                entries[page] = self._entry_at_once(lanes.vmid, page)
            except (PageFault, Unmapped) as error:
                raise self._fault(lanes, page, error) from None
        try:
            return lanes.translate(entries)
        except Unmapped as error:
            raise self.as_mapped(lanes, error) from None

    def _entry_at_once(self, vmid: int, page: int) -> Entry:
        found = self._untimed.find((vmid, page))
        if found is None:
            space = self._space(vmid, page)
            while space.updates:
                self._memory.write(*space.updates.popleft())
            found = walk_at_once(self._load, space.root, page << PAGE_BITS)
            self._untimed.keep((vmid, page), found)
        return found

    def _load(self, address: int) -> int:
        return int.from_bytes(self._memory.read(address, ENTRY_BYTES), "little")


def _answered(request: MemoryRequest, answer: Answer) -> None:
    if request.listener is not None:
        request.listener(Answer(request, answer.kind, answer.tick, answer.lanes, answer.data))


def _counted(tlb: Tlb) -> dict[str, int]:
    return {"hits": tlb.hits, "misses": tlb.misses}
