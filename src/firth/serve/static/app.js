// The web app. Pages are functions that fill <main>; the address after # says which is shown.

let main = document.getElementById("main");

/** Make an element: attributes, listeners (onclick) and children. Texts are never parsed. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

const text = (value) => make("span", { dir: "auto" }, value);
const number = (value, digits = 2) => (value == null ? "–" : value.toFixed(digits));
const rare = (share) => (share < 0.001 ? "under 0.1 %" : `${Number((100 * share).toPrecision(2))} %`);
const link = (page, query, label) => make("a", { href: `#${page}?${new URLSearchParams(query)}` }, label);

/** What the page of matches was given, while this tab is open; and the example of differences. */
const lists = {};
const differ = { text1: "The deadline is October 15th.", text2: "The deadline is not October 16th." };

/** It ends the questions of a page that is left, so that nobody waits behind them. */
let leaving = new AbortController();

/** Ask the API. A missing token is asked for once and kept for this tab. */
async function ask(path, body = {}, onProgress, signal = leaving.signal) {
  const headers = { "Content-Type": "application/json" };
  const token = sessionStorage.getItem("token");
  if (token) headers.Authorization = `Bearer ${token}`;
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  if (response.status === 429 || response.status === 503) {
    if (onProgress) onProgress({ what: "Waiting for other work" });
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get("Retry-After") ?? 2)));
    return ask(path, body, onProgress, signal);
  }
  if (response.status === 401) {
    const given = prompt("Token of this service");
    if (given) {
      sessionStorage.setItem("token", given.trim());
      return ask(path, body, onProgress, signal);
    }
  }
  const kind = response.headers.get("content-type") ?? "";
  if (!kind.includes("ndjson")) {
    const value = await response.json();
    if (!response.ok) throw new Error(`${value.error.message} ${value.error.hint}`);
    return value;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += value ?? "";
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines.filter(Boolean)) {
      const event = JSON.parse(line);
      if (event.error) throw new Error(`${event.error.message} ${event.error.hint}`);
      if (event.result) return event.result;
      if (event.progress && onProgress) onProgress(event.progress);
    }
    if (done) throw new Error("The connection ended before the answer.");
  }
}

/** Show what `work` returns in `place`; a failure is shown there, too. */
async function show(place, work) {
  const note = make("p", { class: "soft", role: "status" }, "Working.");
  place.replaceChildren(note);
  const progress = ({ what, done, of }) => {
    note.textContent = of ? `${what}: ${Math.round((100 * done) / of)} %` : what;
  };
  try {
    place.replaceChildren(...[await work(progress)].flat());
  } catch (error) {
    place.replaceChildren(make("p", { class: "problem", role: "alert" }, error.message));
  }
}

/** Make a form whose fields become the query of the address, so that results can be linked. */
function form(page, fields, query, button) {
  const inputs = fields.map(([name, label, kind, options]) => {
    const value = query.get(name) ?? "";
    let input;
    if (kind === "text") input = make("textarea", { name, rows: 3, required: true, dir: "auto" }, value);
    else if (kind === "document") input = chooser(name, value);
    else if (kind === "choice") {
      input = make("select", { name }, options.map((option) =>
        make("option", { value: option, selected: option === value }, option)));
    } else input = make("input", { name, type: kind, value, dir: "auto", placeholder: options });
    return make("label", {}, label, input);
  });
  return make("form", {
    onsubmit: (event) => {
      event.preventDefault();
      const given = [...new FormData(event.target)].filter(([, value]) => value !== "");
      const next = `#${page}?${new URLSearchParams(given)}`;
      if (next === location.hash) route();
      else location.hash = next;
    },
  }, make("div", { class: fields.length === 2 && page !== "duplicates" ? "columns" : "row" }, inputs), make("button", {}, button));
}

/** Make a field that lists the documents whose id or title has what is typed. */
function chooser(name, value) {
  const list = make("datalist", { id: `documents-${name}` });
  const fill = async ({ target }) => {
    const { documents } = await ask("/api/documents", { query: target.value });
    list.replaceChildren(...documents.map(({ id, title }) => make("option", { value: id }, title)));
  };
  return [list, make("input", { name, type: "search", value, list: list.id, required: true, dir: "auto",
    autocomplete: "off", placeholder: "Id or title", oninput: fill, onfocus: fill })];
}

/** Return the pieces of a text, with the spans of matched words marked; positions count code points. */
function marked(value, spans) {
  const points = [...value];
  const parts = [];
  let last = 0;
  for (const [start, end] of spans) {
    parts.push(points.slice(last, start).join(""), make("mark", { class: "hit" }, points.slice(start, end).join("")));
    last = end;
  }
  return [...parts, points.slice(last).join("")];
}

/** Name up to three further documents that have a text. */
function alsoIn(ids) {
  const links = ids.slice(0, 3).flatMap((id) => [", ", link("documents", { id }, text(id))]);
  const rest = ids.length > 3 ? `, and ${(ids.length - 3).toLocaleString()} more` : "";
  return ids.length ? ["; also in ", ...links.slice(1), rest] : [];
}

/** Make one line of a hit, which begins shortly before the first marked word; opened, it shows all. */
function line({ text, matches }) {
  const first = matches.length ? matches[0][0] : 0;
  const blank = [...text].indexOf(" ", first - 40);
  const start = first <= 60 ? 0 : blank < 0 || blank > first ? first - 40 : blank + 1; // there may be no blanks
  const short = [...text].slice(start).join("");
  const brief = () => [start ? "… " : "", ...marked(short, matches.map((span) => span.map((place) => place - start)))];
  const summary = make("summary", { dir: "auto" }, brief());
  return make("details", { ontoggle: ({ target }) =>
    summary.replaceChildren(...(target.open ? marked(text, matches) : brief())) }, summary);
}

/** Show a group of texts that say the same, with the evidence of each; the first five at once. */
function grouped({ kind, boilerplate, representative, members }) {
  const place = ({ document, title }) => link("documents", { id: document }, text(title || document));
  const rows = members.map((member) => make("li", {}, member.kind === "exact" ? null : text(member.text),
    make("div", { class: "soft small" }, place(member), `; ${member.kind}: ${member.evidence}`)));
  const rest = rows.splice(5);
  return make("li", {}, make("strong", {}, boilerplate ? "boilerplate" : kind), " ", text(representative.text),
    make("div", { class: "soft small" }, place(representative)), make("ul", {}, rows),
    rest.length ? make("details", {}, make("summary", {}, `and ${rest.length} more`), make("ul", {}, rest)) : null);
}

/** Show how much of two documents is in each other, and the sentences that match. */
function aligned({ a, b, coverage_a, coverage_b, copied_a, copied_b, matches, notes }) {
  const percent = (share) => `${Math.round(100 * share)} %`;
  const said = (one, other, share, copied) => make("p", {}, "Of ", link("documents", { id: one }, text(one)),
    `, ${percent(share)} is in `, text(other), ` (${percent(copied)} word for word).`);
  return [said(a, b, coverage_a, copied_a), said(b, a, coverage_b, copied_b),
    ...notes.map((note) => make("p", { class: "soft" }, note)),
    make("table", {}, matches.map((match) => make("tr", {},
      make("td", {}, text(match.a_text)), make("td", {}, text(match.b_text)),
      make("td", { class: "soft small" }, `${match.kind} ${number(match.score)}`,
        match.differ.length ? `, differ in ${match.differ.join(" and ")}` : ""))))];
}

/** Show two texts with what differs marked in both, and say it; nothing where they say the same. */
function differing({ a, b, differ, summary: said, items }) {
  if (!differ) return make("p", { class: "soft" }, said);
  const spans = (side) => items.filter(({ matters }) => matters).flatMap((item) => item[side])
    .sort(([one], [other]) => one - other).filter(([start], at, all) => !at || start >= all[at - 1][1]);
  return make("section", { class: "differences" }, make("p", {}, said),
    make("p", { dir: "auto" }, marked(a, spans("spans_a"))), make("p", { dir: "auto" }, marked(b, spans("spans_b"))));
}

/** Show a table with a head; that of class `wide` is one column on a phone. */
function tabled(head, rows, name = "wide") {
  return make("table", { class: name }, make("tr", {}, head.map((name) => make("th", {}, name))),
    rows.map((cells) => make("tr", {}, cells.map((cell) => make("td", typeof cell === "string" ? { dir: "auto" } : {}, cell)))));
}

/** Return the rows of a table; cells in quotes may have separators and line breaks. */
function rowsOf(table) {
  const head = table.split("\n", 1)[0];
  const [mark] = [",", ";", "\t"].sort((one, other) => head.split(other).length - head.split(one).length);
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^${mark}\\r\\n]*))(${mark}|\\r?\\n|$)`, "g");
  const rows = [[]];
  for (const [, quoted, plain, end] of table.matchAll(cell)) {
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
    if (end !== mark) rows.push([]);
  }
  return rows.filter((row) => row.some(Boolean));
}

/** Make a field for a list, a text a line; a file, or a column of a table, fills it. What was given last is in it. */
function listField(name, label, lists) {
  const area = make("textarea", { name, rows: 8, dir: "auto", oninput: () => { lists[name] = area.value; } }, lists[name]);
  const column = make("select", { "aria-label": `${label}, column of the table`, hidden: true });
  const file = make("input", { type: "file", accept: ".txt,.csv,.tsv", "aria-label": `${label}, from a file`,
    onchange: async () => {
      const [given] = file.files;
      const value = await given.text();
      const [head = [], ...rows] = /\.[ct]sv$/i.test(given.name) ? rowsOf(value) : [];
      column.hidden = !head.length;
      column.replaceChildren(...head.map((title, at) => make("option", { value: at, selected: title === "text" }, title)));
      column.onchange = () => {
        const texts = rows.map((row) => (row[column.value] ?? "").replace(/\s+/g, " "));
        area.value = lists[name] = head.length ? texts.join("\n") : value;
      };
      column.onchange();
    } });
  return make("div", {}, make("label", {}, label, area), file, column);
}

/** HTML from the server's own template, in which every text is escaped. */
function rendered(html) {
  const holder = make("article");
  holder.innerHTML = html;
  return holder;
}

const pages = {
  async search(query, main) {
    const results = make("section");
    const fields = [
      ["q", "Query", "search", "Words, a sentence, or more"],
      ["mode", "Rank by", "choice", ["hybrid", "dense", "lexical"]],
      ["unit", "Find", "choice", ["sentence", "document"]],
      ["where", "Filter", "text-line", "date >= 2020"],
    ].map((field) => (field[2] === "text-line" ? [field[0], field[1], "search", field[3]] : field));
    main.replaceChildren(form("search", fields, query, "Search"), results);
    if (!query.get("q")) {
      main.querySelector("input").focus();
      const { examples } = await ask("/api/run");
      if (examples.length) results.replaceChildren(make("p", { class: "soft" }, "For example: ",
        link("search", { q: examples[0] }, text(examples[0]))));
      return;
    }
    const body = { query: query.get("q"), mode: query.get("mode") ?? "hybrid", unit: query.get("unit") ?? "sentence" };
    if (query.get("where")) body.where = query.get("where");
    await show(results, async () => {
      const { hits, remark, answer } = await ask("/api/search", body);
      const said = remark ? make("p", {}, text(remark)) : "";
      const shown = answer.startsWith("probably nothing") ? hits.slice(0, 3) : hits;
      return hits.length ? [said, make("ol", { class: "hits" }, shown.map((hit) => make("li", {},
        line(hit),
        make("div", { class: "soft small" },
          link("documents", { id: hit.document }, text(hit.title === hit.text ? hit.document : hit.title || hit.document)),
          hit.page ? `, page ${hit.page}` : "", ...alsoIn(hit.also), "; ", hit.answer ? `${hit.answer}. ` : "",
          link("compare", { text1: body.query, text2: hit.text }, "Why?")))))] : said;
    });
  },

  async compare(query, main) {
    const result = make("section");
    const texts = [["text1", "First text", "text"], ["text2", "Second text", "text"]];
    const documents = [["a", "First document", "document"], ["b", "Second document", "document"]];
    const [a, b] = [query.get("a"), query.get("b")];
    if (!query.get("text1") && !a) {
      const { examples } = await ask("/api/run");
      if (examples.length) query = new URLSearchParams({ text1: examples[0], text2: examples[1] });
    }
    main.replaceChildren(form("compare", texts, query, "Compare texts"),
      form("compare", documents, query, "Compare documents"), result);
    if (a && b) {
      await show(result, async () => aligned(await ask("/api/documents/compare", { first: a, second: b })));
    }
    const [text1, text2] = [query.get("text1"), query.get("text2")];
    if (!text1?.trim() || !text2?.trim()) return;
    await show(result, async () => {
      const found = differing(await ask("/api/differences", { text1, text2 }));
      return [found, rendered((await ask("/api/explain", { text1, text2 })).html)];
    });
  },

  async differences(query, main) {
    const result = make("section");
    if (!query.get("text1")) query = new URLSearchParams(differ);
    const fields = [["text1", "First text", "text"], ["text2", "Second text", "text"]];
    main.replaceChildren(form("differences", fields, query, "Find differences"), result);
    await show(result, async () => {
      const found = await ask("/api/differences", Object.fromEntries(query));
      const rows = found.items.map(({ kind, a, b, matters }) =>
        [kind, text(a || "–"), text(b || "–"), matters ? "" : "does not matter"]);
      return [differing(found), ...(rows.length ? [tabled(["What", "First", "Second", ""], rows, "")] : [])];
    });
  },

  async match(query, main) {
    const result = make("section");
    const precision = make("select", { name: "precision" }, [0.9, 0.95, 0.8].map((share) =>
      make("option", { value: share }, `${100 * share} %`)));
    const lines = (name) => (lists[name] ?? "").split("\n").filter((each) => each.trim());
    const run = (event) => {
      event.preventDefault();
      const [left, right] = [lines("left"), lines("right")];
      const body = { left, precision: Number(precision.value), ...(right.length ? { right } : {}) };
      return show(result, async (progress) => {
        const { summary, notes, items } = await ask("/api/match", body, progress);
        const rows = items.filter((item) => item.right !== null).map((item) => [text(item.text), text(item.nearest),
          make("span", {}, `${item.kind}, similarity ${number(item.score)}`,
            item.chance === null ? "" : `, chance ${rare(item.chance)}`,
            item.differ.length ? [", ", link("differences", { text1: item.text, text2: item.nearest },
              `differ in ${item.differ.join(" and ")}`)] : "")]);
        const none = items.filter((item) => item.right === null);
        return [make("p", {}, [summary, ...notes].map((each) => each.replace(/[^.]$/, "$&.")).join(" ")),
          ...(rows.length ? [tabled(["Text", "Its match", "How near"], rows)] : []),
          ...(none.length ? [make("details", { open: !rows.length }, make("summary", {}, `${none.length} without a match`),
            tabled(["Text", "Nearest", "Similarity"], none.map((item) => [text(item.text), text(item.nearest || "–"), number(item.score)])))] : [])];
      });
    };
    main.replaceChildren(make("form", { onsubmit: run },
      make("div", { class: "columns" }, listField("left", "Texts, one a line", lists),
        listField("right", "Where their matches are looked for; empty: among the others", lists)),
      make("label", {}, "Matches that shall be right", precision), make("button", {}, "Match")), result);
    main.querySelector("textarea").focus();
  },

  async duplicates(query, main) {
    const result = make("section");
    const fields = [["unit", "Compare", "choice", ["sentence", "document"]], ["threshold", "Lowest cosine", "search", "automatic"]];
    main.replaceChildren(form("duplicates", fields, query, "Find duplicates"), result);
    if (!query.get("unit")) return;
    const body = { unit: query.get("unit") };
    if (query.get("threshold")) body.threshold = Number(query.get("threshold"));
    await show(result, async (progress) => {
      const { groups, related, counts, threshold, notes } = await ask("/api/duplicates", body, progress);
      const listed = (some) => make("ol", { class: "hits" }, some.map(grouped));
      return [make("p", {}, `${counts.groups} groups, with a similarity of at least ${number(threshold)}. ${notes.join(" ")}`),
        listed(groups), ...(related.length
          ? [make("h2", {}, "Related, but they differ in what matters"), listed(related)] : [])];
    });
  },

  async documents(query, main) {
    const result = make("section");
    if (query.get("id")) {
      main.replaceChildren(result);
      await show(result, async () => {
        const document = await ask("/api/document", { id: query.get("id") });
        return [make("h2", { dir: "auto" }, document.title || document.id),
          make("p", { class: "soft small" }, `${document.source} ${document.date} `, ...alsoIn(document.also), " ",
            link("compare", { a: document.id }, "Compare with another")),
          ...document.sentences.map((sentence) => make("p", { dir: "auto" }, sentence))];
      });
      return;
    }
    main.replaceChildren(form("documents", [["q", "Id or title", "search", "part of it"]], query, "Filter"), result);
    const page = Number(query.get("page") ?? 1);
    await show(result, async () => {
      const list = await ask("/api/documents", { query: query.get("q") ?? "", page });
      const rows = list.documents.map((one) => make("tr", {},
        make("td", {}, link("documents", { id: one.id }, text(one.title || one.id))),
        make("td", {}, one.date), make("td", { class: "number" }, String(one.sentences))));
      const turn = (to, label) => (to >= 1 && to <= list.pages
        ? link("documents", { q: query.get("q") ?? "", page: to }, label) : null);
      return [make("table", {}, make("tr", {}, ["Document", "Date", "Sentences"].map((head) => make("th", {}, head))), rows),
        make("p", {}, turn(page - 1, "Previous"), ` ${list.total} documents `, turn(page + 1, "Next"))];
    });
  },

  async run(query, main) {
    const check = make("section");
    const { documents, sentences, held_out, newer, stages, next } = await ask("/api/run");
    const counted = (count, what) => `${count.toLocaleString()} ${what}`;
    main.replaceChildren(
      make("p", {}, `${counted(documents, "documents")}, ${counted(sentences, "sentences")}. `
        + `Held out, and unknown to the models: ${held_out.toLocaleString()}.`),
      make("p", {}, newer > 0 ? `${counted(newer, "sentences")} are newer than the models. ` : null,
        next ? ["To bring everything up to date: ", make("code", {}, next)] : "Everything is up to date."),
      make("h2", {}, "Did it learn something?"), check,
      make("details", {}, make("summary", {}, "Parts of the run"),
        make("table", {}, Object.entries(stages).map(([name, state]) =>
          make("tr", {}, make("td", {}, name), make("td", {}, state))))));
    await show(check, async (progress) => make("p", {}, (await ask("/api/check", {}, progress)).verdict));
  },
};

/** Show the page that the address names. A page that is still waiting keeps the element that this one replaces. */
async function route() {
  const [name, query] = location.hash.slice(1).split("?");
  const page = name in pages ? name : "search";
  for (const one of document.querySelectorAll("nav a")) {
    one.toggleAttribute("aria-current", one.hash === `#${page}`);
  }
  leaving.abort();
  leaving = new AbortController();
  const place = main.cloneNode(false);
  main.replaceWith(place);
  main = place;
  try {
    await pages[page](new URLSearchParams(query), place);
  } catch (error) {
    place.replaceChildren(make("p", { class: "problem", role: "alert" }, error.message));
  }
}

// The address that `firth serve` prints may have the token of this service.
const printed = /^#token=([\w-]+)$/.exec(location.hash);
if (printed) {
  sessionStorage.setItem("token", printed[1]);
  history.replaceState(null, "", location.pathname);
}
addEventListener("hashchange", route);
ask("/api/run").then(({ name }) => {
  document.title = `firth: ${name}`;
  document.getElementById("name").textContent = name;
}).catch(() => {});
route();
