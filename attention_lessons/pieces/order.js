// Self-attention: drag the words, hide some of them, and see which outputs stay as they were.
import { h } from "./vendor/preact.js";
import {
  END, MIDDLE, box, checkbox, choice, clip, digits, group, layerCount, list, map, near, onShade,
  panels, places, room, said, shade, slider, softmax, t, text, times, transpose, travelling,
} from "./kit.js";

// ---- mathematics ----

/** One layer over the rows of X: softmax(q kᵀ / √d) v over what may be attended to, then W_o
 * (Vaswani et al. 2017, section 3.2). */
function attend({ W_q, W_k, W_v, W_o }, X, may) {
  const [Q, K, V] = [W_q, W_k, W_v].map((W) => times(X, W));
  const weights = times(Q, K).map((row, i) => softmax(
    row.map((score, j) => (may(i, j) ? score : -Infinity)), 1 / Math.sqrt(W_q.length)));
  return { weights, output: times(times(weights, transpose(V)), W_o) };
}

/** Each word, by its number: its place in the order, the last layer's weights on each word (null:
 * hidden), its output, what that was in the order 0, 1, 2 ..., and which parts have changed. */
function say({ tokens, X, validLen, ...matrices }, { layers, causal, padding }, order) {
  const may = (query, key) => !(causal && key > query) && !(padding && key >= validLen);
  const through = (words) => places(layers).reduce(({ output }) => attend(matrices, output, may),
    { output: words.map((token) => X[token]) });
  const [first, now] = [through(places(X.length)).output, through(order)];
  const placed = first.map((_, token) => order.indexOf(token));
  return first.map((before, token) => {
    const place = placed[token];
    const output = now.output[place];
    const weights = placed.map((key) => (may(place, key) ? now.weights[place][key] : null));
    const changed = output.map((value, i) => Math.abs(value - before[i]) >= 1e-6);
    return { name: clip(tokens[token], 20), place, weights, before, output, changed,
      same: !changed.includes(true) };
  });
}

// ---- in words ----

function tell(words, order, { layers, causal, padding }, validLen) {
  const hidden = list([causal && t("later words"),
    padding && t("places beyond {0}", validLen)].filter(Boolean));
  const sight = hidden ? t("{0} hidden", hidden) : t("nothing hidden");
  const where = t("{0}, {1}:", layerCount(layers), sight);
  if (order.every((token, place) => token === place)) {
    return t("{0} these are the outputs to compare with. Move a word.", where);
  }
  const [moved, kept] = [false, true].map((same) => list(
    order.filter((token) => words[token].same === same).map((token) => words[token].name)));
  if (!moved) return t("{0} another order, and every word's output is the same.", where);
  if (!kept) return t("{0} every output has changed.", where);
  return t("{0} the output of {1} has changed, that of {2} is the same.", where, moved, kept);
}

// ---- the picture ----

const [ROW, TOP] = [40, 58];  // of a word; of the rows, below the words or features

function view({ data, state, ui, width, set, hold }) {
  const order = Array.from(state.order, Number);
  const words = say(data, state, order);
  const names = words.map(({ name }) => name);
  const left = Math.min(Math.max(...names.map(room)) + 20, width / 4);
  const wide = width >= 640;
  const across = Math.min(76, (width * (wide ? 0.5 : 1) - left) / words.length);
  const first = left + across * words.length;
  const rest = wide ? width - first - 24 : width;
  const height = TOP + ROW * words.length;
  const part = { words, order, left, across, ui, set, hold };
  const tokens = ui.at ?? ui.kept;
  const lit = tokens?.map((token) => words[token]);
  const weight = lit?.[0].weights[tokens[1]];
  const told = lit && t("{0} → {1}, {2}", lit[0].name, lit[1].name,
    weight === null ? t("hidden") : digits(weight));
  return {
    label: t("The words in their order over a map of their weights; each word's output, compared " +
      "with {0}.", names.join(" ")),
    picture: panels(width, [
      { title: told || (state.layers === 1 ? t("weights") : t("weights in layer 2")),
        width: first, height, parts: [chips(part), weighing(part, lit, told)] },
      { title: t("same output as in {0}?", names.map((name) => clip(name, 8)).join(" ")),
        width: rest, height, parts: results(part, data.features, rest) },
    ]),
    sentence: tell(words, order, state, data.validLen),
    controls: [
      group(t("masks"), [checkbox({ state, set }, "causal", t("causal")),
        checkbox({ state, set }, "padding", t("padding, length {0}", data.validLen))]),
      choice({ state, set }, "layers", t("layers"), [1, 2]),
    ],
  };
}

const short = (name, width) =>
  clip(name, room(name) <= width ? 40 : Math.max(2, Math.floor(width / 8.5)));

/** The words above their columns, to be dragged; the others close up. */
const chips = ({ words, order, left, across, ui, set }) => [
  !ui.used && text(left + across * words.length, -18, t("↔ drag a word"), END),
  words.map(({ name, place }, token) => {
    const others = order.filter((each) => each !== token);
    const held = slider({
      name, now: t("place {0} of {1}", place + 1, words.length), value: place, max: others.length,
      at: (x) => (x - left) / across - 0.5,
      put: (to) => set({ order: [...others.slice(0, to), token, ...others.slice(to)].join("") }),
    });
    return travelling(token, left + across * place, 10, h("g", held,
      box(2, 0, across - 4, 44, { rx: 22, class: "halo" }),
      box(2, 5, across - 4, 34, { rx: 17, class: "knob" }),
      text(across / 2, 21, short(name, across - 12), { ...MIDDLE, bold: true })));
  }),
];

/** Each word's row, which travels with the word, after its name. */
const rows = ({ words, left }, parts) => words.map((word, token) =>
  travelling(`row ${token}`, left, TOP + ROW * word.place,
    text(-8, ROW / 2, short(word.name, left - 12), { ...END, bold: true }), parts(word)));

/** Row by row what a word attends to; cells, and a frame around them, travel with their words. */
function weighing(part, lit, told) {
  const { words, order, left, across, hold } = part;
  const at = (cell) => cell?.map((place) => order[place ?? 0]);
  const hatch = `M1 ${ROW - 1}${`l${near(across / 4)} ${2 - ROW}m0 ${ROW - 2}`.repeat(4)}`;
  return [
    rows(part, ({ weights }) => weights.map((weight, key) =>
      travelling(key, across * words[key].place, 0,
        box(1, 1, across - 2, ROW - 2, { class: "weight", ...shade(weight) }),
        weight === null ? h("path", { class: "hatch", d: hatch })
          : text(across / 2, ROW / 2, digits(weight), { ...MIDDLE, ...onShade(weight) })))),
    map({ weights: words.map(({ weights }) => weights), x: left, y: TOP, across, down: ROW,
      sheet: true, lit: lit?.map(({ place }) => place), name: t("weights"),
      now: told ?? t("nothing"), point: (cell) => hold({ at: at(cell) }),
      pick: (cell) => hold({ kept: at(cell) }) }),
  ];
}

/** Each word's output, what it was in the first order where that differs, and whether it does. */
function results(part, features, width) {
  const across = Math.min(70, (width - part.left - 20) / features.length);
  const number = (i, y, value, more) => across > 31
    && text(across * (i + 0.5), y, digits(value), { ...MIDDLE, ...more });
  return [
    features.map((feature, i) =>
      text(part.left + across * (i + 0.5), TOP - 20, short(said(feature), across), MIDDLE)),
    rows(part, ({ before, output, changed, same }) => [
      output.map((value, i) => [
        box(across * i + 1, 1, across - 2, ROW - 2,
          { class: `output tint ${changed[i] ? "changed" : ""}` }),
        number(i, changed[i] ? 13 : ROW / 2, value, { bold: changed[i] }),
        changed[i] && number(i, 28, before[i], { class: "was" }),
      ]),
      text(across * output.length + 8, ROW / 2, same ? "=" : "≠", { bold: !same }),
    ]),
  ];
}

const style = `
  .grip { touch-action: pan-y; }
  .weight { fill: var(--query); stroke: var(--faint); }
  .hatch { stroke: var(--faint); stroke-width: 1.5; }
  .output { stroke: var(--faint); }
  .changed { stroke: var(--role); stroke-width: 2; }
  .was { text-decoration: line-through; }
`;

export const piece = { view, style };
