"""Kinds of instructions beside a bare addition of 64 masked lanes, in the same run.

    python -m tests.benchmarks.bench_instructions [--count N]

Each is bound once and run alone in a loop, with all lanes active and with all but one. The unit is
the time of ``np.add(a, b, out=c, where=mask)``; taken is the best of five loops' processor time.
"""

from __future__ import annotations

import argparse
import time
import timeit
from collections.abc import Callable

import numpy as np

from gpu.isa.encoding.decoder import decode
from gpu.isa.encoding.printer import text
from gpu.isa.execution.binder import bind
from gpu.isa.fp_environment import plain_afterwards
from gpu.isa.wave_registers import ALL, Wave
from tests.gpu.isa.encoding.words import words

LOOPS = 5
KINDS = [
    words("s_mov_b32", sdst=3, ssrc0=4),
    words("s_add_u32", sdst=3, ssrc0=4, ssrc1=255, literal=0x1234),
    words("s_and_b64", sdst=4, ssrc0=4, ssrc1=6),
    words("s_and_saveexec_b64", sdst=4, ssrc0=126),
    words("s_cbranch_execz", simm16=3),
    words("v_mov_b32", vdst=3, src0=256 + 4),
    words("v_and_b32", vdst=3, src0=256 + 4, vsrc1=5),
    words("v_lshlrev_b32", vdst=3, src0=130, vsrc1=5),
    words("v_add_u32", vdst=3, src0=256 + 4, vsrc1=5),
    words("v_addc_u32", vdst=3, src0=256 + 4, vsrc1=5),
    words("v_mul_lo_u32", vdst=3, src0=256 + 4, src1=256 + 5),
    words("v_add_f32", vdst=3, src0=10, vsrc1=5),
    words("v_mac_f32", vdst=3, src0=256 + 4, vsrc1=5),
    words("v_fma_f32", vdst=3, src0=256 + 4, src1=256 + 5, src2=256 + 6),
    words("v_add_f64", vdst=2, src0=256 + 4, src1=256 + 6),
    words("v_cmp_gt_u32", src0=256 + 4, vsrc1=5),
    words("v_cndmask_b32", vdst=3, src0=256 + 4, vsrc1=5),
    words("v_mad_u64_u32", vdst=2, sdst=106, src0=256 + 4, src1=256 + 5, src2=256 + 6),
    words("v_readfirstlane_b32", sdst=3, src0=256 + 4),
    words("v_mov_b32", "DPP", vdst=3, src0=4, dpp_ctrl=0x111, row_mask=15, bank_mask=15),
    words("v_add_u32", "SDWA", vdst=3, src0=4, vsrc1=5, src0_sel=1, src1_sel=4, dst_sel=6),
]


def _seconds(run: Callable[[], object], count: int) -> float:
    return min(timeit.repeat(run, timer=time.process_time, number=count, repeat=LOOPS)) / count


def main() -> None:
    """Print a line for each kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    count = parser.parse_args().count
    random = np.random.default_rng(1)
    a, b, c = random.integers(0, 1 << 32, (3, 64), np.uint32)
    mask = np.arange(64) % 3 != 0
    unit = _seconds(lambda: np.add(a, b, out=c, where=mask), count)
    print(f"a masked addition takes {1e6 * unit:.2f} microseconds")
    print("all lanes  all but one")
    for instruction in (decode(kind[0], kind[-1]) for kind in KINDS):
        step = bind(instruction)
        figures = []
        for exec in (ALL, ALL >> 1):
            wave = Wave(8, mode=0xC0)
            wave.vgprs[...] = random.integers(0, 1 << 30, wave.vgprs.shape, np.uint32)
            wave.set_exec(exec)
            with plain_afterwards():
                figures.append(_seconds(lambda step=step, wave=wave: step(wave), count) / unit)
        print(f"{figures[0]:9.2f}  {figures[1]:11.2f}  {text(instruction)}")


if __name__ == "__main__":
    main()
