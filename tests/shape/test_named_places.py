"""Files and modules that comments and docstrings name are there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("slicc", "runtime", "tester", "gpu", "protocols")
_FILE = re.compile(rf"(?<![\w/.-])(?:{'|'.join(PACKAGES)})/[\w/-]+\.(?:py|[ch]pp|lark|jinja)\b")
_MODULE = re.compile(rf"`((?:{'|'.join(PACKAGES)})(?:\.[a-z_]\w*)+)")
_NAMES = re.compile(r"[A-Za-z_]\w*")


def named_files(text: str) -> Iterator[str]:
    return (match[0] for match in _FILE.finditer(text) if "/X/" not in match[0])


def is_there(dotted: str) -> bool:
    """Whether it is a module or package, or something that a module has by that name."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:count])
        if place.is_dir() and count == len(parts):
            return True
        module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if module.is_file():
            return count == len(parts) or parts[count] in _NAMES.findall(module.read_text())
    return False


@pytest.mark.parametrize("package", PACKAGES)
def test_files_that_code_names_are_there(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.*")):
        if path.suffix in (".py", ".hpp", ".cpp", ".jinja"):
            for name in named_files(path.read_text()):
                assert (ROOT / name).is_file(), f"{path.relative_to(ROOT)} names {name}"


@pytest.mark.parametrize("package", PACKAGES)
def test_modules_that_docstrings_name_are_there(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                for match in _MODULE.finditer(str(node.value.value)):
                    where = f"{path.relative_to(ROOT)}:{node.lineno} names {match[1]}"
                    assert is_there(match[1]), where
