// Changes: who did what. The newest events of operators that the log still has, filtered here by app, action and word.

import { target } from "./client.js";
import { h } from "./dom.js";
import { distance, moment, some } from "./format.js";
import { fault, field, foreign, options, table } from "./parts.js";
import { numberOf } from "./story.js";

export const title = "Changes";
const most = 200;
const state = { list: null, fault: null };

export async function open({ client, redraw }) {
  try {
    const found = await client.events({ last: most, prefix: "operator/" });
    Object.assign(state, { list: found.events.reverse(), fault: null });
  } catch (problem) {
    Object.assign(state, { fault: problem });
  }
  redraw();
}

export function forget() {
  Object.assign(state, { list: null, fault: null });
}

function words(name) {
  return name.replaceAll("_", " ");
}

/** The names that the list has, as choices. */
function choices(name) {
  return [["", "all"], ...[...new Set(state.list.map((event) => event[name]))].sort().map((one) => [one,
    one === "-" ? "none" : words(one)])];
}

function matches(event, { app, action, text }) {
  const shown = [event.who, event.from, event.what, event.before, event.after].join(" ").toLowerCase();
  return (!app || event.app === app) && (!action || event.kind === action) && shown.includes(text.toLowerCase());
}

/** When it was done. What was done while Carillon was stopped has a time of its own. */
function time({ ts, done_at: done }) {
  const at = done ?? ts;
  return h("time", { datetime: new Date(at).toISOString(), title: moment(at) }, distance(at));
}

const columns = [
  { name: "Time", cell: time },
  { name: "Who", cell: ({ who, from }) => [h("strong", null, foreign(who ?? "-")), from && ` from ${from}`] },
  { name: "Did", cell: ({ kind }) => words(kind) },
  { name: "App", cell: ({ app }) => (app === "-" ? "" : app) },
  { name: "What", cell: ({ what }) => foreign(what ?? "", 200) },
  { name: "Before", cell: ({ before }) => foreign(before ?? "", 200) },
  { name: "After", cell: ({ after }) => foreign(after ?? "", 200) },
];

export function draw(context) {
  const { query, go } = context;
  if (!state.list) return fault(state.fault, () => open(context)) ?? h("p", { class: "empty" }, "Reading the changes…");
  const chosen = { app: query.get("app") ?? "", action: query.get("action") ?? "", text: query.get("text") ?? "" };
  const rows = state.list.filter((event) => matches(event, chosen));
  return h("section", { class: "view", "aria-labelledby": "changes-title" },
    h("h2", { id: "changes-title" }, title),
    h("form", { class: "search", role: "search", onsubmit: (event) => {
      event.preventDefault();
      const { "change-app": app, "change-action": action, "change-text": text } = event.currentTarget.elements;
      go(target("#/more/changes", { app: app.value, action: action.value, text: text.value.trim() }));
    } },
    field("App", h("select", { id: "change-app", name: "change-app" }, options(choices("app"), chosen.app))),
    field("Action", h("select", { id: "change-action", name: "change-action" },
      options(choices("kind"), chosen.action))),
    field("Word", h("input", { id: "change-text", name: "change-text", "data-address": chosen.text, value: chosen.text,
      maxlength: 128, autocomplete: "off", spellcheck: "false" }), "In who, what, before or after."),
    h("button", { class: "main", type: "submit" }, "Filter")),
    fault(state.fault, () => open(context)),
    table({ caption: some(rows.length, "change"), rows, key: (event) => `${numberOf(event)}`, columns,
      empty: state.list.length ? "No change has these." : "No operator has changed anything that the log still has." }));
}
