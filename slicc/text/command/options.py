"""The options of a command as a dataclass: each is written once, with its help and its reader.

The command line (`slicc.text.command.command_line`), the checks and the test of a documentation
page all read the fields. Invariant: nothing here needs the library that parses command lines, so
what runs a command may import its options.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING as MISSING
from dataclasses import field
from enum import Enum
from typing import Any, Final, get_args, get_origin

from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest

_KEY: Final = "option"


@dataclass(frozen=True, slots=True)
class Spec:
    """How the command line shows and reads a field.

    ``read`` turns the text into a value; the message of its ValueError is shown to the user.
    ``complete`` returns values that a shell may offer.
    """

    help: str
    section: str = ""
    names: tuple[str, ...] = ()
    metavar: str | None = None
    read: Callable[[str], Any] | None = None
    is_argument: bool = False
    shows_default: bool = False
    complete: Callable[[], Iterable[str]] | None = None


def option(
    default: Any,
    help: str,
    *names: str,
    section: str = "",
    metavar: str | None = None,
    read: Callable[[str], Any] | None = None,
    shows_default: bool = False,
    complete: Callable[[], Iterable[str]] | None = None,
) -> Any:
    """A field that is an option, required if its default is MISSING.

    Without ``names`` it is called as the field is.
    """
    spec = Spec(help, section, names, metavar, read, shows_default=shows_default, complete=complete)
    return field(default=default, metadata={_KEY: spec})


def argument(
    help: str,
    metavar: str,
    default: Any = MISSING,
    *,
    complete: Callable[[], Iterable[str]] | None = None,
) -> Any:
    """A field that is an argument of its own, without a name before it."""
    spec = Spec(help, metavar=metavar, is_argument=True, complete=complete)
    return field(default=default, metadata={_KEY: spec})


def specs(options: type[Any]) -> Iterator[tuple[dataclasses.Field[Any], Spec]]:
    """The fields of a dataclass that a command line sets, with their specifications."""
    for each in dataclasses.fields(options):
        if _KEY in each.metadata:
            yield each, each.metadata[_KEY]


def names_of(field: dataclasses.Field[Any], spec: Spec) -> tuple[str, ...]:
    """How an option is written, as the parser takes it: ``--a/--b`` is a pair of opposites."""
    return spec.names or (f"--{field.name.rstrip('_').replace('_', '-')}",)


def written(options: type[Any]) -> set[str]:
    """Every spelling of every option: ``--quiet``, ``-q``."""
    return {
        name
        for each, spec in specs(options)
        if not spec.is_argument
        for names in names_of(each, spec)
        for name in names.split("/")
    }


def given(values: object, options: type[Any]) -> Iterator[str]:
    """The options of the class ``options`` that ``values`` has no default value for."""
    for each, spec in specs(options):
        if getattr(values, each.name) != each.default:
            yield names_of(each, spec)[0].partition("/")[0]


def is_several(hint: Any) -> bool:
    """Whether an option of this type may be repeated."""
    return get_origin(hint) is tuple


def members_of(hint: Any) -> dict[str, Any]:
    """The members of an enumeration, by value; empty for other types. ``hint`` may have None."""
    kinds = [kind for kind in (get_args(hint) or (hint,)) if isinstance(kind, type)]
    return {str(m.value): m for kind in kinds if issubclass(kind, Enum) for m in kind}


# ------------------------------------------------------------------ readers


def byte_count(text: str) -> int:
    """``16384``, ``16k``, ``1M``: a size in bytes. Raises ValueError."""
    units = {"k": 1 << 10, "m": 1 << 20}
    digits, unit = (text[:-1], text[-1].lower()) if text[-1:].lower() in units else (text, "")
    try:
        size = int(digits, 0) * units.get(unit, 1)
    except ValueError:
        size = 0
    if size <= 0:
        raise ValueError(f"{text!r} is not a size in bytes (4096, 16k, 1M)")
    return size


def not_negative(what: str) -> Callable[[str], float]:
    """A reader of finite numbers that are 0 or more. ``what`` one is, for the message."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1
        if not 0 <= value < math.inf:
            raise ValueError(f"{text!r} is not {what}, 0 or more")
        return value

    return read


seconds: Final = not_negative("a number of seconds")


def hours(text: str) -> float:
    """A length of time that is more than none. Raises ValueError."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise ValueError(f"{text!r} is not a number of hours, more than 0")
    return value


def integer(refusal: Callable[[int], str | None]) -> Callable[[str], int]:
    """A reader of integers; ``refusal`` returns what is wrong with one, or None."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"{text!r} is not an integer") from None
        wrong = refusal(value)
        if wrong is not None:
            raise ValueError(f"{value}: {wrong}")
        return value

    return read


def one_of(members: Mapping[str, Any]) -> Callable[[str], Any]:
    """A reader of members of an enumeration, by their values."""

    def read(text: str) -> Any:
        if text in members:
            return members[text]
        for member in members.values():
            if text is member or str(text) == str(member):  # a default is one already
                return member
        near = suggest(str(text), members)
        help_ = f"; did you mean {near}?" if near else ""
        raise ValueError(f"{text}: {', '.join(members)} are possible{help_}")

    return read


def between(low: int, high: int | None = None) -> Callable[[str], int]:
    """A reader of integers that are at least ``low``, and at most ``high`` if there is one."""
    range_ = f"{low} to {high} are possible" if high is not None else f"at least {low} is needed"
    return integer(lambda n: None if low <= n and (high is None or n <= high) else range_)
