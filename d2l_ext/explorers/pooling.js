// Attention pooling: one query, a scale and a mask; scores, weights and the mixed value follow.

/** softmax(q kᵀ / scale) v over the keys that the query may attend to, zeros where there are none
 * (Vaswani et al. 2017, section 3.2.1). */
export function pool({ keys, values }, query, scale, sees) {
  const scores = keys.map((key) => dot(query, key) / scale);
  const visible = scores.filter((_, i) => sees[i]);
  const shares = visible.length ? softmax(visible) : [];
  const weights = sees.map((seen) => (seen ? shares.shift() : 0));
  const output = transpose(values).map((column) => dot(weights, column));
  return { scores, weights, output };
}

/** A weight to two decimals, the tiny ones as powers of ten. */
const share = (weight) =>
  (weight > 0 && weight < 0.005 ? weight.toExponential(1) : digits(weight));

/** The result in a sentence. */
export function tell({ weights, output }, sees) {
  if (!sees.includes(true)) {
    return t`Every key is hidden: there is nothing to mix, and the output is zero.`;
  }
  const words = weights.map((weight, i) => [weight, i + 1])
    .filter(([weight]) => weight >= 0.005)
    .sort((a, b) => b[0] - a[0])
    .slice(0, 6)
    .map(([weight, number]) => t`key ${number} gets ${digits(weight)}`);
  return t`Of the weight, ${list(words)}. Output: ${output.map(digits).join(", ")}.`;
}

// ---- on the screen -------------------------------------------------------------

const POOLING_STYLE = `
  table.pooling { border-collapse: separate; border-spacing: 0 3px; margin: 0; }
  .pooling :is(th, td, tr) { padding: 3px 10px 3px 0; text-align: left; vertical-align: middle; }
  .pooling th { font-weight: 600; }
  .pooling thead th { white-space: normal; }
  .pooling .sum { text-align: right; }
  .pooling thead small { display: block; font-weight: 400; font-size: .94em; min-width: 5em; }
  .pooling .row { display: inline-flex; border: 2px solid; border-radius: 4px; }
  .pooling .row span { min-width: 2.4em; padding: 1px 4px; text-align: center; }
  .pooling .key { border-color: var(--key); }
  .pooling .value { border-color: var(--value); }
  .pooling .output { border-color: var(--output); border-width: 3px; font-weight: 600; }
  .pooling :is(.value, .output) span { min-width: 3.6em; }
  .pooling .scale { display: flex; align-items: center; gap: 8px; width: 140px; }
  .pooling .bar { height: 18px; background: var(--query); border-radius: 2px; flex: none; }
  .pooling .hidden :is(.row, .number) { opacity: .7; }
  .pooling label {
    display: flex; gap: 6px; align-items: center; min-height: var(--target); cursor: pointer;
  }
  .dials { display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; }
  .dial { display: flex; gap: 6px; align-items: center; }
  .dial input[type=range] { width: 110px; }
  .dial input[type=number], .preset {
    font: inherit; color: inherit; background: inherit; border: 1px solid currentColor;
  }
  .dial input[type=number] { width: 4.4em; border-radius: 4px; padding: 2px 4px; }
  @media (max-width: 500px) {
    .pooling :is(th, td, tr) { padding-right: 8px; }
    .pooling .row span { min-width: 1.3em; padding: 1px 3px; }
  }
  .preset { border-color: var(--faint); border-radius: 99px; padding: 2px 12px; cursor: pointer; }
  .preset[aria-pressed=true] { border-color: currentColor; font-weight: 600; }
`;

/** A number to drag or to type. `bend` turns the slider's place into the number, `unbend` back. */
function dial(name, { min, max, step, bend = (place) => place, unbend = bend }, pick) {
  const range = { min: unbend(min), max: unbend(max), step };
  const drag = node("input", { type: "range", ...range, "aria-label": name, ...NATIVE });
  const type = node("input", {
    type: "number", min, max, step: "any", title: t`${min} to ${max}`,
    "aria-label": t`${name}, typed`, ...NATIVE,
  });
  const typed = () => type.value !== "";
  drag.addEventListener("input", () => pick(bend(Number(drag.value))));
  type.addEventListener("input", () => {
    if (typed() && type.validity.valid) pick(Number(type.value));
  });
  type.addEventListener("change", () => {  // what is out of range becomes the nearest that is not
    if (typed() && !type.validity.valid) pick(Math.min(max, Math.max(min, Number(type.value))));
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

const dials = (name, ...children) =>
  fieldset(name, node("span", { class: "dials" }, ...children));

/** Numbers in a frame of their role's colour. */
const cells = (role, numbers) =>
  node("span", { class: `row ${role}` }, ...numbers.map((number) => node("span", {}, `${number}`)));

const cell = (child) => node("td", {}, child);

export function render({ model, el }) {
  speak(model);
  const { keys, values, limit, presets } = model.get("data");
  const set = setter(model);
  const names = keys[0].map((_, i) => `q${i + 1}`);
  const range = { min: -limit, max: limit, step: limit / 20 };
  const query = names.map((name, i) => dial(t`query, number ${i + 1}`, range, set(name)));
  const tidy = (number) => (number < 10 ? Math.round(number * 10) / 10 : Math.round(number));
  const bent = { bend: (place) => tidy(10 ** place), unbend: Math.log10 };
  const scale = dial(t`scale`, { min: 1, max: 100, step: 0.01, ...bent }, set("scale"));
  const buttons = presets.map(([number, label]) => {
    const attributes = { type: "button", class: "preset", "aria-label": t`scale ${label}` };
    const button = node("button", attributes, label);
    button.addEventListener("click", () => set("scale")(number));
    return button;
  });
  const { root, body, result } = frame(el, POOLING_STYLE,
    dials(t`query`, ...elements(query)), dials(t`scale`, scale.element, ...buttons));
  const rows = keys.map((key, i) => makeRow(t`key ${i + 1}`, key, values[i], set(`key${i + 1}`)));
  const divided = node("small");
  const output = node("td");
  body.append(makeTable(rows, divided, output));

  return keepDrawn(model, root, () => {
    const state = model.get("state");
    const sees = keys.map((_, i) => state[`key${i + 1}`]);
    const all = pool({ keys, values }, names.map((name) => state[name]), state.scale, sees);
    query.forEach(({ show }, i) => show(state[names[i]]));
    scale.show(state.scale);
    buttons.forEach((button, i) => {
      put(button, "aria-pressed", String(Math.abs(presets[i][0] - state.scale) < 0.01));
    });
    write(divided, t`query · key / ${digits(state.scale)}`);
    rows.forEach((row, i) => showRow(row, sees[i], all.scores[i], all.weights[i]));
    output.replaceChildren(cells("output", all.output.map(digits)));
    write(result, tell(all, sees));
  });
}

/** The row of a key: whether it may be attended to, its score, its weight and its value. */
function makeRow(name, key, value, pick) {
  const box = node("input", { type: "checkbox", ...NATIVE });
  box.addEventListener("change", () => pick(box.checked));
  const [score, weight] = [node("span", { class: "number" }), node("span", { class: "number" })];
  const bar = node("span", { class: "bar drawn" });
  const element = node("tr", {},
    node("th", { scope: "row" }, node("label", {}, box, name)),
    cell(cells("key", key)), cell(score), cell(node("span", { class: "scale" }, bar, weight)),
    cell(cells("value", value)));
  return { element, box, score, bar, weight };
}

function showRow({ element, box, score, bar, weight }, seen, itsScore, itsWeight) {
  box.checked = seen;
  element.className = seen ? "" : "hidden";
  write(score, seen ? digits(itsScore) : t`hidden`);
  bar.style.width = `${Math.round(itsWeight * 84)}px`;
  write(weight, share(itsWeight));
}

function makeTable(rows, divided, output) {
  const titles = [[t`may attend`], [t`key`], [t`score`, divided],
    [t`weight`, node("small", {}, "softmax")], [t`value`]];
  const head = node("tr", {}, ...titles.map((words) => node("th", { scope: "col" }, ...words)));
  const sum = node("th", { scope: "row", colspan: 4, class: "sum" }, t`output`);
  const table = node("table", { class: "table pooling" },
    node("thead", {}, head),
    node("tbody", {}, ...elements(rows), node("tr", {}, sum, output)));
  return scrolling(t`keys, scores, weights and values`, table);
}

export default { render };
