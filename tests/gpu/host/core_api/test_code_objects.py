"""Code objects as bytes, and symbols that are bound late."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from gpu import CodeObject, Signal
from gpu.code_object import CodeObjectError
from gpu.host.core_api.status import Status
from tests.gpu.host.core_api.opened import opened
from tests.gpu.kernels.stored import stored_bytes

ABS64 = 3
INVALID = Status.ERROR_INVALID_ARGUMENT


def with_an_undefined_symbol() -> tuple[bytes, str]:
    """An object of the corpus whose only relocation is made one of a symbol that nothing defines:
    the name of a kernel's function, which no loader needs."""
    data = bytearray(stored_bytes("pointers"))
    image = CodeObject.from_bytes(bytes(data)).elf
    name = next(name.removesuffix(".kd") for name in image.symbols if name.endswith(".kd"))
    symbol = image.symbols[name]
    first = min(each.offset for each in image.symbols.values())
    (relative,) = image.relocations
    old = struct.pack("<QQq", relative.address, relative.type, relative.addend)
    number = (symbol.offset - first) // 24 + 1
    struct.pack_into("<QQq", data, data.index(old), relative.address, number << 32 | ABS64, 8)
    struct.pack_into("<HQ", data, symbol.offset + 6, 0, 0)
    return bytes(data), name


def test_to_bytes_and_back() -> None:
    runtime = opened().runtime
    status, code = runtime.code_object_deserialize(stored_bytes("vadd"))
    assert status is Status.SUCCESS and code is not None
    assert runtime.code_object_serialize(code) == (Status.SUCCESS, stored_bytes("vadd"))
    device, done = runtime.device, Signal(1)
    x = np.arange(64, dtype=np.float32)
    out = device.alloc_like(x)
    queue = device.create_queue()
    queue.dispatch(
        code["vadd"], 64, 64, [device.alloc(x), device.alloc(x), out, 64], completion=done
    )
    assert runtime.code_object_destroy(code) is Status.SUCCESS
    assert runtime.code_object_destroy(code) is INVALID
    assert runtime.code_object_serialize(code) == (INVALID, None)
    queue.ring()
    device.run(until=done)
    assert out.numpy().tolist() == (2 * x).tolist()  # what was loaded stays


@pytest.mark.parametrize("data", [b"", b"\x7fELF", stored_bytes("vadd")[:500]])
def test_bytes_that_are_no_code_object(data: bytes) -> None:
    assert opened().runtime.code_object_deserialize(data) == (INVALID, None)


def test_symbols_are_bound_late() -> None:
    runtime = opened().runtime
    data, name = with_an_undefined_symbol()
    with pytest.raises(CodeObjectError, match=f"'{name}' is used at .* defined nowhere"):
        CodeObject.from_bytes(data)
    _, code = runtime.code_object_deserialize(data)
    assert code is not None and code.unbound == (name,)
    with pytest.raises(CodeObjectError, match=f"symbols that are bound to nothing: '{name}'"):
        runtime.device.load(code)
    bind = runtime.symbol_bind_code_object
    assert bind(code, {"other": 64}) == (Status.INFO_NO_SYMBOLS_BOUND, None)
    assert bind(code, {name: -1}) == bind(code, {name: 1 << 64}) == (INVALID, None)
    assert bind(code, {name: "64"}) == (INVALID, None)  # type: ignore[dict-item]
    assert bind(code, None) == bind(None, {}) == (INVALID, None)
    status, made = bind(code, {name: 0x1234_5678_9ABC, "other": 1})
    assert status is Status.SUCCESS and made is not None
    bound, which = made
    assert which == {name: 0x1234_5678_9ABC} and bound.unbound == () and code.unbound == (name,)
    assert bind(bound, {name: 64}) == (Status.INFO_NO_SYMBOLS_BOUND, None)
    loaded = runtime.device.load(bound)
    place = next(each for each in bound.elf.relocations if each.symbol and each.symbol.name == name)
    value = runtime.device.host.read(loaded.base + place.address, 8)
    assert int.from_bytes(value, "little") == 0x1234_5678_9ABC + place.addend
