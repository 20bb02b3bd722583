"""Headers that are generated from Python say what Python says now."""

from __future__ import annotations

from runtime.native.shared_numbers import headers


def test_generated_headers_are_up_to_date() -> None:
    changed = [path.name for path, text in headers().items() if path.read_text() != text]
    assert not changed, "run `python -m runtime.native.shared_numbers`"
