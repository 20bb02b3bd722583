"""The document that a run ends with, in the format that was asked for.

Invariant: the same run gives the same document, except for its seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from slicc.text.data import json_text
from slicc.text.results.github import github_text
from slicc.text.results.junit import junit_text
from slicc.text.results.model import Case, Fault, Found, Level, Rule, Suite, Tool
from slicc.text.results.sarif import sarif_text
from slicc.text.results.unfinished import unfinished
from tester.execution.events import Verdict
from tester.formats.formats import ResultFormat
from tester.formats.run_record import FailureRecord, ProfileRecord, RunEnd

SCHEMA: Final = "gpu-tester.run/1"
_VERDICTS: Final[Mapping[Verdict, str]] = {
    Verdict.WRONG_VALUE: "A load returned a value that no store wrote.",
    Verdict.STALE_READ: "A load returned an older value than its acquire allows.",
    Verdict.EARLY_WRITE: "A load returned a value that was to be written later.",
    Verdict.TORN_BYTES: "A load returned bytes of different stores.",
    Verdict.FOREIGN_BYTES: "A load returned bytes that were written to another address.",
    Verdict.LOST_WRITE: "Memory lacks a value that was written.",
    Verdict.ATOMIC_REPEATED: "Two atomic operations returned the same old value.",
    Verdict.ATOMIC_SKIPPED: "No atomic operation returned a value that one should have.",
    Verdict.ATOMIC_FOREIGN: "An atomic operation returned a value that the word never had.",
    Verdict.ATOMIC_ORDER: "An atomic operation returned a value from before or after its time.",
    Verdict.EARLY_RELEASE: "A release finished before the stores that it waits for.",
    Verdict.UNEXPECTED_RESPONSE: "A response came that answers no request.",
    Verdict.HANG: "The system made no progress.",
    Verdict.LEAK: "Something was left behind when all was answered.",
    Verdict.UNDEFINED_TRANSITION: "A machine met an event in a state that has no row for it.",
    Verdict.PANIC: "The protocol stopped itself: an assertion or an error of its own.",
    Verdict.PROTOCOL_ERROR: "The protocol did what it must not do.",
    Verdict.FAILED_CHECK: "A check of the user's own failed.",
    Verdict.RUNAWAY: "A machine worked without end in one tick.",
}


def document(format: ResultFormat, end: RunEnd) -> str:
    """The document with its line end; empty for text, which was printed on the way."""
    match format:
        case ResultFormat.text:
            return ""
        case ResultFormat.json:
            return json_text(_table(end), indent=2) + "\n"
        case ResultFormat.github:
            return github_text(_found(end))
        case ResultFormat.junit:
            return junit_text(_suite(end))
        case ResultFormat.sarif:
            rules = [Rule(verdict.value, title) for verdict, title in _VERDICTS.items()]
            tool = Tool("gpu-tester", end.version)
            return sarif_text(tool, rules, _found(end), complete=end.complete)


def unfinished_document(format: ResultFormat, version: str, reason: str, status: int) -> str:
    """As `document`, of a run that did not begin: its input is missing or malformed."""
    match format:
        case ResultFormat.text:
            return ""
        case ResultFormat.json:
            table = {"schema": SCHEMA, "version": version, "status": status, "error": reason}
            return json_text(table, indent=2) + "\n"
        case _:
            tool = Tool("gpu-tester", version)
            return unfinished(format.value, tool, "gpu-tester", reason)


def _found(end: RunEnd) -> list[Found]:
    return [
        Found(
            failure.verdict,
            Level.error,
            _message(failure),
            failure.place(end.protocol),
            identity=f"{failure.kind} {failure.cell}",
        )
        for failure in end.record.failures
    ]


def _message(failure: FailureRecord) -> str:
    """A few lines: what happened, where to look, how to run it again."""
    look = f"look at {failure.cell} [{failure.where}] first" if failure.cell else ""
    parts = (failure.headline, look, f"run it again: {failure.command}")
    return "\n".join(filter(None, parts))


def _suite(end: RunEnd) -> Suite:
    """A case for each profile: their names are the same in every run."""
    reports: dict[str, list[FailureRecord]] = {}
    for failure in end.record.failures:
        reports.setdefault(failure.profile, []).append(failure)
    identity = end.protocol.identity
    cases = [
        _case(identity.name, profile, record, reports.get(profile, ()))
        for profile, record in sorted(end.record.profiles.items())
    ]
    properties = {
        "protocol": f"{identity.name} ({identity.digest})",
        "seed": str(end.seed),
        "engine": end.engine,
        "version": end.version,
        "episodes": str(end.totals.episodes),
        "legs": str(end.totals.legs),
    }
    error = "" if end.complete else end.word
    return Suite(f"gpu-tester {identity.name}", cases, end.seconds, properties, error)


def _case(
    protocol: str, profile: str, record: ProfileRecord, reports: Sequence[FailureRecord]
) -> Case:
    failed = sum(record.failed.values())
    counted = f"{record.legs - failed} of {record.legs} legs passed"
    if not failed:
        return Case(protocol, profile, output=counted)
    kinds = [f"{times} x {kind}" for kind, times in record.failed.items()]
    text = "\n\n".join([*(each.report for each in reports), "\n".join([counted, *kinds])])
    first = next(iter(record.failed))
    headline = reports[0].headline if reports else first
    return Case(protocol, profile, Fault(first.split()[0], headline, text))


def _table(end: RunEnd) -> dict[str, object]:
    identity = end.protocol.identity
    return {
        "schema": SCHEMA,
        "version": end.version,
        "protocol": asdict(identity),
        "seed": end.seed,
        "engine": end.engine,
        "status": end.status,
        "verdict": end.word,
        "seconds": round(end.seconds, 3),
        "totals": asdict(end.totals),
        "coverage": {
            name: {"defined": machine.defined, "hit": machine.hit}
            for name, machine in end.coverage.machines.items()
        },
        "profiles": {name: asdict(each) for name, each in sorted(end.record.profiles.items())},
        "failures": [
            {**asdict(failure), "place": asdict(failure.place(end.protocol))}
            for failure in end.record.failures
        ],
    }
