// The configuration in force, what in the file differs from it, and its reload.

import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { some } from "./format.js";
import { badge, fault, field, foreign, notice, table } from "./parts.js";

export const title = "Configuration";
const state = { answer: null, fault: null, filter: "", result: null, isBusy: false };

export async function open({ client, redraw, query }) {
  state.filter = query.get("filter") ?? state.filter;
  const control = document.getElementById("setting-filter");
  if (control) control.value = state.filter;
  try {
    Object.assign(state, { answer: await client.get("/v1/configuration"), fault: null });
  } catch (problem) {
    state.fault = problem;
  }
  redraw();
}

export function forget() {
  Object.assign(state, { answer: null, fault: null, filter: "", result: null, isBusy: false });
}

function isOfCluster({ path }) {
  return path.startsWith("cluster.");
}

const applies = { live: "on reload", connection: "on reload, for new connections", restart: "on restart" };

/** The path of a setting, which a narrow column divides between its parts. */
function inParts(path) {
  return path.split(/(?<=[._])/).flatMap((part) => [part, h("wbr")]);
}

function changes(caption, rows, isShort) {
  return table({ caption, rows, key: ({ path }) => path, columns: [
    { name: "Setting", class: "code", cell: ({ path }) => inParts(path) },
    { name: isShort ? "Before" : "In force", class: "code", cell: ({ was }) => was !== undefined && foreign(was) },
    { name: isShort ? "Now" : "In the file", class: "code", cell: ({ now }) => now !== undefined && foreign(now) },
    { name: "Takes effect", cell: (one) => applies[one.applies] ?? one.applies },
  ] });
}

/** What a reload did: what changed, what needs a restart, what was refused. */
function resultOf({ reloaded, changed, needs_restart: waiting, refused, warnings }) {
  const isNone = !changed.length && !waiting.length;
  return h("section", { class: "panel", "aria-labelledby": "result-title", "data-key": "result", role: "status" },
    h("h2", { id: "result-title" }, reloaded
      ? badge(waiting.length || warnings.length ? "warn" : "good", "The configuration was reloaded")
      : badge("bad", "The configuration was refused; the one before stays in force")),
    refused.length > 0 && h("ul", { class: "reasons" }, refused.map((one) => h("li", null, one))),
    reloaded && isNone && h("p", null, "No setting differs. Credentials and certificates were read again."),
    changed.length > 0 && changes(`${some(changed.length, "setting")} changed`, changed, true),
    waiting.length > 0 && changes(`${some(waiting.length, "setting")} changed in the file and not in force: they need `
      + "a restart", waiting, true),
    warnings.length > 0 && h("ul", { class: "reasons" }, warnings.map((one) => h("li", null, badge("warn", one)))));
}

async function reload(context) {
  const { client, redraw } = context;
  const differences = state.answer?.differences ?? [];
  if (!await ask({ title: "Reload the configuration?", deed: "Reload", isGrave: false,
    text: [differences.length ? `${some(differences.length, "setting")} of the file differ from those in force now.`
      : "No setting of the file differs from those in force. Credentials and certificates are read again.",
    "A file with faults is refused as a whole: nothing changes then."] })) return;
  Object.assign(state, { isBusy: true, result: null, fault: null });
  redraw();
  try {
    state.result = await client.json("POST", "/v1/reload", client.emptyBody("POST", "/v1/reload"), { timeout: 60_000 });
  } catch (problem) {
    state.fault = problem;
  }
  state.isBusy = false;
  await open(context);
}

export function draw(context) {
  const { may, redraw, live } = context;
  const { answer, result, filter } = state;
  if (!answer) return fault(state.fault, () => open(context))
    ?? h("p", { class: "empty" }, "Reading the configuration…");
  const wanted = filter.trim().toLowerCase();
  const rows = answer.settings.filter(({ path, value }) => path.toLowerCase().includes(wanted)
    || value.toLowerCase().includes(wanted));
  const settings = (caption, some, none) => table({ caption, rows: some, key: ({ path }) => path, empty: none, columns: [
    { name: "Setting", class: "code", cell: ({ path }) => inParts(path) },
    { name: "Value", class: "code", cell: ({ value }) => value && foreign(value, 300) },
    { name: "A change takes effect", cell: (one) => applies[one.applies] ?? one.applies },
  ] });
  // Without a cluster, its settings say nothing.
  const own = rows.filter((one) => !one.default);
  const plain = rows.filter((one) => one.default && (live.isCluster || !isOfCluster(one)));
  return h("section", { "aria-labelledby": "configuration-title", class: "view" },
    h("div", { class: "title" }, h("h2", { id: "configuration-title" }, title),
      may("operate") && h("button", { type: "button", "data-key": "reload", disabled: state.isBusy,
        onclick: () => reload(context) }, state.isBusy ? "Reloading…" : "Reload…")),
    h("p", { class: "quiet" }, "The settings in force. Secrets are in files that settings name. The file is ",
      h("span", { class: "code" }, foreign(answer.file, 300)), "."),
    fault(state.fault, () => open(context)),
    result && resultOf(result),
    answer.faults.length > 0 && h("div", { class: "fault" },
      h("h3", null, badge("bad", "The file cannot be loaded as it is now")),
      h("ul", { class: "reasons" }, answer.faults.map((one) => h("li", null, one)))),
    answer.differences.length > 0 && !result && [
      notice("warn", `${some(answer.differences.length, "setting")} of the file ${
        answer.differences.length === 1 ? "is" : "are"} not in force.`),
      changes("The file and the settings in force", answer.differences, false),
    ],
    h("div", { class: "search short" }, field("Filter", h("input",
      { id: "setting-filter", type: "search", value: filter, autocomplete: "off", spellcheck: "false",
        oninput: (event) => {
          state.filter = event.currentTarget.value;
          redraw();
        } }))),
    own.length + plain.length === 0 && h("p", { class: "empty" }, "No setting has this in its name or value."),
    own.length > 0 && settings(`${some(own.length, "setting")} from the file`, own),
    plain.length > 0 && settings(`${some(plain.length, "setting")} with ${plain.length === 1 ? "its default"
      : "their defaults"}`, plain));
}
