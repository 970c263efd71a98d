// The part of `make latency` that runs in the page. `latency` finds a piece's controls, takes the time from a key to the frame it changes, and counts frames.

const latency = (() => {
  const channel = new MessageChannel();
  const shown = new Map();
  let key, painted, observer, controls, frames;

  /** The last key event before the change counts: a box is ticked when its key goes up. */
  const press = (event) => { if (key) Object.assign(key, { start: event.timeStamp, began: performance.now() }); };
  for (const kind of ["keydown", "keyup"]) addEventListener(kind, press, true);

  /** What was drawn is on the page when the message arrives that was posted in the next frame. */
  const changed = () => {
    if (!key?.start) return;
    const record = { ...key, drawn: performance.now() };
    key = undefined;
    requestAnimationFrame(() => {
      const frame = performance.now();
      channel.port1.onmessage = () => painted({ start: record.start, total: performance.now() - record.start, script: record.drawn - record.began, paint: performance.now() - frame });
      channel.port2.postMessage(0);
    });
  };
  const events = new PerformanceObserver((list) => list.getEntries().forEach(({ startTime, duration }) => shown.set(startTime, duration)));
  events.observe({ type: "event", durationThreshold: 16 });
  const tick = () => { frames.push(performance.now()); requestAnimationFrame(tick); };

  /** The elements of a control with the keys that change it and change it back; nothing for what no key changes. */
  function steps(element, piece) {
    const [next, last] = [element.nextSibling, Number(element.value) >= Number(element.max || Infinity)];
    const group = [...piece.querySelectorAll(`input[name="${element.name}"]`)];
    const there = (up, down) => (last ? [[element, down], [element, up]] : [[element, up], [element, down]]);
    if (element.type === "range") return there("ArrowRight", "ArrowLeft");
    if (element.type === "number") return there("ArrowUp", "ArrowDown");
    if (element.type === "select-one") return [[element, "ArrowDown"], [element, "ArrowUp"]];
    if (element.type === "checkbox") return [[element, " "], [element, " "]];
    if (element.type === "text") return [[element, "1"], [element, "Backspace"]];
    if (element.type === "radio" && element.checked && group.length > 1) {
      const at = group.indexOf(element);
      return at ? [[element, "ArrowLeft"], [group[at - 1], "ArrowRight"]] : [[element, "ArrowRight"], [group[1], "ArrowLeft"]];
    }
    if (element.matches(".chip") && next.matches(".chip")) return [[element, "ArrowRight"], [element, "ArrowLeft"]];
    if (element.matches(".preset") && next) return [[element, "Enter"], [next, "Enter"]];
    return [];
  }

  const nameOf = (element) => (element.type === "radio" ? element.closest("fieldset").querySelector("legend").textContent
    : element.matches("button") ? element.className
      : element.getAttribute("aria-label") ?? element.labels[0].querySelector(".name, span")?.textContent ?? element.labels[0].textContent);

  return {
    /** The name and kind of each control; of "key 1", "key 2" ... only the first. */
    controls(piece) {
      const found = new Map();
      for (const element of piece.querySelectorAll("input:enabled, select:enabled, button:enabled")) {
        const [moves, family] = [steps(element, piece), nameOf(element).replace(/\d+/, "")];
        if (moves.length && !found.has(family)) found.set(family, { name: nameOf(element), kind: element.type, moves });
      }
      controls = [...found.values()];
      return controls.map(({ name, kind, moves }) => ({ name, kind, keys: moves.map(([, name]) => name) }));
    },
    watch(part) {
      observer?.disconnect();
      observer = new MutationObserver(changed);
      observer.observe(part, { subtree: true, childList: true, characterData: true, attributes: true });
    },
    /** Ready for the next key: its element has the focus. */
    arm(control, step) {
      const [element] = controls[control].moves[step];
      element.focus();
      if (element.type === "text") element.setSelectionRange(999, 999);
      key = {};
      this.record = new Promise((resolve) => { painted = resolve; });
    },
    /** The times of the last key, or nothing where it changed nothing. */
    last() { return Promise.race([this.record, new Promise((resolve) => setTimeout(resolve, 3000))]); },
    /** The browser's own times to the screen; what it doesn't report took less than 16 ms. */
    shown: (starts) => starts.map((start) => shown.get(start) ?? 8),
    count() { const first = !frames; frames = []; if (first) tick(); },
    frames: () => frames.slice(1).map((end, i) => end - frames[i]),
  };
})();
window.latency = latency;
