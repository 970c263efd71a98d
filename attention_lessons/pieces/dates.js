// A date reader at work: the trained Transformer runs here. Press a map to close its head, point at
// a digit to see where it was read, type another date.
import { h, html } from "./vendor/preact.js";
import {
  MIDDLE, box, button, bytesOf, clip, field, headCount, inside, line, list, map, near, once, panels,
  place, places, shifted, slider, softmax, t, takes, text, tick,
} from "./kit.js";

// ---- mathematics: rows of numbers, one a letter or a symbol ----

/** A number of half precision from its bits. */
function half(bits) {
  const [power, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = power ? 2 ** (power - 25) * (1024 + fraction) : 2 ** -24 * fraction;
  return bits >> 15 ? -size : size;
}

/** The model's weights by name, with the very digits that Python has. */
function unpack({ weights, precision, sizes }) {
  const { buffer } = bytesOf(weights);
  const numbers = precision === 16 ? Float64Array.from(new Uint16Array(buffer), half)
    : new Float64Array(new Float32Array(buffer));
  let end = 0;
  return Object.fromEntries(sizes.map(([name, size]) => [name, numbers.slice(end, end += size)]));
}

/** W x + b, as `nn.Linear` does. */
function linear(x, weight, bias) {
  const y = new Float64Array(weight.length / x.length);
  for (let i = 0, at = 0; i < y.length; i++) {
    let sum = bias?.[i] ?? 0;
    for (let j = 0; j < x.length; j++, at++) sum += weight[at] * x[j];
    y[i] = sum;
  }
  return y;
}

const mean = (x) => x.reduce((sum, each) => sum + each, 0) / x.length;
const plus = (x, y) => x.map((each, i) => each + y[i]);

/** What the model writes for a text, symbol by symbol, each time the likeliest; and the map of each
 * head. Heads that are `off` add nothing (`d2l_ext.transformer.EncoderDecoder`, one block on either
 * side). */
function read(model, { letters, digits: symbols, heads }, given, off) {
  const wide = model["norms.1.bias"].length;
  const parts = (name) => [model[`${name}.weight`], model[`${name}.bias`]];
  const times = (name, x) => linear(x, ...parts(name));
  const norm = (name, x) => {
    const [[weight, bias], middle] = [parts(name), mean(x)];
    const size = Math.sqrt(mean(x.map((each) => (each - middle) ** 2)) + 1e-5);
    return x.map((each, i) => (each - middle) / size * weight[i] + bias[i]);
  };
  const network = (x, block, last) => plus(x, times(`${block}.network.2`,
    times(`${block}.network.0`, norm(`${block}.norms.${last}`, x)).map((y) => Math.max(0, y))));
  const embedded = (name, symbol, position) =>
    model[`${name}.weight`].slice(symbol * wide, (symbol + 1) * wide).map((each, i) => {
      const angle = position / 10000 ** ((i - i % 2) / wide);
      return each + (i % 2 ? Math.cos(angle) : Math.sin(angle));
    });

  const maps = {};
  const attention = (layer, name) => {
    const [size, pairs] = [wide / heads[layer].length, []];  // of keys and values, one a row heard
    const hear = (row) => pairs.push([times(`${name}.W_k`, row), times(`${name}.W_v`, row)]);
    const ask = (row) => {
      const [query, mixed] = [times(`${name}.W_q`, row), new Float64Array(wide)];
      heads[layer].forEach((head, i) => {
        const from = i * size;
        const theirs = Math.floor(i * pairs[0][0].length / wide) * size;  // heads may share keys
        const weights = softmax(pairs.map(([key]) => {
          let score = 0;
          for (let c = 0; c < size; c++) score += query[from + c] * key[theirs + c];
          return score;
        }), size ** -0.5);
        (maps[head] ??= []).push(weights);
        if (!off.includes(head)) weights.forEach((weight, j) => {
          for (let c = 0; c < size; c++) mixed[from + c] += weight * pairs[j][1][theirs + c];
        });
      });
      return times(`${name}.W_o`, mixed);
    };
    return { hear, ask };
  };
  const encoder = attention("encoder", "encoder.0.attention");
  const decoder = attention("decoder", "decoder.0.attention");
  const cross = attention("cross", "decoder.0.cross");

  const X = [...given].map((letter, i) => embedded("source", letters.indexOf(letter) + 1, i));
  const rows = X.map((x) => norm("encoder.0.norms.0", x));
  rows.forEach(encoder.hear);
  rows.forEach((row, i) => {
    const x = plus(X[i], encoder.ask(row));
    cross.hear(norm("norms.0", network(x, "encoder.0", 1)));
  });
  let [answer, symbol] = ["", symbols.length];  // at first the symbol for a start
  for (const i of places(10)) {
    let x = embedded("target", symbol, i);
    const row = norm("decoder.0.norms.0", x);
    decoder.hear(row);
    x = plus(x, decoder.ask(row));
    x = plus(x, cross.ask(norm("decoder.0.norms.1", x)));
    const scores = times("scores", norm("norms.1", network(x, "decoder.0", 2)));
    symbol = scores.indexOf(Math.max(...scores));
    answer += symbols[symbol] ?? "?";  // the start once more
  }
  for (const row of heads.decoder.flatMap((head) => maps[head])) {
    row.push(...Array(10 - row.length).fill(0));
  }
  return { answer, maps };
}

// ---- what is asked, and what comes of it ----

const EXAMPLES = ["24/12/1999", "5 march 2021", "friday, 5 march 2021", "sat, 1 sept 1984"];

/** What a layer does, and what its head of a number is called. */
const called = (layer, number) => ({
  encoder: [t("encoder: letter to letter"), t("encoder {0}", number)],
  decoder: [t("decoder: digit to digit"), t("decoder {0}", number)],
  cross: [t("cross: digit to letter"), t("cross {0}", number)],
}[layer]);
const named = (head) => called(...head.split("_"))[1];

/** A model, and what it has read. */
const reader = once((data) => ({ model: unpack(data), before: new Map() }));

/** What the model makes of a text without some heads; each is read once. */
export function reading(data, given, off) {
  const { model, before } = reader(data);
  const which = [given, ...off].join("|");
  if (before.size > 500) before.clear();
  if (!before.has(which)) before.set(which, read(model, data, given, off));
  return before.get(which);
}

/** Why a text can't be read; empty where it can. */
function problem(given, { letters, longest }) {
  const typed = [...given];
  if (!given) return t("There is nothing to read: type a date, such as 5 march 2021.");
  if (typed.length > longest) {
    return t("These are {0} characters; the model was trained on up to {1}. Type a shorter date.",
      typed.length, longest);
  }
  const unknown = [...new Set(typed)].filter((letter) => !letters.includes(letter)).sort();
  return unknown.length ? t("The model never met {0}: it knows digits, the letters of English " +
    "months and weekdays, and , . / -", clip(unknown.join(" "), 40)) : "";
}

export const isDate = (answer) =>
  new Date(`${answer}T00:00Z`).toJSON()?.slice(0, 10) === answer;  // 30 February is in March

// ---- the riddle of the day: a wrong month, by as few closed heads as you can ----

const MONTHS = ("january february march april may june july august september october november " +
  "december").split(" ");
const WEEKDAYS = "sunday monday tuesday wednesday thursday friday saturday".split(" ");

/** A day, such as 2021-03-05, as people write it. */
export function ways(day) {
  const [date, [year, month, number]] = [new Date(`${day}T00:00Z`), day.split("-").map(Number)];
  const [name, weekday] = [MONTHS[month - 1], WEEKDAYS[date.getUTCDay()]];
  return [`${number} ${name} ${year}`, `${name} ${number}, ${year}`, `${number}/${month}/${year}`,
    `${weekday}, ${number} ${name} ${year}`, `${weekday}, ${name} ${number}, ${year}`];
}

/** Whether of two dates only the months differ. */
export const solves = (answer, full) => [...full].every((symbol, i) => [5, 6].includes(i)
  || symbol === answer[i]) && answer !== full;

/** All sets of up to three, small ones first. */
function sets(heads) {
  const one = heads.map((head) => [head]);
  const more = (smaller) => smaller.flatMap((set) =>
    heads.slice(heads.indexOf(set.at(-1)) + 1).map((head) => [...set, head]));
  return [...one, ...more(one), ...more(more(one))];
}

/** The least number of heads that solve it, 0 where three don't. The page stays awake meanwhile. */
export async function fewest(data, given, rest = () => new Promise((go) => setTimeout(go))) {
  const { answer } = reading(data, given, []);
  for (const [i, off] of sets(Object.values(data.heads).flat()).entries()) {
    if (i % 3 === 0) await rest();
    if (solves(reading(data, given, off).answer, answer)) return off.length;
  }
  return 0;
}

/** A day's riddle: the first way to write it that takes two heads or three, or else one head. Where
 * no way can be solved so, the riddle of the day before. */
export async function riddle(data, day, rest) {
  const [texts, found] = [ways(day), []];
  const start = new Date(day) / 864e5 % texts.length;  // each day another way comes first
  for (const given of [...texts.slice(start), ...texts.slice(0, start)]) {
    if (reading(data, given, []).answer !== day) continue;
    found.push({ given, least: await fewest(data, given, rest) });
    if (found.at(-1).least > 1) return found.at(-1);
  }
  const before = new Date(new Date(day) - 864e5).toJSON().slice(0, 10);
  return found.find(({ least }) => least) ?? riddle(data, before, rest);
}

const today = () => new Intl.DateTimeFormat("sv").format();  // such as 2021-03-05
const asked = once((data) => riddle(data, today()));

/** What is still wrong with an attempt, or how good a solution is. */
function judge(off, { given, answer, full }, least) {
  const month = (date) => date.slice(5, 7);
  const rest = (date) => date.slice(0, 5) + date.slice(7);
  let words = t("Solved, with {0} closed, and fewer can't do it.", headCount(off.length));
  if (!off.length) {
    words = t("Close heads so that the month comes out wrong, and the day and the year stay " +
      "right. How few are enough?");
  } else if (answer === full) {
    words = t("Nothing has changed.");
  } else if (month(answer) === month(full)) {
    words = t("Something is wrong, but not the month.");
  } else if (rest(answer) !== rest(full)) {
    words = t("The month is wrong, but so is something else.");
  } else if (off.length > least) {
    words = t("Solved, with {0} closed. Fewer are enough.", headCount(off.length));
  }
  return `${given} → ${answer}. ${words}`;
}

/** What was written, and what to try. */
function tell(data, off, { given, answer, full }) {
  const heads = off.length < 5 ? list(off.map(named)) : headCount(off.length);
  const which = off.length ? t("Without {0}", heads) : t("With all heads on");
  const same = off.length ? t(", the same as with all heads on") : "";
  const change = answer === full ? same : t(", not {0}", full);
  const fault = isDate(answer) ? "" : t(" That is not a real date.");
  return t("{0}: {1} → {2}{3}.{4}", which, given, answer, change, fault)
    + advice(data, given, off, full);
}

function advice(data, given, off, full) {
  const breaks = (...heads) => reading(data, given, heads).answer !== full;
  const [head] = off;
  if (!off.length) return t(" In a map rows look at columns; press it to close its head.");
  if (off.length === 1 && !breaks(head)) {
    const twin = data.heads[head.split("_")[0]]
      .find((other) => other !== head && !breaks(other) && breaks(head, other));
    return twin ? t(" Now close {0} as well.", named(twin)) : "";
  }
  return off.length === 2 && breaks(...off) && !off.some((each) => breaks(each))
    ? t(" Either alone breaks nothing: each stands in for the other.") : "";
}

// ---- the picture ----

const heard = (letter) => (letter === " " ? t("blank") : letter);
const largest = (row) => row.indexOf(Math.max(...row));

function view(seen) {
  const { data, state, ui, width, set, hold } = seen;
  const heads = Object.values(data.heads).flat();
  const open = () => Object.fromEntries(heads.map((head) => [head, true]));
  const off = heads.filter((head) => !state[head]);
  if (state.riddle && !ui.task) asked(data).then((task) => hold({ task }));
  const task = state.riddle && ui.task;
  const typed = task ? task.given : state.text.toLowerCase().replace(/\s+/g, " ").trim();
  const fault = state.riddle && !task ? t("Looking for today's riddle …") : problem(typed, data);
  const now = fault ? { given: "", answer: "", full: "", maps: {} }
    : { given: typed, full: reading(data, typed, []).answer, ...reading(data, typed, off) };
  const [part, columns] = width >= 640 ? [(width - 48) / 3, 2] : [width, 4];
  const size = (part + 12) / columns - 12;  // of a map
  const layers = Object.entries(data.heads).map(([layer, own]) => ({
    title: called(layer)[0], width: part, height: 90 * Math.ceil(own.length / columns),
    parts: own.map((head, i) => shifted((i % columns) * (size + 12), Math.floor(i / columns) * 90,
      looking(seen, now, head, size))),
  }));
  return {
    label: t("A date, what the model writes, and {0} maps of where its heads look.", heads.length),
    picture: panels(width, [{ width, height: 124, parts: reads(seen, now) }, ...layers]),
    sentence: fault || (task ? judge(off, now, task.least) : tell(data, off, now)),
    controls: [
      !state.riddle && field(seen, "text", t("your date")),
      !state.riddle && button(t("another date"), () => set({
        text: EXAMPLES[(EXAMPLES.indexOf(state.text) + 1) % EXAMPLES.length] })),
      button(t("all heads on"), () => set(open())),
      button(t("riddle of the day"), () => set({ ...open(), riddle: !state.riddle }), state.riddle),
      task && solves(now.answer, now.full) && copied(t("to copy"), t(
        "Attention, head by head, {0}: a wrong month, {1} closed, {2} needed", now.full,
        headCount(off.length), task.least)),
    ],
  };
}

/** A line of text to copy. */
const copied = (name, words) => html`<label class="control"><span class="name">${name}</span>
  <input type="text" readonly value=${words} size=${words.length}
    onFocus=${(event) => event.target.select()} /></label>`;

/** The letters, what was written, and threads from each digit to where cross-attention looks. */
function reads({ data, state, ui, width, hold }, { given, answer, full, maps }) {
  const [letters, written] = [[...given], [...answer.padEnd(10)]];
  const side = Math.min(40, width / Math.max(letters.length, 10));
  const across = Math.min(40, width / 10);
  const [left, start] = [(width - side * letters.length) / 2, (width - across * 10) / 2];
  const middle = (i) => start + (i + 0.5) * across;  // of a digit
  const open = data.heads.cross.filter((head) => state[head] && maps[head]);
  const looks = written.map((_, i) => letters.map((_, j) =>
    mean(open.map((head) => maps[head][i][j])) || 0));
  const chosen = ui.digit ?? 0;
  const threads = ui.digit == null ? looks.map((row, i) => [i, largest(row), 0.25])
    : looks[chosen].map((weight, j) => [chosen, j, weight]);
  const point = (event) =>
    hold({ digit: inside(Math.floor((place(event)[0] - start) / across), 0, 9) });
  const handle = {
    ...slider({
      name: t("digit of the answer"), value: chosen + 1, min: 1, max: 10, down: true,
      now: !open.length ? answer[chosen]
        : t("{0} looks at {1}", answer[chosen], takes(looks[chosen], letters.map(heard))),
      put: (i) => hold({ digit: i - 1 }),
    }),
    onPointerMove: point, onPointerDown: point,
    onPointerLeave: (event) => event.pointerType === "mouse" && hold({ digit: null }),
    onFocus: () => hold({ digit: chosen }), onBlur: () => hold({ digit: null }),
  };
  return [
    left > 70 && text(0, 18, t("reads"), { bold: true }),
    start > 70 && text(0, 84, t("writes"), { bold: true }),
    open.length > 0 && threads.map(([i, j, weight]) => weight > 0.02
      && line([middle(i), 62], [left + (j + 0.5) * side, 34],
        { class: "thread", "stroke-width": near(12 * weight) })),
    letters.map((letter, j) => h("g", { class: "letter" },
      box(left + j * side, 2, side, 32, { "fill-opacity": near(looks[ui.digit]?.[j] ?? 0) }),
      text(left + (j + 0.5) * side, 18, letter, MIDDLE))),
    h("g", handle, box(start, 62, 10 * across, 44, { fill: "transparent" }),
      written.map((symbol, i) => h("g",
        { class: `digit flows ${answer[i] === full[i] ? "output" : "key"}`, key: `${i}${symbol}` },
        box(middle(i) - across / 2 + 2, 64, across - 4, 40, { rx: 5, class: "tint" }),
        text(middle(i), 84, symbol, MIDDLE)))),
    written.map((_, i) => answer[i] !== full[i]
      && text(middle(i), 116, full[i], { ...MIDDLE, class: "was" })),
  ];
}

/** A head's map, which is its switch. */
function looking({ state, ui, set }, { given, answer, maps }, head, wide) {
  const [layer, name, weights, open] = [head.split("_")[0], named(head), maps[head], state[head]];
  const rows = layer === "encoder" ? given : answer;
  const columns = layer === "decoder" ? `▸${answer}` : given;
  const looks = weights?.map((row, i) =>
    t("{0} looks at {1}", heard(rows[i]), heard(columns[largest(row)]))).join(t(", "));
  const lit = layer !== "encoder" && open && ui.digit != null && [ui.digit, null];
  const act = tick(name, open, (on) => set({ [head]: on }));
  return h("g", { ...act, class: `press head ${open ? "" : "closed"}`, "aria-description": looks },
    box(0, -2, wide, 84, { rx: 6, class: "halo" }),
    text(0, 7, name),
    weights && map({ weights, x: 0, y: 20, lit, across: wide / weights[0].length,
      down: 60 / weights.length }),
    !open && line([0, 80], [wide, 20], { class: "strike" }));
}

const style = `
  .letter rect { fill: var(--query); stroke: var(--faint); }
  .letter text { font-family: ui-monospace, monospace; }
  .thread { stroke: var(--query); stroke-linecap: round; opacity: .6; }
  .digit rect { stroke-width: 2; }
  .digit text { font-size: 20px; font-weight: 600; }
  .digit.key rect { stroke-width: 4; }
  .digit.key { transform-box: fill-box; transform-origin: center; }  /* it flips */
  @starting-style { .digit.key { transform: scaleY(0); } }
  .was { text-decoration: line-through; }
  .closed g { opacity: .25; }
  .strike { stroke: var(--key); stroke-width: 3; }
`;

export const piece = { view, style };
