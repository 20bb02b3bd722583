"""Importing a generated package from texts in memory.

Python's own loader would run a cached ``.pyc`` beside the sources after checking a time stamp at
most. Invariant: the code that runs was compiled from the bytes that the caller passes, or is code
that the caller passes; no ``.pyc`` is read or written, and no other file of the directory is
imported. No thread gets a package that another one is still executing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType

_INIT = "__init__"
_importing = RLock()

Codes = dict[str, CodeType]
"""Code of modules, by file name."""


def module_name(stored: str) -> str:
    """The module that a stored package of that name becomes."""
    return f"slicc_compiled_{stored}"


def compile_all(directory: Path, sources: Mapping[str, str | bytes]) -> Codes:
    """The code of every module of a package. ``directory``: what tracebacks name."""
    return {
        name: compile(text, str(directory / name), "exec", dont_inherit=True)
        for name, text in sources.items()
        if name.endswith(".py")
    }


def import_package(name: str, directory: Path, codes: Codes) -> ModuleType:
    """The package as module ``name``; one of that name that is already imported is returned.

    After an exception of a module, which is passed on, nothing of the package stays imported.
    """
    with _importing:
        return sys.modules.get(name) or _imported(name, directory, codes)


def _imported(name: str, directory: Path, codes: Codes) -> ModuleType:
    finder = _Finder(name, directory, codes)
    sys.meta_path.insert(0, finder)
    spec = finder.find_spec(name)
    assert spec is not None, "a package has an __init__.py"
    module = sys.modules[name] = module_from_spec(spec)
    try:
        finder.exec_module(module)
    except BaseException:
        sys.meta_path.remove(finder)
        for each in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[each]
        raise
    return module


def codes_of(package: ModuleType) -> Codes:
    """The code that an imported package ran."""
    loader = package.__loader__
    assert isinstance(loader, _Finder), "imported by import_package"
    return loader.codes


class _Finder(MetaPathFinder, InspectLoader):
    """Finds and loads the modules of one package."""

    def __init__(self, package: str, directory: Path, codes: Codes) -> None:
        self._package = package
        self._directory = directory
        self.codes = codes

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        package, _, module = fullname.partition(".")
        file = f"{module or _INIT}.py"
        if package != self._package or file not in self.codes:
            return None
        origin = str(self._directory / file)
        spec = ModuleSpec(fullname, self, origin=origin, is_package=not module)
        spec.has_location = True
        return spec

    def get_code(self, fullname: str) -> CodeType:
        return self.codes[f"{fullname.partition('.')[2] or _INIT}.py"]

    def get_source(self, fullname: str) -> str | None:
        """Debuggers read the stored file."""
        return None
