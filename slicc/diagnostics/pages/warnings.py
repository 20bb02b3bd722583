"""Warnings: legal text that is probably not what its author meant."""

from slicc.diagnostics.code import Code


def _unused(kind: str, example: str, instead: str) -> Code:
    article = "an" if kind[0] in "aeiou" else "a"
    return Code(
        f"unused-{kind.replace(' ', '-')}",
        f"{article} {kind} that nothing uses",
        what=f"The {kind} is declared and never used.",
        why="It is left over, or its use was forgotten or misspelt.",
        example=example,
        instead=instead,
    )


CODES: tuple[Code, ...] = (
    Code(
        "unknown-pair-key",
        "a pair with an unknown key",
        what="The key means nothing on this declaration and is ignored.",
        why="A misspelt key silently changes the meaning.",
        example='MessageBuffer * a, netwrok="To", virtual_network="2", vnet_type="request";',
        instead='MessageBuffer * a, network="To", virtual_network="2", vnet_type="request";',
    ),
    Code(
        "duplicate-pair-key",
        "a pair key given twice",
        what="Of equal keys the first counts.",
        why="The second value is ignored.",
        example='action(s_send, desc="send", desc="reply") { }',
        instead='action(s_send, desc="send") { }',
    ),
    Code(
        "unknown-option",
        "an unknown option of a protocol",
        what="The option behind the protocol's name is none of those that simulators know.",
        why="It asks for something that will not happen.",
        example='protocol "Mine" partial_func_read;',
        instead='protocol "Mine" partial_func_reads;',
    ),
    _unused(
        "action",
        'action(s_send, "s") { }  // in no transition',
        'action(s_send, "s") { }\ntransition(S, Load) { s_send; }',
    ),
    _unused(
        "event",
        "Store;  // triggered nowhere",
        "// remove it, or trigger it in an in-port",
    ),
    _unused("state", "M, AccessPermission:Read_Write;  // in no transition", "// remove it"),
    _unused(
        "port",
        "out_port(reply_out, RequestMsg, requestToDir);  // never enqueued to",
        "// remove it, or enqueue to it",
    ),
    _unused("variable", "int n := 0;  // never read", "// remove it"),
    _unused("function", "int f() { return 1; }  // never called", "// remove it"),
    _unused("object", 'int count, default="0";  // never read', "// remove it"),
    Code(
        "external-call",
        "calls of functions and methods without a body",
        what="The protocol, or the library of its checkout, declares them without a body, and the "
        "runtime has none\nof these names and parameters. The protocol compiles; calling one ends "
        "the run with a message that\nnames it.",
        why="What such a function does is written in another language, which is not read.",
        example="Tick now();\nTick due() { return now(); }",
        instead="Tick due() { return clockEdge(); }",
    ),
    Code(
        "external-object",
        "objects of classes that the runtime does not have",
        what="The classes are declared external, and the runtime has none of these names. Each "
        "object is null; its\nmethods have an effect only if a prelude file gives them bodies.",
        why="What such an object is to do is written in another language, which is not read.",
        example='structure(BloomFilter, external="yes") { bool test(Addr a); }\n'
        "BloomFilter filter;",
        instead='TBETable filter, template="<L1Cache_TBE>", constructor="m_number_of_TBEs";',
    ),
    Code(
        "controller-in-structure",
        "a structure's method that asks a controller",
        what="The method calls a function of the controller, or one without a body. A structure "
        "has no controller,\nso calling the method ends the run. Methods of messages for "
        "functional accesses are never called here.",
        why="What the method would return is not known.",
        example='structure(M, interface="Message") {\n  Addr a;\n'
        "  Addr line() { return makeLineAddress(a); }\n}",
        instead='structure(M, interface="Message") {\n  Addr a;\n  Addr line() { return a; }\n}',
    ),
    Code(
        "unknown-system-setting",
        "a setting of another simulator's system",
        what="The text asks the system for a setting that it does not have here; the value is 0, "
        "or false.",
        why="The protocol may behave differently where the setting has another value.",
        example='bool fast, default="RubySystem::getFast()";',
        instead='bool fast, default="false";',
    ),
    Code(
        "received-message-changed",
        "a received message is changed",
        what="A field of `in_msg` is assigned. The message keeps the value until it is dequeued; "
        "other receivers\nhave copies of their own.",
        why="A message that is looked at again, after a stall for example, is not the one sent.",
        example="peek(request_in, RequestMsg) {\n  in_msg.Acks := 7;\n}",
        instead="peek(request_in, RequestMsg) {\n  int acks := 7;\n}",
    ),
    Code(
        "number-for-bool",
        "a `bool` initialised with a number",
        what="0 is read as false, 1 as true.",
        why="Another version of the language may refuse it.",
        example="bool busy := 0;",
        instead="bool busy := false;",
    ),
    Code(
        "unreachable-state",
        "a state that no transition leads to",
        what="No transition leads to this state; it is not the default one, and no function "
        "uses it.",
        why="What is written about the state never happens, or a next state is misspelt.",
        example="transition(I, Load) { a; }  // nothing leads to IS\n"
        "transition(IS, Data, I) { b; }",
        instead="transition(I, Load, IS) { a; }\ntransition(IS, Data, I) { b; }",
    ),
    Code(
        "dead-end-state",
        "a transient state that cannot be left",
        what="No transition leads from this state to another one.",
        why="A line that gets there stays there, and every request for it waits forever.",
        example="transition(I, Load, IS) { a; }\ntransition(IS, Data) { b; }  // stays in IS",
        instead="transition(I, Load, IS) { a; }\ntransition(IS, Data, I) { b; }",
    ),
    Code(
        "unhandled-event",
        "an event that no state handles",
        what="The code triggers the event, and no transition has it, in any state.",
        why="The run would stop there with an undefined transition.",
        example="transition(I, Load, IS) { a; }\n"
        "transition(IS, Data, I) { b; }\n"
        "// and none on Inv, which an in-port triggers",
        instead="transition(I, Load, IS) { a; }\n"
        "transition(IS, Data, I) { b; }\n"
        "transition({I, IS}, Inv, I) { b; }",
    ),
    Code(
        "dropped-wakeup",
        "a wake-up that wakes no message",
        what="`wakeUpBuffers` wakes messages stalled at in-ports of lower rank. In a machine "
        "without ranks there are none, and gem5\nforgets those that wait. Here it wakes those of "
        "other ports then.",
        why="In gem5 the stalled messages are never handled again.",
        example="wakeUpBuffers(address);  // all in-ports have rank 0",
        instead="wakeUpAllBuffers(address);",
    ),
    Code(
        "float-literal",
        "a number with a fraction",
        what="SLICC has integers only. A fraction is accepted as a factor of an `int` or of "
        "`Cycles` (`1.25 * n`,\ncut off to a whole number), and nowhere else.",
        why="gem5 takes such a literal for an `int` when it checks types, and writes it to C++ as "
        "it stands: the\nfraction is cut off where the value is assigned, passed or returned, and "
        "printed by `DPRINTF`. Here no\nvalue has a fraction, so what is printed belongs into the "
        "text.",
        example="int n := 1.5;",
        instead="int n := 1;",
    ),
    Code(
        "ignored-result",
        "a statement that does nothing",
        what="An expression that changes nothing stands as a statement.",
        why="A forgotten assignment looks the same.",
        example="tbe.Acks + 1;",
        instead="tbe.Acks := tbe.Acks + 1;",
    ),
    Code(
        "ignored-default",
        "a default argument that is never used",
        what="Default values of parameters are read and ignored: every call passes every argument.",
        why="The value suggests a choice that callers do not have.",
        example="int f(int n := 3);",
        instead="int f(int n);",
    ),
    Code(
        "missing-return",
        "a function may end without a value",
        what="Not every path through the function ends with `return`.",
        why="The caller would get the default value of the type.",
        example="int f(bool b) { if (b) { return 1; } }",
        instead="int f(bool b) { if (b) { return 1; } return 0; }",
    ),
    Code(
        "unreachable-code",
        "statements that are never run",
        what="They stand behind a `return` or `error`.",
        why="They are left over, or the statement above them ends too early.",
        example="int f(int n) { return n; assert(n > 0); }",
        instead="int f(int n) { assert(n > 0); return n; }",
    ),
    Code(
        "uninitialized-object",
        "an object without initial value",
        what="A number declared in a machine without `default=` starts at zero here; gem5 leaves "
        "it undefined.",
        why="The protocol behaves differently there.",
        example="int count;",
        instead='int count, default="0";',
    ),
    Code(
        "missing-default-state",
        "a default that is not a member",
        what="`default=` of an enumeration or state declaration names none of its members.",
        why="Values of the type could not start as anything.",
        example='enumeration(Kind, default="Kind_Asc") { Ask; Answer; }',
        instead='enumeration(Kind, default="Kind_Ask") { Ask; Answer; }',
    ),
    Code(
        "suspicious-transition",
        "a stalling transition that does more",
        what="A transition with `z_stall` does nothing else: its other actions and next state have "
        "no effect.",
        why="They look as if they happened.",
        example="transition(IS, Inv, I) { z_stall; a; }",
        instead="transition(IS, Inv) { z_stall; }",
    ),
    Code(
        "stall-with-body",
        "statements in `z_stall`",
        what="The name `z_stall` is the instruction to stall the port until its head message can "
        "be taken. An action of that name is only declared: its statements never run.",
        why="With `stall_and_wait` it looks as if the message were set aside. It stays where it "
        "is, blocks the messages behind it, and is tried again without any wake-up.",
        example='action(z_stall, "z") { stall_and_wait(request_in, address); }\n'
        "transition(IS, Inv) { z_stall; }",
        instead='action(w_wait, "ww") { stall_and_wait(request_in, address); }\n'
        "transition(IS, Inv) { w_wait; }",
    ),
    Code(
        "empty-transition",
        "a transition for no state or no event",
        what="The set of states or events is empty, so no pair of them runs the transition.",
        why="A forgotten name looks the same.",
        example="transition({}, Inv) { a; }",
        instead="transition({I, IS}, Inv) { a; }",
    ),
    Code(
        "unsafe-dequeue",
        "a message used after it was dequeued",
        what="An action peeks at a port that an earlier action of the transition has dequeued, or "
        "dequeues one whose message an earlier action has recycled.",
        why="It sees, or loses, the next message, or there is none.",
        example="transition(IS, Data, S) { p_popQueue; u_update; }",
        instead="transition(IS, Data, S) { u_update; p_popQueue; }",
    ),
    Code(
        "older-dialect",
        "text written for another version of the language",
        what="A spelling, declaration or function of an older gem5 was read as what it "
        "means today,\nor one of a newer gem5 as what it means here.",
        why="The protocol compiles as it stands; a reader with today's documentation should be "
        "warned.",
        example='machine(L1Cache, "cache") : int latency = 2\n{\n  // …\n}',
        instead='machine(MachineType:L1Cache, "cache") : int latency := 2; {\n  // …\n}',
    ),
)
