"""The shape of the packages: small folders, each with a line that says what lives there."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("slicc", "runtime", "tester", "gpu", "protocols")
MOST = 12
CODE = (".py", ".hpp", ".cpp", ".h")
FOLDERS = sorted(
    {file.parent for package in PACKAGES for file in (ROOT / package).rglob("*.*")
     if file.suffix in CODE}
)  # fmt: skip

TESTED = sorted(
    folder
    for folder in FOLDERS
    if {file.name for file in folder.glob("*.py")} - {"__init__.py", "__main__.py"}
)
"""Folders of Python with a module of their own."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_folder_is_small_and_says_what_it_holds(folder: Path) -> None:
    names = [file.name for file in folder.iterdir() if file.suffix in CODE]
    modules = [name for name in names if name not in ("__init__.py", "__main__.py")]
    assert len(modules) <= MOST, modules
    if any(name.endswith(".py") for name in names):
        docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
        assert docstring


@pytest.mark.parametrize("folder", TESTED, ids=lambda folder: str(folder.relative_to(ROOT)))
def test_a_folder_has_its_tests_at_the_same_place(folder: Path) -> None:
    assert [*(ROOT / "tests" / folder.relative_to(ROOT)).glob("test_*.py")]
