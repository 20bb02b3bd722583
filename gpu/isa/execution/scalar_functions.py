"""What scalar instructions compute, as functions of whole numbers.

Sources come as unsigned numbers of their declared width in the assembler's order, then the old
destination where the row reads it, then SCC where the row reads it. The result is the new
destination, SCC, or both in a pair, as the row says. Invariant: results are unsigned and fit.

Source: the public GCN3 instruction set architecture manual, chapter "Scalar ALU operations".
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

_ALL: Final = {32: 0xFFFF_FFFF, 64: 0xFFFF_FFFF_FFFF_FFFF}
_NONE: Final = 0xFFFF_FFFF
"""The result of a search for a bit that is absent: -1."""

Function = Callable[..., Any]
Pair = tuple[int, int]


def signed(value: int, bits: int = 32) -> int:
    """The number whose two's complement pattern of ``bits`` bits this is."""
    return value - (value >> (bits - 1) << bits)


def _add(a: int, b: int, carry: int = 0) -> Pair:
    total = a + b + carry
    return total & _ALL[32], total >> 32


def _subtract(a: int, b: int, borrow: int = 0) -> Pair:
    difference = a - b - borrow
    return difference & _ALL[32], int(difference < 0)


def _add_signed(a: int, b: int) -> Pair:
    total = a + b & _ALL[32]
    return total, ((a ^ total) & (b ^ total)) >> 31


def _subtract_signed(a: int, b: int) -> Pair:
    difference = a - b & _ALL[32]
    return difference, ((a ^ b) & (a ^ difference)) >> 31


def _extreme(better: Callable[[int, int], bool], is_signed: bool) -> Function:
    def extreme(a: int, b: int) -> Pair:
        first = better(signed(a), signed(b)) if is_signed else better(a, b)
        return (a, 1) if first else (b, 0)

    return extreme


def _logic(function: Callable[[int, int], int], bits: int) -> Function:
    every = _ALL[bits]

    def logic(a: int, b: int) -> Pair:
        result = function(a, b) & every
        return result, int(result != 0)

    return logic


_LOGIC: Final[dict[str, Callable[[int, int], int]]] = {
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}


def _shift_left(bits: int) -> Function:
    def shift(a: int, count: int) -> Pair:
        result = a << (count & bits - 1) & _ALL[bits]
        return result, int(result != 0)

    return shift


def _shift_right(bits: int) -> Function:
    def shift(a: int, count: int) -> Pair:
        result = a >> (count & bits - 1)
        return result, int(result != 0)

    return shift


def _shift_right_signed(bits: int) -> Function:
    def shift(a: int, count: int) -> Pair:
        result = signed(a, bits) >> (count & bits - 1) & _ALL[bits]
        return result, int(result != 0)

    return shift


def _field_mask(bits: int) -> Function:
    def mask(width: int, offset: int) -> int:
        return (1 << (width & bits - 1)) - 1 << (offset & bits - 1) & _ALL[bits]

    return mask


def _field(bits: int, is_signed: bool) -> Function:
    """Bits 4:0 (5:0 of 64) of the second source are where the field starts, 22:16 its width."""

    def field(a: int, place: int) -> Pair:
        offset, width = place & bits - 1, min(place >> 16 & 0x7F, bits)
        shifted = (signed(a, bits) if is_signed else a) >> offset
        result = shifted & (1 << width) - 1
        if is_signed and width:
            result = signed(result, width) & _ALL[bits]
        return result, int(result != 0)

    return field


def _multiply(a: int, b: int) -> int:
    return a * b & _ALL[32]


def _multiply_high(is_signed: bool) -> Function:
    def multiply(a: int, b: int) -> int:
        product = signed(a) * signed(b) if is_signed else a * b
        return product >> 32 & _ALL[32]

    return multiply


def _shift_add(count: int) -> Function:
    """SCC is whether anything left 32 bits."""

    def operation(a: int, b: int) -> Pair:
        total = (a << count) + b
        return total & _ALL[32], int(total > _ALL[32])

    return operation


def _pack(first: int, second: int) -> Function:
    """Halves of two registers: those that begin at these bits."""

    def pack(a: int, b: int) -> int:
        return a >> first & 0xFFFF | (b >> second & 0xFFFF) << 16

    return pack


def _replicate(a: int) -> int:
    """Every bit twice."""
    return sum(3 << 2 * place for place in range(32) if a >> place & 1)


def _absolute_difference(a: int, b: int) -> Pair:
    difference = abs(signed(a - b & _ALL[32])) & _ALL[32]
    return difference, int(difference != 0)


def _select(a: int, b: int, scc: int) -> int:
    return a if scc else b


def _move(a: int) -> int:
    return a


def _move_if(a: int, old: int, scc: int) -> int:
    return a if scc else old


def _not(bits: int) -> Function:
    def complement(a: int) -> Pair:
        result = ~a & _ALL[bits]
        return result, int(result != 0)

    return complement


def _quads(a: int, bits: int) -> int:
    """A bit for each group of four bits: whether any of them is set."""
    return sum(1 << place for place in range(bits // 4) if a >> 4 * place & 15)


def _quad_mask(bits: int) -> Function:
    def mask(a: int) -> Pair:
        result = _quads(a, bits)
        return result, int(result != 0)

    return mask


def _whole_quads(bits: int) -> Function:
    def whole(a: int) -> Pair:
        result = sum(15 << 4 * place for place in range(bits // 4) if a >> 4 * place & 15)
        return result, int(result != 0)

    return whole


def _reverse(bits: int) -> Function:
    def reverse(a: int) -> int:
        return int(f"{a:0{bits}b}"[::-1], 2)

    return reverse


def _count(bits: int, of_ones: int) -> Function:
    def count(a: int) -> Pair:
        ones = a.bit_count()
        result = ones if of_ones else bits - ones
        return result, int(result != 0)

    return count


def _first_one(a: int) -> int:
    return (a & -a).bit_length() - 1 if a else _NONE


def _first_zero(bits: int) -> Function:
    def first(a: int) -> int:
        return _first_one(~a & _ALL[bits])

    return first


def _leading_zeros(bits: int) -> Function:
    def zeros(a: int) -> int:
        return bits - a.bit_length() if a else _NONE

    return zeros


def _leading_signs(bits: int) -> Function:
    """How far the first bit unlike the sign is from it."""

    def signs(a: int) -> int:
        other = a ^ _ALL[bits] if a >> bits - 1 else a
        return bits - other.bit_length() if other else _NONE

    return signs


def _extend(bits: int) -> Function:
    def extend(a: int) -> int:
        return signed(a & (1 << bits) - 1, bits) & _ALL[32]

    return extend


def _set_bit(bits: int, to: int) -> Function:
    def change(place: int, old: int) -> int:
        bit = 1 << (place & bits - 1)
        return old | bit if to else old & ~bit

    return change


def _absolute(a: int) -> Pair:
    result = abs(signed(a)) & _ALL[32]
    return result, int(result != 0)


def _test_bit(bits: int, wanted: int) -> Function:
    def test(a: int, place: int) -> int:
        return int(a >> (place & bits - 1) & 1 == wanted)

    return test


_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "lg": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def _compare(function: Callable[[int, int], bool], is_signed: bool) -> Function:
    if is_signed:
        return lambda a, b: int(function(signed(a), signed(b)))
    return lambda a, b: int(function(a, b))


def _compare_constant(function: Callable[[int, int], bool], is_signed: bool) -> Function:
    if is_signed:
        return lambda a, constant: int(function(signed(a), signed(constant, 16)))
    return lambda a, constant: int(function(a, constant))


def _constant(constant: int) -> int:
    return signed(constant, 16) & _ALL[32]


def _of_both_widths() -> dict[str, Function]:
    functions: dict[str, Function] = {}
    for bits in (32, 64):
        for name, logic in _LOGIC.items():
            functions[f"s_{name}_b{bits}"] = _logic(logic, bits)
        functions |= {
            f"s_cselect_b{bits}": _select,
            f"s_lshl_b{bits}": _shift_left(bits),
            f"s_lshr_b{bits}": _shift_right(bits),
            f"s_ashr_i{bits}": _shift_right_signed(bits),
            f"s_bfm_b{bits}": _field_mask(bits),
            f"s_bfe_u{bits}": _field(bits, False),
            f"s_bfe_i{bits}": _field(bits, True),
            f"s_mov_b{bits}": _move,
            f"s_cmov_b{bits}": _move_if,
            f"s_not_b{bits}": _not(bits),
            f"s_wqm_b{bits}": _whole_quads(bits),
            f"s_quadmask_b{bits}": _quad_mask(bits),
            f"s_brev_b{bits}": _reverse(bits),
            f"s_bcnt0_i32_b{bits}": _count(bits, 0),
            f"s_bcnt1_i32_b{bits}": _count(bits, 1),
            f"s_ff0_i32_b{bits}": _first_zero(bits),
            f"s_ff1_i32_b{bits}": _first_one,
            f"s_flbit_i32_b{bits}": _leading_zeros(bits),
            f"s_bitset0_b{bits}": _set_bit(bits, 0),
            f"s_bitset1_b{bits}": _set_bit(bits, 1),
            f"s_bitcmp0_b{bits}": _test_bit(bits, 0),
            f"s_bitcmp1_b{bits}": _test_bit(bits, 1),
        }
    return functions


def _comparisons() -> dict[str, Function]:
    functions: dict[str, Function] = {}
    for name, function in _COMPARISONS.items():
        for letter in "iu":
            is_signed = letter == "i"
            functions[f"s_cmp_{name}_{letter}32"] = _compare(function, is_signed)
            functions[f"s_cmpk_{name}_{letter}32"] = _compare_constant(function, is_signed)
    functions["s_cmp_eq_u64"] = _compare(operator.eq, False)
    functions["s_cmp_lg_u64"] = _compare(operator.ne, False)
    return functions


SCALAR: Final[dict[str, Function]] = {
    **_of_both_widths(),
    **_comparisons(),
    "s_add_u32": _add,
    "s_sub_u32": _subtract,
    "s_addc_u32": _add,
    "s_subb_u32": _subtract,
    "s_add_i32": _add_signed,
    "s_sub_i32": _subtract_signed,
    "s_min_i32": _extreme(operator.lt, True),
    "s_min_u32": _extreme(operator.lt, False),
    "s_max_i32": _extreme(operator.gt, True),
    "s_max_u32": _extreme(operator.gt, False),
    "s_mul_i32": _multiply,
    "s_mul_hi_u32": _multiply_high(False),
    "s_mul_hi_i32": _multiply_high(True),
    **{f"s_lshl{count}_add_u32": _shift_add(count) for count in (1, 2, 3, 4)},
    "s_pack_ll_b32_b16": _pack(0, 0),
    "s_pack_lh_b32_b16": _pack(0, 16),
    "s_pack_hh_b32_b16": _pack(16, 16),
    "s_bitreplicate_b64_b32": _replicate,
    "s_absdiff_i32": _absolute_difference,
    "s_abs_i32": _absolute,
    "s_flbit_i32": _leading_signs(32),
    "s_flbit_i32_i64": _leading_signs(64),
    "s_sext_i32_i8": _extend(8),
    "s_sext_i32_i16": _extend(16),
    "s_movk_i32": _constant,
    "s_cmovk_i32": lambda constant, old, scc: _constant(constant) if scc else old,
    "s_addk_i32": lambda constant, old: _add_signed(old, _constant(constant)),
    "s_mulk_i32": lambda constant, old: _multiply(old, _constant(constant)),
}
"""By mnemonic: instructions whose sources are operands and SCC. Those that also use EXEC, the
program counter or other registers are in `gpu.isa.execution.scalar_binder`."""

_FIRST_INVERTED: Final[dict[str, Callable[[int, int], int]]] = {
    "andn1": lambda a, b: ~a & b,
    "orn1": lambda a, b: ~a | b,
}
SAVE_EXEC: Final = {
    f"s_{name}_saveexec_b64": function for name, function in (_LOGIC | _FIRST_INVERTED).items()
}
"""The new EXEC from the source and the old one; more bits than 64 may be set. The old one is
saved."""
WRITE_EXEC: Final = {
    "s_andn1_wrexec_b64": _FIRST_INVERTED["andn1"],
    "s_andn2_wrexec_b64": _LOGIC["andn2"],
}
"""Likewise; the new one is copied."""
