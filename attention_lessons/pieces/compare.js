// Convolution, recurrence, self-attention: press an output, and its cone of light runs down to the
// inputs that it knows; below, what a layer costs, with n to drag. With chunks (lesson 10), linear
// attention stands beside them, and a memory of one size beside a cache that grows.
import PALETTE from "../palette.json" with { type: "json" };
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, disc, line, panels, places, plural, points, said, slider, t, text,
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
    "delta rule, by token":
      [8 * square + 2 * n * d * num_heads + (6 * n - 2) * memory, memory],
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
  rows[layers].add(out);
  for (let layer = layers; layer > 0; layer--) {
    const draw = (from, to) => {
      rows[from[0]].add(from[1]);
      lines.push([from, to]);
    };
    if (kind === "recurrence") {
      for (const i of places(Math.max(...rows[layer]) + 1)) {
        draw([layer - 1, i], [layer, i]);
        if (i) draw([layer, i - 1], [layer, i]);
      }
    } else {
      const far = kind === "convolution" ? (k - 1) / 2 : count;
      for (const i of [...rows[layer]].sort((a, b) => b - a)) {
        places(count).filter((j) => Math.abs(i - j) <= far)
          .forEach((j) => draw([layer - 1, j], [layer, i]));
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
  if (number >= 1e15) return t("{0} quadrillion", per(1e15));
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
  const whats = nets.length ? ["operations"] : ["operations", "keeps"];
  const across = !nets.length && wide ? (width - 24) / 2 : Math.min(width, 640);
  const high = nets.length && wide ? 112 : 220;  // a slide holds it all
  const one = (name, label) => choice(seen, name, label, choices[name]);
  return {
    label: choices.c ? t("Work, and numbers kept, of five layers over n, on logarithmic axes.")
      : t("Three networks of nine tokens: what an output knows; below, their work over n."),
    picture: panels(width, [...nets.map((kind) => net(kind, part, seen)),
      ...whats.map((what) => plot(what, kinds, state, choices.n, across, high, set))]),
    sentence: tell(kinds, state),
    controls: [
      one("d", t("width d")), one("k", t("kernel k")), one("num_heads", t("heads")),
      choices.c && one("c", t("chunk c"))],
  };
}

const [TOP, ROW] = [14, 38];  // of a network's outputs; from layer to layer

/** A network: press an output, drag its lower edge. */
function net(kind, width, { data: { choices }, state, ui, set, hold }) {
  const colour = colourOf(NETS[kind]);
  const { k, layers } = state;
  const out = ui.out ?? TOKENS - 1;
  const step = Math.min(34, (width - 28) / (TOKENS - 1));
  const base = TOP + ROW * layers;
  const at = ([layer, i]) => [14 + i * step, base - ROW * layer];
  const { rows, lines } = cone(kind, TOKENS, k, layers, out);
  const { operations, sequential, path } = cost(NETS[kind], state);
  const name = kind === "self-attention" ? t("self-attention") : said(kind);
  const edge = slider({
    name: t("layers of {0}", name), now: plural(layers, "layer"), value: layers, min: 1,
    max: choices.layers.at(-1), down: true, put: (wanted) => set({ layers: wanted }),
    at: (x, y) => (y - TOP - 27) / ROW,
  });
  const last = at([layers, out]);
  const chosen = slider({
    name: t("output of {0}", name), value: out + 1, min: 1, max: TOKENS,
    put: (number) => hold({ out: number - 1 }), at: (x) => (x - 14) / step + 1,
  });
  const facts = [t("it knows {0} of {1} inputs", rows[0].length, TOKENS),
    t("at n = {0}: work {1}", count(state.n), amount(operations)),
    t("from first token to last: {0}", plural(path, "step")),
    t("one after another: {0}", plural(sequential, "step"))];
  return { title: name, colour, width, height: base + 116, parts: html`
    ${kind === "convolution" && !ui.used && ui.out === undefined
      && text(width, -18, t("press an output"), END)}
    ${lines.map(([from, to]) => line(at(from), at(to),
      { class: "ray", stroke: `var(--${colour})`, style: `--late: ${layers - to[0]}` }))}
    ${places(layers + 1).map((layer) => places(TOKENS).map((i) => disc(at([layer, i]), 6, {
      class: "token", fill: `var(--${rows[layer].includes(i) ? colour : "faint"})` })))}
    ${places(TOKENS).map((i) => box(14 + (i - 0.5) * step, last[1] - 22, step, 44,
      { class: "press", fill: "transparent", onClick: () => hold({ out: i }) }))}
    <g ...${chosen}>${disc(last, 17, { class: "halo" })}
      ${disc(last, 9, { fill: `var(--${colour})` })}</g>
    <g ...${edge}>${box(0, base + 15, width, 24, { rx: 6, class: "halo" })}
      ${text(width / 2, base + 27, layers > 1 ? `↕ ${plural(layers, "layer")}`
        : t("↓ pull down: more layers"), MIDDLE)}</g>
    ${facts.map((fact, i) => text(0, base + 54 + 18 * i, fact))}` };
}

/** Work, or what is kept, over n; the line of n is dragged. */
function plot(what, kinds, size, values, width, height, set) {
  const [right, low] = [width - 196, height - 22];
  const wide = right > 250;
  const left = wide ? 96 : 8;
  const shown = kinds.filter((kind) => what === "keeps"
    ? !kind.includes(",") || kind === "linear attention, by token" : !kind.startsWith("delta"));
  const lines = shown.map((kind) => [kind, values.map((n) => cost(kind, { ...size, n })[what])])
    .sort(([, a], [, b]) => b.at(-1) - a.at(-1));
  const all = lines.flatMap(([, amounts]) => amounts);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const last = values.length - 1;
  const x = (i) => left + (right - left) * i / last;  // values double: a logarithmic axis
  const y = (value) => low - (low - 8) * Math.log(value / least) / Math.log(most / least);
  const ticks = places(20).filter((power) => power % 2 === 0 && 10 ** power >= least
    && 10 ** power <= most);
  const now = values.indexOf(size.n);
  const dragged = slider({
    name: t("tokens n"), now: String(size.n), value: now, max: last,
    at: (place) => (place - left) / (right - left) * last, put: (i) => set({ n: values[i] }),
  });
  const named = (kind) => kind === PART ? t("scores and mixing only")
    : kind === "attention layer" && !size.c ? `${said(kind)}, ${plural(size.num_heads, "head")}`
      : said(kind).replace(" attention,", ",");
  const names = lines.map(([, amounts]) => y(amounts.at(-1)));
  for (let i = 1; i < names.length; i++) names[i] = Math.max(names[i], names[i - 1] + 16);
  const over = Math.max(0, names.at(-1) - low);
  const [, attention] = lines.find(([kind]) => kind === "attention layer");
  const passed = what === "keeps" ? ["linear attention, by token"] : ["GRU", "LSTM"];
  const title = what === "keeps" ? t("numbers kept (logarithmic axes)")
    : t("operations of a layer (logarithmic axes)");
  return { title, width, height, parts: html`
    ${ticks.map((power) => html`
      ${line([left, y(10 ** power)], [right, y(10 ** power)], { stroke: "var(--faint)" })}
      ${wide ? text(left - 8, y(10 ** power), amount(10 ** power), END)
        : text(left, y(10 ** power) - 9, amount(10 ** power), { class: "scale" })}`)}
    ${lines.map(([kind, amounts], i) => {
      const colour = colourOf(kind);
      return html`<polyline fill="none" stroke="var(--${colour})" stroke-width="2.5"
        stroke-dasharray=${DASHES[kind] ?? ""}
        points=${points(amounts.map((one, j) => [x(j), y(one)]))} />
        ${line([right + 3, names[i] - over], [right + 17, names[i] - over],
          { stroke: `var(--${colour})`, "stroke-dasharray": DASHES[kind] ?? "" })}
        ${text(right + 21, names[i] - over, named(kind), { colour })}`;
    })}
    ${values.map((n, j) => lines
      .filter(([kind, amounts]) => passed.includes(kind) && amounts[j] === attention[j])
      .map(([kind]) => html`${disc([x(j), y(attention[j])], 5, { class: "crossing" })}
        ${kind === "LSTM" ? text(x(j) + 8, y(attention[j]) + 12, "= LSTM")
          : text(x(j) + 6, y(attention[j]) - 14, what === "keeps" ? "=" : "= GRU", END)}`))}
    ${values.map((n, j) => j % (right - left > 250 ? 4 : last) === 0
      && text(x(j), height - 8, count(n), [{}, MIDDLE, END][Math.sign(j) + (j === last)]))}
    <g ...${dragged}>
      ${box(x(now) - 22, -4, 44, low + 8, { rx: 6, class: "halo" })}
      ${line([x(now), -2], [x(now), low], { stroke: "currentColor", "stroke-width": 3 })}
      ${text(x(now) + (now > 6 ? -6 : 6), 4, `n = ${count(size.n)}`,
        now > 6 ? { ...END, bold: true } : { bold: true })}
    </g>
    ${lines.filter(([kind]) => kind !== PART).map(([kind, amounts]) =>
      disc([x(now), y(amounts[now])], 4,
        { class: "now", fill: `var(--${colourOf(kind)})` }))}` };
}

const style = `
  .scale { opacity: .75; }
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
