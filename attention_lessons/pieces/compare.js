// Convolution, recurrence, self-attention: press an output, and its cone of light runs down to the
// inputs that it knows; below, what a layer costs, with n to drag. With chunks (lesson 10), linear
// attention stands beside them, and a memory of one size beside a cache that grows.
import PALETTE from "../palette.json" with { type: "json" };
import { h } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, disc, headCount, knob, layerCount, line, panels, places, points, said,
  shifted, slider, stepCount, t, text,
} from "./kit.js";

// ---- mathematics ----

/** Operations of one layer, what it keeps, and of some its sequential steps and longest path, as
 * `d2l_ext.cost` and `state_size` have them; n, at least 16, d, c and heads are powers of 2. */
export function cost(kind, { n, d, k, c, num_heads }) {
  const [square, products, memory] = [n * d * d, 4 * n * n * d, d * d / num_heads];
  const chunk = Math.min(n, c);
  const [operations, keeps, sequential, path] = {
    convolution: [2 * k * square, (k - 1) * d, 1, Math.ceil(2 * (n - 1) / (k - 1))],
    recurrence: [4 * square, d, n, n - 1],
    GRU: [12 * square, d],
    LSTM: [16 * square, 2 * d],
    "attention products": [products, 2 * n * d],
    "attention layer": [8 * square + products, 2 * n * d, 4, 1],
    "linear attention, in chunks":
      [8 * square + 4 * n * chunk * d + (4 * n - 2 * chunk) * memory, memory],
    "linear attention, by token": [8 * square + 4 * n * memory, memory],
  }[kind];
  return { operations, keeps, sequential, path };
}

const TOKENS = 9;

/** The places of each layer that an output takes from, from its own layer down to the inputs, and
 * the lines between them: [[layer, from], [layer, to]]. A recurrence hands on along its layer. */
export function cone(kind, k, layers, out) {
  const [rows, lines] = [places(layers + 1).map(() => []), []];
  const far = { convolution: (k - 1) / 2, recurrence: 0 }[kind] ?? TOKENS;
  const take = (layer, i) => {
    if (rows[layer].includes(i)) return;
    rows[layer].push(i);
    if (layer === 0) return;
    const below = places(TOKENS).filter((j) => Math.abs(i - j) <= far).map((j) => [layer - 1, j]);
    const before = kind === "recurrence" && i > 0 ? [[layer, i - 1]] : [];
    for (const from of [...before, ...below]) {
      lines.push([from, [layer, i]]);
      take(...from);
    }
  };
  take(layers, out);
  return { rows, lines };
}

// ---- in words ----

/** A number to three digits: "0.5", "1030". */
const three = (number) => String(Number(number.toPrecision(3)));

/** A number with all its digits: "65,536", from a million on with three: "67.1 million". */
function amount(number) {
  if (number >= 1e12) return t("{0} trillion", three(number / 1e12));
  if (number >= 1e9) return t("{0} billion", three(number / 1e9));
  return number >= 1e6 ? t("{0} million", three(number / 1e6)) : number.toLocaleString("en");
}

/** The result in a sentence; of the kinds of lesson 06 a recurrence takes the fewest, always. */
function tell(size) {
  const { n, d, k, c, num_heads } = size;
  const { operations, keeps, path } = cost("attention layer", size);
  const other = cost(c ? "linear attention, in chunks" : "recurrence", size).operations;
  return c ? t("Of {0} tokens linear attention keeps one {1} × {2} memory, self-attention all " +
    "keys and values, {3}. In chunks it does {4} % of self-attention's work.", amount(n), d,
  d / num_heads, amount(keeps), three(100 * other / operations))
    : t("{0} tokens of width {1}, kernel {2}: the recurrence takes the fewest operations, {3}; " +
      "self-attention {4} times as many, with a longest path of {5} against {6}.", n, d, k,
    amount(other), three(operations / other), path, n - 1);
}

// ---- the picture ----

const colourOf = (kind) => Object.keys(PALETTE).find((name) => PALETTE[name].of?.includes(kind));

function view(seen) {
  const { data: { choices }, state, width } = seen;
  const part = (count) => (width < 640 ? width : (width - 24 * (count - 1)) / count);
  const one = (name, label) => choice(seen, name, label, choices[name]);
  const [nets, plots] = state.c ? [[], ["operations", "keeps"]]
    : [["convolution", "recurrence", "attention layer"], ["operations"]];
  return {
    label: state.c ? t("Work, and numbers kept, of five layers over n, on logarithmic axes.")
      : t("Three networks of nine tokens: what an output knows; below, their work over n."),
    picture: panels(width, [
      ...nets.map((kind) => net(kind, part(3), seen)),
      ...plots.map((what) => plot(what, part(2), seen)), legend(seen)]),
    sentence: tell(state),
    controls: [one("d", t("width d")), one("k", t("kernel k")), one("num_heads", t("heads")),
      state.c && one("c", t("chunk c"))],
  };
}

const [TOP, HIGH, STOP] = [14, 84, 12];  // of a network's outputs, to its inputs, from knob to knob

/** A network: press an output; a knob beside it sets how many layers share its height. */
function net(kind, width, { data: { choices }, state, ui, set }) {
  const { n, k, layers } = state;
  const colour = colourOf(kind);
  const name = kind === "attention layer" ? t("self-attention") : said(kind);
  const out = ui.out ?? TOKENS - 1;
  const pick = (i) => set({}, { out: i });
  const step = Math.min(34, (width - 80) / (TOKENS - 1));
  const at = ([layer, i]) => [14 + i * step, TOP + HIGH * (1 - layer / layers)];
  const { rows, lines } = cone(kind, k, layers, out);
  const { operations, sequential, path } = cost(kind, state);
  const stop = (count) => [width - 22, TOP + STOP * (count - 1)];
  const stacked = slider({
    name: t("layers of {0}", name), now: layerCount(layers), value: layers, min: 1,
    max: choices.layers.length, down: true, at: (x, y) => (y - TOP) / STOP + 1,
    put: (number) => set({ layers: number }),
  });
  const chosen = slider({
    name: t("output of {0}", name), value: out + 1, min: 1, max: TOKENS,
    at: (x) => (x - 14) / step + 1, put: (number) => pick(number - 1),
  });
  const hint = { convolution: t("press an output"), recurrence: t("↕ more layers") }[kind];
  const facts = [
    t("{0}: it knows {1} of {2} inputs", layerCount(layers), rows[0].length, TOKENS),
    t("work a layer: {0}", amount(operations)),
    t("from token 1 to {0}: {1}", amount(n), stepCount(path)),
    t("one after another: {0}", stepCount(sequential))];
  return { title: name, colour, width, height: TOP + HIGH + 92, parts: [
    !ui.used && text(width, -18, hint, END),
    lines.map((ends) => line(...ends.map(at), {  // the cone runs down, anew for each output
      class: "ray flows", stroke: `var(--${colour})`, key: [out, layers, ...ends].join(" "),
      style: `transition-delay: ${30 * (layers - ends[1][0])}ms` })),
    rows.map((known, layer) => places(TOKENS).map((i) =>
      disc(at([layer, i]), Math.min(6, 36 / layers),
        { class: "token", fill: `var(--${known.includes(i) ? colour : "faint"})` }))),
    places(TOKENS).map((i) => box(14 + (i - 0.5) * step, TOP - 22, step, 44,
      { class: "press", fill: "transparent", onClick: () => pick(i) })),
    h("g", chosen, disc(at([layers, out]), 17, { class: "halo" }),
      disc(at([layers, out]), 9, { fill: `var(--${colour})` })),
    knob(stacked, choices.layers.map(stop), stop(layers), "↕"),
    facts.map((fact, i) => text(0, TOP + HIGH + 24 + 18 * i, fact))] };
}

// Kinds of one architecture share its colour, as the palette says, and differ in their dashes.
const DASHES = {
  GRU: "9 3", LSTM: "2 3", "attention products": "6 4", "linear attention, in chunks": "9 3",
};
const pen = (kind) => ({ stroke: `var(--${colourOf(kind)})`, "stroke-width": 2.5,
  "stroke-dasharray": DASHES[kind] });

/** What the lines of the plots are. */
function legend({ data: { kinds }, state }) {
  const forms = {
    "attention products": t("scores and mixing only"),
    "attention layer": t("attention layer, {0}", headCount(state.num_heads)),
    "linear attention, in chunks": t("linear: scores in chunks, memory between"),
  };
  const parts = kinds.map((kind, i) => shifted(0, 8 + 17 * i, [line([0, 0], [18, 0], pen(kind)),
    text(24, 0, forms[kind] ?? said(kind), { colour: colourOf(kind) })]));
  return { width: 196, height: 17 * kinds.length, parts };
}

// Where the lines that attention's meets have their names.
const MET = {
  GRU: [-6, -14, "= GRU", END], LSTM: [8, 12, "= LSTM"],
  "linear attention, by token": [0, -14, "=", MIDDLE],
};
const LEFT = 96;  // of a plot's axes

/** Work, or what is kept, over n; the line of n is dragged. */
function plot(what, width, { data: { choices: { n: values }, kinds }, state, set }) {
  const last = values.length - 1;
  const low = state.c ? 140 : 90;  // below networks a slide has less room
  const amounts = kinds.map((kind) => values.map((n) => cost(kind, { ...state, n })[what]));
  const [least, most] = [Math.min(...amounts.flat()), Math.max(...amounts.flat())];
  const step = (width - LEFT - 8) / last;
  const x = (i) => LEFT + step * i;  // values double: a logarithmic axis
  const y = (value) => low - (low - 8) * Math.log(value / least) / Math.log(most / least);
  const lines = amounts.map((row) => row.map((value, i) => [x(i), y(value)]));
  const now = values.indexOf(state.n);
  const dragged = slider({
    name: t("tokens n"), now: String(state.n), value: now, max: last,
    at: (across) => (across - LEFT) / step, put: (i) => set({ n: values[i] }),
  });
  const title = what === "keeps" ? t("numbers kept of n tokens")
    : t("operations of a layer on n tokens");
  return { title, width, height: low + 22, parts: [
    places(7).map((i) => 100 ** i).filter((tick) => tick >= least && tick <= most)
      .map((tick) => [line([LEFT, y(tick)], [x(last), y(tick)], { stroke: "var(--faint)" }),
        text(LEFT - 8, y(tick), amount(tick), END)]),
    values.map((n, i) => i % 4 === 0 && text(x(i), low + 14, amount(n), i < last ? MIDDLE : END)),
    kinds.map((kind, row) =>
      h("polyline", { fill: "none", ...pen(kind), points: points(lines[row]) })),
    kinds.map((kind, row) => MET[kind] && lines[row].map((met, i) => {
      const [right, down, words, where] = MET[kind];
      return amounts[row][i] === amounts[0][i] && [disc(met, 5, { class: "crossing" }),
        text(met[0] + right, met[1] + down, words, { ...where, class: "over" })];
    })),
    h("g", dragged, box(x(now) - 22, -4, 44, low + 8, { rx: 6, class: "halo" }),
      line([x(now), 12], [x(now), low], { stroke: "currentColor", "stroke-width": 3 }),
      text(Math.min(x(now), width - 42), 4, `n = ${amount(state.n)}`,
        { ...MIDDLE, bold: true, class: "over" }),
      kinds.map((kind, row) => disc(lines[row][now], 4,
        { class: "now", fill: `var(--${colourOf(kind)})` }))),
  ] };
}

const style = `
  .result { margin: 4px 0; }  /* on a slide every pixel counts */
  .crossing { fill: none; stroke: currentColor; stroke-width: 2; }
  input[type=range] { width: 110px; }
  .ray { opacity: .7; }
  @starting-style { .ray { opacity: 0; } }
`;

export const piece = { view, style };
