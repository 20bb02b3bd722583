"""The kind of a file that is no ELF file, where it is easily recognised. Invariant: only the start
of the file is read, and the text contains none of it.
"""

from __future__ import annotations

import re
from typing import Final

_STARTS: Final = (
    (b"BC\xc0\xde", "LLVM bitcode (compile it to a linked object)"),
    (b"!<arch>\n", "an archive (link the objects in it)"),
    (b"!<thin>\n", "an archive (link the objects that it names)"),
    (b"__CLANG_OFFLOAD_BUNDLE__", "an offload bundle (CodeObject.load reads it)"),
    (b"CCOB", "a compressed offload bundle (CodeObject.load reads it)"),
    (b"\x10\xff\x10\xad", "an offload binary (extract its object for gfx803)"),
    (b"\x03\x02\x23\x07", "SPIR-V (compile it to a linked object)"),
    (b"PK\x03\x04", "a ZIP archive (unpack it)"),
    (b"\x1f\x8b", "a gzip file (unpack it)"),
    (b"\x93NUMPY", "a numpy file"),
    (b"gcn recording ", "a recording (gcn replay reads it)"),
)
_TEXTS: Final = (
    (
        rb"^(; ModuleID|source_filename =|target (datalayout|triple) =)",
        "LLVM IR as text (compile it to a linked object)",
    ),
    (
        rb"^\s*\.(amdgcn_target|hsa_code_object_version|amdhsa_kernel|text\b)",
        "assembly (assemble it to a linked object)",
    ),
    (rb"\b(__kernel|kernel\s+void)\b", "OpenCL C (let its name end in .cl)"),
)
_LOOKED_AT: Final = 4096


def what_it_is(data: bytes) -> str:
    """As text, for bytes that do not start as an ELF file does; empty if unknown."""
    for start, words in _STARTS:
        if data.startswith(start):
            return words
    text = data[:_LOOKED_AT]
    if b"\0" not in text:
        for pattern, words in _TEXTS:
            if re.search(pattern, text, re.MULTILINE):
                return words
    return ""
