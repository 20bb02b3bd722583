"""Findings about names: unknown, declared twice, or used in the wrong place."""

from slicc.diagnostics.code import Code


def _unknown(kind: str, where: str, example: str, instead: str, more: str = "") -> Code:
    article = "an" if kind[0] in "aeiou" else "a"
    return Code(
        f"unknown-{kind.replace(' ', '-')}",
        f"{article} {kind} that is not declared",
        what=f"No {kind} of this name is declared {where}. {more}".strip(),
        why="The compiler cannot know what is meant. A declaration must stand before its use.",
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
        "structure(TBE) { Stat TBEState; }",
        "structure(TBE) { State TBEState; }",
    ),
    _unknown(
        "variable",
        "in this block or around it",
        "count := 0;",
        "int count := 0;",
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
        "Of two lists behind a transition the first holds request types.",
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
        "in_port(request_in, RequestMsg, requestTo) { }",
        "in_port(request_in, RequestMsg, requestToDir) { }",
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
        "mapAdressToMachine(address, MachineType:Directory)",
        "mapAddressToMachine(address, MachineType:Directory)",
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
        'machine(MachineType:L1Cach, "cache") : { }',
        'machine(MachineType:L1Cache, "cache") : { }',
    ),
    _unknown(
        "permission",
        "as a member of `AccessPermission`",
        "I, AccessPermission:Invald;",
        "I, AccessPermission:Invalid;",
    ),
    _duplicate("type", "in this scope", "structure(M) { }\nstructure(M) { }", "structure(M) { }"),
    _duplicate("machine", "", "machine(MachineType:DMA) : { }  // twice", "// once"),
    _duplicate("variable", "in this block", "int n := 0;\nint n := 1;", "int n := 0;\nn := 1;"),
    _duplicate("parameter", "", "int f(int a, int a);", "int f(int a, int b);"),
    _duplicate("object", "in the machine", "Addr last;\nAddr last;", "Addr last;"),
    _duplicate("field", "in the structure", "int n;\nint n;", "int n;"),
    _duplicate("method", "in the structure", "void f(int a);\nvoid f(int a);", "void f(int a);"),
    _duplicate(
        "function",
        "with the same parameter types",
        "int f(int a) { return a; }\nint f(int b) { return b; }",
        "int f(int a) { return a; }\nint f(Addr b) { return 0; }",
    ),
    _duplicate("state", "in the machine", "I, AccessPermission:Invalid;  // twice", "// once"),
    _duplicate("event", "in the machine", "Load;\nLoad;", "Load;"),
    _duplicate("enum member", "in the enumeration", "GETX;\nGETX;", "GETX;"),
    _duplicate("action", "in the machine", 'action(a, "a") { }  // twice', "// once"),
    _duplicate(
        "short name",
        "of the machine",
        'action(a_send, "a") { }\naction(a_ack, "a") { }',
        'action(a_send, "a") { }\naction(a_ack, "A") { }',
    ),
    _duplicate("port", "in the machine", "out_port(o, M, b);\nout_port(o, M, c);", "// two names"),
    Code(
        "too-many-overloads",
        "too many functions of one name",
        what="A machine may define 50 functions of one name, and a structure 50 methods.",
        why="Every call is compared with all of them, and no reader knows which one it means.",
        example="int f(T1 a) { return 1; }  // … to f(T51 a)",
        instead="int f1(T1 a) { return 1; }",
    ),
    Code(
        "not-an-enumeration",
        "`T:M` where `T` has no members",
        what="`T:M` is the member `M` of the enumeration `T`; this `T` is another kind of type.",
        why="The expression has no value.",
        example="x := TBE:Count;",
        instead="x := tbe.Count;",
    ),
    Code(
        "not-a-variable",
        "a name that has no value",
        what="The name belongs to a type, a function or an action, and stands where a value is "
        "needed.",
        why="The expression has no value.",
        example="x := State;",
        instead="x := State:I;",
    ),
    Code(
        "unsupported-dialect",
        "something of an older simulator that has no counterpart",
        what="The protocol uses a feature of older simulators that has no counterpart here, so its "
        "meaning is not defined.",
        why="Leaving it out would change what the protocol does.",
        example="coalescer.wbCallback(address);",
        instead='// in a prelude file\nstructure(VIPERCoalescer, external="yes") '
        "{ void wbCallback(Addr address) { } }",
    ),
)
