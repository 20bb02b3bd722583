"""A protocol compiled on the fly is imported, runs, and fails in terms of its ``.sm``."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runtime.controller.shapes import Controller, ControllerContext
from runtime.errors import ErrorKind, ProtocolError
from runtime.network.network import Topology
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import CacheMemory
from runtime.types.messages import MachineType, RubyRequest
from slicc.codegen.python import importer
from slicc.codegen.python.cache_eviction import MOST_ENTRIES, prune_daily
from slicc.codegen.python.importer import load_package
from slicc.codegen.python.package import MARKER
from tests.slicc.codegen.sample_ir import PROTOCOL
from tests.slicc.codegen.sample_text import TEXT
from tests.slicc.codegen.tools import ROOT, plant_bytecode


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loaded = load_package(PROTOCOL)
    yield loaded
    for name in [name for name in sys.modules if name.startswith(loaded.__name__)]:
        del sys.modules[name]


class Home(Consumer):
    """Leaves what it is sent in its buffer."""

    def wakeup(self) -> None:
        pass


class Toy:
    """One cache whose home is the test itself."""

    def __init__(self, module: ModuleType) -> None:
        self.engine = Engine()
        topology = Topology({MachineType.L1Cache: 1, MachineType.Directory: 1})
        self.asked = MessageBuffer("asked", engine=self.engine)
        self.asked.set_consumer(Home(self.engine))
        self.fills = MessageBuffer("fills", engine=self.engine)
        self.wanted = MessageBuffer("wanted", engine=self.engine)
        parameters: dict[str, Any] = {
            "frames": CacheMemory("frames", sets=4, ways=2),
            "latency": 3,
            "toHome": self.asked,
            "fromHome": self.fills,
            "mandatoryQueue": self.wanted,
        }
        context = ControllerContext(self.engine, topology, 0, parameters, number_of_TBEs=1)
        kind = module.PROTOCOL.machines[0]
        self.cache: Controller = kind(context)
        self.types = sys.modules[f"{module.__name__}.types"]

    def want(self, line: int) -> None:
        request = RubyRequest()
        request.LineAddress = line
        self.wanted.enqueue(request, 1)

    def fill(self, line: int) -> None:
        message = self.types.FillMsg()
        message.addr = line
        self.fills.enqueue(message, 1)

    def run(self) -> None:
        self.engine.run(until=self.engine.now + 50)


def test_the_protocol_runs(module: ModuleType) -> None:
    toy = Toy(module)
    toy.want(0x40)
    toy.want(0x40)
    toy.run()
    asked = toy.asked.peek(toy.types.AskMsg)
    assert (asked.addr, asked.hops) == (0x40, 1)
    assert asked.arrival == 1 + 3
    assert asked.Destination.count() == 1
    assert toy.types.AskMsg.Destination.isEmpty()
    assert toy.wanted.getStallMapSize() == 1


def test_a_failing_action_names_its_line(module: ModuleType) -> None:
    toy = Toy(module)
    toy.want(0x40)
    toy.run()
    toy.fill(0x40)
    with pytest.raises(ProtocolError) as caught:
        toy.run()
    verdict = caught.value
    assert verdict.kind is ErrorKind.NULL_DEREFERENCE
    assert verdict.action == "c_check"
    assert (verdict.state, verdict.event) == ("B", "Fill")
    line = 1 + TEXT[: TEXT.index("cache_entry.CacheState := State:V")].count("\n")
    assert verdict.location == f"toy.sm:{line}"


def test_debuggers_find_the_text(module: ModuleType) -> None:
    kind = module.PROTOCOL.machine("L1Cache")
    code = kind.a_ask.__code__
    assert "def a_ask" in linecache.getline(code.co_filename, code.co_firstlineno)


def test_equal_protocols_are_one_module(module: ModuleType) -> None:
    assert load_package(PROTOCOL) is module


def test_a_damaged_store_is_replaced(module: ModuleType) -> None:
    directory = Path(str(module.__file__)).parent
    (directory / "l1cache.py").write_text("raise SystemExit", encoding="utf-8")
    for name in [name for name in sys.modules if name.startswith(module.__name__)]:
        del sys.modules[name]
    again = load_package(PROTOCOL)
    assert again is not module
    assert again.PROTOCOL.machine("L1Cache").MACHINE == "L1Cache"


@pytest.mark.parametrize("name", ["__init__", "types"])
def test_planted_bytecode_is_not_run(module: ModuleType, name: str) -> None:
    plant_bytecode(Path(str(module.__file__)).with_name(f"{name}.py"))
    for each in [each for each in sys.modules if each.startswith(module.__name__)]:
        del sys.modules[each]
    assert load_package(PROTOCOL).PROTOCOL.machine("L1Cache").MACHINE == "L1Cache"


DAY = 24 * 3600


def aged(entry: Path, days: float) -> Path:
    """A stored package, last used so many days ago."""
    entry.mkdir()
    for name in ("__init__.py", "linemap.json", MARKER):
        (entry / name).write_text("")
    then = time.time() - days * DAY
    os.utime(entry, (then, then))
    return entry


def names_in(root: Path) -> set[str]:
    return {entry.name for entry in root.iterdir()} - {".pruned"}


def test_unused_packages_are_evicted_once_a_day(module: ModuleType, tmp_path: Path) -> None:
    root = tmp_path / "slicc" / "python"
    own = Path(str(module.__file__)).parent.name
    assert names_in(root) == {own}
    for name, days in (("old_1", 31), ("young_1", 29), (".old_1.x7", 2), (".new_1.x7", 0.1)):
        aged(root / name, days)
    (root / "foreign").mkdir()
    os.utime(root / "foreign", (0, 0))
    (root / "note.txt").write_text("")
    everything = names_in(root)
    prune_daily(root)
    assert names_in(root) == everything, "looked less than a day ago"
    os.utime(root / ".pruned", (0, 0))
    prune_daily(root)
    assert names_in(root) == everything - {"old_1", ".old_1.x7"}


def test_the_latest_are_kept_and_those_of_today(tmp_path: Path) -> None:
    for number in range(MOST_ENTRIES + 20):
        aged(tmp_path / f"p_{number:03}", 2 + number / 100)
    prune_daily(tmp_path)
    assert names_in(tmp_path) == {f"p_{number:03}" for number in range(MOST_ENTRIES)}
    for number in range(MOST_ENTRIES + 20):
        aged(tmp_path / f"q_{number:03}", 0.5)
    os.utime(tmp_path / ".pruned", (0, 0))
    prune_daily(tmp_path)
    assert names_in(tmp_path) == {f"q_{number:03}" for number in range(MOST_ENTRIES + 20)}


def test_loading_is_a_use(module: ModuleType) -> None:
    directory = Path(str(module.__file__)).parent
    os.utime(directory, (0, 0))
    for name in [name for name in sys.modules if name.startswith(module.__name__)]:
        del sys.modules[name]
    load_package(PROTOCOL)
    assert directory.stat().st_mtime > time.time() - DAY


def test_processes_that_prune_at_once_agree(tmp_path: Path) -> None:
    for number in range(60):
        aged(tmp_path / f"p_{number}", 40)
    aged(tmp_path / "kept_1", 1)
    code = (
        "import sys, time; from pathlib import Path; "
        "from slicc.codegen.python import cache_eviction;"
        "cache_eviction._prune(Path(sys.argv[1]), time.time())"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT) for _ in range(3)
    ]
    assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    assert names_in(tmp_path) == {"kept_1"}


def test_a_store_that_others_can_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    shared = tmp_path / "slicc" / "python"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    assert importer._user_cache() is None
    shared.chmod(0o700)
    assert importer._user_cache() == shared
