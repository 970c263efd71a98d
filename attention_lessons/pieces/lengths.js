// Encodings on inputs longer than those of training: accuracy by position, and its mean over all
// positions, or over those beyond training.
import {
  END, MIDDLE, box, choice, clip, digits, line, list, onShade, panels, places, said, shade, t, text,
  travelling,
} from "./kit.js";

// ---- mathematics ----

/** The mean of the stretches that are scored; NaN where none is. */
function average(strip) {
  const parts = strip.filter((part) => part !== null);
  return parts.reduce((sum, part) => sum + part, 0) / parts.length;
}

/** The encodings with their strips and means, best first; `beyond` is that beyond training. */
function ranking({ accuracy, trained, stretch }, { task, length, scored }) {
  return Object.entries(accuracy[task]).map(([encoding, { [length]: strip }]) => {
    const beyond = average(strip.slice(trained / stretch));
    const score = scored === "all" ? average(strip) : beyond;
    return { encoding, name: said(encoding), strip, beyond, score };
  }).sort((a, b) => b.score - a.score);
}

// ---- in words ----

const scopes = ({ trained }) =>
  ({ all: t("all positions"), beyond: t("only beyond {0}", trained) });

/** The name of an encoding and, of those that lead in lesson 05, what it does. */
const explained = ({ encoding, name }) => ({
  Shaw: t("Shaw (a vector for each offset)"),
  "ALiBi, causal": t("ALiBi, causal (nearer keys score more)"),
  sinusoidal: t("sinusoidal (sines of each position)"),
  learned: t("learned (a vector for each position)"),
})[encoding] ?? name;

/** The result in a sentence. */
function tell(data, ranks, { task, length, scored }) {
  const [best, second] = ranks;
  const where = t("{0}, length {1}, {2}", said(task), length, scopes(data)[scored]);
  if (Number.isNaN(best.score)) {
    return t("{0}: no position is scored there. Choose a longer input.", where);
  }
  const mean = digits(best.score);
  if (best.score < 0.4) {
    return t("{0}: nobody is ahead: the best, {1}, gets {2}.", where, best.name, mean);
  }
  const then = second ? t(", then {0} with {1}", second.name, digits(second.score)) : "";
  const flattered = ranks.filter(({ score, beyond }) => score - beyond > 0.15);
  const more = flattered.length ? t(" Good only up to {0}, as trained: {1}.", data.trained,
    list(flattered.map(({ name }) => name))) : "";
  return t("{0}: {1} leads with {2}{3}.{4}", where, explained(best), mean, then, more);
}

// ---- the picture ----

const [LEFT, TOP, ROW] = [120, 20, 24];  // of the strips, beside their names, below their scale

function view(seen) {
  const { data, state, width } = seen;
  const ranks = ranking(data, state);
  return {
    label: t("{0}, length {1}. A strip of accuracies by position for each encoding, best first.",
      said(state.task), state.length),
    picture: panels(width, [strips(ranks, seen)]),
    sentence: tell(data, ranks, state),
    controls: [
      choice(seen, "task", t("task"), Object.keys(data.accuracy).map((one) => [one, said(one)])),
      choice(seen, "length", t("length"), data.lengths),
      choice(seen, "scored", t("scored"), Object.entries(scopes(data))),
    ],
  };
}

/** A row for each encoding: its name, a cell for each stretch of positions, pale where it doesn't
 * count, with its number where that fits, and a bar for the mean. */
function strips(ranks, { data, state: { task, length, scored }, width }) {
  const { trained, stretch, chance: { [task]: chance } } = data;
  const wide = width < 560 ? 0 : Math.min(150, width * 0.22 - 40);  // no room for bars on a phone
  const bars = width - wide - 40;
  const bottom = TOP + ROW * ranks.length;
  const x = (position) => LEFT + position / length * (bars - LEFT - 14);
  const across = x(stretch) - LEFT;
  const every = trained / (x(trained) - LEFT > 70 ? 2 : 1);
  const guessed = bars + wide * chance;
  const cell = (part, i) => {
    const dark = (part ?? 1) * (scored === "all" || i >= trained / stretch ? 1 : 0.3);
    return [box(x(i * stretch), 1, across - 1, ROW - 2, { ...shade(dark), class: "cell",
      fill: `var(--${part === null ? "faint" : "query"})` }),
    part !== null && across > 25 && text(x((i + 0.5) * stretch), ROW / 2,
      part > 0.995 ? "1" : part.toFixed(2).slice(1), { ...MIDDLE, ...onShade(dark) })];
  };
  return { title: t("accuracy"), width, height: bottom + 20, parts: [
    text(LEFT - 10, 6, t("position"), END),
    places(length / every + 1).map((i) =>
      text(x(i * every), 6, i * every, { ...MIDDLE, class: "scale" })),
    text(bars, -18, t("mean"), { bold: true }),
    ranks.map(({ encoding, name, strip, score }, i) => travelling(encoding, 0, TOP + ROW * i,
      text(LEFT - 10, ROW / 2, clip(name, 13),
        { ...END, bold: i === 0 && score >= 0.4, class: "encoding" }),
      strip.map(cell),
      score >= 0 && [
        box(bars, 4, wide * score, ROW - 8, { rx: 2, fill: "var(--query)", class: "bar flows" }),
        text(bars + wide * score + 6, ROW / 2, digits(score), { class: "grade" })])),
    length > trained && [
      line([x(trained), TOP - 6], [x(trained), bottom + 6], { class: "boundary" }),
      text(Math.min(x(trained) + 2, bars - 134), -18, t("beyond training →"))],
    wide > 0 && line([guessed, TOP], [guessed, bottom + 4], { class: "chance" }),
    text(0, bottom + 14, t("rows: ways to tell position")),
    text(Math.min(bars, width - 85), bottom + 14, t("chance {0}", digits(chance))),
  ] };
}

const style = `
  .cell { stroke: var(--faint); stroke-width: .5; }
  :is(.boundary, .chance) { stroke: currentColor; stroke-width: 2; }
`;

export const piece = { view, style };
