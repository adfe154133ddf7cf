/** Why two texts are alike: words that meet, what the score is the sum of, themes and their texts. */

import { fixed, h, said, signed } from "./dom.js";

const WORD = /[\p{L}\p{N}_]+(?:['’]t(?![\p{L}\p{N}_]))?/gu;
const PARTS = {
  words: "Words that meet",
  themes: "Themes",
  numbers: "Numbers that differ",
  equal: "Equal texts",
  rest: "Rest",
};
const SHOWN = 5; // of themes and words, before all are asked for
const FAINTEST = 0.6; // of the ground of the weightiest word

/** An explanation as nodes: its texts, their reasons in a sentence, and what they rest on. */
export function reasons(found) {
  const first = sentence(found, 1);
  const second = sentence(found, 2);
  const lit = lighting([first, second]);
  const body = [first, second, said("p", found.told)];
  if (found.knowledge === "none") return h("div", { class: "reasons" }, body);
  body.push(stack(found));
  if (found.meetings.length) body.push(h("h3", {}, "Words that meet"), meetings(found, lit));
  if (found.themes.length) body.push(h("h3", {}, "Where both would stand"), themes(found));
  body.push(alone(found.alone1, "first"), alone(found.alone2, "second"));
  return h("div", { class: "reasons" }, body);
}

/** The text, its words on a ground as strong as what hangs on them, numbered by what they meet. */
function sentence(found, side) {
  const text = found[`sentence${side}`];
  const words = new Map(found[`words${side}`].map((word) => [plain(word.text), word]));
  const every = [...found.words1, ...found.words2].map((word) => Math.abs(word.added ?? 0));
  const most = Math.max(0, ...every);
  const nodes = [];
  let last = 0;
  for (const match of text.matchAll(WORD)) {
    const word = words.get(plain(match[0]));
    if (!word) continue;
    nodes.push(text.slice(last, match.index), marked(match[0], word, found, side, most));
    last = match.index + match[0].length;
  }
  return said("p", [...nodes, text.slice(last)].filter(Boolean), { class: "text" });
}

function marked(text, word, found, side, most) {
  const met = found.meetings.flatMap((meeting, n) =>
    plain(meeting[`word${side}`]) === plain(word.text) ? [n] : [],
  );
  const kinds = [
    (word.added ?? 0) < 0 && "less",
    !word.met && !word.empty && "alone",
    !word.known && "unknown",
  ];
  const told = [
    typeof word.added === "number" && `adds ${signed(word.added)}`,
    !word.known && "never seen in the corpus",
    word.known && !word.met && !word.empty && "without a counterpart",
  ];
  return h(
    "mark",
    {
      class: kinds.filter(Boolean).join(" ") || null,
      title: told.filter(Boolean).join(", ") || null,
      "data-met": met.join(" ") || null,
      style: { "--strength": most ? ((FAINTEST * Math.abs(word.added ?? 0)) / most).toFixed(2) : 0 },
    },
    text,
    met.length ? h("sup", { "aria-hidden": "true" }, met.map((n) => n + 1).join(",")) : null,
  );
}

const plain = (text) => text.toLowerCase().replaceAll("’", "'");

/** Pointing at a word lights those that it meets; gives what lights the words of a meeting. */
function lighting(sentences) {
  const marks = sentences.flatMap((each) => [...each.querySelectorAll("mark[data-met]")]);
  const numbers = (mark) => mark.dataset.met.split(" ").map(Number);
  const light = (wanted) => {
    for (const mark of marks) {
      mark.classList.toggle("lit", numbers(mark).some((n) => wanted.includes(n)));
    }
  };
  for (const mark of marks) {
    mark.addEventListener("pointerenter", () => light(numbers(mark)));
    mark.addEventListener("pointerleave", () => light([]));
  }
  return light;
}

/** What the score is the sum of, as one bar with its legend. */
function stack(found) {
  const rest = (name, part) => (name === "equal" ? 0 : part.rest);
  const parts = Object.entries(found.parts).map(([name, part]) => ({
    name,
    added: part.added - rest(name, part),
  }));
  const left = Object.entries(found.parts).reduce((sum, [name, part]) => sum + rest(name, part), 0);
  const order = Object.keys(PARTS);
  parts.sort((one, two) => order.indexOf(one.name) - order.indexOf(two.name));
  parts.push({ name: "rest", added: left });
  const whole = parts.reduce((sum, part) => sum + Math.abs(part.added), 0) || 1;
  const bars = parts.map(({ name, added }) =>
    h("i", {
      class: `${name}${added < 0 ? " less" : ""}`,
      style: { "--size": ((100 * Math.abs(added)) / whole).toFixed(3) },
    }),
  );
  const keys = parts.map(({ name, added }) =>
    h("li", { class: name }, h("i", { class: "key" }), `${PARTS[name] ?? name} ${signed(added)}`),
  );
  return h(
    "section",
    { "aria-label": "What the score is the sum of" },
    h("div", { class: "stack", "aria-hidden": "true" }, bars),
    h("ul", { class: "legend" }, keys),
  );
}

/** A line of an amount: label, amount, its share of the score, a bar as long as that. */
function row(label, added, score, name = "div") {
  const share = Math.abs(score) < 0.005 ? null : added / score;
  return h(
    name,
    { class: "row" },
    label,
    h("span", { class: "number" }, signed(added)),
    h("span", { class: "number soft" }, share === null ? "" : `${fixed(100 * share, 0)} %`),
    h("i", {
      class: `bar${added < 0 ? " less" : ""}`,
      "aria-hidden": "true",
      style: { "--size": Math.min(100, 100 * Math.abs(share ?? 0)).toFixed(1) },
    }),
  );
}

function meetings(found, light) {
  const rows = found.meetings.map((meeting, n) => {
    const same = plain(meeting.word1) === plain(meeting.word2);
    const told = same ? meeting.word1 : `${meeting.word1} ~ ${meeting.word2}`;
    const button = h(
      "button",
      {
        type: "button",
        class: "plain",
        title: `match ${fixed(meeting.match)} of 1`,
        on: {
          focus: () => light([n]),
          blur: () => light([]),
          pointerenter: () => light([n]),
          pointerleave: () => light([]),
        },
      },
      h("bdi", {}, told),
      h("sup", { "aria-hidden": "true" }, String(n + 1)),
    );
    return h("li", {}, row(h("span", {}, button), meeting.added, found.similarity));
  });
  return h("ul", { class: "amounts" }, rows);
}

function themes(found) {
  const rows = found.themes.map((share) => h("li", {}, theme(share, found)));
  const list = h("ul", { class: "amounts" }, rows.slice(0, SHOWN));
  if (rows.length <= SHOWN) return list;
  const more = h("button", { type: "button", class: "plain" }, `${rows.length - SHOWN} more`);
  more.addEventListener("click", () => {
    list.append(...rows.slice(SHOWN));
    rows[SHOWN].querySelector("summary").focus();
    more.remove();
  });
  return [list, more];
}

/** A theme, which unfolds into the corpus sentences behind it. */
function theme(share, found) {
  const by = [1, 2].flatMap((side) => carried(share, found, side));
  return h(
    "details",
    {},
    row(h("span", {}, named(share.theme)), share.added, found.similarity, "summary"),
    h(
      "div",
      { class: "inside small" },
      by.length ? h("p", {}, `By ${[...new Set(by)].join(", ")}.`) : null,
      h("ul", {}, behind(share).map((each) => h("li", {}, each))),
    ),
  );
}

/** The sentences of a theme that add most, each with its document; or typical ones. */
function behind(share) {
  if (!share.contexts.length) return share.theme.typical.map((text) => said("span", text));
  return share.contexts.map((context) => [
    said("span", context.sentence),
    " ",
    h(
      "a",
      { href: `#/documents?${new URLSearchParams({ a: context.document })}` },
      h("bdi", {}, context.document),
    ),
    ` ${signed(context.added)}`,
  ]);
}

function carried(share, found, side) {
  const words = found[`words${side}`];
  return (share[`by${side}`] ?? [])
    .map((added, n) => ({ added, word: words[n] }))
    .filter(({ added, word }) => word && !word.empty && added > Math.max(0, share.added / 10))
    .sort((one, two) => two.added - one.added)
    .slice(0, 2)
    .map(({ word }) => word.text);
}

function named(theme) {
  const words = theme.words.slice(0, 4);
  if (words.length < 2) return words[0] ?? "other things";
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function alone(shares, which) {
  if (!shares.length) return [];
  const items = shares.map((share) =>
    h("li", {}, named(share.theme), h("br"), said("span", share.theme.typical[0] ?? "", { class: "soft small" })),
  );
  return [h("h3", {}, `Only the ${which} would stand where`), h("ul", {}, items)];
}
