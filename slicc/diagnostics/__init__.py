"""What the compiler has to say: values, their register, and their renderings."""

from slicc.diagnostics.model import CompileError, Diagnostic, DiagnosticSink, Label, Severity

__all__ = ["CompileError", "Diagnostic", "DiagnosticSink", "Label", "Severity"]
