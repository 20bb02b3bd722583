"""What happened to the lines of interest, as values: transitions, messages, accesses.

One stream, in the order in which things happened. Reports choose from it and print it; whatever
else draws a run reads the same stream. Invariant: an event names the events that led to it by
their numbers, and these numbers grow along the stream.
"""

from __future__ import annotations

from dataclasses import field
from textwrap import shorten

from slicc.text.lazy_dataclass import dataclass
from tester.execution.events import Request

Fields = tuple[tuple[str, str], ...]
"""Names and values, as they are shown."""

_SHOWN_RECEIVERS = 4
_COMMENT = 48
"""Characters that are shown of what a protocol's text says about a transition."""


@dataclass(slots=True)
class Hop:
    """One copy of a message: to whom, into which buffer, and the tick from which it is there.

    A receiver without room, or a bus, may make that tick later than its sender knew.
    """

    receiver: str
    buffer: str
    arrival: int


@dataclass(frozen=True, slots=True)
class Held:
    """What a controller, or memory, has of a line: the fields of its entry and of its transaction
    record, both empty where there is none."""

    entry: Fields = ()
    tbe: Fields = ()


@dataclass(eq=False, kw_only=True)
class Event:
    """Something that happened in one tick. ``line`` is -1 for what is about no line."""

    tick: int
    who: str
    line: int = -1
    number: int = -1
    """Its place in the stream."""
    causes: list[int] = field(default_factory=list)
    """Numbers of the events that led to this one directly."""
    touched: bool = False
    """Whether it concerns the very bytes that failed: an access to them, or a change of them."""
    last_copy: bool = False
    """Whether no copy of the expected bytes is left after it."""
    held: Held | None = None
    """What its place has of the line from now on; None: it is not followed."""

    @property
    def what(self) -> str:
        """What happened, without who did it."""
        raise NotImplementedError

    @property
    def change(self) -> str:
        """State before and after, or how far an access has come."""
        return ""

    @property
    def where(self) -> str:
        """Position in the protocol; empty where there is none."""
        return ""


@dataclass(eq=False, kw_only=True)
class Sent(Event):
    """A message that a controller put on its way.

    ``network`` is its virtual network (None: within the machine); ``details`` are the fields that
    its sender set, ``fields`` all of them, where they are followed; ``data``: the bytes in question
    as it carries them.
    """

    kind: str
    details: str = ""
    receivers: list[str] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    fields: Fields = ()
    network: int | None = None
    data: str = ""

    @property
    def what(self) -> str:
        shown = ", ".join(self.receivers[:_SHOWN_RECEIVERS])
        if len(self.receivers) > _SHOWN_RECEIVERS:
            shown += f" and {len(self.receivers) - _SHOWN_RECEIVERS} more"
        text = f"sends {self.kind} to {shown}"
        if self.network is not None:
            text += f", vnet {self.network}"
        details = " ".join(part for part in (self.details, self.data) if part)
        return f"{text}: {details}" if details else text

    def __str__(self) -> str:
        return f"{self.kind} from {self.who}"


@dataclass(eq=False, kw_only=True)
class Transition(Event):
    """A controller's transition. ``messages``: those that it took from its in-ports; ``taken``: the
    numbers of their events, sends and issues.

    ``waiting``: a message that it set aside, by stalling or recycling it; ``set_aside``: the number
    of its event (-1: none). ``exchanged``: whether it took a message of a controller, or sent one.
    ``opened``: whether it began a transaction. ``data``: the bytes in question as the controller
    has them from now on; empty when it did not change them. ``times`` counts repetitions that
    changed nothing, up to tick ``until``.
    """

    event: str
    state: str
    next_state: str
    comment: str = ""
    messages: list[str] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    waiting: str = ""
    set_aside: int = -1
    exchanged: bool = False
    opened: bool = False
    data: str = ""
    location: str = ""
    times: int = 1
    until: int = -1

    @property
    def changes_state(self) -> bool:
        """Whether the line has another state afterwards."""
        return self.state != self.next_state

    @property
    def what(self) -> str:
        comment = shorten(self.comment, _COMMENT, placeholder="...")
        text = f"{self.event} ({comment})" if comment else self.event
        text = " ".join([text, *(f"on {message}" for message in self.messages)])
        if self.waiting:
            text += f", {self.waiting} waits"
        return text if self.times == 1 else f"{text}, {self.times} times until {self.until:,}"

    @property
    def change(self) -> str:
        text = f"{self.state} -> {self.next_state}" if self.changes_state else self.state
        return f"{text} {self.data}" if self.data else text

    @property
    def where(self) -> str:
        return self.location


@dataclass(eq=False, kw_only=True)
class AtPort(Event):
    """A step of an access at a requester's port; ``access``: what, where, which values."""

    request: Request
    access: str
    step: str

    @property
    def what(self) -> str:
        return self.access

    @property
    def change(self) -> str:
        return self.step


@dataclass(eq=False, kw_only=True)
class Stall(Event):
    """A transition that was held back, by ``z_stall`` or for want of slots or resources.

    The controller looks again in the next cycle: ``times`` counts the looks, up to tick ``until``.
    """

    event: str
    state: str
    location: str = ""
    times: int = 1
    until: int = -1

    @property
    def what(self) -> str:
        text = f"{self.event} is held back"
        return text if self.times == 1 else f"{text}, {self.times} times until {self.until:,}"

    @property
    def change(self) -> str:
        return self.state

    @property
    def where(self) -> str:
        return self.location
