/** What a score means: where it lies among random pairs and neighbours of the corpus. */

import { fixed, h, shareOf } from "./dom.js";

const KINDS = {
  random: "random pairs",
  "same-document": "pairs of a document",
  neighbours: "neighbours",
};

/** A card: whose score, how high, and where it lies; without a scale the score alone. */
export function scale(name, score, shares) {
  const rows = Object.entries(KINDS).filter(([kind]) => typeof shares?.[kind] === "number");
  return h(
    "section",
    { class: "scale", "aria-label": `${name}: ${fixed(score)}` },
    h("h3", { style: { margin: "0" } }, name),
    h("p", { class: "score" }, fixed(score)),
    rows.length
      ? h("ul", {}, rows.map(([kind, plain]) => lying(plain, shares[kind])))
      : h("p", { class: "soft small" }, "No scale is built, so that the size says little."),
    typeof shares?.probability === "number"
      ? h("p", {}, `A match with probability ${fixed(shares.probability)}.`)
      : null,
  );
}

/** "higher than 99.7 % of random pairs, 93 % of neighbours" */
export function meaning(shares) {
  const told = ["random", "neighbours"]
    .filter((kind) => typeof shares?.[kind] === "number")
    .map((kind) => shareOf(shares[kind], KINDS[kind]));
  return told.length ? `higher than ${told.join(", ")}` : "";
}

function lying(plain, share) {
  return h(
    "li",
    {},
    h("span", { class: "small" }, `higher than ${shareOf(share, plain)}`),
    h(
      "div",
      { class: "track", "aria-hidden": "true" },
      h("i", { class: "range", style: { "--low": 0, "--high": 100 * share } }),
      h("i", { class: "dot", style: { "--at": 100 * share } }),
    ),
  );
}
