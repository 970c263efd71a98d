// Multi-head attention: the same four matrices, cut into 1, 2, 4 ... heads.

/** Queries, keys and values of all channels, (tokens, channels) each, for any number of heads. */
export function project({ X, W_q, W_k, W_v }) {
  return { Q: times(X, W_q), K: times(X, W_k), V: times(X, W_v) };
}

/** Each head's weights: softmax(inverse temperature × q kᵀ / √size) (Vaswani et al. 2017,
 * section 3.2.2). */
export function weigh({ Q, K }, heads, inverseTemperature) {
  const size = Q[0].length / heads;
  const factor = inverseTemperature / Math.sqrt(size);
  const block = (A, head) => A.map((row) => row.slice(head * size, (head + 1) * size));
  return places(heads).map((head) => {
    const scores = times(block(Q, head), block(K, head));
    return scores.map((row) => softmax(row, factor));
  });
}

/** One token's values, mixed by the heads side by side, and its output, which W_o makes of them. */
export function combine(weights, { V }, W_o, token) {
  const size = V[0].length / weights.length;
  const mixed = transpose(V).map((values, channel) => {
    const head = Math.floor(channel / size);
    return dot(weights[head][token], values);
  });
  return { mixed, output: times([mixed], W_o)[0] };
}

// ---- in words ------------------------------------------------------------------

/** The result for one token in a sentence. */
export function sentence(weights, output, tokens, asks) {
  const heads = weights.length;
  const who = (head) => (heads > 1 ? t`head ${head + 1}` : t`it`);
  const each = weights.slice(0, 4).map((rows, head) =>
    t`${who(head)} takes ${takes(rows[asks], tokens, heads > 4 ? 1 : 3)}`);
  const more = heads > 4 ? t`; and so on` : "";
  const point = heads === 1 ? t`, and this one mixture fills every channel` : "";
  const numbers = output.length <= 8 ? t` Output: ${output.map(digits).join(", ")}.` : "";
  const told = `${each.join(t`; `)}${more}${point}`;
  return t`${clip(tokens[asks], 20)}, ${plural(heads, "head")}: ${told}.${numbers}`;
}

/** The parts of a row that aren't negligible, with their features. */
function named(row, features) {
  const least = 1e-3 * Math.max(...row.map(Math.abs));
  return row.map((part, i) => [part, features[i]]).filter(([part]) => Math.abs(part) > least);
}

/** What a head looks for in a key, if it is one or two features: the score is linear in them. */
function wants(query, W_k, features) {
  const found = named(transpose(W_k).map((column) => dot(column, query)), features);
  if (!found.length) return t` asks for nothing`;
  if (found.length > 2 || found.some(([part]) => part < 0)) return "";
  return t` asks for ${list(found.map(([, feature]) => clip(said(feature), 16)))}`;
}

/** What a channel of the values holds: the one feature that W_v picks, "unused" where it picks
 * none, and "" for a mixture. */
function carries(row, features) {
  const found = named(row, features);
  if (!found.length) return t`unused`;
  if (found.length > 1) return "";
  const [part, feature] = found[0];
  return part === 1 ? said(feature) : `${digits(part)} ${said(feature)}`;
}

function span(first, last) {
  if (first === last) return t`channel ${first}`;
  return last > first + 1 ? t`channels ${first} to ${last}` : t`channels ${first} and ${last}`;
}

// ---- on the screen -------------------------------------------------------------

const HEADS_STYLE = `
  .heads { display: grid; justify-content: start; gap: 10px 20px; margin: 4px 0 0; }
  .heads canvas { cursor: pointer; margin: 2px 0; }
  .line { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 18px; margin-top: 6px; }
  .group { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; }
  .cell {
    border: 1.5px solid var(--output); border-radius: 4px; padding: 1px 8px;
    text-align: center; min-width: 3.6em;
  }
  .cell b { font-weight: 600; font-variant-numeric: tabular-nums; }
`;

export function render({ model, el }) {
  speak(model);
  const { tokens, features, divisors, ...matrices } = model.get("data");
  const { W_k, W_o } = matrices;
  const projected = project(matrices);
  const channels = describe(matrices, projected, features);
  const numbers = divisors.map((heads) => [heads, String(heads)]);
  const factor = { max: 2, step: 0.1, words: (number) => `× ${number.toFixed(1)}` };
  const set = setter(model);
  const controls = {
    num_heads: choice(t`heads`, numbers, set("num_heads")),
    asks: choice(t`asking token`, tokens.map((token, i) => [i, token]), set("asks")),
    inverse_temperature: slider(t`inverse temperature`, factor, set("inverse_temperature")),
  };
  const { root, body, result } = frame(el, HEADS_STYLE, ...elements(controls));
  const cut = node("p");
  const shelf = node("div", { class: "heads" });
  const answer = node("div");
  body.append(cut, shelf, answer);
  const sets = {};  // the cards for each number of heads, as new sizes for a canvas are slow
  const [weighed, planned] = [memoized(weigh), memoized(plan)];
  let layout;
  shelf.addEventListener("click", ({ target, offsetY }) => {
    const row = Math.floor((offsetY - layout.top) / layout.down);
    if (target.matches("canvas") && row in tokens) set("asks")(row);
  });

  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    const { num_heads: heads, asks } = state;
    const size = W_o[0].length / heads;
    const weights = weighed(projected, heads, state.inverse_temperature);
    const { mixed, output } = combine(weights, projected, W_o, asks);
    const cards = (sets[heads] ??= places(heads).map(makeCard));
    layout = planned(tokens, channels, heads, width, colours);
    showAll(controls, state);
    const how = heads === 1 ? t`uncut: 1 head` : t`cut into ${heads} heads`;
    write(cut, t`The same four matrices, ${how} of ${plural(size, "channel")}.`);
    if (shelf.firstChild !== cards[0].element) shelf.replaceChildren(...elements(cards));
    shelf.style.gridTemplateColumns = `repeat(${layout.columns}, fit-content(100%))`;
    cards.forEach((card, head) => {
      const [first, end] = [head * size, (head + 1) * size];
      const own = (all) => all.slice(first, end);
      card.element.style.width = heads > 1 ? `${layout.width}px` : "";
      write(card.wish, wants(own(projected.Q[asks]), own(W_k), features));
      showHead(card, colours, layout, {
        tokens, asks, name: t`Head ${head + 1}`, weights: weights[head], mixed: own(mixed),
        values: own(channels.values), names: own(channels.names), words: channels.words,
        fills: span(first, end - 1),
      });
    });
    showOutput(answer, clip(tokens[asks], 20), heads, mixed, output, channels);
    write(result, sentence(weights, output, tokens, asks));
  });
}

/** What stays about the channels: what each carries, its name, its values and how to write them,
 * and whether W_o leaves them as they are. */
function describe({ W_v, W_o }, { V }, features) {
  const carried = W_v.map((row) => carries(row, features));
  const names = carried.map((name, channel) => name || t`channel ${channel}`);
  const words = V.flat().every(Number.isInteger) ? String : digits;
  const written = ["0.00", ...transpose(V).flat().map(words)];
  const widest = written.reduce((a, b) => (b.length > a.length ? b : a));
  const plain = W_o.length === W_v.length
    && W_o.every((row, i) => row.every((part, j) => part === Number(i === j)));
  return { carried, names, values: transpose(V), words, widest, plain };
}

function makeCard(_, head) {
  const [wish, taken] = [node("span"), node("p")];
  const canvas = node("canvas", { role: "img" });
  const title = node("p", {}, node("b", {}, t`head ${head + 1}`), wish);
  return { wish, taken, canvas, element: node("div", {}, title, canvas, taken) };
}

/** How many heads stand side by side, and how large a cell is. */
function plan(tokens, channels, heads, width, colours) {
  const gap = 20;
  const room = (columns) => Math.floor((Math.min(width, 1120) - 12 + gap) / columns) - gap;
  for (let columns = Math.min(heads, 4); columns > 0; columns = Math.floor(columns / 2)) {
    const found = tokens.length <= 8 && withFigures(tokens, channels, columns, room, colours);
    if (found) return found;
  }
  const most = heads > 8 ? 8 : Math.min(heads, 4);
  const columns = Math.max(1, Math.min(most, Math.floor(width / 110)));
  const across = Math.min(24, (Math.min(room(columns), 300) - 18) / tokens.length);
  const cell = Math.max(1, across);
  const wide = Math.ceil(18 + cell * tokens.length);
  return { columns, figures: false, left: 15, top: 3, across: cell, down: cell, width: wide };
}

/** The plan for maps with their figures, or nothing where those don't fit. */
function withFigures(tokens, { names, widest }, columns, room, { measure, size }) {
  const longest = (words) => Math.max(...words.map(measure));
  const widestName = Math.max(longest([t`× values`, ...names]), 1.1 * longest(tokens)); // bold
  const left = Math.ceil(Math.min(110, widestName)) + 12;
  const right = Math.ceil(measure(t`= output`)) + 10;
  const across = Math.min(56, Math.floor((room(columns) - left - right) / tokens.length));
  const least = columns > 1
    ? Math.max(measure(widest) + 8, Math.min(48, longest(tokens) + 6))
    : measure(widest) + 2;
  if (across < least) return undefined;
  const width = left + right + across * tokens.length;
  const down = 2 * size;
  return { columns, figures: true, left, top: size + 10, across, down, width };
}

/** A head in its card: where the asking token looks, in a picture and in words. */
function showHead(card, colours, layout, part) {
  const { tokens, asks, weights, mixed } = part;
  const taken = takes(weights[asks], tokens);
  write(card.taken, layout.figures
    ? t`takes ${taken} → ${part.fills}` : t`takes ${takes(weights[asks], tokens, 1)}`);
  put(card.canvas, "aria-label",
    t`${part.name}, a map of weights: rows ask, columns are asked. ${clip(tokens[asks], 20)} takes
    ${taken}. It fills ${part.fills}: ${mixed.slice(0, 8).map(digits).join(", ")}.`);
  (layout.figures ? drawFigures : drawBare)(card.canvas, colours, layout, part);
}

/** The map alone, a pointer at the asking row. */
function drawBare(canvas, colours, { left, top, across, width }, { weights, asks }) {
  const side = weights.length * across;
  const y = top + asks * across;
  const context = pen(canvas, width, top + side + 4, colours);
  map(context, colours, weights, left, top, across, across);
  outline(context, colours.query, left, top, side, side, 2);
  pointer(context, 2, y + 0.5 * across, colours.ink);
  outline(context, colours.ink, left, y - 1, side, across + 2, 1.5);
}

/** The map with its figures, the asking row outlined; under it the values that this row weighs,
 * and beside them what comes out. */
function drawFigures(canvas, colours, layout, part) {
  const { tokens, asks, weights, values, names, mixed, words } = part;
  const { left, top, across, down, width } = layout;
  const { ink, size, query } = colours;
  const [wide, high] = [tokens.length * across, tokens.length * down];
  const rows = Math.min(values.length, 6);
  const below = top + high + size + 12;
  const context = pen(canvas, width, below + rows * down + 3, colours);
  const beside = (text, y, bold) =>
    label(context, text, left - 8, y, { width: left - 8, align: "right", bold });
  map(context, colours, weights, left, top, across, down);
  figures(context, colours, weights, left, top, across, down, colours.weight);
  outline(context, query, left, top, wide, high, 2);
  beside(t`weights`, top / 2);
  tokens.forEach((token, i) => {
    const x = left + (i + 0.5) * across;
    label(context, token, x, top / 2, { width: across - 4, align: "center" });
    beside(token, top + (i + 0.5) * down, i === asks);
  });
  outline(context, ink, left, top + asks * down, wide, down, 3);

  const [right, heading] = [left + wide + 10, below - size / 2 - 4];
  beside(t`× values`, heading);
  label(context, t`= output`, right, heading);
  names.slice(0, rows).forEach((name, i) => beside(name, below + (i + 0.5) * down));
  const table = (role, cells, x, cell, write) => {
    const [tint, shown] = [colours.tint(role), cells.slice(0, rows)];
    const full = shown[0].length * cell;
    block(context, tint, x, below, full, rows * down);
    figures(context, colours, shown, x, below, cell, down, () => tint, write);
    outline(context, colours[role], x, below, full, rows * down, 2);
  };
  table("value", values, left, across, words);
  table("output", mixed.map((value) => [value]), right, width - right - 2, digits);
}

/** The asking token's output: its heads' channels side by side, then what W_o makes of them where
 * it changes them; the first 16. */
function showOutput(host, token, heads, mixed, output, { carried, plain }) {
  const group = (...cells) => node("span", { class: "group" }, ...cells);
  const line = (name, ...groups) => node("div", { class: "line" }, node("b", {}, name), ...groups);
  const few = mixed.length <= 16;
  const lines = [];
  if (few) {
    const cells = mixed.map((value, i) => outputCell(value, i, carried[i]));
    const size = mixed.length / heads;
    const beside = places(heads).map((head) =>
      group(t`head ${head + 1}`, ...cells.slice(head * size, (head + 1) * size)));
    lines.push(line(plain ? t`output of ${token}` : t`side by side`, ...beside));
  }
  if (!few || !plain) {
    const cells = output.slice(0, 16).map((value, i) => outputCell(value, i));
    lines.push(line(t`output of ${token}`, group(...cells, output.length > 16 ? "…" : "")));
  }
  host.replaceChildren(...lines);
}

function outputCell(value, channel, carried) {
  const name = carried && carried !== t`unused` ? clip(carried, 16) : "";
  return node("span", { class: "cell" },
    t`channel ${channel}`, node("br"), name, " ", node("b", {}, digits(value)));
}

export default { render };
