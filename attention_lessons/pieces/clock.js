// Sinusoidal positions: clock hands and waves at a position, what an offset turns, how alike rows
// are, how long a round takes.

/** How far the hand of columns 2j and 2j + 1 turns in one step, in radians (Vaswani et al. 2017,
 * section 3.5). */
export const speed = (hand, width) => 10000 ** ((-2 * hand) / width);

/** How many positions the hand needs for one round. */
export const round = (hand, width) => (2 * Math.PI) / speed(hand, width);

/** The two numbers of a hand that stands at `angle`: how far across, how far up. */
export const tip = (angle) => [Math.sin(angle), Math.cos(angle)];

/** The matrix that turns any such pair on by `angle`. */
export function rotation(angle) {
  const [sine, cosine] = tip(angle);
  return [[cosine, sine], [-sine, cosine]];
}

/** p_i · p_j for rows `offset` apart, divided by d/2: 1 for a row with itself. */
export function similarity(offset, width) {
  let sum = 0;
  for (let hand = 0; hand < width / 2; hand++) sum += Math.cos(offset * speed(hand, width));
  return sum / (width / 2);
}

// ---- in words ------------------------------------------------------------------

/** 35.3, 200, 35,300: three figures, at most two of them decimals. */
const rough = (number) => number.toLocaleString("en", {
  maximumSignificantDigits: 3, maximumFractionDigits: 2, roundingPriority: "lessPrecision",
});

const degrees = (angle) => `${rough((angle * 180) / Math.PI)}°`;

/** The names of a hand's columns. */
const columnsOf = (hand) => `${2 * hand}, ${2 * hand + 1}`;

/** The result in a sentence. */
export function tell({ position, offset, width, hand }) {
  const from = t`From position ${position} to ${position + offset}`;
  if (!offset) {
    return t`${from} nothing turns: the rotation is the identity, and a row's similarity to itself
      is 1.`;
  }
  return t`${from} the hand of columns ${2 * hand} and ${2 * hand + 1} turns by
    ${degrees(offset * speed(hand, width))}, as it does from any other position.
    A round takes it ${rough(round(hand, width))} positions. The similarity of the two
    rows, ${digits(similarity(offset, width))}, depends on the offset alone as well.`;
}

// ---- on the screen -------------------------------------------------------------

const [SINE, COSINE] = [[86, 180, 233], [230, 159, 0]];
const CLOCK_STYLE = `
  .control .number { min-width: 3.8em; }
  .clocks { cursor: pointer; }
  .turn { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
  .turn span { white-space: nowrap; }
  .block {
    display: inline-grid; gap: 0 12px; padding: 2px 8px; text-align: right;
    border: solid; border-width: 0 2px; border-radius: 6px; font-variant-numeric: tabular-nums;
  }
  .block.two { grid-template-columns: auto auto; }
  .plots { display: flex; flex-wrap: wrap; gap: 6px 20px; }
  .plots > div { width: var(--side); }
  .plots > :first-child { width: 278px; }
`;

export function render({ model, el }) {
  speak(model);
  const { widths, positions, offsets } = model.get("data");
  const steps = positions + offsets + 1;  // how far the plots reach
  const set = setter(model);
  const named = widths.map((width) => [width, String(width)]);
  const controls = {
    position: slider(t`position i`, { max: positions }, set("position")),
    offset: slider(t`offset δ`, { max: offsets }, set("offset")),
    hand: slider(t`columns`, { max: 1, words: columnsOf }, set("hand")),
    width: choice(t`width d`, named, set("width")),
  };
  const { root, body, result } = frame(el, CLOCK_STYLE, ...elements(controls));
  const [clocks, waves, products, alike, rounds] = ["clocks", "", "", "", ""].map((name) =>
    node("canvas", { role: "img", class: name }));
  const [turn, scale] = [node("div", { class: "turn" }), node("p")];
  const plot = (title, ...parts) => node("div", {}, node("p", { class: "title" }, title), ...parts);
  const plots = node("div", { class: "plots" },
    plot(t`How similar are rows i and i + δ? P Pᵀ, divided by d/2`, products, scale),
    plot(t`… against their offset`, alike),
    plot(t`Positions in one round, by columns`, rounds));
  body.append(clocks, plot(t`The two columns of the chosen hand`, turn, waves), plots);
  const [alikeOf, plotAlike, plotRounds] = [similarities, drawAlike, drawRounds].map(memoized);
  let handAt;
  clocks.addEventListener("click", ({ offsetX, offsetY }) => {
    const hand = handAt(offsetX, offsetY);
    if (hand >= 0 && hand < model.get("state").width / 2) change(model, { hand });
  });

  return keepDrawn(model, root, (colours, room) => {
    const state = { ...model.get("state") };
    const last = state.width / 2 - 1;
    state.hand = Math.min(state.hand, last);  // a smaller width has fewer hands
    showAll(controls, state);
    controls.hand.show(state.hand, last);
    handAt = drawClocks(clocks, state, room - 12, colours);
    const side = sideOf(room - 12);
    plots.style.setProperty("--side", `${side}px`);
    showTurn(turn, state);
    drawWaves(waves, state, steps, Math.min(room - 12, 760), colours);
    const { lowest, scaled } = alikeOf(steps, state.width);
    drawProducts(products, state, scaled, colours);
    write(scale, t`rows i, columns i + δ, from 0 to ${steps - 1}.
      Full colour is 1, none is ${digits(lowest)}; the frame is at i, i + δ`);
    plotAlike(alike, state.offset, state.width, steps, side, colours);
    plotRounds(rounds, state.hand, state.width, side, colours);
    const words = tell(state);
    put(clocks, "aria-label", t`${state.width / 2} clocks. ${words}`);
    write(result, words);
  });
}

/** How wide a plot is beside P Pᵀ: three stand in a row where there is room. */
function sideOf(room) {
  const third = Math.floor((room - 278 - 2 * 20) / 2);
  return Math.min(314, third < 220 ? room : third);
}

/** The clocks in lines. Returns: (x, y) -> hand. */
function drawClocks(canvas, { position, offset, width, hand }, room, colours) {
  const count = width / 2;
  const least = colours.measure(columnsOf(15)) + 4;
  const columns = Math.min(count, [16, 8, 6].find((each) => room / each >= least) ?? 4);
  const across = Math.min(96, Math.floor(room / columns));
  const down = across + colours.size + 8;
  const high = down * Math.ceil(count / columns) + 2;
  const context = pen(canvas, Math.max(across * columns, 1), high, colours);
  for (const each of places(count)) {
    const x = ((each % columns) + 0.5) * across;
    const y = Math.floor(each / columns) * down + across / 2 + 2;
    const angle = (place) => place * speed(each, width);
    const [from, to] = [angle(position), angle(position + offset)];
    drawClock(context, x, y, across * 0.42, from, to, each === hand, colours);
    const name = { align: "center", bold: each === hand };
    label(context, columnsOf(each), x, y + across / 2 + colours.size / 2, name);
  }
  return (x, y) => Math.floor(y / down) * columns + Math.floor(x / across);
}

/** A thin hand at the position, a bold one an offset later, the turn between them shaded. */
function drawClock(context, x, y, radius, from, to, chosen, { ink, faint, query, tint }) {
  const stroke = (colour, lineWidth) => {
    Object.assign(context, { strokeStyle: css(colour), lineWidth });
    context.stroke();
  };
  const hand = (angle, colour, thick) => {
    const [across, up] = tip(angle);
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x + radius * 0.86 * across, y - radius * 0.86 * up);
    stroke(colour, thick);
  };
  const [top, round] = [-Math.PI / 2, 2 * Math.PI];
  context.beginPath();
  context.arc(x, y, radius, 0, round);
  stroke(chosen ? ink : faint, chosen ? 3 : 1.5);
  context.beginPath();
  context.moveTo(x, y);
  context.arc(x, y, radius * 0.8, from + top, Math.min(to, from + round) + top);
  context.fillStyle = css(tint("query"));
  context.fill();
  hand(from, ink, 2);
  hand(to, query, 4);
}

/** matrix × (sine, cosine) at i = (sine, cosine) at i + δ, in numbers. */
function showTurn(host, { position, offset, width, hand }) {
  const words = (text) => node("span", {}, text);
  const matrix = (numbers, kind = "") =>
    node("span", { class: `block ${kind}` }, ...numbers.map((number) => words(digits(number))));
  const angle = (place) => place * speed(hand, width);
  const [from, to] = [position, position + offset];
  host.replaceChildren(
    words(t`turn by ${degrees(angle(offset))}:`), matrix(rotation(angle(offset)).flat(), "two"),
    "×", matrix(tip(angle(from))), words(t`(position ${from}) =`),
    matrix(tip(angle(to))), words(t`(position ${to})`));
}

/** Lines across at some heights, each with its number. */
function rule(context, { faint }, heights, y, left, right) {
  for (const height of heights) {
    block(context, faint, left, y(height), right - left, 1);
    label(context, rough(height), left - 6, y(height), { align: "right" });
  }
}

/** Numbers under a plot at every `step`. */
function scaleBelow(context, count, step, x, y) {
  for (let place = 0; place < count; place += step) {
    label(context, String(place), x(place), y, { align: "center" });
  }
}

function drawWaves(canvas, { position, offset, width, hand }, steps, room, colours) {
  const [left, right, high] = [30, Math.max(room - 140, 120), 90];
  const context = pen(canvas, room, high + 34, colours);
  const x = (place) => left + (place / (steps - 1)) * (right - left);
  const y = (value) => 12 + (high * (1 - value)) / 2;
  const at = (place) => tip(place * speed(hand, width)).map(y);
  rule(context, colours, [-1, 0, 1], y, left, right);
  const eighths = places(8 * (steps - 1) + 1).map((i) => i / 8);
  [SINE, COSINE].forEach((colour, which) => {
    curve(context, eighths.map((place) => [x(place), at(place)[which]]), colour, 2.5);
  });
  for (const [place, colour] of [[position, colours.ink], [position + offset, colours.query]]) {
    curve(context, [[x(place), y(1)], [x(place), y(-1)]], colour, 1.5);
    for (const height of at(place)) disc(context, x(place), height, 5, colour);
  }
  const [sine, cosine] = apart(...at(steps - 1), 18);
  label(context, t`sine, column ${2 * hand}`, right + 8, sine);
  label(context, t`cosine, column ${2 * hand + 1}`, right + 8, cosine);
  scaleBelow(context, steps, 10, x, high + 25);
  label(context, t`position`, right + 8, high + 25);
  put(canvas, "aria-label", t`Sine and cosine of columns ${2 * hand} and ${2 * hand + 1} over
    positions 0 to ${steps - 1}, marked at ${position} and ${position + offset}.`);
}

/** Two heights, moved until they are `least` apart. */
function apart(first, second, least) {
  const push = Math.max(0, (least - Math.abs(first - second)) / 2);
  return first <= second ? [first - push, second + push] : [first + push, second - push];
}

/** P Pᵀ, scaled from its lowest value to 1. */
function similarities(steps, width) {
  const values = places(steps).map((offset) => similarity(offset, width));
  const lowest = Math.min(...values);
  const scaled = values.map((_, i) =>
    values.map((_, j) => (values[Math.abs(i - j)] - lowest) / (1 - lowest)));
  return { lowest, scaled };
}

/** P Pᵀ as a map, the chosen pair framed. */
function drawProducts(canvas, { position, offset, width }, scaled, colours) {
  const [cell, left, top, steps] = [3, 26, 16, scaled.length];
  const [row, column] = [position, position + offset];
  const context = pen(canvas, left + cell * steps + 12, top + cell * steps + 8, colours);
  map(context, colours, scaled, left, top, cell, cell);
  for (let place = 0; place < steps; place += 20) {
    const middle = (place + 0.5) * cell;
    label(context, String(place), left + middle, top - 9, { align: "center" });
    label(context, String(place), left - 4, top + middle, { align: "right" });
  }
  const [x, y] = [left + (column - 1) * cell, top + (row - 1) * cell];
  outline(context, colours.ink, x, y, 3 * cell, 3 * cell, 2);
  put(canvas, "aria-label", t`P times its transpose over positions 0 to ${steps - 1}: bands along
    the diagonal, darkest on it. At row ${row}, column ${column}:
    ${digits(similarity(offset, width))}.`);
}

function drawAlike(canvas, offset, width, steps, side, colours) {
  const [left, wide, high] = [30, side - 44, 200];
  const context = pen(canvas, left + wide + 14, high + 48, colours);
  const values = places(4 * (steps - 1) + 1).map((i) => similarity(i / 4, width));
  const lowest = Math.min(0, Math.floor(Math.min(...values) * 2) / 2);
  const x = (apart) => left + (apart / (steps - 1)) * wide;
  const y = (value) => 12 + (high * (1 - value)) / (1 - lowest);
  const chosen = similarity(offset, width);
  rule(context, colours, [...new Set([lowest, 0, 0.5, 1])], y, left, left + wide);
  curve(context, values.map((value, i) => [x(i / 4), y(value)]), colours.ink);
  disc(context, x(offset), y(chosen), 6, colours.query);
  scaleBelow(context, steps, 20, x, high + 24);
  label(context, t`offset`, left + wide / 2, high + 40, { align: "center" });
  put(canvas, "aria-label", t`Similarity of two rows against their offset, for width ${width}:
    1 at offset 0, ${digits(chosen)} at offset ${offset}.`);
}

/** One dot a hand: how many positions it needs for one round, on a logarithmic scale. */
function drawRounds(canvas, hand, width, side, colours) {
  const [left, wide, high, count] = [68, side - 94, 200, width / 2];
  const context = pen(canvas, side, high + 48, colours);
  const x = (each) => left + ((each + 0.5) / count) * wide;
  const y = (positions) => 12 + high * (1 - Math.log10(positions) / 5);
  rule(context, colours, [1, 10, 100, 1000, 10000, 100000], y, left, left + wide);
  for (const each of places(count)) {
    const [size, colour] = each === hand ? [6, colours.query] : [3, colours.ink];
    disc(context, x(each), y(round(each, width)), size, colour);
  }
  for (const each of [0, count - 1]) {
    label(context, columnsOf(each), x(each), high + 24, { align: "center" });
  }
  label(context, t`columns`, left + wide / 2, high + 40, { align: "center" });
  put(canvas, "aria-label", t`Positions in one round: ${rough(round(0, width))} for
    columns 0, 1, growing evenly on a logarithmic scale
    to ${rough(round(count - 1, width))} for the
    last; ${rough(round(hand, width))} for the chosen.`);
}

export default { render };
