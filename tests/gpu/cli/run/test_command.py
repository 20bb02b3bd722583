"""``gcn run``: what it prints, what it returns, and the message for every mistake."""

from __future__ import annotations

import json
import re
import resource
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpu.cli.main import main
from gpu.memory.coherent.recording_file import load, save
from tests.gpu.cli.calling import gcn
from tests.gpu.kernels.stored import stored_bytes
from tests.processes import call_command


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Stored objects as files, by source."""
    found = {}
    for source in ("vadd", "mixed", "numeric", "reduce", "device_hsa", "wait", "calls", "litmus"):
        path = tmp_path / f"{source}.co"
        path.write_bytes(stored_bytes(source))
        found[source] = str(path)
    path = tmp_path / "gfx1030.co"
    path.write_bytes(stored_bytes("vadd", "clang19-O2-gfx1030"))
    found["gfx1030"] = str(path)
    return found


VADD = ("--arg", "f32[1000]=random:1", "--arg", "f32[1000]=iota", "--arg", "out:f32[1000]",
        "--arg", "u32=1000", "--grid", "1000", "--group", "256")  # fmt: skip


def test_results_are_shown_compared_and_written(files: dict[str, str], tmp_path: Path) -> None:
    stats, saved = tmp_path / "stats.json", tmp_path / "c.npy"
    first = gcn("run", files["vadd"], "vadd", *VADD, "--functional", "--save", f"2={saved}",
                "--stats", str(stats))  # fmt: skip
    assert (first.status, first.err) == (0, "")
    assert first.out.startswith("c = f32[1000] [")
    assert "vadd: 4 groups, 16 waves, " in first.out
    assert "fidelity: functional" in first.out
    assert json.loads(stats.read_text())["waves"] == 16
    values = np.load(saved)
    assert values.dtype == np.float32
    assert np.all(values >= np.arange(1000, dtype=np.float32))
    again = gcn("run", files["vadd"], "vadd", *VADD, "--functional", "--expect", f"2={saved}")
    assert again.status == 0 and "as expected: c\n" in again.out
    wrong = gcn("run", files["vadd"], "vadd", *VADD, "--functional", "--expect", "2=iota")
    assert wrong.status == 1
    assert re.search(r"wrong: c: \d+ of 1000 elements differ, first \[0\]: 0\.", wrong.out)
    near = gcn("run", files["vadd"], "vadd", *VADD, "--functional", "-q", "--expect",
               f"2={saved}", "--tolerance", "1e-6")  # fmt: skip
    assert near.out.splitlines() == first.out.splitlines()[:1]


def test_through_the_caches(files: dict[str, str], tmp_path: Path) -> None:
    stats = tmp_path / "stats.json"
    answer = gcn("run", files["reduce"], "reduce_atomic", "--grid", "512", "--arg", "i32[600]=iota",
                 "--arg", "out:i32[1]", "--arg", "u32=600", "--cus", "2", "--tccs", "2",
                 "--engine", "python", "--stats", str(stats), "--expect",
                 f"1={600 * 599 // 2}")  # fmt: skip
    assert (answer.status, answer.err) == (0, "")
    assert "out = i32[1] [179700]" in answer.out
    assert "fidelity: coherent" in answer.out and "GPU_VIPER (Python engine)" in answer.out
    counted = json.loads(stats.read_text())
    assert counted["ticks"] > 0 and counted["compute_units"]["memory_instructions"]
    # 600 numbers in 38 lines, each loaded once before, one atomic operation a group.
    assert counted["caches"]["Vector"]["Load"]["I"] >= 38
    assert sum(counted["caches"]["Vector"]["Atomic"].values()) == 2
    assert re.search(r"^  Vector +Load \d+ in I", answer.out, re.M)


@pytest.mark.parametrize("shape", ["8,8", "64,1"])
def test_verify_takes_buffers_of_several_dimensions(shape: str, files: dict[str, str]) -> None:
    buffer = f"f32[{shape}]=iota"
    answer = gcn("run", files["vadd"], "vadd", "--grid", "64", "--functional", "--verify",
                 "--arg", buffer, "--arg", buffer, "--arg", f"f32[{shape}]",
                 "--arg", "u32=64")  # fmt: skip
    assert (answer.status, answer.err) == (0, "")
    assert "verified: 3 buffers are as without caches and time\n" in answer.out


def test_in_a_process(files: dict[str, str], tmp_path: Path) -> None:
    stats, core = tmp_path / "stats.json", tmp_path / "core"
    call = ("run", files["vadd"], "vadd", *VADD, "--process", "--verify", "--cus", "1")
    answer = gcn(*call, "--set", "gpu.tlb.entries=3", "--stats", str(stats))
    assert (answer.status, answer.err) == (0, "")
    assert "verified: 3 buffers" in answer.out and "run ahead of the clock" not in answer.out
    tlbs = json.loads(stats.read_text())["tlb"]
    assert tlbs["vector 0"]["misses"] >= 3 and tlbs["walks"] > 3
    bad = gcn(*call, "--set", "gpu.tlb.entries=0")
    assert bad.status == 2 and "gpu.tlb.entries = 0: not a whole number" in bad.err
    fault = gcn("run", files["device_hsa"], "trapk", "--grid", "1", "--arg", "i32[1]=-1",
                "--functional", "--process", "--core", str(core))  # fmt: skip
    assert fault.status == 2 and "process 8, queue 0" in fault.err
    assert "trapk" in gcn("core", str(core)).out


def test_vectors_structures_and_scratch(files: dict[str, str]) -> None:
    answer = gcn("run", files["calls"], "call_rec", "--grid", "10", "--arg", "inout:i32[10]=iota",
                 "--scratch", "4096", "--functional", "-q")  # fmt: skip
    assert answer.out == "x = i32[10] [ 0  1  1  2  3  5  8 13 21 34]\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("{gfx1030} vadd --grid 64", "kernel vadd cannot run: compiled for gfx1030; only gfx803"),
        ("{vadd} sub --grid 64", "no kernel 'sub'; it has: vadd, vadd_i"),
        ("nowhere.co vadd --grid 64", "nowhere.co: No such file"),
        ("{vadd} vadd --grid 64", "'vadd' takes 4 arguments, 0 are given"),
        ("{vadd} vadd --grid 64 --arg f32", "argument 'f32': is neither a value"),
        ("{vadd} vadd --grid 0", "grid '0': 0 is not 1 to"),
        ("{vadd} vadd --grid 64 --group 2048", "group '2048': 2048 is not 1 to 1024"),
        ("{vadd} vadd --grid 64 --group 32,32 " + "--arg null " * 3 + "--arg u32=1", "1024"),
        ("{vadd} vadd --grid 64 --arg u32=1 --expect 0=1", "argument 0 is no buffer"),
        ("{vadd} vadd --grid 64 --expect 1", "'1' is not N=..."),
        ("{vadd} vadd --grid 64 --save 3=x.npy", "there are 0 arguments"),
        (
            "{vadd} vadd --grid 64 --arg f32[1] --save 0=x.npy --save 0=y.npy",
            "--save: argument 0 is given twice",
        ),
        ("{vadd} vadd --grid 64 --arg u32[4] --expect 0=1,2", "2 elements are given for 4"),
        ("{vadd} vadd --grid 64 " + "--arg null " * 3 + "--arg u32=1",
         r"kernel vadd: .*\(vadd\+0x[0-9a-f]+\): lane 0: address 0x0: nothing is mapped there"),
        ("{vadd} vadd --grid 64 " + "--arg u32=4 " * 4,
         r"argument 0 \(float\* a\): is a buffer, as u32\[4\] is one; 4 is a number"),
        ("{device_hsa} trapk --grid 64 --arg i32[64]=-1", "s_trap 2.*: trap 2"),
        ("{wait} spin_forever --grid 64 --arg u32[1]", "(?s)every wave repeats.*holds 0x0"),
        ("{wait} loop_forever --grid 64 --limit 5000 --arg u32[1]",
         "5,[0-9]{3} wave instructions have run, the limit|5,000 wave instructions have run"),
        ("{vadd} vadd --grid 64 --cus 65", "65: 1 to 64 are possible"),
        ("{vadd} vadd --grid 64 --check waits,rases", "no check `rases`; there are races, waits"),
        ("{vadd} vadd --grid 64 --engine fast", "fast: python, native, auto are possible"),
        ("{vadd} vadd --grid 64 --trace caches", "caches: waves, memory, packets are possible"),
        ("{vadd} vadd --grid 64 --cus 0", "Invalid value for '--cus'"),
        ("{vadd} vadd", "Missing option '--grid'"),
    ],
)  # fmt: skip
def test_mistakes_are_reported(words: str, message: str, files: dict[str, str]) -> None:
    answer = gcn("run", *words.format(**files).split(), "--functional")
    assert (answer.status, answer.out) == (2, "")
    assert re.search(message, answer.err), answer.err
    assert "Traceback" not in answer.err


def test_accesses_beyond_lds_are_said(files: dict[str, str]) -> None:
    """Hardware lets them pass. Of 64 counters 16 are there: 48 are cleared, counted and read."""
    call = ("run", files["mixed"], "bins", "--arg", "u32[64]=iota", "--arg", "out:u32[64]",
            "--arg", "local={}", "--arg", "u32=64", "--arg", "u32=64", "--grid", "64")  # fmt: skip
    for engine in (("--functional",), ()):
        short = gcn(*(word.format(64) for word in call), *engine)
        assert short.status == 0
        assert "144 accesses of lanes were beyond the LDS of the group: loads gave 0" in short.out
        assert "LDS" not in gcn(*(word.format(256) for word in call), *engine).out


def test_a_race_is_found(files: dict[str, str]) -> None:
    """Status 1: the run ended, and its kernel is wrong."""
    answer = gcn("run", files["litmus"], "mp_rlx_dev", "--grid", "128", "--group", "64", "--arg",
                 "i32[1]", "--arg", "i32[1]", "--arg", "i32[2]", "--functional", "--check",
                 "races,waits,uninitialised")  # fmt: skip
    assert (answer.status, answer.err) == (1, "")
    assert re.search(r"found: races: `flat_store_dword .* of mp_rlx_dev", answer.out)


def test_traces(files: dict[str, str]) -> None:
    call = ("run", files["vadd"], "vadd", *VADD, "--functional", "-q")
    packets = gcn(*call, "--trace", "packets").out.splitlines()
    assert re.search(r"queue 0: packet 0: kernel vadd is active, 4 groups", "\n".join(packets))
    waves = gcn(*call, "--trace", "waves", "--trace", "memory").out
    assert re.search(r"wave 3 of group \(3, 0, 0\) of vadd", waves)
    assert "flat_store_dword v[0:1], v2" in waves


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--stats {folder}", "{folder}: Is a directory"),
        ("--save 2={folder}/none/c.npy", "{folder}/none/c.npy: No such file or directory"),
        ("--record {folder}/none/c.rec", "{folder}/none/c.rec: No such file or directory"),
    ],
)
def test_files_that_cannot_be_written_are_reported_before_anything_runs(
    option: str, message: str, files: dict[str, str], tmp_path: Path
) -> None:
    words = option.format(folder=tmp_path).split()
    answer = gcn("run", files["vadd"], "vadd", *VADD, "--functional", *words)
    assert answer == (2, "", f"gcn: {message.format(folder=tmp_path)}\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--save 2=o --stats {folder}/o", "the saved c and --stats both write to {folder}/o"),
        ("--save 1=o --save 2=./o", "the saved b and the saved c both write to o"),
        ("--save 2=vadd.co", "the saved c would overwrite vadd.co, which has the kernel"),
        ("--core vadd.co", "--core would overwrite vadd.co, which has the kernel"),
    ],
)
def test_no_output_overwrites_another_file_of_the_run(
    options: str,
    message: str,
    files: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = Path("vadd.co").read_bytes()
    words = options.format(folder=tmp_path).split()
    answer = gcn("run", files["vadd"], "vadd", *VADD, "--functional", *words)
    assert answer == (2, "", f"gcn: {message.format(folder=tmp_path)}\n")
    assert Path("vadd.co").read_bytes() == before and not Path("o").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device")
@pytest.mark.parametrize("option", ["--stats=/dev/full", "--save=2=/dev/full"])
def test_a_disk_that_is_full(option: str, files: dict[str, str]) -> None:
    answer = gcn("run", files["vadd"], "vadd", *VADD, "--functional", "-q", option)
    assert (answer.status, answer.err) == (2, "gcn: /dev/full: No space left on device\n")


def test_more_than_there_is_room_for(files: dict[str, str]) -> None:
    def limited() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + (2 << 30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        main()

    words = ["run", files["vadd"], "vadd", "--grid", "64", *["--arg", "u8[1000000000]"] * 3]
    words += ["--arg", "u32=1", "--functional"]
    answer = call_command(limited, *words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("gcn: out of memory: ")


def test_an_unknown_protocol_is_reported(files: dict[str, str]) -> None:
    answer = gcn("run", files["vadd"], "vadd", *VADD, "--protocol", "NOTHING")
    assert answer.status == 2
    assert "NOTHING" in answer.err and "Traceback" not in answer.err


def test_fields_of_the_system_and_timing_are_set(files: dict[str, str]) -> None:
    words = ("run", files["vadd"], "vadd", *VADD, "--engine", "python")
    plain, slow = gcn(*words), gcn(*words, "--set", "gpu.vector_cycles=64")
    few = gcn(*words, "--set", "machine.Vector.cache.L1cache.sets=1",
              "--set", "gpu.vector_cycles=64")  # fmt: skip
    cycles = []
    for answer in (plain, slow, few):
        assert (answer.status, answer.err) == (0, "")
        found = re.search(r"([0-9,]+) cycles$", answer.out, re.M)
        assert found is not None
        cycles.append(int(found[1].replace(",", "")))
    assert cycles[0] < cycles[1]
    no_frame = re.compile(r"^  Vector .* LoadBypass \d+ in I", re.M)
    assert no_frame.search(few.out) and not no_frame.search(slow.out)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("gpu.vector_cycle=2", "no such parameter; there are vector_cycles, long_factor"),
        ("gpu.vector_cycles=0", "gpu.vector_cycles = 0: not a whole number of at least 1"),
        ("gpu.vector_cycles=1000000000", "gpu.vector_cycles = 1000000000: more than 1048576"),
        ("gpu.vector_cycles=four", 'gpu.vector_cycles = "four": not a whole number'),
        ("gpu.buffer_bytes=32", "gpu.buffer_bytes = 32: less than two fetches"),
        ("gpu=7", "gpu = 7: expected a table"),
        ("machine.TCC.parameters.WBx=true", "did you mean `WB`"),
        ("line_size", "expected path=value"),
    ],
)
def test_a_field_that_cannot_be_set(field: str, message: str, files: dict[str, str]) -> None:
    answer = gcn("run", files["vadd"], "vadd", *VADD, "--engine", "python", "--set", field)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"gcn: --set {field.partition('=')[0]}")
    assert message in answer.err


def test_a_functional_run_has_nothing_to_set(files: dict[str, str]) -> None:
    answer = gcn("run", files["vadd"], "vadd", *VADD, "--functional", "--set", "gpu.lds_cycles=1")
    assert answer.status == 2
    assert "gpu.lds_cycles: no such field, because only the system of a protocol" in answer.err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--protocol=NoSuch", "--protocol with --functional: only caches have a protocol"),
        ("--system=no.toml", "--system with --functional: only the system of a protocol has"),
        ("--profile", "--profile with --functional: only a device with time has a profile"),
        ("--trace-out=t", "--trace-out with --functional: only a device with time has a profile"),
    ],
)
def test_what_flat_memory_cannot_have(option: str, message: str, files: dict[str, str]) -> None:
    answer = gcn("run", files["vadd"], "vadd", *VADD, "--functional", option)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"gcn: {message}")


@pytest.mark.parametrize("tolerance", ["-1", "nan", "inf", "x"])
def test_a_tolerance_is_a_number(tolerance: str, files: dict[str, str]) -> None:
    words = ("--functional", "--tolerance", tolerance)
    answer = gcn("run", files["vadd"], "vadd", *VADD, *words)
    assert (answer.status, answer.out) == (2, "")
    assert f"'{tolerance}' is not a tolerance, 0 or more" in answer.err


def test_what_was_asked_of_memory_is_asked_again(files: dict[str, str], tmp_path: Path) -> None:
    recording = tmp_path / "vadd.rec"
    first = gcn("run", files["vadd"], "vadd", *VADD, "--engine", "python", "--set",
                "network.delays=uniform", "--seed", "3", "--record", str(recording))  # fmt: skip
    assert (first.status, first.err) == (0, "")
    again = gcn("replay", str(recording), "--engine", "python")
    assert (again.status, again.err) == (0, "")
    caches = [line for line in first.out.splitlines() if line.startswith("  ")]
    lines = again.out.splitlines()
    assert lines[2:] == caches
    assert re.fullmatch(r".*: [\d,]+ requests and \d+ accesses of the host, 4 compute units on "
                        "GPU_VIPER", lines[0])  # fmt: skip
    ticks = re.search(r"([\d,]+) cycles; ([\d,]+) when recorded", lines[1])
    assert ticks is not None and ticks[1] == ticks[2] and f"{ticks[1]} cycles" in first.out
    other = gcn("replay", str(recording), "--engine", "python", "--tccs", "1")
    assert other.status == 0 and other.out.splitlines()[2:] != caches
    read, origin = load(recording)
    save(read, replace(origin, tccs=0), recording)  # as many as the description has
    described = gcn("replay", str(recording), "--engine", "python")
    assert described.out.startswith(other.out) and described.err == ""

    # What a file names is opened only where the command line lets it look.
    system = tmp_path / "other.toml"
    save(read, replace(origin, system=str(system)), recording)
    outside = gcn("replay", str(recording), "--engine", "python")
    assert outside.status == 2
    assert f"names '{system}', which lies neither below the working directory" in outside.err
    allowed = gcn("replay", str(recording), "--engine", "python", "--include", str(tmp_path))
    assert allowed.status == 2 and "other.toml: cannot be read: No such file" in allowed.err


def test_recordings_that_are_none(files: dict[str, str], tmp_path: Path) -> None:
    flat = gcn("run", files["vadd"], "vadd", *VADD, "--functional", "--record", str(tmp_path / "r"))
    assert (flat.status, flat.out) == (2, "")
    assert flat.err == "gcn: only requests to caches can be recorded\n"
    foreign = gcn("replay", files["vadd"])
    assert foreign.status == 2 and "vadd.co: no recording: it does not begin with" in foreign.err
    missing = gcn("replay", str(tmp_path / "missing.rec"))
    assert missing.status == 2 and "missing.rec" in missing.err
