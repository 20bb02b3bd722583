"""Compiles a protocol, or reuses what an earlier run compiled from the same texts.

The front end takes most of a second; its result is kept in the user's cache: the identity of
the protocol, the path and byte code of its Python controllers, hashes of its actions, and its
native sources. Invariant: a cached result was made from byte for byte the same files, at the same
paths, by the same compiler; only bytes whose digest was checked are executed.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from protocols.known_defects import Bodies
from runtime.controller.protocol_info import ProtocolInfo
from runtime.native.build import SHAPE, Sources
from runtime.native.toolchain.object_cache import (
    CacheError,
    digest_of_files,
    key_of,
    user_cache,
    write_all,
)
from slicc.codegen.python.source_import import (
    Codes,
    codes_of,
    compile_all,
    import_package,
    module_name,
)
from slicc.loading.checkout import library_files
from slicc.text.data import json_text
from slicc.text.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from slicc import ir
    from slicc.compiled import CompiledProtocol

_KIND: Final = "front"
_ENTRY: Final = "front.json"
_NATIVE: Final = "native.json"
_CODE: Final = "code.bin"
_SHORT: Final = 12
_MOST_FILES: Final = 500
_MOST_BYTES: Final = 16 << 20
_TEXTS: Final = re.compile(r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'")


@dataclass(frozen=True, slots=True)
class Front:
    """A compiled protocol. ``digest``: of its texts; ``path``: its driver; ``sources``: the files.

    ``native`` None: it cannot be written as C++, and ``why_not_native`` says why.
    """

    path: Path
    digest: str
    info: ProtocolInfo
    native: Sources | None = None
    why_not_native: str = ""
    bodies: Bodies = field(default_factory=dict)
    sources: tuple[str, ...] = ()


def remembered(
    path: Path, include: Sequence[Path], preludes: Sequence[Path] = (), native: bool = True
) -> Front | None:
    """The cached result for the driver ``path``, if there is one; without ``native`` it may be one
    without C++."""
    key = _key(path, include, preludes)
    if key is None:
        return None
    found = _entry(key)
    return _entry(_python_only(key)) if found is None and not native else found


def _entry(key: str) -> Front | None:
    try:
        entry = user_cache().find(_KIND, key)
        if entry is None:
            return None
        header: dict[str, Any] = json.loads((entry / _ENTRY).read_text(encoding="utf-8"))
        info = _package(Path(header["package"]), header["files"], _codes(entry, header["code"]))
        if info is None:
            return None
        native, sources = None, header["sources"]
        if header["why_not_native"] is None:
            files = json.loads((entry / _NATIVE).read_text(encoding="utf-8"))
            native = Sources(header["name"], files)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    why = header["why_not_native"] or ""
    return Front(
        Path(header["path"]),
        header["digest"],
        info,
        native,
        why,
        header["bodies"],
        tuple(sources),
    )


def finish(
    compiled: CompiledProtocol,
    path: Path,
    include: Sequence[Path],
    preludes: Sequence[Path] = (),
    native: bool = True,
) -> Front:
    """Generate the controllers and the C++ of a protocol that was just compiled; both are cached.

    ``native`` False: no C++, which takes a third of the time. Raises slicc's GenerationError,
    OSError.
    """
    front, module = _generate(compiled, native)
    key = _key(path, include, preludes)
    if key is not None:
        _remember(key if native else _python_only(key), front, module)
    return front


def generate(compiled: CompiledProtocol, native: bool) -> Front:
    """As `finish`, but nothing is cached: for protocols that are not files as they are.

    Raises slicc's GenerationError, OSError.
    """
    return _generate(compiled, native)[0]


def _generate(compiled: CompiledProtocol, native: bool) -> tuple[Front, ModuleType]:
    from slicc.codegen.python.importer import load_package

    module = load_package(compiled.protocol)
    sources, why = native_sources(compiled.protocol) if native else (None, "")
    digest = digest_of(compiled)
    bodies = bodies_of(compiled.protocol)
    files = tuple(source.name for source in compiled.sources)
    return Front(compiled.path, digest, module.PROTOCOL, sources, why, bodies, files), module


def bodies_of(protocol: ir.Protocol) -> Bodies:
    """Short hashes of the statements of each machine's actions, as ``slicc ir`` prints them."""
    from slicc.ir.expression_printer import statements

    return {
        machine.name: {
            action.ref.name: _digest("\n".join(statements(action.body, "")).encode())[:_SHORT]
            for action in machine.actions
        }
        for machine in protocol.machines
    }


def digest_of(compiled: CompiledProtocol) -> str:
    """A short hash of the texts of all files of a protocol, wherever they are and however the
    command line has written their paths."""
    digest = hashlib.sha256()
    for name, text in sorted((Path(source.name).name, source.text) for source in compiled.sources):
        digest.update(f"{name}\0{len(text)}\0{text}\0".encode())
    return digest.hexdigest()[:16]


def native_sources(protocol: ir.Protocol) -> tuple[Sources | None, str]:
    """The protocol as C++ texts, or None and the reason."""
    from slicc.codegen.cpp import Unsupported, package
    from slicc.codegen.cpp.machine_shape import shape_text

    try:
        made = package(protocol)
    except Unsupported as error:
        return None, str(error)
    return Sources(made.name, {**made.files, SHAPE: shape_text(protocol)}), ""


def _remember(key: str, front: Front, module: ModuleType) -> None:
    package = Path(module.__file__ or "").parent
    files = {path.name: _digest(path.read_bytes()) for path in package.iterdir() if path.is_file()}
    code = marshal.dumps(codes_of(module))
    header = {
        "name": front.native.name if front.native is not None else "",
        "path": str(front.path),
        "digest": front.digest,
        "sources": list(front.sources),
        "package": str(package),
        "files": files,
        "code": _digest(code),
        "bodies": front.bodies,
        "why_not_native": None if front.native is not None else front.why_not_native,
    }
    texts: dict[str, str | bytes] = {_ENTRY: json_text(header), _CODE: code}
    if front.native is not None:
        texts[_NATIVE] = json_text(dict(front.native.files))
    store = user_cache()
    if store.note:
        return  # it would be dropped before another run could find it
    with suppress(CacheError):
        store.make(_KIND, key, lambda directory: write_all(directory, texts))


def _python_only(key: str) -> str:
    """The key of an entry without C++, which is not found by who wants C++."""
    return key_of(key, "no C++")


# ------------------------------------------------------------------ the texts


def _key(path: Path, include: Sequence[Path], preludes: Sequence[Path]) -> str | None:
    """A name for everything that the compiler might read; None if that is not known.

    Every quoted text that names a file in one of the directories searched for includes counts, so
    an included file counts, and so does one that would hide it.
    """
    if path.suffix != ".slicc":
        return None
    found: dict[Path, bytes] = {}
    waiting = [path, *library_files(path)]
    total = 0
    try:
        while waiting:
            one = waiting.pop()
            if one in found:
                continue
            found[one] = content = _read(one)
            total += len(content)
            if len(found) > _MOST_FILES or total > _MOST_BYTES:
                return None
            text = content.decode("utf-8", "replace")
            names = {name for pair in _TEXTS.findall(text) for name in pair if name}
            for base in dict.fromkeys((one.parent, path.parent, path.parent.parent, *include)):
                waiting += [base / name for name in names if _is_file(base, name)]
        parts: list[str | bytes] = [compiler_digest(), _python(), str(path), str(path.resolve())]
        parts += [str(directory.resolve()) for directory in include]
        for one in preludes:
            parts += ["prelude", str(one), _read(one)]
        for one in sorted(found):
            parts += [str(one), str(one.resolve()), found[one]]
        return key_of(*parts)
    except OSError:
        return None


def _python() -> str:
    """What code depends on besides its source."""
    return f"{sys.implementation.cache_tag} {MAGIC_NUMBER.hex()} {sys.flags.optimize}"


def _read(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_MOST_BYTES + 1)


def _is_file(base: Path, name: str) -> bool:
    try:
        return os.path.isfile(f"{base}/{name}")  # noqa: PTH113 - thousands are asked for
    except (OSError, ValueError):
        return False


@cache
def compiler_digest() -> str:
    """A digest of the compiler itself, its grammar and its library."""
    import slicc

    root = Path(slicc.__file__).parent
    files = [
        Path(folder, name)
        for folder, _, names in os.walk(root)  # in a fifth of the time of looking for each kind
        for name in names
        if name.endswith((".py", ".lark", ".jinja", ".sm"))
    ]
    return digest_of_files(files, root)


# ------------------------------------------------------------------ the Python controllers


def _package(directory: Path, files: dict[str, str], codes: Codes | None) -> ProtocolInfo | None:
    """Import a package of controllers if all of its files are unchanged."""
    sources: dict[str, bytes] = {}
    for path in directory.iterdir():
        if path.is_file():
            sources[path.name] = path.read_bytes()
    if {name: _digest(content) for name, content in sources.items()} != files:
        return None
    if codes is None:
        codes = compile_all(directory, sources)
    info: ProtocolInfo = import_package(module_name(directory.name), directory, codes).PROTOCOL
    return info


def _codes(entry: Path, digest: str) -> Codes | None:
    """The byte code of the controllers, which Python itself would keep in ``.pyc`` files.

    Compiling GPU_VIPER's again would cost every start some 90 ms.
    """
    content = (entry / _CODE).read_bytes()
    return marshal.loads(content) if _digest(content) == digest else None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
