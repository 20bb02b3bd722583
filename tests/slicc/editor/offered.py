"""What completion has to offer in the texts that an author leaves unfinished.

The text that is typed with the cursor in it, a name that is offered there, and one that is not.
"""

OFFERED = [
    ("transition(|", "IS_D", "Load"),
    ("transition({I, IS|", "IS_D", "Load"),
    ("transition(I, |", "FwdGetS", "IS_D"),
    ("transition(I, {Load, |", "FwdGetS", "IS_D"),
    ("transition(I, Load, |", "IS_D", "Load"),
    ("transition(I, Load, IS_D) { gs_sendGetS; q|", "qm_popMandatory", "IS_D"),
    ('action(x, desc="") { peek(|', "forward_in", "request_out"),
    ('action(x, desc="") { peek(forward_in, |', "ForwardMsg", "Entry"),
    ('action(x, desc="") { enqueue(|', "request_out", "forward_in"),
    ('action(x, desc="") { peek(forward_in, ForwardMsg) { in_msg.|', "Requestor", "Acks"),
    ('action(x, desc="") { if (cache_entry.|', "CacheState", "lookup"),
    ('action(x, desc="") { cacheMemory.|', "setMRU", "CacheState"),
    ('action(x, desc="") { cache_entry.CacheState := State:|', "IS_D", "Load"),
    ('action(x, desc="") { int n := iss|', "issue_latency", "in_msg"),
    ("void f(Addr here) { Entry e := getCacheEntry(|", "here", "cache_entry"),
    ("in_port(y, ForwardMsg, |", "forwardFromDir", "sequencer"),
    ("in_port(y, ForwardMsg, |", "forwardFromDir", "requestToDir"),
    ("out_port(y, RequestMsg, |", "requestToDir", "forwardFromDir"),
    ("// here\nacti|", "action", "machine"),
]
