"""The kernel of a litmus test in one situation.

One wave executes the threads that are in it, each in a lane of its own, or in a lane for each
instance. A wave sets up addresses and values, loads the lines that are to be warm, waits for its
start, performs the operations, and stores what its registers got. Between the operations stand only
the waits that a compiler would also emit, for a loaded value before its first use, and ``s_sleep``,
which waits for no counter.

Invariant: the instructions of an operation are those of its sequence, in order, and no others.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Final

from gpu.code_object.targets import RUNNABLE
from gpu.generation import Generation
from gpu.isa.encoding.kernel_code import EVERYTHING, Code
from gpu.isa.encoding.operands import EXEC, M0, VCC
from gpu.litmus.sequences import (
    ACCESS,
    LDS_AND_SCALAR,
    RETURNS,
    VECTOR,
    WAIT,
    Kind,
    Sequence,
    Step,
    sequence_of,
)
from gpu.litmus.situation import SLEEP, LocalLayout, Situation, local_layout, where
from gpu.memory_model.program import (
    BOTH_SPACES,
    Access,
    Fence,
    Load,
    Operation,
    Order,
    Place,
    Program,
    Rmw,
    Space,
    Store,
    Thread,
)
from runtime.prng import Prng
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass

ENTRY: Final = 256
"""Bytes from the descriptor to the first instruction."""
RESULT_BYTES: Final = 8
_WAVES: Final = 16
_MOST_REGISTERS: Final = 256
_GROUP_ID, _WAVE, _TIME, _UNGUARDED = 0, 2, 4, 6
_WORK_ITEM, _SCRATCH = 0, 1
_FIRST_FREE: Final = 2
_LEAD: Final = 512
"""Ticks before its start at which a wave no longer sleeps, to have its code by then."""
_SLEEP_BITS: Final = 8
"""Of the number of units of sleep before the start."""
_LONGEST_SLEEP: Final = 127
"""Of one ``s_sleep``, in its units."""
_SUFFIX: Final = {1: "byte", 2: "short", 4: "dword", 8: "dwordx2"}
_LOADED: Final = {1: "ubyte", 2: "ushort"}
_NO_BASE: Final = 0x7F
"""Instead of a scalar register that is added to addresses."""
_FLAT_ATOMICS: Final = {
    AtomicKind.ADD: "add", AtomicKind.SUB: "sub", AtomicKind.AND: "and", AtomicKind.OR: "or",
    AtomicKind.XOR: "xor", AtomicKind.MIN: "smin", AtomicKind.MAX: "smax",
    AtomicKind.UMIN: "umin", AtomicKind.UMAX: "umax", AtomicKind.EXCHANGE: "swap",
    AtomicKind.CAS: "cmpswap", AtomicKind.INC: "inc", AtomicKind.DEC: "dec",
}  # fmt: skip
_LDS_ATOMICS: Final = {
    AtomicKind.ADD: "add{}_u", AtomicKind.SUB: "sub{}_u", AtomicKind.AND: "and{}_b",
    AtomicKind.OR: "or{}_b", AtomicKind.XOR: "xor{}_b", AtomicKind.MIN: "min{}_i",
    AtomicKind.MAX: "max{}_i", AtomicKind.UMIN: "min{}_u", AtomicKind.UMAX: "max{}_u",
    AtomicKind.EXCHANGE: "wrxchg{}_b", AtomicKind.CAS: "cmpst{}_b", AtomicKind.INC: "inc{}_u",
    AtomicKind.DEC: "dec{}_u",
}  # fmt: skip

Sequences = Callable[[int, int, Sequence], Sequence]
"""What to execute for an operation, by thread, operation and what the table says: mutation."""


def as_written(thread: int, operation: int, sequence: Sequence) -> Sequence:
    """What the table says."""
    return sequence


class NotExecuted(ValueError):
    """A processor whose sequences are known, and whose instructions the model does not execute."""


class TooLarge(ValueError):
    """A test that needs more registers than a wave has."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """``image``: descriptor and code. ``groups``, ``waves``: of the grid, and of a group."""

    image: bytes
    groups: int
    waves: int
    lds: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a kernel finds memory: that of the test, of the results, and its common start."""

    memory: int
    results: int
    start: int


def counts_in_both(processor: str) -> bool:
    """Whether accesses to global memory count in ``lgkmcnt``, too: where there are no ``global_``
    instructions, they are FLAT ones."""
    return RUNNABLE[processor] < Generation.GFX9


def kind_of(operation: Operation) -> Kind:
    """The rows of its sequences."""
    kinds = {Load: Kind.load, Store: Kind.store, Rmw: Kind.rmw, Fence: Kind.fence}
    return kinds[type(operation)]


def sequence_for(processor: str, operation: Operation, opencl: bool) -> Sequence:
    """What the table says of an operation, with the bit that returns an old value."""
    spaces = operation.spaces if isinstance(operation, Fence) else {operation.place.space}
    found = sequence_of(
        *(processor, kind_of(operation), operation.order, operation.scope),
        *(frozenset(spaces), opencl and spaces != BOTH_SPACES),
    )
    if not isinstance(operation, Rmw) or operation.register is None:
        return found
    if operation.place.space is Space.local:
        return found
    bit = RETURNS[processor]
    return tuple(
        Step(ACCESS, (bit, *step.parts)) if step.name == ACCESS else step for step in found
    )


def build(
    program: Program,
    situation: Situation,
    layout: Layout,
    *,
    processor: str = "gfx803",
    opencl: bool = False,
    sequences: Sequences = as_written,
) -> Kernel:
    """The kernel of the threads on the GPU. Raises TooLarge, NotExecuted."""
    if processor not in RUNNABLE:
        raise NotExecuted(
            f"no code for {processor}: its table is for reading, {' and '.join(RUNNABLE)} run"
        )
    code = Code(RUNNABLE[processor])
    waves: dict[tuple[int, int], list[int]] = {}
    for number, thread in enumerate(program.threads):
        if thread.position.agent == "gpu":
            group = situation.groups[thread.position.group]
            waves.setdefault((group, thread.position.wave), []).append(number)
    code.emit("VOP1", "v_readfirstlane_b32", vdst=_WAVE, src0=256 + _WORK_ITEM)
    code.emit("SOP2", "s_lshr_b32", sdst=_WAVE, ssrc0=_WAVE, ssrc1=128 + 6)
    code.emit("SOP2", "s_lshl_b32", sdst=_WAVE + 1, ssrc0=_GROUP_ID, ssrc1=128 + 4)
    code.emit("SOP2", "s_or_b32", sdst=_WAVE, ssrc0=_WAVE, ssrc1=_WAVE + 1)
    for group, wave in waves:
        code.emit("SOPC", "s_cmp_eq_u32", group * _WAVES + wave, ssrc0=_WAVE, ssrc1=255)
        code.branch("s_cbranch_scc1", f"wave {group} {wave}")
    code.emit("SOPP", "s_endpgm")
    lds = local_layout(program)
    registers = _FIRST_FREE
    for (group, wave), numbers in waves.items():
        code.label(f"wave {group} {wave}")
        writer = _Wave(code, program, numbers, situation, layout, lds, processor, opencl, sequences)
        writer.write()
        registers = max(registers, writer.registers)
    size = lds.bytes * situation.instances
    return Kernel(
        _descriptor(registers, size) + code.finished() + bytes(64),
        max(group for group, _ in waves) + 1,
        max(wave for _, wave in waves) + 1,
        size,
    )


def _descriptor(registers: int, lds: int) -> bytes:
    rsrc1 = (registers + 3) // 4 - 1 | (32 // 8 - 1) << 6 | 0xC0 << 12 | 1 << 21 | 1 << 23
    rsrc2 = 1 << 7
    packed = struct.pack("<IIIIq20sIIIHHI", lds, 0, 0, 0, ENTRY, b"", 0, rsrc1, rsrc2, 0, 0, 0)
    return packed.ljust(ENTRY, b"\0")


@dataclass(slots=True)
class _Wave:
    """Writes one wave."""

    code: Code
    program: Program
    numbers: list[int]
    situation: Situation
    layout: Layout
    lds: LocalLayout
    processor: str
    opencl: bool
    sequences: Sequences
    registers: int = _FIRST_FREE
    _constants: dict[tuple[tuple[int, ...], int], int] = field(default_factory=dict)
    _behind: dict[int, int] = field(default_factory=dict)
    """Registers that hold that many bytes times the number of the lane's instance."""
    _results: dict[tuple[int, str], int] = field(default_factory=dict)
    _pending: dict[int, str] = field(default_factory=dict)
    """Vector registers that are being loaded, and the counter that says when they are there."""

    def write(self) -> None:
        code, threads = self.code, [self.program.threads[number] for number in self.numbers]
        code.scalar(M0, 0xFFFF_FFFF)
        if self.situation.instances > 1:
            self._number_instances(threads[0])
        for thread in threads:
            self._prepare(thread)
        self._warm(threads)
        self._wait_for_start(min(self.situation.starts[thread.name] for thread in threads))
        single = len(threads) == 1
        if single:
            code.activate(self._lanes(self.numbers[0]))
        for number, place in self._turns():
            thread = self.program.threads[number]
            if not single:
                code.activate(self._lanes(number))
            self._sleep(self.situation.sleeps[thread.name][place])
            self._operation(number, place)
        self._store_results()

    # ------------------------------------------------------------------ before

    def _number_instances(self, first: Thread) -> None:
        """What has to be added to the addresses of the first instance, in each lane."""
        situation, emit = self.situation, self.code.emit
        instance = self._reserve(1)
        last, order = 128 + situation.instances - 1, 128 + situation.order_of(first.name)
        emit("VOP2", "v_and_b32", vdst=instance, src0=last, vsrc1=_WORK_ITEM)
        emit("VOP2", "v_xor_b32", vdst=instance, src0=order, vsrc1=instance)
        for apart in filter(None, (situation.apart, RESULT_BYTES, self.lds.bytes)):
            behind = self._behind[apart] = self._reserve(1)
            self.code.vector(behind, apart)
            emit("VOP2", "v_mul_u32_u24", vdst=behind, src0=256 + instance, vsrc1=behind)

    def _lanes(self, number: int) -> int:
        """The lanes of a thread: where the test has it, or one for each instance."""
        count = self.situation.instances
        if count == 1:
            return 1 << self.program.threads[number].position.lane
        return (1 << count) - 1 << count * self.numbers.index(number)

    def _prepare(self, thread: Thread) -> None:
        """All lanes get the addresses and constants that operations use."""
        for operation in thread.operations:
            if isinstance(operation, Fence):
                continue
            self._address(operation.place)
            for words in _constant_operands(operation):
                self._constant(words)
        for name in thread.registers:
            self._results[self._key(thread, name)] = register = self._reserve(2)
            self.code.vector(register, 0)
            self.code.vector(register + 1, 0)

    def _key(self, thread: Thread, name: str) -> tuple[int, str]:
        return self.program.threads.index(thread), name

    def _warm(self, threads: list[Thread]) -> None:
        order = self.situation.order_of(threads[0].name)
        names: dict[str, int] = {}
        for thread in threads:
            for name, has in self.situation.warm[thread.name].items():
                bits = (has >> (lane ^ order) & 1 for lane in range(self.situation.instances))
                mask = sum(bit << lane for lane, bit in enumerate(bits))
                names[name] = names.get(name, 0) | mask
        addresses = {self._address(Place(name)): lanes for name, lanes in names.items()}
        self.code.activate(active := 1)
        for address, lanes in addresses.items():
            if lanes != active:
                self.code.activate(active := lanes)
            self._memory("load_dword", vdst=_SCRATCH, addr=address)
        self.code.wait(EVERYTHING)

    def _wait_for_start(self, after: int) -> None:
        """Asleep until shortly before it, for as long as one look at the clock says; then the clock
        is looked at until it is due."""
        code, due = self.code, self.layout.start + after
        behind = f"started {self.numbers}"
        self._look_at_the_clock()
        code.emit("SOP2", "s_sub_i32", due - _LEAD, sdst=_TIME, ssrc0=255, ssrc1=_TIME)
        code.emit("SOPC", "s_cmp_lt_i32", ssrc0=_TIME, ssrc1=128)
        code.branch("s_cbranch_scc1", behind)
        for bit in reversed(range(_SLEEP_BITS)):
            shorter = f"start {self.numbers} {bit}"
            code.emit(
                "SOPC", "s_bitcmp1_b32", ssrc0=_TIME, ssrc1=128 + SLEEP.bit_length() - 1 + bit
            )
            code.branch("s_cbranch_scc0", shorter)
            self._sleep(1 << bit)
            code.label(shorter)
        code.label(behind)
        self._look_at_the_clock()
        code.emit("SOPC", "s_cmp_lt_u32", due, ssrc0=_TIME, ssrc1=255)
        code.branch("s_cbranch_scc1", behind)

    def _look_at_the_clock(self) -> None:
        self.code.emit("SMEM", "s_memtime", sdata=_TIME)
        self.code.wait((LDS_AND_SCALAR,))

    def _sleep(self, units: int) -> None:
        while units:
            self.code.emit("SOPP", "s_sleep", simm16=min(units, _LONGEST_SLEEP))
            units -= min(units, _LONGEST_SLEEP)

    def _reserve(self, count: int) -> int:
        first = self.registers
        self.registers += count
        if self.registers > _MOST_REGISTERS:
            raise TooLarge(f"the test needs more than {_MOST_REGISTERS} registers of a wave")
        return first

    def _constant(self, words: tuple[int, ...], apart: int = 0) -> int:
        """The first of the registers with these words, of which the first grows by ``apart`` from
        instance to instance."""
        behind = self._behind.get(apart, 0) if apart else 0
        key = words, behind
        if key not in self._constants:
            first = self._constants[key] = self._reserve(len(words))
            for number, word in enumerate(words):
                self.code.vector(first + number, word)
            if behind:
                self.code.emit("VOP2", "v_add_u32", vdst=first, src0=256 + behind, vsrc1=first)
        return self._constants[key]

    def _address(self, place: Place) -> int:
        if place.space is Space.local:
            words: tuple[int, ...] = (self.lds.offsets[place.name] + place.offset,)
            return self._constant(words, self.lds.bytes)
        words = _words(self.layout.memory + where(place, self.situation.offsets), 8)
        return self._constant(words, self.situation.apart)

    # ------------------------------------------------------------------ the operations

    def _turns(self) -> Iterator[tuple[int, int]]:
        """Threads and the numbers of their operations, in the order of this wave."""
        prng = Prng(self.situation.turns)
        left = dict.fromkeys(self.numbers, 0)
        while left:
            number = list(left)[prng.below(len(left))]
            place = left[number]
            left[number] += 1
            if left[number] >= len(self.program.threads[number].operations):
                del left[number]
            if place < len(self.program.threads[number].operations):
                yield number, place

    def _operation(self, number: int, place: int) -> None:
        thread = self.program.threads[number]
        operation = thread.operations[place]
        label = f"behind {number} {place}"
        if operation.when is not None:
            guard = self._results[number, operation.when.register]
            self._need(guard)
            self.code.emit("VOPC", "v_cmp_eq_u32", operation.when.value, src0=255, vsrc1=guard)
            self.code.emit("SOP1", "s_and_saveexec_b64", sdst=_UNGUARDED, ssrc0=VCC)
            self.code.branch("s_cbranch_execz", label)
        pending = dict(self._pending)
        said = sequence_for(self.processor, operation, self.opencl)
        for step in self.sequences(number, place, said):
            self._step(number, operation, step)
        if operation.when is not None:
            # Behind the label, what was skipped has waited for nothing.
            self._pending = pending | self._pending
            self.code.label(label)
            self.code.emit("SOP1", "s_mov_b64", sdst=EXEC, ssrc0=_UNGUARDED)

    def _step(self, number: int, operation: Operation, step: Step) -> None:
        if step.name == WAIT:
            self.code.wait(step.parts)
            for register, counter in list(self._pending.items()):
                if counter in step.parts:
                    del self._pending[register]
        elif step.name == ACCESS:
            assert not isinstance(operation, Fence), "a fence has no access"
            self._access(number, operation, step.parts)
        else:
            self.code.emit("MUBUF", step.name)

    def _need(self, register: int) -> None:
        counter = self._pending.get(register)
        if counter is not None:
            self._step(0, Fence(Order.acquire), Step(WAIT, (counter,)))

    def _access(self, number: int, access: Access, bits: tuple[str, ...]) -> None:
        data = None
        if not isinstance(access, Load):
            data = self._data(number, access)
        result = None
        if not isinstance(access, Store) and access.register is not None:
            result = self._results[number, access.register]
        address = self._address(access.place)
        if access.place.space is Space.local:
            self._local(access, address, data, result)
        else:
            self._global(access, address, data, result, dict.fromkeys(bits, 1))

    def _data(self, number: int, access: Store | Rmw) -> int:
        value = access.value if isinstance(access, Store) else access.operand
        if isinstance(value, str):
            register = self._results[number, value]
            self._need(register)
            return register
        (words, *_) = _constant_operands(access)
        return self._constant(words)

    def _global(
        self,
        access: Access,
        address: int,
        data: int | None,
        result: int | None,
        bits: Mapping[str, int],
    ) -> None:
        size = access.place.size
        fields = {"addr": address, **bits}
        if data is not None:
            fields["data"] = data
        if isinstance(access, Load):
            name = f"load_{_LOADED.get(size, _SUFFIX[size])}"
            target = result
            if target is None:
                target = self._reserve(2) if size == 8 else _SCRATCH
            fields["vdst"] = target
        elif isinstance(access, Store):
            name = f"store_{_SUFFIX[size]}"
        else:
            name = f"atomic_{_FLAT_ATOMICS[access.kind]}{'_x2' * (size == 8)}"
            if result is not None:
                fields["vdst"] = result
        self._memory(name, **fields)
        if result is not None:
            self._pending[result] = VECTOR

    def _memory(self, name: str, **fields: int) -> None:
        """An access to global memory, as compilers for the processor make it."""
        if counts_in_both(self.processor):
            self.code.emit("FLAT", f"flat_{name}", **fields)
        else:
            self.code.emit("GLOBAL", f"global_{name}", saddr=_NO_BASE, **fields)

    def _local(self, access: Access, address: int, data: int | None, result: int | None) -> None:
        bits = 8 * access.place.size
        target = _SCRATCH if result is None else result
        if isinstance(access, Load):
            kind = {8: "u8", 16: "u16"}.get(bits, f"b{bits}")
            if result is None and bits == 64:
                target = self._reserve(2)
            self.code.emit("DS", f"ds_read_{kind}", vdst=target, addr=address)
        elif isinstance(access, Store):
            assert data is not None, "a store has a value"
            self.code.emit("DS", f"ds_write_b{bits}", addr=address, data0=data)
        else:
            assert data is not None, "an atomic operation has an operand"
            self._local_atomic(access, address, data, result)
        if result is not None:
            self._pending[result] = LDS_AND_SCALAR

    def _local_atomic(self, access: Rmw, address: int, data: int, result: int | None) -> None:
        bits = 8 * access.place.size
        # There is no exchange in LDS that returns nothing.
        returns = result is not None or access.kind == AtomicKind.EXCHANGE
        name = f"ds_{_LDS_ATOMICS[access.kind].format('_rtn' * returns)}{bits}"
        fields = {"addr": address, "data0": data}
        if access.kind == AtomicKind.CAS:
            fields["data0"] = self._constant(_words(access.compare, access.place.size))
            fields["data1"] = data
        if returns:
            fields["vdst"] = self._reserve(2) if result is None else result
        self.code.emit("DS", name, **fields)

    # ------------------------------------------------------------------ after

    def _store_results(self) -> None:
        code = self.code
        code.wait(EVERYTHING)
        for (number, name), register in self._results.items():
            thread = self.program.threads[number]
            index = result_number(self.program, thread, name)
            code.activate(self._lanes(number))
            first = self.layout.results + RESULT_BYTES * index * self.situation.instances
            address = self._constant(_words(first, 8), RESULT_BYTES)
            self._memory("store_dwordx2", addr=address, data=register)
        code.emit("SOPP", "s_endpgm")


def result_number(program: Program, thread: Thread, register: str) -> int:
    """The number of a register among those of all threads, as in `Program.terms`."""
    return program.terms.index(f"{thread.name}:{register}")


def _words(value: int, size: int) -> tuple[int, ...]:
    return (value & 0xFFFF_FFFF, value >> 32) if size == 8 else (value,)


def _constant_operands(access: Access) -> Iterator[tuple[int, ...]]:
    """The constant operands of an access, each as the words of consecutive registers."""
    if isinstance(access, Load):
        return
    value = access.value if isinstance(access, Store) else access.operand
    if isinstance(value, str):
        return
    size = access.place.size
    if not isinstance(access, Rmw) or access.kind != AtomicKind.CAS:
        yield _words(value, size)
    elif access.place.space is Space.local:
        yield _words(value, size)
        yield _words(access.compare, size)
    else:
        yield (*_words(value, size), *_words(access.compare, size))
