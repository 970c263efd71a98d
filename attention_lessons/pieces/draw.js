// A figure is drawn before it is shown: its stored picture lies under a cover, until Show, and
// under the reader's drawing. Numbers are pixels of the picture (`places` in plotting.py).
const STYLE = `
.d2l-stage {
  position: relative; display: inline-block;
  svg {
    position: absolute; left: 0; top: 0; width: 100%; pointer-events: none;
    forced-color-adjust: none; font: 16px sans-serif; text-anchor: middle;
  }
  g { filter: drop-shadow(0 0 1px white) drop-shadow(0 0 1px white); }
  svg * { fill: white; stroke: currentColor; stroke-width: 2px; }
  .cover { stroke: none; }
  .dash { fill: none; stroke-width: 3px; stroke-dasharray: 4; }
  .held { stroke-width: 5px; }
  text { fill: currentColor; stroke: white; stroke-width: 4px; paint-order: stroke; }
  .hand {  /* inline, it has no touch-action */
    display: block; pointer-events: all; touch-action: none; cursor: crosshair; opacity: 0;
  }
  input { position: absolute; opacity: 0; pointer-events: none; }
  :is([data-shown], .d2l-strip) & :is(.hand, input) { display: none; }
}
.d2l-draw button { min-height: 44px; padding: 0 22px; font: inherit; }
.d2l-strip {
  display: flex; flex-wrap: wrap; gap: 16px;
  strong { width: 100%; }
  a { width: 240px; }
  :is(span, img) { width: 100% !important; }
}
.answer:has(.d2l-stage) > summary { display: none; }
@media print { .d2l-draw > :is(p, button), .d2l-draw:not([data-shown]) svg { display: none; } }`;

function make(tag, more, ...parts) {
  const made = Object.assign(document.createElement(tag), more);
  made.append(...parts);
  return made;
}

function live(host) {
  const { name, kind, what, size, covers, ends, at, ink, fill, words } =
    JSON.parse(host.dataset.drawn);
  const t = (key, ...values) => (words[key] ?? key).replace(/\{(\d)\}/g, (_, i) => values[i]);
  const [lo, bottom, hi, top] = ends, range = hi - lo, near = range / 10, map = kind === "map";
  const [across, down] = [1, 2].map((i) =>
    covers[0][i + 1] / new Set(at.map((each) => each[i])).size);
  const said = (value) => value.toFixed(range < 10 ? 2 : 0);
  const box = (x, y, width, height, look, more) => `<rect x="${x}" y="${y}" width="${width}"
    height="${height}" class="${look}" ${more} />`;
  const image = host.querySelector("img"), { alt } = image;
  const stage = make("span", { className: "d2l-stage" });
  image.replaceWith(stage);
  stage.innerHTML = `<svg viewBox="0 0 ${size.join(" ")}" aria-hidden="true" style="color: ${ink}">
    <g></g>${box(...covers[0], "hand")}</svg>`;
  const svg = stage.firstChild, [picture, hand] = svg.children;
  const inputs = at.map(([label, x, y], i) => make("input", {
    type: "range", min: lo, max: hi, step: range / (map ? 4 : 20), ariaLabel: label,
    oninput: () => put(i), onfocus: () => paint(i), onblur: () => paint(),
    style: `left: ${(x - across / 2) / size[0] * 100}%; top: ${y / size[1] * 100}%;
      width: ${across / size[0] * 100}%`,
  }));
  stage.prepend(image, ...inputs);
  const sentence = make("p", { ariaLive: "polite" });
  const button = make("button", { type: "button", onclick() {
    shown = !shown;
    if (!shown) clear();
    put();
  } });
  host.append(sentence, button);
  Object.assign(host, { id: `d2l-drawn-${name}`, role: "group" });

  let shown = false, drawn, from;
  function clear() {
    drawn = false;
    for (const input of inputs) input.value = map ? 0 : "";  // the middle
  }
  clear();
  try {
    const kept = JSON.parse(localStorage[host.id]);
    inputs.forEach((input, i) => { input.value = kept[i]; });  // which takes nothing but numbers
    [drawn, shown] = [true, kept.at(-1) === 1];
  } catch { /* nothing is kept, or may be */ }

  function paint(active) {
    const values = inputs.map(({ valueAsNumber }) => valueAsNumber);
    const height = (value) => bottom + (value - lo) / range * (top - bottom);
    const number = (x, y, value) => `<text x="${x}" y="${y}">${said(value)}</text>`;
    const part = ([, x, middle], i) => {
      const value = values[i], y = height(value), look = i === active ? "held" : "";
      if (map) return shown ? number(x + across / 2 - 20, middle - down / 2 + 18, value)
        : box(x - across / 2, middle - down / 2, across, down, look,
          `style="fill: color-mix(in srgb, ${fill} ${60 * value}%, white)"`)
          + number(x, middle + 6, value);
      return (kind === "bars" ? box(x - across / 3, y, across / 1.5, bottom - y, "dash") : "")
        + `<circle cx="${x}" cy="${y}" r="${shown ? 4 : 9}" class="${look}" />`
        + (look && number(x, y - 18, value));
    };
    const line = at.map(([, x], i) => [x, height(values[i])]);
    picture.innerHTML = (shown ? "" : covers.map((each) => box(...each, "cover")).join(""))
      + (kind === "curve" ? `<polyline class="dash" points="${line}" />` : "")
      + at.map(part).join("");
    if (shown && !drawn) picture.innerHTML = "";
    host.toggleAttribute("data-shown", shown);
    image.alt = shown ? alt : "";
    inputs.forEach((input, i) => { input.ariaValueText = said(values[i]); });
    button.textContent = shown ? t("Draw again") : t("Show");
    host.ariaLabel = map ? t("Press each cell until it is as dark as you expect.")
      : t("Draw what you expect: {0}.", what);
    const told = !shown ? host.ariaLabel : drawn ? verdict(values) : "";
    if (sentence.textContent !== told) sentence.textContent = told;
    return JSON.stringify([...values, Number(shown)]);
  }

  function verdict(values) {
    const truth = at.map((each) => each[3]);
    const off = values.map((value, i) => Math.abs(value - truth[i]));
    const [worst, mine, its] = [off, values, truth].map((list) => list.indexOf(Math.max(...list)));
    const [drew, is] = [values, truth].map((list) => list.at(-1) - list[0]);
    if (off[worst] <= near) return t("Everywhere within {0} of what you drew.", said(near));
    if (kind === "curve" && drew * is < 0 && Math.min(Math.abs(drew), Math.abs(is)) > near) {
      return drew > 0 ? t("You drew it rising; it falls.") : t("You drew it falling; it rises.");
    }
    return kind === "bars" && truth[its] - truth[mine] > near
      ? t("You drew {0} highest; it is {1}.", at[mine][0], at[its][0])
      : t("Farthest apart, at {0}: you drew {1}; it is {2}.", at[worst][0],
        said(values[worst]), said(truth[worst]));
  }

  /** What is drawn is kept, and once it is told, shown again at the lesson's end. */
  function put(i) {
    drawn ||= i >= 0;
    const kept = paint(i);
    try {
      delete localStorage[host.id];
      if (drawn) localStorage[host.id] = kept;
    } catch { /* no storage */ }
    if (i >= 0) return;
    document.querySelector(".d2l-strip")?.remove();
    const strip = make("div", { className: "d2l-strip" });
    for (const each of document.querySelectorAll(".d2l-draw[data-shown]:has(> p:not(:empty))")) {
      const small = each.querySelector(".d2l-stage").cloneNode(true);
      small.querySelector("img").alt = "";
      strip.append(make("a", { href: `#${each.id}` }, small, each.querySelector("p").textContent));
    }
    if (!strip.firstChild) return;
    strip.prepend(make("strong", {}, t("What you expected")));
    const next = document.getElementById("cell-id=next");
    if (next) next.before(strip);
    else [...document.querySelectorAll(".d2l-draw[data-live]")].at(-1).append(strip);
  }

  hand.onpointerdown = hand.onpointermove = ({ type, pointerId, clientX, clientY }) => {
    const press = type === "pointerdown";
    if (press) hand.setPointerCapture(pointerId);
    else if (map || !hand.hasPointerCapture(pointerId)) return;
    const place = svg.getBoundingClientRect(), unit = size[0] / place.width;
    const [x, y] = [(clientX - place.x) * unit, (clientY - place.y) * unit];
    const far = at.map((each) => Math.hypot(each[1] - x, map && each[2] - y));
    const i = far.indexOf(Math.min(...far));
    if (press) from = [x, y];
    inputs.forEach((input, j) => {  // what is held, or passed
      const [before, now] = [from[0], x].map((place) => place - at[j][1]);
      const passed = before * now < 0;
      if (!passed && !(j === i && (press || kind === "bars"
        || Math.abs(now) <= Math.min(Math.abs(before), across / 3)))) return;
      const level = passed ? from[1] + before / (before - now) * (y - from[1]) : y;
      input.value = map ? (input.value * 4 + 1) % 5 / 4
        : lo + (level - bottom) / (top - bottom) * range;
    });
    from = [x, y];
    const edge = clientX - innerWidth / 2;  // on a phone the picture goes on under the finger
    if (Math.abs(edge) > innerWidth / 2 - 50) stage.parentNode.scrollLeft += edge / 20;
    put(i);
  };
  put();
}

if (!document.getElementById("d2l-draw")) {
  document.head.append(make("style", { id: "d2l-draw", textContent: STYLE }));
}
for (const host of document.querySelectorAll(".d2l-draw:not([data-live], .reveal *)")) {
  host.dataset.live = "";
  host.closest("details")?.setAttribute("open", "");
  live(host);
}
