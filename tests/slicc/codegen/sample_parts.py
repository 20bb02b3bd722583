"""Short ways to write nodes of IR, with the names and types of the sample protocol.

Invariant: a node that has a place is found in the sample's text; the others are nowhere.
"""

from __future__ import annotations

from slicc import ir
from tests.slicc.codegen.sample_text import at

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


# ------------------------------------------------------------------ expressions and statements


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


# ------------------------------------------------------------------ declarations


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


def action(
    name: str,
    desc: str,
    *body: ir.Stmt,
    needs: tuple[ir.SlotNeed, ...] = (),
    machine: str = CACHE,
) -> ir.Action:
    ref = ir.ActionRef(machine, name)
    return ir.Action(ref, name[0], desc, body, needs, span=at(f"action({name},"))


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
