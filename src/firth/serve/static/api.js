/** Questions to the service. */

/** An answer that is none: what went wrong, and what to do. */
export class Refused extends Error {
  constructor(message, hint = "", status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

let token = sessionStorage.getItem("firth-token") ?? "";

/** Ask the service; `body` is JSON, none for GET. Raises Refused, or AbortError when ended. */
export async function ask(path, body, signal) {
  const answer = await reach(path, body, signal);
  return readable(() => answer.json());
}

/** Ask what takes long: `told` hears {done, of, what} on the way; the result comes last. */
export async function stream(path, body, signal, told) {
  const answer = await reach(path, body, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await readable(() => reader.read());
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines.filter((each) => each.trim())) {
      const said = await readable(() => JSON.parse(line));
      if (said.progress) told(said.progress);
      else if (said.error) throw refusal(said.error, answer.status);
      else if ("result" in said) return said.result;
      else return said;
    }
    if (done) throw new Refused("The answer broke off.", "Ask again; or is the service stopped?");
  }
}

async function reach(path, body, signal) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  const asked = { method: body === undefined ? "GET" : "POST", headers, signal };
  if (body !== undefined) asked.body = JSON.stringify(body);
  let answer;
  try {
    answer = await fetch(path, asked);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The service does not answer.", "Is firth serve still running?");
  }
  if (answer.status === 401 && (await askToken())) return reach(path, body, signal);
  if (!answer.ok) {
    const told = await answer.json().catch(() => ({}));
    throw refusal(told.error ?? {}, answer.status);
  }
  return answer;
}

function refusal(error, status) {
  return new Refused(error.message ?? `The service answered ${status}.`, error.hint ?? "", status);
}

async function readable(read) {
  try {
    return await read();
  } catch (error) {
    if (error.name === "AbortError" || error instanceof Refused) throw error;
    throw new Refused("The answer cannot be read: it broke off, or is no JSON.", "Ask again.");
  }
}

/** Have the token typed in; false where that is declined. */
async function askToken() {
  const dialog = document.querySelector("#token");
  const field = dialog.querySelector("input");
  field.value = "";
  dialog.returnValue = "";
  if (!dialog.open) dialog.showModal();
  await new Promise((closed) => dialog.addEventListener("close", closed, { once: true }));
  if (dialog.returnValue !== "ok" || !field.value) return false;
  token = field.value;
  sessionStorage.setItem("firth-token", token);
  return true;
}
