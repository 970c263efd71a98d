// What all interactive pieces share. Python puts this file in front of NAME.js; the same source serves anywidget and pages without a kernel.
// A piece is `render({ model, el })`: it reads model.get("data"), which stays, and model.get("state"), which its controls and Python change.

const STYLE = `
.d2l-piece { --faint: rgba(128, 128, 128, .35); contain: content; max-width: 1120px; padding: 10px 6px; color: var(--jp-content-font-color1, CanvasText);
  background: var(--jp-layout-color0, Canvas); font-family: var(--jp-content-font-family, system-ui, sans-serif);
  font-size: max(15px, var(--jp-content-font-size1, 15px)); line-height: 1.4; }
.d2l-piece p { margin: 0; }
.d2l-piece .controls { display: flex; flex-wrap: wrap; gap: 8px 30px; align-items: center; padding-bottom: 10px; border-bottom: 1px solid var(--faint); }
.d2l-piece fieldset, .d2l-piece .control { display: flex; flex-wrap: wrap; gap: 4px 8px; align-items: center; margin: 0; padding: 0; border: 0; min-width: 0; }
.d2l-piece legend, .d2l-piece .name { float: left; padding: 0; margin: 0; font-size: inherit; font-weight: 600; color: inherit; width: auto; border: 0; }
.d2l-piece .pill { display: flex; align-items: center; gap: 6px; padding: 3px 11px 3px 8px; border: 1px solid var(--faint); border-radius: 99px; cursor: pointer; }
.d2l-piece .pill:has(:checked) { border-color: currentColor; font-weight: 600; }
.d2l-piece .pill span { max-width: 9em; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.d2l-piece :is(input, select) { color-scheme: var(--scheme); }
.d2l-piece input { accent-color: var(--query); margin: 0; font: inherit; }
.d2l-piece input[type=range] { width: 150px; height: 24px; }
.d2l-piece select { font: inherit; color: inherit; background: inherit; border: 1px solid currentColor; border-radius: 4px; padding: 3px 6px; max-width: 14em; }
.d2l-piece :is(input, select, button, .scroll):focus-visible { outline: 3px solid var(--query); outline-offset: 2px; }
.d2l-piece .control .number { min-width: 3.4em; font-variant-numeric: tabular-nums; }
.d2l-piece .title { font-weight: 600; margin: 14px 0 2px; }
.d2l-piece :is(.drawn, canvas) { forced-color-adjust: none; }
.d2l-piece canvas { display: block; }
.d2l-piece .scroll { overflow-x: auto; }
.d2l-piece .result { margin-top: 12px; padding: 5px 12px; border-left: 4px solid var(--output); font-size: 1.07em; }
`;

// ------------------------------------------------------------------ the page

/** An element with attributes and children; text goes in as text, never as markup. */
export function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Write `text` where it differs from what is there: live regions stay quiet otherwise. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The same for an attribute. */
export function put(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** The frame of a piece in `el`: controls in a line, the body, one spoken sentence. Math typesetters leave it alone. */
export function frame(el, ...controls) {
  const body = node("div");
  const result = node("p", { class: "result", "aria-live": "polite" });
  const root = node("div", { class: "d2l-piece tex2jax_ignore mathjax_ignore" }, node("div", { class: "controls" }, ...controls), body, result);
  el.append(node("style", {}, STYLE), root);
  return { root, body, result };
}

/** Call `draw(colours, width)` now and whenever state, width, theme or zoom change. Returns what stops it. */
export function keepDrawn(model, root, draw) {
  let colours, seen;  // to ask for them at every key would cost a layout each
  const redraw = () => {
    if (!root.isConnected) return;
    if (seen ??= root.clientWidth || undefined) draw((colours ??= theme(root)), seen);
    else {  // hidden, as JupyterLab is for a moment while themes change: the observer tells when there is room again
      resized.unobserve(root);
      resized.observe(root);
    }
  };
  const restyle = () => { colours = seen = undefined; redraw(); };
  const resized = new ResizeObserver(() => { if (root.clientWidth && root.clientWidth !== seen) restyle(); });
  const themed = new MutationObserver(restyle);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  resized.observe(root);
  const themes = { attributes: true, attributeFilter: ["class", "data-theme", "data-jp-theme-name"] };
  for (const page of [document.documentElement, document.body]) themed.observe(page, themes);
  dark.addEventListener("change", restyle);
  window.addEventListener("resize", restyle);  // zoom
  model.on("change:state", redraw);
  redraw();
  return () => {
    resized.disconnect();
    themed.disconnect();
    dark.removeEventListener("change", restyle);
    window.removeEventListener("resize", restyle);
    model.off("change:state", redraw);
  };
}

/** Change some of the state: views redraw at once, Python hears of it after the paint, `wait` milliseconds later. */
export function change(model, settings, wait = 30) {
  model.set("state", { ...model.get("state"), ...settings });
  setTimeout(() => model.save_changes(), wait);
}

/** A function that is called anew only with other arguments than the last time, and else returns what it did then. */
export function sparing(make) {
  let before, made;
  return (...now) => {
    if (!before || now.some((part, i) => part !== before[i])) made = make(...(before = now));
    return made;
  };
}

/** A model for pages without a kernel. */
export function fakeModel(values) {
  const listeners = new Map();
  const of = (event) => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
  return {
    get: (name) => values[name],
    set(name, value) { values[name] = value; of(`change:${name}`).forEach((listener) => listener()); },
    on: (event, listener) => of(event).add(listener),
    off: (event, listener) => of(event).delete(listener),
    save_changes() {},
  };
}

/** Bring every still copy of a piece on this page to life; where that fails the picture stays. */
export function revive(piece, render) {
  for (const host of document.querySelectorAll(`.d2l-explorer[data-piece="${piece}"]:not([data-live])`)) {
    const values = host.querySelector('script[type="application/json"]');
    if (!values) continue;
    host.dataset.live = "";
    const el = node("div");
    host.append(el);
    try {
      render({ model: fakeModel(JSON.parse(values.textContent)), el });
      host.querySelector(".d2l-still").hidden = true;
    } catch (error) {
      el.remove();
      console.error(error);
    }
  }
}

// ------------------------------------------------------------------ controls: labelled, native, deaf to JupyterLab's shortcuts

const NATIVE = { "data-lm-suppress-shortcuts": "true" };

/** One of several: radio buttons while they are few, else a list. `options` are [value, label] pairs; `show(value)` marks one. */
export function choice(name, options, pick) {
  const many = options.length > 8;
  const group = `d2l-${Math.random().toString(36).slice(2)}`;
  const inputs = options.map(([, label], i) => (many
    ? node("option", { value: i }, clip(label, 40))
    : node("input", { type: "radio", name: group, value: i, ...NATIVE })));
  const element = many
    ? node("label", { class: "control" }, node("span", { class: "name" }, name), node("select", NATIVE, ...inputs))
    : node("fieldset", {}, node("legend", {}, name), ...inputs.map((input, i) => {
      const label = clip(options[i][1], 200);
      return node("label", { class: "pill", title: label }, input, node("span", {}, label));
    }));
  element.addEventListener("change", (event) => pick(options[event.target.value][0]));
  const show = (value) => { inputs[options.findIndex(([option]) => option === value)][many ? "selected" : "checked"] = true; };
  return { element, show };
}

/** A number in a range, in words beside its slider; `show(number, max)` may move the upper end. */
export function slider(name, { min = 0, max, step = 1, words = String }, pick) {
  const input = node("input", { type: "range", min, max, step, ...NATIVE });
  const value = node("span", { class: "number", "aria-hidden": "true" });
  input.addEventListener("input", () => pick(Number(input.value)));
  const show = (number, most = max) => {
    put(input, "max", String(most));
    input.value = number;
    put(input, "aria-valuetext", words(number));
    write(value, words(number));
  };
  return { element: node("label", { class: "control" }, node("span", { class: "name" }, name), input, value), show };
}

/** What may be wider than the page scrolls by itself, by keyboard too. */
export const wide = (name, ...children) => node("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": name, ...NATIVE }, ...children);

/** A box to tick. */
export function tick(name, pick) {
  const input = node("input", { type: "checkbox", ...NATIVE });
  input.addEventListener("change", () => pick(input.checked));
  return { element: node("label", { class: "pill" }, input, node("span", {}, name)), input, show: (on) => { input.checked = on; } };
}

// ------------------------------------------------------------------ words

/** At most `length` characters of a token on one line; nothing becomes "(empty)"; right-to-left text is kept to itself. */
export function clip(text, length) {
  const letters = Array.from(String(text).replace(/\s+/g, " ").trim() || "(empty)");
  const kept = letters.length > length ? letters.slice(0, length - 1).join("") + "…" : letters.join("");
  return /^[ -~…]*$/.test(kept) ? kept : `\u2068${kept}\u2069`;
}

export const list = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

/** A number to two decimals, in fewer figures where it is large; never "-0.00". */
export function digits(number) {
  if (Math.abs(number) >= 1e4) return number.toPrecision(3);
  return Math.abs(number) >= 1000 ? String(Math.round(number)) : (Math.round(number * 100) / 100 || 0).toFixed(2);
}

// ------------------------------------------------------------------ matrices: arrays of rows

export const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** A Bᵀ, which is what `nn.Linear` does with its weight B. */
export const times = (A, B) => A.map((row) => B.map((other) => dot(row, other)));

export function softmax(row) {
  const largest = Math.max(...row);
  const powers = row.map((score) => Math.exp(score - largest));
  let sum = 0;
  for (const power of powers) sum += power;
  for (let i = 0; i < powers.length; i++) powers[i] /= sum;
  return powers;
}

// ------------------------------------------------------------------ colours and maps

const ROLES = { query: [0, 114, 178], key: [213, 94, 0], value: [0, 158, 115], output: [204, 121, 167] };  // Okabe & Ito
const [BLACK, WHITE] = [[0, 0, 0], [255, 255, 255]];
const mix = (from, to, amount) => from.map((part, i) => Math.round(part + (to[i] - part) * amount));
const luminance = (colour) => colour.reduce((sum, part, i) => sum + [0.2126, 0.7152, 0.0722][i] * (part / 255) ** 2.2, 0);
const contrast = (one, other) => Math.abs(Math.log((luminance(one) + 0.05) / (luminance(other) + 0.05)));
export const css = (colour) => `rgb(${colour.join(" ")})`;

/** The page's ink and paper as numbers, and the roles' colours as they suit it. */
export function theme(root) {
  const style = getComputedStyle(root);
  const drop = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const [paper, ink] = [style.backgroundColor, style.color].map((paint) => {
    drop.fillStyle = paint;
    drop.fillRect(0, 0, 1, 1);
    return [...drop.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  });
  const dark = luminance(paper) < 0.3;
  const roles = dark ? { ...ROLES, query: [86, 180, 233] } : ROLES;
  root.style.setProperty("--scheme", dark ? "dark" : "light");
  for (const [role, colour] of Object.entries(roles)) root.style.setProperty(`--${role}`, css(colour));
  const size = parseFloat(style.fontSize) - 1;
  const family = style.fontFamily;
  drop.font = `${size}px ${family}`;
  const known = new Map();
  const measure = (text) => known.get(text) ?? known.set(text, drop.measureText(clip(text, 60)).width).get(text);
  const ramp = Uint32Array.from({ length: 256 }, (_, i) => mix(paper, roles.query, i / 255).reduceRight((all, part) => all * 256 + part, 255));
  const tint = (role) => mix(paper, roles[role], 0.2);
  const faint = mix(paper, ink, 0.16);
  const on = (colour) => (contrast(colour, BLACK) > contrast(colour, WHITE) ? BLACK : WHITE);  // the page's ink is too pale on a middling blue
  return { ...roles, ink, paper, faint, ramp, tint, on, weight: (amount) => mix(paper, roles.query, amount), size, family, measure };
}

/** A canvas's pen for `width` by `height` CSS pixels, sharp at any zoom, wiped. */
export function pen(canvas, width, height, { size, family }) {
  const ratio = window.devicePixelRatio;
  const context = canvas.getContext("2d");
  const font = `${size}px ${family}`;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio), font: "" });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  if (canvas.font !== font) context.font = canvas.font = font;  // to set a font may cost a style update
  context.textBaseline = "middle";
  return context;
}

/** As much of `text` as fits into `width`, written at (x, y). */
export function label(context, text, x, y, { width = Infinity, align = "left", bold = false, colour } = {}) {
  const font = context.canvas.font;
  if (bold) context.font = `600 ${font}`;
  let shown = clip(text, 60);
  for (let length = shown.length; width < Infinity && length > 1 && context.measureText(shown).width > width; length--) shown = clip(text, length - 1);
  Object.assign(context, { textAlign: align, fillStyle: css(colour) });
  context.fillText(shown, x, y);
  if (bold) context.font = font;
}

const pixels = globalThis.document?.createElement("canvas");
const images = new WeakMap();  // of weights drawn before: to mark another row takes no new image

/** Weights as an image, a pixel each. */
function imageOf(weights, ramp) {
  const known = images.get(weights);
  if (known?.ramp === ramp) return known.image;
  const image = new ImageData(weights[0].length, weights.length);
  const words = new Uint32Array(image.data.buffer);
  let place = 0;
  for (const row of weights) for (const weight of row) words[place++] = ramp[Math.trunc(weight * 255 + 0.5)];
  images.set(weights, { ramp, image });
  return image;
}

/** Weights as a map at (x, y), cells `across` by `down`: 0 is paper, 1 the query's colour. */
export function map(context, { ramp }, weights, x, y, across, down) {
  const image = imageOf(weights, ramp);
  const { width, height } = image;
  Object.assign(pixels, { width, height });
  pixels.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(pixels, x, y, width * across, height * down);
}

/** Lines between cells, and each cell's number in `words`; `fill(value)` is the colour it stands on. */
export function figures(context, colours, values, x, y, across, down, fill, words = digits) {
  const [rows, columns] = [values.length, values[0].length];
  context.fillStyle = css(colours.faint);
  for (let i = 0; i <= rows; i++) context.fillRect(x, y + i * down, columns * across, 1);
  for (let j = 0; j <= columns; j++) context.fillRect(x + j * across, y, 1, rows * down + 1);
  context.textAlign = "center";
  values.forEach((row, i) => row.forEach((value, j) => {
    context.fillStyle = css(colours.on(fill(value)));
    context.fillText(words(value), x + (j + 0.5) * across, y + (i + 0.5) * down + 1);
  }));
}

/** A line through [x, y] points. */
export function curve(context, points, colour, lineWidth = 2) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  Object.assign(context, { strokeStyle: css(colour), lineWidth });
  context.stroke();
}

export function disc(context, x, y, radius, colour) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = css(colour);
  context.fill();
}

/** A frame around a cell or a row of them. */
export function outline(context, colour, x, y, width, height, thick = 2.5) {
  Object.assign(context, { strokeStyle: css(colour), lineWidth: thick });
  context.strokeRect(x, y, width, height);
}
