"""``slicc ir``: what the compiler understood of protocols, or whether that is sound."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from slicc import ir as nodes
from slicc.cli.options import IrOptions
from slicc.cli.session import compiling
from slicc.ir.printer import print_protocol
from slicc.ir.verifier import verify
from slicc.text.command.exit_status import OURS, Stop


def ir(options: IrOptions) -> None:
    """Print the IR; with ``--verify``, check its invariants instead."""
    with compiling(options.files, options) as session:
        for compiled in session.protocols:
            if options.verify:
                _verify(compiled.protocol)
            else:
                print(print_protocol(compiled.protocol), end="")


def _verify(protocol: nodes.Protocol) -> None:
    """A broken invariant is a bug of the compiler, for any protocol."""
    problems = verify(protocol)
    if problems:
        listed = "".join(f"\n  {problem}" for problem in problems)
        raise Stop(f"FAULT OF THE COMPILER: the IR of {protocol.name} is unsound:{listed}", OURS)
    print(f"{protocol.name}: verified: {_node_count(protocol):,} nodes of IR")


def _node_count(value: object) -> int:
    if isinstance(value, tuple):
        return sum(map(_node_count, value))
    if not isinstance(value, nodes.Node) or not is_dataclass(value):
        return 0
    return 1 + sum(_node_count(getattr(value, field.name)) for field in fields(value))
