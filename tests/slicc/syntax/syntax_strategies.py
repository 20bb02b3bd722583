"""Hypothesis strategies for syntax trees, exactly those that a text can have.

Operators are built level by level as in the grammar, so that no tree needs a bracket that it
does not contain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from slicc.source import NOWHERE
from slicc.syntax import nodes as s

_WORDS = """
    protocol include global machine in_port out_port action transition structure external_type
    enumeration state_declaration peek stall_and_wait wakeup_port enqueue check_allocate
    check_next_cycle check_stop_slots check_on_cache_probe static_cast if is_valid is_invalid else
    return void new OOD defer_enqueueing true false
"""
RESERVED = frozenset(_WORDS.split())


def build(node: Callable[..., Any], *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(lambda *values: node(*values, span=NOWHERE), *parts)


def tuples(items: st.SearchStrategy[Any], low: int = 0, high: int = 3) -> st.SearchStrategy[Any]:
    return st.lists(items, min_size=low, max_size=high).map(tuple)


names = (
    st.one_of(
        st.sampled_from(["const", "trigger", "desc", "OODx", "newState", "x", "_"]),
        st.from_regex(r"[A-Za-z_][A-Za-z_0-9]{0,5}", fullmatch=True),
    )
    .filter(lambda text: text not in RESERVED)
    .map(lambda text: s.Name(text, span=NOWHERE))
)
type_names = build(s.TypeName, tuples(names, 1, 3))
texts = st.text(
    st.characters(exclude_characters="\n\"'", exclude_categories=["Cs"]), max_size=8
) | st.sampled_from([r"\ge", "it's", 'a "b"', "// no comment", "/*", "é", ""])
strings = texts.map(lambda text: s.StringLiteral(text, span=NOWHERE))
numbers = build(s.NumberLiteral, st.integers(0, 2**64))
floats = build(s.FloatLiteral, st.sampled_from(["1.5", "0.0", "00.10"]))
booleans = build(s.BoolLiteral, st.booleans())


def pair(key: s.Name | None, value: str, kind: s.PairKind) -> s.Pair:
    return s.Pair(key, value, kind, value_span=NOWHERE, span=NOWHERE)


pair_items = st.one_of(
    st.builds(pair, st.none() | names, texts, st.just("string")),
    st.builds(pair, names, names.map(lambda name: name.text), st.just("name")),
    st.builds(pair, names, st.integers(0, 99).map(str), st.just("number")),
)
pairs = build(s.Pairs, tuples(pair_items))
no_pairs = st.just(s.Pairs((), span=NOWHERE))
enum_members = build(s.EnumMember, names, names)


def binary(operator: Any, left: Any, right: Any) -> s.Binary:
    return s.Binary(operator, left, right, operator_span=NOWHERE, span=NOWHERE)


def expressions_over(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One more layer around expressions that may stand in brackets."""
    arguments = tuples(inner)
    primary = st.one_of(
        atoms,
        build(s.Call, names, arguments),
        build(s.NullTest, st.booleans(), inner),
        build(s.StaticCast, type_names, st.none() | strings, inner),
        build(s.Parenthesized, inner),
    )
    postfix = st.one_of(
        primary,
        build(s.FieldAccess, primary, names),
        build(s.MethodCall, primary, names, arguments),
        build(s.Index, primary, arguments),
        build(s.FieldAccess, build(s.Index, primary, arguments), names),
    )
    level = postfix | build(s.Unary, st.sampled_from(["!", "-"]), postfix)
    level = level | build(s.Unary, st.sampled_from(["!", "-"]), level)
    opened = build(s.Unary, st.sampled_from(["++", "--"]), inner)
    opened = opened | build(s.Unary, st.sampled_from(["!", "-"]), opened)
    for operators in (
        ["*", "/", "%"],
        ["+", "-"],
        ["<<", ">>"],
        ["<", ">", "<=", ">="],
        ["==", "!="],
        ["&&"],
        ["||"],
    ):
        operator = st.sampled_from(operators)
        opened = opened | st.builds(binary, operator, level, opened)
        pair_of = st.builds(binary, operator, level, level)
        level = st.one_of(level, pair_of, st.builds(binary, operator, pair_of, level))
    return level | opened


atoms = st.one_of(
    strings,
    numbers,
    floats,
    booleans,
    st.just(s.OutOfDate(span=NOWHERE)),
    build(s.Variable, names),
    enum_members,
    build(s.LocalDeclaration, type_names, names),
    build(s.New, type_names),
)
expressions = st.recursive(atoms, expressions_over, max_leaves=6)


def statements_over(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    block = build(s.Block, tuples(inner, 0, 2))
    last = build(s.If, expressions, block, st.none() | block)
    return st.one_of(
        build(s.If, expressions, block, st.none() | block | last),
        build(s.Peek, names, type_names, pairs, block),
        build(s.Enqueue, names, type_names, st.none(), st.none(), block),
        build(s.Enqueue, names, type_names, expressions, st.none() | expressions, block),
        build(s.DeferEnqueueing, names, type_names, block),
    )


simple_statements = st.one_of(
    build(s.ExpressionStatement, expressions),
    build(s.Assign, expressions, expressions),
    build(s.Return, expressions),
    build(s.StallAndWait, names, names),
    build(s.WakeupPort, names, names),
    build(s.CheckAllocate, names),
    build(s.CheckNextCycle),
    build(s.CheckOnCacheProbe, names, names),
    build(s.CheckStopSlots, names, strings, strings),
)
statements = st.recursive(simple_statements, statements_over, max_leaves=4)
blocks = build(s.Block, tuples(statements, 0, 2))

objects = build(s.ObjectDeclaration, type_names, st.booleans(), names, pairs, st.none()) | build(
    s.ObjectDeclaration, type_names, st.booleans(), names, no_pairs, expressions
)
value = st.just("value")
parameters = st.one_of(
    build(s.Parameter, type_names, value, names, st.none() | numbers | booleans | strings),
    build(s.Parameter, type_names, st.just("pointer"), names, st.none() | strings),
    build(s.Parameter, type_names, st.just("reference"), names, st.none()),
)
types_only = build(s.Parameter, type_names, value, st.none())
results = st.none() | type_names
functions = st.one_of(
    build(s.Function, results, names, tuples(parameters), pairs, st.none() | blocks),
    build(s.Function, results, names, tuples(types_only, 1), pairs, st.none()),
)
bare_sets = build(s.NameSet, names.map(lambda name: (name,)), st.just(False))
braced_sets = build(s.NameSet, tuples(names, 0, 4), st.just(True))
wildcard = st.just(s.Name("*", span=NOWHERE))
simple_declarations = st.one_of(
    build(s.Protocol, strings),
    build(s.Include, strings),
    build(s.Action, names, pairs, blocks),
    build(s.InPort, names, type_names, names, pairs, blocks),
    build(s.OutPort, names, type_names, names, pairs),
    build(
        s.Transition,
        bare_sets | braced_sets,
        bare_sets | braced_sets,
        st.none() | names | wildcard,
        st.none() | braced_sets,
        braced_sets,
    ),
    build(s.ExternType, type_names, pairs),
    build(
        s.Structure,
        type_names,
        pairs,
        tuples(objects | functions),
        st.sampled_from(["structure", "global"]),
    ),
    build(s.Enumeration, type_names, pairs, tuples(build(s.EnumerationMember, names, pairs))),
    build(
        s.StateDeclaration,
        type_names,
        pairs,
        tuples(build(s.StateMember, names, enum_members, pairs)),
    ),
    objects,
    functions,
)
machines = build(s.Machine, enum_members, pairs, tuples(objects), tuples(simple_declarations, 0, 2))
units = build(s.Unit, tuples(simple_declarations | machines, 0, 3))
