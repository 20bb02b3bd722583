"""Diagnoses a text that does not parse.

The tokens are fed to the parser one by one. Where it refuses one, ``slicc.parser.mistakes``
finds what the author probably meant. Many mistakes can be repaired at once (a missing ``;``), and
parsing continues; otherwise the parser is unwound to the innermost open block and continues after
the statement or declaration. Invariant: every round either advances in the text or unwinds the
parser, and at least one error is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from slicc.diagnostics.model import SHOWN_PER_FILE, DiagnosticSink
from slicc.parser.lexical_errors import Cleaned, clean
from slicc.parser.older_text import older_tokens
from slicc.parser.token_names import DECLARATION_WORDS, END, TokenNames
from slicc.source import SourceFile, Span
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass

_QUIET_TOKENS = 2
"""Tokens that must be accepted after an error before the next one is reported."""
_REFUSALS = 1000
"""Tokens refused in one file, reported or not, before the rest of it is skipped."""

OPENING = {"LBRACE": "RBRACE", "LPAR": "RPAR", "LBRACKET": "RBRACKET"}
CLOSING = {closing: opening for opening, closing in OPENING.items()}


def report_syntax_errors(
    source: SourceFile, parser: Lark, sink: DiagnosticSink, explain: Explain
) -> syntax.Unit | None:
    """Report every distinguishable error that keeps ``source`` from parsing.

    The result is the tree of what was understood, if the end of the text was reached.
    """
    own = DiagnosticSink()
    cleaned = clean(source, own)
    tokens = older_tokens(list(parser.lex(cleaned.text)), source, parser)
    end = len(source.text)
    tokens.append(Token(END, "", end, 1, 1, 1, 1, end))
    recovery = Recovery(source, parser, cleaned, tokens, own)
    finished = recovery.run(explain)
    found = sorted(own.diagnostics, key=lambda one: one.primary.span.start)
    assert found, "a text that does not parse has an error"
    del found[SHOWN_PER_FILE:]
    if not finished or len(found) == SHOWN_PER_FILE:
        note = "further mistakes in this file are not reported"
        found[-1] = replace(found[-1], notes=(*found[-1].notes, note))
    for one in found:
        sink.add(replace(one, help=None), one.help)
    return recovery.unit


@dataclass(slots=True)
class OpenBracket:
    """``height`` of the parser's stack right behind the bracket."""

    token: Token
    index: int
    height: int


class Recovery:
    """The parser, its position in the text, and ways to continue."""

    def __init__(
        self,
        source: SourceFile,
        parser: Lark,
        cleaned: Cleaned,
        tokens: list[Token],
        sink: DiagnosticSink,
    ) -> None:
        self.source = source
        self.sink = sink
        self.token_names = TokenNames(parser)
        self.tokens = tokens
        self.index = 0
        self.unit: syntax.Unit | None = None
        """What was understood, once the end of the text is accepted."""
        self.brackets: list[OpenBracket] = []
        self.askew: list[tuple[OpenBracket, Token]] = []
        """Braces closed by one that is indented otherwise, in order of closing."""
        self._cleaned = cleaned
        self._parser: InteractiveParser = parser.parse_interactive("")
        self._single_statements: list[int] = []  # bracket depths of braces that we inserted
        self._restarted: set[int] = set()
        self._quiet_until = 0
        self._quiet_line = 0
        self._refused = 0
        self._indents: dict[int, int] = {}
        self._statement = (0, 0)  # a place in the text, and where its statement starts
        self._inserted = 0  # tokens inserted since the last one read

    # ------------------------------------------------------------ what mistakes are recognised by

    @property
    def token(self) -> Token:
        """The token that the parser refuses."""
        return self.tokens[self.index]

    def before(self, distance: int = 1) -> Token | None:
        """The token that many places before, if there is one."""
        position = self.index - distance
        return self.tokens[position] if position >= 0 else None

    def accepts(self) -> set[str]:
        """Terminals that the parser would take now."""
        return set(self._parser.accepts())  # type: ignore[no-untyped-call]

    def values(self) -> list[object]:
        """Tokens and nodes that are not yet part of something larger."""
        return list(self._parser.parser_state.value_stack)

    def span(self, first: Token, last: Token | None = None) -> Span:
        end = (last or first).end_pos
        assert first.start_pos is not None and end is not None
        return Span(self.source, first.start_pos, end)

    def behind(self, token: Token) -> Span:
        """The place right behind a token, where something is missing."""
        assert token.end_pos is not None
        return Span(self.source, token.end_pos, token.end_pos)

    def line(self, token: Token) -> int:
        return self.source.position(token.start_pos or 0)[0]

    def starts_line(self, index: int) -> bool:
        """Whether a token is the first of its line."""
        return index == 0 or self.line(self.tokens[index - 1]) < self.line(self.tokens[index])

    def indent(self, token: Token) -> int:
        """Columns of white space before the first token of a token's line."""
        line = self.line(token)
        if line not in self._indents:
            text = self.source.text
            begin, end = self.source.line_bounds(line)
            blank = begin
            while blank < end and text[blank].isspace():
                blank += 1
            self._indents[line] = len(text[begin:blank].expandtabs())
        return self._indents[line]

    def statement_start(self) -> int:
        """Index of the first token behind the last ``;`` or brace."""
        known, start = self._statement if self._statement[0] <= self.index else (0, 0)
        first = self.index
        while first > known and self.tokens[first - 1].type not in ("SEMI", "LBRACE", "RBRACE"):
            first -= 1
        self._statement = (self.index, start if first == known else first)
        return self._statement[1]

    @cached_property
    def closing(self) -> list[int]:
        """For every token the index of the brace that closes its block; of a brace, its own.

        The last index stands for one that is missing.
        """
        last = len(self.tokens) - 1
        found = [last] * len(self.tokens)
        waiting = [last]
        for index in range(last, -1, -1):
            kind = self.tokens[index].type
            if kind == "RBRACE":
                waiting.append(index)
            found[index] = waiting[-1]
            if kind == "LBRACE" and len(waiting) > 1:
                waiting.pop()
        assert waiting[0] == last and len(found) == len(self.tokens)
        return found

    def declaration_word(self) -> Token | None:
        """The keyword that began the unfinished declaration or statement."""
        for value in reversed(self.values()):
            if isinstance(value, Token):
                if value.type in OPENING and value.type != "LPAR":
                    return None
                if value.type in DECLARATION_WORDS:
                    return value
        return None

    # ------------------------------------------------------------ ways to continue

    def insert(self, terminal: str, text: str = "") -> bool:
        """Insert a token before the current one; False if the parser refuses it."""
        if terminal not in self.accepts() or self._inserted > 60:
            return False
        self._inserted += 1
        at = self.token.start_pos
        self._feed(Token(terminal, text, at, 1, 1, 1, 1, at))
        return True

    def replace(self, terminal: str) -> None:
        """Replace the current token by another one."""
        self.tokens[self.index] = Token.new_borrow_pos(terminal, str(self.token), self.token)

    def skip(self, count: int = 1) -> None:
        """Skip the current token."""
        self.index = min(self.index + count, len(self.tokens) - 1)
        assert self.index < len(self.tokens), "the last token is the end"
        self._inserted = 0

    def restart(self, index: int) -> bool:
        """Read again from a token that began a statement of its own; once per token."""
        if index in self._restarted:
            return False
        self._restarted.add(index)
        self._take_back_to_list()
        self.index = index
        self._inserted = 0
        return True

    def single_statement(self) -> None:
        """Open a block that ends with the next statement."""
        if self.insert("LBRACE", "{"):
            self._single_statements.append(len(self.brackets))

    def derail(self) -> None:
        """Note that errors up to the end of the line may be consequences of this one."""
        index = self.index - 1 if self.starts_line(self.index) else self.index
        self._quiet_line = self.line(self.tokens[max(0, index)])

    @property
    def derailed(self) -> bool:
        """Whether braces may have been misread since the beginning."""
        return self._quiet_line > 0

    def resume(self) -> None:
        """Skip the current statement or declaration and continue after it."""
        self.derail()
        self._quiet_until = self.index + _QUIET_TOKENS
        if self._resume_machine():
            return
        start = self.index
        self.index = self._next_start()
        self._take_back()
        if self.index == start and self.token.type not in self.accepts():
            self.skip()
        self._quiet_until = max(self._quiet_until, self.index + 1)

    # ------------------------------------------------------------ the loop

    def run(self, explain: Explain) -> bool:
        """Report what is wrong; False if the rest of the text was skipped."""
        while True:
            token = self.token
            try:
                self._feed(token)
            except UnexpectedToken:
                self._refused += 1
                if self._refused > _REFUSALS or len(self.sink.diagnostics) >= SHOWN_PER_FILE:
                    return False
                if self._is_consequence():
                    if token.type == END:
                        return self._end()
                    self.resume()
                    continue
                index, inserted = self.index, self._inserted
                repaired = explain(self)
                if token.type == END and self.sink.diagnostics[-1].slug != "missing-semicolon":
                    return self._end()  # further errors at the end would repeat this one
                moved = self.index != index or self._inserted > inserted
                if not repaired or not (moved or self.token is not token):
                    self.resume()
                continue
            if token.type == END:
                return True
            self.index += 1
            self._inserted = 0

    def _feed(self, token: Token) -> None:
        result = self._parser.feed_token(token)
        if token.type == END:
            self.unit = result
        if token.type in OPENING:
            height = len(self._parser.parser_state.state_stack)
            self.brackets.append(OpenBracket(token, self.index, height))
        elif token.type in CLOSING and self.brackets:
            opened = self.brackets.pop()
            braces = opened.token.type == "LBRACE"
            if braces and self.indent(opened.token) != self.indent(token):
                self.askew.append((opened, token))
        if token.type in ("SEMI", "RBRACE"):
            self._close_single_statements(token)

    def _end(self) -> bool:
        """Accept the end of the text, whatever is open; True."""
        self._close_blocks()
        if END in self.accepts():
            self._feed(self.token)
        return True

    def _close_single_statements(self, token: Token) -> None:
        following = self.tokens[min(self.index + 1, len(self.tokens) - 1)]
        while self._single_statements and self._single_statements[-1] >= len(self.brackets):
            if self._single_statements[-1] > len(self.brackets):
                self._single_statements.pop()
                continue
            if token.type == "RBRACE" and following.type == "ELSE":
                return
            self._single_statements.pop()
            self._feed(Token("RBRACE", "}", token.end_pos, 1, 1, 1, 1, token.end_pos))

    def _is_consequence(self) -> bool:
        """Whether the refusal follows from an error already reported."""
        if self.index < self._quiet_until or self.line(self.token) == self._quiet_line:
            return self.token.type != END or bool(self.sink.diagnostics)
        first = self.statement_start()
        start = self.tokens[first - 1].end_pos or 0 if first > 0 else 0
        return self._cleaned.damaged(start, self.token.end_pos or 0)

    # ------------------------------------------------------------ finding a place to continue

    def _next_start(self) -> int:
        """Index of the next token that may start (or close a list of) statements."""
        depth = 0
        for index in range(self.index, len(self.tokens)):
            kind = self.tokens[index].type
            fresh = index > self.index or index not in self._restarted
            if kind in DECLARATION_WORDS and self.starts_line(index) and fresh:
                self._restarted.add(index)
                return index
            if kind == "LBRACE":
                depth += 1
            elif kind == "RBRACE":
                if depth == 0:
                    return index
                depth -= 1
                if depth == 0 and self.tokens[index + 1].type not in ("ELSE", "LBRACE"):
                    return index + 1
            elif (kind == "SEMI" and depth == 0) or kind == END:
                return index + (kind == "SEMI")
        return len(self.tokens) - 1

    def _take_back(self) -> None:
        """Unwind the parser to the innermost list that takes the current token."""
        kind = self.token.type
        if kind == END:
            self._close_blocks()
            return
        blocks = [bracket for bracket in self.brackets if bracket.token.type == "LBRACE"]
        heights = [bracket.height for bracket in blocks]
        for height in [*reversed(heights), 1]:
            self._unwind(height)
            if kind in self.accepts():
                return
            if kind not in DECLARATION_WORDS:
                return

    def _close_blocks(self) -> None:
        """End every open block, so that what was understood of it stays in the tree."""
        while self.brackets:
            self._take_back_to_list()
            if not self.insert("RBRACE", "}"):
                break
        if self.token.type not in self.accepts():
            self._unwind(1)

    def _unwind(self, height: int) -> None:
        """Keep the parser's stack up to a bracket, and the list after it."""
        state = self._parser.parser_state
        values = state.value_stack
        if len(values) > height - 1 and getattr(values[height - 1], "data", "").startswith("__"):
            height += 1  # the list of what was read so far
        del state.state_stack[height:]
        del values[height - 1 :]
        while self.brackets and self.brackets[-1].height > height:
            self.brackets.pop()
        while self._single_statements and self._single_statements[-1] > len(self.brackets):
            self._single_statements.pop()

    def _resume_machine(self) -> bool:
        """After a mistake in the head of a machine, continue in its body, not after it."""
        word = self.declaration_word()
        if word is None or word.type != "MACHINE":
            return False
        index = self.index
        while self.tokens[index].type not in DECLARATION_WORDS | {"LBRACE", "RBRACE", END}:
            index += 1
        if self.tokens[index].type != "LBRACE":
            return False
        self._take_back_to_list()
        self.index = index
        for kind in ("MACHINE", "LPAR", "ID", "COLON", "ID", "RPAR", "COLON"):
            at = self.token.start_pos
            self._feed(Token(kind, "", at, 1, 1, 1, 1, at))
        return True

    def _take_back_to_list(self) -> None:
        blocks = [bracket for bracket in self.brackets if bracket.token.type == "LBRACE"]
        self._unwind(blocks[-1].height if blocks else 1)


Explain = Callable[[Recovery], bool]
"""Reports why the current token is refused. True if parsing may go on right there."""

Mistake = Callable[[Recovery], bool | None]
"""Recognises one kind. None: another mistake. True: reported and repaired. False: reported, resume
further down."""
