// Attention pooling: one query, a scale and a mask; scores, weights and the mixed value follow.

/** softmax(q kᵀ / scale) v over the keys that may be attended to (Vaswani et al. 2017, section 3.2.1); zeros where there are none. */
export function pool({ keys, values }, query, scale, sees) {
  const scores = keys.map((key) => dot(query, key) / scale);
  const visible = scores.filter((_, i) => sees[i]);
  const shares = visible.length ? softmax(visible) : [];
  const weights = sees.map((seen) => (seen ? shares.shift() : 0));
  const output = transpose(values).map((column) => dot(weights, column));
  return { scores, weights, output };
}

/** A weight to two decimals, the tiny ones as powers of ten. */
export const share = (weight) => (weight > 0 && weight < 0.005 ? weight.toExponential(1) : digits(weight));

/** The result in a sentence. */
export function tell({ weights, output }, sees) {
  if (!sees.includes(true)) return "Every key is hidden: there is nothing to mix, and the output is zero.";
  const order = weights.map((weight, i) => [weight, i + 1]).filter(([weight]) => weight >= 0.005).sort((a, b) => b[0] - a[0]);
  const words = order.slice(0, 6).map(([weight, number]) => `key ${number} gets ${digits(weight)}`);
  return `Of the weight, ${list(words)}. Output: ${output.map(digits).join(", ")}.`;
}

// ------------------------------------------------------------------ on the screen

const POOLING_STYLE = `
.d2l-piece table.pooling { border-collapse: separate; border-spacing: 0 6px; margin: 8px 0 0; font-size: inherit; color: inherit; background: none; }
.d2l-piece .pooling :is(th, td, tr) { color: inherit; background: none; border: 0; padding: 3px 14px 3px 0; text-align: left; font-variant-numeric: tabular-nums; white-space: nowrap; vertical-align: middle; }
.d2l-piece .pooling th { font-weight: 600; }
.d2l-piece .pooling .sum { text-align: right; }
.d2l-piece .pooling thead small { display: block; font-weight: 400; font-size: .87em; min-width: 7em; }
.d2l-piece .pooling .row { display: inline-flex; border: 2px solid; border-radius: 4px; }
.d2l-piece .pooling .row span { min-width: 2.4em; padding: 1px 6px; text-align: center; }
.d2l-piece .pooling .key { border-color: var(--key); }
.d2l-piece .pooling .value { border-color: var(--value); }
.d2l-piece .pooling .output { border-color: var(--output); border-width: 3px; font-weight: 600; }
.d2l-piece .pooling :is(.value, .output) span { min-width: 3.6em; }
.d2l-piece .pooling .scale { display: flex; align-items: center; gap: 8px; width: 170px; }
.d2l-piece .pooling .bar { height: 18px; background: var(--query); border-radius: 2px; flex: none; }
.d2l-piece .pooling .hidden :is(.row, .number) { opacity: .7; }
.d2l-piece .pooling label { display: flex; gap: 6px; align-items: center; cursor: pointer; }
.d2l-piece .dials { display: flex; flex-wrap: wrap; gap: 4px 20px; align-items: center; }
.d2l-piece .dial { display: flex; gap: 6px; align-items: center; }
.d2l-piece .dial input[type=range] { width: 110px; }
.d2l-piece .dial input[type=number] { width: 5em; font: inherit; color: inherit; background: inherit; border: 1px solid currentColor; border-radius: 4px; padding: 2px 4px; }
.d2l-piece .preset { font: inherit; color: inherit; background: inherit; border: 1px solid var(--faint); border-radius: 99px; padding: 2px 12px; cursor: pointer; }
.d2l-piece .preset[aria-pressed=true] { border-color: currentColor; font-weight: 600; }
`;

/** A number to drag or to type. `bend` turns the slider's place into the number, `unbend` back. */
function dial(name, { min, max, step, bend = (place) => place, unbend = bend }, pick) {
  const drag = node("input", { type: "range", min: unbend(min), max: unbend(max), step, "aria-label": name, ...NATIVE });
  const type = node("input", { type: "number", min, max, step: "any", title: `${min} to ${max}`, "aria-label": `${name}, typed`, ...NATIVE });
  drag.addEventListener("input", () => pick(bend(Number(drag.value))));
  type.addEventListener("input", () => { if (type.value !== "" && type.validity.valid) pick(Number(type.value)); });
  type.addEventListener("change", () => { // what is out of range becomes the nearest that is not
    if (type.value !== "" && !type.validity.valid) pick(Math.min(max, Math.max(min, Number(type.value))));
    type.value = drag.dataset.number;
  });
  const show = (number) => {
    const words = String(Math.round(number * 100) / 100);
    drag.value = unbend(number);
    drag.dataset.number = words;
    put(drag, "aria-valuetext", words);
    if (type !== type.getRootNode().activeElement) type.value = words;
  };
  return { element: node("span", { class: "dial" }, drag, type), show };
}

/** A column of the table: numbers in a frame of their role's colour. */
const cells = (role, numbers) => node("span", { class: `row ${role}` }, ...numbers.map((number) => node("span", {}, String(number))));

export function render({ model, el }) {
  const { keys, values, limit, presets } = model.get("data");
  const names = keys[0].map((_, i) => `q${i + 1}`);
  const dials = names.map((name, i) => dial(`query, number ${i + 1}`, { min: -limit, max: limit, step: limit / 20 }, (number) => change(model, { [name]: number })));
  const tidy = (number) => (number < 10 ? Math.round(number * 10) / 10 : Math.round(number));
  const scale = dial("scale", { min: 1, max: 100, step: 0.01, bend: (place) => tidy(10 ** place), unbend: Math.log10 }, (number) => change(model, { scale: number }));
  const buttons = presets.map(([number, label]) => {
    const button = node("button", { type: "button", class: "preset", "aria-label": `scale ${label}` }, label);
    button.addEventListener("click", () => change(model, { scale: number }));
    return button;
  });
  const group = (name, ...children) => node("fieldset", {}, node("legend", {}, name), node("span", { class: "dials" }, ...children));
  const { root, body, result } = frame(el, group("query", ...dials.map(({ element }) => element)), group("scale", scale.element, ...buttons));
  root.prepend(node("style", {}, POOLING_STYLE));

  const lines = keys.map((key, i) => {
    const tick = node("input", { type: "checkbox", ...NATIVE });
    tick.addEventListener("change", () => change(model, { [`key${i + 1}`]: tick.checked }));
    const [score, bar, weight] = [node("span", { class: "number" }), node("span", { class: "bar drawn" }), node("span", { class: "number" })];
    const line = node("tr", {}, node("th", { scope: "row" }, node("label", {}, tick, `key ${i + 1}`)), node("td", {}, cells("key", key)), node("td", {}, score),
      node("td", {}, node("span", { class: "scale" }, bar, weight)), node("td", {}, cells("value", values[i])));
    return { line, tick, score, bar, weight };
  });
  const divided = node("small");
  const output = node("td");
  const heads = [["may attend"], ["key"], ["score", divided], ["weight", node("small", {}, "softmax")], ["value"]];
  body.append(wide("keys, scores, weights and values", node("table", { class: "pooling" },
    node("thead", {}, node("tr", {}, ...heads.map((words) => node("th", { scope: "col" }, ...words)))),
    node("tbody", {}, ...lines.map(({ line }) => line), node("tr", {}, node("th", { scope: "row", colspan: 4, class: "sum" }, "output"), output)))));

  return keepDrawn(model, root, () => {
    const state = model.get("state");
    const sees = lines.map((_, i) => state[`key${i + 1}`]);
    const all = pool({ keys, values }, names.map((name) => state[name]), state.scale, sees);
    dials.forEach(({ show }, i) => show(state[names[i]]));
    scale.show(state.scale);
    buttons.forEach((button, i) => put(button, "aria-pressed", String(Math.abs(presets[i][0] - state.scale) < 0.01)));
    write(divided, `query · key / ${digits(state.scale)}`);
    lines.forEach(({ line, tick, score, bar, weight }, i) => {
      tick.checked = sees[i];
      line.className = sees[i] ? "" : "hidden";
      write(score, sees[i] ? digits(all.scores[i]) : "hidden");
      bar.style.width = `${Math.round(all.weights[i] * 110)}px`;
      write(weight, share(all.weights[i]));
    });
    output.replaceChildren(cells("output", all.output.map(digits)));
    write(result, tell(all, sees));
  });
}

export default { render };
