"""Protocols as C++ for the native engine."""

from slicc.codegen.native.errors import Unsupported
from slicc.codegen.native.package import Package, generate, package

__all__ = ["Package", "Unsupported", "generate", "package"]
