"""Common mistakes, each recognised at the token that the parser refuses.

Every function recognises one kind: it reports the mistake and, where possible, repairs the text in
the recovery so that parsing continues. Order matters: the special before the general. Invariant: a
function that recognises its mistake has reported one error, or knows that its error was reported
before.
"""

from __future__ import annotations

from lark import Token

from slicc.parser.mistakes import brackets, foreign
from slicc.parser.recovery import CLOSING, Mistake, Recovery
from slicc.parser.token_names import END, RESERVED

_LOOK_BACK = 200
"""Tokens of one statement before the refused one that are searched for its cause."""


def explain(at: Recovery) -> bool:
    """Report why the current token is refused. True if parsing may continue at this token."""
    for mistake in _MISTAKES:
        result = mistake(at)
        if result is not None:
            return result
    return _anything(at)


def _equals(at: Recovery, meant: str, headline: str, help: str) -> bool | None:
    if at.token.type != "EQUALS" or meant not in at.accepts():
        return None
    at.sink.error("equals-for-assign", headline, at.span(at.token), help=help)
    at.replace(meant)
    return True


def _equals_for_assign(at: Recovery) -> bool | None:
    help = "write `:=`, or `==` to compare"
    return _equals(at, "ASSIGN", "assignments are written with `:=`", help)


def _single_equals(at: Recovery) -> bool | None:
    return _equals(at, "EQ", "comparisons are written with `==`", "write `==`")


def _assignment_as_value(at: Recovery) -> bool | None:
    if at.token.type != "ASSIGN" or not at.brackets or "RPAR" not in at.accepts():
        return None
    if at.line(at.brackets[-1].token) != at.line(at.token):
        return None  # more probably the parenthesis is not closed
    at.sink.error(
        "syntax-error",
        "an assignment is a statement and has no value",
        at.span(at.token),
        "used as a value",
        help="write `==` to compare",
    )
    return False


def _machine_without_parameters(at: Recovery) -> bool | None:
    """``machine(L1Cache, "…") {``: what GEMS read, and gem5 never."""
    word = at.declaration_word()
    if word is None or word.type != "MACHINE":
        return None
    if at.token.type != "LBRACE" or "COLON" not in at.accepts():
        return None
    head = at.tokens[at.statement_start() : at.index]
    written = [token for token in head if token.start_pos != token.end_pos]
    if written[0] is not word or [each.type for each in written[1:4]] == ["LPAR", "ID", "COLON"]:
        return None
    at.sink.error(
        "unsupported-dialect",
        f"the machine `{written[2]}` is written for GEMS, the simulator before gem5",
        at.span(word, written[-1]),
        "no parameters",
        help="say its sequencer, memories, buffers and latencies as parameters, and pass entries "
        "and records of transactions: `slicc explain unsupported-dialect` lists it",
    )
    return False


def _reserved_word(at: Recovery) -> bool | None:
    if at.token.type not in RESERVED or "ID" not in at.accepts():
        return None
    following = at.tokens[at.index + 1]
    if at.starts_line(at.index) and following.type == "LPAR":
        return None  # the beginning of something, not a name
    if "IF" in at.accepts() or "ACTION" in at.accepts():
        return None
    if at.token.type in ("ENQUEUE", "PEEK") and (dot := at.before()) and dot.type == "DOT":
        return _statement_of_a_port(at)
    truth = at.token.type in ("TRUE", "FALSE")
    at.sink.error(
        "reserved-word",
        f"`{at.token}` is a word of the language and cannot be a name",
        at.span(at.token),
        "a name is expected here",
        help=f'write `"{at.token}"` for the value of a pair' if truth else None,
    )
    at.replace("ID")
    return True


def _statement_of_a_port(at: Recovery) -> bool:
    """``port.enqueue(Type, 1) { … }``."""
    at.sink.error(
        "reserved-word",
        f"`{at.token}` is no method of a port",
        at.span(at.token),
        "a statement of its own",
        help=f"write `{at.token}({at.before(2)}, …) {{ … }}`",
    )
    return False


# ------------------------------------------------------------------ separators


def _return_without_value(at: Recovery) -> bool | None:
    word = at.before()
    if at.token.type != "SEMI" or word is None or word.type != "RETURN":
        return None
    at.sink.error(
        "return-without-value",
        "`return` needs a value",
        at.span(word, at.token),
        help="a function without result runs to its end; use `if` and `else`",
    )
    return at.insert("NUMBER", "0")


def _empty_statement(at: Recovery) -> bool | None:
    accepted = at.accepts()
    if at.token.type != "SEMI" or not {"IF", "ACTION"} & accepted:
        return None
    at.sink.error(
        "empty-statement",
        "this `;` ends nothing",
        at.span(at.token),
        help="remove it",
    )
    at.skip()
    return True


def _doubled_separator(at: Recovery) -> bool | None:
    before = at.before()
    if at.token.type not in ("SEMI", "COMMA") or before is None:
        return None
    if before.type not in ("SEMI", "COMMA", "LBRACE") or "ID" not in at.accepts():
        return None
    headline = "no name between these separators"
    if before.type == "LBRACE":
        headline = "no name before this separator"
    first = at.token if before.type == "LBRACE" else before
    at.sink.error(
        "doubled-separator",
        headline,
        at.span(first, at.token),
        help="remove one of them" if first is before else "remove it",
    )
    at.skip()
    return True


def _missing_semicolon(at: Recovery) -> bool | None:
    before = at.before()
    if before is None or at.token.type in ("LBRACE", "SEMI", "COMMA", "COLON"):
        return None
    if "SEMI" not in at.accepts():
        return None
    if at.token.type in CLOSING and at.token.type != "RBRACE":
        return None
    same_line = at.line(before) == at.line(at.token)
    starts = {"ID", "RBRACE", END} | RESERVED
    if same_line and at.token.type not in starts:
        return None
    if same_line and before.type in ("NUMBER", "STRING") and at.token.type == "ID":
        return None
    at.sink.error(
        "missing-semicolon",
        "a `;` is missing",
        at.behind(before),
        "expected `;`",
    )
    return at.insert("SEMI", ";")


def _missing_semicolon_above(at: Recovery) -> bool | None:
    """``a := b`` without ``;``, and ``c.d`` in the next line: ``b c`` was read as a declaration."""
    first = max(at.statement_start(), at.index - _LOOK_BACK)
    for index in range(at.index, first, -1):
        before, token = at.tokens[index - 1], at.tokens[index]
        if before.type == "ID" and token.type == "ID" and at.starts_line(index):
            if not at.restart(index):
                return None
            at.sink.error(
                "missing-semicolon", "a `;` is missing", at.behind(before), "expected `;`"
            )
            return True
    return None


# ------------------------------------------------------------------ everything else


def _anything(at: Recovery) -> bool:
    expected = at.token_names.expected(at.accepts())
    found = at.token_names.found(at.token)
    if at.token.type == END:
        before = at.before()
        at.sink.error(
            "syntax-error",
            "the file ends in the middle of a declaration",
            at.behind(before) if before is not None else brackets.end_of_text(at),
            f"expected {expected}",
        )
        return False
    at.sink.error(
        "syntax-error",
        f"{found} cannot stand here",
        at.span(at.token),
        f"expected {expected}" if expected else "",
        help=_shape(at),
    )
    return False


_SHAPES = {
    "MACHINE": 'machine(MachineType:Name, "…") : … { … }',
    "ACTION": 'action(name, "n", desc="…") { … }',
    "TRANSITION": "transition(State, Event, NextState) { action; }",
    "IN_PORT": "in_port(name, Type, buffer) { … }",
    "OUT_PORT": "out_port(name, Type, buffer);",
    "STRUCTURE": 'structure(Name, desc="…") { int field; }',
    "ENUMERATION": 'enumeration(Name, desc="…") { A; B; }',
    "STATE_DECLARATION": 'state_declaration(State) { I, AccessPermission:Invalid, desc="…"; }',
    "PEEK": "peek(port, Type) { … }",
    "ENQUEUE": "enqueue(port, Type, latency) { … }",
    "STALL_AND_WAIT": "stall_and_wait(port, address);",
    "IF": "if (condition) { … }",
    "STATIC_CAST": 'static_cast(Type, "pointer", value)',
}
"""How declarations and statements with parentheses are written."""


def _shape(at: Recovery) -> str | None:
    """Help for a token in the parentheses of a declaration or a statement, or around them."""
    word = at.before()
    if at.brackets and at.brackets[-1].token.type == "LPAR":
        word = at.tokens[at.brackets[-1].index - 1]
    elif at.accepts() == {"LBRACE"}:
        word = at.declaration_word()
    elif "STATE_DECLARATION" in {value.type for value in at.values() if isinstance(value, Token)}:
        return 'a state has a permission: `I, AccessPermission:Invalid, desc="…";`'
    shape = None if word is None else _SHAPES.get(word.type)
    return None if shape is None else f"write `{shape}`"


_MISTAKES: tuple[Mistake, ...] = (
    *foreign.MISTAKES,
    _machine_without_parameters,
    _equals_for_assign,
    _single_equals,
    _assignment_as_value,
    _return_without_value,
    _empty_statement,
    _doubled_separator,
    brackets.bare_action_list,
    brackets.missing_braces,
    brackets.unmatched_bracket,
    brackets.unclosed_parenthesis,
    _reserved_word,
    _missing_semicolon,
    _missing_semicolon_above,
    brackets.brace_for_semicolon,
    brackets.unclosed_brace,
)
