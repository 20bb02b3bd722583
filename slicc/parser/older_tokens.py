"""Older spellings, token by token: machine headers, latencies of messages, drivers of file names,
types of requests, classes of the library (``external_type(T) { … }``).

Three headers preceded today's ``machine(MachineType:L1Cache, …) : T * a; int b := 2; {``:

    machine(L1Cache, …) : T * a, int b = 2 {            commas, and values behind ``=``
    machine(L1Cache, …) : T * a; int b := 2; {          the bare name of the machine
    machine({L1Cache, L2Cache}, …) : … {                one controller that acts as several

Invariant: inserted tokens have no width and are placed where the parser expects them, so spans of
the nodes that contain them still reach from the first to the last written token.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lark import Token

from slicc.source import SourceFile, Span

Note = Callable[[str, Span, str], None]
"""Called with the construct, its span, and its meaning today."""

_HINT = re.compile(
    r"\bmachine\s*\(\s*(?:\w+\s*[,)]|\{)|\blatency\s*="
    r"|\bexternal_type\s*\([^;{]*\{|\bCacheMsg\b"
)
_RENAMED = {"SupervisorMode": "Supervisor", "UserMode": "User"}
_RENAMED_BESIDE_CACHE_MESSAGES = {"CacheRequestType": "RubyRequestType"}
"""What was the type of a ``CacheMsg`` has since become the name of another type."""
_FILE_LIST = re.compile(
    r"(?:\s++|(?://|#)[^\n]*+\n|(?>/\*.*?\*/)|(?>[\w./-]+\.(?:sm|slicc)\b))*+\Z", re.DOTALL
)
_FILE_NAME = re.compile(r"(?://|#)[^\n]*|/\*.*?\*/|(?P<name>[\w./-]+\.(?:sm|slicc))", re.DOTALL)


def may_be_older(text: str) -> bool:
    """Whether :func:`modern_tokens` may change the text: a cheap test that can be wrong."""
    return _HINT.search(text) is not None


def listed_files(source: SourceFile) -> list[Span] | None:
    """The names in a driver that is only a list of files; None if it is anything else."""
    if not source.name.endswith(".slicc") or not _FILE_LIST.match(source.text):
        return None
    return [
        Span(source, *match.span("name"))
        for match in _FILE_NAME.finditer(source.text)
        if match["name"]
    ]


def modern_tokens(
    tokens: list[Token], source: SourceFile, lex: Callable[[str], list[Token]], note: Note
) -> list[Token]:
    """The tokens in today's spelling. ``lex`` reads an expression in a string."""
    return _Rewriter(tokens, source, lex, note).run()


class _Rewriter:
    """Goes once over the tokens of a file and copies them, or what they are called today."""

    def __init__(
        self,
        tokens: list[Token],
        source: SourceFile,
        lex: Callable[[str], list[Token]],
        note: Note,
    ) -> None:
        self._tokens = tokens
        self._source = source
        self._lex = lex
        self._note = note
        self._out: list[Token] = []
        self._at = 0
        self._renamed = dict(_RENAMED)
        if any(token == "CacheMsg" for token in tokens):
            self._renamed |= _RENAMED_BESIDE_CACHE_MESSAGES

    def run(self) -> list[Token]:
        while self._at < len(self._tokens):
            kind = self._tokens[self._at].type
            if kind == "MACHINE":
                self._machine()
            elif kind == "ENQUEUE":
                self._enqueue()
            elif kind == "ID" and self._tokens[self._at] in self._renamed:
                self._rename()
            elif kind == "EXTERNAL_TYPE":
                self._external_type()
            else:
                self._copy()
        return self._out

    # ------------------------------------------------------------ moving on

    def _kind(self, ahead: int = 0) -> str:
        position = self._at + ahead
        return self._tokens[position].type if position < len(self._tokens) else ""

    def _copy(self, count: int = 1) -> None:
        self._out += self._tokens[self._at : self._at + count]
        self._at += count

    def _supply(self, kind: str, text: str, instead: bool = False) -> None:
        """Insert a token before the current one, or (``instead``) at its place."""
        token = self._tokens[min(self._at, len(self._tokens) - 1)]
        start = token.start_pos
        end = token.end_pos if instead else start
        self._out.append(Token(kind, text, start, 1, 1, 1, 1, end))
        self._at += instead

    def _span(self, first: int, last: int | None = None) -> Span:
        start = self._tokens[first].start_pos
        end = self._tokens[first if last is None else last].end_pos
        assert start is not None and end is not None
        return Span(self._source, start, end)

    # ------------------------------------------------------------ machine headers

    def _machine(self) -> None:
        self._copy()
        if self._kind() != "LPAR":
            return
        self._copy()
        if self._kind() == "LBRACE":
            self._several_names()
        elif self._kind() == "ID" and self._kind(1) in ("COMMA", "RPAR"):
            name = self._tokens[self._at]
            self._note("a machine's bare name", self._span(self._at), f"`MachineType:{name}`")
            self._supply_type()
            self._copy()
        while self._kind() not in ("RPAR", "LBRACE", "RBRACE", "SEMI", ""):
            self._copy()
        if self._kind() == "RPAR" and self._kind(1) == "COLON":
            self._copy(2)
            self._parameters()

    def _supply_type(self) -> None:
        self._supply("ID", "MachineType")
        self._supply("COLON", ":")

    def _several_names(self) -> None:
        """``{A, B}``: the machine is an ``A``."""
        first = self._at
        last = first
        while self._kind(last - first) not in ("RBRACE", "SEMI", ""):
            last += 1
        if self._tokens[min(first + 1, len(self._tokens) - 1)].type != "ID":
            return
        name = self._tokens[first + 1]
        self._note(
            "a machine of several types",
            self._span(first, min(last, len(self._tokens) - 1)),
            f"`MachineType:{name}`, the first of them",
        )
        self._at += 1
        self._supply_type()
        self._copy()
        self._at = last + 1

    def _parameters(self) -> None:
        """Up to the opening brace of the body."""
        start = self._at
        while self._kind() not in ("LBRACE", "RBRACE", ""):
            if self._kind() == "COMMA" and self._kind(1) == "LBRACE":
                self._at += 1
            elif self._kind() == "COMMA" and self._begins_parameter():
                self._note("parameters with commas", self._span(self._at), "`;` between parameters")
                self._supply("SEMI", ";", instead=True)
            elif self._kind() == "EQUALS" and self._behind_parameter():
                self._note("a parameter's value behind `=`", self._span(self._at), "`:=`")
                self._supply("ASSIGN", ":=", instead=True)
            else:
                self._copy()
        if self._at > start and self._kind() == "LBRACE" and self._out[-1].type != "SEMI":
            self._supply("SEMI", ";")

    def _begins_parameter(self) -> bool:
        """Whether a type and a name stand behind the comma: no pair looks like that."""
        ahead = 1
        while self._kind(ahead) == "ID" and self._kind(ahead + 1) == "SCOPE":
            ahead += 2
        return self._kind(ahead) == "ID" and self._kind(ahead + 1) in ("STAR", "ID")

    def _behind_parameter(self) -> bool:
        """Whether a type and a name precede ``=``, not the key of a pair."""
        before = [token.type for token in self._out[-3:]]
        return before[-2:] == ["ID", "ID"] or before == ["ID", "STAR", "ID"]

    # ------------------------------------------------------------ requests

    def _rename(self) -> None:
        written = str(self._tokens[self._at])
        now = self._renamed[written]
        self._note(f"`{written}`", self._span(self._at), f"`{now}`")
        self._supply("ID", now, instead=True)

    # ------------------------------------------------------------ classes of the library

    def _external_type(self) -> None:
        """With prototypes in braces; without them it is today's spelling."""
        ahead = 1
        while self._kind(ahead) not in ("RPAR", "LBRACE", "RBRACE", "SEMI", ""):
            ahead += 1
        if self._kind(ahead) != "RPAR" or self._kind(ahead + 1) != "LBRACE":
            self._copy()
            return
        now = '`structure(…, external="yes")`'
        self._note("`external_type` with methods", self._span(self._at), now)
        self._supply("STRUCTURE", "structure", instead=True)
        self._copy(ahead - 1)
        for kind, text in (
            ("COMMA", ","),
            ("ID", "external"),
            ("EQUALS", "="),
            ("STRING", '"yes"'),
        ):
            self._supply(kind, text)

    # ------------------------------------------------------------ latencies

    def _enqueue(self) -> None:
        """``enqueue(port, Type, latency="…")``."""
        self._copy()
        while self._kind() not in ("RPAR", "LBRACE", "RBRACE", "SEMI", ""):
            token = self._tokens[self._at]
            if token.type == "ID" and token == "latency" and self._kind(1) == "EQUALS":
                self._note("`latency=` of an enqueue", self._span(self._at), "a third argument")
                self._at += 2
                if self._kind() == "STRING":
                    self._expression_in_string()
                    continue
            self._copy()

    def _expression_in_string(self) -> None:
        written = self._tokens[self._at]
        for token in self._lex(str(written)[1:-1]):
            self._out.append(Token.new_borrow_pos(token.type, str(token), written))
        self._at += 1
