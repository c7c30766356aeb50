// What all pages are made of: badges, facts, tables, fields, notices.

import { h } from "./dom.js";
import { count } from "./format.js";

const shapes = {
  good: ["circle", { cx: 6, cy: 6, r: 4.5 }],
  warn: ["polygon", { points: "6,1 11.3,10.8 0.7,10.8" }],
  bad: ["rect", { x: 1.6, y: 1.6, width: 8.8, height: 8.8, rx: 1.5 }],
  idle: ["circle", { cx: 6, cy: 6, r: 3.8, class: "ring" }],
};

/** Makes a word with a shape: color is never the only sign of a state. */
export function badge(kind, ...text) {
  const [tag, attributes] = shapes[kind];
  return h("span", { class: `badge ${kind}` },
    h("svg", { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" }, h(tag, attributes)),
    h("span", null, text));
}

/** Makes a text of unknown origin and length, with its own direction. */
export function foreign(text, limit = 100) {
  const all = String(text);
  if (all.length <= limit) return h("bdi", null, all);
  // A character outside of the basic plane is not cut in two.
  const start = all.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, "");
  return h("bdi", { title: all.slice(0, 2000) }, `${start}…`);
}

/** Makes a list of descriptions. Items are pairs of a term and its value; pairs without a value are left out. */
export function facts(...pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== false);
  return h("dl", { class: "facts" }, known.map(([term, value]) =>
    h("div", null, h("dt", null, term), h("dd", null, value))));
}

/** Makes the notice of a problem, with a button that tries again. */
export function fault(problem, again) {
  // What is not there is an answer, and nothing has failed.
  if (problem?.status === 404 || problem?.code === "not_offered") {
    return h("p", { class: "empty", role: "status", "data-key": "missing" }, sentenceOf(problem.detail));
  }
  return problem && h("div", { class: "notice failed", role: "alert", "data-key": "fault" },
    badge("bad", problem.detail),
    again && h("button", { type: "button", onclick: again }, "Try again"));
}

function sentenceOf(text) {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

export function notice(kind, ...text) {
  return h("p", { class: `notice ${kind}` }, badge(kind, ...text));
}

/**
 * Makes a table that becomes a list of cards on narrow screens. The roles are explicit, because browsers drop those of
 * a table whose parts are displayed as blocks.
 *
 * @param selection makes a column of checkboxes: `has(row)`, `set(rows, isChosen)` and `name(row)`.
 */
export function table({ caption, columns, rows, key, empty, hideCaption, selection }) {
  if (!rows.length && empty) return h("div", { class: "empty" }, empty);
  const box = (label, held, change) => h("input", { type: "checkbox", "aria-label": label, held,
    onchange: (event) => change(event.currentTarget.checked) });
  const all = selection && h("th", { scope: "col", role: "columnheader", class: "select" },
    box(`Select the ${count(rows.length)} of this page`, rows.every(selection.has),
      (isChosen) => selection.set(rows, isChosen)));
  return h("table", { role: "table", class: selection && "selectable" },
    h("caption", { class: hideCaption && "unseen" }, caption),
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, all, columns.map((column) =>
      h("th", { scope: "col", role: "columnheader", class: column.class?.replace("code", "") || null }, column.name)))),
    h("tbody", { role: "rowgroup" }, rows.map((row, index) =>
      h("tr", { role: "row", "data-key": key ? `row ${key(row)}` : `row ${index}` },
        selection && h("td", { role: "cell", class: "select" },
          box(`Select ${selection.name(row)}`, selection.has(row), (isChosen) => selection.set([row], isChosen))),
        columns.map((column, place) => {
          const content = column.cell(row);
          return place === 0
            ? h("th", { scope: "row", role: "rowheader", class: column.class }, content)
            : h("td", { role: "cell", class: column.class, "data-name": column.name },
              (content ?? "") === "" || content === false ? h("span", { class: "quiet" }, "–") : content);
        })))));
}

/** Makes a field of a form: a label, a control, and a line that helps. */
export function field(label, control, help) {
  const id = control.id || `field-${label.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  control.id = id;
  if (help) control.setAttribute("aria-describedby", `${id}-help`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control,
    help && h("p", { id: `${id}-help`, class: "help" }, help));
}

/** Makes the checkbox of a form, with its label. */
export function check(id, label, attributes) {
  return h("div", { class: "check" }, h("input", { type: "checkbox", id, name: id, ...attributes }),
    h("label", { for: id }, label));
}

/** The choices of a field for apps; "all" only for a key that may search in all at once. */
export function appOptions({ live, onlyApps, app }) {
  const names = onlyApps ?? (live.stats?.apps ?? []).map((one) => one.app);
  const all = onlyApps?.length > 1 ? [] : [["", "All apps"]];
  return options([...all, ...names.map((name) => [name, name])], app ?? "");
}

export function options(pairs, chosen) {
  return pairs.map(([value, text]) => h("option", { value, selected: value === chosen }, text));
}

/** Makes a button that copies a text, and says so. Without the right to copy, it selects a field with the text. */
export function copyButton(words, text) {
  const copy = async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      const shown = h("input", { readonly: true, value: text(), class: "code", "aria-label": words });
      button.replaceWith(shown);
      shown.select();
    }
  };
  return h("button", { type: "button", "data-key": `copy ${words}`, onclick: copy }, words);
}
