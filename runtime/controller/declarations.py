"""What a generated controller declares about itself, as values.

Invariant: plain data without behaviour; ``runtime.controller.shapes`` gives it meaning when a
controller binds its ports and table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary

from msgspec import Struct

from runtime.errors import ErrorKind, ProtocolError

if TYPE_CHECKING:
    from runtime.network.network import Topology
    from runtime.sim.engine import Engine
    from runtime.sim.message_buffer import MessageBuffer
    from runtime.structures.main_memory import Memory
    from runtime.structures.tbe_table import TimerTable

COMPUTED: Final = -1
"""Next state of a transition written ``*``: ask ``getNextState(address)``."""

UNCOUNTED: Final = 2
"""Result of a port body that wants the ports polled again without a transition."""

PollResult = bool | int | None
"""``True``: a transition ran. ``UNCOUNTED``. False or None: the body ran to its end."""


_Class = TypeVar("_Class")
_Found = TypeVar("_Found")


def once_a_class(
    function: Callable[[type[_Class]], _Found],
) -> Callable[[type[_Class]], _Found]:
    """What a function makes of the declarations of a class, made once as long as the class lives.
    Every leg of a campaign asks for it."""
    made: WeakKeyDictionary[type[_Class], _Found] = WeakKeyDictionary()

    def found(kind: type[_Class]) -> _Found:
        try:
            return made[kind]
        except KeyError:
            return made.setdefault(kind, function(kind))

    return found


class Need(Struct, frozen=True):
    """``count`` free slots in the machine object ``target`` (a buffer, port or table)."""

    target: str
    count: int


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of a transition table.

    ``next``: a state, None (stay) or ``COMPUTED``. ``actions`` are functions of the class.
    ``requests``: request types in written order. ``stalls``: the row says ``z_stall``, so its
    resources are checked and recorded and then nothing runs.
    """

    next: int | None
    actions: tuple[Callable[[Any, Transaction], None], ...]
    needs: tuple[Need, ...] = ()
    requests: tuple[int, ...] = ()
    stalls: bool = False


TransitionTable = dict[tuple[int, int], Transition]
"""(state, event) -> row."""


class Transaction:
    """What the actions of one transition share. Valid until the transition is over."""

    __slots__ = ("address", "cache_entry", "tbe")

    address: int
    cache_entry: Any
    tbe: Any

    def __init__(self) -> None:
        self.address = 0
        self.cache_entry = None
        self.tbe = None


class Parameter(Struct, frozen=True):
    """A machine parameter that is not a buffer. ``type`` is the name in the protocol.

    ``pointer``: an object that the system description builds (or None); else a scalar, whose
    ``default`` of None means that the description must say.
    """

    name: str
    type: str
    default: Any = None
    pointer: bool = False
    desc: str = ""


class BufferParameter(Struct, frozen=True):
    """A buffer parameter. ``direction``: "To", "From" or None for an internal queue.

    A direction without ``virtual_network`` is a direct link to another controller.
    """

    name: str
    direction: str | None = None
    virtual_network: int | None = None
    vnet_type: str | None = None
    ordered_hint: bool | None = None
    desc: str = ""


class InPort(Struct, eq=False):
    """A port in polling order.

    ``guarded``: the body does nothing unless the buffer has a head, so it is not called then.
    ``rank`` orders ports for ``wakeUpBuffers``. The stall handlers, called after a trigger
    stalled, may ask for the ports to be polled again by returning true.
    """

    name: str
    buffer: MessageBuffer | TimerTable
    poll: Callable[[], PollResult]
    rank: int = 0
    guarded: bool = False
    resource_stall_handler: Callable[[], bool] | None = None
    protocol_stall_handler: Callable[[], bool] | None = None


P = TypeVar("P")


class ControllerContext(Struct):
    """What the system hands to a controller when it builds it.

    ``parameters`` holds every declared parameter by name: built objects, None for an optional
    object, scalars. Times are cycles. ``memory`` is shared by all controllers that have one.
    ``downstream``/``upstream`` are machine ids for the protocols that route by those lists.
    """

    engine: Engine
    topology: Topology
    version: int
    parameters: dict[str, Any]
    memory: Memory | None = None
    cluster_id: int = 0
    transitions_per_cycle: int = 32
    recycle_latency: int = 10
    number_of_TBEs: int = 256
    mandatory_queue_latency: int = 1
    buffer_size: int = 0
    max_transitions_per_tick: int = 10_000
    downstream: tuple[Any, ...] = ()
    upstream: tuple[Any, ...] = ()

    def parameter(self, name: str, kind: type[P]) -> P:
        """A parameter that is typed for the checker; ``kind`` is not enforced for objects.

        Raises ``ProtocolError`` naming the parameter when the system did not give it.
        """
        try:
            value = self.parameters[name]
        except KeyError:
            raise ProtocolError(
                ErrorKind.NOT_ALLOCATED, f"the system gives no value for parameter `{name}`"
            ) from None
        return value  # type: ignore[no-any-return]
