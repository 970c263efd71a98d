// Sinusoidal positions: drag a clock's bold hand, the wave or the curve of similarity, and see what
// an offset turns, how alike rows are, and how long a round takes.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, digits, disc, line, map, near, once, places, points, range, room,
  slider, svg, t, text,
} from "./kit.js";

// ---- mathematics ------------------------------------------------------------------

/** How far the hand of columns 2j and 2j + 1 turns in one step, in radians (Vaswani et al. 2017,
 * section 3.5). */
const speed = (hand, width) => 10000 ** ((-2 * hand) / width);

/** The two numbers of a hand that stands at `angle`: how far across, how far up. */
const tip = (angle) => [Math.sin(angle), Math.cos(angle)];

/** The matrix that turns any such pair on by `angle`. */
const rotation = (angle) => [
  [Math.cos(angle), Math.sin(angle)], [-Math.sin(angle), Math.cos(angle)]];

/** p_i · p_j for rows `offset` apart, divided by d/2: 1 for a row with itself. */
const similarity = (offset, width) => places(width / 2).reduce((sum, hand) =>
  sum + Math.cos(offset * speed(hand, width)), 0) / (width / 2);

/** The similarity of rows by their offset, twice a position. */
const similarities = once((width, steps) =>
  places(2 * (steps - 1) + 1).map((i) => similarity(i / 2, width)));

/** The offset at which a hand points most nearly where a pointer is, not far from the one now. */
export function turned(angle, { position, offset, width }, hand, offsets) {
  const each = speed(hand, width);
  const far = (other) => Math.acos(Math.cos(angle - (position + other) * each))
    + 0.05 * each * Math.abs(other - offset);
  return places(offsets + 1).reduce((best, other) => (far(other) < far(best) ? other : best));
}

// ---- in words ------------------------------------------------------------------------

/** 35.3, 200, 35,300: three figures, at most two of them decimals. */
const { format: rough } = new Intl.NumberFormat("en", {  // made once: that takes a millisecond
  maximumSignificantDigits: 3, maximumFractionDigits: 2, roundingPriority: "lessPrecision",
});

const degrees = (angle) => `${rough((angle * 180) / Math.PI)}°`;

/** The names of a hand's columns. */
const columnsOf = (hand) => `${2 * hand}, ${2 * hand + 1}`;

/** The result in a sentence. */
function tell({ position, offset, width }, hand) {
  const from = t("From position {0} to {1}", position, position + offset);
  if (!offset) {
    return t("{0} nothing turns: the rotation is the identity, and a row's similarity to itself " +
      "is 1.", from);
  }
  return t("{0} the hand of columns {1} and {2} turns by {3}; the rows' similarity is {4}, as " +
    "from anywhere. A round takes {5} positions.", from, 2 * hand, 2 * hand + 1,
    degrees(offset * speed(hand, width)), digits(similarity(offset, width)),
    rough(2 * Math.PI / speed(hand, width)));
}

// ---- the picture ------------------------------------------------------------------

const [TOP, HIGH, BELOW] = [40, 90, 24];  // of a plot: its title and mark, itself, its scale
const [INK, BOLD] = ["currentColor", "var(--query)"];
const TURN = 216;  // how wide the rotation is in numbers

function view({ data: { widths, positions, offsets }, state, drawn, ui, width, set, hold }) {
  const steps = positions + offsets + 1;  // how far the plots reach
  const count = state.width / 2;
  const hand = Math.min(state.hand, count - 1);  // a smaller width has fewer hands
  /** Attributes of what is dragged to change a setting; `at(x, y)` is where a pointer puts it. */
  const moves = (setting, name, max, at, more = {}) => slider({
    name, value: state[setting], max, at, put: (number) => set({ ...more, [setting]: number }) });
  const part = { state, drawn, hand, count, steps, set, moves };
  const { clocks, top } = allClocks({ ...part, offsets, width });
  const wide = width >= 640;
  const tall = TOP + HIGH + BELOW;
  const first = wide ? 0.6 * (width - TURN - 48) : width;
  const second = wide ? width - first - TURN - 48 : width;
  const place = (column, left, room) => ({ room, left: wide ? left : 0,
    top: top + (wide ? 0 : column * tall) });
  return {
    label: t("{0} clocks with a thin hand at position i and a bold one δ later; the waves of the " +
      "chosen one, and how similar rows are.", count),
    picture: svg(Math.round(width), Math.round(top + (wide ? 1 : 3) * tall), clocks,
      waves({ ...part, ...place(0, 0, first), positions }),
      alike({ ...part, ...place(1, first + 24, second), offsets }),
      turn({ ...part, ...place(2, width - TURN, TURN) })),
    sentence: tell(state, hand),
    controls: [
      range({ name: t("columns"), max: count - 1, value: hand, text: columnsOf(hand),
        pick: (chosen) => set({ hand: chosen }) }),
      choice(t("width d"), widths.map((each) => [each, String(each)]), state.width,
        (chosen) => set({ width: chosen })),
      html`<details onToggle=${({ target }) => hold({ more: target.open })}>
        <summary>${t("P Pᵀ, and rounds")}</summary>
        ${ui.more && more({ ...part, width })}</details>`,
    ],
  };
}

const pen = (stroke, width = 1, kind = "") => ({ stroke, "stroke-width": width, class: kind });

const curve = (corners, colour) => html`<polyline points=${corners} fill="none"
  ...${pen(colour, 2.5)} />`;

/** The clocks in lines: the bold hand of each is dragged, a press chooses its columns. */
function allClocks({ state, drawn, hand, count, width, offsets, set, moves }) {
  const lines = Math.ceil(count / Math.min(Math.floor(width / 50), Math.max(8, count / 2)));
  const columns = Math.ceil(count / lines);
  const across = Math.min(width / columns, 102);
  const radius = Math.min(across * 0.42, 24);
  const down = 2 * radius + 26;
  const clocks = places(count).map((each) => {
    const x = (each % columns + 0.5) * across;
    const y = 24 + Math.floor(each / columns) * down + radius;
    const end = (angle, length) => {
      const [right, up] = tip(angle);
      return [x + length * radius * right, y - length * radius * up];
    };
    const from = drawn.position * speed(each, state.width);
    const turns = drawn.offset * speed(each, state.width);
    const sector = places(25).map((i) => end(from + Math.min(turns, 2 * Math.PI) * i / 24, 0.75));
    const chosen = each === hand;
    const held = moves("offset", t("clock of columns {0}", columnsOf(each)), offsets,
      (right, below) => turned(Math.atan2(right - x, y - below), state, each, offsets),
      { hand: each });
    return html`<g ...${held} tabindex=${chosen ? 0 : -1} onClick=${() => set({ hand: each })}
        style=${chosen ? "" : "touch-action: pan-y"}>
      ${disc([x, y], radius, { class: chosen ? "face chosen" : "face" })}
      <polygon points=${points([[x, y], ...sector])} class="sector" />
      ${line([x, y], end(from, 0.86), pen(INK, 1.5, "hand"))}
      ${line([x, y], end(from + turns, 0.86), pen(BOLD, 4, "hand"))}
      ${chosen && disc(end(from + turns, 0.86), 6, { fill: BOLD })}
      ${text(x, y + radius + 11, columnsOf(each), { ...MIDDLE, bold: chosen })}</g>`;
  });
  const hands = text(0, 8, t("thin hand: position i, bold hand: i + δ"), { bold: true });
  return { clocks: [hands, clocks], top: lines * down + 26 };
}

/** A plot: x and y of its numbers, and its paper with a scale. */
function plot({ left, top, room, steps }, heights, every = 20) {
  const [low, high] = [heights[0], heights.at(-1)];
  const [start, wide] = [left + 34, room - 48];
  const x = (place) => start + place / (steps - 1) * wide;
  const y = (value) => top + TOP + HIGH * (high - value) / (high - low);
  const paper = html`
    ${box(left, top + TOP - 22, room, HIGH + 28, { rx: 8, class: "paper" })}
    ${heights.map((height) => [
      line([x(0), y(height)], [x(steps - 1), y(height)], pen("var(--faint)")),
      text(x(0) - 6, y(height), rough(height), END)])}
    ${places(Math.ceil(steps / every)).map((i) =>
      text(x(i * every), y(low) + 16, i * every, MIDDLE))}`;
  return { x, y, paper, back: (pixel) => (pixel - start) / wide * (steps - 1) };
}

/** The corners of a hand's two waves, eight a position; thousands, so they are kept. */
const wavesOf = once((hand, width, left, top, room, steps) => {
  const { x, y } = plot({ left, top, room, steps }, [-1, 0, 1]);
  const tips = places(8 * (steps - 1) + 1).map((i) => tip(i / 8 * speed(hand, width)));
  return [0, 1].map((side) => points(tips.map((both, i) => [x(i / 8), y(both[side])])));
});

/** Sine and cosine of the chosen columns; a sweep over them moves the position. */
function waves({ state, drawn, hand, positions, moves, ...given }) {
  const { x, y, paper, back } = plot(given, [-1, 0, 1]);
  const at = (place) => tip(place * speed(hand, state.width)).map((value) => [x(place), y(value)]);
  const drawings = wavesOf(hand, state.width, given.left, given.top, given.room, given.steps);
  const later = drawn.position + drawn.offset;
  const names = [t("sine, column {0}", 2 * hand), t("cosine, column {0}", 2 * hand + 1)];
  const mark = `↔ i = ${state.position}, i + δ = ${state.position + state.offset}`;
  const right = x(drawn.position) + room(mark) < x(given.steps - 1);
  return html`
    ${names.map((name, i) => text(given.left + i * (room(names[0]) + 14), given.top + 8, name,
      { colour: ["sky", "amber"][i], bold: true }))}
    <g ...${moves("position", t("position i"), positions, back)} style="touch-action: pan-y">
      ${paper}
      ${["sky", "amber"].map((colour, i) =>
        curve(drawings[i], `var(--${colour})`))}
      ${[[drawn.position, INK], [later, BOLD]].map(([place, colour]) => html`
        ${line([x(place), y(1) - 6], [x(place), y(-1)], pen(colour, 1.5))}
        ${at(place).map((spot) => disc(spot, 5, { fill: colour, class: "row" }))}`)}
      ${text(right ? x(drawn.position) : x(later), y(1) - 14, mark, right ? {} : END)}</g>`;
}

/** The similarity of rows against their offset; a sweep moves the offset. */
function alike({ state, drawn, offsets, moves, ...given }) {
  const worth = (offset) => similarity(offset, state.width);
  const all = similarities(state.width, given.steps);
  const low = Math.min(0, Math.floor(2 * Math.min(...all)) / 2);
  const { x, y, paper, back } = plot(given, [...new Set([low, 0, 1])]);
  return html`
    ${text(given.left, given.top + 8, t("similarity of rows δ apart"), { bold: true })}
    <g ...${moves("offset", t("offset δ"), offsets, back)} style="touch-action: pan-y">
      ${paper}
      ${curve(points(all.map((value, i) => [x(i / 2), y(value)])), INK)}
      ${disc([x(drawn.offset), y(worth(drawn.offset))], 7, { fill: BOLD, class: "now" })}
      ${text(x(drawn.offset) + 12, y(1) - 14,
        `↔ δ = ${state.offset}: ${digits(worth(state.offset))}`)}</g>`;
}

/** matrix × (sine, cosine) at i = (sine, cosine) at i + δ, in numbers. */
function turn({ state: { position, offset, width }, hand, left, top }) {
  const angle = (steps) => steps * speed(hand, width);
  const block = (x, rows, name) => html`
    ${rows.map((row, i) => row.map((number, j) =>
      text(x + 44 + 46 * j, top + TOP + 10 + 28 * i, digits(number),
        { ...END, class: "turned" })))}
    <path class="brackets" d=${[[x, 5], [x + 4 + 46 * rows[0].length, -5]].map(([at, lip]) =>
      `M${near(at + lip)} ${top + TOP - 6}h${-lip}v62h${lip}`).join("")} />
    ${text(x + 2 + 23 * rows[0].length, top + TOP + 74, name, MIDDLE)}`;
  const [before, after] = [position, position + offset].map((place) =>
    tip(angle(place)).map((number) => [number]));
  return html`
    ${text(left, top + 8, t("turned by {0}", degrees(angle(offset))), { bold: true })}
    ${block(left, rotation(angle(offset)), "δ")}
    ${block(left + 102, before, "i")}
    ${text(left + 159, top + TOP + 24, "=", MIDDLE)}
    ${block(left + 166, after, "i + δ")}`;
}

// ---- folded: all rows, all rounds -------------------------------------------------------

const products = {};  // P Pᵀ by width, scaled from its lowest value to 1

/** P Pᵀ as a map, and how many positions each hand needs for a round. */
function more({ state, hand, count, steps, set, width }) {
  const { position, offset } = state;
  const values = similarities(state.width, steps).filter((_, i) => i % 2 === 0);
  const lowest = Math.min(...values);
  products[state.width] ??= places(steps).map((i) => places(steps).map((j) =>
    (values[Math.abs(i - j)] - lowest) / (1 - lowest)));
  const wide = width >= 640;
  const left = wide ? 300 : 0;
  const top = wide ? 0 : 290;
  const across = (Math.min(width - left, 420) - 70) / count;
  const y = (positions) => top + 30 + 44 * (5 - Math.log10(positions));
  return svg(Math.round(width), top + 290,
    text(0, 10, t("P Pᵀ divided by d/2"), { bold: true }),
    map({ weights: products[state.width], x: 0, y: 28, across: 3, down: 3,
      lit: [position, position + offset] }),
    text(left, top + 10, t("positions in one round"), { bold: true }),
    [1, 10, 100, 1000, 10000, 100000].map((positions) =>
      text(left + 60, y(positions), rough(positions), END)),
    places(count).map((each) => html`<g class="press" onClick=${() => set({ hand: each })}>
      ${disc([left + 70 + (each + 0.5) * across, y(2 * Math.PI / speed(each, state.width))],
        each === hand ? 7 : 4, { fill: each === hand ? BOLD : INK, class: "round" })}</g>`),
    text(left + 70 + (hand + 0.5) * across, top + 272, columnsOf(hand), MIDDLE));
}

const style = `
  .paper { fill: color-mix(in srgb, currentColor 5%, transparent); }
  .face { fill: transparent; stroke: var(--faint); stroke-width: 1.5; }
  .chosen { stroke: currentColor; stroke-width: 3; }
  .sector { fill: var(--query); opacity: .25; }
  .hand { stroke-linecap: round; }
  .brackets { fill: none; stroke: currentColor; stroke-width: 1.5; }
  details[open] { flex-basis: 100%; }
  summary { cursor: pointer; line-height: 32px; }
`;

const eases = (name) => name === "position" || name === "offset";
export const piece = { view, style, eases };
