"""Findings in the formats of continuous integration: their structure, with any texts in them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from slicc.text.results.github import PlainLog, github_text
from slicc.text.results.junit import junit_text
from slicc.text.results.model import Case, Fault, Found, Level, Place, Rule, Suite, Tool, place_name
from slicc.text.results.sarif import sarif_text
from tests.slicc.text.hostile import EVERY, HARMLESS
from tests.slicc.text.results.junit_structure import check_junit
from tests.slicc.text.results.sarif_structure import check_sarif

FORMATS = "]]></failure><!-- ::error file=a,line=1::x\n##[error]y %0A {0} [a](b) \ufffe\ud800,:%"
hostile = pytest.mark.parametrize("text", [HARMLESS, *EVERY, FORMATS])


def findings(text: str) -> list[Found]:
    place = Place(text, 7, 3, 7, 9)
    return [
        Found("hang", Level.error, text, place, [(Place(text, 9), text)], text),
        Found("leak", Level.warning, f"{text}\nsecond", Place("a b.sm", 2, 4, 3, 1)),
        Found("hang", Level.error, "nowhere"),
    ]


def rules(text: str) -> list[Rule]:
    return [Rule("never", "unused"), Rule("leak", text, text), Rule("hang", "Hang")]


# ------------------------------------------------------------------ SARIF


@hostile
def test_sarif_has_the_structure_of_the_standard(text: str) -> None:
    document = json.loads(sarif_text(Tool("gpu-tester", "1.2"), rules(text), findings(text)))
    check_sarif(document)
    (run,) = document["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["leak", "hang"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0, 1]
    region = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 7, "startColumn": 3, "endLine": 7, "endColumn": 9}
    assert "locations" not in run["results"][2]


def test_sarif_keeps_file_names_and_doubles_braces() -> None:
    found = [Found("a", Level.error, "{0} [x](y)", Place("dir/a b%#?:é.sm", 1))]
    document = json.loads(sarif_text(Tool("t", "1"), [Rule("a", "A")], found))
    (result,) = document["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert unquote(uri) == "dir/a b%#?:é.sm"
    assert result["message"]["text"] == "{{0}} [x] (y)"


@pytest.mark.parametrize(
    ("broken", "by"),
    [
        ("version", "2.0"),
        ("ruleIndex", 5),
        ("level", "fatal"),
        ("startLine", 0),
        ("uri", "a b"),
        ("endColumn", 1),
        ("text", ""),
    ],
)
def test_the_check_of_the_structure_can_fail(broken: str, by: object) -> None:
    def changed(value: object) -> object:
        if isinstance(value, dict):
            return {name: by if name == broken else changed(each) for name, each in value.items()}
        return [changed(each) for each in value] if isinstance(value, list) else value

    document = json.loads(sarif_text(Tool("t", "1"), rules("x"), findings("x")))
    with pytest.raises((AssertionError, IndexError)):
        check_sarif(changed(document))


# ------------------------------------------------------------------ GitHub

_COMMAND = re.compile(r"::(error|warning) ((?:\w+=[^,:\n]*)(?:,\w+=[^,:\n]*)*)::([^\n]*)")


def decoded(text: str) -> str:
    for code, character in (("0D", "\r"), ("0A", "\n"), ("3A", ":"), ("2C", ","), ("25", "%")):
        text = text.replace(f"%{code}", character)
    return text


@hostile
def test_an_annotation_is_one_command(text: str) -> None:
    lines = github_text(findings(text)).split("\n")
    assert lines.pop() == "" and len(lines) == 3
    found = [_COMMAND.fullmatch(line) for line in lines]
    assert all(found)
    names = [[part.split("=")[0] for part in each[2].split(",")] for each in found if each]
    assert names[0] == ["file", "line", "endLine", "col", "endColumn", "title"]
    assert names[1] == ["file", "line", "endLine", "title"], "columns of two lines are refused"
    assert names[2] == ["title"]
    assert not set("".join(lines)) & set("\r\x00\x07\x1b\x9b\u2028\u202e")


def test_annotations_decode_to_what_was_found() -> None:
    found = Found("hang", Level.error, "50 % of\na,b:c", Place("a,b:c%25.sm", 3))
    command = _COMMAND.fullmatch(github_text([found]).rstrip("\n"))
    assert command is not None
    assert decoded(command[3]) == found.message
    properties = dict(each.split("=") for each in command[2].split(","))
    assert decoded(properties["file"]) == "a,b:c%25.sm"


def test_the_log_beside_annotations_has_no_commands() -> None:
    stream = io.StringIO()
    print("  ::error::no\n##[error]no\nname::set-output", file=PlainLog(stream))
    lines = stream.getvalue().split("\n")
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in lines)
    assert "error" in lines[0]


# ------------------------------------------------------------------ JUnit


@hostile
def test_junit_has_its_structure(text: str) -> None:
    cases = [
        Case(text, "leg 0", output=text),
        Case("a", text, Fault("hang", text, f"{text}\n{text}")),
    ]
    root = check_junit(junit_text(Suite("gpu-tester", cases, 1.5, {"seed": text}, text)))
    suite = root[0]
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == (
        "3",
        "1",
        "1",
    )
    assert suite.attrib["time"] == "1.500"
    failure = suite.find(".//failure")
    assert failure is not None and failure.attrib["type"] == "hang"


def test_junit_keeps_the_report() -> None:
    report = "a\n  <b> & 'c' \"d\" ]]>\n\tend"
    text = junit_text(Suite("s", [Case("a", "b", Fault("hang", "x\ny", report))]))
    failure = check_junit(text).find(".//failure")
    assert failure is not None
    assert (failure.text, failure.attrib["message"]) == (report, "x\ny")


# ------------------------------------------------------------------ places


def test_places_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert place_name(Path("../here/a.sm")) == "a.sm"
    assert place_name(tmp_path / "b.sm") == (tmp_path / "b.sm").resolve().as_posix()
