// Attention by tiles: what is in fast memory, what each query keeps, and how much was moved.

const KEPT = 3;  // numbers that a query keeps: its largest score, its sum, its output

/** 0 to `count` in tiles of `size`, the last one maybe smaller. */
export function cut(count, size) {
  const starts = places(Math.ceil(count / size)).map((i) => i * size);
  return starts.map((start) => places(Math.min(size, count - start)).map((i) => start + i));
}

/** A query's state after more keys, and by what its sum and its output were multiplied; null where
 * there was none (Milakov & Gimelshein 2018, algorithm 3). */
export function update({ largest, total, output }, scores, values) {
  const higher = Math.max(largest, ...scores);
  const factor = Math.exp(largest - higher);
  const powers = scores.map((score) => Math.exp(score - higher));
  const sum = powers.reduce((all, power) => all + power, factor * total);
  const kept = (factor * total) / sum;
  const added = dot(powers, values) / sum;
  const seen = total > 0;
  return {
    largest: higher, total: sum, output: kept * output + added,
    ofSum: seen ? factor : null, ofOutput: seen ? kept : null,
  };
}

/** What holds before the first tile of scores, and after each: keys outside, queries inside, as in
 * `tiled_attention`. */
export function walk({ queries, keys, values }, rows, columns) {
  let states = queries.map(() => ({ largest: null, total: 0, output: 0 }));
  let [reads, writes] = [0, KEPT * queries.length];
  const frames = [{ states, reads, writes, asking: [], asked: [] }];
  for (const asked of cut(keys.length, columns)) {
    reads += 2 * asked.length;
    const some = asked.map((j) => values[j]);
    for (const asking of cut(queries.length, rows)) {
      states = [...states];
      for (const i of asking) {
        const before = { ...states[i], largest: states[i].largest ?? -Infinity };
        states[i] = update(before, asked.map((j) => queries[i] * keys[j]), some);
      }
      reads += (1 + KEPT) * asking.length;
      writes += KEPT * asking.length;
      frames.push({ states, reads, writes, asking, asked });
    }
  }
  return frames;
}

/** What is moved with a table: read q and k, write scores; read them, write weights; read these and
 * v, write the output. */
export const withTable = (n, m) => 2 * (n + m) + 4 * n * m;

/** "query 3", "queries 0 and 1", "queries 0 to 3". */
export function someQueries(numbers) {
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === last) return t`query ${first}`;
  return last - first > 1 ? t`queries ${first} to ${last}` : t`queries ${first} and ${last}`;
}

export function someKeys(numbers) {
  const [first, last] = [numbers[0], numbers.at(-1)];
  if (first === last) return t`key ${first}`;
  return last - first > 1 ? t`keys ${first} to ${last}` : t`keys ${first} and ${last}`;
}

/** What a step did, in a sentence. */
export function tell(frames, step) {
  const { states, asking, asked } = frames[step];
  const last = frames.length - 1;
  if (step === 0) {
    return t`Step 0 of ${last}: nothing is in fast memory, and no query has met a key.`;
  }
  const where = t`Step ${step} of ${last}: ${someQueries(asking)} and ${someKeys(asked)} are in
    fast memory.`;
  const end = step === last ? t` Every output is now attention over all keys, exactly.` : "";
  return t`${where} ${rescaled(states, asking)}${end}`;
}

function rescaled(states, asking) {
  if (states[asking[0]].ofSum === null) return t`Nothing was summed before: nothing is rescaled.`;
  const raised = asking.filter((i) => states[i].ofSum < 1);
  if (!raised.length) return t`No larger score: no sum is rescaled, all are added to.`;
  const each = raised.map((i) => t`the sum of query ${i} by ${digits(states[i].ofSum)}`);
  return t`Larger scores: first multiply ${list(each)}.`;
}

// ---- on the screen -------------------------------------------------------------

const BESIDE = 670;  // how wide a piece has both tables side by side
const TILES_STYLE = `
  .steps { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; }
  .steps .control { flex: 1 1 190px; min-width: 0; }
  .go {
    flex: none; font: inherit; color: inherit; background: inherit; border: 1px solid currentColor;
    border-radius: 99px; padding: 3px 12px; cursor: pointer;
  }
  .go[aria-disabled=true] { border-color: var(--faint); cursor: default; }
  .walk { display: flex; flex-wrap: wrap; gap: 8px 10px; align-items: flex-end; }
  .walk > div { width: min-content; }
  table.tiles { border-collapse: separate; border-spacing: 2px; margin: 0; line-height: 1.1; }
  .tiles :is(th, td) {
    height: 21px; min-width: 30px; box-sizing: border-box; padding: 0 2px; text-align: center;
    border: 2px solid transparent; border-radius: 3px; font-weight: 400;
  }
  .tiles tbody tr:nth-child(n) { background: none; }  /* no notebook's stripes */
  .tiles thead th { font-weight: 600; font-size: .94em; }
  .tiles tbody th { min-width: 0; }
  .tiles thead .many { vertical-align: bottom; white-space: normal; }
  @media (max-width: 500px) { .tiles thead .many { font-size: .82em; } }
  .beside .tiles .again { min-width: 0; padding: 0; }
  .beside .again span {  /* the other table's row says it: heard, not seen */
    position: absolute; width: 1px; height: 1px; clip-path: inset(50%); white-space: nowrap;
  }
  .tiles .end { text-align: right; }
  .tiles :is(.q, .k, .v, .kept, .score) { border-color: var(--faint); }
  .tiles .fast { font-weight: 700; border-color: var(--role); background: var(--tint); }
  .tiles .q { --role: var(--query); }
  .tiles .k { --role: var(--key); }
  .tiles .v { --role: var(--value); }
  .tiles .kept { --role: var(--output); }
  .tiles :is(.q, .k, .v, .kept) { --tint: color-mix(in srgb, var(--role) 22%, var(--paper)); }
  .tiles .score { --role: currentColor; --tint: none; }
  .tiles .score.fast { font-weight: 400; }
  .tiles .score.highest { font-weight: 700; }
  .tiles .used {
    background: repeating-linear-gradient(135deg, var(--faint) 0 2px, transparent 2px 7px);
  }
  .tiles .less { font-weight: 700; text-decoration: underline; }
  .moved { display: grid; grid-template-columns: max-content 1fr; gap: 0 12px; margin-top: 4px; }
  .moved .bar { display: flex; align-items: center; gap: 8px; white-space: nowrap; }
  .moved i { height: 12px; border-radius: 2px; flex: none; }
`;

/** A button that stays where it is when there is nowhere to go. */
function button(words, press) {
  const element = node("button", { type: "button", class: "go" }, words);
  element.addEventListener("click", () => {
    if (element.ariaDisabled !== "true") press();
  });
  return { element, show: (can) => put(element, "aria-disabled", String(!can)) };
}

export function render({ model, el }) {
  speak(model);
  const data = model.get("data");
  const { queries, keys, sizes } = data;
  const frames = memoized((rows, columns) => walk(data, rows, columns));
  const now = () => {
    const state = model.get("state");
    const all = frames(state.query_tile, state.key_tile);
    return { state, all, step: Math.min(state.step, all.length - 1) };
  };
  const size = (name, setting) => choice(name, sizes[setting].map((each) => [each, String(each)]),
    (each) => change(model, { [setting]: each, step: 1 }));
  const controls = {
    query_tile: size(t`queries in a tile`, "query_tile"),
    key_tile: size(t`keys in a tile`, "key_tile"),
  };
  const go = (by) => () => change(model, { step: now().step + by });
  const words = (step) => t`${step} of ${now().all.length - 1}`;
  const where = slider(t`step`, { max: 1, words }, (step) => change(model, { step }));
  const [back, next] = [button(t`‹ back`, go(-1)), button(t`next ›`, go(1))];
  const { root, body, result } = frame(el, TILES_STYLE, ...elements(controls),
    node("div", { class: "steps" }, where.element, back.element, next.element));
  const [scores, states] = [grid(data), kept(queries)];
  const moved = [bar(t`moved, by tiles`), bar(t`with a table`)];
  const tables = node("div", { class: "walk" }, scores.element, states.element);
  body.append(scrolling(t`scores, and what each query keeps`, tables),
    node("div", { class: "moved" }, ...moved.flatMap(({ name, element }) => [name, element])));

  return keepDrawn(model, root, (colours, width) => {
    const { state, all, step } = now();
    showAll(controls, state);
    tables.classList.toggle("beside", width > BESIDE);
    where.show(step, all.length - 1);
    back.show(step > 0);
    next.show(step < all.length - 1);
    scores.show(all, step);
    states.show(all[step]);
    const total = ({ reads, writes }) => reads + writes;
    const plain = withTable(queries.length, keys.length);
    const most = Math.max(plain, total(all.at(-1)));
    moved[0].show(total(all[step]), most, t`${total(all[step])} of ${total(all.at(-1))}`);
    moved[1].show(plain, most, String(plain));
    write(result, tell(all, step));
  });
}

/** A number in as few figures as it takes. */
const short = (number) => String(Number(digits(number)));

const cell = (kind, words = "") => node("td", { class: kind }, words);

const heading = (words, attributes = {}) => node("th", { scope: "col", ...attributes }, words);

/** A heading that is seen only where no other table stands beside. */
const again = (words, attributes) => node("th", attributes, node("span", {}, words));

/** Mark what is in fast memory. */
const mark = (parts, inside) =>
  parts.forEach((part, i) => part.classList.toggle("fast", inside.includes(i)));

/** Keys and values above, queries at the left, and between them the scores that are there now. */
function grid({ queries, keys, values }) {
  const named = (name, cells) => node("tr", {},
    node("th", { scope: "row", colspan: 2, class: "end" }, name), ...cells);
  const ks = keys.map((key) => cell("k", short(key)));
  const vs = values.map((value) => cell("v", short(value)));
  const qs = queries.map((query) => cell("q", short(query)));
  const scores = queries.map(() => keys.map(() => cell("score")));
  const rows = qs.map((q, i) => node("tr", {}, node("th", { scope: "row" }, i), q, ...scores[i]));
  const element = node("table", { class: "table tiles" },
    node("thead", {}, named(t`key`, keys.map((_, j) => heading(j))), named("k", ks), named("v", vs),
      node("tr", {}, heading(t`query, q`, { colspan: 2 }),
        heading(t`score = q · k`, { colspan: keys.length }))),
    node("tbody", {}, ...rows));
  const show = (frames, step) => {
    const { asking, asked, states } = frames[step];
    for (const [parts, inside] of [[ks, asked], [vs, asked], [qs, asking]]) mark(parts, inside);
    const used = frames.slice(1, step);
    scores.forEach((row, i) => row.forEach((part, j) => {
      const here = asking.includes(i) && asked.includes(j);
      const score = queries[i] * keys[j];
      const before = used.some((each) => each.asking.includes(i) && each.asked.includes(j));
      const highest = here && score === states[i].largest;
      put(part, "class", `score${here ? " fast" : ""}${before ? " used" : ""}`
        + `${highest ? " highest" : ""}`);
      write(part, here ? short(score) : "");
    }));
  };
  return { element, show };
}

/** A row for each query: its largest score, its sum and its output, and what became of the old. */
function kept(queries) {
  const titles = [t`largest so far`, t`old sum times`, t`sum so far`, t`old output times`,
    t`output so far`];
  const rows = queries.map(() => titles.map(() => cell("kept")));
  const table = node("table", { class: "table tiles" },
    node("thead", {}, node("tr", {}, again(t`query`, { scope: "col", class: "many again" }),
      ...titles.map((title) => heading(title, { class: "many" })))),
    node("tbody", {}, ...rows.map((cells, i) =>
      node("tr", {}, again(i, { scope: "row", class: "again" }), ...cells))));
  const key = node("p", {}, t`Filled: in fast memory. Striped: used, forgotten.`);
  const element = node("div", {}, key, table);
  const show = ({ states, asking }) => rows.forEach((cells, i) => {
    const { largest, total, output, ofSum, ofOutput } = states[i];
    const inside = asking.includes(i);
    const times = (factor) => (!inside || factor === null ? "" : digits(factor));
    const words = [largest === null ? t`none` : short(largest), times(ofSum), digits(total),
      times(ofOutput), digits(output)];
    cells.forEach((part, j) => {
      write(part, words[j]);
      part.classList.toggle("fast", inside);
      part.classList.toggle("less", inside && j === 1 && ofSum !== null && ofSum < 1);
    });
  });
  return { element, show };
}

/** How much was moved. */
function bar(words) {
  const [line, number] = [node("i", { class: "drawn" }), node("span")];
  const show = (amount, most, said) => {
    line.style.cssText = `width: ${Math.round((65 * amount) / most)}%; background: var(--query)`;
    write(number, said);
  };
  const name = node("span", {}, words);
  return { name, element: node("span", { class: "bar" }, line, number), show };
}

export default { render };
