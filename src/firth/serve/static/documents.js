/** Documents: two side by side, sentence by sentence; and which of all have most in common. */

import { ask, stream } from "./api.js";
import { fixed, h, percent, plural, said } from "./dom.js";
import { pages } from "./pages.js";
import { why } from "./search.js";
import { worker } from "./work.js";

const MINED = 1000; // pairs of documents that are asked for, at most
const PAUSE = 200; // milliseconds without a key before names are looked up

export function documents(panel, run, go) {
  const first = chooser("First document", "document-a");
  const second = chooser("Second document", "document-b");
  const form = h(
    "form",
    {
      on: {
        submit: (event) => {
          event.preventDefault();
          go("documents", { a: first.input.value.trim(), b: second.input.value.trim() });
        },
      },
    },
    h("div", { class: "two" }, first.label, second.label),
    h(
      "div",
      { class: "actions" },
      h("button", { class: "main" }, "Compare"),
      h("button", { type: "button", on: { click: () => mined() } }, "Find the most re-used pairs"),
    ),
  );
  const side = h("div", {});
  const all = h("div", {});
  panel.append(form, side, all);
  const work = worker(side);
  const mine = worker(all);
  const mined = () =>
    mine(
      "Comparing all documents",
      (signal, told) => stream("/api/mine", { top: MINED }, signal, told),
      drawMined,
    );

  return {
    heading: "Documents",
    show(asked) {
      const [a, b] = [asked.get("a") ?? "", asked.get("b") ?? ""];
      if (!a && !b) return;
      first.input.value = a;
      second.input.value = b;
      form.scrollIntoView({ block: "nearest" }); // a link far below may have asked
      if (!a || !b) work("Opening the document", (signal) => open(a || b, signal), drawOne);
      else work("Comparing documents", (signal) => both(a, b, signal), (found) => drawBoth(found, run));
    },
  };
}

const open = (id, signal) => ask(`/api/document/${encodeURIComponent(id)}`, undefined, signal);

const both = (first, second, signal) => ask("/api/documents/compare", { first, second }, signal);

/** A field for the name of a document, with those that fit what is typed. */
function chooser(name, id) {
  const list = h("datalist", { id });
  const input = h("input", { type: "text", list: id, dir: "auto", required: true, autocomplete: "off" });
  let waiting = 0;
  const look = async () => {
    const asked = new URLSearchParams({ query: input.value });
    const found = await ask(`/api/documents?${asked}`).catch(() => ({ documents: [] }));
    const options = found.documents.map(({ id: value, title }) =>
      h("option", { value, label: title && title !== value ? title : null }),
    );
    list.replaceChildren(...options);
  };
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(look, PAUSE);
  });
  input.addEventListener("focus", look, { once: true });
  return { input, label: h("label", {}, h("span", {}, name), input, list) };
}

function drawOne(found) {
  const list = found.sentences.map((text) => h("li", {}, said("p", text)));
  return {
    node: [h("h2", {}, h("bdi", {}, found.title || found.id)), h("ol", {}, list)],
    told: `${plural(found.sentences.length, "sentence")}. Name another document to compare it with.`,
  };
}

function drawBoth(found, run) {
  const shares = [
    ["First in the second", found.coverage_a, found.reused_a],
    ["Second in the first", found.coverage_b, found.reused_b],
  ];
  const rows = aligned(found.texts_a, found.texts_b, found.matches);
  const alike = plural(found.matches.length, "pair");
  const told = `Alike by ${fixed(found.threshold)} or more: ${alike} of sentences.`;
  return {
    node: [
      h("h2", {}, h("bdi", {}, found.a), " | ", h("bdi", {}, found.b)),
      h(
        "dl",
        { class: "facts" },
        shares.map(([name, covered, reused]) =>
          h(
            "div",
            {},
            h("dt", {}, name),
            h("dd", {}, percent(covered)),
            h("span", { class: "small soft" }, `word for word ${percent(reused)}`),
          ),
        ),
        h("div", {}, h("dt", {}, "Score"), h("dd", {}, fixed(found.score))),
      ),
      found.remarks.map((remark) => h("p", { class: "soft" }, remark)),
      pages(rows, (row) => drawRow(row, run), "aligned"),
    ],
    told,
  };
}

/** Rows in the order of the first document; what only the second has, after what precedes it. */
function aligned(first, second, matches) {
  const ofFirst = new Map(matches.flatMap((match) => match.a.map((n) => [n, match])));
  const met = new Set(matches.flatMap((match) => match.b));
  const rows = [];
  let next = 1;
  const only = (until) => {
    for (; next < until; next++) {
      if (!met.has(next)) rows.push({ a: [], b: [next] });
    }
  };
  first.forEach((_, at) => {
    const match = ofFirst.get(at + 1);
    if (match && match.a[0] !== at + 1) return; // told with the first of its sentences
    if (match) only(Math.min(...match.b));
    rows.push(match ?? { a: [at + 1], b: [] });
    if (match) next = Math.max(next, Math.max(...match.b) + 1);
  });
  only(second.length + 1);
  const missed = second.map((_, at) => at + 1).filter((n) => !met.has(n));
  const shown = new Set(rows.flatMap((row) => row.b));
  rows.push(...missed.filter((n) => !shown.has(n)).map((n) => ({ a: [], b: [n] })));
  const texts = (from, numbers) => numbers.map((n) => from[n - 1]).join(" ");
  return rows.map((row) => ({ ...row, one: texts(first, row.a), two: texts(second, row.b) }));
}

function drawRow({ a, b, one, two, score, kind }, run) {
  const shade = score === undefined ? 0 : (0.12 + 0.4 * score ** 2).toFixed(2);
  const cell = (side, numbers, text) =>
    text
      ? said("p", [h("span", { class: "side" }, `${side}${numbers.join("+")} `), text], {
          style: { "--strength": shade },
        })
      : h("p", {});
  const cells = [cell("A", a, one), cell("B", b, two)];
  if (score === undefined) return h("li", {}, h("div", { class: "pair" }, cells));
  const alike = `${fixed(score)} ${kind}`;
  const [button, place] = run.has.reasons ? why(one, two, alike) : [h("span", {}, alike), null];
  button.title = "Why?";
  return h("li", {}, h("div", { class: "pair" }, cells, button), place);
}

function drawMined(found) {
  if (!found.pairs.length) {
    return { node: h("p", { class: "notice" }, "No two documents have anything in common."), told: "" };
  }
  const line = (pair) =>
    h(
      "li",
      {},
      h(
        "a",
        { href: `#/documents?${new URLSearchParams({ a: pair.a, b: pair.b })}` },
        h("bdi", {}, pair.a_title || pair.a),
        " | ",
        h("bdi", {}, pair.b_title || pair.b),
      ),
      h(
        "p",
        { class: "small soft" },
        `${percent(pair.coverage)} of both in common: ${percent(pair.coverage_a)} of the first, ` +
          `${percent(pair.coverage_b)} of the second; score ${fixed(pair.score)}`,
      ),
    );
  return {
    node: [
      h("h2", {}, "The most re-used"),
      found.remark ? h("p", { class: "soft" }, found.remark) : null,
      pages(found.pairs, line, "mined"),
    ],
    told: `${plural(found.found, "pair")} of documents have something in common.`,
  };
}
