"""``slicc book``: a protocol's machines, messages, sources and findings as pages that link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slicc.cli.options import BookOptions
from slicc.cli.session import compiling, named_file
from slicc.text.command.exit_status import Stop
from slicc.text.files import write_whole

if TYPE_CHECKING:
    from slicc.book.run_pictures import RunPicture
    from slicc.compiled import CompiledProtocol
    from slicc.coverage.results import Results
    from slicc.diagnostics.model import Diagnostic


def book(options: BookOptions) -> None:
    """Write the pages; of a protocol with errors, what is known of it."""
    from slicc.analysis import analyse
    from slicc.compiler import what_is_known

    runs = _runs(options)
    with compiling([options.protocol], options) as session:
        session.require_directory(options.output)
        for compiled in session.protocols:
            findings = (*compiled.diagnostics, *analyse(compiled.protocol))
            _write(options, compiled, findings, runs, session.results(options.results))
        if not session.protocols:
            known = what_is_known(named_file(options.protocol), options.include, options.prelude)
            if known is not None:
                _write(options, known, known.diagnostics, runs)


def _write(
    options: BookOptions,
    compiled: CompiledProtocol,
    findings: tuple[Diagnostic, ...],
    runs: list[RunPicture],
    results: Results | None = None,
) -> None:
    from slicc.book.book import Contents, single_page, site
    from slicc.coverage.results import NOTHING

    contents = Contents(
        protocol=compiled.protocol,
        sources=compiled.sources,
        findings=findings,
        runs=runs,
        results=results or NOTHING,
    )
    if options.single:
        pages = {f"{compiled.protocol.name}.html": single_page(contents)}
    else:
        pages = site(contents)
    for name, content in pages.items():
        write_whole(options.output / name, content, parents=True)
    print(options.output / next(iter(pages)))


def _runs(options: BookOptions) -> list[RunPicture]:
    """The runs that were asked for, behind those that a shipped protocol comes with."""
    from protocols import run_pictures, shipped
    from slicc.book.run_pictures import NoPicture, read_runs

    file = named_file(options.protocol)
    own = run_pictures(file.stem) if file in shipped().values() else []
    try:
        runs = read_runs((*own, *options.runs))
    except NoPicture as error:
        raise Stop(str(error)) from None
    if options.single and any(run.is_page for run in runs):
        raise Stop("a page of a run is no part of one page: leave --single, or save it as SVG")
    return runs
