"""Several native searches that work on one level in threads, each with a system of its own.

Native code runs without Python's lock, so threads are enough. Invariant: between two calls of
`run` no thread works, and the leader has everything that was found up to the last whole level.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType

from tester.exploration.native_search import NativeSearch, SearchStatistics
from tester.exploration.native_words import SearchEnd


class JointSearch:
    """A leader, and helpers, one a job, which ``create`` makes; with one job it runs alone."""

    def __init__(self, create: Callable[[], NativeSearch], jobs: int) -> None:
        with ExitStack() as opened:
            self.leader = opened.enter_context(create())
            self._helpers = [opened.enter_context(create()) for _ in range(jobs if jobs > 1 else 0)]
            for helper in self._helpers:
                helper.help(self.leader)
            self._pool = opened.enter_context(ThreadPoolExecutor(jobs))
            self._opened = opened.pop_all()

    def __enter__(self) -> JointSearch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.close()

    def run(self, budget: int) -> tuple[SearchEnd, SearchStatistics]:
        """Expand at most so many states in each thread, of one level if there are several."""
        if not self._helpers:
            return self.leader.run(budget)
        working = [self._pool.submit(helper.work, budget) for helper in self._helpers]
        try:
            ends = [each.result() for each in working]
        except BaseException:
            for each in working:
                each.exception()  # nothing is merged while a thread works
            self.leader.level(self._helpers, complete=False)
            raise
        return self.leader.level(self._helpers, complete=set(ends) == {SearchEnd.COMPLETE})
