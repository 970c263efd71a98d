// A date reader at work: a text to type, heads to switch on and off, the answer, and where heads
// look. The kernel computes, this draws.

// What stands at each place of an answer.
const PIECES = [
  "year", "year", "year", "year", "hyphens", "month", "month", "hyphens", "day", "day",
];

/** How two answers differ, in a sentence. */
export function compare({ letters, answer, full, problem, off }) {
  if (!answer) return problem;
  const heads = off.length ? t`Without ${list(off)}` : t`With all heads on`;
  const wrong = new Set(PIECES.filter((_, i) => answer[i] !== full[i]));
  let verdict = "";
  if (wrong.size) verdict = t`, not ${full}: the ${list([...wrong].map(said))} changed`;
  else if (off.length) verdict = t`, the same as with all heads on`;
  const more = problem ? ` ${problem}` : "";
  return t`${heads}: ${clip(letters.join(""), 60)} → ${answer}${verdict}.${more}`;
}

/** How many maps stand side by side, and how large their cells are: letters stay legible. */
export function arrange(columns, width) {
  for (const [side, least] of [[4, 13], [2, 13], [1, 1]]) {
    const cell = Math.min(26, Math.floor((Math.min(width, 1120) / side - 60) / columns));
    if (cell >= least) return { side, cell };
  }
  return { side: 1, cell: 4 };
}

/** Where each row looks most, in words. */
function most(weights, down, across) {
  const named = (letter) => (letter === " " ? t`blank` : letter);
  const looks = weights.map((row, i) => {
    const largest = row.indexOf(Math.max(...row));
    return t`${named(down[i])} looks at ${named(across[largest])}`;
  });
  return looks.join(t`, `);
}

// ---- on the screen -------------------------------------------------------------

const LAYERS = ["encoder", "decoder", "cross"];
const DATES_STYLE = `
  .settings { column-gap: 18px; }
  fieldset { column-gap: 4px; }
  .pill { padding-right: 8px; }
  input[type=text] {
    width: 16em; max-width: 100%; box-sizing: border-box; color: inherit; background: inherit;
    border: 1px solid currentColor; border-radius: 4px; padding: 3px 8px; font-size: 1.1em;
  }
  .answer {
    float: left; display: flex; flex-wrap: wrap; gap: 4px; margin: 8px 16px 0 0;
    font-size: 1.45em; font-variant-numeric: tabular-nums;
  }
  .answer span {
    min-width: 1.25em; text-align: center; padding: 1px 0;
    border: 2px solid var(--faint); border-radius: 4px;
  }
  .answer .other {
    border-color: var(--key); border-width: 3px; font-weight: 700; text-decoration: underline;
  }
  .result { display: flow-root; }
  .body { clear: left; }
  .looks { display: grid; justify-content: start; gap: 10px 20px; }
  .looks[hidden] { display: none; }
  .looks .off canvas { opacity: .45; }
`;

export function render({ model, el }) {
  speak(model);
  const { heads, live } = model.get("data");
  const ask = (settings) => change(model, settings, 0);  // the kernel is waited for
  const text = node("input", {
    type: "text", maxlength: 200, spellcheck: "false", autocomplete: "off", ...NATIVE,
  });
  text.addEventListener("input", () => ask({ text: text.value }));
  const box = (head) => checkbox(head, () => ask({ off: off() }), head.split(" ").at(-1));
  const switches = heads.map((head) => ({ head, ...box(head) }));
  const off = () => switches.filter(({ input }) => !input.checked).map(({ head }) => head);
  const rows = LAYERS.map((name) =>
    fieldset(name, ...elements(switches.filter(({ head }) => head.startsWith(`${name} `)))));
  const names = LAYERS.map((name) => [name, name]);
  const layer = choice(t`maps of`, names, (chosen) => change(model, { layer: chosen }));
  const date = labelled(t`your date`, text);
  const { root, body, result } = frame(el, DATES_STYLE, date, layer.element, ...rows);
  const answer = node("div", { class: "answer", role: "img" });
  const cards = places(heads.length / LAYERS.length).map(() => {
    const [title, canvas] = [node("p"), node("canvas", { role: "img" })];
    return { title, canvas, element: node("div", {}, title, canvas) };
  });
  const looks = node("div", { class: "looks" }, ...elements(cards));
  if (!live) {
    text.disabled = true;
    for (const { input } of switches) input.disabled = true;
    body.append(node("p", {}, t`To type a date and to switch heads off, run the cell: the kernel
      computes here. The maps can be looked at.`));
  }
  result.before(answer);
  body.append(looks);

  /** What the kernel said last; there is nothing to do when only the question has changed. */
  const showAnswer = memoized((data, shown, colours, width) => {
    write(result, compare(data));
    answer.replaceChildren(...Array.from(data.answer, (symbol, i) =>
      node("span", symbol === data.full[i] ? {} : { class: "other" }, symbol)));
    put(answer, "aria-label", data.answer ? t`Answer: ${data.answer}` : t`No answer`);
    looks.hidden = !data.maps[shown];
    if (!looks.hidden) showLooks(looks, cards, data, shown, colours, width);
  });
  return keepDrawn(listening(model), root, (colours, width) => {
    const [state, data] = [model.get("state"), model.get("data")];
    const focus = [document.activeElement, text.getRootNode().activeElement];
    if (!focus.includes(text)) text.value = state.text;
    for (const each of switches) each.show(!state.off.includes(each.head));
    layer.show(state.layer);
    showAnswer(data, state.layer, colours, width);
  });
}

/** A model whose listeners hear what is asked (state) and what the kernel answers (data). */
function listening(model) {
  const both = (what, listener) => {
    for (const event of ["change:state", "change:data"]) model[what](event, listener);
  };
  return {
    on: (_, listener) => both("on", listener),
    off: (_, listener) => both("off", listener),
  };
}

/** The maps of a layer's heads. */
function showLooks(looks, cards, { answer, letters, off, maps }, layer, colours, width) {
  const given = ["start", ...answer.slice(0, -1)];
  const [down, across] = {
    encoder: [letters, letters], decoder: [given, given], cross: [[...answer], letters],
  }[layer];
  const { side, cell } = arrange(across.length, width);
  looks.style.gridTemplateColumns = `repeat(${side}, max-content)`;
  cards.forEach(({ title, canvas, element }, head) => {
    const name = `${layer} ${head}`;
    const isOff = off.includes(name);
    const weights = maps[layer][head].map((row) => row.map((percent) => percent / 100));
    element.classList.toggle("off", isOff);
    title.replaceChildren(node("b", {}, name), isOff ? t` (off: nobody listens)` : "");
    drawLooks(canvas, colours, weights, down, across, cell);
    put(canvas, "aria-label", t`${name}, a map of weights: rows ask, columns are asked. `
      + most(weights, down, across));
  });
}

function drawLooks(canvas, colours, weights, down, across, cell) {
  const { size, query, measure } = colours;
  const left = Math.ceil(measure("start")) + 7;
  const [top, wide, high] = [size + 8, across.length * cell, down.length * cell];
  const context = pen(canvas, left + wide + 4, top + high + 4, colours);
  const written = (letter) => ({ " ": "␣", start: "s" }[letter] ?? letter);
  map(context, colours, weights, left, top, cell, cell);
  outline(context, query, left, top, wide, high, 1.5);
  across.forEach((letter, j) => {
    const x = left + (j + 0.5) * cell;
    label(context, written(letter), x, top / 2, { align: "center", bold: true });
  });
  down.forEach((letter, i) => {
    const y = top + (i + 0.5) * cell;
    const bold = letter !== "start";
    label(context, letter === " " ? "␣" : letter, left - 6, y, { align: "right", bold });
  });
}

export default { render };
