// A page without a browser, for node: as much of the document and of a canvas as the pieces use.
// A canvas keeps what is drawn on it; `perform` plays steps and tells what is there then.

const watchers = { resize: [], theme: [], dark: [], window: {} };
const page = { width: 1000, ratio: 2, colours: {}, later: [] };
const attribute = (name) => ({
  get() { return this.getAttribute(name) ?? ""; }, set(value) { this.setAttribute(name, value); },
});

const named = (name) => {  // as a browser has it, which takes no empty name
  if (!/^[a-z][\w-]*$/.test(name)) throw new Error(`no name of an element or attribute: ${name}`);
  return name;
};

class Element {
  constructor(tag) {
    named(tag);
    Object.assign(this, { tag, parent: null, parts: [], given: {}, listeners: {} });
    const set = (kept, name, value) => Reflect.set(kept, name, `${value}`);
    this.dataset = new Proxy({}, { set });
    this.style = { setProperty: (name, value) => { this.style[name] = value; } };
  }
  setAttribute(name, value) {
    this.given[named(name)] = String(value);
    if (name === "value" && this.tag === "input") this.value = value;
  }
  getAttribute(name) { return this.given[name] ?? null; }
  get ariaDisabled() { return this.getAttribute("aria-disabled"); }
  get firstChild() { return this.parts[0] ?? null; }
  get textContent() { return this.parts.map((part) => part.textContent ?? part).join(""); }
  set textContent(text) { this.replaceChildren(text); }
  get isConnected() { return this === document.body || Boolean(this.parent?.isConnected); }
  get clientWidth() { return page.width; }
  get value() { return this.held ?? (this.tag === "input" ? "" : this.given.value); }
  set value(value) {
    const { type, min, max } = this.given;
    const kept = type === "range" ? Math.min(Math.max(value, min), max) : value;
    this.held = String(kept);
  }
  get validity() {
    const { min = -Infinity, max = Infinity } = this.given;
    return { valid: this.value >= Number(min) && this.value <= Number(max) };
  }
  get classList() {
    const names = new Set(this.classNames);
    const keep = () => { this.className = [...names].join(" "); };
    return {
      add(name) { names.add(name); keep(); },
      remove(name) { names.delete(name); keep(); },
      toggle(name, on) { names[on ? "add" : "delete"](name); keep(); },
    };
  }
  matches(tag) { return this.tag === tag; }
  querySelector(name) {
    return [...this].find(({ tag, classNames }) => tag === name.split("[")[0]
      || classNames.includes(name.slice(1))) ?? null;
  }
  get classNames() { return this.className.split(" ").filter(Boolean); }
  getRootNode() { return document; }
  put(at, parts) {
    for (const part of parts) {
      if (part instanceof Element) {
        part.remove();
        part.parent = this;
      }
    }
    const place = at();
    const words = (part) => (part instanceof Element ? part : `${part}`);
    this.parts.splice(place, 0, ...parts.map(words));
  }
  append(...parts) { this.put(() => this.parts.length, parts); }
  before(...parts) { this.parent.put(() => this.parent.parts.indexOf(this), parts); }
  after(...parts) { this.parent.put(() => this.parent.parts.indexOf(this) + 1, parts); }
  replaceChildren(...parts) {
    for (const part of this.parts) if (part instanceof Element) part.parent = null;
    this.parts = [];
    this.append(...parts);
  }
  remove() {
    if (!this.parent) return;
    if (document.activeElement === this) document.activeElement = null;
    this.parent.parts.splice(this.parent.parts.indexOf(this), 1);
    this.parent = null;
  }
  addEventListener(name, listener) { (this.listeners[name] ??= new Set()).add(listener); }
  dispatch(event) {
    Object.assign(event, { target: this, stopPropagation() { event.stopped = true; } });
    event.preventDefault = () => { event.prevented = true; };
    for (let at = this; at && !event.stopped; at = at.parent) {
      for (const listener of at.listeners[event.type] ?? []) listener(event);
    }
    return event;
  }
  /** Words beside each other in lines as wide as the page, 10 wide a letter. */
  getBoundingClientRect() {
    const wide = (part) => 10 * String(part.textContent).length + 30;
    let [left, top] = [0, 20];
    for (const part of this.parent.parts) {
      if (left && left + wide(part) > page.width) [left, top] = [0, top + 40];
      if (part === this) break;
      left += wide(part);
    }
    return { left, right: left + wide(this), width: wide(this), top, height: 30 };
  }
  getContext(kind) { return kind === "2d" ? (this.context ??= new Pen(this)) : null; }
  *[Symbol.iterator]() {
    yield this;
    for (const part of this.parts) if (part instanceof Element) yield* part;
  }
  told() {
    const { setProperty, ...style } = this.style;
    const told = { tag: this.tag, given: { ...this.given }, dataset: { ...this.dataset }, style };
    told.text = this.textContent;
    told.parts = this.parts.map((part) => (part instanceof Element ? part.told() : part));
    if (document.activeElement === this) told.focused = true;
    for (const name of ["value", "checked", "selected", "disabled", "hidden"]) {
      if (this[name] !== undefined) told[name] = this[name];
    }
    if (this.tag === "canvas") {
      const { drawn } = this.getContext("2d");
      Object.assign(told, { drawn: [...drawn], size: [this.width, this.height] });
    }
    return told;
  }
}
Object.defineProperty(Element.prototype, "className", attribute("class"));
/** Of radio buttons of a name, and of a menu's lines, one at a time is chosen. */
const one = (mark, others) => ({
  get() { return this[`_${mark}`]; },
  set(on) {
    if (on) for (const other of others(this)) other[`_${mark}`] = false;
    this[`_${mark}`] = on;
  },
});
const sameName = (radio) => (radio.given.type !== "radio" ? [] : [...document.body].filter(
  ({ given }) => given.name === radio.given.name));
Object.defineProperty(Element.prototype, "checked", one("checked", sameName));
Object.defineProperty(Element.prototype, "selected", one("selected", (line) => line.parent.parts));
for (const side of ["width", "height"]) {  // a canvas that gets another size forgets its settings
  Object.defineProperty(Element.prototype, side, {
    get() { return this[`_${side}`] ?? (side === "width" ? 300 : 150); },
    set(value) {
      this[`_${side}`] = value;
      this.context?.reset();
    },
  });
}

/** Some letters are narrow; marks of a text's direction take no room. */
const widthOf = (text, font) =>
  Array.from(text.replace(/[\u2066-\u2069]/g, ""))
    .reduce((sum, letter) => sum + (/[-. ,:;|ilftrj]/.test(letter) ? 0.3 : 0.55), 0)
  * parseFloat(font.match(/[\d.]+px/)[0]) * (font.startsWith("600") ? 1.08 : 1);

class Pen {
  constructor(canvas) {
    this.canvas = canvas;
    this.reset();
  }
  reset() {
    Object.assign(this, {
      fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font: "10px none", textAlign: "start",
      textBaseline: "alphabetic", globalAlpha: 1, imageSmoothingEnabled: true, drawn: [], path: [],
      dash: [], scale: 1, image: null,
    });
  }
  add(what, more) {
    const places = [...(more.at ?? []), ...(more.path ?? []).flatMap(({ at }) => at)];
    if (!places.every(Number.isFinite)) throw new Error(`${what} at ${places}`);
    this.drawn.push({ what, alpha: this.globalAlpha, scale: this.scale, ...more });
  }
  setTransform(scale, b, c, other, x, y) {
    if (b || c || x || y || scale !== other) throw new Error("not a plain scale");
    this.scale = scale;
  }
  clearRect(x, y, width, height) {
    const covers = (side, all) => side * this.scale >= all - 1;
    if (covers(width, this.canvas.width) && covers(height, this.canvas.height)) this.drawn = [];
  }
  fillRect(x, y, width, height) {
    this.add("block", { at: [x, y, width, height], colour: this.fillStyle });
  }
  strokeRect(x, y, width, height) {
    const { strokeStyle: colour, lineWidth, dash } = this;
    this.add("frame", { at: [x, y, width, height], colour, lineWidth, dash });
  }
  measureText(text) { return { width: widthOf(text, this.font) }; }
  fillText(text, x, y) {
    const { fillStyle: colour, font, textAlign: align, textBaseline: base } = this;
    this.add("text", { text, at: [x, y], colour, font, align, base, wide: widthOf(text, font) });
  }
  beginPath() { this.path = []; }
  moveTo(x, y) { this.path.push({ start: true, at: [x, y] }); }
  lineTo(x, y) { this.path.push({ start: !this.path.length, at: [x, y] }); }
  arc(x, y, radius, from, to) { this.path.push({ arc: [radius, from, to], at: [x, y] }); }
  stroke() {
    const { strokeStyle: colour, lineWidth, dash } = this;
    this.add("line", { path: [...this.path], colour, lineWidth, dash });
  }
  fill() { this.add("shape", { path: [...this.path], colour: this.fillStyle }); }
  setLineDash(dash) { if (dash.every((part) => part >= 0)) this.dash = [...dash]; }
  putImageData(image) { this.image = image; }
  getImageData() {
    return { data: [...this.drawn.at(-1).colour.match(/\d+/g).map(Number), 255] };
  }
  drawImage({ context, width, height }, ...at) {
    if (context.image) {
      const pixels = Buffer.from(context.image.data).toString("base64");
      this.add("map", { at, pixels, shape: [height, width, 4], smooth: this.imageSmoothingEnabled });
    } else {
      const [x, y, wide, high] = at;
      const near = (one, other) => Math.abs(one * this.scale - other) < 1;
      const whole = near(wide, width) && near(high, height);
      if (x || y || !whole) throw new Error("a canvas is copied whole, where it was");
      this.drawn.push(...context.drawn);
    }
  }
}

const watcher = (list) => class {
  constructor(call) { this.call = call; this.seen = []; }
  observe(element, options) {
    list.push(this);
    this.seen.push(element);
    this.options = options;
  }
  unobserve() { this.disconnect(); }
  disconnect() { while (list.includes(this)) list.splice(list.indexOf(this), 1); }
};
const documentElement = new Element("html");
globalThis.document = {
  documentElement, body: new Element("body"), activeElement: null,
  createElement: (tag) => new Element(tag), querySelectorAll: () => [],
};
globalThis.ImageData = class {
  constructor(width, height) {
    Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
  }
};
globalThis.ResizeObserver = watcher(watchers.resize);
globalThis.MutationObserver = watcher(watchers.theme);
globalThis.matchMedia = () => ({
  addEventListener: (_, call) => watchers.dark.push(call),
  removeEventListener(_, call) {
    watchers.dark = watchers.dark.filter((one) => one !== call);
  },
});
globalThis.window = {
  addEventListener: (name, call) => (watchers.window[name] ??= new Set()).add(call),
  removeEventListener: (name, call) => watchers.window[name]?.delete(call),
  get devicePixelRatio() { return page.ratio; },
};
globalThis.requestAnimationFrame = (call) => call();
globalThis.getComputedStyle = () => ({
  fontSize: "15px", fontFamily: "sans", height: "48px", ...page.colours,
});
globalThis.setTimeout = (call, wait) => page.later.push([call, wait]);

const send = (name, event = {}) => {
  for (const call of [...(watchers.window[name] ?? [])]) call({ type: name, ...event });
};

/** What a test does in a page; `root` is the piece. */
function hands(root, model) {
  const all = (tag) => [...root].filter((part) => part.tag === tag);
  const nameOf = (part) => {
    if (part.given["aria-label"] && part.given.class !== "chip") return part.given["aria-label"];
    const label = part.parent?.tag === "label" ? part.parent : null;
    const name = label && [...label].find(({ className }) => className === "name");
    return (name ?? label ?? part).textContent.trim();
  };
  const find = (name) => {
    const parts = ["input", "select", "button"].flatMap(all);
    const found = parts.filter((part) => nameOf(part) === name);
    if (found.length !== 1) throw new Error(`${found.length} controls have the name ${name}`);
    return found[0];
  };
  const group = (name) => all("fieldset").find(({ firstChild }) => firstChild.textContent === name);
  return {
    send,
    click: (part, event = {}) => part.dispatch({ type: "click", ...event }),
    canvas: (i) => all("canvas")[i],
    tagged: (tag, i) => all(tag)[i],
    run: (call) => call(root),
    press: (name) => find(name).dispatch({ type: "click" }),
    key: (name, key, more = {}) => find(name).dispatch({ type: "keydown", key, ...more }),
    point: (name, event = {}) => find(name).dispatch({ type: "pointerdown", button: 0, ...event }),
    tick(name) {
      const box = find(name);
      box.checked = !box.checked;
      box.dispatch({ type: "change" });
    },
    type(name, value, ...events) {
      const input = find(name);
      input.value = value;
      for (const type of ["input", ...events]) input.dispatch({ type });
    },
    /** The radio button or the line of a menu that has these words. */
    pick(name, words) {
      const lines = group(name) ?? find(name);
      const line = [...lines].find((part) => (part.tag === "option" || part.className === "pill")
        && part.textContent === words);
      if (line.tag === "option") lines.value = line.value;
      (line.tag === "option" ? lines : line.firstChild).dispatch({ type: "change" });
    },
    focus(name) { document.activeElement = name ? find(name) : null; },
    set: (name, values) => model.set(name, { ...model.get(name), ...values }),
    resize(width) {
      page.width = width;
      for (const one of [...watchers.resize]) {
        one.call([{ contentRect: { width, height: 48 } }]);
      }
    },
    theme(colours) {
      page.colours = colours;
      for (const call of watchers.dark) call();
    },
    restyle(name = "class") {
      for (const one of [...new Set(watchers.theme)]) {
        const { attributes, attributeFilter } = one.options;
        if (attributes && attributeFilter.includes(name)) one.call();
      }
    },
    zoom(ratio) {
      page.ratio = ratio;
      send("resize");
    },
    watchers, page,
  };
}

/** Render a piece, do the steps one after another, and tell after each what the page holds. */
export function perform(piece, values, { width, colours, steps, brief }) {
  Object.assign(page, { width, colours });
  const model = piece.fakeModel(values);
  let saved = 0;
  model.save_changes = () => { saved += 1; };
  const el = document.createElement("div");
  document.body.append(el);
  const stop = piece.default.render({ model, el });  // as anywidget does
  const hand = { ...hands(el, model), stop };
  return [() => {}, ...steps].map((step) => {
    const answer = step(hand);
    const waits = page.later.map(([, wait]) => wait);
    for (const [call] of page.later.splice(0)) call();
    const { prevented = false, stopped = false } = answer ?? {};
    const root = brief ? new Element("none").told() : el.told();
    return { root, state: model.get("state"), saved, waits, prevented, stopped };
  });
}
