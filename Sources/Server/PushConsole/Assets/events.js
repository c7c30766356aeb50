// Live events: the newest of a prefix as they come. The list is bounded, and can be held to be read.

import { target } from "./client.js";
import { h } from "./dom.js";
import { clock, count } from "./format.js";
import { badge, fault, field, notice } from "./parts.js";
import { details, links, numberOf } from "./story.js";
import { EventStream } from "./stream.js";
import { kindOf, sentence } from "./words.js";

export const title = "Live events";
const maxEvents = 100;
const drawInterval = 250;
const families = ["message", "delivery", "device", "connection", "credential", "receipt", "ledger", "webhook",
  "operator"];
const state = { list: [], held: null, isPointed: false, stream: null, prefix: null, status: "", total: 0, since: 0, gap: null,
  fault: null, timer: null };

export function open(context) {
  return listen(context, context.query.get("prefix") ?? "");
}

export function close() {
  state.stream?.close();
  clearTimeout(state.timer);
  Object.assign(state, { stream: null, timer: null });
}

export function forget() {
  close();
  Object.assign(state, { list: [], held: null, isPointed: false, prefix: null, fault: null });
}

/** Begins to follow the events of a prefix, after the newest ones that are kept. */
async function listen(context, prefix) {
  const { client, redraw, live } = context;
  if (state.prefix === prefix && state.stream) return redraw();
  close();
  Object.assign(state, { prefix, list: [], held: null, total: 0, gap: null, fault: null, status: "starting" });
  redraw();
  if (live.isPaused) return undefined;
  try {
    const found = await client.events({ last: 50, prefix });
    if (state.prefix !== prefix || state.status !== "starting") return undefined;
    state.list = found.events.reverse();
    state.stream = new EventStream(client, prefix, found.next, {
      onEvents: (lines) => take(lines, redraw),
      onGap: ({ since, oldest }) => {
        state.gap = { since, oldest };
      },
      onState: (status, problem) => {
        Object.assign(state, { status, fault: status === "failed" ? problem : null });
        redraw();
      },
    });
  } catch (problem) {
    if (state.prefix !== prefix) return undefined;
    if (problem.isLost || problem.isBusy) Object.assign(state, { status: "reconnecting", prefix: null });
    else Object.assign(state, { status: "failed", fault: problem });
  }
  return redraw();
}

/**
 * Takes the lines of events. Only those that the list can show are parsed, and the page is drawn a few times a second,
 * so that a flood costs little.
 */
function take(lines, redraw) {
  state.total += lines.length;
  const fresh = lines.slice(-maxEvents).map((line) => JSON.parse(line)).reverse();
  state.list = [...fresh, ...state.list].slice(0, maxEvents);
  state.timer ??= setTimeout(() => {
    state.timer = null;
    redraw();
  }, drawInterval);
}

/** Follows pauses, and begins again after Carillon was gone. */
export function tick(context) {
  if (context.live.isPaused || document.visibilityState === "hidden") {
    if (state.stream) {
      close();
      state.status = "paused";
    }
  } else if (!state.stream && state.status !== "starting" && state.status !== "failed") {
    const list = state.held;
    state.prefix = null;
    listen(context, context.query.get("prefix") ?? "");
    state.held = list;
  }
}

function hold(isHeld, redraw) {
  Object.assign(state, isHeld ? { held: state.list, since: state.total } : { held: null }, { isPointed: false });
  redraw();
}

/** Holds the list as long as the pointer is over it: what is read does not move away. */
function point(isOver, redraw) {
  if (isOver ? state.held : !state.isPointed) return;
  hold(isOver, redraw);
  state.isPointed = isOver;
}

export function draw(context) {
  const { query, go, redraw } = context;
  const prefix = query.get("prefix") ?? "";
  const words = { starting: ["idle", "connecting"], live: ["good", "live"], paused: ["idle", "paused"],
    reconnecting: ["warn", "reconnecting"], failed: ["bad", "not available"] }[state.status] ?? ["idle", "…"];
  const shown = state.held ?? state.list;
  const missed = state.held ? state.total - state.since : 0;
  const isHeld = state.held && !state.isPointed;
  return h("section", { "aria-labelledby": "events-title", class: "view" },
    h("div", { class: "title" }, h("h2", { id: "events-title" }, title, " ", badge(...words)),
      h("button", { type: "button", "data-key": "hold", onclick: () => hold(!isHeld, redraw) },
        isHeld ? "Show new events" : "Hold the list")),
    h("p", { class: "quick", role: "group", "aria-label": "Families of events" }, ["", ...families].map((one) =>
      h("a", { href: target("#/more/events", { prefix: one && `${one}/` }),
        "aria-current": (one && `${one}/`) === prefix && "true" }, one || "all"))),
    h("form", { class: "search short", role: "search", onsubmit: (event) => {
      event.preventDefault();
      go(target("#/more/events", { prefix: event.currentTarget.elements["event-prefix"].value.trim() }));
    } },
    field("Prefix", h("input", { id: "event-prefix", name: "event-prefix", "data-address": prefix,
      value: prefix, maxlength: 128, autocomplete: "off", spellcheck: "false" }),
      "The beginning of a topic, family/app/kind: delivery/shop/ or connection/. Empty is everything."),
    h("button", { class: "main", type: "submit" }, "Filter")),
    fault(state.fault, () => {
      Object.assign(state, { fault: null, prefix: null });
      listen(context, prefix);
    }),
    state.gap && notice("warn",
      `The events from ${count(state.gap.since + 1)} to ${count(state.gap.oldest - 1)} are no longer kept.`),
    h("p", { class: "quiet" }, state.held
      ? `The list is held${state.isPointed ? " while the pointer is over it" : ""}; ${count(missed)} new since then.`
      : `${count(state.total)} new since you came; the list has the latest ${count(maxEvents)} at most.`),
    shown.length > 0 && h("ol", { class: "stream", onpointerenter: (event) => event.pointerType === "mouse"
      && point(true, redraw), onpointerleave: () => point(false, redraw) }, shown.map((event) => h("li",
      { "data-key": `event ${numberOf(event)}` },
      h("time", { datetime: new Date(event.ts).toISOString() }, clock(event.ts, true)),
      h("span", { class: "topic code" }, `${event.family}/${event.app ?? "-"}/${event.kind}`),
      h("div", null, badge(kindOf(event), sentence(event))), links(event), details(event)))),
    !shown.length && h("p", { class: "empty" }, prefix ? "No event with this prefix yet." : "No event yet."));
}
