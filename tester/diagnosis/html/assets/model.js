// The run as objects: events, where each message went, what each controller had when.

const TRANSITION = 0, SENT = 1, PORT = 2, STALL = 3, CHECKPOINT = 512;

class Run {
  constructor(data) {
    this.texts = data.texts;
    this.fieldLists = data.fields;
    this.buffers = data.buffers;
    this.machines = data.machines;
    this.lines = data.lines;
    this.lineSize = data.lineSize;
    this.sources = data.sources;
    this.dropped = data.dropped;
    this.failure = data.failure;
    this.lifelines = data.lifelines.map(([name, kind, machine], number) => ({ number, name, kind, machine }));
    this.events = data.events.map((row, index) => this.decoded(row, index));
    this.failing = new Set(this.failure ? this.failure.events : []);
    this.requests = new Map();
    this.places = new Map();
    for (const event of this.events) this.connect(event);
    this.transitions = this.events.filter(each => each.kind === TRANSITION).map(each => each.index);
    this.networks = [...new Set(this.events.filter(e => e.kind === SENT).map(e => e.network))].sort((a, b) => a - b);
    this.permissions = new Map();
    for (const [machine, { states }] of Object.entries(this.machines))
      for (const [state, permission] of states) this.permissions.set(`${machine} ${state}`, permission);
  }

  decoded(row, index) {
    const [kind, tick, life, line, ...rest] = row;
    const event = { index, kind, tick, life, line };
    const text = number => this.texts[number];
    if (kind === TRANSITION) {
      const [name, state, next, place, entry, tbe, taken, aside, comment, times, until] = rest;
      Object.assign(event, { name: text(name), state: text(state), next: text(next), place: text(place),
        entry, tbe, taken, aside, comment: text(comment), times, until });
    } else if (kind === SENT) {
      const [name, network, fields, hops, cause, memory] = rest;
      Object.assign(event, { name: text(name), network, fields, cause, memory,
        hops: hops.map(([receiver, buffer, arrival]) => ({ receiver, buffer: this.buffers[buffer], arrival, taken: -1, aside: [] })) });
    } else if (kind === PORT) {
      const [access, step, request, lanes, cause] = rest;
      Object.assign(event, { access: text(access), step: text(step), request, lanes: text(lanes), cause });
    } else {
      const [name, state, place, times, until] = rest;
      Object.assign(event, { name: text(name), state: text(state), place: text(place), times, until });
    }
    return event;
  }

  connect(event) {
    if (event.kind === PORT) {
      if (!this.requests.has(event.request)) this.requests.set(event.request, []);
      this.requests.get(event.request).push(event.index);
    }
    if (event.kind === SENT && event.memory >= 0) this.place(event.life, event.line).push(event.index);
    if (event.kind !== TRANSITION) return;
    this.place(event.life, event.line).push(event.index);
    for (const number of event.taken) {
      const hop = this.hopTo(number, event.life, hop => hop.taken < 0);
      if (hop) hop.taken = event.index;
    }
    const hop = event.aside >= 0 ? this.hopTo(event.aside, event.life, () => true) : null;
    if (hop) hop.aside.push(event.index);
  }

  // Lifelines that say little: agents that only synchronise or read back, unless it fails there.
  quiet() {
    const busy = new Set([...this.failing].map(index => this.events[index].life));
    for (const event of this.events) if (event.kind === PORT && event.line >= 0 && !this.lifelines[event.life].name.startsWith("read-back ")) busy.add(event.life);
    const quiet = this.lifelines.filter(life => life.kind === "agent" && !busy.has(life.number));
    return busy.size ? quiet.map(life => life.number) : [];
  }

  hopTo(number, life, wanted) {
    const sent = this.events[number];
    return sent && sent.kind === SENT ? sent.hops.find(hop => hop.receiver === life && wanted(hop)) : null;
  }

  // Indices of what changed a line at a lifeline, in order.
  place(life, line) {
    const key = `${life} ${line}`;
    if (!this.places.has(key)) this.places.set(key, []);
    return this.places.get(key);
  }

  // The last of those at or before an event; null: none yet.
  lastAt(life, line, index) {
    const all = this.place(life, line);
    const found = upper(all.length, at => all[at] <= index) - 1;
    return found < 0 ? null : this.events[all[found]];
  }

  stateAt(life, line, index) {
    const last = this.lastAt(life, line, index);
    if (last) return last.next;
    const first = this.place(life, line)[0];
    return first === undefined ? "" : this.events[first].state;
  }

  permission(life, state) {
    return this.permissions.get(`${this.lifelines[life].machine} ${state}`) || "";
  }

  fields(number) {
    if (number < 0) return [];
    const flat = this.fieldLists[number], pairs = [];
    for (let at = 0; at < flat.length; at += 2) pairs.push([this.texts[flat[at]], this.texts[flat[at + 1]]]);
    return pairs;
  }

  // The first block of data of a list of fields.
  blockOf(number) {
    this.blocks ||= new Map();
    if (!this.blocks.has(number)) {
      const found = this.fields(number).find(([, value]) => value.startsWith("#"));
      this.blocks.set(number, found ? found[1] : "");
    }
    return this.blocks.get(number);
  }

  // Messages that were sent and not yet taken at an event, with where each is.
  pending(index, tick) {
    const from = Math.floor(index / CHECKPOINT);
    const found = [...this.checkpoints()[from]];
    for (let at = from * CHECKPOINT; at <= index; at++) this.opened(at, found);
    return found.filter(({ event, hop }) => event.index <= index && !this.over(hop, index, tick)).map(({ event, hop }) => {
      const here = hop.arrival >= 0 && hop.arrival <= tick;
      const aside = hop.aside.some(each => each <= index);
      return { event, hop, where: aside ? "set aside in" : here ? "waits in" : "under way to" };
    });
  }

  // Memory takes a message when it arrives; of others the transition is known that took it.
  over(hop, index, tick) {
    if (this.lifelines[hop.receiver].kind === "memory") return hop.arrival <= tick;
    return hop.taken >= 0 && hop.taken <= index;
  }

  opened(index, found) {
    const event = this.events[index];
    if (event.kind === SENT) for (const hop of event.hops) found.push({ event, hop });
  }

  // What is pending before every so many events.
  checkpoints() {
    if (this.known) return this.known;
    this.known = [];
    let open = [];
    for (let at = 0; at < this.events.length; at++) {
      if (at % CHECKPOINT === 0) {
        open = open.filter(({ hop }) => !this.over(hop, at - 1, this.events[at].tick - 1));
        this.known.push([...open]);
      }
      this.opened(at, open);
    }
    return this.known;
  }

  lineName(line) { return line < 0 ? "" : this.lines[line].name; }

  source(event) {
    const key = `${this.lifelines[event.life].machine} ${event.state} ${event.name}`;
    return this.sources.cells[key] || "";
  }

  // The bytes of interest of a line, out of the text of a block of data.
  bytesOf(line, block) {
    const ranges = line < 0 ? [] : this.lines[line].bytes;
    const places = ranges.length > 1;
    const parts = [];
    let left = 8;
    for (const [offset, length] of ranges) {
      const count = Math.min(length, left);
      if (!count) { parts.push("…"); break; }
      const hex = block.slice(1 + 2 * offset, 1 + 2 * (offset + count));
      parts.push(`${places ? `+${offset}: ` : ""}0x${hex.match(/../g).reverse().join("")}`);
      left -= count;
    }
    return parts.join(" ");
  }

  // Which bytes these are.
  bytesText(line) {
    const spans = this.lines[line].bytes.map(([offset, length]) => length > 1 ? `${offset} to ${offset + length - 1}` : `${offset}`);
    return spans.length ? `, bytes ${short(spans.join(", "), 60)}` : "";
  }

  describe(event) {
    const line = event.line >= 0 ? ` line ${this.lineName(event.line)}` : "";
    const who = this.lifelines[event.life].name;
    if (event.kind === TRANSITION) return `${who}${line}: ${event.name}, ${event.state}${event.next !== event.state ? ` → ${event.next}` : ""}`;
    if (event.kind === SENT) return `${who} sends ${event.name}${line} to ${event.hops.map(hop => this.lifelines[hop.receiver].name).join(", ")}`;
    if (event.kind === PORT) return `${who}${line}: ${event.access}, ${event.step}`;
    return `${who}${line}: ${event.name} is held back in ${event.state}`;
  }
}

// The number of leading places of 0..count-1 for which a test holds (it holds up to some place).
function upper(count, holds) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) low = middle + 1; else high = middle;
  }
  return low;
}
