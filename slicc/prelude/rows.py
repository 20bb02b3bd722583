"""The row type of the class tables (apart, so that tables do not import each other)."""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ClassRow:
    """A class of the runtime.

    ``methods`` are signature lines. ``interface``: a class whose methods are inherited.
    ``inport``/``outport``: may back a port. ``buffer``: holds messages. ``parameter``:
    may be a machine parameter. ``template``: has an element type that its declaration must name.
    ``constructor``: types of the arguments a machine builds it with; None if only a system can.
    """

    methods: tuple[str, ...] = ()
    value: bool = False
    immutable: bool = False
    interface: str | None = None
    inport: bool = False
    outport: bool = False
    buffer: bool = False
    parameter: bool = False
    template: bool = False
    constructor: tuple[str, ...] | None = ()
    pointer: bool = False
    """Handled by nullable pointer (``AbstractCacheEntry``)."""
