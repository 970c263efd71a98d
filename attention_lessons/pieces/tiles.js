// Attention by tiles: a tile slides over the scores, and each query keeps three numbers. Drag the
// tile, or its corner to cut the scores otherwise.
import { h } from "./vendor/preact.js";
import {
  END, MIDDLE, box, button, closest, digits, dot, grip, inside, knob, line, once, panels, places,
  t, text, travelling,
} from "./kit.js";

// ---- mathematics ----

const KEPT = 3;  // numbers that a query keeps: its largest score, its sum, its output

/** 0 to `count` in tiles of `size`, the last one maybe smaller. */
const cut = (count, size) => places(Math.ceil(count / size)).map((tile) =>
  places(count).slice(tile * size, (tile + 1) * size));

/** A query's state after more keys; its sum so far is multiplied by `factor` (Milakov & Gimelshein
 * 2018, algorithm 3). */
function update({ largest, total, output }, scores, values) {
  const higher = Math.max(largest, ...scores);
  const factor = total ? Math.exp(largest - higher) : 1;
  const powers = scores.map((score) => Math.exp(score - higher));
  const sum = powers.reduce((all, power) => all + power, factor * total);
  return { largest: higher, total: sum, factor,
    output: (factor * total * output + dot(powers, values)) / sum };
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

// ---- in words ----

const span = (given) => (given.length > 1 ? `${given[0]}–${given.at(-1)}` : given[0]);

/** What a step did, in a sentence. */
function tell({ states, asking, asked }, step, last) {
  if (step === 0) {
    return t("Step 0 of {0}: nothing is in fast memory, and no query has met a key.", last);
  }
  const raised = asking.some((i) => states[i].factor < 1);
  const same = asked[0] ? t(" No larger score: no sum is rescaled, all are added to.")
    : t(" Nothing was summed before: nothing is rescaled.");
  return t("Step {0} of {1}: q {2} and k, v {3} are in fast memory.", step, last,
    span(asking), span(asked))
    + (raised ? t(" Larger scores: sums with × are first multiplied.") : same)
    + (step === last ? t(" Every output is now attention over all keys, exactly.") : "");
}

/** A number in as few figures as it takes. */
const short = (number) => Number(digits(number));

// ---- the picture ----

const [ROW, LEFT, TOP] = [30, 82, 82];  // of a query; where the scores begin, in their panel

function view({ data, state, ui, width, set, hold }) {
  const [n, m] = [data.queries.length, data.keys.length];
  const frames = walk(data, state.query_tile, state.key_tile);
  const last = frames.length - 1;
  const step = Math.min(state.step, last);
  const frame = frames[step];
  const [part, top] = width >= 640 ? [0.54 * width, TOP] : [width, 24];  // rows are level
  const across = Math.min(46, (part - LEFT - 2) / m);
  const first = LEFT + m * across;
  const rest = part < width ? width - first - 24 : width;
  const change = (settings) => {
    clearInterval(ui.timer);
    set(settings, { timer: null });
  };
  const go = (to) => change({ step: inside(to, 0, last) });
  const play = () => {
    let next = (step + 1) % frames.length;
    const timer = setInterval(() => {
      if (next === last) clearInterval(timer);
      set({ step: next }, { timer: next++ < last && timer });
    }, 700);
    hold({ timer });
  };
  const grid = { ...data, ...state, frames, step, across };
  return {
    label: t("Scores of {0} queries and {1} keys, a tile of them in fast memory; what each query " +
      "keeps; how many numbers were moved.", n, m),
    picture: panels(width, [
      { title: t("scores s = q · k: one tile in fast memory"), width: first,
        height: TOP + n * ROW + 10, parts: [scores(grid), tile(grid, go), corner(grid, change)] },
      { title: t("each query keeps, so far"), width: rest,
        height: top + n * ROW + 10, parts: kept(frame, rest, top, m) },
      { width, height: 46, parts: traffic(frame.moved, frames[last].moved, n, m, width) },
    ]),
    sentence: tell(frame, step, last),
    controls: [
      ui.timer ? button(t("pause"), () => change({})) : button(t("play"), play),
      button(t("‹ back"), () => go(step - 1)), button(t("next ›"), () => go(step + 1)),
    ],
  };
}

/** A box, in its role's colour where what it holds is in fast memory. */
const held = (role, x, y, wide, fast) =>
  box(x, y, wide, 26, { rx: 4, "stroke-width": 2, class: `${role} ${fast ? "tint" : "frame"}` });

/** Keys and values above, queries at the left, and between them the scores that are there now;
 * those of earlier steps were used and forgotten. */
function scores({ queries, keys, values, frames, step, across }) {
  const { asking, asked, states } = frames[step];
  const x = (j) => LEFT + j * across;
  const y = (i) => TOP + i * ROW;
  const name = (left, top, words, more) => text(left, top, words, { ...more, bold: true });
  const given = (role, left, top, wide, number, fast) => [
    held(role, left + 1, top, wide - 2, fast),
    text(left + wide / 2, top + 13, short(number), { ...MIDDLE, bold: fast }),
  ];
  return [
    name(LEFT - 8, 6, t("key"), END),
    name(LEFT - 8, 34, "k", { ...END, colour: "key" }),
    name(LEFT - 8, 63, "v", { ...END, colour: "value" }),
    name(0, 66, t("query")),
    keys.map((key, j) => [
      text(x(j) + across / 2, 6, j, MIDDLE),
      given("key", x(j), 21, across, key, asked.includes(j)),
      given("value", x(j), 50, across, values[j], asked.includes(j)),
    ]),
    queries.map((query, i) => [
      text(8, y(i) + 15, i, MIDDLE),
      given("query", 24, y(i) + 2, LEFT - 34, query, asking.includes(i)),
    ]),
    box(LEFT, TOP, keys.length * across, queries.length * ROW, { class: "table frame" }),
    frames.slice(1, step).map((each) => each.asking.map((i) => each.asked.map((j) =>
      line([x(j) + 5, y(i + 1) - 5], [x(j + 1) - 5, y(i) + 5], { class: "used" })))),
    asking.map((i) => asked.map((j) => {
      const score = queries[i] * keys[j];
      return text(x(j) + across / 2, y(i) + 15, short(score),
        { ...MIDDLE, class: "score", bold: score === states[i].largest });
    })),
  ];
}

/** The tile in fast memory: it is dragged over the scores. */
function tile({ queries, keys, query_tile, key_tile, frames, step, across }, go) {
  const last = frames.length - 1;
  const { asking, asked } = frames[Math.max(1, step)];
  const below = Math.ceil(queries.length / query_tile);  // tiles of queries for one of keys
  return h("g", grip({
    name: t("tile"), now: t("{0} of {1}", step, last), value: step, min: 0, max: last,
    drag: (x, y) => go(1 + Math.floor(inside((y - TOP) / ROW, 0, queries.length - 1) / query_tile)
      + below * Math.floor(inside((x - LEFT) / across, 0, keys.length - 1) / key_tile)),
    step: (right, up) => go(step + right * below - up),
    keys: { Home: () => go(0), End: () => go(last) },
  }), travelling("tile", LEFT + asked[0] * across, TOP + asking[0] * ROW,
    box(0, 0, asked.length * across, asking.length * ROW,
      { rx: 4, class: step ? "tile paper" : "tile waiting" })));
}

/** The corner of the first tile, by which all are cut. */
function corner({ sizes, query_tile: rows, key_tile: columns, across }, change) {
  const nearest = (some, cells) => closest(some, (size) => Math.abs(size - cells));
  const next = (some, size, by) => some[some.indexOf(size) + by] ?? size;
  const resize = (query_tile, key_tile) => {
    if (query_tile !== rows || key_tile !== columns) change({ query_tile, key_tile, step: 1 });
  };
  return knob(grip({
    name: t("size of a tile"), now: t("queries {0}, keys {1}", rows, columns),
    drag: (x, y) => resize(nearest(sizes.query_tile, (y - TOP) / ROW),
      nearest(sizes.key_tile, (x - LEFT) / across)),
    step: (right, up) =>
      resize(next(sizes.query_tile, rows, -up), next(sizes.key_tile, columns, right)),
  }), [], [LEFT + columns * across, TOP + rows * ROW], "↘");
}

/** What each query keeps, and by what the old was multiplied; sums are at most the keys. */
function kept({ states, asking }, width, top, keys) {
  const [max, sum, end] = [30, 92, width - 8];  // where columns begin, and where the last ends
  const most = Math.max(0, width - 282);  // of a bar
  const title = (x, words, more) => text(x, top - 14, words, { ...more, colour: "output" });
  return [
    title(max, t("max s")), title(sum, t("Σ exp(s − max)")), title(end, t("output"), END),
    states.map(({ largest, total, output, factor }, i) => {
      const [fast, y, bar] = [asking.includes(i), top + i * ROW + 15, most * total / keys];
      return h("g", { class: "kept" },
        held("output", max - 6, y - 13, width - max + 5, fast),
        text(8, y, i, MIDDLE),
        text(max, y, total ? short(largest) : t("none")),
        fast && factor < 1 && text(sum, y, `× ${digits(factor)}`, { bold: true }),
        box(sum + 52, y - 7, bar, 14, { rx: 2, class: "sum flows", fill: "var(--output)" }),
        text(sum + 58 + bar, y, digits(total)),
        text(end, y, digits(output), { ...END, bold: fast }));
    }),
  ];
}

/** How many numbers were moved, by tiles until now and with a table: read q and k, write scores;
 * read them, write weights; read these and v, write the output. */
function traffic(moved, whole, n, m, width) {
  const table = 2 * (n + m) + 4 * n * m;
  const unit = (width - 290) / Math.max(whole, table);
  const bar = (y, amount, colour, name, said) => [
    text(0, y, name),
    box(150, y - 7, unit * amount, 14, { rx: 2, class: "moved flows", fill: `var(--${colour})` }),
    text(158 + unit * amount, y, said),
  ];
  return [bar(9, moved, "query", t("moved by tiles"), t("{0} of {1} numbers", moved, whole)),
    bar(31, table, "ink", t("moved without tiles"), t("{0} numbers", table))];
}

const style = `
  .used { stroke: var(--faint); stroke-width: 2; }
  .tile { stroke: currentColor; stroke-width: 3; }
  .waiting { stroke-dasharray: 5 5; fill: transparent; }
`;

export const piece = { view, style };
