"""JUnit's XML, in the form that Jenkins, GitLab and GitHub's reporters agree on.

There is no specification; it has the elements and attributes of the schema that Jenkins publishes,
in its order. Invariant: the document is well-formed XML 1.0 whatever texts it holds.
"""

from __future__ import annotations

from xml.etree import ElementTree as xml

from slicc.text.markup import xml_text
from slicc.text.results.model import Case, Suite


def junit_text(suite: Suite) -> str:
    """The document, with a line end."""
    failures = sum(case.fault is not None for case in suite.cases)
    counts = {
        "tests": str(len(suite.cases) + bool(suite.error)),
        "failures": str(failures),
        "errors": str(int(bool(suite.error))),
        "time": f"{suite.seconds:.3f}",
    }
    root = xml.Element("testsuites", {"name": xml_text(suite.name), **counts})
    element = xml.SubElement(
        root, "testsuite", {"name": xml_text(suite.name), **counts, "skipped": "0"}
    )
    if suite.properties:
        properties = xml.SubElement(element, "properties")
        for name, value in suite.properties.items():
            xml.SubElement(properties, "property", name=xml_text(name), value=xml_text(value))
    for case in suite.cases:
        _add_case(element, case)
    if suite.error:
        broken = xml.SubElement(element, "testcase", classname=xml_text(suite.name), name="the run")
        xml.SubElement(broken, "error", message=xml_text(suite.error), type="error")
    xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(root, "unicode") + "\n"


def _add_case(parent: xml.Element, case: Case) -> None:
    element = xml.SubElement(
        parent, "testcase", classname=xml_text(case.group), name=xml_text(case.name)
    )
    if case.fault is not None:
        failure = xml.SubElement(
            element,
            "failure",
            message=xml_text(case.fault.message),
            type=xml_text(case.fault.rule),
        )
        failure.text = xml_text(case.fault.text)
    if case.output:
        xml.SubElement(element, "system-out").text = xml_text(case.output)
