"""The parameters of a machine and the objects of its body.

Invariant: both keep the order they are written in; it is the order of construction.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import Label
from slicc.dialect.declarations import is_older
from slicc.ir import type_rules
from slicc.resolve.declarations.constructors import check_element, constructor_arguments
from slicc.resolve.declarations.pair_expressions import (
    check_range,
    default_value,
    element_type,
    read_value,
)
from slicc.resolve.library.externals import OBJECT, note_external
from slicc.resolve.scope.pairs import check_keys, description, integer
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import VariableKind, VariableSymbol
from slicc.syntax import nodes as syntax

_SCALAR_PARAMETERS = frozenset(
    {"int", "NodeID", "uint32_t", "std::string", "bool", "Cycles", "Addr"}
)
_BOOLS = {"true": True, "false": False}
MAX_NETWORK = 255
_VNET_TYPES = frozenset(
    {"request", "response", "forward", "unblock", "persistent", "dmaresponse", "none"}
)


def declare_parameters(
    scope: MachineScope, nodes: tuple[syntax.ObjectDeclaration, ...]
) -> tuple[ir.MachineParameter, ...]:
    """Everything between ``machine(…) :`` and ``{``."""
    found = []
    networks: dict[tuple[int, ir.NetworkDirection], syntax.ObjectDeclaration] = {}
    for node in nodes:
        check_keys(node.pairs, scope.sink)
        type_ = _parameter_type(scope, node)
        name = node.name.text
        if name in scope.variables:
            _report_duplicate(scope, "duplicate-parameter", "parameter", node)
            continue
        if _stand_in(scope, node, type_):
            continue
        scope.variables[name] = VariableSymbol(
            name,
            VariableKind.OBJECT,
            type_,
            node.name.span,
            ir_name=name,
            node=node,
        )
        ignored = node.pairs.find("default")
        if ignored is not None:
            scope.sink.warning(
                "ignored-default",
                f"`default=` has no effect on the parameter `{name}`",
                ignored.value_span,
                "ignored",
                help=f"write `{node.type.text} {name} := {ignored.value};`",
            )
        link = _network_link(scope, node)
        if link is not None and link.virtual_network is not None:
            _check_virtual_network(scope, networks, node, link)
        found.append(
            ir.MachineParameter(
                name,
                type_,
                node.pointer,
                _literal(scope, node.initial, type_),
                link,
                _ordered(node.pairs),
                description(node.pairs),
                span=node.name.span,
            )
        )
    return tuple(found)


def _report_duplicate(
    scope: MachineScope, slug: str, what: str, node: syntax.ObjectDeclaration
) -> None:
    first = scope.variables[node.name.text]
    scope.sink.declared_twice(
        slug,
        f"machine `{scope.name}` has the {what} `{node.name.text}` twice",
        node.name.span,
        first.span,
    )


def _parameter_type(scope: MachineScope, node: syntax.ObjectDeclaration) -> ir.Type:
    type_ = scope.resolve_type(node.type)
    symbol = scope.symbol_of(type_)
    if symbol is None:
        return type_
    text = node.type.text
    if symbol.missing_at_runtime:
        return type_
    allowed = symbol.parameter if isinstance(type_, ir.ClassType) else text in _SCALAR_PARAMETERS
    if not allowed:
        scope.sink.error(
            "unsupported-parameter-type",
            f"a machine parameter cannot be of type `{text}`",
            node.type.span,
            "no system description can provide this",
        )
        return ir.UNKNOWN
    return type_


def _stand_in(scope: MachineScope, node: syntax.ObjectDeclaration, type_: ir.Type) -> bool:
    """Declare an object of a class that the runtime lacks as null: no method reads it."""
    symbol = scope.symbol_of(type_)
    if symbol is None or not symbol.missing_at_runtime:
        return False
    name = node.name.text
    if not symbol.has_stubs:
        note_external(scope, OBJECT, f"{symbol.name} {name}", node.name.span)
    scope.variables[name] = VariableSymbol(
        name,
        VariableKind.CONSTANT,
        type_,
        node.name.span,
        ir_name=name,
        value=ir.Null(type_, span=node.span),
    )
    return True


def _ordered(pairs: syntax.Pairs) -> bool | None:
    text = pairs.get("ordered")
    return None if text is None else text == "true"


def _network_link(scope: MachineScope, node: syntax.ObjectDeclaration) -> ir.NetworkLink | None:
    pair = node.pairs.find("network")
    if pair is None:
        return None
    if pair.value not in ("To", "From"):
        scope.sink.error(
            "invalid-pair-value",
            f"`{node.name.text}`: a buffer is connected `To` or `From` the network",
            pair.value_span,
            f"is `{pair.value}`",
        )
        return None
    direction = ir.NetworkDirection(pair.value)
    number = node.pairs.find("virtual_network")
    kind = node.pairs.find("vnet_type")
    if number is None:
        return ir.NetworkLink(direction, None, None if kind is None else kind.value)
    vnet = integer(number)
    if vnet is None or vnet > MAX_NETWORK:
        scope.sink.error(
            "invalid-pair-value",
            f"`{node.name.text}`: a virtual network is a number from 0 to {MAX_NETWORK}",
            number.value_span,
            f"is `{number.value}`",
        )
    if kind is None:
        scope.sink.error(
            "missing-pair",
            f"`{node.name.text}` has a virtual network but no `vnet_type`",
            node.name.span,
            "needs `vnet_type`",
            help='add `vnet_type="request"`, `"response"`, `"forward"`…',
        )
    elif kind.value not in _VNET_TYPES:
        scope.sink.warning(
            "invalid-pair-value",
            f"`{node.name.text}`: `{kind.value}` is no usual kind of virtual network",
            kind.value_span,
            f"usual are {', '.join(sorted(_VNET_TYPES))}",
        )
    return ir.NetworkLink(direction, vnet, None if kind is None else kind.value)


def _check_virtual_network(
    scope: MachineScope,
    networks: dict[tuple[int, ir.NetworkDirection], syntax.ObjectDeclaration],
    node: syntax.ObjectDeclaration,
    link: ir.NetworkLink,
) -> None:
    assert link.virtual_network is not None
    key = (link.virtual_network, link.direction)
    first = networks.setdefault(key, node)
    if first is not node:
        # Two buffers towards one virtual network once shared its queue; two from it never worked.
        shared = link.direction is ir.NetworkDirection.TO and is_older(scope.node)
        report = scope.sink.warning if shared else scope.sink.error
        report(
            "duplicate-virtual-network",
            f"machine `{scope.name}` has two buffers "
            f'`network="{link.direction.value}"` on virtual network {link.virtual_network}',
            node.name.span,
            "second buffer",
            secondary=[Label(first.name.span, "first buffer")],
        )


def _literal(scope: MachineScope, node: syntax.Expression | None, type_: ir.Type) -> ir.Expr | None:
    """The default value after ``:=``; only literals can stand there."""
    match node:
        case None:
            return None
        case syntax.Parenthesized(inner):
            return _literal(scope, inner, type_)
        case syntax.NumberLiteral(value) if type_rules.is_integer(type_):
            return _number(scope, ir.IntConst(value, type_, span=node.span))
        case syntax.Unary("-", syntax.NumberLiteral(value)) if type_rules.is_integer(type_):
            return _number(scope, ir.IntConst(-value, type_, span=node.span))
        case syntax.BoolLiteral(value) if type_ == ir.BOOL:
            return ir.BoolConst(value, span=node.span)
        case syntax.StringLiteral(value) if type_ == ir.BOOL and value.lower() in _BOOLS:
            return ir.BoolConst(_BOOLS[value.lower()], span=node.span)
        case syntax.NumberLiteral(0 | 1 as value) if type_ == ir.BOOL:
            meant = "true" if value else "false"
            scope.sink.warning(
                "number-for-bool",
                f"the number {value} initialises a `bool`",
                node.span,
                f"read as `{meant}`",
                help=f'write `"{meant.capitalize()}"` or `{meant}`',
            )
            return ir.BoolConst(bool(value), span=node.span)
        case syntax.StaticCast() if node.type.text == type_rules.describe(type_):
            return _literal(scope, node.operand, type_)
        case syntax.StringLiteral(value) if type_ == ir.STRING:
            return ir.StringConst(value, span=node.span)
        case syntax.StringLiteral("NULL") if isinstance(type_, ir.ClassType):
            return None  # an object that the system may leave out
        case _ if not isinstance(type_, ir.UnknownType):
            scope.sink.error(
                "type-mismatch-initial",
                f"this is no default for a parameter of type `{type_rules.describe(type_)}`",
                node.span,
                'expected "True" or "False"' if type_ == ir.BOOL else "expected a literal",
            )
    return None


def _number(scope: MachineScope, value: ir.IntConst) -> ir.IntConst:
    check_range(scope, value, value.span)
    return value


def declare_objects(
    scope: MachineScope, nodes: list[syntax.ObjectDeclaration]
) -> tuple[ir.Object, ...]:
    """Objects of the machine body. Each sees those before it (initialisers may read them)."""
    found = []
    for node in nodes:
        check_keys(node.pairs, scope.sink)
        name = node.name.text
        if name in scope.variables:
            _report_duplicate(scope, "duplicate-object", "object", node)
        elif not _stand_in(scope, node, scope.resolve_type(node.type)):
            found.append(declare_object(scope, node, name))
    return tuple(found)


def declare_object(scope: MachineScope, node: syntax.ObjectDeclaration, name: str) -> ir.Object:
    """An object of the machine, which is to have that name."""
    type_ = element_type(scope, scope.resolve_type(node.type), node.pairs)
    type_ = check_element(scope, node, type_)
    arguments, initial = _construction(scope, node, type_)
    scope.variables[name] = VariableSymbol(
        name, VariableKind.OBJECT, type_, node.name.span, ir_name=name, node=node
    )
    return ir.Object(name, type_, arguments, initial, description(node.pairs), span=node.name.span)


def _construction(
    scope: MachineScope, node: syntax.ObjectDeclaration, type_: ir.Type
) -> tuple[tuple[ir.Expr, ...], ir.Expr | None]:
    """Constructor arguments of a runtime class, or the initial value of anything else."""
    if isinstance(type_, ir.ClassType) and not type_.value:
        return constructor_arguments(scope, node, type_), None
    if isinstance(type_, ir.UnknownType):
        return (), None
    if node.initial is not None:
        literal = _literal(scope, node.initial, type_)
        return (), literal or default_value(scope, type_, node.span)
    pair = node.pairs.find("default")
    if pair is not None:
        value = read_value(scope, pair, type_)
        return (), value or default_value(scope, type_, node.span)
    if isinstance(type_, ir.ScalarType):
        scope.sink.warning(
            "uninitialized-object",
            f"`{node.name.text}` has no initial value; it starts as zero here",
            node.name.span,
            "undefined in gem5",
            help='add `default="0"`' if type_rules.is_integer(type_) else "add a `default=` pair",
        )
    return (), default_value(scope, type_, node.span)
