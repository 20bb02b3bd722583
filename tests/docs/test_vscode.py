"""The extension under VS Code's own tools (``-m published``): its grammar and its package.

The tools come from npm; the tests are skipped, visibly, where node or the registry is missing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from slicc.parser.parser import lex

pytestmark = pytest.mark.published

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "docs" / "editors" / "vscode"
TOOLS = ("vscode-textmate@9", "vscode-oniguruma@2", "@vscode/vsce@3")
SCOPES = {
    "STRING": "string.quoted",
    "NUMBER": "constant.numeric",
    "IF": "keyword.control",
    "PEEK": "keyword.other",
    "ENQUEUE": "keyword.other",
    "MACHINE": "storage.type",
    "TRANSITION": "storage.type",
    "ACTION": "storage.type",
    "ASSIGN": "keyword.operator.assignment",
}
"""What tokens of the language look like in an editor."""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def npm(folder: Path, *packages: str) -> None:
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    try:
        run("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *packages, cwd=folder)
    except (AssertionError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm has not installed {packages or 'the extension'}: {str(error)[:200]}")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("npm")
    npm(folder, *TOOLS)
    return folder


def test_every_token_of_our_protocols_has_its_colour(tools: Path) -> None:
    files = sorted((ROOT / "protocols").glob("*.s*m"))
    grammar = EXTENSION / "syntaxes" / "slicc.tmLanguage.json"
    script = Path(__file__).with_name("tokenise.js")
    colours = json.loads(run("node", script, grammar, *files, cwd=tools))
    seen: set[str] = set()
    for file, lines in zip(files, colours, strict=True):
        text = file.read_text()
        scopes = [
            scope
            for line, found in zip(text.split("\n"), lines, strict=True)
            for scope in (*_by_character(line, found), "")
        ]
        last = 0
        for token in lex(text):
            start, end = token.start_pos or 0, token.end_pos or 0
            where = f"{file.name}:{token.line}: {token}"
            for place in range(last, start):
                assert text[place].isspace() or scopes[place].startswith("comment"), where
            hidden = {scope for scope in scopes[start:end] if scope.startswith("comment")}
            assert not hidden, where
            wanted = SCOPES.get(token.type)
            if wanted is not None:
                seen.add(token.type)
                assert scopes[start].startswith(wanted), f"{where}: {scopes[start]}"
            last = end
    assert seen == SCOPES.keys()


def _by_character(line: str, found: list[tuple[int, int, str]]) -> list[str]:
    return [scope for start, end, scope in found for _ in range(start, min(end, len(line)))]


def test_the_folder_becomes_a_package(tools: Path, tmp_path: Path) -> None:
    """By the commands that its README names."""
    folder = tmp_path / "vscode"
    shutil.copytree(EXTENSION, folder)
    npm(folder)
    readme = (EXTENSION / "README.md").read_text()
    (command,) = (line.split() for line in readme.splitlines() if "@vscode/vsce" in line)
    program = tools / "node_modules" / ".bin" / "vsce"
    text = run(program, *command[2:], cwd=folder)
    assert "DONE  Packaged" in text
    assert list(folder.glob("slicc-*.vsix"))
