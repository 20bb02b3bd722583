"""A difference as text, as Markdown for a pull request, as an HTML page, and as JSON for programs.

Invariant: texts of the protocols reach a rendering only through escaping.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from slicc.diff.comparison import Change, Difference, Lines, Section
from slicc.text.data import json_text
from slicc.text.escapes import visible
from slicc.text.markup import markdown_block, markdown_text, page_text
from slicc.text.templates import render

_WORDS = {"+": "added", "-": "removed", "~": "changed"}


def changed_lines(change: Change) -> list[str]:
    """The lines of a text that changed, each with ``+``, ``-`` or a blank before it."""
    before, after = list(change.before or ()), list(change.after or ())
    if change.sign == "~" and before and after:
        return [
            line
            for line in difflib.unified_diff(before, after, lineterm="", n=1)
            if not line.startswith(("---", "+++"))
        ]
    return [f"{change.sign} {line}" for line in (*before, *after)]


def _shown(lines: Lines | None) -> str:
    return "" if lines is None else "; ".join(line.strip() for line in lines)


# ------------------------------------------------------------------ text


def text(difference: Difference) -> str:
    """For a terminal; ends with a line end."""
    return "\n".join(map(visible, _text(difference))) + "\n"


def _text(difference: Difference) -> Iterator[str]:
    yield f"--- {difference.before}"
    yield f"+++ {difference.after}"
    if not difference.parts:
        yield "no difference"
    for part in difference.parts:
        yield ""
        yield f"{part.title}" if part.sign == "~" else f"{part.sign} {part.title}"
        for section in part.sections:
            yield f"  {section.title}"
            for change in section.changes:
                yield from _text_change(section, change)


def _text_change(section: Section, change: Change) -> Iterator[str]:
    if not section.is_table:
        yield f"    {change.sign} {change.name}"
        yield from (f"        {line}" for line in changed_lines(change))
    elif change.sign == "~":
        yield f"    ~ {change.name}"
        yield f"        - {_shown(change.before)}"
        yield f"        + {_shown(change.after)}"
    else:
        shown = _shown(change.before if change.after is None else change.after)
        yield f"    {change.sign} {change.name}{f': {shown}' if shown else ''}"


# ------------------------------------------------------------------ Markdown


def markdown(difference: Difference) -> str:
    """For a pull request; ends with a line end."""
    return "\n".join(_markdown(difference)) + "\n"


def _markdown(difference: Difference) -> Iterator[str]:
    yield f"## {markdown_text(difference.before)} → {markdown_text(difference.after)}"
    if not difference.parts:
        yield "\nNo difference."
    for part in difference.parts:
        yield f"\n### {markdown_text(part.title)}"
        if part.sign != "~":
            yield f"\n{_WORDS[part.sign]}"
        for section in part.sections:
            yield f"\n#### {markdown_text(section.title)}\n"
            yield from _markdown_section(section)


def _markdown_section(section: Section) -> Iterator[str]:
    if section.is_table:
        yield "| | | before | after |\n| --- | --- | --- | --- |"
        for change in section.changes:
            shown = (markdown_text(_shown(each)) for each in (change.before, change.after))
            yield f"| {change.sign} | {markdown_text(change.name)} | {' | '.join(shown)} |"
        return
    for change in section.changes:
        yield f"{_WORDS[change.sign]} {markdown_text(change.name)}\n"
        yield markdown_block("\n".join(changed_lines(change)), "diff") + "\n"


# ------------------------------------------------------------------ HTML


def html(difference: Difference) -> str:
    """A page that needs no other file, no network and no script."""
    return render(
        "slicc.diff",
        "difference.html.jinja",
        escape=True,
        difference=difference,
        words=_WORDS,
        shown=lambda lines: page_text(_shown(lines)),
        page_text=page_text,
        changed_lines=lambda change: [
            (line[:1], page_text(line)) for line in changed_lines(change)
        ],
    )


# ------------------------------------------------------------------ JSON


def json(difference: Difference) -> str:
    """One object on a line; ``parts`` is empty for equal versions. ``before`` and ``after`` of a
    change are lists of lines, null where there is none."""
    parts = [
        {
            "part": part.title,
            "change": _WORDS[part.sign],
            "sections": [
                {
                    "section": section.title,
                    "changes": [
                        {
                            "name": change.name,
                            "change": _WORDS[change.sign],
                            "before": change.before,
                            "after": change.after,
                        }
                        for change in section.changes
                    ],
                }
                for section in part.sections
            ],
        }
        for part in difference.parts
    ]
    return (
        json_text({"before": difference.before, "after": difference.after, "parts": parts}) + "\n"
    )
