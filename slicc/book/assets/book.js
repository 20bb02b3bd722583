"use strict";
// Filters, transposes and searches the tables of a book. Texts are compared and never become mark-up.

class MachineTable {
  constructor(section) {
    this.section = section;
    this.table = section.querySelector("table.cells");
    const [head, body] = [this.table.tHead.rows[0], this.table.tBodies[0]];
    this.corner = head.cells[0];
    this.events = [...head.cells].slice(1);
    this.states = [...body.rows].map((row) => row.cells[0]);
    this.cells = [...body.rows].map((row) => [...row.cells].slice(1));
    this.anchors = [...body.rows].map((row) => row.id);
    this.edges = [...section.querySelectorAll("figure.graph g.edge")];
    this.of = (name) => section.querySelector(`.${name}`);
    section.querySelector(".bar").addEventListener("input", (event) => {
      section.querySelector("figure.graph")?.classList.toggle("fit", this.of("fit").checked);
      if (event.target === this.of("transposed")) this.build(event.target.checked);
      this.filter();
    });
    this.table.addEventListener("keydown", (event) => this.step(event));
    for (const row of this.cells) for (const cell of row) if (cell.className) cell.tabIndex = -1;
    this.rows = this.cells;
    this.filter();
    const initial = section.querySelector("figure.graph g.node");
    if (initial) center(initial, initial.closest("figure"));
  }

  // Moves the cells that are there into rows of states, or of events.
  build(transposed) {
    const turned = this.events.map((_, event) => this.cells.map((row) => row[event]));
    const [across, down] = transposed ? [this.states, this.events] : [this.events, this.states];
    this.rows = transposed ? turned : this.cells;
    this.table.tHead.rows[0].replaceChildren(this.corner, ...across);
    this.corner.textContent = transposed ? "event \\ state" : "state \\ event";
    for (const each of across) each.scope = "col";
    for (const each of down) each.scope = "row";
    this.table.tBodies[0].replaceChildren(...this.rows.map((cells, index) => {
      const row = document.createElement("tr");
      row.append(down[index], ...cells);
      return row;
    }));
    this.states.forEach((state, index) => {
      const place = transposed ? state : state.parentElement;
      state.removeAttribute("id");
      place.id = this.anchors[index];
    });
  }

  filter() {
    const words = (name) => this.of(name).value.trim().toLowerCase();
    const [state, event, send] = [words("by-state"), words("by-event"), words("by-send")];
    const port = this.of("by-port").value;
    const [changes, stalls] = [this.of("changes").checked, this.of("no-stalls").checked];
    const known = this.of("by-known")?.value ?? "";
    const cellwise = send !== "" || known !== "" || changes || stalls;
    const rows = this.states.map((each) => each.dataset.name.toLowerCase().includes(state));
    const columns = this.events.map((each) => each.dataset.name.toLowerCase().includes(event)
      && (port === "" || each.dataset.ports.split(" ").includes(port)));
    const shown = (cell) => cell.className !== "" && !(changes && !cell.classList.contains("go"))
      && !(stalls && (cell.classList.contains("stall") || cell.classList.contains("wait")))
      && (known === "" || cell.classList.contains(known))
      && (send === "" || [...cell.querySelectorAll(".send")]
        .some((each) => each.textContent.toLowerCase().includes(send)));
    const kept = this.cells.map((row, s) => row.map((cell, e) => rows[s] && columns[e] && shown(cell)));
    const row = rows.map((is, s) => is && (!cellwise || kept[s].includes(true)));
    const column = columns.map((is, e) => is && (!cellwise || kept.some((cells) => cells[e])));
    let count = 0;
    this.cells.forEach((cells, s) => cells.forEach((cell, e) => {
      count += kept[s][e];
      cell.classList.toggle("off", cell.className !== "" && !kept[s][e]);
      if (cell.className === "off") cell.removeAttribute("class");
      cell.hidden = !row[s] || !column[e];
    }));
    this.states.forEach((each, s) => { each.hidden = !row[s]; });
    this.events.forEach((each, e) => { each.hidden = !column[e]; });
    const events = new Set(this.events.filter((_, e) => column[e]).map((each) => `e-${each.dataset.name}`));
    for (const edge of this.edges) {
      const own = [...edge.classList].filter((name) => name.startsWith("e-"));
      edge.classList.toggle("off", own.length > 0 && !own.some((name) => events.has(name)));
    }
    this.of("counted").textContent = `${count} cell${count === 1 ? "" : "s"} shown`;
  }

  step(event) {
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const here = event.target.closest("td");
    if (!by || !here) return;
    event.preventDefault();
    let row = this.rows.findIndex((cells) => cells.includes(here));
    let column = this.rows[row].indexOf(here);
    for (;;) {
      [row, column] = [row + by[0], column + by[1]];
      const cell = this.rows[row]?.[column];
      if (!cell) return;
      if (!cell.hidden && cell.tabIndex === -1 && cell.className) { cell.focus(); return; }
    }
  }

  first() {
    const cell = this.rows.flat().find((each) => !each.hidden && each.className);
    cell?.focus();
  }

  toggle(name) {
    const box = this.of(name);
    box.checked = !box.checked;
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

// The states before a reader who scrolls: the initial one in the middle.
function center(node, frame) {
  const [own, around] = [node.getBoundingClientRect(), frame.getBoundingClientRect()];
  frame.scrollLeft += own.left + own.width / 2 - around.left - around.width / 2;
}

const tables = [...document.querySelectorAll("section.machine")].map((each) => new MachineTable(each));
const names = new Map(JSON.parse(document.getElementById("places").textContent));
const find = document.getElementById("find");
document.getElementById("names").append(...[...names.keys()].map((name) => {
  const option = document.createElement("option");
  option.value = name;
  return option;
}));
find.addEventListener("change", () => {
  const [wanted, address] = [find.value.trim(), address_of(find.value.trim())];
  document.getElementById("found").textContent = wanted === "" || address ? "" : "nothing found";
  if (address) open_at(address);
});

// Of a whole name, or of a bare one: that of this page's machine, if it has one.
function address_of(wanted) {
  const own = tables.length === 1 ? `${tables[0].section.dataset.machine}: ` : "";
  const bare = (name) => name.split(" ").at(-1);
  const among = [...names.keys()].sort((one, other) => other.startsWith(own) - one.startsWith(own));
  const small = wanted.toLowerCase();
  return names.get(names.has(wanted) ? wanted : among.find((name) => bare(name) === wanted)
    ?? among.find((name) => bare(name).toLowerCase() === small));
}

// An action may stand in a part that is closed.
function open_at(address) {
  const [page, anchor] = address.split("#");
  if (page !== "" && !location.pathname.endsWith(`/${page}`)) { location.href = address; return; }
  document.getElementById(anchor)?.closest("details")?.setAttribute("open", "");
  location.hash = anchor;
}

document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); find.focus(); return; }
  const name = { c: "changes", s: "no-stalls", a: "show-actions", t: "transposed", f: "fit" }[event.key];
  const table = tables.find((each) => each.section.contains(event.target)) ?? tables[0];
  if (name && table) table.toggle(name);
  const enters = { ArrowDown: "div.scroll", Enter: "body" }[event.key];
  if (enters && event.target.matches(enters)) table?.first();
});
if (location.hash) document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
document.body.classList.add("ready");
