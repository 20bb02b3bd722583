// Writing and reading the values that protocols hold.
//
// Both directions have the same functions; generated code calls them field by field. Invariant: what
// a reader makes is what the writer was given, up to the renaming, and up to bytes of lines that no
// location covers and, where nothing compares them, values that nothing may return any more.

#pragma once

#include "types/data_block.hpp"
#include "untimed/origin.hpp"

inline constexpr u32 LOCATION_BYTES = 4;
inline constexpr u32 LOCATIONS = LINE_BYTES / LOCATION_BYTES;  // in a line
inline constexpr u32 MAX_TOKENS = 64;
inline constexpr u64 HELD = u64{1} << 60;  // a time that has not come
inline constexpr u32 CLEARED = 0;          // the value of bytes that were set to zero
inline constexpr u32 DEAD = 1;             // of those that nothing may return any more

// What all states of a system have in common.
struct Coding {
    u64 base;  // address of the first line
    u32 lines;
    u32 line_bits;
    u32 nodes;
    u32 node_bits;
    u32 data;        // locations of a line that hold tokens, from the first on
    bool plain;      // whether they hold bytes that are their own value instead
    bool compares;   // whether data are asserted to be equal, so that dead values are kept apart
    u64 turned;      // bits of these that are turned over in storage
    bool word;       // whether its last location counts increments
    u32 increments;  // that one agent may do to a word: a bit of it each
    u32 agents;
    Belongings belongings;
};

// As a NetDest would have it; empty for one that does not exist.
inline u64 machine_in_set(const Context& x, MachineID machine) {
    const i32 node = node_of(x, machine);
    return node < 0 ? 0 : u64{1} << node;
}

inline u32 bits_for(u32 values) {
    u32 bits = 0;
    while ((u64{1} << bits) < values) bits++;
    return bits;
}

// Values by what is known of them: 0 CLEARED, 1 DEAD, then the kinds that there are.
struct ValueKinds {
    u8 kind[MAX_TOKENS];    // of a value
    u8 group[MAX_TOKENS];   // of a kind: kinds of which the same is known are in one
    u64 known[MAX_TOKENS];  // of a kind: what is, as it is written
    u64 owed;               // kinds that a judgement may still ask for, a bit each
};

// Numbers of values while a state is written.
struct Values {
    const ValueKinds& kinds;
    u8 number[MAX_TOKENS] = {};  // of a kind, in the order of writing; 0: not written yet
    u8 kind_of[MAX_TOKENS];      // of a number
    u32 numbers = DEAD + 1;
    bool by_kind = false;           // for comparing: write groups
    const char* refused = nullptr;  // why the state cannot be written

    u32 number_of(u32 which) {
        if (which <= DEAD) return which;
        if (by_kind && !number[which]) return MAX_TOKENS + kinds.group[which];
        if (!number[which]) {
            kind_of[numbers] = static_cast<u8>(which);
            number[which] = static_cast<u8>(numbers++);
        }
        return number[which];
    }
};

// Numbers of no fixed size: three bits at a time, each with one that says whether more follow.
inline COLD BitWriter put_small(BitWriter out, u64 value) {
    for (; value >= 8; value >>= 3) out.put(8 | (value & 7), 4);
    out.put(value, 4);
    return out;
}

struct Got {
    BitReader in;
    u64 value;
};

inline COLD Got get_small(BitReader in) {
    u64 value = 0;
    for (u32 shift = 0;; shift += 3) {
        const u64 next = in.get(4);
        value |= (next & 7) << shift;
        if (next < 8) return {in, value};
    }
}

// The coders are small enough to be copied: where many fields follow each other, a copy is kept in
// registers, and `resume` takes over from it.
struct Writer {
    static constexpr bool READS = false;
    Context& x;
    const Coding& coding;
    const Renaming& renaming;
    Values& values;
    const Origin* origin;  // null: parts may have other bits there
    BitWriter out;

    Writer(Context& context, const Coding& c, const Renaming& r, Values& v, const Origin* before,
           u8* to, u64 room)
        : x(context), coding(c), renaming(r), values(v), origin(before), out(to, room) {}

    TINY void resume(const Writer& after) { out = after.out; }
    void refuse(const char* why) { values.refused = why; }

    TINY void bits(u32& value, u32 count) { out.put(value, count); }
    TINY void flag(bool& value) { out.put(value, 1); }
    TINY bool either(bool value) {
        out.put(value, 1);
        return value;
    }
    TINY void value(u32& stored) {
        u32 written = values.number_of(stored < MAX_TOKENS ? values.kinds.kind[stored] : DEAD);
        small(written);
    }
    TINY const CodePart* part_of_controller(u32 id) const {
        return origin ? origin->of_controller(id) : nullptr;
    }
    // Copy a part of the origin. False: a value in it has another number now.
    bool copied(const CodePart& part) {
        for (u32 i = part.first_value; i < part.last_value; i++) {
            const u32 value = origin->values[i];
            if (values.number_of(values.kinds.kind[value]) != value) return false;
        }
        BitReader in(origin->code);
        in.at = part.from;
        while (in.at + MOST_BITS <= part.to) out.put(in.get(MOST_BITS), MOST_BITS);
        const u32 rest = static_cast<u32>(part.to - in.at);
        out.put(in.get(rest), rest);
        return true;
    }
    TINY void line(u32& index) { out.put(renaming.lines.to[index], coding.line_bits); }
    TINY void requester(u32& index) {
        u32 written = renaming.requesters.to[index];
        small(written);
    }

    template <class Number>
    TINY void small(Number& value) {
        if (LIKELY(value < 8))
            out.put(value, 4);
        else
            out = put_small(out, value);
    }
    // A word, or an increment of it: its bits are those of agents.
    template <class Number>
    TINY void increments(Number& count) {
        if (LIKELY(!count))
            out.put(0, 4);
        else
            out = put_small(out, renamed_increments(count));
    }
    template <class Number>
    u64 renamed_increments(Number count) const {
        const u32 all = coding.agents * coding.increments;
        Number renamed = static_cast<Number>(all < 32 ? count >> all << all : 0);
        for (u32 agent = 0; agent < coding.agents; agent++) {
            const u64 mine = count >> (agent * coding.increments) & ((1u << coding.increments) - 1);
            renamed |= static_cast<Number>(mine << (renaming.agents.to[agent] * coding.increments));
        }
        return renamed;
    }
    TINY u32 node_number(u32 node) const { return renaming.nodes.to[node]; }
    TINY u64 node_set(u64 set) const {
        if (LIKELY(renaming.same)) return set;
        u64 renamed = 0;
        for (u64 rest = set; rest; rest &= rest - 1)
            renamed |= u64{1} << renaming.nodes.to[__builtin_ctzll(rest)];
        return renamed;
    }
};

struct Reader {
    static constexpr bool READS = true;
    Context& x;
    const Coding& coding;
    Origin& origin;
    BitReader in;

    Reader(Context& context, const Coding& c, Origin& noted, const u8* from)
        : x(context), coding(c), origin(noted), in(from) {}

    TINY void resume(const Reader& after) { in = after.in; }
    void refuse(const char*) { fail(x, ErrorKind::UNDELIVERABLE); }

    TINY void bits(u32& value, u32 count) { value = static_cast<u32>(in.get(count)); }
    TINY void flag(bool& value) { value = in.get(1) != 0; }
    TINY bool either(bool) { return in.get(1) != 0; }
    TINY CodePart* part_of_controller(u32 id) const { return &origin.controllers[id]; }
    TINY void value(u32& stored) {
        small(stored);
        origin.note_value(stored);
    }
    TINY void line(u32& index) { index = static_cast<u32>(in.get(coding.line_bits)); }
    template <class Number>
    void increments(Number& count) {
        small(count);
    }
    TINY void requester(u32& index) { small(index); }

    template <class Number>
    TINY void small(Number& value) {
        BitReader after = in;
        const u64 first = after.get(4);
        if (LIKELY(first < 8)) {
            in = after;
            value = static_cast<Number>(first);
        } else {
            const Got got = get_small(in);
            in = got.in;
            value = static_cast<Number>(got.value);
        }
    }
};

// The functions of both, in terms of those above.
template <class Base>
struct Coder : Base {
    using Base::Base;
    using Base::bits;
    using Base::either;
    using Base::increments;
    using Base::READS;
    using Base::small;
    using Base::value;

    TINY void member(i32& member, i32 count) {
        u32 number = static_cast<u32>(member);
        bits(number, bits_for(static_cast<u32>(count) + 1));
        member = static_cast<i32>(number);
    }
    TINY void integer(i32& number) {
        u32 folded = static_cast<u32>(number) << 1 ^ static_cast<u32>(number >> 31);
        small(folded);
        number = static_cast<i32>(folded >> 1 ^ (0 - (folded & 1)));
    }
    template <class Number>
    TINY void word(Number& number) {
        u64 wide = number;
        small(wide);
        number = static_cast<Number>(wide);
    }
    TINY void address(u64& address) {
        enum : u32 { ZERO, LINE, BYTE, OTHER };
        const u64 distance = address - this->coding.base;
        const bool known = distance < u64{this->coding.lines} << LINE_BITS;
        u32 tag = !address ? ZERO : !known ? OTHER : distance & LINE_MASK ? BYTE : LINE;
        bits(tag, 2);
        if (tag == ZERO) {
            address = 0;
        } else if (tag == OTHER) {
            small(address);
        } else {
            u32 line = static_cast<u32>(distance >> LINE_BITS);
            u32 offset = static_cast<u32>(distance & LINE_MASK);
            this->line(line);
            if (tag == BYTE) bits(offset, LINE_BITS);
            address = this->coding.base + (u64{line} << LINE_BITS) + (tag == BYTE ? offset : 0);
        }
    }
    // A time until which something is held back: whether it has come is all that counts.
    TINY void held(u64& time) {
        const bool later = either(time > controllers_clock(this->x));
        if constexpr (READS) time = later ? HELD : 0;
    }
    TINY void machine(MachineID& machine) {
        const u32 nodes = this->coding.nodes;
        u32 number = nodes;
        if constexpr (!READS) {
            const i32 node = node_of(this->x, machine);
            if (node >= 0)
                number = this->node_number(static_cast<u32>(node));
            else if (!(machine == INVALID_MACHINE))
                number = nodes + 1;
        }
        bits(number, this->coding.node_bits);
        if (number > nodes) {
            integer(machine.type);
            word(machine.num);
        } else if constexpr (READS) {
            machine = number == nodes ? INVALID_MACHINE : machine_of_node(this->x, number);
        }
    }
    TINY void nodes(NetDest& set) {
        static_assert(NODE_WORDS == 1);
        u32 low = 0;
        if constexpr (!READS) low = static_cast<u32>(this->node_set(set.w[0]));
        bits(low, this->coding.nodes);
        if constexpr (READS) set.w[0] = low;
    }
    // The bytes of a line.
    TINY void contents(u64* data) {
        u8* const bytes = reinterpret_cast<u8*>(data);
        if (UNLIKELY(this->coding.plain)) return aside([&](Coder& code) { code.plain(bytes); });
        for (u32 place = 0; place < this->coding.data; place++) {
            u32 stored;
            __builtin_memcpy(&stored, bytes + place * LOCATION_BYTES, LOCATION_BYTES);
            value(stored);
            __builtin_memcpy(bytes + place * LOCATION_BYTES, &stored, LOCATION_BYTES);
        }
        if (UNLIKELY(this->coding.word))
            aside([&](Coder& code) { code.counter(bytes + LINE_BYTES - LOCATION_BYTES); });
    }
    void plain(u8* bytes) {
        for (u32 place = 0; place < this->coding.data; place++, bytes += LOCATION_BYTES) {
            u32 stored;
            __builtin_memcpy(&stored, bytes, LOCATION_BYTES);
            stored ^= static_cast<u32>(this->coding.turned);
            small(stored);
            stored ^= static_cast<u32>(this->coding.turned);
            __builtin_memcpy(bytes, &stored, LOCATION_BYTES);
        }
    }
    void counter(u8* at) {
        u32 count;
        __builtin_memcpy(&count, at, LOCATION_BYTES);
        increments(count);
        __builtin_memcpy(at, &count, LOCATION_BYTES);
    }
    // With a copy of the coder, so that this one can stay in registers.
    template <class F>
    TINY void aside(F f) {
        Coder copy = *this;
        f(copy);
        this->resume(copy);
    }
    TINY void block(DataBlock& block) {
        u64 any = block.logged;
        if constexpr (!READS) {
            for (u64 part : block.data) any |= part;
        }
        if (!either(any != 0)) {
            if constexpr (READS) block = DataBlock{};
            return;
        }
        if constexpr (READS) block = DataBlock{};
        contents(block.data);
        if (UNLIKELY(either(block.logged != 0))) aside([&](Coder& code) { code.log(block); });
    }
    // What atomic operations replaced, the newest first.
    void log(DataBlock& block) {
        u32 count = block.logged;
        small(count);
        if constexpr (READS) {
            u64 kept[16][LINE_WORDS] = {};
            for (u32 i = 0; i < count && i < 16; i++) contents(kept[i]);
            for (u32 i = count; i-- > 0;) DataBlock_log(this->x, block, kept[i]);
        } else {
            if (count > 16) this->refuse("more than 16 old values of a line");
            u32 handle = block.log;
            for (u32 i = 0; i < count && i < 16; i++) {
                LogNode& node = of_handle<LogNode>(this->x, handle);
                u64 kept[LINE_WORDS];
                __builtin_memcpy(kept, node.data, sizeof kept);
                contents(kept);
                handle = node.next;
            }
        }
    }
    TINY void mask(WriteMask& mask) {
        enum : u32 { EMPTY, FULL, OTHER };
        static_assert(MASK_WORDS == 1);
        constexpr u64 ALL = LINE_BYTES == 64 ? ~u64{0} : (u64{1} << (LINE_BYTES & 63)) - 1;
        u32 tag = !mask.m[0] ? EMPTY : mask.m[0] == ALL ? FULL : OTHER;
        bits(tag, 2);
        if (tag == OTHER) {
            small(mask.m[0]);
        } else {
            mask.m[0] = tag == FULL ? ALL : 0;
        }
        if (UNLIKELY(either(mask.atomics != 0)))
            aside([&](Coder& code) { code.operations(mask.atomics); });
        else
            mask.atomics = 0;
    }
    void operations(u32& list) {
        u32 count = 0;
        if constexpr (READS) {
            u32 last = 0;
            small(count);
            list = 0;
            for (; count; count--) {
                AtomicNode node = {};
                operation(node);
                atomics_append(this->x, list, last, node.offset, node.kind, node.size, node.operand,
                               node.compare);
            }
        } else {
            for (u32 h = list; h; h = of_handle<AtomicNode>(this->x, h).next) count++;
            small(count);
            for (u32 h = list; h; h = of_handle<AtomicNode>(this->x, h).next) {
                AtomicNode node = of_handle<AtomicNode>(this->x, h);
                operation(node);
            }
        }
    }
    void operation(AtomicNode& node) {
        word(node.kind);
        word(node.size);
        word(node.offset);
        increments(node.operand);
        small(node.compare);
    }
    // A Set or a BoolVec.
    template <class Flags>
    void flags(Flags& flags) {
        integer(flags.size);
        u32 words = 0;
        if constexpr (!READS) {
            for (u32 i = 0; i < MAX_MEMBERS / 64; i++) words |= (flags.w[i] != 0) << i;
        } else {
            for (u64& each : flags.w) each = 0;
        }
        small(words);
        for (u32 i = 0; i < MAX_MEMBERS / 64; i++) {
            if (words >> i & 1) small(flags.w[i]);
        }
    }
};

// ---------------------------------------------------------------- the library's messages

template <class Code>
inline void code_fields(Code& outer, RubyRequest& m) {
    Code code = outer;
    code.address(m.LineAddress);
    code.small(m.instSeqNum);
    code.member(m.Type, RubyRequestType::NUM);
    code.flag(m.isGLCSet);
    code.flag(m.isSLCSet);
    code.address(m.PhysicalAddress);
    code.word(m.Size);
    code.integer(m.contextId);
    code.mask(m.writeMask);
    code.block(m.WTData);
    outer.resume(code);
}

template <class Code>
inline void code_fields(Code& outer, SequencerMsg& m) {
    Code code = outer;
    code.address(m.LineAddress);
    code.address(m.PhysicalAddress);
    code.member(m.Type, SequencerRequestType::NUM);
    code.integer(m.Len);
    code.member(m.MessageSize, MessageSizeType::NUM);
    code.mask(m.writeMask);
    code.block(m.DataBlk);
    outer.resume(code);
}

template <class Code>
inline void code_fields(Code& outer, MemoryMsg& m) {
    Code code = outer;
    code.address(m.addr);
    code.member(m.Type, MemoryRequestType::NUM);
    code.integer(m.Len);
    code.machine(m.Sender);
    code.machine(m.OriginalRequestorMachId);
    code.member(m.MessageSize, MessageSizeType::NUM);
    code.integer(m.Prefetch);
    code.integer(m.Acks);
    code.flag(m.ReadX);
    code.flag(m.isGLCSet);
    code.flag(m.isSLCSet);
    code.block(m.DataBlk);
    outer.resume(code);
}
