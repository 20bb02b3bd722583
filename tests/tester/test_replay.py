"""Replay files: what goes in comes out, and nothing unsound comes out."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.identity import ProtocolIdentity
from runtime.description import SystemDescription
from tester.replay import MAGIC, Leg, ReplayError, load_leg, save_leg
from tests.tester.programs import small

DESCRIPTION = SystemDescription.from_toml(
    '[machine.L1Cache]\ncount = 2\n[network]\ndelays = "uniform"\n'
)


def leg(seed: int = 1) -> Leg:
    identity = ProtocolIdentity("MI", "0123456789abcdef", "/somewhere/MI.slicc")
    return Leg(small(seed), DESCRIPTION, identity, 1234, 7, 3, "line-duel", "0.1.0", 400)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("replay") / "one.leg"
    save_leg(leg(), path)
    return path.read_bytes()


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "one.leg"
    save_leg(leg(), path)
    loaded = load_leg(path)
    assert loaded.program.equals(leg().program)
    assert loaded.description == DESCRIPTION
    assert loaded.protocol == leg().protocol
    assert (loaded.deadlock_limit, loaded.seed, loaded.number) == (1234, 7, 3)
    assert (loaded.profile, loaded.version, loaded.first_episode) == ("line-duel", "0.1.0", 400)
    assert loaded.digest() == leg().digest()
    assert [each.name for each in tmp_path.iterdir()] == ["one.leg"]


def test_same_leg_same_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "two.leg"
    save_leg(leg(), path)
    assert path.read_bytes() == content


def test_missing_file_and_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"nowhere\.leg: cannot be read"):
        load_leg(tmp_path / "nowhere.leg")
    with pytest.raises(ReplayError, match=r"cannot be written"):
        save_leg(leg(), tmp_path / "no" / "such" / "place.leg")


@pytest.mark.parametrize("keep", [0, 5, len(MAGIC), len(MAGIC) + 8, 200, -1])
def test_truncated(tmp_path: Path, content: bytes, keep: int) -> None:
    path = tmp_path / "cut.leg"
    path.write_bytes(content[:keep])
    with pytest.raises(ReplayError, match=r"cut\.leg"):
        load_leg(path)


def test_foreign(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(1000))
    with pytest.raises(ReplayError, match="not a replay file"):
        load_leg(path)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 10**9), st.integers(1, 255))
def test_any_changed_byte_is_noticed(
    tmp_path: Path, content: bytes, place: int, change: int
) -> None:
    path = tmp_path / "changed.leg"
    damaged = bytearray(content)
    damaged[place % len(damaged)] ^= change
    path.write_bytes(bytes(damaged))
    with pytest.raises(ReplayError):
        load_leg(path)


def forged(content: bytes, **changes: object) -> bytes:
    """The file with header fields replaced (dots go deeper) and a checksum that fits."""
    start = len(MAGIC) + 8
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    header = json.loads(content[start : start + length])
    for path, value in changes.items():
        *where, last = path.split("__")
        table = header
        for name in where:
            table = table[name]
        if value is None:
            del table[last]
        else:
            table[last] = value
    text = json.dumps(header).encode()
    body = MAGIC + len(text).to_bytes(8, "little") + text + content[start + length : -32]
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "format 99"),
        ({"seed": "one"}, "seed"),
        ({"deadlock_limit": 0}, "deadlock_limit"),
        ({"profile": None}, "lacks profile"),
        ({"program__line_size": 48}, "line size 48"),
        ({"program__line_size": 1 << 40}, "line size"),
        ({"program__line_size": 32}, "lines of 32 bytes, its system has lines of 64"),
        ({"program__agents": [["gpu", 0, 1000, "wave"]] * 4}, "1000 lanes"),
        ({"program__agents": [["gpu", -1, 4, "wave"]]}, "agents"),
        ({"program__agents": "many"}, "agents"),
        ({"program__arrays__lane_address__shape": [1 << 40, 1 << 40]}, "impossible shape"),
        ({"program__arrays__lane_address__shape": [-4, -4]}, "impossible shape"),
        ({"program__arrays__group_word__shape": [3]}, "24 bytes of its shape"),
        ({"program__arrays__group_word__bytes": 1 << 40}, "past the end"),
        ({"description": {"machine": {"L1Cache": {"count": -1}}}}, "count"),
        ({"description": 5}, "description"),
        ({"protocol": {"name": 5}}, "name"),
    ],
)
def test_forged_headers(
    tmp_path: Path, content: bytes, changes: dict[str, object], message: str
) -> None:
    path = tmp_path / "forged.leg"
    path.write_bytes(forged(content, **changes))
    with pytest.raises(ReplayError, match=message):
        load_leg(path)


def test_header_that_claims_more_than_there_is(tmp_path: Path, content: bytes) -> None:
    body = MAGIC + (1 << 60).to_bytes(8, "little") + content[len(MAGIC) + 8 : -32]
    path = tmp_path / "long.leg"
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ReplayError, match="header claims"):
        load_leg(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, content: bytes) -> None:
    """An array that unpacks to more than its shape says is refused before it is whole."""
    import zlib

    start = len(MAGIC) + 8
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    header = json.loads(content[start : start + length])
    bomb = zlib.compress(bytes(1 << 24))
    first = header["program"]["arrays"]["episode_thread"]["bytes"]
    header["program"]["arrays"]["episode_thread"]["bytes"] = len(bomb)
    text = json.dumps(header).encode()
    arrays = bomb + content[start + length + first : -32]
    body = MAGIC + len(text).to_bytes(8, "little") + text + arrays
    path = tmp_path / "bomb.leg"
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ReplayError, match="episode_thread does not hold"):
        load_leg(path)
