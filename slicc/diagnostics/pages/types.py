"""Findings about types of expressions, calls and statements."""

from slicc.diagnostics.code import Code

_NO_CONVERSION = (
    "SLICC converts nothing by itself; a value of another type is most often a mistake."
)

CODES: tuple[Code, ...] = (
    Code(
        "type-mismatch-assignment",
        "the value does not fit its target",
        what="The two sides of `:=` have different types.",
        why=_NO_CONVERSION,
        example="tbe.Acks := in_msg.Sender;",
        instead="tbe.Sender := in_msg.Sender;",
    ),
    Code(
        "type-mismatch-argument",
        "an argument does not fit its parameter",
        what="The function or method exists, but not for arguments of these types. The message "
        "lists what exists. As a warning: a port carries other messages than the ones named here.",
        why=_NO_CONVERSION,
        example="TBEs.allocate(tbe);",
        instead="TBEs.allocate(address);",
    ),
    Code(
        "type-mismatch-condition",
        "a condition is not a truth value",
        what="`if`, `!`, `&&`, `||` and `assert` need a `bool`.",
        why="Numbers and pointers are not conditions in SLICC.",
        example="if (tbe) { unset_tbe(); }",
        instead="if (is_valid(tbe)) { unset_tbe(); }",
    ),
    Code(
        "type-mismatch-return",
        "the returned value does not fit the function",
        what="The value behind `return` has another type than the function declares.",
        why=_NO_CONVERSION,
        example="State f() { return 0; }",
        instead="State f() { return State:I; }",
    ),
    Code(
        "type-mismatch-operand",
        "an operator cannot be applied to these types",
        what="Arithmetic and order need integers, equality needs two values of one type.",
        why=_NO_CONVERSION,
        example="if (in_msg.Sender == 3) { unset_tbe(); }",
        instead="if (in_msg.Sender == machineID) { unset_tbe(); }",
    ),
    Code(
        "type-mismatch-initial",
        "an initial value does not fit its declaration",
        what="The value of `default=`, `constructor=` or `:=` has another type than the thing "
        "declared.",
        why=_NO_CONVERSION,
        example='int count, default="true";',
        instead='int count, default="0";',
    ),
    Code(
        "wrong-argument-count",
        "a call with too many or too few arguments",
        what="Every parameter needs its argument, also one that declares a default value.",
        why="The call cannot be understood.",
        example="trigger(Event:Load);",
        instead="trigger(Event:Load, in_msg.LineAddress, cache_entry, tbe);",
    ),
    Code(
        "not-assignable",
        "the left side of `:=` cannot be assigned to",
        what="Variables, fields and indexed elements can be assigned to; constants, results of "
        "calls and `in_msg` cannot.",
        why="A message that was peeked is shared with others; changing it would change theirs.",
        example="machineID := in_msg.Sender;",
        instead="tbe.Sender := in_msg.Sender;",
    ),
    Code(
        "not-a-pointer",
        "a pointer is needed here",
        what="`is_valid`, `is_invalid`, `OOD` and `static_cast` apply to cache entries and TBEs.",
        why="Other values are never null.",
        example="if (is_valid(address)) { unset_tbe(); }",
        instead="if (is_valid(tbe)) { unset_tbe(); }",
    ),
    Code(
        "not-a-structure",
        "a value without fields and methods",
        what="The thing before the `.` or `[` is a number, a truth value or an enumeration member.",
        why="It has no parts.",
        example="tbe.Acks := address.Acks;",
        instead="tbe.Acks := in_msg.Acks;",
    ),
    Code(
        "not-a-message",
        "a message type is needed here",
        what='`enqueue`, `peek` and out-ports name a structure with `interface="Message"`.',
        why="Buffers carry messages only.",
        example="enqueue(requestNetwork_out, TBE, 1) { }",
        instead="enqueue(requestNetwork_out, RequestMsg, 1) { }",
    ),
    Code(
        "not-a-port",
        "an in-port or out-port is needed here",
        what="`peek` and waiting name an in-port, `enqueue` an out-port. The name belongs to "
        "something else.",
        why="The statement has nothing to act on.",
        example="peek(requestNetwork_out, RequestMsg) { }",
        instead="peek(request_in, RequestMsg) { }",
    ),
    Code(
        "not-a-buffer",
        "a port needs a buffer",
        what="The third name of a port is a parameter or object whose type can hold messages.",
        why="The port has nothing to read from or write to.",
        example="in_port(reply_in, RequestMsg, cacheMemory) { }",
        instead="in_port(reply_in, RequestMsg, requestFromDir) { }",
    ),
    Code(
        "invalid-cast",
        "a `static_cast` that there is not",
        what='A cast sees an entry as another entry type (`"pointer"`) or turns one integer type '
        'into another (`"value"`).',
        why="Between other types the value would make no sense. Any other word makes a cast of "
        "references in gem5,\nwhich its C++ does not compile for entries.",
        example='int n := static_cast(int, "value", machineID);',
        instead='int n := static_cast(int, "value", address);',
    ),
    Code(
        "void-value",
        "a call without result is used as a value",
        what="The function returns nothing.",
        why="There is no value to use.",
        example="bool done := wakeUpAllBuffers(address);",
        instead="wakeUpAllBuffers(address);",
    ),
    Code(
        "return-outside-function",
        "`return` where nothing can be returned",
        what="Only functions with a result type may return.",
        why="An action or in-port runs to its end; use `if` and `else` instead.",
        example='action(r_reply, "r") {\n  if (tbe.Acks > 0) { return true; }\n  unset_tbe();\n}',
        instead='action(r_reply, "r") {\n  if (tbe.Acks == 0) { unset_tbe(); }\n}',
    ),
    Code(
        "misplaced-statement",
        "a statement that does not belong here",
        what="Some statements need a place: `trigger` an in-port, `set_tbe` and `check_allocate` "
        "an action, and so on.",
        why="What it refers to does not exist here.",
        example='action(t_trigger, "t") { trigger(Event:Load, address, cache_entry, tbe); }',
        instead="in_port(reply_in, RequestMsg, requestFromDir) {\n"
        "  peek(reply_in, RequestMsg) {\n"
        "    Addr a := in_msg.LineAddress;\n"
        "    trigger(Event:Load, a, getCacheEntry(a), TBEs[a]);\n"
        "  }\n"
        "}",
    ),
    Code(
        "misplaced-expression",
        "an expression that does not belong here",
        what="`OOD` stands behind `return` only; a local declaration is a statement or the left "
        "side of `:=`.",
        why="The expression has no meaning here.",
        example='TBE first(), return_by_pointer="yes" { TBE none := OOD; return none; }',
        instead='TBE first(), return_by_pointer="yes" { return OOD; }',
    ),
    Code(
        "invalid-format",
        "a trace format does not fit its arguments",
        what="`DPRINTF` takes a debug flag, a string and as many arguments as the string has `%` "
        "places.",
        why="The trace would be wrong or fail.",
        example='DPRINTF(RubySlicc, "%s %s", address);',
        instead='DPRINTF(RubySlicc, "%s", address);',
    ),
    Code(
        "division-by-zero",
        "a number is divided by zero",
        what="The right side of `/` or `%` is the literal 0.",
        why="Dividing by zero ends a run with a verdict; here it would happen every time.",
        example="tbe.Acks := 8 % 0;",
        instead="tbe.Acks := 8 % 2;",
    ),
    Code(
        "number-out-of-range",
        "a number does not fit its type",
        what="`int` holds 32 bits with sign; addresses and ticks hold 64 bits without.",
        why="The number would silently become another one.",
        example="int n := 4294967296;",
        instead="int n := 65536;",
    ),
    Code(
        "invalid-initializer",
        "the text of a pair is not a known initial value",
        what="`default=` and `constructor=` hold text of another language. The shapes that real "
        "protocols use are\nunderstood: numbers, `true`, `Enum_Member`, `m_parameter`, "
        "`m_object_ptr`, a few calls, `?:`, `-`, `<<`.",
        why="Text that is not understood cannot be run; it is never pasted into generated code.",
        example='int n, default="system(ls)";',
        instead='int n, default="0";',
    ),
)
