"""The server as an editor uses it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocols import shipped
from slicc.coverage.cells import Cells, MachineCells
from slicc.coverage.file import write_cells
from tests.slicc.editor.editor_client import Document, Editor
from tests.slicc.editor.offered import OFFERED


@pytest.fixture(scope="module")
def coverage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A coverage file that is not written yet."""
    return tmp_path_factory.mktemp("coverage") / "cells.json"


@pytest.fixture(scope="module")
def editor(coverage: Path) -> Iterator[Editor]:
    editor = Editor("--coverage", str(coverage))
    yield editor
    assert editor.end() == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the protocol MSI."""
    folder = tmp_path_factory.mktemp("msi")
    for file in shipped()["MSI"].parent.glob("MSI[.-]*"):
        shutil.copy(file, folder)
    return folder


@pytest.fixture(scope="module")
def cache(editor: Editor, folder: Path) -> Document:
    return editor.open(folder / "MSI-cache.sm")


def test_a_shipped_protocol_has_no_findings(editor: Editor, cache: Document) -> None:
    assert editor.wait_for(cache.uri, lambda found: not found) == []


# ------------------------------------------------------------------ reading


def test_a_state_is_shown_with_its_row(cache: Document) -> None:
    text = cache.hover("    IS|_D,")
    assert text.startswith("```slicc\nIS_D,  AccessPermission:Busy,")
    assert "Asked for to read, waiting for the line" in text
    assert "| `DataOwner` | `S` | `wd_writeData`, `ld_loadDone`," in text
    assert "`FwdGetM`" not in text, "another state's event"


def test_an_event_is_shown_with_those_who_send_it(cache: Document) -> None:
    text = cache.hover("trigger(Event:FwdGet|S,")
    assert "triggered by `forward_in` for `GetS`" in text
    assert "of Directory: `GetS`" in text
    assert "of L1Cache" not in text
    assert "the processor" in cache.hover("trigger(Event:Loa|d,")


def test_a_variable_is_shown_with_its_type(cache: Document) -> None:
    assert "type Cycles" in cache.hover("enqueue(request_out, RequestMsg, issue|_latency)")
    assert "type Entry" in cache.hover("cacheMemory.setMRU(cache|_entry)")
    assert cache.hover("// The cach|e of") == ""


def test_the_name_of_an_included_file_leads_there(editor: Editor, folder: Path) -> None:
    driver = editor.open(folder / "MSI.slicc")
    assert driver.definition('include "MSI-ca|che.sm"') == [("MSI-cache.sm", 1)]
    assert driver.hover('include "MSI-ca|che.sm"') != ""


def test_a_function_of_the_library_leads_to_its_prototype(cache: Document) -> None:
    declared = [("MSI-cache.sm", cache.line("MachineID map|AddressToMachine("))]
    assert cache.definition("MachineID mapAddress|ToMachine(") == declared
    assert cache.definition("Destination.add(mapAddress|ToMachine(") == declared
    assert len(cache.references("MachineID mapAddress|ToMachine(")) > 1


def test_a_name_leads_to_its_declaration_in_any_file(cache: Document) -> None:
    assert cache.definition("transition(I, Load, IS|_D)") == [
        ("MSI-cache.sm", cache.line("    |IS_D,  Acc"))
    ]
    ((file, _),) = cache.definition("enqueue(request_out, Request|Msg,")
    assert file == "MSI-msg.sm"
    assert cache.definition("enqueue(request_out, RequestMsg, issue|_latency)") == [
        ("MSI-cache.sm", cache.line("Cycles |issue_latency"))
    ]


def test_references_cross_files(cache: Document) -> None:
    found = cache.references("out_msg.Type := CoherenceRequestType:GetS|;")
    assert {file for file, _ in found} == {"MSI-msg.sm", "MSI-cache.sm", "MSI-dir.sm"}
    without = cache.references("out_msg.Type := CoherenceRequestType:GetS|;", declared=False)
    assert [each for each in found if each not in without] == [
        each for each in found if each[0] == "MSI-msg.sm"
    ]


def test_the_outline_names_what_is_declared(cache: Document) -> None:
    (machine,) = cache.symbols()
    assert machine.name == "L1Cache"
    names = [child.name for child in machine.children or ()]
    assert {"State", "Event", "Entry", "forward_in", "gs_sendGetS", "I on Load → IS_D"} <= {*names}


def test_coverage_stands_behind_transitions(cache: Document, coverage: Path) -> None:
    assert cache.hints() == {}
    counts = {("M", "Store"): 7}
    known = MachineCells(("M",), ("Store",), counts)
    write_cells(Cells("MSI", "0" * 16, {"L1Cache": known}), coverage)
    hints = cache.hints()
    assert hints[cache.line("transition(M, |Store)")] == "hit 7 times"
    assert hints[cache.line("transition(I, |Load, IS_D)")] == "not in the coverage file"


# ------------------------------------------------------------------ writing


@pytest.mark.parametrize(("typed", "offered", "not_offered"), OFFERED)
def test_names_are_offered_in_their_places(
    editor: Editor, cache: Document, typed: str, offered: str, not_offered: str
) -> None:
    text = cache.text
    end = text.rindex("}")
    editor.edit(cache, f"{text[:end]}{typed.replace('|', '')}\n{text[end:]}")
    found = cache.complete(typed)
    editor.edit(cache, text)
    assert offered in found
    assert not_offered not in found


@pytest.mark.parametrize("first", [True, False])
def test_no_parts_of_machines_are_offered_outside(
    editor: Editor, cache: Document, first: bool
) -> None:
    text = cache.text
    editor.edit(cache, f"mach\n{text}" if first else f"{text}\nmach\n")
    found = cache.complete("mach|\n")
    editor.edit(cache, text)
    assert {"machine", "structure"} <= {*found} and not {"action", "transition"} & {*found}


def test_nothing_is_offered_in_comments_and_strings(editor: Editor, cache: Document) -> None:
    text = cache.text
    for typed in ("// see I|", 'action(x, desc="I|'):
        end = text.rindex("}")
        editor.edit(cache, f"{text[:end]}{typed.replace('|', '')}\n{text[end:]}")
        assert cache.complete(typed) == []
    editor.edit(cache, text)


def test_a_misspelt_name_is_found_and_corrected(editor: Editor, cache: Document) -> None:
    text = cache.text
    editor.edit(cache, text.replace("    gs_sendGetS;", "    gs_sendGetX;", 1))
    (found,) = editor.wait_for(
        cache.uri, lambda all_: any(d.code == "unknown-action" for d in all_)
    )
    assert found.range.start == cache.place("    |gs_sendGetX;")
    assert cache.hover("    qm_pop|Mandatory;").startswith("```slicc\naction(qm_popMandatory")
    (action,) = cache.actions(found.range)
    assert action.edit is not None and action.edit.changes is not None
    ((uri, (edit,)),) = action.edit.changes.items()
    assert (uri, edit.new_text, edit.range) == (cache.uri, "gs_sendGetS", found.range)
    editor.edit(cache, text)
    editor.wait_for(cache.uri, lambda all_: not all_)


def test_a_missing_semicolon_leaves_the_rest_understood(editor: Editor, cache: Document) -> None:
    text = cache.text
    editor.edit(
        cache,
        text.replace("lh_loadHit;", "lh_loadHit", 1).replace("clockEdge());", "clockEdge())", 1),
    )
    found = editor.wait_for(cache.uri, lambda all_: bool(all_))
    assert "missing-semicolon" in {each.code for each in found}
    titles = {action.title for each in found for action in cache.actions(each.range)}
    assert "insert the missing `;`" in titles
    assert cache.definition("transition(I, Load, IS|_D)") != []
    editor.edit(cache, text)
    editor.wait_for(cache.uri, lambda all_: not all_)


def test_the_analysis_follows(editor: Editor, cache: Document) -> None:
    text = cache.text
    start = text.index("transition(I, Load, IS_D)")
    editor.edit(cache, text[:start] + text[text.index("transition(I, Store") :])
    found = editor.wait_for(cache.uri, lambda all_: any(d.code == "unhandled-pair" for d in all_))
    pair = next(each for each in found if each.code == "unhandled-pair")
    assert pair.related_information and "this event" in pair.related_information[0].message
    (allow,) = [each for each in cache.actions(pair.range) if each.title.startswith("allow")]
    assert allow.edit is not None and allow.edit.changes is not None
    assert [edit.new_text.strip() for (edit,) in allow.edit.changes.values()] == [
        "// slicc: allow(unhandled-pair)"
    ]
    editor.edit(cache, text)
    editor.wait_for(cache.uri, lambda all_: not all_)


def test_findings_of_an_included_file_are_of_that_file(editor: Editor, folder: Path) -> None:
    messages = editor.open(folder / "MSI-msg.sm")
    text = messages.text
    editor.edit(messages, text.replace("GetM", "GetMore"))
    directory = (folder / "MSI-dir.sm").as_uri()
    found = editor.wait_for(directory, lambda all_: bool(all_))
    assert {each.code for each in found} == {"unknown-enum-member"}
    editor.edit(messages, text)
    editor.wait_for(directory, lambda all_: not all_)


def test_columns_are_those_of_the_editor(editor: Editor, cache: Document) -> None:
    text = cache.text
    wide = '  action(x, desc="\U0001f600\U0001f600") { tbe.y := 1; }\n'
    end = text.rindex("}")
    editor.edit(cache, text[:end] + wide + text[end:])
    found = editor.wait_for(cache.uri, lambda all_: any(d.code == "unknown-variable" for d in all_))
    place = next(each for each in found if each.code == "unknown-variable").range.start
    assert place.character == wide.index("tbe") + 2
    editor.edit(cache, text)
    editor.wait_for(cache.uri, lambda all_: not all_)


def test_no_half_written_text_ends_the_server(editor: Editor, cache: Document) -> None:
    """Edits drawn at random, each with requests at the place where it happened."""
    drawn, text = random.Random(20), cache.text
    pieces = [
        "{",
        "}",
        "(",
        ")",
        '"',
        ";",
        "/*",
        "//",
        "in_msg.",
        "::",
        "\0",
        "\u2028",
        "é",
        "\r\n",
    ]
    for _ in range(5):
        start = drawn.randrange(len(cache.text) + 1)
        end = min(len(cache.text), start + drawn.choice([0, 0, 1, 5, 300]))
        new = drawn.choice([*pieces, "", cache.text[start : start + drawn.randrange(400)]])
        edited = cache.text[:start] + new + cache.text[end:]
        editor.edit(cache, edited)
        cache.ask_all(start)
        if drawn.random() < 0.1:
            editor.edit(cache, text)
    editor.edit(cache, text)
    editor.wait_for(cache.uri, lambda all_: not all_)
    assert cache.hover("    IS|_D,") != ""
