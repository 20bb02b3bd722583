"""Diagnostics of the compiler: values, their register, and their renderings."""

from slicc.diagnostics.model import Diagnostic, DiagnosticSink, Label, Severity

__all__ = ["Diagnostic", "DiagnosticSink", "Label", "Severity"]
