// Convolution, recurrence, self-attention: what a layer costs at any size, and who sees whom as layers are added.

export const KINDS = ["convolution", "recurrence", "GRU", "LSTM", "attention products", "attention layer"];
const PART = KINDS.indexOf("attention products");  // of a layer
const WHOLE = places(KINDS.length).filter((i) => i !== PART);
const ROLE = ["query", "key", "key", "key", "value", "output"];  // the recurrences share a colour,
const DASHES = [[], [], [9, 3], [2, 3], [6, 4], []];  // and differ in their lines

/** Operations, sequential steps and longest path of one layer, as `d2l_ext.cost` has them; the number of heads changes none of them. */
export function cost(kind, n, d, k) {
  const products = 4 * n * n * d;
  return [
    { operations: 2 * k * n * d * d, sequential: 1, path: Math.ceil((2 * (n - 1)) / (k - 1)) },
    { operations: 4 * n * d * d, sequential: n, path: n - 1 },
    { operations: 12 * n * d * d, sequential: n, path: n - 1 },
    { operations: 16 * n * d * d, sequential: n, path: n - 1 },
    { operations: products, sequential: 2, path: Math.min(n - 1, 1) },
    { operations: 8 * n * d * d + products, sequential: 4, path: Math.min(n - 1, 1) },
  ][KINDS.indexOf(kind)];
}

/** The places of the layer below that place i of m takes from, itself included. */
export const takesFrom = {
  convolution: (i, m, k) => places(m).filter((j) => Math.abs(i - j) <= (k - 1) / 2),
  recurrence: (i) => places(i + 1),
  "self-attention": (i, m) => places(m),
};
function places(count) {
  return Array.from({ length: count }, (_, i) => i);
}

/** Who sees whom after some layers: rows outputs, columns inputs, 1 or 0. */
export function seen(kind, m, k, layers) {
  let known = places(m).map((i) => new Set([i]));
  for (let layer = 0; layer < layers; layer++) known = known.map((_, i) => new Set(takesFrom[kind](i, m, k).flatMap((j) => [...known[j]])));
  return known.map((inputs) => places(m).map((j) => Number(inputs.has(j))));
}

// ------------------------------------------------------------------ in words

/** A large number to three digits: "67.1 million". */
export function amount(number) {
  const [size, name] = [[1e15, "quadrillion"], [1e12, "trillion"], [1e9, "billion"], [1e6, "million"], [1e3, "thousand"], [1, ""]].find(([least]) => number >= least) ?? [1, ""];
  return size === 1 ? String(number) : `${(number / size).toPrecision(3)} ${name}`;
}

/** Which of the whole layers have the least of something. */
export function least(costs, what) {
  const smallest = Math.min(...WHOLE.map((i) => costs[i][what]));
  return WHOLE.filter((i) => costs[i][what] === smallest);
}

/** The result in a sentence. */
export function tell({ n, d, k }) {
  const costs = KINDS.map((kind) => cost(kind, n, d, k));
  const [first] = least(costs, "operations");
  const [layer, recurrence] = ["attention layer", "recurrence"].map((kind) => costs[KINDS.indexOf(kind)]);
  const times = (layer.operations / costs[first].operations).toPrecision(3);
  const side = (limit, other) => `${n < limit ? "less than" : n > limit ? "more than" : "as many as"} the ${other} (they cross at n = ${limit})`;
  return `n = ${n}, d = ${d}, k = ${k}: of the whole layers the ${KINDS[first]} takes the fewest operations, ${amount(costs[first].operations)}; `
    + `self-attention ${times} times as many, with a longest path of ${layer.path} against ${recurrence.path}. `
    + `It takes ${side(d, "GRU")} and ${side(2 * d, "LSTM")}. `
    + `Its products alone take ${side(d, "recurrence")} and ${side((k * d) / 2, "convolution")}.`;
}

// ------------------------------------------------------------------ on the screen

const COMPARE_STYLE = `
.d2l-piece table.costs { border-collapse: collapse; margin: 12px 0 4px; font-size: inherit; color: inherit; background: none; }
.d2l-piece .costs :is(th, td, tr) { color: inherit; background: none; border: 0; padding: 4px 16px 4px 0; text-align: left; font-weight: 400; font-variant-numeric: tabular-nums; white-space: nowrap; }
.d2l-piece .costs thead th { font-weight: 600; border-bottom: 1px solid var(--faint); }
.d2l-piece .costs .least { font-weight: 600; }
.d2l-piece .costs .part { padding-left: 1.2em; }
.d2l-piece .costs i { display: inline-block; width: 18px; height: 4px; margin-right: 8px; vertical-align: middle; border-radius: 2px; }
.d2l-piece .stacks { display: flex; flex-wrap: wrap; gap: 6px 30px; margin-top: 6px; }
.d2l-piece .stacks p { max-width: 270px; }
`;

/** A slider over a list of numbers. */
function numbers(name, values, pick) {
  const { element, show } = slider(name, { max: values.length - 1, words: (i) => String(values[i]) }, (i) => pick(values[i]));
  return { element, show: (number) => show(values.indexOf(number)) };
}

export function render({ model, el }) {
  const { choices } = model.get("data");
  const control = (make, name, words, options) => make(words, options, (value) => change(model, { [name]: value }));
  const named = (values) => values.map((value) => [value, String(value)]);
  const controls = {
    n: control(numbers, "n", "tokens n", choices.n),
    d: control(numbers, "d", "width d", choices.d),
    k: control(choice, "k", "kernel k", named(choices.k)),
    num_heads: control(choice, "num_heads", "heads", named(choices.num_heads)),
    layers: control(numbers, "layers", "layers, in the picture below", choices.layers),
  };
  const { root, body, result } = frame(el, ...["n", "d", "k", "num_heads"].map((name) => controls[name].element));
  root.prepend(node("style", {}, COMPARE_STYLE));
  const table = node("table", { class: "costs" });
  const plot = node("canvas", { role: "img" });
  const stacks = Object.keys(takesFrom).map((kind) => {
    const [canvas, words] = [node("canvas", { role: "img" }), node("p")];
    return { show: sparing(showStack), kind, canvas, words, element: node("div", {}, node("b", {}, kind), canvas, words) };
  });
  body.append(wide("costs", table), plot, node("p", { class: "title" }, "Who sees whom, for nine tokens: what the last output knows, layer by layer"),
    controls.layers.element, node("div", { class: "stacks" }, ...stacks.map((stack) => stack.element)));

  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    for (const [name, each] of Object.entries(controls)) each.show(state[name]);
    showTable(table, state, colours);
    drawPlot(plot, state, choices.n, Math.min(width - 12, 760), colours);
    for (const stack of stacks) stack.show(stack, state.k, state.layers, colours);
    write(result, tell(state));
  });
}

function showTable(table, { n, d, k, num_heads }, colours) {
  const costs = KINDS.map((kind) => cost(kind, n, d, k));
  const columns = [["operations", "operations"], ["sequential", "sequential steps"], ["path", "longest path"]];
  const winners = Object.fromEntries(columns.map(([what]) => [what, least(costs, what)]));
  const named = (kind) => (kind === "attention layer" ? `${kind}, ${num_heads} ${num_heads === 1 ? "head" : "heads"}` : kind === KINDS[PART] ? `${kind}, part of the layer` : kind);
  const cell = (i, what) => node("td", { class: winners[what].includes(i) ? "least" : "" },
    what === "operations" ? amount(costs[i][what]) : costs[i][what].toLocaleString("en"), winners[what].includes(i) ? " ◂ least" : "");
  const rows = KINDS.map((kind, i) => node("tr", {},
    node("th", { scope: "row", class: i === PART ? "part" : "" }, node("i", { class: "drawn", style: `background: ${swatch(i, colours)}` }), named(kind)),
    ...columns.map(([what]) => cell(i, what))));
  table.replaceChildren(node("thead", {}, node("tr", {}, node("th", { scope: "col" }, "one layer"), ...columns.map(([, name]) => node("th", { scope: "col" }, name)))), node("tbody", {}, ...rows));
}

/** The line of a kind, as a background. */
function swatch(i, colours) {
  const [colour, [on, off]] = [css(colours[ROLE[i]]), DASHES[i].length ? DASHES[i] : [1, 0]];
  return `repeating-linear-gradient(90deg, ${colour} 0 ${on}px, transparent ${on}px ${on + off}px)`;
}

/** Operations against n, both axes logarithmic; the chosen n as a line, crossovers of the products and of the layer as dots. */
function drawPlot(canvas, { n, d, k }, values, width, colours) {
  const [left, right, top, height] = [64, Math.min(180, width * 0.3), 34, 210];
  const context = pen(canvas, width, top + height + 44, colours);
  const [from, to] = [values[0], values.at(-1)];
  const costs = (at) => KINDS.map((kind) => cost(kind, at, d, k).operations);
  const [low, high] = [Math.floor(Math.log10(Math.min(...costs(from)))), Math.ceil(Math.log10(Math.max(...costs(to))))];
  const x = (at) => left + (Math.log(at / from) / Math.log(to / from)) * (width - left - right);
  const y = (operations) => top + height * (1 - (Math.log10(operations) - low) / (high - low));
  const write10 = (power) => [...String(power)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
  for (let power = low; power <= high; power += 2) {
    context.fillStyle = css(colours.faint);
    context.fillRect(left, y(10 ** power), width - left - right, 1);
    label(context, `10${write10(power)}`, left - 8, y(10 ** power), { align: "right", colour: colours.ink });
  }
  values.forEach((at, i) => i % 3 || label(context, String(at), x(at), top + height + 14, { align: "center", colour: colours.ink }));
  label(context, "operations of one layer, against n", left, top + height + 34, { colour: colours.ink });
  outline(context, colours.ink, x(n), top, 0, height, 1);
  label(context, `n = ${n}`, x(n) + 5, top + 8, { colour: colours.ink, bold: true });
  KINDS.forEach((kind, i) => {
    context.setLineDash(DASHES[i]);
    curve(context, values.map((at) => [x(at), y(cost(kind, at, d, k).operations)]), colours[ROLE[i]], 2.5);
  });
  context.setLineDash([]);
  const crossings = [[PART, d], [PART, (k * d) / 2], [KINDS.length - 1, d], [KINDS.length - 1, 2 * d]];
  for (const [i, at] of crossings) {
    if (at >= from && at <= to) disc(context, x(at), y(cost(KINDS[i], at, d, k).operations), 4.5, colours.ink);
  }
  let taken = -Infinity;
  for (const i of places(KINDS.length).sort((a, b) => costs(to)[b] - costs(to)[a])) {
    taken = Math.max(y(costs(to)[i]), taken + colours.size + 4);
    label(context, KINDS[i], width - right + 8, taken, { width: right - 8, colour: colours.ink });
  }
  put(canvas, "aria-label", `Operations against n on logarithmic axes, d = ${d}, k = ${k}. The attention products, a steeper line, cross the recurrence at n = ${d} and the convolution at n = ${(k * d) / 2}; `
    + `the whole attention layer stays above both, and crosses the GRU at n = ${d} and the LSTM at n = ${2 * d}.`);
}

const TOKENS = 9;

/** The picture of who sees whom, and what it comes to in words. */
function showStack({ kind, canvas, words }, k, layers, colours) {
  drawStack(canvas, kind, k, layers, colours);
  const known = seen(kind, TOKENS, k, layers);
  const count = (row) => row.reduce((sum, one) => sum + one, 0);
  write(words, `The last output knows ${count(known.at(-1))} of ${TOKENS} inputs, the middle one ${count(known[(TOKENS - 1) / 2])}. Pairs: ${count(known.map(count))} of ${TOKENS ** 2}.`);
  put(canvas, "aria-label", `${kind}, ${layers} ${layers === 1 ? "layer" : "layers"}: lines lead from the inputs that the last output knows up to it.`);
}

/** Nodes in rows, inputs below; lines wherever a message can go that ends in the last output. */
function drawStack(canvas, kind, k, layers, colours) {
  const [across, up, edge] = [29, 30, 14];
  const context = pen(canvas, edge * 2 + across * (TOKENS - 1), edge * 2 + up * layers, colours);
  const at = (layer, i) => [edge + i * across, edge + up * (layers - layer)];
  const colour = kind === "convolution" ? colours.query : kind === "recurrence" ? colours.key : colours.output;
  let needed = new Set([TOKENS - 1]);
  const rows = [needed];
  Object.assign(context, { strokeStyle: css(colour), lineWidth: kind === "self-attention" ? 0.7 : 1.2 });
  context.beginPath();
  const draw = (from, to) => { context.moveTo(...from); context.lineTo(...to); };
  for (let layer = layers; layer > 0; layer--) {
    const below = new Set();
    for (const i of needed) {
      for (const j of takesFrom[kind](i, TOKENS, k)) {
        below.add(j);
        if (kind !== "recurrence") draw(at(layer - 1, j), at(layer, i));
      }
    }
    if (kind === "recurrence") {  // up from each input, then along the states
      for (const j of below) {
        draw(at(layer - 1, j), at(layer, j));
        if (j > 0) draw(at(layer, j - 1), at(layer, j));
      }
    }
    rows.unshift(needed = below);
  }
  context.stroke();
  const states = (layer) => (kind === "recurrence" && layer > 0 ? new Set([...rows[layer], ...rows[layer - 1]]) : rows[layer]);
  for (let layer = 0; layer <= layers; layer++) {
    for (let i = 0; i < TOKENS; i++) {
      disc(context, ...at(layer, i), layer === layers && i === TOKENS - 1 ? 8 : 5.5, states(layer).has(i) ? colour : colours.faint);
    }
  }
}

export default { render };
