"""A coalescer behind a hand-written controller, with two clients."""

from __future__ import annotations

from typing import Any

from runtime.requesters.coalescer import VIPERCoalescer
from runtime.requesters.port import Access, AccessKind
from runtime.sim.engine import Engine
from tests.runtime.requesters.requester_kit import LINE, FakeCache, Mini, OneLevelMemory, Recorder

LOAD, STORE, ATOMIC = AccessKind.LOAD, AccessKind.STORE, AccessKind.ATOMIC


class Bench:
    """One coalescer, its controller and two clients."""

    def __init__(self, cache: FakeCache | None = None, **options: Any) -> None:
        self.engine = Engine()
        self.mini = Mini(self.engine)
        caches: Any = (cache,) if cache is not None else ()
        options.setdefault("coalesces_per_cycle", 8)
        self.coalescer = VIPERCoalescer("gpu", 0, 64, LINE, caches=caches, **options)
        self.mini.serve(self.coalescer)
        self.client = Recorder(self.engine)
        self.other = Recorder(self.engine, "other")

    def issue(self, kind: int, addresses: list[int] = [], **fields: Any) -> bool:  # noqa: B006
        fields.setdefault("tag", 0)
        return self.client.issue(
            self.coalescer, Access(kind, self.client, addresses=addresses, **fields)
        )

    def run(self, until: int | None = None) -> list[tuple[Any, ...]]:
        self.engine.run(until)
        return self.client.answers

    def serve(self) -> OneLevelMemory:
        self.mini.on_message = memory = OneLevelMemory(self.coalescer)
        return memory
