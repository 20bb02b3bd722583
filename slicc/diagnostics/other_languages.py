"""What other languages, C++ above all, call things, and what is written here instead.

Asked only about a name that has no meaning in a protocol: one that an author declares is his own.
"""

from __future__ import annotations

from collections.abc import Collection

_NO_LOOPS = "SLICC has no loops: what repeats is a transition, once for each message"
_NO_SWITCH = "SLICC has no `switch`; use `if` and `else if`"
_ELSE_IF = "write `else if`"
_LEAVE_OUT = "leave it out"
_WHOLE = "write `int`"
_NO_FRACTIONS = "SLICC has no fractions; write `int`"
_TYPE = "write the name of the type: `int n := 0;`"
_NULL = (
    "test with `is_valid(…)` or `is_invalid(…)`; a function returns `OOD`, an action forgets with "
    "`unset_tbe()` or `unset_cache_entry()`"
)
_PRINT = 'write `DPRINTF(RubySlicc, "text %s\\n", value);`'
_STOP = 'write `error("what is wrong");`'
_STRUCTURE = 'write `structure(Name, desc="…") { int field; }`'
_FUNCTION = "write `int name(int n) { return n; }`"
_MEMBERS = "sets of machines are `NetDest`, tables of lines `TBETable` and `PerfectCacheMemory`"
_SELF = "this controller is `machineID`"


def _each(words: str, help: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), help)


_INSTEAD = {
    **_each("while for do foreach until loop", _NO_LOOPS),
    **_each(
        "break continue",
        "SLICC has no loops; a body runs to its end",
    ),
    **_each("switch case default", _NO_SWITCH),
    **_each("elif elseif elsif", _ELSE_IF),
    **_each("static inline virtual extern constexpr volatile mutable explicit", _LEAVE_OUT),
    **_each("public private protected friend", "leave it out: all members can be used"),
    **_each("unsigned signed long short size_t uint ulong integer", _WHOLE),
    **_each("int8_t int16_t int32_t int64_t uint8_t uint16_t byte", _WHOLE),
    **_each("float double", _NO_FRACTIONS),
    **_each("auto let var", _TYPE),
    **_each("using namespace", _LEAVE_OUT),
    **_each("max min abs sizeof", "SLICC has no such function; declare one in the machine"),
    **_each("struct class union", _STRUCTURE),
    **_each("def function func fn", _FUNCTION),
    **_each("template typename", "SLICC has no templates"),
    **_each("vector list map unordered_map set deque queue array pair", _MEMBERS),
    **_each("True TRUE", "write `true`"),
    **_each("False FALSE", "write `false`"),
    **_each("null NULL nullptr None", _NULL),
    **_each("this self id getMachineID", _SELF),
    **_each("printf fprintf print cout cerr endl", _PRINT),
    **_each("try catch throw raise panic fatal abort exit", _STOP),
    "typedef": "write the name of the type itself",
    "enum": 'write `enumeration(Name, desc="…") { A; B; }`',
    "boolean": "write `bool`",
    "char": "SLICC has no characters; text is a `std::string`",
    "string": "write `std::string`",
    "import": 'write `include "file.sm";`',
    "delete": "give it back: `TBEs.deallocate(address);`, `cache.deallocate(address);`",
    "goto": "SLICC has no jumps; use `if` and `else`",
    "stall": "write `stall_and_wait(port, address);`",
    "pop": "write `port.dequeue(clockEdge());`",
    "dequeue": "write `port.dequeue(clockEdge());`",
    "addr": "the line of a transition is `address`",
    "msg": "a message is `in_msg` inside `peek` and `out_msg` inside `enqueue`",
    "to_string": "write `Name_to_string(value)` with the name of the enumeration",
}

_METHODS = {
    "insert": ("add",),
    "push": ("add",),
    "push_back": ("add",),
    "append": ("add",),
    "erase": ("remove", "deallocate"),
    "find": ("lookup", "isElement"),
    "contains": ("isElement", "isTagPresent"),
    "size": ("count", "getSize"),
    "empty": ("isEmpty",),
    "pop": ("dequeue",),
}


def instead_of(name: str) -> str | None:
    """What is written here for a word of another language."""
    return _INSTEAD.get(name)


def method_instead_of(name: str, methods: Collection[str]) -> str | None:
    """The one of a type's methods that does what another language calls ``name``."""
    return next((each for each in _METHODS.get(name, ()) if each in methods), None)
