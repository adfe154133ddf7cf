/** The page: tabs, and the address bar, which keeps what is asked. */

import { ask } from "./api.js";
import { compare } from "./compare.js";
import { h } from "./dom.js";
import { documents } from "./documents.js";
import { run } from "./run.js";
import { search } from "./search.js";
import { complaint } from "./work.js";

const MAKE = { compare, search, documents, run };
const NEEDS = {
  compare: ["origin", "Its Origin is not built, which compares sentences.", "firth run"],
  search: ["index", "Its sentences have no vectors yet, which search needs.", "firth index --run"],
  documents: ["surrogate", "It has no Surrogate, which compares documents.", "firth run"],
};
const tabs = [...document.querySelectorAll('[role="tab"]')];
const panels = Object.fromEntries(tabs.map((tab) => [tab.dataset.tab, document.getElementById(tab.dataset.tab)]));
const last = {}; // tab → what it shows
let made = {};

/** Show a tab that asks something; the address bar says so, and going back undoes it. */
function go(tab, asked = {}) {
  const text = new URLSearchParams(asked).toString();
  const hash = `#/${tab}${text ? `?${text}` : ""}`; // the slash: of no element, to scroll to
  if (hash === location.hash) {
    delete last[tab]; // asked again
    route();
  } else location.hash = hash;
}

function route() {
  const [name, text = ""] = location.hash.slice(2).split(/\?(.*)/s);
  const tab = name in MAKE ? name : "compare";
  const left = document.activeElement?.closest('[role="tabpanel"]');
  for (const each of tabs) {
    const chosen = each.dataset.tab === tab;
    each.setAttribute("aria-selected", String(chosen));
    each.tabIndex = chosen ? 0 : -1;
    panels[each.dataset.tab].hidden = !chosen;
    if (chosen && left && left.id !== tab) each.focus(); // a link led here, and is gone
  }
  if (!made[tab]) return;
  document.title = `${made[tab].heading} · firth`;
  if (last[tab] === text || (!text && tab in last)) return;
  last[tab] = text;
  made[tab].show(new URLSearchParams(text));
}

function choose(tab) {
  const name = tab.dataset.tab;
  go(name, last[name] ? Object.fromEntries(new URLSearchParams(last[name])) : {});
  tab.focus();
}

for (const tab of tabs) {
  tab.addEventListener("click", () => {
    if (tab.getAttribute("aria-selected") !== "true") choose(tab);
  });
  tab.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(tabs[(to + tabs.length) % tabs.length]);
  });
}
addEventListener("hashchange", route);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address bar has what is asked
  document.getElementById("content").focus();
});

async function start() {
  const status = document.getElementById("opening");
  const wrong = document.getElementById("wrong");
  status.textContent = "Opening the run …";
  wrong.replaceChildren();
  try {
    const opened = await ask("/api/run");
    document.getElementById("name").textContent = opened.name;
    for (const [name, make] of Object.entries(MAKE)) {
      const [part, what, command] = NEEDS[name] ?? [];
      if (part && !opened.has[part]) {
        panels[name].append(h("p", { class: "notice" }, `${what} Build it: `, h("code", {}, `${command} …`)));
      }
      made[name] = make(panels[name], opened, go);
    }
    status.textContent = "";
    document.documentElement.dataset.ready = "";
  } catch (error) {
    status.textContent = "";
    wrong.append(complaint(error, start));
    return;
  }
  route();
}

route();
start();
