"""What findings of walks say."""

from __future__ import annotations

from pathlib import Path

import protocols
from slicc.analysis import analyse
from slicc.compiler import compile_files, compile_text
from slicc.diagnostics.model import DiagnosticSink
from tests.slicc.analysis.edits import without_transition
from tests.slicc.analysis.small_protocol import SMALL


def test_an_error_is_reached_with_what_is_known_of_the_message() -> None:
    counted = 'action(c_count, "c") {'
    assert SMALL.count(counted) == 1
    protocol = compile_text(SMALL.replace(counted, f'{counted} error("here");'))
    assert protocol is not None
    found = {each.headline for each in analyse(protocol, steps=300)}
    assert "machine `L1Cache` gets here with a message of `Directory`" in found


def test_a_frame_is_needed_by_another_line_which_sends_nothing() -> None:
    (compiled,) = compile_files(
        [Path(protocols.__file__).with_name("MSI.slicc")], [], DiagnosticSink()
    )
    protocol = compiled.protocol
    machine = next(each for each in protocol.machines if each.name == "L1Cache")
    replaced = next(
        cell.transition
        for cell in machine.cells
        if (cell.state, cell.event) == ("IS_D", "Replacement")
    )
    changed, _ = without_transition(protocol, machine, replaced)
    labels = [each.primary.text for each in analyse(changed, steps=3000)]
    assert "in this state another line may need the frame" in labels
