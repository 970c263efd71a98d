// Attention pooling: drag the query among the keys; the output stays in the hull of the values.
import { html } from "./vendor/preact.js";
import {
  MIDDLE, arrow, box, button, digits, disc, dot, grip, hull, line, list, near, places, points,
  range, shifted, softmax, spread, svg, t, text, tick, transpose,
} from "./kit.js";

// ---- mathematics ----------------------------------------------------------------

/** softmax(q kᵀ / scale) v over the keys that the query may attend to, zeros where there are none
 * (Vaswani et al. 2017, section 3.2.1). `sees` is 1 or 0 a key, in between on the way. */
export function pool({ keys, values }, query, scale, sees) {
  const scores = keys.map((key) => dot(query, key) / scale);
  const visible = scores.map((score, i) => score + Math.log(sees[i]));
  const weights = sees.some(Boolean) ? softmax(visible) : sees.map(() => 0);
  const output = transpose(values).map((column) => dot(weights, column));
  return { scores, weights, output };
}

/** Two directions in which the keys differ, at right angles and of length 1. A query's part across
 * them adds the same to the scores of up to three keys, which a softmax doesn't see. */
export function plane(keys) {
  const units = keys[0].map((_, i) => keys[0].map((_, j) => Number(i === j)));
  const apart = keys.slice(1).map((key) => key.map((each, i) => each - keys[0][i]));
  const found = [];
  for (const given of keys[0].length < 3 ? units : [...apart, ...units]) {
    const rest = found.reduce((left, one) => {
      const along = dot(left, one);
      return left.map((each, i) => each - along * one[i]);
    }, given);
    const length = Math.hypot(...rest);
    if (found.length < 2 && length > 1e-6 * Math.hypot(...given)) {
      found.push(rest.map((each) => each / length));
    }
  }
  return found;
}

/** The query moved to a point of the plane, its numbers within the limit: what is cut off there is
 * made up for across the plane, as far as that goes. */
export function moved(query, axes, point, limit) {
  let now = query;
  for (let round = 0; round < 40; round++) {
    const lacks = axes.map((axis, i) => point[i] - dot(now, axis));
    now = now.map((each, j) => each + axes.reduce((sum, axis, i) => sum + lacks[i] * axis[j], 0))
      .map((each) => Math.min(limit, Math.max(-limit, each)));
  }
  return now.map((each) => Math.round(each * 100) / 100 || 0);
}

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

const TOP = 26;  // of the panels, below their titles

function view({ data, state, drawn, ui, width, set }) {
  const { keys, values, limit, presets } = data;
  const names = keys[0].map((_, i) => `q${i + 1}`);
  const query = (of) => names.map((name) => of[name]);
  const sees = (of) => keys.map((_, i) => of[`key${i + 1}`]);
  const all = pool(data, query(state), state.scale, sees(state));
  const now = pool(data, query(drawn), drawn.scale, sees(drawn).map(Number));
  const wide = width >= 640;
  const side = wide ? Math.min(300, (width - 32) / 3) : width;
  const tall = wide ? Math.max(side, 44 * keys.length) : 230;
  const row = wide ? tall / keys.length : 44;
  const middle = wide ? width - 2 * side - 32 : width;
  const low = TOP + tall + 34;  // where the next panel begins on a phone
  const [rowsAt, hullAt] = wide ? [[side + 16, 0], [side + middle + 32, 0]]
    : [[0, low], [0, low + TOP + row * keys.length + 8]];
  const height = wide ? low : hullAt[1] + low;
  return {
    label: t("A query's arrow among {0} keys, their weights, and the output in the hull of the " +
      "values.", keys.length),
    picture: svg(width, Math.round(height),
      asking({ ...data, query: query(state), scale: state.scale, sees: sees(drawn),
        weights: now.weights, side, tall, set, ui }),
      shifted(...rowsAt, sharing(data, sees(state), now, all, middle, row, set)),
      shifted(...hullAt, mixing(values, now, all.output, side, tall))),
    sentence: tell(all, sees(state)),
    controls: html`<span class="control">${range({
      name: t("scale"), min: 0, max: 2, step: 0.01, value: Math.log10(state.scale),
      text: String(Math.round(state.scale * 100) / 100),
      pick: (power) => set({ scale: Math.round(10 ** power * 10) / 10 }),
    })}${presets.map(([number, words]) => button(t("scale {0}", words),
      () => set({ scale: number }), Math.abs(number - state.scale) < 0.01, words))}</span>`,
  };
}

/** The keys' arrows in their plane, thicker the more weight they take, and the query's to drag. */
function asking({ keys, limit, query, scale, sees, weights, side, tall, set, ui }) {
  const axes = plane(keys);
  const flat = (vector) => [0, 1].map((i) => (axes[i] ? dot(axes[i], vector) : 0));
  const place = flat(query);
  const reach = Math.max(limit, ...keys.map((key) => 1.25 * Math.hypot(...flat(key))));
  const inside = (point) => point.map((each) => each / Math.max(1, Math.hypot(...point) / reach));
  const unit = (Math.min(side, tall) / 2 - 24) / reach;
  const middle = [side / 2, TOP + tall / 2];
  const screen = ([right, up]) => [middle[0] + unit * right, middle[1] - unit * up];
  const tips = keys.map((key) => screen(flat(key)));
  const marks = spread(tips, 26);
  const tip = screen(inside(place));
  const go = (point) => {
    const next = moved(query, axes, inside(point), limit);
    set(Object.fromEntries(next.map((each, i) => [`q${i + 1}`, each])));
  };
  const zoom = (factor) => {
    set({ scale: Math.min(100, Math.max(1, Math.round(scale * factor * 10) / 10)) });
  };
  const handle = grip({
    name: t("query"), now: short(query), drag: (x, y) =>
      go([(x - middle[0]) / unit, (middle[1] - y) / unit]),
    step: (right, up) => go([place[0] + right * limit / 20, place[1] + up * limit / 20]),
    keys: { "+": () => zoom(1 / 1.25), "-": () => zoom(1.25) },
  });
  return html`
    ${text(0, 8, t("keys and query"), { bold: true })}
    ${box(0, TOP, side, tall, { rx: 8, class: "paper", onWheel(event) {
      if (!event.ctrlKey) return;  // a pinch; without it the page scrolls
      event.preventDefault();
      zoom(Math.exp(event.deltaY / 100));
    } })}
    ${keys.map((_, i) => html`<g opacity=${near(0.25 + 0.75 * sees[i])}>
      ${arrow(middle, tips[i], "key", 2 + 6 * weights[i])}</g>`)}
    ${arrow(middle, tip, "query", 4)}
    ${keys.map((_, i) => html`<g class="press" onClick=${() => set({ [`key${i + 1}`]: !sees[i] })}
        opacity=${near(0.35 + 0.65 * sees[i])}>
      ${disc(marks[i], 12, { class: "key" })}${text(...marks[i], i + 1, MIDDLE)}</g>`)}
    <g ...${handle}>
      ${disc(tip, 22, { class: "halo" })}${disc(tip, 10, { fill: "var(--query)" })}</g>
    ${!ui.used && text(tip[0], tip[1] - 26, t("drag me"), { ...MIDDLE, colour: "query" })}
    ${text(0, TOP + tall + 14, t("query {0}", short(query)), { colour: "query" })}`;
}

/** A row a key, to be ticked: its score, its weight as a bar, its value. */
function sharing({ keys, values }, sees, now, { scores, weights }, width, row, set) {
  const left = 84;
  return html`
    ${text(0, 8, t("weights"), { bold: true })}
    ${keys.map((_, i) => shifted(0, TOP + row * i, html`
      ${box(0, 0, width, row, { rx: 6, class: "halo" })}
      ${box(4, 6, 15, 15, { rx: 3, class: "box" })}
      ${sees[i] && html`<path d="M7 13l4 4l6-8" class="mark" />`}
      ${text(26, 13, t("key {0}", i + 1), { colour: "key", bold: true })}
      ${box(left, 6, (width - left - 44) * now.weights[i], 15,
        { rx: 2, fill: "var(--query)", class: "bar" })}
      ${text(left + 6 + (width - left - 44) * now.weights[i], 13, digits(weights[i]))}
      ${text(26, 32, sees[i]
        ? t("score {0}, value {1}", digits(scores[i]), short(values[i])) : t("hidden"))}`,
    tick(t("key {0}", i + 1), sees[i], (on) => set({ [`key${i + 1}`]: on }))))}`;
}

/** The first two numbers of the values that differ, their hull, and ribbons to the output. */
function mixing(values, { weights, output }, told, side, tall) {
  const columns = transpose(values);
  const differ = places(columns.length).filter((j) =>
    Math.max(...columns[j]) > Math.min(...columns[j]));
  const [across, up] = [differ[0] ?? 0, differ[1]];
  const pad = 34;
  const ease = (j, numbers, from, length) => {
    if (j === undefined) return from + length / 2;
    const [low, high] = [Math.min(...columns[j]), Math.max(...columns[j])];
    return from + (high > low ? (numbers[j] - low) / (high - low) : 0.5) * length;
  };
  const screen = (numbers) => [ease(across, numbers, pad, side - 2 * pad),
    2 * TOP + tall - ease(up, numbers, TOP + pad, tall - 2 * pad)];
  const spots = values.map(screen);
  const marks = spread(spots, 26);
  const any = weights.some((weight) => weight > 0);
  const end = screen(output);
  return html`
    ${text(0, 8, t("values and output"), { bold: true })}
    ${box(0, TOP, side, tall, { rx: 8, class: "paper" })}
    <polygon points=${points(hull(spots))} class="hull" />
    ${any && weights.map((weight, i) => line(spots[i], end,
      { "stroke-width": near(26 * weight), class: "ribbon" }))}
    ${values.map((_, i) => html`${line(spots[i], marks[i], { stroke: "var(--value)" })}
      ${disc(marks[i], 12, { class: "value" })}${text(...marks[i], i + 1, MIDDLE)}`)}
    ${any && disc(end, 9, { class: "output" })}
    ${text(0, TOP + tall + 14, t("output {0}", told.map(digits).join(", ")),
      { colour: "output", bold: true })}`;
}

const style = `
  .paper { fill: color-mix(in srgb, currentColor 5%, transparent); }
  .key { fill: color-mix(in srgb, var(--key) 25%, var(--paper)); stroke: var(--key); }
  .value { fill: color-mix(in srgb, var(--value) 25%, var(--paper)); stroke: var(--value); }
  :is(.key, .value) { stroke-width: 2; }
  .hull {
    fill: color-mix(in srgb, var(--value) 14%, transparent); stroke: var(--value);
    stroke-dasharray: 3 4;
  }
  .ribbon { stroke: var(--value); stroke-linecap: round; opacity: .55; }
  .output { fill: var(--output); stroke: var(--paper); stroke-width: 2; }
  .box { fill: none; stroke: currentColor; stroke-width: 1.5; }
  .mark { fill: none; stroke: currentColor; stroke-width: 2.5; }
`;

export const piece = { view, style, eases: (name) => name.startsWith("key") };
