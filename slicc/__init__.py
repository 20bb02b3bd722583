"""A compiler for SLICC protocols: ``.sm`` text to typed IR to controllers, graphs and tables.

The names below are the interface for programs; ``docs/python-api.md`` shows them at work.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as type checkers know it; importing typing takes longer than the rest

__all__ = [
    "CannotRead",
    "CompileError",
    "CompiledProtocol",
    "Diagnostic",
    "InvalidEdit",
    "Machine",
    "Severity",
    "check_source",
    "compile",
    "compile_source",
]

if TYPE_CHECKING:
    from slicc.compiled import CompiledProtocol, CompileError, InvalidEdit, Machine
    from slicc.compiler import check_source, compile, compile_source
    from slicc.diagnostics.model import Diagnostic, Severity
    from slicc.loading.reader import CannotRead
else:
    _HOMES = {
        "CannotRead": "slicc.loading.reader",
        "CompileError": "slicc.compiled",
        "CompiledProtocol": "slicc.compiled",
        "Diagnostic": "slicc.diagnostics.model",
        "InvalidEdit": "slicc.compiled",
        "Machine": "slicc.compiled",
        "Severity": "slicc.diagnostics.model",
        "check_source": "slicc.compiler",
        "compile": "slicc.compiler",
        "compile_source": "slicc.compiler",
    }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used: most programs need only a part."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOMES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
