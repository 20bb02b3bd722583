"""What counts as telling lines apart: whatever makes a number or an order of an address."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.codegen.cpp.exploration.decisions import decisions, structures_with_data
from slicc.compiler import compile as compile_protocol
from tests.planted.bug import Edit
from tests.tester.exploration.starter import ACCESS, checking, declaring, written

DECLARED = """
  int addressToInt(Addr a);
  int addressOffset(Addr a, Addr base);
  int getOffset(Addr a);
  Addr bitSelect(Addr a, int low, int high);
  Addr intToAddress(int number);
  Addr makeNextStrideAddress(Addr a, int stride);
  Addr maskLowOrderBits(Addr a, int count);
  MachineID mapAddressToDownstreamMachine(Addr a);
  MachineID mapAddressToRange(Addr a, MachineType type, int low, int bits);
  void wakeUpAllBuffers();
"""


BITS = Edit("    CacheMemory * cache;\n", "    CacheMemory * cache;\n    int select_bits := 0;\n")


def decided(directory: Path, statement: str) -> tuple[list[str], list[str], bool, list[str]]:
    """By the cache of the starter, with a statement more: addresses, ranges, whether data are
    asserted to be equal, and other comparisons of data."""
    driver = written(directory, declaring(DECLARED), BITS, checking(statement), ACCESS)
    protocol = compile_protocol(driver).protocol
    machine = protocol.machines[0]
    with_data = structures_with_data((*protocol.structs, *machine.structs))
    found = decisions([machine], with_data, machine.parameters)
    return [*found.addresses], [*found.ranges], found.asserted, [*found.compared]


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "if (address == cache.cacheProbe(address)) { cache.profileDemandHit(); }",
        "assert(address != makeLineAddress(address) || getOffset(address) == 0);",
        "if (address == 0) { cache.profileDemandHit(); }",
        'DPRINTF(RubySlicc, "%d\\n", addressToInt(address));',
        "Addr other := intToAddress(0);",
    ],
)
def test_addresses_that_are_handed_on_and_compared_are_alike(
    tmp_path: Path, statement: str
) -> None:
    assert decided(tmp_path, statement) == ([], [], False, [])


@pytest.mark.parametrize(
    ("statement", "noted"),
    [
        ("assert(address < cache.cacheProbe(address));", "< of addresses"),
        ("Addr next := address + 64;", "+ of addresses"),
        ("if (address == 4096) { cache.profileDemandHit(); }", "an address as a number"),
        ("int number := static_cast(int, address);", "an address as a number"),
        ("Addr other := intToAddress(4096);", "an address as a number"),
        ("int number := addressToInt(address);", "addressToInt"),
        ("int number := addressOffset(address, makeLineAddress(address));", "addressOffset"),
        ("Addr bits := bitSelect(address, 6, 7);", "bitSelect"),
        ("Addr next := makeNextStrideAddress(address, 1);", "makeNextStrideAddress"),
        ("Addr region := maskLowOrderBits(address, 12);", "maskLowOrderBits"),
        ("MachineID m := mapAddressToDownstreamMachine(address);", "mapAddressToDownstreamMachine"),
        (
            "MachineID m := mapAddressToRange(address, MachineType:L1Cache, 6, 1);",
            "mapAddressToRange",
        ),
        ("wakeUpAllBuffers();", "wakeUpAllBuffers"),
    ],
)
def test_a_number_or_an_order_of_addresses_tells_lines_apart(
    tmp_path: Path, statement: str, noted: str
) -> None:
    assert decided(tmp_path, statement) == ([noted], [], False, [])


def test_bits_that_choose_a_machine_are_those_of_a_parameter(tmp_path: Path) -> None:
    statement = "MachineID m := mapAddressToRange(address, MachineType:L1Cache, 6, select_bits);"
    assert decided(tmp_path, statement) == ([], ["select_bits"], False, [])


SAME = "cache_entry.DataBlk == cache_entry.DataBlk"
OTHER = "cache_entry.DataBlk == getEntry(address).DataBlk"


@pytest.mark.parametrize(
    ("statement", "asserted", "compared"),
    [
        (f"assert({SAME});", True, []),
        (f"assert(cache.isTagPresent(address) && (is_invalid(cache_entry) || {SAME}));", True, []),
        (f"assert({OTHER});", True, []),
        (f"assert(is_invalid(cache_entry) || {OTHER});", False, ["== of data"]),
        (f"assert({SAME} || cache.isTagPresent(address));", False, ["== of data"]),
        (f"assert({SAME.replace('==', '!=')});", False, ["!= of data"]),
        (f"if ({SAME}) {{ cache.profileDemandHit(); }}", False, ["== of data"]),
        (f"bool same := {SAME};", False, ["== of data"]),
        ("peek(mandatory_in, RubyRequest) { assert(in_msg == in_msg); }", True, []),
        (
            "peek(mandatory_in, RubyRequest) { bool same := in_msg == in_msg; }",
            False,
            ["== of data"],
        ),
    ],
)
def test_data_may_be_asserted_to_be_equal(
    tmp_path: Path, statement: str, asserted: bool, compared: list[str]
) -> None:
    assert decided(tmp_path, statement)[2:] == (asserted, compared)
