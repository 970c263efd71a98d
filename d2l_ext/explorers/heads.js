// Multi-head attention: the same four matrices, cut into 1, 2, 4 ... heads. One head has one row of weights for all channels.

/** Queries, keys and values of all channels, (tokens, channels) each; they do not depend on the number of heads. */
export const project = ({ X, W_q, W_k, W_v }) => ({ Q: times(X, W_q), K: times(X, W_k), V: times(X, W_v) });

/** softmax(sharpness q kᵀ / √size) v in each head, side by side, then W_o (Vaswani et al. 2017, section 3.2.2). */
export function attend({ Q, K, V }, W_o, heads, sharpness) {
  const size = Q[0].length / heads;
  const block = (A, head) => A.map((row) => row.slice(head * size, (head + 1) * size));
  const weights = Array.from({ length: heads }, (_, head) => times(block(Q, head), block(K, head))
    .map((row) => softmax(row.map((score) => (sharpness * score) / Math.sqrt(size)))));
  const columns = transpose(V);
  const mixed = Q.map((_, i) => columns.map((column, channel) => dot(weights[Math.floor(channel / size)][i], column)));
  return { weights, mixed, output: times(mixed, W_o) };
}

// ------------------------------------------------------------------ in words

/** Where a row of weights goes: "dog 0.50 and man 0.50". */
export function takes(weights, tokens) {
  if (weights.length > 1 && Math.max(...weights) - Math.min(...weights) < 0.005) return `all ${weights.length} alike (${digits(weights[0])} each)`;
  const order = weights.map((weight, i) => [weight, i]).filter(([weight]) => weight >= 0.05).sort((a, b) => b[0] - a[0]);
  const named = (order.length ? order : [[Math.max(...weights), weights.indexOf(Math.max(...weights))]]).slice(0, 3);
  const words = named.map(([weight, i]) => `${clip(tokens[i], 20)} ${digits(weight)}`);
  const rest = 1 - named.reduce((sum, [weight]) => sum + weight, 0);
  return list(rest > 0.05 ? [...words, `others ${digits(rest)}`] : words);
}

/** The result for one token in a sentence. */
export function sentence({ weights, output }, tokens, asks) {
  const [heads, channels] = [weights.length, output[asks].length];
  const each = weights.slice(0, 4).map((rows, head) => `${heads > 1 ? `head ${head + 1}` : "it"} takes ${takes(rows[asks], tokens)}`);
  const more = heads > 4 ? `, and so on` : "";
  const point = heads === 1 ? ", and this one mixture fills every channel" : "";
  const numbers = channels <= 8 ? ` Output: ${output[asks].map(digits).join(", ")}.` : "";
  return `${clip(tokens[asks], 20)}, ${heads} ${heads === 1 ? "head" : "heads"}: ${each.join("; ")}${more}${point}.${numbers}`;
}

const named = (row, features) => row.map((part, i) => [part, features[i]]).filter(([part]) => Math.abs(part) > 1e-3 * Math.max(...row.map(Math.abs)));

/** What one head looks for in a key, where it is one or two features: the score is linear in them. */
function wants(query, W_k, features) {
  const found = named(transpose(W_k).map((column) => dot(column, query)), features);
  if (!found.length) return "asks for nothing";
  return found.length <= 2 && found.every(([part]) => part > 0) ? `asks for ${list(found.map(([, feature]) => clip(feature, 16)))}` : "";
}

/** What a channel of the values is, where W_v picks a single feature. */
function carries(row, features) {
  const found = named(row, features);
  if (found.length > 1) return "";
  return found.length ? (found[0][0] === 1 ? found[0][1] : `${digits(found[0][0])} ${found[0][1]}`) : "–";
}

// ------------------------------------------------------------------ on the screen

const HEADS_STYLE = `
.d2l-piece .heads { display: grid; justify-content: start; gap: 14px 34px; margin: 10px 0 4px; }
.d2l-piece .heads canvas { cursor: pointer; margin: 4px 0; }
.d2l-piece .channels { display: flex; flex-wrap: wrap; align-items: center; gap: 6px 18px; margin-top: 10px; }
.d2l-piece .channels .group { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; }
.d2l-piece .channels .cell { border: 1.5px solid var(--output); border-radius: 4px; padding: 1px 8px; text-align: center; min-width: 3.6em; }
.d2l-piece .channels .cell b { display: block; font-weight: 600; font-variant-numeric: tabular-nums; }
`;

export function render({ model, el }) {
  const { tokens, features, divisors, ...matrices } = model.get("data");
  const projected = project(matrices);
  const plain = matrices.W_o.every((row, i) => row.every((part, j) => part === Number(i === j)));  // W_o changes nothing
  const controls = {
    num_heads: choice("heads", divisors.map((heads) => [heads, String(heads)]), (num_heads) => change(model, { num_heads })),
    asks: choice("asking token", tokens.map((token, i) => [i, token]), (asks) => change(model, { asks })),
    sharpness: slider("sharpness", { min: 0, max: 2, step: 0.1 }, (sharpness) => change(model, { sharpness })),
  };
  const { root, body, result } = frame(el, ...Object.values(controls).map((control) => control.element));
  const cut = node("p");
  const shelf = node("div", { class: "heads" });
  const channels = node("div", { class: "channels" });
  root.prepend(node("style", {}, HEADS_STYLE));
  body.append(cut, shelf, channels);
  const cards = [];

  function card(head) {
    const [title, taken, canvas] = [node("p"), node("p"), node("canvas", { role: "img" })];
    const made = { title, taken, canvas, element: node("div", {}, title, canvas, taken), rowAt: () => -1 };
    canvas.addEventListener("click", (event) => {
      const asks = made.rowAt(event.offsetY);
      if (asks in tokens) change(model, { asks });
    });
    return made;
  }

  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    const { num_heads: heads, asks, sharpness } = state;
    for (const [name, control] of Object.entries(controls)) control.show(state[name]);
    const all = attend(projected, matrices.W_o, heads, sharpness);
    const size = projected.Q[0].length / heads;
    const plan = layout(tokens, heads, size, width, colours);
    while (cards.length < heads) cards.push(card(cards.length));
    if (shelf.childElementCount !== heads) shelf.replaceChildren(...cards.slice(0, heads).map((each) => each.element));
    shelf.style.gridTemplateColumns = `repeat(${plan.columns}, max-content)`;
    write(cut, `The same four matrices, ${heads === 1 ? "uncut: 1 head" : `cut into ${heads} heads`} of ${size} ${size === 1 ? "channel" : "channels"}.`);

    for (let head = 0; head < heads; head++) {
      const own = [head * size, (head + 1) * size];
      const weights = all.weights[head];
      const values = transpose(projected.V).slice(...own);
      const mixed = all.mixed[asks].slice(...own);
      const wanted = wants(projected.Q[asks].slice(...own), matrices.W_k.slice(...own), features);
      const names = values.map((_, i) => `${own[0] + i} ${carries(matrices.W_v[own[0] + i], features)}`);
      const { title, taken, canvas } = cards[head];
      cards[head].element.style.width = `${plan.width}px`;
      title.replaceChildren(node("b", {}, `head ${head + 1}`), wanted && ` ${wanted}`);
      write(taken, `takes ${takes(weights[asks], tokens)}`);
      cards[head].rowAt = drawHead(canvas, colours, plan, { tokens, asks, weights, values, names, mixed });
      canvas.setAttribute("aria-label", `Head ${head + 1}, a map of weights: rows ask, columns are asked. ${clip(tokens[asks], 20)} takes `
        + `${takes(weights[asks], tokens)}. It fills channels ${own[0]} to ${own[1] - 1}: ${mixed.slice(0, 8).map(digits).join(", ")}.`);
    }
    showOutput(channels, all, asks, size, clip(tokens[asks], 20), plain);
    write(result, sentence(all, tokens, asks));
  });
}

/** How many heads stand side by side, and how large a cell is: with numbers where they fit, a bare map else. */
function layout(tokens, heads, size, width, colours) {
  const gap = 34;
  const card = (columns) => Math.floor((Math.min(width, 1080) - 12 - gap * (columns - 1)) / columns);
  const [left, right] = [96, 74];
  const most = Math.min(heads, 4);
  for (let columns = most; columns > 0 && tokens.length <= 8; columns--) {
    const across = Math.min(56, Math.floor((card(columns) - left - right) / tokens.length));
    if (across >= 3 * colours.size - 2) return { columns, figures: true, left, across, down: 32, rows: Math.min(size, 6), width: left + right + across * tokens.length };
  }
  const columns = Math.max(1, Math.min(heads > 8 ? 8 : most, Math.floor(width / 130)));
  const across = Math.max(1, Math.min(24, Math.floor((Math.min(card(columns), 300) - 18) / tokens.length * 4) / 4));
  return { columns, figures: false, left: 14, across, down: across, rows: 0, width: 18 + across * tokens.length };
}

/** The map of one head, the asking row outlined; under it the values this row weighs, beside them what comes out. Returns: y -> token. */
function drawHead(canvas, colours, plan, { tokens, asks, weights, values, names, mixed }) {
  const { left, across, down, rows } = plan;
  const { ink, size } = colours;
  const [count, wide] = [tokens.length, tokens.length * plan.across];
  const top = plan.figures ? size + 10 : 3;
  const below = top + count * down + size + 16;
  const context = pen(canvas, plan.width, rows ? below + rows * down + 3 : top + count * down + 4, colours);
  map(context, colours, weights, left, top, across, down);
  if (plan.figures) {
    figures(context, colours, weights, left, top, across, down, colours.weight);
    tokens.forEach((token, i) => {
      label(context, token, left + (i + 0.5) * across, top / 2, { width: across - 4, align: "center", colour: ink });
      label(context, token, left - 8, top + (i + 0.5) * down, { width: left - 8, align: "right", bold: i === asks, colour: ink });
    });
  } else {
    outline(context, colours.faint, left, top, wide, count * down, 1);
    label(context, "▸", left - 12, top + (asks + 0.5) * down, { colour: ink });
  }
  outline(context, ink, left, top + asks * down, wide, down);
  if (rows) {
    const x = left + wide + 16;
    label(context, "× values", left - 8, below - size / 2 - 4, { align: "right", colour: ink });
    label(context, "= output", x + 27, below - size / 2 - 4, { align: "center", colour: ink });
    for (const [role, block, at, cell] of [["value", values.slice(0, rows), left, across], ["output", mixed.slice(0, rows).map((value) => [value]), x, 54]]) {
      context.fillStyle = css(colours.tint(role));
      context.fillRect(at, below, block[0].length * cell, rows * down);
      figures(context, colours, block, at, below, cell, down, () => colours.tint(role));
      outline(context, colours[role], at, below, block[0].length * cell, rows * down, 2);
    }
    names.slice(0, rows).forEach((name, i) => label(context, name, left - 8, below + (i + 0.5) * down, { width: left - 8, align: "right", colour: ink }));
  }
  return (y) => Math.floor((y - top) / down);
}

/** The asking token's output: its heads' channels side by side, and after W_o where that changes them. */
function showOutput(host, { mixed, output, weights }, asks, size, token, plain) {
  const cells = (row, first) => row.map((value, i) => node("span", { class: "cell" }, String(first + i), node("b", {}, digits(value))));
  const groups = weights.slice(0, 16).map((_, head) => node("span", { class: "group" }, `head ${head + 1}`, ...cells(mixed[asks].slice(head * size, head * size + size).slice(0, 16), head * size)));
  host.replaceChildren(node("b", {}, plain ? `output of ${token}` : `heads side by side`), ...groups);
  if (!plain) host.append(node("b", {}, `through W_o: output of ${token}`), node("span", { class: "group" }, ...cells(output[asks].slice(0, 16), 0)));
}

export default { render };
