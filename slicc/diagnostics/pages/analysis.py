"""Findings of the analysis: a protocol that compiles and is probably wrong as a protocol."""

from slicc.diagnostics.code import Code

_WALKED = (
    "The analysis steps a small system of the protocol (one line, two or three of each machine "
    "that a\nprocessor or DMA engine drives, one of each other). The note sketches the way there."
)

CODES: tuple[Code, ...] = (
    Code(
        "message-kept",
        "a transition that leaves its message at the head",
        what="The transition neither pops, recycles nor stalls the message that triggered it, and "
        "most others of its port do.",
        why="The message triggers again at once, in the state that the transition leads to.",
        example="transition(L, Return, F) { w_wakeAsks; }",
        instead="transition(L, Return, F) { p_popReturn; w_wakeAsks; }",
    ),
    Code(
        "wrong-port",
        "a transition that takes another port's message",
        what="An action pops or stalls the message of a port that does not trigger the event.",
        why="That port may be empty, or its message is lost; the message that triggered stays.",
        example="transition(L, Return, F) { p_popAsk; w_wakeAsks; }",
        instead="transition(L, Return, F) { p_popReturn; w_wakeAsks; }",
    ),
    Code(
        "popped-twice",
        "a transition that pops one port more than once",
        what="Actions of the transition pop the same port several times.",
        why="The next message is lost, or there is none.",
        example="transition(F, Ask, L) { s_sendParts; p_popAsk; p_popAsk; }",
        instead="transition(F, Ask, L) { s_sendParts; p_popAsk; }",
    ),
    Code(
        "missed-wakeup",
        "stalled messages that are not woken",
        what="Messages wait in the state that the transition leaves, on this way nothing wakes "
        "them, and it leads to a\nstable state in which they need not wait.",
        why="They wait until another transaction of the line wakes them, which may never come.",
        example="transition(L, Return, F) { p_popReturn; }",
        instead="transition(L, Return, F) { p_popReturn; w_wakeAsks; }",
    ),
    Code(
        "kept-record",
        "a TBE or cache entry that is not freed",
        what="The transition leads with a TBE or entry to a state that stands for a line without "
        "one, or that nearly all\nother transitions reach without one.",
        why="The TBE is lost for other lines, or found where none is expected.",
        example="transition(W, LastPart, I) { d_done; r_return; p_popPart; }",
        instead="transition(W, LastPart, I) { d_done; r_return; f_free; p_popPart; }",
    ),
    Code(
        "missing-record",
        "a TBE that was not allocated",
        what="The transition leads without a TBE to a state that nearly all other transitions "
        "reach with one.",
        why="What uses the TBE in that state finds none.",
        example="transition(I, Store, W) { q_ask; p_popRequest; }",
        instead="transition(I, Store, W) { a_allocate; q_ask; p_popRequest; }",
    ),
    Code(
        "allocated-twice",
        "a TBE allocated for a line that has one",
        what="In every state of the transition the line has a TBE already.",
        why="Allocating again is an error at run time, or loses what the first one keeps.",
        example="transition(W, Part) { a_allocate; c_count; p_popPart; }",
        instead="transition(W, Part) { c_count; p_popPart; }",
    ),
    Code(
        "record-used-without",
        "a TBE or cache entry used where there is none",
        what="An action uses a field of the line's TBE or entry after an earlier action has freed "
        "it, or in states in which\nno way gives the line one.",
        why="The pointer is null, and the run ends there.",
        example="transition(W, LastPart, I) { r_return; f_free; d_done; p_popPart; }",
        instead="transition(W, LastPart, I) { d_done; r_return; f_free; p_popPart; }",
    ),
    Code(
        "unread-message",
        "a message on a virtual network that its receiver does not read",
        what="The receiver that the text names has no in-port on the out-port's virtual network.",
        why="The message cannot be delivered.",
        example="out_msg.Destination.add(mapAddressToMachine(address, MachineType:L1Cache));",
        instead="out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));",
    ),
    Code(
        "other-message-read",
        "a message of a type that its receiver does not expect",
        what="The receiver reads another type of message from the virtual network of the out-port.",
        why="It would take the fields of one for those of the other.",
        example="out_port(return_out, Giving, toHome);",
        instead="out_port(return_out, Giving, returnToHome);",
    ),
    Code(
        "hit-without-permission",
        "a processor answered in a state without permission",
        what="The transition answers a load or store and stays in a state whose permission does "
        "not allow it: loads in\n`Invalid`, stores in `Read_Only` as well.",
        why="Either the permission is wrong or the processor sees what it must not.",
        example="transition(I, Load) { h_hit; p_popRequest; }",
        instead="transition(I, Load, W) { a_allocate; q_ask; p_popRequest; }",
    ),
    Code(
        "unused-type",
        "a type that nothing uses",
        what="No declaration and no body of the protocol names the structure or enumeration.",
        why="It is left over, or what should use it is missing or uses another type.",
        example="enumeration(Urgency) { Low; }\nenumeration(Speed) { Slow; Fast; }",
        instead="enumeration(Urgency) { Low; }",
    ),
    Code(
        "unused-field",
        "a field that nothing reads or sets",
        what="No body of the protocol names the field. What the runtime itself reads of messages "
        "(`Destination`,\n`MessageSize`) counts as used.",
        why="It is left over, or a message carries less than its receiver needs.",
        example="bool last; int hops;",
        instead="bool last;",
    ),
    Code(
        "unused-message-type",
        "a kind of message that nothing sends or expects",
        what="No body of the protocol names this value of an enumeration that is a field of a "
        "message.",
        why="The table of messages says more than the protocol does: a reader looks for its "
        "sender in vain.",
        example="enumeration(Urgency) { Low; High; }",
        instead="enumeration(Urgency) { Low; }",
    ),
    Code(
        "one-way-count",
        "a count that moves only one way",
        what="A number of a TBE or entry is compared for equality and only ever grows, or only "
        "ever falls.",
        why="A count of what is missing is set or raised by what is sent, and lowered by what "
        "comes; one of the two is\nforgotten, or has the wrong sign.",
        example="set_tbe(TBEs[address]);  // and nothing sets its count",
        instead="set_tbe(TBEs[address]); tbe.parts := 2;",
    ),
    Code(
        "unhandled-pair",
        "an event without a transition in a state where it can happen",
        what=f"The table has no transition for the event in the state.\n{_WALKED}",
        why="The run ends there with an undefined transition.",
        example="// no transition for Ask in L",
        instead="transition(L, Ask) { z_wait; }",
    ),
    Code(
        "null-record",
        "a field of a TBE or entry that is not there",
        what=f"A field is used while the line has no such TBE or entry.\n{_WALKED}",
        why="The run ends there.",
        example="TBE known := TBEs.getNullEntry();",
        instead="TBE known := TBEs[in_msg.addr];",
    ),
    Code(
        "error-reached",
        "an `error` or a false `assert` that can be reached",
        what=f"What the text declares impossible happens.\n{_WALKED}",
        why="The run ends there.",
        example="assert(in_msg.last);  // a cache does not set it",
        instead="assert(in_msg.last == false);",
    ),
    Code(
        "never-woken",
        "a message that stays stalled",
        what=f"Nothing is under way any more, and a stalled message was not woken.\n{_WALKED}",
        why="What the message asks for is never done.",
        example="transition(F, Ask) { z_wait; }",
        instead="transition(F, Ask, L) { s_sendParts; p_popAsk; }",
    ),
    Code(
        "never-answered",
        "a request without an answer",
        what="Nothing is under way any more, and a processor or DMA engine still waits.\n"
        f"{_WALKED}",
        why="What asked waits for ever.",
        example="transition(W, LastPart, I) { r_return; f_free; p_popPart; }",
        instead="transition(W, LastPart, I) { d_done; r_return; f_free; p_popPart; }",
    ),
    Code(
        "kept-at-rest",
        "a TBE that is left when all is done",
        what=f"Nothing is under way any more, and the line still has a TBE.\n{_WALKED}",
        why="TBEs are few: in the end none is free.",
        example="transition(W, LastPart, I) { d_done; r_return; p_popPart; }",
        instead="transition(W, LastPart, I) { d_done; r_return; f_free; p_popPart; }",
    ),
    Code(
        "wrong-count",
        "a count that is one too large or too small",
        what="With one more, or one less, at this place nothing is left of what walks find. Every "
        "number that is assigned\nto a field or compared with a count is tried, by one. Where "
        f"several places would do, all are labelled.\n{_WALKED}",
        why="A wrong count is seen elsewhere: as a machine that waits for what has come, or\n"
        "goes on too early.",
        example="tbe.parts := tbe.parts - 2;",
        instead="tbe.parts := tbe.parts - 1;",
    ),
    Code(
        "two-writers",
        "two machines that may write a line at the same time",
        what="Two machines of one type are in states whose permission is `Read_Write`, for the "
        f"same line.\n{_WALKED}",
        why="A store of either is not seen by the other: there may be many readers, or one writer.",
        example='W, AccessPermission:Read_Write, desc="asked for";',
        instead='W, AccessPermission:Busy, desc="asked for";',
    ),
    Code(
        "waiting-cycle",
        "ports that wait for each other",
        what="The head of each port may have to wait for the next one of the circle: it is stalled "
        "in a state that only\nmessages of that port leave, or what it sends needs room there, and "
        "the buffers are bounded in the\nsystem (the file of the protocol's name with `.toml`). "
        "Whether all of them can wait at once is not followed.",
        why="If they do, nothing of them moves again: a deadlock.",
        example="transition(W, Part) { z_stall; }",
        instead="transition(W, Part) { c_count; p_popPart; }",
    ),
    Code(
        "invalid-allowance",
        "a `slicc: allow` comment that allows nothing",
        what="`// slicc: allow(SLUG) reason` allows one kind of warning: behind code on its line, "
        "alone on a line\non the next one with code, above a machine in all of it.",
        why="A misspelt slug hides nothing, and without a reason the next reader has to ask.",
        example="// slicc: allow(message-kept)\ntransition(L, Ask) { z_wait; }",
        instead="// slicc: allow(message-kept) an eviction looks at the message again\n"
        "transition(L, Ask) { z_wait; }",
    ),
)
