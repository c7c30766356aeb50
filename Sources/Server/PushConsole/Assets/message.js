// One message: its audience and options, how far its deliveries have come, its story, and its cancellation.

import { funnel, shares } from "./chart.js";
import { part, Problem, target } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, distance, duration, moment, some } from "./format.js";
import { badge, facts, fault, foreign, notice, table } from "./parts.js";
import { story } from "./story.js";
import { audienceText } from "./words.js";

const updateInterval = 3000;
const done = ["completed", "cancelled", "expired", "rejected"];
const state = { place: "", message: null, trace: null, fault: null, shown: undefined, readAt: 0, isReading: false };

/** Throws for an id that no path can have: servers and browsers take "." and ".." in it for steps. */
export function check(id) {
  if (!id.split(/[/\\]/).some((step) => step === "." || step === "..")) return;
  throw new Problem(0, "bad_address", "No address can name a message with this id, because it has a step \"..\" or "
    + "\".\". Its story is there in a terminal: carillon trace");
}

function placeOf({ path }) {
  return path.slice(0, 2).map(part).join("/");
}

export async function open(context) {
  if (state.place !== placeOf(context)) forget();
  Object.assign(state, { place: placeOf(context), fault: null, isReading: false });
  context.redraw();
  return read(context);
}

export function forget() {
  Object.assign(state, { place: "", message: null, trace: null, fault: null, shown: undefined });
}

async function read(context) {
  if (state.isReading) return;
  const { client, path, redraw } = context;
  const place = placeOf(context);
  state.isReading = true;
  try {
    check(path[1]);
    const message = await client.get(`/v1/apps/${part(path[0])}/messages/${part(path[1])}`);
    if (place === state.place) Object.assign(state, { message, fault: null });
    const trace = await client.get(target("/v1/trace", { message: path[1], app: path[0] }));
    if (place === state.place) Object.assign(state, { trace });
  } catch (problem) {
    if (place === state.place && !(problem.isLost && state.message)) state.fault = problem;
  } finally {
    state.isReading = false;
    state.readAt = Date.now();
  }
  redraw();
}

/** Reads the message again while it moves, and also later: its notifications are displayed and opened. */
export function tick(context) {
  const interval = done.includes(state.message?.state) ? 5 * updateInterval : updateInterval;
  if (Date.now() - state.readAt >= interval) read(context);
}

export function stateOf(message) {
  const kind = { waiting: "idle", sending: "idle", completed: "good", expired: "warn", cancelled: "idle",
    rejected: "bad" }[message.state] ?? "idle";
  return badge(kind, message.state);
}

/** Why a message has not gone out, since when, and when the next attempt is. */
function obstacleText({ detail, since_at: since, next_attempt_at: next }) {
  return [foreign(detail, 1000), since && `, since ${moment(since)}`, next && `; next attempt ${distance(next)}`];
}

const outcomes = [
  ["sent", "Sent", "good"], ["rejected", "Rejected", "bad"], ["expired", "Expired", "warn"],
  ["suppressed", "Suppressed", "idle"], ["superseded", "Superseded", "idle"], ["cancelled", "Cancelled", "idle"], ["unknown", "Unknown", "warn"],
];

/** The deliveries that have ended, however. */
function ended({ counts }) {
  return outcomes.reduce((sum, [name]) => sum + (counts[name] ?? 0), 0);
}

export function draw(context) {
  const { message, trace } = state;
  const { redraw, path } = context;
  return [
    h("p", { class: "back" }, h("a", { href: "#/messages" }, "Messages")),
    h("h1", { tabindex: -1 }, "Message ", h("span", { class: "code" }, foreign(path[1], 200))),
    fault(state.fault, () => open(context)),
    !message && !state.fault && h("p", { class: "empty" }, "Reading the message…"),
    message && h("section", { class: "panel", "aria-label": "Message" },
      facts(
        ["State", stateOf(message)], ["Because", message.obstacle && obstacleText(message.obstacle)], message.members ? ["Family", message.app]
          : ["App", h("a", { href: `#/gateways/${part(message.app)}` }, message.app)],
        ["Audience", foreign(audienceText(message), 500)],
        ["From", message.client], ["Accepted", message.accepted_at && moment(message.accepted_at)],
        ["Completed", message.completed_at
          && `${moment(message.completed_at)}, after ${duration(message.completed_at - message.accepted_at)}`],
        ["Local time", message.at_local
          && `${message.at_local}${message.turns_left ? `, ${message.turns_left} times of day left` : ""}`],
        ["Not before", message.not_before_at
          && `${moment(message.not_before_at)} (${distance(message.not_before_at)})`],
        ["Expires", message.expires_at && moment(message.expires_at)],
        ["Push type", message.push_type], ["Priority", message.priority], ["Collapse id", message.collapse_id],
        ["On unknown", message.on_unknown], ["Cancelled by", message.cancelled_by],
        ["Accepted again", message.acceptances > 1 && `${count(message.acceptances - 1)} times`],
        ["Duplicates", message.duplicates > 0 && count(message.duplicates)],
        ["Retries", message.retries > 0 && count(message.retries)],
        ["Reason", message.reason], ["Detail", message.detail]),
      (context.may("push") || context.may("operate")) && ["waiting", "sending"].includes(message.state)
        && cancelButton(context, message)),
    message && message.state !== "rejected" && h("div", { class: "columns" }, way(message), counts(message)),
    message?.members && members(message),
    message && h("section", { "aria-labelledby": "story-title" }, h("h2", { id: "story-title" }, "Story"),
      h("p", { class: "help" }, "What the message said is not here: Carillon keeps a payload until it is sent, and shows it "
        + "to nobody."),
      story({ trace: trace ?? (state.fault && { events: [] }), about: "message", shown: state.shown, more: (shown) => {
        state.shown = shown;
        redraw();
      } })),
  ];
}

/** What became of a message in each app of a family. */
function members({ members: rows, message_id: id }) {
  return h("section", { class: "panel", "aria-label": "Apps of the family" }, table({
    caption: "Apps of the family", rows, key: ({ app }) => app,
    columns: [
      { name: "App", cell: ({ app }) => h("a", { href: `#/messages/${part(app)}/${part(id)}` }, app) },
      { name: "State", cell: (one) => stateOf(one) },
      { name: "Because", cell: ({ obstacle }) => obstacle && obstacleText(obstacle) },
      ...outcomes.map(([key, name]) => ({ name, class: "number", cell: (one) => one.counts[key] && count(one.counts[key]) })),
    ],
  }));
}

/** The way of a message: how many devices, how many of them got it, saw it, and opened it. */
function way(message) {
  const { sent, displayed, opened } = message.counts;
  const isOver = done.includes(message.state);
  // The registry determines the devices of users and tags while the message is sent.
  const devices = message.devices ?? (isOver ? ended(message) : null);
  return h("section", { class: "panel", "aria-labelledby": "way-title" },
    h("h2", { id: "way-title" }, "From acceptance to the user"),
    funnel([
      { name: "Devices", number: devices, help: devices === null ? "known when all have been looked up" : null },
      { name: "Sent", number: sent },
      // Without a report, nothing is known: 0 would say that nobody saw it.
      { name: "Displayed", number: displayed ?? opened ?? null }, { name: "Opened", number: opened ?? null },
    ]),
    displayed === undefined && opened === undefined && h("p", { class: "help" },
      "Apps report what was displayed and opened with POST /v1/apps/{app}/seen. Nothing was reported for this one."));
}

function counts(message) {
  const parts = outcomes.filter(([key]) => Number.isFinite(message.counts[key]));
  const place = `#/messages/${part(message.app)}/${part(message.message_id)}/deliveries`;
  return h("section", { class: "panel", "aria-labelledby": "counts-title" },
    h("h2", { id: "counts-title" }, "Deliveries"),
    shares(parts.map(([key, , kind]) => ({ number: message.counts[key], kind }))),
    h("ul", { class: "counts", "aria-label": "Deliveries by outcome" }, parts.map(([key, name, kind]) =>
      h("li", null, h("strong", null, count(message.counts[key])), badge(kind, name)))),
    message.whole === false && notice("warn", "Older events of this message are gone: the counts are lower bounds."),
    ended(message) > 0 && h("p", null, h("a", { href: place }, "All deliveries, one by one")));
}

function cancelButton(context, message) {
  const { client } = context;
  const over = ended(message);
  const left = Number.isFinite(message.devices)
    ? `The other ${count(Math.max(0, message.devices - over))} of ${some(message.devices, "device")} do not get it.`
    : "The devices that have not got it do not get it.";
  const cancel = async () => {
    const { sent } = state.message?.counts ?? message.counts;
    if (!await ask({
      title: "Cancel this message?", deed: "Cancel the message",
      text: [
        `${some(sent, "notification")} of it ${sent === 1 ? "has" : "have"} gone out already. ${left}`,
        "A cancelled message stays known: the same request again is a duplicate.",
      ],
    })) return;
    await attempt(() => client.json("POST", `/v1/apps/${part(message.app)}/messages/${part(message.message_id)}/cancel`,
      client.emptyBody("POST", "/v1/apps/{app}/messages/{id}/cancel")),
    (answer) => `The message is cancelled: ${count(answer.sent)} had gone out, ${count(answer.cancelled)} did not.`);
    open(context);
  };
  return h("div", { class: "buttons" }, h("button", { type: "button", class: "grave quietly", onclick: cancel },
    "Cancel the message…"));
}
