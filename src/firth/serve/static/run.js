/** Run: how good it is, what was read, skipped and dropped, and what each stage did. */

import { stream } from "./api.js";
import { curves, histogram, intervals } from "./charts.js";
import { count, fixed, h, plural, said } from "./dom.js";
import { worker } from "./work.js";

const CHECK = "Which sentence follows another, in documents that were kept apart (%; 50 is chance)";
const RATED = "Agreement with people (× 100, with 95 % intervals)";
const FACTS = [
  ["documents", "documents"],
  ["sentences", "sentences"],
  ["words", "words"],
  ["held_out", "documents kept apart"],
];

export function run(panel, run) {
  const place = h("div");
  const work = worker(place);
  panel.append(
    place,
    ...evaluated(run.evaluation),
    h("h2", {}, "What was read"),
    h(
      "dl",
      { class: "facts" },
      FACTS.map(([name, plain]) =>
        h("div", {}, h("dt", {}, plain), h("dd", {}, count(run[name]))),
      ),
    ),
    left(run.skipped),
    h("h2", {}, "Stages"),
    stages(run.stages),
    ...labels(run.labels),
    ...curves(run.curves),
  );
  return {
    heading: "Run",
    show() {
      if (run.has.check && run.has.surrogate) {
        work(
          "Asking the model about documents that were kept apart",
          (signal, told) => stream("/api/check", {}, signal, told),
          drawCheck,
        );
      } else {
        place.replaceChildren(h("p", { class: "verdict" }, "Nothing says yet how good this run's model is."));
      }
    },
  };
}

/** What the run is worth: a chart on top, and a plain verdict. */
function drawCheck({ verdict, systems }) {
  const told = `${verdict[0].toUpperCase()}${verdict.slice(1)}`;
  return {
    node: [
      systems.length ? intervals(CHECK, [{ name: "", rows: systems }]) : null,
      h("p", { class: "verdict" }, told),
    ],
    told: "",
  };
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
  const reasons = Object.entries(skipped);
  if (!reasons.length) return h("p", {}, "Nothing was skipped.");
  return h(
    "table",
    {},
    h("caption", {}, "Left out"),
    reasons.map(([why, n]) => h("tr", {}, said("td", why), h("td", { class: "number" }, count(n)))),
  );
}

/** What the similarities are worth that the Surrogate learned from. */
function labels(found) {
  if (!found) return [];
  const ranked = Object.entries({
    ...Object.fromEntries(Object.entries(found.components).map(([name, value]) => [`${name} alone`, value])),
    "tf-idf": found.tfidf,
    "the sentences' lengths": found.length,
  });
  const rows = ranked.map(([name, value]) =>
    h("tr", {}, h("td", {}, name), h("td", { class: "number" }, value === null ? "undefined" : fixed(value))),
  );
  return [
    h("h2", {}, "What it learned from"),
    found.warnings.map((warning) => h("p", { class: "notice" }, warning)),
    h(
      "div",
      { class: "grid" },
      histogram(`Similarities of ${plural(found.pairs, "pair")}`, found.histogram),
      h("table", {}, h("caption", {}, "They rank as (rank correlation)"), rows),
    ),
  ].flat();
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
          summary,
          stale ? h("p", { class: "small" }, "Stale: what it was built from has changed since.") : null,
        ),
      ),
    ),
  );
}
