"""The extension for VS Code, and what the page on editors says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from slicc.parser.grammar import grammar_text

DOCS = Path(__file__).parents[2] / "docs"
EXTENSION = DOCS / "editors" / "vscode"


def read(name: str) -> Any:
    return json.loads((EXTENSION / name).read_text())


def grammar_patterns(node: Any) -> list[dict[str, Any]]:
    """Every rule of the TextMate grammar."""
    if isinstance(node, list):
        return [rule for each in node for rule in grammar_patterns(each)]
    if not isinstance(node, dict):
        return []
    own = [node] if "match" in node or "begin" in node else []
    return own + [rule for each in node.values() for rule in grammar_patterns(each)]


def scopes(text: str) -> dict[str, str]:
    """The scope of each word that has one: the rule that begins first wins, then the first rule."""
    grammar, found, at = read("syntaxes/slicc.tmLanguage.json"), {}, 0
    rules = [
        rule
        for include in grammar["patterns"]
        for rule in grammar["repository"][include["include"][1:]]["patterns"]
    ]
    while at < len(text):
        matches = [
            (re.compile(rule.get("match") or rule["begin"], re.M).search(text, at), rule)
            for rule in rules
        ]
        hits = [(match, rule) for match, rule in matches if match is not None]
        if not hits:
            break
        match, rule = min(hits, key=lambda hit: hit[0].start())
        for group, capture in rule.get("captures", {}).items():
            found[match[int(group)]] = capture["name"]
        if "name" in rule:
            found[match[0]] = rule["name"]
        at = max(match.end(), at + 1)
    return found


def test_the_keywords_are_those_of_the_language() -> None:
    language = set(re.findall(r'^[A-Z_]+: "([A-Za-z_]+)"$', grammar_text(), re.M))
    keywords = read("syntaxes/slicc.tmLanguage.json")["repository"]["keywords"]["patterns"]
    lists = [re.fullmatch(r"\\b\((.*)\)\\b", rule["match"]) for rule in keywords]
    words = [word for found in lists if found is not None for word in found[1].split("|")]
    assert len(lists) == len(keywords) and len(language) > 30
    assert sorted(words) == sorted(language), "each once"


def test_words_have_the_colour_of_what_they_are() -> None:
    text = """
    action(a_send, "a", desc="in action") { // peek
      enqueue(out, Msg, 1) { out_msg.Type := Kind:Ask; count := count + 10; }
      DataBlock block;
      if (is_valid(tbe)) { send(tbe); }
    }
    """
    found = scopes(text)
    expected = {
        "action": "storage.type.slicc",
        "a_send": "entity.name.function.slicc",
        '"in action"': "string.quoted.double.slicc",
        "// peek": "comment.line.double-slash.slicc",
        "enqueue": "keyword.other.slicc",
        "Ask": "variable.other.enummember.slicc",
        "DataBlock": "entity.name.type.slicc",
        "if": "keyword.control.slicc",
        "is_valid": "keyword.operator.word.slicc",
        "send": "entity.name.function.slicc",
        "10": "constant.numeric.slicc",
        ":=": "keyword.operator.assignment.slicc",
    }
    assert {word: found.get(word) for word in expected} == expected


def test_every_pattern_is_used() -> None:
    grammar = read("syntaxes/slicc.tmLanguage.json")
    assert {each["include"][1:] for each in grammar["patterns"]} == {*grammar["repository"]}
    for rule in grammar_patterns(grammar):
        re.compile(rule.get("match") or rule["begin"])


def test_the_files_that_the_extension_names_are_there() -> None:
    package = read("package.json")
    (language,), (grammar,) = (
        package["contributes"]["languages"],
        package["contributes"]["grammars"],
    )
    for name in (package["main"], language["configuration"], grammar["path"]):
        assert (EXTENSION / name).is_file(), name
    assert grammar["scopeName"] == read("syntaxes/slicc.tmLanguage.json")["scopeName"]
    assert read("language-configuration.json")["comments"]["lineComment"] == "//"
    assert f"slicc-{package['version']}.vsix" in (EXTENSION / "README.md").read_text()


def test_the_client_starts_the_server_of_the_settings() -> None:
    setting = read("package.json")["contributes"]["configuration"]["properties"]["slicc.command"]
    assert setting["default"] == ["slicc", "lsp"]
    assert 'getConfiguration("slicc").get("command")' in (EXTENSION / "client.js").read_text()


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_client_is_javascript() -> None:
    done = subprocess.run(
        ["node", "--check", EXTENSION / "client.js"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_example_for_helix_is_toml() -> None:
    page = (DOCS / "editors.md").read_text()
    lines = page.split("**Helix**")[1].split("\n\n")[1]
    settings = tomllib.loads("\n".join(line.strip() for line in lines.splitlines()))
    (language,) = settings["language"]
    assert settings["language-server"][language["language-servers"][0]]["args"] == ["lsp"]
    (contributed,) = read("package.json")["contributes"]["languages"]
    assert [f".{each}" for each in language["file-types"]] == contributed["extensions"]
