"""``gpu-tester campaign`` and ``status``: what they print, and what they refuse."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from protocols import shipped
from tester.campaign_directory.directory import CampaignDirectory
from tester.campaign_directory.identity import kept, resumed
from tester.campaign_directory.store import Store
from tester.cli.main import app
from tester.cli.verbs.campaign import campaign, kept_names
from tests.tester.campaign_directory.kept import contents, options, started

SMALL = ("-p", "MI", "--seed", "3", "--leg-episodes", "4", "--episodes", "24", "--engine", "python")


def gpu_tester(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("campaigns") / "whole"
    assert campaign(options(directory, profile="default", episodes=24)) == 0
    return directory


@pytest.fixture
def there(whole: Path, tmp_path: Path) -> Path:
    """A copy."""
    return Path(shutil.copytree(whole, tmp_path / "there"))


def test_a_campaign_says_what_it_did_and_its_status_again(tmp_path: Path) -> None:
    directory = str(tmp_path / "new" / "one")
    result = gpu_tester("campaign", directory, *SMALL)
    assert result.exit_code == 0, result.output
    assert "PASSED: 24 episodes in 6 legs, 6 of them now, seed 3; 0 failed" in result.output
    again = gpu_tester("campaign", directory, "--episodes", "24")
    assert "6 legs, 0 of them now" in again.output, "the budget is spent"
    more = gpu_tester("campaign", directory, "--episodes", "32", "--engine", "python")
    assert "32 episodes in 8 legs, 2 of them now" in more.output
    status = gpu_tester("status", directory).output
    assert "8 legs, 32 episodes" in status and "L1Cache" in status and "never: " in status
    table = json.loads(gpu_tester("status", directory, "--format", "json").stdout)
    assert (table["legs"], table["episodes"], table["protocol"]) == (8, 32, "MI")
    assert table["machines"]["L1Cache"]["hit"] > 5
    assert sum(each["legs"] for each in table["profiles"].values()) == 8


def test_a_terminal_shows_progress(tmp_path: Path) -> None:
    """In a process of its own: its stderr is a terminal, as nothing here is."""
    near, far = os.openpty()
    words = ("campaign", str(tmp_path / "new"), *SMALL)
    ended = subprocess.run(
        [sys.executable, "-m", "tester.cli", *words], stdout=subprocess.PIPE, stderr=far, text=True
    )
    os.close(far)
    os.close(near)
    assert ended.returncode == 0
    assert "PASSED: 24 episodes" in ended.stdout


def test_a_time_without_a_leg_is_no_pass(tmp_path: Path) -> None:
    directory = str(tmp_path / "new")
    result = gpu_tester("campaign", directory, *SMALL, "--hours", "0.000000001")
    assert result.exit_code == 2
    assert "NOTHING TESTED: 0 episodes in 0 legs, 0 of them now" in result.output
    assert gpu_tester("campaign", directory, "--episodes", "4").exit_code == 0, "it resumes"
    later = gpu_tester("campaign", directory, "--hours", "0.000000001")
    assert later.exit_code == 0, "the verdict is that of the directory"
    assert "PASSED: 4 episodes in 1 leg, 0 of them now" in later.output


def test_one_leg_is_one(tmp_path: Path) -> None:
    directory = str(tmp_path / "new")
    result = gpu_tester("campaign", directory, *SMALL, "--episodes", "4")
    assert "PASSED: 4 episodes in 1 leg, 1 of them now" in result.output
    assert "  1 leg, 4 episodes, " in gpu_tester("status", directory).output


def test_a_page_needs_nothing_else(there: Path, tmp_path: Path) -> None:
    base = sqlite3.connect(there / "campaign.sqlite")
    hostile = "</script><img src=x onerror=alert(1)>"
    base.execute(
        "INSERT INTO failures VALUES (1, ?, '', ?, 2, ?, ?, ?)",
        (hostile, hostile, hostile, json.dumps({"page": f"failures/{hostile}.html"}), hostile),
    )
    base.execute("UPDATE cells SET state = state || ? WHERE count = 0", (hostile,))
    base.commit()
    base.close()
    page = tmp_path / "status.html"
    assert gpu_tester("status", str(there), "--html", str(page)).exit_code == 0
    text = page.read_text()
    HTMLParser().feed(text)
    assert "<img" not in text and "http" not in text.replace("http-equiv", "")
    assert 'href="there/failures/%3C/script%3E' in text
    assert text.count("<polyline") == 4


def test_status_changes_nothing(there: Path) -> None:
    before = {path.name: path.read_bytes() for path in there.iterdir()}
    assert gpu_tester("status", str(there)).exit_code == 0
    assert {path.name: path.read_bytes() for path in there.iterdir()} == before


def test_a_campaign_at_work_is_seen_and_keeps_others_out(tmp_path: Path) -> None:
    directory = tmp_path / "busy"
    process = started(options(directory, episodes=1_000_000))
    try:
        while not CampaignDirectory(directory).lock().process_at_work():
            assert process.is_alive()
        refused = gpu_tester("campaign", str(directory), *SMALL)
        assert refused.exit_code == 2
        assert f"another gpu-tester campaign (process {process.pid}) is at work" in refused.output
    finally:
        process.terminate()
        process.join()
    assert not CampaignDirectory(directory).lock().process_at_work()


def edit(statement: str) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        base = sqlite3.connect(directory / "campaign.sqlite")
        base.execute(statement)
        base.commit()
        base.close()

    return change


def fact(name: str, value: str) -> Callable[[Path], None]:
    return edit(f"UPDATE facts SET value = '{value}' WHERE name = '{name}'")


def write(name: str, content: bytes) -> Callable[[Path], None]:
    return lambda directory: (directory / name).write_bytes(content) and None


def remove(directory: Path) -> None:
    (directory / "campaign.sqlite").unlink()


def nothing(directory: Path) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        (nothing, ("--seed", "4"), "--seed cannot change: this campaign was begun with 3"),
        (nothing, ("-p", "MSI"), "--protocol cannot change: this campaign was begun with MI"),
        (nothing, ("--lanes", "2"), "--lanes cannot change"),
        (nothing, ("--guide",), "--guide cannot change: this campaign was begun without it"),
        (nothing, ("--episodes", "0"), "--episodes"),
        (nothing, ("--hours", "0"), "'0' is not a number of hours"),
        (nothing, ("--hours", "nan"), "is not a number of hours"),
        (nothing, ("--jobs", "0"), "--jobs"),
        (fact("version", '"0.0.1"'), (), "by version 0.0.1"),
        (fact("digest", '"beef"'), (), "another text of"),
        (fact("seed", '['), (), "its facts are damaged"),
        (fact("options", '{"seed": 3}'), (), "are damaged"),
        (edit("PRAGMA user_version = 9"), (), "it is of format 9"),
        (edit("PRAGMA application_id = 1"), (), "it is not the database of a campaign"),
        (write("campaign.sqlite", b"no database at all" * 400), (), "file is not a database"),
        (write("campaign.sqlite", b""), ("--lanes", "zero"), "'zero' is not an integer"),
        (remove, (), "and no campaign; name a new directory"),
    ],
)  # fmt: skip
def test_what_is_not_the_campaign_is_refused_and_left_alone(
    there: Path, change: Callable[[Path], None], words: tuple[str, ...], message: str
) -> None:
    (there / "notes.txt").write_text("mine")
    change(there)
    before = {path.name: path.read_bytes() for path in there.iterdir()}
    result = gpu_tester("campaign", str(there), "--episodes", "60", *words)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split()), result.output
    assert "Traceback" not in result.output
    assert {path.name: path.read_bytes() for path in there.iterdir()} == before


@pytest.mark.parametrize("before_tables", ["", "PRAGMA journal_mode = WAL"])
def test_a_session_that_ended_before_its_first_commit_is_begun_again(
    tmp_path: Path, before_tables: str
) -> None:
    """A kill or a full disk leaves an empty file there, or one with a header."""
    with closing(sqlite3.connect(tmp_path / "campaign.sqlite")) as base:
        base.execute(before_tables)
    (tmp_path / "lock").touch()
    early = gpu_tester("status", str(tmp_path))
    assert early.exit_code == 2 and "no campaign has begun there" in early.output, early.output
    result = gpu_tester("campaign", str(tmp_path), *SMALL)
    assert result.exit_code == 0, result.output
    assert len(contents(tmp_path)["legs"]) == 6


def test_a_session_that_ended_before_its_facts_has_no_status(tmp_path: Path) -> None:
    with Store(tmp_path / "campaign.sqlite", create=True):
        pass
    early = gpu_tester("status", str(tmp_path))
    assert early.exit_code == 2 and "no campaign has begun there" in early.output, early.output


def test_a_session_that_is_refused_begins_nothing(tmp_path: Path) -> None:
    place = str(tmp_path / "there")
    refused = gpu_tester(
        "campaign", place, "-p", "MSI", "--scheduler", "nowhere", "--episodes", "9"
    )
    assert refused.exit_code == 2 and ("nowhere" in refused.stderr or "Dask" in refused.stderr)
    begun = gpu_tester("campaign", place, "-p", "MI", "--episodes", "9", "--engine", "python")
    assert begun.exit_code == 0, begun.stderr


def test_a_refused_session_forgets_no_earlier_one(tmp_path: Path) -> None:
    """Which may have been ended before its first leg was."""
    place = tmp_path / "there"
    begun = ("campaign", str(place), "-p", "MI", "--engine", "python")
    assert gpu_tester(*begun, "--episodes", "9").exit_code == 0
    with sqlite3.connect(place / "campaign.sqlite") as base:
        base.execute("DELETE FROM legs")
    assert gpu_tester("campaign", str(place), "--scheduler", "nowhere").exit_code == 2
    other = gpu_tester("campaign", str(place), "-p", "MSI")
    assert other.exit_code == 2 and "--protocol cannot change" in other.stderr


def test_places_that_are_no_directories_of_a_campaign(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for verb in ("campaign", "status"):
        result = gpu_tester(verb, str(file))
        assert result.exit_code == 2 and f"{file}" in result.output
        assert "not a directory" in result.output
    missing = gpu_tester("status", str(tmp_path / "missing"))
    assert missing.exit_code == 2 and "there is no such directory" in missing.output
    assert gpu_tester("status", str(tmp_path)).exit_code == 2
    broken = gpu_tester("campaign", str(tmp_path / "new"), "-p", "nothing", "--episodes", "4")
    assert broken.exit_code == 2 and not (tmp_path / "new").exists(), "nothing is half made"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


def test_a_protocol_in_a_file_is_found_again_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shipped()["MI"].parent
    for part in (*folder.glob("MI-*.sm"), folder / "MI.slicc", folder / "MI.toml"):
        shutil.copy(part, tmp_path)
    monkeypatch.chdir(tmp_path)
    words = ("--leg-episodes", "4", "--seed", "3", "--engine", "python")
    first = gpu_tester("campaign", "kept", "-p", "MI.slicc", *words, "--episodes", "8")
    assert first.exit_code == 0, first.output
    monkeypatch.chdir(tmp_path.parent)
    kept = tmp_path / "kept"
    assert (
        gpu_tester("campaign", str(kept), "--episodes", "12", "--engine", "python").exit_code == 0
    )
    assert len(contents(kept)["legs"]) == 3
    part = next(tmp_path.glob("MI-*.sm"))
    part.write_text(part.read_text() + "\n// another text\n")
    changed = gpu_tester("campaign", str(kept), "--episodes", "16")
    assert changed.exit_code == 2 and "another text of the protocol" in changed.output


def test_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.sm").write_text("int twice(int n) { return n + n; }\n")
    more = ("--set", "machine.L1Cache.count=3", "-I", ".", "--prelude", "own.sm")
    for _ in range(2):
        done = gpu_tester("campaign", "kept", *SMALL, *more)
        assert done.exit_code == 0, done.output
    for option, other in (("--set", "machine.L1Cache.count=2"), ("-I", "kept")):
        refused = gpu_tester("campaign", "kept", *SMALL, option, other)
        assert refused.exit_code == 2 and "cannot change: this campaign was" in refused.output


def test_options_are_kept_as_json_has_them(tmp_path: Path) -> None:
    several = {"include": (tmp_path,), "prelude": (tmp_path,), "assignments": ("a=1", "b=2")}
    given = options(tmp_path, attack=("one",), avoid=("other",), **several)
    here = kept(given, kept_names())
    assert here["avoid"] == ["other"] and json.loads(json.dumps(here)) == here
    assert resumed(given, here, kept_names(), tmp_path) == given


def test_a_prelude_need_not_be_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does it matter that the session that goes on has its path in full."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for part in shipped()["MI"].parent.glob("MI*"):
        shutil.copy(part, tmp_path / "b")
    monkeypatch.chdir(tmp_path / "a")
    Path("own.sm").write_text("int twice(int n) { return n + n; }\n")
    words = ("-p", str(tmp_path / "b" / "MI.slicc"), "--prelude", "own.sm")
    assert gpu_tester("campaign", "kept", *SMALL[2:], *words).exit_code == 0
    again = gpu_tester("campaign", "kept", "--episodes", "28", "--engine", "python")
    assert again.exit_code == 0 and "7 legs, 1 of them now" in again.output, again.output


def test_a_page_does_not_replace_what_the_campaign_keeps(there: Path) -> None:
    (there / "failures").mkdir(exist_ok=True)
    (there / "link").symlink_to("campaign.sqlite")
    before = {path.name: path.read_bytes() for path in there.iterdir() if path.is_file()}
    own = ("campaign.sqlite", "campaign.sqlite-wal", "lock", "failures/leg1-hang.html", "link")
    for name in own:
        refused = gpu_tester("status", str(there), "--html", str(there / name))
        assert refused.exit_code == 2 and "a file of the campaign itself" in refused.output
    after = {path.name: path.read_bytes() for path in there.iterdir() if path.is_file()}
    assert after == before
    assert gpu_tester("status", str(there), "--html", str(there / "now.html")).exit_code == 0
