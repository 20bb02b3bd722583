"""Arguments of types that no call declares break a rule like values out of range."""

from __future__ import annotations

from inspect import signature

import pytest

from gpu.errors import HostError
from gpu.host.core_api.status import Status
from tests.gpu.host.core_api.opened import opened

WITHOUT_ARGUMENTS = {"close", "signal_get_timeout", "topology_table_create"}
OTHERS = {"open", "signal_of", "status_query_description"}
"""They take any value, or raise an error."""


def test_every_call_refuses_them() -> None:
    runtime = opened().runtime
    names = {name for name in dir(runtime) if not name.startswith("_")}
    calls = {name: getattr(runtime, name) for name in names if callable(getattr(runtime, name))}
    tried = 0
    for name in sorted(calls.keys() - WITHOUT_ARGUMENTS - OTHERS):
        call = calls[name]
        arguments = [object()] * len(signature(call).parameters)
        if "_index" in name:
            with pytest.raises(HostError, match="no such queue"):
                call(*arguments)
            continue
        result = call(*arguments)
        assert (result[0] if isinstance(result, tuple) else result) is INVALID, name
        tried += 1
    assert tried > 30


INVALID = Status.ERROR_INVALID_ARGUMENT


def test_one_wrong_type_among_right_ones() -> None:
    made = opened()
    runtime, handle, queue = made.runtime, made.signal(1), made.queue()
    assert runtime.signal_send(handle, "2") is INVALID  # type: ignore[arg-type]
    assert runtime.signal_bind(handle, handle) is INVALID  # type: ignore[arg-type]
    assert runtime.signal_query(handle) == (Status.SUCCESS, 1)
    with pytest.raises(HostError, match="an index is an integer, not '1'"):
        runtime.queue_set_write_index(queue, "1")  # type: ignore[arg-type]
    assert runtime.queue_get_write_index(queue) == 0
    with pytest.raises(HostError, match="a callback is a function, not 3"):
        runtime.open(3)  # type: ignore[arg-type]
