"""``slicc diff``: what differs between two versions of a protocol."""

from __future__ import annotations

from slicc.cli.options import DiffFormat, DiffOptions
from slicc.cli.session import compiling
from slicc.compiled import CompiledProtocol
from slicc.text.command.exit_status import FINE, FOUND, Stop


def diff(options: DiffOptions) -> int:
    """Print the difference; 1 if there is one."""
    from slicc.diff import renderings
    from slicc.diff.comparison import compare

    with compiling([options.before], options) as old, compiling([options.after], options) as new:
        before = _only(old.protocols, str(options.before))
        after = _only(new.protocols, str(options.after))
        names = (str(options.before), str(options.after))
        difference = compare(before.protocol, after.protocol, names)
        rendered = {
            DiffFormat.TEXT: renderings.text,
            DiffFormat.MARKDOWN: renderings.markdown,
            DiffFormat.HTML: renderings.html,
            DiffFormat.JSON: renderings.json,
        }[options.format](difference)
        print(rendered, end="")
    return FOUND if difference.parts else FINE


def _only(protocols: list[CompiledProtocol], name: str) -> CompiledProtocol:
    """The only protocol of a file. Raises Stop for one with errors, and for several."""
    if len(protocols) == 1:
        return protocols[0]
    if not protocols:
        raise Stop(f"{name} has errors, so there is nothing to compare")
    drivers = ", ".join(str(each.path) for each in protocols)
    raise Stop(f"{name} belongs to several protocols ({drivers}): name one of them")
