// What all pieces share. A piece describes itself, { view, style }: `view` makes of its data and
// state a label, a picture, a sentence and controls, as a tree of elements. From that come the page
// (`show`) and in node the still picture, its words, and what tests read (tools/draw/describe.mjs).
import PALETTE from "../palette.json" with { type: "json" };
import { h, html, paint } from "./vendor/preact.js";

// ---- looks ----

/** The palette as variables: --key for areas and lines, --key-letters for words. */
export const colours = (dark) => Object.entries(PALETTE).map(([name, of]) =>
  `--${name}: ${dark ? of.dark : of.light}; --${name}-letters: ${dark ? of.dark : of.letters};`)
  .join(" ");

const STYLE = `
.d2l-piece {
  --paper: var(--jp-layout-color0, Canvas);
  --faint: color-mix(in srgb, currentColor 22%, transparent); --on: currentColor;
  contain: content; max-width: 960px; padding: 6px; line-height: 1.4; color-scheme: light;
  color: var(--jp-content-font-color1, CanvasText); background: var(--paper);
  font-family: var(--jp-content-font-family, system-ui, sans-serif);
  font-size: max(15px, var(--jp-content-font-size1, 15px));
  ${colours(false)}
  &[data-dark] { color-scheme: dark; --on: black; ${colours(true)} }
  @media (forced-colors: active) { --paper: Canvas; }
  svg {
    display: block; overflow: visible; forced-color-adjust: none; max-width: none;
    user-select: none;
  }
  svg text { font-size: 14px; fill: currentColor; }
  .picture { position: relative; }
  .picture svg { position: relative; }
  canvas { position: absolute; image-rendering: pixelated; forced-color-adjust: none; }
  .grip { cursor: grab; display: block; touch-action: none; }  /* inline, it has no touch-action */
  .grip:active { cursor: grabbing; }
  .press { cursor: pointer; }
  .shade { stroke: var(--query); }
  ${["query", "key", "value", "output"].map((role) => `.${role} { --role: var(--${role}); }`)
    .join(" ")}
  .tint { fill: color-mix(in srgb, var(--role) 22%, var(--paper)); stroke: var(--role); }
  .frame { fill: none; stroke: var(--faint); }
  .knob { fill: var(--paper); stroke: currentColor; stroke-width: 2; }
  .over { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }  /* words over lines */
  .paper { fill: color-mix(in srgb, currentColor 5%, transparent); }
  .halo { fill: currentColor; opacity: 0; }
  @media (prefers-reduced-motion: no-preference) {
    :is(.travels, .flows) { transition: all .2s; }
    .picture:has(.grip:active) .flows { transition: none; }  /* what is held doesn't lag behind */
  }
  :is(.grip .halo, .press:hover .halo) { opacity: .1; }
  .grip:hover .halo { opacity: .25; }
  :focus-visible { outline: 3px solid var(--query); outline-offset: 2px; border-radius: 4px; }
  svg :focus:not(:focus-visible) { outline: none; }
  .result {
    margin: 10px 0; padding: 2px 12px; border-left: 4px solid var(--output);
    box-sizing: content-box; min-height: 2lh; font-size: 1.07em;
    @media (max-width: 500px) { min-height: 4lh; }
  }
  :is(form, .control, .segments) { display: flex; flex-wrap: wrap; align-items: center; }
  form { gap: 8px 22px; margin: 0; }
  .control { gap: 4px 8px; }
  .name { font-weight: 600; }
  :is(input, button) { font: inherit; color: inherit; margin: 0; accent-color: var(--query); }
  input[type=range] { width: 150px; height: 30px; }
  :is(input[type=text], button, .segments) {
    background: var(--paper); border: 1px solid currentColor; border-radius: 6px;
  }
  :is(button, input, .segments label) { box-sizing: border-box; padding: 3px 10px; }
  :is(button, .segments label) { cursor: pointer; min-width: 32px; min-height: 32px; }
  :is([aria-pressed=true], .segments :has(:checked)) {
    background: color-mix(in srgb, var(--query) 22%, var(--paper));
  }
  .segments label { position: relative; display: grid; place-items: center; }
  .segments input { position: absolute; inset: 0; opacity: 0; cursor: pointer; }

  .segments label:has(:focus-visible) { outline: 3px solid var(--query); outline-offset: 1px; }
  .number { min-width: 2.6em; font-variant-numeric: tabular-nums; }
  @media (pointer: coarse), (max-width: 500px) {
    :is(button, input, .segments label) { min-width: 44px; min-height: 44px; }
  }
  @media print { form { display: none; } }
}`;

// ---- the page ----

export function page({ view, style = "" }, seen) {
  const { label, picture, sentence, controls } = view(seen);
  return html`
    <style>${STYLE}.d2l-piece {${style}}</style>
    <div class="picture" role="group" aria-label=${label}>${picture}</div>
    <p class="result" aria-live="polite">${sentence}</p>
    <form onSubmit=${(event) => event.preventDefault()}>${controls}</form>`;
}

/** Show a piece, with its words, within an element.
 *
 * `view({ data, state, ui, width, set, hold })`: `set(settings, news)` changes settings and `ui`;
 * `hold(news)` changes `ui` alone: what is pointed at, `used` once anything was set. `width` is in
 * CSS pixels. */
function show(piece, host, { data, state: first, words }, address) {
  speak(words);
  const root = host.appendChild(document.createElement("div"));
  root.className = "d2l-piece tex2jax_ignore mathjax_ignore";  // no formulas are typeset in it
  paint(html`<style>${STYLE}</style>`, root);  // it is measured as it will look
  let [state, ui, width] = [{ ...first, ...settings(address, first) }, {}, 0];
  const draw = () => {
    if (width > 12) paint(page(piece, { data, state, ui, width: width - 12, set, hold }), root);
  };
  const hold = (news) => {
    ui = { ...ui, ...news };
    draw();
  };
  const set = (settings, news) => {
    state = { ...state, ...settings };
    hold({ ...news, used: true });
    keep(address, state, first);
  };
  const restyle = () => {
    if (!root.isConnected) return;
    root.toggleAttribute("data-dark", isDark(root));
    width = root.clientWidth || width;  // 0 where JupyterLab hides all, to change themes
    draw();
  };
  try {
    restyle();
  } catch {  // settings in the address that no hand could make
    state = first;
    restyle();
  }
  new ResizeObserver(restyle).observe(root);
  const themed = new MutationObserver(restyle);
  for (const part of [document.documentElement, document.body]) {
    themed.observe(part, { attributeFilter: ["class", "data-theme", "data-jp-theme-name"] });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
}

function isDark(root) {
  root.style.colorScheme = "inherit";  // what CanvasText means must not be the piece's own choice
  const [, green] = getComputedStyle(root).color.match(/[\d.]+/g);  // of the letters
  root.style.colorScheme = "";
  return green > 128;
}

// ---- a state is an address: on pages that say so, settings stand in the query ----

const shares = () => document.body.dataset.shares !== undefined;
const kind = (value) => (Array.isArray(value) ? `${value.map(kind)}` : typeof value);

/** The settings that the page's address has for a piece, as far as they are of the usual kinds. */
function settings(name, first) {
  try {
    const given = JSON.parse(new URLSearchParams(location.search).get(name)) ?? {};
    return shares() && Object.fromEntries(Object.entries(given)
      .filter(([key, value]) => key in first && kind(value) === kind(first[key])));
  } catch {
    return {};
  }
}

/** Put what isn't as it was at first into the page's address. */
function keep(name, state, first) {
  if (!shares()) return;
  const page = new URL(location);
  const changed = Object.entries(state).filter(([key, value]) => `${value}` !== `${first[key]}`);
  page.searchParams.delete(name);
  if (changed.length) page.searchParams.set(name, JSON.stringify(Object.fromEntries(changed)));
  try {
    history.replaceState(history.state, "", page);
  } catch { /* a browser may forbid it for files, or for many changes in a second */ }
}

/** Bring every still copy of a piece on this page to life; where that fails, the picture stays. */
export function revive(name, piece) {
  const copies = `.d2l-explorer[data-piece="${name}"]:not([data-live])`;
  for (const host of document.querySelectorAll(copies)) {
    const values = host.querySelector('script[type="application/json"]');
    if (!values) continue;
    host.dataset.live = "";
    try {
      const before = document.querySelectorAll(`[data-piece="${name}"][data-live]`).length;
      show(piece, host, JSON.parse(values.textContent), before > 1 ? `${name}-${before}` : name);
      host.querySelector(".d2l-still").hidden = true;
    } catch (error) {
      host.querySelector(".d2l-piece")?.remove();
      console.error(error);
    }
  }
}

// ---- what hands move ----

const NATIVE = { "data-lm-suppress-shortcuts": "true" };  // JupyterLab leaves their keys alone
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** Where a pointer is, in its panel. */
export function place({ currentTarget, clientX, clientY }) {
  const svg = currentTarget.ownerSVGElement;
  const { left, top, width } = svg.getBoundingClientRect();
  const { x, y } = currentTarget.closest(".panel").dataset;
  const unit = svg.viewBox.baseVal.width / width;  // a slide is larger
  return [(clientX - left) * unit - x, (clientY - top) * unit - y];
}

/** Attributes of a part that is dragged: `drag(x, y)` where the pointer is, `step(right, up)` for
 * an arrow key, `keys` for others. `now` is its value, in words; `value` is a number for machines.
 */
export const grip = ({ drag, step, keys, ...valued }) => ({
  ...slides(valued, step, keys), class: "grip",
  onPointerDown(event) {
    event.preventDefault();
    event.currentTarget.setPointerCapture(event.pointerId);
    event.currentTarget.focus({ preventScroll: true });
  },
  onPointerMove: (event) =>
    event.currentTarget.hasPointerCapture(event.pointerId) && drag(...place(event)),
});

/** The same for a whole number from `min` to `max`: `at(x, y)` is where a pointer puts it, `put`
 * sets it; an arrow up adds one, or takes one where the picture grows `down`. */
export function slider({ at, put, down, ...said }) {
  const { value, min = 0, max } = said;
  const to = (number) => put(inside(Math.round(number), min, max));
  return grip({
    now: String(value), min, ...said, drag: (x, y) => to(at(x, y)),
    step: (right, up) => to(value + right + (down ? -up : up)),
    keys: { Home: () => to(min), End: () => to(max) },
  });
}

/** Attributes of what arrow keys change. */
export const slides = ({ name, now, value = 0, min = -1e9, max = 1e9 }, step, keys) => ({
  ...NATIVE, role: "slider", tabindex: 0, "aria-label": name,
  "aria-valuetext": now, "aria-valuenow": value, "aria-valuemin": min, "aria-valuemax": max,
  onKeyDown: pressed({ ...keys, ...Object.fromEntries(Object.entries(ARROWS).map(([key, way]) =>
    [key, () => step(...way)])) }),
});

/** Attributes of a part that is pressed to be on or off. */
export function tick(name, on, pick) {
  const act = () => pick(!on);
  return {
    ...NATIVE, role: "checkbox", "aria-checked": String(on), class: "press", tabindex: 0,
    "aria-label": name, onClick: act, onKeyDown: pressed({ Enter: act, " ": act }),
  };
}

const pressed = (keys) => (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
  event.preventDefault();
  keys[event.key](event);
};

// ---- controls below the picture ----

/** Controls with a name. */
export const group = (name, controls) => html`<div class="control" role="group"
  aria-label=${name}><span class="name">${name}</span>${controls}</div>`;

/** A number in a range; `text` is how it is said. */
export const range = ({ name, text, pick, ...more }) => html`
  <label class="control"><span class="name">${name}</span>
    <input type="range" min="0" ...${NATIVE} ...${more} aria-valuetext=${text}
      onInput=${(event) => pick(Number(event.target.value))} />
    <span class="number" aria-hidden="true">${text}</span></label>`;

/** One of several for a setting: values, or [value, label] pairs, side by side; many in a range. */
export function choice({ state, set }, setting, name, given) {
  const options = given.map((each) => (Array.isArray(each) ? each : [each, String(each)]));
  const now = options.findIndex(([each]) => each === state[setting]);
  const pick = (chosen) => set({ [setting]: chosen });
  if (options.length > 8) {
    return range({ name, max: options.length - 1, value: now, text: clip(options[now][1], 20),
      pick: (i) => pick(options[i][0]) });
  }
  return group(name, html`<span class="segments">
    ${options.map(([each, label], i) => html`<label title=${clip(label, 200)}>
      <input type="radio" ...${NATIVE} name=${name} checked=${i === now}
        onChange=${() => pick(each)} /><span>${clip(label, 20)}</span></label>`)}</span>`);
}

export const checkbox = ({ state, set }, setting, name) => html`
  <label class="control"><input type="checkbox" ...${NATIVE} checked=${state[setting]}
    onChange=${(event) => set({ [setting]: event.target.checked })} /><span>${name}</span></label>`;

export const field = ({ state, set }, setting, name) => html`
  <label class="control"><span class="name">${name}</span>
    <input type="text" ...${NATIVE} value=${state[setting]} maxlength="200" spellcheck="false"
      autocomplete="off" onInput=${(event) => set({ [setting]: event.target.value })} /></label>`;

/** A button; `on` says whether it is the one in force. */
export const button = (name, act, on, label = name) => html`<button type="button" ...${NATIVE}
  aria-label=${name} aria-pressed=${on === undefined ? on : String(on)} onClick=${act}>
  ${label}</button>`;

// ---- pictures ----

const TITLE = 26;  // of a panel; what it holds begins below

/** A picture of panels side by side, as many in a row as fit: each has a `width`, a `height` and
 * `parts`, and may have a `title` in a role's `colour`, and `sheets` below its parts. */
export function panels(width, given, gap = 24) {
  let [x, y, tall] = [0, 0, 0];
  const below = [];
  const placed = given.map(({ title, colour, parts, sheets = [], ...panel }) => {
    const high = panel.height + (title ? TITLE : 0);
    if (x && x + panel.width > width + 1) [x, y, tall] = [0, y + tall + 10, 0];
    const [left, top] = [near(x), near(y + high - panel.height)];
    below.push(sheets.map((one) => sheet({ ...one, x: one.x + left, y: one.y + top })));
    x += panel.width + gap;
    tall = Math.max(tall, high);
    return shifted(left, top, [title && text(0, 8 - TITLE, title, { bold: true, colour }), parts],
      { class: "panel", "data-x": left, "data-y": top });
  });
  const height = Math.round(y + tall);
  return html`${below}
    <svg width=${width} height=${height} viewBox="0 0 ${width} ${height}">${placed}</svg>`;
}

/** Parts at a point to which they travel from where they were. */
export const travelling = (key, x, y, ...parts) => h("g", { key, class: "travels",
  style: `transform: translate(${near(x)}px, ${near(y)}px)` }, parts);

/** About how many pixels words take. */
export const room = (words) =>
  Array.from(words).reduce((sum, letter) => sum + (letter > "\u2e80" ? 14.5 : 7.8), 0);

export const shifted = (x, y, parts, more) =>
  h("g", { transform: `translate(${near(x)} ${near(y)})`, ...more }, parts);

export const box = (x, y, width, height, more) =>
  h("rect", { x: near(x), y: near(y), width: near(width), height: near(height), ...more });

export const disc = ([x, y], radius, more) =>
  h("circle", { cx: near(x), cy: near(y), r: near(radius), ...more });

export const line = ([x1, y1], [x2, y2], more) =>
  h("line", { x1: near(x1), y1: near(y1), x2: near(x2), y2: near(y2), ...more });

/** Words at a point, of which they are the beginning, the MIDDLE or the END. */
export const text = (x, y, words, { colour, bold, ...more } = {}) => h("text", {
  x: near(x), y: near(y + 5), "font-weight": bold ? 600 : null,
  style: colour && `fill: var(--${colour}-letters)`, ...more }, words);
export const [MIDDLE, END] = [{ "text-anchor": "middle" }, { "text-anchor": "end" }];

/** A line from point to point with a head, in a role's colour. */
export function arrow([x, y], [toX, toY], colour, width) {
  const [right, down] = [toX - x, toY - y];
  const length = Math.hypot(right, down) || 1;
  const part = Math.min(1, (6 + 2 * width) / length);  // of it is the head
  const [baseX, baseY] = [toX - part * right, toY - part * down];
  const corner = (side) => [baseX - side * part * down, baseY + side * part * right];
  return h("g", { style: `stroke: var(--${colour}); fill: var(--${colour})` },
    line([x, y], [baseX, baseY], { "stroke-width": width }),
    h("polygon", { points: points([[toX, toY], corner(0.45), corner(-0.45)]), stroke: "none" }));
}

/** A knob to drag at one of the places that it can take. */
export const knob = (held, stops, at, sign) => h("g", held,
  stops.map((stop) => disc(stop, 2.5, { fill: "currentColor" })),
  disc(at, 22, { class: "halo" }), disc(at, 11, { class: "knob" }), text(...at, sign, MIDDLE));

export const points = (corners) => corners.map((corner) => corner.map(near).join(",")).join(" ");

/** A coordinate to a tenth of a pixel. */
export const near = (number) => Math.round(number * 10) / 10;

/** Weights, or a mask, as a map at (x, y) with cells `across` by `down`: 0 is paper, 1 the query's
 * colour. Few cells hold their numbers; many become 15 paths of strokes, one a shade; with `sheet`
 * they lie on a canvas of that name below the picture. `lit` is [row, column], of which one may be
 * null: they get a frame. `point(cell)` hears where the pointer is (null: it has left),
 * `pick(cell)` which was pressed, or reached by an arrow key: `name` and `now` say what it is. */
export function map(given) {
  const { weights, x, y, across, down, sheet, lit, point, pick } = given;
  const [rows, columns] = [weights.length, weights[0].length];
  const [row = null, column = null] = lit || [];
  const step = (right, up) => pick([inside(row - up, 0, rows - 1),
    right || column !== null ? inside((column ?? -1) + right, 0, columns - 1) : null]);
  const under = (event) => {
    const [right, below] = place(event);
    const cell = [Math.floor((below - y) / down), Math.floor((right - x) / across)];
    return weights[cell[0]]?.[cell[1]] === undefined ? null : cell;
  };
  const hands = pick && {
    ...slides({ ...given, value: row + 1, min: 1, max: rows }, step), class: "press",
    onClick: (event) => under(event) && pick(under(event)),
    onPointerMove: (event) => point(under(event)), onPointerLeave: () => point(null),
  };
  const frame = (...place) => box(...place, { class: "lit", fill: "none", stroke: "currentColor",
    "stroke-width": near(inside(down / 6, 1, 2.5)) });
  const draw = crowded(given) ? shades : cells;
  return h("g", { style: "fill: var(--query)", ...hands },
    box(x, y, columns * across, rows * down,
      { style: `fill: ${sheet ? "transparent" : "var(--paper)"}; stroke: var(--faint)` }),
    !sheet && draw(weights, x, y, across, down),
    row !== null && frame(x, y + row * down, columns * across, down),
    column !== null && frame(x + column * across, y, across, rows * down));
}

/** Whether a map's cells are too many or too small to hold their numbers. */
export const crowded = ({ weights, across, down }) =>
  weights.length * weights[0].length > 300 || Math.min(across / 1.6, down) < 20;

/** What a map of rows that ask does: it lights what is pointed at, else the row `asks` with the key
 * that was pressed, and a press chooses both; `told` names them. */
export function pointing({ ui, set, hold }, asks, tokens, keys = tokens) {
  const [row, column] = ui.at ?? [asks, ui.key ?? null];
  const asking = clip(tokens[row], 18);
  return {
    lit: [row, column],
    told: column === null ? t("{0} asks", asking) : t("{0} → {1}", asking, clip(keys[column], 18)),
    point: (cell) => hold({ at: cell }),
    // an arrow key goes on from what was chosen, not from where the pointer rests
    pick: ([i, j]) => set({ asks: i },
      { key: ui.at && i === asks && j === ui.key ? null : j, at: null }),
  };
}

/** A map's cells on a canvas below the picture, a pixel each. */
function sheet({ weights, x, y, across, down }) {
  const [rows, columns] = [weights.length, weights[0].length];
  const draw = (canvas) => {
    if (!canvas) return;
    const dark = canvas.closest("[data-dark]") !== null;
    if (canvas.weights === weights && canvas.dark === dark) return;
    Object.assign(canvas, { weights, dark });
    const image = new ImageData(columns, rows);
    weights.flat().forEach((weight, cell) => {  // as transparent as in cells and shades
      image.data[4 * cell + 3] = 217 * weight;
    });
    const context = canvas.getContext("2d");
    context.putImageData(image, 0, 0);
    context.globalCompositeOperation = "source-in";  // a colour for what isn't transparent
    context.fillStyle = PALETTE.query[dark ? "dark" : "light"];
    context.fillRect(0, 0, columns, rows);
  };
  return html`<canvas ref=${Object.assign(draw, { shown: { weights, x, y, across, down } })}
    width=${columns} height=${rows} aria-hidden="true" style="left: ${near(x)}px; top: ${near(y)}px;
    width: ${near(columns * across)}px; height: ${near(rows * down)}px" />`;
}

/** How dark a weight is, and the colour of words upon it. */
const opacity = (weight) => Math.round(850 * weight) / 1000;
export const shade = (weight) => ({ "fill-opacity": opacity(weight) });
export const onShade = (weight) => weight > 0.75 && { style: "fill: var(--on)" };

const cells = (weights, x, y, across, down) => weights.map((row, i) => row.map((weight, j) => {
  const [left, top] = [x + j * across, y + i * down];
  return [box(left + 1, top + 1, across - 2, down - 2, { class: "cell", ...shade(weight) }),
    text(left + across / 2, top + down / 2, digits(weight), { ...MIDDLE, ...onShade(weight) })];
}));

function shades(weights, x, y, across, down) {
  const paths = places(16).map(() => []);
  weights.forEach((row, i) => row.forEach((weight, j) => {
    if (weight * 15 >= 0.5) paths[Math.round(weight * 15)].push(
      `M${near(x + j * across)} ${near(y + (i + 0.5) * down)}h${across}`);
  }));
  return paths.map((parts, i) => parts.length > 0 && h("path", { class: "shade",
    d: parts.join(""), "stroke-width": down, "stroke-opacity": opacity(i / 15) }));
}

/** Points moved sideways, towards `middle`, until none lies within `gap` of one before it. */
export const apart = (given, gap, middle) => given.reduce((placed, [right, y]) => {
  let x = right;
  while (placed.some((one) => Math.hypot(one[0] - x, one[1] - y) < gap)) {
    x += right > middle ? -gap : gap;
  }
  return [...placed, [x, y]];
}, []);

/** The corners of the smallest convex shape around points: in some direction each is the farthest,
 * and half a degree is as fine as a screen. */
export const hull = (given) => [...new Set(places(720).map((i) => closest(given, ([x, y]) =>
  x * Math.cos(i * Math.PI / 360) + y * Math.sin(i * Math.PI / 360))))];

// ---- words ----

const spoken = {};  // English -> the language that is spoken; empty for English

/** Speak these words, too: pieces of one page may share this file. */
export const speak = (words) => Object.assign(spoken, words);

/** A name that stands in the data, in the language that is spoken. */
export const said = (name) => spoken[name] ?? name;

/** A text in the language that is spoken: t("{0} takes {1}", token, weight). */
export const t = (key, ...values) => said(key).replace(/\{(\d)\}/g, (_, i) => values[i]);

/** At most `length` characters of a token on one line; nothing becomes "(empty)"; right-to-left
 * text is kept to itself. */
export function clip(words, length) {
  const whole = String(words).replace(/\s+/g, " ").trim() || t("(empty)");
  const letters = Array.from(whole);
  const kept = letters.length <= length ? whole : `${letters.slice(0, length - 1).join("")}…`;
  return /^[ -~…]*$/.test(kept) ? kept : `\u2068${kept}\u2069`;
}

export const list = (words) => (words.length < 2 ? words.join("")
  : t("{0} and {1}", words.slice(0, -1).join(t(", ")), words.at(-1)));

const plural = (count, one, many) => t(count === 1 ? one : many, count);
export const headCount = (count) => plural(count, "{0} head", "{0} heads");
export const layerCount = (count) => plural(count, "{0} layer", "{0} layers");
export const stepCount = (count) => plural(count, "{0} step", "{0} steps");

/** A number to two decimals, in fewer figures where it is large; never "-0.00". */
export function digits(number) {
  if (Math.abs(number) >= 1e4) return number.toPrecision(3);
  if (Math.abs(number) >= 1000) return String(Math.round(number));
  return (Math.round(number * 100) / 100 || 0).toFixed(2);
}

/** A weight to two decimals, or two digits where it is smaller. */
export const share = (weight) =>
  (weight > 0 && weight < 0.02 ? weight.toPrecision(2) : digits(weight));

/** Where a row of weights goes, the `most` largest of them: "dog 0.50 and man 0.50". */
export function takes(weights, tokens, most = 3) {
  const [least, largest] = [Math.min(...weights), Math.max(...weights)];
  if (weights.length > 1 && largest - least < 0.01 * largest) {
    return t("all {0} alike ({1} each)", weights.length, share(largest));
  }
  const words = [];
  let rest = 1;
  for (const i of ranked(weights, Math.min(0.05, largest)).slice(0, most)) {
    words.push(`${clip(tokens[i], 20)} ${share(weights[i])}`);
    rest -= weights[i];
  }
  return list(rest > 0.05 ? [...words, t("others {0}", digits(rest))] : words);
}

/** Where numbers are that reach `least`, the largest first. */
export const ranked = (numbers, least) => places(numbers.length)
  .filter((i) => numbers[i] >= least).sort((i, j) => numbers[j] - numbers[i]);

/** A function that computes anew only where its arguments differ from the last. */
export function once(make) {
  let [before, made] = [[]];
  return (...now) => {
    if (now.some((each, i) => each !== before[i])) made = make(...now);
    before = now;
    return made;
  };
}

// ---- numbers: matrices are arrays of rows ----

/** The number, or the end of the range that it lies beyond. */
export const inside = (number, min, max) => Math.min(max, Math.max(min, number));

/** The option that is the least far. */
export const closest = (options, far) =>
  options.reduce((best, each) => (far(each) < far(best) ? each : best));

/** Numbers as they are stored (`stored` in base.py). */
export const bytesOf = (words) => Uint8Array.from(atob(words), (sign) => sign.charCodeAt(0));

/** 0, 1, 2 ... */
export const places = (count) => Array.from({ length: count }, (_, i) => i);

export const transpose = (A) => A[0].map((_, j) => A.map((row) => row[j]));

export const dot = (a, b) => a.reduce((sum, each, i) => sum + each * b[i], 0);

/** A Bᵀ, which is what `nn.Linear` does with its weight B. */
export const times = (A, B) => A.map((row) => B.map((other) => dot(row, other)));

/** Weights for a row of scores, each times `factor`, which is not negative. */
export function softmax(row, factor = 1) {
  const largest = Math.max(...row);
  const powers = row.map((score) => Math.exp(factor * (score - largest)));
  const sum = powers.reduce((all, power) => all + power);
  return powers.map((power) => power / sum);
}
