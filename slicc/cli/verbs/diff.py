"""``slicc diff``: what differs between two versions of a protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from slicc.cli.options import DiffFormat, DiffOptions
from slicc.cli.session import compiling
from slicc.compiled import CompiledProtocol
from slicc.text.command.exit_status import FINE, FOUND, Stop

if TYPE_CHECKING:
    from slicc.diagnostics.model import Diagnostic, DiagnosticSink


def diff(options: DiffOptions) -> int:
    """Print the difference; 1 if there is one. Of warnings, those that only the second version has:
    what both have is no difference."""
    from slicc.diff import renderings
    from slicc.diff.comparison import compare

    warned: set[tuple[str, str]] = set()

    def take_warnings(_: object, sink: DiagnosticSink) -> None:
        warned.update(_said(each) for each in sink.diagnostics)
        _keep(sink, lambda _: False)

    def leave_known_out(_: object, sink: DiagnosticSink) -> None:
        _keep(sink, lambda each: _said(each) not in warned)

    with (
        compiling([options.before], options, take_warnings) as old,
        compiling([options.after], options, leave_known_out) as new,
    ):
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


def _said(found: Diagnostic) -> tuple[str, str]:
    """A finding but for its place."""
    return found.slug, found.headline


def _keep(sink: DiagnosticSink, wanted: Callable[[Diagnostic], bool]) -> None:
    """Drop the warnings that are not wanted."""
    from slicc.diagnostics.model import Severity

    found = list(sink.diagnostics)
    sink.take_back(0)
    for each in found:
        if each.severity is Severity.ERROR or wanted(each):
            sink.add(each)


def _only(protocols: list[CompiledProtocol], name: str) -> CompiledProtocol:
    """The only protocol of a file. Raises Stop for one with errors, and for several."""
    if len(protocols) == 1:
        return protocols[0]
    if not protocols:
        raise Stop(f"{name} has errors, so there is nothing to compare")
    drivers = ", ".join(str(each.path) for each in protocols)
    raise Stop(f"{name} belongs to several protocols ({drivers}): name one of them")
