"""Findings of the lexer and the parser.

Invariant: every example here parses to exactly its own slug, every replacement parses.
"""

from slicc.diagnostics.code import Code

CODES: tuple[Code, ...] = (
    Code(
        "syntax-error",
        "the text does not follow the grammar",
        what="The parser met something that cannot stand here. The message says what it found and "
        "what it\ncould have used. The rest of the declaration is skipped, so that one mistake "
        "gives one message.",
        why="Nothing inside the skipped declaration was looked at.",
        example="action(a_send a) { }",
        instead='action(a_send, "a") { }',
    ),
    Code(
        "missing-semicolon",
        "a statement or declaration does not end",
        what="A `;` is missing. The message points behind the last token of the statement, where "
        "the `;` belongs.",
        why="Without it the next line is read as a part of this one.",
        example='action(a, desc="x") {\n    count := count + 1\n    send();\n}',
        instead='action(a, desc="x") {\n    count := count + 1;\n    send();\n}',
    ),
    Code(
        "unclosed-bracket",
        "a bracket is never closed",
        what="The file ends, or the next declaration begins, inside a `{`, `(` or `[`. The "
        "message points at the\nbracket that was left open.",
        why="Everything behind it would belong to the open block.",
        example='machine(MachineType:L1Cache, "cache") : {\n    action(a, "a") {\n}',
        instead='machine(MachineType:L1Cache, "cache") : {\n    action(a, "a") { }\n}',
    ),
    Code(
        "unmatched-bracket",
        "a closing bracket has no opening one",
        what="A `}`, `)` or `]` closes nothing. Often a `}` too many further up closed the "
        "machine early.",
        why="The declarations above it may stand in another block than you think.",
        example='action(a, "a") { } }',
        instead='action(a, "a") { }',
    ),
    Code(
        "equals-for-assign",
        "`=` where `:=` is meant",
        what="SLICC assigns with `:=`. A single `=` only gives the value of a pair, as in "
        '`desc="…"`.',
        why="The statement is not an assignment, and nothing else either.",
        example='action(a, "a") { tbe.Acks = 0; }',
        instead='action(a, "a") { tbe.Acks := 0; }',
    ),
    Code(
        "compound-assignment",
        "`+=` and its like do not exist",
        what="SLICC has no assignment that computes at the same time.",
        why="The statement cannot be read.",
        example='action(a, "a") { tbe.Acks += 1; }',
        instead='action(a, "a") { tbe.Acks := tbe.Acks + 1; }',
    ),
    Code(
        "reserved-word",
        "a keyword used as a name",
        what="A keyword of the language cannot name a state, event, action or variable.",
        why="The parser takes it for the beginning of another construct.",
        example='action(enqueue, "e") { }',
        instead='action(e_enqueue, "e") { }',
    ),
    Code(
        "unterminated-string",
        "a string does not end on its line",
        what="A string begins with `\"` or `'` and ends with the same character on the same line.",
        why="The rest of the line was taken as text.",
        example='action(a, desc="send data) { }',
        instead='action(a, desc="send data") { }',
    ),
    Code(
        "unterminated-comment",
        "a `/*` without `*/`",
        what="A comment that begins with `/*` ends with the next `*/`. Comments do not nest.",
        why="The rest of the file is taken as a comment.",
        example='action(a, "a") { }\n/* the rest follows',
        instead='action(a, "a") { }\n/* the rest follows */',
    ),
    Code(
        "illegal-character",
        "a character that SLICC does not use",
        what="Outside strings and comments only ASCII letters, digits, `_`, spaces, tabs, line "
        "feeds and the\ncharacters of the operators are allowed. Carriage returns (files saved "
        "with Windows line ends) and\ntypographic quotes are frequent causes.",
        why="The character is invisible or looks like another one, so readers would not see the "
        "difference.",
        example="action(a, “a) { }",
        instead='action(a, "a") { }',
    ),
    Code(
        "hexadecimal-number",
        "numbers are decimal",
        what="Integers are written with the digits 0 to 9, without prefix or suffix.",
        why="`0x10` would be the number 0 followed by a name `x10`.",
        example='action(a, "a") { mask := 0x10; }',
        instead='action(a, "a") { mask := 16; }',
    ),
    Code(
        "bare-action-list",
        "the actions of a transition need braces",
        what="The list of actions (and of request types) behind `transition(…)` stands in braces, "
        "even if it holds one name.",
        why="Without braces the first word of the next declaration would silently become the "
        "action list, and this\none the request types.",
        example="transition(I, Load, IS) a_request\n",
        instead="transition(I, Load, IS) { a_request; }\n",
    ),
    Code(
        "doubled-separator",
        "two separators between two names",
        what="Between the names of a set stands one `,` or one `;`; one more may follow the last.",
        why="A name may have been lost between the two.",
        example="transition({I, , S}, Load) { a_request; }",
        instead="transition({I, S}, Load) { a_request; }",
    ),
    Code(
        "return-without-value",
        "`return` needs a value",
        what="`return;` does not exist: functions that return nothing run to their end, and "
        "actions and in-ports cannot\nreturn.",
        why="The statement cannot be read.",
        example="void f(bool b) { if (b) { return; } g(); }",
        instead="void f(bool b) { if (b == false) { g(); } }",
    ),
    Code(
        "static-method-call",
        "`T::f(x)` cannot be called",
        what="`A::B` names a type and nothing else. A member of an enumeration is written `A:B`; "
        "methods are called on an\nobject.",
        why="The call cannot be read.",
        example='action(a, "a") { x := Mask::full(3); }',
        instead='action(a, "a") { x := fullMask(3); }',
    ),
    Code(
        "missing-braces",
        "the body of `if` or `else` needs braces",
        what="Every branch is a block in braces; only `else if` may follow `else` directly.",
        why="Without braces it would not be clear what belongs to the branch.",
        example='action(a, "a") { if (is_valid(tbe)) unset_tbe(); }',
        instead='action(a, "a") { if (is_valid(tbe)) { unset_tbe(); } }',
    ),
    Code(
        "empty-statement",
        "a `;` without a statement",
        what="There is no empty statement: one `;` ends one statement, and none follows `}`.",
        why="A statement may have been lost.",
        example='action(a, "a") { send();; }',
        instead='action(a, "a") { send(); }',
    ),
    Code(
        "const-parameter",
        "there are no `const` parameters",
        what="`const` is an ordinary name in SLICC. Parameters that are passed by value are "
        "constant anyway.",
        why="`const T` would declare a parameter `T` of a type `const`.",
        example="void f(const NetDest & d);",
        instead="void f(NetDest d);",
    ),
    Code(
        "unsupported-construct",
        "a construct of other languages",
        what="SLICC has neither loops, `switch`, `?:`, increments behind a variable nor the bit "
        "operators `&`, `|`, `^`, `~`. It has no casts in parentheses, `->`, references, arrays, "
        "templates and no library of C++ either; a declaration has one name, and a transition "
        "lists actions. The message says what is written instead.",
        why="The statement cannot be read.",
        example='action(a, "a") { while (n > 0) { n := n - 1; } }',
        instead='action(a, "a") { n := 0; }',
    ),
    Code(
        "nesting-too-deep",
        "too many brackets or operators inside each other",
        what="Brackets may be nested 60 deep, blocks 40 deep, and one expression may chain 400 "
        "operators.",
        why="Such text is hard to read, and the generated Python would exceed Python's own limits.",
        example="int f() { return " + "(" * 61 + "1" + ")" * 61 + "; }",
        instead="int f() { return (1); }",
    ),
    Code(
        "name-too-long",
        "a name that is too long",
        what="A name may have 200 characters.",
        why="Messages and generated code repeat the names of a protocol in many places.",
        example="int " + "f" * 201 + "() { return 1; }",
        instead="int f() { return 1; }",
    ),
)
