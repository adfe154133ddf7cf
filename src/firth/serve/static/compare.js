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
  const place = h("div");
  const shown = examples(run.examples, go);
  panel.append(form, shown, place);
  const work = worker(place);

  return {
    heading: "Compare",
    show(asked) {
      first.value = asked.get("a") ?? first.value;
      second.value = asked.get("b") ?? second.value;
      const texts = [asked.get("a"), asked.get("b")];
      if (!texts.every((text) => text?.trim())) return;
      shown.open = false; // the result stands below
      if (run.has.reasons) work("Comparing", (signal) => explained(texts, signal), drawReasons);
      else work("Comparing", (signal) => scored(texts, run.has, signal), drawScores);
    },
  };
}

const explained = ([first, second], signal, components = null) =>
  ask("/api/explain", { first, second, components }, signal);

/** Where nothing tells reasons: the scores of those that are there. */
async function scored(texts, has, signal) {
  const models = ["origin", "surrogate"].filter((model) => has[model]);
  const found = models.map(async (model) => {
    const { scores, scale } = await ask("/api/similarity", { pairs: [texts], model }, signal);
    return { model, score: scores[0], scale: scale[0] };
  });
  return Promise.all(found);
}

function drawScores(found) {
  const named = ({ model, score, scale: shares }) =>
    scale(model === "origin" ? "Origin" : "Surrogate", score, shares);
  return {
    node: h("div", { class: "scales" }, found.map(named)),
    told: found.map(({ model, score }) => `${model} ${fixed(score)}`).join(", "),
  };
}

function drawReasons(found) {
  if (found.knowledge === "none") return { node: reasons(found), told: "No score: nothing is known of these texts." };
  const cards = [scale("Origin", found.similarity, found.scale)];
  if (found.surrogate) cards.push(scale("Surrogate", found.surrogate.score, found.surrogate.scale));
  const place = h("div");
  const work = worker(place);
  const shown = h("div", {}, reasons(found));
  const told = [`Origin ${fixed(found.similarity)}`, meaning(found.scale)];
  return {
    node: [
      h("div", { class: "scales" }, cards),
      h("h2", {}, "Why"),
      components(found, shown, work),
      place,
      shown,
    ],
    told: told.filter(Boolean).join(", "),
  };
}

/** Which components count; another choice asks again at once. */
function components(found, shown, work) {
  if (found.components.length < 2) return null;
  const texts = [found.sentence1, found.sentence2];
  const boxes = found.components.map((name) =>
    h("input", { type: "checkbox", value: name, checked: true, on: { change: () => again() } }),
  );
  const again = () => {
    const kept = boxes.filter((box) => box.checked).map((box) => box.value);
    // One has to stay: without any there is no score.
    for (const box of boxes) box.disabled = kept.length === 1 && box.checked;
    const all = kept.length === boxes.length;
    work(
      "Comparing",
      (signal) => explained(texts, signal, all ? null : kept),
      (other) => {
        shown.replaceChildren(reasons(other));
        const score = fixed(other.similarity, 3);
        return { node: null, told: all ? "" : `By ${kept.join(" and ")} alone: ${score}.` };
      },
    );
  };
  const labels = boxes.map((box) => h("label", {}, box, box.value));
  return h("fieldset", {}, h("legend", {}, "What counts"), labels);
}

function examples(pairs, go) {
  const button = ([a, b]) => {
    const texts = [h("bdi", {}, a), h("br"), h("bdi", {}, b)];
    return h("button", { type: "button", on: { click: () => go("compare", { a, b }) } }, texts);
  };
  return h(
    "details",
    { open: true, hidden: !pairs.length },
    h("summary", {}, "Examples"),
    h("ul", { class: "examples" }, pairs.map((pair) => h("li", {}, button(pair)))),
  );
}
