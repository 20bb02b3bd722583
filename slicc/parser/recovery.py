"""What is wrong with a text that does not parse.

The tokens are fed to the parser one by one. Where it refuses one, ``slicc.parser.common_mistakes``
is asked what the author probably meant. Many slips can be put right on the spot (a missing ``;``),
and parsing goes on as if nothing had happened; otherwise the parser is taken back to the innermost
open block and goes on behind the statement or declaration. Invariant: every round either moves
on in the text or takes back the parser, and at least one error is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from lark import Lark, Token
from lark.exceptions import UnexpectedToken
from lark.parsers.lalr_interactive_parser import InteractiveParser

from slicc.diagnostics.model import DiagnosticSink
from slicc.parser.lexical_errors import Cleaned, clean
from slicc.parser.limits import ERRORS
from slicc.parser.older_text import older_tokens
from slicc.parser.token_names import DECLARATION_WORDS, END, Words
from slicc.source import SourceFile, Span

_QUIET_TOKENS = 2
"""Tokens that must be read after an error before the next one counts."""

OPENING = {"LBRACE": "RBRACE", "LPAR": "RPAR", "LBRACKET": "RBRACKET"}
CLOSING = {closing: opening for opening, closing in OPENING.items()}


def report_syntax_errors(source: SourceFile, parser: Lark, sink: DiagnosticSink) -> None:
    """Report everything that keeps ``source`` from parsing, as far as it can be told apart."""
    first = len(sink.diagnostics)
    cleaned = clean(source, sink)
    tokens = older_tokens(list(parser.lex(cleaned.text)), source, parser)
    end = len(source.text)
    tokens.append(Token(END, "", end, 1, 1, 1, 1, end))
    Recovery(source, parser, cleaned, tokens, sink).run()
    found = sorted(sink.diagnostics[first:], key=lambda one: one.primary.span.start)
    if len(found) >= ERRORS:
        last = found[ERRORS - 1]
        note = "further mistakes in this file are not reported"
        found[ERRORS - 1 :] = [replace(last, notes=(*last.notes, note))]
    sink.diagnostics[first:] = found
    assert found, "a text that does not parse has an error"


@dataclass
class OpenBracket:
    """``height`` of the parser's stack right behind the bracket."""

    token: Token
    index: int
    height: int


class Recovery:
    """The parser, the place in the text, and ways to go on."""

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
        self.words = Words(parser)
        self.tokens = tokens
        self.index = 0
        self.brackets: list[OpenBracket] = []
        self.pairs: list[tuple[OpenBracket, Token]] = []  # closed ones, in order of closing
        self._cleaned = cleaned
        self._parser: InteractiveParser = parser.parse_interactive("")
        self._single_statements: list[int] = []  # bracket depths of braces that we supplied
        self._restarted: set[int] = set()
        self._quiet_until = 0
        self._quiet_line = 0
        self._reported = 0
        self._inserted = 0  # tokens supplied since the last one read

    # ------------------------------------------------------------ what slips look at

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

    def statement_start(self) -> int:
        """Index of the first token behind the last ``;`` or brace."""
        first = self.index
        while first > 0 and self.tokens[first - 1].type not in ("SEMI", "LBRACE", "RBRACE"):
            first -= 1
        return first

    def declaration_word(self) -> Token | None:
        """The word that began the unfinished declaration or statement."""
        for value in reversed(self.values()):
            if isinstance(value, Token):
                if value.type in OPENING and value.type != "LPAR":
                    return None
                if value.type in DECLARATION_WORDS:
                    return value
        return None

    # ------------------------------------------------------------ ways to go on

    def insert(self, terminal: str, text: str = "") -> bool:
        """Go on as if a token stood before the current one; False if the parser refuses it."""
        if terminal not in self.accepts() or self._inserted > 60:
            return False
        self._inserted += 1
        at = self.token.start_pos
        self._feed(Token(terminal, text, at, 1, 1, 1, 1, at))
        return True

    def replace(self, terminal: str) -> None:
        """Go on as if the current token were another one."""
        self.tokens[self.index] = Token.new_borrow_pos(terminal, str(self.token), self.token)

    def skip(self, count: int = 1) -> None:
        """Go on behind the current token."""
        self.index = min(self.index + count, len(self.tokens) - 1)
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
        """Note that from here to the end of the line nothing can be trusted."""
        index = self.index - 1 if self.starts_line(self.index) else self.index
        self._quiet_line = self.line(self.tokens[max(0, index)])

    @property
    def derailed(self) -> bool:
        """Whether braces may have been misread since the beginning."""
        return self._quiet_line > 0

    def resume(self) -> None:
        """Give up the current statement or declaration and go on behind it."""
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

    def run(self) -> None:
        from slicc.parser.common_mistakes import explain  # needs this module's names

        while True:
            token = self.token
            try:
                self._feed(token)
            except UnexpectedToken:
                if self._reported >= ERRORS:
                    return
                if self._is_consequence():
                    if token.type == END:
                        return
                    self.resume()
                    continue
                before = len(self.sink.diagnostics)
                index, inserted = self.index, self._inserted
                repaired = explain(self)
                self._reported += len(self.sink.diagnostics) - before
                if token.type == END and self.sink.diagnostics[-1].slug != "missing-semicolon":
                    return  # more at the end of the file would say the same
                moved = self.index != index or self._inserted > inserted
                if not repaired or not (moved or self.token is not token):
                    self.resume()
                continue
            if token.type == END:
                return
            self.index += 1
            self._inserted = 0

    def _feed(self, token: Token) -> None:
        self._parser.feed_token(token)
        if token.type in OPENING:
            height = len(self._parser.parser_state.state_stack)
            self.brackets.append(OpenBracket(token, self.index, height))
        elif token.type in CLOSING and self.brackets:
            self.pairs.append((self.brackets.pop(), token))
        if token.type in ("SEMI", "RBRACE"):
            self._close_single_statements(token)

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
            return self.token.type != END or self._reported > 0
        first = self.statement_start()
        start = self.tokens[first - 1].end_pos or 0 if first > 0 else 0
        return self._cleaned.damaged(start, self.token.end_pos or 0)

    # ------------------------------------------------------------ finding a place to go on

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
        blocks = [bracket for bracket in self.brackets if bracket.token.type == "LBRACE"]
        heights = [bracket.height for bracket in blocks]
        for height in [*reversed(heights), 1]:
            self._unwind(height)
            if kind in self.accepts():
                return
            if kind not in DECLARATION_WORDS and kind != END:
                return

    def _unwind(self, height: int) -> None:
        """Keep what stood on the parser's stack up to a bracket, and the list behind it."""
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
        """After a slip in the head of a machine go on in its body, not behind it."""
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
