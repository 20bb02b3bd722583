"""The imports of one generated module: exactly what its text uses, in the usual order."""

from __future__ import annotations

from slicc.codegen.python.errors import NotInRuntime
from slicc.codegen.python.runtime_names import RUNTIME_MODULES
from slicc.text.python_source import WIDTH


class Imports:
    """Invariant: a name that was asked for is imported, no other is."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def runtime(self, name: str) -> str:
        """A name of the runtime. Raises ``NotInRuntime`` when it offers no such thing."""
        module = RUNTIME_MODULES.get(name)
        if module is None:
            raise NotInRuntime(name)
        self._names.setdefault(module, set()).add(name)
        return name

    def add(self, module: str, name: str) -> str:
        """A name of any module: the standard library's, or of our own package (``.types``)."""
        self._names.setdefault(module, set()).add(name)
        return name

    def text(self) -> str:
        """Blocks separated by an empty line: standard library, runtime, own package."""
        blocks: list[list[str]] = [[], [], []]
        for module in sorted(self._names, key=str.lower):
            names = sorted(self._names[module], key=_rank)
            block = 2 if module.startswith(".") else 1 if module.startswith("runtime") else 0
            line = f"from {module} import {', '.join(names)}"
            if len(line) > WIDTH:
                listed = "".join([f"    {name},\n" for name in names])
                line = f"from {module} import (\n{listed})"
            blocks[block].append(line)
        return "\n\n".join(["\n".join(block) for block in blocks if block])


def _rank(name: str) -> tuple[int, str, str]:
    """Constants, then classes, then functions; each group without regard to case."""
    if name.isupper() and len(name) > 1:
        return 0, name.lower(), name
    return 1 if name[0].isupper() else 2, name.lower(), name
