"""Protocols that are expensive for a careless compiler: many mistakes of one kind.

Invariant: the text of a shape grows in proportion to its number.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

_PARTS = Path(__file__).parent / "cases" / "parts"
_HEAD = """\
machine(MachineType:L1Cache, "small")
  : MessageBuffer * rx, network="From", virtual_network="0", vnet_type="request";
    MessageBuffer * tx, network="To", virtual_network="0", vnet_type="request";
    Cycles latency := 3;
{
"""


def machine(inside: str) -> str:
    """A machine that compiles, with more declarations in it."""
    messages = (_PARTS / "messages.sm").read_text(encoding="utf-8")
    body = (_PARTS / "body.sm").read_text(encoding="utf-8")
    return f"{messages}{_HEAD}{body}  transition(I, Extra) {{ p_pop; }}\n{inside}\n}}\n"


def _repeated(piece: str, count: int, between: str = "\n") -> str:
    """``@`` in a piece becomes its number."""
    return between.join(piece.replace("@", str(number)) for number in range(count))


def _in_action(piece: str, between: str) -> Callable[[int], str]:
    return lambda count: machine(f'action(x_x, desc="x") {{ {_repeated(piece, count, between)} }}')


def _in_machine(piece: str, between: str = "\n") -> Callable[[int], str]:
    return lambda count: machine(_repeated(piece, count, between))


def _alone(piece: str, between: str = "\n") -> Callable[[int], str]:
    return lambda count: _repeated(piece, count, between)


SHAPES: dict[str, Callable[[int], str]] = {
    "unknown names": _in_action("no_such_name_@ := 1;", "\n"),
    "unknown names in one line": _in_action("no_such_name_@ := 1;", " "),
    "one unknown name": _in_action("no_such_name := 1;", "\n"),
    "unknown functions": _in_action("no_such_name_@(1);", " "),
    "unknown types": _in_machine("Nope@ name@;"),
    "unknown actions": _in_machine("transition(B, Fin) { a_@; }"),
    "unknown states in one line": _in_machine("transition(S@, E@) { p_pop; }", " "),
    "many names, many of them misspelt": lambda count: machine(
        f"{_repeated('int name_@() { return 1; }', count)}\n"
        f'action(x_x, "x") {{ {_repeated("eman_@();", count)} }}'
    ),
    "variables never used": _in_action("int name_@ := 1;", "\n"),
    "functions never used": _in_machine("int name_@() { return 1; }", " "),
    "one name declared often": _in_machine("int name() { return 1; }", " "),
    "statements without effect": _in_action("1 + 1;", " "),
    "transitions for one cell": _in_machine("transition(B, Fin) { p_pop; }", " "),
    "a chain of calls": lambda count: machine(
        "\n".join(f"int f{i}() {{ return f{max(i - 1, 0)}(); }}" for i in range(1, count))
        + "int f0() { return 1; }"
    ),
    "a circle of calls": lambda count: machine(
        "\n".join(f"int f{i}() {{ return f{(i + 1) % count}(); }}" for i in range(count))
    ),
    "many circles of calls": lambda count: machine(
        "\n".join(f"int f{i}() {{ return f{(i + 1) % count}() + f0(); }}" for i in range(count))
    ),
    "overloads of one name": lambda count: machine(
        f"{_repeated('structure(S@) { int n; }', count)}\n"
        f"{_repeated('int f(S@ s) { return 1; }', count)}"
    ),
    "calls of one of many overloads": lambda count: machine(
        f"{_repeated('structure(S@) { int n; }', count)}\n"
        f"{_repeated('int f(S@ s) { return 1; }', count)}\n"
        f"int g(bool b) {{ int n := 0; {_repeated('f(b);', count)} return n; }}"
    ),
    "structures in a circle": lambda count: machine(
        "\n".join(f"structure(S{i}) {{ S{(i + 1) % count} s; }}" for i in range(count))
    ),
    "events never handled": lambda count: machine("").replace(
        "Extra; }\n\nstructure(TBE)", f"Extra; {_repeated('E@;', count)} }}\n\nstructure(TBE)"
    ),
    "states never used": lambda count: machine("").replace(
        "B, AccessPermission:Busy,",
        f"{_repeated('S@, AccessPermission:Invalid;', count)} B, AccessPermission:Busy,",
    ),
    "ports of unknown messages": _in_machine("out_port(p@, Nope@, tx);"),
    "ports of misspelt messages": lambda count: machine(
        f"{_repeated('structure(Mess@) { int n; }', count)}\n"
        f"{_repeated('out_port(p@, Mses@, tx);', count)}"
    ),
    "blocks one too far in": _alone('action(a, "a") {\n  }\n}', "\n"),
    "blocks in one line": _alone('action(a, "a") { } }', " "),
    "includes that are not there": _alone('include "nope@.sm";'),
    "unknown pair keys": _in_machine('int n@, descx@="d", des="e";', " "),
    "closing brackets": _alone(")", ""),
    "closing braces": _alone("}", ""),
    "closing braces, one a line": _alone("}", "\n"),
    "opening brackets": _alone("(", ""),
    "pairs of brackets": _alone("()", ""),
    "wrong pairs": _alone("(]", ""),
    "wrong pairs in braces": _in_action("f(1];", " "),
    "deep nesting": lambda count: machine(
        f'action(x_x, "x") {{ {"if (true) { " * count}{"}" * count} }}'
    ),
    "no semicolons, one a line": _in_action("latency := 1", "\n"),
    "no semicolons in one line": _in_action("latency := 1", " "),
    "nothing but names": _alone("name"),
    "nothing but names in one line": _alone("name", " "),
    "nothing but declaration words": _alone("action"),
    "heads of actions": _alone("action(a", "\n"),
    "heads of machines": _alone("machine(MachineType:L1Cache, ;"),
    "missing braces": _in_action("if (true) latency := 1;", "\n"),
    "open blocks": _alone('action(a, "a") {\n'),
    "strings without end, one a line": _alone('"name) ;', "\n"),
    "a string without end": lambda count: '"' + "name) ; " * count,
    "a string with a gap": lambda count: '"x)' + " " * count + "x",
    "a comment without end": lambda count: "/*" + "\n * x" * count,
    "foreign characters": _alone("#", " x "),
    "foreign characters, one a line": _alone("x $", "\n"),
    "foreign operators": _in_action("latency := 1 | 2;", " "),
    "one long name": lambda count: machine(f"action({'x' * count}, 1) {{ {'y' * count}(); }}"),
    "one long number": lambda count: f"int x := {'1' * count};",
    "tabs before an error": lambda count: machine("\t" * count + "Nope name;"),
    "wide characters in a comment": lambda count: machine(f"/* {'漢' * count} */ Nope name;"),
}
