/** Charts: values with their intervals, lines over training steps, how often values are how high. */

import { count, fixed, h } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Rows of a value and its interval, on one scale a group.
 *
 * `groups` are {name, rows: [{name, value, low, high}]}; a value may be null, or have no interval.
 */
export function intervals(title, groups) {
  return h(
    "figure",
    { class: "intervals" },
    h("figcaption", {}, title),
    groups.map(({ name, rows }) => [name ? h("h4", {}, name) : null, group(rows)]),
  );
}

function group(rows) {
  const known = rows.flatMap((row) => [row.value, row.low, row.high]).filter(Number.isFinite);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  // Without intervals nothing says that a small difference is one: it is not drawn large.
  const certain = rows.some(({ low }) => Number.isFinite(low));
  const margin = Math.max(certain ? 1 : 10, (most - least) / 20);
  const at = (value) => (100 * (value - least + margin)) / (most - least + 2 * margin);
  return h("ul", {}, rows.map((row) => h("li", {}, line(row, at))));
}

function line({ name, value, low, high }, at) {
  if (!Number.isFinite(value)) return [h("span", {}, name), h("span"), h("span", {}, "undefined")];
  const between = Number.isFinite(low) && Number.isFinite(high);
  const track = h("div", { class: "track", "aria-hidden": "true" });
  if (between) {
    track.append(h("i", { class: "range", style: { "--low": at(low), "--high": at(high) } }));
  }
  track.append(h("i", { class: "dot", style: { "--at": at(value) } }));
  const told = between ? ` [${low.toFixed(1)}, ${high.toFixed(1)}]` : "";
  return [h("span", {}, name), track, h("span", { class: "number" }, `${value.toFixed(1)}${told}`)];
}

/** Curves of training: title → {label, lines: name → [[step, value], …]}; a figure each. */
export function curves(found) {
  const drawn = Object.entries(found).map(([title, { label, lines }]) =>
    h(
      "figure",
      {},
      h("figcaption", {}, `${title} (${label})`),
      Object.entries(lines).map(([name, points]) => curve(name, points)),
    ),
  );
  return drawn.length ? [h("h2", {}, "Training"), h("div", { class: "grid" }, drawn)] : [];
}

function curve(name, points) {
  if (points.length < 2) return [];
  const [xs, ys] = [0, 1].map((axis) => points.map((point) => point[axis]));
  const [x, y] = [Math.min(...xs), Math.max(...ys)];
  const view = [x, -y, Math.max(...xs) - x || 1, y - Math.min(...ys) || 1];
  const line = draw("polyline", { points: points.map(([x, y]) => `${x},${-y}`).join(" ") });
  const told = `${name}: from ${ys[0].toFixed(3)} to ${ys.at(-1).toFixed(3)} in ${count(xs.at(-1))} steps`;
  return picture(view, [line], told);
}

/** How many values lie between each two edges; a figure. */
export function histogram(title, { edges, counts }) {
  const most = Math.max(1, ...counts);
  const bars = counts.map((n, at) => draw("rect", { x: at + 0.05, y: most - n, width: 0.9, height: n }));
  const [low, high] = [edges[0], edges.at(-1)].map((edge) => fixed(edge));
  const top = counts.indexOf(Math.max(...counts));
  const told = `From ${low} to ${high}; most between ${fixed(edges[top])} and ${fixed(edges[top + 1])}`;
  return h("figure", {}, h("figcaption", {}, title), picture([0, 0, counts.length, most], bars, told));
}

/** Shapes as large as their figure, whatever their unit: `view` is left, top, width, height. */
function picture(view, drawn, told) {
  const shape = { viewBox: view.join(" "), preserveAspectRatio: "none", role: "img", "aria-label": told };
  const made = draw("svg", shape);
  made.append(...drawn);
  return [made, h("p", { class: "small soft" }, told)];
}

function draw(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
