// Small charts: lines over the last quarter of an hour, with axes, a reading under the pointer and by keyboard, and a table.

import { h } from "./dom.js";
import { clock, count, percent } from "./format.js";
import { maxSpan } from "./rates.js";

const width = 340;
const height = 132;
const edge = { left: 50, right: 8, top: 8, bottom: 20 };
const plotWidth = width - edge.left - edge.right;
const plotHeight = height - edge.top - edge.bottom;

/** The places of the cursors by chart. Null is the newest point, as it comes. */
const cursors = new Map();

/** The end of the axis. The middle of an axis of whole numbers is a whole number, too. */
function niceTop(isWhole, value) {
  if (isWhole && value <= 2) return 2;
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].find((step) => step * size >= value) * size;
}

/** The spans of the axis with the steps of their marks: whole minutes of the clock, or thirds of one. */
const spans = [[60_000, 20_000], [120_000, 60_000], [300_000, 120_000], [maxSpan, 300_000]];

/** The round times on the axis, apart from its ends, where there is no room. */
function marks(newest, span, step) {
  const first = Math.ceil((newest - 0.95 * span) / step) * step;
  const all = [];
  for (let at = first; at < newest - 0.18 * span; at += step) all.push(at);
  return all;
}

/** Splits a series where values are missing: a gap is a gap, and no line crosses it. */
function runs(points, key, x, y) {
  const all = [[]];
  for (const point of points) {
    if (Number.isFinite(point[key])) all.at(-1).push(`${x(point.at).toFixed(1)},${y(point[key]).toFixed(1)}`);
    else if (all.at(-1).length) all.push([]);
  }
  return all.filter((run) => run.length);
}

/**
 * Makes a chart.
 *
 * @param series its lines: `key` of the point, `name`, and whether it is the `main` one. A silent one is a number only.
 * @param reading the text of a value, with its unit.
 * @param isWhole whether all values are whole numbers.
 */
export function chart({ id, title, help, points, series, reading, axis, redraw, isWhole }) {
  const newest = points.at(-1)?.at ?? Date.now();
  // The axis grows with what is known, so that the first minute is not a corner of the fifth.
  const age = newest - (points[0]?.at ?? newest);
  const [span, step] = spans.find(([one]) => age <= one) ?? spans.at(-1);
  const x = (at) => edge.left + plotWidth * (1 - (newest - at) / span);
  const shown = points.filter((point) => point.at >= newest - span);
  const lines = series.filter(({ isSilent }) => !isSilent);
  const top = niceTop(isWhole, Math.max(0, ...lines.flatMap(({ key }) => shown.map((point) => point[key])
    .filter(Number.isFinite))));
  const y = (value) => edge.top + plotHeight * (1 - value / top);
  const held = cursors.get(id);
  const at = held == null ? shown.length - 1 : shown.findIndex((point) => point.at >= held);
  const index = at < 0 ? shown.length - 1 : at;
  const point = shown[index];
  const values = series.map(({ key, name, main, isSilent }) =>
    ({ name, main, isSilent, text: reading(point?.[key]), value: point?.[key] }));
  const words = point
    ? `${values.map(({ name, text }) => `${name} ${text}`).join(", ")}, at ${clock(point.at)}`
    : "no values yet";

  const move = (to) => {
    const next = Math.min(Math.max(to, 0), shown.length - 1);
    cursors.set(id, next >= shown.length - 1 ? null : shown[next].at);
    redraw();
  };
  const onkeydown = (event) => {
    const to = { ArrowLeft: index - 1, ArrowRight: index + 1, PageUp: index - 15, PageDown: index + 15, Home: 0,
      End: shown.length }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };
  const onpointermove = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const time = newest - span * (1 - ((event.clientX - box.left) / box.width * width - edge.left) / plotWidth);
    let nearest = 0;
    shown.forEach((one, place) => {
      if (Math.abs(one.at - time) < Math.abs(shown[nearest].at - time)) nearest = place;
    });
    if (shown.length) move(nearest);
  };
  const onpointerleave = () => {
    cursors.delete(id);
    redraw();
  };

  return h("figure", { class: "chart", "data-key": `chart ${id}` },
    h("figcaption", null, h("h3", null, title), h("p", { class: "values" },
      values.map(({ name, text, main, isSilent }) =>
      h("span", { class: main ? "value main" : "value" },
        !main && !isSilent && h("span", { class: "key", "aria-hidden": "true" }),
        h("strong", null, text), " ", h("span", { class: "quiet" }, name)))),
    h("p", { class: "when quiet" }, held != null && point ? `at ${clock(point.at)}` : help ?? " ")),
    h("div", {
      class: "plot", tabindex: 0, role: "slider", "aria-label": `${title}, reading`, "aria-orientation": "horizontal",
      "aria-valuemin": 0, "aria-valuemax": Math.max(0, shown.length - 1), "aria-valuenow": Math.max(0, index),
        "aria-valuetext": words,
      onkeydown, onpointermove, onpointerleave, onblur: onpointerleave,
    },
    h("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" },
      [0, 0.5, 1].map((share) => [
        h("line", { class: share ? "grid" : "axis", x1: edge.left, x2: width - edge.right, y1: y(top * share),
          y2: y(top * share) }),
        h("text", { class: "tick", x: edge.left - 6, y: y(top * share) + 4, "text-anchor": "end" }, axis(top * share)),
      ]),
      marks(newest, span, step).map((one) => h("text", { class: "tick", x: x(one), y: height - 4,
        "text-anchor": "middle" }, step < 60_000 ? clock(one) : clock(one).slice(0, 5))),
      h("text", { class: "tick", x: x(newest), y: height - 4, "text-anchor": "end" }, "now"),
      [...lines].reverse().map(({ key, main }) => runs(shown, key, x, y).map((run) => {
        const [first, last] = [run[0].split(",")[0], run.at(-1).split(",")[0]];
        return [
          main && run.length > 1 && h("polygon", { class: "area",
            points: `${first},${y(0)} ${run.join(" ")} ${last},${y(0)}` }),
          run.length > 1
            ? h("polyline", { class: main ? "line main" : "line", points: run.join(" ") })
            : h("circle", { class: main ? "dot main" : "dot", cx: first, cy: run[0].split(",")[1], r: 2 }),
        ];
      })),
      point && held != null && h("line", { class: "cursor", x1: x(point.at), x2: x(point.at), y1: edge.top,
        y2: edge.top + plotHeight }),
      point && lines.map(({ key, main }) => Number.isFinite(point[key])
        && h("circle", { class: main ? "dot main" : "dot", cx: x(point.at), cy: y(point[key]), r: 3 })))),
    valuesTable(title, shown, series, reading));
}

/** The same values as a table: a row for each 15 seconds, the newest first. */
function valuesTable(title, points, series, reading) {
  const rows = [];
  let last = Infinity;
  for (const point of [...points].reverse()) {
    if (last - point.at >= 15_000 || last === Infinity) {
      rows.push(point);
      last = point.at;
    }
  }
  return h("details", { class: "values-table" },
    h("summary", null, "Values as a table", h("span", { class: "unseen" }, ` of ${title}`)),
    h("table", { class: "plain" }, h("caption", { class: "unseen" }, `${title}, every 15 seconds`),
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Time"),
        series.map(({ name }) => h("th", { scope: "col", class: "number" }, name)))),
      h("tbody", null, rows.map((point) => h("tr", { "data-key": `point ${point.at}` },
        h("th", { scope: "row" }, clock(point.at)),
        series.map(({ key }) => h("td", { class: "number" }, reading(point[key]))))))));
}

/** Makes a bar that shows shares of a whole. The text beside it has the numbers. */
export function shares(parts) {
  const sum = parts.reduce((all, { number }) => all + (number || 0), 0);
  let at = 0;
  return h("svg", { class: "shares", viewBox: "0 0 400 8", preserveAspectRatio: "none", "aria-hidden": "true",
    focusable: "false" },
    h("rect", { class: "rest", x: 0, y: 0, width: 400, height: 8 }),
    sum > 0 && parts.filter(({ number }) => number > 0).map(({ number, kind }) => {
      const rect = h("rect", { class: kind, x: at, y: 0, width: Math.max(1.5, 400 * number / sum), height: 8 });
      at += 400 * number / sum;
      return rect;
    }));
}

/**
 * Makes the steps of a way, each with its number, its share of the step before, and a bar. A step without a number is
 * not known yet.
 */
export function funnel(steps) {
  const top = Math.max(1, ...steps.map(({ number }) => number ?? 0));
  return h("ol", { class: "funnel" }, steps.map(({ name, number, help }, at) => {
    const before = steps[at - 1]?.number;
    return h("li", null,
      h("span", { class: "step" }, name),
      h("strong", null, count(number ?? NaN)),
      h("span", { class: "quiet" }, help ?? (before && number !== null ? `${percent(number / before)} of ${
        steps[at - 1].name.toLowerCase()}` : "")),
      h("svg", { class: "shares", viewBox: "0 0 400 8", preserveAspectRatio: "none", "aria-hidden": "true",
        focusable: "false" },
      h("rect", { class: "rest", x: 0, y: 0, width: 400, height: 8 }),
      number > 0 && h("rect", { class: "good", x: 0, y: 0, width: Math.max(1.5, 400 * number / top), height: 8 })));
  }));
}
