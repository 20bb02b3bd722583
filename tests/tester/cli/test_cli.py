"""The command: exit statuses, messages, files; in an empty directory, as a user has it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tester.cli.main import app
from tester.program.replay_file import load_leg, save_leg
from tests.processes import heed_signals

PROTOCOLS = Path(__file__).parents[3] / "protocols"
ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gpu_tester(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def without_rates(text: str) -> str:
    return re.sub(r"^\d[\d.]* s: .*$", "", text, flags=re.MULTILINE)


def test_a_run_that_passes(empty_directory: Path) -> None:
    done = gpu_tester("--protocol", "MI", "--episodes", "120", "--seed", "3")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("gpu-tester ")
    assert lines[0].endswith("120 episodes, seed 3")
    assert any(re.fullmatch(r"leg +0  .* episodes  .* L1Cache.*  passed", line) for line in lines)
    assert any(line.startswith("PASSED: 120 episodes in ") for line in lines)
    assert any("L1Cache" in line and "%" in line for line in lines)
    assert "episodes/s" in lines[-1]
    assert list(empty_directory.iterdir()) == []


def test_same_command_same_output_but_for_rates() -> None:
    words = ("-p", "MI", "--episodes", "150", "--seed", "8")
    assert without_rates(gpu_tester(*words).stdout) == without_rates(gpu_tester(*words).stdout)


def test_a_seed_is_chosen_and_printed() -> None:
    first, second = (gpu_tester("-p", "MI", "--episodes", "5").stdout for _ in range(2))
    seeds = {re.search(r"seed (\d+)", text)[1] for text in (first, second)}  # type: ignore[index]
    assert len(seeds) == 2


def test_quiet_prints_the_verdict_only_where_nothing_failed() -> None:
    done = gpu_tester("-p", "MI", "--episodes", "20", "--seed", "1", "--quiet")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 1
    assert done.stdout.startswith("PASSED: 20 episodes")


@pytest.fixture
def broken(empty_directory: Path) -> Path:
    """MI with a cache that hands a line on and keeps it."""
    home = empty_directory / "broken"
    home.mkdir()
    for path in PROTOCOLS.glob("MI*"):
        shutil.copy(path, home / path.name)
    cache = home / "MI-cache.sm"
    text = cache.read_text()
    before = "transition(M, Fwd_GETX, I) {\n    d_sendDataFromCache;\n    j_freeFrame;"
    assert before in text
    after = "transition(M, Fwd_GETX) {\n    d_sendDataFromCache;"
    cache.write_text(text.replace(before, after))
    return home


PYTHON = ("--engine", "python")
FAILING = ("--episodes", "12", "--leg-episodes", "12", "--seed", "5", "--no-shrink", *PYTHON)


def test_a_bug_is_reported_and_can_be_replayed(broken: Path, empty_directory: Path) -> None:
    done = gpu_tester("-p", str(broken / "MI.slicc"), *FAILING)
    assert done.exit_code == 1, done.output
    assert "\nBUG: " in done.stdout
    assert "FAILED: " in done.stdout
    command = re.search(r"run it again\n  (gpu-tester replay (\S+\.leg))\n", done.stdout)
    assert command is not None
    assert (empty_directory / command[2]).is_file()

    again = gpu_tester(*command[1].split()[1:], *PYTHON, "--quiet")
    assert again.exit_code == 1
    assert again.stdout.startswith("\nBUG: ")  # no line of the leg before the report
    assert again.stdout.splitlines()[-1].startswith("FAILED: ")
    bug = r"^BUG: (.*)$"
    first = re.search(bug, done.stdout, re.MULTILINE)
    second = re.search(bug, again.stdout, re.MULTILINE)
    assert first is not None
    assert second is not None
    assert first[1] == second[1]

    # The author repairs the protocol; the same file now passes and says what changed.
    shutil.copy(PROTOCOLS / "MI-cache.sm", broken / "MI-cache.sm")
    repaired = gpu_tester(*command[1].split()[1:], *PYTHON)
    assert repaired.exit_code == 0, repaired.output
    assert "not the text that the file was made with" in repaired.stdout


def test_a_protocol_elsewhere_is_named_by_the_command(
    broken: Path, empty_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file leads to no place outside; the command that is printed does."""
    here = empty_directory / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    path = str(broken / "MI.slicc")
    done = gpu_tester("-p", path, *FAILING)
    assert done.exit_code == 1, done.output
    command = re.search(r"run it again\n  gpu-tester (.*)\n", done.stdout)
    assert command is not None
    words = command[1].split()
    assert words[2:] == ["--protocol", path]
    again = gpu_tester(*words, *PYTHON)
    assert again.exit_code == 1
    assert f"run it again\n  gpu-tester {command[1]}\n" in again.stdout

    carried = gpu_tester(*words[:2], *PYTHON)  # by its own texts
    assert carried.exit_code == 1
    assert f"run it again\n  {' '.join(['gpu-tester', *words[:2]])}\n" in carried.stdout
    save_leg(replace(load_leg(words[1]), texts=None), words[1])
    refused = gpu_tester(*words[:2])
    assert refused.exit_code == 2
    assert f"its protocol {path} lies neither below the working directory nor" in refused.stderr
    assert f"--include {broken}, or --protocol" in refused.stderr
    allowed = gpu_tester(*words[:2], "--include", str(broken), *PYTHON)
    assert allowed.exit_code == 1
    assert f"{words[1]} --include {broken}\n" in allowed.stdout

    (here / "link").symlink_to(broken)
    linked = gpu_tester("-p", "link/MI.slicc", *FAILING)
    assert linked.exit_code == 1
    assert "--protocol" in linked.stdout


def test_save_program_and_coverage_and_trace(empty_directory: Path) -> None:
    done = gpu_tester(
        *("-p", "MI", "--episodes", "30", "--seed", "3", "--save-program", "a.leg"),
        *("--coverage", "c.json", "--trace", "all"),
    )
    assert done.exit_code == 0, done.output
    assert re.search(r"L1Cache \d +0x[0-9a-f]+ +Load +I -> IS +MI-cache.sm:\d+", done.stdout)
    assert json.loads((empty_directory / "c.json").read_text())["protocol"] == "MI"
    replayed = gpu_tester("replay", "a.leg", "-q")
    assert replayed.exit_code == 0
    assert replayed.stdout.startswith("PASSED: 30 episodes in 1 leg")
    assert (empty_directory / "a.leg").stat().st_mode & 0o777 == 0o666 & ~umask()
    for option in (("--seed", "4"), ("--lanes", "2"), ("--l1-sets", "2"), ("--set", "a=1")):
        refused = gpu_tester("replay", "a.leg", *option)
        assert refused.exit_code == 2
        expected = f"replay runs a leg as it is, so {option[0]} has no effect with it"
        assert expected in refused.stderr.replace("\n", " ")
        refused = gpu_tester("diff", "a.leg", *option)
        assert refused.exit_code == 2
        assert f"so {option[0]} has no effect with it" in refused.stderr


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--protocol", "GPU_VIPR"], "there is no protocol GPU_VIPR; did you mean GPU_VIPER?"),
        (["--protocol", "no/file.slicc"], "no/file.slicc does not exist"),
        (["--profile", "coherense"], "no profile 'coherense'; did you mean coherence?"),
        (["--l1-sets", "3"], "'--l1-sets': 3: a power of two"),
        (["--lanes", "65"], "'--lanes': 65: 1 to 64 are possible"),
        (["--cus", "65"], "'--cus': 65: 1 to 64 are possible"),
        (["--tccs", "-1"], "'--tccs': -1: 1 to 64 are possible"),
        (["--wavefronts", "many"], "'--wavefronts': 'many' is not an integer"),
        (["--seed", "18446744073709551616"], "'--seed': 18446744073709551616: 0 to "),
        (["--episode-length", "5000"], "'--episode-length': 5000: 1 to 4096 are possible"),
        (["--max-seconds", "nan"], "'--max-seconds': 'nan' is not a number of seconds"),
        (["--l1-size", "192"], "--l1-size 192: 3 sets of 1 ways: a power of two is needed"),
        (
            ["--l1-size", "256", "--l1-sets", "8"],
            "--l1-size 256: 4 lines do not fill 8 sets evenly",
        ),
        (["--l1-size", "256", "--l1-ways", "8"], "4 lines are not whole sets of 8 ways"),
        (["--l2-size", "-4k"], "'--l2-size': '-4k' is not a size in bytes"),
        (["--l2-sets", "2048", "--l2-ways", "1024"], "--l2-sets 2048 with --l2-ways 1024: "),
        (
            ["--cus", "64", "--wavefronts", "64", "-p", "GPU_VIPER"],
            "4096 agents, no more than 512 are possible",
        ),
        (["--episodes", "9999999", "--leg-episodes", "999999", "--episode-length", "50"], "too la"),
        (["--l1-size", "100"], "--l1-size 100 is not a number of 64-byte lines"),
        (["--l1-size", "big"], "not a size in bytes"),
        (["--set", "machine.L1Cache.count=-3"], "machine.L1Cache.count"),
        (["--set", "machine.Nonsense.count=2"], "Nonsense"),
        (["--set", "machine.Directory.count=0"], "memory is behind Directory: at least one"),
        (["--set", "nonsense"], "expected path=value"),
        (["replay", "no.leg"], "no.leg: cannot be read"),
        (["--system", "no.toml"], "no.toml"),
        (["--trace", "here"], "expected all or an address"),
        (["--trace", "-5"], "--trace -5: expected all or an address"),
        (["--episodes", "0"], "episodes"),
        (["--delay", "long"], "delay"),
        (["--no-such-option"], "--no-such-option"),
        (["--save-program", "no/such/dir/a.leg"], "no/such/dir/a.leg: cannot be written"),
        (["--coverage", "no/such/dir/a.json"], "no/such/dir/a.json: cannot be written"),
        (["--coverage", "/"], "cannot be written: it is a directory"),
        (["--output", "/dev/null"], "--output /dev/null: cannot be written: /dev/null is not a"),
        (["--protocol", ""], "--protocol is empty"),
        (["--protocol", "."], "protocol file . is a directory"),
        (["--protocol", "/dev/zero"], "protocol file /dev/zero is not a regular file"),
        (["--system", "/dev/zero"], "/dev/zero: larger than 1048576 bytes"),
        (["--system", "."], ".: cannot be read: Is a directory"),
        (["replay", "/dev/zero"], "/dev/zero: it is not a replay file"),
        (["replay", "."], ".: cannot be read: Is a directory"),
        (["--include", "nowhere"], "--include nowhere: it is not a directory"),
        (["--coverage", "same", "--save-program", "./same"], "both write to "),
        (["--set", "line_size=48"], "--set line_size=48: line_size = 48: must be a power of two"),
        (["extra"], "(extra)"),
        (["--set", "a.b.c=1"], '--set a.b.c=1: a = {"b": {"c": 1}}: no such field'),
        (
            ["--coverage", "/proc/x"],
            "--coverage /proc/x: cannot be written: /proc ",
        ),
        (["--coverage", "/dev/full"], "gpu-tester: /dev/full: No space left on device"),
        (["--save-program", "/dev/full"], "/dev/full: cannot be written: No space left"),
    ],
)
def test_misuse_is_one_message_and_status_2(words: list[str], message: str) -> None:
    run = ["--episodes", "5", "--seed", "1"]
    if "--protocol" not in words:
        run += ["-p", "MI"]
    done = gpu_tester(*words) if words[0] == "replay" else gpu_tester(*run, *words)
    assert done.exit_code == 2, done.output
    assert message in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", "none"),
        ("--set", "line_size=48"),
        ("--set", "machine.L1Cache.cuont=1"),
        ("--set", "machine.Directory.count=0"),
    ],
)
def test_what_is_wrong_is_found_before_an_engine_is_built(words: tuple[str, str]) -> None:
    done = gpu_tester("-p", "MI", "--episodes", "5", *words)
    assert (done.exit_code, done.stdout) == (2, "")


def test_a_description_names_its_protocol(empty_directory: Path) -> None:
    shipped = ROOT / "protocols" / "MI.slicc"
    (empty_directory / "mine.toml").write_text(f'protocol = "{shipped}"\n')
    done = gpu_tester("--system", "mine.toml", "--episodes", "5", "--seed", "1")
    assert done.exit_code == 0, done.output
    assert ": MI (" in done.stdout
    (empty_directory / "none.toml").write_text('protocol = "none.slicc"\n')
    done = gpu_tester("--system", "none.toml", "--episodes", "5")
    assert (done.exit_code, "none.slicc does not exist" in done.stderr) == (2, True)


def test_a_description_of_another_protocol_is_refused(empty_directory: Path) -> None:
    (empty_directory / "other.toml").write_text('line_size = 64\nprotocol = "sub/Other.slicc"\n')
    done = gpu_tester("-p", "MI", "--system", "other.toml", "--episodes", "5")
    assert done.exit_code == 2
    assert done.stderr == (
        'gpu-tester: other.toml:2: protocol = "sub/Other.slicc": another protocol than MI, '
        "which was asked for\n"
    )
    # The shipped description, copied or not, is that of a working copy of the protocol as well.
    shutil.copy(PROTOCOLS / "MI.toml", empty_directory / "small.toml")
    for path in PROTOCOLS.glob("MI*"):
        shutil.copy(path, empty_directory / path.name)
    systems = ("small.toml", str(PROTOCOLS / "MI.toml"))
    for protocol, *of in (("MI", *systems), ("MI.slicc", *systems), ("MI-cache.sm", systems[1])):
        for system in of:
            words = ("-p", protocol, "--system", system, "--episodes", "1", "-q")
            assert gpu_tester(*words).exit_code == 0
    # Beside a protocol of another name it is an error, too.
    shutil.copy("MI.slicc", "Mine.slicc")
    Path("Mine.slicc").write_text(Path("MI.slicc").read_text().replace('"MI"', '"Mine"'))
    shutil.copy("MI.toml", "Mine.toml")
    done = gpu_tester("-p", "Mine.slicc", "--episodes", "5")
    assert (done.exit_code, "Mine.toml:3: protocol = " in done.stderr) == (2, True)


BAD_FILES = {
    "unknown.toml": (b"line_size = 64\ncolour = 3\n", "unknown.toml:2: colour = 3: no such field"),
    "ways.toml": (
        b"[machine.L1Cache.cache.cacheMemory]\nways = 0\n",
        "ways.toml:2: machine.L1Cache.cache.cacheMemory.ways = 0: must be between 1 and 1024",
    ),
    "size.toml": (b"\nline_size=48\n", "size.toml:2: line_size = 48: must be a power of two"),
    "open.toml": (b'line_size = "big\n', "open.toml:1: not TOML"),
    "latin.toml": (b"# a\n# \xe9\n", "latin.toml:2: not UTF-8 text: byte 0xe9"),
    "foreign.leg": (b"hello\n", "foreign.leg: it is not a replay file of gpu-tester"),
    "empty.leg": (b"", "empty.leg: it is not a replay file of gpu-tester"),
    "cut.leg": (b"gpu-tester leg\n" + bytes(500), "cut.leg: its checksum does not match"),
    "empty.sm": (b"", "empty declares no machine: there is nothing to drive"),
    "latin.sm": (b"structure(\xe9) { }\n", "latin.sm:1:11"),
    "open.sm": (b'machine(MachineType:L1Cache, "x") : { ', "open.sm:1:37"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_named_with_the_place(name: str, empty_directory: Path) -> None:
    content, message = BAD_FILES[name]
    (empty_directory / name).write_bytes(content)
    given = {
        "toml": ["-p", "MI", "--system", name, "--save-program", "a.leg"],
        "leg": ["replay", name],
        "sm": ["--protocol", name, "--save-program", "a.leg"],
    }[name.partition(".")[2]]
    done = gpu_tester(*given, "--coverage", "c.json")
    assert (done.exit_code, message in done.stderr) == (2, True), done.output
    assert "Traceback" not in done.output
    assert [path.name for path in empty_directory.iterdir()] == [name], "nothing half-written"


def test_a_leg_of_another_protocol_is_refused() -> None:
    assert gpu_tester("-p", "MI", "--episodes", "5", "--save-program", "a.leg").exit_code == 0
    done = gpu_tester("replay", "a.leg", "-p", "MSI")
    assert done.exit_code == 2
    assert "a.leg: the leg was made for the machines of MI (DMA, Directory, L1Cache)" in done.stderr
    assert "MSI has other ones" in done.stderr


def test_a_protocol_with_errors_is_status_2(empty_directory: Path) -> None:
    (empty_directory / "bad.sm").write_text("machine(MachineType:L1Cache, ) { oops }\n")
    done = gpu_tester("-p", "bad.sm")
    assert done.exit_code == 2
    assert "bad.sm" in done.stderr
    assert "Traceback" not in done.output


def test_a_bug_of_ours_is_not_a_bug_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    from tester.execution.driver import Driver

    def fail(driver: Driver) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(Driver, "start", fail)
    done = gpu_tester("-p", "MI", "--episodes", "5", "--engine", "python")
    assert done.exit_code == 70
    assert "bug of the tester" in done.stderr


def command(*words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-m", "tester.cli", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )


def test_interrupted_with_partial_results() -> None:
    process = command("-p", "MI", "--episodes", "1000000", "--seed", "1")
    assert process.stdout is not None
    for line in process.stdout:
        if "passed" in line:
            break
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "INTERRUPTED: " in output
    assert "Traceback" not in errors


def test_a_reader_that_goes_away_is_no_complaint() -> None:
    process = command("-p", "MI", "--episodes", "500", "--seed", "1")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


def test_a_fresh_process_gives_the_same_output() -> None:
    words = ("-p", "MI", "--episodes", "60", "--seed", "21")
    output, _ = command(*words).communicate(timeout=60)
    assert without_rates(output) == without_rates(gpu_tester(*words).stdout)


def test_a_passing_run_loads_little() -> None:
    """A protocol that was compiled before needs no compiler, a leg that passes no report."""
    unneeded = {
        *("networkx", "graphviz", "jinja2", "lark", "multiprocessing", "html", "slicc.ir"),
        *("tester.blame", "tester.diagnosis", "tester.shrink", "tester.trace_file"),
        *("tester.formats.documents", "tester.cli.options.mutate", "tester.program.verifier"),
    }
    code = (
        "import sys, tester.cli.main\n"
        "try: tester.cli.main.app(['MI', '--episodes', '20', '--seed', '1'])\n"
        "except SystemExit as end: assert end.code == 0, end.code\n"
        f"print({unneeded} & set(sys.modules) or 'set()')\n"
    )
    assert gpu_tester("MI", "--episodes", "20", "--seed", "1").exit_code == 0  # compiles it
    out = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True)
    assert "PASSED: " in out
    assert out.splitlines()[-1] == "set()"


def test_help_is_quick() -> None:
    started = time.process_time()
    process = command("--help")
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "--episodes" in output
    assert time.process_time() - started < 5
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, tester.cli.main; print('numpy' in sys.modules)"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "False"


@pytest.mark.parametrize("engine", ["native", "python"])
def test_a_time_limit_ends_a_run_within_a_leg(engine: str) -> None:
    done = gpu_tester(
        *("-p", "MI", "--seed", "3", "--episodes", "100000", "--leg-episodes", "5000"),
        *("--max-seconds", "0", "--engine", engine),
    )
    assert done.exit_code == 0, done.output
    cut = re.search(
        r"^stopped after 0 seconds, as asked; leg 0 after ([\d,]+) episodes, unchecked$",
        done.stdout,
        re.MULTILINE,
    )
    assert cut is not None, done.stdout
    assert int(cut[1].replace(",", "")) < 5000
    assert f"PASSED: {cut[1]} episodes in 1 leg, " in done.stdout


def test_a_time_limit_ends_workers_within_their_legs() -> None:
    done = gpu_tester(
        *("-p", "MI", "--seed", "3", "--episodes", "100000", "--leg-episodes", "5000"),
        *("--max-seconds", "0", "--engine", "python", "--jobs", "2"),
    )
    assert done.exit_code == 2, "nothing was tested"
    assert "stopped after 0 seconds, as asked; legs that were running do not count" in done.stdout
    assert "NOTHING TESTED: 0 episodes in 0 legs" in done.stdout
