"""A tiny protocol as hand-written IR, so that the backend is tested without the front end.

A cache asks a home for lines one at a time; a request that comes while one is under way waits.
"""

from __future__ import annotations

from slicc import ir
from tests.slicc.codegen.sample_parts import (
    ASK,
    BUFFER,
    CACHE,
    DATA,
    ENTRY,
    EVENT,
    FILL,
    FRAMES,
    HOME,
    HOME_EVENT,
    HOME_STATE,
    MACHINE_ID,
    MACHINE_TYPE,
    NET_DEST,
    NOWHERE,
    PACKET,
    PAIR,
    REQUEST,
    REQUEST_TYPE,
    RESOURCE,
    STATE,
    TBE,
    TBES,
    action,
    assign,
    binary,
    do,
    enum,
    field,
    fresh,
    function,
    local,
    member,
    method,
    network,
    number,
    parameter,
    port,
    port_call,
    returning,
    struct,
    the,
    transition,
    valid,
    when,
)
from tests.slicc.codegen.sample_text import at

ADDRESS = ir.TransactionValue(ir.TransactionField.ADDRESS, ir.ADDR, span=NOWHERE)
THE_TBE = ir.TransactionValue(ir.TransactionField.TBE, TBE, span=NOWHERE)
THE_ENTRY = ir.TransactionValue(ir.TransactionField.ENTRY, ENTRY, span=NOWHERE)
TBES_OBJECT = the("TBEs", TBES)
FRAMES_OBJECT = the("frames", FRAMES)


def look_up(address: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
    """The entry and the TBE of an address."""
    entry = ir.Cast(
        method(FRAMES_OBJECT, "CacheMemory", "lookup", (address,), ENTRY), ENTRY, span=NOWHERE
    )
    return entry, method(TBES_OBJECT, "TBETable", "lookup", (address,), TBE)


_tbe, _entry, _state = local("tbe", TBE), local("cache_entry", ENTRY), local("state", STATE)
_SHARED = (("tbe", TBE), ("cache_entry", ENTRY), ("addr", ir.ADDR))

_FUNCTIONS = (
    function(
        "getState",
        _SHARED,
        STATE,
        (
            when(valid(_tbe), (returning(member(STATE, "B"), "return State:B"),)),
            when(
                valid(_entry),
                (returning(field(_entry, "CacheState", STATE), "return cache_entry.CacheState"),),
            ),
            returning(member(STATE, "I"), "return State:I"),
        ),
    ),
    function(
        "setState",
        (*_SHARED, ("state", STATE)),
        ir.VOID,
        (
            when(
                valid(_entry),
                (assign(field(_entry, "CacheState", STATE), _state, "cache_entry.CacheState :="),),
            ),
        ),
    ),
    function("setAccessPermission", (*_SHARED[1:], ("state", STATE)), ir.VOID),
    function(
        "checkResourceAvailable",
        (("request_type", REQUEST_TYPE), ("addr", ir.ADDR)),
        ir.BOOL,
        (
            returning(
                method(
                    FRAMES_OBJECT,
                    "CacheMemory",
                    "checkResourceAvailable",
                    (member(RESOURCE, "TagArray"), local("addr", ir.ADDR)),
                    ir.BOOL,
                ),
                "return frames",
            ),
        ),
    ),
    function("recordRequestType", (("request_type", REQUEST_TYPE), ("addr", ir.ADDR)), ir.VOID),
)

_fill = local("in_msg", ir.StructType(FILL))
_request = local("in_msg", ir.StructType(REQUEST))


def _in_port(
    name: str, message: ir.TypeRef, buffer: str, rank: int, event: str, line: ir.Expr, **extra: str
) -> ir.InPort:
    entry, tbe = look_up(line)
    where = f"trigger(Event:{event}, in_msg."
    body = (
        ir.Peek(
            port(name),
            message,
            "in_msg",
            (ir.Trigger(member(EVENT, event), line, entry, tbe, span=at(where)),),
            extra.get("block_on"),
            span=at(f"peek({name}"),
        ),
    )
    return ir.InPort(
        port(name),
        ir.StructType(message),
        buffer,
        rank,
        (when(port_call(name, ir.PortOperation.IS_READY), body),),
        guarded=True,
        desc=extra.get("desc", ""),
        span=at(f"in_port({name}"),
    )


_IN_PORTS = (
    _in_port("home_in", FILL, "fromHome", 1, "Fill", field(_fill, "addr", ir.ADDR), desc="Lines"),
    _in_port(
        "mandatoryQueue_in",
        REQUEST,
        "mandatoryQueue",
        0,
        "Ask",
        field(_request, "LineAddress", ir.ADDR),
        block_on="LineAddress",
    ),
)


_out = local("out_msg", ir.StructType(ASK))
_pending = field(THE_TBE, "pending", ir.INT)

_ACTIONS = (
    action(
        "a_ask",
        "Ask the home for the line",
        ir.Enqueue(
            port("home_out"),
            ASK,
            "out_msg",
            the("latency", ir.CYCLES),
            None,
            (
                assign(field(_out, "addr", ir.ADDR), ADDRESS, "out_msg.addr :="),
                assign(
                    field(_out, "hops", ir.INT),
                    binary(field(_out, "hops", ir.INT), ir.BinaryOperator.ADD, number(1), ir.INT),
                    "out_msg.hops :=",
                ),
                do(
                    method(
                        field(_out, "Destination", NET_DEST),
                        "NetDest",
                        "add",
                        (
                            ir.CallBuiltin(
                                "mapAddressToMachine",
                                ir.BuiltinHome.CONTROLLER,
                                (ADDRESS, member(MACHINE_TYPE, "Directory")),
                                MACHINE_ID,
                                span=NOWHERE,
                            ),
                        ),
                        ir.VOID,
                    ),
                    "out_msg.Destination.add",
                ),
            ),
            fresh=("Destination",),
            span=at("enqueue(home_out"),
        ),
        needs=(ir.SlotNeed("toHome", 1),),
    ),
    action(
        "b_begin",
        "Open a TBE, and a frame",
        ir.CheckAllocate("TBEs", span=at("check_allocate")),
        do(method(TBES_OBJECT, "TBETable", "allocate", (ADDRESS,), ir.VOID), "TBEs.allocate"),
        ir.SetTransaction(
            ir.TransactionField.TBE, look_up(ADDRESS)[1], span=at("set_tbe(TBEs[address])")
        ),
        needs=(ir.SlotNeed("TBEs", 1),),
    ),
    action(
        "c_check",
        'Divide by what nothing """counts""" \\ yet',
        ir.Trace(
            "RubySlicc",
            "pending %d of %s\n",
            (_pending, member(STATE, "B")),
            span=at("DPRINTF"),
        ),
        ir.TransitionComment(member(STATE, "B"), span=at("APPEND_TRANSITION_COMMENT")),
        ir.If(
            binary(
                binary(_pending, ir.BinaryOperator.DIVIDE, number(2), ir.INT),
                ir.BinaryOperator.GREATER,
                number(4),
                ir.BOOL,
            ),
            (ir.Panic("too many", span=at("error(")),),
            (
                ir.If(
                    binary(_pending, ir.BinaryOperator.EQUAL, number(7), ir.BOOL),
                    (ir.Assert(valid(THE_ENTRY), span=at("assert(")),),
                    (),
                    span=at("if (tbe.pending == 7)"),
                ),
            ),
            span=at("if (tbe.pending / 2"),
        ),
        assign(
            field(THE_ENTRY, "CacheState", STATE),
            member(STATE, "V"),
            "cache_entry.CacheState := State:V",
        ),
    ),
    action(
        "e_end",
        "Close the TBE",
        do(method(TBES_OBJECT, "TBETable", "deallocate", (ADDRESS,), ir.VOID), "TBEs.deallocate"),
        ir.SetTransaction(ir.TransactionField.TBE, None, span=at("unset_tbe")),
    ),
    action("f_popFill", "", do(port_call("home_in", ir.PortOperation.DEQUEUE), "home_in.dequeue")),
    action(
        "p_popAsk",
        "",
        do(port_call("mandatoryQueue_in", ir.PortOperation.DEQUEUE), "mandatoryQueue_in.dequeue"),
    ),
    action(
        "w_wait",
        "",
        ir.StallAndWait(port("mandatoryQueue_in"), ADDRESS, span=at("stall_and_wait")),
    ),
)


_CACHE = ir.Machine(
    CACHE,
    "A cache that asks",
    parameters=(
        parameter("frames", FRAMES),
        parameter("latency", ir.CYCLES, default=number(3)),
        parameter("toHome", BUFFER, network(ir.NetworkDirection.TO, 0, "request")),
        parameter("fromHome", BUFFER, network(ir.NetworkDirection.FROM, 1, "response")),
        parameter("mandatoryQueue", BUFFER),
    ),
    states=enum(
        STATE,
        "state_declaration(State)",
        "I: Not here",
        "B: Asked for",
        "V: Here",
        permission=ir.AccessPermission.BUSY,
    ),
    events=enum(EVENT, "enumeration(Event)", "Ask: Wanted", "Fill: It has come", "None: Never"),
    request_types=enum(REQUEST_TYPE, "enumeration(RequestType)", "TagRead"),
    enums=(),
    structs=(
        struct(
            ENTRY.ref,
            ir.StructKind.ENTRY,
            (("CacheState", STATE, member(STATE, "I")), ("DataBlk", DATA, fresh(DATA))),
        ),
        struct(
            TBE.ref,
            ir.StructKind.TBE,
            (("pending", ir.INT, number(0)), ("Sharers", NET_DEST, fresh(NET_DEST))),
        ),
    ),
    tbe=TBE.ref,
    entry=ENTRY.ref,
    objects=(ir.Object("TBEs", TBES, (the("number_of_TBEs", ir.INT),), span=at("TBETable TBEs")),),
    functions=_FUNCTIONS,
    in_ports=_IN_PORTS,
    out_ports=(ir.OutPort(port("home_out"), ASK, "toHome", span=at("out_port(home_out")),),
    actions=_ACTIONS,
    transitions=(
        transition(
            "I",
            "Ask",
            "B",
            "b_begin a_ask p_popAsk",
            ir.SlotNeed("TBEs", 1),
            ir.SlotNeed("toHome", 1),
            request_types=("TagRead",),
        ),
        transition("B", "Ask", None, "w_wait"),
        transition("V", "Ask", None, "", stalls=True),
        transition("B", "Fill", "V", "c_check e_end f_popFill"),
    ),
    cells=(
        ir.Cell("I", "Ask", 0),
        ir.Cell("B", "Ask", 1),
        ir.Cell("B", "Fill", 3),
        ir.Cell("V", "Ask", 2),
    ),
    span=at("machine(MachineType:L1Cache"),
)

_ask = local("in_msg", ir.StructType(ASK))

_HOME = ir.Machine(
    HOME,
    "The home",
    parameters=(parameter("asks", BUFFER, network(ir.NetworkDirection.FROM, 0, "request")),),
    states=enum(HOME_STATE, "state_declaration(State) { U", "U"),
    events=enum(HOME_EVENT, "enumeration(Event) { Ask; }", "Ask"),
    request_types=None,
    enums=(),
    structs=(),
    tbe=None,
    entry=None,
    objects=(),
    functions=(
        function(
            "getState",
            (("addr", ir.ADDR),),
            HOME_STATE,
            (returning(member(HOME_STATE, "U"), "return State:U"),),
            HOME,
        ),
        function("setState", (("addr", ir.ADDR), ("state", HOME_STATE)), ir.VOID, (), HOME),
        function(
            "setAccessPermission", (("addr", ir.ADDR), ("state", HOME_STATE)), ir.VOID, (), HOME
        ),
    ),
    in_ports=(
        ir.InPort(
            port("asks_in", HOME),
            ir.StructType(ASK),
            "asks",
            0,
            (
                ir.Peek(
                    port("asks_in", HOME),
                    ASK,
                    "in_msg",
                    (
                        ir.Trigger(
                            member(HOME_EVENT, "Ask"),
                            field(_ask, "addr", ir.ADDR),
                            None,
                            None,
                            span=at("trigger(Event:Ask, in_msg.addr)"),
                        ),
                    ),
                    span=at("peek(asks_in"),
                ),
            ),
            guarded=False,
            span=at("in_port(asks_in"),
        ),
    ),
    out_ports=(),
    actions=(
        action(
            "p_pop",
            "",
            do(port_call("asks_in", ir.PortOperation.DEQUEUE, HOME), "asks_in.dequeue"),
            machine=HOME,
        ),
    ),
    transitions=(transition("U", "Ask", None, "p_pop", machine=HOME),),
    cells=(ir.Cell("U", "Ask", 0),),
    span=at("machine(MachineType:Directory"),
)

PROTOCOL = ir.Protocol(
    "Toy",
    enums=(),
    structs=(
        struct(
            ASK,
            ir.StructKind.MESSAGE,
            (
                ("addr", ir.ADDR, number(0)),
                ("hops", ir.INT, number(0)),
                ("Destination", NET_DEST, fresh(NET_DEST)),
            ),
            function(
                "functionalRead",
                (("pkt", PACKET),),
                ir.BOOL,
                (returning(ir.BoolConst(False, span=NOWHERE), "return false"),),
                machine=None,
                owner="AskMsg",
            ),
            desc="A line is wanted",
        ),
        struct(
            FILL,
            ir.StructKind.MESSAGE,
            (("addr", ir.ADDR, number(0)), ("DataBlk", DATA, fresh(DATA))),
        ),
        struct(
            PAIR,
            ir.StructKind.PLAIN,
            (("left", ir.INT, number(0)), ("right", NET_DEST, fresh(NET_DEST))),
        ),
    ),
    machines=(_CACHE, _HOME),
    sources=("/somewhere/else/toy.sm",),
    span=NOWHERE,
)
