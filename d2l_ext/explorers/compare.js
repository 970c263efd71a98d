// Convolution, recurrence, self-attention: what a layer costs at any size, and who sees whom as
// layers are added; or, with linear attention beside them, what each has to keep.

// The attention products are a part of the attention layer. Kinds that share a colour differ in
// their dashes.
const LOOKS = {
  convolution: ["query", []], recurrence: ["key", []], GRU: ["key", [9, 3]], LSTM: ["key", [2, 3]],
  "attention products": ["value", [6, 4]], "attention layer": ["output", []],
  "linear attention, at once": ["value", [2, 3]],
  "linear attention, in chunks": ["value", [9, 3]],
  "linear attention, by token": ["value", []],
  "delta rule, by token": ["ink", []],
};
export const KINDS = Object.keys(LOOKS);
const PART = "attention products";

/** Operations, sequential steps and longest path of one layer as `d2l_ext.cost` has them, and what
 * it keeps as `d2l_ext.state_size`; n, d, c and the heads are powers of 2. */
export function cost(kind, { n, d, k, c, num_heads }) {
  const [square, products, memory] = [n * d * d, 4 * n * n * d, (d * d) / num_heads];
  const direct = Math.min(n - 1, 1);
  const chunk = Math.min(n, c);
  return {
    convolution: {
      operations: 2 * k * square, sequential: 1, path: Math.ceil((2 * (n - 1)) / (k - 1)),
      keeps: (k - 1) * d,
    },
    recurrence: { operations: 4 * square, sequential: n, path: n - 1, keeps: d },
    GRU: { operations: 12 * square, sequential: n, path: n - 1, keeps: d },
    LSTM: { operations: 16 * square, sequential: n, path: n - 1, keeps: 2 * d },
    "attention products": { operations: products, sequential: 2, path: direct, keeps: 2 * n * d },
    "attention layer": {
      operations: 8 * square + products, sequential: 4, path: direct, keeps: 2 * n * d,
    },
    "linear attention, at once": {
      operations: 8 * square + products, sequential: 4, path: direct, keeps: memory,
    },
    "linear attention, in chunks": {
      operations: 8 * square + 4 * n * chunk * d + (4 * n - 2 * chunk) * memory,
      sequential: Math.max(4, n / chunk + 2), path: direct, keeps: memory,
    },
    "linear attention, by token": {
      operations: 8 * square + 4 * n * memory, sequential: n + 3, path: direct, keeps: memory,
    },
    "delta rule, by token": {
      operations: 8 * square + 2 * n * d * num_heads + (6 * n - 2) * memory,
      sequential: 2 * n + 2, path: n - 1, keeps: memory,
    },
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

/** A number to three digits: "0.500", "1030". */
export function three(number) {
  const digits = number.toPrecision(3);
  return digits.includes("e") ? String(Number(digits)) : digits;
}

/** A large number to three digits: "67.1 million". */
export function amount(number) {
  const per = (size) => three(number / size);
  if (number >= 1e15) return t`${per(1e15)} quadrillion`;
  if (number >= 1e12) return t`${per(1e12)} trillion`;
  if (number >= 1e9) return t`${per(1e9)} billion`;
  if (number >= 1e6) return t`${per(1e6)} million`;
  return number >= 1e3 ? t`${per(1e3)} thousand` : String(number);
}

/** All digits of a number up to a million. */
export const count = (number) => (number < 1e6 ? number.toLocaleString("en") : amount(number));

/** Which of the whole layers have the least of something. */
export function least(kinds, size, what) {
  const amounts = new Map(kinds.map((kind) => [kind, cost(kind, size)[what]]));
  amounts.delete(PART);
  const smallest = Math.min(...amounts.values());
  return [...amounts.keys()].filter((kind) => amounts.get(kind) === smallest);
}

/** The result in a sentence. */
export function tell(kinds, size) {
  return kinds.includes("linear attention, in chunks") ? tellKept(size) : tellWork(kinds, size);
}

function tellWork(kinds, size) {
  const { n, d, k } = size;
  const [cheapest] = least(kinds, size, "operations");
  const { operations } = cost(cheapest, size);
  const layer = cost("attention layer", size);
  const against = (other, limit) => {
    const verdict = n < limit ? t`less than` : n > limit ? t`more than` : t`as many as`;
    return t`${verdict} the ${said(other)} (they cross at n = ${limit})`;
  };
  const ratio = three(layer.operations / operations);
  return t`n = ${n}, d = ${d}, k = ${k}: of the whole layers the ${said(cheapest)} takes the
    fewest operations, ${amount(operations)}; self-attention ${ratio} times as many, with a
    longest path of ${layer.path} against ${n - 1}.`
    + t` It takes ${against("GRU", d)} and ${against("LSTM", 2 * d)}.`
    + t` Its products alone take ${against("recurrence", d)} and
    ${against("convolution", (k * d) / 2)}.`;
}

function tellKept(size) {
  const { n, d, k, c, num_heads } = size;
  const [softmax, memory] = ["attention layer", "linear attention, in chunks"]
    .map((kind) => cost(kind, size));
  const share = (what) => three(memory[what] / softmax[what]);
  return t`n = ${n}, d = ${d}, k = ${k}, ${plural(num_heads, "head")}: in chunks of ${c}, linear
    attention takes ${share("operations")} times the operations of
    self-attention, ${memory.sequential} steps against ${softmax.sequential}.`
    + t` It keeps ${count(memory.keeps)} numbers, self-attention ${count(softmax.keeps)}; they keep
    the same at n = ${d / 2 / num_heads}.`;
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
  .sizes .scroll:has(+ canvas + canvas) { flex-basis: 100%; }
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
  speak(model);
  const { choices, kinds } = model.get("data");
  const set = setter(model);
  const named = (values) => values.map((value) => [value, String(value)]);
  const controls = {
    n: numbers(t`tokens n`, choices.n, set("n")),
    d: numbers(t`width d`, choices.d, set("d")),
    k: choice(t`kernel k`, named(choices.k), set("k")),
    num_heads: choice(t`heads`, named(choices.num_heads), set("num_heads")),
  };
  if (choices.c) controls.c = choice(t`chunk c`, named(choices.c), set("c"));
  const { root, body, result } = frame(el, COMPARE_STYLE, ...elements(controls));
  const table = node("table", { class: "table costs" });
  const plots = (choices.c ? ["operations", "keeps"] : ["operations"])
    .map((what) => [what, node("canvas", { role: "img" })]);
  const canvases = plots.map(([, canvas]) => canvas);
  body.append(node("div", { class: "sizes" }, scrolling(t`costs`, table), ...canvases));
  const showSeen = choices.layers ? whoSeesWhom(body, choices.layers, set("layers")) : () => {};

  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    showAll(controls, state);
    showTable(table, kinds, state, colours);
    for (const [what, canvas] of plots) {
      const wide = width < 1100 ? Math.min(width - 12, 760) : 500;
      drawPlot(canvas, what, kinds, state, choices.n, wide, colours);
    }
    showSeen(state, width, colours);
    write(result, tell(kinds, state));
  });
}

const layerName = (kind) => (kind === "self-attention" ? t`self-attention` : said(kind));

/** The slider of layers, and a picture for each kind of layer; returns what shows a state. */
function whoSeesWhom(body, choices, pick) {
  const layers = numbers(t`layers, in the picture below`, choices, pick);
  const stacks = Object.keys(takesFrom).map((kind) => {
    const [canvas, words] = [node("canvas", { role: "img" }), node("p")];
    const element = node("div", {}, node("b", {}, layerName(kind)), canvas, words);
    return { element, show: memoized((...size) => showStack(kind, canvas, words, ...size)) };
  });
  const title = t`Who sees whom, for nine tokens: what the last output knows, layer by layer`;
  body.append(node("div", { class: "own" }, node("p", { class: "title" }, title), layers.element,
    node("div", { class: "stacks" }, ...elements(stacks))));
  return (state, width, colours) => {
    layers.show(state.layers);
    const across = Math.max(20, Math.min(29, Math.floor((width - 60) / 24) - 4));
    for (const stack of stacks) stack.show(state.k, state.layers, across, colours);
  };
}

const columnNames = () => ({
  operations: t`operations`, sequential: t`sequential steps`, path: t`longest path`,
  keeps: t`keeps`,
});

function showTable(table, kinds, size, colours) {
  const names = columnNames();
  const columns = Object.keys(names).filter((what) => what !== "keeps" || size.c);
  const cell = (kind, what) => {
    const best = least(kinds, size, what).includes(kind);
    const number = cost(kind, size)[what];
    const words = what === "operations" ? amount(number) : count(number);
    return node("td", { class: best ? "least" : "" }, words, best ? t` ◂ least` : "");
  };
  const more = {
    [PART]: t`, part of the layer`, "attention layer": t`, ${plural(size.num_heads, "head")}`,
  };
  const rows = kinds.map((kind) => {
    const line = node("i", { class: "drawn", style: `background: ${swatch(kind, colours)}` });
    const name = { scope: "row", class: kind === PART ? "part" : "" };
    return node("tr", {}, node("th", name, line, said(kind) + (more[kind] ?? "")),
      ...columns.map((what) => cell(kind, what)));
  });
  const titles = [t`one layer`, ...columns.map((what) => names[what])];
  const head = titles.map((title) => node("th", { scope: "col" }, title));
  table.replaceChildren(
    node("thead", {}, node("tr", {}, ...head)), node("tbody", {}, ...rows));
}

/** The line of a kind, as a background. */
function swatch(kind, colours) {
  const [role, dashes] = LOOKS[kind];
  const colour = css(colours[role]);
  const [on, off] = dashes.length ? dashes : [1, 0];
  const dash = `${colour} 0 ${on}px, transparent ${on}px ${on + off}px`;
  return `repeating-linear-gradient(90deg, ${dash})`;
}

/** The lines of a plot and their names. The delta rule's work would hide linear attention's; what
 * has a memory keeps the same in every form. */
export function lines(kinds, what) {
  const [memory, delta] = ["linear attention, by token", "delta rule, by token"];
  const kept = (kind) => !kind.includes(",") || kind === memory;
  if (what === "keeps") {
    const name = (kind) => (kind === memory ? t`linear, delta rule` : said(kind));
    return kinds.filter(kept).map((kind) => [kind, name(kind)]);
  }
  return kinds.filter((kind) => kind !== delta)
    .map((kind) => [kind, said(kind).replace(" attention,", ",")]);
}

/** Where attention's line crosses others, in a plot: [kind, n]. */
function crossings(kinds, what, { d, k, num_heads }) {
  const layer = "attention layer";
  if (what === "keeps") return [[layer, d / 2 / num_heads]];
  if (!kinds.includes(PART)) return [[layer, d / num_heads]];
  return [[PART, d], [PART, (k * d) / 2], [layer, d], [layer, 2 * d]];
}

/** The plot for those who listen. */
export function describe(kinds, what, { d, k, num_heads }) {
  if (what === "keeps") {
    return t`What a layer keeps against n on logarithmic axes: attention's line rises with n and
      crosses at n = ${d / 2 / num_heads} the level line of the memories; the convolution's and
      the recurrence's lie level below.`;
  }
  const start = t`Operations against n on logarithmic axes, d = ${d}, k = ${k}. `;
  if (!kinds.includes(PART)) {
    return t`${start}The attention layer and linear attention at once are one line, which bends
      upwards; linear attention by token is straight, and below it from n = ${d / num_heads}
      on.`;
  }
  return t`${start}The attention products, a steeper line, cross the recurrence at n = ${d} and the
    convolution at n = ${(k * d) / 2}; the whole attention layer stays above both, and crosses
    the GRU at n = ${d} and the LSTM at n = ${2 * d}.`;
}

/** Operations or what is kept against n, both axes logarithmic; the chosen n as a line, crossovers
 * as dots. */
function drawPlot(canvas, what, kinds, size, values, width, colours) {
  const drawn = lines(kinds, what);
  const right = Math.max(...drawn.map(([, name]) => colours.measure(name))) + 10;
  const [left, top, height] = [46, 18, 180];
  const context = pen(canvas, width, top + height + 44, colours);
  const [from, to] = [values[0], values.at(-1)];
  const worth = (kind, at) => cost(kind, { ...size, n: at })[what];
  const all = (at) => kinds.map((kind) => worth(kind, at));
  const low = Math.floor(Math.log10(Math.min(...all(from))));
  const high = Math.ceil(Math.log10(Math.max(...all(to))));
  const wide = width - left - right;
  const x = (at) => left + (Math.log(at / from) / Math.log(to / from)) * wide;
  const y = (number) => top + height * (1 - (Math.log10(number) - low) / (high - low));

  for (let power = low; power <= high; power += 2) {
    const raised = Array.from(String(power), (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
    block(context, colours.faint, left, y(10 ** power), wide, 1);
    label(context, `10${raised}`, left - 8, y(10 ** power), { align: "right" });
  }
  let free = 0;
  for (let i = 0; i < values.length; i += 3) {
    const half = colours.measure(String(values[i])) / 2;
    if (x(values[i]) - half < free) continue;
    label(context, String(values[i]), x(values[i]), top + height + 14, { align: "center" });
    free = x(values[i]) + half + 6;
  }
  const title = what === "keeps" ? t`numbers that one layer keeps, against n`
    : t`operations of one layer, against n`;
  label(context, title, left, top + height + 34);
  outline(context, colours.ink, x(size.n), top, 0, height, 1);
  const [chosen, bold] = [`n = ${size.n}`, true];
  const fits = x(size.n) + colours.measure(chosen) * 1.1 + 5 < left + wide;
  const beside = fits ? [x(size.n) + 5, "left"] : [x(size.n) - 5, "right"];
  label(context, chosen, beside[0], top + 8, { bold, align: beside[1] });
  for (const [kind] of drawn) {
    const [role, dashes] = LOOKS[kind];
    context.setLineDash(dashes);
    curve(context, values.map((at) => [x(at), y(worth(kind, at))]), colours[role], 2.5);
  }
  context.setLineDash([]);
  for (const [kind, at] of crossings(kinds, what, size)) {
    if (at >= from && at <= to) disc(context, x(at), y(worth(kind, at)), 4.5, colours.ink);
  }
  drawn.sort(([a], [b]) => worth(b, to) - worth(a, to));
  const [heights, apart] = [drawn.map(([kind]) => y(worth(kind, to))), colours.size + 4];
  for (let i = 1; i < heights.length; i++) {  // names don't overlap
    heights[i] = Math.max(heights[i], heights[i - 1] + apart);
  }
  drawn.forEach(([, name], i) => {  // nor do they reach the numbers below
    const most = top + height - (drawn.length - 1 - i) * apart;
    label(context, name, width - right + 8, Math.min(heights[i], most), { width: right - 8 });
  });
  put(canvas, "aria-label", describe(kinds, what, size));
}

const TOKENS = 9;

/** The picture of who sees whom, and what it comes to in words. */
function showStack(kind, canvas, words, k, layers, across, colours) {
  drawStack(canvas, kind, k, layers, across, colours);
  const counts = seen(kind, TOKENS, k, layers).map((row) => row.reduce((sum, one) => sum + one));
  write(words, t`The last output knows ${counts.at(-1)} of ${TOKENS} inputs, the middle one
    ${counts[(TOKENS - 1) / 2]}. Pairs: ${counts.reduce((sum, count) => sum + count)}
    of ${TOKENS ** 2}.`);
  put(canvas, "aria-label", t`${layerName(kind)}, ${plural(layers, "layer")}: lines lead from the
    inputs that the last output knows up to it.`);
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
