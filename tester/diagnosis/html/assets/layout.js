// Which events have a row, and where lifelines and messages stand, for what is shown now.

const ROW = 30, BUCKET = 32, MARGIN = 74;
const WIDTHS = { agent: 150, controller: 190, memory: 130 };
const PLACES = { agent: 0.16, controller: 0.46, memory: 0.5 };

class Layout {
  constructor(run, shown, width) {
    this.run = run;
    this.shown = shown;
    this.columns(width);
    this.rows = [];
    this.rowOf = new Int32Array(run.events.length).fill(-1);
    for (const event of run.events) this.place(event);
    this.buckets = [];
    this.arrows = 0;
    this.fromRight = new Set();
    for (const event of run.events) this.connect(event);
    this.height = this.rows.length * ROW + 12;
  }

  columns(width) {
    const lives = this.run.lifelines.filter(life => !this.shown.hidden.has(life.number));
    const wanted = lives.reduce((sum, life) => sum + WIDTHS[life.kind], 0);
    const stretch = wanted ? Math.max(1, (width - MARGIN - 8) / wanted) : 1;
    this.x = new Map();
    this.widths = new Map();
    let at = MARGIN;
    for (const life of lives) {
      const column = Math.min(WIDTHS[life.kind] * stretch, 320);
      this.x.set(life.number, Math.round(at + column * PLACES[life.kind]));
      this.widths.set(life.number, column);
      at += column;
    }
    this.lives = lives;
    this.width = Math.round(at + 8);
  }

  concerns(event) {
    if (!this.x.has(event.life)) return false;
    return this.shown.line < 0 || event.line < 0 || event.line === this.shown.line;
  }

  sends(event) {
    return this.concerns(event) && !this.shown.networks.has(event.network);
  }

  // Sends stand in the row of the transition that made them.
  place(event) {
    if (event.kind === SENT) {
      if (!this.sends(event)) return;
      const cause = event.cause >= 0 ? this.run.events[event.cause] : null;
      if (cause && cause.life === event.life && cause.tick === event.tick && this.rowOf[cause.index] >= 0) {
        this.rowOf[event.index] = this.rowOf[cause.index];
        return;
      }
    } else if (!this.concerns(event)) return;
    this.rowOf[event.index] = this.rows.length;
    this.rows.push(event.index);
  }

  connect(event) {
    const from = this.rowOf[event.index];
    if (from < 0) return;
    if (event.kind === SENT) for (const hop of event.hops) this.message(event, hop, from);
    if (event.kind === TRANSITION) {
      for (const number of event.taken) {
        const cause = this.run.events[number];
        if (cause.kind === PORT && this.rowOf[number] >= 0)
          this.add({ kind: "ask", event: cause, from: this.rowOf[number], to: from, at: from, x0: this.x.get(cause.life), x1: this.x.get(event.life) });
      }
    }
    if (event.kind === PORT && event.cause >= 0) {
      const giver = this.run.events[event.cause];
      if (this.rowOf[giver.index] >= 0)
        this.add({ kind: "answer", event, from: this.rowOf[giver.index], to: from, at: from, x0: this.x.get(giver.life), x1: this.x.get(event.life) });
    }
  }

  message(event, hop, from) {
    if (!this.x.has(hop.receiver)) return;
    const taken = hop.taken >= 0 ? this.rowOf[hop.taken] : -1;
    let to = this.rows.length - 1;
    if (hop.arrival >= 0) to = Math.min(to, this.rowAt(hop.arrival, from));
    if (taken >= 0) {
      if (this.run.events[hop.taken].tick <= hop.arrival || to > taken) to = taken;
    }
    const memory = this.run.lifelines[hop.receiver].kind === "memory";
    const left = hop.taken >= 0 || memory ? "" : hop.arrival < 0 ? "under-way" : this.run.failure && this.run.failure.stuck ? "lost" : "left";
    if (this.x.get(event.life) > this.x.get(hop.receiver)) for (const index of [hop.taken, ...hop.aside]) this.fromRight.add(index);
    this.add({ kind: "message", event, hop, from, to, at: taken >= 0 ? taken : memory ? to : this.rows.length - 1, left,
      x0: this.x.get(event.life), x1: this.x.get(hop.receiver) });
  }

  add(arrow) {
    this.arrows++;
    const first = Math.floor(Math.min(arrow.from, arrow.to) / BUCKET);
    const last = Math.floor(Math.max(arrow.from, arrow.to, arrow.at) / BUCKET);
    for (let bucket = first; bucket <= last; bucket++) (this.buckets[bucket] ||= []).push(arrow);
  }

  // The first row from `from` on whose tick is not before `tick`.
  rowAt(tick, from = 0) {
    const found = upper(this.rows.length, row => this.run.events[this.rows[row]].tick < tick);
    return Math.max(found, from);
  }

  visible(first, last) {
    const found = new Set();
    for (let bucket = Math.floor(first / BUCKET); bucket <= Math.floor(last / BUCKET); bucket++)
      for (const arrow of this.buckets[bucket] || []) found.add(arrow);
    return found;
  }

  // Lifelines that have nothing in the first rows.
  without(rows) {
    const events = new Set(this.rows.slice(0, rows)), used = new Set();
    for (const index of events) used.add(this.run.events[index].life);
    for (const arrow of this.visible(0, rows - 1)) if (arrow.kind === "message") used.add(arrow.hop.receiver);
    return this.run.lifelines.map(life => life.number).filter(number => !used.has(number));
  }

  // States of a line at a lifeline between two rows: [first row, last row, state].
  bands(life, line, first, last) {
    const all = this.run.place(life, line);
    const found = [];
    let at = Math.max(0, upper(all.length, place => this.nearest(all[place]) <= first) - 1);
    if (at === 0 && all.length && this.nearest(all[0]) > first) {
      const event = this.run.events[all[0]];
      if (event.kind === TRANSITION) found.push([0, this.nearest(all[0]), event.state]);
    }
    for (; at < all.length; at++) {
      const row = this.nearest(all[at]);
      if (row > last) break;
      const event = this.run.events[all[at]];
      if (event.kind !== TRANSITION) continue;
      const end = at + 1 < all.length ? this.nearest(all[at + 1]) : this.rows.length;
      if (end >= first) found.push([row, end, event.next]);
    }
    return found;
  }

  // The row of an event, or that of the next event that has one.
  nearest(index) {
    if (this.rowOf[index] >= 0) return this.rowOf[index];
    return upper(this.rows.length, row => this.rows[row] < index);
  }
}
