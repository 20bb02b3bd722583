"""Reads a command line without mistakes, as most are, without the library that reads all.

Importing typer and building a command takes as long as parsing a protocol. Invariant: what is read
here is what typer reads; a line with a mistake, a question for help, or a rare way of writing is
left to typer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Any, Final, get_args, get_type_hints

from slicc.text.command.options import Spec, is_several, members_of, names_of, one_of, specs

_READ: Final[dict[object, Callable[[str], Any]]] = {str: str, Path: Path}


def plain_options(options: type[Any], words: Sequence[str]) -> Any | None:
    """An object of the class ``options`` with the values of the words; None: ask typer."""
    hints = get_type_hints(options)
    free, texts = _sorted_out(options, words, hints)
    if texts is None:
        return None
    values: dict[str, Any] = {}
    for field, spec in specs(options):
        if spec.is_argument and free:
            several = is_several(hints[field.name])
            texts[field.name], free = (free, []) if several else (free[:1], free[1:])
        if field.name in texts:
            value = _value(spec, hints[field.name], texts[field.name])
            if value is None:
                return None
            values[field.name] = value
        elif field.default is MISSING:
            return None
    return None if free else options(**values)


def _sorted_out(
    options: type[Any], words: Sequence[str], hints: Mapping[str, Any]
) -> tuple[list[str], dict[str, Any] | None]:
    """The words that are no options, and the texts of each field; None if a word is not plain."""
    named = _named(options)
    free: list[str] = []
    texts: dict[str, Any] = {}
    waiting = iter(words)
    for word in waiting:
        if not word.startswith("-"):
            free.append(word)
            continue
        name, equals, text = word.partition("=")
        if name not in named:
            return free, None
        field, is_on = named[name]
        if hints[field] is bool:
            if equals:
                return free, None
            texts[field] = is_on
            continue
        text = text if equals else next(waiting, "-")
        if text.startswith("-") or (field in texts and not is_several(hints[field])):
            return free, None
        texts.setdefault(field, []).append(text)
    return free, texts


def _named(options: type[Any]) -> dict[str, tuple[str, bool]]:
    """By every spelling of an option its field, and the value if that is a flag."""
    found = {}
    for field, spec in specs(options):
        for names in () if spec.is_argument else names_of(field, spec):
            on, _, off = names.partition("/")
            found[on] = field.name, True
            if off:
                found[off] = field.name, False
    return found


def _value(spec: Spec, hint: Any, texts: Any) -> Any | None:
    """What the texts of a field say; None if that cannot be told here."""
    if type(texts) is bool:
        return texts
    kind = next(each for each in (*get_args(hint), hint) if each is not type(None))
    members = members_of(kind)
    read = spec.read or (one_of(members) if members else _READ.get(kind))
    if read is None:
        return None
    try:
        read_texts = [read(text) for text in texts]
    except ValueError:
        return None
    return tuple(read_texts) if is_several(hint) else read_texts[0]
