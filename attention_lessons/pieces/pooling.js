// Attention pooling: drag the query among the keys; the output stays in the hull of the values.
import { h } from "./vendor/preact.js";
import {
  MIDDLE, apart, arrow, box, button, digits, disc, dot, grip, hull, inside, line, list, near,
  panels, points, range, ranked, shifted, softmax, t, text, tick, transpose,
} from "./kit.js";

// ---- mathematics ----

/** softmax(q kᵀ / scale) v over the keys that the query may attend to, zeros where there are none
 * (Vaswani et al. 2017, section 3.2.1). */
function pool({ keys, values }, { query, scale, sees }) {
  const scores = keys.map((key) => dot(query, key) / scale);
  const weights = sees.includes(true)
    ? softmax(scores.map((score, i) => (sees[i] ? score : -Infinity))) : sees.map(() => 0);
  return { scores, weights, output: transpose(values).map((column) => dot(weights, column)) };
}

/** The query moved to a point of the plane of two axes, to two decimals and within the limit. */
export const moved = (query, axes, point, limit) => query.map((each, j) => {
  const by = axes.reduce((sum, axis, i) => sum + (point[i] - dot(query, axis)) * axis[j], 0);
  return Math.round(inside(each + by, -limit, limit) * 100) / 100 || 0;
});

/** The output in a sentence. */
function tell({ weights, output }) {
  const words = ranked(weights, 0.005).slice(0, 6)
    .map((i) => t("key {0} gets {1}", i + 1, digits(weights[i])));
  return words.length
    ? t("Of the weight, {0}. Output: {1}.", list(words), output.map(digits).join(", "))
    : t("Every key is hidden: there is nothing to mix, and the output is zero.");
}

const short = (numbers) => numbers.map((each) => Math.round(each * 100) / 100).join(", ");

// ---- the picture ----

function view({ data, state, ui, width, set }) {
  const { keys, presets } = data;
  const now = pool(data, state);
  const wide = width >= 640;
  const side = wide ? (width - 48) / 3 : width;
  const tall = wide ? Math.max(side, 44 * keys.length) : 230;
  const row = wide ? tall / keys.length : 44;
  const hide = (i) => set({ sees: state.sees.map((seen, j) => seen !== (i === j)) });
  const part = { ...data, ...now, ...state, side, tall, set, ui, hide };
  return {
    label: t("A query's arrow among {0} keys, their weights, and the output in the hull of the " +
      "values.", keys.length),
    picture: panels(width, [
      [t("keys and query in a plane"), tall + 24, asking(part)],
      [t("softmax(q · k / scale)"), row * keys.length, sharing(part, row)],
      [t("values and output"), tall, mixing(part)],
    ].map(([title, height, parts]) => ({ title, width: side, height, parts }))),
    sentence: tell(now),
    controls: h("span", { class: "control" }, range({
      name: t("scale"), max: 2, step: 0.01, value: Math.log10(state.scale),
      text: short([state.scale]),
      pick: (power) => set({ scale: Math.round(10 ** power * 10) / 10 }),
    }), presets.map(([number, words]) => button(t("scale {0}", words),
      () => set({ scale: number }), Math.abs(number - state.scale) < 0.01, words))),
  };
}

/** The keys' arrows in their plane, thicker the more weight they take, and the query's to drag. */
function asking({ keys, axes, limit, query, scale, sees, weights, side, tall, set, ui, hide }) {
  const flat = (vector) => axes.map((axis) => dot(axis, vector));
  const at = flat(query);
  const reach = Math.max(limit / 3, ...keys.map((key) => 1.25 * Math.hypot(...flat(key))));
  const within = (point) => point.map((each) => each / Math.max(1, Math.hypot(...point) / reach));
  const unit = (Math.min(side, tall) / 2 - 24) / reach;
  const middle = [side / 2, tall / 2];
  const screen = ([right, up]) => [middle[0] + unit * right, middle[1] - unit * up];
  const tips = keys.map((key) => screen(flat(key)));
  const tip = screen(within(at));
  const go = (point) => set({ query: moved(query, axes, within(point), limit) });
  const zoom = (factor) => set({ scale: inside(Math.round(scale * factor * 10) / 10, 1, 100) });
  const handle = grip({
    name: t("query"), now: short(query),
    drag: (x, y) => go([(x - middle[0]) / unit, (middle[1] - y) / unit]),
    step: (right, up) => go([at[0] + right * limit / 60, at[1] + up * limit / 60]),
    keys: { "+": () => zoom(1 / 1.25), "-": () => zoom(1.25) },
  });
  const onWheel = (event) => {
    if (!event.ctrlKey) return;  // without a pinch the page scrolls
    event.preventDefault();
    zoom(Math.exp(event.deltaY / 100));
  };
  const seen = (i) => ({ opacity: sees[i] ? 1 : 0.3 });
  return [
    box(0, 0, side, tall, { rx: 8, class: "paper", onWheel }),
    tips.map((end, i) => h("g", seen(i), arrow(middle, end, "key", 2 + 6 * weights[i]))),
    arrow(middle, tip, "query", 4),
    apart(tips, 26, middle[0]).map((mark, i) =>
      h("g", { ...seen(i), class: "press", onClick: () => hide(i) },
        disc(mark, 12, { class: "key tint" }), text(...mark, i + 1, MIDDLE))),
    h("g", handle, disc(tip, 22, { class: "halo" }), disc(tip, 10, { fill: "var(--query)" })),
    !ui.used && text(tip[0], tip[1] - 26, t("drag me"), { ...MIDDLE, colour: "query" }),
    text(0, tall + 14, t("query {0}", short(query)), { colour: "query" })];
}

/** A row a key, to be ticked: its score, its weight as a bar, its value. */
function sharing({ values, sees, scores, weights, side, hide }, row) {
  const left = 84;
  return weights.map((weight, i) => {
    const across = (side - left - 44) * weight;
    const name = t("key {0}", i + 1);
    return shifted(0, row * i, [
      box(0, 0, side, row, { rx: 6, class: "halo" }),
      h("path", { d: `M4 6h15v15h-15z${sees[i] ? "m3 7l4 4l6-8" : ""}`, class: "ink" }),
      text(26, 13, name, { colour: "key", bold: true }),
      box(left, 6, across, 15, { rx: 2, fill: "var(--query)", class: "bar flows" }),
      text(left + 6 + across, 13, digits(weight)),
      text(26, 32, sees[i]
        ? t("score {0}, value {1}", digits(scores[i]), short(values[i])) : t("hidden"))],
    tick(name, sees[i], () => hide(i)));
  });
}

/** The first two numbers of the values that differ, their hull, and ribbons to the output. */
function mixing({ values, weights, output, side, tall }) {
  const pad = 34;
  const [across = () => 0.5, up = () => 0.5] = transpose(values)
    .map((column, j) => [j, Math.min(...column), Math.max(...column)])
    .filter(([, least, most]) => least < most)
    .map(([j, least, most]) => (numbers) => (numbers[j] - least) / (most - least));
  const screen = (numbers) => [pad + (side - 2 * pad) * across(numbers),
    tall - pad - (tall - 2 * pad) * up(numbers)];
  const spots = values.map(screen);
  const end = screen(output);
  const any = weights.some(Boolean);
  return [
    box(0, 0, side, tall, { rx: 8, class: "paper" }),
    h("polygon", { points: points(hull(spots)), class: "hull value tint" }),
    any && weights.map((weight, i) => line(spots[i], end,
      { "stroke-width": near(26 * weight), class: "ribbon flows" })),
    spots.map((spot) => disc(spot, 6, { class: "value tint" })),
    apart(spots, 12, side / 2).map(([x, y], i) => text(x, y - 16, i + 1, MIDDLE)),
    any && disc(end, 9, { fill: "var(--output)", class: "made over" })];
}

const style = `
  circle.tint { stroke-width: 2; }
  .hull { fill-opacity: .6; stroke-dasharray: 3 4; }
  .ribbon { stroke: var(--value); stroke-linecap: round; opacity: .55; }
  .ink { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
`;

export const piece = { view, style };
