/** Run: how good it is, what was read, skipped and dropped, and what each stage did. */

import { curves, intervals } from "./charts.js";
import { count, h, said } from "./dom.js";

const CHECK = "Which sentence follows another, in documents that were kept apart (%; 50 is chance)";
const RATED = "Against human ratings (× 100, with 95 % intervals)";
const FACTS = ["documents", "sentences", "words"];

export function run(panel, run) {
  const facts = FACTS.filter((name) => typeof run[name] === "number");
  panel.append(
    h("p", { class: "verdict" }, verdict(run)),
    ...[run.check ? intervals(CHECK, [checked(run.check)]) : []].flat(),
    ...evaluated(run.evaluation),
    h("h2", {}, "What was read"),
    h(
      "dl",
      { class: "facts" },
      facts.map((name) => h("div", {}, h("dt", {}, name), h("dd", {}, count(run[name])))),
    ),
    left(run.skipped),
    h("h2", {}, "Stages"),
    stages(run.stages ?? []),
    ...curves(run.curves),
  );
  return { heading: "Run", show() {} };
}

/** What the run is worth, in a sentence or two. */
function verdict({ check }) {
  const found = check?.verdicts ?? [];
  if (!found.length) return "Nothing says yet how good this run's model is.";
  return found.map((each) => `${each[0].toUpperCase()}${each.slice(1).replace(/\.$/, "")}.`).join(" ");
}

function checked(check) {
  const rows = check.systems
    .filter((system) => system.accuracy.next)
    .map((system) => ({ name: system.model, ...system.accuracy.next }));
  return { name: "", rows };
}

function evaluated(evaluation) {
  const whole = (evaluation?.results ?? []).filter((each) => each.subtask === "all");
  const groups = new Map();
  for (const { model, task, split, metric, n, value, low, high } of whole) {
    const name = `${task} ${split}, ${metric}, ${count(n)} pairs`;
    groups.set(name, [...(groups.get(name) ?? []), { name: model, value, low, high }]);
  }
  if (!groups.size) return [];
  const drawn = [...groups].map(([name, rows]) => ({ name, rows }));
  return [intervals(RATED, drawn), ...(evaluation.notes ?? []).map((note) => said("p", note, { class: "small soft" }))];
}

/** What was left out, and why. */
function left(skipped) {
  const reasons = Object.entries(skipped ?? {});
  if (!reasons.length) return h("p", {}, "Nothing was skipped.");
  return h(
    "table",
    {},
    h("caption", {}, "Left out"),
    reasons.map(([why, n]) => h("tr", {}, said("td", why), h("td", { class: "number" }, count(n)))),
  );
}

function stages(found) {
  return h(
    "table",
    {},
    h("tr", {}, h("th", { scope: "col" }, "stage"), h("th", { scope: "col" }, "what it did")),
    found.map(({ name, summary, stale }) =>
      h(
        "tr",
        {},
        h("th", { scope: "row" }, name),
        h(
          "td",
          {},
          [summary].flat().join(" "),
          stale ? h("p", { class: "small" }, "Stale: what it was built from has changed since.") : null,
        ),
      ),
    ),
  );
}
