"""Classes behave as those of ``dataclasses``, whose decorator is the reference here."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from functools import cached_property
from typing import Any

import pytest

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Base:
    place: int = dataclasses.field(kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ours(Base):
    name: str
    kinds: tuple[str, ...] = ()
    many: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class BaseOfTheirs:
    place: int = dataclasses.field(kw_only=True, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs(BaseOfTheirs):
    name: str
    kinds: tuple[str, ...] = ()
    many: list[int] = dataclasses.field(default_factory=list)


@dataclass(frozen=True)
class Plain:
    kinds: tuple[str, ...] = ()


@dataclass(slots=True)
class Mutable:
    count: int = 0
    twice: int = dataclasses.field(init=False)
    fixed: int = dataclasses.field(init=False, default=3)

    def __post_init__(self) -> None:
        self.twice = 2 * self.count


@dataclass(frozen=True, kw_only=True)
class Loose:
    """Without slots: it keeps what it has worked out, and may be mixed."""

    count: int = 1

    @cached_property
    def worked_out(self) -> list[int]:
        return [0] * self.count


@dataclass(frozen=True, kw_only=True)
class Mixed(Loose, Plain):
    name: str


def test_objects_show_and_compare_as_those_of_dataclasses() -> None:
    for arguments in (("a",), ("a", ("k",)), ("a", ("k",), [1])):
        ours, theirs = Ours(*arguments, place=1), Theirs(*arguments, place=1)
        assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
        assert dataclasses.astuple(ours) == dataclasses.astuple(theirs)
        assert ours == Ours(*arguments, place=2) != Ours("b", place=1)
        assert ours != theirs
    assert Ours.__match_args__ == Theirs.__match_args__
    assert Ours("a", place=1).many is not Ours("a", place=1).many


def test_equal_objects_have_equal_hashes_and_mutable_ones_none() -> None:
    assert len({Base(place=1), Base(place=2)}) == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Mutable())


@pytest.mark.parametrize("arguments", [(), ("a", (), [], 1)])
def test_wrong_arguments_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        Ours(*arguments, place=1)
    with pytest.raises(TypeError):
        Ours("a")  # type: ignore[call-arg]


def test_frozen_objects_refuse_changes() -> None:
    ours = Ours("a", place=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        ours.name = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del ours.name
    with pytest.raises(AttributeError):
        ours.other = 1  # type: ignore[attr-defined]
    assert dataclasses.replace(ours, name="b") == Ours("b", place=1)


def test_fields_outside_of_the_constructor() -> None:
    made = Mutable(2)
    assert (made.count, made.twice, made.fixed) == (2, 4, 3)
    made.count = 5
    assert made == copy.copy(made) != Mutable(2)


def test_objects_survive_pickle_and_copies() -> None:
    ours = Ours("a", ("k",), [1], place=7)
    for again in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours), copy.copy(ours)):
        assert (again, again.place) == (ours, 7)
    mixed = Mixed(name="a", kinds=("k",))
    for same in (pickle.loads(pickle.dumps(mixed)), copy.deepcopy(mixed), copy.copy(mixed)):
        assert same == mixed and hash(same) == hash(mixed)


def test_objects_without_slots() -> None:
    mixed = Mixed(name="a", count=2)
    assert repr(mixed) == "Mixed(kinds=(), count=2, name='a')"
    assert mixed.worked_out is mixed.worked_out == [0, 0]
    assert mixed == Mixed(name="a", count=2) != dataclasses.replace(mixed, count=3)
    assert Mixed.count == 1 and Loose() == Loose(count=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        mixed.count = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        Mixed(count=2)  # type: ignore[call-arg]
    assert Plain(("k",)).kinds == ("k",)
