/** A long list, a page of it at a time: 100,000 hits cost no more to draw than fifty. */

import { count, h } from "./dom.js";

const PAGE = 50;

/** A node that shows `items`, each by `draw(item, number)`, in an <ol> of the class. */
export function pages(items, draw, style) {
  const all = Math.max(1, Math.ceil(items.length / PAGE));
  const list = h("ol", { class: style, tabindex: "-1" });
  const line = h("span", { role: "status" });
  const number = h("input", { type: "number", min: 1, max: all, "aria-label": "Page" });
  let at = 0;
  const show = (page, follow = true) => {
    at = Math.min(all - 1, Math.max(0, page));
    const start = at * PAGE;
    const shown = items.slice(start, start + PAGE);
    list.setAttribute("start", String(start + 1));
    list.replaceChildren(...shown.map((item, n) => draw(item, start + n + 1)));
    back.disabled = at === 0;
    on.disabled = at === all - 1;
    number.value = at + 1;
    line.textContent = `${count(start + 1)} to ${count(start + shown.length)} of ${count(items.length)}`;
    if (!follow) return;
    list.scrollIntoView({ block: "nearest" });
    list.focus({ preventScroll: true });
  };
  const button = (name, step) =>
    h("button", { type: "button", on: { click: () => show(at + step()) } }, name);
  const back = button("Previous", () => -1);
  const on = button("Next", () => 1);
  number.addEventListener("change", () => show(number.valueAsNumber - 1 || 0));
  show(0, false);
  if (all === 1) return list;
  const of = h("span", {}, `of ${count(all)}`);
  const pager = h("nav", { class: "pager", "aria-label": "Pages" }, back, number, of, on, line);
  return h("div", {}, pager, list);
}
