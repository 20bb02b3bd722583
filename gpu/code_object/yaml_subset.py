"""The YAML that version 2 code objects carry: block mappings and sequences of plain values.

It is a small part of YAML 1.2: no anchors, tags, multi-line values or flow mappings, because the
compilers that write version 2 use none. Anything else is refused, with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

_QUOTED: Final = r"""'(?:[^']|'')*'|"(?:[^"\\]|\\.)*\""""
_PLAIN: Final = r"""[^\s'"\[\]{}#&*!|>%@`-][^:]*?"""
_KEY: Final = re.compile(rf"({_QUOTED}|{_PLAIN})\s*:(?:\s|$)")
_DEEPEST: Final = 32


class YamlError(ValueError):
    """The text is outside the subset."""


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    indent: int
    text: str


def read_yaml(text: str) -> Any:
    """Mappings, lists, strings, integers and booleans. Raises `YamlError`."""
    lines = []
    for number, raw in enumerate(text.rstrip("\0").splitlines(), 1):
        stripped = raw.strip()
        if stripped and stripped not in ("---", "...") and not stripped.startswith("#"):
            lines.append(_Line(number, len(raw) - len(raw.lstrip(" ")), stripped))
    if not lines:
        return None
    reader = _Reader(lines)
    value = reader.block(lines[0].indent, 0)
    if reader.at < len(lines):
        raise YamlError(f"line {reader.line.number}: unexpected {reader.line.text!r}")
    return value


class _Reader:
    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines
        self.at = 0

    @property
    def line(self) -> _Line:
        return self.lines[self.at]

    def more(self, indent: int) -> bool:
        return self.at < len(self.lines) and self.line.indent == indent

    def block(self, indent: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise YamlError(f"line {self.line.number}: nested deeper than {_DEEPEST}")
        if self.line.text.startswith("- ") or self.line.text == "-":
            return self.sequence(indent, depth)
        return self.mapping(indent, depth)

    def sequence(self, indent: int, depth: int) -> list[Any]:
        items = []
        while self.more(indent) and (self.line.text[:2] in ("- ", "-")):
            line = self.line
            rest = line.text[1:].lstrip()
            inner = indent + len(line.text) - len(rest)
            if rest and _KEY.match(rest):
                self.lines[self.at] = _Line(line.number, inner, rest)
                items.append(self.block(inner, depth + 1))
                continue
            self.at += 1
            items.append(self.value(rest, line, indent, depth))
        return items

    def mapping(self, indent: int, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self.more(indent):
            line = self.line
            match = _KEY.match(line.text)
            if match is None:
                raise YamlError(f"line {line.number}: no 'key: value' in {line.text!r}")
            self.at += 1
            key = str(_scalar(match[1], line.number))
            found[key] = self.value(line.text[match.end() :].strip(), line, indent, depth)
        return found

    def value(self, text: str, line: _Line, indent: int, depth: int) -> Any:
        """What follows a key or a dash: on the line, or as a deeper block."""
        if text:
            return _scalar(text, line.number)
        if self.at < len(self.lines):
            deeper = self.line.indent > indent
            listed = self.line.indent == indent and self.line.text.startswith("- ")
            if deeper or (listed and not line.text.startswith("-")):
                return self.block(self.line.indent, depth + 1)
        return None


def _scalar(text: str, number: int) -> Any:
    if text[0] == "[" and text[-1] == "]":
        inner = text[1:-1].strip()
        if "[" in inner:
            raise YamlError(f"line {number}: a list within a list on one line")
        return [_scalar(part.strip() or "''", number) for part in inner.split(",")] if inner else []
    if text[0] == "'":
        if len(text) < 2 or text[-1] != "'":
            raise YamlError(f"line {number}: quote without an end: {text!r}")
        return text[1:-1].replace("''", "'")
    if text[0] == '"':
        if len(text) < 2 or text[-1] != '"':
            raise YamlError(f"line {number}: quote without an end: {text!r}")
        try:
            return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", _escape, text[1:-1])
        except ValueError as error:
            raise YamlError(f"line {number}: {error}") from None
    if text[0] in "{&*!|>%@`":
        raise YamlError(f"line {number}: {text[:20]!r} is not among what version 2 objects use")
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?[0-9]{1,20}", text) else text


_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "e": "\x1b"}


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) == 3:
        return chr(int(code[1:], 16))
    if code not in _ESCAPES:
        raise ValueError(f"unknown escape \\{code}")
    return _ESCAPES[code]
