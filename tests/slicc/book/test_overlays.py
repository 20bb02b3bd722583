"""What was tested, in the pages of a book: cells, actions, lines and the overview."""

from __future__ import annotations

from pathlib import Path

from slicc.book.book import Contents, single_page
from slicc.coverage.cells import Cells, MachineCells, System
from slicc.coverage.mutants import Fate, Mutant, Study
from slicc.coverage.results import Results
from tests.slicc.book.test_book import compiled, parsed
from tests.slicc.book.test_state_graph import HOSTILE

CACHE = next(
    Path(source.name) for source in compiled("MI").sources if source.name.endswith("MI-cache.sm")
)
WAY = ("cpu0 loads", "GETX arrives")


def results(text: str = "", line: int = 7) -> Results:
    """Two cells of MI's L1Cache: one that was hit, one that can be reached."""
    known = MachineCells(
        ("I", "M", "MI"),
        ("Load", "Replacement", "Fwd_GETX"),
        {("I", "Load"): 1234, ("M", "Replacement"): 0, ("M", "Fwd_GETX"): 0},
        {("M", "Replacement"): (*WAY, text)},
    )
    system = System(f"one cache {text}", ("L1Cache",))
    cells = Cells("MI", "0" * 16, {"L1Cache": known}, (system,))
    mutants = (
        ("I.Load", Fate.KILLED, f"next state M {text}"),
        ("I.Load", Fate.SURVIVED, f"no request {text}"),
        ("I.Load", Fate.EQUIVALENT, "says the same"),
        ("a_issueGetx", Fate.KILLED, f"wrong type {text}"),
    )
    made = tuple(
        Mutant("L1Cache", where, f"/other/place/{CACHE.name}", line, what, fate, "")
        for where, fate, what in mutants
    )
    return Results(cells, Study("MI", "0" * 16, f"1 {text}", 1, 20, 4, made))


def page(found: Results) -> str:
    made = compiled("MI")
    return single_page(
        Contents(protocol=made.protocol, sources=made.sources, results=found)
    ).decode()


def cell(text: str, state: str, event: str) -> str:
    begin = text.rindex("<td", 0, text.index(f'id="c-L1Cache-{state}-{event}"'))
    return text[begin:].split("</td>")[0]


def test_cells_show_what_is_known_of_them() -> None:
    text = page(results())
    hit = cell(text, "I", "Load")
    assert "hit 1,234 times" in hit and 'class="go hit survived"' in hit
    assert "mutants: 1 killed, 1 survived" in hit and "<li>no request </li>" in hit
    reachable = cell(text, "M", "Replacement")
    assert "reachable in 3 steps" in reachable and "<li>GETX arrives</li>" in reachable
    assert "survived" not in reachable
    assert "not reached in 1 exhausted system" in cell(text, "M", "Fwd_GETX")


def test_lines_actions_and_the_overview_show_mutants() -> None:
    text = page(results())
    lines = [line for line in text.split("<span ") if 'data-n="7"' in line]
    marked = [line for line in lines if "<i " in line]
    assert len(lines) > 1 and len(marked) == 1, "the line of one file"
    assert '<i class="survived" title="no request ">mutants: 2 killed, 1 survived</i>' in marked[0]
    row = text.split('id="tested"')[1].split("</table>")[0]
    assert "2 killed, 1 survived" in row and "66.7 %" in row
    assert "1 hit, 1 reachable, not hit, 1 not reached" in row
    action = text.split('id="a-L1Cache-a_issueGetx"')[1].split("</tr>")[0]
    assert "1 killed" in action


def test_a_book_without_results_says_nothing_of_tests() -> None:
    text = page(Results())
    assert "What was tested" not in text and "by-known" not in text.split("<script>")[0]


def test_texts_of_files_stay_texts() -> None:
    hostile = HOSTILE + "<script>alert(1)</script>' onclick='x"
    text = page(results(hostile))
    parsed(text.encode())
    assert "<script>alert" not in text and "\x1b" not in text
    assert text.count("<script") == 2
