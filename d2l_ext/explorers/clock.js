// Sinusoidal positions: clock hands and waves at a position, what an offset turns, how alike rows are, how long a round takes.

/** How far the hand of columns 2j and 2j + 1 turns in one step, in radians (Vaswani et al. 2017, section 3.5). */
export const speed = (hand, width) => 10000 ** ((-2 * hand) / width);

/** How many positions the hand needs for one round. */
export const round = (hand, width) => (2 * Math.PI) / speed(hand, width);

/** The two numbers of a hand that stands at `angle`: how far across, how far up. */
export const tip = (angle) => [Math.sin(angle), Math.cos(angle)];

/** The matrix that turns any such pair on by `angle`. */
export const rotation = (angle) => [[Math.cos(angle), Math.sin(angle)], [-Math.sin(angle), Math.cos(angle)]];

/** p_i · p_j for rows `offset` apart, divided by d/2: 1 for a row with itself. */
export function similarity(offset, width) {
  let sum = 0;
  for (let hand = 0; hand < width / 2; hand++) sum += Math.cos(offset * speed(hand, width));
  return sum / (width / 2);
}

// ------------------------------------------------------------------ in words

/** 35.3, 200, 35,300: three figures. */
export const rough = (number) => Number(number.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 2 });

const degrees = (angle) => `${rough((angle * 180) / Math.PI)}°`;

/** The hand that is shown: the chosen one, or the last where the width has fewer. */
export const shown = ({ hand, width }) => Math.min(hand, width / 2 - 1);

/** The result in a sentence. */
export function tell(state) {
  const { position, offset, width } = state;
  const hand = shown(state);
  const from = `From position ${position} to ${position + offset}`;
  if (!offset) return `${from} nothing turns: the rotation is the identity, and a row's similarity to itself is 1.`;
  return `${from} the hand of columns ${2 * hand} and ${2 * hand + 1} turns by ${degrees(offset * speed(hand, width))}, as it does from any other position. `
    + `A round takes it ${rough(round(hand, width))} positions. The similarity of the two rows, ${digits(similarity(offset, width))}, depends on the offset alone as well.`;
}

// ------------------------------------------------------------------ on the screen

const SINE = [86, 180, 233];
const COSINE = [230, 159, 0];
const CLOCK_STYLE = `
.d2l-piece .control .number { min-width: 5.2em; }
.d2l-piece .clocks { cursor: pointer; margin-top: 10px; }
.d2l-piece .turn { display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center; }
.d2l-piece .turn span { white-space: nowrap; }
.d2l-piece .block { display: inline-grid; gap: 0 12px; padding: 2px 8px; border: solid; border-width: 0 2px; border-radius: 6px; text-align: right; font-variant-numeric: tabular-nums; }
.d2l-piece .block.two { grid-template-columns: auto auto; }
.d2l-piece .plots { display: flex; flex-wrap: wrap; gap: 6px 34px; }
.d2l-piece .plots > div { max-width: 330px; }
`;

export function render({ model, el }) {
  const { widths, positions, offsets } = model.get("data");
  const steps = positions + offsets + 1;  // how far the plots reach
  const controls = {
    position: slider("position i", { max: positions }, (position) => change(model, { position })),
    offset: slider("offset δ", { max: offsets }, (offset) => change(model, { offset })),
    hand: slider("columns", { max: 1, words: (hand) => `${2 * hand}, ${2 * hand + 1}` }, (hand) => change(model, { hand })),
    width: choice("width d", widths.map((width) => [width, String(width)]), (width) => change(model, { width })),
  };
  const { root, body, result } = frame(el, ...Object.values(controls).map((control) => control.element));
  root.prepend(node("style", {}, CLOCK_STYLE));
  const canvas = (of) => node("canvas", { role: "img", class: of });
  const [clocks, waves, products, alike, rounds] = ["clocks", "", "", "", ""].map(canvas);
  const [turn, scale] = [node("div", { class: "turn" }), node("p")];
  const plot = (title, ...parts) => node("div", {}, node("p", { class: "title" }, title), ...parts);
  body.append(clocks, plot("The two columns of the chosen hand", turn, waves),
    node("div", { class: "plots" }, plot("How similar are rows i and i + δ? P Pᵀ, divided by d/2", products, scale), plot("… against their offset", alike), plot("Positions in one round, by columns", rounds)));
  const [alikeOf, plotAlike, plotRounds] = [alikeness, drawAlike, drawRounds].map(sparing);
  let handAt = () => -1;
  clocks.addEventListener("click", ({ offsetX, offsetY }) => {
    const hand = handAt(offsetX, offsetY);
    if (hand >= 0 && hand < model.get("state").width / 2) change(model, { hand });
  });

  return keepDrawn(model, root, (colours, room) => {
    const state = { ...model.get("state") };
    state.hand = shown(state);
    controls.position.show(state.position);
    controls.offset.show(state.offset);
    controls.hand.show(state.hand, state.width / 2 - 1);
    controls.width.show(state.width);
    handAt = drawClocks(clocks, state, room - 12, colours);
    showTurn(turn, state);
    drawWaves(waves, state, steps, Math.min(room - 12, 760), colours);
    const lowest = drawProducts(products, state, alikeOf(steps, state.width), colours);
    write(scale, `rows i, columns i + δ, from 0 to ${steps - 1}. Full colour is 1, none is ${digits(lowest)}; the frame is at i, i + δ`);
    plotAlike(alike, state.offset, state.width, steps, colours);
    plotRounds(rounds, state.hand, state.width, colours);
    const words = tell(state);
    put(clocks, "aria-label", `${state.width / 2} clocks. ${words}`);
    write(result, words);
  });
}

/** A hand each: thin at the position, bold and coloured an offset later, the turn between them shaded. Returns: (x, y) -> hand. */
function drawClocks(canvas, { position, offset, width, hand }, room, colours) {
  const count = width / 2;
  const columns = Math.min(count, room / 16 >= 46 ? 16 : 8);
  const across = Math.min(96, Math.floor(room / columns));
  const [radius, down] = [across * 0.42, across + colours.size + 8];
  const context = pen(canvas, Math.max(across * columns, 1), down * Math.ceil(count / columns) + 2, colours);
  const ray = (x, y, angle, length) => { context.beginPath(); context.moveTo(x, y); context.lineTo(x + length * Math.sin(angle), y - length * Math.cos(angle)); context.stroke(); };
  for (let each = 0; each < count; each++) {
    const [x, y] = [((each % columns) + 0.5) * across, Math.floor(each / columns) * down + across / 2 + 2];
    const [from, to] = [position, position + offset].map((place) => place * speed(each, width));
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    Object.assign(context, { strokeStyle: css(each === hand ? colours.ink : colours.faint), lineWidth: each === hand ? 3 : 1.5 });
    context.stroke();
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, radius * 0.8, from - Math.PI / 2, Math.min(to, from + 2 * Math.PI) - Math.PI / 2);
    context.fillStyle = css(colours.tint("query"));
    context.fill();
    Object.assign(context, { strokeStyle: css(colours.ink), lineWidth: 2 });
    ray(x, y, from, radius * 0.86);
    Object.assign(context, { strokeStyle: css(colours.query), lineWidth: 4 });
    ray(x, y, to, radius * 0.86);
    label(context, `${2 * each}, ${2 * each + 1}`, x, y + across / 2 + colours.size / 2, { align: "center", bold: each === hand, colour: colours.ink });
  }
  return (x, y) => Math.floor(y / down) * columns + Math.floor(x / across);
}

/** matrix × (sine, cosine) at i = (sine, cosine) at i + δ, in numbers. */
function showTurn(host, { position, offset, width, hand }) {
  const turned = offset * speed(hand, width);
  const block = (numbers, kind = "") => node("span", { class: `block ${kind}` }, ...numbers.map((number) => node("span", {}, digits(number))));
  const [from, to] = [position, position + offset].map((place) => tip(place * speed(hand, width)));
  host.replaceChildren(node("span", {}, `turn by ${degrees(turned)}:`), block(rotation(turned).flat(), "two"), "×", block(from),
    node("span", {}, `(position ${position}) =`), block(to), node("span", {}, `(position ${position + offset})`));
}

/** Lines across at some heights, each with its number. */
const rule = (context, colours, heights, y, left, right) => heights.forEach((height) => {
  context.fillStyle = css(colours.faint);
  context.fillRect(left, y(height), right - left, 1);
  label(context, rough(height), left - 6, y(height), { align: "right", colour: colours.ink });
});

function drawWaves(canvas, { position, offset, width, hand }, steps, room, colours) {
  const [left, right, high] = [30, Math.max(room - 140, 120), 120];
  const context = pen(canvas, room, high + 50, colours);
  const [x, y] = [(place) => left + (place / (steps - 1)) * (right - left), (value) => 12 + (high * (1 - value)) / 2];
  rule(context, colours, [-1, 0, 1], y, left, right);
  const waves = [0, 1].map((which) => Array.from({ length: 8 * (steps - 1) + 1 }, (_, i) => [x(i / 8), y(tip((i / 8) * speed(hand, width))[which])]));
  waves.forEach((points, which) => curve(context, points, [SINE, COSINE][which], 2.5));
  for (const [place, colour] of [[position, colours.ink], [position + offset, colours.query]]) {
    curve(context, [[x(place), y(1)], [x(place), y(-1)]], colour, 1.5);
    tip(place * speed(hand, width)).forEach((value) => disc(context, x(place), y(value), 5, colour));
  }
  const ends = waves.map((points) => points.at(-1)[1]);
  const apart = Math.abs(ends[0] - ends[1]) < 18 ? (18 - Math.abs(ends[0] - ends[1])) / 2 : 0;
  ["sine", "cosine"].forEach((name, which) => label(context, `${name}, column ${2 * hand + which}`, right + 8, ends[which] + (ends[which] <= ends[1 - which] && (which === 0 || ends[0] !== ends[1]) ? -apart : apart), { colour: colours.ink }));
  for (let place = 0; place < steps; place += 10) label(context, String(place), x(place), high + 26, { align: "center", colour: colours.ink });
  label(context, "position", (left + right) / 2, high + 42, { align: "center", colour: colours.ink });
  put(canvas, "aria-label", `Sine and cosine of columns ${2 * hand} and ${2 * hand + 1} over positions 0 to ${steps - 1}, marked at ${position} and ${position + offset}.`);
}

/** P Pᵀ, scaled from its lowest value to 1. */
function alikeness(steps, width) {
  const values = Array.from({ length: steps }, (_, apart) => similarity(apart, width));
  const lowest = Math.min(...values);
  return { lowest, scaled: values.map((_, i) => values.map((_, j) => (values[Math.abs(i - j)] - lowest) / (1 - lowest))) };
}

/** P Pᵀ as a map, the chosen pair framed. Returns its lowest value. */
function drawProducts(canvas, { position, offset, width }, { lowest, scaled }, colours) {
  const [cell, left, top, steps] = [3, 26, 16, scaled.length];
  const context = pen(canvas, left + cell * steps + 12, top + cell * steps + 8, colours);
  map(context, colours, scaled, left, top, cell, cell);
  for (let place = 0; place < steps; place += 20) {
    label(context, String(place), left + (place + 0.5) * cell, top - 9, { align: "center", colour: colours.ink });
    label(context, String(place), left - 4, top + (place + 0.5) * cell, { align: "right", colour: colours.ink });
  }
  outline(context, colours.ink, left + (position + offset - 1) * cell, top + (position - 1) * cell, 3 * cell, 3 * cell, 2);
  put(canvas, "aria-label", `P times its transpose over positions 0 to ${steps - 1}: bands along the diagonal, darkest on it. At row ${position}, column ${position + offset}: ${digits(similarity(offset, width))}.`);
  return lowest;
}

function drawAlike(canvas, offset, width, steps, colours) {
  const [left, wide, high] = [30, 270, 200];
  const context = pen(canvas, left + wide + 14, high + 48, colours);
  const values = Array.from({ length: 4 * (steps - 1) + 1 }, (_, i) => similarity(i / 4, width));
  const lowest = Math.min(0, Math.floor(Math.min(...values) * 2) / 2);
  const [x, y] = [(apart) => left + (apart / (steps - 1)) * wide, (value) => 12 + (high * (1 - value)) / (1 - lowest)];
  rule(context, colours, lowest < 0 ? [lowest, 0, 0.5, 1] : [0, 0.5, 1], y, left, left + wide);
  curve(context, values.map((value, i) => [x(i / 4), y(value)]), colours.ink);
  disc(context, x(offset), y(similarity(offset, width)), 6, colours.query);
  for (let apart = 0; apart < steps; apart += 20) label(context, String(apart), x(apart), high + 24, { align: "center", colour: colours.ink });
  label(context, "offset", left + wide / 2, high + 40, { align: "center", colour: colours.ink });
  put(canvas, "aria-label", `Similarity of two rows against their offset, for width ${width}: 1 at offset 0, ${digits(similarity(offset, width))} at offset ${offset}.`);
}

/** One dot a hand: how many positions it needs for one round, on a logarithmic scale. */
function drawRounds(canvas, hand, width, colours) {
  const [left, wide, high, count] = [68, 232, 200, width / 2];
  const context = pen(canvas, left + wide + 14, high + 48, colours);
  const [x, y] = [(each) => left + ((each + 0.5) / count) * wide, (positions) => 12 + high * (1 - Math.log10(positions) / 5)];
  rule(context, colours, [1, 10, 100, 1000, 10000, 100000], y, left, left + wide);
  for (let each = 0; each < count; each++) disc(context, x(each), y(round(each, width)), each === hand ? 6 : 3, each === hand ? colours.query : colours.ink);
  for (const each of new Set([0, count - 1])) label(context, `${2 * each}, ${2 * each + 1}`, x(each), high + 24, { align: "center", colour: colours.ink });
  label(context, "columns", left + wide / 2, high + 40, { align: "center", colour: colours.ink });
  put(canvas, "aria-label", `Positions in one round: ${rough(round(0, width))} for columns 0, 1, growing evenly on a logarithmic scale to ${rough(round(count - 1, width))} for the last; ${rough(round(hand, width))} for the chosen.`);
}

export default { render };
