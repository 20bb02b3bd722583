"""A protocol with arbitrary names of files and texts of descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slicc import ir
from slicc.compiler import compile_files
from slicc.diagnostics.model import DiagnosticSink
from slicc.source import SourceFile
from tests.slicc.codegen.cpp.tools import protocol_text

LINE_ENDS = "a\rbad();\x85bad();\u2028bad();\u2029bad();\vbad();\fbad();\x1cbad();\r"
MARKS = "a\x1f1\x1fbad\x1f0"
QUOTES = 'a""" bad() """ \'\'\'bad()\'\'\' */ bad(); /* --> <b onclick="bad"> "];bad[label="'
SCREEN = "\x1b[2J\x1b]0;bad\x07\x9b31m\u202ebad\u2066\u200b\ufeff\x00\x7f"
ENDING = "bad??/ \\"
TEMPLATE = "{{ bad }}{% bad %} %s %n {bad} \\N \\u000abad &lt;"
EVERY = (LINE_ENDS, MARKS, QUOTES, SCREEN, ENDING, TEMPLATE)
HARMLESS = "harmless"


@dataclass(frozen=True)
class Compiled:
    protocol: ir.Protocol
    sources: Sequence[SourceFile]
    machine_file: str
    transition_file: str


def compiled(directory: Path, text: str) -> Compiled:
    """The protocol with ``text`` as names of its files and of a folder, and as descriptions."""
    # A name in a file system holds no "/", no null character, and has no more than 255 bytes.
    name = text.replace("/", "|").replace("\0", "")
    folder = directory / f"{name} folder"
    folder.mkdir()
    desc = "'" + text.replace("'", "`") + "'"
    machine = protocol_text(title="TITLE", desc="DESC")
    for written, quoted in (("TITLE", desc), ("A DESC", desc), ("DESC", desc)):
        machine = machine.replace(f'"{written}"', quoted)
    head, found, rest = machine.partition("  transition(")
    transitions, _, _ = (found + rest).rpartition("}")
    quote = "'" if '"' in name else '"'
    if "'" in name:
        name = name.replace("'", "`")
    inner, outer = f"{name} inner", f"{name}"
    files = {
        "driver.slicc": f'protocol "Frame";\ninclude {quote}{outer}{quote};\n',
        outer: f"{head}  include {quote}{inner}{quote};\n}}\n",
        inner: transitions,
    }
    for each, content in files.items():
        (folder / each).write_text(content, encoding="utf-8", newline="")
    sink = DiagnosticSink()
    found_protocols = compile_files([folder / "driver.slicc"], [folder], sink)
    assert not sink.error_count, sink.diagnostics
    one = found_protocols[0]
    return Compiled(one.protocol, one.sources, outer, inner)
