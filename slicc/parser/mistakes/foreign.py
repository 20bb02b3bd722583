"""What is written as in another language, C++ above all, recognised where the parser refuses it.

Invariant: as in ``common``.
"""

from __future__ import annotations

from lark import Token

from slicc.diagnostics.other_languages import instead_of
from slicc.parser.recovery import Mistake, Recovery
from slicc.parser.token_names import BINARY_OPERATORS, END, EXPRESSION_STARTS, STATEMENT_WORDS

# ------------------------------------------------------------------ numbers and operators


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


def _standard_library(at: Recovery) -> bool | None:
    """``std::cout << x``, ``std::max(a, b)``, ``std::vector<int> v``."""
    name, scope, home = at.before(), at.before(2), at.before(3)
    if name is None or scope is None or home is None or home != "std" or name == "string":
        return None
    if [name.type, scope.type] != ["ID", "SCOPE"]:
        return None
    at.sink.error(
        "unsupported-construct",
        f"there is no `std::{name}` in SLICC",
        at.span(home, name),
        help=instead_of(str(name)),
    )
    return False


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
        if at.index - at.statement_start() == 1 and following.type == "ID":
            at.sink.error(
                "unsupported-construct",
                "a variable cannot be a reference",
                at.span(at.token),
                help="leave out `&`: variables of entries and TBEs are pointers",
            )
            at.skip()
            return True
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


# ------------------------------------------------------------------ words


_LOOPS_AND_BRANCHES = ["for", "foreach", "while", "until", "switch", "case", "elif", "elseif"]
_WITH_PARENTHESES = frozenset([*_LOOPS_AND_BRANCHES, "elsif", "catch", "enum", "struct", "class"])


def _foreign_statement(at: Recovery) -> bool | None:
    """``for (…)``, ``unsigned int n``, ``struct Foo {``."""
    first = at.statement_start()
    word = at.tokens[first]
    instead = instead_of(str(word))
    if word.type != "ID" or instead is None or first == at.index:
        return None
    following = at.tokens[first + 1].type
    if following not in ("ID", "NUMBER", "LPAR", "LBRACE", "LT", "COLON"):
        return None
    if following == "LPAR" and word not in _WITH_PARENTHESES:
        return None  # a function of the author's
    at.sink.error(
        "unsupported-construct",
        f"there is no `{word}` in SLICC",
        at.span(word),
        help=instead,
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


def _cast(at: Recovery) -> bool | None:
    """``(int) x``."""
    names = 2 if (word := at.before(3)) is not None and word.type == "ID" else 1
    closing, opening, front = at.before(), at.before(names + 2), at.before(names + 3)
    if at.token.type not in EXPRESSION_STARTS:
        return None
    if closing is None or opening is None or front is None:
        return None
    if [opening.type, closing.type] != ["LPAR", "RPAR"] or at.line(closing) != at.line(at.token):
        return None
    inside = at.tokens[at.index - names - 1 : at.index - 1]
    if any(each.type != "ID" for each in inside):
        return None
    if front.type not in BINARY_OPERATORS | {"ASSIGN", "LPAR", "COMMA", "RETURN"}:
        return None
    at.sink.error(
        "unsupported-construct",
        f"SLICC has no casts like `({' '.join(inside)})`",
        at.span(opening, closing),
        help="leave it out; numbers are converted by functions (`intToCycles(n)`, `IDToInt(n)`), "
        'entries and messages by `static_cast(Type, "pointer", value)`',
    )
    return False


def _angle_bracket(at: Recovery) -> bool | None:
    """``static_cast<Entry>(x)``, ``vector<int> v``."""
    before = at.before()
    if at.token.type != "LT" or before is None or before.type not in ("STATIC_CAST", "ID"):
        return None
    cast = before.type == "STATIC_CAST"
    at.sink.error(
        "unsupported-construct",
        "the type of a cast stands in its parentheses" if cast else "SLICC has no templates",
        at.span(at.token),
        help='write `static_cast(Type, "pointer", value)`' if cast else instead_of(str(before)),
    )
    return False


def _arrow(at: Recovery) -> bool | None:
    minus = at.before()
    if at.token.type != "GT" or minus is None or minus.type != "MINUS":
        return None
    if minus.end_pos != at.token.start_pos:
        return None
    at.sink.error(
        "unsupported-construct",
        "the operator `->` does not exist",
        at.span(minus, at.token),
        help="write `.`, for pointers too",
    )
    return False


def _pointer_operator(at: Recovery) -> bool | None:
    """``&x``, ``*x``; ``CacheMemory & cache``."""
    if at.token.type not in ("AMPERSAND", "STAR"):
        return None
    accepted = at.accepts()
    if at.token.type == "AMPERSAND" and "STAR" in accepted and "PLUS" not in accepted:
        help = "write `*`"
    elif {"ID", "MINUS"} <= accepted:
        help = "leave it out: fields and methods of pointers are reached by `.` as well"
    else:
        return None
    at.sink.error(
        "unsupported-construct",
        f"`{at.token}` cannot stand in front of a name here",
        at.span(at.token),
        help=help,
    )
    at.skip()
    return True


def _constructor_call(at: Recovery) -> bool | None:
    """``new Entry()``."""
    name, new = at.before(), at.before(2)
    if at.token.type != "LPAR" or name is None or new is None or new.type != "NEW":
        return None
    at.sink.error(
        "unsupported-construct",
        "`new` takes no arguments",
        at.span(at.token),
        help=f"write `new {name}`",
    )
    if at.tokens[at.index + 1].type != "RPAR":
        return False
    at.skip(2)
    return True


# ------------------------------------------------------------------ declarations


def _void_parameter(at: Recovery) -> bool | None:
    """``int f(void)``."""
    before = at.before()
    if at.token.type != "VOID" or before is None or before.type != "LPAR":
        return None
    if at.tokens[at.index + 1].type != "RPAR" or "RPAR" not in at.accepts():
        return None
    at.sink.error(
        "unsupported-construct",
        "a function without parameters has empty parentheses",
        at.span(at.token),
        help="write `()`",
    )
    at.skip()
    return True


def _pointer_result(at: Recovery) -> bool | None:
    """``Entry * f(Addr a)``."""
    name, star, type_name = at.before(), at.before(2), at.before(3)
    if at.token.type != "LPAR" or name is None or star is None or star.type != "STAR":
        return None
    if "ASSIGN" not in at.accepts() or type_name is None:
        return None
    at.sink.error(
        "unsupported-construct",
        "the type of a function is written without `*`",
        at.span(star),
        help=f'write `{type_name} {name}(…), return_by_pointer="yes"`',
    )
    return False


def _several_names(at: Recovery) -> bool | None:
    """``int a, b;``, ``A, B`` in an enumeration."""
    first = at.statement_start()
    if "COMMA" not in [each.type for each in at.tokens[max(first, at.index - 2) : at.index + 1]]:
        return None
    accepted = at.accepts()
    pair = accepted == {"EQUALS"}
    comma = at.index - 2 if pair else at.index
    if comma <= first or at.tokens[comma].type != "COMMA" or not (pair or "SEMI" in accepted):
        return None
    if pair and at.token.type == "ID":
        at.sink.error(
            "unsupported-construct",
            "declarations are separated by `;`",
            at.span(at.tokens[comma]),
            help=f"write `; {at.before()} {at.token}`",
        )
        return False
    words = at.tokens[first:comma]
    declares = len(words) > 1
    if any(each.type != "ID" for each in words[:2]) or not (declares or pair):
        return None
    of = f"{words[0]} " if declares else ""
    at.sink.error(
        "unsupported-construct",
        "a declaration has one name",
        at.span(at.tokens[comma]),
        help=f"write `{of}{words[int(declares)]}; {of}{at.tokens[comma + 1]};`",
    )
    return False


def _array(at: Recovery) -> bool | None:
    """``int a[4];`` among declarations."""
    first = at.statement_start()
    if at.token.type != "LBRACKET" or at.index - first != 2 or at.tokens[first].type != "ID":
        return None
    at.sink.error(
        "unsupported-construct",
        "SLICC has no arrays",
        at.span(at.token),
        help="declare each element by itself",
    )
    return False


# ------------------------------------------------------------------ transitions


def _statement_in_transition(at: Recovery) -> bool | None:
    """``transition(I, Load) { f(address); }``."""
    accepted = at.accepts()
    calls = at.token.type == "LPAR"
    if not calls and at.token.type not in STATEMENT_WORDS:
        return None
    if "RBRACE" not in accepted or not accepted <= {"RBRACE", "ID", "SEMI", "COMMA"}:
        return None
    if len(at.brackets) > 1 and at.brackets[-2].token.type == "LPAR":
        return None
    at.sink.error(
        "unsupported-construct",
        "a transition names its actions",
        at.span(at.token),
        "a statement",
        help=f"write `{at.before()};` for an action; statements stand in actions"
        if calls
        else "declare an action for it",
    )
    return False


def _names_of_a_transition(at: Recovery) -> bool | None:
    """``transition([I, S], *)``, ``transition(State:I, …)``."""
    word = at.declaration_word()
    if word is None or word.type != "TRANSITION":
        return None
    accepted = at.accepts()
    if at.token.type == "COLON" and accepted == {"COMMA"}:
        help = f"write `{at.tokens[at.index + 1]}`"
    elif at.token.type in ("LPAR", "LBRACKET", "STAR") and accepted == {"LBRACE", "ID"}:
        help = "write one name, or several in braces: `{I, S}`"
    else:
        return None
    at.sink.error(
        "syntax-error",
        f"{at.token_names.found(at.token)} cannot stand here",
        at.span(at.token),
        "states and events are given by their names",
        help=help,
    )
    return False


MISTAKES: tuple[Mistake, ...] = (
    _hexadecimal_number,
    _standard_library,
    _static_method_call,
    _member_behind_two_colons,
    _operator_in_words,
    _const_parameter,
    _foreign_operator,
    _compound_assignment,
    _foreign_statement,
    _cast,
    _angle_bracket,
    _arrow,
    _pointer_operator,
    _constructor_call,
    _void_parameter,
    _pointer_result,
    _several_names,
    _array,
    _statement_in_transition,
    _names_of_a_transition,
)
