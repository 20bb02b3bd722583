"""Names of tokens in messages: what was found and what was expected.

Invariant: the name of a terminal never reaches a message; it is looked up here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lark import Lark, Token

END = "$END"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BINARY_OPERATORS = _names(
    "OR AND EQ NE LT GT LE GE SHIFT_LEFT SHIFT_RIGHT PLUS MINUS STAR SLASH PERCENT"
)
DECLARATION_WORDS = _names(
    "PROTOCOL INCLUDE MACHINE ACTION IN_PORT OUT_PORT TRANSITION EXTERNAL_TYPE STRUCTURE GLOBAL "
    "ENUMERATION STATE_DECLARATION"
)
STATEMENT_WORDS = _names(
    "IF RETURN PEEK ENQUEUE DEFER_ENQUEUEING STALL_AND_WAIT WAKEUP_PORT CHECK_ALLOCATE "
    "CHECK_NEXT_CYCLE CHECK_ON_CACHE_PROBE CHECK_STOP_SLOTS"
)
EXPRESSION_STARTS = _names(
    "ID STRING NUMBER FLOAT TRUE FALSE OOD LPAR NEW IS_VALID IS_INVALID STATIC_CAST NOT MINUS "
    "INCREMENT DECREMENT"
)
RESERVED = (
    DECLARATION_WORDS
    | STATEMENT_WORDS
    | _names("VOID ELSE NEW IS_VALID IS_INVALID STATIC_CAST OOD TRUE FALSE")
)

_KINDS = {
    "ID": "a name",
    "NUMBER": "a number",
    "FLOAT": "a number",
    "STRING": "a string",
    END: "the end of the file",
}


class TokenNames:
    """Spellings of the terminals of a grammar."""

    def __init__(self, parser: Lark) -> None:
        from lark.lexer import PatternStr

        self._spelling = {
            terminal.name: f"`{terminal.pattern.value}`"
            for terminal in parser.terminals
            if isinstance(terminal.pattern, PatternStr)
        }

    def of(self, terminal: str) -> str:
        """One terminal as it is written, or its kind (``a name``)."""
        return _KINDS.get(terminal) or self._spelling[terminal]

    def found(self, token: Token) -> str:
        """A token as met in a text."""
        if token.type == END:
            return "the end of the file"
        if token.type == "ID":
            return f"the name `{token}`"
        if token.type == "STRING":
            return "a string"
        if token.type in ("NUMBER", "FLOAT"):
            return f"the number `{token}`"
        if token.type in RESERVED:
            return f"the word `{token}`"
        return f"`{token}`"

    def expected(self, accepted: Collection[str]) -> str:
        """A list of what the parser would accept, without the details of expressions."""
        left = set(accepted)
        groups = []
        if left >= DECLARATION_WORDS:
            groups.append("a declaration")
            left -= DECLARATION_WORDS | {"ID", "VOID"}
        if left >= STATEMENT_WORDS:
            groups.append("a statement")
            left -= STATEMENT_WORDS | EXPRESSION_STARTS
        if left >= EXPRESSION_STARTS:
            groups.append("an expression")
            left -= EXPRESSION_STARTS
        if left >= BINARY_OPERATORS:
            left -= BINARY_OPERATORS | {"DOT", "LBRACKET", "LPAR", "SCOPE", "COLON", "ID"}
            left -= {"ASSIGN"} if "SEMI" not in left else set()
            groups.append("an operator")
        parts = sorted({self.of(terminal) for terminal in left}) + groups
        if len(parts) <= 1:
            return "".join(parts)
        return f"{', '.join(parts[:-1])} or {parts[-1]}"
