"""The page on other people's protocols is executed, on the protocol that the tutorial ends with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import test_first_protocol as tutorial

PAGE = tutorial.PAGE.with_name("bring-your-own.md")


@pytest.mark.slow
def test_the_page_works_as_printed(tmp_path: Path) -> None:
    consoles = 0
    for page in (tutorial.PAGE, PAGE):
        for kind, words, body in tutorial.BLOCK.findall(page.read_text()):
            options = tutorial.options_of(words)
            if kind == "slicc":
                (tmp_path / options["file"]).write_text(body)
            elif kind == "diff":
                path = tmp_path / options["file"]
                path.write_text(tutorial.edited(path.read_text(), body))
            elif kind == "console" and page == PAGE:
                consoles += 1
                tutorial.run_console(body, options, tmp_path)
    assert consoles == 2
