"""``slicc check``: what is wrong with protocols, and how large they are."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from slicc.cli.options import TO_STDERR, CheckOptions, DiagnosticFormat
from slicc.cli.session import Session, compiling
from slicc.text.command.exit_status import Stop
from slicc.text.files import write_whole
from slicc.text.wording import counted

if TYPE_CHECKING:
    from slicc.compiled import CompiledProtocol
    from slicc.diagnostics.model import Diagnostic, DiagnosticSink

_SUITE: Final = "slicc check"


def check(options: CheckOptions) -> None:
    """Report everything that is wrong."""
    if options.yes and not options.fix:
        raise Stop("--yes is for --fix")
    if options.fix and options.diagnostics is not DiagnosticFormat.TEXT:
        raise Stop(f"--fix shows a diff; it cannot be used with --format {options.diagnostics}")
    try:
        _check(options)
    except Stop as stop:
        print(_unfinished(options, str(stop)), end="")
        raise


def _check(options: CheckOptions) -> None:
    def examine(protocols: Sequence[CompiledProtocol], sink: DiagnosticSink) -> None:
        _examine(options, protocols, sink)

    with compiling(options.files, options, examine, options.warnings_are_errors) as session:
        print(_document(session, options), end="")
        for compiled in session.protocols:
            machines = compiled.protocol.machines
            cells = sum(len(machine.cells) for machine in machines)
            print(
                f"{compiled.protocol.name}: {counted(len(machines), 'machine')}, "
                f"{counted(cells, 'transition')}",
                file=sys.stdout if options.diagnostics in TO_STDERR else sys.stderr,
            )
        if options.fix:
            _fix(session.sink.diagnostics, options.yes)


def _unfinished(options: CheckOptions, reason: str) -> str:
    """As `_document`, where the files could not be looked at."""
    if options.diagnostics in TO_STDERR:
        return ""
    from slicc.text.command.version import installed_version
    from slicc.text.results.model import Tool
    from slicc.text.results.unfinished import unfinished

    tool = Tool("slicc", installed_version())
    return unfinished(options.diagnostics.value, tool, _SUITE, reason)


def _document(session: Session, options: CheckOptions) -> str:
    """The findings as stdout has them; empty: they are on stderr."""
    if options.diagnostics in TO_STDERR:
        return ""
    from slicc.diagnostics import results
    from slicc.text.command.version import installed_version
    from slicc.text.results.github import github_text
    from slicc.text.results.junit import junit_text
    from slicc.text.results.model import Suite, Tool
    from slicc.text.results.sarif import sarif_text

    found = session.sink.in_source_order()
    match options.diagnostics:
        case DiagnosticFormat.GITHUB:
            return github_text(results.as_found(found))
        case DiagnosticFormat.SARIF:
            tool = Tool("slicc", installed_version())
            return sarif_text(tool, results.rules(), results.as_found(found))
        case DiagnosticFormat.JUNIT:
            passed = [str(each.path) for each in session.protocols]
            cases = results.as_cases(found, passed, options.warnings_are_errors)
            return junit_text(Suite(_SUITE, cases))
        case _:
            raise AssertionError(options.diagnostics)


def _examine(
    options: CheckOptions, protocols: Sequence[CompiledProtocol], sink: DiagnosticSink
) -> None:
    """Add what the analysis finds; leave out what is allowed, ignored or not selected."""
    from slicc.analysis import analyse
    from slicc.analysis.allowances import without_allowed
    from slicc.analysis.product.kept_attempts import KeptAttempts
    from slicc.cli.capacities import capacities_beside, capacities_of

    stated = None if options.system is None else capacities_of(options.system)
    if options.analysis:
        for compiled in protocols:
            beside = partial(capacities_beside, compiled.path)
            capacities = beside if stated is None else partial(dict, stated)
            slugs = options.select or None
            kept = KeptAttempts(compiled.path, compiled.sources)
            for found in analyse(compiled.protocol, slugs, capacities=capacities, kept=kept):
                sink.add(found)
    sources = [source for compiled in protocols for source in compiled.sources]
    left, invalid = without_allowed(sink.diagnostics, sources)
    sink.take_back(0)
    for found in (*left, *invalid):
        if _is_wanted(found, options):
            sink.add(found)


def _fix(found: Sequence[Diagnostic], unasked: bool) -> None:
    """Show the corrections as a diff; write them if the user wants."""
    from slicc.diagnostics.fixes import certain_fixes, fixed_text

    chosen = certain_fixes(found)
    sources = {span.file.name: span.file for fix in chosen for span in fix.spans}
    if not sources:
        print("slicc: nothing has a certain correction", file=sys.stderr)
        return
    texts = {name: fixed_text(file.text, name, chosen) for name, file in sources.items()}
    for name, text in texts.items():
        print(_diff(name, sources[name].text, text), end="")
    sys.stdout.flush()
    if not unasked and not _asked(f"write {counted(len(texts), 'file')}?"):
        print("slicc: nothing was written", file=sys.stderr)
        return
    for name, text in texts.items():
        path = Path(name)
        if path.read_bytes() != sources[name].text.encode():
            raise Stop(f"{name} has changed meanwhile; nothing was written into it")
        write_whole(path, text.encode())
    print(f"slicc: {counted(len(texts), 'file')} written", file=sys.stderr)


def _diff(name: str, before: str, after: str) -> str:
    from difflib import unified_diff

    lines = unified_diff(before.splitlines(True), after.splitlines(True), name, name, n=1)
    ended = (each if each.endswith("\n") else f"{each}\n\\ no line end\n" for each in lines)
    return "".join(ended)


def _asked(question: str) -> bool:
    """Whether the user agrees; one that cannot be asked does not."""
    if not sys.stdin.isatty():
        print("slicc: add --yes to write these corrections", file=sys.stderr)
        return False
    print(f"slicc: {question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _is_wanted(found: Diagnostic, options: CheckOptions) -> bool:
    from slicc.diagnostics.model import Severity

    if found.severity is Severity.ERROR:
        return True
    return found.slug not in options.ignore and (not options.select or found.slug in options.select)
