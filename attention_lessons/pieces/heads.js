// Multi-head attention: drag the cut through the channels of the same four matrices.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, clip, closest, digits, dot, headCount, knob, list, map, once, panels,
  places, pointing, range, room, said, slider, softmax, t, takes, text, times, transpose,
} from "./kit.js";

// ---- mathematics ----

/** Each head's weights: softmax(factor × q kᵀ / √size) (Vaswani et al. 2017, section 3.2.2). */
const weigh = once((Q, K, heads, factor) => {
  const size = Q[0].length / heads;
  const block = (A, head) => A.map((row) => row.slice(head * size, (head + 1) * size));
  return places(heads).map((head) => times(block(Q, head), block(K, head))
    .map((row) => softmax(row, factor / Math.sqrt(size))));
});

/** One token's mixture of each channel's values, by the weights of the head that holds it. */
const mix = (weights, values, token) => values.map((row, channel) =>
  dot(weights[Math.floor(channel * weights.length / values.length)][token], row));

// ---- in words ----

function tell(weights, output, tokens, asks) {
  const heads = weights.length;
  const name = (head) => (heads > 1 ? t("head {0}", head + 1) : t("it"));
  const each = weights.slice(0, 4).map((rows, head) =>
    t("{0} takes {1}", name(head), takes(rows[asks], tokens, heads > 2 ? 1 : 3)));
  const first = each.join(t("; "));
  const more = heads > 4 ? t("; and so on") : "";
  const point = heads === 1 ? t(", and this one mixture fills every channel") : "";
  const numbers = output.length <= 4 ? t(" Output: {0}.", output.map(digits).join(", ")) : "";
  return t("{0}, {1}: {2}.{3}", clip(tokens[asks], 20), headCount(heads),
    first + more + point, numbers);
}

/** The parts of a row that aren't negligible, with their features. */
function named(row, features) {
  const least = 1e-3 * Math.max(...row.map(Math.abs));
  return row.map((part, i) => [part, said(features[i])])
    .filter(([part]) => Math.abs(part) > least);
}

/** What a head looks for in a key, if it is one or two features: the score is linear in them. */
export function wants(query, W_k, features) {
  const found = named(times([query], transpose(W_k))[0], features);
  if (!found.length) return t(" asks for nothing");
  if (found.length > 2 || found.some(([part]) => part < 0)) return "";
  return t(" asks for {0}", list(found.map(([, feature]) => clip(feature, 16))));
}

/** What a channel of the values (outputs) holds: the one feature (channel of the values) that its
 * row of W_v (W_o) picks, "unused" where it picks none, and its number for a mixture. */
export function carries(row, features, channel) {
  const [first, ...more] = named(row, features);
  if (!first) return t("unused");
  if (more.length) return t("channel {0}", channel);
  const [part, feature] = first;
  return part === 1 ? feature : `${digits(part)} ${feature}`;
}

// ---- the picture ----

const [LINE, MOST] = [28, 6];  // of a table's rows: how high, how many

/** What stays: queries and keys (tokens, channels), values (channels, tokens), as words, too; what
 * channels and outputs are called. */
const describe = once(({ X, W_q, W_k, W_v, W_o, features }) => {
  const values = times(W_v, X);
  const write = values.flat().every(Number.isInteger) ? String : digits;
  const names = W_v.map((row, i) => carries(row, features, i));
  const written = values.map((row) => row.map((value) => write(value)));
  return {
    Q: times(X, W_q), K: times(X, W_k), values, written, names,
    longest: Math.max(4, ...written.flat().map(({ length }) => length)),
    outputs: W_o.map((row, i) => carries(row, names, i)),
  };
});

function view({ data, state, ui, width, set, hold }) {
  const { tokens, features, divisors, W_k, W_o } = data;
  const { num_heads: heads, inverse_temperature: factor, asks } = state;
  const { Q, K, values, written, names, longest, outputs } = describe(data);
  const weights = weigh(Q, K, heads, factor);
  const mixed = mix(weights, values, asks);
  const output = times([mixed], W_o)[0];
  const channels = names.map((name, i) => [name, written[i], digits(mixed[i])]);
  const size = names.length / heads;
  const layout = plan(tokens, names, longest, heads, width);
  const { sheet, low } = layout;
  const mapped = pointing({ ui, set, hold }, asks, tokens);
  const { told, lit: [row, column] } = mapped;
  const cards = weights.map((rows, head) => {
    const own = (all) => all.slice(head * size, (head + 1) * size);
    const name = t("head {0}", head + 1);
    const now = column === null ? told : `${told} ${digits(rows[row][column])}`;
    const shown = { ...layout, ...mapped, weights: rows, name, now };
    if (sheet) {
      const most = column ?? rows[row].indexOf(Math.max(...rows[row]));
      const where = `${clip(tokens[most], layout.width / 8 - 5)} ${digits(rows[row][most])}`;
      return { ...layout, title: name, height: low + 24, sheets: [shown],
        parts: [map(shown), text(0, low + 12, where)] };
    }
    const table = own(channels).slice(0, MOST);
    return { ...layout,
      title: name + (column === null ? wants(own(Q[asks]), own(W_k), features) : `: ${now}`),
      height: low + LINE * table.length + 34,
      parts: [map(shown), tables(layout, tokens, asks, table)] };
  });
  const how = heads === 1 ? t("uncut: 1 head") : t("cut into {0} heads of {1}", heads, size);
  const bar = { title: t("{0} channels, {1}", names.length, how), width, height: sheet ? 40 : 24,
    parts: [cut(heads, divisors, width, set),
      sheet && text(0, 34, told)] };
  return {
    label: t("The same four matrices, {0}: a map of weights each, rows ask, columns are asked.",
      how),
    picture: [
      panels(width, [bar, ...cards]),
      (sheet || String(output) !== String(mixed)) && html`<p class="numbers">
        <b>${t("output of {0}", clip(tokens[asks], 20))}</b>
        ${output.slice(0, 16).map((number, i) => html`
          <span>${outputs[i]}<b class="made"> ${digits(number)}</b></span>`)}</p>`,
    ],
    sentence: tell(weights, output, tokens, asks),
    controls: [
      choice({ state, set }, "num_heads", t("heads"), divisors),
      choice({ state, set }, "asks", t("asking token"), [...tokens.entries()]),
      range({ name: t("sharpness (inverse temperature)"), max: 2, step: 0.1, value: factor,
        text: `× ${factor.toFixed(1)}`, pick: (to) => set({ inverse_temperature: to }) }),
    ],
  };
}

/** How heads stand: with figures where they fit, else maps alone, two by two on a phone; `low` is
 * where a map ends. */
function plan(tokens, names, longest, heads, width) {
  const x = 14 + Math.min(100, Math.max(...[...tokens, ...names, t("× values")].map(room)));
  const part = (columns) => (width - 24 * (columns - 1)) / columns;
  const figure = (columns) => Math.min(60, (part(columns) - x - 76) / tokens.length);
  const fits = tokens.length <= 8 && [4, 2, 1].map((most) => Math.min(heads, most))
    .find((columns) => figure(columns) >= 10 + 8 * longest);
  const columns = fits || Math.min(heads, width < 640 ? 2 : Math.floor(width / 120));
  const side = Math.min(24, 320 / tokens.length, part(columns) / tokens.length);
  const place = fits ? { x, y: 18, across: figure(fits), down: LINE }
    : { x: 0, y: 0, across: side, down: side };
  const low = place.y + place.down * tokens.length;
  return { ...place, sheet: !fits, width: part(columns), low };
}

/** The channels in a row, coloured by heads; the end of the first head is dragged. */
function cut(heads, divisors, width, set) {
  const counts = [...divisors].reverse();  // as the first head grows
  const stops = counts.map((count) => [21 + (width - 44) / count, 8]);
  const now = counts.indexOf(heads);
  const handle = slider({
    name: t("cut"), now: headCount(heads), value: now, down: true, max: counts.length - 1,
    put: (i) => set({ num_heads: counts[i] }),
    at: (x) => stops.indexOf(closest(stops, ([stop]) => Math.abs(stop - x))),
  });
  const wide = (width - 44) / heads;
  return [
    places(heads).map((head) => box(22 + head * wide, 0, wide - 2, 16,
      { rx: 3, class: "share", "fill-opacity": head % 2 ? 0.35 : 0.75 })),
    knob(handle, stops, stops[now], "↔"),
  ];
}

/** Tokens beside and above a head's map; below it the values that the asking row weighs, and beside
 * them what comes out. */
function tables({ x, y, across, low }, tokens, asks, channels) {
  const [right, begin] = [x + across * tokens.length + 10, low + 28];
  const beside = (words, at, bold) => text(x - 8, at, words, { ...END, bold });
  const cell = (role, left, top, wide, words) => [
    box(left + 1, top + 1, wide - 2, LINE - 2, { class: `${role} tint` }),
    text(left + wide / 2, top + LINE / 2, words, MIDDLE),
  ];
  return [
    tokens.map((token, i) => [
      text(x + (i + 0.5) * across, 7, clip(token, Math.floor((across - 4) / 7.5)), MIDDLE),
      beside(clip(token, 12), y + (i + 0.5) * LINE, i === asks),
    ]),
    beside(t("× values"), begin - 14), text(right, begin - 14, t("= output")),
    channels.map(([name, values, mixed], i) => [
      beside(clip(name, 12), begin + (i + 0.5) * LINE),
      values.map((value, j) => cell("value", x + j * across, begin + i * LINE, across, value)),
      cell("output", right, begin + i * LINE, 62, mixed),
    ]),
  ];
}

const style = `
  .share { fill: var(--output); }
  .numbers { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 8px 0; font-size: 14px; }
  .made { color: var(--output-letters); }
`;

export const piece = { view, style };
