// Elements are made from texts, never from mark-up: no text of a protocol or file is parsed.

const SVG = "http://www.w3.org/2000/svg";

function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function $(id) { return document.getElementById(id); }

function number(value) { return value.toLocaleString("en-US"); }

// A list of rows of one height of which only those in view are in the document.
class VirtualList {
  constructor(place, height, made) {
    this.place = place;
    this.height = height;
    this.made = made;
    this.count = 0;
    this.space = h("div", { class: "space" });
    this.body = h("div", { class: "rows" });
    place.append(this.space, this.body);
    place.addEventListener("scroll", () => this.draw(), { passive: true });
    new ResizeObserver(() => this.draw()).observe(place);
  }

  show(count) {
    this.count = count;
    this.space.style.height = `${count * this.height}px`;
    this.draw();
  }

  draw(all = false) {
    const first = all ? 0 : Math.max(0, Math.floor(this.place.scrollTop / this.height) - 4);
    const fit = all ? 2000 : Math.ceil(this.place.clientHeight / this.height) + 8;
    const rows = [];
    for (let row = first; row < Math.min(this.count, first + fit); row++) rows.push(this.made(row));
    this.body.style.transform = `translateY(${first * this.height}px)`;
    this.body.replaceChildren(...rows);
  }

  reveal(row) {
    const top = row * this.height, view = this.place;
    if (top < view.scrollTop || top + this.height > view.scrollTop + view.clientHeight)
      view.scrollTop = top - view.clientHeight / 2;
    this.draw();
  }
}
