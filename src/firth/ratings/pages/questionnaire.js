// Keys for the questionnaire. Without this file the form works all the same.
"use strict";

const form = document.getElementById("question");
const heading = document.querySelector("h1[tabindex]");
if (heading && !document.querySelector("[autofocus]")) heading.focus();

// A key held down on the page before must not pass over the feedback.
const feedback = document.getElementById("feedback");
if (feedback) {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (event.repeat) event.preventDefault();
    else if (!event.target.closest("button, a")) feedback.requestSubmit();
  });
}

if (form) {
  const radios = (kind) => [...form.querySelectorAll(`input[name="${kind}"]`)];
  const chosen = (kind) => radios(kind).findIndex((radio) => radio.checked);
  const status = document.getElementById("chosen");
  const problem = document.getElementById("problem");
  let sent = false;
  form.noValidate = true; // the messages below are read out, and stay

  const say = () => {
    const parts = ["best", "worst"]
      .filter((kind) => chosen(kind) >= 0)
      .map((kind) => `${form.dataset[kind]}: ${chosen(kind) + 1}`);
    status.textContent = parts.join(", ");
    if (chosen("best") >= 0 && chosen("best") === chosen("worst")) {
      problem.textContent = "Please choose two different items.";
    } else {
      problem.textContent = "";
    }
  };

  const ready = () => {
    if (chosen("best") < 0 || chosen("worst") < 0) {
      problem.textContent = "Please choose one item of each kind.";
      return false;
    }
    return chosen("best") !== chosen("worst");
  };

  const clear = () => {
    [...radios("best"), ...radios("worst")].forEach((radio) => { radio.checked = false; });
    say();
  };

  form.addEventListener("change", say);
  form.addEventListener("submit", (event) => {
    if (sent || !ready()) event.preventDefault();
    else sent = true;
  });
  // A page that the browser kept may be sent again; the server counts the first answer.
  window.addEventListener("pageshow", () => { sent = false; });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
    if (event.key === "Escape") {
      clear();
      event.preventDefault();
      return;
    }
    if (event.key === "Enter") {
      if (event.target.closest("button, a, summary, input")) return;
      form.requestSubmit();
      event.preventDefault();
      return;
    }
    const number = Number.parseInt(event.key, 10);
    const best = radios("best");
    if (!(number >= 1 && number <= best.length)) return;
    if (chosen("best") >= 0 && chosen("worst") >= 0) clear();
    const kind = chosen("best") < 0 ? "best" : "worst";
    if (kind === "worst" && chosen("best") === number - 1) {
      problem.textContent = "Please choose two different items.";
    } else {
      radios(kind)[number - 1].checked = true;
      say();
    }
    event.preventDefault();
  });
  if (!problem.textContent) say();
}

document.documentElement.dataset.ready = "yes"; // keys are heard from here on
