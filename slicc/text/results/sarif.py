"""SARIF 2.1.0, the OASIS standard for results of analyses, which GitHub's code scanning reads.

Section numbers below are those of the standard. Invariant: every result names a rule of the
document by identifier and by index; paths are relative URI references or absolute ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from slicc.text.data import json_text
from slicc.text.escapes import inert
from slicc.text.results.model import Found, Place, Rule, Tool

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT = "identity/v1"


def sarif_text(
    tool: Tool,
    rules: Iterable[Rule],
    found: Sequence[Found],
    *,
    complete: bool = True,
    reason: str = "",
) -> str:
    """The document, with a line end. ``complete``: the tool came to its end (3.20.14). ``reason``:
    what it ended with otherwise (3.20.21)."""
    used = {each.rule for each in found}
    kept = [rule for rule in rules if rule.slug in used]
    index = {rule.slug: number for number, rule in enumerate(kept)}
    run = {
        "tool": {
            "driver": {
                "name": tool.name,
                "version": tool.version,
                "rules": [_rule(each) for each in kept],
            }
        },
        "invocations": [_invocation(complete, reason)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, index) for each in found],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(document, indent=2) + "\n"


def _invocation(complete: bool, reason: str) -> dict[str, Any]:
    written: dict[str, Any] = {"executionSuccessful": complete}
    if reason:
        written["toolExecutionNotifications"] = [{"level": "error", "message": _message(reason)}]
    return written


def _rule(rule: Rule) -> dict[str, Any]:
    written: dict[str, Any] = {"id": rule.slug, "shortDescription": _message(rule.title)}
    if rule.page:
        written["help"] = _message(rule.page)
    return written


def _result(found: Found, index: dict[str, int]) -> dict[str, Any]:
    written: dict[str, Any] = {
        "ruleId": found.rule,
        "ruleIndex": index[found.rule],
        "level": found.level.value,
        "message": _message(found.message),
    }
    if found.place is not None:
        written["locations"] = [{"physicalLocation": _physical(found.place)}]
    if found.related:
        written["relatedLocations"] = [
            {"id": number, "physicalLocation": _physical(place), "message": _message(text)}
            for number, (place, text) in enumerate(found.related)
        ]
    if found.identity:
        written["partialFingerprints"] = {_FINGERPRINT: found.identity}
    return written


def _message(text: str) -> dict[str, str]:
    """A plain text message (3.11), in which braces are doubled (3.11.5) and no brackets followed
    by parentheses are a link (3.11.6)."""
    plain = inert(text, keep="\n\t").replace("](", "] (")
    return {"text": plain.replace("{", "{{").replace("}", "}}") or " "}


def _physical(place: Place) -> dict[str, Any]:
    """A region (3.30) has the numbers that are known; the end is exclusive there, too."""
    numbers = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    return {
        "artifactLocation": {"uri": _uri(place.file)},
        "region": {name: number for name, number in numbers.items() if number},
    }


def _uri(file: str) -> str:
    """A reference by RFC 3986 (3.10.1): whatever the name holds, it is a path."""
    path = quote(inert(file), safe="/")
    return f"file://{path}" if PurePosixPath(file).is_absolute() else path
