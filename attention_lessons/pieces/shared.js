// What all interactive pieces share. Python puts this file before a piece's own, for anywidget and
// for pages without a kernel alike. A piece is `render({ model, el })`: it reads
// model.get("data"), which stays, and model.get("state"), which controls and Python change.

const STYLE = `
.d2l-piece {
  --faint: rgba(128, 128, 128, .35); --paper: var(--jp-layout-color0, Canvas);
  --target: 0px;
  contain: content; max-width: 1120px; padding: 6px; line-height: 1.4;
  color: var(--jp-content-font-color1, CanvasText); background: var(--paper);
  font-family: var(--jp-content-font-family, system-ui, sans-serif);
  font-size: max(15px, var(--jp-content-font-size1, 15px));

  @media (pointer: coarse), (max-width: 500px) { --target: 44px; }
  @media (forced-colors: active) { --paper: Canvas; }
  p { margin: 0; }
  .settings { display: flex; flex-wrap: wrap; gap: 6px 22px; align-items: center; }
  .body { margin-top: 8px; padding-top: 8px; border-top: 1px solid var(--faint); }
  :is(.pill, select, button, input:not([type=radio], [type=checkbox])) {
    min-height: var(--target); min-width: var(--target); box-sizing: border-box;
  }
  fieldset, .control {
    display: flex; flex-wrap: wrap; gap: 4px 6px; align-items: center;
    margin: 0; padding: 0; border: 0; min-width: 0;
  }
  .control { flex-wrap: nowrap; }
  legend, .name {
    float: left; width: auto; margin: 0; padding: 0; border: 0;
    font-size: inherit; font-weight: 600; color: inherit;
  }
  .pill {
    display: flex; align-items: center; gap: 6px; padding: 3px 10px 3px 7px;
    border: 1px solid var(--faint); border-radius: 99px; cursor: pointer;
  }
  .pill:has(:checked) { border-color: currentColor; font-weight: 600; }
  .pill span { max-width: 9em; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
  :is(input, select) { color-scheme: var(--scheme); }
  input { accent-color: var(--query); margin: 0; font: inherit; }
  input[type=range] { width: 150px; min-width: 80px; flex-shrink: 9; height: 24px; }
  select {
    font: inherit; color: inherit; background: inherit; max-width: 14em; padding: 3px 6px;
    border: 1px solid currentColor; border-radius: 4px;
  }
  :is(input, select, button, .scroll):focus-visible {
    outline: 3px solid var(--query); outline-offset: 2px;
  }
  .control .number { min-width: 3.4em; font-variant-numeric: tabular-nums; }
  .title { font-weight: 600; margin: 10px 0 2px; }
  :is(.drawn, canvas) { forced-color-adjust: none; }
  canvas { display: block; }
  .scroll {  /* a shade at an edge beyond which there is more: the ends cover it */
    --shade: color-mix(in srgb, currentColor 45%, transparent);
    overflow-x: auto; background:
      linear-gradient(to right, var(--paper) 60%, transparent) 0 / 30px 100% no-repeat local,
      linear-gradient(to left, var(--paper) 60%, transparent) 100% / 30px 100% no-repeat local,
      linear-gradient(to right, var(--shade), transparent) 0 / 15px 100% no-repeat,
      linear-gradient(to left, var(--shade), transparent) 100% / 15px 100% no-repeat;
  }
  table.table { font-size: inherit; color: inherit; background: none; }
  .table :is(th, td, tr) {
    color: inherit; background: none; border: 0;
    font-variant-numeric: tabular-nums; white-space: nowrap;
  }
  .result {
    margin-top: 8px; padding: 2px 12px; border-left: 4px solid var(--output); font-size: 1.07em;
  }
}
`;

// ---- the page ---------------------------------------------------------------

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

/** The frame of a piece in `el`: controls in a line, the result in a sentence, the body. */
export function frame(el, style, ...controls) {
  const body = node("div", { class: "body" });
  const result = node("p", { class: "result", "aria-live": "polite" });
  const settings = node("div", { class: "settings" }, ...controls);
  const quiet = "tex2jax_ignore mathjax_ignore";  // for what typesets formulas in a page
  const root = node("div", { class: `d2l-piece ${quiet}` }, settings, result, body);
  el.append(node("style", {}, `${STYLE}.d2l-piece {${style}}`), root);
  new ResizeObserver(([entry]) => keepHigh(result, entry.contentRect)).observe(result);
  return { root, body, result };
}

/** Keep the height that a sentence once took at a width: what stands below it stays in place. */
function keepHigh(sentence, { width, height }) {
  const { dataset, style } = sentence;
  if (dataset.width === String(width)) style.minHeight = `${height}px`;
  else {
    requestAnimationFrame(() => {
      style.minHeight = "";
      style.minHeight = getComputedStyle(sentence).height;
    });
  }
  dataset.width = width;
}

/** Call `draw(colours, width)` now and whenever state, width, theme or zoom change.
 * Returns what stops it. */
export function keepDrawn(model, root, draw) {
  let colours, width;  // kept, since asking for them at every key would cost a layout each
  const redraw = () => {
    if (!root.isConnected) return;
    width ||= root.clientWidth;
    if (width) return draw((colours ??= theme(root)), width);
    // Hidden, as JupyterLab is for a moment while themes change: wait until there is room again.
    resized.unobserve(root);
    resized.observe(root);
  };
  const restyle = () => {
    colours = width = undefined;
    redraw();
  };
  const resized = new ResizeObserver(() => {
    if (root.clientWidth && root.clientWidth !== width) restyle();
  });
  const themed = new MutationObserver(restyle);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const attributeFilter = ["class", "data-theme", "data-jp-theme-name"];
  for (const page of [document.documentElement, document.body]) {
    themed.observe(page, { attributes: true, attributeFilter });
  }
  resized.observe(root);
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

/** Change some of the state: the page redraws at once, Python hears of it `wait` ms later. */
export function change(model, settings, wait = 30) {
  model.set("state", { ...model.get("state"), ...settings });
  setTimeout(() => model.save_changes(), wait);  // after the paint
}

/** For a setting's name what changes it alone. */
export const setter = (model) => (name) => (value) => change(model, { [name]: value });

/** A function that calls `make` only when its arguments differ from those of the last call. */
export function memoized(make) {
  let before, made;
  return (...now) => {
    const same = before && now.every((part, i) => part === before[i]);
    if (!same) made = make(...now);
    before = now;
    return made;
  };
}

/** A model for pages without a kernel. */
export function fakeModel(values) {
  const listeners = {};
  const of = (event) => (listeners[event] ??= new Set());
  return {
    get: (name) => values[name],
    set(name, value) {
      values[name] = value;
      of(`change:${name}`).forEach((listener) => listener());
    },
    on: (event, listener) => of(event).add(listener),
    off: (event, listener) => of(event).delete(listener),
    save_changes() {},
  };
}

/** Bring every still copy of a piece on this page to life; where that fails, the picture stays. */
export function revive(piece, render) {
  const still = `.d2l-explorer[data-piece="${piece}"]:not([data-live])`;
  for (const host of document.querySelectorAll(still)) {
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

// ---- controls: each is its `element`, and `show(value)` to mark what is chosen 

const NATIVE = { "data-lm-suppress-shortcuts": "true" };  // JupyterLab leaves their keys alone

export const fieldset = (name, ...children) =>
  node("fieldset", {}, node("legend", {}, name), ...children);

export const labelled = (name, ...children) =>
  node("label", { class: "control" }, node("span", { class: "name" }, name), ...children);

/** One of several: radio buttons while they are few, else a menu.
 * `options` are [value, label] pairs. */
export const choice = (name, options, pick) =>
  (options.length > 8 ? menu : radios)(name, options, pick);

function menu(name, options, pick) {
  const lines = options.map(([, words], i) => node("option", { value: i }, clip(words, 40)));
  const element = labelled(name, node("select", NATIVE, ...lines));
  return choosing(element, options, lines, "selected", pick);
}

function radios(name, options, pick) {
  const group = `d2l-${Math.random().toString(36).slice(2)}`;
  const inputs = options.map((_, i) =>
    node("input", { type: "radio", name: group, value: i, ...NATIVE }));
  const pills = options.map(([, label], i) => {
    const words = clip(label, 200);
    return node("label", { class: "pill", title: words }, inputs[i], node("span", {}, words));
  });
  return choosing(fieldset(name, ...pills), options, inputs, "checked", pick);
}

function choosing(element, options, parts, mark, pick) {
  element.addEventListener("change", (event) => pick(options[event.target.value][0]));
  const show = (value) => {
    const chosen = options.findIndex(([option]) => option === value);
    parts[chosen][mark] = true;
  };
  return { element, show };
}

/** A number in a range, in words beside it; `show(number, max)` may move the upper end. */
export function slider(name, { max, step = 1, words = String }, pick) {
  const input = node("input", { type: "range", min: 0, max, step, ...NATIVE });
  const value = node("span", { class: "number", "aria-hidden": "true" });
  input.addEventListener("input", () => pick(Number(input.value)));
  const show = (number, most = max) => {
    put(input, "max", String(most));
    input.value = number;
    put(input, "aria-valuetext", words(number));
    write(value, words(number));
  };
  return { element: labelled(name, input, value), show };
}

/** A box to tick; its group's legend may say the rest of what is `shown` beside it. */
export function checkbox(name, pick, shown = name) {
  const input = node("input", { type: "checkbox", "aria-label": name, ...NATIVE });
  input.addEventListener("change", () => pick(input.checked));
  const element = node("label", { class: "pill" }, input, node("span", {}, shown));
  return { element, input, show: (on) => { input.checked = on; } };
}

/** The elements of controls, which are kept by the names of their settings. */
export const elements = (controls) => Object.values(controls).map(({ element }) => element);

/** Show in each control the setting of its name. */
export function showAll(controls, state) {
  for (const [name, control] of Object.entries(controls)) control.show(state[name]);
}

/** What may be wider than the page scrolls by itself, by keyboard too. */
export function scrolling(name, child) {
  const attributes = { class: "scroll", tabindex: 0, role: "group", "aria-label": name };
  return node("div", { ...attributes, ...NATIVE }, child);
}

// ---- words ------------------------------------------------------------------

let spoken = {};  // English -> the language that is spoken; empty for English

/** Speak the words that come with a piece's model from now on. */
export function speak(model) {
  spoken = model.get("words") ?? {};
}

/** A name that stands in the data, in the language that is spoken. */
export const said = (name) => spoken[name] ?? name;

/** A text in the language that is spoken: t`${token} takes ${weight}` has the key "{0} takes {1}".
 * It may go over several lines; what would end one in a comma goes on the next. */
export function t(parts, ...values) {
  const key = parts.reduce((text, part, i) => `${text}{${i - 1}}${part}`);
  return fill(key.replace(/\s*\n\s*/g, " "), values);
}

const fill = (key, values) => said(key).replace(/\{(\d)\}/g, (_, i) => values[i]);

/** At most `length` characters of a token on one line; nothing becomes "(empty)"; right-to-left
 * text is kept to itself. */
export function clip(text, length) {
  const letters = Array.from(String(text).replace(/\s+/g, " ").trim() || t`(empty)`);
  const whole = letters.length <= length;
  const kept = whole ? letters.join("") : letters.slice(0, length - 1).join("") + "…";
  return /^[ -~…]*$/.test(kept) ? kept : `\u2068${kept}\u2069`;
}

export function list(words) {
  const before = words.slice(0, -1).join(t`, `);
  return words.length < 2 ? words.join("") : t`${before} and ${words.at(-1)}`;
}

/** "1 head", "2 heads". */
export const plural = (count, word) => fill(`{0} ${word}${count === 1 ? "" : "s"}`, [count]);

/** A number to two decimals, in fewer figures where it is large; never "-0.00". */
export function digits(number) {
  if (Math.abs(number) >= 1e4) return number.toPrecision(3);
  if (Math.abs(number) >= 1000) return String(Math.round(number));
  return (Math.round(number * 100) / 100 || 0).toFixed(2);
}

/** Where a row of weights goes, the `most` largest of them: "dog 0.50 and man 0.50". */
export function takes(weights, tokens, most = 3) {
  const [least, largest] = [Math.min(...weights), Math.max(...weights)];
  if (weights.length > 1 && largest - least < 0.005) {
    return t`all ${weights.length} alike (${digits(largest)} each)`;
  }
  const order = weights.map((weight, i) => [weight, i])
    .filter(([weight]) => weight >= Math.min(0.05, largest))
    .sort((a, b) => b[0] - a[0])
    .slice(0, most);
  const words = order.map(([weight, i]) => `${clip(tokens[i], 20)} ${digits(weight)}`);
  const rest = 1 - order.reduce((sum, [weight]) => sum + weight, 0);
  return list(rest > 0.05 ? [...words, t`others ${digits(rest)}`] : words);
}

// ---- numbers: matrices are arrays of rows -----------------------------------

/** 0, 1, 2 ... */
export const places = (count) => Array.from({ length: count }, (_, i) => i);

export const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));

export function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** A Bᵀ, which is what `nn.Linear` does with its weight B. */
export const times = (A, B) => A.map((row) => B.map((other) => dot(row, other)));

/** Weights for a row of scores, each times `factor`, which is not negative. */
export function softmax(row, factor = 1) {
  const largest = Math.max(...row);
  const powers = row.map((score) => Math.exp(factor * (score - largest)));
  let sum = 0;
  for (const power of powers) sum += power;
  for (let i = 0; i < powers.length; i++) powers[i] /= sum;
  return powers;
}

// ---- colours: red, green and blue -------------------------------------------

const [BLACK, WHITE] = [[0, 0, 0], [255, 255, 255]];
const ROLES = {  // Okabe & Ito
  query: [0, 114, 178], key: [213, 94, 0], value: [0, 158, 115], output: [204, 121, 167],
};
const BRIGHT = { ...ROLES, query: [86, 180, 233] };  // on dark paper

export const css = (colour) => `rgb(${colour.join(" ")})`;

const mix = (from, to, amount) =>
  from.map((part, i) => Math.round(part + (to[i] - part) * amount));

const luminance = (colour) =>
  dot([0.2126, 0.7152, 0.0722], colour.map((part) => (part / 255) ** 2.2));

const contrast = (one, other) =>
  Math.abs(Math.log((luminance(one) + 0.05) / (luminance(other) + 0.05)));

/** The page's ink and paper as numbers, its font, and the roles' colours as they suit it. */
export function theme(root) {
  const style = getComputedStyle(root);
  const drop = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const [paper, ink] = [style.backgroundColor, style.color].map((paint) => {
    drop.fillStyle = paint;
    drop.fillRect(0, 0, 1, 1);
    return [...drop.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  });
  const dark = luminance(paper) < 0.3;
  const roles = dark ? BRIGHT : ROLES;
  root.style.setProperty("--scheme", dark ? "dark" : "light");
  for (const role in roles) root.style.setProperty(`--${role}`, css(roles[role]));
  const size = parseFloat(style.fontSize) - 1;
  drop.font = `${size}px ${style.fontFamily}`;
  const widths = new Map();
  const weight = (amount) => mix(paper, roles.query, amount);
  return {
    ...roles, ink, paper, size, weight,
    ratio: window.devicePixelRatio * (root.currentCSSZoom ?? 1),
    font: drop.font,
    faint: mix(paper, ink, 0.16),
    tint: (role) => mix(paper, roles[role], 0.2),
    ramp: Uint32Array.from(places(256), (i) => word(weight(i / 255))),
    measure(text) {
      if (!widths.has(text)) widths.set(text, drop.measureText(clip(text, 60)).width);
      return widths.get(text);
    },
  };
}

/** A colour as one word of an image. */
const word = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;

/** Black or white on a cell: the page's ink is too pale on a middling blue. */
export const on = (cell) => (contrast(cell, BLACK) > contrast(cell, WHITE) ? BLACK : WHITE);

// ---- drawing on a canvas ----------------------------------------------------

/** A canvas's context for `width` by `height` CSS pixels, sharp at any zoom, wiped. */
export function pen(canvas, width, height, { font, ink, ratio }) {
  const context = canvas.getContext("2d");
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) {
    Object.assign(canvas, { width: across, height: down, font: "" });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  if (canvas.font !== font) context.font = canvas.font = font;  // this may cost a style update
  canvas.ink = ink;
  context.textBaseline = "middle";
  return context;
}

/** As much of `text` as fits into `width`, written at (x, y). */
export function label(context, text, x, y, options = {}) {
  const { font, ink } = context.canvas;
  const { width = Infinity, align = "left", bold = false, colour = ink } = options;
  if (bold) context.font = `600 ${font}`;
  let shown = clip(text, 60);
  for (let length = shown.length; length > 1 && width < Infinity; length--) {
    if (context.measureText(shown).width <= width) break;
    shown = clip(text, length - 1);
  }
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
  for (const row of weights) {
    for (const weight of row) words[place++] = ramp[Math.trunc(weight * 255 + 0.5)];
  }
  images.set(weights, { ramp, image });
  return image;
}

/** Weights as a map at (x, y), cells `across` by `down`: 0 is paper, 1 the query's colour. */
export function map(context, { ramp }, weights, x, y, across, down) {
  const image = imageOf(weights, ramp);
  const { width, height } = image;
  if (pixels.width !== width || pixels.height !== height) Object.assign(pixels, { width, height });
  pixels.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(pixels, x, y, width * across, height * down);
}

/** Lines between cells, and each cell's number in `words`; `fill(value)` is what it stands on. */
export function figures(context, { faint }, values, x, y, across, down, fill, words = digits) {
  const [rows, columns] = [values.length, values[0].length];
  for (let i = 0; i <= rows; i++) block(context, faint, x, y + i * down, columns * across, 1);
  for (let j = 0; j <= columns; j++) block(context, faint, x + j * across, y, 1, rows * down + 1);
  context.textAlign = "center";
  values.forEach((row, i) => row.forEach((value, j) => {
    context.fillStyle = css(on(fill(value)));
    context.fillText(words(value), x + (j + 0.5) * across, y + (i + 0.5) * down + 1);
  }));
}

/** A small triangle that points to the right, at (x, y). */
function pointer(context, x, y, colour) {
  context.beginPath();
  for (const [right, down] of [[0, -4.5], [8, 0], [0, 4.5]]) context.lineTo(x + right, y + down);
  context.fillStyle = css(colour);
  context.fill();
}

/** A filled rectangle. */
export function block(context, colour, x, y, width, height) {
  context.fillStyle = css(colour);
  context.fillRect(x, y, width, height);
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
export function outline(context, colour, x, y, width, height, lineWidth = 2.5) {
  Object.assign(context, { strokeStyle: css(colour), lineWidth });
  context.strokeRect(x, y, width, height);
}
