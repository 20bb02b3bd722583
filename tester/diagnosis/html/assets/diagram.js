// The sequence diagram: lifelines side by side, time downwards. Only what is in view is drawn.

const HEAD = 46;

class Diagram {
  constructor(run, place, choose, hover) {
    this.run = run;
    this.place = place;
    this.choose = choose;
    this.hover = hover;
    this.head = s("svg", { class: "heads", "aria-hidden": "true" });
    this.svg = s("svg", { class: "drawing", role: "img", "aria-label": "Sequence diagram" });
    this.space = h("div", { class: "space" }, this.head, this.svg);
    place.append(this.space);
    place.addEventListener("scroll", () => this.later(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(place);
    this.cursor = 0;
    this.band = 0;
  }

  show(shown) {
    this.shown = shown;
    this.size = this.place.clientWidth;
    this.layout = new Layout(this.run, shown, this.size);
    this.space.style.height = `${this.layout.height + HEAD}px`;
    this.space.style.width = `${this.layout.width}px`;
    this.draw();
  }

  resized() {
    if (!this.shown) return;
    if (Math.abs(this.place.clientWidth - this.size) > 2) this.show(this.shown);
    else this.later();
  }

  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  select(index, reveal) {
    this.cursor = index;
    const event = this.run.events[index];
    if (event && event.line >= 0) this.band = event.line;
    if (reveal && event) {
      const row = this.layout.nearest(index), view = this.place, top = row * ROW;
      const height = view.clientHeight - HEAD;
      if (top < view.scrollTop + ROW || top + 2 * ROW > view.scrollTop + height)
        view.scrollTop = Math.max(0, top - height / 2);
      const x = this.layout.x.get(event.life);
      if (x !== undefined && (x < view.scrollLeft + 60 || x + 120 > view.scrollLeft + view.clientWidth))
        view.scrollLeft = Math.max(0, x - view.clientWidth / 2);
    }
    this.draw();
  }

  bandLines() {
    if (this.shown.line >= 0) return [this.shown.line];
    return this.run.lines.length ? [this.band] : [];
  }

  draw(all = false) {
    if (!this.layout) return;
    const { layout } = this;
    this.left = all ? 0 : this.place.scrollLeft;
    const top = all ? 0 : Math.max(0, this.place.scrollTop);
    const height = all ? layout.height : Math.max(0, this.place.clientHeight - HEAD);
    const first = Math.max(0, Math.floor(top / ROW) - 1);
    const last = Math.min(layout.rows.length - 1, Math.ceil((top + height) / ROW) + 1);
    this.svg.setAttribute("width", layout.width);
    this.svg.setAttribute("height", height);
    this.svg.setAttribute("viewBox", `0 ${top} ${layout.width} ${height}`);
    this.svg.replaceChildren(...this.drawn(first, last, top, top + height));
    this.drawHeads();
  }

  drawHeads() {
    const { layout } = this;
    this.head.setAttribute("width", layout.width);
    this.head.setAttribute("height", HEAD);
    this.head.replaceChildren(...this.heads(), ...this.ticksHead());
  }

  ticksHead() {
    return [s("rect", { x: this.left, y: 0, width: MARGIN - 12, height: HEAD, class: "paper" }),
      s("text", { x: this.left + MARGIN - 18, y: 28, class: "tick", "text-anchor": "end" }, "tick")];
  }

  heads() {
    return this.layout.lives.map(life => {
      const x = this.layout.x.get(life.number), width = Math.min(this.layout.widths.get(life.number) - 12, 24 + 7.9 * life.name.length);
      return s("g", {},
        s("rect", { x: x - 14, y: 9, width, height: 27, rx: life.kind === "agent" ? 13 : 4, class: `head ${life.kind}` }),
        s("text", { x: x - 5, y: 27, class: "name" }, life.name));
    });
  }

  *parts(first, last, top, bottom) {
    this.taken = [];
    const { layout, run } = this;
    const lines = this.bandLines();
    for (let row = first; row <= last; row++) yield* this.rowBack(row);
    for (const life of layout.lives) {
      const x = layout.x.get(life.number);
      yield s("line", { x1: x, x2: x, y1: top, y2: bottom, class: `life ${life.kind}` });
      if (life.kind === "controller")
        for (const line of lines)
          for (const [from, to, state] of layout.bands(life.number, line, first, last)) {
            const begin = Math.max(from * ROW + (from ? ROW / 2 : 0), top - 4), end = Math.min(to * ROW + ROW / 2, bottom + 4);
            if (end > begin)
              yield s("rect", { x: x - 5, y: begin, width: 10, height: end - begin, class: `band p-${run.permission(life.number, state)}` },
                s("title", {}, `${life.name}, line ${run.lineName(line)}: ${state}`));
          }
    }
    const arrows = [...layout.visible(first, last)];
    for (const arrow of arrows) yield* this.arrow(arrow);
    for (let row = first; row <= last; row++) yield* this.row(row);
    for (const arrow of arrows) yield* this.label(arrow);
    yield s("rect", { x: this.left, y: top, width: MARGIN - 12, height: bottom - top, class: "paper" });
    for (let row = first; row <= last; row++) yield* this.tick(row);
  }

  drawn(first, last, top, bottom) {
    const marker = (id, size = 8) => s("marker", { id: `marker-${id}`, viewBox: "0 0 8 8", refX: 7.5, refY: 4, markerWidth: size, markerHeight: size, orient: "auto-start-reverse" },
      s("path", { d: "M0 0.6 L8 4 L0 7.4 z", class: id }));
    return [s("defs", {}, marker("tip"), marker("faint-tip", 7), marker("chosen-tip")), ...this.parts(first, last, top, bottom)];
  }

  *rowBack(row) {
    const index = this.layout.rows[row], y = row * ROW, event = this.run.events[index];
    const failing = this.run.failing.has(index), now = index === this.cursor || this.layout.rowOf[this.cursor] === row;
    if (failing || now) yield s("rect", { x: 0, y, width: this.layout.width, height: ROW, class: `row ${failing ? "failing" : "now"}` });
    if (this.begins(row)) yield s("line", { x1: 0, x2: this.layout.width, y1: y, y2: y, class: "rule" });
  }

  // Whether a row is the first one of its tick.
  begins(row) {
    const { rows } = this.layout, { events } = this.run;
    return row === 0 || events[rows[row]].tick !== events[rows[row - 1]].tick;
  }

  *tick(row) {
    if (!this.begins(row)) return;
    const event = this.run.events[this.layout.rows[row]];
    yield s("text", { x: this.left + MARGIN - 18, y: row * ROW + 19, class: "tick", "text-anchor": "end" }, number(event.tick));
  }

  *row(row) {
    const index = this.layout.rows[row], event = this.run.events[index];
    const x = this.layout.x.get(event.life), y = row * ROW, run = this.run;
    const classes = ["event"];
    if (index === this.cursor) classes.push("chosen");
    if (run.failing.has(index)) classes.push("bad");
    const parts = [], words = [];
    const line = event.line >= 0 && this.shown.line < 0 && run.lines.length > 1 ? run.lineName(event.line) : "";
    const gap = { dx: 6 };
    if (line && event.kind !== PORT) words.push(s("tspan", { class: "line", ...gap }, line));
    if (event.kind === TRANSITION) {
      const changed = event.next !== event.state;
      classes.push(event.aside >= 0 ? "aside" : changed ? "changes" : "stays");
      parts.push(event.aside >= 0
        ? s("rect", { x: x - 5.5, y: y + 9.5, width: 11, height: 11, class: "mark", transform: `rotate(45 ${x} ${y + 15})` })
        : s("circle", { cx: x, cy: y + 15, r: changed ? 6 : 4.5, class: "mark" }));
      words.unshift(event.name);
      words.push(s("tspan", { class: "state", ...gap }, changed ? `${event.state} → ${event.next}` : event.state,
        event.aside >= 0 ? ", waits" : "", event.times > 1 ? ` ×${event.times}` : "", run.failing.has(index) ? ": fails" : ""));
    } else if (event.kind === STALL) {
      classes.push("stall");
      parts.push(s("path", { d: `M${x - 6} ${y + 9} h12 v12 h-12 z M${x - 6} ${y + 21} L${x + 6} ${y + 9}`, class: "mark" }));
      words.unshift(event.name);
      words.push(s("tspan", { class: "state", ...gap }, `${event.state}, held back${event.times > 1 ? ` ×${event.times}` : ""}`));
    } else if (event.kind === PORT) {
      const issued = event.step === "issued";
      classes.push("port", issued ? "issued" : "answered");
      parts.push(issued
        ? s("path", { d: `M${x - 5} ${y + 8} L${x + 7} ${y + 15} L${x - 5} ${y + 22} z`, class: "mark" })
        : s("rect", { x: x - 5, y: y + 10, width: 10, height: 10, class: "mark" }));
      const at = event.access.indexOf(" +");
      words.push(at < 0 ? event.access : event.access.slice(0, at));
      if (at >= 0) words.push(s("tspan", { class: "line", ...gap }, `${line}${short(event.access.slice(at + 1), 24)}`));
      if (!issued) words.push(s("tspan", { class: "state", ...gap }, event.step));
    } else {
      parts.push(s("rect", { x: x - 5, y: y + 10, width: 10, height: 10, class: "mark" }));
    }
    const left = this.layout.fromRight.has(index);
    const width = 7.2 * words.reduce((sum, word) => sum + (word.textContent ?? word).length + 1, 0);
    this.taken.push({ x: left ? x - 13 - width : x + 13, width, y: y + 10 }, { x: x - 20, width: 40, y: y + 15 });
    parts.push(s("text", { x: left ? x - 13 : x + 13, y: y + 14, class: "what", "text-anchor": left ? "end" : "start" }, words));
    yield s("g", { class: classes.join(" "), "data-event": index, onclick: () => this.choose(index),
      onmouseenter: at => this.hover(event, at), onmouseleave: () => this.hover(null) },
      s("rect", { x: left ? x - 150 : x - 12, y: y + 1, width: 162, height: ROW - 2, class: "target" }), ...parts);
  }

  ends(arrow) {
    const y0 = arrow.from * ROW + 21;
    return [y0, Math.max(arrow.to * ROW + 13, y0 + 4)];
  }

  *arrow(arrow) {
    const [y0, y1] = this.ends(arrow), chosen = arrow.event.index === this.cursor;
    const { x0, x1 } = arrow;
    const gap = x1 === x0 ? 0 : 8 * Math.sign(x1 - x0);
    const ends = arrow.left === "under-way" ? 0.62 : 1;
    const path = x0 === x1
      ? `M${x0 + 6} ${y0} C${x0 + 40} ${y0 + 2} ${x0 + 40} ${y1} ${x1 + 8} ${y1}`
      : `M${x0 + gap * 0.8} ${y0} L${x0 + (x1 - gap - x0) * ends} ${y0 + (y1 - y0) * ends}`;
    const tip = chosen ? "chosen-tip" : arrow.kind === "message" ? "tip" : "faint-tip";
    const events = { onclick: () => this.choose(arrow.event.index), onmouseenter: at => this.hover(arrow.event, at, arrow.hop), onmouseleave: () => this.hover(null) };
    yield s("g", { class: `arrow ${arrow.kind}${chosen ? " chosen" : ""}${arrow.left ? ` ${arrow.left}` : ""}`, ...events },
      s("path", { d: path, class: "reach" }),
      s("path", { d: path, class: "shaft", "marker-end": ends === 1 ? `url(#marker-${tip})` : null }),
      arrow.kind === "message" && ends === 1 && arrow.at > arrow.to
        ? s("path", { d: `M${x1 - gap} ${y1} V${arrow.at * ROW + 15}`, class: "waits" }) : null);
  }

  *label(arrow) {
    if (arrow.kind !== "message") return;
    const [y0, y1] = this.ends(arrow), { x0, x1 } = arrow;
    const network = arrow.event.network >= 0 ? arrow.event.network : "";
    const width = 6.6 * arrow.event.name.length + (network === "" ? 0 : 20);
    let x = x0 + 36, y = (y0 + y1) / 2 + 4;
    if (x0 !== x1) [x, y] = this.free(x0, y0, x1, y1, width);
    this.taken.push({ x: x0 === x1 ? x : x - width / 2, width, y: y - 4 });
    yield s("text", { x, y, class: `label${arrow.event.index === this.cursor ? " chosen" : ""}`, "text-anchor": x0 === x1 ? "start" : "middle",
      onclick: () => this.choose(arrow.event.index), onmouseenter: at => this.hover(arrow.event, at, arrow.hop), onmouseleave: () => this.hover(null) },
      arrow.event.name, network === "" ? null : s("tspan", { class: "network", dx: 4 }, `v${network}`));
  }

  // The place along an arrow at which its label covers the least of other texts, near its middle.
  free(x0, y0, x1, y1, width) {
    const at = share => [x0 + (x1 - x0) * share, y0 + (y1 - y0) * share - 3];
    const covered = ([x, y]) => this.taken.reduce((sum, box) => Math.abs(box.y - y + 4) >= 13 ? sum
      : sum + Math.max(0, Math.min(box.x + box.width, x + width / 2 + 3) - Math.max(box.x, x - width / 2 - 3)), 0);
    let best = at(0.5), least = covered(best);
    for (let off = 0.04; least > 0 && off < 0.4; off += 0.04)
      for (const place of [at(0.5 - off), at(0.5 + off)]) {
        const here = covered(place);
        if (here < least) [best, least] = [place, here];
      }
    return best;
  }

  // The drawing as a file of its own.
  file(style, most = 600) {
    const { cursor, layout } = this;
    const hidden = new Set([...this.shown.hidden, ...layout.without(Math.min(layout.rows.length, most))]);
    this.layout = new Layout(this.run, { ...this.shown, hidden }, 0);
    const rows = Math.min(this.layout.rows.length, most), height = rows * ROW + 12;
    this.cursor = -1;
    this.left = 0;
    const parts = this.drawn(0, rows - 1, 0, height), heads = this.heads();
    const width = this.layout.width;
    Object.assign(this, { cursor, layout });
    const svg = s("svg", { xmlns: SVG, viewBox: `0 0 ${width} ${height + HEAD}`, width, height: height + HEAD, class: "drawing alone" },
      s("style", {}, style), s("rect", { width: "100%", height: "100%", class: "paper" }),
      s("g", {}, heads, this.ticksHead()), s("g", { transform: `translate(0 ${HEAD})` }, parts));
    for (const target of svg.querySelectorAll(".target, .reach, .row.now")) target.remove();
    for (const event of svg.querySelectorAll("[data-event]")) event.removeAttribute("data-event");
    return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
  }
}

function short(text, most) { return text.length > most ? `${text.slice(0, most - 1)}…` : text; }
