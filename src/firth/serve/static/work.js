/** One question at a time, and what is told while it is worked on. */

import { count, h } from "./dom.js";

const SOON = 150; // milliseconds before a wait is told
const SELDOM = 2000; // between two lines that a screen reader reads out

/**
 * Works in a place: an area of status, errors and the result, made inside `place`.
 *
 * `work(what, question, draw)`: `question(signal, told)` gives an answer, `draw(answer)` a node for
 * it and `told` a line about it. A later question ends the one before it.
 */
export function worker(place) {
  const line = h("p", { class: "status", role: "status" });
  const bar = h("progress", { hidden: true, "aria-hidden": "true" });
  const wrong = h("div", { role: "alert" });
  const result = h("div", { class: "result" });
  place.append(line, bar, wrong, result);
  let running = null;

  return async function work(what, question, draw) {
    running?.abort();
    const own = (running = new AbortController());
    wrong.replaceChildren();
    place.setAttribute("aria-busy", "true");
    line.textContent = "";
    let spoken = 0;
    const waiting = setTimeout(() => {
      line.textContent = `${what} …`;
      bar.removeAttribute("value");
      bar.hidden = false;
    }, SOON);
    const told = ({ done, of, what: now }) => {
      if (own !== running) return;
      bar.hidden = false;
      if (of) {
        bar.max = of;
        bar.value = done;
      }
      if (Date.now() - spoken < SELDOM) return;
      spoken = Date.now();
      line.textContent = `${now || what}: ${count(done)}${of ? ` of ${count(of)}` : ""}`;
    };
    try {
      const answer = await question(own.signal, told);
      if (own !== running) return;
      const drawn = draw(answer);
      result.replaceChildren(...[drawn.node].flat(Infinity).filter(Boolean));
      line.textContent = drawn.told;
    } catch (error) {
      if (own !== running || error.name === "AbortError") return;
      line.textContent = "";
      result.replaceChildren();
      wrong.append(complaint(error, () => work(what, question, draw)));
    } finally {
      clearTimeout(waiting);
      if (own === running) {
        bar.hidden = true;
        place.removeAttribute("aria-busy");
      }
    }
  };
}

/** What went wrong, what to do, and once more. */
export function complaint(error, again) {
  return h(
    "div",
    { class: "error" },
    h("p", {}, error.message || String(error)),
    error.hint ? h("p", { class: "small" }, error.hint) : null,
    h("button", { type: "button", on: { click: again } }, "Try again"),
  );
}
