"""Order of buffers, and parameters, from a configuration script beside a protocol: read, and never
executed."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from protocols.checkout_order import orders_of, script_of
from protocols.loader import LoadedProtocol, load_protocol
from runtime.description.origin import MissingParameters
from slicc.cli.options import NewOptions, SystemOptions
from slicc.cli.verbs.new import new
from slicc.cli.verbs.system import system

SCRIPT = """
import os, m5
os.abort()  # must not run

class L1Cache(L1Cache_Controller):
    def __init__(self):
        self.triggers = Queue()
        self.toDirectory = MessageBuffer()

class Queue(m5.objects.MessageBuffer):
    ordered = True

def create_system(options, system):
    for i in range(4):
        one = L1Cache()
        one.fromDirectory = m5.objects.MessageBuffer(ordered=True)
    for dir_cntrl in directories(options):
        dir_cntrl.toCache = MessageBuffer()
        dir_cntrl.fromCache = MessageBuffer(ordered=options.fifo)
        dir_cntrl.requestToMemory = MessageBuffer(ordered=True)
    anything = other()
    anything.unknown = MessageBuffer(ordered=True)
"""


def checkout(root: Path, script: str | bytes, description: str | None = None) -> Path:
    """The driver of a small protocol in a checkout whose folders are as gem5's."""
    folder = root / "src/mem/ruby/protocol"
    scripts = root / "configs/ruby"
    folder.mkdir(parents=True)
    scripts.mkdir(parents=True)
    with redirect_stdout(StringIO()):
        new(NewOptions(name="Mine", output=folder))
    (scripts / "Mine.py").write_bytes(script if isinstance(script, bytes) else script.encode())
    if description is not None:
        (folder / "Mine.toml").write_text(description)
    return folder / "Mine.slicc"


def ordered(protocol: LoadedProtocol) -> dict[str, set[str]]:
    return {
        name: {buffer for buffer, how in machine.buffers.items() if how.ordered}
        for name, machine in protocol.description.machines.items()
    }


def test_one_buffer_makes_its_virtual_network_ordered(tmp_path: Path) -> None:
    protocol = load_protocol(str(checkout(tmp_path, SCRIPT)))
    ordered_ = {"L1Cache": {"fromDirectory"}, "Directory": {"toCache", "requestToMemory"}}
    assert ordered(protocol) == ordered_
    script = tmp_path / "configs/ruby/Mine.py"
    assert f"3 buffers keep order, as {script} says" in protocol.note


def test_who_says_otherwise_in_another_place_says_nothing(tmp_path: Path) -> None:
    elsewhere = (
        "\n\ndef other():\n    c = L1Cache_Controller()\n    c.fromDirectory = MessageBuffer()\n"
    )
    protocol = load_protocol(str(checkout(tmp_path, SCRIPT + elsewhere)))
    assert ordered(protocol) == {"L1Cache": set(), "Directory": {"requestToMemory"}}


def test_a_description_comes_first(tmp_path: Path) -> None:
    said = "[machine.L1Cache.buffer]\nfromDirectory = { ordered = false }\n"
    protocol = load_protocol(str(checkout(tmp_path, SCRIPT, said)))
    assert ordered(protocol) == {"L1Cache": set(), "Directory": {"toCache", "requestToMemory"}}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("def f(:\n", "Mine.py cannot be read: invalid syntax"),
        (b"\xff\xfe\x00", "Mine.py cannot be read: "),
        ("#" * (1 << 20) + "#", "Mine.py cannot be read: more than 1,048,576 bytes"),
        ("f(" * 5000, "Mine.py cannot be read: "),
    ],
)
def test_a_script_that_cannot_be_read_is_a_note(
    tmp_path: Path, script: str | bytes, said: str
) -> None:
    protocol = load_protocol(str(checkout(tmp_path, script)))
    assert said in protocol.note
    assert ordered(protocol) == {"L1Cache": set(), "Directory": set()}


def test_no_script_no_order(tmp_path: Path) -> None:
    driver = checkout(tmp_path, "")
    assert orders_of(tmp_path / "configs/ruby/Mine.py", load_protocol(str(driver)).info) == {
        "L1Cache": set(),
        "Directory": set(),
    }
    (tmp_path / "configs/ruby/Mine.py").unlink()
    assert script_of(driver) is None


VALUES = """
def create_system(options, system):
    for i in range(options.cpus):
        one = L1Cache_Controller(version=i, blocked=False, deep=3, wide=options.width, hot=True)
    for i in range(2):
        other = m5.objects.Directory_Controller(version=i, deep=7)
"""


def asking(driver: Path, parameters: str) -> Path:
    """The protocol, whose cache has parameters without a default."""
    cache = driver.with_name("Mine-cache.sm")
    text = cache.read_text()
    assert text.count("    CacheMemory * cache;") == 1
    cache.write_text(
        text.replace("    CacheMemory * cache;", f"    CacheMemory * cache; {parameters}")
    )
    return driver


def test_parameters_without_a_default_have_the_literal_values_of_the_script(tmp_path: Path) -> None:
    driver = asking(checkout(tmp_path, VALUES), "int blocked; Cycles deep; bool hot := false;")
    protocol = load_protocol(str(driver))
    parameters = protocol.description.machines["L1Cache"].parameters
    assert {name: parameters[name] for name in ("blocked", "deep", "hot")} == {
        "blocked": 0,
        "deep": 3,
        "hot": False,
    }
    assert "machine.L1Cache.parameters.deep = 3" in protocol.note
    assert protocol.note.endswith("Mine.py says")
    given = {"machine.L1Cache.parameters.deep": 5}
    protocol = load_protocol(str(driver), values=given)
    assert protocol.description.machines["L1Cache"].parameters["deep"] == 5


def test_what_a_script_computes_is_asked_for(tmp_path: Path) -> None:
    driver = asking(checkout(tmp_path, VALUES), "int blocked; int wide;")
    with pytest.raises(MissingParameters, match="no default for `wide`"):
        load_protocol(str(driver))
    with redirect_stdout(StringIO()) as printed:
        system(SystemOptions(protocol=driver))
    assert "# wide = 0  # a value of type int goes here" in printed.getvalue()
    assert "\nblocked = 0\n" in printed.getvalue()
