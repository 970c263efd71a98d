// Where every head of a model looks: a grid of small maps, one large map, one row in words.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, bytesOf, choice, clip, crowded, inside, map, once, panels, places, pointing,
  room, share, slides, t, takes, text,
} from "./kit.js";

// ---- mathematics ----

/** Each layer's heads, each a map of rows. A weight is a byte, in 255ths of its row's largest. */
export const unpack = once(({ tokens, keys: { length }, layers, maps, tops }) => {
  const [bytes, largest] = [bytesOf(maps), new Float32Array(bytesOf(tops).buffer)];
  const rows = Array.from(largest, (top, i) =>
    Array.from(bytes.subarray(i * length, (i + 1) * length), (byte) => byte / 255 * top));
  return layers.map(([, heads]) => places(heads).map(() => rows.splice(0, tokens.length)));
});

/** A map of at most `high` by `wide` cells, each the largest of those that it stands for, in parts
 * of the map's largest. */
export function shrink(weights, high, wide = high) {
  const merged = (count, most) => {
    const cells = inside(Math.floor(most), 1, count);
    return places(count).map((i) => Math.floor(i * cells / count));
  };
  const [down, across] = [merged(weights.length, high), merged(weights[0].length, wide)];
  const small = places(down.at(-1) + 1).map(() => Array(across.at(-1) + 1).fill(0));
  weights.forEach((row, i) => row.forEach((weight, j) => {
    small[down[i]][across[j]] = Math.max(small[down[i]][across[j]], weight);
  }));
  const largest = small.reduce((most, row) => Math.max(most, ...row), 1e-30);
  return small.map((row) => row.map((weight) => weight / largest));
}

// ---- the picture ----

const [EDGE, GAP, HIGH] = [24, 3, 320];
const shrunk = once(shrink);
const thumbnails = once((maps, side) =>
  maps.map((heads) => heads.map((weights) => shrink(weights, side))));

/** A map on a canvas of so many pixels, which may be fewer than its cells. */
const canvas = (weights, x, y, wide, high) =>
  ({ weights, x, y, across: wide / weights[0].length, down: high / weights.length });

const called = ([name], head) => t("{0}, head {1}", name, head);

function view({ data, state, ui, width, set, hold }) {
  const { tokens, keys, layers } = data;
  const { layer } = state;
  const heads = layers[layer][1];
  const head = Math.min(state.head, heads - 1);  // a layer may have fewer
  const name = called(layers[layer], head);
  const maps = unpack(data);
  const mapped = {
    ...pointing({ ui, set, hold }, state.asks, tokens, keys), weights: maps[layer][head] };
  const [asks] = mapped.lit;  // words and sentence follow the pointer
  const row = maps[layer][head][asks];
  const wide = width >= 640;
  const all = overview(maps, layers, layer, head, wide ? 0.4 * width : width, set);
  const one = large(data, asks, wide ? width - all.width - 32 : width, mapped);
  const numbered = new Set(tokens).size < tokens.length;
  return {
    label: t("A small map of weights for each head, and one large: rows ask, columns are asked."),
    picture: [
      panels(width, [all, { ...one, title: clip(name, 40) }], 32),
      keys.length <= 200 && words(data, row, asks, mapped.pick),
    ],
    sentence: t("{0}: {1} looks at {2}.", name, clip(tokens[asks], 20),
      Math.max(...row) ? takes(row, keys) : t("nothing")),
    controls: [
      layers.length > 1
        && choice({ state, set }, "layer", t("layer"), layers.map(([each], l) => [l, each])),
      heads > 1 && choice({ state: { head }, set }, "head", t("head"), places(heads)),
      choice({ state, set }, "asks", t("asking token"), tokens.map((token, i) =>
        [i, numbered ? `${i}: ${clip(token, 30)}` : token])),
    ],
  };
}

/** A small map of each head, of all where they fit, a layer a row, else of the chosen layer. Press
 * one, or go there by arrow keys. */
function overview(maps, layers, layer, head, width, set) {
  const wide = (columns) => Math.min(76, (width - EDGE) / columns - GAP);
  const [most, count] = [Math.max(...layers.map(([, heads]) => heads)), layers[layer][1]];
  const all = wide(most) >= 14;
  const columns = all ? most : Math.min(8, count);
  const rows = all ? layers.length : Math.ceil(count / columns);
  const side = Math.floor(Math.min(wide(columns), Math.max(14, HIGH / rows - GAP)));
  const step = side + GAP;
  const cells = thumbnails(maps, side).flatMap((heads, l) => heads.map((weights, h) => ({
    weights, l, h, x: EDGE + h % columns * step,
    y: EDGE + (all ? l : Math.floor(h / columns)) * step,
  }))).filter(({ l }) => all || l === layer);
  const go = (l, h) => set({ layer: inside(l, 0, layers.length - 1), head: Math.max(0, h) });
  const handle = slides({ name: t("layer and head"), now: called(layers[layer], head) },
    (right, up) => go(layer - up, head + right));
  const every = step < 22 ? 2 : 1;  // numbers that would touch
  return {
    title: all ? t("layers down, heads across") : t("heads of {0}", layers[layer][0]),
    width: EDGE + columns * step, height: EDGE + rows * step,
    sheets: cells.map(({ weights, x, y }) => canvas(weights, x, y, side, side)),
    parts: html`<g ...${handle} class="press">${cells.map(({ l, h, x, y }) => [
      box(x - 1, y - 1, side + 2, side + 2, {
        class: l === layer && h === head ? "small now" : "small", onClick: () => go(l, h),
        children: html`<title>${called(layers[l], h)}</title>` }),
      (l === 0 || !all) && h % every === 0
        && text(x + side / 2, all ? 10 : y + 8, h, { ...MIDDLE, class: "over" }),
      all && h === 0 && text(EDGE - 8, y + side / 2, l, END),
    ])}</g>`,
  };
}

/** The chosen map, with names of rows and columns where they fit, else of what is lit; its cells
 * are on a canvas where they are many or small. */
function large({ tokens, keys }, asks, width, mapped) {
  const x = Math.min(110, 0.35 * width, 14 + Math.max(...tokens.map(room)));
  const across = Math.min(60, (width - x - 4) / keys.length);
  const down = Math.min(28, HIGH / tokens.length, 2 * across);
  const [wide, high] = [keys.length * across, tokens.length * down];
  const { weights, told, lit: [row, column] } = mapped;
  const sheet = crowded({ weights, across, down });
  const now = column === null ? told : `${told} ${share(weights[row][column])}`;
  const left = (i) => text(x - 8, EDGE + (i + 0.5) * down, clip(tokens[i], 11),
    { ...END, bold: i === asks });
  const above = (j) => text(x + (j + 0.5) * across, EDGE - 12, clip(keys[j], 12), MIDDLE);
  const fit = Math.max(...keys.map(room)) + 4 <= across;
  return {
    width: x + wide, height: EDGE + high + 24,
    sheets: sheet ? [canvas(shrunk(weights, high, wide), x, EDGE, wide, high)] : [],
    parts: [
      map({ ...mapped, x, y: EDGE, across, down, sheet, name: t("weights"), now }),
      down >= 14 ? places(tokens.length).map(left) : left(row),
      fit ? places(keys.length).map(above) : column !== null && above(column),
      text(0, EDGE + high + 16, now, { bold: true }),
    ],
  };
}

/** The keys as a text, darker the more of the asking row's largest weight they take. */
function words({ tokens, keys }, row, asks, pick) {
  const [largest, own] = [Math.max(...row, 1e-30), String(tokens) === String(keys)];
  return html`<p class="words">${keys.map((key, j) => html`<span
    class=${own && j === asks ? "asks" : ""} style="--part: ${Math.round(45 * row[j] / largest)}%"
    onClick=${() => pick(own ? [j, null] : [asks, j])}>${clip(key, 40)}</span>`)}</p>`;
}

const style = `
  .small { fill: transparent; stroke: var(--faint); }
  .now { stroke: var(--key); stroke-width: 2.5; }
  .over { pointer-events: none; }
  .words { display: flex; flex-wrap: wrap; gap: 3px; margin: 8px 0; }
  .words span { padding: 1px 5px; border-radius: 3px; cursor: pointer;
    background: color-mix(in srgb, var(--query) var(--part), transparent); }
  .words .asks { outline: 2px solid var(--key); }
`;

export const piece = { view, style };
