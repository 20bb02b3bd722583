"""What each guard of GPU_VIPER is for: without it, the race named beside it is lost.

A guard that can be removed while all tests pass is either not needed or not tested.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from protocols.loader import load_protocol
from runtime.errors import ProtocolError
from tests.protocols import harness as harness_module
from tests.protocols import test_races as races
from tests.protocols.harness import PROTOCOLS, Harness
from tests.sampling import sampled

Race = Callable[[], None]

WB = "machine__TCC__parameters__WB"


def through(race: Callable[[Harness], None]) -> Race:
    """The race of a system that writes through."""
    return lambda: race(Harness("GPU_VIPER", **races.ONE_BANK))


def back(race: Callable[[Harness], None]) -> Race:
    """The race of a system that writes back."""
    return lambda: race(Harness("GPU_VIPER", **races.ONE_BANK, **{WB: True}))


GUARDS: dict[str, tuple[str, str, str, Race]] = {
    "an acquire condemns fills of a vector cache": (
        "GPU_VIPER-TCP.sm",
        """  transition(IV, Evict, L) {TagArrayWrite} {
    d_freeFrame;
    v_allocateTBE;
""",
        "  transition(IV, Evict) {TagArrayWrite} {\n",
        through(races.test_r8_late_fill_does_not_outlive_an_acquire),
    ),
    "an acquire condemns fills of an instruction cache": (
        "GPU_VIPER-SQC.sm",
        "transition({IV, IX}, Evict, IX)",
        "transition({IV, IX}, Evict)",
        through(races.test_r7_instruction_cache_asks_again_after_an_acquire),
    ),
    "stored bytes are kept out of a fill": (
        "GPU_VIPER-TCC.sm",
        "line.copyPartial(cache_entry.DataBlk, cache_entry.writeMask);",
        "",
        races.test_r1_store_passes_a_fill_of_the_shared_cache,
    ),
    "bytes stored during a fill are marked": (
        "GPU_VIPER-TCC.sm",
        "{TagArrayRead, DataArrayWrite} {\n    sm_storeMarked;\n    wt_writeThrough;",
        "{TagArrayRead, DataArrayWrite} {\n    sw_store;\n    wt_writeThrough;",
        races.test_r1_store_passes_a_fill_of_the_shared_cache,
    ),
    "dirty bytes are kept out of a fill": (
        "GPU_VIPER-TCC.sm",
        "line.copyPartial(cache_entry.DataBlk, cache_entry.writeMask);",
        "",
        races.test_r2_fill_goes_around_dirty_bytes,
    ),
    "a probe condemns fills": (
        "GPU_VIPER-TCC.sm",
        "transition(IV, PrbInv, IVS)",
        "transition(IV, PrbInv)",
        through(races.test_fill_overtaken_by_a_probe_is_not_kept),
    ),
    "a probe condemns fills for atomic operations": (
        "GPU_VIPER-TCC.sm",
        "transition(IA, PrbInv, IAS)",
        "transition(IA, PrbInv)",
        back(races.test_atomic_fill_overtaken_by_a_probe_is_asked_for_again),
    ),
    "what a probe took is not written back": (
        "GPU_VIPER-TCC.sm",
        "    pt_probeTBE;\n    tc_clearTBEMask;\n",
        "    pt_probeTBE;\n",
        races.test_victim_does_not_overwrite_a_dma_write,
    ),
    "what finds no frame goes past the shared cache": (
        "GPU_VIPER-TCC.sm",
        """            past := canBeReplaced(getCacheEntry(victim)) == false;
""",
        "",
        races.test_store_that_finds_every_frame_under_way,
    ),
    "with write-back a line under way takes no store": (
        "GPU_VIPER-TCC.sm",
        "{AtomicBack, WrVicBlkBack, WrVicBlkEvict}) {TagArrayRead} {\n    z_wait;\n  }\n",
        """{AtomicBack, WrVicBlkEvict}) {TagArrayRead} {
    z_wait;
  }

  transition({IV, IVS, IA, IAS}, WrVicBlkBack) {
    sm_storeMarked;
    wb_storeHere;
    p_popRequest;
  }

  transition({IB, A, T, F, WI}, WrVicBlkBack) {
    z_wait;
  }
""",
        back(races.test_store_behind_a_system_scope_store_of_the_same_byte),
    ),
    "requests are woken after a write-back": (
        "GPU_VIPER-TCC.sm",
        "    cd_sendVictim;\n    w_freeTBE;\n    pr_popResponse;\n    k_wakeWaiting;\n",
        "    cd_sendVictim;\n    w_freeTBE;\n    pr_popResponse;\n",
        races.test_request_waits_for_a_write_back,
    ),
    "a flush writes what the memory-side cache has": (
        "MOESI_AMD_Base-dir.sm",
        "    mf_flushMemory;\n",
        "    mr_readMemory;\n",
        races.test_flush_writes_the_memory_side_cache_back,
    ),
    "dirty bytes go under those of a DMA write": (
        "MOESI_AMD_Base-dir.sm",
        "      merged.copyPartial(tbe.DataBlk, tbe.writeMask);\n",
        "",
        races.test_r6_dma_sees_and_replaces_dirty_bytes,
    ),
    "dirty bytes are laid over a DMA read": (
        "MOESI_AMD_Base-dir.sm",
        "    mm_mergeBytes;\n    do_sendMergedToDMA;",
        "    do_sendMergedToDMA;",
        races.test_r6_dma_sees_and_replaces_dirty_bytes,
    ),
}

WAIT_FOR_VICTIM = (
    "  transition(WI, VicGrant, I) {",
    "  transition({IV, IVS, IA, IAS}, L2_Repl) { z_wait; }\n\n  transition(WI, VicGrant, I) {",
)
"""What one would write instead of going past: the request waits for the victim's line."""


@pytest.mark.parametrize("guard", sampled(GUARDS, 3))
def test_without_it_the_race_is_lost(
    guard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, text, replacement, race = GUARDS[guard]
    copy = tmp_path / "protocols"
    shutil.copytree(PROTOCOLS, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    source = (copy / file).read_text(encoding="utf-8")
    assert source.count(text) == 1, "the guard has another text now"
    source = source.replace(text, replacement)
    if guard == "what finds no frame goes past the shared cache":
        source = source.replace(*WAIT_FOR_VICTIM)
    (copy / file).write_text(source, encoding="utf-8")
    broken = load_protocol(str(copy / "GPU_VIPER.slicc"))
    race()
    monkeypatch.setattr(harness_module, "shipped", lambda name: broken)
    with pytest.raises((AssertionError, ProtocolError)) as caught:
        race()
    # It must be lost by what happens, not by a check that the race took place.
    assert "harness.ran" not in str(caught.traceback[-1].statement), caught.traceback[-1]
