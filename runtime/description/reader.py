"""From checked tables to the pieces of a system description, and back to plain values.

Invariant: ``read_...(plain_...(piece)) == piece``; whatever a table says that no piece has is an
error that names it.
"""

from __future__ import annotations

from dataclasses import fields

from runtime.description.origin import Table
from runtime.description.parts import (
    AgentsDescription,
    BufferDescription,
    CacheDescription,
    DefectDescription,
    DerivedParameter,
    HandoverDescription,
    MachineDescription,
    RequesterDescription,
    Scalar,
)

MAX_COUNT = 64
MAX_LATENCY = 1 << 20
MAX_ENTRIES = 1 << 20
MAX_LANES = 64
MAX_WAVEFRONTS = 256

DELAYS = ("nominal", "uniform", "heavy_tail", "gem5", "skewed", "stragglers")
REPLACEMENTS = ("tree_plru", "lru")
REQUESTER_CLASSES = ("Sequencer", "VIPERCoalescer", "GPUCoalescer", "HTMSequencer", "DMASequencer")
AGENT_KINDS = ("gpu", "cpu", "dma")
LEFT_OUT = ("stores", "flush", "instructions", "scopes")
"""What agents may go without: storing, flushing lines, fetching instructions, bypassing caches
(which one group decides for all)."""
GIVER_STEPS = ("release", "flush")
TAKER_STEPS = ("acquire", "invalidate_l2")


def read_machine(table: Table) -> MachineDescription:
    parameters = table.table("parameters")
    values: dict[str, Scalar] = {}
    for name in parameters.data:
        value = parameters.scalar(name)
        if value is None:  # TOML has no null, but a replay file's header may
            raise parameters.error(name, "expected a value")
        values[name] = value
    machine = MachineDescription(
        of=table.string("of"),
        count=table.integer("count", 0, MAX_COUNT),
        as_many_as=table.string("as_many_as"),
        interleaved=table.boolean("interleaved"),
        parameters=values,
        derived={name: _read_derived(t) for name, t in table.tables("derived").items()},
        caches={name: _read_cache(t) for name, t in table.tables("cache").items()},
        buffers={name: _read_buffer(t) for name, t in table.tables("buffer").items()},
        downstream=table.strings("downstream") or (),
        upstream=table.strings("upstream") or (),
    )
    table.finish()
    return machine


def _read_derived(table: Table) -> DerivedParameter:
    given = DerivedParameter()
    derived = DerivedParameter(
        count=table.string("count"),
        parameter=table.string("parameter"),
        times=or_default(table.integer("times", 1, 1 << 20), given.times),
        plus=or_default(table.integer("plus", -(1 << 20), 1 << 20), given.plus),
    )
    table.finish()
    if (derived.count is None) == (derived.parameter is None):
        raise table.error("count", 'expected one of count = "Machine", parameter = "Machine.name"')
    if derived.parameter is not None and derived.parameter.count(".") != 1:
        raise table.error("parameter", "expected machine.parameter")
    return derived


def _read_cache(table: Table) -> CacheDescription:
    given = CacheDescription()

    def count(name: str, low: int, high: int, default: int) -> int:
        return or_default(table.integer(name, low, high), default)

    cache = CacheDescription(
        sets=or_default(table.integer("sets", 1, MAX_ENTRIES, power_of_two=True), given.sets),
        ways=count("ways", 1, 1 << 10, given.ways),
        replacement=table.string("replacement", REPLACEMENTS) or given.replacement,
        start_index_bit=table.integer("start_index_bit", 0, 48),
        tag_latency=count("tag_latency", 0, MAX_LATENCY, given.tag_latency),
        data_latency=count("data_latency", 0, MAX_LATENCY, given.data_latency),
        resource_stalls=table.boolean("resource_stalls") or False,
        tag_banks=count("tag_banks", 1, 1 << 10, given.tag_banks),
        data_banks=count("data_banks", 1, 1 << 10, given.data_banks),
        atomic_alus=count("atomic_alus", 1, 1 << 16, given.atomic_alus),
        atomic_latency=count("atomic_latency", 0, MAX_LATENCY, given.atomic_latency),
    )
    table.finish()
    if cache.sets * cache.ways > MAX_ENTRIES:
        raise table.error("sets", f"sets * ways is more than {MAX_ENTRIES} lines")
    if cache.replacement == "tree_plru" and cache.ways & (cache.ways - 1):
        raise table.error("ways", "tree_plru needs a power of two; lru takes any number")
    return cache


def _read_buffer(table: Table) -> BufferDescription:
    randomized = table.boolean("randomized")
    buffer = BufferDescription(
        ordered=table.boolean("ordered") or False,
        capacity=or_default(table.integer("capacity", 0, MAX_ENTRIES), 0),
        latency=table.integer("latency", 1, MAX_LATENCY),
        randomized=True if randomized is None else randomized,
        joined=table.string("joined"),
    )
    table.finish()
    if buffer.joined is not None and buffer.joined.count(".") != 1:
        raise table.error("joined", "expected machine.buffer")
    return buffer


def read_requester(table: Table) -> RequesterDescription:
    machine = table.string("machine")
    if machine is None:
        raise table.error("machine", "required: the machine this requester drives")
    requester = RequesterDescription(
        machine=machine,
        parameter=table.string("parameter"),
        class_name=table.string("class", REQUESTER_CLASSES),
        queue=table.string("queue"),
        caches=table.strings("caches"),
        walk=table.boolean("walk"),
        invalidates=table.string("invalidates"),
        context=table.integer("context", 0, 1 << 16),
        fetch=table.boolean("fetch") or False,
        tokens=table.integer("tokens", 1, 1 << 16),
        outstanding=table.integer("outstanding", 1, 1 << 16),
        coalesces_per_cycle=or_default(table.integer("coalesces_per_cycle", 1, 1 << 10), 1),
        one_request_per_lane=table.boolean("one_request_per_lane") or False,
    )
    table.finish()
    return requester


def read_agents(table: Table) -> AgentsDescription:
    requester = table.string("requester")
    if requester is None:
        raise table.error("requester", "required: the requester these agents use")
    agents = AgentsDescription(
        requester=requester,
        kind=table.string("kind", AGENT_KINDS),
        wavefronts=or_default(table.integer("wavefronts", 1, MAX_WAVEFRONTS), 1),
        lanes=table.integer("lanes", 1, MAX_LANES),
        without=table.strings("without", LEFT_OUT) or (),
    )
    table.finish()
    return agents


def read_defects(table: Table) -> tuple[DefectDescription, ...]:
    read = []
    for row in _rows(table, "defect"):
        what = row.string("what")
        if what is None:
            raise row.error("what", "required: what goes wrong")
        avoid = row.table("avoid")
        said = {
            path: avoid.strings(path) if isinstance(value, list | tuple) else avoid.scalar(path)
            for path, value in avoid.data.items()
        }
        values = {path: value for path, value in said.items() if value is not None}
        where = row.string("where") or ""
        needs = _cells(row, "needs", "Machine.STATE.EVENT or Machine.STATE.EVENT.action", 4)
        lacks = _cells(row, "lacks", "Machine.STATE.EVENT", 3)
        read.append(DefectDescription(what, where, values, needs, lacks))
        row.finish()
    return tuple(read)


def _cells(row: Table, field: str, form: str, most: int) -> tuple[str, ...]:
    """Places in tables of transitions, of three to ``most`` names."""
    cells = row.strings(field) or ()
    for cell in cells:
        if not all(cell.split(".")) or not 3 <= len(cell.split(".")) <= most:
            raise row.error(field, f"{cell}: expected {form}")
    return cells


def _rows(table: Table, name: str) -> list[Table]:
    """The tables of an array of tables."""
    items = table.take(name)
    if items is None:
        return []
    if not isinstance(items, list | tuple) or len(items) > 256:
        raise table.error(name, f"expected at most 256 tables [[{name}]]")
    return [
        Table(item, (*table.path, name, position), table.origin)
        for position, item in enumerate(items)
    ]


def read_handovers(table: Table) -> tuple[HandoverDescription, ...]:
    read = []
    for row in _rows(table, "handover"):
        giver, taker = row.string("giver"), row.string("taker")
        if giver is None or taker is None:
            raise row.error("taker" if giver else "giver", "required: a group of agents")
        given = HandoverDescription(giver, taker)
        allowed = row.boolean("allowed")
        giver_steps = row.strings("giver_steps", GIVER_STEPS)
        taker_steps = row.strings("taker_steps", TAKER_STEPS)
        read.append(
            HandoverDescription(
                giver=giver,
                taker=taker,
                scope=row.string("scope") or "",
                allowed=True if allowed is None else allowed,
                giver_steps=given.giver_steps if giver_steps is None else giver_steps,
                taker_steps=given.taker_steps if taker_steps is None else taker_steps,
            )
        )
        row.finish()
    return tuple(read)


# ------------------------------------------------------------------ to plain values

_RENAMED = {"class_name": "class"}


def plain(value: object) -> dict[str, object]:
    """The fields that differ from nothing: None is left out, tuples become lists."""
    data: dict[str, object] = {}
    for item in fields(value):  # type: ignore[arg-type]
        content = getattr(value, item.name)
        if content is not None:
            plain = list(content) if isinstance(content, tuple) else content
            data[_RENAMED.get(item.name, item.name)] = plain
    return data


def plain_machine(machine: MachineDescription) -> dict[str, object]:
    """A machine as plain values, in the shape of the TOML."""
    data: dict[str, object] = {
        "of": machine.of,
        "count": machine.count,
        "as_many_as": machine.as_many_as,
        "interleaved": machine.interleaved,
        "downstream": list(machine.downstream),
        "upstream": list(machine.upstream),
        "parameters": dict(machine.parameters),
        "derived": {name: plain(derived) for name, derived in machine.derived.items()},
        "cache": {name: plain(cache) for name, cache in machine.caches.items()},
        "buffer": {name: plain(buffer) for name, buffer in machine.buffers.items()},
    }
    return {
        name: value for name, value in data.items() if value is not None and value not in ([], {})
    }


def plain_defect(defect: DefectDescription) -> dict[str, object]:
    """A known defect as plain values."""
    avoid = {
        path: list(value) if isinstance(value, tuple) else value
        for path, value in defect.avoid.items()
    }
    cells = {"needs": list(defect.needs), "lacks": list(defect.lacks)}
    said = {name: value for name, value in cells.items() if value}
    return {"what": defect.what, "where": defect.where, **said, "avoid": avoid}


def or_default(value: int | None, default: int) -> int:
    return default if value is None else value
