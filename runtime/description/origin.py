"""Reading a description so that every complaint names the file, the line, the field and the value.

``tomllib`` tells no positions, so a second, tolerant pass over the same (already valid) text notes
the line of every key. :class:`Table` then takes fields out of a parsed table one by one, checking
type and bounds, and whatever nobody asked for is an unknown field.

Invariant: nothing is sized by a number that has not passed a bound here.
"""

from __future__ import annotations

import bisect
import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence

Path = tuple[str | int, ...]
"""Keys from the top of the file: ``("machine", "TCP", "count")``; integers index arrays."""

MAX_TEXT_BYTES = 1 << 20
MAX_DEPTH = 16
"""Levels of tables in a table whose fields are not looked at here."""
MAX_STRING = 4096
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR_END = re.compile(r"[,\]}\n#]|$")


class DescriptionError(ValueError):
    """A system description that cannot be built, and where it says so.

    ``line`` is 1-based, 0 when the value did not come from a line of a file. ``value`` is None for
    a field that is missing.
    """

    def __init__(self, file: str, line: int, field: str, value: object, message: str) -> None:
        self.file = file
        self.line = line
        self.field = field
        self.value = value
        self.message = message
        place = f"{file}:{line}" if line else file
        shown = field if value is None else f"{field} = {_shorten(value)}"
        super().__init__(f"{place}: {shown}: {message}" if field else f"{place}: {message}")


def _shorten(value: object) -> str:
    try:
        text = toml_value(value)
    except RecursionError:
        return "..."
    return text if len(text) <= 60 else text[:57] + "..."


class Origin:
    """Where the fields of one description were written."""

    def __init__(self, file: str = "<description>", lines: Mapping[Path, int] | None = None):
        self.file = file
        self.lines: dict[Path, int] = dict(lines or {})
        self.options: dict[Path, str] = {}
        """Fields that the command line overrode, and the words it used."""

    def place(self, path: Path) -> tuple[str, int]:
        """File and line of ``path``, or of the closest table around it."""
        for end in range(len(path), 0, -1):
            option = self.options.get(path[:end])
            if option is not None:
                return option, 0
            line = self.lines.get(path[:end])
            if line is not None:
                return self.file, line
        for made, option in self.options.items():  # the option made this table
            if made[: len(path)] == path:
                return option, 0
        return self.file, 1 if self.lines else 0

    def error(self, path: Path, value: object, message: str) -> DescriptionError:
        file, line = self.place(path)
        return DescriptionError(file, line, dotted(path), value, message)


def dotted(path: Path) -> str:
    """``machine.TCP.count``; array positions in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + toml_key(part)
    return text


# ------------------------------------------------------------------ TOML text


def parse_toml(text: str, file: str) -> tuple[dict[str, object], Origin]:
    """The parsed tables and the line of every key. Raises DescriptionError with the line."""
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise DescriptionError(file, 0, "", None, f"larger than {MAX_TEXT_BYTES} bytes")
    try:
        data: dict[str, object] = tomllib.loads(text)
        lines = _KeyLines(text).lines
    except tomllib.TOMLDecodeError as slip:
        found = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", str(slip))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        reason = str(slip)[: found.start()].strip() if found else str(slip)
        raise DescriptionError(file, line, "", None, f"not TOML: {reason}") from None
    except RecursionError:
        raise DescriptionError(file, 0, "", None, "nested too deeply") from None
    except ValueError:  # int() reads no more digits than 4,300
        raise DescriptionError(
            file, _longest(text), "", None, "a number of too many digits"
        ) from None
    return data, Origin(file, lines)


def _longest(text: str) -> int:
    """The first line with a number that is far too long."""
    found = re.search(r"[0-9_]{4000}", text)
    return 0 if found is None else text.count("\n", 0, found.start()) + 1


def toml_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else toml_value(key)


def toml_value(value: object) -> str:
    """One value on one line, as TOML. Numbers, booleans, strings, lists and inline tables."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        escaped = "".join(
            f"\\u{ord(c):04x}" if ord(c) < 32 or ord(c) == 127 else "\\" * (c in '"\\') + c
            for c in value
        )
        return f'"{escaped}"'
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(str(k))} = {toml_value(v)}" for k, v in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return str(value)  # a date or a time


def toml_text(data: Mapping[str, object], path: tuple[str, ...] = ()) -> str:
    """A document of ``data``: fields first, then tables in order, arrays of tables as such."""
    lines: list[str] = []
    tables: list[str] = []
    for key, value in data.items():
        if isinstance(value, Mapping):
            tables.append(toml_text(value, (*path, key)))
        elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            for item in value:
                header = ".".join(toml_key(part) for part in (*path, key))
                fields = "".join(f"{toml_key(k)} = {toml_value(v)}\n" for k, v in item.items())
                tables.append(f"[[{header}]]\n{fields}")
        else:
            lines.append(f"{toml_key(key)} = {toml_value(value)}\n")
    body = "".join(lines)
    if path and (body or not tables):
        body = f"[{'.'.join(toml_key(part) for part in path)}]\n{body}"
    return "\n".join(part for part in (body, *tables) if part)


class _KeyLines:
    """The line of every key of a valid TOML text: a scanner that skips values."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._line_ends = [found.start() for found in re.finditer("\n", text)]
        self._elements: dict[Path, int] = {}
        self._scan()

    def _scan(self) -> None:
        prefix: Path = ()
        while self._skip_blank():
            line = self._line()
            if self.text.startswith("[[", self.at):
                self.at += 2
                key = self._resolve(self._key())
                number = self._elements.get(key, -1) + 1
                self._elements[key] = number
                prefix = (*key, number)
                self.at = self.text.index("]]", self.at) + 2
            elif self.text[self.at] == "[":
                self.at += 1
                prefix = self._resolve(self._key())
                self.at = self.text.index("]", self.at) + 1
            else:
                self._field(prefix)
                continue
            self._note(prefix, line)

    def _resolve(self, key: Path) -> Path:
        """A header below an array of tables speaks of its latest element."""
        resolved: Path = ()
        for position, part in enumerate(key):
            resolved = (*resolved, part)
            if position < len(key) - 1 and resolved in self._elements:
                resolved = (*resolved, self._elements[resolved])
        return resolved

    def _field(self, prefix: Path) -> None:
        line = self._line()
        path = (*prefix, *self._key())
        for end in range(len(prefix) + 1, len(path) + 1):
            self._note(path[:end], line)
        self.at = self.text.index("=", self.at) + 1
        self._value(path)

    def _value(self, path: Path) -> None:
        self._skip_space()
        opening = self.text[self.at]
        if opening in "\"'":
            self._string()
        elif opening == "[":
            self._items(path, "]")
        elif opening == "{":
            self._items(path, "}")
        else:
            found = _SCALAR_END.search(self.text, self.at)
            self.at = found.start() if found else len(self.text)

    def _items(self, path: Path, closing: str) -> None:
        self.at += 1
        count = 0
        while self._skip_blank() and self.text[self.at] != closing:
            if closing == "}":
                self._field(path)
            else:
                self._note((*path, count), self._line())
                self._value((*path, count))
            count += 1
            self._skip_blank()
            if self.text[self.at] == ",":
                self.at += 1
        self.at += 1

    def _key(self) -> Path:
        parts: list[str | int] = []
        while True:
            self._skip_space()
            if self.text[self.at] in "\"'":
                start = self.at
                self._string()
                parts.append(tomllib.loads("k = " + self.text[start : self.at])["k"])
            else:
                found = _BARE_KEY.match(self.text, self.at)
                assert found is not None, "the text was parsed before"
                self.at = found.end()
                parts.append(found[0])
            self._skip_space()
            if self.text[self.at] != ".":
                return tuple(parts)
            self.at += 1

    def _string(self) -> None:
        quote = self.text[self.at]
        if self.text.startswith(quote * 3, self.at):
            quote *= 3
        self.at += len(quote)
        while not self.text.startswith(quote, self.at):
            self.at += 2 if self.text[self.at] == "\\" and quote[0] == '"' else 1
        self.at += len(quote)
        while len(quote) == 3 and self.text.startswith(quote[0], self.at):
            self.at += 1  # a multi-line string may end in up to two more quotes

    def _skip_space(self) -> None:
        while self.at < len(self.text) and self.text[self.at] in " \t":
            self.at += 1

    def _skip_blank(self) -> bool:
        while self.at < len(self.text):
            if self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif self.text[self.at] in " \t\r\n":
                self.at += 1
            else:
                return True
        return False

    def _line(self) -> int:
        return bisect.bisect_left(self._line_ends, self.at) + 1

    def _note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)


# ------------------------------------------------------------------ checked fields


class Table:
    """A parsed table whose fields are taken one by one; :meth:`finish` refuses the rest."""

    def __init__(self, data: object, path: Path, origin: Origin) -> None:
        if not isinstance(data, Mapping):
            raise origin.error(path, data, "expected a table")
        self.data = data
        self.path = path
        self.origin = origin
        self._asked: list[str] = []

    def error(self, key: str, message: str) -> DescriptionError:
        return self.origin.error((*self.path, key), self.data.get(key), message)

    def take(self, key: str) -> object:
        self._asked.append(key)
        return self.data.get(key)

    def integer(self, key: str, low: int, high: int, power_of_two: bool = False) -> int | None:
        """The number, or None when the field is absent."""
        value = self.take(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, "expected an integer")
        if not low <= value <= high:
            raise self.error(key, f"must be between {low} and {high}")
        if power_of_two and value & (value - 1):
            raise self.error(key, "must be a power of two")
        return value

    def boolean(self, key: str) -> bool | None:
        value = self.take(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(key, "expected true or false")
        return value

    def string(self, key: str, choices: Sequence[str] = ()) -> str | None:
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(key, "expected a string")
        if len(value) > MAX_STRING:
            raise self.error(key, f"longer than {MAX_STRING} characters")
        if choices and value not in choices:
            raise self.error(key, unknown_name("choice", value, choices))
        return value

    def strings(self, key: str, choices: Sequence[str] = ()) -> tuple[str, ...] | None:
        value = self.take(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise self.error(key, "expected a list of strings")
        if len(value) > 64:
            raise self.error(key, "more than 64 items")
        for position, item in enumerate(value):
            if choices and item not in choices:
                path = (*self.path, key, position)
                raise self.origin.error(path, item, unknown_name("choice", item, choices))
        return tuple(value)

    def scalar(self, key: str) -> int | bool | str | None:
        """A parameter value: an integer of 64 bits, a boolean or a string."""
        value = self.take(key)
        if isinstance(value, str):
            return self.string(key)
        if value is None or isinstance(value, bool):
            return value
        return self.integer(key, -(1 << 63), (1 << 64) - 1)

    def table(self, key: str) -> Table:
        """The table below, empty when absent."""
        value = self.take(key)
        return Table({} if value is None else value, (*self.path, key), self.origin)

    def tables(self, key: str, most: int = 64) -> dict[str, Table]:
        """The named tables below ``key``, in order."""
        named = self.table(key)
        if len(named.data) > most:
            raise self.error(key, f"more than {most} tables")
        return {str(name): named.table(name) for name in named.data}

    def finish(self) -> None:
        for key in self.data:
            if key not in self._asked:
                raise self.error(key, unknown_name("field", str(key), self._asked))


def unknown_name(what: str, name: str, known: Sequence[str]) -> str:
    """``no such field; did you mean `count`?``"""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"no such {what}; did you mean `{close[0]}`?"
    listed = ", ".join(known[:12])
    return f"no such {what}" + (f"; there is {listed}" if listed else "")
