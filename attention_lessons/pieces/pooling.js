// Attention pooling: drag the query among the keys; the output stays in the hull of the values.
import { html } from "./vendor/preact.js";
import {
  MIDDLE, apart, arrow, box, button, digits, disc, dot, grip, hull, inside, line, list, near,
  panels, places, points, range, shifted, softmax, t, text, tick, transpose,
} from "./kit.js";

// ---- mathematics ----------------------------------------------------------------

/** softmax(q kᵀ / scale) v over the keys that the query may attend to, zeros where there are none
 * (Vaswani et al. 2017, section 3.2.1). */
export function pool({ keys, values }, query, scale, sees) {
  const scores = keys.map((key) => dot(query, key) / scale);
  const visible = scores.map((score, i) => (sees[i] ? score : -Infinity));
  const weights = sees.includes(true) ? softmax(visible) : sees.map(() => 0);
  const output = transpose(values).map((column) => dot(weights, column));
  return { scores, weights, output };
}

/** The query moved to a point of the plane of two axes, to two decimals and within the limit. */
export const moved = (query, axes, point, limit) => query.map((each, j) => {
  const by = axes.reduce((sum, axis, i) => sum + (point[i] - dot(query, axis)) * axis[j], 0);
  return Math.round(inside(each + by, -limit, limit) * 100) / 100 || 0;
});

/** The output in a sentence. */
export function tell({ weights, output }, sees) {
  if (!sees.includes(true)) {
    return t("Every key is hidden: there is nothing to mix, and the output is zero.");
  }
  const words = weights.map((weight, i) => [weight, i + 1])
    .filter(([weight]) => weight >= 0.005)
    .sort((a, b) => b[0] - a[0])
    .slice(0, 6)
    .map(([weight, number]) => t("key {0} gets {1}", number, digits(weight)));
  return t("Of the weight, {0}. Output: {1}.", list(words), output.map(digits).join(", "));
}

const short = (numbers) => numbers.map((each) => String(Math.round(each * 100) / 100)).join(", ");

// ---- the picture -----------------------------------------------------------------

function view({ data, state, ui, width, set }) {
  const { keys, values, presets } = data;
  const query = keys[0].map((_, i) => state[`q${i + 1}`]);
  const sees = keys.map((_, i) => state[`key${i + 1}`]);
  const now = pool(data, query, state.scale, sees);
  const wide = width >= 640;
  const side = wide ? Math.min(300, (width - 48) / 3) : width;
  const tall = wide ? Math.max(side, 44 * keys.length) : 230;
  const row = wide ? tall / keys.length : 44;
  const middle = wide ? width - 2 * side - 48 : width;
  const part = { ...data, ...now, query, scale: state.scale, sees, side, tall, set, ui };
  return {
    label: t("A query's arrow among {0} keys, their weights, and the output in the hull of the " +
      "values.", keys.length),
    picture: panels(width, [
      { title: t("keys and query in a plane"), width: side, height: tall + 24,
        parts: asking(part) },
      { title: t("scores q · k / scale, weights"), width: middle, height: row * keys.length,
        parts: sharing(part, middle, row) },
      { title: t("values and output"), width: side, height: tall + 24, parts: mixing(part) },
    ]),
    sentence: tell(now, sees),
    controls: html`<span class="control">${range({
      name: t("scale"), min: 0, max: 2, step: 0.01, value: Math.log10(state.scale),
      text: String(Math.round(state.scale * 100) / 100),
      pick: (power) => set({ scale: Math.round(10 ** power * 10) / 10 }),
    })}${presets.map(([number, words]) => button(t("scale {0}", words),
      () => set({ scale: number }), Math.abs(number - state.scale) < 0.01, words))}</span>`,
  };
}

/** The keys' arrows in their plane, thicker the more weight they take, and the query's to drag. */
function asking({ keys, axes, limit, query, scale, sees, weights, side, tall, set, ui }) {
  const flat = (vector) => [0, 1].map((i) => (axes[i] ? dot(axes[i], vector) : 0));
  const at = flat(query);
  const reach = Math.max(limit / 3, ...keys.map((key) => 1.25 * Math.hypot(...flat(key))));
  const within = (point) => point.map((each) => each / Math.max(1, Math.hypot(...point) / reach));
  const unit = (Math.min(side, tall) / 2 - 24) / reach;
  const middle = [side / 2, tall / 2];
  const screen = ([right, up]) => [middle[0] + unit * right, middle[1] - unit * up];
  const tips = keys.map((key) => screen(flat(key)));
  const marks = apart(tips, 26, middle[0]);
  const tip = screen(within(at));
  const go = (point) => {
    const next = moved(query, axes, within(point), limit);
    set(Object.fromEntries(next.map((each, i) => [`q${i + 1}`, each])));
  };
  const zoom = (factor) => set({ scale: inside(Math.round(scale * factor * 10) / 10, 1, 100) });
  const handle = grip({
    name: t("query"), now: short(query),
    drag: (x, y) => go([(x - middle[0]) / unit, (middle[1] - y) / unit]),
    step: (right, up) => go([at[0] + right * limit / 60, at[1] + up * limit / 60]),
    keys: { "+": () => zoom(1 / 1.25), "-": () => zoom(1.25) },
  });
  return html`
    ${box(0, 0, side, tall, { rx: 8, class: "paper", onWheel(event) {
      if (!event.ctrlKey) return;  // a pinch; without it the page scrolls
      event.preventDefault();
      zoom(Math.exp(event.deltaY / 100));
    } })}
    ${keys.map((_, i) => html`<g class=${sees[i] ? "" : "hidden"}>
      ${arrow(middle, tips[i], "key", 2 + 6 * weights[i])}</g>`)}
    ${arrow(middle, tip, "query", 4)}
    ${keys.map((_, i) => html`<g class=${sees[i] ? "press" : "press hidden"}
        onClick=${() => set({ [`key${i + 1}`]: !sees[i] })}>
      ${disc(marks[i], 12, { class: "key" })}${text(...marks[i], i + 1, MIDDLE)}</g>`)}
    <g ...${handle}>
      ${disc(tip, 22, { class: "halo" })}${disc(tip, 10, { fill: "var(--query)" })}</g>
    ${!ui.used && text(tip[0], tip[1] - 26, t("drag me"), { ...MIDDLE, colour: "query" })}
    ${text(0, tall + 14, t("query {0}", short(query)), { colour: "query" })}`;
}

/** A row a key, to be ticked: its score, its weight as a bar, its value. */
function sharing({ keys, values, sees, scores, weights, set }, width, row) {
  const left = 84;
  return keys.map((_, i) => {
    const across = (width - left - 44) * weights[i];
    return shifted(0, row * i, html`
      ${box(0, 0, width, row, { rx: 6, class: "halo" })}
      ${box(4, 6, 15, 15, { rx: 3, class: "box" })}
      ${sees[i] && html`<path d="M7 13l4 4l6-8" class="mark" />`}
      ${text(26, 13, t("key {0}", i + 1), { colour: "key", bold: true })}
      ${box(left, 6, across, 15, { rx: 2, fill: "var(--query)", class: "bar flows" })}
      ${text(left + 6 + across, 13, digits(weights[i]))}
      ${text(26, 32, sees[i]
        ? t("score {0}, value {1}", digits(scores[i]), short(values[i])) : t("hidden"))}`,
    tick(t("key {0}", i + 1), sees[i], (on) => set({ [`key${i + 1}`]: on })));
  });
}

/** The first two numbers of the values that differ, their hull, and ribbons to the output. */
function mixing({ values, weights, output, side, tall }) {
  const ranges = transpose(values).map((column) => [Math.min(...column), Math.max(...column)]);
  const [across, up] = places(ranges.length).filter((j) => ranges[j][0] < ranges[j][1]);
  const part = (numbers, j) =>
    (j === undefined ? 0.5 : (numbers[j] - ranges[j][0]) / (ranges[j][1] - ranges[j][0]));
  const pad = 34;
  const screen = (numbers) => [pad + (side - 2 * pad) * part(numbers, across),
    tall - pad - (tall - 2 * pad) * part(numbers, up)];
  const spots = values.map(screen);
  const marks = apart(spots, 12, side / 2);
  const [x, y] = screen(output);
  const any = weights.some(Boolean);
  return html`
    ${box(0, 0, side, tall, { rx: 8, class: "paper" })}
    <polygon points=${points(hull(spots))} class="hull" />
    ${any && weights.map((weight, i) => line(spots[i], [x, y],
      { "stroke-width": near(26 * weight), class: "ribbon flows" }))}
    ${spots.map((spot, i) => html`${disc(spot, 6, { class: "value" })}
      ${text(marks[i][0], marks[i][1] - 16, i + 1, MIDDLE)}`)}
    ${any && disc([x, y], 9, { class: "output" })}
    ${text(0, tall + 14, t("output {0}", output.map(digits).join(", ")),
      { colour: "output", bold: true })}`;
}

const style = `
  .key { fill: color-mix(in srgb, var(--key) 25%, var(--paper)); stroke: var(--key); }
  .value { fill: color-mix(in srgb, var(--value) 25%, var(--paper)); stroke: var(--value); }
  :is(.key, .value) { stroke-width: 2; }
  .hidden { opacity: .3; }
  .hull {
    fill: color-mix(in srgb, var(--value) 14%, transparent); stroke: var(--value);
    stroke-dasharray: 3 4;
  }
  .ribbon { stroke: var(--value); stroke-linecap: round; opacity: .55; }
  .output { fill: var(--output); stroke: var(--paper); stroke-width: 2; }
  .box { fill: none; stroke: currentColor; stroke-width: 1.5; }
  .mark { fill: none; stroke: currentColor; stroke-width: 2.5; }
`;

export const piece = { view, style };
