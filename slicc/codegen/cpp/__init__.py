"""Protocols as C++ for the native engine."""

from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.package import Package, generate, package

__all__ = ["Package", "Unsupported", "generate", "package"]
