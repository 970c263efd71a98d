// Convolution, recurrence, self-attention: press an output, and its cone of light runs down to the
// inputs that it knows; below, what a layer costs, with n to drag. With chunks (lesson 10), linear
// attention stands beside them, and a memory of one size beside a cache that grows.
import PALETTE from "../palette.json" with { type: "json" };
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, disc, knob, line, panels, places, plural, points, said, slider, t, text,
} from "./kit.js";

// Kinds of one architecture share its colour, as the palette says, and differ in their dashes.
const DASHES = {
  GRU: "9 3", LSTM: "2 3", "attention products": "6 4", "linear attention, at once": "2 3",
  "linear attention, in chunks": "9 3",
};
const colourOf = (kind) => Object.keys(PALETTE).find((name) => PALETTE[name].of?.includes(kind));
const PART = "attention products";  // of the attention layer, so it doesn't compete
const TOKENS = 9;

// ---- mathematics ------------------------------------------------------------------

/** Operations of one layer, of some its sequential steps and longest path, as `d2l_ext.cost` has
 * them, and what it keeps as `d2l_ext.state_size`; n, at least 16, d, c and the heads are powers
 * of 2. */
export function cost(kind, { n, d, k, c, num_heads }) {
  const [square, products, memory] = [n * d * d, 4 * n * n * d, (d * d) / num_heads];
  const chunk = Math.min(n, c);
  const [operations, keeps] = {
    convolution: [2 * k * square, (k - 1) * d],
    recurrence: [4 * square, d],
    GRU: [12 * square, d],
    LSTM: [16 * square, 2 * d],
    "attention products": [products, 2 * n * d],
    "attention layer": [8 * square + products, 2 * n * d],
    "linear attention, at once": [8 * square + products, memory],
    "linear attention, in chunks":
      [8 * square + 4 * n * chunk * d + (4 * n - 2 * chunk) * memory, memory],
    "linear attention, by token": [8 * square + 4 * n * memory, memory],
  }[kind];
  const [sequential, path] = {
    convolution: [1, Math.ceil((2 * (n - 1)) / (k - 1))],
    recurrence: [n, n - 1],
    "attention layer": [4, 1],
  }[kind] ?? [];
  return { operations, keeps, sequential, path };
}

/** The places of each layer that an output takes from, from its own layer down to the inputs, and
 * the lines between them: [[layer, from], [layer, to]]. A recurrence hands on along its layer. */
export function cone(kind, count, k, layers, out) {
  const [rows, lines] = [places(layers + 1).map(() => new Set()), []];
  const far = { convolution: (k - 1) / 2, recurrence: 0 }[kind] ?? count;
  rows[layers].add(out);
  for (let layer = layers; layer > 0; layer--) {
    for (let i = count - 1; i >= 0; i--) {
      if (!rows[layer].has(i)) continue;
      const before = kind === "recurrence" && i > 0 ? [[layer, i - 1]] : [];
      const below = places(count).filter((j) => Math.abs(i - j) <= far).map((j) => [layer - 1, j]);
      for (const from of [...before, ...below]) {
        rows[from[0]].add(from[1]);
        lines.push([from, [layer, i]]);
      }
    }
  }
  return { rows: rows.map((row) => [...row]), lines };
}

// ---- in words ------------------------------------------------------------------------

/** A number to three digits: "0.5", "1030". */
const three = (number) => String(Number(number.toPrecision(3)));

/** A large number to three digits: "67.1 million". */
function amount(number) {
  const per = (size) => three(number / size);
  if (number >= 1e12) return t("{0} trillion", per(1e12));
  if (number >= 1e9) return t("{0} billion", per(1e9));
  if (number >= 1e6) return t("{0} million", per(1e6));
  return number >= 1e3 ? t("{0} thousand", per(1e3)) : String(number);
}

/** All digits of a number up to a million. */
const count = (number) => (number < 1e6 ? commas(number) : amount(number));
const { format: commas } = new Intl.NumberFormat("en");

/** The result in a sentence. */
function tell(kinds, size) {
  const { n, d, k, c, num_heads } = size;
  if (c) {
    const [softmax, memory] = ["attention layer", "linear attention, in chunks"]
      .map((kind) => cost(kind, size));
    const times = softmax.operations / memory.operations;
    return t("n = {0}, {1}: linear attention in chunks takes {2} and keeps {3} numbers for the " +
      "next token, self-attention {4}; they keep the same at n = {5}.", count(n),
      plural(num_heads, "head"), times < 1 ? t("{0} times as many operations", three(1 / times))
        : t("{0} times fewer operations", three(times)),
      count(memory.keeps), count(softmax.keeps), d / 2 / num_heads);
  }
  const [operations, cheapest] = kinds.filter((kind) => kind !== PART)
    .map((kind) => [cost(kind, size).operations, kind]).sort(([a], [b]) => a - b)[0];
  const layer = cost("attention layer", size);
  return t("n = {0}, d = {1}, k = {2}: the {3} takes the fewest operations, {4}; self-attention " +
    "{5} times as many, with a longest path of {6} against {7}.", n, d, k, said(cheapest),
    amount(operations), three(layer.operations / operations), layer.path, n - 1);
}

// ---- the picture ------------------------------------------------------------------

const NETS = { convolution: "convolution", recurrence: "recurrence",
  "self-attention": "attention layer" };

function view(seen) {
  const { data: { choices, kinds }, state, width, set } = seen;
  const wide = width >= 640;
  const nets = choices.layers ? Object.keys(NETS) : [];
  const part = wide ? (width - 48) / 3 : width;
  const whats = choices.c ? ["operations", "keeps"] : ["operations"];
  const across = choices.c && wide ? (width - 24) / 2 : Math.min(width, 640);
  const one = (name, label) => choice(seen, name, label, choices[name]);
  return {
    label: choices.c ? t("Work, and numbers kept, of five layers over n, on logarithmic axes.")
      : t("Three networks of nine tokens: what an output knows; below, their work over n."),
    picture: panels(width, [...nets.map((kind) => net(kind, part, seen)),
      ...whats.map((what) => plot(what, kinds, state, choices.n, across, set))]),
    sentence: tell(kinds, state),
    controls: [
      one("d", t("width d")), one("k", t("kernel k")), one("num_heads", t("heads")),
      choices.c && one("c", t("chunk c"))],
  };
}

const [TOP, HIGH] = [14, 84];  // of a network's outputs; from them to its inputs

/** A network: press an output; a knob beside it sets how many layers share its height. */
function net(kind, width, { data: { choices }, state, ui, set, hold }) {
  const colour = colourOf(NETS[kind]);
  const { k, layers } = state;
  const out = ui.out ?? TOKENS - 1;
  const step = Math.min(34, (width - 80) / (TOKENS - 1));
  const at = ([layer, i]) => [14 + i * step, TOP + HIGH * (1 - layer / layers)];
  const { rows, lines } = cone(kind, TOKENS, k, layers, out);
  const { operations, sequential, path } = cost(NETS[kind], state);
  const name = kind === "self-attention" ? t("self-attention") : said(kind);
  const most = choices.layers.at(-1);
  const stop = (count) => [width - 22, TOP + HIGH * (count - 1) / (most - 1)];
  const held = slider({
    name: t("layers of {0}", name), now: plural(layers, "layer"), value: layers, min: 1, max: most,
    down: true, put: (wanted) => set({ layers: wanted }),
    at: (x, y) => 1 + (y - TOP) / HIGH * (most - 1),
  });
  const last = at([layers, out]);
  const chosen = slider({
    name: t("output of {0}", name), value: out + 1, min: 1, max: TOKENS,
    put: (number) => hold({ out: number - 1 }), at: (x) => (x - 14) / step + 1,
  });
  const hint = { convolution: t("press an output"), recurrence: t("↕ more layers") }[kind];
  const facts = [t("{0}: it knows {1} of {2} inputs", plural(layers, "layer"), rows[0].length,
    TOKENS), t("work a layer: {0}", amount(operations)),
    t("from token 1 to {0}: {1}", count(state.n), plural(path, "step")),
    t("one after another: {0}", plural(sequential, "step"))];
  return { title: name, colour, width, height: TOP + HIGH + 92, parts: html`
    ${!ui.used && ui.out === undefined && hint && text(width, -18, hint, END)}
    ${lines.map(([from, to]) => line(at(from), at(to),
      { class: "ray", stroke: `var(--${colour})`, style: `--late: ${layers - to[0]}` }))}
    ${places(layers + 1).map((layer) => places(TOKENS).map((i) => disc(at([layer, i]),
      Math.min(6, 36 / layers), {
        class: "token", fill: `var(--${rows[layer].includes(i) ? colour : "faint"})` })))}
    ${places(TOKENS).map((i) => box(14 + (i - 0.5) * step, TOP - 22, step, 44,
      { class: "press", fill: "transparent", onClick: () => hold({ out: i }) }))}
    <g ...${chosen}>${disc(last, 17, { class: "halo" })}
      ${disc(last, 9, { fill: `var(--${colour})` })}</g>
    ${knob(held, choices.layers.map(stop), stop(layers), "↕")}
    ${facts.map((fact, i) => text(0, TOP + HIGH + 24 + 18 * i, fact))}` };
}

const FORMS = {  // what a legend calls them
  "attention products": () => t("scores and mixing only"),
  "attention layer": ({ num_heads }) =>
    t("attention layer, {0}", plural(num_heads, "head")),
  "linear attention, at once": () => t("linear attention, at once: n × n scores"),
  "linear attention, in chunks": ({ c }) => t("linear attention, in chunks of {0}", c),
  "linear attention, by token": () => t("linear attention, by token: a recurrence"),
};
// Where the lines that attention's meets have their names.
const MET = { GRU: [-6, -14, END], LSTM: [8, 12, {}],
  "linear attention, by token": [0, -14, MIDDLE] };

/** Work, or what is kept, over n; the line of n is dragged. */
function plot(what, kinds, size, values, width, set) {
  const beside = !size.c && width >= 480;  // the legend is
  const [left, right] = [96, width - (beside ? 196 : 8)];
  const low = beside ? 90 : 150;
  const last = values.length - 1;
  const lines = kinds.filter((kind) => what === "operations" || kind !== "linear attention, at once"
    && kind !== "linear attention, in chunks")
    .map((kind) => [kind, values.map((n) => cost(kind, { ...size, n })[what])])
    .sort(([, a], [, b]) => b[last] - a[last]);
  const all = lines.flatMap(([, amounts]) => amounts);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const x = (i) => left + (right - left) * i / last;  // values double: a logarithmic axis
  const y = (value) => low - (low - 8) * Math.log(value / least) / Math.log(most / least);
  const ticks = places(20).filter((power) => power % 2 === 0).map((power) => 10 ** power)
    .filter((tick) => tick >= least && tick <= most);
  const now = values.indexOf(size.n);
  const dragged = slider({
    name: t("tokens n"), now: String(size.n), value: now, max: last,
    at: (place) => (place - left) / (right - left) * last, put: (i) => set({ n: values[i] }),
  });
  const [, attention] = lines.find(([kind]) => kind === "attention layer");
  const pen = (kind) =>
    ({ stroke: `var(--${colourOf(kind)})`, "stroke-dasharray": DASHES[kind] ?? "" });
  const title = what === "keeps" ? t("numbers kept (logarithmic axes)")
    : t("operations of a layer (logarithmic axes)");
  return { title, width, height: low + 22 + (beside ? 0 : 8 + 17 * lines.length), parts: html`
    ${ticks.map((tick) => html`
      ${line([left, y(tick)], [right, y(tick)], { stroke: "var(--faint)" })}
      ${text(left - 8, y(tick), amount(tick), END)}`)}
    ${values.map((n, j) => j % 4 === 0
      && text(x(j), low + 14, count(n), [{}, MIDDLE, END][Math.sign(j) + (j === last)]))}
    ${lines.map(([kind, amounts], i) => {
      const key = beside ? [right + 8, 6 + 17 * i] : [0, low + 38 + 17 * i];
      return html`<polyline fill="none" stroke-width="2.5" ...${pen(kind)}
        points=${points(amounts.map((one, j) => [x(j), y(one)]))} />
        ${line(key, [key[0] + 18, key[1]], { ...pen(kind), "stroke-width": 2.5 })}
        ${text(key[0] + 24, key[1], FORMS[kind]?.(size) ?? said(kind),
          { colour: colourOf(kind) })}`;
    })}
    ${lines.map(([kind, amounts]) => MET[kind] && values.map((n, j) => {
      const [right, down, end] = MET[kind];
      return amounts[j] === attention[j] && html`
        ${disc([x(j), y(amounts[j])], 5, { class: "crossing" })}
        ${text(x(j) + right, y(amounts[j]) + down, size.c ? "=" : `= ${kind}`,
          { ...end, class: "over" })}`;
    }))}
    <g ...${dragged}>
      ${box(x(now) - 22, -4, 44, low + 8, { rx: 6, class: "halo" })}
      ${line([x(now), -2], [x(now), low], { stroke: "currentColor", "stroke-width": 3 })}
      ${text(x(now) + (now > 6 ? -6 : 6), 4, `n = ${count(size.n)}`,
        { ...(now > 6 ? END : {}), bold: true, class: "over" })}
      ${lines.map(([kind, amounts]) => kind !== PART && disc([x(now), y(amounts[now])], 4,
        { class: "now", fill: `var(--${colourOf(kind)})` }))}
    </g>` };
}

const style = `
  .crossing { fill: none; stroke: currentColor; stroke-width: 2; }
  .result { margin: 4px 0; }
  input[type=range] { width: 110px; }
  .ray { stroke-width: 1.4; opacity: .7; }
  @media (prefers-reduced-motion: no-preference) {
    .ray { animation: shine .2s calc(var(--late) * 30ms) backwards; }
  }
  @keyframes shine { from { opacity: 0; } }
`;

export const piece = { view, style };
