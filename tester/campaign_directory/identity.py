"""What a campaign is of: the facts that have to stay the same from session to session.

The options that legs are drawn from are kept, so that a campaign resumes without them. Invariant: a
session runs with the facts of the directory or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final, TypeVar, get_type_hints

import msgspec

from protocols import shipped
from tester.errors import ConfigError

T = TypeVar("T")

_PARTS: Final = {
    "version": "by version {} of this package, and this is {}",
    "protocol": "for protocol {}, not {}",
    "digest": "for another text of the protocol (digest {}, now {})",
    "seed": "with seed {}, not {}",
}


def check_facts(there: Mapping[str, Any], here: Mapping[str, Any], where: Path) -> None:
    """Raises ConfigError if a directory holds another campaign."""
    for name, what in _PARTS.items():
        if name in here and there.get(name) != here[name]:
            begun = what.format(there.get(name), here[name])
            raise ConfigError(f"{where}: this campaign was begun {begun}; name another directory")


def kept(options: object, names: Mapping[str, str]) -> dict[str, Any]:
    """The fields of ``names``, as JSON has them; paths do not depend on the working directory."""
    return {name: _kept(name, getattr(options, name)) for name in names}


def _kept(name: str, value: Any) -> Any:
    """An option as it comes back from JSON, to be compared with that: a tuple is a list there."""
    if name == "protocol" and value is not None and value not in shipped():
        value = Path(value)
    return msgspec.json.decode(
        msgspec.json.encode(value, enc_hook=lambda path: str(path.resolve()))
    )


def resumed(options: T, there: Mapping[str, Any], names: Mapping[str, str], where: Path) -> T:
    """The options with those that a directory keeps. ``names``: of the fields, and how the command
    line writes them. Raises ConfigError if one is given that is another one there."""
    defaults = {field.name: field.default for field in fields(options)}  # type: ignore[arg-type]
    hints = get_type_hints(type(options))
    changed: dict[str, Any] = {}
    for name, written in names.items():
        given, value = getattr(options, name), there.get(name)
        if given == defaults[name]:
            changed[name] = _read(value, hints[name], name, where)
        elif _kept(name, given) != value:
            was = "without it" if value in (None, [], False) else f"with {value}"
            raise ConfigError(
                f"{where}: {written} cannot change: this campaign was begun {was}; "
                "name another directory"
            )
    return replace(options, **changed)  # type: ignore[type-var]


def _read(value: Any, hint: Any, name: str, where: Path) -> Any:
    try:
        return msgspec.convert(value, hint, dec_hook=lambda kind, text: kind(text))
    except (msgspec.ValidationError, TypeError) as error:
        raise ConfigError(f"{where}: its facts are damaged: {name}: {error}") from None
