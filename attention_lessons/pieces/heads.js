// Multi-head attention: drag the cut through the channels of the same four matrices.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, clip, closest, digits, dot, knob, list, map, once, panels, places,
  plural, pointing, range, room, said, slider, softmax, t, takes, text, times, transpose,
} from "./kit.js";

// ---- mathematics ----------------------------------------------------------------

/** Queries, keys and values of all channels, (tokens, channels) each, for any number of heads. */
export function project({ X, W_q, W_k, W_v }) {
  return { Q: times(X, W_q), K: times(X, W_k), V: times(X, W_v) };
}

/** Each head's scores q kᵀ / √size (Vaswani et al. 2017, section 3.2.2). */
export function score({ Q, K }, heads) {
  const size = Q[0].length / heads;
  const block = (A, head) => A.map((row) => row.slice(head * size, (head + 1) * size));
  return places(heads).map((head) => times(block(Q, head), block(K, head))
    .map((row) => row.map((product) => product / Math.sqrt(size))));
}

/** Each head's weights: softmax(inverse temperature × scores). */
export const weigh = (scores, factor) =>
  scores.map((rows) => rows.map((row) => softmax(row, factor)));

/** One token's values, mixed by the heads side by side, and its output, which W_o makes of them. */
export function combine(weights, { V }, W_o, token) {
  const size = V[0].length / weights.length;
  const mixed = transpose(V).map((values, channel) =>
    dot(weights[Math.floor(channel / size)][token], values));
  return { mixed, output: times([mixed], W_o)[0] };
}

// ---- in words ------------------------------------------------------------------

/** The result for one token in a sentence. */
export function tell(weights, output, tokens, asks) {
  const heads = weights.length;
  const each = weights.slice(0, heads > 4 ? 3 : 4).map((rows, head) => t("{0} takes {1}",
    heads > 1 ? t("head {0}", head + 1) : t("it"), takes(rows[asks], tokens, heads > 2 ? 1 : 3)));
  const more = heads > 4 ? t("; and so on") : "";
  const point = heads === 1 ? t(", and this one mixture fills every channel") : "";
  const numbers = output.length <= 4 ? t(" Output: {0}.", output.map(digits).join(", ")) : "";
  return t("{0}, {1}: {2}.{3}", clip(tokens[asks], 20), plural(heads, "head"),
    `${each.join(t("; "))}${more}${point}`, numbers);
}

/** The parts of a row that aren't negligible, with their features. */
function named(row, features) {
  const least = 1e-3 * Math.max(...row.map(Math.abs));
  return row.map((part, i) => [part, features[i]]).filter(([part]) => Math.abs(part) > least);
}

/** What a head looks for in a key, if it is one or two features: the score is linear in them. */
export function wants(query, W_k, features) {
  const found = named(transpose(W_k).map((column) => dot(column, query)), features);
  if (!found.length) return t(" asks for nothing");
  if (found.length > 2 || found.some(([part]) => part < 0)) return "";
  return t(" asks for {0}", list(found.map(([, feature]) => clip(said(feature), 16))));
}

/** What a channel of the values holds: the one feature that W_v picks, "unused" where it picks
 * none, and its number for a mixture. */
export function carries(row, features, channel) {
  const found = named(row, features);
  if (!found.length) return t("unused");
  if (found.length > 1) return t("channel {0}", channel);
  const [[part, feature]] = found;
  return part === 1 ? said(feature) : `${digits(part)} ${said(feature)}`;
}

// ---- the picture -----------------------------------------------------------------

const LINE = 28;  // of a table's row
const [described, scored, weighed] = [once(describe), once(score), once(weigh)];

/** What stays: all channels, what each carries, its values and how to write them. */
function describe(data) {
  const all = project(data);
  const write = all.V.flat().every(Number.isInteger) ? String : digits;
  const values = transpose(all.V);
  const longest = Math.max(4, ...values.flat().map((value) => write(value).length));
  const { W_v, W_o, features } = data;
  const same = W_o.length === W_v.length
    && W_o.every((row, i) => row.every((part, j) => part === Number(i === j)));
  const names = W_v.map((row, i) => carries(row, features, i));
  return { all, values, write, longest, same, names };
}

function view({ data, state, ui, width, set, hold }) {
  const { tokens, features, divisors, W_k, W_o } = data;
  const { num_heads: heads, asks } = state;
  const { all, values, write, longest, same, names } = described(data);
  const weights = weighed(scored(all, heads), state.inverse_temperature);
  const { mixed, output } = combine(weights, all, W_o, asks);
  const size = mixed.length / heads;
  const layout = plan(tokens, names, longest, heads, width);
  const mapped = pointing({ ui, set, hold }, asks);
  const [row, column] = mapped.lit;
  const pair = column !== null && t("{0} → {1}", clip(tokens[row], 12), clip(tokens[column], 12));
  const cards = places(heads).map((head) => {
    const own = (rows) => rows.slice(head * size, (head + 1) * size);
    const told = pair ? `${pair} ${digits(weights[head][row][column])}`
      : t("takes {0}", takes(weights[head][asks], tokens));
    const name = t("head {0}", head + 1);
    const shown = { weights: weights[head], x: layout.left, y: layout.top, across: layout.across,
      down: layout.down, sheet: !layout.figures, ...mapped, name, now: told };
    const low = layout.top + layout.down * tokens.length;
    if (!layout.figures) {
      const most = column ?? weights[head][row].indexOf(Math.max(...weights[head][row]));
      const words = clip(tokens[most], layout.width / 8 - 5);
      return { title: name, width: layout.width, height: low + 24, sheets: [shown], parts: [
        map(shown), text(0, low + 12, `${words} ${digits(weights[head][row][most])}`)] };
    }
    return {
      title: name + wants(own(all.Q[asks]), own(W_k), features), width: layout.width,
      height: low + LINE * Math.min(size, MOST) + 56,
      parts: [map(shown), tables(layout, low, tokens, asks, told,
        { names: own(names), values: own(values), mixed: own(mixed), write })],
    };
  });
  return {
    label: t("The same four matrices, {0}: a map of weights each, rows ask, columns are asked.",
      heads === 1 ? t("uncut: 1 head") : t("cut into {0} heads", heads)),
    picture: [
      panels(width, [cut(mixed.length, heads, divisors, width, set,
        layout.figures ? "" : pair || t("{0} asks", clip(tokens[asks], 20))), ...cards]),
      !(same && layout.figures) && html`<p class="numbers">
        <b>${t("output of {0}", clip(tokens[asks], 20))}</b>
        ${output.slice(0, 16).map((number, i) => html`
          <span>${same ? names[i] : t("channel {0}", i)}
            <b class="made"> ${digits(number)}</b></span>`)}</p>`,
    ],
    sentence: tell(weights, output, tokens, asks),
    controls: [
      choice({ state, set }, "num_heads", t("heads"), divisors),
      choice({ state, set }, "asks", t("asking token"), [...tokens.entries()]),
      range({ name: t("sharpness (inverse temperature)"), max: 2, step: 0.1,
        value: state.inverse_temperature, text: `× ${state.inverse_temperature.toFixed(1)}`,
        pick: (factor) => set({ inverse_temperature: factor }) }),
    ],
  };
}

const [GAP, MOST] = [24, 6];  // between heads; of the channels that a table shows

/** How the heads stand: with figures where they fit, else maps alone, two by two on a phone. */
function plan(tokens, names, longest, heads, width) {
  const left = 14 + Math.min(100, Math.max(...[...tokens, ...names, t("× values")].map(room)));
  const part = (columns) => (width - GAP * (columns - 1)) / columns;
  for (let columns = Math.min(heads, 4); columns >= 1; columns = Math.floor(columns / 2)) {
    const across = Math.min(60, (part(columns) - left - 76) / tokens.length);
    if (tokens.length <= 8 && across >= 10 + 8 * longest) {
      return { figures: true, width: part(columns), left, top: 18, across, down: LINE };
    }
  }
  const columns = Math.min(heads, width < 640 ? 2 : Math.max(4, Math.floor(width / 120)));
  const cell = Math.min(24, 320 / tokens.length, part(columns) / tokens.length);
  return { figures: false, width: part(columns), left: 0, top: 0, across: cell, down: cell };
}

/** The channels in a row, coloured by heads; the end of the first head is dragged. */
function cut(channels, heads, divisors, width, set, asking) {
  const [size, unit] = [channels / heads, (width - 44) / channels];
  const sizes = divisors.map((each) => channels / each).reverse();
  const handle = slider({
    name: t("cut"), now: plural(heads, "head"), value: sizes.indexOf(size), down: true,
    max: sizes.length - 1, put: (i) => set({ num_heads: channels / sizes[i] }),
    at: (x) => sizes.indexOf(closest(sizes, (each) => Math.abs(each - (x - 22) / unit))),
  });
  const stop = (each) => [21 + each * unit, 8];
  return {
    title: heads === 1 ? t("{0} channels, uncut: 1 head", channels)
      : t("{0} channels, cut into {1} heads of {2}", channels, heads, size),
    width, height: asking ? 40 : 24, parts: html`
      ${places(heads).map((head) => box(22 + head * size * unit, 0, size * unit - 2, 16,
        { rx: 3, class: "share", "fill-opacity": head % 2 ? 0.35 : 0.75 }))}
      ${knob(handle, sizes.map(stop), stop(size), "↔")}
      ${asking && text(0, 34, asking)}`,
  };
}

/** Tokens beside and above a head's map; below it the values that the asking row weighs, and beside
 * them what comes out. */
function tables({ left, top, across }, low, tokens, asks, told, { names, values, mixed, write }) {
  const right = left + across * tokens.length + 10;
  const begin = low + 28;
  const rows = Math.min(names.length, MOST);
  const beside = (words, at, bold) => text(left - 8, at, words, { ...END, bold });
  const table = (role, numbers, from, wide, write) => numbers.slice(0, rows).map((row, i) =>
    row.map((value, j) => html`
      ${box(from + j * wide + 1, begin + i * LINE + 1, wide - 2, LINE - 2, { class: role })}
      ${text(from + (j + 0.5) * wide, begin + (i + 0.5) * LINE, write(value), MIDDLE)}`));
  return html`
    ${tokens.map((token, i) => html`
      ${text(left + (i + 0.5) * across, 7, clip(token, Math.floor((across - 4) / 7.5)), MIDDLE)}
      ${beside(clip(token, 12), top + (i + 0.5) * LINE, i === asks)}`)}
    ${beside(t("× values"), begin - 14)}${text(right, begin - 14, t("= output"))}
    ${names.slice(0, rows).map((name, i) => beside(clip(name, 12), begin + (i + 0.5) * LINE))}
    ${table("value", values, left, across, write)}
    ${table("output", mixed.map((number) => [number]), right, 62, digits)}
    ${text(0, begin + rows * LINE + 16, told)}`;
}

const style = `
  .share { fill: var(--output); }
  .value { fill: color-mix(in srgb, var(--value) 22%, var(--paper)); stroke: var(--value); }
  .output { fill: color-mix(in srgb, var(--output) 26%, var(--paper)); stroke: var(--output); }
  .numbers { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 8px 0; font-size: 14px; }
  .made { color: var(--output-letters); }
`;

export const piece = { view, style };
