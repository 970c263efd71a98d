// Self-attention: move the words, hide some of them, and see which outputs stay as they were.

/** Who may attend to whom, by places counted from 0: no later key, none from the length on. */
export const mayAttend = ({ causal, padding }, validLen) => (query, key) =>
  !(causal && key > query) && !(padding && key >= validLen);

/** One layer over the rows of X: softmax(q kᵀ / √d) v over what may be attended to, then W_o
 * (Vaswani et al. 2017, section 3.2). */
export function attend({ W_q, W_k, W_v, W_o }, X, may) {
  const [Q, K, V] = [W_q, W_k, W_v].map((W) => times(X, W));
  const scale = Math.sqrt(W_q.length);
  const weights = times(Q, K).map((row, i) =>
    softmax(row.map((score, j) => (may(i, j) ? score / scale : -Infinity))));
  return { weights, output: times(times(weights, transpose(V)), W_o) };
}

/** The words in some order through one layer or two: the last layer's weights, the outputs, and
 * whether each is as in the order 0, 1, 2 ... */
export function say({ X, validLen, ...matrices }, { order, layers, ...masks }) {
  const may = mayAttend(masks, validLen);
  const through = (words) => {
    let all = { output: words.map((token) => X[token]) };
    for (let layer = 0; layer < layers; layer++) all = attend(matrices, all.output, may);
    return all;
  };
  const [first, now] = [through(places(X.length)).output, through(order)];
  const before = order.map((token) => first[token]);
  const same = now.output.map((row, place) =>
    row.every((value, i) => Math.abs(value - before[place][i]) < 1e-6));
  return { ...now, before, same, may };
}

/** The order after a token has moved to another place; the others close up. */
function moveTo(order, token, place) {
  const others = order.filter((other) => other !== token);
  return [...others.slice(0, place), token, ...others.slice(place)];
}

/** What a length hides, by the length. */
const AFTER = [() => "", () => t`places after the first`, () => t`places after the second`,
  () => t`places after the third`, () => t`places after the fourth`,
  () => t`places after the fifth`];

/** What is hidden, in words. */
function hidden({ causal, padding }, validLen) {
  const parts = [];
  if (causal) parts.push(t`later words`);
  if (padding) parts.push(AFTER[validLen]());
  return parts.length ? t`${list(parts)} hidden` : t`nothing hidden`;
}

/** The result in a sentence. */
export function tell({ same }, state, order, { tokens, validLen }) {
  const where = t`${plural(state.layers, "layer")}, ${hidden(state, validLen)}:`;
  if (order.every((token, place) => token === place)) {
    return t`${where} these are the outputs to compare with. Move a word.`;
  }
  const words = (wanted) => {
    const found = order.filter((_, place) => same[place] === wanted);
    return list(found.map((token) => clip(tokens[token], 20)));
  };
  const [kept, moved] = [words(true), words(false)];
  if (!moved) return t`${where} another order, and every word's output is the same.`;
  if (!kept) return t`${where} every output has changed.`;
  return t`${where} the output of ${moved} has changed, that of ${kept} is the same.`;
}

// ---- on the screen -------------------------------------------------------------

const ORDER_STYLE = `
  .chips {
    display: flex; flex-wrap: wrap; gap: 8px; align-items: center;
  }
  .chips small { font-size: .94em; margin-left: 8px; }
  .chip {
    font: inherit; font-weight: 600; color: inherit; background: inherit;
    border: 2px solid currentColor; border-radius: 99px; padding: 4px 16px;
    cursor: grab; touch-action: none; user-select: none;
  }
  .chip.held { cursor: grabbing; border-color: var(--query); }
  fieldset .pill span { max-width: 16em; }
  table.order { border-collapse: separate; border-spacing: 0; margin: 8px 0 0; }
  .order :is(th, td, tr) { padding: 4px 5px; text-align: center; }
  .order th { font-weight: 400; }
  .order :is(tbody th, thead .group) { font-weight: 600; text-align: left; }
  .order tbody th { padding-right: 12px; text-align: right; }
  .order td.weight { min-width: 2.9em; border: 1px solid var(--faint); }
  .order td.hidden {
    background: repeating-linear-gradient(135deg, transparent 0 5px, var(--faint) 5px 6.5px);
  }
  .order td.gap { padding: 0 6px; }
  .order td.output { min-width: 2.9em; border: 1px solid var(--output); }
  .order th.verdict { white-space: normal; min-width: 8em; }
  .order td.verdict { text-align: left; padding-left: 10px; }
  .order .changed { font-weight: 600; }
`;

/** The words as buttons in their order: dragged, or moved by the arrow keys.
 * The one that moves never leaves the page, so it keeps its focus. */
function chipRow(tokens, move) {
  let order = places(tokens.length);
  let held = 0;
  const names = tokens.map((token) => clip(token, 16));
  const chips = names.map((name) =>
    node("button", { type: "button", class: "chip", ...NATIVE }, name));
  const hint = node("small", {}, t`drag a word, or choose it and press ← or →`);
  const attributes = { class: "chips", role: "group", "aria-label": t`the words in their order` };
  const to = (token, place) => {
    held = token;
    if (place in order && order[place] !== token) move(moveTo(order, token, place));
  };
  chips.forEach((chip, token) => {
    onArrows(chip, {
      ArrowLeft: () => to(token, order.indexOf(token) - 1),
      ArrowRight: () => to(token, order.indexOf(token) + 1),
      Home: () => to(token, 0),
      End: () => to(token, order.length - 1),
    });
    onDrag(chip, (pointer) => {
      const over = chipUnder(pointer, chip, chips, order);
      if (over >= 0) to(token, order.indexOf(over));
    });
  });
  const show = (wanted) => {
    order = wanted;
    const at = order.indexOf(held);
    chips[held].before(...order.slice(0, at).map((token) => chips[token]));
    chips[held].after(...order.slice(at + 1).map((token) => chips[token]));
    order.forEach((token, place) => {
      put(chips[token], "aria-label", t`${names[token]}, place ${place + 1} of ${order.length}`);
    });
  };
  return { element: node("div", attributes, ...chips, hint), show };
}

/** Call what `keys` has for a key, unless it is pressed with others. */
function onArrows(chip, keys) {
  chip.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });
}

/** Call `drag` with the pointer's moves from the press of its main button until it ends. */
function onDrag(chip, drag) {
  const ends = ["pointerup", "pointercancel", "blur"];
  const drop = () => {
    chip.classList.remove("held");
    window.removeEventListener("pointermove", drag);
    for (const end of ends) window.removeEventListener(end, drop);
  };
  chip.addEventListener("pointerdown", ({ button }) => {
    if (button) return;
    chip.classList.add("held");
    window.addEventListener("pointermove", drag);
    for (const end of ends) window.addEventListener(end, drop);
  });
}

/** The token whose place a dragged chip takes, -1 for none: one under the pointer, and far enough
 * that the dragged one then lies there. */
function chipUnder({ clientX, clientY }, chip, chips, order) {
  const own = chip.getBoundingClientRect();
  const over = chips.findIndex((other) => {
    const { left, right, top, height } = other.getBoundingClientRect();
    return clientX >= left && clientX < right && Math.abs(clientY - top - height / 2) < height;
  });
  if (over < 0 || chips[over] === chip) return -1;
  const box = chips[over].getBoundingClientRect();
  const forward = order.indexOf(over) > order.indexOf(chips.indexOf(chip));
  const far = forward ? clientX >= box.right - own.width : clientX < box.left + own.width;
  return far || box.top !== own.top ? over : -1;
}

export function render({ model, el }) {
  speak(model);
  const { tokens, features, ...data } = model.get("data");
  const { validLen } = data;
  const controls = {
    causal: checkbox(t`causal`, (causal) => change(model, { causal })),
    padding: checkbox(t`padding, length ${validLen}`, (padding) => change(model, { padding })),
    layers: choice(t`layers`, [[1, "1"], [2, "2"]], (layers) => change(model, { layers })),
  };
  const { causal, padding, layers } = controls;
  const { root, body, result } = frame(el, ORDER_STYLE,
    fieldset(t`masks`, causal.element, padding.element), layers.element);
  const row = chipRow(tokens, (order) => change(model, { order: order.join("") }));
  const table = node("table", { class: "table order" });
  body.append(row.element, scrolling(t`weights and outputs`, table));

  return keepDrawn(model, root, (colours) => {
    const state = model.get("state");
    const order = Array.from(state.order, Number);
    const all = say(data, { ...state, order });
    showAll(controls, state);
    row.show(order);
    const head = tableHead(tokens, order, features, state.layers);
    const lines = order.map((token, place) =>
      tableRow(clip(tokens[token], 16), place, all, colours));
    table.replaceChildren(head, node("tbody", {}, ...lines));
    write(result, tell(all, state, order, { tokens, validLen }));
  });
}

const gap = () => node("td", { class: "gap" });

function tableHead(tokens, order, features, layers) {
  const heading = (name) => node("th", { scope: "col" }, clip(said(name), 12));
  const group = (name, count) =>
    node("th", { class: "group", scope: "colgroup", colspan: count }, name);
  const weights = layers === 1 ? t`weights` : t`weights in layer 2`;
  const first = t`compared with ${tokens.map((token) => clip(token, 10)).join(" ")}`;
  return node("thead", {},
    node("tr", {}, node("td"), group(weights, tokens.length), gap(),
      group(t`output`, features.length), node("td")),
    node("tr", {}, node("td"), ...order.map((token) => heading(tokens[token])), gap(),
      ...features.map(heading), node("th", { scope: "col", class: "verdict" }, first)));
}

/** What one word attends to, its output, and whether it is as in the first order. */
function tableRow(name, place, { may, weights, output, before, same }, colours) {
  const painted = (kind, paint, ink, text) =>
    node("td", { class: kind, style: `background: ${css(paint)}${ink}` }, text);
  const seen = weights[place].map((weight, key) => {
    if (!may(place, key)) return node("td", { class: "weight hidden", title: t`hidden` }, "–");
    const paint = colours.weight(weight);
    return painted("weight drawn", paint, `; color: ${css(on(paint))}`, digits(weight));
  });
  const tint = colours.tint("output");
  const outputs = output[place].map((value) => painted("output", tint, "", digits(value)));
  const verdict = same[place]
    ? node("td", { class: "verdict" }, t`= the same`)
    : node("td", { class: "verdict changed" },
      t`≠ there ${before[place].map(digits).join("  ")}`);
  return node("tr", {}, node("th", { scope: "row" }, name), ...seen, gap(), ...outputs, verdict);
}

export default { render };
