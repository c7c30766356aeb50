// swift-format-ignore-file
// Tools/console/embed makes this file from the files in Assets. Change those, and run it.

extension ConsoleFile {
    static let all: [ConsoleFile] = [
ConsoleFile(name: "alarms.js", text: #"""
// What is wrong, in words, with what to do. The gravest comes first.

import { part } from "./client.js";
import { count, distance, duration, percent, some } from "./format.js";
import { difference } from "./time.js";
import { advice } from "./words.js";

const gateways = ["#/gateways", "Look at the gateways"];
const gateway = (app) => [`#/gateways/${part(app)}`, `Open the gateway ${app}`];
const oldAge = 60_000;
const slowAnswer = 15_000;
const badShare = 0.05;

/**
 * Returns alarms: `kind` is bad or warn, `todo` is the advice, and `link` leads to the place where it is followed, with
 * the words of that link.
 */
export function alarms(live) {
  const found = [];
  const { stats, readiness, history } = live;
  if (!stats) return found;
  // A reason may end with its advice.
  const bad = (title, text, todo, link) => found.push({ kind: "bad", title, text,
    todo: text?.includes(todo) ? null : todo, link });
  const warn = (title, text, todo, link) => found.push({ kind: "warn", title, text, todo, link });

  if (stats.ledger?.fault) {
    bad("Nothing can be stored", stats.ledger.fault,
      "Check the disk of the data directory: free space, and permission to write.");
  }
  if (readiness?.reason && readiness.reason !== stats.ledger?.fault) bad("Messages are not accepted", readiness.reason);
  const reasons = [stats.ledger?.fault, readiness?.reason];
  for (const app of readiness?.apps ?? []) {
    if (app.ready) continue;
    reasons.push(app.reason);
    if (/^paused by an operator/.test(app.reason ?? "")) {
      warn(`${app.app} is paused`, "An operator paused it. Messages are accepted and wait.",
        "Resume it when the reason is gone.", gateway(app.app));
    } else {
      bad(`${app.app} cannot send`, app.reason, advice[app.code], gateway(app.app));
    }
  }
  for (const obstacle of stats.obstacles ?? []) {
    if (!reasons.some((reason) => reason && obstacle.includes(reason))) bad("Something is in the way", obstacle);
  }
  for (const warning of readiness?.warnings ?? []) warn("Needs attention", warning);
  outcomes(history, warn);
  waiting(stats, history, warn);
  credentials(live.credentials, stats.taken_at, bad, warn);
  const ahead = -difference();
  if (ahead) {
    warn(`The clock of this browser is ${duration(roughly(Math.abs(ahead)))} ${ahead > 0 ? "ahead" : "behind"}`,
      "The page shows the times of Carillon, and signs with them.",
      "Set the clock of this machine, or that of Carillon if it is the wrong one.");
  }
  return found.sort((one, other) => (one.kind === other.kind ? 0 : one.kind === "bad" ? -1 : 1));
}

function outcomes(history, warn) {
  const [sent, rejected, lost, busy] = ["sent", "rejected", "unknown", "busy"].map(
    (name) => history.lastMinute(name) ?? 0);
  const all = sent + rejected;
  if (rejected >= 5 && rejected / all > badShare) {
    warn("The push service rejects many notifications",
      `${percent(rejected / all)} of the last minute: ${count(Math.round(rejected))} of ${count(Math.round(all))}.`,
      "The live events with the prefix delivery/ name the reasons. Old tokens are normal; a wrong topic is not.",
      ["#/more/events?prefix=delivery/", "Show the deliveries as they end"]);
  }
  if (lost >= 1) {
    warn("Some outcomes are unknown",
      `${some(Math.round(lost), "notification")} of the last minute had no answer when a connection ended.`,
      "Carillon sends them again unless the message says on_unknown: drop.");
  }
  if (busy >= 1) {
    warn("The intake is full",
      `Producers were asked ${some(Math.round(busy), "time")} in the last minute to come again.`,
      "A gateway may be too slow for the load: look at its connections, and scale it.", gateways);
  }
}

function waiting(stats, history, warn) {
  const age = history.points.at(-1)?.oldest;
  if (age > oldAge) {
    warn("Messages wait for long",
      `The oldest one waits for ${duration(age)}; ${some(stats.backlog?.waiting ?? 0, "message")} wait in all.`,
      "Look at the gateways: one that is not up, or has too few connections, holds its messages.", gateways);
  }
  for (const app of stats.apps ?? []) {
    if (app.oldest_unanswered_ms > slowAnswer) {
      warn(`The push service answers ${app.app} slowly`,
        `The oldest request waits for ${duration(app.oldest_unanswered_ms)}.`,
        "Its connections show which request is open. A busy push service answers later by itself.", gateway(app.app));
    }
    if (app.brake_on) {
      warn(`The brake of ${app.app} is on`, "The push service rejected so many tokens at once that no device is "
        + "deactivated any more.", "Check environment and topic of the app. If they are right, release the brake.",
      gateway(app.app));
    }
  }
}

function credentials(all, now, bad, warn) {
  for (const credential of all ?? []) {
    if (!Number.isFinite(credential.expires_at)) continue;
    const left = credential.expires_at - now;
    const renew = "Get a new one from Apple, put it in the place of the old one, and reload.";
    if (left <= 0) bad(`The credential of ${credential.app} has expired`,
      `It expired ${distance(credential.expires_at, now)}.`, renew, ["#/more/credentials", "Show the credentials"]);
    else if (left < 14 * 86_400_000) warn(`The credential of ${credential.app} expires soon`,
      `It expires ${distance(credential.expires_at, now)}.`, renew, ["#/more/credentials", "Show the credentials"]);
  }
}

/** A difference of clocks as far as it is known: answers name the second, and take time. */
function roughly(ms) {
  const unit = ms >= 120_000 ? 60_000 : 1000;
  return Math.round(ms / unit) * unit;
}

"""#),
ConsoleFile(name: "bar.js", text: #"""
// The bar: how fresh the values are, alarms, colors, sign-out. And the one place that speaks to screen readers.

import { alarms } from "./alarms.js";
import { h, patch } from "./dom.js";
import { clock, duration, rate, some } from "./format.js";
import { badge } from "./parts.js";
import * as store from "./store.js";

const place = document.getElementById("bar");
const status = document.getElementById("status");
const themes = ["auto", "light", "dark"];
const themeNames = { auto: "Auto", light: "Light", dark: "Dark" };
let theme = "auto";
let spoken = { text: "", at: 0 };

export function begin() {
  const kept = store.read("theme");
  theme = themes.includes(kept) ? kept : "auto";
  document.documentElement.dataset.theme = theme;
}

function liveBadge({ state, stats, since }) {
  const ago = stats ? `, values of ${clock(stats.taken_at)}` : "";
  switch (state) {
    case "live": return badge("good", "Live");
    case "paused": return badge("idle", `Paused${ago}`);
    case "reconnecting": return badge("warn", `Reconnecting${ago}`);
    case "busy": return badge("warn", `Busy${ago}`);
    case "refused": return badge("bad", "No values");
    default: return badge("idle", Date.now() - since > 1000 ? "Connecting" : "…");
  }
}

/** Draws the bar. `user` has the client, the caller and the live values; `place` is the name of the page. */
export function draw(user) {
  const { live, caller, client } = user;
  const next = themes[(themes.indexOf(theme) + 1) % themes.length];
  const setTheme = () => {
    theme = next;
    store.write("theme", theme);
    document.documentElement.dataset.theme = theme;
    draw(user);
  };
  const found = live ? alarms(live) : [];
  const gravest = found[0]?.kind;
  patch(place, [
    live && h("span", { class: "live" }, liveBadge(live)),
    found.length > 0 && h("a", { class: `alarm ${gravest}`, href: "#/overview", "data-key": "alarms" },
      badge(gravest, some(found.length, "alarm"))),
    live && h("button", { type: "button", "data-key": "pause",
      "aria-label": live.isPaused ? "Resume updates" : "Pause updates", onclick: () => live.pause(!live.isPaused) },
      live.isPaused ? "Resume" : "Pause"),
    h("button", { type: "button", "data-key": "theme", onclick: setTheme,
      "aria-label": `${themeNames[theme]} colors; change to ${themeNames[next].toLowerCase()}` },
      h("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
        h("circle", { cx: 8, cy: 8, r: 6.5, class: "sky" }), h("path", { d: "M8 1.5a6.5 6.5 0 0 1 0 13z" })),
      h("span", { class: "word" }, themeNames[theme])),
    client && h("button", { type: "button", "data-key": "out", onclick: () => user.signOut(),
      title: `Signed in with the key ${caller.name}: ${caller.roles.join(", ")}` }, "Sign out"),
  ]);
  if (!live) return;
  // The name of a tab among others says whether to look.
  const sign = live.state === "reconnecting" ? "… " : gravest === "bad" ? "■ " : gravest ? "▲ " : "";
  document.title = `${sign}${user.place.slice(0, 100)} – Carillon`;
  speak(live, found);
}

export function say(text) {
  spoken = { text, at: Date.now() };
  status.textContent = text;
}

/** Says in one place what has changed: each change of the state, and the rates twice a minute. */
function speak({ state, history, failure }, found) {
  const point = history.points.at(-1);
  const text = state === "live"
    ? found.length ? `Live. ${some(found.length, "alarm")}: ${found[0].title}.` : "Live. Notifications can be sent."
    : { paused: "Updates are paused.", reconnecting: "Carillon does not answer. Reconnecting.",
      busy: "Carillon is busy.", refused: failure?.detail ?? "" }[state] ?? "";
  const isOld = Date.now() - spoken.at > 30_000;
  if (text === spoken.text && !isOld) return;
  spoken = { text, at: Date.now() };
  const age = point?.oldest ? `, the oldest for ${duration(point.oldest)}` : "";
  const rates = state === "live" && point && Number.isFinite(point.sent)
    ? ` ${rate(point.sent)} sent a second, ${point.waiting ?? 0} waiting${age}.` : "";
  status.textContent = text + rates;
}

"""#),
ConsoleFile(name: "chart.js", text: #"""
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
  for (let at = first; at < newest - 0.15 * span; at += step) all.push(at);
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

"""#),
ConsoleFile(name: "charts.css", text: #"""
/* Charts, and counts with their shares. */
.chart {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 6px;
  align-content: start;
}

.chart h3 {
  color: var(--quiet);
  font-weight: 550;
}

.values {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0 18px;
}

.value strong {
  font-weight: 600;
}

.value.main strong {
  font-size: 1.75rem;
  font-weight: 620;
  letter-spacing: -0.02em;
  line-height: 1.3;
}

.key {
  display: inline-block;
  width: 10px;
  height: 3px;
  border-radius: 2px;
  margin-right: 7px;
  vertical-align: middle;
  background: var(--strong-line);
}

.when {
  font-size: 0.87rem;
  min-height: 1.5em;
}

.plot {
  touch-action: pan-y;
  cursor: crosshair;
  margin: 0 -4px;
}

.plot svg {
  display: block;
  width: 100%;
  height: auto;
}

.axis { stroke: var(--strong-line); stroke-width: 1; }
.grid { stroke: var(--line); stroke-width: 1; }
.tick { fill: var(--quiet); font-size: 11px; }
.line { fill: none; stroke: var(--strong-line); stroke-width: 1.5; stroke-linejoin: round; }
.line.main { stroke: var(--accent); stroke-width: 2; }
.area { fill: var(--accent); opacity: 0.1; }
.dot { fill: var(--strong-line); stroke: var(--card); stroke-width: 1.5; }
.dot.main { fill: var(--accent); }
.cursor { stroke: var(--quiet); stroke-dasharray: 2 2; }

.shares {
  display: block;
  width: 100%;
  height: 8px;
  border-radius: 4px;
}

.shares .rest { fill: var(--sunken); }
.shares .good { fill: var(--good); }
.shares .warn { fill: var(--warn); }
.shares .bad { fill: var(--bad); }
.shares .idle { fill: var(--idle); }

.counts {
  display: flex;
  flex-wrap: wrap;
  gap: 12px 36px;
}

.counts li {
  display: grid;
}

.counts strong {
  font-size: 1.47rem;
  font-weight: 620;
  line-height: 1.3;
}

.counts .badge {
  color: var(--quiet);
  font-size: 0.9rem;
}

.funnel {
  display: grid;
  gap: 12px;
}

.funnel li {
  display: grid;
  grid-template-columns: minmax(0, 1fr) auto minmax(130px, auto);
  gap: 4px 16px;
  align-items: baseline;
}

.funnel .quiet {
  text-align: right;
  font-size: 0.9rem;
}

.funnel strong {
  font-weight: 620;
}

.funnel svg {
  grid-column: 1 / -1;
}

"""#),
ConsoleFile(name: "client.js", text: #"""
// Requests to the API of this Carillon.

import { signed } from "./signing.js";
import { learn } from "./time.js";

const patience = 20_000;

/** A request that was not carried out. The detail is a sentence for people. */
export class Problem extends Error {
  constructor(status, code, detail, more = {}) {
    super(detail);
    Object.assign(this, { status, code, detail, ...more });
  }

  /** Whether the request never reached Carillon, or its answer was lost. */
  get isLost() {
    return this.code === "lost";
  }

  /** Whether Carillon is there and asks to come again later. */
  get isBusy() {
    return this.status === 429 || this.status === 503;
  }
}

export class Client {
  /** @param onRefused is called with the problem if the server does not accept the key. */
  constructor(keyID, key, onRefused) {
    Object.assign(this, { keyID, key, onRefused });
    this.document = null;
  }

  /**
   * Sends a request and returns the answer of fetch; throws a Problem unless its status is a success. A request without
   * an answer ends after its timeout, in milliseconds; 0 is none.
   */
  async send(method, target, { body, accept, headers = {}, signal, timeout = patience } = {}) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    for (const isSecondTime of [false, true]) {
      const signature = await signed({ method, target, body: text, keyID: this.keyID, key: this.key });
      const fields = { Accept: accept ?? "application/json", ...headers, ...signature };
      if (text !== undefined) fields["Content-Type"] = "application/json";
      const sentAt = Date.now();
      const answer = await this.fetched(target, { method, headers: fields, body: text, signal, timeout });
      if (answer.ok) return answer;
      const problem = await Client.problem(answer);
      // The answer names the time of the server in whole seconds. The next signature has that time.
      if (problem.code === "clock_skew" && !isSecondTime) {
        learn(problem.server_time_at, sentAt);
        continue;
      }
      if (problem.code === "unauthenticated" || problem.code === "clock_skew") this.onRefused?.(problem);
      throw problem;
    }
    return undefined;
  }

  async fetched(target, { signal, timeout = patience, ...more } = {}) {
    const signals = [signal, timeout ? AbortSignal.timeout(timeout) : null].filter(Boolean);
    const options = { cache: "no-store", credentials: "omit", redirect: "error", ...more };
    try {
      return await fetch(target, { ...options, signal: AbortSignal.any(signals) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "lost", "Carillon does not answer.");
    }
  }

  static async problem(answer) {
    let body = {};
    try {
      body = await answer.json() ?? {};
    } catch {
      // The status says enough.
    }
    const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
    const faults = (body.errors ?? []).map(({ pointer, parameter, detail: words }) => {
      const place = (pointer ?? parameter ?? "").replace(/^\//, "");
      return place ? `${place}: ${words}` : words;
    });
    const later = retryAfter ? ` Try again in ${retryAfter} s.` : "";
    const words = faults.join("; ") || body.detail || `Carillon answered with the status ${answer.status}.`;
    const detail = answer.status === 403 ? `This key may not do that: ${words}.`.replace(/\.\.$/, ".")
      : answer.status === 429 ? `Carillon asks to slow down: ${words}.${later}` : words;
    return new Problem(answer.status, body.code ?? "failed", detail, {
      server_time_at: body.server_time_at, retryAfter,
    });
  }

  async json(method, target, body, more) {
    const answer = await this.send(method, target, { body, ...more });
    try {
      return await answer.json();
    } catch {
      throw new Problem(0, "lost", "The answer of Carillon is not complete.");
    }
  }

  get(target, more) {
    return this.json("GET", target, undefined, more);
  }

  /** Returns stored events with the numbers that the answer names. */
  async events(query, signal) {
    const answer = await this.send("GET", target("/v1/events", query), { accept: "application/x-ndjson", signal });
    const lines = (await answer.text()).split("\n").filter((line) => line !== "");
    return { events: lines.map((line) => JSON.parse(line)), next: answer.headers.get("Carillon-Next") ?? "0" };
  }

  /** Reads which operations this Carillon has. Without the document, everything is offered and a 404 is explained. */
  async learn() {
    try {
      this.document = await (await this.fetched("/openapi.json")).json();
    } catch {
      this.document = null;
    }
  }

  offers(method, path) {
    return !this.document?.paths || Boolean(this.document.paths[path]?.[method.toLowerCase()]);
  }

  /** Throws the problem of an operation that this Carillon does not have, without asking for it. */
  require(method, path) {
    if (!this.offers(method, path)) {
      throw new Problem(404, "not_offered", `This Carillon does not offer ${method} ${path}.`);
    }
  }

  /** An empty object for an operation that has a body, and nothing for one that has none. */
  emptyBody(method, path) {
    return this.document?.paths?.[path]?.[method.toLowerCase()]?.requestBody ? {} : undefined;
  }
}

/** Makes a target of a path and a query without its empty values. */
export function target(path, query = {}) {
  const some = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return some.length ? `${path}?${new URLSearchParams(some)}` : path;
}

/** A part of a path. A browser resolves "." and ".." even if they are encoded, so that they cannot be one. */
export function part(text) {
  return encodeURIComponent(text);
}

"""#),
ConsoleFile(name: "cluster.css", text: #"""
/* The page of the cluster: a cell for each partition. A color is never the only sign: each cell names its owner. */
.map {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 5.5rem), 1fr));
  gap: 6px;
  list-style: none;
}

.map li {
  display: flex;
  flex-wrap: wrap;
  align-content: start;
  gap: 0 6px;
  min-width: 0;
  padding: 4px 8px;
  border: 1px solid var(--line);
  border-left: 6px solid var(--owner, var(--line));
  border-radius: 6px;
  background: var(--card);
  overflow-wrap: anywhere;
}

.map em {
  color: var(--warn);
}

.map .moving {
  border-style: dashed;
  background: var(--warn-tint);
}

.map .unowned {
  border-color: var(--bad);
  background: var(--bad-tint);
}

.swatch {
  display: inline-block;
  width: 12px;
  height: 12px;
  margin-right: 8px;
  border-radius: 3px;
  background: var(--owner, var(--line));
}

.owner-0 {
  --owner: light-dark(#0b6b62, #5fd0c1);
}

.owner-1 {
  --owner: light-dark(#3d5fc4, #92aaf5);
}

.owner-2 {
  --owner: light-dark(#a3480a, #f2a56b);
}

.owner-3 {
  --owner: light-dark(#8a3b9c, #d79be6);
}

.owner-4 {
  --owner: light-dark(#5c6b00, #c0d04f);
}

.owner-5 {
  --owner: light-dark(#a82c5b, #f492b5);
}

.owner-6 {
  --owner: light-dark(#0a6a92, #74c6ea);
}

.owner-7 {
  --owner: light-dark(#5b5b5b, #bdbdbd);
}

"""#),
ConsoleFile(name: "cluster.js", text: #"""
// The cluster: its nodes, the owners of its partitions, the database, and what changed last.

import { h } from "./dom.js";
import { count, distance, duration, moment, some } from "./format.js";
import { badge, facts, fault as problemNotice, foreign, notice, table } from "./parts.js";

export const title = "Cluster";
const colors = 8;
const state = { cluster: undefined, fault: null, isReading: false };
const stateKinds = { live: "good", draining: "warn", left: "idle", dead: "bad" };

/** A single node has no such page. */
export function isOffered({ live }) {
  return Boolean(live?.isCluster);
}

export async function open(context) {
  context.redraw();
  await read(context);
}

export function forget() {
  Object.assign(state, { cluster: undefined, fault: null });
}

export function tick(context) {
  read(context);
}

async function read({ client, redraw }) {
  if (state.isReading) return;
  state.isReading = true;
  try {
    client.require("GET", "/v1/cluster");
    state.cluster = (await client.get("/v1/cluster")).cluster ?? null;
    state.fault = null;
  } catch (problem) {
    if (!problem.isLost) state.fault = problem;
  } finally {
    state.isReading = false;
  }
  redraw();
}

export function draw(context) {
  const { cluster, fault } = state;
  return [
    h("h1", { tabindex: -1 }, title),
    problemNotice(fault, () => read(context)),
    cluster === undefined && !fault && h("p", { class: "empty" }, "Reading the cluster…"),
    cluster === null && h("div", { class: "empty" }, "This Carillon is a single node."),
    cluster && view(cluster),
  ];
}

/** The numbers of partitions as ranges: "0–20, 43". */
export function ranges(parts) {
  const found = [];
  for (const part of [...parts].sort((one, other) => one - other)) {
    const last = found.at(-1);
    if (last && part <= last[1] + 1) last[1] = part;
    else found.push([part, part]);
  }
  return found.map(([first, last]) => first === last ? String(first) : `${first}–${last}`).join(", ");
}

function view(cluster) {
  const places = new Map(cluster.nodes.map(({ node }, index) => [node, index % colors]));
  return [
    cluster.obstacle && notice("bad", foreign(cluster.obstacle, 400)),
    cluster.summary.unowned > 0 && notice("warn",
      `${some(cluster.summary.unowned, "partition")} without a live owner. Their messages wait until a node takes them.`),
    nodes(cluster, places),
    map(cluster, places),
    health(cluster),
    changes(cluster),
  ];
}

function swatch(place) {
  return h("span", { class: place === undefined ? "swatch" : `swatch owner-${place}`, "aria-hidden": "true" });
}

function nodes(cluster, places) {
  const isMember = ({ state: now }) => now === "live" || now === "draining";
  return table({
    caption: "Nodes", rows: cluster.nodes, key: ({ node }) => node, empty: "The table of nodes has not been read yet.",
    columns: [
      { name: "Node", cell: ({ node }) => [swatch(places.get(node)), foreign(node, 64),
        node === cluster.node && h("span", { class: "quiet" }, " (answers)")] },
      { name: "State", cell: (one) => badge(stateKinds[one.state] ?? "idle", one.state) },
      { name: "Partitions", class: "number", cell: ({ partitions }) => count(partitions) },
      { name: "Numbers", cell: ({ node }) => ranges(held(cluster, node)) },
      { name: "Lease left", class: "number", cell: (one) => isMember(one) && one.remaining_ms > 0
        ? `${duration(one.remaining_ms)} of ${duration(one.lease_ms)}` : null },
      { name: "Version", cell: ({ version }) => version && foreign(version, 20) },
      { name: "Joined", cell: (one) => isMember(one) && distance(one.started_at, cluster.taken_at) },
      { name: "Address", class: "code", cell: ({ address }) => foreign(address, 80) },
    ],
  });
}

function held({ partitions }, node) {
  return partitions.filter(({ owner, state: now }) => owner === node && now !== "unowned").map(({ part }) => part);
}

/** A cell for each partition: its number, its owner in words and as a color, and its state if that is a rare one. */
function map({ partitions }, places) {
  if (!partitions.length) return null;
  return h("section", { class: "panel", "aria-labelledby": "map-title", "data-key": "map" },
    h("h2", { id: "map-title" }, "Partitions"),
    h("ol", { class: "map", role: "list" }, partitions.map(({ part, owner, state: now, epoch, since_at: since }) => {
      const isUnowned = now === "unowned";
      const isUsual = now === "serving" || now === "remote";
      const place = isUnowned ? undefined : places.get(owner);
      return h("li", { "data-key": `part ${part}`, class: `${place === undefined ? "" : `owner-${place}`} ${
        isUnowned ? "unowned" : isUsual ? "" : "moving"}`.trim() || null,
      title: `Partition ${part}: ${isUnowned ? "no owner" : owner}, epoch ${epoch}${since ? `, since ${moment(since)}` : ""}` },
      h("b", null, String(part)), " ", h("span", null, isUnowned ? "no owner" : foreign(owner, 64)),
      !isUnowned && !isUsual && h("em", null, ` ${now}`));
    })));
}

function health(cluster) {
  const { database, summary } = cluster;
  return h("section", { class: "panel", "aria-labelledby": "database-title", "data-key": "database" },
    h("div", { class: "title" }, h("h2", { id: "database-title" }, "Database",
      database.fault ? badge("bad", "not connected") : badge("good", "connected"))),
    database.fault && h("div", { class: "fault" }, h("p", null, foreign(database.fault, 400))),
    facts(
      ["Server", database.server && foreign(database.server, 200)],
      ["PostgreSQL", database.version], ["Timeline", database.timeline && String(database.timeline)],
      ["Synchronous standbys", database.standbys === undefined ? null : database.standbys
        ? foreign(database.standbys, 200) : badge("warn", "none")],
      ["Its clock", database.clock_offset_ms !== undefined && (database.clock_offset_ms === 0 ? "as here"
        : `${duration(Math.abs(database.clock_offset_ms))} ${database.clock_offset_ms > 0 ? "ahead" : "behind"}`)],
      ["Last renewal", cluster.renewal_age_ms === undefined ? "never" : `${duration(cluster.renewal_age_ms)} ago`],
      ["Sends for", cluster.sends_for_ms > 0 ? duration(cluster.sends_for_ms) : badge("bad", "does not send")],
      ["Taken since the start", count(summary.takeovers)], ["Lost to others", count(summary.fenced)]));
}

function changes({ events, node }) {
  return table({
    caption: `Last changes, as ${node} saw them`, rows: [...events].reverse(),
    key: ({ event, happened_at: at, node: other }) => `${at} ${event} ${other ?? ""}`, empty: "Nothing has changed.",
    columns: [
      { name: "Time", cell: ({ happened_at: at }) => moment(at) },
      { name: "Change", cell: ({ text }) => foreign(text, 400) },
      { name: "Partitions", cell: ({ parts }) => parts && ranges(parts) },
    ],
  });
}

"""#),
ConsoleFile(name: "compose.js", text: #"""
// Send a test: a notification to a few devices, with a preview.

import { part } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, some } from "./format.js";
import { check, fault, field, notice, options } from "./parts.js";

const empty = { app: "", to: "user", name: "", title: "", body: "", badge: "", sound: true, link: "" };
// A test keeps its id until it is accepted or the form changes: Carillon does not send an id twice.
const state = { ...empty, id: null, audience: null, fault: null };

export function open({ live, redraw, onlyApps, query }) {
  const apps = appsOf({ live, onlyApps });
  const named = query.get("app") ?? state.app;
  const app = apps.includes(named) ? named : apps[0] ?? "";
  Object.assign(state, { id: app === state.app ? state.id : null, audience: null, fault: null, app });
  if (query.get("device")) Object.assign(state, { id: null, to: "device", name: query.get("device") });
  for (const [id, name] of [["test-app", "app"], ["test-to", "to"], ["test-name", "name"]]) {
    const control = document.getElementById(id);
    if (control) control.value = state[name];
  }
  redraw();
}

export function forget() {
  Object.assign(state, empty, { id: null, audience: null, fault: null });
}

function appsOf({ live, onlyApps }) {
  return onlyApps ?? (live.stats?.apps ?? []).map(({ app }) => app);
}

/** The audience of the envelope; null while something is missing. */
function audience() {
  const name = state.name.trim();
  if (!name) return null;
  return state.to === "user" ? { users: [name] } : state.to === "tag" ? { tags: { all: [name] } }
    : { devices: [name.toLowerCase()] };
}

function payload() {
  const alert = state.title ? { title: state.title, body: state.body } : state.body;
  const aps = { alert };
  if (/^\d+$/.test(state.badge)) aps.badge = Number(state.badge);
  if (state.sound) aps.sound = "default";
  return { aps };
}

function newID() {
  return `console-${crypto.randomUUID().slice(0, 13)}`;
}

async function reach({ client }) {
  return client.json("POST", "/v1/audience", { app: state.app, to: audience() });
}

async function submit(event, context) {
  event.preventDefault();
  const { client, go, redraw } = context;
  state.fault = audience() ? state.body.trim() ? null : "A text is missing." : "A recipient is missing.";
  if (state.fault) {
    redraw();
    document.getElementById(audience() ? "test-body" : "test-name").focus();
    return;
  }
  const found = await attempt(() => reach(context));
  if (found === undefined) return;
  const size = found.count;
  const recipient = { user: `the user ${state.name}`, tag: `the tag ${state.name}`,
    device: `the device ${state.name}` }[state.to];
  if (!size) {
    state.fault = `No active device in ${state.app} belongs to ${recipient}.`;
    redraw();
    return;
  }
  const words = `${found.count_is_complete === false ? "at least " : ""}${some(size, "device")}`;
  if (!await ask({
    title: `Send to ${words}?`, deed: `Send to ${words}`, isGrave: false,
    text: [
      `The notification goes to ${recipient} in ${state.app}, now ${words}.`,
      "It appears on real devices and cannot be called back.",
    ],
  })) return;
  const id = state.id ??= newID();
  const sent = await attempt(() => sending(client, id), (answer) => answer.status === "accepted" ? `Accepted as ${id}.`
    : answer.status === "duplicate" ? `Accepted as ${id} before, and not sent again.`
    : `${answer.status}: ${answer.detail ?? answer.reason ?? ""}`);
  if (!["accepted", "duplicate"].includes(sent?.status)) return;
  state.id = null;
  go(`#/messages/${part(state.app)}/${part(id)}`);
}

/** Sends the test. Without an answer, it may have been accepted; some browsers repeat the request then by themselves. */
async function sending(client, id) {
  try {
    return await client.json("POST", "/v1/messages", { id, app: state.app, to: audience(), payload: payload() });
  } catch (problem) {
    if (problem.isLost || problem.code === "replayed") {
      problem.detail += " The test may have been accepted. Send it again as it is: each device gets it once.";
    }
    throw problem;
  }
}

export function draw(context) {
  const { redraw, may } = context;
  const set = (name) => (event) => {
    state[name] = event.currentTarget.type === "checkbox" ? event.currentTarget.checked : event.currentTarget.value;
    Object.assign(state, { id: null, audience: null });
    redraw();
  };
  const input = (id, name, more) => h("input", { id, value: state[name], oninput: set(name), autocomplete: "off",
    ...more });
  const apps = appsOf(context).map((app) => [app, app]);
  // The apps may become known after the page was opened.
  state.app ||= apps[0]?.[0] ?? "";
  const count_ = async () => {
    state.audience = await attempt(() => reach(context)) ?? null;
    redraw();
  };
  return [
    h("p", { class: "back" }, h("a", { href: "#/messages" }, "Messages")),
    h("h1", { tabindex: -1 }, "Send a test"),
    !may("push") && notice("warn", "This key may not push: it lacks the role push."),
    h("div", { class: "compose" },
      h("form", { class: "panel form", novalidate: true, onsubmit: (event) => submit(event, context) },
        field("App", h("select", { id: "test-app", value: state.app, onchange: set("app") }, options(apps, state.app))),
        field("Recipient", h("select", { id: "test-to", value: state.to, onchange: set("to") },
          options([["user", "A user"], ["tag", "A tag"], ["device", "A device"]], state.to))),
        field({ user: "User", tag: "Tag", device: "Device id" }[state.to],
          input("test-name", "name", { spellcheck: "false", required: true })),
        h("p", { class: "inline" },
          h("button", { type: "button", disabled: !audience(), onclick: count_ }, "Count the devices"),
          h("span", { "aria-live": "polite" }, state.audience && `${count(state.audience.count)} now${
            state.audience.count_is_complete === false ? " at least" : ""}${
            state.audience.inactive ? `, ${count(state.audience.inactive)} inactive` : ""}`)),
        field("Title", input("test-title", "title", { maxlength: 200 })),
        field("Text", h("textarea", { id: "test-body", rows: 3, oninput: set("body"), maxlength: 1500,
          required: true }, state.body)),
        field("Badge", input("test-badge", "badge", { inputmode: "numeric", pattern: "[0-9]*", maxlength: 4 }),
          "A number on the icon; 0 removes it. Empty leaves it."),
        check("test-sound", "With sound", { checked: state.sound, onchange: set("sound") }),
        fault(state.fault && { detail: state.fault }),
        h("div", { class: "buttons" }, h("button", { class: "main", type: "submit",
          disabled: !may("push") }, "Send…"))),
      h("section", { class: "preview", "aria-labelledby": "preview-title" },
        h("h2", { id: "preview-title" }, "Preview"),
        h("div", { class: "screen" },
          h("p", { class: "time", "aria-hidden": "true" }, "9:41"),
          h("div", { class: "notification" },
            h("div", { class: "app-icon", "aria-hidden": "true" }, (state.app || "?").slice(0, 1).toUpperCase(),
              /^[1-9]\d*$/.test(state.badge) && h("span", null, state.badge)),
            h("div", { class: "words" },
              h("p", { class: "head" }, h("strong", null, state.title || state.app || "App"), h("span", null, "now")),
              h("p", null, state.body || "The text of the notification.")))),
        h("details", null, h("summary", null, "Payload"),
          h("pre", { tabindex: 0, "aria-label": "Payload" }, JSON.stringify(payload(), null, 2))))),
  ];
}

"""#),
ConsoleFile(name: "configuration.js", text: #"""
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

function changes(caption, rows, isShort) {
  return table({ caption, rows, key: ({ path }) => path, columns: [
    { name: "Setting", class: "code", cell: ({ path }) => path },
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
    { name: "Setting", class: "code", cell: ({ path }) => path },
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

"""#),
ConsoleFile(name: "credentials.js", text: #"""
// Credentials: the keys and certificates with which Carillon signs in to the push service, and when they expire.

import { h } from "./dom.js";
import { distance, moment } from "./format.js";
import { badge, copyButton, facts, fault, foreign } from "./parts.js";
import { now } from "./time.js";

export const title = "Credentials";
export const soon = 14 * 86_400_000;
const place = "/v1/credentials";
const state = { list: null, fault: null };

export async function open({ client, redraw }) {
  try {
    client.require("GET", place);
    Object.assign(state, { list: (await client.get(place)).credentials ?? [], fault: null });
  } catch (problem) {
    Object.assign(state, { fault: problem });
  }
  redraw();
}

export function forget() {
  Object.assign(state, { list: null, fault: null });
}

function stateOf({ state: name, expires_at: at }) {
  if (name === "unusable") return badge("bad", "cannot be used");
  if (at <= now()) return badge("bad", "expired");
  if (name === "kept") return badge("warn", "the former one is in use");
  if (!Number.isFinite(at)) return badge("good", "does not expire");
  return at - now() < soon ? badge("warn", "expires soon") : badge("good", "valid");
}

const kinds = { provider_key: "provider key", certificate: "certificate" };
const users = { gateway: "the gateway", feedback: "the feedback service" };
const shortPrint = 16;

function used({ used_by: by }) {
  return by?.length ? by.map((name) => users[name] ?? name).join(", ") : "nothing";
}

function print({ fingerprint }) {
  return fingerprint && [h("span", { class: "code print", title: fingerprint }, `${fingerprint.slice(0, shortPrint)}…`), " ",
    copyButton("Copy", () => fingerprint)];
}

function since(at) {
  return Number.isFinite(at) && h("span", { title: moment(at) }, distance(at));
}

function code(text, limit = 500) {
  return text && h("span", { class: "code" }, foreign(text, limit));
}

/** The credential of an app: what it is and how it is, and beneath it what tells it apart from others. */
function card(one) {
  const { app, kind, fault: problem, expires_at: end } = one;
  const id = `credential-${app ?? ""}-${kind}`;
  return h("section", { class: "panel", "data-key": `${id} ${one.name}`, "aria-labelledby": id },
    h("div", { class: "title" },
      h("h3", { id }, app ? h("a", { href: `#/gateways/${encodeURIComponent(app)}` }, app) : "This Carillon"),
      stateOf(one)),
    problem && h("div", { class: one.state === "unusable" ? "fault" : "fault warn" }, h("p", null, foreign(problem, 1000))),
    facts(["Kind", kinds[kind] ?? kind?.replaceAll("_", " ")],
      ["Expires", Number.isFinite(end) ? `${moment(end)} (${distance(end)})` : "never"],
      ["Used by", used(one)], ["Read", since(one.read_at)], ["Failed", since(one.failed_at)]),
    facts(["Name", ![one.key_id, one.subject, one.file].includes(one.name) && code(one.name)],
      ["Key id", code(one.key_id)], ["Team id", code(one.team_id)], ["Subject", code(one.subject)],
      ["Issuer", code(one.issuer)], ["Topics", one.topics?.length && code(one.topics.join(", "))],
      ["Valid from", Number.isFinite(one.valid_from_at) && moment(one.valid_from_at)],
      ["Fingerprint", print(one)]),
    facts(["File", code(one.file)]));
}

export function draw(context) {
  if (state.fault && !state.list) return fault(state.fault.status === 404
    ? { code: "not_offered", detail: "This Carillon does not report its credentials. The settings name their files: "
      + "see Configuration, apps.….credential." } : state.fault, () => open(context));
  if (!state.list) return h("p", { class: "empty" }, "Reading the credentials…");
  return h("section", { class: "view", "aria-labelledby": "credentials-title" },
    h("h2", { id: "credentials-title" }, title),
    h("p", { class: "quiet" }, "Replace the file of a credential and reload: no restart is needed."),
    state.list.length ? h("div", { class: "cards" }, state.list.map(card))
      : h("p", { class: "empty" }, "There is no credential."));
}

"""#),
ConsoleFile(name: "deliveries.js", text: #"""
// The deliveries of a message that have ended, one by one, in this order.

import { part, target } from "./client.js";
import { h } from "./dom.js";
import { count, moment, shortID, some } from "./format.js";
import { check } from "./message.js";
import { badge, fault, foreign, table } from "./parts.js";
import { kindOf } from "./words.js";

const pageSize = 100;
const state = { loading: "", list: null, fault: null };

export async function open(context) {
  const { client, path, query, redraw } = context;
  const loading = `${path.map(part).join("/")}?${query}`;
  if (loading !== state.loading) state.list = null;
  Object.assign(state, { loading, fault: null });
  redraw();
  try {
    check(path[1]);
    const list = await client.get(target(`/v1/apps/${part(path[0])}/messages/${part(path[1])}/deliveries`,
      { after: query.get("after"), limit: pageSize }));
    if (loading === state.loading) state.list = list;
  } catch (problem) {
    if (loading === state.loading) state.fault = problem;
  }
  redraw();
}

export function forget() {
  Object.assign(state, { loading: "", list: null, fault: null });
}

export function draw(context) {
  const { path, query, go } = context;
  const place = `#/messages/${part(path[0])}/${part(path[1])}`;
  const { list } = state;
  return [
    h("p", { class: "back" }, h("a", { href: place }, "Message ", foreign(path[1], 60))),
    h("h1", { tabindex: -1 }, "Deliveries of ", h("span", { class: "code" }, foreign(path[1], 200))),
    fault(state.fault, () => open(context)),
    !list && !state.fault && h("p", { class: "empty" }, "Reading the deliveries…"),
    list && table({
      caption: `${some(list.deliveries.length, "delivery", "deliveries")}`
        + `${query.get("after") ? " after the earlier ones" : ""}${list.next ? ", and there are more" : ""}, in the order of their ends`,
      rows: list.deliveries, key: ({ seq }) => seq, empty: query.get("after")
        ? "There are no further deliveries." : "No delivery of this message has ended yet.",
      columns,
    }),
    h("div", { class: "pages" },
      query.get("after") && h("a", { class: "button", href: `${place}/deliveries` }, "First page"),
      list?.next && h("button", { type: "button", onclick: () => go(target(`${place}/deliveries`,
        { after: list.next })) }, "Next page")),
  ];
}

const columns = [
  { name: "Device", class: "code", cell: ({ device }) => device
    ? h("a", { href: `#/devices/${part(device)}`, "aria-label": `Device ${device}` }, shortID(device)) : "unknown" },
  { name: "Outcome", cell: ({ outcome }) => badge(kindOf({ family: "delivery", kind: outcome }), outcome) },
  { name: "Answer", cell: ({ status, reason }) => [status, reason?.replaceAll("_", " ")].filter(Boolean).join(" ") },
  { name: "Attempt", class: "number", cell: ({ attempt }) => attempt && count(attempt) },
  { name: "Ended", class: "number", cell: ({ ended_at: at }) => moment(at, true) },
  { name: "apns-id", class: "code", cell: ({ apns_id: id }) => id },
];

"""#),
ConsoleFile(name: "device.js", text: #"""
// One device: what is known about it, its story, and what is done to it.

import { part, target } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, distance, moment, shortID, some } from "./format.js";
import { badge, facts, fault, foreign } from "./parts.js";
import { story } from "./story.js";

const state = { id: "", device: null, trace: null, fault: null, shown: undefined };

export async function open({ client, path, redraw }) {
  const id = path[0];
  if (id !== state.id) forget();
  Object.assign(state, { id, fault: null });
  redraw();
  try {
    const device = await client.get(`/v1/devices/${part(id)}`);
    if (id !== state.id) return;
    state.device = device;
    redraw();
    const trace = await client.get(`/v1/devices/${part(id)}/trace`);
    if (id === state.id) state.trace = trace;
  } catch (problem) {
    if (id === state.id) state.fault = problem;
  }
  redraw();
}

export function forget() {
  Object.assign(state, { id: "", device: null, trace: null, fault: null, shown: undefined });
}

export function draw(context) {
  const { device, trace } = state;
  const { redraw } = context;
  return [
    h("p", { class: "back" }, h("a", { href: "#/devices" }, "Devices")),
    h("h1", { tabindex: -1 }, "Device ", h("span", { class: "code" }, context.path[0].slice(0, 200))),
    fault(state.fault, () => open(context)),
    !device && !state.fault && h("p", { class: "empty" }, "Reading the device…"),
    device && h("section", { class: "panel", "aria-label": "Device" },
      facts(
        ["State", device.active ? badge("good", "active")
          : badge("idle", `inactive${device.reason ? `: ${device.reason}` : ""}`)],
        ["App", h("a", { href: `#/gateways/${part(device.app)}` }, device.app)],
        ["User", device.user && h("a", { href: target("#/devices", { user: device.user }) }, device.user)],
        ["Tags", tagLinks(device.tags)],
        ["Platform", device.platform], ["App version", device.app_version], ["Locale", device.locale],
        ["Registered", device.registered_at && moment(device.registered_at)],
        ["Last seen", device.seen_at && `${moment(device.seen_at)} (${distance(device.seen_at)})`],
        ["Deactivated", device.deactivated_at && moment(device.deactivated_at)]),
      h("div", { class: "buttons" },
        device.user && h("a", { class: "button", href: target("#/messages", { user: device.user, app: device.app }) },
          "Messages to this user"),
        context.may("push") && device.active && h("a", { class: "button",
          href: target("#/messages/new", { app: device.app, device: device.device }) }, "Send a test…"),
        context.may("operate") && deeds(context, device))),
    device && h("section", { "aria-labelledby": "story-title" },
      h("h2", { id: "story-title" }, "Story, the latest first"),
      story({ trace: trace ?? (state.fault && { events: [] }), about: "device", shown: state.shown, more: (shown) => {
        state.shown = shown;
        redraw();
      } })),
  ];
}

function deeds(context, device) {
  const { client } = context;
  const name = device.user ? `the device of ${device.user}` : `the device ${shortID(device.device)}`;
  const path = `/v1/devices/${part(device.device)}`;
  const again = () => open(context);
  const deactivate = async () => {
    if (!await ask({
      title: "Deactivate 1 device?", deed: "Deactivate 1 device",
      text: [`Nothing more is sent to ${name} in ${device.app}.`,
        "It becomes active again when the app on it registers, or when somebody reactivates it."],
    })) return;
    if (await attempt(() => client.json("POST", `${path}/deactivate`, { reason: "by_hand" }),
      "The device is inactive.")) again();
  };
  const reactivate = async () => {
    if (!await ask({
      title: "Reactivate 1 device?", deed: "Reactivate 1 device", isGrave: false,
      text: [`Notifications are sent again to ${name} in ${device.app}.`,
        "If the push service says again that its token is dead, it becomes inactive again."],
    })) return;
    if (await attempt(() => client.json("POST", `${path}/reactivate`,
      client.emptyBody("POST", "/v1/devices/{device}/reactivate")), "The device is active.")) again();
  };
  const erase = async () => {
    if (!await ask({
      title: "Erase 1 device?", deed: "Erase 1 device",
      text: [`The token, the user and ${some(device.tags.length, "tag")} of ${name} in ${device.app} are erased.`,
        "Its id stays in past events. This cannot be undone; the app on the device can register it again."],
    })) return;
    if (await attempt(() => client.json("DELETE", `/v1/apps/${part(device.app)}/devices/${part(device.device)}`),
      "The device is erased.")) {
      forget();
      context.go("#/devices");
    }
  };
  return [
    device.active && h("button", { type: "button", "data-key": "deactivate", onclick: deactivate }, "Deactivate…"),
    !device.active && h("button", { type: "button", "data-key": "reactivate", onclick: reactivate }, "Reactivate…"),
    h("button", { type: "button", "data-key": "erase", class: "grave quietly", onclick: erase }, "Erase…"),
  ];
}

export function tagLinks(tags, most = Infinity) {
  if (!tags.length) return null;
  return [tags.slice(0, most).map((tag) =>
    h("a", { class: "tag", href: target("#/devices", { tag }) }, foreign(tag, 60))),
    tags.length > most && h("span", { class: "quiet" }, `and ${count(tags.length - most)} more`)];
}

"""#),
ConsoleFile(name: "devices.js", text: #"""
// Devices: found by user, tag, id or token; and what is done to those that are selected.

import { part, target } from "./client.js";
import * as device from "./device.js";
import { h } from "./dom.js";
import { count, distance, shortID, some } from "./format.js";
import { appOptions, badge, copyButton, fault, field, foreign, options, table } from "./parts.js";
import { Selection } from "./selection.js";

export const title = "Devices";
const pageSize = 50;
const filters = ["user", "tag", "app", "active"];
// The list is the one of an address. It is shown there only, so that no search seems to have found it.
const state = { list: null, listed: "", fault: null, loading: "" };
const selection = new Selection();

/** Reads what an address names: a device, or a search. */
export async function open(context) {
  const { client, path, query, app, redraw } = context;
  const loading = `${path.join("/")}?${query}`;
  if (path[0]) {
    state.loading = "";
    return device.open(context);
  }
  Object.assign(state, { loading, fault: null, list: state.listed === loading ? state.list : null });
  redraw();
  try {
    const list = await client.get(target("/v1/devices", filter(query, app)));
    if (loading !== state.loading) return undefined;
    Object.assign(state, { list, listed: loading });
    selection.refresh(list.devices);
  } catch (problem) {
    if (loading !== state.loading) return undefined;
    Object.assign(state, { fault: problem, list: problem.isLost ? state.list : null });
  }
  return redraw();
}

export function forget() {
  Object.assign(state, { list: null, fault: null });
  selection.clear();
  device.forget();
}

function filter(query, app) {
  const asked = Object.fromEntries(filters.map((name) => [name, query.get(name)]));
  return { ...asked, app, after: query.get("after"), limit: pageSize };
}

/** The user or the tag of an address, as the field for a search shows it. */
function shown(query) {
  return query.get("user") ?? (query.get("tag") ? `#${query.get("tag")}` : "");
}

/** What a text in the field asks for. The text of the address still means what it meant there. */
function meant(text, query) {
  if (text === shown(query)) return { user: query.get("user"), tag: query.get("tag") };
  const asked = text.trim();
  return asked.startsWith("#") ? { tag: asked.slice(1) } : { user: asked };
}

async function search(event, { client, query, go, live, onlyApps, redraw }) {
  event.preventDefault();
  const { elements } = event.currentTarget;
  const text = elements["device-search"].value;
  const app = elements["device-app"].value;
  const hex = text.replaceAll(/[\s<>]/g, "").toLowerCase();
  if (/^[0-9a-f]{32}$/.test(hex)) return go(`#/devices/${hex}`);
  if (/^[0-9a-f]{64,}$/.test(hex)) {
    // A token is a secret of the device: it goes into the body of a request, and into no address.
    elements["device-search"].value = "";
    const apps = app ? [app] : onlyApps ?? (live.stats?.apps ?? []).map((one) => one.app);
    for (const one of apps) {
      try {
        const found = await client.json("POST", "/v1/devices/find", { app: one, token: hex });
        return go(`#/devices/${found.device}`);
      } catch (problem) {
        if (problem.status === 404) continue;
        state.fault = problem;
        return redraw();
      }
    }
    Object.assign(state, { list: { devices: [], next: null }, listed: "",
      fault: { status: 404, code: "unknown_device", detail: "No app has a device with this token." } });
    return redraw();
  }
  return go(target("#/devices",
    { ...meant(text, query), app, active: elements["device-state"].value }));
}

export function draw(context) {
  return context.path[0] ? device.draw(context) : list(context);
}

function list(context) {
  const { query, go, may } = context;
  const all = state.list?.devices ?? [];
  const next = state.list?.next;
  const isFiltered = filters.some((name) => query.get(name));
  const kept = Object.fromEntries(filters.map((name) => [name, query.get(name)]));
  const asked = shown(query);
  return [
    h("h1", { tabindex: -1 }, title),
    h("form", { class: "search", role: "search", onsubmit: (event) => search(event, context) },
      field("Search", h("input", { id: "device-search", name: "device-search", "data-address": asked, type: "search",
        value: asked, autocomplete: "off", spellcheck: "false" }),
        "A user, a #tag, a device id, or a token."),
      field("App", h("select", { id: "device-app", name: "device-app", "data-address": context.app ?? "" },
        appOptions(context))),
      field("State", h("select", { id: "device-state", name: "device-state",
        "data-address": query.get("active") ?? "" },
        options([["", "Any"], ["true", "Active"], ["false", "Inactive"]], query.get("active") ?? ""))),
      h("button", { class: "main", type: "submit" }, "Search")),
    fault(state.fault, () => open(context)),
    !state.list && !state.fault && h("p", { class: "empty" }, "Reading the devices…"),
    may("operate") && selection.draw(context, () => open(context)),
    state.list && table({
      caption: isFiltered ? `${some(all.length, "device")} found${next ? " on this page" : ""}`
        : registered(context, all.length, next || query.get("after")),
      rows: all, key: (one) => one.device, empty: none(isFiltered),
      selection: may("operate") && selection.choices(context.redraw),
      columns: columns(),
    }),
    h("div", { class: "pages" },
      query.get("after") && h("a", { class: "button", href: target("#/devices", kept) }, "First page"),
      next && h("button", { type: "button", onclick: () => go(target("#/devices", { ...kept, after: next })) },
        "Next page"),
      isFiltered && copyButton("Copy the address", () => location.href)),
  ];
}

/** The caption of the list of all devices. A key of some apps does not know how many there are. */
function registered({ live, onlyApps }, shown, isPart) {
  const all = onlyApps ? null : live.stats?.registry?.devices;
  if (!isPart) return `Registered devices: ${count(shown)}`;
  return `Registered devices${Number.isFinite(all) ? `: ${count(all)}` : ""}, ${count(shown)} on this page`;
}

function none(isFiltered) {
  return isFiltered ? "No device matches." : [
    h("p", null, h("strong", null, "No device is registered.")),
    h("p", null, "Apps register theirs with POST /v1/apps/{app}/devices; a file of devices is read by"),
    h("p", { class: "code" }, "carillon devices import FILE --app APP"),
  ];
}

function columns() {
  return [
    { name: "Device", class: "code", cell: ({ device: id }) =>
      h("a", { href: `#/devices/${part(id)}`, "aria-label": `Device ${id}` }, shortID(id)) },
    { name: "State", cell: (one) => one.active ? badge("good", "active") : badge("idle", "inactive") },
    { name: "User", cell: ({ user }) => user && h("a", { href: target("#/devices", { user }) }, foreign(user)) },
    { name: "Tags", cell: ({ tags }) => device.tagLinks(tags, 8) },
    { name: "App", cell: ({ app }) => app },
    { name: "Platform", cell: ({ platform }) => platform },
    { name: "Seen", class: "number", cell: ({ seen_at: at }) => at && distance(at) },
  ];
}

"""#),
ConsoleFile(name: "dialog.js", text: #"""
// Questions before something is changed or destroyed. They say what will happen, and to how many.

import { h } from "./dom.js";

let place = null;

/**
 * Asks, and returns whether the answer is yes. The button that does it has the name of the deed, and the focus begins
 * at the one that does nothing.
 */
export function ask({ title, text, deed, isGrave = true }) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "question", "aria-labelledby": "question-title",
      "aria-describedby": "question-text" },
      h("h2", { id: "question-title" }, title),
      h("div", { id: "question-text" }, [text].flat().filter(Boolean)
        .map((line) => line instanceof Node ? line : h("p", null, line))),
      h("div", { class: "buttons" },
        h("button", { type: "button", autofocus: true, onclick: () => dialog.close("") }, "Do nothing"),
        h("button", { type: "button", class: isGrave ? "grave" : "main", onclick: () => dialog.close("yes") }, deed)));
    dialog.onclose = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Shows a text that is not shown again, such as a secret, until the user closes it. */
export function show({ title, content }) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { class: "question", "aria-labelledby": "shown-title" },
      h("h2", { id: "shown-title" }, title), content,
      h("div", { class: "buttons" }, h("button", { type: "button", class: "main", onclick: () => dialog.close() },
        "Close")));
    dialog.onclose = () => {
      dialog.remove();
      resolve();
    };
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Shows a short message in the corner, and to screen readers. A failure stays until it is closed. */
export function note(text, isFailure = false) {
  place ??= document.getElementById("notes");
  const close = () => item.remove();
  const item = h("div", { class: isFailure ? "note failure" : "note" }, h("p", null, text),
    h("button", { type: "button", "aria-label": "Close this message", onclick: close }, "×"));
  place.replaceChildren(...[...place.children].slice(-2), item);
  if (!isFailure) setTimeout(close, 8000);
}

/** Carries something out and reports how it ended. Returns its result, or undefined if it failed. */
export async function attempt(work, done) {
  try {
    const result = await work();
    if (done) note(typeof done === "function" ? done(result) : done);
    return result ?? true;
  } catch (problem) {
    note(problem.detail ?? String(problem), true);
    return undefined;
  }
}

"""#),
ConsoleFile(name: "dom.js", text: #"""
// Elements, and the patching of the page. Text becomes text nodes only: nothing in the console parses HTML.

const svgName = "http://www.w3.org/2000/svg";
const svgTags = new Set(["svg", "g", "path", "line", "rect", "text", "circle", "polyline", "polygon"]);

const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/**
 * Makes characters visible that a reader would not see, and that could make a name look like another one: control
 * characters, and marks that turn the direction of the text around them.
 */
export function visible(text) {
  return String(text).replaceAll(controls, (one) => {
    const code = one.codePointAt(0);
    return code < 0x20 ? String.fromCodePoint(0x2400 + code)
      : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

const spoken = new Set(["aria-label", "aria-valuetext", "title", "data-name"]);

/**
 * Makes an element. Attributes that are functions become event handlers; false, null and undefined are left out, and
 * children that are false or null as well. Children may be nested arrays. The attribute `held` is the state of a
 * checkbox that follows the page and not its user alone.
 */
export function h(tag, attributes, ...children) {
  const element = svgTags.has(tag) ? document.createElementNS(svgName, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "held") {
      element.dataset.held = String(Boolean(value));
      element.checked = Boolean(value);
    }
    if (name === "held" || value === false || value === null || value === undefined) continue;
    if (typeof value === "function") {
      element[name] = value;
      (element.handlers ??= {})[name] = value;
    } else if (name === "value" && tag !== "option") {
      element.value = value;
      element.setAttribute("value", value);
    } else {
      element.setAttribute(name, value === true ? "" : spoken.has(name) ? visible(value) : String(value));
    }
  }
  element.append(...children.flat(Infinity).filter(isSome)
    .map((child) => (child instanceof Node ? child : visible(child))));
  // A select takes its value only after it has its options.
  if (tag === "select" && attributes?.value !== undefined) element.value = attributes.value;
  return element;
}

function isSome(child) {
  return child !== null && child !== undefined && child !== false;
}

/**
 * Makes the children of an element equal to the given nodes, and keeps every element that can stay, so that focus,
 * selection, scroll positions and what a user has typed survive an update.
 */
export function patch(parent, nodes) {
  const fresh = nodes.flat(Infinity).filter(isSome)
    .map((node) => (node instanceof Node ? node : document.createTextNode(visible(node))));
  const keyed = new Map();
  for (let old = parent.firstChild; old; old = old.nextSibling) {
    const key = keyOf(old);
    if (key !== null) keyed.set(key, old);
  }
  let at = parent.firstChild;
  for (const node of fresh) {
    const kept = keeper(at, node, keyed);
    if (!kept) {
      parent.insertBefore(node, at);
    } else {
      if (kept === at) at = at.nextSibling;
      else parent.insertBefore(kept, at);
      morph(kept, node);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Returns the old node that a new one continues: the one with its key, or the next one if it is alike. */
function keeper(at, fresh, keyed) {
  const key = keyOf(fresh);
  if (key === null) return at && keyOf(at) === null && at.nodeName === fresh.nodeName ? at : null;
  const old = keyed.get(key);
  // A key serves once: a second node with the same key is a new element.
  keyed.delete(key);
  return old?.nodeName === fresh.nodeName ? old : null;
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute("data-key") : null;
}

/** What a user has set belongs to the user: an update does not take it back. */
const ofUser = { DETAILS: ["open"], INPUT: ["value"], TEXTAREA: ["value"], SELECT: ["value"], DIALOG: ["open"] };

function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  const kept = ofUser[old.nodeName] ?? [];
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
  }
  for (const name of Object.keys({ ...old.handlers, ...fresh.handlers })) old[name] = fresh.handlers?.[name] ?? null;
  old.handlers = fresh.handlers;
  if (fresh.dataset?.held !== undefined) old.checked = fresh.dataset.held === "true";
  if (old.nodeName === "TEXTAREA") return;
  patch(old, [...fresh.childNodes]);
}

"""#),
ConsoleFile(name: "events.js", text: #"""
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
const families = ["message", "delivery", "device", "connection", "credential", "receipt", "ledger"];
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

"""#),
ConsoleFile(name: "format.js", text: #"""
// Numbers, times and sizes as text.

import { now as serverTime } from "./time.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const unknown = "–";

export function count(number) {
  return Number.isFinite(number) ? whole.format(number) : unknown;
}

/** A count with its noun: "1 device", "2 devices". */
export function some(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

export function rate(number) {
  if (!Number.isFinite(number)) return unknown;
  return number !== 0 && number < 100 ? tenth.format(number) : whole.format(number);
}

/** A rate on an axis. */
export function tick(number) {
  return short.format(number);
}

export function percent(share) {
  if (!Number.isFinite(share)) return unknown;
  const hundred = share * 100;
  if (hundred > 0 && hundred < 0.1) return "< 0.1 %";
  return `${hundred === 0 || hundred === 100 ? whole.format(hundred) : tenth.format(hundred)} %`;
}

/** A duration in milliseconds, with the precision that its size deserves. */
export function duration(ms) {
  if (!Number.isFinite(ms)) return unknown;
  if (ms === 0) return "0 ms";
  if (ms < 10 && !Number.isInteger(ms)) return `${tenth.format(ms)} ms`;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${tenth.format(seconds)} s`;
  if (seconds < 60) return `${whole.format(seconds)} s`;
  const parts = [["d", 86400], ["h", 3600], ["min", 60]];
  const at = parts.findIndex(([, size]) => seconds >= size);
  const [unit, size] = parts[at];
  const first = Math.floor(seconds / size);
  const next = parts[at + 1];
  const rest = next && first < 10 ? Math.floor((seconds - first * size) / next[1]) : 0;
  return rest ? `${first} ${unit} ${rest} ${next[0]}` : `${first} ${unit}`;
}

export function bytes(number) {
  if (!Number.isFinite(number)) return unknown;
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (number >= 1024 && at < units.length - 1) {
    number /= 1024;
    at += 1;
  }
  return `${at && number < 100 ? tenth.format(number) : whole.format(number)} ${units[at]}`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

/** The time of day in the zone of the browser. */
export function clock(at, withTenths = false) {
  const date = new Date(at);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withTenths ? `${text}.${String(date.getMilliseconds()).padStart(3, "0")}` : text;
}

/** The time of day, with the date unless it is today. */
export function moment(at, withTenths = false) {
  if (!Number.isFinite(at)) return unknown;
  const date = new Date(at);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const isToday = date.toDateString() === new Date(serverTime()).toDateString();
  return isToday ? clock(at, withTenths) : `${day} ${clock(at, withTenths)}`;
}

/** How long ago a time was, or how far away it is. */
export function distance(at, now = serverTime()) {
  if (!Number.isFinite(at)) return unknown;
  // The clocks agree to a second at best.
  if (Math.abs(at - now) < 1000) return "now";
  return at <= now ? `${duration(Math.max(0, now - at))} ago` : `in ${duration(at - now)}`;
}

export function shortID(id) {
  return id && id.length > 12 ? `${id.slice(0, 8)}…` : id;
}

/** The value of a field for a time, in the zone of the browser; empty if there is none. */
export function toInput(at) {
  if (!Number.isFinite(at) || at <= 0) return "";
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${clock(at)}`;
}

/** The time in milliseconds in a field; undefined if it is empty. */
export function ofInput(text) {
  const at = text ? new Date(text).getTime() : NaN;
  return Number.isFinite(at) && at >= 0 ? at : undefined;
}

"""#),
ConsoleFile(name: "forms.css", text: #"""
/* Buttons and forms, and the preview of a notification. */
button,
.button,
input,
select,
textarea {
  font: inherit;
  color: inherit;
  min-height: 40px;
  border-radius: 8px;
  border: 1px solid var(--strong-line);
  background: var(--card);
}

input,
select,
textarea {
  padding: 7px 11px;
  width: 100%;
}

button,
.button {
  display: inline-flex;
  align-items: center;
  padding: 0 15px;
  font-weight: 550;
  cursor: pointer;
  text-decoration: none;
  border-color: var(--line);
}

button:hover,
.button:hover {
  background: var(--sunken);
}

.main:is(button, .button) {
  background: var(--accent);
  border-color: var(--accent);
  color: var(--on-accent);
}

.main:is(button, .button):hover {
  background: color-mix(in srgb, var(--accent) 86%, var(--text));
}

.grave {
  background: var(--bad);
  border-color: var(--bad);
  color: var(--card);
}

.grave:hover {
  background: color-mix(in srgb, var(--bad) 86%, var(--text));
}

.grave.quietly {
  background: none;
  color: var(--bad);
  border-color: color-mix(in srgb, var(--bad) 40%, var(--line));
}

.grave.quietly:hover {
  background: var(--bad-tint);
}

button:disabled {
  opacity: 0.55;
  cursor: default;
}

input[type="checkbox"] {
  width: 24px;
  min-height: 24px;
  height: 24px;
  margin: 2px 0;
  accent-color: var(--accent);
  flex: none;
}

.field {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 5px;
  align-content: start;
  min-width: 0;
}

label,
legend {
  font-size: 0.9rem;
  font-weight: 550;
}

.check {
  display: flex;
  align-items: center;
  gap: 10px;
}

.check label {
  font-weight: 400;
}

fieldset {
  border: 0;
  margin: 0;
  padding: 0;
  display: grid;
  gap: 8px;
}

.form {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 16px;
  align-content: start;
}

.form > .field {
  max-width: 640px;
}

.form > button {
  justify-self: start;
}

legend {
  padding: 0 0 8px;
}

.search {
  display: grid;
  grid-template-columns: minmax(220px, 2fr) repeat(2, minmax(130px, 1fr)) auto;
  gap: 12px;
  align-items: start;
}

.search.wide {
  grid-template-columns: repeat(2, minmax(0, 2fr)) repeat(2, minmax(0, 1fr)) repeat(2, minmax(0, 280px)) auto;
}

/* On narrow screens, a button folds what is asked for seldom. */
.search > .folds {
  display: none;
}

@media (width < 93.75em) {
  .search.wide {
    grid-template-columns: repeat(4, minmax(0, 1fr)) auto;
  }

  .search.wide > .field:nth-child(6) {
    grid-column: 1 / span 2;
  }

  .search.wide > .field:nth-child(7) {
    grid-column: 3 / span 2;
  }
}

.search.short {
  grid-template-columns: minmax(0, 480px) auto;
  justify-content: start;
}

.search > button {
  margin-top: 26px;
}

.buttons,
.pages,
.controls,
.inline {
  display: flex;
  flex-wrap: wrap;
  gap: 10px;
  align-items: center;
}

.controls {
  align-items: end;
  justify-content: space-between;
}

.scale {
  display: flex;
  flex-wrap: wrap;
  gap: 10px;
  align-items: end;
}

.scale input {
  width: 96px;
}

.sign-in pre {
  white-space: pre-wrap;
}

.sign-in {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 20px;
}

/* The preview of a notification */
.preview {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 14px;
}

.screen {
  border-radius: 28px;
  padding: 30px 12px 56px;
  background: linear-gradient(165deg, #0e544d, #123b45 55%, #1d2b3f);
  display: grid;
  gap: 26px;
}

.screen .time {
  text-align: center;
  color: #fff;
  font-size: 3.6rem;
  font-weight: 300;
  letter-spacing: -0.02em;
  line-height: 1;
}

.notification {
  display: grid;
  grid-template-columns: 38px minmax(0, 1fr);
  gap: 11px;
  align-items: center;
  padding: 11px 13px;
  border-radius: 20px;
  background: #eef3f2;
  color: #14201d;
  line-height: 1.3;
}

.notification .words p {
  overflow-wrap: anywhere;
  display: -webkit-box;
  -webkit-box-orient: vertical;
  -webkit-line-clamp: 4;
  overflow: hidden;
}

.notification .words .head {
  display: flex;
  justify-content: space-between;
  gap: 10px;
}

.notification .head span {
  color: #4c5a56;
  font-size: 0.85rem;
}

.app-icon {
  position: relative;
  width: 38px;
  height: 38px;
  border-radius: 9px;
  background: #0b6b62;
  color: #fff;
  font-weight: 650;
  font-size: 1.2rem;
  display: grid;
  place-items: center;
}

.app-icon span {
  position: absolute;
  top: -7px;
  right: -7px;
  min-width: 19px;
  padding: 0 5px;
  border-radius: 10px;
  background: #c4271f;
  font-size: 0.8rem;
  line-height: 19px;
  text-align: center;
}

"""#),
ConsoleFile(name: "gateways.js", text: #"""
// Gateways: connections as they are, the last error, scale, pause and resume.

import { part } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, distance, duration, moment, some } from "./format.js";
import { badge, facts, fault as problemNotice, field, foreign, table } from "./parts.js";
import { advice } from "./words.js";

export const title = "Gateways";
const state = { gateways: null, fault: null, isReading: false };

export async function open(context) {
  context.redraw();
  await read(context);
}

export function forget() {
  Object.assign(state, { gateways: null, fault: null });
}

export function tick(context) {
  read(context);
}

async function read({ client, redraw }) {
  if (state.isReading) return;
  state.isReading = true;
  try {
    state.gateways = (await client.get("/v1/gateways")).gateways;
    state.fault = null;
  } catch (problem) {
    if (!problem.isLost) state.fault = problem;
  } finally {
    state.isReading = false;
  }
  redraw();
}

export function draw(context) {
  const chosen = context.path[0];
  const all = state.gateways?.filter(({ app }) => !chosen || app === chosen);
  return [
    chosen && h("p", { class: "back" }, h("a", { href: "#/gateways" }, "All gateways")),
    h("h1", { tabindex: -1 }, chosen ? `Gateway ${chosen.slice(0, 100)}` : title),
    problemNotice(state.fault, () => read(context)),
    !state.gateways && !state.fault && h("p", { class: "empty" }, "Reading the gateways…"),
    all?.length === 0 && h("div", { class: "empty" }, chosen ? `There is no app ${chosen.slice(0, 100)}.`
      : "There is no app. Add one below apps in the configuration, and reload."),
    all?.map((gateway) => one(context, gateway)),
  ];
}

export function stateBadge(state, isPaused) {
  const kind = isPaused ? "warn" : state === "up" ? "good" : ["connecting", "draining"].includes(state) ? "warn"
    : state === "stopped" ? "idle" : "bad";
  return badge(kind, foreign(state, 48));
}

/** Whether an operator paused the app. A gateway that waits after failed attempts names itself paused, too. */
function isPaused(gateway) {
  return Boolean(gateway.paused_at);
}

function one(context, gateway) {
  // In a cluster, the numbers are those of all nodes together.
  const { app, connections, scale, nodes, fault } = gateway;
  const inFlight = connections.reduce((sum, connection) => sum + connection.in_flight, 0);
  return h("section", { class: "panel gateway", "data-key": `gateway ${app}`, "aria-labelledby": `gateway-${app}` },
    h("div", { class: "title" }, h("h2", { id: `gateway-${app}` }, h("a", { href: `#/gateways/${part(app)}` }, app)),
      stateBadge(gateway.state, isPaused(gateway))),
    fault && h("div", { class: "fault" }, h("p", null, h("strong", null, fault.code.replaceAll("_", " ")),
      ` – ${fault.message}`),
      advice[fault.code] && h("p", { class: "todo" }, advice[fault.code])),
    nodes?.filter((one) => one.fault).map((one) => h("div", { class: "fault warn", "data-key": `missing ${one.node}` },
      h("p", null, `The connections of node ${one.node.slice(0, 100)} are missing: ${one.fault}`))),
    brake(context, app),
    facts(
      ["Environment", gateway.environment], ["Nodes", nodes?.map(partOf)], ["Connections",
        `${count(connections.length)}, from ${scale.min} to ${scale.max}`],
      ["In flight", count(inFlight)], ["Queue", count(gateway.queue)],
        ["Room for", some(gateway.credit, "further notification")],
      ["Paused", gateway.paused_at && `${moment(gateway.paused_at)} (${distance(gateway.paused_at)})`]),
    table({
      caption: `Connections of ${app}`, hideCaption: true, rows: connections,
        key: ({ node, id }) => `${node ?? ""} ${id}`,
        empty: "No connection is open.",
      columns: [
        ...nodes ? [{ name: "Node", class: "first", cell: ({ node }) => node }] : [],
        { name: "Connection", class: nodes ? "number" : "number first", cell: ({ id }) => String(id) },
        { name: "State", cell: (connection) => badge({ open: "good", up: "good", draining: "warn",
          connecting: "warn" }[connection.state] ?? "idle", connection.state) },
        { name: "Address", class: "code", cell: ({ address }) => address },
        { name: "Age", class: "number", cell: ({ age_ms: ms }) => duration(ms) },
        { name: "In flight", class: "number", cell: ({ in_flight: now, stream_limit: limit }) => limit
          ? `${count(now)} of ${count(limit)}` : count(now) },
        { name: "Answered", class: "number", cell: ({ answered }) => count(answered) },
        { name: "Oldest open", class: "number", cell: ({ oldest_unanswered_ms: ms }) => ms === undefined ? null
          : duration(ms) },
        { name: "Ping", class: "number", cell: ({ last_ping_ms: ms }) => ms === undefined ? null : duration(ms) },
        { name: "Last GOAWAY", cell: ({ last_goaway: reason }) => reason },
      ],
    }),
    context.may("operate") && controls(context, gateway, inFlight));
}

/** Shows what a node has of the connections of all. */
function partOf({ node, fault, state, scale }) {
  const name = h("bdi", null, node.slice(0, 100));
  return h("div", { "data-key": `part ${node}` }, name, ": ",
    fault ? "no answer" : [foreign(state, 48), `, ${scale.min} to ${scale.max}`]);
}

/** The brake stops deactivations when the push service rejects so many tokens that a mistake is likelier. */
function brake(context, app) {
  const { client, live, may } = context;
  if (!live.stats?.apps?.find((one) => one.app === app)?.brake_on) return null;
  const release = async () => {
    if (!await ask({ title: `Release the brake of ${app}?`, deed: "Release the brake",
      text: [
        "From now on, each device whose token the push service rejects becomes inactive again.",
        "If the environment or the topic is wrong, that concerns every device to which something is sent.",
      ] })) return;
    await attempt(() => client.json("POST", `/v1/apps/${part(app)}/brake/release`,
      client.emptyBody("POST", "/v1/apps/{app}/brake/release")), (answer) => answer.released
      ? `The brake of ${app} is released.` : `The brake of ${app} was off already.`);
    live.soon(0);
  };
  return h("div", { class: "fault warn", "data-key": `brake ${app}` },
    h("h3", null, badge("warn", "The brake is on: no device is deactivated")),
    h("p", null, "The push service rejected so many tokens at once that a mistake is likelier than so many dead "
      + "devices: a wrong environment (sandbox or production), or a wrong topic. Carillon goes on sending, and deactivates no "
      + "device."),
    h("p", { class: "todo" }, "Check environment and topic of this app against the one that the devices run. When the "
      + "answers are normal again, the brake releases itself after ten minutes. If so many devices are really dead, "
      + "release it."),
    may("operate") && h("div", { class: "buttons" },
      h("a", { class: "button", href: `#/more/configuration?filter=apps.${part(app)}` }, "Show the settings"),
      h("button", { type: "button", class: "grave quietly", onclick: release }, "Release the brake…")));
}

function controls(context, gateway, inFlight) {
  const { client } = context;
  const { app, scale } = gateway;
  const submit = async (event) => {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const [min, max] = ["min", "max"].map((name) => Number(elements[`${name}-${app}`].value));
    if (max < gateway.connections.length && !await ask({
      title: `Scale ${app} down?`, deed: `Scale to ${min}–${max}`,
      text: [
        `${some(gateway.connections.length - max, "connection")} of ${gateway.connections.length} will close.`,
        `The gateway has ${some(inFlight, "request")} in flight; a connection ends its own before it closes.`,
      ],
    })) return;
    await attempt(() => client.json("PUT", `/v1/gateways/${part(app)}/connections`, { min, max }),
      ({ node, scale: now, cluster_scale: all }) => node
        ? `${app} has ${all.min} to ${all.max} connections on all nodes now, ${now.min} to ${now.max} on ${node}.`
        : `${app} has ${now.min} to ${now.max} connections now, until a reload.`);
    read(context);
  };
  const number = (name) => h("input", { id: `${name}-${app}`, name: `${name}-${app}`, type: "number", min: 1,
    max: 1000, required: true, value: scale[name] });
  const paused = isPaused(gateway);
  const verb = paused ? "resume" : "pause";
  const change = async () => {
    if (!await ask(paused
      ? { title: `Resume ${app}?`, deed: `Resume ${app}`, isGrave: false,
        text: [`Sending begins again: ${some(gateway.queue, "notification")} in the queue, and those behind it.`] }
      : { title: `Pause ${app}?`, deed: `Pause ${app}`,
        text: [
          `No new notification of ${app} is sent: ${count(gateway.queue)} in the queue wait.`,
          `${count(inFlight)} in flight end as usual.`,
          "Messages are still accepted. Those that expire meanwhile are not sent. The pause survives a restart.",
        ] })) return;
    await attempt(() => client.json("POST", `/v1/gateways/${part(app)}/${verb}`,
      client.emptyBody("POST", `/v1/gateways/{app}/${verb}`)), `${app} is ${paused ? "resumed" : "paused"}.`);
    read(context);
  };
  return h("div", { class: "controls" },
    h("form", { class: "scale", onsubmit: submit, "aria-label": `Scale ${app}` }, field("At least", number("min")),
      field("At most", number("max")),
      h("button", { type: "submit" }, "Scale")),
    h("button", { type: "button", "data-key": verb, class: paused ? "main" : "grave quietly", onclick: change },
      paused ? "Resume…" : "Pause…"));
}

"""#),
ConsoleFile(name: "icon.svg", text: #"""
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="8" fill="#0b6b62"/>
<path d="M16 6.5c-4.1 0-6.6 3-6.6 7.1v4.6l-1.9 3.1c-.4.7 0 1.4.8 1.4h15.4c.8 0 1.2-.7.8-1.4l-1.9-3.1v-4.6c0-4.1-2.5-7.1-6.6-7.1z" fill="#fff"/>
<circle cx="16" cy="25" r="2.2" fill="#8fe3d6"/>
</svg>

"""#),
ConsoleFile(name: "index.html", text: #"""
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Carillon</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" type="image/svg+xml" href="{assets}/icon.svg">
<link rel="stylesheet" href="{assets}/theme.css">
<link rel="stylesheet" href="{assets}/layout.css">
<link rel="stylesheet" href="{assets}/parts.css">
<link rel="stylesheet" href="{assets}/charts.css">
<link rel="stylesheet" href="{assets}/tables.css">
<link rel="stylesheet" href="{assets}/forms.css">
<link rel="stylesheet" href="{assets}/cluster.css">
<link rel="stylesheet" href="{assets}/narrow.css">
<script type="module" src="{assets}/main.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="brand"><img src="{assets}/icon.svg" alt="" width="24" height="24"> Carillon</p>
<nav id="tabs" aria-label="Tabs"></nav>
<div id="bar"></div>
</header>
<main id="main" tabindex="-1"><noscript><p>The console needs JavaScript. <a href="/readyz">/readyz</a> says whether
notifications can be sent, and <code>carillon stats</code> shows the numbers in a terminal.</p></noscript></main>
<div id="notes" role="log" aria-label="Messages"></div>
<p id="status" class="unseen" role="status" aria-live="polite"></p>
</body>
</html>

"""#),
ConsoleFile(name: "keys.js", text: #"""
// API keys: list, make, rotate, revoke. A secret is shown once, here, and is kept nowhere in the page.

import { part, target } from "./client.js";
import { ask, attempt, show } from "./dialog.js";
import { h } from "./dom.js";
import { distance, moment, some } from "./format.js";
import { badge, check, copyButton, fault, field, options, table } from "./parts.js";

export const title = "API keys";
const roles = [
  ["observe", "look at everything"], ["operate", "observe, and change what runs"],
  ["admin", "operate, and manage keys"],
  ["push", "push and cancel"], ["register", "register and remove devices of its apps, by token"],
];
const overlaps = [["3600000", "one hour"], ["86400000", "one day"], ["604800000", "one week"], ["0", "not at all"]];
const day = 86_400_000;
const state = { keys: null, next: null, loading: "", fault: null };

export async function open({ client, redraw, query }) {
  const loading = `${query}`;
  if (loading !== state.loading) Object.assign(state, { loading, keys: null });
  try {
    const answer = await client.get(target("/v1/keys", { after: query.get("after"), ended: query.get("ended") }));
    if (loading !== state.loading) return;
    Object.assign(state, { keys: answer.keys, next: answer.next, fault: null });
  } catch (problem) {
    if (loading !== state.loading) return;
    Object.assign(state, { fault: problem });
  }
  redraw();
}

export function forget() {
  Object.assign(state, { keys: null, next: null, fault: null });
}

/** Whether the key itself has ended. The successor of a rotated key has its name, and the buttons. */
function isOver({ state: name }) {
  return name !== "active";
}

async function secretShown(name, made) {
  const readonly = (id, value) => h("input", { id, readonly: true, value, class: "code",
    onfocus: (event) => event.currentTarget.select() });
  const text = readonly("made-secret", made.secret);
  await show({ title: name, content: h("div", { class: "form" },
    h("p", null, "The secret is shown this once. Keep it now, where secrets are kept."),
    field("Key id", readonly("made-id", made.key_id)), field("Secret", text),
    copyButton("Copy the secret", () => made.secret)) });
  text.value = "";
}

export function draw(context) {
  const { may, query } = context;
  if (!state.keys) return fault(state.fault, () => open(context)) ?? h("p", { class: "empty" }, "Reading the keys…");
  const isAdmin = may("admin");
  const hasEnded = query.get("ended") === "true";
  return [
    fault(state.fault, () => open(context)),
    table({
      caption: `${some(state.keys.length, "key")}${hasEnded ? ", with those that have ended" : ""}`, rows: state.keys,
      key: ({ key_id: id }) => id, empty: "There is no key. Make the first one with `carillon keys api add`.",
      columns: [
        { name: "Name", cell: ({ name, key_id: id }) => [h("strong", null, name),
          id === context.client.keyID && h("span", { class: "quiet" }, " (yours)")] },
        { name: "State", cell: (key) => badge({ active: "good", rotated: "warn", expired: "warn" }[key.state] ?? "idle",
          key.state === "rotated" && key.overlap_ends_at ? `rotated, ends ${distance(key.overlap_ends_at)}`
            : key.state) },
        { name: "Key id", class: "code id", cell: ({ key_id: id }) => id },
        { name: "Roles", cell: ({ roles: all }) => (all ?? []).join(", ") },
        { name: "Apps", cell: ({ apps }) => apps ? apps.join(", ") : "all" },
        { name: "From", cell: ({ from }) => from?.length ? from.join(", ") : "anywhere" },
        { name: "Expires", class: "number", cell: ({ expires_at: at }) => at
          ? h("span", { title: moment(at) }, distance(at)) : "never" },
        ...(isAdmin ? [{ name: "Change", cell: (key) => isOver(key) ? null : deeds(context, key) }] : []),
      ],
    }),
    h("div", { class: "pages" },
      state.next && h("a", { class: "button", href: target("#/more/keys", { after: state.next,
        ended: query.get("ended") }) }, "Next page"),
      h("a", { href: target("#/more/keys", { ended: hasEnded ? "" : "true" }) },
        hasEnded ? "Only valid keys" : "Also keys that have ended")),
    isAdmin && form(context),
  ];
}

function deeds(context, key) {
  const { client, signOut } = context;
  const isOwn = key.key_id === client.keyID;
  const rotate = async () => {
    const overlap = h("select", { id: "overlap" }, options(overlaps, "3600000"));
    if (!await ask({ title: `Rotate ${key.name}?`, deed: `Rotate ${key.name}`, isGrave: false,
      text: ["A new key id and secret take its place.", field("The old ones still work for", overlap),
        isOwn && "You are signed in with this key. Sign in with the new one before the old one ends."] })) return;
    const overlapMS = Number(overlap.value);
    const made = await attempt(() => client.json("POST", `/v1/keys/${part(key.name)}/rotate`,
      { overlap_ms: overlapMS }));
    if (made) await secretShown(`New secret of ${key.name}`, made);
    if (isOwn && !overlapMS && made) signOut(`You rotated the key ${key.name}. Sign in with its new id and secret.`);
    else open(context);
  };
  const revoke = async () => {
    if (!await ask({ title: `Revoke ${key.name}?`, deed: `Revoke ${key.name}`,
      text: ["Every request that it signs is refused from now on, and its open connections and streams end.",
        `Its roles are ${(key.roles ?? []).join(", ")}. This cannot be undone.`,
        isOwn && "You are signed in with this key: this page signs out."] })) return;
    try {
      // The answer may be lost with the connections of the key.
      await attempt(() => client.json("POST", `/v1/keys/${part(key.name)}/revoke`,
        client.emptyBody("POST", "/v1/keys/{name}/revoke")).catch((problem) => {
        if (!isOwn || !problem.isLost) throw problem;
      }), `${key.name} is revoked.`);
    } finally {
      if (isOwn) await client.get("/v1/caller").catch((problem) => problem.status === 401
        && signOut(`You revoked the key ${key.name}, with which you were signed in.`));
    }
    open(context);
  };
  return h("div", { class: "buttons" }, h("button", { type: "button", onclick: rotate,
    "aria-label": `Rotate ${key.name}` }, "Rotate…"),
    h("button", { type: "button", class: "grave quietly", onclick: revoke, "aria-label": `Revoke ${key.name}` },
      "Revoke…"));
}

function form(context) {
  const { client, live } = context;
  const submit = async (event) => {
    event.preventDefault();
    const target = event.currentTarget;
    const chosen = (name) => [...target.querySelectorAll(`input[data-group="${name}"]:checked`)]
      .map(({ value }) => value);
    const days = Number(target.elements["key-days"].value);
    const from = target.elements["key-from"].value.split(/[\s,]+/).filter(Boolean);
    const body = { name: target.elements["key-name"].value.trim(), roles: chosen("role") };
    if (chosen("app").length) body.apps = chosen("app");
    if (from.length) body.from = from;
    if (days > 0) body.expires_in_ms = days * day;
    if (target.elements["key-bearer"].checked) body.bearer = true;
    const made = await attempt(() => client.json("POST", "/v1/keys", body));
    if (!made) return;
    target.reset();
    target.closest("details").open = false;
    await secretShown(`The key ${body.name}`, made);
    open(context);
  };
  const group = (name, legend, all) => h("fieldset", null, h("legend", null, legend),
    all.map(([value, words]) => check(`key-${name}-${value}`, words, { value, "data-group": name })));
  return h("details", { class: "panel" }, h("summary", null, "Make a key"),
    h("form", { class: "form", onsubmit: submit },
      field("Name", h("input", { id: "key-name", name: "key-name", required: true, maxlength: 64,
        autocomplete: "off", spellcheck: "false" })),
      group("role", "It may", roles.map(([role, words]) => [role, `${role}: ${words}`])),
      group("app", "For these apps; for all, if none is chosen", (live.stats?.apps ?? []).map(({ app }) => [app, app])),
      field("From", h("input", { id: "key-from", name: "key-from", autocomplete: "off" }),
        "Networks, such as 10.0.0.0/8. Empty is anywhere."),
      field("Expires after", h("input", { id: "key-days", name: "key-days", type: "number", min: 1, max: 36500 }),
        "Days. Empty is never."),
      check("key-bearer", "May also be sent as a bearer token, for tools that cannot sign"),
      h("div", { class: "buttons" }, h("button", { class: "main", type: "submit" }, "Make the key"))));
}

"""#),
ConsoleFile(name: "layout.css", text: #"""
/* The frame: the header with its tabs, the main column, and how both fit into 360 pixels. */
header {
  position: sticky;
  top: 0;
  z-index: 2;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0 20px;
  padding: 0 max(24px, calc((100vw - 1680px) / 2));
  min-height: 60px;
  background: var(--card);
  border-bottom: 1px solid var(--line);
}

.brand {
  display: flex;
  align-items: center;
  gap: 10px;
  font-weight: 650;
  font-size: 1.07rem;
  letter-spacing: -0.01em;
}

#tabs[hidden] {
  display: none;
}

#tabs:not([hidden]) {
  display: flex;
  gap: 4px;
  align-self: stretch;
  min-height: 60px;
}

#tabs a {
  display: flex;
  align-items: center;
  padding: 0 12px;
  color: var(--quiet);
  font-weight: 550;
  text-decoration: none;
  box-shadow: inset 0 -2px transparent;
}

#tabs a:hover {
  color: var(--text);
}

#tabs a[aria-current] {
  color: var(--accent);
  box-shadow: inset 0 -2px var(--accent);
}

#bar {
  margin-left: auto;
  display: flex;
  flex-wrap: wrap;
  justify-content: flex-end;
  padding: 8px 0;
  align-items: center;
  gap: 8px;
}

#bar .live,
#bar .alarm {
  margin-right: 8px;
  white-space: nowrap;
}

#bar .alarm {
  padding: 4px 12px;
  border-radius: 99px;
  color: var(--text);
  text-decoration: none;
}

#bar .alarm.bad { background: var(--bad-tint); }
#bar .alarm.warn { background: var(--warn-tint); }

#bar button {
  border-color: transparent;
  background: none;
  color: var(--quiet);
  font-size: 0.9rem;
  padding: 0 10px;
  white-space: nowrap;
}

#bar button svg {
  margin-right: 7px;
  fill: currentcolor;
}

#bar .sky {
  fill: none;
  stroke: currentcolor;
  stroke-width: 1.4;
}

#bar button:hover {
  background: var(--sunken);
  color: var(--text);
}

main {
  max-width: 1728px;
  margin: 0 auto;
  padding: 32px 24px 64px;
}

main,
.view {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: var(--gap);
  align-content: start;
}

.skip {
  position: fixed;
  top: -60px;
  left: 16px;
  z-index: 4;
  padding: 10px 16px;
  border-radius: 8px;
  background: var(--accent);
  color: var(--on-accent);
}

.skip:focus {
  top: 10px;
}

.title {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  justify-content: space-between;
  gap: 12px;
}

.columns,
.cards {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr));
  gap: var(--gap);
  align-items: start;
}

.view > section:not(.view) {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 14px;
}

.view > section.tiles {
  grid-template-columns: repeat(4, minmax(0, 1fr));
  gap: var(--gap);
}

.compose {
  display: grid;
  grid-template-columns: minmax(0, 680px) minmax(300px, 380px);
  gap: var(--gap);
  align-items: start;
}

.sign-in {
  width: min(100%, 400px);
  margin: 8vh auto 0;
}

.back {
  margin-bottom: -12px;
}

.back a::before {
  content: "← ";
}

#notes {
  position: fixed;
  right: 20px;
  bottom: 20px;
  z-index: 3;
  display: grid;
  gap: 10px;
  width: min(420px, calc(100vw - 40px));
}

@media (width < 80em) {
  header {
    gap: 0 12px;
  }

  #tabs a {
    padding: 0 10px;
  }

  #bar button {
    padding: 0 7px;
  }

  .view > section.tiles {
    grid-template-columns: repeat(2, minmax(0, 1fr));
  }
}

@media (width < 62.5em) {
  header {
    padding: 0 16px;
    gap: 0 12px;
  }

  #tabs:not([hidden]) {
    order: 3;
    flex: 1 0 100%;
    justify-content: space-between;
    min-height: 0;
    margin: 0 -8px;
    overflow-x: auto;
    scrollbar-width: none;
  }

  #tabs a {
    padding: 10px 8px 12px;
  }

  main {
    padding: 20px 16px 56px;
  }
}

@media (width < 45em) {
  .view > section.tiles {
    grid-template-columns: minmax(0, 1fr);
  }

  .compose {
    grid-template-columns: minmax(0, 1fr);
  }
}

@media (width < 35em) {
  h1 {
    font-size: 1.35rem;
  }

  header {
    gap: 0 8px;
  }

  #bar {
    flex: 1;
    gap: 2px;
    margin-right: -8px;
    padding: 6px 0 2px;
  }

  #bar .live {
    margin: 0;
    white-space: normal;
  }

  #bar .alarm {
    margin: 0;
    padding: 4px 8px;
  }

  #bar button {
    padding: 0 7px;
    font-size: 0.85rem;
  }

  /* The names of these buttons are in their labels. */
  #bar button .word {
    display: none;
  }

  #bar button svg {
    margin: 0;
  }

  #tabs a {
    padding: 8px 4px 10px;
    font-size: 0.8rem;
  }
}

@media (width < 22em) {
  body[data-signed="in"] .brand {
    display: none;
  }
}

"""#),
ConsoleFile(name: "live.js", text: #"""
// The state of this Carillon, read every two seconds while somebody looks.

import { History } from "./rates.js";
import { learn } from "./time.js";

const interval = 2000;
const timeout = 6000;

export class Live {
  constructor(client, onChange) {
    Object.assign(this, { client, onChange, history: new History(), stats: null, readiness: null, credentials: null });
    // One of: starting, live, paused, reconnecting, busy, refused.
    this.state = "starting";
    this.isPaused = false;
    this.wait = interval;
    this.failure = null;
    this.since = Date.now();
    this.onVisible = () => document.visibilityState === "visible" && this.soon(0);
    document.addEventListener("visibilitychange", this.onVisible);
    this.soon(0);
  }

  end() {
    this.isOver = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.onVisible);
  }

  soon(delay) {
    clearTimeout(this.timer);
    if (!this.isOver) this.timer = setTimeout(() => this.read(), delay);
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    this.set(isPaused ? "paused" : "starting");
    if (!isPaused) this.soon(0);
  }

  set(state) {
    if (this.state !== state) this.since = Date.now();
    this.state = state;
    this.onChange();
  }

  async read() {
    if (this.isOver || this.isPaused || this.isReading || document.visibilityState === "hidden") return;
    this.isReading = true;
    const sentAt = Date.now();
    try {
      const [stats, readiness] = await Promise.all([this.client.get(this.place(), { timeout }), this.ready()]);
      if (this.isPaused || this.isOver) return;
      learn(stats.taken_at, sentAt);
      const isNew = this.stats && this.stats.started_at !== stats.started_at;
      this.hasRestarted ||= Boolean(isNew);
      this.isOtherVersion ||= Boolean(isNew && this.stats.version !== stats.version);
      Object.assign(this, { stats, readiness, failure: null, wait: interval });
      this.history.add(stats);
      this.set("live");
      this.readCredentials();
      this.readCluster(stats.started_at);
    } catch (problem) {
      this.failure = problem;
      this.wait = problem.retryAfter ? Math.min(problem.retryAfter * 1000, 60_000)
        : problem.isLost ? Math.min(this.wait * 1.5, 10_000) : 10_000;
      const state = problem.isBusy ? "busy" : problem.isLost || problem.status >= 500 ? "reconnecting" : "refused";
      if (!this.isOver && !this.isPaused) this.set(state);
    } finally {
      this.isReading = false;
      this.soon(this.state === "reconnecting" && this.wait < 4000 ? 1000 : this.wait);
    }
  }

  /** A key that is limited to some apps has no past. */
  place() {
    return this.history.wantsPast ? "/v1/stats?history=true" : "/v1/stats";
  }

  /** The readiness. Its answer has the status 503 if pushes cannot be sent, with the same body. */
  async ready() {
    const answer = await this.client.fetched("/readyz", { timeout });
    return answer.status === 200 || answer.status === 503 ? answer.json().catch(() => null) : null;
  }

  /** Credentials change seldom: they are read once a minute, by keys that may see them. */
  async readCredentials() {
    if (!this.client.offers("GET", "/v1/credentials") || Date.now() - (this.credentialsReadAt ?? 0) < 60_000) return;
    this.credentialsReadAt = Date.now();
    try {
      this.credentials = (await this.client.get("/v1/credentials")).credentials ?? null;
      this.onChange();
    } catch {
      this.credentials = null;
    }
  }

  /** Whether there is a cluster. It changes with a restart only, so that it is asked once for each. */
  async readCluster(startedAt) {
    if (this.clusterAskedOf === startedAt || !this.client.offers("GET", "/v1/cluster")) return;
    this.clusterAskedOf = startedAt;
    try {
      this.isCluster = Boolean((await this.client.get("/v1/cluster")).cluster);
      this.onChange();
    } catch {
      this.clusterAskedOf = null;
    }
  }
}

"""#),
ConsoleFile(name: "main.js", text: #"""
// The console: sign-in, addresses, and the drawing of the page.

import * as bar from "./bar.js";
import { Client } from "./client.js";
import { h, patch } from "./dom.js";
import { note } from "./dialog.js";
import { clock } from "./format.js";
import { Live } from "./live.js";
import { badge } from "./parts.js";
import { refusalWords, signInForm, waitingForm } from "./signin.js";
import * as vault from "./vault.js";
import * as cluster from "./cluster.js";
import * as devices from "./devices.js";
import * as gateways from "./gateways.js";
import * as messages from "./messages.js";
import * as more from "./more.js";
import * as overview from "./overview.js";

const views = { overview, devices, messages, gateways, cluster, more };
const main = document.getElementById("main");
const tabs = document.getElementById("tabs");
const user = { client: null, caller: null, live: null };
let route = { name: "overview", path: [], query: new URLSearchParams() };
let isDrawn = false;

function readRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { name: Object.hasOwn(views, name ?? "") ? name : "overview", path: rest,
    query: new URLSearchParams(query ?? "") };
}

function context() {
  return {
    ...route, ...user, redraw: draw, signOut,
    // A key for several apps searches in one at a time; the server refuses to search in all.
    onlyApps: user.caller?.apps ?? null,
    app: route.query.get("app") || (user.caller?.apps?.length > 1 ? user.caller.apps[0] : null),
    may: (role) => Boolean(user.caller?.roles.includes(role)),
    go: (hash, isReplacement) => {
      if (hash === location.hash) return changed();
      return isReplacement ? location.replace(hash) : location.assign(hash);
    },
  };
}

/** Draws in the next frame, however often it is asked to. */
function draw() {
  if (isDrawn || !user.client) return;
  isDrawn = true;
  const work = () => {
    isDrawn = false;
    if (!user.client) return;
    patch(main, page());
    drawTabs();
    drawBar();
  };
  // A hidden page has no frames.
  if (document.visibilityState === "hidden") setTimeout(work, 100);
  else requestAnimationFrame(work);
}

/** The page of the address, below what is to be known about its values. */
function page() {
  const { state, stats, failure } = user.live;
  const age = stats ? `These are the values of ${clock(stats.taken_at)}. ` : "";
  const words = {
    reconnecting: `Carillon does not answer. ${age}The page tries again by itself.`,
    busy: `${failure?.detail ?? "Carillon is busy."} ${age}The page tries again by itself.`,
    refused: failure?.detail,
  }[state];
  return [
    words && h("p", { class: "notice warn", "data-key": "connection" }, badge("warn", words)),
    h("div", { class: "view", "data-key": `view ${route.name} ${route.path.join("/")}` },
      views[route.name].draw(context())),
  ];
}

function changed() {
  const before = route;
  route = readRoute();
  if (!user.client) return;
  if (before.name !== route.name) views[before.name].close?.();
  tabs.hidden = false;
  drawTabs();
  // Another page begins at its heading; another filter of the same page leaves the focus where it is.
  const isOther = before.name !== route.name || before.path.join("/") !== route.path.join("/");
  patch(main, page());
  drawBar();
  if (isOther) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  for (const control of main.querySelectorAll("[data-address]")) control.value = control.dataset.address;
  views[route.name].open?.(context());
}

function drawTabs() {
  const shown = Object.entries(views).filter(([, view]) => view.isOffered?.(user) ?? true);
  patch(tabs, shown.map(([name, { title }]) =>
    h("a", { href: `#/${name}`, "aria-current": name === route.name && "page" }, title)));
}

function drawBar() {
  const place = [...route.path.slice(-1), views[route.name].title].join(" – ");
  bar.draw({ ...user, place, signOut: () => signOut() });
}

// MARK: Sign-in

function showSignIn(words, focused) {
  document.title = "Sign in – Carillon";
  document.body.dataset.signed = "out";
  tabs.hidden = true;
  patch(main, [signInForm({ words, signIn, refuse: showSignIn })]);
  bar.draw(user);
  (document.getElementById(focused ?? "key-id") ?? main.querySelector("h1")).focus();
}

/** Signs in, or says why not. While Carillon does not answer, it tries again. */
async function signIn(keyID, key, isKept) {
  let isOver = false;
  const cancel = () => {
    isOver = true;
    vault.forget().catch(() => {});
    showSignIn();
  };
  const client = new Client(keyID, key, (problem) => user.client === client && signOut(refusalWords(problem)));
  let caller = null;
  for (let wait = 500; !caller; wait = Math.min(2 * wait, 5000)) {
    try {
      caller = await client.get("/v1/caller");
    } catch (problem) {
      if (isOver) return;
      if (!problem.isLost && !problem.isBusy) {
        vault.forget().catch(() => {});
        showSignIn(problem.status === 401 && problem.code !== "clock_skew"
          ? "Carillon does not accept this key id with this secret." : problem.detail, "key-id");
        return;
      }
      patch(main, [waitingForm(problem, cancel)]);
      await new Promise((resolve) => setTimeout(resolve, Math.max(wait, 1000 * (problem.retryAfter ?? 0))));
      if (isOver) return;
    }
  }
  if (!caller.roles.includes("observe")) {
    showSignIn(`The key ${caller.name} may not look at anything: the console needs the role observe.`, "key-id");
    return;
  }
  await client.learn();
  if (isOver) return;
  const isForgotten = isKept && !await vault.keep(keyID, key).then(() => true, () => false);
  main.replaceChildren();
  Object.assign(user, { client, caller, live: new Live(client, onLive) });
  document.body.dataset.signed = "in";
  changed();
  if (isForgotten) note("This browser blocks storage: the sign-in lasts until the page is loaded again.", true);
}

function onLive() {
  // An update that does not change the page costs nothing; the open view may read its own values.
  if (["live", "paused"].includes(user.live?.state)) views[route.name].tick?.(context());
  draw();
}

function signOut(words) {
  user.live?.end();
  views[route.name].close?.();
  for (const view of Object.values(views)) view.forget?.();
  Object.assign(user, { client: null, caller: null, live: null });
  vault.forget().catch(() => {});
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
  document.getElementById("notes").replaceChildren();
  bar.say("Signed out.");
  showSignIn(words);
}

addEventListener("hashchange", changed);
// The address is of the tab, so that the link cannot be an ordinary fragment.
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  main.focus();
};
bar.begin();
route = readRoute();
const kept = await vault.kept().catch(() => null);
if (kept) await signIn(kept.keyID, kept.key, false);
else showSignIn();

"""#),
ConsoleFile(name: "message.js", text: #"""
// One message: its audience and options, how far its deliveries have come, its story, and its cancellation.

import { funnel, shares } from "./chart.js";
import { part, Problem, target } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, distance, duration, moment, some } from "./format.js";
import { badge, facts, fault, foreign, notice } from "./parts.js";
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
  ["suppressed", "Suppressed", "idle"], ["cancelled", "Cancelled", "idle"], ["unknown", "Unknown", "warn"],
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
        ["State", stateOf(message)], ["Because", message.obstacle && obstacleText(message.obstacle)], ["App", h("a", { href: `#/gateways/${part(message.app)}` }, message.app)],
        ["Audience", foreign(audienceText(message), 500)],
        ["From", message.client], ["Accepted", message.accepted_at && moment(message.accepted_at)],
        ["Completed", message.completed_at
          && `${moment(message.completed_at)}, after ${duration(message.completed_at - message.accepted_at)}`],
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
    message && h("section", { "aria-labelledby": "story-title" }, h("h2", { id: "story-title" }, "Story"),
      h("p", { class: "help" }, "What the message said is not here: Carillon keeps a payload until it is sent, and shows it "
        + "to nobody."),
      story({ trace: trace ?? (state.fault && { events: [] }), about: "message", shown: state.shown, more: (shown) => {
        state.shown = shown;
        redraw();
      } })),
  ];
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

"""#),
ConsoleFile(name: "messages.js", text: #"""
// Messages: found by id, user, app, state and time of acceptance.

import { part, target } from "./client.js";
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

/** The page of an address: the list, a test, a message, or its deliveries. */
function page({ path }) {
  if (path[0] === "new") return compose;
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
  for (const one of [message, deliveries, compose]) one.forget();
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

"""#),
ConsoleFile(name: "more.js", text: #"""
// More: live events, credentials, the configuration in force, keys. Each is a page of its own.

import * as configuration from "./configuration.js";
import * as credentials from "./credentials.js";
import { h } from "./dom.js";
import * as events from "./events.js";
import * as keys from "./keys.js";

export const title = "More";
const parts = { events, credentials, configuration, keys };

function chosen({ path }) {
  return Object.hasOwn(parts, path[0] ?? "") ? path[0] : "events";
}

/** What a key may not see is not offered: keys are for admins, and the configuration is not for keys of some apps. */
function offered({ may, onlyApps }) {
  return Object.keys(parts).filter((name) => name === "keys" ? may("admin") && !onlyApps
    : name === "configuration" ? !onlyApps : true);
}

export function open(context) {
  const name = chosen(context);
  if (name !== "events") events.close();
  return parts[name].open(context);
}

export function close() {
  events.close();
}

export function forget() {
  for (const one of Object.values(parts)) one.forget();
}

export function tick(context) {
  parts[chosen(context)].tick?.(context);
}

export function draw(context) {
  const name = chosen(context);
  return [
    h("h1", { tabindex: -1 }, title),
    h("nav", { class: "parts", "aria-label": "Parts of More" }, offered(context).map((one) =>
      h("a", { href: `#/more/${one}`, "aria-current": one === name && "page" }, parts[one].title))),
    parts[name].draw(context),
  ];
}

"""#),
ConsoleFile(name: "narrow.css", text: #"""
/* Narrow screens: a row of a table is a card. */
@media (width < 47.5em) {
  .search,
  .search.wide,
  .search.short {
    grid-template-columns: 1fr 1fr;
  }

  .search.wide > .field:is(:nth-child(3), :nth-child(6), :nth-child(7)) {
    grid-column: 1 / -1;
  }

  .search > .folds {
    display: inline-flex;
    justify-content: center;
    margin-top: 0;
  }

  .search.folded > .field:not(:first-child) {
    display: none;
  }

  .selection {
    position: static;
  }

  .search > .field:first-child {
    grid-column: 1 / -1;
  }

  .search.short {
    grid-template-columns: minmax(0, 1fr) auto;
    align-items: start;
  }

  .search.short > .field:first-child {
    grid-column: auto;
  }

  nav.parts,
  .quick[role="group"] {
    flex-wrap: nowrap;
    overflow-x: auto;
    scrollbar-width: none;
    white-space: nowrap;
  }

  .search > .main {
    margin-top: 0;
    grid-column: 1 / -1;
    justify-content: center;
  }

  .search.folded > .main,
  .search.short > .main {
    grid-column: auto;
  }

  .search.short > .main {
    margin-top: 26px;
  }

  .search:not(.folded) > .folds {
    grid-column: 1 / -1;
  }

  table[role] thead {
    position: absolute;
    width: 1px;
    height: 1px;
    overflow: hidden;
    clip-path: inset(50%);
  }

  table[role],
  table[role] tbody,
  table[role] caption {
    display: block;
  }

  table[role] caption {
    padding: 14px 16px 2px;
  }

  .facts {
    grid-template-columns: repeat(auto-fill, minmax(min(100%, 118px), 1fr));
  }

  table[role] tr {
    display: grid;
    grid-template-columns: repeat(2, minmax(0, 1fr));
    gap: 8px 16px;
    padding: 14px 16px;
    border-top: 1px solid var(--line);
  }

  table[role] tbody tr:first-child {
    border-top: 0;
  }

  table[role] :is(th, td) {
    display: block;
    padding: 0;
    border: 0;
    text-align: left;
    white-space: normal;
  }

  table[role] tbody th {
    grid-column: 1 / -1;
    font-weight: 600;
  }

  table[role] td::before {
    content: attr(data-name);
    display: block;
    font-family: var(--face);
    color: var(--quiet);
    font-size: 0.82rem;
  }

  .story li,
  .stream li {
    grid-template-columns: minmax(0, 1fr) auto;
  }

  .story li > div,
  .stream li > div {
    grid-column: 1 / -1;
    order: 2;
  }

  .stream .topic {
    order: 1;
    grid-column: 1 / -1;
  }

  .story,
  .stream {
    padding: 4px 16px;
  }

  :is(.story, .stream) .links {
    justify-content: flex-start;
    padding-left: 20px;
  }

  .selectable tr {
    position: relative;
  }

  .selectable td.select {
    position: absolute;
    top: 10px;
    right: 14px;
    width: auto;
  }

  .selectable td.select::before {
    display: none;
  }

  .selectable tbody .select + th {
    padding: 0 44px 0 0;
  }

  li > details[open] {
    order: 3;
  }

  .panel,
  .chart,
  .verdict {
    padding: 16px;
  }

  .panel > table[role] {
    margin-inline: -16px;
    width: calc(100% + 32px);
  }
}

"""#),
ConsoleFile(name: "overview.js", text: #"""
// Overview: is it healthy, and if not, why.

import { alarms } from "./alarms.js";
import { chart, shares } from "./chart.js";
import { part } from "./client.js";
import { h } from "./dom.js";
import { bytes, count, distance, duration, moment, percent, rate, some, tick } from "./format.js";
import { stateBadge } from "./gateways.js";
import { badge, facts, table } from "./parts.js";
import { oldest, total } from "./rates.js";

export const title = "Overview";

export function draw({ live, redraw, may }) {
  const { stats } = live;
  if (!stats) return [h("h1", { tabindex: -1 }, title),
    h("p", { class: "empty" }, live.failure?.detail ?? "Reading the statistics…")];
  return [
    h("h1", { tabindex: -1 }, title),
    verdict(live),
    firstSteps(stats, may),
    h("section", { class: "tiles", "aria-label": "Rates of the last 15 minutes" }, charts(live, redraw)),
    h("section", { "aria-labelledby": "apps-title" }, h("h2", { id: "apps-title" }, "Apps"), apps(live)),
    h("div", { class: "columns" }, outcomes(stats), storage(stats)),
  ];
}

function verdict(live) {
  const found = alarms(live);
  const { stats } = live;
  const isBad = found.some(({ kind }) => kind === "bad");
  const none = (stats.apps ?? []).length === 0;
  const [kind, words] = none ? ["idle", "No app is configured"]
    : isBad && !stats.ready ? ["bad", "Some notifications cannot be sent"]
    : found.length ? ["warn", "Notifications are being sent; something needs attention"]
    : ["good", "All is well: notifications can be sent"];
  const waiting = stats.backlog?.waiting ?? 0;
  const age = oldest(stats);
  return h("section", { class: `verdict ${kind}`, "aria-labelledby": "verdict-title" },
    h("h2", { id: "verdict-title" }, badge(kind, words)),
    h("p", { class: "quiet" }, [`Version ${stats.version ?? "unknown"}`,
      `running for ${duration(stats.taken_at - stats.started_at)}`,
      waiting ? `${some(waiting, "message")} waiting${age ? `, the oldest for ${duration(age)}` : ""}`
        : "nothing is waiting"].join(" · ")),
    live.isOtherVersion && h("p", null, "Carillon was updated since this page was opened. ",
      h("a", { href: "/", onclick: () => location.reload() }, "Load the page again"), " to see its new version."),
    found.length > 0 && h("ul", { class: "alarms" }, found.map(
      (alarm) => h("li", { class: alarm.kind, "data-key": alarm.title },
      h("h3", null, badge(alarm.kind, alarm.title)), h("p", null, alarm.text),
      (alarm.todo || alarm.link) && h("p", { class: "todo" }, alarm.todo && `${alarm.todo} `,
        alarm.link && h("a", { href: alarm.link[0] }, alarm.link[1]))))));
}

/** What a new Carillon needs before its first notification; nothing once one was sent. */
function firstSteps(stats, may) {
  const apps = stats.apps ?? [];
  const [hasApp, hasDevice, hasSent] = [apps.length > 0, stats.registry?.devices > 0, total(stats, "sent") > 0];
  if (hasSent || (hasDevice && stats.intake?.accepted > 0)) return null;
  const step = (isDone, name, ...text) => h("li", null, badge(isDone ? "good" : "idle", h("strong", null, name),
    isDone && h("span", { class: "unseen" }, " (done)")), h("p", null, text));
  return h("section", { class: "panel", "aria-labelledby": "steps-title" },
    h("h2", { id: "steps-title" }, "First steps"),
    h("ol", { class: "steps" },
      step(hasApp, "Configure an app", hasApp
        ? `${apps.map(({ app }) => app).slice(0, 5).join(", ")}${apps.length > 5 ? " and others" : ""}`
        : "Add it below apps in the configuration, with its topic and its credential, and reload."),
      step(hasDevice, "Register a device", hasDevice ? `${some(stats.registry.devices, "device")}`
        : "Apps do so with POST /v1/apps/{app}/devices and a key of the role register; carillon devices import reads a "
          + "file."),
      step(false, "Send a notification", may("push")
        ? [h("a", { href: "#/messages/new" }, "Send a test"), " to one of your devices."]
        : "Over ZeroMQ, with POST /v1/messages, or as a test from here with a key of the role push.")));
}

function charts({ history }, redraw) {
  const { points } = history;
  const perSecond = (value) => Number.isFinite(value) ? `${rate(value)}/s` : "–";
  const common = { points, redraw };
  return [
    chart({ ...common, id: "intake", title: "Accepted messages", reading: perSecond, axis: tick,
      series: [{ key: "accepted", name: "accepted", main: true }, { key: "refused", name: "rejected" }] }),
    chart({ ...common, id: "sent", title: "Notifications", reading: perSecond, axis: tick,
      series: [{ key: "sent", name: "sent", main: true }, { key: "rejected", name: "rejected" }] }),
    chart({ ...common, id: "latency", title: "From acceptance to answer", reading: duration, axis: duration,
      series: [{ key: "p50", name: "half within", main: true }, { key: "p99", name: "99 % within" }] }),
    backlog(common),
  ];
}

function backlog(common) {
  const age = common.points.at(-1)?.oldest;
  return chart({ ...common, id: "backlog", title: "Waiting messages", reading: count, axis: tick,
    isWhole: true,
    help: Number.isFinite(age) && age > 0 ? `the oldest waits for ${duration(age)}` : null,
    series: [{ key: "waiting", name: "waiting", main: true },
      { key: "scheduled", name: "scheduled", isSilent: true }] });
}

function apps({ stats, history }) {
  const now = (app, name) => history.apps.get(app.app)?.[name];
  return table({
    caption: "Apps, with the rates of the last two seconds", hideCaption: true, rows: stats.apps ?? [],
      key: (app) => app.app,
    empty: "There is no app. Add one below apps in the configuration.",
    columns: [
      { name: "App", cell: (app) => h("a", { href: `#/gateways/${part(app.app)}` }, app.app) },
      { name: "State", cell: (app) => stateBadge(app.state, /^paused by an operator/.test(app.state)) },
      { name: "Environment", cell: (app) => app.environment },
      { name: "Connections", class: "number", cell: (app) => count(app.connections) },
      { name: "In flight", class: "number", cell: (app) => count(app.in_flight) },
      { name: "Queue", class: "number", cell: (app) => count(app.queue) },
      { name: "Sent/s", class: "number", cell: (app) => rate(now(app, "sent")) },
      { name: "Rejected/s", class: "number", cell: (app) => rate(now(app, "rejected")) },
      { name: "Retries/s", class: "number", cell: (app) => rate(now(app, "retries")) },
      { name: "99 % within", class: "number", cell: (app) => duration(now(app, "p99") ?? NaN) },
    ],
  });
}

const outcomeNames = [
  ["sent", "Sent", "good"], ["rejected", "Rejected by the push service", "bad"], ["expired", "Expired", "warn"],
  ["suppressed", "Suppressed: inactive or a duplicate", "idle"], ["cancelled", "Cancelled", "idle"],
  ["unknown", "Outcome unknown", "warn"],
];
const seenNames = [["displayed", "Displayed on devices", "good"], ["opened", "Opened by users", "good"]];

function outcomes(stats) {
  const all = outcomeNames.map(([key, name, kind]) => ({ key, name, kind, number: total(stats, key) }))
    .filter(({ key, number }) => number || !["cancelled"].includes(key));
  const sum = all.reduce((some, { number }) => some + number, 0);
  const sent = total(stats, "sent");
  const seen = seenNames.map(([key, name, kind]) => ({ name, kind, number: total(stats, key), of: sent }))
    .filter(({ number }) => number);
  return h("section", { class: "panel", "aria-labelledby": "outcomes-title" },
    h("h2", { id: "outcomes-title" }, "Outcomes since the start"),
    shares(all),
    h("table", { class: "plain" }, h("caption", { class: "unseen" }, "Deliveries by outcome"),
      h("thead", { class: "unseen" }, h("tr", null, ["Outcome", "Count", "Share"].map(
        (name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, [...all, ...seen].map(({ name, number, kind, of = sum }) => h("tr", null,
        h("th", { scope: "row" }, badge(kind, name)), h("td", { class: "number" }, count(number)),
        h("td", { class: "number quiet" }, of ? percent(number / of) : "–"))))));
}

function storage({ ledger, registry, events, backlog, started_at: startedAt, taken_at: takenAt }) {
  return h("section", { class: "panel", "aria-labelledby": "storage-title" },
    h("h2", { id: "storage-title" }, "Storage"),
    facts(
      ["Registered devices", registry && count(registry.devices)],
      ["Inactive devices", registry && count(registry.inactive)],
      ["Events kept", ledger && Number.isFinite(ledger.newest) && count(ledger.newest - ledger.oldest + 1)],
      ["Event log", ledger && bytes(ledger.bytes)],
      ["Last commit", Number.isFinite(ledger?.last_commit_ms) && duration(ledger.last_commit_ms)],
      ["Subscriptions", events && count(events.subscriptions)],
      ["Next scheduled", backlog?.next_due_at && distance(backlog.next_due_at, takenAt)],
      ["Started", moment(startedAt)],
    ));
}

"""#),
ConsoleFile(name: "parts.css", text: #"""
/* What the pages are made of. */
.panel,
.chart,
.verdict,
.view > section:not(.panel) > table[role],
.view > table[role] {
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: var(--radius);
  box-shadow: var(--shadow);
}

.panel,
.chart,
.verdict {
  padding: 20px;
}

.panel {
  display: grid;
  grid-template-columns: minmax(0, 1fr);
  gap: 16px;
  align-content: start;
}

.panel > table[role] {
  margin: 0 -20px;
  width: calc(100% + 40px);
  border-top: 1px solid var(--line);
  border-bottom: 1px solid var(--line);
}

.panel > table[role] caption {
  padding: 10px 20px;
}

.title h2 .badge {
  margin-left: 10px;
  font-weight: 400;
}

.panel > table[role]:last-child {
  border-bottom: 0;
  margin-bottom: -20px;
}

/* Badges */
.badge {
  display: inline-flex;
  align-items: baseline;
  gap: 8px;
}

.badge > span {
  min-width: 0;
}

:is(li, dd, .notice) .badge {
  overflow-wrap: anywhere;
}

.badge svg {
  flex: none;
  fill: currentcolor;
  position: relative;
  top: 1px;
}

.badge .ring {
  fill: none;
  stroke: currentcolor;
  stroke-width: 1.8;
}

.badge.good svg { color: var(--good); }
.badge.warn svg { color: var(--warn); }
.badge.bad svg { color: var(--bad); }
.badge.idle svg { color: var(--idle); }

/* Verdict */
.verdict h2 {
  font-size: 1.27rem;
}

.verdict h2 .badge svg {
  width: 15px;
  height: 15px;
}

.verdict > .quiet {
  margin-top: -8px;
}

.verdict.bad { border-color: color-mix(in srgb, var(--bad) 45%, var(--line)); }
.verdict.warn { border-color: color-mix(in srgb, var(--warn) 45%, var(--line)); }

.alarms {
  display: grid;
  gap: 10px;
}

.alarms li {
  padding: 14px 16px;
  border-radius: 8px;
  display: grid;
  gap: 4px;
  overflow-wrap: anywhere;
}

.alarms .bad { background: var(--bad-tint); }
.alarms .warn { background: var(--warn-tint); }

.alarms p,
.fault p {
  max-width: 130ch;
}

.todo {
  color: var(--text);
}

.todo a {
  display: inline-block;
}

.notice {
  padding: 12px 16px;
  border-radius: 8px;
  background: var(--warn-tint);
  overflow-wrap: anywhere;
}

.notice:is(.failed, .bad) {
  background: var(--bad-tint);
}

.notice.failed {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  justify-content: space-between;
  gap: 8px 16px;
}

.fault.warn {
  background: var(--warn-tint);
}

.reasons {
  display: grid;
  gap: 6px;
  overflow-wrap: anywhere;
}

.steps {
  display: grid;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 260px), 1fr));
  gap: 16px 28px;
}

.steps p {
  margin-top: 4px;
  padding-left: 20px;
  color: var(--quiet);
}

.selection {
  position: sticky;
  top: 68px;
  z-index: 1;
  padding: 10px 16px;
  border: 1px solid var(--accent);
  border-radius: var(--radius);
  background: var(--tint);
}

.view > section.selection {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  justify-content: space-between;
}

.quick {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 6px 18px;
}

.quick a {
  min-height: 24px;
}

.quick a[aria-current] {
  color: var(--text);
  font-weight: 600;
  text-decoration-color: currentcolor;
}

.fault {
  padding: 14px 16px;
  border-radius: 8px;
  background: var(--bad-tint);
  display: grid;
  gap: 4px;
  overflow-wrap: anywhere;
}

.empty {
  display: grid;
  gap: 6px;
  padding: 40px 20px;
  text-align: center;
  color: var(--quiet);
  border: 1px dashed var(--line);
  border-radius: var(--radius);
}

/* Facts */
.facts {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 150px), 1fr));
  gap: 14px 24px;
}

.facts > div:only-child {
  grid-column: 1 / -1;
}

.facts .print {
  white-space: nowrap;
}

.facts button {
  min-height: 26px;
  padding: 0 10px;
  font-size: 0.85rem;
}

.facts dt {
  font-size: 0.85rem;
}

.facts dd {
  overflow-wrap: anywhere;
}

.facts.small {
  gap: 6px 20px;
  padding: 10px 0 4px;
}

/* Dialogs and notes */
dialog {
  width: min(480px, calc(100vw - 32px));
  border: 1px solid var(--line);
  border-radius: 16px;
  padding: 24px;
  background: var(--card);
  color: var(--text);
  box-shadow: 0 20px 60px rgb(0 0 0 / 30%);
}

dialog::backdrop {
  background: rgb(8 16 14 / 45%);
}

dialog[open] {
  display: grid;
  gap: 14px;
}

dialog > div {
  display: grid;
  gap: 10px;
}

dialog > div > button {
  justify-self: start;
}

dialog .buttons {
  display: flex;
  justify-content: flex-end;
  margin-top: 8px;
}

.note {
  display: flex;
  justify-content: space-between;
  align-items: start;
  gap: 12px;
  padding: 12px 8px 12px 18px;
  border-radius: var(--radius);
  background: var(--text);
  color: var(--page);
  box-shadow: 0 8px 30px rgb(0 0 0 / 25%);
  overflow-wrap: anywhere;
}

.note p {
  padding: 3px 0;
}

.note.failure {
  background: var(--bad-tint);
  color: var(--text);
  border: 1px solid var(--bad);
}

.note button {
  background: none;
  border: 0;
  min-height: 30px;
  padding: 0 10px;
}

.note:not(.failure) button:hover {
  background: rgb(128 128 128 / 30%);
}

"""#),
ConsoleFile(name: "parts.js", text: #"""
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

"""#),
ConsoleFile(name: "rates.js", text: #"""
// What the overview draws: rates and quantiles, computed from two answers of /v1/stats.

import { now } from "./time.js";

const outcomes = ["sent", "rejected", "expired", "suppressed", "cancelled", "unknown"];
export const maxSpan = 15 * 60 * 1000;
const maxPoints = 500;
// Longer without a value, the past is asked for again.
const maxGap = 10_000;

/** The difference of two counters, or null if there is none, as after a restart. */
function grown(now, before) {
  return Number.isFinite(now) && Number.isFinite(before) && now >= before ? now - before : null;
}

function latencyBetween(now, before) {
  if (!now) return null;
  const isSame = before && before.bounds_ms.length === now.bounds_ms.length;
  if (!isSame) return null;
  const counts = now.counts.map((count, index) => count - before.counts[index]);
  return counts.some((number) => number < 0) ? null : { bounds_ms: now.bounds_ms, counts };
}

export function merged(all) {
  const known = all.filter((latency) => latency);
  if (!known.length) return null;
  const first = known[0];
  const alike = known.filter((one) => one.bounds_ms.length === first.bounds_ms.length);
  return { bounds_ms: first.bounds_ms, counts: first.counts.map(
    (_, at) => alike.reduce((sum, one) => sum + one.counts[at], 0)) };
}

/** A quantile in milliseconds, interpolated within its bucket; null if nothing was counted. */
export function quantile(latency, share) {
  if (!latency) return null;
  const { bounds_ms: bounds, counts } = latency;
  const total = counts.reduce((sum, number) => sum + number, 0);
  if (!total || !bounds.length) return null;
  const rank = Math.max(1, share * total);
  let below = 0;
  for (let at = 0; at < bounds.length; at += 1) {
    if (counts[at] && below + counts[at] >= rank) {
      const low = at === 0 ? 0 : bounds[at - 1];
      return low + (bounds[at] - low) * (rank - below) / counts[at];
    }
    below += counts[at];
  }
  return bounds[bounds.length - 1];
}

export function total(stats, name) {
  return (stats.apps ?? []).reduce((sum, app) => sum + (app[name] ?? 0), 0);
}

/** The latest statistics and the points that are computed from them. Their number is bounded. */
export class History {
  constructor() {
    this.points = [];
    this.latest = null;
    this.before = null;
    this.apps = new Map();
  }

  /** Whether the next answer should have the past: at first, and after a pause. */
  get wantsPast() {
    return !this.latest || now() - this.latest.taken_at > maxGap;
  }

  add(stats) {
    const before = this.latest;
    this.latest = stats;
    if (before && stats.taken_at <= before.taken_at) return;
    this.before = before;
    const past = (stats.history ?? []).filter((one) => one.taken_at < stats.taken_at).map(pointOf);
    if (past.length) this.points = [...this.points.filter(({ at }) => at < past[0].at), ...past];
    // Rates over a long pause are none of the moment: those of the past are.
    const rates = before ? this.rates(stats, before) : {};
    this.points.push({ ...(past.length ? past.at(-1) : rates), at: stats.taken_at, ...levels(stats) });
    const oldest = stats.taken_at - maxSpan - 10_000;
    while (this.points.length > maxPoints || (this.points.length && this.points[0].at < oldest)) this.points.shift();
  }

  rates(stats, before) {
    const seconds = (stats.taken_at - before.taken_at) / 1000;
    const isSameProcess = stats.started_at === before.started_at;
    const perSecond = (now, then) => {
      const more = isSameProcess ? grown(now, then) : null;
      return more === null ? null : more / seconds;
    };
    this.apps = new Map();
    const latencies = [];
    for (const app of stats.apps ?? []) {
      const then = (before.apps ?? []).find((one) => one.app === app.app);
      const rates = Object.fromEntries(outcomes.map((name) =>
        [name, perSecond(app[name] ?? 0, then ? then[name] ?? 0 : NaN)]));
      const latency = isSameProcess ? latencyBetween(app.latency, then?.latency) : null;
      latencies.push(latency);
      this.apps.set(app.app, { ...rates, p99: quantile(latency, 0.99),
        retries: perSecond(app.retries, then?.retries) });
    }
    const latency = merged(latencies);
    const sum = (name) => isSameProcess ? perSecond(total(stats, name), total(before, name)) : null;
    return {
      accepted: perSecond(stats.intake?.accepted, before.intake?.accepted),
      duplicate: perSecond(stats.intake?.duplicate, before.intake?.duplicate),
      refused: perSecond((stats.intake?.rejected ?? 0), (before.intake?.rejected ?? 0)),
      busy: perSecond((stats.intake?.busy ?? 0), (before.intake?.busy ?? 0)),
      sent: sum("sent"), rejected: sum("rejected"), unknown: sum("unknown"), retries: sum("retries"),
      p50: quantile(latency, 0.5), p99: quantile(latency, 0.99),
    };
  }

  /** The change of a counter over the last minute, or null. */
  lastMinute(name) {
    const newest = this.points.at(-1)?.at ?? 0;
    const some = this.points.filter((point) => point.at > newest - 60_000 && Number.isFinite(point[name]));
    if (!some.length) return null;
    let sum = 0;
    let earlier = this.points[this.points.indexOf(some[0]) - 1]?.at ?? some[0].at;
    for (const point of some) {
      sum += point[name] * (point.at - earlier) / 1000;
      earlier = point.at;
    }
    return sum;
  }
}

/** A point of the past, as Carillon keeps it. */
function pointOf(one) {
  return {
    at: one.taken_at, accepted: one.accepted_per_s, refused: one.refused_per_s, busy: one.busy_per_s,
    sent: one.sent_per_s, rejected: one.rejected_per_s, unknown: one.unknown_per_s, p50: one.p50_ms ?? null,
    p99: one.p99_ms ?? null, waiting: one.waiting, oldest: one.oldest_waiting_ms,
  };
}

/** What one answer says by itself. */
function levels(stats) {
  const { waiting = null, scheduled = null } = stats.backlog ?? {};
  return { waiting, scheduled, oldest: oldest(stats) };
}

/** The age of the oldest message that waits, or of what waits longest on a connection, in milliseconds. */
export function oldest(stats) {
  const named = stats.oldest_waiting_ms ?? stats.backlog?.oldest_waiting_ms;
  if (Number.isFinite(named)) return named;
  const ages = (stats.apps ?? []).map((app) => app.oldest_waiting_ms ?? app.backlog?.oldest_waiting_ms)
    .filter(Number.isFinite);
  return ages.length ? Math.max(...ages) : null;
}

"""#),
ConsoleFile(name: "selection.js", text: #"""
// Devices that a user has selected on one page or several, and what is done to all of them.

import { part } from "./client.js";
import { ask, note } from "./dialog.js";
import { h } from "./dom.js";
import { count, some } from "./format.js";
import { badge } from "./parts.js";

const most = 1000;
const lanes = 4;

const deeds = {
  deactivate: {
    name: "Deactivate", past: "deactivated", isGrave: true, wants: (device) => device.active,
    text: (number) => [`Nothing more is sent to ${number}.`,
      "A device becomes active again when the app on it registers, or when somebody reactivates it."],
    run: (client, { device }) => client.json("POST", `/v1/devices/${part(device)}/deactivate`, { reason: "by_hand" }),
    change: (device) => ({ ...device, active: false }),
  },
  reactivate: {
    name: "Reactivate", past: "reactivated", isGrave: false, wants: (device) => !device.active,
    text: (number) => [`Notifications are sent again to ${number}.`,
      "A device becomes inactive again if the push service says again that its token is dead."],
    run: (client, { device }) => client.json("POST", `/v1/devices/${part(device)}/reactivate`,
      client.emptyBody("POST", "/v1/devices/{device}/reactivate")),
    change: (device) => ({ ...device, active: true }),
  },
  erase: {
    name: "Erase", past: "erased", isGrave: true, wants: () => true,
    text: (number) => [`The tokens, the users and the tags of ${number} are erased.`,
      "Their ids stay in past events. This cannot be undone; the apps on the devices can register them again."],
    run: (client, { app, device }) => client.json("DELETE", `/v1/apps/${part(app)}/devices/${part(device)}`),
    change: () => null,
  },
};

export class Selection {
  constructor() {
    this.chosen = new Map();
    this.work = null;
  }

  clear() {
    this.chosen.clear();
    if (this.work) this.work.isOver = true;
  }

  /** Takes over newer values of the devices. */
  refresh(devices) {
    for (const one of devices) if (this.chosen.has(one.device)) this.chosen.set(one.device, one);
  }

  /** The column of a table. */
  choices(redraw) {
    return {
      has: ({ device }) => this.chosen.has(device),
      name: ({ device, user }) => `the device ${device.slice(0, 8)}${user ? ` of ${user}` : ""}`,
      set: (devices, isChosen) => {
        for (const one of devices) {
          if (!isChosen) this.chosen.delete(one.device);
          else if (this.chosen.size < most || this.chosen.has(one.device)) this.chosen.set(one.device, one);
          else note(`At most ${count(most)} devices can be selected.`, true);
        }
        redraw();
      },
    };
  }

  draw(context, again) {
    const { chosen, work } = this;
    if (!chosen.size && !work) return null;
    const all = [...chosen.values()];
    const button = (deed) => {
      const some_ = all.filter(deed.wants);
      return h("button", { type: "button", "data-key": deed.name, disabled: Boolean(work) || !some_.length,
        class: deed.isGrave && deed.name === "Erase" ? "grave quietly" : null,
        onclick: () => this.run(deed, some_, context, again) }, `${deed.name} ${count(some_.length)}…`);
    };
    return h("section", { class: "selection", "aria-label": "Selected devices", "data-key": "selection" },
      h("p", { role: "status" }, work
        ? badge("warn", `${count(work.done)} of ${some(work.all, "device")} ${work.deed.past}`
          + `${work.failed ? `, ${count(work.failed)} failed` : ""}`)
        : h("strong", null, `${some(chosen.size, "device")} selected`)),
      h("div", { class: "buttons" }, Object.values(deeds).map(button),
        work ? h("button", { type: "button", "data-key": "stop", onclick: () => {
          work.isOver = true;
        } }, "Stop")
          : h("button", { type: "button", "data-key": "clear", onclick: () => {
            this.clear();
            context.redraw();
          } }, "Clear")));
  }

  /** Does it to all, a few at a time. A failure does not end it; the failed ones stay selected. */
  async run(deed, devices, context, again) {
    const number = some(devices.length, "device");
    if (!await ask({ title: `${deed.name} ${number}?`, deed: `${deed.name} ${number}`, isGrave: deed.isGrave,
      text: deed.text(devices.length === 1 ? "this device" : `these ${number}`) })) return;
    const work = { deed, all: devices.length, done: 0, failed: 0, isOver: false, problem: null };
    this.work = work;
    const rest = [...devices];
    const lane = async () => {
      for (let one = rest.shift(); one && !work.isOver; one = rest.shift()) {
        try {
          await deed.run(context.client, one);
          work.done += 1;
          const next = deed.change(one);
          if (next) this.chosen.set(one.device, next);
          else this.chosen.delete(one.device);
        } catch (problem) {
          work.failed += 1;
          work.problem ??= problem;
          // A key without the right, or a server that is gone, fails for all of them.
          if (problem.isLost || problem.status === 401 || problem.status === 403) work.isOver = true;
          if (problem.isBusy) await new Promise((done) => setTimeout(done, 1000 * Math.max(1, problem.retryAfter)));
        }
        context.redraw();
      }
    };
    await Promise.all(Array.from({ length: lanes }, lane));
    this.work = null;
    const left = work.all - work.done;
    if (!left) {
      this.chosen.clear();
      note(`${some(work.done, "device")} ${deed.past}.`);
    } else {
      note(`${some(work.done, "device")} ${deed.past}, ${count(left)} not${work.problem
        ? `: ${work.problem.detail}` : "."}`, true);
    }
    again();
  }
}

"""#),
ConsoleFile(name: "signin.js", text: #"""
// The sign-in, and what is said when it ends.

import { h } from "./dom.js";
import { field, check, badge } from "./parts.js";
import { importKey, secretBytes } from "./signing.js";

/** The words for a key that the server did not accept while the page was open. */
export function refusalWords({ code }) {
  return code === "clock_skew"
    ? "The clock of this browser changes too much: Carillon refuses its signatures. Set it right, and sign in again."
    : "Carillon does not accept this key any more: it expired, was rotated or was revoked.";
}

/** Divides a key that was pasted whole: id, point and secret. */
function divide({ target }) {
  const [, id, secret] = /^\s*([\w-]{1,64})\.([\w-]{43})\s*$/.exec(target.value) ?? [];
  if (!secret) return;
  target.value = id;
  target.form.elements.secret.value = secret;
}

/**
 * Makes the form. `signIn` gets the id, a key that cannot be read and whether to keep it; `refuse` gets a sentence and
 * the field to correct.
 */
export function signInForm({ words, signIn, refuse }) {
  const isSecure = globalThis.isSecureContext && globalThis.crypto?.subtle;
  const submit = async (event) => {
    event.preventDefault();
    const { elements } = event.currentTarget;
    const keyID = elements["key-id"].value.trim();
    const bytes = secretBytes(elements.secret.value);
    if (!/^[\w.-]{1,64}$/.test(keyID)) return refuse(
      "A key id has letters and digits only, such as k7f3qk2m.", "key-id");
    if (!bytes) return refuse("A secret has 43 characters: letters, digits, - and _.", "secret");
    const isKept = elements.stay.checked;
    const button = event.submitter;
    const key = await importKey(bytes);
    bytes.fill(0);
    elements.secret.value = "";
    if (button) button.disabled = true;
    return signIn(keyID, key, isKept);
  };
  return h("section", { class: "sign-in", "aria-labelledby": "sign-in-title", "data-key": `sign-in ${words ?? ""}` },
    h("h1", { id: "sign-in-title", tabindex: -1 }, "Sign in to Carillon"),
    words && h("p", { class: "notice warn", role: "alert" }, badge("warn", words)),
    isSecure ? h("form", { class: "form", onsubmit: submit, autocomplete: "off" },
      field("Key id", h("input", { id: "key-id", name: "key-id", required: true, autocomplete: "off", oninput: divide,
        autocapitalize: "none", spellcheck: "false" })),
      field("Secret", h("input", { id: "secret", name: "secret", type: "password", required: true,
        autocomplete: "off" }),
        "The page signs its requests with the secret and never sends it."),
      h("div", { class: "field" }, check("stay", "Stay signed in until this tab is closed",
        { "aria-describedby": "stay-help" }),
        h("p", { id: "stay-help", class: "help" },
          "This browser then keeps a key that signs and cannot be read. Signing out removes it. If the tab is closed, or "
            + "after twelve hours, it serves no longer, and is removed when the console is opened again.")),
      h("button", { class: "main", type: "submit" }, "Sign in"))
      : h("p", { class: "notice bad", role: "alert" },
        badge("bad", "This page needs HTTPS, or an address of this machine such as http://127.0.0.1: without it, the "
          + "browser does not sign requests.")),
    h("details", null, h("summary", null, "Where do I get a key?"),
      h("p", null, "On the machine of Carillon, with the name that you like:"),
      h("pre", { tabindex: 0, "aria-label": "Command" },
        "carillon keys api add NAME --role operate --role push"),
      h("p", { class: "help" }, "It prints the id and the secret, once. The role observe only looks.")));
}

/** Makes what is shown while the sign-in waits for Carillon. */
export function waitingForm(problem, cancel) {
  return h("section", { class: "sign-in", "aria-labelledby": "sign-in-title", "data-key": "waiting" },
    h("h1", { id: "sign-in-title", tabindex: -1 }, "Signing in"),
    h("p", { class: "notice warn", role: "alert" },
      badge("warn", `${problem.detail} The page tries again by itself.`)),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: cancel }, "Cancel")));
}

"""#),
ConsoleFile(name: "signing.js", text: #"""
// Signatures of requests: RFC 9421 with hmac-sha256, and RFC 9530 for the digest of a body.

import { now as serverTime } from "./time.js";

const encoder = new TextEncoder();

export function base64(bytes) {
  let text = "";
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Returns the 32 bytes of a secret in base64url, or null if the text is something else. */
export function secretBytes(text) {
  const plain = text.trim().replaceAll("-", "+").replaceAll("_", "/").replace(/=+$/, "");
  if (!/^[A-Za-z0-9+/]{43}$/.test(plain)) return null;
  const bytes = Uint8Array.from(atob(`${plain}=`), (character) => character.charCodeAt(0));
  return bytes.length === 32 ? bytes : null;
}

/** Makes a key that can sign and cannot be read again, not even by this page. */
export function importKey(bytes) {
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
}

function nonce() {
  return base64(crypto.getRandomValues(new Uint8Array(18))).replaceAll("+", "-").replaceAll("/", "_");
}

/**
 * Returns the header fields that sign a request.
 *
 * The target is the path with its query, exactly as it is sent. The query of a request without one is "?". Tests give
 * the time and the nonce.
 */
export async function signed({ method, target, body, keyID, key, now, once }) {
  const url = new URL(target, location.origin);
  const components = [["@method", method], ["@path", url.pathname], ["@query", url.search || "?"]];
  const headers = {};
  if (body !== undefined) {
    const digest = await crypto.subtle.digest("SHA-256", encoder.encode(body));
    headers["Content-Digest"] = `sha-256=:${base64(digest)}:`;
    components.push(["content-digest", headers["Content-Digest"]]);
  }
  const created = now ?? Math.floor(serverTime() / 1000);
  const names = components.map(([name]) => `"${name}"`).join(" ");
  const parameters = `(${names});created=${created};keyid="${keyID}";alg="hmac-sha256";nonce="${once ?? nonce()}"`;
  const lines = components.map(([name, value]) => `"${name}": ${value}`);
  const base = [...lines, `"@signature-params": ${parameters}`].join("\n");
  const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(base));
  headers["Signature-Input"] = `carillon=${parameters}`;
  headers.Signature = `carillon=:${base64(signature)}:`;
  return headers;
}

"""#),
ConsoleFile(name: "store.js", text: #"""
// Small settings of this browser. A browser that blocks storage forgets them, and nothing else.

/** Returns a stored text, or null. */
export function read(name) {
  try {
    return localStorage.getItem(`carillon.${name}`);
  } catch {
    return null;
  }
}

export function write(name, text) {
  try {
    localStorage.setItem(`carillon.${name}`, text);
  } catch {
    // The setting lasts as long as the page.
  }
}

"""#),
ConsoleFile(name: "story.js", text: #"""
// A story: the events of a message or a device, in order, with what each says.

import { part } from "./client.js";
import { h } from "./dom.js";
import { clock, count, moment, shortID } from "./format.js";
import { badge, foreign, notice } from "./parts.js";
import { kindOf, particulars, sentence } from "./words.js";

const firstPart = 200;
const lastPart = 5;
/** From that many events of one kind on, the deliveries between two other events are told together. */
const leastFolded = 5;
const graveness = ["bad", "warn", "idle", "good"];

/** Returns the number of an event, in a cluster with the part of the log. */
export function numberOf({ part, seq }) {
  return part ? `${part}:${seq}` : String(seq);
}

/** What an event says of any device. */
function common({ family, app, kind, status, reason, resend, by }) {
  return { family, app, kind, status, reason, resend, by };
}

/** Returns the lines of one stretch of deliveries: groups of events that say the same, the gravest first. */
function groups(stretch) {
  const found = new Map();
  for (const event of stretch) {
    const name = JSON.stringify(common(event));
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(event);
  }
  if (![...found.values()].some((group) => group.length >= leastFolded)) return stretch.map((event) => [event]);
  const rank = ([event]) => graveness.indexOf(kindOf(event));
  return [...found.values()].sort((one, other) => rank(one) - rank(other))
    .flatMap((group) => group.length >= leastFolded ? [group] : group.map((event) => [event]));
}

/** Returns the lines of a story, each with its events. Between two events of the message, its deliveries are alike. */
function folded(events) {
  const lines = [];
  let stretch = [];
  for (const event of events) {
    if (["delivery", "device"].includes(event.family)) {
      stretch.push(event);
    } else {
      lines.push(...groups(stretch), [event]);
      stretch = [];
    }
  }
  return [...lines, ...groups(stretch)];
}

/** The groups that are open, by the number of their first event. */
const unfolded = new Set();
const mostUnfolded = 100;

/** Makes the list of a trace. `about` is what the story is about, which is not repeated in each line. */
export function story({ trace, about, shown, more }) {
  if (!trace) return h("p", { class: "empty" }, "Reading the story…");
  const limit = shown ?? firstPart;
  // What a device got last is what is asked for; a message is told from its beginning.
  const events = about === "device" ? [...trace.events].reverse().map((event) => [event]) : folded(trace.events);
  let day = "";
  const timeOf = (event) => {
    const date = new Date(event.ts).toDateString();
    const time = date === day ? clock(event.ts, true) : moment(event.ts, true);
    day = date;
    return h("time", { datetime: new Date(event.ts).toISOString() }, time);
  };
  const single = (event) => h("li", { "data-key": `event ${numberOf(event)}` }, timeOf(event),
    h("div", null, badge(kindOf(event), sentence(event))), links(event, about), details(event));
  const line = (group) => {
    const [first] = group;
    if (group.length === 1) return single(first);
    const number = numberOf(first);
    const isOpen = unfolded.has(number);
    const toggle = () => {
      if (isOpen) unfolded.delete(number);
      else unfolded.add(number);
      more(shown);
    };
    return [
      h("li", { class: "group", "data-key": `group ${number}` }, timeOf(first),
        h("div", null, badge(kindOf(first), h("strong", null, `${count(group.length)} ×`), " ", sentence(common(first)),
          h("span", { class: "quiet" }, ` until ${clock(group.at(-1).ts, true)}`))),
        h("button", { type: "button", "aria-expanded": String(isOpen), onclick: toggle }, isOpen ? "Fold" : "Show")),
      isOpen && group.slice(0, mostUnfolded).map(single),
      isOpen && group.length > mostUnfolded && h("li", { class: "gap", "data-key": `rest ${number}` },
        h("p", { class: "help" }, `${count(group.length - mostUnfolded)} more are in the list of all deliveries.`)),
    ];
  };
  // The end of a long story is shown as well: it says how the story ended.
  const left = Math.max(0, events.length - limit - lastPart);
  return [
    trace.complete === false && notice("warn",
      `The story goes on: the answer leaves out further ${(trace.left_out ?? ["events"]).join(", ")}.`),
    events.length === 0 && h("p", { class: "empty" }, "No event is kept."),
    events.length > 0 && h("ol", { class: "story" },
      (left ? events.slice(0, limit) : events).map(line),
      left > 0 && h("li", { class: "gap", "data-key": "gap" },
        h("button", { type: "button", onclick: () => more(limit + 500) },
          `Show ${Math.min(500, left)} more of ${count(left)}`)),
      left > 0 && events.slice(-lastPart).map(line)),
  ];
}

/** Links to what an event is about. */
export function links(event, about) {
  return h("div", { class: "links" },
    about !== "message" && event.message_id !== undefined && h("a",
      { href: `#/messages/${part(event.app)}/${part(event.message_id)}` }, foreign(event.message_id, 40)),
    about !== "device" && event.device && h("a", { href: `#/devices/${part(event.device)}`, class: "code",
      "aria-label": `Device ${event.device}` }, shortID(event.device)));
}

/** The numbers of the events that are open. Others have no particulars in the page, so that long lists are cheap. */
const opened = new Set();

/** Makes the number of an event, which opens to all that it says. */
export function details(event) {
  const all = () => h("dl", { class: "facts small" }, particulars(event).map(([name, value]) =>
    h("div", null, h("dt", null, name), h("dd", { class: "code" }, foreign(value, 2000)))));
  const ontoggle = ({ currentTarget }) => {
    const isOpen = currentTarget.open;
    if (isOpen) opened.add(numberOf(event));
    else opened.delete(numberOf(event));
    if (isOpen !== currentTarget.children.length > 1) {
      if (isOpen) currentTarget.append(all());
      else currentTarget.lastChild.remove();
    }
  };
  return h("details", { ontoggle }, h("summary", null, h("span", { class: "unseen" }, "Event "), numberOf(event)),
    opened.has(numberOf(event)) && all());
}

"""#),
ConsoleFile(name: "stream.js", text: #"""
// Live events: server-sent events, read with fetch because EventSource cannot sign requests.

/** Parses a text/event-stream (HTML standard, 9.2.6). Bytes come in any pieces. */
export class StreamParser {
  constructor() {
    this.decoder = new TextDecoder();
    this.rest = "";
    this.clear();
    this.lastID = "";
  }

  clear() {
    this.data = [];
    this.kind = "";
  }

  /** Returns the events that are complete. */
  take(bytes) {
    this.rest += this.decoder.decode(bytes, { stream: true });
    const events = [];
    for (;;) {
      const end = this.rest.search(/\r\n|\n|\r(?!$)/);
      if (end < 0) return events;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith("\r\n", end) ? 2 : 1));
      if (line !== "") {
        this.field(line);
      } else {
        if (this.data.length) events.push({ id: this.lastID, kind: this.kind || "message",
          data: this.data.join("\n") });
        this.clear();
      }
    }
  }

  field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.data.push(value);
    else if (name === "event") this.kind = value;
    else if (name === "id" && !value.includes("\0")) this.lastID = value;
  }
}

const silenceLimit = 45_000;

/**
 * The events of a prefix, from now on. It connects again after each end, with the number of the last event, so that
 * none is lost. It passes the lines of the events, which their receiver parses.
 */
export class EventStream {
  constructor(client, prefix, since, { onEvents, onGap, onState }) {
    Object.assign(this, { client, prefix, last: since, onEvents, onGap, onState, isOpen: true, wait: 500 });
    this.run();
  }

  close() {
    this.isOpen = false;
    this.abort?.abort();
  }

  async run() {
    while (this.isOpen) {
      this.abort = new AbortController();
      try {
        await this.connect();
      } catch (error) {
        if (!this.isOpen) return;
        const isFinal = error.status >= 400 && error.status < 500 && error.status !== 429;
        this.onState(isFinal ? "failed" : "reconnecting", error);
        if (isFinal) return;
        if (error.retryAfter) this.wait = Math.min(1000 * error.retryAfter, 60_000);
      }
      if (!this.isOpen) return;
      await new Promise((resolve) => setTimeout(resolve, this.wait));
      this.wait = Math.min(this.wait * 2, 5000);
    }
  }

  async connect() {
    const query = new URLSearchParams(this.prefix ? { prefix: this.prefix } : {});
    // No timeout ends the stream, so that the one of its beginning is here.
    const opening = setTimeout(() => this.abort.abort(), silenceLimit);
    const answer = await this.client.send("GET", query.size ? `/v1/events?${query}` : "/v1/events", {
      accept: "text/event-stream", headers: { "Last-Event-ID": this.last },
      signal: this.abort.signal, timeout: 0,
    }).finally(() => clearTimeout(opening));
    this.onState("live");
    this.wait = 500;
    const parser = new StreamParser();
    const reader = answer.body.getReader();
    for (;;) {
      // A comment comes every 15 s. A connection that is silent for longer is dead, whatever TCP believes.
      const timer = setTimeout(() => this.abort.abort(), silenceLimit);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return this.onState("reconnecting");
      const events = parser.take(value);
      if (!events.length) continue;
      this.last = parser.lastID || this.last;
      // An event is named family.kind; what Carillon says about the stream itself has no dot.
      const lines = events.filter(({ kind }) => kind.includes(".")).map(({ data }) => data);
      const gap = events.find(({ kind }) => kind === "gap");
      if (gap) this.onGap(JSON.parse(gap.data));
      if (lines.length) this.onEvents(lines);
      if (events.some(({ kind }) => kind === "error")) return this.onState("reconnecting");
    }
  }
}

"""#),
ConsoleFile(name: "tables.css", text: #"""
/* Tables, stories and streams. */
table {
  border-collapse: separate;
  border-spacing: 0;
  width: 100%;
}

caption {
  text-align: left;
  padding: 0 0 8px;
  font-size: 0.9rem;
}

th,
td {
  text-align: left;
  font-weight: 400;
  padding: 10px 14px;
  vertical-align: baseline;
  overflow-wrap: break-word;
}

td.id {
  white-space: nowrap;
}

:is(th, td).code:not(.id) {
  min-width: 9ch;
  overflow-wrap: anywhere;
}

th:first-child,
td:first-child {
  padding-left: 20px;
}

th:last-child,
td:last-child {
  padding-right: 20px;
}

thead th {
  color: var(--quiet);
  font-size: 0.85rem;
  font-weight: 550;
  white-space: nowrap;
  overflow-wrap: normal;
}

tbody th,
tbody td {
  border-top: 1px solid var(--line);
}

@media (width >= 47.5em) {
  tbody tr:hover > * {
    background: color-mix(in srgb, var(--sunken) 45%, transparent);
  }
}

/* A wide screen is for many rows. */
@media (width >= 80em) {
  table[role] tbody :is(th, td):not(.select) {
    padding-block: 6px;
  }
}

.number {
  text-align: right;
  white-space: nowrap;
}

.number.first {
  text-align: left;
}

table.plain th,
table.plain td {
  padding: 6px 0;
}

table.plain td {
  padding-left: 16px;
}

.values-table {
  font-size: 0.87rem;
}

.values-table[open] {
  max-height: 260px;
  overflow: auto;
}

th.select,
td.select {
  width: 1px;
  padding: 0 0 0 20px;
  vertical-align: middle;
}

.select input {
  display: block;
}

td .buttons {
  flex-wrap: nowrap;
}

.selectable .select + th {
  padding-left: 14px;
}

.tag {
  overflow-wrap: anywhere;
  display: inline-block;
  padding: 1px 9px;
  margin: 1px 5px 1px 0;
  border-radius: 99px;
  background: var(--tint);
  text-decoration: none;
  font-size: 0.9em;
}

.story li,
.stream li {
  display: grid;
  grid-template-columns: 7.5rem minmax(0, 1fr) minmax(0, max-content) 4.5rem;
  gap: 4px 16px;
  padding: 9px 0;
  border-top: 1px solid var(--line);
}

/* Lines outside of the window cost nothing. */
.stream li {
  content-visibility: auto;
  contain-intrinsic-size: auto 42px;
}

:is(.story, .stream) li.gap {
  display: block;
}

.story li.group {
  grid-template-columns: 7.5rem minmax(0, 1fr) auto;
  align-items: baseline;
}

.story li.group button {
  min-height: 24px;
  font-size: 0.87rem;
  padding: 0 10px;
}

.stream li {
  grid-template-columns: 6.5rem minmax(0, 15rem) minmax(0, 1fr) minmax(0, max-content) 4.5rem;
}

li > details > summary {
  text-align: right;
}

.story li:first-child,
.stream li:first-child {
  border-top: 0;
}

.story,
.stream {
  padding: 8px 20px;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: var(--radius);
  box-shadow: var(--shadow);
}

.stream:empty {
  display: none;
}

.story time,
.stream time,
.topic {
  color: var(--quiet);
}

.links {
  display: flex;
  flex-wrap: wrap;
  justify-content: flex-end;
  gap: 0 14px;
  font-size: 0.9rem;
  overflow-wrap: anywhere;
}

/* A target for fingers. */
.links a {
  min-width: 24px;
  min-height: 24px;
}

li > details[open] {
  grid-column: 1 / -1;
}

summary {
  min-width: 24px;
  cursor: pointer;
  color: var(--quiet);
  font-size: 0.87rem;
  min-height: 24px;
}

.panel > summary {
  font-size: 1rem;
  color: var(--text);
  font-weight: 600;
}

details.panel:not([open]) {
  gap: 0;
}

pre {
  padding: 12px 14px;
  border-radius: 8px;
  background: var(--sunken);
  overflow: auto;
  margin-top: 8px;
}

nav.parts {
  display: flex;
  flex-wrap: wrap;
  gap: 8px;
}

nav.parts a {
  padding: 6px 14px;
  border-radius: 99px;
  text-decoration: none;
  color: var(--quiet);
  background: var(--sunken);
}

nav.parts a[aria-current] {
  background: var(--accent);
  color: var(--on-accent);
}

/* States are words: a column is at least as wide as the longest of them. */
td .badge {
  overflow-wrap: break-word;
}

"""#),
ConsoleFile(name: "theme.css", text: #"""
/* Colors, sizes and the typeface. One accent; red and amber are for states alone. */
:root {
  color-scheme: light dark;
  --page: light-dark(#f6f7f6, #0f1413);
  --card: light-dark(#ffffff, #171e1c);
  --sunken: light-dark(#eef0ef, #202927);
  --text: light-dark(#17201e, #e7edeb);
  --quiet: light-dark(#56635f, #9fada8);
  --line: light-dark(#dde2e0, #2a3532);
  --strong-line: light-dark(#8a9691, #6d7c77);
  --accent: light-dark(#0b6b62, #5fd0c1);
  --on-accent: light-dark(#ffffff, #06211e);
  --tint: light-dark(#e3f1ef, #16302c);
  --good: light-dark(#0b6b62, #5fd0c1);
  --warn: light-dark(#8a5200, #f0b95b);
  --bad: light-dark(#b3261e, #ff8f85);
  --warn-tint: light-dark(#fdf2df, #33270f);
  --bad-tint: light-dark(#fcebe9, #3a1b18);
  --idle: light-dark(#66736f, #9fada8);
  --focus: light-dark(#0b57d0, #9cc2ff);
  --face: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  --radius: 12px;
  --gap: 20px;
  --shadow: 0 1px 2px light-dark(rgb(16 32 28 / 6%), transparent), 0 4px 16px light-dark(rgb(16 32 28 / 5%), transparent);
}

:root[data-theme="light"] {
  color-scheme: light;
}

:root[data-theme="dark"] {
  color-scheme: dark;
}

* {
  box-sizing: border-box;
}

html {
  font: 93.75%/1.5 var(--face);
  font-variant-numeric: tabular-nums;
  background: var(--page);
  color: var(--text);
  overflow-y: scroll;
}

body,
h1,
h2,
h3,
p,
dl,
dd,
ul,
ol,
figure,
pre {
  margin: 0;
  padding: 0;
}

h1 {
  font-size: 1.6rem;
  font-weight: 650;
  letter-spacing: -0.015em;
  line-height: 1.25;
}

h2 {
  font-size: 1.07rem;
  font-weight: 620;
  letter-spacing: -0.005em;
}

h3 {
  font-size: 0.93rem;
  font-weight: 600;
}

a {
  color: var(--accent);
  text-underline-offset: 0.2em;
  text-decoration-thickness: 1px;
  text-decoration-color: color-mix(in srgb, currentcolor 40%, transparent);
}

a:hover {
  text-decoration-color: currentcolor;
}

ul,
ol {
  list-style: none;
}

.code,
pre,
code {
  font-family: ui-monospace, "SF Mono", "Cascadia Mono", "Noto Sans Mono", "Liberation Mono", monospace;
  font-size: 0.92em;
  overflow-wrap: anywhere;
}

/* A text of unknown origin keeps its direction for itself. */
bdi,
a,
td,
th,
dd,
li > div,
.badge > span {
  unicode-bidi: isolate;
}

bdi {
  overflow-wrap: anywhere;
}

.quiet,
.help,
caption,
dt {
  color: var(--quiet);
}

.help {
  font-size: 0.87rem;
}

.unseen {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
  white-space: nowrap;
}

/* A field for a time has its focus inside. */
input[type="datetime-local"]:focus-within,
:focus-visible {
  outline: 2px solid var(--focus);
  outline-offset: 2px;
  border-radius: 4px;
}

h1:focus-visible,
main:focus-visible {
  outline: none;
}

@media (prefers-reduced-motion: no-preference) {
  button,
  .button,
  input,
  select,
  textarea,
  nav a {
    transition: background-color 120ms, border-color 120ms, color 120ms;
  }

  .note,
  dialog[open] {
    animation: appear 160ms ease-out;
  }

  @keyframes appear {
    from {
      opacity: 0;
      translate: 0 6px;
    }
  }
}

"""#),
ConsoleFile(name: "time.js", text: #"""
// The clock of Carillon. All times on the page are its times, so that a wrong clock of the browser does no harm.

const tolerance = 250;
const notable = 10_000;
let skew = 0;

/** The time of Carillon, in milliseconds since 1970. */
export function now() {
  return Date.now() + skew;
}

/**
 * Takes over the time in an answer of the server. The time that the answer took is not a difference of the clocks, and
 * small differences are ignored, so that the time does not jump.
 *
 * @param sentAt, receivedAt are times of the clock of the browser.
 */
export function learn(serverAt, sentAt, receivedAt = Date.now()) {
  if (!Number.isFinite(serverAt)) return;
  const found = serverAt - (sentAt + receivedAt) / 2;
  if (Math.abs(found - skew) > Math.max(tolerance, receivedAt - sentAt)) skew = Math.round(found);
}

/** The difference of the clocks in milliseconds if a user should know about it, otherwise 0. */
export function difference() {
  return Math.abs(skew) >= notable ? skew : 0;
}

"""#),
ConsoleFile(name: "vault.js", text: #"""
// The key of a user who stays signed in while the tab is open.
//
// Session storage holds text only, so that a key in it could be read by any script of this origin. IndexedDB holds a
// CryptoKey that cannot be read. Session storage has the name of the entry, and the tab holds a lock of that name, which
// ends with the tab. Each start of the page removes the entries that are too old, and those whose tab is gone.

const storeName = "keys";
const markName = "carillon.session";
const maxAge = 12 * 3600 * 1000;
let timer = null;
let release = null;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function open() {
  const request = indexedDB.open("carillon", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(storeName);
  return done(request);
}

async function withStore(mode, body) {
  const database = await open();
  try {
    return await body(database.transaction(storeName, mode).objectStore(storeName));
  } finally {
    database.close();
  }
}

function lockOf(mark) {
  return `${markName}.${mark}`;
}

/** Shows other tabs that this one uses the entry. A tab that was duplicated shares the entry, and the lock. */
function hold(mark) {
  return new Promise((held) => {
    navigator.locks.request(lockOf(mark), { mode: "shared" }, () => {
      held();
      return new Promise((resolve) => {
        release = resolve;
      });
    }).catch(held);
  });
}

/** Removes the entries that are too old, and those that no tab uses except this one. */
async function tidy(mark) {
  const { held } = await navigator.locks.query();
  const used = new Set([lockOf(mark), ...held.map(({ name }) => name)]);
  await withStore("readwrite", async (store) => {
    const [names, entries] = await Promise.all([done(store.getAllKeys()), done(store.getAll())]);
    names.forEach((name, index) => {
      const age = Math.abs(Date.now() - entries[index].keptAt);
      if (!used.has(lockOf(name)) || !(age < maxAge)) store.delete(name);
    });
  });
}

export async function keep(keyID, key) {
  const mark = crypto.randomUUID();
  await forget();
  await hold(mark);
  await withStore("readwrite", (store) => done(store.put({ keyID, key, keptAt: Date.now() }, mark)));
  sessionStorage.setItem(markName, mark);
  timer = setTimeout(lapse, maxAge);
}

/** Returns the kept key of this tab, or null. */
export async function kept() {
  const mark = sessionStorage.getItem(markName);
  await tidy(mark);
  const entry = mark && await withStore("readonly", (store) => done(store.get(mark)));
  if (!entry) {
    sessionStorage.removeItem(markName);
    return null;
  }
  await hold(mark);
  timer = setTimeout(lapse, maxAge - (Date.now() - entry.keptAt));
  return entry;
}

/** Ends what was kept. The page that is open has the key in its memory, and goes on. */
function lapse() {
  forget().catch(() => {});
}

/** Removes the key of this tab. */
export async function forget() {
  const mark = sessionStorage.getItem(markName);
  sessionStorage.removeItem(markName);
  clearTimeout(timer);
  release?.();
  release = null;
  if (mark) await withStore("readwrite", (store) => done(store.delete(mark)));
}

"""#),
ConsoleFile(name: "words.js", text: #"""
// Events in sentences, in the words of `carillon trace` and `carillon events`.

import { count, duration } from "./format.js";

const rejections = {
  bad_frame: "the frames are invalid", bad_json: "invalid JSON", missing_field: "a required field is missing",
  bad_field: "a field is invalid", unknown_app: "the configuration has no such app",
    bad_audience: "the audience is invalid",
  bad_token: "a device token is invalid", payload_too_large: "the payload is larger than its push type allows",
  bad_payload: "the payload is invalid for its push type",
  id_conflict: "its id was used before for a message with different content", expired: "it had expired when it arrived",
  forbidden: "the client has no permission to push to this app", too_many: "it exceeds the maximum number of items",
};
const suppressions = {
  inactive: "the device is inactive", duplicate: "this message was already processed for the device",
  unknown_device: "the registry has no device with this id",
};
const causes = {
  timeout: "timed out waiting for the response", connection_lost: "connection lost before the response",
  reset: "the push service reset the request",
};
const deactivations = {
  feedback: "the feedback service reported that the app was uninstalled", by_hand: "an operator deactivated it",
  removed: "an operator removed it and its data", replaced: "another token replaced its token",
};

/** What an operator does about a gateway that cannot connect, by the code of the fault. */
export const advice = {
  name_not_found: "Check the DNS of this machine: the name of the push service has no address.",
  refused: "Check that the push service listens at this address, and that no firewall refuses the connection.",
  unreachable: "Check the network of this machine: there is no route to the push service.",
  timed_out: "Check the firewall: outgoing connections to the push service must be allowed.",
  reset: "Carillon connects again by itself. If this repeats, check the network between here and the push service.",
  closed_by_peer: "Carillon connects again by itself. If this repeats, check the credential.",
  not_trusted: "Check endpoint.trust: the certificate of the push service is not trusted.",
  certificate_refused: "Renew the certificate of the app, or check that it belongs to this environment; then reload.",
  tls: "Check the TLS settings of the app, and the clock of this machine.",
  protocol: "Check that the endpoint is a push service and not a proxy.",
  silent: "Carillon connects again by itself. If this repeats, check the network.",
  goaway: "Carillon connects again by itself.",
  credential_refused: "Check key, key_id and team_id of the app, and that the key is not revoked; then reload.",
  local: "Check the limits of this machine: open files, memory and ports.",
};

/** A code in words, for reasons without a sentence: "BadDeviceToken" stays, "id_conflict" becomes "id conflict". */
function plain(reason) {
  return reason ? String(reason).replaceAll("_", " ") : "no reason recorded";
}

function attempt(event) {
  const parts = [];
  if (event.attempt > 1) parts.push(`attempt ${event.attempt}`);
  if (Number.isFinite(event.latency_ms)) parts.push(`${duration(event.latency_ms)} after acceptance`);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

function retryText(event) {
  return Number.isFinite(event.retry_after_ms) ? `, retry in ${duration(event.retry_after_ms)}` : "";
}

function resendText({ resend }) {
  if (resend === undefined) return "it may have been accepted";
  return resend ? "it is sent again" : "it is not sent again";
}

function answered(event) {
  return [event.status, event.reason].filter(Boolean).join(" ") || "no reason given";
}

export function countsText(counts) {
  const some = Object.entries(counts ?? {}).filter(([, number]) => number);
  return some.length ? some.map(([name, number]) => `${count(number)} ${plain(name)}`).join(", ")
    : "there were no devices to send to";
}

/** An expression of tags in words, as in the envelope: a tag, or an object with all, any or not. */
export function tagsText(tags, isInside = false) {
  if (typeof tags === "string") return `#${tags}`;
  const [[name, value] = []] = tags && typeof tags === "object" && !Array.isArray(tags) ? Object.entries(tags) : [];
  if (name === "not") return `not ${tagsText(value, true)}`;
  const joint = { all: " and ", any: " or " }[name];
  if (!joint || !Array.isArray(value) || Object.keys(tags).length > 1) return JSON.stringify(tags);
  const text = value.map((one) => tagsText(one, value.length > 1)).join(joint);
  return isInside && value.length > 1 ? `(${text})` : text;
}

export function audienceText(message) {
  if (message.audience === "all") return "all devices of the app";
  if (message.audience === "tags") return `devices with ${tagsText(message.tags)}`;
  if (message.audience === "users" && message.users?.length === 1 && !(message.user_count > 1)) {
    return `the user ${message.users[0]}`;
  }
  if (message.audience === "users") {
    const more = (message.user_count ?? 0) - (message.users?.length ?? 0);
    return `the users ${(message.users ?? []).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
  }
  return Number.isFinite(message.devices)
    ? `${count(message.devices)} named ${message.devices === 1 ? "device" : "devices"}` : "named devices";
}

const sentences = {
  "message/accepted": (event) =>
    `Accepted from ${event.client ? `the client ${event.client}` : "a producer"} for ${audienceText(event)}`,
  "message/duplicate": () => "Duplicate: this message was accepted before and is not sent again",
  "message/rejected": (event) =>
    `Rejected: ${rejections[event.reason] ?? plain(event.reason)}${event.detail ? ` (${event.detail})` : ""}`,
  "message/expired": () => "Expired before its devices were looked up",
  "message/completed": (event) => `Completed: ${countsText(event.counts)}`,
  "message/cancelled": ({ by, counts, sent, cancelled }) =>
    `Cancelled${by ? ` by ${by}` : ""}: ${countsText(counts ?? { sent, cancelled })}`,
  "delivery/sent": (event) => `Sent: accepted by the push service${attempt(event)}`,
  "delivery/rejected": (event) => `Rejected by the push service: ${answered(event)}${attempt(event)}`,
  "delivery/retry": (event) =>
    `Deferred by the push service: ${answered(event)}${retryText(event)}${attempt(event)}`,
  "delivery/unknown": (event) =>
    `Outcome unknown: ${causes[event.reason] ?? plain(event.reason)}; ${resendText(event)}${attempt(event)}`,
  "delivery/expired": (event) => `Not sent: expired${attempt(event)}`,
  "delivery/suppressed": (event) => `Not sent: ${suppressions[event.reason] ?? plain(event.reason)}`,
  "delivery/displayed": () => "Displayed on the device",
  "delivery/opened": () => "Opened on the device",
  "device/registered": () => "Device registered",
  "device/reactivated": () => "Device reactivated",
  "device/deactivated": (event) => `Device deactivated: ${deactivations[event.reason] ?? plain(event.reason)}`,
  "device/brake": (event) => event.state === "off"
    ? "Deactivation of devices resumed: the responses of the push service are normal again"
    : "Deactivation of devices paused: the push service rejects too many tokens at once. Check the topic",
  "connection/up": (event) => `Connection up${event.address ? ` to ${event.address}` : ""}`,
  "connection/down": (event) => `Connection ended: ${event.message ?? plain(event.reason)}`,
  "connection/goaway": (event) =>
    `The push service asked to end a connection${event.reason ? `: ${event.reason}` : ""}`,
  "connection/scaled": () => "Gateway scaled",
  "credential/expiring": () => "Credential expires soon",
  "credential/rotated": () => "Credential replaced",
  "credential/failed": (event) =>
    `Credential unusable, sending halted until it is replaced${event.message ? `: ${event.message}` : ""}`,
  "ledger/restored": (event) =>
    `Restored from a backup: what happened after it is lost, and numbers go on at ${event.continues_at}`,
};

/** What a notification of the App Store is about. */
function purchaseText({ subtype, product_id, environment }) {
  const about = [subtype, product_id, environment === "Production" ? undefined : environment].filter(Boolean);
  return about.length > 0 ? ` (${about.join(", ")})` : "";
}

/** A sentence for an event. Kinds that this page does not know are shown by their names. */
export function sentence(event) {
  if (event.family === "receipt") return `App Store: ${event.notification_type}${purchaseText(event)}`;
  return sentences[`${event.family}/${event.kind}`]?.(event)
    ?? `${plain(event.family)} ${plain(event.kind)}${event.reason ? `: ${event.reason}` : ""}`;
}

/** The sign of an event: its shape and color. */
export function kindOf({ family, kind, state }) {
  if (["rejected", "failed"].includes(kind) || kind === "brake" && state !== "off") return "bad";
  if (["retry", "unknown", "expired", "deactivated", "suppressed", "down", "expiring", "cancelled",
    "goaway"].includes(kind)) return "warn";
  if (kind === "sent" || kind === "up" || kind === "reactivated" || kind === "completed"
    || family === "delivery") return "good";
  return "idle";
}

const common = new Set(["v", "seq", "prev", "ts", "family", "app", "kind", "message_id", "device", "users"]);

/** The other members of an event, as pairs of name and text. */
export function particulars(event) {
  return Object.entries(event).filter(([name]) => !common.has(name))
    .map(([name, value]) => [plain(name), typeof value === "object" ? JSON.stringify(value) : String(value)]);
}

"""#),
    ]
}
