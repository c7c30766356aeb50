// Messages: found by id, user, app, state and time of acceptance.

import { part, target } from "./client.js";
import * as activity from "./activity.js";
import * as compose from "./compose.js";
import * as deliveries from "./deliveries.js";
import { h } from "./dom.js";
import { count, distance, moment, ofInput, some, toInput } from "./format.js";
import * as message from "./message.js";
import { appOptions, copyButton, fault, field, foreign, options, table } from "./parts.js";
import { now } from "./time.js";
import { audienceText } from "./words.js";

export const title = "Messages";
// The list is the one of an address, and is shown there only.
const state = { list: null, listed: null, fault: null, missing: null, loading: null, readAt: 0, isReading: false,
  isUnfolded: false };
const updateInterval = 5000;
const filters = ["app", "state", "user", "since", "until"];
const states = [["", "Any"], ["waiting,sending", "In progress"], ["waiting", "Waiting"], ["sending", "Sending"],
  ["completed", "Completed"], ["cancelled", "Cancelled"], ["expired", "Expired"], ["rejected", "Rejected"]];

/** The page of an address: the list, a test, a test of a Live Activity, a message, or its deliveries. */
function page({ path }) {
  if (path[0] === "new") return compose;
  if (path.length === 1 && path[0] === "activity") return activity;
  return path.length === 2 ? message : path.length === 3 && path[2] === "deliveries" ? deliveries : null;
}

export async function open(context) {
  const other = page(context);
  state.loading = other ? null : `${context.query}`;
  if (other) return other.open(context);
  const list = state.listed === state.loading ? state.list : null;
  Object.assign(state, { list, fault: null, missing: null, isReading: false });
  const id = context.query.get("id");
  if (id) return find(context, id, state.loading);
  context.redraw();
  return read(context, state.loading);
}

async function read({ client, query, app, redraw }, loading) {
  if (state.isReading) return;
  state.isReading = true;
  try {
    const asked = Object.fromEntries(filters.map((name) => [name, query.get(name)]));
    const list = await client.get(target("/v1/messages", { ...asked, app, after: query.get("after"), limit: 50 }));
    if (loading === state.loading) Object.assign(state, { list, listed: loading, fault: null });
  } catch (problem) {
    if (loading === state.loading && !(problem.isLost && state.list)) {
      Object.assign(state, { fault: problem, list: problem.isLost ? state.list : null });
    }
  } finally {
    state.isReading = false;
    state.readAt = Date.now();
  }
  if (loading === state.loading) redraw();
}

/** Reads the page again while it is shown: messages move on. */
export function tick(context) {
  const other = page(context);
  if (other) return other.tick?.(context);
  const { query } = context;
  if (query.get("after") || query.get("id") || Date.now() - state.readAt < updateInterval) return undefined;
  return read(context, state.loading);
}

export function forget() {
  Object.assign(state, { list: null, fault: null, missing: null });
  for (const one of [message, deliveries, compose, activity]) one.forget();
}

export function draw(context) {
  return page(context)?.draw(context) ?? list(context);
}

/** Finds a message by its id alone: its app is in the answer. */
async function find({ client, go, redraw, query, app }, id, loading) {
  redraw();
  try {
    message.check(id);
    const found = await client.get(target(`/v1/messages/${part(id)}`, { app: query.get("app") ?? app }));
    if (loading === state.loading) go(`#/messages/${part(found.app)}/${part(found.message_id)}`, true);
  } catch (problem) {
    if (loading !== state.loading) return;
    const since = problem.status === 404 ? await oldest(client) : null;
    if (loading !== state.loading) return;
    Object.assign(state, problem.status === 404 ? { missing: { id, since } } : { fault: problem });
    Object.assign(state, { list: { messages: [], next: null }, listed: null });
    redraw();
  }
}

/** The time of the oldest event that is kept; null if it is not known. */
async function oldest(client) {
  try {
    return (await client.events({ since: 0, limit: 1 })).events[0]?.ts ?? null;
  } catch {
    return null;
  }
}

function search(event, { query, go, redraw }) {
  event.preventDefault();
  const { elements } = event.currentTarget;
  // The text of the address stays as it is.
  const value = (name) => {
    const text = elements[`message-${name}`].value;
    return text === query.get(name) ? text : text.trim();
  };
  if (value("id")) return go(target("#/messages", { id: value("id"), app: value("app") }));
  const [since, until] = [ofInput(value("since")), ofInput(value("until"))];
  if (since > until) {
    state.fault = { code: "invalid", detail: "The time of \"Accepted from\" is after that of \"Accepted until\"." };
    redraw();
    return elements["message-since"].focus();
  }
  return go(target("#/messages", { user: value("user"), app: value("app"), state: value("state"), since, until }));
}

function list(context) {
  const { query, go, may, redraw } = context;
  const next = state.list?.next;
  const get = (name) => query.get(name) ?? "";
  const kept = Object.fromEntries(filters.map((name) => [name, get(name)]));
  const isFiltered = filters.some(get) || get("id");
  const text = (name, label) => field(label, h("input", { id: `message-${name}`, name: `message-${name}`,
    "data-address": get(name), type: "search", value: get(name), autocomplete: "off", spellcheck: "false" }));
  const time = (name, label) => field(label, h("input", { id: `message-${name}`, name: `message-${name}`,
    "data-address": toInput(Number(get(name))), type: "datetime-local", step: 1,
    value: toInput(Number(get(name))) }));
  const recent = (name, hours) => h("a", { href: target("#/messages",
    { ...kept, since: now() - now() % 60_000 - hours * 3_600_000, until: "" }) }, name);
  return [
    h("div", { class: "title" }, h("h1", { tabindex: -1 }, title),
      may("push") && h("a", { class: "button main", href: "#/messages/new" }, "Send a test…")),
    h("form", { class: `search wide ${state.isUnfolded ? "" : "folded"}`, role: "search",
      onsubmit: (event) => search(event, context) },
      text("id", "Message id"),
      h("button", { type: "button", class: "folds", "data-key": "folds", "aria-expanded": String(state.isUnfolded),
        onclick: () => {
          state.isUnfolded = !state.isUnfolded;
          redraw();
        } }, `Filter (${filters.filter(get).length})`),
      text("user", "User"),
      field("App", h("select", { id: "message-app", name: "message-app", "data-address": context.app ?? "" },
        appOptions(context))),
      field("State", h("select", { id: "message-state", name: "message-state", "data-address": get("state") },
        options(states, get("state")))),
      time("since", "Accepted from"), time("until", "Accepted until"),
      h("button", { class: "main", type: "submit" }, "Search")),
    h("p", { class: "quick" }, h("span", { class: "quiet" }, "Accepted in the last"), recent("hour", 1),
      recent("day", 24), recent("week", 168), isFiltered && h("a", { href: "#/messages" }, "Show all"),
      isFiltered && copyButton("Copy the address", () => location.href)),
    fault(state.fault, () => open(context)),
    !state.list && !state.fault && h("p", { class: "empty" }, "Reading the messages…"),
    state.list && table({
      caption: caption(state.list, query), rows: state.list.messages,
      key: (one) => `${one.app}/${one.message_id}`, empty: none(context, isFiltered),
      // Until apps report what was displayed, nothing is known of it.
      columns: columns.filter(({ isShown }) => isShown?.(state.list.messages) ?? true),
    }),
    h("div", { class: "pages" },
      get("after") && h("a", { class: "button", href: target("#/messages", kept) }, "Latest messages"),
      next && h("button", { type: "button", onclick: () => go(target("#/messages", { ...kept, after: next })) },
        "Older messages")),
  ];
}

function caption({ messages, next }, query) {
  const [since, until] = ["since", "until"].map((name) => Number(query.get(name)));
  const span = `${since ? ` from ${moment(since)}` : ""}${until ? ` until ${moment(until)}` : ""}`;
  return `${some(messages.length, "message")}${span}${next ? ", and older ones" : ""}, the latest first`;
}

function none({ may }, isFiltered) {
  const { missing } = state;
  if (missing) return [
    h("p", null, h("strong", null, "No message has the id ", foreign(missing.id, 128), ".")),
    missing.since && h("p", null, `Events are kept back to ${moment(missing.since)}.`),
    h("p", null, h("a", { href: "#/messages" }, "Show all")),
  ];
  return isFiltered ? "No message matches." : [
    h("p", null, h("strong", null, "There is no message yet.")),
    h("p", null, "Producers send them over ZeroMQ or with POST /v1/messages."),
    may("push") && h("p", null, h("a", { href: "#/messages/new" }, "Send a test")),
  ];
}

const columns = [
  { name: "Message", class: "code", cell: (one) =>
    h("a", { href: `#/messages/${part(one.app)}/${part(one.message_id)}` }, foreign(one.message_id, 60)) },
  { name: "State", cell: message.stateOf },
  { name: "App", cell: ({ app }) => app },
  { name: "Audience", cell: (one) => foreign(audienceText(one), 80) },
  { name: "Sent", class: "number", cell: ({ counts }) => count(counts.sent) },
  { name: "Rejected", class: "number", cell: ({ counts }) => count(counts.rejected) },
  { name: "Displayed", class: "number", isShown: (all) => all.some(({ counts }) => Number.isFinite(counts.displayed)),
    cell: ({ counts }) => Number.isFinite(counts.displayed) ? count(counts.displayed) : null },
  { name: "Accepted", class: "number", cell: ({ accepted_at: at }) => at
    && h("span", { title: moment(at) }, distance(at)) },
];
