"""Replay files: what goes in comes out, and nothing unsound comes out."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocols.identity import ProtocolIdentity
from protocols.texts import ProtocolTexts
from runtime.description import SystemDescription
from runtime.prng import Prng
from tester.generator.generator import generate_program
from tester.program.access_rules import access_errors
from tester.program.program import STORE
from tester.program.replay_file import MAGIC, Leg, ReplayError, load_leg, save_leg
from tests.tester.programs import CONFIGS, small

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


TEXTS = ProtocolTexts("P.slicc", {"P.slicc": 'protocol "P";\n', "a/b.sm": "x"}, ("a/b.sm",))


def test_the_texts_of_the_protocol_come_back(tmp_path: Path) -> None:
    path = tmp_path / "one.leg"
    save_leg(replace(leg(), texts=TEXTS), path)
    loaded = load_leg(path)
    assert loaded.texts == TEXTS
    assert loaded.program.equals(leg().program)
    assert b'"format":3' in path.read_bytes().replace(b" ", b"")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"driver": "P", "preludes": [], "files": {"../P": ""}}, "its texts are wrong: '../P' is"),
        ({"driver": "Q", "preludes": [], "files": {"P": ""}}, "'Q' is not among its files"),
        ({"driver": "P", "preludes": ["R"], "files": {"P": ""}}, "'R' is not among its files"),
        ({"driver": "P", "preludes": [], "files": {"P": 3}}, "its texts are no table of files"),
        ({"driver": "P", "files": {"P": ""}}, "texts lacks preludes"),
        ({"driver": "P", "preludes": [], "files": {}, "x": 1}, "unknown field 'x'"),
        ([], "texts is not a table"),
        (b"no zlib", "its texts cannot be unpacked"),
        (zlib.compress(b"x" * (1 << 24)), "its texts have more than"),
        (zlib.compress(b'{"a"'), "its header is not JSON"),
    ],
)
def test_wrong_texts_are_refused(texts: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "one.leg"
    save_leg(replace(leg(), texts=TEXTS), path)
    blob = texts if isinstance(texts, bytes) else zlib.compress(json.dumps(texts).encode())
    content = path.read_bytes()[: -hashlib.sha256().digest_size]
    start = len(MAGIC) + 8
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    header = json.loads(content[start : start + length])
    arrays = content[start + length : len(content) - header["texts"]]
    header["texts"] = len(blob)
    text = json.dumps(header).encode()
    body = MAGIC + len(text).to_bytes(8, "little") + text + arrays + blob
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ReplayError, match=message):
        load_leg(path)


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
        ({"program__line_size": 1 << 40}, r"program\.line_size is \d+, not a number from 8 to"),
        ({"program__line_size": 32}, "lines of 32 bytes, its system has lines of 64"),
        ({"program__agents": [["gpu", 0, 1000, "wave"]] * 4}, r"\[0\].lanes is 1000"),
        ({"program__agents": [["gpu", True, 4, "wave"]]}, r"\[0\]\.requester is True"),
        ({"program__agents": [["gpu", 0, 4, "wa\nve"]]}, r"\[0\]\.name is 'wa\\nve'"),
        ({"program__agents": [["gpu", 0, 4, "a"]] * 513}, "list of 1 to 512"),
        ({"program__arrays__more": {}}, "unknown field 'more'"),
        ({"later": 1}, "its header has the unknown field 'later'"),
        ({"seed": float("nan")}, "holds NaN"),
        ({"seed": 1 << 64}, "seed is"),
        ({"profile": "\x1b[2J"}, "the name of a profile"),
        ({"profile": "\ud800"}, "not JSON"),
        ({"protocol__digest": "0" * 15}, "protocol.digest is '0+', not 16 hexadecimal digits"),
        ({"protocol__path": "x" * 5000}, "not a printable path"),
        ({"protocol__name": "../MI"}, "not a printable name"),
        ({"program__arrays__episode_thread__shape": [1 << 21]}, "2097152 episodes, 1048576 are"),
        ({"program__arrays__lane_address__shape": [1 << 24, 4]}, "lane_address has shape"),
        ({"program__agents": [["gpu", -1, 4, "wave"]]}, "agents"),
        ({"program__agents": "many"}, "agents"),
        ({"program__arrays__lane_address__shape": [1 << 40, 1 << 40]}, "impossible shape"),
        ({"program__arrays__lane_address__shape": [-4, -4]}, "impossible shape"),
        ({"program__arrays__group_word__shape": [3]}, "24 bytes of its shape"),
        ({"program__arrays__group_word__shape": [True]}, "impossible shape"),
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


def with_arrays(**arrays: object) -> Leg:
    """A leg whose program has not been looked at."""
    return replace(leg(), program=replace(small(), derived=False, **arrays))  # type: ignore[arg-type]


def put(name: str, *entries: tuple[object, int]) -> Leg:
    array = getattr(small(), name).copy()
    for place, value in entries:
        array[place] = value
    return with_arrays(**{name: array})


def _free() -> tuple[int, int]:
    """A row, and a lane that takes part in it."""
    row, lane = np.argwhere((small().lane_address >= 0) & (small().action_size[:, None] == 4))[0]
    return int(row), int(lane)


ROW, LANE = _free()
WORD = int(small().group_word[0])
ADDRESS = int(small().lane_address[ROW, LANE])
BAD_ARRAYS: dict[str, tuple[Leg, str]] = {
    "offsets that wrap around": (
        put("episode_first_action", (1, (1 << 63) - 1), (2, -2)),
        r"episode_first_action\[1\] is 9223372036854775807: it does not cut",
    ),
    "a negative offset": (put("episode_first_action", (3, -5)), r"first_action\[3\] is -5"),
    "a huge offset": (put("episode_first_action", (40, 1 << 40)), r"action\[40\] is 1099511627776"),
    "a leg from the middle": (put("thread_base", (2, 7)), r"thread_base\[2\] is 7: a leg begins"),
    "another agent": (put("episode_thread", (0, 4)), r"episode_thread\[0\] is 4, 0 to 3 are"),
    "no such group": (put("episode_group", ((1, 0), 99)), r"episode_group\[1, 0\] is 99"),
    "all lanes off": (put("episode_group", (4, -1)), r"episode_group\[4\] has no lane"),
    "a fourth kind": (put("action_kind", (3, 3)), r"action_kind\[3\] is 3, 0 to 2 are"),
    "no bytes": (put("action_size", (3, 0)), r"action_size\[3\] is 0, 1 to 8 are"),
    "too many bytes": (put("action_size", (3, 16)), r"action_size\[3\] is 16"),
    "unknown bits": (put("action_scope", (3, 64)), r"action_scope\[3\] is 64"),
    "an endless address": (
        put("lane_address", ((ROW, LANE), 1 << 62)),
        rf"lane_address\[{ROW}, {LANE}\] is 4611686018427387904",
    ),
    "across the line": (
        put("lane_address", ((ROW, LANE), (ADDRESS | 63) - 1)),
        rf"lane_address\[{ROW}, {LANE}\] is \d+: the access crosses its line",
    ),
    "an odd address": (
        put("lane_address", ((ROW, LANE), (ADDRESS & -64) + 1)),
        rf"lane_address\[{ROW}, {LANE}\] is \d+: not aligned",
    ),
    "on an atomic word": (
        put("lane_address", ((ROW, LANE), WORD)),
        rf"lane_address\[{ROW}, {LANE}\] is {WORD}: the access reaches an atomic word",
    ),
    "no lane": (put("lane_address", (ROW, -1)), rf"lane_address\[{ROW}\] has no lane"),
    "two words in one": (put("group_word", (1, WORD)), r"group_word\[1\] is \d+, as that of"),
    "an odd word": (put("group_word", (0, WORD + 2)), r"group_word\[0\] is \d+: not aligned"),
    "more than fits": (
        put("store_value", (ROW, (1 << 64) - 1)),
        r"store_value\[\d+, \d+\] is",
    ),
    "plain with fetch-adds": (put("episode_scope", (0, 64)), r"episode_scope\[0\] is 64: plain"),
}


@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_bad_arrays_are_named_with_place_and_value(tmp_path: Path, name: str) -> None:
    bad, message = BAD_ARRAYS[name]
    save_leg(bad, tmp_path / "bad.leg")
    with pytest.raises(ReplayError, match=rf"bad\.leg: .*{message}"):
        load_leg(tmp_path / "bad.leg")


@pytest.mark.parametrize("name", CONFIGS)
def test_every_program_that_is_drawn_can_be_loaded(tmp_path: Path, name: str) -> None:
    program = generate_program(CONFIGS[name], Prng(3))
    save_leg(replace(leg(), program=program), tmp_path / "drawn.leg")
    assert load_leg(tmp_path / "drawn.leg").program.equals(program)


def test_contending_lanes_are_refused() -> None:
    """What the derived arrays would say of them no system owes."""
    program = small()
    stores = (program.lane_address >= 0) & (program.action_kind == STORE)[:, None]
    row = int(np.argmax(stores.sum(axis=1) > 1))
    one, other = np.flatnonzero(stores[row])[:2]
    address = program.lane_address.copy()
    address[row, other] = address[row, one]
    contended = replace(program, derived=False, lane_address=address)
    (error,) = access_errors(contended)
    assert error.startswith(f"lane_address[{row}, ")
    assert "stored, and used by another lane" in error
    assert access_errors(program) == []


def test_a_name_that_stands_twice(tmp_path: Path, content: bytes) -> None:
    start = len(MAGIC) + 8
    length = int.from_bytes(content[len(MAGIC) : start], "little")
    text = content[start : start + length].replace(b'"seed": 7', b'"seed": 7, "seed": 8')
    body = MAGIC + len(text).to_bytes(8, "little") + text + content[start + length : -32]
    path = tmp_path / "twice.leg"
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ReplayError, match="the field 'seed' twice"):
        load_leg(path)


def test_nesting_has_an_end(tmp_path: Path, content: bytes) -> None:
    text = b'{"format": ' + b"[" * 100_000
    body = MAGIC + len(text).to_bytes(8, "little") + text
    path = tmp_path / "deep.leg"
    path.write_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(ReplayError, match="not JSON"):
        load_leg(path)


def test_small_files_do_not_unpack_to_large_programs(tmp_path: Path) -> None:
    program = small()
    rows = 1 << 21
    huge = replace(
        program,
        derived=False,
        episode_thread=np.zeros(1, np.int32),
        episode_first_action=np.array([0, rows]),
        episode_group=np.zeros((1, 4), np.int32),
        episode_scope=np.zeros(1, np.uint8),
        action_scope=np.zeros(rows, np.uint8),
        action_op=np.zeros(rows, np.uint8),
        **{name: np.ones(rows) for name in ("action_kind", "action_size")},  # type: ignore[arg-type]
        lane_address=np.zeros((rows, 4)),
        store_value=np.zeros((rows, 4)),
    )
    save_leg(replace(leg(), program=huge), tmp_path / "bomb.leg")
    assert (tmp_path / "bomb.leg").stat().st_size < 1 << 19
    with pytest.raises(ReplayError, match=r"arrays claim \d+ bytes, \d+ are possible"):
        load_leg(tmp_path / "bomb.leg")
