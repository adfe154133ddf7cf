/** Elements. What others wrote goes in as text, never as markup. */

/**
 * An element with properties and children; null and false are left out.
 *
 * `class`, `style` (properties of a CSSStyleDeclaration or custom ones), `on` (event → listener)
 * and attributes; `true` is an attribute without a value.
 */
export function h(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (key === "style") {
      for (const [what, how] of Object.entries(value)) made.style.setProperty(what, String(how));
    } else {
      made.setAttribute(key, value === true ? "" : String(value));
    }
  }
  made.append(...children.flat(Infinity).filter((each) => each || each === 0 || each === ""));
  return made;
}

/** Text of others: it may run from right to left. */
export function said(name, text, properties = {}) {
  return h(name, { dir: "auto", ...properties }, text);
}

/** 1234567 → 1,234,567 */
export const count = (value) => value.toLocaleString("en");

/** 0.1234 → +0.123 */
export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);

/** A number with a true minus, which 0 has not. */
export const fixed = (value, digits = 2) =>
  value.toFixed(digits).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");

/** Share, in [0, 1], in per cent, rounded down, with as many digits as tell it from 0 and 100. */
export function percent(share) {
  const value = 100 * share;
  if (value > 0 && value < 0.01) return "under 0.01 %";
  const near = Math.min(value, 100 - value); // to either end
  const digits = near > 0 ? Math.max(0, -Math.floor(Math.log10(near) + 1e-9)) : 0;
  return `${(Math.floor(value * 10 ** digits + 1e-6) / 10 ** digits).toFixed(digits)} %`;
}

/** `93 % of pairs`; of those that are all lower, `all pairs` */
export const shareOf = (share, pairs) => (share === 1 ? `all ${pairs}` : `${percent(share)} of ${pairs}`);

/** `1 thing`, `2 things` */
export const plural = (n, thing) => `${count(n)} ${thing}${n === 1 ? "" : "s"}`;
