"""Common mistakes with braces, parentheses and brackets.

Indentation decides which of several brackets lacks its partner: a closing brace further left than
the line of its opening one closes another block. Invariant: as in ``common``.
"""

from __future__ import annotations

from lark import Token

from slicc.diagnostics.model import Label
from slicc.parser.recovery import CLOSING, OPENING, OpenBracket, Recovery
from slicc.parser.token_names import DECLARATION_WORDS, END
from slicc.source import Span


def brace_for_semicolon(at: Recovery) -> bool | None:
    """``assert(x) {`` where the matching brace, by its indentation, closes the outer block."""
    before = at.before()
    if at.token.type != "LBRACE" or before is None or "SEMI" not in at.accepts():
        return None
    closing = at.tokens[at.closing[at.index]]
    if closing.type == "RBRACE" and at.indent(closing) >= at.indent(at.token):
        return None
    at.sink.error(
        "missing-semicolon",
        "a `;` is missing",
        at.behind(before),
        "expected `;`",
        secondary=[Label(at.span(at.token), "no block can begin here")],
    )
    at.replace("SEMI")
    return True


def bare_action_list(at: Recovery) -> bool | None:
    word = at.declaration_word()
    if at.token.type != "ID" or at.accepts() != {"LBRACE"}:
        return None
    if word is None or word.type != "TRANSITION":
        return None
    first = last = at.index
    while at.tokens[last + 1].type in ("ID", "COMMA") and not at.starts_line(last + 1):
        last += 1
    names = [str(token) for token in at.tokens[first : last + 1] if token.type == "ID"]
    at.sink.error(
        "bare-action-list",
        "the actions of a transition need braces",
        at.span(at.tokens[first], at.tokens[last]),
        help=f"write `{{ {'; '.join(names)}; }}`",
    )
    at.insert("LBRACE", "{")
    at.insert("RBRACE", "}")
    at.skip(last - first + 1)
    if at.token.type == "SEMI":
        at.skip()
    return True


def missing_braces(at: Recovery) -> bool | None:
    before = at.before()
    accepted = at.accepts()
    if before is None or accepted not in ({"LBRACE"}, {"LBRACE", "IF"}):
        return None
    values = at.values()
    # `if ( condition )`, or the word `else`.
    conditional = len(values) >= 4 and isinstance(values[-4], Token) and values[-4].type == "IF"
    if before.type != "ELSE" and not conditional:
        return None
    word = "else" if before.type == "ELSE" else "if"
    at.sink.error(
        "missing-braces",
        f"the body of `{word}` needs braces",
        at.behind(before),
        "expected `{`",
    )
    if _closed_later(at):
        at.insert("LBRACE", "{")
        return True
    if at.token.type in CLOSING or at.token.type in ("SEMI", END):
        return False
    at.single_statement()
    return True


def _closed_later(at: Recovery) -> bool:
    """Whether only the opening brace is missing: some later ``}`` has no other partner."""
    closing = at.tokens[at.closing[at.index]]
    if closing.type != "RBRACE" or at.line(closing) == at.line(at.token):
        return False
    return at.indent(closing) >= at.indent(at.before() or at.token)


def unmatched_bracket(at: Recovery) -> bool | None:
    opening = CLOSING.get(at.token.type)
    if opening is None or any(bracket.token.type == opening for bracket in at.brackets):
        return None
    if at.derailed and not at.brackets:
        at.skip()
        return True  # probably the brace of a declaration that was skipped
    at.sink.error(
        "unmatched-bracket",
        f"this `{at.token}` closes nothing",
        at.span(at.token),
        help=_early_close(at) if at.token.type == "RBRACE" else None,
    )
    at.skip()
    return True


def _early_close(at: Recovery) -> str | None:
    """A note on a block closed by a brace further left than the line that opened it."""
    for opened, closing in at.askew:
        if at.indent(closing) > at.indent(opened.token):
            line = at.line(closing)
            return f"the `}}` in line {line} may be one too many"
    return None


def unclosed_parenthesis(at: Recovery) -> bool | None:
    if not at.brackets or at.brackets[-1].token.type == "LBRACE":
        return None
    bracket = at.brackets[-1].token
    closing = OPENING[bracket.type]
    ends = {"SEMI", "LBRACE", "RBRACE", END, "ASSIGN", "RPAR", "RBRACKET"}
    declares = at.token.type in DECLARATION_WORDS and at.starts_line(at.index)
    if at.token.type not in ends and not declares:
        return None
    if closing not in at.accepts() or at.token.type == closing:
        return None
    before = at.before() or bracket
    at.sink.error(
        "unclosed-bracket",
        f"this `{bracket}` is never closed",
        at.span(bracket),
        "opened here",
        secondary=[Label(at.behind(before), f"expected {at.token_names.of(closing)}")],
    )
    at.derail()
    return at.insert(closing)


def unclosed_brace(at: Recovery) -> bool | None:
    declares = at.token.type in DECLARATION_WORDS and at.starts_line(at.index)
    if not (declares or at.token.type == END):
        return None
    braces = [bracket for bracket in at.brackets if bracket.token.type == "LBRACE"]
    if not braces or "RBRACE" not in at.accepts():
        return None
    culprit, closing = _culprit(at, braces[-1])
    secondary = []
    if closing is not None:
        secondary.append(Label(at.span(closing), "this `}` closes it, but by its place another"))
    if declares:
        what = f"`{at.token}` cannot stand inside a block"
        secondary.append(Label(at.span(at.token), what))
    else:
        secondary.append(Label(end_of_text(at), "the file ends here"))
    at.sink.error(
        "unclosed-bracket",
        "this `{` is never closed" if closing is None else "a `}` is missing in this block",
        at.span(culprit.token),
        "opened here",
        secondary=secondary,
    )
    kind = at.token.type
    while kind not in at.accepts() and at.insert("RBRACE", "}"):
        pass
    return True


def _culprit(at: Recovery, innermost: OpenBracket) -> tuple[OpenBracket, Token | None]:
    """The brace that probably was not closed, and the one that closed it by mistake."""
    for opened, closing in at.askew:
        inside = opened.index > innermost.index
        if inside and at.indent(closing) < at.indent(opened.token):
            return opened, closing
    return innermost, None


def end_of_text(at: Recovery) -> Span:
    end = len(at.source.text.rstrip())
    return Span(at.source, end, end)
