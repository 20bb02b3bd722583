"""Findings about names: unknown, declared twice, or used in the wrong place."""

from slicc.diagnostics.code import Code

_ANY_ORDER = "The declaration may stand before or behind its use."


def _unknown(kind: str, where: str, example: str, instead: str, more: str = _ANY_ORDER) -> Code:
    article = "an" if kind[0] in "aeiou" else "a"
    return Code(
        f"unknown-{kind.replace(' ', '-')}",
        f"{article} {kind} that is not declared",
        what=f"No {kind} of this name is declared {where}. {more}".strip(),
        why="The compiler cannot know what is meant.",
        example=example,
        instead=instead,
    )


def _duplicate(kind: str, where: str, example: str, instead: str) -> Code:
    article = "an" if kind[0] in "aeiou" else "a"
    return Code(
        f"duplicate-{kind.replace(' ', '-')}",
        f"{article} {kind} declared twice",
        what=f"The name was already given to another {kind} {where}. "
        "The message shows both places.",
        why="One of the two could never be used.",
        example=example,
        instead=instead,
    )


CODES: tuple[Code, ...] = (
    _unknown(
        "type",
        "here, globally or in the library",
        "structure(Request) { Stat FinalState; }",
        "structure(Request) { State FinalState; }",
    ),
    _unknown(
        "variable",
        "in this block or around it",
        "count := 0;",
        "int count := 0;",
        "A variable of a block is declared\nbefore it is used; all other declarations may "
        "stand in any order.",
    ),
    _unknown(
        "state",
        "in the `state_declaration` of the machine",
        "transition(IX, Load) { a; }",
        "transition(I, Load) { a; }",
    ),
    _unknown(
        "event",
        "in the `enumeration(Event)` of the machine",
        "transition(I, Laod) { a; }",
        "transition(I, Load) { a; }",
    ),
    _unknown(
        "action",
        "in the machine",
        "transition(I, Load) { a_isueRequest; }",
        "transition(I, Load) { a_issueRequest; }",
    ),
    _unknown(
        "request type",
        "in the `enumeration(RequestType)` of the machine",
        "transition(I, Load) {TagRead} { a; }",
        "transition(I, Load) {TagArrayRead} { a; }",
        "Of two lists\nbehind a transition the first holds request types.",
    ),
    _unknown(
        "next state",
        "in the `state_declaration` of the machine",
        "transition(I, Load, ISS) { a; }",
        "transition(I, Load, IS) { a; }",
    ),
    _unknown(
        "port",
        "in the machine",
        "enqueue(requestNet_out, RequestMsg, 1) { }",
        "enqueue(requestNetwork_out, RequestMsg, 1) { }",
    ),
    _unknown(
        "buffer",
        "among the parameters and objects of the machine",
        "in_port(reply_in, RequestMsg, requestFrom) { }",
        "in_port(reply_in, RequestMsg, requestFromDir) { }",
    ),
    _unknown(
        "field",
        "in the structure",
        "tbe.DataBlock := in_msg.DataBlk;",
        "tbe.DataBlk := in_msg.DataBlk;",
    ),
    _unknown(
        "method",
        "in the structure or class",
        "TBEs.alocate(address);",
        "TBEs.allocate(address);",
    ),
    _unknown(
        "function",
        "in the machine, globally or in the library",
        "tbe.Sender := mapAdressToMachine(address, MachineType:Directory);",
        "tbe.Sender := mapAddressToMachine(address, MachineType:Directory);",
    ),
    _unknown(
        "enum member",
        "in the enumeration",
        "out_msg.Type := CoherenceRequestType:GETXX;",
        "out_msg.Type := CoherenceRequestType:GETX;",
    ),
    _unknown(
        "machine",
        "as a member of `MachineType`",
        'machine(MachineType:L1Cach, "cache") : {\n  // …\n}',
        'machine(MachineType:L1Cache, "cache") : {\n  // …\n}',
        "Names of your own are added in a\nprelude, `enumeration(MachineType) { Mine; }`: "
        "`--prelude FILE`, or a RubySlicc_Exports.sm beside the\ndriver, which is read without "
        "being named.",
    ),
    _unknown(
        "permission",
        "as a member of `AccessPermission`",
        "M, AccessPermission:Read_Wite;",
        "M, AccessPermission:Read_Write;",
    ),
    _duplicate(
        "type",
        "in this scope",
        "structure(Victim) { Addr addr; }\nstructure(Victim) { bool dirty; }",
        "structure(Victim) { Addr addr; bool dirty; }",
    ),
    _duplicate(
        "machine",
        "",
        'machine(MachineType:L1Cache, "data") : {\n  // …\n}\n'
        'machine(MachineType:L1Cache, "instructions") : {\n  // …\n}',
        'machine(MachineType:L1Cache, "data") : {\n  // …\n}\n'
        'machine(MachineType:L0Cache, "instructions") : {\n  // …\n}',
    ),
    _duplicate("variable", "in this block", "int n := 0;\nint n := 1;", "int n := 0;\nn := 1;"),
    _duplicate(
        "parameter",
        "",
        "int f(int a, int a) { return a; }",
        "int f(int a, int b) { return a + b; }",
    ),
    _duplicate(
        "object",
        "in the machine",
        'int count, default="0";\nbool count, default="false";',
        'int count, default="0";\nbool counting, default="false";',
    ),
    _duplicate(
        "field", "in the structure", "int count;\nbool count;", "int count;\nbool counting;"
    ),
    _duplicate(
        "method",
        "in the structure",
        "structure(Sum) {\n  int n;\n  int plus(int a) { return n + a; }\n"
        "  int plus(int b) { return n + b; }\n}",
        "structure(Sum) {\n  int n;\n  int plus(int a) { return n + a; }\n"
        "  int minus(int b) { return n - b; }\n}",
    ),
    _duplicate(
        "function",
        "with the same parameter types",
        "int f(int a) { return a; }\nint f(int b) { return b; }",
        "int f(int a) { return a; }\nint f(Addr b) { return 0; }",
    ),
    _duplicate(
        "state",
        "in the machine",
        "M, AccessPermission:Read_Write;\nM, AccessPermission:Busy;",
        "M, AccessPermission:Read_Write;\nMI, AccessPermission:Busy;",
    ),
    _duplicate("event", "in the machine", "Store;\nStore;  // again", "Store;\nEvict;"),
    _duplicate(
        "enum member",
        "in the enumeration",
        "enumeration(Kind) { Ask; Answer; Ask; }",
        "enumeration(Kind) { Ask; Answer; }",
    ),
    Code(
        "reserved-member",
        "a state, event or member of an enumeration that is called `NUM`",
        what="`NUM` stands behind the last member of every enumeration: the number of its members, "
        "and the value\nof a variable or field that has none yet.",
        why="It could not be told from a member of this name.",
        example="enumeration(Kind) { Ask; Answer; NUM; }",
        instead="enumeration(Kind) { Ask; Answer; Number; }",
    ),
    _duplicate(
        "action",
        "in the machine",
        'action(s_send, "s") { }\naction(s_send, "t") { }',
        'action(s_send, "s") { }\naction(t_send, "t") { }',
    ),
    _duplicate(
        "short name",
        "of the machine",
        'action(s_send, "s") { }\naction(s_stop, "s") { }',
        'action(s_send, "s") { }\naction(s_stop, "S") { }',
    ),
    _duplicate(
        "port",
        "in the machine",
        "out_port(reply, RequestMsg, requestToDir);\n"
        "in_port(reply, RequestMsg, requestFromDir) { }",
        "out_port(reply_out, RequestMsg, requestToDir);\n"
        "in_port(reply_in, RequestMsg, requestFromDir) { }",
    ),
    Code(
        "too-many-overloads",
        "too many functions of one name",
        what="A machine may define 50 functions of one name, and a structure 50 methods.",
        why="Every call is compared with all of them, and no reader knows which one it means.",
        example="int f(bool a) { return 1; }\n// … 50 more functions `f`",
        instead="int f(bool a) { return 1; }\nint g(int a) { return 1; }",
    ),
    Code(
        "not-an-enumeration",
        "`T:M` where `T` has no members",
        what="`T:M` is the member `M` of the enumeration `T`; this `T` is another kind of type.",
        why="The expression has no value.",
        example="int acks := TBE:Acks;",
        instead="int acks := tbe.Acks;",
    ),
    Code(
        "not-a-variable",
        "a name that has no value",
        what="The name belongs to a type, a function or an action, and stands where a value is "
        "needed.",
        why="The expression has no value.",
        example="tbe.TBEState := State;",
        instead="tbe.TBEState := State:I;",
    ),
    Code(
        "unsupported-dialect",
        "something of an older simulator that has no counterpart",
        what="The protocol uses a feature of older simulators that has no counterpart here, so its "
        "meaning is not defined.\n"
        "Machines without parameters are GEMS's, the simulator before gem5. Since then the\n"
        "sequencers, memories, message buffers and latencies are parameters behind `:`;\n"
        "`getState`, `setState` and `trigger` have the cache entry and the record of the\n"
        "transaction as arguments, and actions use them as `cache_entry` and `tbe`, which\n"
        "`set_cache_entry` and `set_tbe` set.",
        why="Leaving it out would change what the protocol does.",
        example="coalescer.wbCallback(address);",
        instead="// in a file that is given with --prelude\n"
        'structure(VIPERCoalescer, external="yes") {\n  void wbCallback(Addr address) { }\n}',
    ),
)
