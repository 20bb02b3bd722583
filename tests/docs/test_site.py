"""The documentation as a site (``-m slow``): no warning, and links lead somewhere."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        for name in ("href", "src"):
            if value := found.get(name):
                self.links.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("sphinx", "furo", "myst_parser"):
        pytest.importorskip(package, reason=f"{package} is not installed (extra `docs`)")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "docs", str(folder)]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_every_page_is_on_the_site(site: Path) -> None:
    for page in (ROOT / "docs").glob("*.md"):
        assert (site / f"{page.stem}.html").exists()


def test_links_lead_somewhere(site: Path) -> None:
    pages = {file: _Page(file.read_text(encoding="utf-8")) for file in site.rglob("*.html")}
    lost = []
    for file, page in pages.items():
        for link in page.links:
            path, _, anchor = unquote(link).partition("#")
            path = path.partition("?")[0]
            if ":" in path:
                continue
            target = (file.parent / path).resolve() if path else file
            known = pages[target].anchors if target in pages else {""}
            if not target.exists() or (target in pages and anchor not in known):
                lost.append(f"{file.name}: {link}")
    assert not lost


def test_the_reference_has_every_public_name(site: Path) -> None:
    import gpu
    import protocols
    import runtime
    import slicc
    import tester

    text = (site / "api.html").read_text(encoding="utf-8")
    for package in (slicc, protocols, runtime, tester, gpu):
        for name in package.__all__:
            assert f'id="{package.__name__}.{name}"' in text, name
