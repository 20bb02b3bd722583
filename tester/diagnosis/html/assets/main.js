// Puts the parts together: what is chosen, what is shown, keys, slider, printing.

function start() {
  const run = new Run(JSON.parse($("run").textContent));
  const shown = { line: -1, hidden: new Set(run.quiet()), networks: new Set() };
  const page = { cursor: -1 };
  const choose = (index, from) => select(index, from);
  const diagram = new Diagram(run, $("diagram"), choose, hover);
  const panels = new Panels(run, choose);
  const transitions = new TransitionTable(run, choose);
  const copies = new CopyTable(run, choose);
  coverage(run, $("coverage"));
  const ticks = [...new Set(run.events.map(each => each.tick))];
  const slider = $("slider");
  slider.max = Math.max(0, ticks.length - 1);

  function select(index, from = "") {
    if (!run.events.length) return;
    page.cursor = Math.max(0, Math.min(run.events.length - 1, index));
    const event = run.events[page.cursor];
    diagram.select(page.cursor, from !== "diagram");
    panels.show(page.cursor);
    transitions.select(page.cursor);
    copies.show(diagram.bandLines()[0] ?? -1);
    copies.select(page.cursor);
    if (from !== "slider") slider.value = upper(ticks.length, at => ticks[at] <= event.tick) - 1;
    slider.setAttribute("aria-valuetext", `tick ${event.tick}`);
    $("tick").textContent = number(event.tick);
    $("status").textContent = `tick ${number(event.tick)}: ${run.describe(event)}`;
    if (location.hash !== `#e${page.cursor}`) history.replaceState(null, "", `#e${page.cursor}`);
  }

  function filter() {
    diagram.show(shown);
    transitions.show(diagram.layout);
    if (page.cursor >= 0) select(page.cursor);
    $("shown-count").textContent = number(diagram.layout.rows.length);
  }

  // The next transition that is shown, forwards or backwards.
  function step(by) {
    const rows = transitions.rows;
    const at = upper(rows.length, row => rows[row] <= page.cursor) - 1;
    if (!rows.length) return;
    const here = rows[at] === page.cursor;
    select(rows[Math.max(0, Math.min(rows.length - 1, by > 0 ? at + 1 : here ? at - 1 : at))]);
  }

  function goToFailure() {
    const first = run.failure && run.failure.events.length ? run.failure.events[0] : run.events.length - 1;
    select(first);
  }

  function hover(event, at, hop) {
    const tip = $("tip");
    tip.hidden = !event;
    if (!event) return;
    const rows = [];
    if (event.kind === SENT) {
      for (const [name, value] of run.fields(event.fields).slice(0, 12)) rows.push([name, value.startsWith("#") ? run.bytesOf(event.line, value) || "data" : value]);
      const to = hop || event.hops[0];
      rows.unshift(["sent", number(event.tick)], ["arrives", to && to.arrival >= 0 ? number(to.arrival) : "not before the end"]);
    } else if (event.kind === TRANSITION) {
      for (const [what, fields] of [["entry", event.entry], ["TBE", event.tbe]])
        for (const [name, value] of run.fields(fields).slice(0, 10)) rows.push([`${what} ${name}`, value.startsWith("#") ? run.bytesOf(event.line, value) || "data" : value]);
    } else if (event.kind === PORT) rows.push(["access", event.access], ["lanes", event.lanes]);
    tip.replaceChildren(h("strong", {}, run.describe(event)), list(rows));
    const x = Math.min(at.clientX + 14, innerWidth - tip.offsetWidth - 8), y = Math.min(at.clientY + 14, innerHeight - tip.offsetHeight - 8);
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${Math.max(4, y)}px`;
  }

  function filters() {
    const lines = $("line");
    lines.append(h("option", { value: -1 }, `all (${run.lines.length})`), ...run.lines.map((line, at) => h("option", { value: at }, line.name === line.address ? line.name : `${line.name} (${line.address})`)));
    lines.addEventListener("change", () => { shown.line = Number(lines.value); filter(); });
    const toggle = (set, key, text, kind) => {
      const box = h("input", { type: "checkbox", checked: !set.has(key) });
      box.addEventListener("change", () => { if (box.checked) set.delete(key); else set.add(key); filter(); });
      return h("label", { class: `toggle ${kind}` }, box, text);
    };
    $("lives").append(...run.lifelines.map(life => toggle(shown.hidden, life.number, life.name, life.kind)));
    $("networks").append(...run.networks.map(network => toggle(shown.networks, network, network < 0 ? "within machines" : `vnet ${network}`, "network")));
  }

  function keys(event) {
    const typing = /^(SELECT|TEXTAREA)$/.test(event.target.tagName) || (event.target.tagName === "INPUT" && event.target.type === "text");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowRight: () => step(1), ArrowLeft: () => step(-1), Home: () => select(0), End: () => select(run.events.length - 1),
      f: goToFailure, n: () => select(page.cursor + 1), p: () => select(page.cursor - 1), "?": () => { $("help").open = !$("help").open; },
      Escape: () => { $("tip").hidden = true; $("help").open = false; },
    };
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  }

  function byHash() {
    const found = /^#e(\d+)$/.exec(location.hash);
    if (found && Number(found[1]) !== page.cursor) select(Number(found[1]));
    return Boolean(found);
  }

  function save() {
    const url = URL.createObjectURL(new Blob([diagram.file($("diagram-style").textContent)], { type: "image/svg+xml" }));
    h("a", { href: url, download: `${document.title.replace(/[^\w.-]+/g, "-")}.svg` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  filters();
  slider.addEventListener("input", () => {
    const tick = ticks[Number(slider.value)];
    select(upper(run.events.length, at => run.events[at].tick <= tick) - 1, "slider");
  });
  $("back").addEventListener("click", () => step(-1));
  $("forth").addEventListener("click", () => step(1));
  $("failure").addEventListener("click", goToFailure);
  $("save").addEventListener("click", save);
  addEventListener("keydown", keys);
  addEventListener("hashchange", byHash);
  addEventListener("beforeprint", () => { diagram.place.classList.add("whole"); diagram.draw(diagram.layout.rows.length <= 1200); transitions.list.draw(true); copies.list.draw(true); });
  addEventListener("afterprint", () => { diagram.place.classList.remove("whole"); diagram.draw(); transitions.list.draw(); copies.list.draw(); });
  filter();
  if (!byHash()) goToFailure();
  document.body.classList.add("ready");
  window.picture = { run, diagram, select, page, shown };
}

start();
