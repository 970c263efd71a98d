// Attention by tiles: a tile slides over the scores, and each query keeps three numbers. Drag the
// tile, or its corner to cut the scores otherwise.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, button, closest, digits, disc, dot, grip, inside, list, near, once, panels,
  places, t, text, travelling,
} from "./kit.js";

// ---- mathematics ----------------------------------------------------------------

const KEPT = 3;  // numbers that a query keeps: its largest score, its sum, its output

/** 0 to `count` in tiles of `size`, the last one maybe smaller. */
const cut = (count, size) => places(Math.ceil(count / size)).map((tile) =>
  places(Math.min(size, count - tile * size)).map((i) => tile * size + i));

/** A query's state after more keys, and by what its sum was multiplied; null where there was none
 * (Milakov & Gimelshein 2018, algorithm 3). */
function update({ largest, total, output }, scores, values) {
  const higher = Math.max(largest, ...scores);
  const factor = Math.exp(largest - higher);
  const powers = scores.map((score) => Math.exp(score - higher));
  const sum = powers.reduce((all, power) => all + power, factor * total);
  const share = (factor * total) / sum;
  return {
    largest: higher, total: sum, output: share * output + dot(powers, values) / sum,
    ofSum: total ? factor : null,
  };
}

/** What holds before the first tile of scores, and after each: keys outside, queries inside, as in
 * `tiled_attention`. `moved` counts the numbers that went between the memories. */
const walk = once(({ queries, keys, values }, rows, columns) => {
  let states = queries.map(() => ({ largest: -Infinity, total: 0, output: 0 }));
  let moved = KEPT * queries.length;
  const frames = [{ states, moved, asking: [], asked: [] }];
  for (const asked of cut(keys.length, columns)) {
    moved += 2 * asked.length;
    for (const asking of cut(queries.length, rows)) {
      states = states.map((state, i) => (asking.includes(i)
        ? update(state, asked.map((j) => queries[i] * keys[j]), asked.map((j) => values[j]))
        : state));
      moved += (1 + 2 * KEPT) * asking.length;
      frames.push({ states, moved, asking, asked });
    }
  }
  return frames;
});

/** What is moved with a table: read q and k, write scores; read them, write weights; read these and
 * v, write the output. */
const withTable = (n, m) => 2 * (n + m) + 4 * n * m;

// ---- in words ---------------------------------------------------------------------

/** "query 3", "queries 0 and 1", "queries 0 to 3". */
const queriesSaid = ([first, ...more]) => [
  t("query {0}", first), t("queries {0} and {1}", first, more[0]),
  t("queries {0} to {1}", first, more.at(-1))][Math.min(2, more.length)];

const keysSaid = ([first, ...more]) => [
  t("key {0}", first), t("keys {0} and {1}", first, more[0]),
  t("keys {0} to {1}", first, more.at(-1))][Math.min(2, more.length)];

/** What a step did, in a sentence. */
function tell(frames, step) {
  const { states, asking, asked } = frames[step];
  const last = frames.length - 1;
  if (step === 0) {
    return t("Step 0 of {0}: nothing is in fast memory, and no query has met a key.", last);
  }
  const where = t("Step {0} of {1}: {2} and {3} are in fast memory.", step, last,
    queriesSaid(asking), keysSaid(asked));
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

const [ROW, LEFT, TOP] = [30, 82, 82];  // of a query; where the scores begin, in their panel

function view({ data, state, ui, width, set, hold }) {
  const [n, m] = [data.queries.length, data.keys.length];
  const frames = walk(data, state.query_tile, state.key_tile);
  const last = frames.length - 1;
  const step = Math.min(state.step, last);
  const wide = width >= 640;
  const across = Math.min(46, ((wide ? 0.54 * width : width) - LEFT - 2) / m);
  const first = LEFT + m * across;
  const stop = () => {
    clearInterval(ui.timer);
    if (ui.timer) hold({ timer: null });
  };
  const change = (settings) => {
    stop();
    set(settings);
  };
  const go = (to) => change({ step: inside(to, 0, last) });
  const play = () => {
    let next = step === last ? 0 : step + 1;
    const timer = setInterval(() => {
      if (next === last) clearInterval(timer);
      set({ step: next }, { timer: next++ < last && timer });
    }, 700);
    hold({ timer });
  };
  const part = { data, state, step, last, across, go, change };
  const rest = wide ? width - first - 24 : width;
  const top = wide ? TOP : 24;  // beside each other, rows are level
  const table = withTable(n, m);
  return {
    label: t("Scores of {0} queries and {1} keys, a tile of them in fast memory; what each query " +
      "keeps; how many numbers were moved.", n, m),
    picture: panels(width, [
      { title: t("scores s = q · k: one tile in fast memory"), width: first,
        height: TOP + n * ROW + 10,
        parts: [scores(frames, part), tile(frames[step], part), corner(ui.used, part)] },
      { title: t("each query keeps, so far"), width: rest,
        height: top + n * ROW + 10, parts: kept(frames[step], rest, top, m) },
      { width, height: 46, parts: traffic([
        [t("moved by tiles"), frames[step].moved,
          t("{0} of {1} numbers", frames[step].moved, frames[last].moved), "query"],
        [t("moved without tiles"), table, t("{0} numbers", table), "ink"],
      ], Math.max(frames[last].moved, table), width) },
    ]),
    sentence: tell(frames, step),
    controls: [
      ui.timer ? button(t("pause"), stop) : button(t("play"), play),
      button(t("‹ back"), () => go(step - 1)), button(t("next ›"), () => go(step + 1)),
    ],
  };
}

/** A box with a number; `fast` says whether it is in fast memory. */
const held = (role, x, y, wide, number, fast) => html`<g class="${role}${fast ? " fast" : ""}">
  ${box(x + 1, y + 1, wide - 2, 26, { rx: 4, class: "box" })}
  ${text(x + wide / 2, y + 14, short(number), { ...MIDDLE, bold: fast })}</g>`;

/** Keys and values above, queries at the left, and between them the scores that are there now. */
function scores(frames, { data: { queries, keys, values }, step, across }) {
  const { asking, asked, states } = frames[step];
  const x = (j) => LEFT + j * across;
  const y = (i) => TOP + i * ROW;
  const used = frames.slice(1, step).flatMap((each) =>
    each.asking.flatMap((i) => each.asked.map((j) => [i, j])));
  return html`
    ${text(LEFT - 8, 6, t("key"), { ...END, bold: true })}
    ${text(LEFT - 8, 34, "k", { ...END, colour: "key", bold: true })}
    ${text(LEFT - 8, 63, "v", { ...END, colour: "value", bold: true })}
    ${text(0, 66, t("query"), { bold: true })}
    ${keys.map((key, j) => html`${text(x(j) + across / 2, 6, j, MIDDLE)}
      ${held("key", x(j), 20, across, key, asked.includes(j))}
      ${held("value", x(j), 49, across, values[j], asked.includes(j))}`)}
    ${queries.map((query, i) => html`${text(8, y(i) + 15, i, MIDDLE)}
      ${held("query", 24, y(i) + 1, LEFT - 34, query, asking.includes(i))}`)}
    ${box(LEFT, TOP, keys.length * across, queries.length * ROW, { class: "table" })}
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

/** The tile in fast memory: it is dragged over the scores. */
function tile({ asking, asked }, { data: { queries, keys }, state, step, last, across, go }) {
  const { query_tile: rows, key_tile: columns } = state;
  const below = Math.ceil(queries.length / rows);
  const at = (cell, count, size) => Math.floor(inside(cell, 0, count - 1) / size);
  const [i = 0, j = 0] = [asking[0], asked[0]];
  return html`<g ...${grip({
    name: t("tile"), now: t("{0} of {1}", step, last), value: step, min: 0, max: last,
    drag: (x, y) => go(1 + at((x - LEFT) / across, keys.length, columns) * below
      + at((y - TOP) / ROW, queries.length, rows)),
    step: (right, up) => go(step + right * below - up),
    keys: { Home: () => go(0), End: () => go(last) },
  })}>${travelling("tile", LEFT + j * across, TOP + i * ROW,
    box(0, 0, (asked.length || columns) * across, (asking.length || rows) * ROW,
      { rx: 4, class: step ? "tile" : "tile waiting" }))}</g>`;
}

/** The corner of the first tile, by which all are cut. */
function corner(used, { data: { queries, keys, sizes }, state, across, change }) {
  const { query_tile: rows, key_tile: columns } = state;
  const next = (some, size, by) => some[some.indexOf(size) + by] ?? size;
  const resize = (query_tile, key_tile) => {
    if (query_tile !== rows || key_tile !== columns) change({ query_tile, key_tile, step: 1 });
  };
  const [endX, endY] = [LEFT + columns * across, TOP + rows * ROW];
  return html`<g ...${grip({
    name: t("size of a tile"), now: t("queries {0}, keys {1}", rows, columns),
    value: rows * columns, min: 1, max: queries.length * keys.length,
    drag: (x, y) => resize(closest(sizes.query_tile, (size) => Math.abs(size - (y - TOP) / ROW)),
      closest(sizes.key_tile, (size) => Math.abs(size - (x - LEFT) / across))),
    step: (right, up) =>
      resize(next(sizes.query_tile, rows, -up), next(sizes.key_tile, columns, right)),
  })}>${disc([endX, endY], 22, { class: "halo" })}
    ${disc([endX, endY], 8, { class: "corner" })}</g>
    ${!used && text(endX + 14, endY + 18, t("drag to resize"), { bold: true, class: "hint" })}`;
}

/** What each query keeps, and by what the old was multiplied; sums are at most the keys. */
function kept({ states, asking }, width, top, keys) {
  const side = 24;
  const part = (width - side) / 4;
  const sumX = side + Math.max(56, 0.7 * part);
  const most = Math.max(0, width - sumX - 196);
  const titles = [[side + 6, t("max s"), {}], [sumX + 6, t("Σ exp(s − max)"), {}],
    [width - 8, t("output"), END]];
  return html`
    ${titles.map(([x, title, end]) => text(x, top - 14, title, { ...end, colour: "output" }))}
    ${states.map(({ largest, total, output, ofSum }, i) => {
      const [inside, y] = [asking.includes(i), top + i * ROW + 15];
      return html`<g class="kept ${inside ? "fast" : ""}">
        ${box(side, y - 13, width - side - 1, 26, { rx: 4, class: "box" })}
        ${text(8, y, i, MIDDLE)}
        ${text(side + 6, y, total ? short(largest) : t("none"))}
        ${inside && ofSum !== null && ofSum < 1
          && text(sumX + 6, y, `× ${digits(ofSum)}`, { bold: true, class: "less" })}
        ${box(sumX + 58, y - 7, most * total / keys, 14, { rx: 2, class: "sum flows" })}
        ${text(sumX + 64 + most * total / keys, y, digits(total))}
        ${text(width - 8, y, digits(output), { ...END, bold: inside })}</g>`;
    })}`;
}

/** How many numbers were moved, by tiles until now and with a table. */
function traffic(rows, most, width) {
  const unit = (width - 290) / most;
  return rows.map(([name, amount, said, colour], i) => html`${text(0, 9 + 22 * i, name)}
    ${box(150, 2 + 22 * i, unit * amount, 14,
      { rx: 2, class: "moved flows", fill: `var(--${colour})` })}
    ${text(158 + unit * amount, 9 + 22 * i, said)}`);
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
  .table { fill: none; stroke: var(--faint); }
  .used { stroke: currentColor; stroke-width: 2; opacity: .3; }
  .tile { fill: color-mix(in srgb, currentColor 6%, transparent); stroke: currentColor;
    stroke-width: 3; }
  .waiting { stroke-dasharray: 5 5; fill: transparent; }
  .corner { fill: var(--paper); stroke: currentColor; stroke-width: 3; }
  .sum { fill: var(--output); }
  .less { text-decoration: underline; }
`;

export const piece = { view, style };
