"""What the compiler has to say: values, their register, and their renderings."""

from slicc.diagnostics.model import Diagnostic, DiagnosticSink, Label, Severity

__all__ = ["Diagnostic", "DiagnosticSink", "Label", "Severity"]
