"""Which buffers keep order, from the configuration script of the checkout that a protocol lies in;
and parameters, where nothing else says what they are.

gem5 states order in Python, as ``controller.buffer = MessageBuffer(ordered=True)``, in
``configs/ruby/NAME.py``, and parameters as ``L1Cache_Controller(parameter=1)``. The script is
parsed and never executed. A network keeps the order of a whole virtual network as soon as one
buffer on it asks for that, as there. Invariant: what cannot be attributed to one machine says
nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from runtime.controller.declarations import BufferParameter, Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description.direct_links import is_link

Orders = dict[str, set[str]]
"""Buffers that keep order, by machine."""

_FOLDER: Final = Path("configs") / "ruby"
_BUFFER: Final = "MessageBuffer"
_CONTROLLER: Final = "_Controller"
_MAX_BYTES: Final = 1 << 20


class _Buffers(NamedTuple):
    """The buffers that one object of the script gets, and its classes, nearest first."""

    classes: list[str]
    ordered: dict[str, bool]


def script_of(driver: Path) -> Path | None:
    """The configuration script of a protocol's driver, in a folder somewhere above it."""
    for above in driver.resolve().parents:
        path = above / _FOLDER / f"{driver.stem}.py"
        if path.is_file():
            return path
    return None


def orders_of(script: Path, protocol: ProtocolInfo) -> Orders:
    """What a script says of a protocol's buffers. Raises ValueError if it cannot be read."""
    declared = {
        machine.MACHINE: {p.name: p for p in machine.PARAMETERS if isinstance(p, BufferParameter)}
        for machine in protocol.machines
    }
    stated: dict[tuple[str, str], set[bool]] = {}
    for each in _parsed(script).buffers():
        machine = _machine_of(each, declared)
        for buffer in each.ordered.keys() & declared.get(machine, {}).keys():
            stated.setdefault((machine, buffer), set()).add(each.ordered[buffer])
    return _on_networks({place for place, said in stated.items() if said == {True}}, declared)


def values_of(script: Path, protocol: ProtocolInfo) -> dict[str, object]:
    """Numbers and truth values that a script writes as parameters of controllers, by path.

    What differs between controllers of one machine is left out. Raises ValueError if it cannot be
    read.
    """
    types = {
        machine.MACHINE: {p.name: p.type for p in machine.PARAMETERS if isinstance(p, Parameter)}
        for machine in protocol.machines
    }
    stated: dict[str, set[bool | int]] = {}
    for classes, given in _parsed(script).arguments():
        machine = _named_machine(classes, types)
        for name in given.keys() & types.get(machine, {}).keys():
            value = bool(given[name]) if types[machine][name] == "bool" else int(given[name])
            stated.setdefault(f"machine.{machine}.parameters.{name}", set()).add(value)
    return {path: said.pop() for path, said in stated.items() if len(said) == 1}


def _parsed(script: Path) -> _Script:
    try:
        if script.stat().st_size > _MAX_BYTES:
            raise ValueError(f"more than {_MAX_BYTES:,} bytes")
        return _Script(ast.parse(script.read_bytes()))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError) as error:
        raise ValueError(f"{script} cannot be read: {error}") from None


def _machine_of(found: _Buffers, declared: Mapping[str, Mapping[str, object]]) -> str:
    """The machine that an object is: by its classes, else the only one with all of its buffers.

    Empty if that is none, or cannot be told.
    """
    named = _named_machine(found.classes, declared)
    machines = [m for m, buffers in declared.items() if found.ordered.keys() <= buffers.keys()]
    return named or (machines[0] if len(machines) == 1 else "")


def _named_machine(classes: Iterable[str], declared: Iterable[str]) -> str:
    """The machine whose controller is one of the classes, nearest first; empty: none."""
    for name in classes:
        stem = name.removesuffix(_CONTROLLER)
        machines = [m for m in declared if stem == m or stem.endswith(f"_{m}")]
        if name.endswith(_CONTROLLER) and machines:
            return max(machines, key=len)
    return ""


def _on_networks(
    ordered: set[tuple[str, str]], declared: Mapping[str, Mapping[str, BufferParameter]]
) -> Orders:
    """The ordered buffers, and all that share a virtual network with one of them, unless the
    protocol itself says otherwise: links between two machines, and buffers declared with their
    order."""
    networks = {declared[machine][buffer].virtual_network for machine, buffer in ordered} - {None}
    return {
        machine: {
            name
            for name, buffer in buffers.items()
            if buffer.ordered_hint is None
            and not is_link(buffer)
            and ((machine, name) in ordered or buffer.virtual_network in networks)
        }
        for machine, buffers in declared.items()
    }


class _Script:
    """A parsed configuration script."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._classes = {
            node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
        }

    def buffers(self) -> Iterator[_Buffers]:
        """One for each object of each function that gets buffers assigned."""
        for function, owner in self._functions():
            classes = {"self": owner}
            found: dict[str, dict[str, bool]] = {}
            for node in _own(function):
                if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                    continue
                made = _last_name(node.value.func)
                ordered = self._ordered(made, node.value)
                for target in node.targets:
                    if ordered is None:
                        classes[ast.unparse(target)] = made
                    elif isinstance(target, ast.Attribute):
                        found.setdefault(ast.unparse(target.value), {})[target.attr] = ordered
            for name, buffers in found.items():
                yield _Buffers(self._ancestry(classes.get(name, "")), buffers)

    def arguments(self) -> Iterator[tuple[list[str], dict[str, bool | int]]]:
        """Of each call that names its arguments: its classes, and the literal ones."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and node.keywords:
                given = {
                    each.arg: each.value.value
                    for each in node.keywords
                    if each.arg is not None
                    and isinstance(each.value, ast.Constant)
                    and isinstance(each.value.value, bool | int)
                }
                yield self._ancestry(_last_name(node.func)), given

    def _functions(self) -> Iterator[tuple[ast.AST, str]]:
        """The script itself and every function, with the class that it is a method of."""
        owners: dict[ast.AST, str] = {
            member: name for name, each in self._classes.items() for member in each.body
        }
        yield self._tree, ""
        for node in ast.walk(self._tree):
            if _is_function(node):
                yield node, owners.get(node, "")

    def _ancestry(self, name: str) -> list[str]:
        """A class and the classes that it extends."""
        names = [name]
        for each in names:
            if each in self._classes:
                bases = map(_last_name, self._classes[each].bases)
                names += [base for base in bases if base not in names]
        return names

    def _ordered(self, made: str, call: ast.Call) -> bool | None:
        """Whether a new buffer keeps order; None: no buffer is made."""
        names = self._ancestry(made)
        if _BUFFER not in names:
            return None
        for keyword in call.keywords:
            if keyword.arg == "ordered":
                return isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        bodies = [self._classes[name].body for name in names if name in self._classes]
        return any(_says_ordered(statement) for body in bodies for statement in body)


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """What stands in a scope itself, in order, without the functions and classes in it."""
    for node in ast.iter_child_nodes(scope):
        if not _is_function(node) and not isinstance(node, ast.ClassDef):
            yield node
            yield from _own(node)


def _last_name(node: ast.expr) -> str:
    """``C`` of ``C`` and ``a.b.C``."""
    return ast.unparse(node).rpartition(".")[2]


def _says_ordered(statement: ast.stmt) -> bool:
    """Whether a statement of a class is ``ordered = True``."""
    return ast.unparse(statement) == "ordered = True"
