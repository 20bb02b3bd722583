"""The pieces of a system description: machines, caches, buffers, requesters, agents, hand-overs.

One declaration per field gives its type, range, default and meaning: reading checks values against
it (``runtime.description.reader``), and the tables of ``docs/system.md`` are held equal to it.
Invariant: a piece that was read is within bounds; what it does not say is None until completion
fills it in. Pieces compare by contents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeVar, get_args

from msgspec import Meta, Struct, field

from runtime.sim.delay_policy import ScriptedDelay

MAX_COUNT: Final = 64
MAX_LATENCY: Final = 1 << 20
MAX_ENTRIES: Final = 1 << 20
MAX_LANES: Final = 64
MAX_WAVEFRONTS: Final = 256

V = TypeVar("V")
Delays = Literal["nominal", "uniform", "heavy_tail", "gem5", "skewed", "stragglers", "scripted"]
DELAYS: Final[tuple[str, ...]] = get_args(Delays)
NetworkKind = Literal["point_to_point", "bus"]
RequesterClass = Literal[
    "Sequencer", "VIPERCoalescer", "GPUCoalescer", "HTMSequencer", "DMASequencer"
]

Scalar = int | bool | str
Text = Annotated[str, Meta(max_length=4096)]
Value = int | bool | Text
"""A scalar as it is written; completion knows the range of a number."""
Listed = Annotated[tuple[V, ...], Meta(max_length=64)]
Names = Listed[Text]
Tables = Annotated[Mapping[str, V], Meta(max_length=64)]
Rows = Annotated[tuple[V, ...], Meta(max_length=256)]
Cycles = Annotated[int, Meta(ge=0, le=MAX_LATENCY)]
Hops = Annotated[int, Meta(ge=1, le=MAX_LATENCY)]
"""Cycles of something that always takes time."""
Entries = Annotated[int, Meta(ge=1, le=MAX_ENTRIES)]
Thousand = Annotated[int, Meta(ge=1, le=1 << 10)]
Many = Annotated[int, Meta(ge=1, le=1 << 16)]
OfMachine = Annotated[str, Meta(max_length=4096, pattern=r"^[^.]*\.[^.]*\Z", title="Machine.name")]
Cell = Annotated[
    str, Meta(max_length=4096, pattern=r"^[^.]+(\.[^.]+){2}\Z", title="Machine.STATE.EVENT")
]
CellOrAction = Annotated[
    str,
    Meta(
        max_length=4096,
        pattern=r"^[^.]+(\.[^.]+){2,3}\Z",
        title="Machine.STATE.EVENT or Machine.STATE.EVENT.action",
    ),
]


class FieldError(ValueError):
    """Raised by a piece whose fields are each possible but not together; names one of them."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def doc(text: str) -> Meta:
    """What a field means, for the manual."""
    return Meta(description=text)


class Piece(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the description."""


class DelayedMessage(Piece, frozen=True):
    """One message that a script delays."""

    channel: Annotated[
        Text,
        doc(
            "the sender's buffer and the receiver's, or one buffer inside of a machine: "
            '`"Directory0.responseFromMemory"` ([names](semantics.md#scripted-delays))'
        ),
    ]
    message: Annotated[
        Annotated[int, Meta(ge=1, le=1 << 31)],
        doc("its number among the messages of the line on that channel, from 1"),
    ]
    delay: Annotated[Cycles, doc("cycles added to its latency")]
    line: Annotated[
        Annotated[int, Meta(ge=0, le=(1 << 63) - 1)],
        doc("address of the line, a multiple of `line_size`; 0 also for messages without a line"),
    ] = 0


class NetworkDescription(Piece, frozen=True):
    """How messages travel."""

    kind: Annotated[
        NetworkKind,
        doc(
            "`bus`: all receivers get a message in the same tick, and messages in one order "
            "([the bus](semantics.md#the-bus))"
        ),
    ] = "point_to_point"
    bus: Annotated[
        Listed[int] | None,
        doc('with `kind = "bus"`: the virtual networks that are on it; absent: all'),
    ] = None
    latency: Annotated[Hops, doc("cycles added to the sender's latency")] = 1
    delays: Annotated[
        Delays,
        doc("random part of message delays; `nominal`: none; `scripted`: those of `script`"),
    ] = "nominal"
    script: Annotated[
        Annotated[tuple[DelayedMessage, ...], Meta(max_length=4096)] | None,
        doc('with `delays = "scripted"`: the messages that are delayed; all others are not'),
    ] = None
    ordered: Annotated[
        bool,
        doc(
            "whether buffers of virtual networks keep order unless they set it themselves: "
            "try it (`--set network.ordered=true`) when a protocol of your own fails at once, "
            "then find out which of them need it"
        ),
    ] = False

    def delayed(self) -> list[ScriptedDelay]:
        """The script as the policy has it."""
        return [ScriptedDelay(d.channel, d.line, d.message, d.delay) for d in self.script or ()]


class MemoryDescription(Piece, frozen=True):
    """Memory behind the directories."""

    latency: Annotated[Hops, doc("cycles from a memory request to its response")] = 40


class CacheDescription(Piece, frozen=True):
    """One CacheMemory parameter."""

    sets: Annotated[Entries, doc("a power of two; sets times ways at most 2^20 lines")] = 16
    ways: Annotated[Thousand, doc("lines of a set; with `tree_plru` a power of two")] = 4
    replacement: Annotated[
        Literal["tree_plru", "lru"], doc("which line of a full set makes room")
    ] = "tree_plru"
    start_index_bit: Annotated[
        Annotated[int, Meta(ge=0, le=48)] | None,
        doc("lowest address bit of the set number; absent: just above the line and bank bits"),
    ] = None
    tag_latency: Annotated[Cycles, doc("what `getTagLatency` returns")] = 1
    data_latency: Annotated[Cycles, doc("what `getDataLatency` returns")] = 1
    resource_stalls: Annotated[bool, doc("model busy banks, with the fields below")] = False
    tag_banks: Annotated[Thousand, doc("banks of the tag array")] = 1
    data_banks: Annotated[Thousand, doc("banks of the data array")] = 1
    atomic_alus: Annotated[Many, doc("atomic operations at the same time")] = 64
    atomic_latency: Annotated[Cycles, doc("cycles that an atomic operation keeps its ALU busy")] = 0

    def __post_init__(self) -> None:
        if self.sets & (self.sets - 1):
            raise FieldError("sets", "must be a power of two")
        if self.sets * self.ways > MAX_ENTRIES:
            raise FieldError("sets", f"sets * ways is more than {MAX_ENTRIES} lines")
        if self.replacement == "tree_plru" and self.ways & (self.ways - 1):
            raise FieldError("ways", "tree_plru needs a power of two; lru takes any number")


class BufferDescription(Piece, frozen=True):
    """One MessageBuffer parameter."""

    ordered: Annotated[bool, doc("FIFO whatever the delays")] = False
    capacity: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_ENTRIES)], doc("messages; 0: unbounded")
    ] = 0
    latency: Annotated[
        Hops | None, doc("of messages sent from this buffer; absent: the network's")
    ] = None
    randomized: Annotated[bool, doc("false: no random delays, whatever `network.delays` says")] = (
        True
    )
    joined: Annotated[
        OfMachine | None, doc('`"Machine.buffer"`: instance i of both machines share one buffer')
    ] = None


class DerivedParameter(Piece, frozen=True):
    """A scalar parameter that follows from something else, unless it is given."""

    count: Annotated[
        Text | None, doc("the number of instances of this machine; or else `parameter`")
    ] = None
    parameter: Annotated[OfMachine | None, doc('the value of another scalar: `"TCC.WB"`')] = None
    times: Annotated[Entries, doc("a number is multiplied by this")] = 1
    plus: Annotated[Annotated[int, Meta(ge=-(1 << 20), le=1 << 20)], doc("then this is added")] = 0

    def __post_init__(self) -> None:
        if (self.count is None) == (self.parameter is None):
            expected = 'expected one of count = "Machine", parameter = "Machine.name"'
            raise FieldError("count", expected)


class MachineDescription(Piece, frozen=True):
    """A group of instances of one machine: all of them, unless several groups say ``of`` it."""

    of: Annotated[Text | None, doc("the machine; absent: the table's name")] = None
    count: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_COUNT)] | None, doc("instances; absent: see *Inference*")
    ] = None
    as_many_as: Annotated[Text | None, doc("a group with as many instances")] = None
    interleaved: Annotated[
        bool | None,
        doc(
            "each line belongs to one instance: number = line number modulo `count`; "
            "absent: see *Inference*"
        ),
    ] = None
    downstream: Annotated[
        Names,
        doc(
            "groups below: all instances of an interleaved group, else instance i of n knows "
            "instance i·m/n of m. The lines are shared out among those it knows"
        ),
    ] = ()
    upstream: Annotated[
        Names, doc("groups above: those instances that have this one downstream")
    ] = ()
    parameters: Annotated[
        Mapping[str, Value],
        doc("scalar parameters by the author's names; absent: the declared default"),
    ] = field(default_factory=dict)
    derived: Annotated[
        Tables[DerivedParameter],
        doc("scalars that follow from others; a value under `parameters` wins"),
    ] = field(default_factory=dict)
    caches: Annotated[Tables[CacheDescription], doc("CacheMemory parameters")] = field(
        default_factory=dict, name="cache"
    )
    buffers: Annotated[Tables[BufferDescription], doc("MessageBuffer parameters")] = field(
        default_factory=dict, name="buffer"
    )


class RequesterDescription(Piece, frozen=True):
    """A requester class attached to every instance of a machine."""

    machine: Annotated[Text, doc("the machine that it drives")]
    parameter: Annotated[
        Text | None,
        doc(
            "the machine's parameter that it is; absent: the only one of a requester class, "
            "a coalescer before a sequencer"
        ),
    ] = None
    class_name: Annotated[
        RequesterClass | None, doc("checked against the parameter's when given")
    ] = field(default=None, name="class")
    queue: Annotated[
        Text | None, doc("the buffer it fills, which must be unbounded; absent: `mandatoryQueue`")
    ] = None
    caches: Annotated[
        Names | None, doc("which caches a walk visits; absent: all of the machine")
    ] = None
    walk: Annotated[
        bool | None,
        doc(
            "an acquire sends one `REPLACEMENT` per resident line; absent: true for coalescers, "
            "and for sequencers named in an `invalidates`"
        ),
    ] = None
    invalidates: Annotated[
        Text | None,
        doc("a group whose caches an acquire walks as well; instance i of n takes i·m/n of m"),
    ] = None
    context: Annotated[
        Annotated[int, Meta(ge=0, le=1 << 16)] | None,
        doc(
            "`contextId` of its requests; absent: position among the machine's sequencers "
            "(coalescer: 100)"
        ),
    ] = None
    fetch: Annotated[bool, doc("loads are sent as `IFETCH`")] = False
    tokens: Annotated[
        Many | None,
        doc(
            "coalescer: instructions accepted but not yet coalesced; absent: 4 per wavefront "
            "(with `one_request_per_lane`: times lanes)"
        ),
    ] = None
    outstanding: Annotated[
        Many | None,
        doc(
            "requests in flight or waiting for their line; absent: 2560 coalescer, "
            "16 sequencer, 64 DMA"
        ),
    ] = None
    atomics: Annotated[
        Literal["line", "linked", "conditional", "far"],
        doc(
            "sequencer: how atomic operations are done: on the line while it can be written, by "
            "load-linked and store-conditional (`conditional`: sent as `Store_Conditional`), or by "
            "requests that carry the operation (`far`)"
        ),
    ] = "line"
    ahead: Annotated[
        bool,
        doc(
            "sequencer: agents keep the value of a load that ran ahead until the machine reports "
            "that the line has left its cache (`evictionCallback`)"
        ),
    ] = False
    acquire_flag: Annotated[
        Text | None,
        doc(
            "sequencer: a `bool` field of `RubyRequest` in the protocol's own library, which has "
            "not its default in the first access after an acquire ([fences](#fences))"
        ),
    ] = None
    release_flag: Annotated[
        Text | None, doc("sequencer: the same for the last access before a release")
    ] = None
    coalesces_per_cycle: Annotated[
        Thousand, doc("coalescer: instructions coalesced each cycle")
    ] = 1
    one_request_per_lane: Annotated[
        bool, doc("coalescer: every lane is an instruction of its own")
    ] = False

    @property
    def needs_fences(self) -> bool:
        """Whether its machine orders accesses only where a request is marked."""
        return self.acquire_flag is not None or self.release_flag is not None


class AgentsDescription(Piece, frozen=True):
    """Threads on each requester of a group."""

    requester: Annotated[Text, doc("the requesters that they use: a group")]
    kind: Annotated[
        Literal["gpu", "cpu", "dma"] | None,
        doc("`dma`: loads and stores without fetch-adds; absent: of the requester"),
    ] = None
    wavefronts: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_WAVEFRONTS)], doc("threads on each requester of the group")
    ] = 1
    lanes: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_LANES)] | None,
        doc("lanes of each thread; absent: 16 for `gpu`, else 1"),
    ] = None
    without: Annotated[
        Listed[
            Literal[
                "stores",
                "partial",
                "loads",
                "flush",
                "instructions",
                "scopes",
                "atomics",
                "bare",
                "ahead",
                "linked",
                "conditional",
                "far",
            ]
        ],
        doc(
            "what they never do: `partial` are stores of less than a line, `loads` wavefronts "
            "cannot do without, `instructions` are fetches, `scopes` bypass caches, `atomics` "
            "include the fetch-adds of hand-overs, `bare` are hand-overs without fetch-adds, by "
            "completion alone: wrong where copies stay readable for a while, as with leases (of "
            "these three, one group decides for all); `linked`, `conditional`, `far`: ways of "
            "atomic operations (see `atomics` of a requester); `ahead`: keep values of loads that "
            "ran ahead"
        ),
    ] = ()


class VariantDescription(Piece, frozen=True):
    """One more way to build a part of the system. A leg draws one of each part, or none."""

    of: Annotated[Text, doc("the part that it is a variant of: `third level`")]
    name: Annotated[Text, doc("what it is: `exclusive`")]
    set: Annotated[
        Mapping[str, Value | Names],
        doc(
            "fields of this description by their paths, and values; parameters that the protocol "
            "does not declare are passed over. Known defects and `--set` overrule them"
        ),
    ] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """What leg details call it."""
        return f"{self.name} {self.of}"


class DefectDescription(Piece, frozen=True):
    """A known defect of the protocol that tests avoid unless they are asked to attack it."""

    what: Annotated[Text, doc("what goes wrong")]
    where: Annotated[Text, doc("file and line")] = ""
    name: Annotated[Text, doc("what `--attack` and `--avoid` call it; absent: `what`")] = ""
    avoid: Annotated[
        Mapping[str, Value | Names],
        doc(
            'fields of this description by their paths, and values: `{ "machine.DMA.count" = 0 }`. '
            "They overrule profiles and give way to `--set`"
        ),
    ] = field(default_factory=dict)
    instead: Annotated[
        tuple[Mapping[str, Value | Names], ...],
        doc(
            "other fields that keep the defect out of the way as well: each leg draws `avoid` or "
            "one of these, so that no part of the system is never tested"
        ),
    ] = ()
    weight: Annotated[
        Thousand, doc("how often `avoid` is drawn where each of `instead` is drawn once")
    ] = 1
    drawn_with: Annotated[
        Text,
        doc(
            "name of a defect whose draw decides here, too: ways that need each other have the "
            "same number, which `weight` counts with"
        ),
    ] = ""
    needs: Annotated[
        Listed[CellOrAction],
        doc(
            'transitions that the defect goes through: `["Directory.I.DMA_WRITE"]`, with '
            "`.action` if it takes that action (`z_stall` counts as one). Without one of them "
            "the protocol does not have the defect"
        ),
    ] = ()
    lacks: Annotated[
        Listed[Cell],
        doc(
            "transitions of which at least one is missing, of states and events that are there: "
            "with all of them the defect is mended"
        ),
    ] = ()
    same: Annotated[
        Text,
        doc(
            "digest of the transitions that it needs (`python -m protocols.defect_digests "
            "DRIVER`): next states, names of actions, and the statements of the action that is "
            "named, or of all. A protocol whose text differs there does not have the defect; what "
            "else it does in the same states is no part of it"
        ),
    ] = ""

    @property
    def called(self) -> str:
        """The name of the defect for options and messages."""
        return self.name or self.what


class HandoverDescription(Piece, frozen=True):
    """What makes bytes written by ``giver`` agents readable by ``taker`` agents."""

    giver: Annotated[Text, doc("the group of agents that wrote")]
    taker: Annotated[Text, doc("the group of agents that reads")]
    scope: Annotated[Text, doc("the one scope that the row is about; empty: all")] = ""
    allowed: Annotated[bool, doc("false: such bytes are never handed over")] = True
    giver_steps: Annotated[
        Listed[Literal["release", "flush"]],
        doc("`release`: its stores are complete; `flush`: the lines it wrote are flushed"),
    ] = ("release",)
    taker_steps: Annotated[Listed[Literal["acquire", "invalidate_l2"]], doc("before it reads")] = (
        "acquire",
    )
