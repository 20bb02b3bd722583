"""What SARIF 2.1.0 asks of the parts that we write: required and possible properties, and types.

Written after the OASIS standard, by section. Invariant: a property that is not listed is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

Check = Callable[[Any], None]


def text(value: Any) -> None:
    assert isinstance(value, str) and value


def count(value: Any) -> None:
    assert isinstance(value, int) and not isinstance(value, bool) and value >= 1


def index(value: Any) -> None:
    assert isinstance(value, int) and not isinstance(value, bool) and value >= 0


def boolean(value: Any) -> None:
    assert isinstance(value, bool)


def uri(value: Any) -> None:
    """RFC 3986: ASCII without blanks; a path that is no reference to another scheme."""
    assert isinstance(value, str) and value.isascii() and value.isprintable() and " " not in value
    assert not set(value) & set('<>"{}|\\^`'), value
    assert urlsplit(value).scheme in ("", "file", "https")


def one_of(*values: str) -> Check:
    def check(value: Any) -> None:
        assert value in values

    return check


def array(element: Check) -> Check:
    def check(value: Any) -> None:
        assert isinstance(value, list)
        for each in value:
            element(each)

    return check


def names(value: Any) -> None:
    assert isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def structure(required: dict[str, Check], possible: dict[str, Check] | None = None) -> Check:
    known = required | (possible or {})

    def check(value: Any) -> None:
        assert isinstance(value, dict)
        assert required.keys() <= value.keys() <= known.keys(), value.keys()
        for name, part in value.items():
            known[name](part)

    return check


MESSAGE = structure({"text": text})  # 3.11
REGION = structure(
    {"startLine": count}, dict.fromkeys(("startColumn", "endLine", "endColumn"), count)
)
PHYSICAL = structure({"artifactLocation": structure({"uri": uri}), "region": REGION})  # 3.29
LOCATION = structure({"physicalLocation": PHYSICAL}, {"id": index, "message": MESSAGE})  # 3.28
RULE = structure({"id": text}, {"shortDescription": MESSAGE, "help": MESSAGE})  # 3.49
RESULT = structure(  # 3.27
    {"message": MESSAGE},
    {
        "ruleId": text,
        "ruleIndex": index,
        "level": one_of("none", "note", "warning", "error"),
        "locations": array(LOCATION),
        "relatedLocations": array(LOCATION),
        "partialFingerprints": names,
    },
)
DRIVER = structure({"name": text}, {"version": text, "rules": array(RULE)})  # 3.19
NOTIFICATION = structure({"message": MESSAGE}, {"level": one_of("error")})  # 3.58
INVOCATION = structure(  # 3.20
    {"executionSuccessful": boolean}, {"toolExecutionNotifications": array(NOTIFICATION)}
)
RUN = structure(  # 3.14
    {"tool": structure({"driver": DRIVER})},
    {
        "results": array(RESULT),
        "columnKind": one_of("utf16CodeUnits", "unicodeCodePoints"),
        "invocations": array(INVOCATION),
    },
)
LOG = structure({"version": one_of("2.1.0"), "runs": array(RUN)}, {"$schema": uri})  # 3.13


def check_sarif(document: Any) -> None:
    """Raises AssertionError for what the standard forbids."""
    LOG(document)
    for run in document["runs"]:
        rules = run["tool"]["driver"].get("rules", [])
        assert len({rule["id"] for rule in rules}) == len(rules)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]  # 3.27.6
            for location in result.get("locations", []):
                region = location["physicalLocation"]["region"]
                ends = region.get("endLine", region["startLine"]), region.get("endColumn", 1 << 30)
                assert ends >= (region["startLine"], region.get("startColumn", 1))  # 3.30.7
