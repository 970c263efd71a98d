// Encodings on inputs longer than those of training: accuracy by position, and its mean over all
// positions, or over those beyond training.

/** The mean of the stretches that are scored, or null; `scope` is "all", or "beyond" for the
 * positions that training never reached. */
export function grade(strip, { trained, stretch }, scope) {
  const parts = strip.slice(scope === "beyond" ? trained / stretch : 0)
    .filter((part) => part !== null);
  return parts.length ? parts.reduce((sum, part) => sum + part) / parts.length : null;
}

/** The encodings with their strips and grades, best first. */
export function ranking(data, { task, length, scored }) {
  const ranks = Object.entries(data.accuracy[task]).map(([encoding, strips]) => {
    const strip = strips[length];
    const beyond = grade(strip, data, "beyond");
    return { encoding, strip, grade: grade(strip, data, scored), beyond };
  });
  return ranks.sort((a, b) => b.grade - a.grade);
}

/** The result in a sentence. */
export function tell(data, { task, length, scored }) {
  const { trained } = data;
  const ranks = ranking(data, { task, length, scored });
  const which = scored === "all" ? t`all positions` : t`only positions beyond ${trained}`;
  const where = t`${said(task)}, length ${length}, ${which}`;
  if (ranks[0].grade === null) {
    return t`${where}: no position is scored there. Choose a longer input.`;
  }
  const flattered = ranks.filter((each) =>
    scored === "all" && each.beyond !== null && each.grade - each.beyond > 0.15);
  const names = list(flattered.map(({ encoding }) => said(encoding)));
  const more = names ? t` The positions up to ${trained} flatter ${names}.` : "";
  return t`${where}: ${leaders(ranks)}.${more}`;
}

function leaders([best, second]) {
  const top = digits(best.grade);
  if (best.grade < 0.4) return t`nobody is ahead: the best, ${said(best.encoding)}, gets ${top}`;
  const then = second ? t`, then ${said(second.encoding)} with ${digits(second.grade)}` : "";
  return t`${said(best.encoding)} leads with ${top}${then}`;
}

/** All grades, for those who can't see the picture. */
function describe(data, ranks, { task, length }) {
  const { trained, stretch } = data;
  const worth = (score) => (score === null ? t`not scored` : digits(score));
  const each = ranks.map(({ encoding, strip, grade: score, beyond }) => {
    const within = grade(strip.slice(0, trained / stretch), data, "all");
    return t`${said(encoding)} ${worth(score)}, up to ${trained} ${worth(within)}, beyond
      ${worth(beyond)}`;
  });
  const told = each.join(t`; `);
  return t`${said(task)}, length ${length}. A strip of accuracies by position for each
    encoding, best first: ${told}`;
}

// ---- on the screen -------------------------------------------------------------

export function render({ model, el }) {
  speak(model);
  const data = model.get("data");
  const { accuracy, lengths, trained } = data;
  const control = (name, label, options) => choice(label, options, setter(model)(name));
  const controls = {
    task: control("task", t`task`, Object.keys(accuracy).map((task) => [task, said(task)])),
    length: control("length", t`length`, lengths.map((length) => [length, String(length)])),
    scored: control("scored", t`scored`,
      [["all", t`all positions`], ["beyond", t`only beyond ${trained}`]]),
  };
  const { body, root, result } = frame(el, "", ...elements(controls));
  const canvas = node("canvas", { role: "img" });
  body.append(canvas);
  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    const ranks = ranking(data, state);
    showAll(controls, state);
    draw(canvas, ranks, state, data, Math.min(width - 12, 980), colours);
    put(canvas, "aria-label", describe(data, ranks, state));
    write(result, tell(data, state));
  });
}

/** A row for each encoding: its name, a cell for each stretch of positions, a bar for its grade. */
function draw(canvas, ranks, { task, length, scored }, data, width, colours) {
  const { trained, stretch, lengths } = data;
  const { ink, size, measure } = colours;
  const last = Math.max(...lengths);
  const names = [t`position`, ...ranks.map(({ encoding }) => said(encoding))];
  const left = Math.ceil(1.1 * Math.max(...names.map(measure))) + 14;  // the leader is bold
  const beyond = 1.1 * measure(t`beyond ${trained}`);  // so is this
  const right = Math.ceil(Math.max(beyond, Math.min(190, width * 0.22)));
  const across = (width - left - right - 24) / (last / stretch);
  const [down, top] = [Math.round(1.6 * size), size + 28];
  const bottom = top + ranks.length * down;
  const context = pen(canvas, width, bottom + size + 10, colours);
  const x = (position) => left + (position / stretch) * across;
  const bars = { left: x(last) + 24, wide: right - measure("0.00") - 8, chance: data.chance[task] };

  const mean = scored === "all" ? t`of all` : t`beyond ${trained}`;
  label(context, t`position`, left - 10, size + 18, { align: "right" });
  let free = 0;
  for (let position = 0; position <= length; position += trained / 2) {
    const half = measure(String(position)) / 2;
    if (x(position) - half < free) continue;
    label(context, String(position), x(position), size + 18, { align: "center" });
    free = x(position) + half + 6;
  }
  label(context, t`mean`, bars.left, size / 2 + 2, { bold: true });
  label(context, mean, bars.left, size + 18, { bold: true });
  ranks.forEach(({ encoding, strip, grade: score }, i) => {
    const y = top + i * down;
    const bold = i === 0 && score >= 0.4;
    label(context, said(encoding), left - 10, y + down / 2, { align: "right", bold });
    strip.forEach((part, j) => {
      const counts = scored === "all" || j >= trained / stretch;
      context.globalAlpha = counts ? 1 : 0.3;
      drawCell(context, part, x(j * stretch), y, across, down, colours);
    });
    context.globalAlpha = 1;
    if (score !== null) drawBar(context, score, bars, y, down, colours);
  });
  if (length > trained) {
    outline(context, ink, x(trained) - 0.5, top - 6, 0, bottom - top + 12, 2.5);
    const room = bars.left - x(trained) - 10;
    const words = measure(t`beyond training →`) < room ? t`beyond training →` : t`beyond →`;
    label(context, words, x(trained) + 2, size / 2 + 2);
  }
  const words = t`chance ${digits(bars.chance)}`;
  const chance = Math.min(bars.left + bars.chance * bars.wide, width - measure(words));
  label(context, words, chance, bottom + size / 2 + 4);
}

/** The accuracy of a stretch of positions, with its number where that fits. */
function drawCell(context, part, x, y, across, down, colours) {
  const fill = part === null ? colours.faint : colours.weight(part);
  block(context, fill, x, y + 1, across - 1, down - 2);
  if (part === null || across <= colours.measure(".00") + 4) return;
  const words = part > 0.995 ? "1" : part.toFixed(2).slice(1);
  label(context, words, x + across / 2, y + down / 2 + 1, { align: "center", colour: on(fill) });
}

/** A grade as a bar, with a mark at chance. */
function drawBar(context, score, { left, wide, chance }, y, down, { query, ink }) {
  block(context, query, left, y + 5, score * wide, down - 10);
  label(context, digits(score), left + score * wide + 6, y + down / 2 + 1);
  block(context, ink, left + chance * wide, y, 1.5, down);
}

export default { render };
