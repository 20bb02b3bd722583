"""The register of everything the compiler can find: one slug, one page.

Passes report a slug with a headline about the case at hand; the page here explains the kind.
The pages live by area in ``slicc.diagnostics.pages``: to add a code, add it to the tuple of its
area. Invariant: a slug stands in exactly one area.
"""

from __future__ import annotations

from slicc.diagnostics.code import Code
from slicc.diagnostics.pages import analysis, files, machines, names, syntax, types, warnings

AREAS: dict[str, tuple[Code, ...]] = {
    "syntax": syntax.CODES,
    "files": files.CODES,
    "names": names.CODES,
    "types": types.CODES,
    "machines": machines.CODES,
    "warnings": warnings.CODES,
    "analysis": analysis.CODES,
}

CODES: dict[str, Code] = {code.slug: code for codes in AREAS.values() for code in codes}

__all__ = ["AREAS", "CODES", "Code"]
