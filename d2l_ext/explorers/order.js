// Self-attention: move the words, hide some of them, and see which outputs stay as they were.

/** Who may attend to whom, by places counted from 0: no later key, none from the length on. */
export const mayAttend = ({ causal, padding }, validLen) => (query, key) => !(causal && key > query) && !(padding && key >= validLen);

/** One layer over the rows of X: softmax(q kᵀ / √d) v over what may be attended to, then W_o (Vaswani et al. 2017, section 3.2). */
export function attend({ W_q, W_k, W_v, W_o }, X, may) {
  const [Q, K, V] = [W_q, W_k, W_v].map((W) => times(X, W));
  const scores = times(Q, K).map((row, i) => row.map((score, j) => (may(i, j) ? score / Math.sqrt(W_q.length) : -Infinity)));
  const weights = scores.map((row) => softmax(row));
  return { weights, output: times(times(weights, transpose(V)), W_o) };
}

/** The words in some order through one layer or two; the last layer's weights, the outputs, and whether each is as in the order 0, 1, 2 ... */
export function say({ X, validLen, ...matrices }, { order, layers, ...masks }) {
  const may = mayAttend(masks, validLen);
  const through = (places) => {
    let all = { output: places.map((token) => X[token]) };
    for (let layer = 0; layer < layers; layer++) all = attend(matrices, all.output, may);
    return all;
  };
  const [first, now] = [through(X.map((_, i) => i)).output, through(order)];
  const before = order.map((token) => first[token]);
  const same = now.output.map((row, place) => row.every((value, i) => Math.abs(value - before[place][i]) < 1e-6));
  return { ...now, before, same, may };
}

/** Where a token stands after being moved to another place; the others close up. */
export function moveTo(order, token, place) {
  const others = order.filter((other) => other !== token);
  return [...others.slice(0, place), token, ...others.slice(place)];
}

export const parse = (code) => Array.from(code, Number);

const ordinal = (number) => ["first", "second", "third", "fourth", "fifth"][number - 1] ?? `${number}th`;

/** What is hidden, in words. */
export function hidden({ causal, padding }, validLen) {
  const parts = [causal && "later words", padding && `places after the ${ordinal(validLen)}`].filter(Boolean);
  return parts.length ? `${list(parts)} hidden` : "nothing hidden";
}

/** The result in a sentence. */
export function tell({ same }, state, { tokens, validLen }) {
  const order = parse(state.order);
  const where = `${state.layers} ${state.layers === 1 ? "layer" : "layers"}, ${hidden(state, validLen)}:`;
  if (order.every((token, place) => token === place)) return `${where} these are the outputs to compare with. Move a word.`;
  const [kept, moved] = [true, false].map((wanted) => list(order.filter((_, place) => same[place] === wanted).map((token) => clip(tokens[token], 20))));
  if (!moved) return `${where} another order, and every word's output is the same.`;
  return kept ? `${where} the output of ${moved} has changed, that of ${kept} is the same.` : `${where} every output has changed.`;
}

// ------------------------------------------------------------------ on the screen

const ORDER_STYLE = `
.d2l-piece .chips { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 12px 0 0; padding: 0; list-style: none; }
.d2l-piece .chips small { font-size: .87em; margin-left: 8px; }
.d2l-piece .chip { font: inherit; font-weight: 600; color: inherit; background: inherit; border: 2px solid currentColor; border-radius: 99px; padding: 4px 16px; cursor: grab; touch-action: none; user-select: none; }
.d2l-piece .chip.held { cursor: grabbing; border-color: var(--query); }
.d2l-piece fieldset .pill span { max-width: 16em; }
.d2l-piece table.order { border-collapse: separate; border-spacing: 0; margin: 12px 0 0; font-size: inherit; color: inherit; background: none; }
.d2l-piece .order :is(th, td, tr) { color: inherit; background: none; border: 0; padding: 4px 8px; text-align: center; font-variant-numeric: tabular-nums; white-space: nowrap; }
.d2l-piece .order th { font-weight: 400; }
.d2l-piece .order :is(tbody th, thead .group) { font-weight: 600; text-align: left; }
.d2l-piece .order tbody th { padding-right: 12px; text-align: right; }
.d2l-piece .order td.weight { min-width: 3.2em; border: 1px solid var(--faint); }
.d2l-piece .order td.hidden { background: repeating-linear-gradient(135deg, transparent 0 5px, var(--faint) 5px 6.5px); }
.d2l-piece .order td.gap { padding: 0 9px; }
.d2l-piece .order td.output { min-width: 3.2em; border: 1px solid var(--output); }
.d2l-piece .order th.verdict { white-space: normal; }
.d2l-piece .order td.verdict { text-align: left; padding-left: 14px; }
.d2l-piece .order .changed { font-weight: 600; }
`;

const ENDS = ["pointerup", "pointercancel", "blur"];
/** The words as buttons in their order: dragged, or moved by the arrow keys. The one that moves never leaves the page, so it keeps its focus. */
function chipRow(tokens, move) {
  let order = tokens.map((_, i) => i);
  let held = 0;
  const chips = tokens.map((token, i) => node("button", { type: "button", class: "chip", ...NATIVE }, clip(token, 16)));
  const element = node("div", { class: "chips", role: "group", "aria-label": "the words in their order" }, ...chips, node("small", {}, "drag a word, or choose it and press ← or →"));
  const to = (token, place) => {
    held = token;
    if (place >= 0 && place < tokens.length && order[place] !== token) move(moveTo(order, token, place));
  };
  chips.forEach((chip, token) => {
    const steps = { ArrowLeft: () => order.indexOf(token) - 1, ArrowRight: () => order.indexOf(token) + 1, Home: () => 0, End: () => tokens.length - 1 };
    chip.addEventListener("keydown", (event) => {
      if (!steps[event.key] || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      to(token, steps[event.key]());
    });
    const drag = ({ clientX, clientY }) => {
      const over = chips.findIndex((other) => {
        const { left, right, top, height } = other.getBoundingClientRect();
        return clientX >= left && clientX < right && Math.abs(clientY - top - height / 2) < height;
      });
      if (over < 0 || over === token) return;
      const [own, box] = [chip.getBoundingClientRect(), chips[over].getBoundingClientRect()];
      const forward = order.indexOf(over) > order.indexOf(token);  // far enough that it then lies under the pointer
      if (box.top !== own.top || (forward ? clientX >= box.right - own.width : clientX < box.left + own.width)) to(token, order.indexOf(over));
    };
    const drop = () => {
      chip.classList.remove("held");
      window.removeEventListener("pointermove", drag);
      for (const end of ENDS) window.removeEventListener(end, drop);
    };
    chip.addEventListener("pointerdown", ({ button }) => {
      if (button) return;
      chip.classList.add("held");
      window.addEventListener("pointermove", drag);
      for (const end of ENDS) window.addEventListener(end, drop);
    });
  });
  const show = (wanted) => {
    order = wanted;
    const at = order.indexOf(held);
    chips[held].before(...order.slice(0, at).map((token) => chips[token]));
    chips[held].after(...order.slice(at + 1).map((token) => chips[token]));
    order.forEach((token, place) => chips[token].setAttribute("aria-label", `${clip(tokens[token], 16)}, place ${place + 1} of ${order.length}`));
  };
  return { element, show };
}

export function render({ model, el }) {
  const { tokens, features, ...data } = model.get("data");
  const { validLen } = data;
  const first = `compared with ${tokens.map((token) => clip(token, 10)).join(" ")}`;
  const controls = {
    causal: tick("causal", (causal) => change(model, { causal })),
    padding: tick(`padding, length ${validLen}`, (padding) => change(model, { padding })),
    layers: choice("layers", [[1, "1"], [2, "2"]], (layers) => change(model, { layers })),
  };
  const { root, body, result } = frame(el, node("fieldset", {}, node("legend", {}, "masks"), controls.causal.element, controls.padding.element), controls.layers.element);
  root.prepend(node("style", {}, ORDER_STYLE));
  const row = chipRow(tokens, (order) => change(model, { order: order.join("") }));
  const table = node("table", { class: "order" });
  body.append(row.element, wide("weights and outputs", table));

  return keepDrawn(model, root, (colours) => {
    const state = model.get("state");
    const order = parse(state.order);
    for (const [name, control] of Object.entries(controls)) control.show(state[name]);
    row.show(order);
    const all = say(data, { ...state, order });
    const heading = (name) => node("th", { scope: "col" }, clip(name, 12));
    const group = (name, count) => node("th", { class: "group", scope: "colgroup", colspan: count }, name);
    const head = node("thead", {},
      node("tr", {}, node("td"), group(state.layers === 1 ? "weights" : "weights in layer 2", tokens.length), node("td", { class: "gap" }), group("output", features.length), node("td")),
      node("tr", {}, node("td"), ...order.map((token) => heading(tokens[token])), node("td", { class: "gap" }), ...features.map(heading), node("th", { scope: "col", class: "verdict" }, first)));
    const lines = order.map((token, place) => {
      const weights = all.weights[place].map((weight, key) => {
        if (!all.may(place, key)) return node("td", { class: "weight hidden", title: "hidden" }, "–");
        const paint = colours.weight(weight);
        return node("td", { class: "weight drawn", style: `background: ${css(paint)}; color: ${css(colours.on(paint))}` }, digits(weight));
      });
      const outputs = all.output[place].map((value) => node("td", { class: "output", style: `background: ${css(colours.tint("output"))}` }, digits(value)));
      const verdict = node("td", { class: all.same[place] ? "verdict" : "verdict changed" }, all.same[place] ? "= the same" : `≠ there ${all.before[place].map(digits).join("  ")}`);
      return node("tr", {}, node("th", { scope: "row" }, clip(tokens[token], 16)), ...weights, node("td", { class: "gap" }), ...outputs, verdict);
    });
    table.replaceChildren(head, node("tbody", {}, ...lines));
    write(result, tell(all, state, { tokens, validLen }));
  });
}

export default { render };
