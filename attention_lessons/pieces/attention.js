// Where every head of a model looks: a grid of small maps, one large map, one row in words.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, clip, grip, map, near, once, place, places, range, room, shade, share,
  sheet, svg, t, takes, text,
} from "./kit.js";

// ---- mathematics ----------------------------------------------------------------

const bytesOf = (words) => Uint8Array.from(atob(words), (letter) => letter.charCodeAt(0));

/** Each layer's heads, each a map of rows. A weight is a byte, in 255ths of its row's largest. */
export function unpack({ tokens, keys, layers, maps, tops }) {
  const [bytes, largest] = [bytesOf(maps), new Float32Array(bytesOf(tops).buffer)];
  let row = 0;
  const next = () => {
    const start = row * keys.length;
    const top = largest[row++];
    return Array.from(bytes.subarray(start, start + keys.length), (byte) => byte / 255 * top);
  };
  return layers.map(({ heads }) => heads.map(() => tokens.map(next)));
}

/** A map of at most `high` by `wide` cells, each the largest of those that it stands for, in parts
 * of the map's largest. */
export function shrink(weights, high, wide = high) {
  const ends = (count, most) => {
    const cells = Math.max(1, Math.min(count, Math.floor(most)));
    return places(cells).map((i) => [i, i + 1].map((j) => Math.floor(j * count / cells)));
  };
  const largest = weights.reduce((most, row) => Math.max(most, ...row), 1e-30);
  const across = ends(weights[0].length, wide);
  return ends(weights.length, high).map(([top, bottom]) => across.map(([left, right]) => {
    let most = 0;
    for (let i = top; i < bottom; i++) {
      for (let j = left; j < right; j++) most = Math.max(most, weights[i][j]);
    }
    return most / largest;
  }));
}

/** The places of the chosen layer, head and token; a layer may have fewer heads than another. */
export function chosen({ layers, rows }, { layer, head, asks }) {
  const l = layers.findIndex(({ number }) => number === layer);
  const h = layers[l].heads.indexOf(head);
  return [l, h < 0 ? layers[l].heads.length - 1 : h, rows.indexOf(asks)];
}

/** One row in a sentence. */
export function tell({ tokens, keys, layers }, weights, [layer, head, asks]) {
  const where = Math.max(...weights) ? takes(weights, keys) : t("nothing");
  return t("{0}, head {1}: {2} looks at {3}.", layers[layer].name, layers[layer].heads[head],
    clip(tokens[asks], 20), where);
}

// ---- the picture -----------------------------------------------------------------

const [EDGE, GAP, HIGH] = [24, 3, 320];
const [unpacked, thumbnails, overview] = [once(unpack), once(thumbs), once(shrink)];

function thumbs(maps, side) {
  return maps.map((heads) => heads.map((weights) => shrink(weights, side)));
}

function view({ data, state, ui, width, set, hold }) {
  const { tokens, keys, rows, layers, image } = data;
  const maps = unpacked(data);
  const [layer, head, asks] = chosen(data, state);
  const weights = maps[layer][head];
  const wide = width >= 640;
  const small = overviewPlan(layers, layer, wide ? 0.4 * width : width);
  const [left, top] = wide ? [small.wide + 32, 0] : [0, small.high + 40];
  const big = largePlan(data, width - left, left, top);
  const lit = ui.at ?? [asks, ui.key ?? null];
  const pick = ([i, j]) =>
    set({ asks: rows[i] }, { key: ui.at && i === asks && j === ui.key ? null : j });
  const given = { weights, ...big, lit, pick, point: (cell) => hold({ at: cell }),
    name: t("weights"), now: pair(data, weights, lit) };
  const bottom = Math.max(small.high + 40, big.y + tokens.length * big.down + 34);
  const seen = image && looks(data, weights[asks], asks, width, bottom, pick);
  return {
    label: t("A small map of weights for each head, and one large: rows ask, columns are asked."),
    picture: [
      small.cells.map(({ x, y, of: [l, h] }) => {
        const shown = thumbnails(maps, small.side)[l][h];
        return sheet({ weights: shown, x, y, across: small.side / shown[0].length,
          down: small.side / shown.length });
      }),
      big.sheet && sheet({ ...fitted(weights, big), x: big.x, y: big.y }),
      svg(width, Math.round(bottom + (seen ? seen.high : 0)),
        grid(layers, small, [layer, head], ui.over, set, hold),
        map(given), names(data, big, lit, asks),
        text(left, big.y + tokens.length * big.down + 16, given.now, { bold: true }), seen?.parts),
      !image && keys.length <= 200 && words(data, weights[asks], asks, pick),
    ],
    sentence: tell(data, weights[asks], [layer, head, asks]),
    controls: controls(data, state, [layer, head, asks], set),
  };
}

/** The cells of a canvas for a large map that may have more of them than the screen has pixels. */
function fitted(weights, { across, down }) {
  const [wide, high] = [weights[0].length * across, weights.length * down];
  const shown = overview(weights, high, wide);
  return { weights: shown, across: wide / shown[0].length, down: high / shown.length };
}

const pair = ({ tokens, keys }, weights, [i, j]) => (j === null ? clip(tokens[i], 18)
  : t("{0} → {1}, {2}", clip(tokens[i], 18), clip(keys[j], 18), share(weights[i][j])));

/** Where the small maps stand: all layers where they are wide enough, else the chosen layer's. */
function overviewPlan(layers, layer, width) {
  const most = Math.max(...layers.map(({ heads }) => heads.length));
  const fit = Math.min(76, (width - EDGE) / most - GAP, Math.max(14, HIGH / layers.length - GAP));
  const all = fit >= 14;
  const count = layers[layer].heads.length;
  const columns = all ? most : count <= 8 ? 2 : Math.min(count, 4 * Math.ceil(width / 400));
  const side = Math.floor(all ? fit : Math.min(180, (width - EDGE) / columns - GAP));
  const step = side + GAP;
  const cells = all
    ? layers.flatMap(({ heads }, l) => heads.map((_, h) =>
      ({ x: EDGE + h * step, y: EDGE + l * step, of: [l, h] })))
    : places(count).map((h) => ({ x: EDGE + (h % columns) * step,
      y: EDGE + Math.floor(h / columns) * step, of: [layer, h] }));
  const lines = all ? layers.length : Math.ceil(count / columns);
  return { all, side, step, cells, wide: EDGE + columns * step, high: EDGE + lines * step };
}

/** Where the large map stands and whether its cells are on a canvas. */
function largePlan({ tokens, keys }, width, left, top) {
  const named = Math.min(110, 0.35 * width, 14 + Math.max(...tokens.slice(0, 300).map(room)));
  const across = Math.min(60, (width - named - 4) / keys.length);
  const down = Math.min(28, HIGH / tokens.length, 2 * across);
  const few = tokens.length * keys.length <= 300 && Math.min(across / 1.6, down) >= 20;
  return { x: left + named, y: top + EDGE, across, down, sheet: !few };
}

/** The small maps' frames and numbers; press one, or go there by arrow keys. */
function grid(layers, { all, side, step, cells, wide, high }, [layer, head], over, set, hold) {
  const under = (event) => {
    const [x, y] = place(event);
    return cells.find((each) => x >= each.x && x < each.x + step
      && y >= each.y && y < each.y + step)?.of;
  };
  const go = ([l, h]) => {
    const to = layers[Math.min(layers.length - 1, Math.max(0, l))];
    set({ layer: to.number, head: to.heads[Math.min(to.heads.length - 1, Math.max(0, h))] });
  };
  const say = ([l, h]) => t("{0}, head {1}", layers[l].name, layers[l].heads[h]);
  const handle = grip({
    name: t("layer and head"), now: say([layer, head]), drag() {},
    step: (right, up) => go([layer - up, head + right]),
  });
  const every = step < 22 ? 2 : 1;  // numbers that would touch
  return html`<g ...${handle} class="press" onClick=${(event) => under(event) && go(under(event))}
      onPointerMove=${(event) => hold({ over: under(event) })}
      onPointerLeave=${() => hold({ over: null })}>
    ${box(0, 0, wide, high, { fill: "transparent" })}
    ${cells.map(({ x, y, of: [l, h] }) => html`
      ${box(x - 1, y - 1, side + 2, side + 2,
        { class: l === layer && h === head ? "small now" : "small" })}
      ${(l === 0 || !all) && h % every === 0 && text(x + side / 2, all ? 10 : y + 8,
        layers[l].heads[h], { ...MIDDLE, class: "over" })}
      ${all && h === 0 && l % every === 0
        && text(EDGE - 8, y + side / 2, layers[l].number, END)}`)}
    ${text(0, high + 12, say(over ?? [layer, head]))}</g>`;
}

/** Names of rows and columns where they fit, else of what is lit; the pair below. */
function names(data, { x, y, across, down }, [row, column], asks) {
  const { tokens, keys } = data;
  const most = Math.max(...keys.slice(0, 300).map(room));
  const left = (i) => text(x - 8, y + (i + 0.5) * down, clip(tokens[i], 11),
    { ...END, bold: i === asks });
  const above = (j) => text(x + (j + 0.5) * across, y - 12, clip(keys[j], 12), MIDDLE);
  return html`${down >= 14 ? places(tokens.length).map(left) : left(row)}
    ${most + 4 <= across ? places(keys.length).map(above) : column !== null && above(column)}`;
}

/** The keys as a text, darker the more of the asking row's largest weight they take. */
const words = ({ tokens, keys }, row, asks, pick) => {
  const [largest, own] = [Math.max(...row, 1e-30), tokens.length === keys.length];
  return html`<p class="words">${keys.map((key, j) => html`<span
    class=${own && j === asks ? "asks" : ""} style="--part: ${Math.round(45 * row[j] / largest)}%"
    onClick=${() => pick([own ? j : asks, null])}>${clip(key, 40)}</span>`)}</p>`;
};

/** The image under a veil, thin over the patches that the asking row looks at. */
function looks({ tokens, image }, row, asks, width, top, pick) {
  const { rows, columns, source } = image;
  const cell = Math.min(280 / rows, (width - 4) / columns);
  const [first, largest] = [tokens.length - rows * columns, Math.max(...row, 1e-30)];
  const corner = (patch) =>
    [2 + (patch % columns) * cell, top + Math.floor(patch / columns) * cell];
  return { high: rows * cell + 8, parts: html`<image href=${source} x="2" y=${top}
      width=${near(columns * cell)} height=${near(rows * cell)} preserveAspectRatio="none" />
    ${places(rows * columns).map((patch) => box(...corner(patch), cell, cell, { class: "veil",
      ...shade(1 - row[first + patch] / largest), onClick: () => pick([first + patch, null]) }))}
    ${asks >= first && box(...corner(asks - first), cell, cell, { class: "now" })}` };
}

function controls({ tokens, rows, layers }, state, [layer, head, asks], set) {
  const numbered = rows[0] > 0 || new Set(tokens).size < tokens.length;
  const name = (token, i) => (numbered ? `${rows[i]}: ${clip(token, 30)}` : token);
  return [
    layers.length > 1 && choice(t("layer"), layers.map((each) => [each.number, each.name]),
      state.layer, (number) => set({ layer: number })),
    layers[layer].heads.length > 1 && choice(t("head"), layers[layer].heads.map((each) =>
      [each, String(each)]), layers[layer].heads[head], (number) => set({ head: number })),
    tokens.length <= 64
      ? choice(t("asking token"), tokens.map((token, i) => [rows[i], name(token, i)]), rows[asks],
        (number) => set({ asks: number }))
      : range({ name: t("asking token"), max: tokens.length - 1, value: asks,
        text: clip(name(tokens[asks], asks), 20), pick: (i) => set({ asks: rows[i] }) }),
  ];
}

const style = `
  .small { fill: none; stroke: var(--faint); }
  .now { fill: none; stroke: var(--key); stroke-width: 2.5; }
  .over { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
  .veil { fill: var(--paper); cursor: pointer; }
  .words { display: flex; flex-wrap: wrap; gap: 3px; margin: 8px 0; }
  .words span { padding: 1px 5px; border-radius: 3px; cursor: pointer;
    background: color-mix(in srgb, var(--query) var(--part), transparent); }
  .words .asks { outline: 2px solid var(--key); }
`;

export const piece = { view, style };
