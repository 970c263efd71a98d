// Multi-head attention: drag the cut through the channels of the same four matrices.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, clip, closest, digits, disc, dot, list, map, once, places, plural,
  pointing, range, room, said, sheet, shifted, slider, softmax, svg, t, takes, text, times,
  transpose,
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

const [GAP, LINE, TOP] = [24, 28, 62];  // between heads, of a table's row, below the cut
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
  const layout = plan(tokens, names, longest, heads, size, width);
  const mapped = pointing({ ui, set, hold }, asks);
  const [row, column] = mapped.lit;
  const pair = column !== null && t("{0} → {1}", clip(tokens[row], 12), clip(tokens[column], 12));
  const cards = places(heads).map((head) => {
    const own = (rows) => rows.slice(head * size, (head + 1) * size);
    const [x, y] = [(head % layout.columns) * (layout.room + GAP),
      TOP + Math.floor(head / layout.columns) * layout.tall];
    const told = pair ? `${pair} ${digits(weights[head][row][column])}`
      : t("takes {0}", takes(weights[head][asks], tokens));
    const most = column ?? weights[head][row].indexOf(Math.max(...weights[head][row]));
    const short = `${clip(tokens[most], layout.room / 8 - 5)} ${digits(weights[head][row][most])}`;
    const big = {
      weights: weights[head], x: x + layout.left, y: y + layout.top, across: layout.across,
      down: layout.down, sheet: !layout.figures, ...mapped, name: t("head {0}", head + 1),
      now: told,
    };
    return { big, parts: html`
      ${text(x, y + layout.title, `${t("head {0}", head + 1)}${layout.figures
        ? wants(own(all.Q[asks]), own(W_k), features) : ""}`, { bold: true })}
      ${map(big)}
      ${text(x, y + layout.tall - layout.foot, layout.figures ? told : short)}
      ${layout.figures && tables(x, y, layout, tokens, asks,
        { names: own(names), values: own(values), mixed: own(mixed), write })}` };
  });
  const below = TOP + Math.ceil(heads / layout.columns) * layout.tall;
  const nameOf = (i) => (same ? names[i] : t("channel {0}", i));
  const answer = same && layout.figures ? { tall: 0 }  // the heads' own outputs say it
    : strip(t("output of {0}", clip(tokens[asks], 20)), output.slice(0, 16), nameOf, width,
      same ? size : output.length);
  return {
    label: t("The same four matrices, {0}: a map of weights each, rows ask, columns are asked.",
      heads === 1 ? t("uncut: 1 head") : t("cut into {0} heads", heads)),
    picture: [!layout.figures && cards.map(({ big }) => sheet(big)),
      svg(width, below + answer.tall, cut(mixed.length, heads, divisors, width, set),
        !layout.figures && text(0, TOP - 8, pair || t("{0} asks", clip(tokens[asks], 20))),
        cards.map(({ parts }) => html`<g class="card">${parts}</g>`),
        shifted(0, below, answer.parts))],
    sentence: tell(weights, output, tokens, asks),
    controls: [
      choice(t("heads"), divisors, heads, (num_heads) => set({ num_heads })),
      choice(t("asking token"), [...tokens.entries()], asks, (i) => set({ asks: i })),
      range({ name: t("inverse temperature"), max: 2, step: 0.1,
        value: state.inverse_temperature, text: `× ${state.inverse_temperature.toFixed(1)}`,
        pick: (factor) => set({ inverse_temperature: factor }) }),
    ],
  };
}

/** Where the heads stand: with figures where they fit, else maps alone, two by two on a phone. */
function plan(tokens, names, longest, heads, size, width) {
  const left = 14 + Math.min(100, Math.max(...[...tokens, ...names, t("× values")].map(room)));
  const least = 10 + 8 * longest;
  const part = (columns) => (width - GAP * (columns - 1)) / columns;
  for (let columns = Math.min(heads, 4); columns >= 1; columns = Math.floor(columns / 2)) {
    const across = Math.min(60, (part(columns) - left - 76) / tokens.length);
    if (tokens.length <= 8 && across >= least) {
      const rows = Math.min(size, 6);
      return { columns, figures: true, room: part(columns), left, title: 8, foot: 20, top: 44,
        across, down: LINE, rows, tall: 44 + LINE * (tokens.length + rows) + 66 };
    }
  }
  const columns = Math.min(heads, width < 640 ? 2 : Math.max(4, Math.floor(width / 120)));
  const side = Math.min(24 * tokens.length, 320, Math.floor(part(columns)));
  const cell = side / tokens.length;
  return { columns, figures: false, room: part(columns), left: 0, title: 18, foot: 28, top: 32,
    across: cell, down: cell, tall: 32 + side + 44 };
}

/** The channels in a row, coloured by heads; the end of the first head is dragged. */
function cut(channels, heads, divisors, width, set) {
  const [size, unit] = [channels / heads, (width - 44) / channels];
  const sizes = divisors.map((each) => channels / each).reverse();
  const handle = slider({
    name: t("cut"), now: plural(heads, "head"), value: sizes.indexOf(size), down: true,
    max: sizes.length - 1, put: (i) => set({ num_heads: channels / sizes[i] }),
    at: (x) => sizes.indexOf(closest(sizes, (each) => Math.abs(each - (x - 22) / unit))),
  });
  const at = 22 + size * unit;
  return html`
    ${text(0, 8, heads === 1 ? t("{0} channels, uncut: 1 head", channels)
      : t("{0} channels, cut into {1} heads of {2}", channels, heads, size), { bold: true })}
    ${places(heads).map((head) => box(22 + head * size * unit, 24, size * unit - 2, 16,
      { rx: 3, class: "share", "fill-opacity": head % 2 ? 0.35 : 0.75 }))}
    <g ...${handle}>${disc([at - 1, 32], 22, { class: "halo" })}
      ${disc([at - 1, 32], 11, { class: "knob" })}${text(at - 1, 32, "↔", MIDDLE)}</g>`;
}

/** Tokens beside and above a head's map; below it the values that the asking row weighs, and beside
 * them what comes out. */
function tables(x, y, { left, top, across, rows }, tokens, asks, { names, values, mixed, write }) {
  const [mapX, right] = [x + left, x + left + across * tokens.length + 10];
  const low = y + top + LINE * tokens.length + 32;
  const fits = Math.floor((across - 4) / 7.5);
  const beside = (words, at, bold) => text(mapX - 8, at, words, { ...END, bold });
  const table = (role, numbers, from, wide, write) => numbers.slice(0, rows).map((row, i) =>
    row.map((value, j) => html`
      ${box(from + j * wide + 1, low + i * LINE + 1, wide - 2, LINE - 2, { class: role })}
      ${text(from + (j + 0.5) * wide, low + (i + 0.5) * LINE, write(value), MIDDLE)}`));
  return html`
    ${tokens.map((token, i) => html`
      ${text(mapX + (i + 0.5) * across, y + top - 11, clip(token, fits), MIDDLE)}
      ${beside(clip(token, 12), y + top + (i + 0.5) * LINE, i === asks)}`)}
    ${beside(t("× values"), low - 14)}${text(right, low - 14, t("= output"))}
    ${names.slice(0, rows).map((name, i) => beside(clip(name, 12), low + (i + 0.5) * LINE))}
    ${table("value", values, mapX, across, write)}
    ${table("output", mixed.map((number) => [number]), right, 62, digits)}`;
}

/** Numbers of channels side by side, heads by turns darker. */
function strip(name, numbers, nameOf, width, size) {
  const [wide, tall] = [Math.min(96, Math.max(88, width / numbers.length)), 50];
  const perRow = Math.floor(width / wide);
  return {
    tall: 24 + tall * Math.ceil(numbers.length / perRow) + 10,
    parts: html`${text(0, 8, name, { bold: true, colour: "output" })}
      ${numbers.map((number, i) => {
        const [x, y] = [(i % perRow) * wide, 24 + Math.floor(i / perRow) * tall];
        const fits = Math.floor((wide - 8) / 7.5);
        return html`${box(x + 1, y, wide - 2, tall - 4,
            { rx: 4, class: `output ${Math.floor(i / size) % 2 ? "odd" : ""}` })}
          ${text(x + wide / 2, y + 12, clip(nameOf(i), fits), MIDDLE)}
          ${text(x + wide / 2, y + 32, digits(number), { ...MIDDLE, bold: true })}`;
      })}`,
  };
}

const style = `
  .share { fill: var(--output); }
  .knob { fill: var(--paper); stroke: currentColor; stroke-width: 2; }
  .value { fill: color-mix(in srgb, var(--value) 22%, var(--paper)); stroke: var(--value); }
  .output { fill: color-mix(in srgb, var(--output) 26%, var(--paper)); stroke: var(--output); }
  .output.odd { fill: color-mix(in srgb, var(--output) 10%, var(--paper)); }
`;

export const piece = { view, style };
