"""What could be written at a place of a text that is not finished.

Inside bodies the name at the cursor is resolved like any other, in the scope of the last
compilation: what resolve looked through is what is offered. Invariant: only the text from the last
keyword of a declaration up to the cursor is read, so the size of a file does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from lark import Token

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink
from slicc.editor.positions import change
from slicc.editor.snapshot import Snapshot
from slicc.parser.parser import lex, parse_partially
from slicc.parser.recovery import CLOSING, OPENING
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import TypeKind, TypeSymbol, VariableKind
from slicc.resolve.scope.uses import CURSOR, NameKind, Offer
from slicc.source import SourceFile
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
_STARTS = re.compile(
    r"^[ \t]*(?:action|in_port|out_port|transition|machine|structure|enumeration|global"
    r"|state_declaration|external_type)\b",
    re.MULTILINE,
)
_BLOCK_HEADS: Final = frozenset({"IF", "PEEK", "ENQUEUE", "DEFER_ENQUEUEING"})
STATEMENT_WORDS: Final = (
    *("if", "else", "return", "peek", "enqueue", "stall_and_wait"),
    *("wakeup_port", "check_allocate", "check_next_cycle", "check_on_cache_probe"),
)
_EVERYWHERE: Final = ("structure", "enumeration", "external_type", "include", "void")
MACHINE_WORDS: Final = (
    *("action", "in_port", "out_port", "transition", "state_declaration"),
    *_EVERYWHERE,
)
OUTER_WORDS: Final = ("machine", "protocol", *_EVERYWHERE)


@dataclass(frozen=True, slots=True)
class Completion:
    """``start``: where the word at the cursor begins."""

    name: str
    kind: NameKind
    start: int
    type: ir.Type | None = None


def complete(snapshot: Snapshot, path: str, text: str, offset: int) -> list[Completion]:
    """Names for a place in a text of the snapshot's protocol, which may have changed since."""
    word = _WORD.search(text[max(0, offset - 200) : offset])
    start = offset - (len(word[0]) if word else 0)
    begin = 0
    for match in _STARTS.finditer(text, 0, start):
        begin = match.start()
    before = text[begin:start]
    tokens = lex(before)
    if _in_comment_or_string(before, tokens):
        return []
    scope = _scope(snapshot, path, text, start)
    if scope is None:
        return []
    offers = _Context(snapshot, scope, tokens, before).offers()
    return [Completion(each.name, each.kind, start, each.type) for each in offers]


def _in_comment_or_string(text: str, tokens: list[Token]) -> bool:
    rest = text[(tokens[-1].end_pos or 0) if tokens else 0 :]
    rest = re.sub(r"/\*.*?\*/", "", rest, flags=re.DOTALL)
    line = rest.rpartition("\n")[2]
    return "//" in line or "/*" in rest or '"' in line or "'" in line


def _scope(snapshot: Snapshot, path: str, text: str, offset: int) -> GlobalScope | None:
    source = snapshot.sources.get(path)
    if source is None:
        return None
    then = change(source.text, text).backward(offset)
    machine = snapshot.machine_at(path, then)
    return snapshot.index.machines.get(machine or "", snapshot.index.scope)


@dataclass(frozen=True, slots=True)
class _Open:
    """A bracket that is open at the cursor; ``word``: the token that it belongs to."""

    kind: str
    index: int
    word: Token | None


class _Context:
    """The tokens before the cursor, and what they ask for."""

    def __init__(
        self, snapshot: Snapshot, scope: GlobalScope, tokens: list[Token], before: str
    ) -> None:
        self._snapshot = snapshot
        self._scope = scope
        self._machine = scope if isinstance(scope, MachineScope) else None
        self._tokens = tokens
        self._before = before
        self._open = _brackets(tokens)

    def offers(self) -> list[Offer]:
        """What may stand here."""
        last = self._tokens[-1].type if self._tokens else ""
        if last == "COLON" and len(self._tokens) > 1:
            return self._members(self._scope.find_type(str(self._tokens[-2])), NameKind.MEMBER)
        if last in ("SCOPE", "INT", "FLOAT", "STRING", "NUMBER"):
            return []
        named = self._named_place()
        if named is not None:
            return named
        inner = self._open[-1] if self._open else None
        if inner is None or _is(inner.word, "MACHINE"):
            return self._declarations(last, inner is not None or self._in_machine())
        if last == "NEW" or _is(inner.word, "STRUCTURE", "GLOBAL"):
            return self._types(last in ("NEW", "LBRACE", "SEMI"))
        if _is(inner.word, "ENUMERATION", "STATE_DECLARATION"):
            return []
        found = self._resolved()
        if last in ("LBRACE", "SEMI", "RBRACE"):
            found += _words(STATEMENT_WORDS)
        return found

    def _in_machine(self) -> bool:
        """Outside of all brackets: whether the last one has not closed a machine, either."""
        depth = sum((each.type in OPENING) - (each.type in CLOSING) for each in self._tokens)
        return self._machine is not None and depth >= 0

    # ------------------------------------------------------------------ places by their names

    def _named_place(self) -> list[Offer] | None:
        """States, events, actions, ports and the like, where only these can stand."""
        inner = self._open[-1] if self._open else None
        if inner is None or inner.word is None:
            return None
        word, machine = inner.word.type, self._machine
        if word == "TRANSITION" and machine is not None:
            return self._of_transition(inner, machine)
        if inner.kind != "LPAR" or machine is None:
            return None
        place = (word, self._argument(inner))
        match place:
            case ("PEEK" | "STALL_AND_WAIT" | "WAKEUP_PORT" | "CHECK_ON_CACHE_PROBE", 0):
                return self._ports(machine, VariableKind.IN_PORT)
            case ("ENQUEUE" | "DEFER_ENQUEUEING", 0):
                return self._ports(machine, VariableKind.OUT_PORT)
            case ("PEEK" | "ENQUEUE" | "DEFER_ENQUEUEING" | "IN_PORT" | "OUT_PORT", 1):
                return self._messages(machine)
            case ("IN_PORT" | "OUT_PORT", 2):
                return self._buffers(machine, word == "IN_PORT")
            case ("IN_PORT" | "OUT_PORT" | "ACTION", _):
                return []
            case _:
                return None

    def _of_transition(self, inner: _Open, machine: MachineScope) -> list[Offer]:
        behind = inner.kind == "LBRACE" and len(self._open) > 1 and self._open[-2].kind == "LPAR"
        if inner.kind == "LPAR" or behind:
            argument = self._argument(self._open[-2] if behind else inner)
            symbol = machine.events if argument == 1 else machine.states
            return self._members(symbol, NameKind.MEMBER)
        found = [Offer(name, NameKind.ACTION) for name in machine.actions]
        return found + self._members(machine.request_types, NameKind.MEMBER)

    def _argument(self, bracket: _Open) -> int:
        """How many commas stand between a bracket and the cursor, at its own depth."""
        depth = commas = 0
        for token in self._tokens[bracket.index + 1 :]:
            depth += (token.type in OPENING) - (token.type in CLOSING)
            commas += token.type == "COMMA" and depth == 0
        return commas

    def _members(self, symbol: TypeSymbol | None, kind: NameKind) -> list[Offer]:
        if symbol is None:
            return []
        return [Offer(name, kind, symbol.type) for name in symbol.members]

    def _ports(self, machine: MachineScope, kind: VariableKind) -> list[Offer]:
        return [
            Offer(name, NameKind.PORT)
            for name, variable in machine.variables.items()
            if variable.kind is kind
        ]

    def _buffers(self, machine: MachineScope, reading: bool) -> list[Offer]:
        found = []
        known = self._snapshot.machine(machine.name)
        links = {each.name: each.network for each in known.parameters} if known else {}
        other = ir.NetworkDirection.TO if reading else ir.NetworkDirection.FROM
        for name, variable in machine.variables.items():
            symbol = machine.symbol_of(variable.type)
            link = links.get(name)
            if link is not None and link.direction is other:
                continue
            if symbol is not None and (symbol.inport if reading else symbol.outport):
                found.append(Offer(name, NameKind.VARIABLE, variable.type))
        return found

    def _messages(self, machine: MachineScope) -> list[Offer]:
        names = [each for each in machine.type_names() if self._is_message(machine, each)]
        return [Offer(name, NameKind.TYPE) for name in dict.fromkeys(names)]

    def _is_message(self, machine: MachineScope, name: str) -> bool:
        symbol = machine.types.get(name) or machine.parent.types.get(name)
        symbol = symbol or machine.library.find(name)
        return symbol is not None and symbol.kind is TypeKind.MESSAGE

    def _declarations(self, last: str, in_machine: bool) -> list[Offer]:
        if last not in ("", "SEMI", "RBRACE", "LBRACE"):
            return []
        return _words(MACHINE_WORDS if in_machine else OUTER_WORDS) + self._types(True)

    def _types(self, wanted: bool) -> list[Offer]:
        if not wanted:
            return []
        names = dict.fromkeys(self._scope.type_names())
        return [Offer(name, NameKind.TYPE) for name in names]

    # ------------------------------------------------------------------ bodies

    def _resolved(self) -> list[Offer]:
        if self._machine is None:
            return []
        text = f"{self._before}{CURSOR}{_closers(self._open)}"
        unit = parse_partially(SourceFile("<cursor>", text), DiagnosticSink())
        node = None if unit is None else _last(unit.declarations)
        if node is None:
            return []
        return self._snapshot.index.offers(self._machine, node)


def _brackets(tokens: list[Token]) -> list[_Open]:
    found: list[_Open] = []
    closed: list[_Open] = []  # by order of closing: the last is that of the last closing bracket
    for index, token in enumerate(tokens):
        if token.type in OPENING:
            before = tokens[index - 1] if index else None
            if before is not None and before.type in CLOSING and closed:
                before = closed[-1].word  # `transition(…) {`, `{…} {`
            elif token.type == "LBRACE" and found and _is(before, "LPAR", "COMMA"):
                before = found[-1].word  # a set of names
            elif token.type == "LBRACE" and not found:
                before = _machine_word(tokens[:index]) or before
            found.append(_Open(token.type, index, before))
        elif token.type in CLOSING and found:
            closed.append(found.pop())
    return found


def _machine_word(tokens: list[Token]) -> Token | None:
    """The keyword of a machine, between whose head and body are declarations."""
    for token in reversed(tokens):
        if token.type == "MACHINE":
            return token
        if token.type in ("LBRACE", "RBRACE"):
            return None
    return None


def _is(token: Token | None, *types: str) -> bool:
    return token is not None and token.type in types


def _closers(brackets: Iterable[_Open]) -> str:
    """What makes the text before the cursor a whole one."""
    parts = []
    unfinished = True
    for bracket in reversed(list(brackets)):
        if bracket.kind == "LBRACE":
            parts.append(";}" if unfinished else "}")
            unfinished = False
        elif _is(bracket.word, *_BLOCK_HEADS):
            parts.append(") {}")
            unfinished = False
        else:
            parts.append(")" if bracket.kind == "LPAR" else "]")
    return "".join(parts)


def _last(declarations: tuple[syntax.Declaration, ...]) -> syntax.Declaration | None:
    if not declarations:
        return None
    last = declarations[-1]
    return _last(last.body) if isinstance(last, syntax.Machine) else last


def _words(words: Iterable[str]) -> list[Offer]:
    return [Offer(word, NameKind.KEYWORD) for word in words]
