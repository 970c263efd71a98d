// Sinusoidal positions: drag a bold hand, the wave or the curve of similarity, and see what
// an offset turns, how alike rows are, and how long a full turn takes.
import { h } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, closest, digits, disc, inside, line, near, panels, places, points,
  range, room, shifted, slider, t, text,
} from "./kit.js";

// ---- mathematics ----

/** How far the hand of columns 2j and 2j + 1 turns in one step, in radians (Vaswani et al. 2017,
 * section 3.5). */
const speed = (hand, width) => 10000 ** (-2 * hand / width);

/** p_i · p_j for rows `offset` apart, divided by d/2: 1 for a row with itself. */
const similarity = (offset, width) => places(width / 2).reduce((sum, hand) =>
  sum + Math.cos(offset * speed(hand, width)), 0) / (width / 2);

/** The offset at which a hand points most nearly where a pointer is, not far from the one now. */
export function turned(angle, { position, offset, width, offsets }, hand) {
  const each = speed(hand, width);
  const far = (other) => Math.acos(Math.cos(angle - (position + other) * each));
  return closest(places(offsets + 1), (other) =>
    far(other) + 0.05 * each * Math.abs(other - offset));
}

// ---- in words ----

/** 35.3, 200, 35,300: three figures, at most two of them decimals. */
const { format: rough } = new Intl.NumberFormat("en", {  // made once: that takes a millisecond
  maximumSignificantDigits: 3, maximumFractionDigits: 2, roundingPriority: "lessPrecision",
});

const columns = (hand) => `${2 * hand}, ${2 * hand + 1}`;

/** The result in a sentence. */
function tell({ position, offset, width, hand }) {
  const from = t("From position {0} to {1}", position, position + offset);
  const each = speed(hand, width);
  return offset ? t("{0} the hand of columns {1} and {2} turns by {3}°; the similarity of the " +
    "two clocks (their dot product, divided by d/2) is {4}, as from anywhere. A full turn takes " +
    "{5} positions.", from, 2 * hand, 2 * hand + 1, rough(offset * each * 180 / Math.PI),
  digits(similarity(offset, width)), rough(2 * Math.PI / each))
    : t("{0} nothing turns: the rotation is the identity, and a position's similarity to " +
      "itself is 1.", from);
}

// ---- the picture ----

const [RADIUS, DOWN] = [24, 74];  // of a dial, and from line to line
const HIGH = 94;  // of a plot's paper, with the mark above its curves
const [INK, BOLD] = ["currentColor", "var(--query)"];
const pen = (stroke, width) => ({ stroke, "stroke-width": width, fill: "none" });

function view({ data, state, width, set }) {
  const count = state.width / 2;
  const hand = Math.min(state.hand, count - 1);  // a smaller width has fewer hands
  const part = { ...data, ...state, hand, count, set };
  const [left, right] = width < 640 ? [width, width] : [0.6 * width - 24, 0.4 * width];
  return {
    label: t("A clock with {0} hands, each on its own dial: thin at position i, and bold δ " +
      "later; the waves of the chosen hand, and how similar the two clocks are.", count),
    picture: panels(width, [dials(part, width), waves(part, left), alike(part, right)]),
    sentence: tell(part),
    controls: [
      range({ name: t("hand of columns (dimensions)"), max: count - 1, value: hand,
        text: columns(hand), pick: (chosen) => set({ hand: chosen }) }),
      choice({ state, set }, "width", t("width d"), data.widths)],
  };
}

/** The dials in lines: the bold hand of each is dragged, a press chooses its columns. */
function dials(part, width) {
  const { position, offset, width: d, hand, count, offsets, set } = part;
  const inLine = Math.min(count, Math.floor(width / 54), Math.max(8, count / 2));
  const across = Math.min(width / inLine, 102);
  const [middle, end] = [[0, 0], [0, -0.86 * RADIUS]];
  const pointer = (angle, stroke, width, more) => h("g", {
    class: "hand flows", style: `transform: rotate(${angle.toFixed(4)}rad)` },
  line(middle, end, { ...pen(stroke, width), "stroke-linecap": "round" }), more);
  const parts = places(count).map((each) => {
    const [x, y] = [(each % inLine + 0.5) * across, Math.floor(each / inLine) * DOWN + RADIUS];
    const [from, turns] = [position, offset].map((steps) => steps * speed(each, d));
    const chosen = each === hand;
    const held = slider({
      name: t("hand of columns {0}", columns(each)), value: offset, max: offsets,
      at: (right, below) => turned(Math.atan2(right - x, y - below), part, each),
      put: (number) => set({ hand: each, offset: number }),
    });
    const sector = disc(middle, RADIUS * 3 / 8, {  // a dash so wide that it reaches the middle
      ...pen(BOLD, RADIUS * 3 / 4), opacity: 0.25, transform: "rotate(-90)",
      "stroke-dasharray": `${near(turns * RADIUS * 3 / 8)} 999` });
    return shifted(x, y, [
      disc(middle, RADIUS, { ...chosen ? pen(INK, 3) : pen("var(--faint)", 1.5),
        fill: "transparent", class: chosen && "chosen" }),
      pointer(from, INK, 1.5, sector),
      pointer(from + turns, BOLD, 4, chosen && disc(end, 6, { fill: BOLD })),
      text(0, RADIUS + 11, columns(each), { ...MIDDLE, bold: chosen }),
    ], { ...held, tabindex: chosen ? 0 : -1, onClick: () => set({ hand: each }) });
  });
  const what = width < 760 ? "" : t("Each hand has two columns, and here its own dial. ");
  return {
    title: what + t("Thin hand: position i = {0}, bold: i + δ = {1}", position, position + offset),
    width, height: Math.ceil(count / inLine) * DOWN, parts,
  };
}

/** A panel with curves over `count` numbers, [colour, name, function] each, on paper with a scale
 * of heights. At `marks`, [place, colour] each, discs lie on them; a sweep changes a `value`, which
 * `words` above it tell. */
function plot({ curves, width, count, heights, marks, words, ...swept }) {
  const [low, high] = [heights[0], heights.at(-1)];
  const step = (width - 48) / (count - 1);
  const x = (place) => 34 + place * step;
  const y = (value) => 22 + (HIGH - 22) * (high - value) / (high - low);
  const aside = room(words) / 2 + 8;
  const title = curves.map(([colour, name], i) =>
    h("tspan", { dx: 14 * i, style: `fill: var(--${colour}-letters)` }, name));
  return { title, width, height: HIGH + 24, parts: h("g",
    slider({ ...swept, at: (pixel) => (pixel - 34) / step }),
    box(0, 0, width, HIGH + 6, { rx: 8, class: "paper" }),
    heights.map((height) => [
      line([x(0), y(height)], [x(count - 1), y(height)], pen("var(--faint)", 1)),
      text(x(0) - 6, y(height), height, END)]),
    places(count).map((i) => i % (count > 40 ? 20 : 4) === 0 && text(x(i), HIGH + 16, i, MIDDLE)),
    curves.map(([colour, , value]) => h("polyline", { ...pen(`var(--${colour})`, 2.5),
      points: points(places(4 * count - 3).map((i) => [x(i / 4), y(value(i / 4))])) })),
    marks.map(([place, fill]) => [line([x(place), y(high) - 3], [x(place), y(low)], pen(fill, 1.5)),
      curves.map(([, , value]) => disc([x(place), y(value(place))], 5, { fill, class: "mark" }))]),
    text(inside(x(swept.value), aside, width - aside), 7, words, MIDDLE)) };
}

/** Sine and cosine of the chosen columns; a sweep over them moves the position. */
function waves({ position, offset, width: d, hand, positions, offsets, set }, width) {
  const [each, later] = [speed(hand, d), position + offset];
  return plot({
    curves: [["sky", t("sine, column {0}", 2 * hand), (place) => Math.sin(place * each)],
      ["amber", t("cosine, column {0}", 2 * hand + 1), (place) => Math.cos(place * each)]],
    width, count: positions + offsets + 1, heights: [-1, 0, 1],
    marks: [[position, INK], [later, BOLD]], words: `↔ i = ${position}, i + δ = ${later}`,
    name: t("position i"), value: position, max: positions,
    put: (number) => set({ position: number }),
  });
}

/** The similarity of rows against their offset; a sweep moves the offset. */
const alike = ({ offset, width: d, offsets, set }, width) => plot({
  curves: [["ink", t("similarity at distance δ"), (other) => similarity(other, d)]],
  width, count: offsets + 1, heights: [0, 1],
  marks: [[offset, BOLD]], words: `↔ δ = ${offset}: ${digits(similarity(offset, d))}`,
  name: t("offset δ"), value: offset, max: offsets, put: (number) => set({ offset: number }),
});

const style = `
  .grip { touch-action: pan-y; }
  .grip:has(.chosen) { touch-action: none; }
`;

export const piece = { view, style };
