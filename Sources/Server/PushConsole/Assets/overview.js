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
        : "Add it below apps in the configuration, with its credential, and reload."),
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
  ["suppressed", "Suppressed: inactive or a duplicate", "idle"],
  ["superseded", "Superseded by a newer state of a Live Activity", "idle"], ["cancelled", "Cancelled", "idle"],
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
