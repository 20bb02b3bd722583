"""The picture and the page show the folders and files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("slicc", "runtime", "tester", "gpu")


def test_the_boxes_are_the_folders() -> None:
    drawn = set(re.findall(r'^ +"(\w+/\w+)" \[', (DOCS / "architecture.dot").read_text(), re.M))
    there = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).iterdir()
        if any(file.suffix in (".py", ".hpp", ".cpp") for file in path.rglob("*"))
    }
    assert drawn == {each for each in there if not each.endswith(("__pycache__", "gpu/systems"))}


def test_links_lead_somewhere() -> None:
    page = (DOCS / "ARCHITECTURE.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", page)
    links += re.findall(r'URL="([^"]+)"', (DOCS / "architecture.dot").read_text())
    assert len(links) > 60
    for link in links:
        assert (DOCS / link).exists(), link


def test_modules_that_are_named_lie_where_the_table_says() -> None:
    page = (DOCS / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| .* \| \[`[^`]+`\]\(\.\./([^)]+)\): (.*) \|$", page, re.M)
    assert len(rows) > 10
    for folder, names in rows:
        for name in re.findall(r"`([\w./]+)`", names):
            assert (ROOT / folder / name).exists(), (folder, name)
