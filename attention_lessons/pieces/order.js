// Self-attention: drag the words, hide some of them, and see which outputs stay as they were.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, checkbox, choice, clip, digits, group, list, near, onShade, panels, places,
  plural, room, said, shade, slider, softmax, t, text, times, transpose, travelling,
} from "./kit.js";

// ---- mathematics ------------------------------------------------------------------

/** Who may attend to whom, by places counted from 0: no later key, none from the length on. */
export const mayAttend = ({ causal, padding }, validLen) => (query, key) =>
  !(causal && key > query) && !(padding && key >= validLen);

/** One layer over the rows of X: softmax(q kᵀ / √d) v over what may be attended to, then W_o
 * (Vaswani et al. 2017, section 3.2). */
export function attend({ W_q, W_k, W_v, W_o }, X, may) {
  const [Q, K, V] = [W_q, W_k, W_v].map((W) => times(X, W));
  const scale = Math.sqrt(W_q.length);
  const weights = times(Q, K).map((row, i) =>
    softmax(row.map((score, j) => (may(i, j) ? score / scale : -Infinity))));
  return { weights, output: times(times(weights, transpose(V)), W_o) };
}

/** The words in some order through one layer or two: the last layer's weights, the outputs, and
 * whether each is as in the order 0, 1, 2 ... */
export function say({ X, validLen, ...matrices }, { order, layers, ...masks }) {
  const may = mayAttend(masks, validLen);
  const through = (words) => {
    let all = { output: words.map((token) => X[token]) };
    for (let layer = 0; layer < layers; layer++) all = attend(matrices, all.output, may);
    return all;
  };
  const [first, now] = [through(places(X.length)).output, through(order)];
  const before = order.map((token) => first[token]);
  const same = now.output.map((row, place) => row.every((value, i) =>
    alike(value, before[place][i])));
  return { ...now, before, same, may };
}

const alike = (one, other) => Math.abs(one - other) < 1e-6;

/** The order after a token has moved to another place; the others close up. */
export function moveTo(order, token, place) {
  const others = order.filter((other) => other !== token);
  return [...others.slice(0, place), token, ...others.slice(place)];
}

// ---- in words ------------------------------------------------------------------------

/** The result in a sentence. */
export function tell({ same }, { causal, padding, layers }, order, { tokens, validLen }) {
  const hidden = [causal && t("later words"), padding && t("places beyond {0}", validLen)]
    .filter(Boolean);
  const where = t("{0}, {1}:", plural(layers, "layer"),
    hidden.length ? t("{0} hidden", list(hidden)) : t("nothing hidden"));
  if (order.every((token, place) => token === place)) {
    return t("{0} these are the outputs to compare with. Move a word.", where);
  }
  const [kept, moved] = [true, false].map((wanted) => list(order
    .filter((_, place) => same[place] === wanted).map((token) => clip(tokens[token], 20))));
  if (!moved) return t("{0} another order, and every word's output is the same.", where);
  if (!kept) return t("{0} every output has changed.", where);
  return t("{0} the output of {1} has changed, that of {2} is the same.", where, moved, kept);
}

// ---- the picture ------------------------------------------------------------------

const [ROW, TOP] = [40, 58];  // of a word; of the rows, below the words or features

function view({ data, state, ui, width, set, hold }) {
  const { tokens, features, validLen } = data;
  const order = Array.from(state.order, Number);
  const all = say(data, { ...state, order });
  const names = tokens.map((token) => clip(token, 16));
  const left = Math.min(Math.max(...names.map(room)) + 20, width / 4);
  const wide = width >= 640;
  const across = Math.min(76, (width * (wide ? 0.5 : 1) - left) / tokens.length);
  const first = left + across * tokens.length;
  const part = { order, tokens, names, all, left, ui, set, hold };
  const high = TOP + ROW * tokens.length;
  return {
    label: t("The words in their order over a map of their weights; each word's output, compared " +
      "with {0}.", names.join(" ")),
    picture: panels(width, [
      { title: state.layers === 1 ? t("weights") : t("weights in layer 2"), width: first,
        height: high + 24,
        parts: [weighing({ ...part, across, high }), words({ ...part, across })] },
      { title: t("same output in {0}?", names.map((name) => clip(name, 8)).join(" ")),
        ...results({ ...part, features, width: wide ? width - first - 24 : width }), height: high },
    ]),
    sentence: tell(all, state, order, data),
    controls: [
      group(t("masks"), [checkbox({ state, set }, "causal", t("causal")),
        checkbox({ state, set }, "padding", t("padding, length {0}", validLen))]),
      choice({ state, set }, "layers", t("layers"), [1, 2]),
    ],
  };
}

const short = (name, width) =>
  clip(name, room(name) <= width ? 40 : Math.max(2, Math.floor(width / 8.5)));

/** Each word's row, which travels with the word, after its name. */
const rows = ({ order, names, left }, parts) => names.map((name, token) =>
  travelling(`row ${token}`, left, TOP + ROW * order.indexOf(token), html`
    ${text(-8, ROW / 2, short(name, left - 12), { ...END, bold: true })}${parts(token)}`));

/** The words above their columns, to be dragged. */
const words = ({ order, tokens, names, left, across, ui, set }) => [
  !ui.used && text(left + across * tokens.length, -18, t("↔ drag a word"), END),
  names.map((name, token) => {
    const place = order.indexOf(token);
    return travelling(token, left + across * place, 10, html`<g ...${slider({
      name, now: t("place {0} of {1}", place + 1, tokens.length), value: place + 1, min: 1,
      max: tokens.length, at: (x) => (x - left) / across + 0.5,
      put: (to) => to !== place + 1 && set({ order: moveTo(order, token, to - 1).join("") }),
    })} style="touch-action: pan-y">
      ${box(2, 0, across - 4, 44, { rx: 22, class: "halo" })}
      ${box(2, 5, across - 4, 34, { rx: 17, class: "chip" })}
      ${text(across / 2, 21, short(name, across - 12), { ...MIDDLE, bold: true })}</g>`);
  })];

/** Row by row what a word attends to; a cell travels with its row's and its column's word. */
function weighing({ across, high, ...part }) {
  const { order, names, all: { may, weights }, left, ui, hold } = part;
  const at = ui.at ?? ui.kept;
  const lit = at?.map((token) => order.indexOf(token));
  return html`
    ${lit && text(left, high + 14, t("{0} → {1}, {2}", ...at.map((token) => names[token]),
      may(...lit) ? digits(weights[lit[0]][lit[1]]) : t("hidden")))}
    <g class="press" onPointerLeave=${() => hold({ at: null })}>
      ${rows(part, (query) => names.map((_, key) => {
        const [i, j] = [order.indexOf(query), order.indexOf(key)];
        return travelling(key, across * j, 0, html`
          <g onPointerMove=${() => hold({ at: [query, key] })}
            onClick=${() => hold({ kept: [query, key] })}>
            ${cell(across, may(i, j) ? weights[i][j] : null)}</g>`);
      }))}</g>
    ${lit && box(left, TOP + ROW * lit[0], across * order.length, ROW, { class: "lit" })}
    ${lit && box(left + across * lit[1], TOP, across, ROW * order.length, { class: "lit" })}`;
}

/** A weight on its shade; hatched where it is hidden. */
const cell = (width, weight) => html`
  ${box(1, 1, width - 2, ROW - 2, { class: "weight", ...shade(weight) })}
  ${weight === null ? html`<path class="hatch"
      d=${places(4).map((i) => `M${near(width * i / 4)} ${ROW - 1}l${near(width / 4)} ${2 - ROW}`)
        .join("")} />`
    : text(width / 2, ROW / 2, digits(weight), { ...MIDDLE, ...onShade(weight) })}`;

/** Each word's output, what it was in the first order where that differs, and whether it does. */
function results({ features, width, ...part }) {
  const { order, all, left } = part;
  const verdict = width >= 340 + left ? t("= the same") : "=";
  const across = Math.min(70, (width - left - room(verdict) - 12) / features.length);
  return { width, parts: html`
    ${features.map((feature, i) =>
      text(left + across * (i + 0.5), TOP - 20, short(said(feature), across), MIDDLE))}
    ${rows(part, (token) => {
      const i = order.indexOf(token);
      return html`${all.output[i].map((value, j) => {
        const [was, middle] = [all.before[i][j], across * (j + 0.5)];
        const changed = !alike(value, was);
        return html`
          ${box(across * j + 1, 1, across - 2, ROW - 2,
            { class: changed ? "output changed" : "output" })}
          ${across > 31 && text(middle, changed ? 13 : ROW / 2, digits(value),
            { ...MIDDLE, bold: changed })}
          ${across > 31 && changed && text(middle, 28, digits(was), { ...MIDDLE, class: "was" })}`;
      })}
      ${text(across * features.length + 8, ROW / 2, all.same[i] ? verdict : "≠",
        { bold: !all.same[i] })}`;
    })}` };
}

const style = `
  .chip { fill: var(--paper); stroke: currentColor; stroke-width: 2; }
  .weight { fill: var(--query); stroke: var(--faint); }
  .hatch { stroke: var(--faint); stroke-width: 1.5; }
  .output { fill: color-mix(in srgb, var(--output) 20%, var(--paper)); stroke: var(--faint); }
  .changed { stroke: var(--output); stroke-width: 2; }
  .was { text-decoration: line-through; }
  .lit { fill: none; stroke: currentColor; stroke-width: 2.5; pointer-events: none; }
`;

export const piece = { view, style };
