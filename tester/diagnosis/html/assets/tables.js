// Below the diagram: copies of a line over time, the transitions, coverage.

class TransitionTable {
  constructor(run, choose) {
    this.run = run;
    this.rows = [];
    this.cursor = -1;
    this.list = new VirtualList($("transitions"), 26, row => this.row(row, choose));
  }

  show(layout) {
    this.rows = this.run.events.filter(each => (each.kind === TRANSITION || each.kind === STALL) && layout.concerns(each)).map(each => each.index);
    $("transition-count").textContent = number(this.rows.length);
    this.list.show(this.rows.length);
  }

  select(index) {
    this.cursor = index;
    const at = upper(this.rows.length, row => this.rows[row] <= index) - 1;
    if (at >= 0) this.list.reveal(at); else this.list.draw();
  }

  row(row, choose) {
    const { run } = this, event = run.events[this.rows[row]];
    const classes = ["tr"];
    if (event.index === this.cursor) classes.push("now");
    if (run.failing.has(event.index)) classes.push("failing");
    const took = event.kind === STALL ? "held back" : [...event.taken.map(each => messageOf(run, each)), event.aside >= 0 ? `${messageOf(run, event.aside)} waits` : ""].filter(Boolean).join(", ");
    const state = event.kind === STALL || event.state === event.next ? event.state : `${event.state} → ${event.next}`;
    return h("div", { class: classes.join(" ") },
      h("span", { class: "c-tick" }, number(event.tick)), h("span", { class: "c-who" }, run.lifelines[event.life].name), h("span", { class: "c-line" }, run.lineName(event.line)),
      h("a", { class: "c-event", href: `#e${event.index}`, onclick: at => { at.preventDefault(); choose(event.index); } }, event.name),
      h("span", { class: "c-state" }, state), h("span", { class: "c-took" }, took), h("span", { class: "c-place" }, event.place));
  }
}

function messageOf(run, index) {
  const event = run.events[index];
  return event.kind === SENT ? `${event.name} from ${run.lifelines[event.life].name}` : event.access;
}

class CopyTable {
  constructor(run, choose) {
    this.run = run;
    this.line = null;
    this.cursor = -1;
    this.known = new Map();
    this.list = new VirtualList($("copies"), 26, row => this.row(row, choose));
  }

  show(line) {
    if (line === this.line) return;
    this.line = line;
    $("copies-line").textContent = line < 0 || !this.run.lines.length ? "" : `${this.run.lineName(line)} (${this.run.lines[line].address})${this.run.bytesText(line)}`;
    if (!this.known.has(line)) this.known.set(line, this.changes(line));
    Object.assign(this, this.known.get(line));
    $("copies-heads").replaceChildren(h("span", { class: "c-tick" }, "tick"), ...this.lives.map(life => h("span", { class: "copy" }, life.name)));
    this.list.show(this.rows.length);
  }

  // Where a copy of the line, or its state, changed; by lifeline: the rows of its changes.
  changes(line) {
    const rows = [], columns = new Map(), colours = new Map();
    for (const event of this.run.events) {
      if (event.line !== line) continue;
      const copy = this.copy(event);
      if (copy === null) continue;
      const [state, bytes] = copy;
      if (!columns.has(event.life)) columns.set(event.life, []);
      const column = columns.get(event.life), last = column.length ? rows[column.at(-1)] : null;
      if (last && last.state === state && last.bytes === bytes) continue;
      if (bytes && !colours.has(bytes)) colours.set(bytes, `v${colours.size % 8}`);
      column.push(rows.length);
      rows.push({ index: event.index, life: event.life, state, bytes });
    }
    return { rows, columns, colours, lives: this.run.lifelines.filter(life => columns.has(life.number)) };
  }

  // State and bytes of interest after an event; null: it is about no copy.
  copy(event) {
    const { run } = this;
    if (event.kind === SENT) return event.memory >= 0 ? ["", this.bytes(event.memory, event.line)] : null;
    if (event.kind !== TRANSITION) return null;
    const gone = ["NotPresent", "Invalid"].includes(run.permission(event.life, event.next)) && event.tbe < 0;
    return [event.next, gone ? "" : this.bytes(event.entry, event.line) || this.bytes(event.tbe, event.line)];
  }

  bytes(list, line) {
    if (list < 0) return "";
    const block = this.run.blockOf(list);
    return block ? this.run.bytesOf(line, block) : "";
  }

  select(index) {
    this.cursor = index;
    const at = upper(this.rows.length, row => this.rows[row].index <= index) - 1;
    if (at >= 0) this.list.reveal(at); else this.list.draw();
  }

  row(row, choose) {
    const { index, life } = this.rows[row], event = this.run.events[index];
    const next = this.rows[row + 1];
    const now = index <= this.cursor && (!next || next.index > this.cursor);
    return h("div", { class: `tr${now ? " now" : ""}` },
      h("a", { class: "c-tick", href: `#e${index}`, onclick: at => { at.preventDefault(); choose(index); } }, number(event.tick)),
      ...this.lives.map(each => {
        const column = this.columns.get(each.number);
        const at = upper(column.length, place => column[place] <= row) - 1;
        const { state, bytes } = at < 0 ? { state: "", bytes: "" } : this.rows[column[at]];
        const text = [state, bytes].filter(Boolean).join(" ");
        return h("span", { class: `copy ${this.colours.get(bytes) || ""}${each.number === life ? " changed" : ""}`, title: text }, text);
      }));
  }
}

function coverage(run, place) {
  for (const [name, machine] of Object.entries(run.machines)) {
    const counts = new Map(machine.cells.map(([state, event, count]) => [`${state} ${event}`, count]));
    const hit = machine.cells.filter(([, , count]) => count).length;
    const most = Math.max(1, ...machine.cells.map(([, , count]) => count));
    const events = machine.events.map((event, at) => [event, at]).filter(([, at]) => machine.cells.some(([, event]) => event === at));
    const states = machine.states.map(([state], at) => [state, at]).filter(([, at]) => machine.cells.some(([state]) => state === at));
    place.append(h("details", { open: Object.keys(run.machines).length < 4 },
      h("summary", {}, `${name}: ${hit} of ${machine.cells.length} transitions made`),
      h("div", { class: "scroll" }, h("table", { class: "coverage" },
        h("thead", {}, h("tr", {}, h("th", {}), events.map(([event]) => h("th", { class: "up" }, h("span", {}, event))))),
        h("tbody", {}, states.map(([state, s]) => h("tr", {}, h("th", {}, state), events.map(([event, e]) => {
          const count = counts.get(`${s} ${e}`);
          if (count === undefined) return h("td", { class: "none" });
          const level = count ? 1 + Math.floor(3 * Math.log(count) / Math.log(most + 1)) : 0;
          return h("td", { class: `hit${level}`, title: `${state}, ${event}: ${number(count)}` }, number(count));
        }))))))));
  }
}
