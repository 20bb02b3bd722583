"""The schemas that others publish, which are theirs and not in this repository.

``--schemas DIR`` names a directory with ``sarif-schema-2.1.0.json`` (OASIS) and ``junit-10.xsd``
(Jenkins' plugin xUnit; the sources of pytest have a copy).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def _file(config: pytest.Config, name: str) -> Path:
    folder = config.getoption("--schemas")
    if folder is None:
        pytest.skip(f"needs {name}: --schemas DIR")
    return Path(folder) / name


def check_published_sarif(config: pytest.Config, document: Any) -> None:
    """Against OASIS' schema, formats included."""
    path = _file(config, "sarif-schema-2.1.0.json")
    validator = pytest.importorskip("jsonschema").Draft4Validator
    found = validator(json.loads(path.read_text()), format_checker=validator.FORMAT_CHECKER)
    assert [each.message for each in found.iter_errors(document)] == []


def check_published_junit(config: pytest.Config, text: str) -> None:
    """Against Jenkins' schema."""
    path = _file(config, "junit-10.xsd")
    schema = pytest.importorskip("xmlschema").XMLSchema(path)
    assert [each.reason for each in schema.iter_errors(text)] == []
