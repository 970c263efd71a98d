// Sinusoidal positions: drag a clock's bold hand, the wave or the curve of similarity, and see what
// an offset turns, how alike rows are, and how long a round takes.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, digits, disc, line, near, once, panels, places, points, range, room,
  slider, t, text,
} from "./kit.js";

// ---- mathematics ------------------------------------------------------------------

/** How far the hand of columns 2j and 2j + 1 turns in one step, in radians (Vaswani et al. 2017,
 * section 3.5). */
const speed = (hand, width) => 10000 ** ((-2 * hand) / width);

/** The two numbers of a hand that stands at `angle`: how far across, how far up. */
const tip = (angle) => [Math.sin(angle), Math.cos(angle)];

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

/** The result in a sentence. */
function tell({ position, offset, width }, hand) {
  const from = t("From position {0} to {1}", position, position + offset);
  if (!offset) {
    return t("{0} nothing turns: the rotation is the identity, and a position's similarity to " +
      "itself is 1.", from);
  }
  return t("{0} the hand of columns {1} and {2} turns by {3}; the similarity of both rows (their " +
    "dot product, divided by d/2) is {4}, as from anywhere. A round takes {5} positions.", from,
    2 * hand, 2 * hand + 1, degrees(offset * speed(hand, width)),
    digits(similarity(offset, width)), rough(2 * Math.PI / speed(hand, width)));
}

// ---- the picture ------------------------------------------------------------------

const HIGH = 94;  // of a plot's paper, with the mark above its curves
const [INK, BOLD] = ["currentColor", "var(--query)"];

function view({ data: { widths, positions, offsets }, state, width, set }) {
  const steps = positions + offsets + 1;  // how far the plots reach
  const count = state.width / 2;
  const hand = Math.min(state.hand, count - 1);  // a smaller width has fewer hands
  /** Attributes of what is dragged to change a setting; `at(x, y)` is where a pointer puts it. */
  const moves = (setting, name, max, at, more = {}) => slider({
    name, value: state[setting], max, at, put: (number) => set({ ...more, [setting]: number }) });
  const part = { ...state, hand, count, steps, positions, offsets, moves };
  const wide = width >= 640;
  const columns = `${2 * hand}, ${2 * hand + 1}`;
  const rest = width >= 760 ? width - 280 - 48 : width - 24;  // three panels in a row, or two
  const plots = [[wide ? 0.6 * rest : width, waves], [wide ? 0.4 * rest : width, alike]];
  return {
    label: t("{0} clocks with a thin hand at position i and a bold one δ later; the waves of the " +
      "chosen one, and how similar positions are.", count),
    picture: panels(width, [
      { title: (wide ? t("Two columns of the table of positions make a clock. ") : "")
        + t("Thin hand: position {0}, bold: {1}", state.position, state.position + state.offset),
      ...clocks(part, width, set) },
      ...plots.map(([room, make]) => ({ width: room, height: HIGH + 24, ...make(part, room) })),
      { title: t("turned by {0}", degrees(state.offset * speed(hand, state.width))), width: 280,
        height: 80, parts: turn(part) },
    ]),
    sentence: tell(state, hand),
    controls: [
      range({ name: t("clock of columns (dimensions)"), max: count - 1, value: hand, text: columns,
        pick: (chosen) => set({ hand: chosen }) }),
      choice({ state, set }, "width", t("width d"), widths),
    ],
  };
}

const pen = (stroke, width) => ({ stroke, "stroke-width": width });
const curve = (corners, colour) =>
  html`<polyline points=${corners} fill="none" ...${pen(colour, 2.5)} />`;

/** The clocks in lines: the bold hand of each is dragged, a press chooses its columns. */
function clocks({ position, offset, width: d, hand, count, offsets, moves }, width, set) {
  const lines = Math.ceil(count / Math.min(Math.floor(width / 50), Math.max(8, count / 2)));
  const columns = Math.ceil(count / lines);
  const across = Math.min(width / columns, 102);
  const radius = Math.min(across * 0.42, 24);
  const down = 2 * radius + 26;
  const parts = places(count).map((each) => {
    const [x, y] = [(each % columns + 0.5) * across, Math.floor(each / columns) * down + radius];
    const from = position * speed(each, d);
    const turns = offset * speed(each, d);
    const end = (angle, length) => {
      const [right, up] = tip(angle);
      return [x + length * radius * right, y - length * radius * up];
    };
    const sector = places(25).map((i) => end(from + Math.min(turns, 2 * Math.PI) * i / 24, 0.75));
    const chosen = each === hand;
    const name = `${2 * each}, ${2 * each + 1}`;
    const held = moves("offset", t("clock of columns {0}", name), offsets, (right, below) =>
      turned(Math.atan2(right - x, y - below), { position, offset, width: d }, each, offsets),
    { hand: each });
    const pointer = (angle, stroke, thick, knob) => html`<g class="hand flows"
      style="transform: translate(${near(x)}px, ${near(y)}px) rotate(${angle.toFixed(4)}rad)">
      ${line([0, 0], [0, -0.86 * radius], pen(stroke, thick))}
      ${knob && disc([0, -0.86 * radius], 6, { fill: stroke })}</g>`;
    return html`<g ...${held} tabindex=${chosen ? 0 : -1} onClick=${() => set({ hand: each })}
        style=${chosen ? "" : "touch-action: pan-y"}>
      ${disc([x, y], radius, { class: chosen ? "face chosen" : "face" })}
      <polygon points=${points([[x, y], ...sector])} class="sector" />
      ${pointer(from, INK, 1.5)}${pointer(from + turns, BOLD, 4, chosen)}
      ${text(x, y + radius + 11, name, { ...MIDDLE, bold: chosen })}</g>`;
  });
  return { width, height: lines * down, parts };
}

/** A plot: x and y of its numbers, a pointer's place, and its paper with a scale. */
function plot(steps, room, heights) {
  const [low, high] = [heights[0], heights.at(-1)];
  const x = (place) => 34 + place / (steps - 1) * (room - 48);
  const y = (value) => 22 + (HIGH - 22) * (high - value) / (high - low);
  const paper = html`
    ${box(0, 0, room, HIGH + 6, { rx: 8, class: "paper" })}
    ${heights.map((height) => [
      line([x(0), y(height)], [x(steps - 1), y(height)], pen("var(--faint)", 1)),
      text(x(0) - 6, y(height), height, END)])}
    ${places(steps).map((i) => i % (steps > 40 ? 20 : 4) === 0
      && text(x(i), HIGH + 16, i, MIDDLE))}`;
  return { x, y, paper, back: (pixel) => (pixel - 34) / (room - 48) * (steps - 1) };
}

/** The corners of a hand's two waves, eight a position; thousands, so they are kept. */
const wavesOf = once((hand, width, room, steps) => {
  const { x, y } = plot(steps, room, [-1, 0, 1]);
  const tips = places(8 * (steps - 1) + 1).map((i) => tip(i / 8 * speed(hand, width)));
  return [0, 1].map((side) => points(tips.map((both, i) => [x(i / 8), y(both[side])])));
});

/** Sine and cosine of the chosen columns; a sweep over them moves the position. */
function waves({ position, offset, width, hand, positions, steps, moves }, room_) {
  const { x, y, paper, back } = plot(steps, room_, [-1, 0, 1]);
  const later = position + offset;
  const names = [t("sine, column {0}", 2 * hand), t("cosine, column {0}", 2 * hand + 1)];
  const mark = `↔ i = ${position}, i + δ = ${later}`;
  const right = x(position) + room(mark) < x(steps - 1);
  const colours = ["sky", "amber"];
  return { title: " ", parts: html`
    ${names.map((name, i) =>
      text(i * (room(names[0]) + 14), -18, name, { colour: colours[i], bold: true }))}
    <g ...${moves("position", t("position i"), positions, back)} style="touch-action: pan-y">
      ${paper}
      ${wavesOf(hand, width, room_, steps).map((corners, i) =>
        curve(corners, `var(--${colours[i]})`))}
      ${[[position, INK], [later, BOLD]].map(([place, colour]) => html`
        ${line([x(place), y(1) - 6], [x(place), y(-1)], pen(colour, 1.5))}
        ${tip(place * speed(hand, width)).map((value) =>
          disc([x(place), y(value)], 5, { fill: colour, class: "row" }))}`)}
      ${text(right ? x(position) : x(later), 8, mark, right ? {} : END)}</g>` };
}

/** The similarity of rows against their offset; a sweep moves the offset. */
function alike({ offset, width, offsets, moves }, room) {
  const all = similarities(width, offsets + 1);
  const low = Math.min(0, Math.floor(2 * Math.min(...all)) / 2);
  const { x, y, paper, back } = plot(offsets + 1, room, [...new Set([low, 0, 1])]);
  const [worth, late] = [similarity(offset, width), offset > offsets / 2];
  return { title: t("similarity at distance δ"), parts: html`
    <g ...${moves("offset", t("offset δ"), offsets, back)} style="touch-action: pan-y">
      ${paper}
      ${curve(points(all.map((value, i) => [x(i / 2), y(value)])), INK)}
      ${disc([x(offset), y(worth)], 7, { fill: BOLD, class: "now" })}
      ${text(x(offset) + (late ? -12 : 12), 8, `↔ δ = ${offset}: ${digits(worth)}`,
        late ? END : {})}</g>` };
}

/** How each number of the later row comes from the two of the earlier one. */
function turn({ position, offset, width, hand }) {
  const each = speed(hand, width);
  const [sine, cosine] = tip(position * each).map(digits);
  const [across, up] = tip(offset * each);
  return tip((position + offset) * each).map((later, i) => text(0, 20 + 30 * i,
    `${i ? "cos" : "sin"}: ${digits(i ? -across : up)}·${sine} `
    + `+ ${digits(i ? up : across)}·${cosine} = ${digits(later)}`, { class: "turned" }));
}

const style = `
  .face { fill: transparent; stroke: var(--faint); stroke-width: 1.5; }
  .chosen { stroke: currentColor; stroke-width: 3; }
  .sector { fill: var(--query); opacity: .25; }
  .hand { stroke-linecap: round; }
`;

export const piece = { view, style };
