"""Deals profiles and knobs to the legs of a campaign by what recently brought new pairs.

Legs are dealt in epochs. Those of the first are the usual rotation of profiles. Of a later epoch,
a profile gets the more turns, the more pairs of transitions were new in its recent legs
for the work that they took; so does each value of a knob. Invariant: what a leg is
dealt depends on the seed and on the legs before it, counted in transitions, never in seconds, so
that it is the same with any number of workers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from runtime.prng import Prng
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.drawing.profile_schedule import Turn
from tester.counter_rng import CounterRng, shuffled

EPOCH: Final = 64
LAG: Final = 32
"""An epoch is dealt when all legs but the last so many before it are known: workers need not wait
for each other in between."""
_EPOCHS: Final = 8
"""So many epochs are recent."""
_LEG_WORK: Final = 8192
"""A leg takes about as long as so many transitions, before its first and behind its last."""
_DOUBT: Final = 4
"""Legs of average yield that each arm has to begin with."""
_MOST: Final = 4.0
"""An arm gets between a quarter and four times of its share."""
_AS_DRAWN: Final = 3
"""A knob is left alone in so many legs for each in which it is set."""

KNOBS: Final[Mapping[str, tuple[object, ...]]] = MappingProxyType(
    {
        "delays": ("nominal", "uniform", "gem5", "heavy_tail", "skewed", "stragglers"),
        "atomics": ("line", "linked", "conditional", "far"),
        "dmas": (0, 1, 2),
        "fetchers": (0, 2),
        "scalars": (0, 2),
        "l3_writes": (False, True),
        "write_back": (False, True),
        "scope_percent": (0, 30),
        "peek_percent": (0, 100),
        "bare_percent": (0, 50),
        "unaligned_percent": (0, 50),
        "flush_percent": (0, 15),
    }
)
"""Options of all profiles, and values to set them to."""


@dataclass(frozen=True, slots=True)
class Yield:
    """What a leg brought: pairs that were new, for so many transitions."""

    turn: Turn
    pairs: int
    transitions: int

    @property
    def work(self) -> int:
        return _LEG_WORK + self.transitions


class Guide:
    """``deck``: the turns that are dealt, each as often as it is there. ``fixed``: what the user
    sets, which is no knob. Yields are handed in with `learn`, in the order of their legs."""

    def __init__(self, prng: Prng, deck: Sequence[Turn], fixed: Mapping[str, object]) -> None:
        self._prng = prng
        self._deck = deck
        self._knobs = {name: of for name, of in KNOBS.items() if name not in fixed}
        self._recent: deque[Yield] = deque(maxlen=_EPOCHS * EPOCH)
        self.learned = 0
        """Legs whose yield is known."""
        self._turns: dict[int, list[Turn]] = {}

    @staticmethod
    def first_of_use(number: int) -> int:
        """The first leg whose yield is of use to one that resumes at leg ``number``."""
        return max(0, number - number % EPOCH - LAG - (_EPOCHS + 1) * EPOCH)

    def skip(self, count: int) -> None:
        """So many legs are behind, and of no use."""
        self.learned = count

    def learn(self, found: Yield) -> None:
        """Take what the next leg has brought."""
        assert len(self._recent) <= self.learned, "yields are of legs that were learned"
        self._recent.append(found)
        self.learned += 1
        if (self.learned + LAG) % EPOCH == 0:
            epoch = (self.learned + LAG) // EPOCH
            self._turns[epoch] = self._deal(epoch)
            self._turns.pop(epoch - 3, None)

    def knows(self, number: int) -> bool:
        """Whether leg ``number`` can be dealt by now."""
        epoch = number // EPOCH
        return epoch == 0 or epoch in self._turns

    def turn(self, number: int) -> Turn | None:
        """What leg ``number`` is dealt; None: what it has anyway."""
        epoch, place = divmod(number, EPOCH)
        return None if epoch == 0 else self._turns[epoch][place]

    def _deal(self, epoch: int) -> list[Turn]:
        prng = self._prng.fork(f"epoch {epoch}")
        profiles = _weights(
            [turn.profile for turn in self._deck],
            [(each.turn.profile, each) for each in self._recent],
        )
        turns = [self._deck[place] for place in _dealt(profiles, prng.fork("profile"))]
        pinned: list[dict[str, object]] = [dict(turn.pinned) for turn in turns]
        for name, values in self._knobs.items():
            weights = _weights(
                values,
                [(each.turn.pinned.get(name), each) for each in self._recent],
            )
            weights.append(_AS_DRAWN * sum(weights))
            for leg, place in enumerate(_dealt(weights, prng.fork(name))):
                if place < len(values):
                    pinned[leg].setdefault(name, values[place])
        return [Turn(turn.profile, knobs) for turn, knobs in zip(turns, pinned)]


def _weights(arms: Sequence[object], found: Sequence[tuple[object, Yield]]) -> list[float]:
    """How much more each arm brings than the average. ``found``: yields of legs, by their arms."""
    pairs: dict[object, float] = {}
    work: dict[object, float] = {}
    for arm, each in found:
        pairs[arm] = pairs.get(arm, 0) + each.pairs
        work[arm] = work.get(arm, 0) + each.work
    legs = max(1, len(found))
    mean_pairs = max(sum(pairs.values()), 1) / legs
    mean_work = max(sum(work.values()), 1) / legs
    weights = []
    for arm in arms:
        brought = pairs.get(arm, 0) + _DOUBT * mean_pairs
        cost = work.get(arm, 0) + _DOUBT * mean_work
        ratio = brought / cost * mean_work / mean_pairs
        weights.append(min(_MOST, max(1 / _MOST, ratio)))
    return weights


def _dealt(weights: Sequence[float], prng: Prng) -> list[int]:
    """An arm for each leg of an epoch: each as often as its weight says, in a drawn order."""
    total = sum(weights)
    offset = prng.fork("offset").below(1 << 20) / (1 << 20)
    dealt: list[int] = []
    passed = 0.0
    for arm, weight in enumerate(weights):
        passed += weight
        while len(dealt) < EPOCH and (len(dealt) + offset) * total / EPOCH < passed:
            dealt.append(arm)
    dealt += [len(weights) - 1] * (EPOCH - len(dealt))
    order = shuffled(CounterRng(prng.fork("order")), EPOCH)
    return [dealt[place] for place in order.tolist()]
