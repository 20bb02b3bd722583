"""Scalar instructions on EXEC, the program counter, hardware registers, relative registers."""

from __future__ import annotations

import pytest

from gpu.isa.encoding.decoder import decode
from gpu.isa.execution.binder import bind
from gpu.isa.wave_registers import ALL, EXEC, M0, VCC, RegisterError, Wave, bits_of
from tests.gpu.isa.encoding.words import words
from tests.gpu.isa.execution.waves import a_wave, run

SOURCE, OLD = 0xFF00_FF00_1234_5678, 0x0FF0_0FF0_FFFF_0000
VCCZ, EXECZ, SCC = 251, 252, 253


def consistent(wave: Wave) -> bool:
    """EXEC in all its forms says the same."""
    pair = wave.sgprs[EXEC] | wave.sgprs[EXEC + 1] << 32
    return pair == wave.exec == bits_of(wave.mask) and wave.full == (pair == ALL)


@pytest.mark.parametrize(
    "name, expected",
    [
        ("and", SOURCE & OLD),
        ("or", SOURCE | OLD),
        ("xor", SOURCE ^ OLD),
        ("andn2", SOURCE & ~OLD),
        ("orn2", (SOURCE | ~OLD) & ALL),
        ("nand", ~(SOURCE & OLD) & ALL),
        ("nor", ~(SOURCE | OLD) & ALL),
        ("xnor", ~(SOURCE ^ OLD) & ALL),
    ],
)
def test_save_exec(name: str, expected: int) -> None:
    wave = a_wave(exec=OLD)
    wave.sgprs[4:6] = SOURCE & 0xFFFF_FFFF, SOURCE >> 32
    run(wave, *words(f"s_{name}_saveexec_b64", sdst=8, ssrc0=4))
    assert wave.sgprs[8] | wave.sgprs[9] << 32 == OLD
    assert wave.exec == expected and wave.scc == 1
    assert consistent(wave)


def test_save_exec_of_nothing_clears_scc() -> None:
    wave = a_wave(exec=OLD)
    run(wave, *words("s_and_saveexec_b64", sdst=VCC, ssrc0=128))
    assert (wave.exec, wave.scc) == (0, 0) and consistent(wave)


@pytest.mark.parametrize("half", [EXEC, EXEC + 1])
def test_halves_of_exec_can_be_written(half: int) -> None:
    wave = a_wave(exec=OLD)
    wave.sgprs[3] = 0xABCD_EF01
    run(wave, *words("s_mov_b32", sdst=half, ssrc0=3))
    low, high = OLD & 0xFFFF_FFFF, OLD >> 32
    expected = (low, 0xABCD_EF01) if half > EXEC else (0xABCD_EF01, high)
    assert wave.exec == expected[0] | expected[1] << 32 and consistent(wave)


def test_exec_as_destination_of_64_bits() -> None:
    wave = a_wave(exec=OLD)
    run(wave, *words("s_not_b64", sdst=EXEC, ssrc0=EXEC))
    assert wave.exec == OLD ^ ALL and consistent(wave)


@pytest.mark.parametrize(
    "name, state, taken",
    [
        ("s_branch", {}, True),
        ("s_cbranch_scc0", {"scc": 0}, True),
        ("s_cbranch_scc0", {"scc": 1}, False),
        ("s_cbranch_scc1", {"scc": 1}, True),
        ("s_cbranch_vccz", {"vcc": 0}, True),
        ("s_cbranch_vccz", {"vcc": 1 << 63}, False),
        ("s_cbranch_vccnz", {"vcc": 1 << 63}, True),
        ("s_cbranch_vccnz", {"vcc": 1}, True),
        ("s_cbranch_execz", {"exec": 0}, True),
        ("s_cbranch_execz", {"exec": 1}, False),
        ("s_cbranch_execnz", {"exec": 1 << 40}, True),
        ("s_cbranch_execnz", {"exec": 0}, False),
    ],
)
def test_branches(name: str, state: dict[str, int], taken: bool) -> None:
    wave = a_wave(exec=state.get("exec", ALL))
    wave.scc = state.get("scc", 0)
    vcc = state.get("vcc", 0)
    wave.sgprs[VCC], wave.sgprs[VCC + 1] = vcc & 0xFFFF_FFFF, vcc >> 32
    run(wave, *words(name, simm16=0xFFFE), address=0x2000)
    assert wave.pc == (0x2004 - 8 if taken else 0x2004)


def test_calls_and_returns() -> None:
    wave = a_wave()
    run(wave, *words("s_getpc_b64", sdst=4), address=0x1_0000_1000)
    assert wave.sgprs[4] | wave.sgprs[5] << 32 == 0x1_0000_1004 == wave.pc
    wave.sgprs[6:8] = 0x40, 0x2
    run(wave, *words("s_swappc_b64", sdst=30, ssrc0=6), address=0x1_0000_1000)
    assert wave.pc == 0x2_0000_0040
    assert wave.sgprs[30] | wave.sgprs[31] << 32 == 0x1_0000_1004
    run(wave, *words("s_setpc_b64", ssrc0=30), address=0x2_0000_0040)
    assert wave.pc == 0x1_0000_1004


def test_a_call_through_the_register_that_it_saves_to() -> None:
    wave = a_wave()
    wave.sgprs[4:6] = 0x5000, 0
    run(wave, *words("s_swappc_b64", sdst=4, ssrc0=4), address=0x100)
    assert wave.pc == 0x5000 and wave.sgprs[4] == 0x104


def test_special_sources() -> None:
    wave = a_wave(exec=0)
    wave.scc = 1
    for code, expected in ((VCCZ, 1), (EXECZ, 1), (SCC, 1)):
        run(wave, *words("s_mov_b32", sdst=3, ssrc0=code))
        assert wave.sgprs[3] == expected
    wave.sgprs[VCC + 1] = 4
    run(wave, *words("s_mov_b32", sdst=3, ssrc0=VCCZ))
    assert wave.sgprs[3] == 0


@pytest.mark.parametrize(
    "code, low, wide",
    [
        (128, 0, 0),
        (192, 64, 64),
        (193, 0xFFFF_FFFF, ALL),
        (208, 0xFFFF_FFF0, ALL - 15),
        (240, 0x3F00_0000, 0x3FE0_0000_0000_0000),
        (245, 0xC000_0000, 0xC000_0000_0000_0000),
        (248, 0x3E22_F983, 0x3FC4_5F30_6DC9_C882),
    ],
)
def test_inline_constants(code: int, low: int, wide: int) -> None:
    wave = a_wave()
    run(wave, *words("s_mov_b32", sdst=3, ssrc0=code))
    assert wave.sgprs[3] == low
    run(wave, *words("s_mov_b64", sdst=4, ssrc0=code))
    assert wave.sgprs[4] | wave.sgprs[5] << 32 == wide


def test_literals_of_64_bits() -> None:
    wave = a_wave()
    run(wave, *words("s_mov_b64", sdst=4, ssrc0=255, literal=0x8000_0000))
    assert wave.sgprs[4:6] == [0x8000_0000, 0]  # bits: zero above
    run(wave, *words("s_ashr_i64", sdst=4, ssrc0=255, ssrc1=128, literal=0x8000_0000))
    assert wave.sgprs[4:6] == [0x8000_0000, 0xFFFF_FFFF]  # a signed number: its sign above


def test_relative_registers() -> None:
    wave = a_wave()
    wave.sgprs[M0] = 4
    wave.sgprs[10:16] = range(100, 106)
    run(wave, *words("s_movrels_b32", sdst=20, ssrc0=10))
    assert wave.sgprs[20] == 104
    run(wave, *words("s_movrels_b64", sdst=20, ssrc0=10))
    assert wave.sgprs[20:22] == [104, 105]
    run(wave, *words("s_movreld_b32", sdst=30, ssrc0=11))
    assert wave.sgprs[34] == 101
    run(wave, *words("s_movreld_b64", sdst=40, ssrc0=12))
    assert wave.sgprs[44:46] == [102, 103]


def test_relative_registers_keep_exec_whole_and_end_somewhere() -> None:
    wave = a_wave()
    wave.sgprs[M0] = 26
    run(wave, *words("s_movreld_b32", sdst=100, ssrc0=135))
    assert wave.exec == ALL - 0xFFFF_FFFF + 7 and consistent(wave)
    wave.sgprs[M0] = 1000
    with pytest.raises(RegisterError, match="no scalar register 1010"):
        run(wave, *words("s_movrels_b32", sdst=20, ssrc0=10))


def test_relative_registers_are_those_that_the_wave_was_given() -> None:
    wave = a_wave()
    wave.scalars = 32
    wave.sgprs[M0] = 22
    with pytest.raises(RegisterError, match="the wave has 32 scalar registers and no s32"):
        run(wave, *words("s_movrels_b32", sdst=20, ssrc0=10))
    with pytest.raises(RegisterError, match="no s33"):
        run(wave, *words("s_movreld_b64", sdst=10, ssrc0=12))
    wave.sgprs[M0] = VCC - 10
    run(wave, *words("s_movrels_b32", sdst=20, ssrc0=10))
    assert wave.sgprs[20] == wave.sgprs[VCC]


MODE_ROUND = 1 | 0 << 6 | 3 << 11  # hwreg(MODE, 0, 4)
MODE_ALL = 1 | 31 << 11


def test_the_mode_register_changes_in_flight() -> None:
    wave = a_wave()
    wave.set_mode(0x2C0)
    wave.sgprs[3] = 0x5
    run(wave, *words("s_setreg_b32", sdst=3, simm16=MODE_ROUND))
    assert wave.mode == 0x2C5
    assert (wave.float_mode.round_32, wave.float_mode.round_64) == (1, 1)
    run(wave, *words("s_getreg_b32", sdst=4, simm16=MODE_ALL))
    assert wave.sgprs[4] == 0x2C5
    run(wave, *words("s_setreg_imm32_b32", simm16=MODE_ROUND, literal=0xF))
    assert wave.float_mode.round_32 == 3 and wave.mode == 0x2CF


def test_status_tells_of_scc_exec_and_vcc() -> None:
    wave = a_wave(exec=0)
    wave.scc = 1
    run(wave, *words("s_getreg_b32", sdst=4, simm16=2 | 31 << 11))
    assert wave.sgprs[4] & (1 | 3 << 9) == 1 | 3 << 9
    wave.set_exec(1)
    run(wave, *words("s_setreg_imm32_b32", simm16=2 | 31 << 11, literal=0))
    run(wave, *words("s_getreg_b32", sdst=4, simm16=2 | 9 << 6 | 0 << 11))
    assert wave.sgprs[4] == 0 and wave.scc == 1


def test_other_hardware_registers_are_what_the_unit_says() -> None:
    wave = a_wave()
    wave.hardware[4] = 0xABCD_1234
    run(wave, *words("s_getreg_b32", sdst=4, simm16=4 | 8 << 6 | 7 << 11))
    assert wave.sgprs[4] == 0x12


def test_steps_belong_to_no_wave() -> None:
    execute = bind(decode(*words("s_addk_i32", sdst=5, simm16=3)))
    waves = [a_wave(), a_wave()]
    for wave, start in zip(waves, (1, 10)):
        wave.sgprs[5] = start
        execute(wave)
    assert [wave.sgprs[5] for wave in waves] == [4, 13]
