"""Random contention on the shipped protocols, in the corners of their parameters.

Together the runs of a protocol must execute every transition that it defines, but for a few that
need more luck than a short run has.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from runtime.controller.declarations import BufferParameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import SystemDescription
from runtime.description.inference import complete
from tests.protocols.contention import ContentionHarness, Habits, merge
from tests.protocols.harness import shipped
from tests.sampling import sampled

Counts = dict[str, dict[tuple[str, str], int]]

UNLIMITED = ("mandatoryQueue", "L1Cache.forwardToCache", "L1Cache.forwardFromDir")
"""Filled by a requester; where orders of a directory may have to wait for each other."""

DELAYS = ("nominal", "uniform", "heavy_tail", "gem5", "skewed")


def draw_mi(random: Random) -> dict[str, object]:
    """A system of MI; single frames and table entries are as likely as many."""
    return {
        "network.delays": random.choice(DELAYS),
        "machine.L1Cache.count": random.choice((2, 3, 5)),
        "machine.L1Cache.cache.cacheMemory.sets": random.choice((1, 1, 2, 4)),
        "machine.L1Cache.cache.cacheMemory.ways": random.choice((1, 2, 4)),
        "machine.Directory.count": random.choice((1, 2)),
        "machine.DMA.count": random.choice((1, 2, 3)),
        "machine.L1Cache.parameters.number_of_TBEs": random.choice((1, 2, 256)),
        "machine.Directory.parameters.number_of_TBEs": random.choice((1, 2, 256)),
        "machine.DMA.parameters.number_of_TBEs": random.choice((1, 2, 256)),
        "agents.cpu.lanes": random.choice((1, 2, 4)),
        "requester.cpu.fetch": random.randrange(3) == 0,
    }


def draw_msi(random: Random) -> dict[str, object]:
    """A system of MSI, likewise."""
    drawn: dict[str, object] = {
        "network.delays": random.choice(DELAYS),
        "machine.L1Cache.count": random.choice((2, 3, 5)),
        "machine.L1Cache.cache.cacheMemory.sets": random.choice((1, 1, 2, 4)),
        "machine.L1Cache.cache.cacheMemory.ways": random.choice((1, 2, 4)),
        "machine.Directory.count": random.choice((1, 2)),
        "agents.cpu.lanes": random.choice((1, 2, 4)),
        "requester.cpu.fetch": random.randrange(3) == 0,
    }
    return drawn


def draw_snoop(random: Random) -> dict[str, object]:
    """A system of MSI_Snoop, likewise."""
    drawn = draw_msi(random)
    drawn["machine.Memory.count"] = drawn.pop("machine.Directory.count")
    drawn["agents.cpu.wavefronts"] = random.choice((1, 2, 3))
    return drawn


def draw_mesi(random: Random) -> dict[str, object]:
    """A system of MESI_Two_Level, likewise."""
    drawn: dict[str, object] = {
        "network.delays": random.choice(DELAYS),
        "machine.L1Cache.count": random.choice((2, 3, 5)),
        "machine.L2Cache.count": random.choice((1, 1, 2, 4)),
        "machine.Directory.count": random.choice((1, 2)),
        "machine.DMA.count": random.choice((1, 2, 3)),
        "agents.cpu.lanes": random.choice((1, 2, 4)),
    }
    caches = ("L1Cache", "L1Icache"), ("L1Cache", "L1Dcache"), ("L2Cache", "L2cache")
    for machine, cache in caches:
        path = f"machine.{machine}.cache.{cache}"
        drawn[f"{path}.sets"] = random.choice((1, 1, 2, 4))
        drawn[f"{path}.ways"] = random.choice((1, 1, 2, 4))
    for machine in ("L1Cache", "Directory", "DMA"):
        drawn[f"machine.{machine}.parameters.number_of_TBEs"] = random.choice((1, 2, 256))
    return drawn


def draw_viper(random: Random) -> dict[str, object]:
    """A system of GPU_VIPER, likewise."""
    drawn: dict[str, object] = {
        "network.delays": random.choice(DELAYS),
        "agents.instructions.requester": "instructions",
        "agents.dma.requester": "dma",
        "agents.gpu.wavefronts": random.choice((1, 2, 3)),
        "agents.gpu.lanes": random.choice((1, 4, 16)),
        "machine.TCP.count": random.choice((1, 2, 4)),
        "machine.SQC.count": random.choice((1, 2)),
        "machine.TCC.count": random.choice((1, 1, 2, 4)),
        "machine.Directory.count": random.choice((1, 2)),
        "machine.DMA.count": random.choice((1, 2, 3)),
        "machine.TCC.parameters.WB": random.choice((False, True)),
        "machine.Directory.parameters.useL3OnWT": random.choice((False, True)),
    }
    caches = ("TCP", "L1cache"), ("SQC", "L1cache"), ("TCC", "L2cache")
    for machine, cache in (*caches, ("Directory", "L3CacheMemory")):
        path = f"machine.{machine}.cache.{cache}"
        drawn[f"{path}.sets"] = random.choice((1, 1, 2, 8))
        drawn[f"{path}.ways"] = random.choice((1, 1, 2, 4))
        drawn[f"{path}.resource_stalls"] = random.randrange(5) == 0
        drawn[f"{path}.data_latency"] = random.choice((1, 4))
    for machine in ("TCP", "TCC", "Directory", "DMA"):
        drawn[f"machine.{machine}.parameters.number_of_TBEs"] = random.choice((1, 2, 256))
    if random.randrange(3) == 0:
        drawn["requester.gpu.one_request_per_lane"] = True
        drawn["requester.gpu.tokens"] = 64
    return drawn


def draw_pairs(random: Random) -> dict[str, object]:
    """Cache pairs, likewise."""
    drawn: dict[str, object] = {
        "machine.CorePair.count": random.choice((1, 2, 2, 3)),
        "machine.CorePair.parameters.number_of_TBEs": random.choice((1, 2, 256)),
        "agents.first.lanes": random.choice((1, 2, 4)),
    }
    for cache in ("L1Icache", "L1D0cache", "L1D1cache", "L2cache"):
        path = f"machine.CorePair.cache.{cache}"
        drawn[f"{path}.sets"] = random.choice((1, 1, 2, 4))
        drawn[f"{path}.ways"] = random.choice((1, 2, 2, 4))
    return drawn


def draw_moesi(random: Random) -> dict[str, object]:
    """A system of MOESI_AMD_Base, likewise."""
    drawn: dict[str, object] = {
        "network.delays": random.choice(DELAYS),
        "machine.Directory.count": random.choice((1, 2)),
        "machine.DMA.count": random.choice((1, 2, 3)),
        "machine.Directory.cache.L3CacheMemory.sets": random.choice((1, 1, 2, 8)),
        "machine.Directory.cache.L3CacheMemory.ways": random.choice((1, 1, 2, 4)),
        "machine.Directory.parameters.number_of_TBEs": random.choice((1, 2, 256)),
    }
    return drawn | draw_pairs(random)


def draw_apu(random: Random) -> dict[str, object]:
    """A system of GPU_VIPER_APU, likewise."""
    return draw_viper(random) | draw_pairs(random)


def draw_capacities(protocol: ProtocolInfo, random: Random) -> dict[str, object]:
    """Few slots in some of the buffers, except where they have to be unlimited."""
    return {
        f"machine.{machine.MACHINE}.buffer.{parameter.name}.capacity": random.choice((1, 2, 5))
        for machine in protocol.machines
        for parameter in machine.PARAMETERS
        if isinstance(parameter, BufferParameter)
        and parameter.name not in UNLIMITED
        and f"{machine.MACHINE}.{parameter.name}" not in UNLIMITED
        and random.randrange(2)
    }


def draw_habits(random: Random) -> Habits:
    return Habits(
        store=random.choice((30, 50, 70)),
        atomic=random.choice((0, 10, 40)),
        flush=random.choice((0, 3, 15)),
        glc=random.choice((0, 20, 50)),
        slc=random.choice((0, 20, 50)),
        section=random.choice((2, 8, 20)),
        slots=random.choice((4, 12, 40)),
    )


WITH_INSTRUCTION_CACHES = ("MESI_Two_Level", "MOESI_AMD_Base", "GPU_VIPER_APU")
"""Beside those for data."""
SAMPLERS = {
    "MI": draw_mi,
    "MSI": draw_msi,
    "MSI_Snoop": draw_snoop,
    "MESI_Two_Level": draw_mesi,
    "GPU_VIPER": draw_viper,
    "MOESI_AMD_Base": draw_moesi,
    "GPU_VIPER_APU": draw_apu,
}


def play(name: str, seed: int) -> Counts:
    """One run on one random system; the transitions that it executed."""
    random = Random(seed)
    protocol = shipped(name)
    drawn = SAMPLERS[name](random)
    if random.randrange(3) == 0:
        drawn |= draw_capacities(protocol.info, random)
    description: SystemDescription = complete(protocol.written.override(drawn), protocol.info)
    habits = draw_habits(random)
    if name in WITH_INSTRUCTION_CACHES:
        habits = replace(habits, fetch=random.choice((0, 10, 50)))
    lines = random.choice((1, 2, 4, 8))
    harness = ContentionHarness(protocol, description, seed, lines, random.choice((5, 20)), habits)
    try:
        harness.run()
    except Exception as error:
        error.add_note(f"{name}, seed {seed}, {lines} lines, {habits}\n{drawn}")
        raise
    return harness.executed()


COVERING_SEEDS = {
    "MI": (12, 44, 61, 83, 150),
    "MSI": (38, 152, 268, 291, 576),
    "MSI_Snoop": (24, 92, 93),
    "MESI_Two_Level": (48, 83, 114, 126, 349),
    "GPU_VIPER": (74, 80, 87, 94, 106, 127, 260, 286, 309, 330),
    "MOESI_AMD_Base": (7, 190, 264),
    "GPU_VIPER_APU": (37, 128, 212, 220, 254, 328, 424, 461),
}
"""Seeds whose runs together execute every transition that such runs can. When a protocol changes,
find new ones with ``python -m tests.protocols.fixtures NAME``."""

WHOLE_LINES = {
    "TCC: (I, WrVicBlkWhole)": "a store of a whole line by one instruction: test_races",
    "TCC: (W, WrVicBlkWhole)": "a store of a whole line by one instruction: test_races",
}
LINE_BEFORE_REQUEST = {
    f"L1Cache: ({state}, {event})": "an answer that keeps the only slot: test_snoop_races"
    for state, event in (
        ("IS_AD", "Data"),
        ("SM_AD", "Data"),
        ("IS_A", "OwnGetS"),
        ("IS_A", "OtherGetS"),
        ("IS_A", "OtherGetM"),
        ("IM_A", "OtherGetS"),
        ("IM_A", "OtherGetM"),
    )
}
ONLY_FOR_A_GPU = (
    *("BP_T", "BM_T", "BP_A", "BM_A", "BF"),
    *("RdBlkTCC", "WriteThrough", "Atomic", "Flush", "CPUDataTCC"),
)
"""States and events of the directory of cache pairs that GPU_VIPER_APU is there for."""


def elsewhere(name: str, total: Counts) -> dict[str, str]:
    """Transitions that the runs of a protocol never execute, and why that is no gap."""
    if name == "MOESI_AMD_Base":
        return {
            f"Directory: ({state}, {event})": "needs a GPU: runs of GPU_VIPER_APU"
            for state, event in total["Directory"]
            if state in ONLY_FOR_A_GPU or event in ONLY_FOR_A_GPU
        }
    if name == "MSI_Snoop":
        return LINE_BEFORE_REQUEST
    return WHOLE_LINES if "TCC" in total else {}


def missed(total: Counts) -> list[str]:
    return [
        f"{machine}: ({state}, {event})"
        for machine, cells in total.items()
        for (state, event), count in cells.items()
        if not count
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(COVERING_SEEDS))
def test_every_transition_is_executed_or_explained(name: str) -> None:
    total: Counts = {}
    for seed in COVERING_SEEDS[name]:
        merge(total, play(name, seed))
    assert sorted(missed(total)) == sorted(elsewhere(name, total))


@pytest.mark.parametrize("seeds", sampled([range(3), range(3, 9), range(9, 15)], 3))
@pytest.mark.parametrize("name", sampled(SAMPLERS, 2))
def test_contention_passes(name: str, seeds: range) -> None:
    for seed in seeds:
        play(name, seed)
