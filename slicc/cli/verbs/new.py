"""``slicc new``: a small protocol that works, to start from.

It is the one that ``docs/first-protocol.md`` builds. Invariant: no file that exists is touched;
without room for all files none is left.
"""

from __future__ import annotations

import keyword
import re
import shlex
import sys
from pathlib import Path
from string import Template
from typing import Final

from protocols import shipped
from slicc.cli.options import NewOptions
from slicc.cli.verbs.ci import ci_file
from slicc.text.command.exit_status import Stop
from slicc.text.files import write_whole

_STARTER: Final = Path(__file__).parent / "starter"
_FILES: Final = {
    "driver.slicc": "{}.slicc",
    "messages.sm": "{}-msg.sm",
    "cache.sm": "{}-cache.sm",
    "directory.sm": "{}-dir.sm",
}
"""Templates, and what they become."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_LONGEST: Final = 60


def new(options: NewOptions) -> None:
    """Write the files, print their paths, and say what to do next."""
    name = options.name
    _check(name)
    directory = Path(name) if options.output is None else options.output
    if directory.exists() and not directory.is_dir():
        raise Stop(f"cannot write into {directory}: it is not a directory")
    paths = {template: directory / file.format(name) for template, file in _FILES.items()}
    for path in paths.values():
        if path.exists() or path.is_symlink():
            raise Stop(f"{path} exists already; choose another name, or a directory with --output")
    beside = None if options.ci is None else ci_file(options.ci, str(paths["driver.slicc"]))
    written: list[Path] = []
    try:
        for template, path in paths.items():
            text = Template((_STARTER / template).read_text(encoding="utf-8")).substitute(name=name)
            written.append(write_whole(path, text.encode(), parents=True))
        if beside is not None:
            written.append(beside.write())
    except BaseException:
        for path in written:  # or they would be in the way of another attempt
            path.unlink(missing_ok=True)
        raise
    print(*written, sep="\n")
    if beside is not None:
        print(beside.hint, file=sys.stderr)
    driver = shlex.quote(str(paths["driver.slicc"]))
    print(
        f"\nNext:\n  slicc check {driver}\n  slicc graph {driver}\n"
        f"  gpu-tester --protocol {driver} --episodes 1000 --seed 1",
        file=sys.stderr,
    )


def _check(name: str) -> None:
    """The name becomes a part of file names, types and a Python package. Raises Stop."""
    if _NAME.fullmatch(name) is None:
        raise Stop(
            f"{name!r} cannot name a protocol: letters, digits and _ are possible, and a letter "
            "comes first"
        )
    if len(name) > _LONGEST:
        raise Stop(f"the name has {len(name)} characters; {_LONGEST} are possible")
    if name in shipped():
        raise Stop(f"{name} is a shipped protocol; choose another name")
    if {name, name.lower()} & {*keyword.kwlist} or _is_taken(name):
        raise Stop(f"{name} is a name of the language or its library; choose another one")


def _is_taken(name: str) -> bool:
    """Whether one of the protocol's own types would have the name of a library type."""
    from slicc.prelude import CLASSES, ENUMERATIONS, STRUCTURES

    library = CLASSES.keys() | ENUMERATIONS.keys() | STRUCTURES.keys()
    return not library.isdisjoint({f"{name}Msg", f"{name}Type"})
