// A date reader at work: a text of one's own, heads switched on and off, the answer, and where heads look. The kernel computes, this draws.

const PIECES = ["year", "year", "year", "year", "", "month", "month", "", "day", "day"];

/** How two answers differ, in a sentence. */
export function compare({ letters, answer, full, problem, off }) {
  const text = clip(letters.join(""), 60);
  if (!answer) return problem;
  const heads = off.length ? `Without ${list(off)}` : "With all heads on";
  const wrong = [...new Set(PIECES.filter((_, i) => answer[i] !== full[i]))].map((part) => part || "hyphens");
  const verdict = off.length ? (wrong.length ? `, not ${full}: the ${list(wrong)} changed` : ", the same as with all heads on") : "";
  return `${heads}: ${text} → ${answer}${verdict}.${problem ? ` ${problem}` : ""}`;
}

/** Cells of a map, and how many maps stand side by side, so that letters stay legible. */
export function arrange(columns, width) {
  for (const [side, least] of [[4, 16], [2, 13], [1, 1]]) {
    const cell = Math.min(26, Math.floor((Math.min(width, 1120) / side - 60) / columns));
    if (cell >= least) return { side, cell };
  }
  return { side: 1, cell: 4 };
}

const LAYERS = ["encoder", "decoder", "cross"];
const DATES_STYLE = `
.d2l-piece .dates { display: flex; flex-wrap: wrap; gap: 8px 26px; align-items: center; padding: 10px 0; }
.d2l-piece .dates input[type=text] { width: 19em; max-width: 100%; box-sizing: border-box; color: inherit; background: inherit; border: 1px solid currentColor; border-radius: 4px; padding: 4px 8px; font-size: 1.1em; }
.d2l-piece .answer { display: flex; flex-wrap: wrap; gap: 4px; margin: 6px 0 14px; font-size: 1.45em; font-variant-numeric: tabular-nums; }
.d2l-piece .answer span { min-width: 1.25em; text-align: center; border: 2px solid var(--faint); border-radius: 4px; padding: 1px 2px; }
.d2l-piece .answer .other { border-color: var(--key); border-width: 3px; font-weight: 700; text-decoration: underline; }
.d2l-piece .looks { display: grid; justify-content: start; gap: 16px 20px; }
.d2l-piece .looks[hidden] { display: none; }
.d2l-piece .looks .off canvas { opacity: .45; }
`;

export function render({ model, el }) {
  const { heads, live } = model.get("data");
  const text = node("input", { type: "text", maxlength: 200, spellcheck: "false", autocomplete: "off", ...NATIVE });
  const ask = (settings) => change(model, settings, 0);  // the kernel is waited for
  const switches = heads.map((head) => ({ head, ...tick(head, () => ask({ off: switches.filter(({ input }) => !input.checked).map((each) => each.head) })) }));
  const rows = LAYERS.map((layer) => node("fieldset", {}, node("legend", {}, layer),
    ...switches.filter(({ head }) => head.startsWith(`${layer} `)).map(({ element }) => element)));
  const layer = choice("maps of", LAYERS.map((name) => [name, name]), (name) => change(model, { layer: name }));
  const { root, body, result } = frame(el, node("label", { class: "control" }, node("span", { class: "name" }, "your date"), text), layer.element);
  const answer = node("div", { class: "answer", role: "img" });
  const looks = node("div", { class: "looks" });
  const cards = Array.from({ length: heads.length / 3 }, () => ({ title: node("p"), canvas: node("canvas", { role: "img" }) }));
  const shells = cards.map(({ title, canvas }) => node("div", {}, title, canvas));
  looks.append(...shells);
  root.prepend(node("style", {}, DATES_STYLE));
  root.querySelector(".controls").classList.add("dates");
  body.append(node("div", { class: "dates" }, ...rows), answer, looks);

  text.addEventListener("input", () => ask({ text: text.value }));  // while the kernel is busy ipywidgets keeps only the newest
  if (!live) {
    for (const input of [text, ...switches.map((each) => each.input)]) input.disabled = true;
    body.prepend(node("p", {}, "To type a date and to switch heads off, run the cell: the kernel computes here. The maps can be looked at."));
  }
  // Both what is asked (state) and what the kernel answers (data) call for a redraw.
  const both = {
    on: (_, listener) => { model.on("change:state", listener); model.on("change:data", listener); },
    off: (_, listener) => { model.off("change:state", listener); model.off("change:data", listener); },
  };
  /** What the kernel last said; nothing to do when only the wish has changed. */
  const showAnswer = sparing((data, layer, colours, width) => {
    write(result, compare(data));
    answer.replaceChildren(...Array.from(data.answer, (symbol, i) => node("span", symbol === data.full[i] ? {} : { class: "other" }, symbol)));
    put(answer, "aria-label", data.answer ? `Answer: ${data.answer}` : "No answer");
    const maps = data.maps[layer];
    looks.hidden = !maps;
    if (!maps) return;
    const given = ["start", ...data.answer.slice(0, -1)];
    const [down, across] = { encoder: [data.letters, data.letters], decoder: [given, given], cross: [[...data.answer], data.letters] }[layer];
    const { side, cell } = arrange(across.length, width);
    looks.style.gridTemplateColumns = `repeat(${side}, max-content)`;
    cards.forEach(({ title, canvas }, head) => {
      const name = `${layer} ${head}`;
      const off = data.off.includes(name);
      shells[head].classList.toggle("off", off);
      title.replaceChildren(node("b", {}, name), off ? " (off: nobody listens)" : "");
      drawLooks(canvas, colours, maps[head], down, across, cell);
      put(canvas, "aria-label", `${name}, a map of weights: rows ask, columns are asked. ${most(maps[head], down, across)}`);
    });
  });
  return keepDrawn(both, root, (colours, width) => {
    const [state, data] = [model.get("state"), model.get("data")];
    if (document.activeElement !== text && text.getRootNode().activeElement !== text) text.value = state.text;
    for (const each of switches) each.show(!state.off.includes(each.head));
    layer.show(state.layer);
    showAnswer(data, state.layer, colours, width);
  });
}

/** Where each row looks most, in words. */
function most(map, down, across) {
  return map.map((row, i) => `${spoken(down[i])} looks at ${spoken(across[row.indexOf(Math.max(...row))])}`).join(", ");
}

const spoken = (letter) => (letter === " " ? "blank" : letter);

function drawLooks(canvas, colours, percent, down, across, cell) {
  const [left, top, wide, tall] = [colours.size * 2.6, colours.size + 8, across.length * cell, down.length * cell];
  const context = pen(canvas, left + wide + 4, top + tall + 4, colours);
  map(context, colours, percent.map((row) => row.map((value) => value / 100)), left, top, cell, cell);
  outline(context, colours.query, left, top, wide, tall, 1.5);
  const bold = { bold: true, colour: colours.ink };
  across.forEach((letter, j) => label(context, letter === " " ? "␣" : letter === "start" ? "s" : letter, left + (j + 0.5) * cell, top / 2, { align: "center", ...bold }));
  down.forEach((letter, i) => label(context, letter === " " ? "␣" : letter, left - 6, top + (i + 0.5) * cell, { align: "right", ...bold }));
}

export default { render };
