// Multi-head attention: the same four matrices, cut into 1, 2, 4 ... heads. One head has one row of weights for all channels.

/** Queries, keys and values of all channels, (tokens, channels) each; they do not depend on the number of heads. */
export const project = ({ X, W_q, W_k, W_v }) => ({ Q: times(X, W_q), K: times(X, W_k), V: times(X, W_v) });

/** softmax(inverseTemperature q kᵀ / √size) v in each head, side by side, then W_o (Vaswani et al. 2017, section 3.2.2). */
export function attend({ Q, K, V }, W_o, heads, inverseTemperature) {
  const size = Q[0].length / heads;
  const block = (A, head) => A.map((row) => row.slice(head * size, (head + 1) * size));
  const weights = Array.from({ length: heads }, (_, head) => times(block(Q, head), block(K, head))
    .map((row) => softmax(row.map((score) => (inverseTemperature * score) / Math.sqrt(size)))));
  const columns = transpose(V);
  const mixed = Q.map((_, i) => columns.map((column, channel) => dot(weights[Math.floor(channel / size)][i], column)));
  return { weights, mixed, output: times(mixed, W_o) };
}

// ------------------------------------------------------------------ in words

/** Where a row of weights goes, the `most` largest of them: "dog 0.50 and man 0.50". */
export function takes(weights, tokens, most = 3) {
  const [least, largest] = [Math.min(...weights), Math.max(...weights)];
  if (weights.length > 1 && largest - least < 0.005) return `all ${weights.length} alike (${digits(largest)} each)`;
  const order = weights.map((weight, i) => [weight, i]).filter(([weight]) => weight >= Math.min(0.05, largest)).sort((a, b) => b[0] - a[0]);
  const words = order.slice(0, most).map(([weight, i]) => `${clip(tokens[i], 20)} ${digits(weight)}`);
  const rest = 1 - order.slice(0, most).reduce((sum, [weight]) => sum + weight, 0);
  return list(rest > 0.05 ? [...words, `others ${digits(rest)}`] : words);
}

/** The result for one token in a sentence. */
export function sentence({ weights, output }, tokens, asks) {
  const [heads, channels] = [weights.length, output[asks].length];
  const who = (head) => (heads > 1 ? `head ${head + 1}` : "it");
  const each = weights.slice(0, 4).map((rows, head) => `${who(head)} takes ${takes(rows[asks], tokens, heads > 4 ? 1 : 3)}`);
  const more = heads > 4 ? "; and so on" : "";
  const point = heads === 1 ? ", and this one mixture fills every channel" : "";
  const numbers = channels <= 8 ? ` Output: ${output[asks].map(digits).join(", ")}.` : "";
  return `${clip(tokens[asks], 20)}, ${heads} ${heads === 1 ? "head" : "heads"}: ${each.join("; ")}${more}${point}.${numbers}`;
}

/** The parts of a row that aren't negligible, with their features. */
function named(row, features) {
  const least = 1e-3 * Math.max(...row.map(Math.abs));
  return row.map((part, i) => [part, features[i]]).filter(([part]) => Math.abs(part) > least);
}

/** What one head looks for in a key, where it is one or two features: the score is linear in them. */
function wants(query, W_k, features) {
  const found = named(transpose(W_k).map((column) => dot(column, query)), features);
  if (!found.length) return "asks for nothing";
  return found.length <= 2 && found.every(([part]) => part > 0) ? `asks for ${list(found.map(([, feature]) => clip(feature, 16)))}` : "";
}

/** What a channel of the values is: the feature that W_v picks, "unused" where it picks none, else nothing that has a name. */
function carries(row, features) {
  const found = named(row, features);
  if (found.length !== 1) return found.length ? "" : "unused";
  return found[0][0] === 1 ? found[0][1] : `${digits(found[0][0])} ${found[0][1]}`;
}

const span = (first, last) => (first === last ? `channel ${first}` : `channels ${first} ${last > first + 1 ? "to" : "and"} ${last}`);

// ------------------------------------------------------------------ on the screen

const HEADS_STYLE = `
.d2l-piece .cut { margin-top: 12px; }
.d2l-piece .heads { display: grid; justify-content: start; gap: 18px 20px; margin: 12px 0 4px; }
.d2l-piece .heads canvas { cursor: pointer; margin: 4px 0; }
.d2l-piece .line { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 18px; margin-top: 10px; }
.d2l-piece .group { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; }
.d2l-piece .cell { border: 1.5px solid var(--output); border-radius: 4px; padding: 1px 8px; text-align: center; min-width: 3.6em; }
.d2l-piece .cell b { font-weight: 600; font-variant-numeric: tabular-nums; }
`;

export function render({ model, el }) {
  const { tokens, features, divisors, ...matrices } = model.get("data");
  const projected = project(matrices);
  const names = matrices.W_v.map((row) => carries(row, features));
  const called = names.map((name, channel) => name || `channel ${channel}`);
  const values = transpose(projected.V);
  const figure = values.flat().every(Number.isInteger) ? String : digits;  // how values are written
  const widest = ["0.00", ...values.flat().map(figure)].reduce((a, b) => (b.length > a.length ? b : a));
  const plain = matrices.W_o.every((row, i) => row.every((part, j) => part === Number(i === j)));  // W_o changes nothing
  const controls = {
    num_heads: choice("heads", divisors.map((heads) => [heads, String(heads)]), (num_heads) => change(model, { num_heads })),
    asks: choice("asking token", tokens.map((token, i) => [i, token]), (asks) => change(model, { asks })),
    inverse_temperature: slider("inverse temperature", { max: 2, step: 0.1, words: (factor) => `× ${factor.toFixed(1)}` }, (inverse_temperature) => change(model, { inverse_temperature })),
  };
  const { root, body, result } = frame(el, ...Object.values(controls).map((control) => control.element));
  const cut = node("p", { class: "cut" });
  const shelf = node("div", { class: "heads" });
  const output = node("div");
  root.prepend(node("style", {}, HEADS_STYLE));
  body.append(cut, shelf, output);
  const sets = new Map();  // of cards, one for each number of heads: new sizes for a canvas are slow
  const [compute, plot] = [sparing(attend), sparing(layout)];

  function card(head) {
    const [wish, taken, canvas] = [node("span"), node("p"), node("canvas", { role: "img" })];
    const made = { wish, taken, canvas, element: node("div", {}, node("p", {}, node("b", {}, `head ${head + 1}`), wish), canvas, taken), rowAt: () => -1 };
    canvas.addEventListener("click", (event) => {
      const asks = made.rowAt(event.offsetY);
      if (asks in tokens) change(model, { asks });
    });
    return made;
  }

  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    const { num_heads: heads, asks, inverse_temperature: inverseTemperature } = state;
    for (const [name, control] of Object.entries(controls)) control.show(state[name]);
    const all = compute(projected, matrices.W_o, heads, inverseTemperature);
    const size = projected.Q[0].length / heads;
    const plan = plot(tokens, called, widest, heads, width, colours);
    if (!sets.has(heads)) sets.set(heads, Array.from({ length: heads }, (_, head) => card(head)));
    const cards = sets.get(heads);
    if (shelf.firstChild !== cards[0].element) shelf.replaceChildren(...cards.map((each) => each.element));
    shelf.style.gridTemplateColumns = `repeat(${plan.columns}, max-content)`;
    write(cut, `The same four matrices, ${heads === 1 ? "uncut: 1 head" : `cut into ${heads} heads`} of ${size} channel${size > 1 ? "s" : ""}.`);

    for (let head = 0; head < heads; head++) {
      const own = [head * size, (head + 1) * size];
      const [weights, mixed] = [all.weights[head], all.mixed[asks].slice(...own)];
      const channels = span(own[0], own[1] - 1);
      const wanted = wants(projected.Q[asks].slice(...own), matrices.W_k.slice(...own), features);
      const each = cards[head];
      each.element.style.width = heads > 1 ? `${plan.width}px` : "";
      write(each.wish, wanted && ` ${wanted}`);
      write(each.taken, `takes ${plan.figures ? `${takes(weights[asks], tokens)} → ${channels}` : takes(weights[asks], tokens, 1)}`);
      put(each.canvas, "aria-label", `Head ${head + 1}, a map of weights: rows ask, columns are asked. ${clip(tokens[asks], 20)} takes `
        + `${takes(weights[asks], tokens)}. It fills ${channels}: ${mixed.slice(0, 8).map(digits).join(", ")}.`);
      each.rowAt = drawHead(each.canvas, colours, plan, { tokens, asks, weights, mixed, figure, values: values.slice(...own), names: called.slice(...own) });
    }
    showOutput(output, all, asks, size, clip(tokens[asks], 20), names, plain);
    write(result, sentence(all, tokens, asks));
  });
}

/** How many heads stand side by side, and how large a cell is: with figures where they fit, a bare map else. */
function layout(tokens, names, widest, heads, width, { measure, size }) {
  const [count, most, gap] = [tokens.length, Math.min(heads, 4), 20];
  const room = (columns) => Math.floor((Math.min(width, 1120) - 12 + gap) / columns) - gap;
  const left = Math.ceil(Math.min(110, Math.max(...["× values", ...tokens, ...names].map(measure)))) + 12;
  const right = Math.ceil(measure("= output")) + 10;
  const word = Math.min(48, Math.max(...tokens.map(measure)) + 6);
  for (let columns = most; columns > 0 && count <= 8; columns = Math.floor(columns / 2)) {
    const across = Math.min(56, Math.floor((room(columns) - left - right) / count));
    if (across < (columns > 1 ? Math.max(measure(widest) + 8, word) : measure(widest) + 2)) continue;
    return { columns, figures: true, left, across, down: Math.round(2.3 * size), width: left + right + across * count };
  }
  const columns = Math.max(1, Math.min(heads > 8 ? 8 : most, Math.floor(width / 110)));
  const across = Math.max(1, Math.min(24, (Math.min(room(columns), 300) - 18) / count));
  return { columns, figures: false, left: 15, across, down: across, width: Math.ceil(18 + across * count) };
}

/** The map of one head, the asking row outlined; under it the values this row weighs, beside them what comes out. Returns: y -> token. */
function drawHead(canvas, colours, plan, { tokens, asks, weights, values, names, mixed, figure }) {
  const { left, across, down, width } = plan;
  const { ink, size } = colours;
  const [count, wide] = [tokens.length, tokens.length * across];
  const rows = plan.figures ? Math.min(values.length, 6) : 0;
  const top = plan.figures ? size + 10 : 3;
  const below = top + count * down + size + 16;
  const context = pen(canvas, width, rows ? below + rows * down + 3 : top + count * down + 4, colours);
  const beside = (text, y, bold) => label(context, text, left - 8, y, { width: left - 8, align: "right", bold, colour: ink });
  map(context, colours, weights, left, top, across, down);
  if (!plan.figures) {
    outline(context, colours.query, left, top, wide, count * down, 2);
    pointer(context, 2, top + (asks + 0.5) * down, ink);
    outline(context, ink, left, top + asks * down - 1, wide, down + 2, 1.5);
    return (y) => Math.floor((y - top) / down);
  }
  figures(context, colours, weights, left, top, across, down, colours.weight);
  outline(context, colours.query, left, top, wide, count * down, 2);
  beside("weights", top / 2);
  tokens.forEach((token, i) => {
    label(context, token, left + (i + 0.5) * across, top / 2, { width: across - 4, align: "center", colour: ink });
    beside(token, top + (i + 0.5) * down, i === asks);
  });
  outline(context, ink, left, top + asks * down, wide, down, 3);

  const x = left + wide + 10;
  beside("× values", below - size / 2 - 4);
  label(context, "= output", x, below - size / 2 - 4, { colour: ink });
  names.slice(0, rows).forEach((name, i) => beside(name, below + (i + 0.5) * down));
  for (const [role, block, at, cell] of [["value", values, left, across], ["output", mixed.map((value) => [value]), x, width - x - 2]]) {
    const [shown, tint] = [block.slice(0, rows), colours.tint(role)];
    context.fillStyle = css(tint);
    context.fillRect(at, below, shown[0].length * cell, rows * down);
    figures(context, colours, shown, at, below, cell, down, () => tint, role === "value" ? figure : digits);
    outline(context, colours[role], at, below, shown[0].length * cell, rows * down, 2);
  }
  return (y) => Math.floor((y - top) / down);
}

/** A small triangle that points to the right, at (x, y). */
function pointer(context, x, y, colour) {
  context.beginPath();
  for (const [right, below] of [[0, -4.5], [8, 0], [0, 4.5]]) context.lineTo(x + right, y + below);
  context.fillStyle = css(colour);
  context.fill();
}

/** The asking token's output: its heads' channels side by side, then what W_o makes of them where it changes them; the first 16. */
function showOutput(host, { mixed, output, weights }, asks, size, token, names, plain) {
  const cell = (value, channel, name = "") => node("span", { class: "cell" }, `channel ${channel}`, node("br"), name, " ", node("b", {}, digits(value)));
  const group = (...cells) => node("span", { class: "group" }, ...cells);
  const line = (name, ...groups) => node("div", { class: "line" }, node("b", {}, name), ...groups);
  const few = mixed[asks].length <= 16;
  const lines = [];
  if (few) {
    const cells = mixed[asks].map((value, i) => cell(value, i, names[i] && names[i] !== "unused" ? clip(names[i], 16) : ""));
    const beside = weights.map((_, head) => group(`head ${head + 1}`, ...cells.slice(head * size, (head + 1) * size)));
    lines.push(line(plain ? `output of ${token}` : "side by side", ...beside));
  }
  if (!few || !plain) {
    const cells = output[asks].slice(0, 16).map((value, i) => cell(value, i));
    lines.push(line(`output of ${token}`, group(...cells, output[asks].length > 16 ? "…" : "")));
  }
  host.replaceChildren(...lines);
}

export default { render };
