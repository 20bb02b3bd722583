"""The cache of compiled code: whole entries or none, whatever happens to the files."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from runtime.native.toolchain import object_cache
from runtime.native.toolchain.object_cache import Cache, CacheError, key_of, user_cache, write_all

KEY = key_of("some", "texts")


def fill(directory: Path) -> None:
    write_all(directory, {"protocol.so": b"\x7fELF", "notes.txt": "made here"})


def never(directory: Path) -> None:
    raise AssertionError("the entry should have been found")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    monkeypatch.setattr(object_cache, "_refuges", [])
    return Cache(tmp_path / "cache")


def test_an_entry_is_found_again(cache: Cache) -> None:
    entry = cache.make("object", KEY, fill)
    assert (entry / "protocol.so").read_bytes() == b"\x7fELF"
    assert cache.make("object", KEY, never) == entry
    assert Cache(cache.root).find("object", KEY) == entry
    assert cache.find("front", KEY) is None


def test_entries_are_private(cache: Cache) -> None:
    entry = cache.make("object", KEY, fill)
    assert stat.S_IMODE(cache.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry.stat().st_mode) == 0o700
    assert stat.S_IMODE((entry / "protocol.so").stat().st_mode) == 0o600


def test_keys_tell_lists_of_texts_apart() -> None:
    assert key_of("ab", "c") != key_of("a", "bc")
    assert key_of("ab") != key_of("ab", "")
    assert key_of("ab") == key_of(b"ab")


def damage_content(entry: Path) -> None:
    (entry / "protocol.so").write_bytes(b"\x7fELG")


def damage_by_cutting(entry: Path) -> None:
    (entry / "protocol.so").write_bytes(b"")


def damage_by_losing(entry: Path) -> None:
    (entry / "protocol.so").unlink()


def damage_by_adding(entry: Path) -> None:
    (entry / "stranger").write_text("")


def damage_seal(entry: Path) -> None:
    (entry / "seal.json").write_text("{")


def lose_seal(entry: Path) -> None:
    (entry / "seal.json").unlink()


def strange_seal(entry: Path) -> None:
    (entry / "seal.json").write_text("[1]")


def other_machine(entry: Path) -> None:
    _reseal(entry, machine="linux-riscv64-64-little")


def other_format(entry: Path) -> None:
    _reseal(entry, format=0)


def other_key(entry: Path) -> None:
    _reseal(entry, key=key_of("others"))


def _reseal(entry: Path, **changes: object) -> None:
    seal = json.loads((entry / "seal.json").read_text())
    (entry / "seal.json").write_text(json.dumps({**seal, **changes}))


def endless_object(entry: Path) -> None:
    (entry / "protocol.so").unlink()
    (entry / "protocol.so").symlink_to("/dev/zero")


def endless_seal(entry: Path) -> None:
    (entry / "seal.json").unlink()
    (entry / "seal.json").symlink_to("/dev/zero")


def silent_object(entry: Path) -> None:
    (entry / "protocol.so").unlink()
    os.mkfifo(entry / "protocol.so")


def folder_for_object(entry: Path) -> None:
    (entry / "protocol.so").unlink()
    (entry / "protocol.so").mkdir()


def open_to_others(entry: Path) -> None:
    entry.chmod(0o777)


@pytest.mark.parametrize(
    "damage",
    [
        damage_content,
        damage_by_cutting,
        damage_by_losing,
        damage_by_adding,
        damage_seal,
        lose_seal,
        strange_seal,
        other_machine,
        other_format,
        other_key,
        endless_object,
        endless_seal,
        silent_object,
        folder_for_object,
        open_to_others,
    ],
)
def test_a_damaged_or_foreign_entry_is_made_anew(
    cache: Cache, damage: object, tmp_path: Path
) -> None:
    entry = cache.make("object", KEY, fill)
    damage(entry)  # type: ignore[operator]
    assert cache.find("object", KEY) is None
    again = cache.make("object", KEY, fill)
    assert again == entry
    assert cache.find("object", KEY) == entry
    assert (entry / "protocol.so").read_bytes() == b"\x7fELF"
    assert [path.name for path in cache.root.iterdir()] == [entry.name]


def test_what_cannot_be_made_leaves_nothing(cache: Cache) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").write_text("")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        cache.make("object", KEY, fail)
    assert not list(cache.root.iterdir())


def _slow_fill(directory: Path) -> None:
    time.sleep(0.2)
    fill(directory)


def _racer(root: str, gate: object, results: object) -> None:
    gate.wait()  # type: ignore[attr-defined]
    entry = Cache(Path(root)).make("object", KEY, _slow_fill)
    results.put((entry / "protocol.so").read_bytes())  # type: ignore[attr-defined]


@pytest.mark.parametrize("damaged", [False, True])
def test_processes_may_race(cache: Cache, damaged: bool) -> None:
    if damaged:
        damage_content(cache.make("object", KEY, fill))
    context = multiprocessing.get_context("fork")
    gate, results = context.Barrier(4), context.Queue()
    racers = [
        context.Process(target=_racer, args=(str(cache.root), gate, results)) for _ in range(4)
    ]
    for racer in racers:
        racer.start()
    assert [results.get(timeout=60) for _ in racers] == [b"\x7fELF"] * 4
    for racer in racers:
        racer.join(60)
        assert racer.exitcode == 0
    assert [path.name for path in cache.root.iterdir()] == [f"object-{KEY}"]
    assert cache.find("object", KEY) is not None


def test_a_sound_entry_is_never_moved(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    # While one process looks at a damaged entry to remove it, another makes the entry anew.
    damage_content(cache.make("object", KEY, fill))
    sound, looks, made = object_cache._sound, [], []

    def make() -> None:
        made.append(Cache(cache.root).make("object", KEY, fill).stat().st_ino)

    other = threading.Thread(target=make)

    def slow_look(entry: Path, kind: str, key: str) -> bool:
        was = sound(entry, kind, key)
        if threading.current_thread() is not other:
            looks.append(was)
            if looks == [False, False]:
                other.start()
                other.join(0.1)
        return was

    monkeypatch.setattr(object_cache, "_sound", slow_look)
    entry = cache.make("object", KEY, fill)
    other.join()
    assert looks[:2] == [False, False]
    assert all(looks[2:])  # where the other one was first to make it anew
    assert made == [entry.stat().st_ino]


def test_the_users_cache_is_below_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    cache = user_cache()
    assert cache.root == tmp_path / "x" / "slicc" / "native"
    assert not cache.note
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert user_cache().root == tmp_path / "home" / ".cache" / "slicc" / "native"


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_cache_that_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    root = user_cache().root
    root.chmod(mode)
    cache = user_cache()
    assert cache.root != root
    assert "others may write there" in cache.note
    assert cache.make("object", KEY, fill).is_dir()


def test_a_place_that_is_no_directory_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    cache = user_cache()
    assert "is not used: Not a directory; what is compiled is not kept" in cache.note


def test_an_unwritable_cache_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Root may write everywhere, so modes alone would not do.
    monkeypatch.setattr(object_cache.os, "access", lambda path, mode: False)
    assert "it cannot be written" in user_cache().note


def full_disk(*args: object, **kwargs: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_gives_way_to_a_temporary_directory(cache: Cache) -> None:
    tries = []

    def fill_when_there_is_room(directory: Path) -> None:
        tries.append(directory)
        if len(tries) == 1:
            full_disk()
        fill(directory)

    entry = cache.make("object", KEY, fill_when_there_is_room)
    assert (entry / "protocol.so").read_bytes() == b"\x7fELF"
    assert "No space left on device" in cache.note
    assert tries[0].parent != tries[1].parent


def test_no_room_anywhere_is_one_message(cache: Cache) -> None:
    with pytest.raises(CacheError, match="cannot be written: No space left on device"):
        cache.make("object", KEY, full_disk)


def test_no_temporary_directory_is_one_message(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache.tempfile, "mkdtemp", full_disk)
    with pytest.raises(CacheError, match="no temporary directory can be made"):
        cache.make("object", KEY, fill)


def test_old_entries_and_leavings_are_swept(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_cache, "MAX_ENTRIES", 3)
    for number in range(5):
        entry = cache.make("object", key_of(str(number)), fill)
        os.utime(entry / "seal.json", (1000 + number, 1000 + number))
    abandoned = cache.root / ".object-x.new"
    abandoned.mkdir()
    os.utime(abandoned, (1000, 1000))
    young = cache.root / ".object-y.new"
    young.mkdir()
    cache.prune()
    left = {path.name for path in cache.root.iterdir()}
    assert left == {young.name, *(f"object-{key_of(str(number))}" for number in (2, 3, 4))}
