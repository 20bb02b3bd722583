"""A profile as tables for people, and as a picture for Perfetto (Trace Event format).

Invariant: one cycle of the model is one microsecond of the picture; a track shows one wave at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gpu.compute_unit.program.profile import MOST_EVENTS, Profile, Site
from slicc.text.data import json_text

_MOST_SITES: Final = 20
_REASONS: Final = 3
_HEADS: Final = ("issues", "lanes", "stalled", "%", "latency", "longest", "hits", "misses")


def profile_lines(profile: Profile) -> Iterator[str]:
    """By line of the source, then the instructions with most stalls, and the loads that missed."""
    sites = profile.sites
    lines = sorted(profile.lines(), key=lambda site: -site.stalled)
    whole = sum(site.stalled for site in sites)
    yield from _table("by line", [(site.line, site) for site in lines[:_MOST_SITES]], whole)
    waited = sorted(
        (site for site in sites if site.stalled), key=lambda site: (-site.stalled, site.address)
    )
    yield from _table("by instruction", _named(waited), whole)
    more = max(0, len(waited) - _MOST_SITES)
    yield f"{more:,} more that waited, {len(sites) - len(waited):,} that did not"
    loads = sorted((site for site in sites if site.loads), key=lambda site: -site.misses)
    if loads:
        yield from _table("loads", _named(loads), whole)
        if len(loads) > _MOST_SITES:
            yield f"{len(loads) - _MOST_SITES:,} more with fewer misses"


def _named(sites: Sequence[Site]) -> list[tuple[str, Site]]:
    return [
        (f"{site.address:#x} {site.text}{site.line and f' ({site.line})'}", site)
        for site in sites[:_MOST_SITES]
    ]


def _table(title: str, rows: Sequence[tuple[str, Site]], whole: int) -> Iterator[str]:
    width = max([len(title), *(len(name) for name, _ in rows)])
    heads = " ".join(f"{head:>9}" for head in _HEADS)
    yield f"{title:<{width}} {heads}  waits for (cycles)"
    for name, site in rows:
        numbers = (
            f"{site.issues:,}",
            f"{site.lanes / site.issues:.1f}" if site.issues else "",
            f"{site.stalled:,}",
            f"{100 * site.stalled / whole:.1f}" if whole else "",
            f"{site.latency / site.accesses:,.0f}" if site.accesses else "",
            f"{site.longest:,}" if site.accesses else "",
            f"{site.hits:,}" if site.loads else "",
            f"{site.misses:,}" if site.loads else "",
        )
        reasons = ", ".join(
            f"{reason} {cycles:,}" for reason, cycles in site.stalls.most_common(_REASONS) if cycles
        )
        yield f"{name:<{width}} {' '.join(f'{each:>9}' for each in numbers)}  {reasons}".rstrip()


def trace_events(profile: Profile) -> str:
    """A document in the Trace Event format: a process a compute unit, a track a slot for waves;
    accesses, which overlap, as asynchronous slices. Processes and threads count from 1: viewers
    take those of number 0 for an idle machine."""
    tracks = sorted({each.track for each in profile.intervals})
    events = [_name("process_name", unit, 0, f"CU {unit}") for unit in dict(tracks)]
    events += [_name("thread_name", unit, slot, f"wave slot {slot}") for unit, slot in tracks]
    for number, each in enumerate(profile.intervals):
        event: dict[str, Any] = {**_ids(*each.track), "name": each.name, "cat": each.kind}
        known: dict[str, Any] = {"line": each.line} if each.line else {}
        if each.hits or each.misses:
            known |= {"hits": each.hits, "misses": each.misses}
        event |= {"args": known} if known else {}
        if each.kind == "access":
            events.append(event | {"ph": "b", "id": number, "ts": each.start})
            events.append(event | {"ph": "e", "id": number, "ts": each.end})
        else:
            events.append(event | {"ph": "X", "ts": each.start, "dur": each.end - each.start})
    other = {"cycle": "1 us", "intervals left out": profile.dropped, "most": MOST_EVENTS}
    return json_text({"traceEvents": events, "otherData": other}, compact=True) + "\n"


def _ids(unit: int, slot: int) -> dict[str, Any]:
    return {"pid": unit + 1, "tid": slot + 1}


def _name(what: str, unit: int, slot: int, name: str) -> dict[str, Any]:
    return {"ph": "M", **_ids(unit, slot), "name": what, "args": {"name": name}}
