// Encodings on inputs longer than those of training: accuracy by position, and what it comes to when all positions count, or only those beyond.

/** The mean of the stretches that are scored, or null; `scope` is "all", or "beyond" for the positions that training never reached. */
export function grade(strip, { trained, stretch }, scope) {
  const parts = strip.slice(scope === "beyond" ? trained / stretch : 0).filter((part) => part !== null);
  return parts.length ? parts.reduce((sum, part) => sum + part) / parts.length : null;
}

/** The encodings with their strips and grades, best first. */
export function ranking(data, { task, length, scored }) {
  return Object.entries(data.accuracy[task])
    .map(([encoding, strips]) => ({ encoding, strip: strips[length], grade: grade(strips[length], data, scored), beyond: grade(strips[length], data, "beyond") }))
    .sort((a, b) => b.grade - a.grade);
}

/** The result in a sentence. */
export function tell(data, state) {
  const { task, length, scored } = state;
  const ranks = ranking(data, state);
  const where = `${task}, length ${length}, ${scored === "all" ? "all positions" : `only positions beyond ${data.trained}`}`;
  if (ranks[0].grade === null) return `${where}: no position is scored there. Choose a longer input.`;
  const [best, second] = ranks;
  const first = best.grade < 0.4 ? `nobody is ahead: the best, ${best.encoding}, gets ${digits(best.grade)}` : `${best.encoding} leads with ${digits(best.grade)}${second ? `, then ${second.encoding} with ${digits(second.grade)}` : ""}`;
  const flattered = scored === "all" ? ranks.filter((each) => each.beyond !== null && each.grade - each.beyond > 0.15).map(({ encoding }) => encoding) : [];
  return `${where}: ${first}.${flattered.length ? ` The positions up to ${data.trained} flatter ${list(flattered)}.` : ""}`;
}

// ------------------------------------------------------------------ on the screen

export function render({ model, el }) {
  const data = model.get("data");
  const { accuracy, lengths, trained, stretch, chance } = data;
  const control = (name, words, options) => choice(words, options, (value) => change(model, { [name]: value }));
  const controls = {
    task: control("task", "task", Object.keys(accuracy).map((task) => [task, task])),
    length: control("length", "length", lengths.map((length) => [length, String(length)])),
    scored: control("scored", "scored", [["all", "all positions"], ["beyond", `only beyond ${trained}`]]),
  };
  const { body, root, result } = frame(el, ...Object.values(controls).map(({ element }) => element));
  const canvas = node("canvas", { role: "img", style: "margin-top: 10px" });
  body.append(canvas);
  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    for (const [name, each] of Object.entries(controls)) each.show(state[name]);
    const ranks = ranking(data, state);
    draw(canvas, ranks, state, { trained, stretch, last: Math.max(...lengths), chance: chance[state.task] }, Math.min(width - 12, 980), colours);
    put(canvas, "aria-label", `${state.task}, length ${state.length}. A strip of accuracies by position for each encoding, best first: `
      + ranks.map(({ encoding, strip, grade: score }) => `${encoding} ${score === null ? "not scored" : digits(score)}, up to ${trained} ${said(grade(strip.slice(0, trained / stretch), data, "all"))}, beyond ${said(grade(strip, data, "beyond"))}`).join("; "));
    write(result, tell(data, state));
  });
}

const said = (score) => (score === null ? "not scored" : digits(score));

/** A row for each encoding: its name, a cell for each stretch of positions, a bar for what counts. What does not count is pale. */
function draw(canvas, ranks, { length, scored }, { trained, stretch, last, chance }, width, colours) {
  const { ink, size } = colours;
  const left = Math.ceil(Math.max(...ranks.map(({ encoding }) => colours.measure(encoding)))) + 14;
  const right = Math.min(190, Math.round(width * 0.22));
  const across = (width - left - right - 24) / (last / stretch);
  const [down, top] = [Math.round(1.9 * size), size + 34];
  const high = ranks.length * down;
  const context = pen(canvas, width, top + high + size + 14, colours);
  const roomy = across > colours.measure(".00") + 4;
  const x = (position) => left + (position / stretch) * across;
  const beside = x(last) + 24;
  label(context, "position", left, size / 2 + 2, { colour: ink });
  for (let position = 0; position <= length; position += trained / 2) label(context, String(position), x(position), size + 22, { align: "center", colour: ink });
  label(context, scored === "all" ? "mean of all" : `mean beyond ${trained}`, beside, size / 2 + 2, { colour: ink, bold: true, width: right });
  ranks.forEach(({ encoding, strip, grade: score }, i) => {
    const y = top + i * down;
    label(context, encoding, left - 10, y + down / 2, { align: "right", colour: ink, bold: i === 0 && score >= 0.4 });
    strip.forEach((part, j) => {
      const fill = part === null ? colours.faint : colours.weight(part);
      context.globalAlpha = scored === "beyond" && j < trained / stretch ? 0.3 : 1;
      context.fillStyle = css(fill);
      context.fillRect(x(j * stretch), y + 1, across - 1, down - 2);
      if (part !== null && roomy) label(context, part > 0.995 ? "1" : part.toFixed(2).slice(1), x(j * stretch) + across / 2, y + down / 2 + 1, { align: "center", colour: colours.on(fill) });
      context.globalAlpha = 1;
    });
    if (score === null) return;
    const room = right - colours.measure("0.00") - 8;
    context.fillStyle = css(colours.query);
    context.fillRect(beside, y + 5, score * room, down - 10);
    label(context, digits(score), beside + score * room + 6, y + down / 2 + 1, { colour: ink });
    context.fillStyle = css(ink);
    context.fillRect(beside + chance * room, y + 2, 1.5, down - 4);
  });
  if (length > trained) {
    outline(context, ink, x(trained) - 0.5, top - 6, 0, high + 12, 2.5);
    label(context, "beyond training →", x(trained) + 2, size / 2 + 2, { colour: ink });
  }
  label(context, `| chance ${digits(chance)}`, beside + chance * (right - colours.measure("0.00") - 8), top + high + size / 2 + 4, { colour: ink });
}

export default { render };
