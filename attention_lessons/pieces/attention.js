// Where every head of a model looks: a grid of small maps, one large map, one row in words.
import {
  END, MIDDLE, box, bytesOf, choice, clip, grip, inside, map, once, panels, place, places, pointing,
  room, share, t, takes, text,
} from "./kit.js";

// ---- mathematics ----------------------------------------------------------------

/** Each layer's heads, each a map of rows. A weight is a byte, in 255ths of its row's largest. */
export function unpack({ tokens, keys, layers, maps, tops }) {
  const [bytes, largest] = [bytesOf(maps), new Float32Array(bytesOf(tops).buffer)];
  let row = 0;
  const next = () => {
    const start = row * keys.length;
    const top = largest[row++];
    return Array.from(bytes.subarray(start, start + keys.length), (byte) => byte / 255 * top);
  };
  return layers.map(([, heads]) => places(heads).map(() => tokens.map(next)));
}

/** A map of at most `high` by `wide` cells, each the largest of those that it stands for, in parts
 * of the map's largest. */
export function shrink(weights, high, wide = high) {
  const ends = (count, most) => {
    const cells = inside(Math.floor(most), 1, count);
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

// ---- the picture -----------------------------------------------------------------

const [EDGE, GAP, HIGH] = [24, 3, 320];
const [unpacked, overview] = [once(unpack), once(shrink)];
const thumbnails = once((maps, side) =>
  maps.map((heads) => heads.map((weights) => shrink(weights, side))));

/** A map on a canvas of so many pixels, which may be fewer than its cells. */
const canvas = (weights, x, y, wide, high) =>
  ({ weights, x, y, across: wide / weights[0].length, down: high / weights.length });

function view(seen) {
  const { data, state, ui, width, set, hold } = seen;
  const { tokens, keys, layers } = data;
  const [{ layer, asks }, head] = [state, Math.min(state.head, layers[state.layer][1] - 1)];
  const maps = unpacked(data);
  const weights = maps[layer][head];
  const small = overviewPlan(layers, layer, width >= 640 ? 0.4 * width : width);
  const big = largePlan(data, width >= 640 ? width - small.width - 32 : width);
  const [across, down] = [keys.length * big.across, tokens.length * big.down];
  const given = { weights, ...big, ...pointing({ ui, set, hold }, asks), name: t("weights") };
  const [i, j] = given.lit;
  given.now = j === null ? t("{0} asks", clip(tokens[i], 18))
    : t("{0} → {1}, {2}", clip(tokens[i], 18), clip(keys[j], 18), share(weights[i][j]));
  const where = Math.max(...weights[asks]) ? takes(weights[asks], keys) : t("nothing");
  return {
    label: t("A small map of weights for each head, and one large: rows ask, columns are asked."),
    picture: [
      panels(width, [
        { title: small.all ? t("layers down, heads across") : t("heads of {0}", layers[layer][0]),
          width: small.width, height: small.high + 24, parts: grid(seen, small, head),
          sheets: small.cells.map(({ x, y, of: [l, h] }) =>
            canvas(thumbnails(maps, small.side)[l][h], x, y, small.side, small.side)) },
        { title: clip(t("{0}, head {1}", layers[layer][0], head), 40), width: big.x + across,
          height: EDGE + down + 24,
          parts: [map(given), names(data, big, given.lit, asks),
            text(0, EDGE + down + 16, given.now, { bold: true })],
          sheets: big.sheet ? [canvas(overview(weights, down, across), big.x, big.y, across, down)]
            : [] },
      ], 32),
      keys.length <= 200 && words(data, weights[asks], asks, given.pick),
    ],
    sentence: t("{0}, head {1}: {2} looks at {3}.", layers[layer][0], head,
      clip(tokens[asks], 20), where),
    controls: controls(seen, head),
  };
}

/** Where the small maps stand: all layers where they are wide enough, else the chosen layer's. */
function overviewPlan(layers, layer, width) {
  const most = Math.max(...layers.map(([, heads]) => heads));
  const fit = Math.min(76, (width - EDGE) / most - GAP, Math.max(14, HIGH / layers.length - GAP));
  const all = fit >= 14;
  const count = layers[layer][1];
  const columns = all ? most : count <= 8 ? 2 : Math.min(count, 4 * Math.ceil(width / 400));
  const side = Math.floor(all ? fit : Math.min(180, (width - EDGE) / columns - GAP));
  const step = side + GAP;
  const at = (column, row, of) => ({ x: EDGE + column * step, y: EDGE + row * step, of });
  const cells = all
    ? layers.flatMap(([, heads], l) => places(heads).map((h) => at(h, l, [l, h])))
    : places(count).map((h) => at(h % columns, Math.floor(h / columns), [layer, h]));
  const lines = all ? layers.length : Math.ceil(count / columns);
  return { all, side, step, cells, width: EDGE + columns * step, high: EDGE + lines * step };
}

/** Where the large map stands in its panel and whether its cells are on a canvas. */
function largePlan({ tokens, keys }, width) {
  const x = Math.min(110, 0.35 * width, 14 + Math.max(...tokens.slice(0, 300).map(room)));
  const across = Math.min(60, (width - x - 4) / keys.length);
  const down = Math.min(28, HIGH / tokens.length, 2 * across);
  const few = tokens.length * keys.length <= 300 && Math.min(across / 1.6, down) >= 20;
  return { x, y: EDGE, across, down, sheet: !few };
}

/** The small maps' frames and numbers; press one, or go there by arrow keys. */
function grid({ data: { layers }, state: { layer }, ui, set, hold }, plan, head) {
  const { all, side, step, cells, width, high } = plan;
  const under = (event) => {
    const [x, y] = place(event);
    return cells.find((each) => x >= each.x && x < each.x + step
      && y >= each.y && y < each.y + step)?.of;
  };
  const go = ([l, h]) => {
    const to = inside(l, 0, layers.length - 1);
    set({ layer: to, head: inside(h, 0, layers[to][1] - 1) });
  };
  const say = ([l, h]) => t("{0}, head {1}", layers[l][0], h);
  const handle = grip({
    name: t("layer and head"), now: say([layer, head]), drag() {},
    step: (right, up) => go([layer - up, head + right]),
  });
  const every = step < 22 ? 2 : 1;  // numbers that would touch
  return html`<g ...${handle} class="press" onClick=${(event) => under(event) && go(under(event))}
      onPointerMove=${(event) => hold({ over: under(event) })}
      onPointerLeave=${() => hold({ over: null })}>
    ${box(0, 0, width, high, { fill: "transparent" })}
    ${cells.map(({ x, y, of: [l, h] }) => html`
      ${box(x - 1, y - 1, side + 2, side + 2,
        { class: l === layer && h === head ? "small now" : "small" })}
      ${(l === 0 || !all) && h % every === 0 && text(x + side / 2, all ? 10 : y + 8, h,
        { ...MIDDLE, class: "over" })}
      ${all && h === 0 && l % every === 0 && text(EDGE - 8, y + side / 2, l, END)}`)}
    ${ui.over && text(0, high + 12, say(ui.over))}</g>`;
}

/** Names of rows and columns where they fit, else of what is lit. */
function names({ tokens, keys }, { x, y, across, down }, [row, column], asks) {
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

function controls(seen, head) {
  const { data: { tokens, layers }, state, set } = seen;
  const numbered = new Set(tokens).size < tokens.length;
  const name = (i) => (numbered ? `${i}: ${clip(tokens[i], 30)}` : tokens[i]);
  return [
    layers.length > 1 && choice(seen, "layer", t("layer"), layers.map(([name], i) => [i, name])),
    layers[state.layer][1] > 1 && choice({ state: { head }, set }, "head", t("head"),
      places(layers[state.layer][1])),
    choice(seen, "asks", t("asking token"), tokens.map((_, i) => [i, name(i)])),
  ];
}

const style = `
  .small { fill: none; stroke: var(--faint); }
  .now { fill: none; stroke: var(--key); stroke-width: 2.5; }
  .words { display: flex; flex-wrap: wrap; gap: 3px; margin: 8px 0; }
  .words span { padding: 1px 5px; border-radius: 3px; cursor: pointer;
    background: color-mix(in srgb, var(--query) var(--part), transparent); }
  .words .asks { outline: 2px solid var(--key); }
`;

export const piece = { view, style };
