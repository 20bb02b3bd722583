"""Completion of a command line in a shell: the shell asks the command itself, word by word.

Invariant: nothing is imported or built that the words before the cursor do not need, and no file
of the user's is written; ``--show-completion`` prints what a shell reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final, Protocol, get_args, get_type_hints

from slicc.text.command.exit_status import Stop
from slicc.text.command.options import Spec, names_of, specs, written

_BASH: Final = """\
_{function}() {{
    local IFS=$'\\n'
    COMPREPLY=($("$1" --complete "${{COMP_WORDS[@]:1:COMP_CWORD}}" 2>/dev/null))
}}
complete -o bashdefault -o default -F _{function} {command}
"""
_ZSH: Final = """\
#compdef {command}
_{function}() {{
    local -a found
    found=("${{(@f)$("${{words[1]}}" --complete "${{(@)words[2,CURRENT]}}" 2>/dev/null)}}")
    if [[ -n "$found[1]" ]]; then compadd -- $found; else _files; fi
}}
if [[ "$funcstack[1]" = "_{command}" ]]; then _{function}; else compdef _{function} {command}; fi
"""
_FISH: Final = """\
complete -c {command} -a '({command} --complete (commandline -opc)[2..] (commandline -ct))'
"""
_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class Completed(Protocol):
    """What completion reads of a verb."""

    @property
    def options(self) -> type[Any]: ...


def script(command: str, arguments: Sequence[str]) -> str:
    """What a shell reads to complete ``command``; the shell is named, else it is the user's own.

    Raises Stop.
    """
    if len(arguments) > 1:
        raise Stop(f"--show-completion takes one shell, and not also {arguments[1]!r}")
    shell = arguments[0] if arguments else Path(os.environ.get("SHELL", "")).name
    if shell not in _SCRIPTS:
        raise Stop(
            "--show-completion takes bash, zsh or fish" + (f", and not {shell!r}" if shell else "")
        )
    return _SCRIPTS[shell].format(command=command, function=command.replace("-", "_"))


def candidates(
    verbs: Mapping[str, Completed],
    rewrite: Callable[[Sequence[str]], list[str]],
    arguments: Sequence[str],
    first: Callable[[], Iterable[str]] = tuple,
) -> list[str]:
    """What the last argument may become; empty if a file may stand there, or nothing is known.

    ``first``: what else may stand in the place of a verb.
    """
    *before, current = arguments or [""]
    meant = rewrite(before)
    found: Iterable[str] = ()
    if not before:
        found = [*verbs, *first(), "--help", "--version"]
        if current.startswith("-") and meant:
            found = [*found, *written(verbs[meant[0]].options)]
    elif meant and meant[0] in verbs:
        found = _in_verb(verbs[meant[0]].options, meant[-1], current)
    return sorted({word for word in found if word.startswith(current)})


def _in_verb(options: type[Any], previous: str, current: str) -> Iterable[str]:
    hints = get_type_hints(options)
    for each, spec in specs(options):
        if (
            not spec.is_argument
            and previous in names_of(each, spec)
            and hints[each.name] is not bool
        ):
            return _values(spec, hints[each.name])
    if current.startswith("-"):
        return [*written(options), "--help"]
    return [
        value
        for each, spec in specs(options)
        if spec.is_argument
        for value in _values(spec, hints[each.name])
    ]


def _values(spec: Spec, hint: Any) -> Iterable[str]:
    if spec.complete is not None:
        return spec.complete()
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return [member.value for member in kind]
    return ()
