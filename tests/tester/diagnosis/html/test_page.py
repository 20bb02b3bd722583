"""The page as a file: whole, small, the same twice, and inert whatever names it shows."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

from protocols.identity import ProtocolIdentity
from protocols.transition_texts import Passage, TransitionText
from slicc.text.markup import page_text
from tester.diagnosis.events.line_events import Transition
from tester.diagnosis.events.recording import Recording
from tester.diagnosis.html.page import Page, page_of
from tester.diagnosis.listing import line_names, listing
from tests.tester.diagnosis.recorded import failing, passing, texts

HOSTILE = "</script><script>alert(1)</script>\"'<!--<img src=x onerror=alert(2)>&lt;]]>\u2028"


class Elements(HTMLParser):
    """Counts what a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def page_for(recording: Recording, hostile: str = "") -> str:
    leg = recording.leg
    page = Page(
        texts=texts(),
        listing=[*listing(leg, recording.finding), hostile],
        line_names={line: f"{name}{hostile}" for line, name in line_names(leg.program).items()},
        report=f"report {hostile}",
        command=f"gpu-tester replay {hostile}",
    )
    return page_of(recording, page)


def data_of(page: str) -> str:
    return page.partition('id="run">')[2].partition("</script>")[0]


def test_a_page_asks_for_nothing_and_runs_one_script() -> None:
    page = page_for(failing()[1])
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (allowed,) = re.findall(r"script-src &#39;sha256-(.*?)&#39;|script-src 'sha256-(.*?)'", page)
    assert len(scripts) == 1
    digest = b64encode(sha256(scripts[0].encode()).digest()).decode()
    assert digest in "".join(allowed).replace("&#43;", "+")
    assert not any(name.startswith("on") for name in Elements(page).attributes)
    assert "innerHTML" not in scripts[0] and "eval(" not in scripts[0]


def test_a_page_is_small_and_the_same_twice() -> None:
    first, again = page_for(failing()[1]), page_for(failing()[1])
    assert first == again
    assert len(first.encode()) < 500_000
    assert "stale-read" in first or "lost-write" in first
    marked = page_for(failing()[1], "load A+0 -> 0x1   <-- got 0x2")
    assert "<mark>load A+0 -&gt; 0x1   &lt;-- got 0x2</mark>" in marked


def test_a_passing_run_can_be_drawn() -> None:
    page = page_for(passing()[1])
    assert 'class="badge passed"' in page and "every byte as expected" in page


def test_hostile_names_are_inert() -> None:
    """The same elements stand on the page, whatever a file, an event or a text is called."""
    _, recording = passing()
    harmless = Elements(page_for(recording)).tags
    leg = replace(recording.leg, protocol=ProtocolIdentity(HOSTILE, HOSTILE), profile=HOSTILE)
    bad = Recording(leg, recording.run, recording.history, None)
    events = [
        Transition(**{**vars(each), "event": HOSTILE, "state": HOSTILE, "comment": HOSTILE})
        if isinstance(each, Transition)
        else each
        for each in recording.events
    ]
    object.__setattr__(bad, "events", events)
    passage = Passage(HOSTILE, 1, HOSTILE)
    page = page_of(
        bad,
        Page(
            texts={("L1Cache", HOSTILE, HOSTILE): TransitionText(passage, ((HOSTILE, passage),))},
            listing=[HOSTILE],
            line_names=dict.fromkeys(line_names(leg.program), HOSTILE),
            report=HOSTILE,
            command=HOSTILE,
        ),
    )
    found = Elements(page).tags
    assert {tag: found.count(tag) for tag in found if tag != "details"} == {
        **{tag: harmless.count(tag) for tag in harmless if tag != "details"},
        "summary": found.count("summary"),
        "pre": found.count("pre"),
    }
    assert found.count("script") == 2 and "img" not in found
    data = data_of(page)
    assert "<" not in data and ">" not in data and "&" not in data and "\u2028" not in data
    assert page_text(HOSTILE) in json.loads(data)["texts"]
