"""Findings about machines: states, transitions, ports, required functions."""

from slicc.diagnostics.code import Code

CODES: tuple[Code, ...] = (
    Code(
        "duplicate-transition",
        "two transitions for one state and event",
        what="A pair of state and event may have one transition. The message shows the first. A "
        "transition that names a state or event twice would be two as well.",
        why="It would not be clear which one is taken.",
        example="transition({I, S}, Load) { a; }\ntransition(I, Load, IS) { b; }",
        instead="transition(S, Load) { a; }\ntransition(I, Load, IS) { b; }",
    ),
    Code(
        "duplicate-virtual-network",
        "two buffers on one virtual network",
        what="In one machine each virtual network has at most one buffer to it and one from it.",
        why="Messages of one could not be distinguished from messages of the other.",
        example='MessageBuffer * a, network="To", virtual_network="2", vnet_type="request";\n'
        'MessageBuffer * b, network="To", virtual_network="2", vnet_type="response";',
        instead='MessageBuffer * a, network="To", virtual_network="2", vnet_type="request";\n'
        'MessageBuffer * b, network="To", virtual_network="3", vnet_type="response";',
    ),
    Code(
        "invalid-pair-value",
        "a pair has a value it cannot have",
        what="`network=` is To or From, `virtual_network=` and `rank=` are numbers, `vnet_type=` "
        "names a kind of network.",
        why="The meaning of the declaration would silently change.",
        example='MessageBuffer * a, network="Out", virtual_network="2", vnet_type="request";',
        instead='MessageBuffer * a, network="To", virtual_network="2", vnet_type="request";',
    ),
    Code(
        "missing-pair",
        "a declaration lacks a pair it needs",
        what="`vnet_type=` belongs to every `virtual_network=`; a table needs `template=`, the "
        "type of what it holds, and `constructor=`, its size.",
        why="The declaration is incomplete.",
        example='MessageBuffer * a, network="To", virtual_network="2";',
        instead='MessageBuffer * a, network="To", virtual_network="2", vnet_type="request";',
    ),
    Code(
        "message-lacks-field",
        "a message type lacks a field that sending needs",
        what="A message for the network needs `Destination` (NetDest) and `MessageSize` "
        "(MessageSizeType).",
        why="The network would not know where to send it.",
        example='structure(Msg, interface="Message") { Addr addr; }',
        instead='structure(Msg, interface="Message") {\n'
        "  Addr addr;\n  NetDest Destination;\n  MessageSizeType MessageSize;\n}",
    ),
    Code(
        "missing-function",
        "a machine lacks a function that controllers need",
        what="`getState`, `setState`, `getAccessPermission`, `setAccessPermission`, "
        "`functionalRead` and `functionalWrite`\nmust have bodies in the machine.",
        why="The controller calls them around every transition.",
        example='machine(MachineType:L1Cache, "cache") : {\n  // … all but setState\n}',
        instead='machine(MachineType:L1Cache, "cache") : {\n'
        "  void setState(Addr addr, State state) { }\n"
        "  // …\n"
        "}",
    ),
    Code(
        "wrong-function-signature",
        "a required function has other parameters than its callers pass",
        what="The parameters depend on whether the machine has a TBE type and an entry type.",
        why="The controller could not call it.",
        example="State getState(Addr a) { return State:I; }  // the machine has TBEs and entries",
        instead="State getState(TBE tbe, Entry cache_entry, Addr a) { return State:I; }",
    ),
    Code(
        "recursive-function",
        "a function calls itself",
        what="A function calls itself, directly or through others. The message shows the path.",
        why="The slots an action may take are counted through all calls; a recursion has no count.",
        example="int f(int n) { return f(n - 1); }",
        instead="int f(int n) { return n - 1; }",
    ),
    Code(
        "recursive-structure",
        "a structure contains itself",
        what="Fields of structures are values: a structure that has a field of its own type, "
        "directly or through others, would never end.",
        why="It has no size. Cache entries and TBEs are pointers, so they may refer to each other.",
        example="structure(Node) { int value; Node next; }",
        instead="structure(Node) { int value; int next; }",
    ),
    Code(
        "outside-machine",
        "a declaration that belongs into a machine",
        what="Actions, ports, transitions, states and events stand inside `machine(…) : { … }`.",
        why="Outside there is nothing they could belong to.",
        example='action(s_send, "s") { }\nmachine(MachineType:L1Cache, "cache") : {\n  // …\n}',
        instead='machine(MachineType:L1Cache, "cache") : {\n  action(s_send, "s") { }\n  // …\n}',
    ),
    Code(
        "inside-machine",
        "a declaration that cannot stand in a machine",
        what="Machines do not nest, and `protocol` stands at the top of the driver.",
        why="The declaration has no meaning here.",
        example='machine(MachineType:L1Cache, "cache") : {\n'
        '  machine(MachineType:Directory, "memory") : { }\n'
        "  // …\n"
        "}",
        instead='machine(MachineType:L1Cache, "cache") : {\n'
        "  // …\n"
        "}\n"
        'machine(MachineType:Directory, "memory") : {\n'
        "  // …\n"
        "}",
    ),
    Code(
        "missing-state-declaration",
        "a machine without states",
        what="A machine declares its states with `state_declaration(State, …)` once.",
        why="Without states there are no transitions.",
        example='machine(MachineType:L1Cache, "cache") : {\n  // … and no states\n}',
        instead='machine(MachineType:L1Cache, "cache") : {\n'
        "  state_declaration(State) { I, AccessPermission:Invalid; }\n"
        "  // …\n"
        "}",
    ),
    Code(
        "missing-event-enumeration",
        "a machine without events",
        what="A machine declares its events with `enumeration(Event, …)`.",
        why="Without events nothing can be triggered.",
        example='machine(MachineType:L1Cache, "cache") : {\n  // … and no events\n}',
        instead='machine(MachineType:L1Cache, "cache") : {\n'
        "  enumeration(Event) { Load; }\n"
        "  // …\n"
        "}",
    ),
    Code(
        "invalid-state-declaration",
        "a state declaration of another type than `State`",
        what="The states of a machine are the type `State`; a machine has one state declaration.",
        why="The generated controller calls the type by this name.",
        example='machine(MachineType:L1Cache, "cache") : {\n'
        "  state_declaration(CacheState) { I, AccessPermission:Invalid; }\n"
        "  // …\n"
        "}",
        instead='machine(MachineType:L1Cache, "cache") : {\n'
        "  state_declaration(State) { I, AccessPermission:Invalid; }\n"
        "  // …\n"
        "}",
    ),
    Code(
        "multiple-tbe-types",
        "a machine uses two TBE types",
        what="The type named `TBE` is the transaction record of the machine.",
        why="`tbe` in actions could not have both types.",
        example="structure(TBE) { State TBEState; int Acks; }\n"
        "structure(TBE) { DataBlock DataBlk; }",
        instead="structure(TBE) { State TBEState; int Acks; DataBlock DataBlk; }",
    ),
    Code(
        "multiple-entry-types",
        "a machine has two main entry types",
        what='Of several structures with `interface="AbstractCacheEntry"` all but one need '
        '`main="false"`.',
        why="`cache_entry` in actions could not have both types.",
        example='structure(Entry, interface="AbstractCacheEntry") { State CacheState; }\n'
        'structure(DirEntry, interface="AbstractCacheEntry") { State DirState; }',
        instead='structure(Entry, interface="AbstractCacheEntry") { State CacheState; }\n'
        'structure(DirEntry, interface="AbstractCacheEntry", main="false") { State DirState; }',
    ),
    Code(
        "wildcard-next-state",
        "`*` without `getNextState`",
        what="The next state `*` is computed by a function `State getNextState(Addr)` of the "
        "machine.",
        why="Without the function there is no next state.",
        example="transition(I, Load, *) { a; }",
        instead="State getNextState(Addr a) { return State:I; }\ntransition(I, Load, *) { a; }",
    ),
    Code(
        "unsupported-parameter-type",
        "a machine parameter of a type that no system can supply",
        what="Parameters are numbers, truth values, strings, message buffers or objects of the "
        "runtime such as `CacheMemory`.",
        why="The system description could not say what to pass.",
        example='machine(MachineType:L1Cache, "cache") : DataBlock block; {\n  // …\n}',
        instead='machine(MachineType:L1Cache, "cache") : CacheMemory * cache; {\n  // …\n}',
    ),
    Code(
        "unsupported-feature",
        "something the runtime does not offer",
        what="The text is correct SLICC, but uses a facility that this version lacks.",
        why="The generated controller could not run.",
        example='machine(MachineType:L1Cache, "cache") : {\n  CacheMemory cache;\n  // …\n}',
        instead='machine(MachineType:L1Cache, "cache") : CacheMemory * cache; {\n  // …\n}',
    ),
    Code(
        "rank-out-of-range",
        "a rank without a slot",
        what="`rank=` of an in-port runs from 0 to the number of in-ports minus one.",
        why="gem5 has one slot for each rank and ends the run when a message stalls on this port. "
        "Here\nit waits, but `wakeUpBuffers` at ports of a lower rank does not wake it.",
        example="in_port(reply_in, RequestMsg, requestFromDir, rank=7) { }",
        instead="in_port(reply_in, RequestMsg, requestFromDir, rank=1) { }",
    ),
    Code(
        "duplicate-rank",
        "two in-ports share one rank",
        what="In-ports of one rank, other than 0. `wakeUpBuffers` wakes what waits at ports of a "
        "rank below that of the\nport whose message is handled.",
        why="A message of one port does not wake what waits at the other: it may wait for ever. In "
        "gem5, ports\nof one rank also share, for each line, the slot that names the buffer with "
        "stalled messages. When a\nmessage stalls on one, no wake-up finds what waits at the "
        "other, `wakeUpAllBuffers` included.",
        example="in_port(reply_in, RequestMsg, requestFromDir, rank=1) { }\n"
        "in_port(probe_in, RequestMsg, requestFromDir, rank=1) { }",
        instead="in_port(reply_in, RequestMsg, requestFromDir, rank=1) { }\n"
        "in_port(probe_in, RequestMsg, requestFromDir, rank=2) { }",
    ),
    Code(
        "wrong-direction",
        "a port on a buffer that leads the other way",
        what="An in-port reads a buffer that comes from the network, an out-port writes one that "
        "leads to it.\nReading a buffer to the network is an error. Writing one from the network "
        "is a warning: the\nmessage never leaves the machine.",
        why="The messages would not go where the declaration says.",
        example='in_port(reply_in, RequestMsg, requestToDir) { }  // network="To"',
        instead='in_port(reply_in, RequestMsg, requestFromDir) { }  // network="From"',
    ),
    Code(
        "library-type-mismatch",
        "a library type that differs from the runtime's",
        what="The protocol declares a type that the runtime defines, and declares it differently. "
        "Members of your own, such\nas machine types, are declared in a prelude: `--prelude FILE`, "
        "or a RubySlicc_Exports.sm beside\nthe driver.",
        why="Requesters and memory use the runtime's type.",
        example="enumeration(AccessType) { Write; Read; }",
        instead="enumeration(AccessType) { Read; Write; }",
    ),
    Code(
        "unread-virtual-network",
        "messages that no machine receives",
        what="A machine has a buffer to a virtual network, and no machine has one from it.",
        why="What is sent there is never delivered. A number is wrong, or the buffer is left over.",
        example='MessageBuffer * a, network="To", virtual_network="7", vnet_type="request";',
        instead='MessageBuffer * a, network="To", virtual_network="7", vnet_type="request";\n'
        'MessageBuffer * b, network="From", virtual_network="7", vnet_type="request";',
    ),
    Code(
        "unconnected-buffer",
        "a buffer that leads neither to the network nor to a machine",
        what="A buffer with `network=` and without `virtual_network=` leads straight to another "
        "machine, which\nneeds one of the other direction. No machine of the protocol has any.",
        why="Without a line `joined` in its description no system can be built. Usually "
        "`virtual_network=` was\nforgotten.",
        example='MessageBuffer * a, network="From", vnet_type="forward";',
        instead='MessageBuffer * a, network="From", virtual_network="7", vnet_type="forward";',
    ),
    Code(
        "message-without-size",
        "a message for the network without a size",
        what="The block that builds the message does not set `MessageSize`, and the field has no "
        "default.",
        why="Here sizes have no effect; gem5 ends the run when the network asks for this one.",
        example="enqueue(requestNetwork_out, RequestMsg, 2) {\n"
        "  out_msg.LineAddress := address;\n"
        "}",
        instead="enqueue(requestNetwork_out, RequestMsg, 2) {\n"
        "  out_msg.LineAddress := address;\n"
        "  out_msg.MessageSize := MessageSizeType:Request_Control;\n"
        "}",
    ),
    Code(
        "no-machine",
        "a protocol without machines",
        what="The files declare types, but no machine.",
        why="There is nothing to generate. Perhaps the driver forgets to include a file.",
        example='protocol "Mine";\ninclude "Mine-msg.sm";',
        instead='protocol "Mine";\ninclude "Mine-msg.sm";\ninclude "Mine-cache.sm";',
    ),
    Code(
        "compiled-alone",
        "a part of a protocol compiled by itself",
        what="A `.sm` file that no driver beside it includes was compiled as if it were whole, and "
        "types\nare missing.",
        why="The errors are probably about the missing files, not about this one.",
        example="slicc compile Mine-cache.sm",
        instead="slicc compile Mine.slicc",
    ),
)
