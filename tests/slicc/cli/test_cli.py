"""The command: exit statuses, streams, and what each command writes."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
import typer

from slicc.cli import main
from slicc.cli.application import app
from slicc.coverage.cells import Cells
from slicc.coverage.file import write_cells
from tests.processes import heed_signals

ROOT = Path(__file__).parents[3]
DRIVER = ROOT / "protocols" / "MI.slicc"
BROKEN = 'action(a, "a") { n = 1; }\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def slicc(*arguments: str | Path, **environment: str) -> Done:
    """The command in this process; only what needs a process of its own gets one."""
    out, err = io.StringIO(), io.StringIO()
    with patch.dict(os.environ, environment), redirect_stdout(out), redirect_stderr(err):
        status = main.run(lambda: app([str(argument) for argument in arguments]))
    return Done(status, out.getvalue(), err.getvalue())


def test_help_is_quick() -> None:
    """Measured as time on the processor: the machine may be busy with something else."""
    seconds = []
    for _ in range(3):
        before = os.times()
        done = subprocess.run(
            [sys.executable, "-m", "slicc", "--help"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        after = os.times()
        seconds.append(after.children_user + after.children_system)
        seconds[-1] -= before.children_user + before.children_system
        assert done.returncode == 0
        assert all(f"  {verb.name} " in done.stdout for verb in main.VERBS)
    assert min(seconds) < 0.3


def test_nothing_heavy_is_imported_for_help() -> None:
    code = (
        "import sys, slicc.cli.application, slicc.cli.main\n"
        "heavy = {'lark', 'jinja2', 'networkx', 'numpy', 'rich', 'graphviz', 'slicc.ir'}\n"
        "status = slicc.cli.main.run(lambda: slicc.cli.application.app(['--help']))\n"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else status)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Usage: " in done.stdout


def test_version() -> None:
    done = slicc("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("slicc ")


def test_check_of_a_good_protocol(here: Path) -> None:
    done = slicc("check", DRIVER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("MI: 3 machines, ")
    assert "no errors" in done.stderr
    assert list(here.iterdir()) == []


def test_a_shipped_protocol_is_known_by_its_name(here: Path) -> None:
    done = slicc("check", "MSI", "GPU_VIPER")
    assert done.returncode == 0
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["MSI", "GPU_VIPER"]


def test_check_of_a_bad_protocol(here: Path) -> None:
    Path("bad.sm").write_text(BROKEN)
    done = slicc("check", "bad.sm")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "error[equals-for-assign]" in done.stderr
    assert "--> bad.sm:1:20" in done.stderr
    assert done.stderr.endswith("slicc: 1 error (see `slicc explain equals-for-assign`)\n")
    assert "\x1b" not in done.stderr
    assert "\x1b[" in slicc("check", "bad.sm", "--color", "always").stderr


def test_findings_come_in_the_order_of_the_source(here: Path) -> None:
    """Findings of all passes: files in reading order, each from top to bottom."""
    for path in DRIVER.parent.glob("MI*"):
        (here / path.name).write_text(path.read_text())
    driver, cache = here / "MI.slicc", here / "MI-cache.sm"
    driver.write_text(driver.read_text() + 'include "a.sm";\n')
    (here / "a.sm").write_text("structure(Zz) { Qq q; }\n")
    text = cache.read_text().replace("    j_freeFrame;", "    j_freFrame;", 1)
    cache.write_text(text + "\nQx f() {}\n")

    done = slicc("check", "MI.slicc")
    assert done.returncode == 1
    shown = re.findall(r"^ *--> (\S+):(\d+):(\d+)$", done.stderr, re.MULTILINE)
    places = [(file, int(line), int(column)) for file, line, column in shown]
    assert len(places) == 3
    order = ["MI-cache.sm", "a.sm"]
    assert places == sorted(places, key=lambda place: (order.index(place[0]), *place[1:]))
    assert {file for file, *_ in places} == set(order)

    done = slicc("check", "MI.slicc", "--format", "json")
    found = json.loads(done.stderr)["diagnostics"]
    assert [(one["file"], one["line"], one["column"]) for one in found] == places


def test_the_summary_explains_an_error_before_a_warning(here: Path) -> None:
    (here / "a.sm").write_text('structure(A, desk="x") { int a; }\nstructure(B) { Qq q; }\n')
    done = slicc("check", "a.sm")
    assert done.stderr.index("warning[") < done.stderr.index("error[")
    assert done.stderr.endswith("(see `slicc explain unknown-type`)\n")


def test_json_is_all_there_is_on_stderr(here: Path) -> None:
    Path("bad.sm").write_text(BROKEN)
    done = slicc("check", "bad.sm", "--format", "json")
    assert done.returncode == 1
    (found,) = json.loads(done.stderr)["diagnostics"]
    assert (found["slug"], found["file"], found["line"]) == ("equals-for-assign", "bad.sm", 1)
    done = slicc("graph", "bad.sm", "--diagnostics", "json", "--format", "dot")
    assert json.loads(done.stderr)["errors"] == 1


def test_very_many_errors_are_counted(here: Path) -> None:
    fields = "\n".join(f"Nope{number} field{number};" for number in range(150))
    (here / "many.sm").write_text(f"structure(Many) {{\n{fields}\n}}\n")
    done = slicc("check", "many.sm")
    assert done.stderr.count("error[unknown-type]") == 100
    assert (
        "\n\nand 50 more errors in many.sm; the first 100 are shown\n\nslicc: 150 errors ("
        in done.stderr
    )
    document = json.loads(slicc("check", "many.sm", "--format", "json").stderr)
    assert (document["errors"], len(document["diagnostics"])) == (150, 100)
    assert document["left_out"] == [{"file": "many.sm", "errors": 50, "warnings": 0}]


def test_compile_writes_a_package(here: Path) -> None:
    done = slicc("compile", DRIVER)
    assert done.returncode == 0, done.stderr
    (package,) = Path("controllers").iterdir()
    assert done.stdout == f"{package}\n"
    assert (package / "__init__.py").is_file()


def test_good_protocols_are_written_even_beside_bad_ones(here: Path) -> None:
    Path("bad.sm").write_text(BROKEN)
    done = slicc("compile", DRIVER, "bad.sm", "-o", "out")
    assert done.returncode == 1
    assert len(list(Path("out").iterdir())) == 1


def test_books(here: Path) -> None:
    done = slicc("book", "MSI", "-o", "b")
    assert (done.returncode, done.stdout) == (0, "b/index.html\n"), done.stderr
    assert Path("b/m-Directory.html").exists()
    done = slicc("book", DRIVER, "--single", "-o", "b")
    assert (done.returncode, done.stdout) == (0, "b/MI.html\n"), done.stderr


def test_a_book_of_what_is_known(here: Path) -> None:
    for file in DRIVER.parent.glob("MI*.s*"):
        Path(file.name).write_text(file.read_text().replace("p_popRequest;", "p_popRequestt;"))
    done = slicc("book", "MI.slicc", "--single")
    assert (done.returncode, done.stdout) == (1, "book/MI.html\n"), done.stderr
    assert "this is what is known of it" in Path("book/MI.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["MSII"], "did you mean MSI?"),
        (["MI", "-o", "file"], "it is not a directory"),
        (["MI", "--runs", "a.leg"], "a.leg is no picture of a run"),
        (["MI", "--runs", "none.svg"], "cannot read or write none.svg"),
        (["MI", "--results", "r.html"], "r.html: is no coverage file"),
        (["MI", "--coverage", "other.json"], "other.json: is of another text of MSI (00"),
        (["MI", "--single", "--runs", "r.html"], "a page of a run is no part of one page"),
    ],
)
def test_a_book_that_cannot_be(here: Path, arguments: list[str], said: str) -> None:
    Path("file").write_text("")
    Path("r.html").write_text("<!doctype html>")
    write_cells(Cells("MSI", "0" * 16), "other.json")
    done = slicc("book", *arguments)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert said in done.stderr and not Path("book").exists()


def test_graphs(here: Path) -> None:
    done = slicc("graph", DRIVER, "-o", "g", "--format", "dot")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in Path("g").iterdir()) == [
        "MI-DMA.dot",
        "MI-Directory.dot",
        "MI-L1Cache.dot",
    ]
    done = slicc("graph", DRIVER, "-o", "one", "--machine", "DMA", "--format", "dot")
    assert done.stdout == "one/MI-DMA.dot\n"
    done = slicc("graph", DRIVER, "--machine", "L1cache")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean L1Cache?" in done.stderr


def test_a_graph_is_a_picture_where_there_is_graphviz(here: Path) -> None:
    if shutil.which("dot") is None:
        pytest.skip("needs Graphviz")
    done = slicc("graph", "MI", "--machine", "DMA")
    assert (done.returncode, done.stdout) == (0, "graphs/MI-DMA.svg\n"), done.stderr
    assert "Graphviz" not in done.stderr
    assert "<svg " in Path("graphs/MI-DMA.svg").read_text()


def test_a_graph_is_a_text_without_graphviz(here: Path) -> None:
    done = slicc("graph", "MI", "--machine", "DMA", PATH="/nonexistent")
    assert (done.returncode, done.stdout) == (0, "graphs/MI-DMA.dot\n")
    assert "no program `dot` of Graphviz" in done.stderr
    assert Path("graphs/MI-DMA.dot").read_text().startswith("digraph ")
    quiet = slicc("graph", "MI", "--machine", "DMA", "--diagnostics", "json", PATH="/nonexistent")
    assert json.loads(quiet.stderr)["errors"] == 0
    asked = slicc("graph", "MI", "--machine", "DMA", "--format", "dot", PATH="/nonexistent")
    assert "Graphviz" not in asked.stderr


def test_pictures_that_were_asked_for_need_graphviz(here: Path) -> None:
    done = slicc("graph", DRIVER, "--format", "svg", PATH="/nonexistent")
    assert done.returncode == 2
    assert "apt install graphviz" in done.stderr
    assert not Path("graphs").exists()


def test_tables(here: Path) -> None:
    done = slicc("table", DRIVER)
    assert (done.returncode, done.stdout) == (0, "tables/MI.html\n"), done.stderr
    assert Path("tables/MI.html").read_text().startswith("<!DOCTYPE html>")


def test_ir(here: Path) -> None:
    done = slicc("ir", DRIVER)
    assert done.returncode == 0
    assert "L1Cache" in done.stdout


def test_the_verifier_of_the_ir(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = slicc("ir", "--verify", DRIVER)
    assert done.returncode == 0
    assert re.fullmatch(r"MI: verified: \d,\d{3} nodes of IR\n", done.stdout)
    monkeypatch.setattr(
        "slicc.cli.verbs.ir.verify", lambda protocol: ["a state without permission"]
    )
    done = slicc("ir", "--verify", DRIVER)
    assert (done.returncode, done.stdout) == (70, "")
    assert "the IR of MI is unsound:\n  a state without permission\n" in done.stderr


def test_the_option_of_another_verb_is_named() -> None:
    done = slicc("check", "--machine", "L1Cache", DRIVER)
    assert done.returncode == 2
    assert "It is an option of graph." in done.stderr


def test_explain() -> None:
    done = slicc("explain", "missing-semicolon")
    assert done.returncode == 0
    assert done.stdout.startswith("missing-semicolon: ")
    assert slicc("explain", "error[missing-semicolon]").stdout == done.stdout
    done = slicc("explain", "mising-semicolon")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean `missing-semicolon`?" in done.stderr
    done = slicc("explain")
    assert done.returncode == 0
    assert "unknown-action" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "Missing argument"),
        (["chekc", "x.sm"], "No such command"),
        (["check", "none.sm"], "cannot read none.sm: No such file"),
        (["check", "."], "it is a directory"),
        (["check", str(DRIVER), "--include", "none"], "not a directory"),
        (["check", str(DRIVER), "--color", "blue"], "blue"),
        (["check", str(DRIVER), "--colour", "never"], "No such option"),
        (["graph", str(DRIVER), "--format", "pdf"], "pdf"),
        (["compile", str(DRIVER), "-o", "/dev/null/x"], "cannot read or write"),
        (["table", str(DRIVER), "-o", "/proc/x"], "cannot read or write"),
        (["compile", str(DRIVER), "-o", str(DRIVER)], f"cannot write into {DRIVER}: it is not a"),
        (["graph", str(DRIVER), "-o", "/dev/null"], "cannot write into /dev/null: it is not a"),
        (["table", str(DRIVER), "-o", "/dev/null"], "cannot write into /dev/null: it is not a"),
        (["graph", str(DRIVER), "--machine", "L1Cach"], "did you mean L1Cache?"),
        (["check", "MSl"], "no shipped protocol of that name; did you mean MSI?"),
        (["graph", "Nothing"], "no shipped protocol of that name; there are GPU_VIPER, "),
        (["check", "Nothing.sm"], "cannot read Nothing.sm: No such file or directory"),
        (["--show-completion", "bash", "zsh"], "takes one shell, and not also 'zsh'"),
        (["check", "/dev/zero"], "cannot read /dev/zero: not a regular file"),
        (["check", ""], "it is a directory"),
        (["compile", str(DRIVER), "copy/MI.slicc", "--include", "copy"], "both define"),
    ],
)
def test_calls_that_cannot_work(here: Path, arguments: list[str], message: str) -> None:
    if "copy/MI.slicc" in arguments:
        Path("copy").mkdir()
        for path in DRIVER.parent.glob("MI*.s*"):
            Path("copy", path.name).write_bytes(path.read_bytes())
    done = slicc(*arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbfint a;",
        b"machine(",
        b'include "',
        b"/*",
        b"{" * 5000,
        b"int f() { return " + b"9" * 6000 + b"; }",
        b"transition(I, E) {" + b"a;" * 20000,
    ],
)
def test_no_text_gives_a_traceback(here: Path, content: bytes) -> None:
    Path("x.sm").write_bytes(content)
    done = slicc("check", "x.sm")
    assert done.returncode in (0, 1), done.stderr
    assert "Traceback" not in done.stderr and "internal error" not in done.stderr


def test_faults_of_ours_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise KeyError("surprise")

    assert main.run(fail) == 70
    errors = capsys.readouterr().err
    assert "fault of the compiler, not of your protocol" in errors
    assert "Traceback" in errors and "surprise" in errors


def test_interruption(capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert main.run(interrupted) == 130
    app = typer.Typer()
    app.command()(interrupted)
    previous = sys.argv
    sys.argv = ["slicc"]
    try:
        assert main.run(app) == 130
    finally:
        sys.argv = previous


def test_a_signal_ends_with_130(here: Path) -> None:
    code = (
        "import slicc.cli.main, slicc.compiler, time, sys\n"
        "slicc.compiler.compile_files = lambda *a: (print('ready', flush=True), time.sleep(30))\n"
        f"sys.argv = ['slicc', 'check', {str(DRIVER)!r}]\n"
        "slicc.cli.main.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heed_signals,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "slicc", "ir", str(DRIVER)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=30)
    assert b"Traceback" not in errors and b"Exception" not in errors


# ------------------------------------------------------------------ analysis


@pytest.fixture
def forgetful(here: Path) -> Path:
    """MSI with one wake-up forgotten."""
    for file in (ROOT / "protocols").glob("MSI[.-]*"):
        shutil.copy(file, here)
    directory = here / "MSI-dir.sm"
    text = directory.read_text()
    wrong = "transition(SS_m, MemAck, S) {\n    qm_popMemQueue;\n    kw_wakeWaiting;\n"
    assert text.count(wrong) == 1
    directory.write_text(text.replace(wrong, wrong.replace("    kw_wakeWaiting;\n", "")))
    return here / "MSI.slicc"


def test_check_analyses_the_protocol(forgetful: Path) -> None:
    done = slicc("check", forgetful)
    assert done.returncode == 0
    assert "warning[missed-wakeup]" in done.stderr
    assert slicc("check", forgetful, "--no-analysis").stderr == "slicc: no errors\n"


def test_warnings_are_selected_ignored_and_made_errors(forgetful: Path) -> None:
    only = ("check", forgetful, "--select", "missed-wakeup")
    assert "1 warning " in slicc(*only).stderr
    assert slicc(*only, "-Werror").returncode == 1
    assert slicc(*only, "-Werror", "--ignore", "missed-wakeup").returncode == 0
    assert slicc("check", forgetful, "--select", "unused-action", "-Werror").returncode == 0


def test_an_allowed_warning_is_not_reported(forgetful: Path) -> None:
    directory = forgetful.parent / "MSI-dir.sm"
    line = "  transition(SS_m, MemAck, S)"
    allowance = "  // slicc: allow(missed-wakeup) a test\n"
    directory.write_text(directory.read_text().replace(line, allowance + line))
    assert slicc("check", forgetful, "--select", "missed-wakeup", "-Werror").returncode == 0


def test_an_unknown_finding_is_refused(here: Path) -> None:
    done = slicc("check", DRIVER, "--ignore", "missed-wakup")
    assert done.returncode == 2
    assert "there is no finding missed-wakup; did you mean" in " ".join(done.stderr.split())
