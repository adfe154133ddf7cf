/** Compare: two sentences, what their scores mean, and what these come from. */

import { ask } from "./api.js";
import { fixed, h } from "./dom.js";
import { reasons } from "./reasons.js";
import { meaning, scale } from "./scale.js";
import { worker } from "./work.js";

export function compare(panel, run, go) {
  const fields = ["First sentence", "Second sentence"].map((name) => {
    const area = h("textarea", { rows: 2, dir: "auto", required: true, maxlength: 20000 });
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
    return { area, label: h("label", {}, h("span", {}, name), area) };
  });
  const [first, second] = fields.map((field) => field.area);
  const form = h(
    "form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          go("compare", { a: first.value.trim(), b: second.value.trim() });
        },
      },
    },
    h("div", { class: "two" }, fields.map((field) => field.label)),
    h("div", { class: "actions" }, h("button", { class: "main" }, "Compare")),
  );
  panel.append(form, ...examples(run.examples ?? [], go));
  const work = worker(panel);

  return {
    heading: "Compare",
    show(asked) {
      first.value = asked.get("a") ?? first.value;
      second.value = asked.get("b") ?? second.value;
      if (!asked.get("a") || !asked.get("b")) return;
      const question = { first: asked.get("a"), second: asked.get("b") };
      work("Comparing", (signal) => ask("/api/explain", question, signal), draw);
    },
  };
}

function draw(found) {
  const score = found.similarity;
  const cards = [scale("Origin", score, found.scale)];
  if (found.surrogate) cards.push(scale("Surrogate", found.surrogate.score, found.surrogate.scale));
  return {
    node: [h("div", { class: "scales" }, cards), h("h2", {}, "Why"), reasons(found)],
    told: [`Origin ${fixed(score)}`, meaning(found.scale)].filter(Boolean).join(", "),
  };
}

function examples(pairs, go) {
  if (!pairs.length) return [];
  const buttons = pairs.map(([a, b]) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", on: { click: () => go("compare", { a, b }) } },
        h("bdi", {}, a),
        h("br"),
        h("bdi", {}, b),
      ),
    ),
  );
  const list = h("ul", { class: "examples" }, buttons);
  return [h("details", { open: true }, h("summary", {}, "Examples"), list)];
}
