// Encodings on inputs longer than those of training: accuracy by position, and its mean over all
// positions, or over those beyond training.
import { html } from "./vendor/preact.js";
import {
  END, MIDDLE, box, choice, clip, digits, line, list, onShade, panels, places, room, said, shade, t,
  text, travelling,
} from "./kit.js";

// ---- mathematics ------------------------------------------------------------------

/** The mean of the stretches that are scored, or null; `scope` is "all", or "beyond" for the
 * positions that training never reached. */
export function grade(strip, { trained, stretch }, scope) {
  const parts = strip.slice(scope === "beyond" ? trained / stretch : 0)
    .filter((part) => part !== null);
  return parts.length ? parts.reduce((sum, part) => sum + part) / parts.length : null;
}

/** The encodings with their strips and grades, best first. */
export function ranking(data, { task, length, scored }) {
  const ranks = Object.entries(data.accuracy[task]).map(([encoding, { [length]: strip }]) => ({
    encoding, strip, score: grade(strip, data, scored), beyond: grade(strip, data, "beyond"),
  }));
  return ranks.sort((a, b) => b.score - a.score);
}

/** The result in a sentence. */
export function tell({ trained }, ranks, { task, length, scored }) {
  const [best, second] = ranks;
  const where = t("{0}, length {1}, {2}", said(task), length,
    scored === "all" ? t("all positions") : t("only positions beyond {0}", trained));
  if (best.score === null) {
    return t("{0}: no position is scored there. Choose a longer input.", where);
  }
  if (best.score < 0.4) {
    return t("{0}: nobody is ahead: the best, {1}, gets {2}.", where, said(best.encoding),
      digits(best.score));
  }
  const then = second
    ? t(", then {0} with {1}", said(second.encoding), digits(second.score)) : "";
  const flattered = ranks.filter(({ score, beyond }) => beyond !== null && score - beyond > 0.15)
    .map(({ encoding }) => said(encoding));
  const more = flattered.length
    ? t(" Good only up to {0}, where all were trained: {1}.", trained, list(flattered)) : "";
  return t("{0}: {1} leads with {2}{3}.{4}", where, said(best.encoding), digits(best.score), then,
    more);
}

// ---- the picture ------------------------------------------------------------------

const [TOP, ROW] = [20, 24];  // of the strips, below their scale

function view(seen) {
  const { data, state, width } = seen;
  const { accuracy, lengths, trained } = data;
  const ranks = ranking(data, state);
  return {
    label: t("{0}, length {1}. A strip of accuracies by position for each encoding, best first.",
      said(state.task), state.length),
    picture: panels(width, [{ title: t("accuracy"), width, height: TOP + ROW * ranks.length + 20,
      parts: strips(ranks, state, data, width) }]),
    sentence: tell(data, ranks, state),
    controls: [
      choice(seen, "task", t("task"), Object.keys(accuracy).map((task) => [task, said(task)])),
      choice(seen, "length", t("length"), lengths),
      choice(seen, "scored", t("scored"),
        [["all", t("all positions")], ["beyond", t("only beyond {0}", trained)]]),
    ],
  };
}

/** A row for each encoding: its name, a cell for each stretch of positions, a bar for its grade. */
function strips(ranks, { task, length, scored }, { trained, stretch, chance }, width) {
  const names = ranks.map(({ encoding }) => clip(said(encoding), 15));
  const left = Math.min(Math.max(...[t("position"), ...names].map(room)) + 14, width * 0.38);
  const right = width < 480 ? 44 : Math.min(190, width * 0.22);  // a phone has no room for bars
  const x = (position) => left + (position / length) * (width - left - right - 14);
  const across = x(stretch) - left;
  const [bars, wide] = [width - right, right < 90 ? 0 : right - 40];
  const bottom = TOP + ROW * ranks.length;
  const every = trained / (x(trained) - left > 70 ? 2 : 1);
  const mean = scored === "all" ? t("of all") : t("beyond {0}", trained);
  const beyond = t("beyond training →");
  const chanceAt = bars + wide * chance[task];
  return html`
    ${text(left - 10, 6, t("position"), END)}
    ${places(length / every + 1).map((i) =>
      text(x(i * every), 6, i * every, { ...MIDDLE, class: "scale" }))}
    ${text(bars, -18, t("mean"), { bold: true })}
    ${wide > 0 && text(bars, 6, mean, { bold: true })}
    ${ranks.map(({ encoding, strip, score }, rank) => travelling(encoding, 0, TOP + ROW * rank,
      html`
      ${text(left - 10, ROW / 2, names[rank],
        { ...END, bold: rank === 0 && score >= 0.4, class: "encoding" })}
      ${strip.map((part, i) => cell(part, x(i * stretch), across,
        scored === "all" || i >= trained / stretch))}
      ${score !== null && html`
        ${box(bars, 4, wide * score, ROW - 8, { rx: 2, fill: "var(--query)", class: "bar flows" })}
        ${text(bars + wide * score + 6, ROW / 2, digits(score), { class: "grade" })}`}`))}
    ${length > trained && html`
      ${line([x(trained), TOP - 6], [x(trained), bottom + 6], { class: "boundary" })}
      ${text(x(trained) + 2, -18, room(beyond) < bars - x(trained) ? beyond : t("beyond →"))}`}
    ${wide > 0 && line([chanceAt, TOP], [chanceAt, bottom + 4], { class: "chance" })}
    ${text(0, bottom + 14, t("rows: encodings; a cell: {0} positions", stretch))}
    ${text(wide ? bars : width, bottom + 14, t("chance {0}", digits(chance[task])),
      wide ? {} : END)}`;
}

/** The accuracy of a stretch of positions, with its number where that fits; pale where it doesn't
 * count. */
function cell(part, x, across, counts) {
  const dark = (part ?? 1) * (counts ? 1 : 0.3);
  return html`${box(x, 1, across - 1, ROW - 2, { ...shade(dark), class: "cell",
      fill: `var(--${part === null ? "faint" : "query"})` })}
    ${part !== null && across > 25 && text(x + across / 2, ROW / 2,
      part > 0.995 ? "1" : part.toFixed(2).slice(1), { ...MIDDLE, ...onShade(dark) })}`;
}

const style = `
  .cell { stroke: var(--faint); stroke-width: .5; }
  .boundary { stroke: currentColor; stroke-width: 2.5; }
  .chance { stroke: currentColor; stroke-width: 1.5; }
`;

export const piece = { view, style };
