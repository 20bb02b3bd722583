"""The elements and attributes that readers of JUnit's XML agree on (Jenkins, GitLab, Ant).

Invariant: an element or attribute that is not listed is refused, and so is another order.
"""

from __future__ import annotations

from xml.etree import ElementTree as xml

_COUNTS = {"tests", "failures", "errors", "time"}
_ELEMENTS: dict[str, tuple[set[str], set[str], tuple[str, ...]]] = {
    "testsuites": ({"name", *_COUNTS}, set(), ("testsuite",)),
    "testsuite": ({"name", *_COUNTS}, {"skipped"}, ("properties", "testcase")),
    "properties": (set(), set(), ("property",)),
    "property": ({"name", "value"}, set(), ()),
    "testcase": ({"classname", "name"}, {"time"}, ("error", "failure", "system-out")),
    "failure": ({"message", "type"}, set(), ()),
    "error": ({"message", "type"}, set(), ()),
    "system-out": (set(), set(), ()),
}
"""Required and possible attributes, and elements inside in their order."""


def check_junit(text: str) -> xml.Element:
    """The document. Raises AssertionError, or ParseError if it is not well-formed."""
    root = xml.fromstring(text.encode())
    assert root.tag == "testsuites"
    _check(root)
    for suite in (root, *root.iter("testsuite")):
        for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert int(suite.attrib[name]) == len(list(suite.iter(tag)))
    return root


def _check(element: xml.Element) -> None:
    required, possible, inside = _ELEMENTS[element.tag]
    assert required <= element.attrib.keys() <= required | possible, element.attrib
    tags = [child.tag for child in element]
    assert set(tags) <= set(inside), tags
    assert tags == sorted(tags, key=inside.index)
    for child in element:
        _check(child)
