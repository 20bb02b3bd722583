"""Names that exist without a declaration, and the pair keys that mean something.

Invariant: every key that a pass of the compiler reads is in ``KNOWN_PAIR_KEYS``, so a misspelt
one can be reported.
"""

from __future__ import annotations

CONTROLLER_VARIABLES: dict[str, str] = {
    "version": "NodeID",
    "machineID": "MachineID",
    "clusterID": "NodeID",
    "recycle_latency": "Cycles",
}

INHERITED_PARAMETERS: dict[str, str] = {
    "number_of_TBEs": "int",
    "transitions_per_cycle": "int",
    "buffer_size": "int",
    "mandatory_queue_latency": "Cycles",
    "recycle_latency": "Cycles",
}
"""Parameters that every machine has; visible only in pair text (``m_number_of_TBEs``)."""

PROTOCOL_OPTIONS: frozenset[str] = frozenset(
    {
        "partial_func_reads",
        "supports_flushes",
        "use_secondary_load_linked",
        "use_secondary_store_conditional",
    }
)
"""Options by which a driver requests features of a simulator. They have no effect here: the
machines show what they need."""

KNOWN_PAIR_KEYS: frozenset[str] = frozenset(
    {
        "desc",
        "short",
        "format",
        "default",
        "constructor",
        "constructor_hack",
        "template",
        "template_hack",
        "primitive",
        "external",
        "interface",
        "main",
        "non_obj",
        "buffer",
        "inport",
        "outport",
        "network",
        "virtual_network",
        "vnet_type",
        "ordered",
        "rank",
        "block_on",
        "wake_up",
        "rsc_stall_handler",
        "prot_stall_handler",
        "return_by_pointer",
        "return_by_ref",
        "in_trans",
        "out_trans",
        "run_on_input_cycle_end",
        "abstract",
        "external_name",
    }
)
