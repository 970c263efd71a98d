// In the page: the milliseconds from a key to the end of the frame that shows what it changed.
window.latency = (() => {
  const channel = new MessageChannel();
  let key, record, finish, observer;

  // A box is ticked when its key goes up, so the last event before the change counts.
  const pressed = (event) => {
    if (key) key = { start: event.timeStamp, began: performance.now() };
  };
  for (const kind of ["keydown", "keyup"]) addEventListener(kind, pressed, true);

  const changed = () => {
    if (!key?.start) return;
    const { start, began } = key;
    const drawn = performance.now();
    key = undefined;
    requestAnimationFrame(() => {
      const frame = performance.now();
      channel.port1.onmessage = () => {
        const end = performance.now();
        finish({ total: end - start, script: drawn - began, paint: end - frame });
      };
      channel.port2.postMessage(0);  // arrives when this frame is painted
    });
  };

  return {
    /** Ready for the next key, which will change this part of the page. */
    arm(part) {
      observer?.disconnect();
      observer = new MutationObserver(changed);
      const all = { subtree: true, childList: true, characterData: true, attributes: true };
      observer.observe(part, all);
      key = {};
      record = new Promise((resolve) => { finish = resolve; });
    },
    /** The times of that key; undefined if nothing has changed after three seconds. */
    last: () => Promise.race([record, new Promise((resolve) => setTimeout(resolve, 3000))]),
  };
})();
