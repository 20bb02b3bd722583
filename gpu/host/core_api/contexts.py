"""Opening and closing the runtime, its contexts, and the callbacks of each.

The opening holds one reference and each acquired context one more; the last to be given up closes
the runtime. The context that an opening returns is not acquired, so it is not released either:
D2 has both "decrement if not 1" and "the close gives up the last", and this is the reading under
which both hold. A further opening returns the same context and takes no reference.

Invariant: callbacks are called between two ticks of the device, and only for contexts that hold a
reference. Source: D2, sections 2.1.2 to 2.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Final

from gpu.errors import GpuError, HostError
from gpu.host.core_api.status import (
    Outcome,
    Status,
    call,
    call_with_output,
    describe,
    need,
    status_of,
)
from gpu.host.device import Device
from gpu.host.device_queue import DeviceQueue
from gpu.host.processes.process import Process
from gpu.host.topology import Agent, Topology
from slicc.text.lazy_dataclass import dataclass

SLOWEST_MHZ: Final = 1
FASTEST_MHZ: Final = 400


@dataclass(frozen=True, slots=True)
class Notification:
    """Information or a warning (``hsa_notification_info_t``)."""

    status: Status
    text: str
    user_data: object


@dataclass(frozen=True, slots=True)
class AsyncError:
    """An asynchronous error (``hsa_async_error_info_t``).

    ``queue_id``, ``packet_id``: None where no queue or packet caused it. ``timestamp``: ticks.
    """

    type: Status
    queue_id: int | None
    packet_id: int | None
    text: str
    user_data: object
    timestamp: int


OnNotification = Callable[[Notification], object]
OnError = Callable[[AsyncError], object]


@dataclass(slots=True, eq=False)
class Context:
    """One use of the runtime. ``held``: whether its reference has not been given up."""

    held: bool = True
    on_notification: tuple[OnNotification, object] | None = None
    on_error: tuple[OnError, object] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TopologyTable:
    """The caller's copy of the table (``hsa_topology_header_t``).

    ``timestamp_mhz``: how many time stamps make a microsecond.
    """

    timestamp_mhz: int
    topology: Topology

    @property
    def node_ids(self) -> tuple[int, ...]:
        return self.topology.nodes

    @property
    def agents(self) -> tuple[Agent, ...]:
        return self.topology.agents


@dataclass(slots=True)
class Instance:
    """What exists while the runtime is open. ``closing``: run once, when it no longer is."""

    opening: Context
    contexts: list[Context] = field(default_factory=list)
    """Acquired ones that hold a reference."""
    closed_once: bool = False
    """The opening's own reference was given up."""
    tables: list[TopologyTable] = field(default_factory=list)

    @property
    def references(self) -> int:
        return len(self.contexts) + (not self.closed_once)


class ContextCalls:
    """Open, close, contexts, callbacks, topology; the other calls build on it.

    ``timestamp_mhz``: the declared frequency of the system's clock, one time stamp a tick.
    Raises HostError for one that D2 does not allow.
    """

    def __init__(self, device: Device | Process, timestamp_mhz: int) -> None:
        if not SLOWEST_MHZ <= timestamp_mhz <= FASTEST_MHZ:
            raise HostError(
                f"a system clock has {SLOWEST_MHZ} to {FASTEST_MHZ} MHz, not {timestamp_mhz}"
            )
        self.device = device
        self.timestamp_mhz = timestamp_mhz
        self._instance: Instance | None = None

    @property
    def is_open(self) -> bool:
        return self._instance is not None

    # ------------------------------------------------------------------ open, close

    def open(
        self,
        notification_callback: OnNotification | None = None,
        notification_user_data: object = None,
        error_callback: OnError | None = None,
        error_user_data: object = None,
    ) -> tuple[Status, Context]:
        """``hsa_open``: the runtime's context. If it is open already, that is notified through the
        callback given here, or else through that of the context. Raises HostError for a callback
        that cannot be called: there is no context yet that a status could be of."""
        for callback in (notification_callback, error_callback):
            if not (callback is None or callable(callback)):
                raise HostError(f"a callback is a function, not {callback!r}")
        wanted = None
        if notification_callback is not None:
            wanted = notification_callback, notification_user_data
        if self._instance is None:
            context = Context(on_notification=wanted)
            if error_callback is not None:
                context.on_error = error_callback, error_user_data
            self._instance = Instance(context)
        else:
            context = self._instance.opening
            _notify(wanted or context.on_notification, Status.INFO_ALREADY_INITIALIZED)
        return Status.SUCCESS, context

    @call
    def close(self) -> None:
        """``hsa_close``: give up the opening's reference, once. Fails, and changes nothing, while
        a topology table exists: D2 has its user destroy it before."""
        instance = self._opened
        if instance.closed_once:
            raise Outcome(Status.ERROR_NOT_INITIALIZED)
        if instance.references == 1 and instance.tables:
            raise Outcome(Status.ERROR_RESOURCE_FREE)
        instance.closed_once = True
        instance.opening.held = False
        self._end_if_unreferenced()

    @call_with_output
    def context_acquire(self, context: Context | None) -> Context:
        """``hsa_context_acquire``: a context of its own, without callbacks yet."""
        self._referenced(context)
        made = Context()
        self._opened.contexts.append(made)
        return made

    @call
    def context_release(self, context: Context | None) -> None:
        """``hsa_context_release``; not of the context that `open` returned."""
        context = self._referenced(context)
        need(context in self._opened.contexts)
        context.held = False
        self._opened.contexts.remove(context)
        self._end_if_unreferenced()

    def _end_if_unreferenced(self) -> None:
        if not self._opened.references:
            self._relinquish()
            self._instance = None

    def _relinquish(self) -> None:
        """Free what the runtime has made; the calls that make something extend this."""

    # ------------------------------------------------------------------ callbacks

    @call
    def notification_callback_register(
        self, callback: OnNotification | None, user_data: object, context: Context | None
    ) -> None:
        """``hsa_notification_callback_register``: instead of the context's earlier one."""
        need(callback is not None)
        assert callback is not None, "just checked"
        self._valid(context).on_notification = callback, user_data

    @call
    def error_callback_register(
        self, callback: OnError | None, user_data: object, context: Context | None
    ) -> None:
        """``hsa_error_callback_register``: instead of the context's earlier one."""
        need(callback is not None)
        assert callback is not None, "just checked"
        self._valid(context).on_error = callback, user_data

    def status_query_description(self, status: int) -> tuple[Status, str | None]:
        """``hsa_status_query_description``: what a status means. Works while closed, too: it is
        how the status of a failed opening is explained."""
        text = describe(status)
        return (Status.NONE if text is None else Status.SUCCESS), text

    def _notify(self, context: Context, status: Status) -> None:
        if context.held:
            _notify(context.on_notification, status)

    def _report(
        self,
        context: Context,
        type: Status,
        text: str,
        queue_id: int | None = None,
        packet_id: int | None = None,
    ) -> None:
        if context.held and context.on_error is not None:
            callback, user_data = context.on_error
            callback(AsyncError(type, queue_id, packet_id, text, user_data, self.device.now))

    def _queue_failed(self, context: Context, queue: DeviceQueue, error: GpuError) -> None:
        link = queue.link
        packet_id = link.begun if link.begun >= 0 else None
        self._report(context, status_of(error), str(error), link.id, packet_id)

    # ------------------------------------------------------------------ topology

    @call_with_output
    def topology_table_create(self) -> TopologyTable:
        """``hsa_topology_table_create``: nodes, agents, memories, caches, the clock."""
        table = TopologyTable(self.timestamp_mhz, self.device.topology)
        self._opened.tables.append(table)
        return table

    @call
    def topology_table_destroy(self, table: TopologyTable | None) -> None:
        """``hsa_topology_table_destroy``."""
        need(table in self._opened.tables)
        assert table is not None, "None is no table"
        self._opened.tables.remove(table)

    def _component(self, agent: Agent | None) -> Agent:
        """An agent that runs kernels. Raises Outcome."""
        need(agent in self.device.topology.components)
        assert agent is not None, "None is no component"
        return agent

    # ------------------------------------------------------------------ contexts as arguments

    @property
    def _opened(self) -> Instance:
        assert self._instance is not None, "calls begin with this check"
        return self._instance

    def _referenced(self, context: Context | None) -> Context:
        """As the calls that count references check it. Raises Outcome."""
        if context is None:
            raise Outcome(Status.ERROR_CONTEXT_NULL)
        if not context.held or not self._belongs(context):
            raise Outcome(Status.ERROR_NOT_INITIALIZED)
        return context

    def _valid(self, context: Context | None) -> Context:
        """As all others check it. Raises Outcome."""
        need(context is not None and context.held and self._belongs(context))
        assert context is not None, "just checked"
        return context

    def _belongs(self, context: Context) -> bool:
        return context is self._opened.opening or context in self._opened.contexts


def _notify(target: tuple[OnNotification, object] | None, status: Status) -> None:
    if target is not None:
        callback, user_data = target
        callback(Notification(status, describe(status) or "", user_data))
