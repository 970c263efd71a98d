// Where every head of a model looks: a grid of small maps, one large map, and its rows in words.

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** Each layer's heads, each a map of rows: percents, a byte each, one after another. */
export function unpack({ tokens, keys, layers, maps }) {
  const percents = bytesOf(maps);
  let place = 0;
  const row = () =>
    Array.from(percents.subarray(place, place += keys.length), (percent) => percent / 100);
  return layers.map(({ heads }) => places(heads).map(() => tokens.map(row)));
}

/** What is chosen: a layer may have fewer heads than the one before. */
export function chosen({ layers }, { layer, head, asks }) {
  return { layer, head: Math.min(head, layers[layer].heads - 1), asks };
}

/** One row in a sentence. */
export function tell({ tokens, keys, layers }, weights, { layer, head, asks }) {
  const where = Math.max(...weights) ? takes(weights, keys) : t`nothing`;
  return t`${layers[layer].name}, head ${head}: ${clip(tokens[asks], 20)} looks at ${where}.`;
}

const [HIGH, GAP] = [264, 3];

/** A map of at most `most` by `most` cells, each the largest of those that it stands for. */
export function shrink(weights, most) {
  const ends = (count) => {
    const cells = Math.min(count, most);
    return places(cells).map((i) => [i, i + 1].map((j) => Math.floor(j * count / cells)));
  };
  const across = ends(weights[0].length);
  return ends(weights.length).map(([top, bottom]) => across.map(([left, right]) =>
    Math.max(...weights.slice(top, bottom).flatMap((row) => row.slice(left, right)))));
}

/** How large the small maps, the large one and a patch of the image are, and which labels stand. */
export function plan({ tokens, keys, layers, image }, width, { measure, size }) {
  const heads = Math.max(...layers.map((layer) => layer.heads));
  const beside = width >= 560;
  const edge = 20;  // for the numbers of layers and heads
  const share = beside ? 0.4 * width : width - 8;
  const side = Math.max(6, Math.min(
    76, (share - edge) / heads - GAP, Math.max(12, (HIGH - edge) / layers.length - GAP)));
  const full = (count) => edge + count * (side + GAP);
  const grid = { edge, side, wide: full(heads), high: full(layers.length) };

  const patch = image && Math.min(HIGH / image.rows, 300 / image.columns);
  const third = image && width >= 860 ? image.columns * patch + 30 : 0;
  const rest = beside ? width - grid.wide - 48 - third : width - 8;
  const most = (words) => Math.max(...words.map(measure));
  const named = HIGH / tokens.length >= size;
  const left = named ? Math.min(1.1 * most(tokens), 0.35 * rest) + 14 : 14;  // bold is wider
  const room = Math.min(64, (rest - left - 4) / keys.length);
  const titled = most(keys) + 6 <= room;
  const top = titled ? size + 8 : 4;
  const down = Math.min(room, (HIGH - top) / tokens.length);
  const across = titled ? room : Math.min(room, 2 * down);
  return { grid, named, titled, left, top, across, down, patch };
}

// ---- on the screen -------------------------------------------------------------

const ATTENTION_STYLE = `
  .maps { display: flex; flex-wrap: wrap; gap: 10px 24px; align-items: flex-start; }
  .maps canvas { cursor: pointer; }
  .line { display: flex; flex-wrap: wrap; gap: 3px; margin-top: 10px; }
  .line span { padding: 1px 5px; border-radius: 3px; cursor: pointer; }
  .line .asks { outline: 2px solid var(--key); }
`;

export function render({ model, el }) {
  speak(model);
  const data = model.get("data");
  const { tokens, keys, layers, image } = data;
  const maps = unpack(data);
  const heads = places(Math.max(...layers.map((layer) => layer.heads)));
  const twice = new Set(tokens).size < tokens.length;
  const named = (token, i) => (twice ? `${i}: ${clip(token, 30)}` : token);
  const set = setter(model);
  const controls = {
    layer: menu(t`layer`, layers.map(({ name }, i) => [i, name]), set("layer")),
    head: choice(t`head`, heads.map((head) => [head, String(head)]), set("head")),
    asks: choice(t`asking token`, tokens.map((token, i) => [i, named(token, i)]), set("asks")),
  };
  const { root, body, result } = frame(el, ATTENTION_STYLE, ...elements(controls));
  const [grid, large, seen] = places(3).map(() => node("canvas", { role: "img" }));
  const words = keys.map((key) => node("span", {}, clip(key, 40)));
  const line = node("div", { class: "line drawn" }, ...(image ? [] : words));
  body.append(node("div", { class: "maps" }, grid, large, ...(image ? [seen] : [])), line);
  const [planned, shelf] = [memoized(plan), memoized(drawAll)];
  let layout;
  grid.addEventListener("click", ({ offsetX, offsetY }) => {
    const [head, layer] = [offsetX, offsetY].map((at) =>
      Math.floor((at - layout.grid.edge) / (layout.grid.side + GAP)));
    if (head in (maps[layer] ?? [])) change(model, { layer, head });
  });
  large.addEventListener("click", ({ offsetY }) => {
    const row = Math.floor((offsetY - layout.top) / layout.down);
    if (row in tokens) set("asks")(row);
  });
  line.addEventListener("click", ({ target }) => {
    const place = words.indexOf(target);
    if (tokens.length === keys.length && place >= 0) set("asks")(place);
  });

  return keepDrawn(model, root, (colours, width) => {
    const state = chosen(data, model.get("state"));
    const { layer, head, asks } = state;
    const weights = maps[layer][head];
    layout = planned(data, width, colours);
    showAll(controls, state);
    const sentence = tell(data, weights[asks], state);
    write(result, sentence);
    drawGrid(grid, colours, layout.grid, shelf(maps, layout.grid, colours), state);
    put(grid, "aria-label", t`${plural(layers.length, "layer")}, a row of small maps each, one for
      each head. ${layers[layer].name}, head ${head} is framed.`);
    drawLarge(large, colours, layout, data, weights, asks);
    put(large, "aria-label", t`A map of weights: rows ask, columns are asked. ${sentence}`);
    if (image) {
      drawSeen(seen, colours, layout.patch, image, weights[asks], asks);
      put(seen, "aria-label", t`The image, bright where ${tokens[asks]} looks.`);
    }
    words.forEach((word, i) => {
      const shade = colours.weight(weights[asks][i]);
      Object.assign(word.style, { background: css(shade), color: css(on(shade)) });
      word.className = tokens.length === keys.length && i === asks ? "asks" : "";
    });
  });
}

/** All small maps on a canvas of their own, from which each frame copies them. */
function drawAll(maps, { edge, side, wide, high }, colours) {
  const canvas = node("canvas");
  const context = pen(canvas, wide, high, colours);
  const number = (i, x, y) => label(context, String(i), x, y, { align: "center" });
  const every = colours.measure("00") + 2 > side + GAP ? 2 : 1;  // numbers that would touch
  const most = Math.max(...maps.map((heads) => heads.length));
  for (let i = 0; i < most; i += every) number(i, edge + i * (side + GAP) + side / 2, edge / 2 - 1);
  maps.forEach((heads, layer) => {
    const y = edge + layer * (side + GAP);
    if (layer % (side < 12 ? 2 : 1) === 0) number(layer, edge / 2 - 2, y + side / 2);
    heads.forEach((weights, head) => {
      const x = edge + head * (side + GAP);
      const small = shrink(weights, Math.floor(side));
      map(context, colours, small, x, y, side / small[0].length, side / small.length);
      outline(context, colours.faint, x, y, side, side, 1);
    });
  });
  return canvas;
}

function drawGrid(canvas, colours, { edge, side, wide, high }, all, { layer, head }) {
  const context = pen(canvas, wide, high, colours);
  context.drawImage(all, 0, 0, wide, high);
  const at = (i) => edge + i * (side + GAP) - 1;
  outline(context, colours.key, at(head), at(layer), side + 2, side + 2, 2.5);
}

function drawLarge(canvas, colours, layout, { tokens, keys }, weights, asks) {
  const { named, titled, left, top, across, down } = layout;
  const [wide, high] = [keys.length * across, tokens.length * down];
  const context = pen(canvas, left + wide + 4, top + high + 4, colours);
  map(context, colours, weights, left, top, across, down);
  outline(context, colours.query, left, top, wide, high, 1.5);
  if (named) {
    tokens.forEach((token, i) => label(context, token, left - 8, top + (i + 0.5) * down,
      { width: left - 10, align: "right", bold: i === asks }));
  } else pointer(context, 2, top + (asks + 0.5) * down, colours.ink);
  if (titled) {
    keys.forEach((key, i) => label(context, key, left + (i + 0.5) * across, top / 2 - 1,
      { align: "center" }));
  }
  outline(context, colours.ink, left, top + asks * down, wide, Math.max(down, 2), 2);
}

const pictures = new WeakMap();

/** The image on a canvas of its own. */
function pictureOf(image) {
  if (!pictures.has(image)) {
    const { width, height } = image;
    const canvas = Object.assign(node("canvas"), { width, height });
    const pixels = new ImageData(width, height);
    bytesOf(image.pixels).forEach((byte, i) => { pixels.data[i + Math.floor(i / 3)] = byte; });
    for (let i = 3; i < pixels.data.length; i += 4) pixels.data[i] = 255;
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    pictures.set(image, canvas);
  }
  return pictures.get(image);
}

/** The image under a veil, which is thin over the patches that are looked at. */
function drawSeen(canvas, colours, cell, image, weights, asks) {
  const { rows, columns } = image;
  const context = pen(canvas, columns * cell + 4, rows * cell + 4, colours);
  const [first, largest] = [weights.length - rows * columns, Math.max(...weights, 0.01)];
  const corner = (patch) => [2 + (patch % columns) * cell, 2 + Math.floor(patch / columns) * cell];
  context.imageSmoothingEnabled = true;
  context.drawImage(pictureOf(image), 2, 2, columns * cell, rows * cell);
  weights.slice(first).forEach((weight, patch) => {
    context.globalAlpha = 0.85 * (1 - weight / largest);
    block(context, colours.paper, ...corner(patch), cell, cell);
  });
  context.globalAlpha = 1;
  if (asks >= first) outline(context, colours.key, ...corner(asks - first), cell, cell, 2.5);
}

export default { render };
