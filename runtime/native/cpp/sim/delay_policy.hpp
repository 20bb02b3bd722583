// Delays that deleting a message does not reshuffle: drawn, or scripted.
//
// Invariant: the delay of a message is a function of the run key, its channel, its line and how
// many messages of that line went through the channel before; numbers as in runtime/sim/delay_policy.py.
// Nothing drawn is tabulated: drawing one costs less than a miss in the processor's cache.

#pragma once

#include "block/line_map.hpp"
#include "sim/prng.hpp"

inline u64 message_line_address(const Message& message);  // generated

inline constexpr u64 DELAY_TABLE = 4096;
inline constexpr u64 DELAY_NAME = hash_name("delays");

// Element `index` of the channel's table of 4096 delays.
inline u64 delay_draw(u32 policy, u64 key, u64 index) {
    const u64 draw = index + 1;
    switch (policy) {
        case DELAY_UNIFORM: return prng_below(key, draw, 16);
        case DELAY_HEAVY_TAIL: {
            const u64 bits = prng_bits(key, draw) & 0x7F;
            const u64 exponent = static_cast<u64>(__builtin_ctzll(~bits));
            return ((4 + prng_below(key, DELAY_TABLE + draw, 4)) << exponent) - 4;
        }
        case DELAY_GEM5: {
            const u64 extra = 1 + prng_below(key, draw, 4);
            if (prng_below(key, 2 * DELAY_TABLE + draw, 8)) return extra;
            return extra + 101 + prng_below(key, DELAY_TABLE + draw, 15);
        }
        case DELAY_SKEWED: {
            constexpr u8 BASES[] = {0, 5, 20, 80, 200};
            return BASES[prng_below(key, 1, 5)] + prng_below(key, draw + 1, 4);
        }
        case DELAY_STRAGGLERS:
            if (prng_below(key, 2 * DELAY_TABLE + draw, 16)) return prng_below(key, draw, 4);
            return 200 + prng_below(key, DELAY_TABLE + draw, 512);
    }
    return 0;
}

inline void delays_start(u64 run_key, u64 name, u64& key, u64& start) {
    const u64 salt = hash64(run_key, name);
    key = prng_fork(prng_key(salt), DELAY_NAME);
    start = mix64(GOLDEN * 3 ^ mix64(salt + GOLDEN));
}

// The same for a channel of a system; of a scripted one, `start` is the hash of its name.
inline void channel_delays_start(const System& s, u64 name, u64& key, u64& start) {
    delays_start(s.run_key, name, key, start);
    if (s.delay_policy == DELAY_SCRIPTED) start = name;
}

inline bool script_before(const ScriptedDelay& one, const ScriptedDelay& other) {
    if (one.channel != other.channel) return one.channel < other.channel;
    if (one.line != other.line) return one.line < other.line;
    return one.message < other.message;
}

// The cycles that a script, which is sorted, delays a message.
inline COLD u64 scripted_delay(const Context& x, u64 channel, u64 line, u64 message) {
    const ScriptedDelay* script = x.s->script.in(x);
    const ScriptedDelay wanted = {channel, line, message, 0};
    u64 first = 0;
    u64 last = x.s->script.count;
    while (first < last) {
        const u64 middle = (first + last) / 2;
        if (script_before(script[middle], wanted)) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    const bool found = first < x.s->script.count && !script_before(wanted, script[first]);
    return found ? script[first].cycles : 0;
}

// A delay state of 0 says that the place was not used yet. For the few that really come to 0,
// once in four thousand million messages, the place is noted.
inline COLD bool zero_delay(Context& x, const u32& state) {
    System& s = *x.s;
    const u64 offset = offset_of(x, state);
    for (u32 i = 0; i < s.zero_delays_used; i++) {
        if (s.zero_delays[i] != offset) continue;
        s.zero_delays[i] = s.zero_delays[--s.zero_delays_used];
        return true;
    }
    return false;
}

inline COLD void note_zero_delay(Context& x, const u32& state) {
    System& s = *x.s;
    const u32 room = sizeof s.zero_delays / sizeof s.zero_delays[0];
    if (s.zero_delays_used == room) {
        pool_exhausted(x, POOL_TABLES, room);
        return;
    }
    s.zero_delays[s.zero_delays_used++] = offset_of(x, state);
}

// The extra cycles of the next message on a channel or into a buffer.
template <class T>
inline u64 next_delay(Context& x, const T& channel, Message& message) {
    System& s = *x.s;
    const u64 address = line_of(x, message_line_address(message));
    const u32 line = line_index(x, address);
    message.line = line;
    __builtin_prefetch(x.recent_places + channel.near, 1);
    INVARIANT(channel.delays * sizeof(u32) < x.place_stride);
    u32& state = x.recent_places[channel.delays];
    if (UNLIKELY(s.delay_policy == DELAY_SCRIPTED)) {  // the state counts messages
        state++;
        return scripted_delay(x, channel.delay_start, address, state);
    }
    u32 current = state;
    if (!current && (LIKELY(!s.zero_delays_used) || !zero_delay(x, state))) {
        current =
            static_cast<u32>(mix64(channel.delay_start ^ mix64((address >> LINE_BITS) + GOLDEN)));
    }
    state = current * 1664525 + 1013904223;
    if (UNLIKELY(!state)) note_zero_delay(x, state);
    return delay_draw(s.delay_policy, channel.delay_key, current >> 20);
}
