// What is beside the diagram: the chosen event, its text, and the system at its moment.

const MOST_LINES = 16;

class Panels {
  constructor(run, choose) {
    this.run = run;
    this.choose = choose;
  }

  link(index, text) {
    return h("a", { href: `#e${index}`, onclick: at => { at.preventDefault(); this.choose(index); } }, text);
  }

  show(index) {
    const event = this.run.events[index];
    $("chosen").replaceChildren(...(event ? this.chosen(event) : []));
    $("source").replaceChildren(...(event ? this.source(event) : []));
    $("moment").replaceChildren(...(event ? this.moment(index) : []));
    $("moment-tick").textContent = event ? number(event.tick) : "";
  }

  // ---------------------------------------------------------------- the chosen event

  chosen(event) {
    const { run } = this;
    const rows = [["tick", number(event.tick) + (event.until > event.tick ? ` to ${number(event.until)}` : "")]];
    if (event.line >= 0) rows.push(["line", `${run.lineName(event.line)} (${run.lines[event.line].address})`]);
    if (event.kind === TRANSITION) this.transition(event, rows);
    else if (event.kind === SENT) this.sent(event, rows);
    else if (event.kind === PORT) this.port(event, rows);
    else rows.push(["event", event.name], ["state", event.state], ["looked at", `${number(event.times)} times`], ["text", event.place || "none"]);
    const parts = [h("p", { class: "headline" }, run.describe(event)), list(rows)];
    if (run.failing.has(event.index)) {
      const unanswered = event.kind === PORT && run.failure.stuck;
      const text = unanswered ? "The run ends before this is answered." : "This is where the run fails.";
      parts.unshift(h("p", { class: "verdict-mark" }, text));
    }
    if (event.kind === TRANSITION) parts.push(...this.held(event));
    if (event.kind === SENT) parts.push(fieldTable("fields of the message", run.fields(event.fields), event.line, run));
    return parts;
  }

  transition(event, rows) {
    rows.push(["event", event.name], ["state", event.next === event.state ? event.state : `${event.state} → ${event.next}`]);
    if (event.times > 1) rows.push(["repeated", `${number(event.times)} times, with no effect`]);
    if (event.comment) rows.push(["comment", event.comment]);
    if (event.taken.length) rows.push(["took", event.taken.map(each => this.link(each, this.messageName(each)))]);
    if (event.aside >= 0) rows.push(["set aside", this.link(event.aside, this.messageName(event.aside))]);
    const sent = this.run.events.slice(event.index + 1, event.index + 200).filter(each => each.kind === SENT && each.cause === event.index);
    if (sent.length) rows.push(["sent", sent.map(each => this.link(each.index, `${each.name} to ${each.hops.map(hop => this.run.lifelines[hop.receiver].name).join(", ")}`))]);
    rows.push(["text", event.place || "none"]);
  }

  messageName(index) {
    const event = this.run.events[index];
    return `${event.kind === SENT ? event.name : event.access} from ${this.run.lifelines[event.life].name}`;
  }

  sent(event, rows) {
    const { run } = this;
    rows.push(["network", event.network >= 0 ? `virtual network ${event.network}` : "within the machine"]);
    if (event.cause >= 0) rows.push(["sent in", this.link(event.cause, run.describe(run.events[event.cause]))]);
    for (const hop of event.hops) {
      const name = run.lifelines[hop.receiver].name;
      rows.push([`to ${name}`, [h("span", {}, hop.arrival < 0 ? "does not arrive before the end" : `arrives at ${number(hop.arrival)} in ${hop.buffer}`),
        ...hop.aside.map(each => this.link(each, `set aside at ${number(run.events[each].tick)}`)),
        hop.taken >= 0 ? this.link(hop.taken, `taken at ${number(run.events[hop.taken].tick)}`) : hop.arrival < 0 || run.lifelines[hop.receiver].kind === "memory" ? null : h("span", { class: run.failure && run.failure.stuck ? "bad" : "faint" }, "is not taken before the end")]]);
    }
  }

  port(event, rows) {
    const { run } = this;
    rows.push(["access", event.access]);
    if (event.lanes) rows.push(["lanes", event.lanes]);
    rows.push(["steps", run.requests.get(event.request).map(each => {
      const step = run.events[each];
      const line = step.line >= 0 && run.lines.length > 1 ? ` ${run.lineName(step.line)}` : "";
      return each === event.index ? h("strong", {}, `${step.step}${line} at ${number(step.tick)}`) : this.link(each, `${step.step}${line} at ${number(step.tick)}`);
    })]);
    if (event.cause >= 0) rows.push(["answered in", this.link(event.cause, run.describe(run.events[event.cause]))]);
  }

  held(event) {
    const { run } = this;
    const before = run.place(event.life, event.line);
    const last = before[upper(before.length, at => before[at] < event.index) - 1];
    const old = last === undefined ? null : run.events[last];
    return [
      fieldTable("cache entry after it", run.fields(event.entry), event.line, run, old ? run.fields(old.entry) : []),
      fieldTable("TBE after it", run.fields(event.tbe), event.line, run, old ? run.fields(old.tbe) : []),
    ].filter(Boolean);
  }

  // ---------------------------------------------------------------- its text

  source(event) {
    const { run } = this;
    let at = event;
    if (event.kind === SENT || event.kind === PORT) at = event.cause >= 0 ? run.events[event.cause] : null;
    if (!at || (at.kind !== TRANSITION && at.kind !== STALL)) return [h("p", { class: "faint" }, "No transition made this event.")];
    const place = run.source(at);
    if (!place) return [h("p", { class: "faint" }, at.place === "UNDEFINED" ? `The protocol has no transition from ${at.state} on ${at.name}.` : "The text of this transition is not known.")];
    const parts = [this.passage(place)];
    for (const [name, where] of run.sources.passages[place].actions)
      parts.push(h("details", { open: true }, h("summary", {}, run.texts[name]), this.passage(run.texts[where])));
    return parts;
  }

  passage(place) {
    const first = Number(place.slice(place.lastIndexOf(":") + 1));
    const lines = this.run.texts[this.run.sources.passages[place].text].split("\n");
    return h("div", { class: "passage" }, h("p", { class: "place" }, place),
      h("pre", {}, lines.map((text, at) => h("span", { "data-n": first + at }, text || " "))));
  }

  // ---------------------------------------------------------------- the system then

  moment(index) {
    const { run } = this, event = run.events[index];
    const pending = run.pending(index, event.tick);
    return run.lifelines.filter(life => life.kind !== "agent").map(life => {
      const held = this.heldLines(life, index, event.line);
      const memory = life.kind === "memory";
      const rows = held.slice(0, MOST_LINES).flatMap(({ line, last, state }) => this.heldRows(life, line, state,
        last ? run.fields(memory ? last.memory : last.entry) : [], last && !memory ? run.fields(last.tbe) : [], last));
      if (held.length > MOST_LINES) rows.push(h("tr", {}, h("td", { colspan: 3, class: "faint" }, `and ${held.length - MOST_LINES} further lines`)));
      const messages = pending.filter(each => each.hop.receiver === life.number).map(each =>
        h("li", {}, this.link(each.event.index, each.event.name), ` from ${run.lifelines[each.event.life].name}`,
          run.lines.length > 1 && each.event.line >= 0 ? `, line ${run.lineName(each.event.line)}` : "",
          h("span", { class: "faint" }, ` ${each.where} ${each.hop.buffer}`)));
      if (!rows.length && !messages.length) return null;
      return h("section", { class: "holder" }, h("h4", {}, life.name),
        rows.length ? h("table", {}, rows) : null, messages.length ? h("ul", { class: "messages" }, messages) : null);
    }).filter(Boolean);
  }

  // Lines that a controller has had to do with: the chosen one first, then those with a transaction.
  heldLines(life, index, chosen) {
    const { run } = this, found = [];
    for (let line = 0; line < run.lines.length; line++) {
      const last = run.lastAt(life.number, line, index);
      const state = life.kind === "memory" ? "" : run.stateAt(life.number, line, index);
      if (last || state) found.push({ line, last, state, rank: line === chosen ? 0 : last && last.tbe >= 0 ? 1 : 2 });
    }
    return found.sort((a, b) => a.rank - b.rank || a.line - b.line);
  }

  heldRows(life, line, state, entry, tbe, last) {
    const { run } = this;
    const summary = fields => fields.filter(([name, value]) => name !== "permission" && !name.endsWith("State") && !value.startsWith("#") && !["False", "0", "None", "-1"].includes(value))
      .slice(0, 8).map(([name, value]) => `${name}=${value}`).join(" ");
    const bytes = fields => fields.filter(([, value]) => value.startsWith("#")).slice(0, 1).map(([, value]) => run.bytesOf(line, value)).join("");
    const chip = h("span", { class: `chip p-${run.permission(life.number, state)}` }, state || "–");
    const link = last ? h("a", { href: `#e${last.index}`, title: run.describe(last), onclick: at => { at.preventDefault(); this.choose(last.index); } }, run.lineName(line)) : run.lineName(line);
    const rows = [h("tr", {}, h("th", {}, link), h("td", {}, life.kind === "memory" ? "" : chip), h("td", { class: "bytes" }, bytes(entry), h("span", { class: "faint" }, ` ${summary(entry)}`)))];
    if (tbe.length) rows.push(h("tr", { class: "tbe" }, h("th", {}, ""), h("td", {}, "TBE"), h("td", { class: "bytes" }, bytes(tbe), h("span", { class: "faint" }, ` ${summary(tbe)}`))));
    return rows;
  }
}

function list(rows) {
  return h("dl", {}, rows.map(([name, value]) => [h("dt", {}, name), Array.isArray(value)
    ? h("dd", {}, value.filter(Boolean).map(each => h("div", {}, each))) : h("dd", {}, value)]));
}

function fieldTable(title, fields, line, run, old = null) {
  if (!fields.length) return null;
  const before = new Map(old || []);
  return h("table", { class: "fields" }, h("caption", {}, title), fields.map(([name, value]) => {
    const changed = old !== null && before.get(name) !== value;
    const bytes = value.startsWith("#") ? run.bytesOf(line, value) : "";
    const shown = value.startsWith("#")
      ? [bytes ? h("div", {}, bytes) : null, h("details", {}, h("summary", {}, "whole line"), h("code", {}, dump(value)))] : value;
    return h("tr", { class: changed ? "changed" : null }, h("th", {}, name), h("td", {}, shown));
  }));
}

// Sixteen bytes a row, lowest address first.
function dump(block) {
  const bytes = block.slice(1).match(/../g) || [];
  const rows = [];
  for (let at = 0; at < bytes.length; at += 16) rows.push(`${at.toString(16).padStart(2, "0")}  ${bytes.slice(at, at + 16).join(" ")}`);
  return rows.join("\n");
}
