"""Arrays of a cache that can be busy.

Invariant: ``reserve`` is only called in a cycle in which ``is_free`` was true; anything else is
the protocol's mistake (a row that records an access which it did not check).
"""

from __future__ import annotations

from runtime.errors import ErrorKind, ProtocolError


class BankedArray:
    """Banks by set index modulo their number; each access keeps its bank for ``latency``."""

    __slots__ = ("_busy", "banks", "latency")

    def __init__(self, banks: int, latency: int) -> None:
        if banks < 1 or latency < 0:
            raise ValueError(f"{banks} banks with a latency of {latency} cycles")
        self.banks = banks
        self.latency = latency
        self._busy: dict[int, tuple[int, int, int]] = {}

    def is_free(self, index: int, now: int) -> bool:
        if not self.latency:
            return True
        busy = self._busy.get(index % self.banks)
        return busy is None or busy[1] < now

    def reserve(self, index: int, now: int) -> None:
        """Occupy the bank from ``now``; the same set again in one cycle is one access."""
        if not self.latency:
            return
        bank = index % self.banks
        busy = self._busy.get(bank)
        if busy is not None and busy[1] >= now:
            if busy[0] == now and busy[2] == index:
                return
            raise ProtocolError(ErrorKind.BANK_CONFLICT, f"bank {bank} is busy until {busy[1]}")
        self._busy[bank] = (now, now + self.latency - 1, index)


class AluArray:
    """``count`` atomic units, each starting one operation per cycle; a line is busy for
    ``latency`` cycles after its start."""

    __slots__ = ("_started", "count", "latency")

    def __init__(self, count: int, latency: int) -> None:
        self.count = count
        self.latency = latency
        self._started: list[tuple[int, int]] = []

    def is_free(self, line: int, now: int) -> bool:
        self._started = [(tick, used) for tick, used in self._started if tick >= now - self.latency]
        if any(used == line for _, used in self._started):
            return False
        return sum(tick == now for tick, _ in self._started) <= self.count

    def reserve(self, line: int, now: int) -> None:
        self._started.append((now, line))
