"""What of an author's text acts on a page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from slicc.text.markup import html_text, markdown_text, page_text


@pytest.mark.parametrize("render", [html_text, markdown_text, page_text])
def test_joiners_stay_and_what_turns_the_text_around_does_not(
    render: Callable[[str], str],
) -> None:
    assert render("a\u200cb\u200dc") == "a\u200cb\u200dc"
    assert render("a\u202eb\u2066c\u200bd") == "a\ufffdb\ufffdc\ufffdd"
