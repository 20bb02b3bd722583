"""Common mistakes, each recognised at the token that the parser refuses.

Every function recognises one kind: it reports the mistake and, where possible, repairs the text in
the recovery so that parsing continues. Order matters: the special before the general. Invariant: a
function that recognises its mistake has reported one error, or knows that its error was reported
before.
"""

from __future__ import annotations

from collections.abc import Callable

from lark import Token

from slicc.parser import bracket_mistakes
from slicc.parser.recovery import CLOSING, Recovery
from slicc.parser.token_names import BINARY_OPERATORS, END, RESERVED

Mistake = Callable[[Recovery], bool | None]
"""None: another mistake. True: reported and repaired. False: reported, resume further down."""

_LOOK_BACK = 200
"""Tokens of one statement before the refused one that are searched for its cause."""

_FOREIGN = {
    "while": "SLICC has no loops",
    "for": "SLICC has no loops",
    "do": "SLICC has no loops",
    "switch": "SLICC has no `switch`; use `if` and `else if`",
    "elif": "write `else if`",
    "case": "SLICC has no `switch`; use `if` and `else if`",
}


def explain(at: Recovery) -> bool:
    """Report why the current token is refused. True if parsing may continue at this token."""
    for mistake in _MISTAKES:
        result = mistake(at)
        if result is not None:
            return result
    return _anything(at)


# ------------------------------------------------------------------ numbers, operators, words


def _hexadecimal_number(at: Recovery) -> bool | None:
    number = at.before()
    if number is None or number.type != "NUMBER" or at.token.type != "ID":
        return None
    if number.end_pos != at.token.start_pos:
        return None
    text = f"{number}{at.token}"
    value = None
    if text[:2].lower() == "0x":
        try:
            value = int(text, 16)
        except ValueError:
            value = None
    at.sink.error(
        "hexadecimal-number",
        f"`{text}` is not a decimal number",
        at.span(number, at.token),
        "numbers have neither prefix nor suffix",
        help=None if value is None else f"write `{value}`",
    )
    at.skip()
    return True


def _static_method_call(at: Recovery) -> bool | None:
    name, scope, type_name = at.before(), at.before(2), at.before(3)
    if at.token.type != "LPAR" or name is None or scope is None or type_name is None:
        return None
    if name.type != "ID" or scope.type != "SCOPE":
        return None
    at.sink.error(
        "static-method-call",
        f"`{type_name}::{name}(…)` cannot be called",
        at.span(type_name, name),
        "`A::B` names a type",
        help="call the method on an object: `object.method(…)`",
    )
    return False


def _member_behind_two_colons(at: Recovery) -> bool | None:
    name, scope, type_name = at.before(), at.before(2), at.before(3)
    if name is None or scope is None or type_name is None:
        return None
    if [name.type, scope.type, type_name.type] != ["ID", "SCOPE", "ID"]:
        return None
    at.sink.error(
        "unsupported-construct",
        f"`{type_name}::{name}` is the name of a type",
        at.span(type_name, name),
        "not a value",
        help=f"a member of an enumeration is written `{type_name}:{name}`",
    )
    return False


def _operator_in_words(at: Recovery) -> bool | None:
    """``a and b``, ``not a``."""
    meant = {"and": "AND", "or": "OR"}.get(str(at.token))
    if at.token.type == "ID" and meant is not None and meant in at.accepts():
        _report_word(at, at.token, "&&" if meant == "AND" else "||")
        at.replace(meant)
        return True
    before = at.before()
    if before is None or before.type != "ID" or before != "not":
        return None
    _report_word(at, before, "!")
    return False


def _report_word(at: Recovery, word: Token, operator: str) -> None:
    at.sink.error(
        "unsupported-construct",
        f"the operator `{word}` does not exist",
        at.span(word),
        help=f"write `{operator}`",
    )


def _foreign_operator(at: Recovery) -> bool | None:
    if at.token.type == "AMPERSAND" and "AND" in at.accepts():
        following = at.tokens[at.index + 1]
        at.sink.error(
            "unsupported-construct",
            "the operator `&` does not exist",
            at.span(at.token),
            "SLICC has no bit operators; the logical and is `&&`",
        )
        at.replace("AND")
        if following.type == "EQUALS":
            at.skip()
            return False
        return True
    if at.token.type in ("INCREMENT", "DECREMENT") and "PLUS" in at.accepts():
        sign = str(at.token)[0]
        at.sink.error(
            "unsupported-construct",
            f"`{at.token}` cannot stand behind its operand",
            at.span(at.token),
            help=f"write `x := x {sign} 1;`",
        )
        at.skip()
        return True
    return None


def _compound_assignment(at: Recovery) -> bool | None:
    operator = at.before()
    if at.token.type != "EQUALS" or operator is None or operator.type not in BINARY_OPERATORS:
        return None
    if operator.end_pos != at.token.start_pos:
        return None
    at.sink.error(
        "compound-assignment",
        f"`{operator}=` does not exist",
        at.span(operator, at.token),
        help=f"write `x := x {operator} …;`",
    )
    at.skip()
    return True  # the rest is read as the right operand


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


def _foreign_statement(at: Recovery) -> bool | None:
    first = at.statement_start()
    word = at.tokens[first]
    if word.type != "ID" or str(word) not in _FOREIGN or first == at.index:
        return None
    if not any(isinstance(value, Token) and value.type == "LBRACE" for value in at.values()):
        return None
    at.sink.error(
        "unsupported-construct",
        f"there is no `{word}` in SLICC",
        at.span(word),
        _FOREIGN[str(word)],
    )
    _behind_the_body(at)
    return False


def _behind_the_body(at: Recovery) -> None:
    """Skip the rest of a head in parentheses, which may hold ``;``."""
    while at.brackets and at.brackets[-1].token.type == "LPAR" and at.token.type != END:
        depth = 1
        while depth and at.token.type not in (END, "LBRACE", "RBRACE"):
            depth += (at.token.type == "LPAR") - (at.token.type == "RPAR")
            at.skip()
        at.brackets.pop()


def _const_parameter(at: Recovery) -> bool | None:
    for word in [at.before(distance) for distance in (1, 2)]:
        if word is not None and word.type == "ID" and word == "const":
            at.sink.error(
                "const-parameter",
                "there is no `const` in SLICC",
                at.span(word),
                "read as the name of a type",
                help="leave it out: what is passed by value cannot be changed",
            )
            return False
    return None


def _reserved_word(at: Recovery) -> bool | None:
    if at.token.type not in RESERVED or "ID" not in at.accepts():
        return None
    following = at.tokens[at.index + 1]
    if at.starts_line(at.index) and following.type == "LPAR":
        return None  # the beginning of something, not a name
    if "IF" in at.accepts() or "ACTION" in at.accepts():
        return None
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
            at.behind(before) if before is not None else bracket_mistakes.end_of_text(at),
            f"expected {expected}",
        )
        return False
    at.sink.error(
        "syntax-error",
        f"{found} cannot stand here",
        at.span(at.token),
        f"expected {expected}" if expected else "",
    )
    return False


_MISTAKES: tuple[Mistake, ...] = (
    _hexadecimal_number,
    _static_method_call,
    _member_behind_two_colons,
    _operator_in_words,
    _foreign_operator,
    _compound_assignment,
    _foreign_statement,
    _machine_without_parameters,
    _equals_for_assign,
    _single_equals,
    _assignment_as_value,
    _const_parameter,
    _return_without_value,
    _empty_statement,
    _doubled_separator,
    bracket_mistakes.bare_action_list,
    bracket_mistakes.missing_braces,
    bracket_mistakes.unmatched_bracket,
    bracket_mistakes.unclosed_parenthesis,
    _reserved_word,
    _missing_semicolon,
    _missing_semicolon_above,
    bracket_mistakes.brace_for_semicolon,
    bracket_mistakes.unclosed_brace,
)
