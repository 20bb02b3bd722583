"""A tiny protocol as hand-written IR, so that the backend is tested without the front end.

A cache asks a home for lines one at a time; a request that comes while one is under way waits.
The text below is what an author would have written: it only serves the places of the nodes.
"""

from __future__ import annotations

from slicc import ir
from slicc.source import SourceFile, Span

TEXT = '''\
machine(MachineType:L1Cache, "A cache that asks") : CacheMemory * frames; Cycles latency := 3;
  MessageBuffer * toHome, network="To", virtual_network="0", vnet_type="request";
  MessageBuffer * fromHome, network="From", virtual_network="1", vnet_type="response";
  MessageBuffer * mandatoryQueue;
{
  state_declaration(State) { I, desc="Not here"; B, desc="Asked for"; V, desc="Here"; }
  enumeration(Event) { Ask, desc="Wanted"; Fill, desc="It has come"; None, desc="Never"; }
  enumeration(RequestType) { TagRead; }
  structure(Entry) { State CacheState; DataBlock DataBlk; }
  structure(TBE) { int pending; NetDest Sharers; }
  TBETable TBEs, constructor="m_number_of_TBEs";
  State getState(TBE tbe, Entry cache_entry, Addr addr) {
    if (is_valid(tbe)) { return State:B; }
    if (is_valid(cache_entry)) { return cache_entry.CacheState; }
    return State:I;
  }
  void setState(TBE tbe, Entry cache_entry, Addr addr, State state) {
    if (is_valid(cache_entry)) { cache_entry.CacheState := state; }
  }
  void setAccessPermission(Entry cache_entry, Addr addr, State state) { }
  bool checkResourceAvailable(RequestType request_type, Addr addr) {
    return frames.checkResourceAvailable(CacheResourceType:TagArray, addr);
  }
  void recordRequestType(RequestType request_type, Addr addr) { }
  out_port(home_out, AskMsg, toHome);
  in_port(home_in, FillMsg, fromHome, rank=1, desc="Lines") {
    if (home_in.isReady(clockEdge())) { peek(home_in, FillMsg) {
      trigger(Event:Fill, in_msg.addr, frames.lookup(in_msg.addr), TBEs[in_msg.addr]); } }
  }
  in_port(mandatoryQueue_in, RubyRequest, mandatoryQueue, rank=0) {
    if (mandatoryQueue_in.isReady(clockEdge())) {
      peek(mandatoryQueue_in, RubyRequest, block_on="LineAddress") {
        trigger(Event:Ask, in_msg.LineAddress,
                frames.lookup(in_msg.LineAddress), TBEs[in_msg.LineAddress]); } }
  }
  action(a_ask, "a", desc="Ask the home for the line") {
    enqueue(home_out, AskMsg, latency) {
      out_msg.addr := address;
      out_msg.hops := out_msg.hops + 1;
      out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));
    }
  }
  action(b_begin, "b", desc="Open a TBE, and a frame") {
    check_allocate(TBEs); TBEs.allocate(address); set_tbe(TBEs[address]);
  }
  action(c_check, "c", desc="Divide by what nobody \\"""counts\\""" \\\\ yet") {
    DPRINTF(RubySlicc, "pending %d of %s\\n", tbe.pending, State:B);
    APPEND_TRANSITION_COMMENT(State:B);
    if (tbe.pending / 2 > 4) { error("too many"); }
    else if (tbe.pending == 7) { assert(is_valid(cache_entry)); }
    cache_entry.CacheState := State:V;
  }
  action(e_end, "e", desc="Close the TBE") { TBEs.deallocate(address); unset_tbe(); }
  action(f_popFill, "f") { home_in.dequeue(clockEdge()); }
  action(p_popAsk, "p") { mandatoryQueue_in.dequeue(clockEdge()); }
  action(w_wait, "w") { stall_and_wait(mandatoryQueue_in, address); }
  transition(I, Ask, B) { TagRead } { b_begin; a_ask; p_popAsk; }
  transition(B, Ask) { w_wait; }
  transition(V, Ask) { z_stall; }
  transition(B, Fill, V) { c_check; e_end; f_popFill; }
}
machine(MachineType:Directory, "The home")
  : MessageBuffer * asks, network="From", virtual_network="0", vnet_type="request"; {
  state_declaration(State) { U; }
  enumeration(Event) { Ask; }
  State getState(Addr addr) { return State:U; }
  void setState(Addr addr, State state) { }
  void setAccessPermission(Addr addr, State state) { }
  in_port(asks_in, AskMsg, asks) { peek(asks_in, AskMsg) { trigger(Event:Ask, in_msg.addr); } }
  action(p_pop, "p") { asks_in.dequeue(clockEdge()); }
  transition(U, Ask) { p_pop; }
}
structure(AskMsg, interface="Message") { Addr addr; int hops; NetDest Destination;
  bool functionalRead(Packet *pkt) { return false; } }
structure(FillMsg, interface="Message") { Addr addr; DataBlock DataBlk; }
structure(Pair) { int left; NetDest right; }
'''

FILE = SourceFile("/somewhere/else/toy.sm", TEXT)


def at(snippet: str) -> Span:
    """The first place of a piece of the text."""
    start = TEXT.index(snippet)
    return Span(FILE, start, start + len(snippet))


CACHE = "L1Cache"
HOME = "Directory"
NOWHERE = at("machine(")

DATA = ir.ClassType("DataBlock", value=True)
NET_DEST = ir.ClassType("NetDest", value=True)
MACHINE_ID = ir.ClassType("MachineID", value=True, immutable=True)
BUFFER = ir.ClassType("MessageBuffer")
FRAMES = ir.ClassType("CacheMemory")
PACKET = ir.ClassType("Packet")
STATE = ir.EnumType(ir.TypeRef(CACHE, "State"))
EVENT = ir.EnumType(ir.TypeRef(CACHE, "Event"))
REQUEST_TYPE = ir.EnumType(ir.TypeRef(CACHE, "RequestType"))
HOME_STATE = ir.EnumType(ir.TypeRef(HOME, "State"))
HOME_EVENT = ir.EnumType(ir.TypeRef(HOME, "Event"))
MACHINE_TYPE = ir.EnumType(ir.TypeRef(None, "MachineType"))
RESOURCE = ir.EnumType(ir.TypeRef(None, "CacheResourceType"))
ENTRY = ir.PointerType(ir.TypeRef(CACHE, "Entry"))
TBE = ir.PointerType(ir.TypeRef(CACHE, "TBE"))
TBES = ir.ClassType("TBETable", element=TBE)
ASK = ir.TypeRef(None, "AskMsg")
FILL = ir.TypeRef(None, "FillMsg")
PAIR = ir.TypeRef(None, "Pair")
REQUEST = ir.TypeRef(None, "RubyRequest")


def local(name: str, type_: ir.Type) -> ir.Local:
    return ir.Local(name, type_, span=NOWHERE)


def number(value: int) -> ir.IntConst:
    return ir.IntConst(value, ir.INT, span=NOWHERE)


def member(type_: ir.EnumType, name: str) -> ir.EnumConst:
    return ir.EnumConst(name, type_, span=NOWHERE)


def field(receiver: ir.Expr, name: str, type_: ir.Type) -> ir.FieldAccess:
    return ir.FieldAccess(receiver, name, type_, span=NOWHERE)


def the(name: str, type_: ir.Type) -> ir.MachineObject:
    return ir.MachineObject(name, type_, span=NOWHERE)


def method(
    receiver: ir.Expr, class_name: str, name: str, arguments: tuple[ir.Expr, ...], type_: ir.Type
) -> ir.CallMethod:
    return ir.CallMethod(receiver, class_name, name, arguments, type_, span=NOWHERE)


def binary(left: ir.Expr, sign: ir.BinaryOperator, right: ir.Expr, type_: ir.Type) -> ir.Binary:
    return ir.Binary(sign, left, right, type_, span=NOWHERE)


def fresh(type_: ir.Type) -> ir.NewStruct:
    return ir.NewStruct(type_, span=NOWHERE)


def assign(target: ir.Expr, value: ir.Expr, where: str) -> ir.Assign:
    return ir.Assign(target, value, ir.Copying.REBIND, span=at(where))


def do(expression: ir.Expr, where: str) -> ir.Evaluate:
    return ir.Evaluate(expression, span=at(where))


def valid(operand: ir.Expr) -> ir.NullTest:
    return ir.NullTest(True, operand, span=at("is_valid(cache_entry)"))


def port(name: str, machine: str = CACHE) -> ir.PortRef:
    return ir.PortRef(machine, name)


def port_call(name: str, operation: ir.PortOperation, machine: str = CACHE) -> ir.PortCall:
    type_: ir.Type = ir.BOOL if operation is ir.PortOperation.IS_READY else ir.TICK
    return ir.PortCall(port(name, machine), operation, (), type_, span=NOWHERE)


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


def enum(
    type_: ir.EnumType, where: str, *members: str, permission: ir.AccessPermission | None = None
) -> ir.Enum_:
    """Members as ``name`` or ``name: description``."""
    made = []
    for each in members:
        name, _, desc = each.partition(": ")
        made.append(ir.EnumMember(name, desc, name, permission, span=at(where)))
    return ir.Enum_(type_.ref, tuple(made), members[0].partition(":")[0], span=at(where))


def struct(
    ref: ir.TypeRef,
    kind: ir.StructKind,
    fields: tuple[tuple[str, ir.Type, ir.Expr], ...],
    *methods: ir.Function,
    desc: str = "",
) -> ir.Struct:
    made = tuple(ir.Field(name, type_, default, span=NOWHERE) for name, type_, default in fields)
    where = at(f"structure({ref.name}")
    return ir.Struct(ref, kind, made, methods, desc, span=where)


def function(
    name: str,
    parameters: tuple[tuple[str, ir.Type], ...],
    result: ir.Type,
    body: tuple[ir.Stmt, ...] = (),
    machine: str | None = CACHE,
    owner: str | None = None,
) -> ir.Function:
    made = tuple(ir.FunctionParameter(each, type_, span=NOWHERE) for each, type_ in parameters)
    ref = ir.FunctionRef(machine, owner, name)
    return ir.Function(ref, name, made, result, body, span=at(f"{name}("))


def returning(value: ir.Expr, where: str) -> ir.Return:
    return ir.Return(value, span=at(where))


def when(condition: ir.Expr, then: tuple[ir.Stmt, ...], orelse: tuple[ir.Stmt, ...] = ()) -> ir.If:
    return ir.If(condition, then, orelse, span=condition.span)


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


def action(
    name: str,
    desc: str,
    *body: ir.Stmt,
    needs: tuple[ir.SlotNeed, ...] = (),
    machine: str = CACHE,
) -> ir.Action:
    ref = ir.ActionRef(machine, name)
    return ir.Action(ref, name[0], desc, body, needs, span=at(f"action({name},"))


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
        'Divide by what nobody """counts""" \\ yet',
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


def transition(
    states: str,
    event: str,
    following: str | None,
    actions: str,
    *needs: ir.SlotNeed,
    machine: str = CACHE,
    request_types: tuple[str, ...] = (),
    stalls: bool = False,
) -> ir.Transition:
    kind = ir.NextKind.STAY if following is None else ir.NextKind.STATE
    return ir.Transition(
        (states,),
        (event,),
        ir.NextState(kind, following),
        request_types,
        tuple(ir.ActionRef(machine, name) for name in actions.split()),
        needs,
        stalls,
        span=at(f"transition({states}, {event}"),
    )


def network(direction: ir.NetworkDirection, number_: int, kind: str) -> ir.NetworkLink:
    return ir.NetworkLink(direction, number_, kind)


def parameter(
    name: str, type_: ir.Type, link: ir.NetworkLink | None = None, default: ir.Expr | None = None
) -> ir.MachineParameter:
    pointer = isinstance(type_, ir.ClassType)
    return ir.MachineParameter(name, type_, pointer, default, link, span=NOWHERE)


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
