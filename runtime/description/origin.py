"""Where the fields of a description were written, so that every error names file, line and field.

TOML parsers report no positions of values. A line is looked for once an error needs it: below the
longest part of the text, from its beginning, that is TOML by itself and lacks the field.

Invariant: looking for a line parses no more than ``_EFFORT`` characters; a line that is not found
by then is reported as the last one that was ruled out, plus one.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

Path = tuple[str | int, ...]
"""Keys from the top of the file: ``("machine", "TCP", "count")``; integers index arrays."""

MAX_TEXT_BYTES: Final = 1 << 20
_EFFORT: Final = 1 << 21
_LONG_NUMBER: Final = re.compile(r"\b0[xob][0-9A-Fa-f_]{4000}")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


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
        shown = field if value is None else f"{field} = {_shown(value)}"
        super().__init__(f"{place}: {shown}: {message}" if field else f"{place}: {message}")


class MissingParameters(DescriptionError):
    """Parameters that nothing gives a value; ``placeholders``: one of its type for each path.

    ``stated``: the message without ``--set``, which not every command has.
    """

    placeholders: Mapping[str, str | int]
    stated: str


def _shown(value: object) -> str:
    if not isinstance(value, str | int | list | tuple | Mapping):
        return str(value)  # a number with a point, a date or a time
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "..."
    return text if len(text) <= 60 else text[:57] + "..."


class Origin:
    """Where the fields of one description were written. Equal to any other: it is no content."""

    def __init__(self, file: str = "system description", text: str = "") -> None:
        self.file = file
        self.text = text
        self.options: dict[Path, tuple[str, object]] = {}
        """Fields that the command line overrode, and the options: field and value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin)

    __hash__ = None  # type: ignore[assignment]

    def place(self, path: Path) -> tuple[str, int]:
        """File and line of ``path``, or the option that made it, or the closest table around it."""
        held = _depth(_parsed(self.text), path)
        for end in range(len(path), 0, -1):
            option = self.options.get(path[:end])
            if option is None and end > held:  # a table that an option has begun?
                within = (by for made, by in self.options.items() if made[:end] == path[:end])
                option = next(within, None)
            if option is not None:
                return _written(option), 0
            if end <= held:
                return self.file, _line(self.text, path[:end])
        return self.file, 1 if self.text else 0

    def error(self, path: Path, value: object, message: str) -> DescriptionError:
        file, line = self.place(path)
        return DescriptionError(file, line, dotted(path), value, message)


def _written(option: tuple[str, object]) -> str:
    return f"--set {option[0]}={option[1]}"


def _line(text: str, path: Path) -> int:
    """Where the statement begins that sets ``path``, which the text has, or opens its table."""
    lines = text.split("\n")
    before, after = 0, len(lines)
    effort = _EFFORT
    while after - before > 1:
        middle = (before + after) // 2
        after, end = middle, after
        for cut in range(middle, end):
            part = "\n".join(lines[:cut])
            effort -= len(part)
            if effort < 0:
                return before + 1
            data = _parsed(part)
            if data is not None:  # no statement is open at this line's end
                if _depth(data, path) < len(path):
                    before, after = cut, end
                break
    return before + 1


def _parsed(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _depth(data: object, path: Path) -> int:
    """How many parts of the path lead to something."""
    for depth, part in enumerate(path):
        if isinstance(data, list):
            data = dict(enumerate(data))
        if not isinstance(data, dict) or part not in data:
            return depth
        data = data[part]
    return len(path)


def dotted(path: Path) -> str:
    """``machine.TCP.count``; array positions in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            key = part if _BARE_KEY.fullmatch(part) else json.dumps(part, ensure_ascii=False)
            text += ("." if text else "") + key
    return text


def parse_toml(text: str, file: str) -> dict[str, object]:
    """The parsed tables. Raises DescriptionError with the line."""
    if len(text.encode()) > MAX_TEXT_BYTES:
        raise DescriptionError(file, 0, "", None, f"larger than {MAX_TEXT_BYTES} bytes")
    try:
        return loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        reason = str(error)[: found.start()].strip() if found else str(error)
        raise DescriptionError(file, line, "", None, f"not TOML: {reason}") from None
    except RecursionError:
        raise DescriptionError(file, 0, "", None, "nested too deeply") from None
    except ValueError:
        found = re.search(r"[0-9A-Fa-f_]{4000}", text)
        line = 0 if found is None else text.count("\n", 0, found.start()) + 1
        raise DescriptionError(file, line, "", None, "a number of too many digits") from None


def loads(text: str) -> dict[str, Any]:
    """As of ``tomllib``. int() reads at most 4,300 decimal digits, but others without bound."""
    if _LONG_NUMBER.search(text):
        raise ValueError("a number of too many digits")
    return tomllib.loads(text)


def unknown_name(what: str, name: str, known: Sequence[str]) -> str:
    """``no such field; did you mean `count`?``"""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"no such {what}; did you mean `{close[0]}`?"
    listed = ", ".join(known[:12])
    return f"no such {what}" + (f"; there is {listed}" if listed else "")
