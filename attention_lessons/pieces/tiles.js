// Attention by tiles: a tile slides over the scores, and each query keeps three numbers. Drag the
// tile, or its corner to cut the scores otherwise.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, button, digits, disc, dot, grip, list, near, places, shifted, svg, t, text,
} from "./kit.js";

// ---- mathematics ----------------------------------------------------------------

const KEPT = 3;  // numbers that a query keeps: its largest score, its sum, its output

/** 0 to `count` in tiles of `size`, the last one maybe smaller. */
export function cut(count, size) {
  const starts = places(Math.ceil(count / size)).map((i) => i * size);
  return starts.map((first) => places(Math.min(size, count - first)).map((i) => first + i));
}

/** A query's state after more keys, and by what its sum and its output were multiplied; null where
 * there was none (Milakov & Gimelshein 2018, algorithm 3). */
export function update({ largest, total, output }, scores, values) {
  const higher = Math.max(largest ?? -Infinity, ...scores);
  const factor = Math.exp((largest ?? -Infinity) - higher);
  const powers = scores.map((score) => Math.exp(score - higher));
  const sum = powers.reduce((all, power) => all + power, factor * total);
  const share = (factor * total) / sum;
  const seen = total > 0;
  return {
    largest: higher, total: sum, output: share * output + dot(powers, values) / sum,
    ofSum: seen ? factor : null, ofOutput: seen ? share : null,
  };
}

/** What holds before the first tile of scores, and after each: keys outside, queries inside, as in
 * `tiled_attention`. `moved` counts the numbers that went between the memories. */
export function walk({ queries, keys, values }, rows, columns) {
  let states = queries.map(() => ({ largest: null, total: 0, output: 0 }));
  let moved = KEPT * queries.length;
  const frames = [{ states, moved, asking: [], asked: [] }];
  for (const asked of cut(keys.length, columns)) {
    moved += 2 * asked.length;
    const some = asked.map((j) => values[j]);
    for (const asking of cut(queries.length, rows)) {
      states = states.map((state, i) => (asking.includes(i)
        ? update(state, asked.map((j) => queries[i] * keys[j]), some) : state));
      moved += (1 + 2 * KEPT) * asking.length;
      frames.push({ states, moved, asking, asked });
    }
  }
  return frames;
}

/** What is moved with a table: read q and k, write scores; read them, write weights; read these and
 * v, write the output. */
export const withTable = (n, m) => 2 * (n + m) + 4 * n * m;

// ---- in words ---------------------------------------------------------------------

/** "query 3", "queries 0 and 1", "queries 0 to 3". */
function someQueries(numbers) {
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === last) return t("query {0}", first);
  return last - first > 1 ? t("queries {0} to {1}", first, last)
    : t("queries {0} and {1}", first, last);
}

function someKeys(numbers) {
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === last) return t("key {0}", first);
  return last - first > 1 ? t("keys {0} to {1}", first, last) : t("keys {0} and {1}", first, last);
}

/** What a step did, in a sentence. */
function tell(frames, step) {
  const { states, asking, asked } = frames[step];
  const last = frames.length - 1;
  if (step === 0) {
    return t("Step 0 of {0}: nothing is in fast memory, and no query has met a key.", last);
  }
  const where = t("Step {0} of {1}: {2} and {3} are in fast memory.", step, last,
    someQueries(asking), someKeys(asked));
  const end = step === last ? t(" Every output is now attention over all keys, exactly.") : "";
  return t("{0} {1}{2}", where, rescaled(states, asking), end);
}

function rescaled(states, asking) {
  if (states[asking[0]].ofSum === null) return t("Nothing was summed before: nothing is rescaled.");
  const raised = asking.filter((i) => states[i].ofSum < 1);
  if (!raised.length) return t("No larger score: no sum is rescaled, all are added to.");
  const each = raised.map((i) => t("the sum of query {0} by {1}", i, digits(states[i].ofSum)));
  return t("Larger scores: first multiply {0}.", list(each));
}

/** A number in as few figures as it takes. */
const short = (number) => String(Number(digits(number)));

// ---- the picture -----------------------------------------------------------------

const [ROW, LEFT, TOP] = [30, 82, 88];  // of a query; where the scores begin

function view({ data, state, drawn, ui, width, set, hold }) {
  const { queries, keys } = data;
  const [n, m] = [queries.length, keys.length];
  const frames = walk(data, state.query_tile, state.key_tile);
  const last = frames.length - 1;
  const step = Math.min(state.step, last);
  const wide = width >= 640;
  const across = Math.min(46, ((wide ? 0.54 * width : width) - LEFT - 2) / m);
  const [keptX, keptY] = wide ? [LEFT + m * across + 24, TOP] : [0, TOP + n * ROW + 52];
  const low = keptY + n * ROW + 10;
  const stop = () => {
    clearInterval(ui.timer);
    hold({ timer: null });
  };
  const go = (to) => {
    stop();
    set({ step: Math.min(last, Math.max(0, to)) });
  };
  const resize = (sizes) => {
    stop();
    set({ ...sizes, step: 1 });
  };
  const play = () => {
    let next = step === last ? 0 : step + 1;
    const timer = setInterval(() => {
      set({ step: next++ });
      if (next <= last) return;
      clearInterval(timer);
      hold({ timer: null });
    }, 700);
    hold({ timer });
  };
  const frame = frames[step];
  const part = { data, state, frames, step, across, drawn: Math.min(drawn.step, last) };
  return {
    label: t("Scores of {0} queries and {1} keys, a tile of them in fast memory; what each query " +
      "keeps; how many numbers were moved.", n, m),
    picture: svg(width, low + 42, scores(part),
      tile({ ...part, go, resize, used: ui.used }),
      shifted(keptX, keptY, kept(frame, wide ? width - keptX : width, m, !wide)),
      shifted(0, low, traffic(part, width))),
    sentence: tell(frames, step),
    controls: [
      ui.timer ? button(t("pause"), stop) : button(t("play"), play),
      button(t("‹ back"), () => go(step - 1)), button(t("next ›"), () => go(step + 1)),
    ],
  };
}

/** A box with a number; `fast` says whether it is in fast memory. */
const held = (role, x, y, wide, words, fast) => html`<g class="${role}${fast ? " fast" : ""}">
  ${box(x + 1, y + 1, wide - 2, 26, { rx: 4, class: "box" })}
  ${text(x + wide / 2, y + 14, words, { ...MIDDLE, bold: fast })}</g>`;

/** Keys and values above, queries at the left, and between them the scores that are there now. */
function scores({ data: { queries, keys, values }, frames, step, across }) {
  const { asking, asked, states } = frames[step];
  const x = (j) => LEFT + j * across;
  const y = (i) => TOP + i * ROW;
  const used = frames.slice(1, step).flatMap((each) =>
    each.asking.flatMap((i) => each.asked.map((j) => [i, j])));
  return html`
    ${text(LEFT - 8, 8, t("key"), { ...END, bold: true })}
    ${text(LEFT - 8, 36, "k", { ...END, colour: "key", bold: true })}
    ${text(LEFT - 8, 65, "v", { ...END, colour: "value", bold: true })}
    ${text(0, 76, t("query"), { bold: true })}
    ${keys.map((key, j) => html`${text(x(j) + across / 2, 8, j, MIDDLE)}
      ${held("key", x(j), 22, across, short(key), asked.includes(j))}
      ${held("value", x(j), 51, across, short(values[j]), asked.includes(j))}`)}
    ${queries.map((query, i) => html`${text(8, y(i) + 15, i, MIDDLE)}
      ${held("query", 24, y(i) + 1, LEFT - 34, short(query), asking.includes(i))}`)}
    ${box(LEFT, TOP, keys.length * across, queries.length * ROW, { class: "paper" })}
    ${used.map(([i, j]) => html`<path class="used" d=${hatched(x(j), y(i), across)} />`)}
    ${asking.map((i) => asked.map((j) => html`<g class="score">
      ${text(x(j) + across / 2, y(i) + 15, short(queries[i] * keys[j]),
        { ...MIDDLE, bold: queries[i] * keys[j] === states[i].largest })}</g>`))}`;
}

/** Stripes of a score that was used and forgotten. */
function hatched(x, y, wide) {
  const [right, low] = [near(x + wide - 2), y + ROW - 2];
  const [middle, half] = [near(x + wide / 2), y + ROW / 2];
  return `M${near(x + 2)} ${half}L${middle} ${y + 2}M${near(x + 2)} ${low}L${right} ${y + 2}`
    + `M${middle} ${low}L${right} ${half}`;
}

/** The tile in fast memory, and the corner of the first one, by which all are cut. */
function tile({ data: { queries, keys, sizes }, state, frames, step, drawn, across, go, resize,
  used }) {
  const { query_tile: rows, key_tile: columns } = state;
  const below = Math.ceil(queries.length / rows);
  const corners = ({ asking, asked }) => (asking.length
    ? [asked[0], asking[0], asked.at(-1) + 1, asking.at(-1) + 1]
    : [0, 0, Math.min(columns, keys.length), Math.min(rows, queries.length)]);
  const [before, after] = [Math.floor(drawn), Math.ceil(drawn)].map((i) => corners(frames[i]));
  const [x1, y1, x2, y2] = before.map((from, i) => from + (after[i] - from) * (drawn % 1));
  const cell = (x, y) => [(x - LEFT) / across, (y - TOP) / ROW];
  const slide = grip({
    name: t("tile"), now: t("{0} of {1}", step, frames.length - 1), value: step, min: 0,
    max: frames.length - 1,
    drag(x, y) {
      const [j, i] = cell(x, y).map((place, side) => Math.floor(Math.min(
        [keys.length, queries.length][side] - 1, Math.max(0, place)) / [columns, rows][side]));
      go(1 + j * below + i);
    },
    step: (right, up) => go(step + right * below - up),
    keys: { Home: () => go(0), End: () => go(frames.length - 1) },
  });
  const nearest = (some, wanted) => some.reduce((best, size) =>
    (Math.abs(size - wanted) < Math.abs(best - wanted) ? size : best));
  const next = (some, size, by) =>
    some[Math.min(some.length - 1, Math.max(0, some.indexOf(size) + by))];
  const corner = grip({
    name: t("size of a tile"), now: t("queries {0}, keys {1}", rows, columns),
    value: rows * columns, min: 1, max: queries.length * keys.length,
    drag(x, y) {
      const [wide, high] = cell(x, y);
      const [query_tile, key_tile] = [nearest(sizes.query_tile, high),
        nearest(sizes.key_tile, wide)];
      if (query_tile !== rows || key_tile !== columns) resize({ query_tile, key_tile });
    },
    step: (right, up) => resize({ query_tile: next(sizes.query_tile, rows, -up),
      key_tile: next(sizes.key_tile, columns, right) }),
  });
  const [endX, endY] = [LEFT + columns * across, TOP + rows * ROW];
  return html`<g ...${slide}>${box(LEFT + x1 * across, TOP + y1 * ROW, (x2 - x1) * across,
      (y2 - y1) * ROW, { rx: 4, class: step ? "tile" : "tile waiting" })}</g>
    <g ...${corner}>${disc([endX, endY], 22, { class: "halo" })}
      ${disc([endX, endY], 8, { class: "corner" })}</g>
    ${!used && text(endX + 14, endY + 18, t("drag me"), { bold: true, class: "hint" })}`;
}

/** What each query keeps, and by what the old was multiplied; sums are at most the keys. */
function kept({ states, asking }, width, keys, named) {
  const side = named ? 24 : 0;
  const part = (width - side) / 4;
  const starts = [0, 0.8, 2.6].map((parts) => side + parts * part);
  const most = Math.max(0, starts[2] - starts[1] - 116);
  const titles = [t("largest"), t("sum"), t("output")];
  return html`
    ${text(0, -40, t("each query keeps, so far"), { bold: true })}
    ${titles.map((title, i) => text(starts[i] + 6, -16, title, { colour: "output" }))}
    ${states.map(({ largest, total, output, ofSum, ofOutput }, i) => {
      const [inside, y] = [asking.includes(i), i * ROW + 15];
      const times = (factor, x, more) =>
        inside && factor !== null && text(x, y, `× ${digits(factor)}`, more);
      return html`<g class="kept ${inside ? "fast" : ""}">
        ${box(side, i * ROW + 2, width - side - 1, 26, { rx: 4, class: "box" })}
        ${named && text(8, y, i, MIDDLE)}
        ${text(starts[0] + 6, y, largest === null ? t("none") : short(largest))}
        ${times(ofSum, starts[1] + 6, ofSum < 1 ? { bold: true, class: "less" } : {})}
        ${box(starts[1] + 62, i * ROW + 8, most * total / keys, 14, { rx: 2, class: "sum" })}
        ${text(starts[1] + 68 + most * total / keys, y, digits(total))}
        ${times(ofOutput, starts[2] + 6, {})}
        ${text(width - 8, y, digits(output), { ...END, bold: inside })}</g>`;
    })}`;
}

/** How many numbers were moved, by tiles until now and with a table. */
function traffic({ data: { queries, keys }, frames, step, drawn }, width) {
  const [all, table] = [frames.at(-1).moved, withTable(queries.length, keys.length)];
  const [from, to] = [frames[Math.floor(drawn)].moved, frames[Math.ceil(drawn)].moved];
  const now = from + (to - from) * (drawn % 1);
  const left = Math.min(150, 0.4 * width);
  const unit = (width - left - 84) / Math.max(all, table);
  const rows = [
    [t("moved, by tiles"), now, t("{0} of {1}", frames[step].moved, all), "query"],
    [t("with a table"), table, String(table), "ink"],
  ];
  return rows.map(([name, amount, said, colour], i) => html`${text(0, 9 + 22 * i, name)}
    ${box(left, 2 + 22 * i, unit * amount, 14,
      { rx: 2, class: "moved", fill: `var(--${colour})` })}
    ${text(left + 8 + unit * amount, 9 + 22 * i, said)}`);
}

const style = `
  .box { fill: none; stroke: var(--faint); stroke-width: 2; }
  .query { --role: var(--query); }
  .key { --role: var(--key); }
  .value { --role: var(--value); }
  .kept { --role: var(--output); }
  .fast .box {
    stroke: var(--role); fill: color-mix(in srgb, var(--role) 22%, var(--paper));
  }
  .paper { fill: none; stroke: var(--faint); }
  .used { stroke: currentColor; stroke-width: 2; opacity: .3; }
  .tile { fill: color-mix(in srgb, currentColor 6%, transparent); stroke: currentColor;
    stroke-width: 3; }
  .waiting { stroke-dasharray: 5 5; fill: transparent; }
  .corner { fill: var(--paper); stroke: currentColor; stroke-width: 3; }
  .sum { fill: var(--output); }
  .less { text-decoration: underline; }
`;

export const piece = { view, style, eases: (name) => name === "step" };
