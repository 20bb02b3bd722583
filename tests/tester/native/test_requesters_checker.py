"""The native checker judges any history as the Python one does, sensible or not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from runtime.prng import Prng, initial_byte
from runtime.requesters.port import AccessKind
from tester.execution.checker import Checker
from tester.execution.events import Request, Role, Verdict
from tester.program.program import CONTINUES, LOAD, QUIET
from tests.sampling import sampled
from tests.tester.native.requesters_scenario import RequesterScenario
from tests.tester.native.requesters_twin import NativeRun

WHAT = ("loaded", "accepted", "completed", "returned", "synchronized")


class History:
    """Draws events that mostly make sense, and reports them to both checkers."""

    def __init__(self, seed: int) -> None:
        self.prng = Prng(seed)
        self.wild = (0, 0, 1, 5)[self.prng.below(4)]
        """Percent of the events that make no sense."""
        self.odd = self.prng.below(3)
        """Percent of the loads and fetch-adds that return something else."""
        scenario = RequesterScenario.draw(seed, episodes=30)
        self.program = program = scenario.program
        self.heads = np.flatnonzero(program.action_scope & CONTINUES == 0).tolist()
        self.native = NativeRun(scenario)
        self.native.add_driver(program, Role.ACTION, 0, steps=False)
        self.checker = Checker(64, self.initial, lambda: None)
        self.tick = 1
        self.native("t_now", self.tick)
        self.identity = 0
        self.open: list[tuple[Request, int]] = []
        self.memory: dict[int, int] = {}

    def initial(self, address: int) -> int:
        return sum(initial_byte(self.program.run_key, address + i) << 8 * i for i in range(4))

    def some(self, percent: int) -> bool:
        return self.prng.below(100) < percent

    def step(self) -> None:
        if self.some(50):
            self.tick += 1 + self.prng.below(4)
            self.native("t_now", self.tick)
        if self.some(30) or not self.open:
            self.issue()
        elif self.some(2):
            limit = 60 + self.prng.below(600)
            self.native("t_overdue", limit)
            self.checker.overdue(self.tick, limit)
        else:
            self.answer()

    def issue(self) -> None:
        program = self.program
        episode = self.prng.below(program.episodes)
        agent = int(program.episode_thread[episode])
        kind = self.prng.below(5)
        place, scope, role = 0, 0, Role.ACTION
        request = Request(self.identity + 1, agent, episode, role, kind, [], [], 4, [], [])
        if kind <= AccessKind.STORE:
            place = self.prng.below(len(self.heads))
            row = self.heads[place]
            request.kind = kind = int(program.action_kind[row])
            lanes = [i for i, a in enumerate(program.lane_address[row].tolist()) if a >= 0]
            request.addresses = program.lane_address[row, lanes].tolist()
            request.expected = program.expected[row, lanes].tolist()
            request.values = [0] * len(lanes)
            request.size = int(program.action_size[row])
            for piece in range(row + 1, [*self.heads, program.actions][place + 1]):
                (expected,) = program.expected[piece, lanes].tolist()
                request.add_piece(int(program.action_size[piece]), 0, expected)
            if kind == LOAD and self.some(10):
                request.role = role = Role.RACING_LOAD
            if kind == AccessKind.ATOMIC:
                request.op = int(program.action_op[row])
                request.scope = scope = int(program.action_scope[row]) & QUIET
        elif kind == AccessKind.ATOMIC:
            first = self.native.kept[0].arrays["first_word"]  # type: ignore[attr-defined]
            # An agent has at most one instruction of fetch-adds on its way.
            busy = {r.agent for r, _ in self.open if r.role == Role.OPEN}
            if first[episode] == first[episode + 1] or agent in busy:
                return
            place = episode
            request.role = role = Role.OPEN
            groups = program.episode_group[episode]
            request.addresses = program.group_word[groups[groups >= 0]].tolist()
            request.scope = scope = QUIET if self.some(50) else 0
        request.lanes = list(range(len(request.addresses)))
        self.identity += 1
        request.issued = self.tick
        self.checker.issued(request, self.tick)
        index = self.native("t_issued", agent, role, kind, place, scope)
        self.open.append((request, index))

    def answer(self) -> None:
        place = self.prng.below(len(self.open))
        request, index = self.open[place]
        sensible = not self.some(self.wild)
        addresses = request.addresses
        entry = self.checker._open.get(request.identity)
        if entry is None:
            if sensible:
                del self.open[place]
                return
            pending = 0
        else:
            pending = entry.pending or entry.uncompleted
        if sensible and request.kind == AccessKind.RELEASE and self.storing(request.agent):
            return
        what = {AccessKind.LOAD: 0, AccessKind.STORE: 1, AccessKind.ATOMIC: 3}.get(request.kind, 4)
        if request.kind == AccessKind.STORE and entry is not None and not entry.pending:
            what = 2
        if not sensible and self.some(50):
            what = self.prng.below(5) if request.kind <= AccessKind.ATOMIC else 4
        lanes = [i for i in range(len(addresses)) if pending >> i & 1]
        line = addresses[lanes[0]] & -64 if lanes else 0
        if request.role != Role.OPEN:
            lanes = [i for i in lanes if addresses[i] & -64 == line]
        if not sensible and addresses and self.some(50):
            lanes = [i for i in range(len(addresses)) if self.some(50)]
            lanes = lanes or [0]
        data = self.block(request, lanes, line, sensible)
        old = self.old_values(request, lanes, sensible)
        arguments: dict[int, tuple[Any, ...]] = {
            0: (lanes, line, int.from_bytes(data.tobytes(), "little")),
            1: (lanes, line),
            2: (lanes, line),
            3: (lanes, old),
            4: (),
        }
        if what == 3 and request.kind != AccessKind.ATOMIC:
            old = []
        getattr(self.checker, WHAT[what])(request, *arguments[what], self.tick)
        bits = sum(1 << i for i in lanes)
        values = np.array([*old, 0], np.uint64)
        self.native("t_answered", index, what, bits, line, data, values, len(old))

    def storing(self, agent: int) -> bool:
        entries = self.checker._open.values()
        return any(e.uncompleted and e.request.agent == agent for e in entries)

    def block(self, request: Request, lanes: list[int], line: int, sensible: bool) -> Any:
        data = np.zeros(1024, np.uint8)  # transfers are longer than a line
        for lane in lanes:
            offset = request.addresses[lane] - line
            if request.expected and 0 <= offset < 64:
                value = int(request.expected[lane])
                data[offset : offset + request.size] = list(value.to_bytes(request.size, "little"))
        if not sensible and self.some(50):
            data[self.prng.below(64)] ^= 1
        if lanes and self.some(self.odd):
            data[(request.addresses[lanes[0]] & 63) + self.prng.below(request.size)] ^= 1
        return data

    def old_values(self, request: Request, lanes: list[int], sensible: bool) -> list[int]:
        """Nearly what a memory would return that performs everything when it answers."""
        if request.kind != AccessKind.ATOMIC:
            return []
        old = []
        for lane in lanes:
            address = request.addresses[lane]
            count = self.memory.get(address, 0)
            value = self.initial(address) + count
            if request.role == Role.ACTION:
                value = request.expected[lane]
            if self.some(self.odd):
                value += (-16, -8, -1, 1, 99, 1 << 12, 1 << 29)[self.prng.below(7)]
            if request.role == Role.OPEN:
                self.memory[address] = count + 1
            old.append(value & ((1 << 8 * request.size) - 1))
        if request.quiet:
            return []
        if not sensible and self.some(10) and old:
            del old[0]
        return old


def compare(history: History) -> int:
    finding = history.checker.finding
    state = history.native.state()
    assert state["lane_accesses"] == history.checker.lane_accesses
    if finding is None:
        assert not state["verdict"]
        return 0
    request = finding.request
    assert request is not None
    expected = {
        "verdict": 1 + list(Verdict).index(finding.verdict),
        "tick": finding.tick,
        "identity": request.identity,
        "index": finding.index,
        "address": finding.address,
        "expected": finding.expected,
        "got": finding.got,
        "role": request.role,
        "kind": request.kind,
    }
    assert {name: state[name] for name in expected} == {
        name: value & (1 << 64) - 1 for name, value in expected.items()
    }
    return expected["verdict"]


SEEN: Counter[int] = Counter()


@pytest.mark.parametrize("seed", sampled(range(160), 10))
def test_histories_are_judged_alike(seed: int) -> None:
    history = History(seed)
    for _ in range(500):
        history.step()
        if compare(history):
            break
    else:
        history.native("t_finish")
        history.checker.finish(history.tick)
    SEEN[compare(history)] += 1


def test_every_verdict_has_been_seen() -> None:
    if sum(SEEN.values()) < 160:
        pytest.skip("needs all histories")
    named = {list(Verdict)[number - 1] for number in SEEN if number}
    assert named >= {
        Verdict.WRONG_VALUE,
        Verdict.ATOMIC_REPEATED,
        Verdict.ATOMIC_SKIPPED,
        Verdict.ATOMIC_FOREIGN,
        Verdict.ATOMIC_ORDER,
        Verdict.EARLY_RELEASE,
        Verdict.UNEXPECTED_RESPONSE,
        Verdict.HANG,
    }
