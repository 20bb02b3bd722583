"""What exists in Python and C++ has the same path below its package, but for what stands here. The
first lines of such a header name the module, for readers who come from the other side."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

BLOCK = "the block and the interface to it: there is nothing like it in Python"
RUNTIME = {
    "block": BLOCK,
    "system/api": BLOCK,
    "system/core": BLOCK,
    "system/plan": "runtime/native/plan_words.py",
    "system/prelude": BLOCK,
    "controller/controller": "runtime/controller/base.py",
    "controller/controller_state": BLOCK,
    "controller/row_change": "runtime/controller/wakeup.py",
    "requesters/access": "runtime/requesters/port.py",
    "requesters/client": "runtime/requesters/port.py",
    "requesters/external_api": "runtime/native/external_requester.py",
    "requesters/external_requester": "runtime/native/external_requester.py",
    "requesters/external_view": "runtime/native/external_requester.py",
    "requesters/registry": "calls by kind, which Python's methods do",
    "sim/prng": "runtime/prng.py",
    "sim/timer": "runtime/structures/tbe_table.py",
    "structures/dvm_slots": "runtime/structures/dvm_tables.py",
    "statistics/shared_numbers": "runtime/statistics/words.py",
    "structures/library_tables": BLOCK,
    "untimed": "exploration: there is nothing like it in Python",
    "types/data_block": "runtime/types/values.py",
    "types/functions": "runtime/types/messages.py",
    "types/net_dest": "runtime/types/values.py",
}
TESTER = {
    "exploration": "tester/exploration/native_search.py drives it",
    "exploration/agents": "tester/exploration/operations.py says what they may begin",
    "exploration/visited": "the table of states of the native search",
    "exploration/invariants/evaluation": "tester/exploration/invariants/words.py writes it",
    "execution/access": "tester/native/program.py",
    "execution/access_state": "tester/execution/agent.py",
    "execution/shared_numbers": "tester/native/shared_numbers.py",
    "execution/state": "tester/execution/agent.py",
    "calls/batch": "tester/native/batch.py",
    "calls/api": "tester/native/system.py",
    "execution/program": "tester/native/program.py",
    "program/arrays": "tester/program/program.py",
    "program/versions": "tester/execution/early_loads.py",
    "generator/address_map": "tester/program/address_map.py",
    "generator/room": "tester/generator/native_loops.py makes it",
    "generator/counter_rng": "tester/counter_rng.py",
    "generator/shared_numbers": "tester/native/shared_numbers.py",
    "generator/expectations": "tester/program/expectations.py",
}


@pytest.mark.parametrize(
    ("package", "native", "exceptions"),
    [("runtime", "runtime/native/cpp", RUNTIME), ("tester", "tester/native/cpp", TESTER)],
    ids=["runtime", "tester"],
)
def test_python_and_cpp_have_the_same_paths(
    package: str, native: str, exceptions: dict[str, str]
) -> None:
    headers = {
        path.relative_to(ROOT / native).with_suffix("") for path in (ROOT / native).rglob("*.hpp")
    }
    alone = {each for each in headers if not (ROOT / package / f"{each}.py").is_file()}
    excepted = {each for each in alone if {str(each), str(each.parent)} & set(exceptions)}
    assert alone == excepted
    used = {str(each) for each in alone} | {str(each.parent) for each in alone}
    assert set(exceptions) <= used
    places = (reason.split(" ")[0] for reason in exceptions.values() if ".py" in reason)
    assert all((ROOT / Path(place)).is_file() for place in places)


@pytest.mark.parametrize(
    ("native", "exceptions"),
    [("runtime/native/cpp", RUNTIME), ("tester/native/cpp", TESTER)],
    ids=["runtime", "tester"],
)
def test_a_header_names_its_module(native: str, exceptions: dict[str, str]) -> None:
    for header, module in exceptions.items():
        path = ROOT / native / f"{header}.hpp"
        if module.endswith(".py") and path.name != "shared_numbers.hpp" and path.is_file():
            opening = path.read_text().partition("\n\n#")[0].partition("\n#")[0]
            assert module in opening, f"{header}: {module}"
