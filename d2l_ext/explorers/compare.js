// Convolution, recurrence, self-attention: what a layer costs at any size, and who sees whom as
// layers are added.

// The attention products are a part of the attention layer. The recurrences share a colour, and
// differ in their dashes.
export const KINDS = [
  "convolution", "recurrence", "GRU", "LSTM", "attention products", "attention layer",
];
const ROLE = ["query", "key", "key", "key", "value", "output"];
const DASHES = [[], [], [9, 3], [2, 3], [6, 4], []];
const PART = KINDS.indexOf("attention products");
const WHOLE = places(KINDS.length).filter((i) => i !== PART);

/** Operations, sequential steps and longest path of one layer, as `d2l_ext.cost` has them; the
 * number of heads changes none of them. */
export function cost(kind, n, d, k) {
  const products = 4 * n * n * d;
  const direct = Math.min(n - 1, 1);
  return {
    convolution: {
      operations: 2 * k * n * d * d, sequential: 1, path: Math.ceil((2 * (n - 1)) / (k - 1)),
    },
    recurrence: { operations: 4 * n * d * d, sequential: n, path: n - 1 },
    GRU: { operations: 12 * n * d * d, sequential: n, path: n - 1 },
    LSTM: { operations: 16 * n * d * d, sequential: n, path: n - 1 },
    "attention products": { operations: products, sequential: 2, path: direct },
    "attention layer": { operations: 8 * n * d * d + products, sequential: 4, path: direct },
  }[kind];
}

/** The places of the layer below that place i of m takes from, itself included. */
const takesFrom = {
  convolution: (i, m, k) => places(m).filter((j) => Math.abs(i - j) <= (k - 1) / 2),
  recurrence: (i) => places(i + 1),
  "self-attention": (i, m) => places(m),
};

/** Who sees whom after some layers: rows outputs, columns inputs, 1 or 0. */
export function seen(kind, m, k, layers) {
  let known = places(m).map((i) => new Set([i]));
  for (let layer = 0; layer < layers; layer++) {
    known = known.map((_, i) => new Set(takesFrom[kind](i, m, k).flatMap((j) => [...known[j]])));
  }
  return known.map((inputs) => places(m).map((j) => Number(inputs.has(j))));
}

// ---- in words ------------------------------------------------------------------

const AMOUNTS = [
  [1e15, "quadrillion"], [1e12, "trillion"], [1e9, "billion"], [1e6, "million"], [1e3, "thousand"],
];

/** A large number to three digits: "67.1 million". */
export function amount(number) {
  for (const [size, name] of AMOUNTS) {
    if (number >= size) return `${(number / size).toPrecision(3)} ${name}`;
  }
  return String(number);
}

/** Which of the whole layers have the least of something. */
export function least(costs, what) {
  const smallest = Math.min(...WHOLE.map((i) => costs[i][what]));
  return WHOLE.filter((i) => costs[i][what] === smallest);
}

/** The result in a sentence. */
export function tell({ n, d, k }) {
  const costs = KINDS.map((kind) => cost(kind, n, d, k));
  const [cheapest] = least(costs, "operations");
  const { operations } = costs[cheapest];
  const layer = cost("attention layer", n, d, k);
  const against = (other, limit) => {
    const verdict = n < limit ? "less than" : n > limit ? "more than" : "as many as";
    return `${verdict} the ${other} (they cross at n = ${limit})`;
  };
  const ratio = (layer.operations / operations).toPrecision(3);
  return `n = ${n}, d = ${d}, k = ${k}: of the whole layers the ${KINDS[cheapest]} takes the `
    + `fewest operations, ${amount(operations)}; self-attention ${ratio} times as many, with a `
    + `longest path of ${layer.path} against ${n - 1}. `
    + `It takes ${against("GRU", d)} and ${against("LSTM", 2 * d)}. `
    + `Its products alone take ${against("recurrence", d)} and `
    + `${against("convolution", (k * d) / 2)}.`;
}

// ---- on the screen -------------------------------------------------------------

const COMPARE_STYLE = `
  table.costs { border-collapse: collapse; margin: 0; }
  .costs :is(th, td, tr) {
    padding: 2px 14px 2px 0; text-align: left; vertical-align: top; font-weight: 400;
    white-space: normal;
  }
  .costs thead th { font-weight: 600; border-bottom: 1px solid var(--faint); }
  .costs tbody th { padding-left: 26px; text-indent: -26px; }
  .costs th.part { padding-left: 44px; }
  .costs .least { font-weight: 600; }
  .costs i {
    display: inline-block; width: 18px; height: 4px; margin-right: 8px; vertical-align: middle;
    border-radius: 2px;
  }
  .sizes { display: flex; flex-wrap: wrap; gap: 8px 20px; }
  .sizes .scroll { flex: 1 1 560px; min-width: 0; }
  .stacks { display: flex; flex-wrap: wrap; gap: 6px 24px; margin-top: 6px; }
  .stacks > div { width: min-content; }
  @media (max-width: 500px) {
    table.costs { font-size: .94em; }
    .costs :is(th, td) { padding-right: 6px; }
  }
`;

/** A slider over a list of numbers. */
function numbers(name, values, pick) {
  const words = (i) => String(values[i]);
  const { element, show } = slider(name, { max: values.length - 1, words }, (i) => pick(values[i]));
  return { element, show: (number) => show(values.indexOf(number)) };
}

export function render({ model, el }) {
  const { choices } = model.get("data");
  const set = setter(model);
  const named = (values) => values.map((value) => [value, String(value)]);
  const controls = {
    n: numbers("tokens n", choices.n, set("n")),
    d: numbers("width d", choices.d, set("d")),
    k: choice("kernel k", named(choices.k), set("k")),
    num_heads: choice("heads", named(choices.num_heads), set("num_heads")),
  };
  const layers = numbers("layers, in the picture below", choices.layers, set("layers"));
  const { root, body, result } = frame(el, COMPARE_STYLE, ...elements(controls));
  const table = node("table", { class: "table costs" });
  const plot = node("canvas", { role: "img" });
  const stacks = Object.keys(takesFrom).map((kind) => {
    const [canvas, words] = [node("canvas", { role: "img" }), node("p")];
    const element = node("div", {}, node("b", {}, kind), canvas, words);
    return { element, show: memoized((...size) => showStack(kind, canvas, words, ...size)) };
  });
  const title = "Who sees whom, for nine tokens: what the last output knows, layer by layer";
  body.append(node("div", { class: "sizes" }, scrolling("costs", table), plot),
    node("div", { class: "own" }, node("p", { class: "title" }, title), layers.element,
      node("div", { class: "stacks" }, ...elements(stacks))));

  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    showAll(controls, state);
    layers.show(state.layers);
    showTable(table, state, colours);
    drawPlot(plot, state, choices.n, width < 1100 ? Math.min(width - 12, 760) : 500, colours);
    const across = Math.max(20, Math.min(29, Math.floor((width - 60) / 24) - 4));
    for (const stack of stacks) stack.show(state.k, state.layers, across, colours);
    write(result, tell(state));
  });
}

const COLUMNS = [
  ["operations", "operations"], ["sequential", "sequential steps"], ["path", "longest path"],
];

function showTable(table, { n, d, k, num_heads }, colours) {
  const costs = KINDS.map((kind) => cost(kind, n, d, k));
  const cell = (i, what) => {
    const best = least(costs, what).includes(i);
    const number = costs[i][what];
    const words = what === "operations" ? amount(number) : number.toLocaleString("en");
    return node("td", { class: best ? "least" : "" }, words, best ? " ◂ least" : "");
  };
  const more = { 4: ", part of the layer", 5: `, ${plural(num_heads, "head")}` };
  const rows = KINDS.map((kind, i) => {
    const line = node("i", { class: "drawn", style: `background: ${swatch(i, colours)}` });
    const name = { scope: "row", class: i === PART ? "part" : "" };
    return node("tr", {}, node("th", name, line, kind + (more[i] ?? "")),
      ...COLUMNS.map(([what]) => cell(i, what)));
  });
  const titles = ["one layer", ...COLUMNS.map(([, title]) => title)];
  const head = titles.map((title) => node("th", { scope: "col" }, title));
  table.replaceChildren(
    node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...rows));
}

/** The line of a kind, as a background. */
function swatch(i, colours) {
  const colour = css(colours[ROLE[i]]);
  const [on, off] = DASHES[i].length ? DASHES[i] : [1, 0];
  const dash = `${colour} 0 ${on}px, transparent ${on}px ${on + off}px`;
  return `repeating-linear-gradient(90deg, ${dash})`;
}

/** Operations against n, both axes logarithmic; the chosen n as a line, crossovers of the products
 * and of the layer as dots. */
function drawPlot(canvas, { n, d, k }, values, width, colours) {
  const right = Math.max(...KINDS.map(colours.measure)) + 10;
  const [left, top, height] = [46, 18, 180];
  const context = pen(canvas, width, top + height + 44, colours);
  const [from, to] = [values[0], values.at(-1)];
  const work = (i, at) => cost(KINDS[i], at, d, k).operations;
  const all = (at) => KINDS.map((_, i) => work(i, at));
  const low = Math.floor(Math.log10(Math.min(...all(from))));
  const high = Math.ceil(Math.log10(Math.max(...all(to))));
  const wide = width - left - right;
  const x = (at) => left + (Math.log(at / from) / Math.log(to / from)) * wide;
  const y = (operations) => top + height * (1 - (Math.log10(operations) - low) / (high - low));

  for (let power = low; power <= high; power += 2) {
    const raised = Array.from(String(power), (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
    block(context, colours.faint, left, y(10 ** power), wide, 1);
    label(context, `10${raised}`, left - 8, y(10 ** power), { align: "right" });
  }
  for (let i = 0; i < values.length; i += 3) {
    label(context, String(values[i]), x(values[i]), top + height + 14, { align: "center" });
  }
  label(context, "operations of one layer, against n", left, top + height + 34);
  outline(context, colours.ink, x(n), top, 0, height, 1);
  label(context, `n = ${n}`, x(n) + 5, top + 8, { bold: true });
  KINDS.forEach((_, i) => {
    context.setLineDash(DASHES[i]);
    curve(context, values.map((at) => [x(at), y(work(i, at))]), colours[ROLE[i]], 2.5);
  });
  context.setLineDash([]);
  const layer = KINDS.indexOf("attention layer");
  for (const [i, at] of [[PART, d], [PART, (k * d) / 2], [layer, d], [layer, 2 * d]]) {
    if (at >= from && at <= to) disc(context, x(at), y(work(i, at)), 4.5, colours.ink);
  }
  let lowest = -Infinity;  // names don't overlap
  for (const i of places(KINDS.length).sort((a, b) => work(b, to) - work(a, to))) {
    lowest = Math.max(y(work(i, to)), lowest + colours.size + 4);
    label(context, KINDS[i], width - right + 8, lowest, { width: right - 8 });
  }
  put(canvas, "aria-label", `Operations against n on logarithmic axes, d = ${d}, k = ${k}. `
    + `The attention products, a steeper line, cross the recurrence at n = ${d} and the `
    + `convolution at n = ${(k * d) / 2}; the whole attention layer stays above both, and crosses `
    + `the GRU at n = ${d} and the LSTM at n = ${2 * d}.`);
}

const TOKENS = 9;

/** The picture of who sees whom, and what it comes to in words. */
function showStack(kind, canvas, words, k, layers, across, colours) {
  drawStack(canvas, kind, k, layers, across, colours);
  const counts = seen(kind, TOKENS, k, layers).map((row) => row.reduce((sum, one) => sum + one));
  write(words, `The last output knows ${counts.at(-1)} of ${TOKENS} inputs, the middle one `
    + `${counts[(TOKENS - 1) / 2]}. Pairs: ${counts.reduce((sum, count) => sum + count)} `
    + `of ${TOKENS ** 2}.`);
  put(canvas, "aria-label", `${kind}, ${plural(layers, "layer")}: lines lead from the inputs that `
    + "the last output knows up to it.");
}

/** Nodes in rows, inputs below; lines wherever a message can go that ends in the last output. */
function drawStack(canvas, kind, k, layers, across, colours) {
  const [up, edge] = [Math.min(30, 150 / layers), 14];
  const high = edge * 2 + up * layers;
  const context = pen(canvas, edge * 2 + across * (TOKENS - 1), high, colours);
  const at = (layer, i) => [edge + i * across, edge + up * (layers - layer)];
  const recurrent = kind === "recurrence";
  const role = { convolution: "query", recurrence: "key", "self-attention": "output" }[kind];
  const colour = colours[role];
  const lineWidth = kind === "self-attention" ? 0.7 : 1.2;
  const line = (from, to) => {
    context.moveTo(...from);
    context.lineTo(...to);
  };
  const rows = [[TOKENS - 1]];  // the places that matter, from the inputs up
  Object.assign(context, { strokeStyle: css(colour), lineWidth });
  context.beginPath();
  for (let layer = layers; layer > 0; layer--) {
    const below = new Set();
    for (const i of rows[0]) {
      for (const j of takesFrom[kind](i, TOKENS, k)) {
        below.add(j);
        if (!recurrent) line(at(layer - 1, j), at(layer, i));
      }
    }
    for (const j of recurrent ? below : []) {  // up from each input, then along the states
      line(at(layer - 1, j), at(layer, j));
      if (j > 0) line(at(layer, j - 1), at(layer, j));
    }
    rows.unshift([...below]);
  }
  context.stroke();
  rows.forEach((needed, layer) => {
    const states = recurrent && layer > 0 ? [...needed, ...rows[layer - 1]] : needed;
    for (const i of places(TOKENS)) {
      const last = layer === layers && i === TOKENS - 1;
      disc(context, ...at(layer, i), last ? 8 : 5.5, states.includes(i) ? colour : colours.faint);
    }
  });
}

export default { render };
