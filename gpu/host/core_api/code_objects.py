"""Code objects as bytes, and late binding of their symbols.

A serialised object is the ELF file itself: its note and symbols say all that D2's structure does.

Invariant: binding makes a new object and leaves the old one alone; a bound symbol is not bound
again. Source: D2, section 2.8, without the finalizer.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu.code_object import CodeObject, CodeObjectError
from gpu.host.core_api.contexts import ContextCalls
from gpu.host.core_api.status import INVALID, Outcome, Status, call, call_with_output, need
from gpu.host.device import Device
from gpu.host.processes.process import Process


class CodeObjectCalls(ContextCalls):
    """See the module."""

    def __init__(self, device: Device | Process, timestamp_mhz: int) -> None:
        super().__init__(device, timestamp_mhz)
        self._code_objects: list[CodeObject] = []

    def _relinquish(self) -> None:
        super()._relinquish()
        self._code_objects.clear()

    @call_with_output
    def code_object_deserialize(self, serialized: bytes) -> CodeObject:
        """``hsa_code_object_deserialize``. Symbols may be unbound; such an object cannot be
        loaded yet."""
        try:
            return self._added(CodeObject(serialized, "serialised code object", partial=True))
        except CodeObjectError:
            raise Outcome(INVALID) from None

    @call_with_output
    def code_object_serialize(self, code_object: CodeObject | None) -> bytes:
        """``hsa_code_object_serialize``."""
        return self._known(code_object).data

    @call
    def code_object_destroy(self, code_object: CodeObject | None) -> None:
        """``hsa_code_object_destroy``; what was loaded of it stays loaded."""
        self._code_objects.remove(self._known(code_object))

    @call_with_output
    def symbol_bind_code_object(
        self, code_object: CodeObject | None, symbols: Mapping[str, int] | None
    ) -> tuple[CodeObject, dict[str, int]]:
        """``hsa_symbol_bind_code_object``: a new object in which those of ``symbols`` (name to
        address) that were unbound are bound, and which ones these are."""
        known = self._known(code_object)
        need(symbols is not None)
        assert symbols is not None, "just checked"
        addresses = symbols.values()
        need(all(isinstance(each, int) and 0 <= each < 1 << 64 for each in addresses))
        bound = {name: symbols[name] for name in known.unbound if name in symbols}
        if not bound:
            raise Outcome(Status.INFO_NO_SYMBOLS_BOUND)
        return self._added(known.bind(bound)), bound

    def _added(self, code_object: CodeObject) -> CodeObject:
        self._code_objects.append(code_object)
        return code_object

    def _known(self, code_object: CodeObject | None) -> CodeObject:
        need(any(each is code_object for each in self._code_objects))
        assert code_object is not None, "None is no code object"
        return code_object
