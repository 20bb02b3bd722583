"""The table of one machine as one function: a switch over state and event.

Invariant: the steps and their order are those of ``trigger`` of the Python runtime: state, row,
computed next state, slots by name, request types by name, records, stall, actions, count,
``setState``, ``setAccessPermission``, observers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.cpp import reachable_functions
from slicc.codegen.cpp.acts import Acts
from slicc.codegen.cpp.emit.emitter import Emitter
from slicc.codegen.cpp.emit.scope import MachineFacts
from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.names import MachineNames, ProtocolNames, Scope
from slicc.codegen.cpp.runtime_names import ALIASES
from slicc.codegen.python.line_map import file_name
from slicc.codegen.python.names import MachineNames as ReportedNames
from slicc.text import cpp_source
from slicc.text.lazy_dataclass import dataclass

_FAILS = Acts.FAILS | Acts.NULLS
_CURRENT = frozenset({"curTransitionEvent", "curTransitionNextState"})


@dataclass(frozen=True, slots=True)
class TableParts:
    """What a table is written from. ``numbers``: functions as actions of reports."""

    names: ProtocolNames
    own: MachineNames
    reported: ReportedNames
    facts: MachineFacts
    machine: ir.Machine
    numbers: Mapping[ir.FunctionRef | ir.ActionRef, int]


class Transitions:
    """Writes the table."""

    selector = "state * STRIDE + event"
    """The number of the row to run."""

    def __init__(self, parts: TableParts) -> None:
        machine, facts = parts.machine, parts.facts
        self.names = parts.names
        self.own = parts.own
        self.reported = parts.reported
        self.facts = facts
        self.machine = machine
        self.numbers = parts.numbers
        types = {each.name: each.type for each in machine.parameters}
        types |= {each.name: each.type for each in machine.objects}
        self.classes = {
            name: type_.name for name, type_ in types.items() if isinstance(type_, ir.ClassType)
        }
        self._sets = self._request_sets()
        self.buffers = {ref.name: buffer for ref, buffer in facts.buffers.items()}

    def texts(self) -> Iterator[str]:
        yield from self._arrays()
        yield from self.stalls()
        yield from self.changed()
        yield self.trigger()

    def stalls(self) -> Iterator[str]:
        yield self._stall("resource_stall", lambda port: port.resource_stall_handler)
        yield self._stall("protocol_stall", lambda port: port.protocol_stall_handler)

    # -------------------------------------------------------------- calls of the machine

    def _function(self, name: str) -> ir.Function:
        function = reachable_functions.by_name(self.machine, name)
        if function is None:
            raise Unsupported(f"machines without `{name}`", self.machine.span)
        return function

    def _call(self, name: str, arguments: list[str]) -> tuple[str, str]:
        """A statement to run before a call of a function that the runtime calls, and the call."""
        function = self._function(name)
        call = f"{self.own.functions[function.ref.name]}({', '.join(['x', 'c', *arguments])})"
        number = self.numbers[function.ref]
        risky = self.facts.acts[function.ref] & _FAILS
        return (f"x.action = {number};" if risky else ""), call

    def _stall(self, name: str, handler_of: object) -> str:
        out = Emitter()
        assert callable(handler_of)
        with out.block(f"inline COLD bool {name}(Context& x, Machine& c, u32 polling)"):
            out.line("count_stall(c.machine);")
            for port in self.machine.in_ports:
                handler: ir.FunctionRef | None = handler_of(port)
                if handler is not None:
                    poll = self.own.polls[port.ref.name]
                    with out.block(f"if (c.current == Port::{poll})"):
                        out.line(f"x.action = {self.numbers[handler]};")
                        out.line(f"if ({self.own.functions[handler.name]}(x, c)) return true;")
            out.line("controller_stalled(x, c);")
            out.line("x.action = polling;")
            out.line("return false;")
        return out.text()

    # -------------------------------------------------------------- the table

    def _pointers(self) -> list[tuple[str, str]]:
        named = [("cache_entry", self.machine.entry), ("tbe", self.machine.tbe)]
        return [(name, self.names.type(ref)) for name, ref in named if ref is not None]

    def trigger(self) -> str:
        out = Emitter()
        pointers = self._pointers()
        given = ["i32 event", "u64 address", *[f"{type_}* {name}" for name, type_ in pointers]]
        head = f"inline bool trigger(Context& x, Machine& c, {', '.join(given)})"
        asked = [*[name for name, _ in reversed(pointers)], "address"]
        out.comment("Run the transition of the line's state on an event; false if it stalled.")
        with out.block(head):
            out.line("const u32 polling = x.action;")
            out.line("x.address = address;")
            out.line("x.event = event;")
            before, call = self._call("getState", asked)
            self._step(out, before, f"const i32 state = {call};")
            out.line("if (UNLIKELY(troubled(x))) return true;")
            out.line("x.state = state;")
            if self._asks_for_current():
                out.line("c.transition_state = state;")
                out.line("c.transition_event = event;")
            handed = ", ".join(["address", *[name for name, _ in pointers]])
            out.line(f"Transaction t = {{{handed}}};")
            with out.block("if constexpr (CHANGES)"):
                out.line("const bool changes = changed_here(x, c.machine, cell(state, event));")
                out.line("if (changes) return changed(x, c, t, state, event, polling);")
            out.line("i32 next = state;")
            with out.block(f"switch ({self.selector})"):
                self.rows(out)
                out.line("default:")
                out.line("    return undefined_transition(x, State::NUM, Event::NUM);")
            self._end(out)
        return out.text()

    def _end(self, out: Emitter) -> None:
        """What follows the actions."""
        out.line("if (UNLIKELY(troubled(x))) return true;")
        out.line("x.counts[c.counts + static_cast<u32>(state * STRIDE + event)]++;")
        self._conclude(out)
        out.line("if (UNLIKELY(troubled(x))) return true;")
        out.line("observe(x, c, address, state, event, next);")
        out.line("return true;")

    # -------------------------------------------------------------- a row that is changed

    def changed(self) -> Iterator[str]:
        """The row that a run is handed in place of one of the table: see row_change.hpp."""
        yield self._acts()
        out = Emitter()
        given = "Context& x, Machine& c, Transaction& t, i32 state, i32 event, u32 polling"
        out.comment("Run the changed row; false if it stalled.")
        with out.block(f"inline COLD bool changed({given})"):
            out.line("const RowChange& change = *x.change;")
            out.line("[[maybe_unused]] const u64 address = t.address;")
            out.line("i32 next = static_cast<i32>(change.next);")
            if any(row.next.kind is ir.NextKind.COMPUTED for row, _ in self._alike()):
                before, call = self._call("getNextState", ["address"])
                out.line(f"if (change.next == NEXT_COMPUTED) {{ {before} next = {call}; }}")
            self._guards(out)
            out.line("change_used(x);")
            out.line("for (u64 i = 0; i < change.actions; i++) act(x, c, t, change.action[i]);")
            self._end(out)
        yield out.text()

    def _acts(self) -> str:
        out = Emitter()
        rows = [row for row, _ in self._alike() if not row.stalls]
        actions = dict.fromkeys(action for row in rows for action in row.actions)
        out.comment("An action by its number: that of its first use, cell by cell.")
        head = "inline COLD void act(Context& x, Machine& c, Transaction& t, u64 number)"
        with out.block(head), out.block("switch (number)"):
            for number, action in enumerate(actions):
                out.line(f"case {number}: {self._run(action)} break;")
        return out.text()

    def _guards(self, out: Emitter) -> None:
        """What may hold the row back is what holds back another row."""
        held = [
            each
            for each in self._alike()
            if each[0].needs or each[0].stalls or each[0].request_types
        ]
        if not held:
            return
        with out.block("switch (change.guard)"):
            for row, cells in held:
                for cell in cells:
                    out.line(f"case {self.cell(cell)}:")
                with out.indented():
                    self._needs(out, row)
                    self._requests(out, row)
                    out.line("return protocol_stall(x, c, polling);" if row.stalls else "break;")

    @staticmethod
    def _step(out: Emitter, before: str, call: str) -> None:
        out.line(f"{before} {call}" if before else call)

    def _asks_for_current(self) -> bool:
        bodies = (self.machine.functions, self.machine.actions, self.machine.in_ports)
        return any(
            isinstance(node, ir.CallBuiltin) and node.name in _CURRENT
            for node in body_analysis.walk(bodies)
        )

    def rows(self, out: Emitter) -> None:
        for transition, alike in self._alike():
            place = f"{file_name(transition.span)}:{transition.span.line}"
            for index, cell in enumerate(alike):
                note = cpp_source.beside(place) if index == 0 else ""
                out.line(f"case {self.cell(cell)}:{note}")
            with out.indented():
                self.row(out, transition)

    def _alike(self) -> list[tuple[ir.Transition, list[ir.Cell]]]:
        """Each row that is used, with its cells."""
        cells: dict[int, list[ir.Cell]] = {}
        for cell in self.machine.cells:
            cells.setdefault(cell.transition, []).append(cell)
        return [(self.machine.transitions[number], alike) for number, alike in cells.items()]

    def cell(self, cell: ir.Cell) -> str:
        """The number of a cell's row."""
        state = self.names.member(self.machine.states.ref, cell.state)
        event = self.names.member(self.machine.events.ref, cell.event)
        return f"cell(State::{state}, Event::{event})"

    def row(self, out: Emitter, node: ir.Transition) -> None:
        match node.next:
            case ir.NextState(kind=ir.NextKind.COMPUTED):
                before, call = self._call("getNextState", ["address"])
                self._step(out, before, f"next = {call};")
            case ir.NextState(kind=ir.NextKind.STATE, state=str(state)):
                out.line(f"next = State::{self.names.member(self.machine.states.ref, state)};")
            case _:
                pass
        self._needs(out, node)
        self._requests(out, node)
        if node.stalls:
            out.line("return protocol_stall(x, c, polling);")
            return
        for action in node.actions:
            out.line(self._run(action))
        out.line("break;")

    def _run(self, action: ir.ActionRef) -> str:
        call = f"{self.own.actions[action.name]}(x, c, t);"
        number = self.numbers.get(action)
        return call if number is None else f"x.action = {number}; {call}"

    def _needs(self, out: Emitter, node: ir.Transition) -> None:
        targets = [(self.reported.slot_target(each.target), each) for each in node.needs]
        for _, need in sorted(targets, key=lambda target: target[0]):
            name = self.buffers.get(need.target, need.target)
            kind = self.classes.get(name, "")
            if name in self.facts.senders:
                kind = "NetworkPort"
            kind = ALIASES.get(kind, kind)
            if kind not in ("NetworkPort", "MessageBuffer", "TBETable", "TBEStorage"):
                raise Unsupported(f"slots of class `{kind}`", node.span)
            target = f"c.{self.own.objects.get(name, name)}"
            free = f"{kind}_areNSlotsAvailable(x, {target}, {need.count})"
            out.line(f"if (!{free}) return resource_stall(x, c, polling);")

    # -------------------------------------------------------------- request types

    def _requests(self, out: Emitter, node: ir.Transition) -> None:
        if not self._asks(node):
            return
        name = self._sets[node.request_types]
        asked = "c.arrays && " if body_analysis.resources_only_caches(self.machine) else ""
        taken = f"take_arrays(x, c, address, Requested::{name})"
        out.line(f"if ({asked}!{taken}) return resource_stall(x, c, polling);")

    def _asks(self, node: ir.Transition) -> bool:
        return bool(node.request_types) and self.machine.request_types is not None

    def _request_sets(self) -> dict[tuple[str, ...], str]:
        """Every list of request types of the rows, with a name for it."""
        scope = Scope()
        rows = [self.machine.transitions[cell.transition] for cell in self.machine.cells]
        lists = dict.fromkeys(row.request_types for row in rows if self._asks(row))
        return {each: scope.claim("_and_".join(each)) for each in lists}

    def _arrays(self) -> Iterator[str]:
        """Code that takes request types: all are checked by name, then recorded as written."""
        owner = self.machine.request_types
        if not self._sets or owner is None:
            return
        out = Emitter()
        most = max(len(each) for each in self._sets)
        with out.block("struct Requests", tail="};"):
            out.line("u32 asked_count;")
            out.line("u32 recorded_count;")
            out.line(f"i32 asked[{most}];")
            out.line(f"i32 recorded[{most}];")
        out.line("")
        out.comment("Request types of a transition: by name, and as written.")
        with out.block("namespace Requested"):
            for each, name in self._sets.items():
                members = {
                    request: f"{self.names.type(owner.ref)}::"
                    f"{self.names.member(owner.ref, request)}"
                    for request in each
                }
                asked = [members[request] for request in sorted(members)]
                recorded = [members[request] for request in each]
                value = f"{{{len(asked)}, {len(recorded)}, {{{', '.join(asked)}}}, "
                value += f"{{{', '.join(recorded)}}}}}"
                out.line(f"inline constexpr Requests {name} = {value};")
        yield out.text()
        yield self.take_arrays()

    def take_arrays(self) -> str:
        """The function that takes request types; empty if no row has any."""
        if not self._sets or self.machine.request_types is None:
            return ""
        out = Emitter()
        head = "Context& x, Machine& c, u64 address, const Requests& requests"
        out.comment("Take the arrays that a transition needs; false if one of them is busy.")
        with out.block(f"inline COLD bool take_arrays({head})"):
            with out.block("for (u32 i = 0; i < requests.asked_count; i++)"):
                arguments = ["requests.asked[i]", "address"]
                before, call = self._call("checkResourceAvailable", arguments)
                self._step(out, before, f"if (!{call}) return false;")
            with out.block("for (u32 i = 0; i < requests.recorded_count; i++)"):
                arguments = ["requests.recorded[i]", "address"]
                before, call = self._call("recordRequestType", arguments)
                self._step(out, before, f"{call};")
            out.line("return true;")
        return out.text()

    def _conclude(self, out: Emitter) -> None:
        """State and permission, with the pointers as the actions left them."""
        pointers = [f"t.{name}" for name, _ in reversed(self._pointers())]
        before, call = self._call("setState", [*pointers, "address", "next"])
        self._step(out, before, f"{call};")
        entry = ["t.cache_entry"] if self.machine.entry is not None else []
        before, call = self._call("setAccessPermission", [*entry, "address", "next"])
        self._step(out, before, f"{call};")
