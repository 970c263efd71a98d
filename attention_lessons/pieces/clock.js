// Sinusoidal positions: drag a clock's bold hand, the wave or the curve of similarity, and see what
// an offset turns, how alike rows are, and how long a round takes.
import { h } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, closest, digits, disc, inside, line, near, panels, places, points,
  range, shifted, slider, t, text,
} from "./kit.js";

// ---- mathematics ----

/** How far the hand of columns 2j and 2j + 1 turns in one step, in radians (Vaswani et al. 2017,
 * section 3.5). */
const speed = (hand, width) => 10000 ** (-2 * hand / width);

/** The two numbers of a hand that stands at `angle`: how far across, how far up. */
const tip = (angle) => [Math.sin(angle), Math.cos(angle)];

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
  return offset ? t("{0} the hand of columns {1} and {2} turns by {3}°; the similarity of both " +
    "rows (their dot product, divided by d/2) is {4}, as from anywhere. A round takes {5} " +
    "positions.", from, 2 * hand, 2 * hand + 1, rough(offset * each * 180 / Math.PI),
  digits(similarity(offset, width)), rough(2 * Math.PI / each))
    : t("{0} nothing turns: the rotation is the identity, and a position's similarity to " +
      "itself is 1.", from);
}

// ---- the picture ----

const [RADIUS, DOWN] = [24, 74];  // of a clock, and from line to line
const HIGH = 94;  // of a plot's paper, with the mark above its curves
const [INK, BOLD] = ["currentColor", "var(--query)"];
const pen = (stroke, width) => ({ stroke, "stroke-width": width });

function view({ data, state, width, set }) {
  const { position, offset } = state;
  const count = state.width / 2;
  const hand = Math.min(state.hand, count - 1);  // a smaller width has fewer hands
  const choose = (chosen) => set({ hand: chosen });
  const part = { ...data, ...state, hand, count, set, choose };
  const wide = width >= 640;

  return {
    label: t("{0} clocks with a thin hand at position i and a bold one δ later; the waves of " +
      "the chosen one, and how similar positions are.", count),
    picture: panels(width, [
      { title: (wide ? t("Two columns of the table of positions make a clock. ") : "")
        + t("Thin hand: position {0}, bold: {1}", position, position + offset),
      ...clocks(part, width) },
      waves(part, wide ? 0.6 * width - 24 : width), alike(part, wide ? 0.4 * width : width)]),
    sentence: tell(part),
    controls: [
      range({ name: t("clock of columns (dimensions)"), max: count - 1, value: hand,
        text: columns(hand), pick: choose }),
      choice({ state, set }, "width", t("width d"), data.widths)],
  };
}

/** The clocks in lines: the bold hand of each is dragged, a press chooses its columns. */
function clocks(part, width) {
  const { position, offset, width: d, hand, count, offsets, set, choose } = part;
  const inLine = Math.min(count, Math.floor(width / 54), Math.max(8, count / 2));
  const across = Math.min(width / inLine, 102);
  const [middle, end] = [[0, 0], [0, -0.86 * RADIUS]];
  const pointer = (angle, stroke, width, ...more) => h("g", {
    class: "hand flows", style: `transform: rotate(${angle.toFixed(4)}rad)` },
  line(middle, end, pen(stroke, width)), more);
  const parts = places(count).map((each) => {
    const [x, y] = [(each % inLine + 0.5) * across, Math.floor(each / inLine) * DOWN + RADIUS];
    const [from, turns] = [position * speed(each, d), offset * speed(each, d)];
    const chosen = each === hand;
    const held = slider({
      name: t("clock of columns {0}", columns(each)), value: offset, max: offsets,
      at: (right, below) => turned(Math.atan2(right - x, y - below), part, each),
      put: (number) => set({ hand: each, offset: number }),
    });
    const sector = disc(middle, RADIUS * 3 / 8, {  // a dash so wide that it reaches the middle
      class: "sector", transform: "rotate(-90)", "stroke-width": RADIUS * 3 / 4,
      "stroke-dasharray": `${near(turns * RADIUS * 3 / 8)} 999` });
    return shifted(x, y, [
      disc(middle, RADIUS, { class: chosen ? "face chosen" : "face" }),
      pointer(from, INK, 1.5, sector),
      pointer(from + turns, BOLD, 4, chosen && disc(end, 6, { fill: BOLD })),
      text(0, RADIUS + 11, columns(each), { ...MIDDLE, bold: chosen }),
    ], { ...held, tabindex: chosen ? 0 : -1, onClick: () => choose(each) });
  });
  return { width, height: Math.ceil(count / inLine) * DOWN, parts };
}

/** A panel with curves over `count` numbers, [colour, function] each, on paper with a scale of
 * heights. A sweep changes what `swept` says; `marks(x, y)` stand on the curves. */
function plot({ title, width, count, heights, curves, swept, marks }) {
  const [low, high] = [heights[0], heights.at(-1)];
  const step = (width - 48) / (count - 1);
  const x = (place) => 34 + place * step;
  const y = (value) => 22 + (HIGH - 22) * (high - value) / (high - low);
  const held = slider({ ...swept, at: (pixel) => (pixel - 34) / step });
  return { title, width, height: HIGH + 24, parts: h("g", held,
    box(0, 0, width, HIGH + 6, { rx: 8, class: "paper" }),
    heights.map((height) => [
      line([x(0), y(height)], [x(count - 1), y(height)], pen("var(--faint)", 1)),
      text(x(0) - 6, y(height), height, END)]),
    places(count).map((i) => i % (count > 40 ? 20 : 4) === 0 && text(x(i), HIGH + 16, i, MIDDLE)),
    curves.map(([colour, value]) => h("polyline", { fill: "none", ...pen(colour, 2.5),
      points: points(places(4 * count - 3).map((i) => [x(i / 4), y(value(i / 4))])) })),
    marks(x, y)) };
}

/** Sine and cosine of the chosen columns; a sweep over them moves the position. */
function waves({ position, offset, width: d, hand, positions, offsets, set }, width) {
  const later = position + offset;
  const at = (place) => tip(place * speed(hand, d));
  const names = [["sky", t("sine, column {0}", 2 * hand)],
    ["amber", t("cosine, column {0}", 2 * hand + 1)]];
  return plot({
    title: names.map(([colour, name], i) =>
      h("tspan", { dx: 14 * i, style: `fill: var(--${colour}-letters)` }, name)),
    curves: names.map(([colour], i) => [`var(--${colour})`, (place) => at(place)[i]]),
    width, count: positions + offsets + 1, heights: [-1, 0, 1],
    swept: { name: t("position i"), value: position, max: positions,
      put: (number) => set({ position: number }) },
    marks: (x, y) => [[[position, INK], [later, BOLD]].map(([place, colour]) => [
      line([x(place), y(1) - 3], [x(place), y(-1)], pen(colour, 1.5)),
      at(place).map((value) => disc([x(place), y(value)], 5, { fill: colour, class: "row" }))]),
    text(inside(x(position), 86, width - 86), 7, `↔ i = ${position}, i + δ = ${later}`, MIDDLE)],
  });
}

/** The similarity of rows against their offset; a sweep moves the offset. */
function alike({ offset, width: d, offsets, set }, width) {
  const now = similarity(offset, d);
  return plot({
    title: t("similarity at distance δ"), width, count: offsets + 1, heights: [0, 1],
    curves: [[INK, (other) => similarity(other, d)]],
    swept: { name: t("offset δ"), value: offset, max: offsets,
      put: (number) => set({ offset: number }) },
    marks: (x, y) => [disc([x(offset), y(now)], 7, { fill: BOLD, class: "now" }),
      text(inside(x(offset), 68, width - 68), 7, `↔ δ = ${offset}: ${digits(now)}`, MIDDLE)],
  });
}


const style = `
  .grip { touch-action: pan-y; }
  .grip:has(.chosen) { touch-action: none; }
  .face { fill: transparent; stroke: var(--faint); stroke-width: 1.5; }
  .chosen { stroke: currentColor; stroke-width: 3; }
  .sector { fill: none; stroke: var(--query); opacity: .25; }
  .hand line { stroke-linecap: round; }
`;

export const piece = { view, style };
