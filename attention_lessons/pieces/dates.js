// A date reader at work: the trained Transformer runs here. Press a map to close its head, point at
// a digit to see where it was read, type another date.
import { html } from "./vendor/preact.js";
import {
  MIDDLE, box, button, bytesOf, clip, digits, field, inside, line, list, map, near, panels, place,
  places, plural, shifted, slider, softmax, t, text, tick,
} from "./kit.js";

// ---- mathematics: rows of numbers, one a letter or a symbol ---------------------------

/** A number of half precision from its bits. */
export function half(bits) {
  const [power, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = power ? 2 ** (power - 25) * (1024 + fraction) : 2 ** -24 * fraction;
  return bits >> 15 ? -size : size;
}

/** The model's weights by name, with the very digits that Python has. */
function unpack({ weights, precision, sizes }) {
  const { buffer } = bytesOf(weights);
  const bits = new Uint16Array(buffer);
  const numbers = precision === 16 ? new Float64Array(bits.length).map((_, i) => half(bits[i]))
    : new Float64Array(new Float32Array(buffer));
  let end = 0;
  return Object.fromEntries(sizes.map(([name, size]) => [name, numbers.slice(end, end += size)]));
}

/** W x + b, as `nn.Linear` does. */
function linear(weight, x, bias) {
  const y = new Float64Array(weight.length / x.length);
  for (let i = 0, at = 0; i < y.length; i++) {
    let sum = bias ? bias[i] : 0;
    for (let j = 0; j < x.length; j++, at++) sum += weight[at] * x[j];
    y[i] = sum;
  }
  return y;
}

const plus = (x, y) => x.map((each, i) => each + y[i]);

/** Attention of one query over the keys so far, the query's row and theirs already multiplied by
 * their weights: what the heads that are open make of the values, and where each head looks. */
function attend(query, keys, values, open) {
  const mixed = new Float64Array(query.length);
  const size = query.length / open.length;
  const weights = open.map((isOpen, head) => {
    const from = head * size;
    const theirs = Math.floor(head * keys[0].length / query.length) * size;  // heads may share keys
    const scores = keys.map((key) => {
      let score = 0;
      for (let c = 0; c < size; c++) score += query[from + c] * key[theirs + c];
      return score / Math.sqrt(size);
    });
    const row = softmax(scores);
    if (isOpen) row.forEach((weight, i) => {
      for (let c = 0; c < size; c++) mixed[from + c] += weight * values[i][theirs + c];
    });
    return row;
  });
  return { mixed, weights };
}

/** What the model writes for a text, symbol by symbol, each time the likeliest; and the maps of
 * each layer's heads. `open` says of each layer's heads which are open; a closed one adds nothing
 * (`d2l_ext.transformer.EncoderDecoder`, one block on either side). */
export function read(model, { letters, digits: symbols }, given, open) {
  const wide = model["scores.weight"].length / model["scores.bias"].length;
  const times = (name, x) => linear(model[`${name}.weight`], x, model[`${name}.bias`]);
  const norm = (name, x) => {
    const [weight, bias] = [model[`${name}.weight`], model[`${name}.bias`]];
    let [mean, variance] = [0, 0];
    for (const each of x) mean += each / wide;
    for (const each of x) variance += (each - mean) ** 2 / wide;
    const size = Math.sqrt(variance + 1e-5);
    return x.map((each, i) => (each - mean) / size * weight[i] + bias[i]);
  };
  const network = (name, x) => times(`${name}.2`, times(`${name}.0`, x).map((y) => Math.max(0, y)));
  const embedded = (name, symbol, position) => Float64Array.from(places(wide), (i) => {
    const angle = position / 10000 ** ((i - i % 2) / wide);
    return model[`${name}.weight`][symbol * wide + i] + (i % 2 ? Math.cos(angle) : Math.sin(angle));
  });

  let X = [...given].map((letter, i) => embedded("source", letters.indexOf(letter) + 1, i));
  let rows = X.map((x) => norm("encoder.0.norms.0", x));
  const keysOf = (layer) => rows.map((row) => times(`${layer}.W_k`, row));
  const valuesOf = (layer) => rows.map((row) => times(`${layer}.W_v`, row));
  const looks = { encoder: [], decoder: [], cross: [] };
  const attended = (name, layer, row, keys, values) => {
    const { mixed, weights } = attend(times(`${layer}.W_q`, row), keys, values, open[name]);
    looks[name].push(weights);
    return times(`${layer}.W_o`, mixed);
  };
  let [keys, values] = [keysOf("encoder.0.attention"), valuesOf("encoder.0.attention")];
  X = X.map((x, i) => plus(x, attended("encoder", "encoder.0.attention", rows[i], keys, values)));
  X = X.map((x) => plus(x, network("encoder.0.network", norm("encoder.0.norms.1", x))));
  rows = X.map((x) => norm("norms.0", x));  // what the decoder reads
  [keys, values] = [keysOf("decoder.0.cross"), valuesOf("decoder.0.cross")];

  let [answer, symbol] = ["", symbols.length];  // at first the symbol for a start
  const [before, earlier] = [[], []];  // keys and values of what was written
  for (const i of places(10)) {
    let x = embedded("target", symbol, i);
    const row = norm("decoder.0.norms.0", x);
    before.push(times("decoder.0.attention.W_k", row));
    earlier.push(times("decoder.0.attention.W_v", row));
    x = plus(x, attended("decoder", "decoder.0.attention", row, before, earlier));
    const asks = norm("decoder.0.norms.1", x);
    x = plus(x, attended("cross", "decoder.0.cross", asks, keys, values));
    x = plus(x, network("decoder.0.network", norm("decoder.0.norms.2", x)));
    const scores = times("scores", norm("norms.1", x));
    symbol = scores.indexOf(Math.max(...scores));
    answer += symbols[symbol] ?? "?";  // the start once more
  }
  const maps = Object.fromEntries(Object.entries(looks).map(([name, all]) =>
    [name, open[name].map((_, head) => all.map((weights) =>
      places(all.at(-1)[head].length).map((j) => weights[head][j] ?? 0)))]));
  return { answer, maps };
}

// ---- what is asked, and what comes of it -----------------------------------------------

const LAYERS = ["encoder", "decoder", "cross"];
const EXAMPLES = ["24/12/1999", "5 march 2021", "friday, 5 march 2021", "sat, 1 sept 1984"];
const keyOf = (layer, head) => `${layer}_${head}`;
const headsOf = (data) =>
  LAYERS.flatMap((layer) => places(data.heads[layer]).map((head) => [layer, head]));
const named = ([layer, head]) => ({
  encoder: t("encoder {0}", head), decoder: t("decoder {0}", head), cross: t("cross {0}", head),
}[layer]);

const known = new Map();  // by its weights: the model, and what it has read

/** What the model makes of a text without some heads; each is read once. */
export function reading(data, given, off) {
  if (!known.has(data.weights)) known.set(data.weights, { model: unpack(data), read: new Map() });
  const { model, read: before } = known.get(data.weights);
  const closed = new Set(off.map(String));
  const which = [given, ...[...closed].sort()].join("|");
  if (!before.has(which)) {
    if (before.size > 500) before.clear();
    const open = Object.fromEntries(LAYERS.map((layer) => [layer,
      places(data.heads[layer]).map((head) => !closed.has(String([layer, head])))]));
    before.set(which, read(model, data, given, open));
  }
  return before.get(which);
}

/** A text as the model reads it: small letters, single blanks. */
const simple = (words) => words.toLowerCase().split(/\s+/).filter(Boolean).join(" ");

/** Why a text can't be read; empty where it can. */
export function problem(given, { letters, longest }) {
  if (!given) return t("There is nothing to read: type a date, such as 5 march 2021.");
  const unknown = [...new Set([...given].filter((letter) => !letters.includes(letter)))].sort();
  if ([...given].length > longest) {
    return t("These are {0} characters; the model was trained on up to {1}. Type a shorter date.",
      [...given].length, longest);
  }
  return unknown.length ? t("The model never met {0}: it knows digits, the letters of English " +
    "months and weekdays, and , . / -", clip(unknown.join(" "), 40)) : "";
}

/** Whether this is a day of the calendar. */
export const isDate = (answer) => /^\d{4}-\d\d-\d\d$/.test(answer)
  && new Date(`${answer}T00:00Z`).toJSON()?.slice(0, 10) === answer;

/** A head of the same layer that alone can go, as this one, but not with it. */
function partner(data, given, [layer, head], full) {
  const gone = (...off) => reading(data, given, off).answer !== full;
  return places(data.heads[layer]).map((other) => [layer, other]).find((other) =>
    other[1] !== head && !gone(other) && gone([layer, head], other));
}

/** How two answers differ, in a sentence; and what to try. */
function tell(data, given, off, answer, full) {
  const heads = !off.length ? t("With all heads on")
    : off.length < 5 ? t("Without {0}", list(off.map(named)))
      : t("Without {0}", plural(off.length, "head"));
  const [year, month, day, hyphens] = [t("year"), t("month"), t("day"), t("hyphens")];
  const parts = [year, year, year, year, hyphens, month, month, hyphens, day, day];
  const wrong = new Set(parts.filter((_, i) => answer[i] !== full[i]));
  const verdict = wrong.size ? t(", not {0}: the {1} changed", full, list([...wrong]))
    : off.length ? t(", the same as with all heads on") : "";
  const more = isDate(answer) ? "" : t(" That is not a real date.");
  return t("{0}: {1} → {2}{3}.{4}", heads, clip(given, 60), answer, verdict, more)
    + advice(data, given, off, wrong.size > 0, full);
}

function advice(data, given, off, broken, full) {
  if (!off.length) return t(" In a map rows look at columns; press it to close its head.");
  if (off.length === 1 && !broken) {
    const other = partner(data, given, off[0], full);
    return other ? t(" Now close {0} as well.", named(other)) : "";
  }
  const alone = (head) => reading(data, given, [head]).answer === full;
  return off.length === 2 && broken && off.every(alone)
    ? t(" Either alone breaks nothing: each stands in for the other.") : "";
}

// ---- the picture -----------------------------------------------------------------------

const shown = (letter) => (letter === " " ? "␣" : letter);
const heard = (letter) => (letter === " " ? t("blank") : letter);
const largest = (row) => row.indexOf(Math.max(...row));

function view(seen) {
  const { data, state, width, set } = seen;
  const heads = headsOf(data);
  const given = simple(state.text);
  const fault = problem(given, data);
  const off = heads.filter((head) => !state[keyOf(...head)]);
  const now = fault ? { answer: "", maps: {} } : reading(data, given, off);
  const full = fault ? "" : reading(data, given, []).answer;
  const wide = width >= 640;
  const part = wide ? (width - 48) / 3 : width;
  const titles = {
    encoder: t("encoder: letter to letter"), decoder: t("decoder: digit to digit"),
    cross: t("cross: digit to letter"),
  };
  return {
    label: t("A date, what the model writes, and {0} maps of where its heads look.", heads.length),
    picture: panels(width, [
      { width, height: 124, parts: reads(seen, fault ? "" : given, now, full, off) },
      ...LAYERS.map((layer) => {
        const count = data.heads[layer];
        const columns = wide ? Math.ceil(count / 2) : Math.min(count, 4);
        const size = (part + 12) / columns - 12;
        const maps = places(count).map((head) => shifted((head % columns) * (size + 12),
          Math.floor(head / columns) * 90, ...looking([layer, head], now, given, size, seen)));
        return { title: titles[layer], width: part, height: 90 * Math.ceil(count / columns),
          parts: maps };
      })]),
    sentence: fault || tell(data, given, off, now.answer, full),
    controls: [
      field(seen, "text", t("your date")),
      button(t("another date"), () => set({
        text: EXAMPLES[(EXAMPLES.indexOf(state.text) + 1) % EXAMPLES.length] })),
      button(t("all heads on"), () =>
        set(Object.fromEntries(heads.map((head) => [keyOf(...head), true])))),
    ],
  };
}

/** The letters, what was written, and threads from each digit to where cross-attention looks. */
function reads({ data, ui, width, hold }, given, { answer, maps }, full, off) {
  const [letters, written] = [[...given], [...answer.padEnd(10)]];
  const side = Math.min(40, width / Math.max(letters.length, 10));
  const [across, left] = [Math.min(40, width / 10), (width - side * letters.length) / 2];
  const start = (width - 10 * across) / 2;
  const open = (maps.cross ?? []).filter((_, head) => !off.some(([layer, other]) =>
    layer === "cross" && other === head));
  const looks = written.map((_, i) => letters.map((_, j) =>
    open.reduce((sum, weights) => sum + weights[i][j], 0) / (open.length || 1)));
  const threads = !open.length ? [] : ui.digit == null
    ? looks.map((row, i) => [i, largest(row), 0.25])
    : looks[ui.digit].map((weight, j) => [ui.digit, j, weight]);
  const chosen = ui.digit ?? 0;
  const told = list(looks[chosen].map((weight, j) => [weight, heard(letters[j])])
    .filter(([weight]) => weight > 0.2).map(([weight, letter]) => `${letter} ${digits(weight)}`));
  const handle = slider({
    name: t("digit of the answer"), value: chosen + 1, min: 1, max: 10, down: true,
    now: answer && t("{0} looks at {1}", answer[chosen], told),
    at: (x) => (x - start) / across + 0.5, put: (i) => hold({ digit: i - 1 }),
  });
  const point = (event) =>
    hold({ digit: inside(Math.floor((place(event)[0] - start) / across), 0, 9) });
  return html`
    ${left > 70 && text(0, 18, t("reads"), { bold: true })}
    ${start > 70 && text(0, 84, t("writes"), { bold: true })}
    ${threads.map(([i, j, weight]) => weight > 0.02 && line([start + (i + 0.5) * across, 62],
      [left + (j + 0.5) * side, 34], { class: "thread", "stroke-width": near(12 * weight) }))}
    ${letters.map((letter, j) => html`<g class="letter">
      ${box(left + j * side, 2, side, 32,
        { "fill-opacity": near(ui.digit == null ? 0 : looks[ui.digit][j]) })}
      ${text(left + (j + 0.5) * side, 18, shown(letter), MIDDLE)}</g>`)}
    <g ...${handle} onPointerMove=${point} onPointerDown=${point}
        onPointerLeave=${(event) => event.pointerType === "mouse" && hold({ digit: null })}
        onFocus=${() => hold({ digit: chosen })} onBlur=${() => hold({ digit: null })}>
      ${box(start, 62, 10 * across, 44, { class: "answer", fill: "transparent" })}
      ${written.map((symbol, i) => html`
        <g class=${answer[i] === full[i] ? "digit" : "digit other"} key=${`${i}${symbol}`}>
        ${box(start + i * across + 2, 64, across - 4, 40, { rx: 5 })}
        ${text(start + (i + 0.5) * across, 84, symbol, MIDDLE)}</g>`)}
    </g>
    ${written.map((_, i) => answer[i] !== full[i] && text(start + (i + 0.5) * across, 116, full[i],
      { ...MIDDLE, class: "was" }))}`;
}

/** A head's map, which is its switch, and the attributes of that. */
function looking([layer, head], { answer, maps }, given, wide, { state, ui, set }) {
  const [name, key, weights] = [named([layer, head]), keyOf(layer, head), maps[layer]?.[head]];
  const open = state[key];
  const rows = layer === "encoder" ? given : answer;
  const columns = layer === "decoder" ? `▸${answer}` : given;
  const looks = (weights ?? []).map((row, i) =>
    t("{0} looks at {1}", heard(rows[i]), heard(columns[largest(row)]))).join(t(", "));
  const lit = layer !== "encoder" && open && ui.digit != null;
  return [html`${box(-4, -2, wide + 8, 84, { rx: 6, class: "halo" })}
    ${text(0, 7, name, { class: open ? "" : "gone" })}
    <g class=${open ? "map" : "map closed"}>
      ${weights ? map({ weights, x: 0, y: 20, across: wide / weights[0].length,
        down: 60 / weights.length, lit: lit && [ui.digit, null] })
        : box(0, 20, wide, 60, { class: "empty" })}</g>
    ${!open && line([0, 80], [wide, 20], { class: "strike" })}`,
  { ...tick(name, open, (on) => set({ [key]: on })), class: "press head",
    "aria-description": looks }];
}

const style = `
  .letter rect { fill: var(--query); stroke: var(--faint); }
  .letter text { font-family: ui-monospace, monospace; }
  .thread { stroke: var(--query); stroke-linecap: round; opacity: .6; }
  .digit rect {
    fill: color-mix(in srgb, var(--output) 16%, var(--paper)); stroke: var(--output);
    stroke-width: 2;
  }
  .digit text { font-size: 20px; font-weight: 600; }
  .other rect {
    fill: color-mix(in srgb, var(--key) 30%, var(--paper)); stroke: var(--key); stroke-width: 4;
  }
  .other text { text-decoration: underline; }
  @media (prefers-reduced-motion: no-preference) {
    .other { animation: flip .25s; transform-box: fill-box; transform-origin: center; }
  }
  @keyframes flip { from { transform: scaleY(0); } }
  .was { text-decoration: line-through; }
  .closed { opacity: .25; filter: grayscale(1); }
  .gone { font-weight: 600; text-decoration: line-through; }
  .lit { stroke-width: 1.5; }
  .strike { stroke: var(--key); stroke-width: 3; }
  .empty { fill: none; stroke: var(--faint); }
`;

export const piece = { view, style };
