/** Search: by what a text means and by its words, with what each hit's score means, and why. */

import { ask } from "./api.js";
import { fixed, h, plural, said } from "./dom.js";
import { pages } from "./pages.js";
import { reasons } from "./reasons.js";
import { meaning } from "./scale.js";
import { worker } from "./work.js";

const BY = { both: "meaning and words", vectors: "meaning", words: "words" };
const TOPS = [10, 50, 100, 1000];

export function search(panel, run, go) {
  const query = h("input", { type: "search", dir: "auto", required: true, maxlength: 20000 });
  const by = Object.entries(BY).map(([value, name]) => ({
    value,
    box: h("input", { type: "radio", name: "by", value, checked: value === "both" }),
    name,
  }));
  const top = h("select", {}, TOPS.map((n) => h("option", { value: n }, plural(n, "hit"))));
  const documents = h("input", { type: "checkbox" });
  const rerank = h("input", { type: "checkbox", disabled: !run.has.origin });
  const area = (placeholder) => h("textarea", { rows: 2, placeholder, dir: "auto" });
  const [names, where] = [area("news-*"), area("author=Ann\ndate>=2020")];
  const known = run.fields.length ? ` (${run.fields.join(", ")})` : "";
  const filters = h(
    "details",
    {},
    h("summary", {}, "Filters"),
    h(
      "div",
      { class: "two" },
      h("label", {}, h("span", {}, "Only documents of these names, a pattern a line"), names),
      h("label", {}, h("span", {}, `And of which this is so, a condition a line${known}`), where),
    ),
  );
  const form = h(
    "form",
    {
      role: "search",
      on: {
        submit: (event) => {
          event.preventDefault();
          const asked = { q: query.value.trim() };
          const chosen = by.find((each) => each.box.checked).value;
          if (chosen !== "both") asked.by = chosen;
          if (top.value !== String(TOPS[0])) asked.top = top.value;
          if (documents.checked) asked.documents = "1";
          if (rerank.checked) asked.rerank = "1";
          if (names.value.trim()) asked.document = names.value.trim();
          if (where.value.trim()) asked.where = where.value.trim();
          go("search", asked);
        },
      },
    },
    h("label", {}, h("span", {}, "What is looked for"), query),
    h(
      "div",
      { class: "actions" },
      h("button", { class: "main" }, "Search"),
      h("fieldset", {}, h("legend", {}, "By"), by.map((each) => h("label", {}, each.box, each.name))),
      h("label", {}, documents, "one hit a document"),
      h("label", {}, rerank, "rank anew by Origin"),
      h("label", {}, h("span", { class: "unseen" }, "How many"), top),
    ),
    filters,
  );
  panel.append(form);
  const work = worker(panel);

  return {
    heading: "Search",
    show(asked) {
      if (!asked.get("q")) return;
      query.value = asked.get("q");
      for (const each of by) each.box.checked = each.value === (asked.get("by") ?? "both");
      top.value = TOPS.includes(Number(asked.get("top"))) ? asked.get("top") : String(TOPS[0]);
      documents.checked = asked.has("documents");
      rerank.checked = asked.has("rerank");
      names.value = asked.get("document") ?? "";
      where.value = asked.get("where") ?? "";
      filters.open = Boolean(names.value || where.value);
      const question = {
        query: query.value,
        by: by.find((each) => each.box.checked)?.value ?? "both",
        top: Number(top.value),
        documents: documents.checked,
        rerank: rerank.checked,
        document: lines(names.value),
        where: lines(where.value),
      };
      work(
        "Searching",
        (signal) => ask("/api/search", question, signal),
        (found) => draw(found, question, run),
      );
    },
  };
}

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function draw(found, question, run) {
  const hits = found.hits;
  if (!hits.length) {
    const hint =
      question.by === "words"
        ? "No sentence shares a word with the query; meaning may find what words do not."
        : "No sentence is there to be found.";
    return { node: h("p", { class: "notice" }, hint), told: "Nothing found." };
  }
  return {
    node: [
      found.remark ? h("p", { class: "notice" }, found.remark) : null,
      pages(hits, (hit, rank) => drawHit(hit, rank, question.query, run), "hits"),
    ],
    told: `${plural(hits.length, "hit")}.`,
  };
}

function drawHit(hit, rank, query, run) {
  const titled = hit.title && hit.title !== hit.document;
  const fields = Object.entries(hit.fields).map(([name, values]) => `${name}: ${values.join(", ")}`);
  return h(
    "li",
    {},
    h("span", { class: "rank" }, `${rank}.`),
    h(
      "div",
      {},
      said("p", hit.text, { class: "text" }),
      h(
        "p",
        { class: "small soft" },
        h(
          "a",
          { href: `#/documents?${new URLSearchParams({ a: hit.document })}` },
          h("bdi", {}, titled ? hit.title : hit.document),
        ),
        hit.date ? ` · ${hit.date.slice(0, 10)}` : "",
        fields.map((field) => [" · ", h("bdi", {}, field)]),
      ),
      h("p", { class: "small" }, scored(hit)),
      run.has.reasons ? why(query, hit.text) : null,
    ),
  );
}

/** Its score, what this is made of, and what that means in the corpus. */
function scored(hit) {
  const parts = [`Score ${fixed(hit.score)}`];
  const from = [`meaning ${fixed(hit.cosine)}`, `words ${fixed(hit.words)}`];
  const told = hit.meaning || meaning(hit.shares);
  parts.push(`(${from.join(", ")})`);
  if (told) parts.push(`· ${hit.origin === null ? "meaning" : "Origin"} ${told}`);
  return parts.join(" ");
}

/** A button that unfolds what Origin's score of two texts comes from. */
export function why(first, second, name = "Why?") {
  const place = h("div", { class: "why", hidden: true });
  const work = worker(place);
  let asked = false;
  const button = h("button", { type: "button", "aria-expanded": "false" }, name);
  button.addEventListener("click", () => {
    const open = place.hidden;
    place.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
    if (!open || asked) return;
    asked = true;
    work(
      "Looking for reasons",
      (signal) => ask("/api/explain", { first, second }, signal),
      (found) => ({
        node: reasons(found),
        told: [`Origin ${fixed(found.similarity)}`, meaning(found.scale)].filter(Boolean).join(", "),
      }),
    );
  });
  return [button, place];
}
