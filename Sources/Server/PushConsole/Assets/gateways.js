// Gateways: connections as they are, the last error, scale, pause and resume.

import { part, refresh } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, distance, duration, inWords, moment, some } from "./format.js";
import { badge, facts, fault as problemNotice, field, foreign, table } from "./parts.js";

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
  await refresh(state, redraw, async () => ({ gateways: (await client.get("/v1/gateways")).gateways }));
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

/** Whether an operator paused the app. */
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
      fault.advice && h("p", { class: "todo" }, inWords(fault.advice))),
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
  const state = live.stats?.apps?.find((one) => one.app === app);
  if (!state?.brake_on) return null;
  const release = async () => {
    if (!await ask({ title: `Release the brake of ${app}?`, deed: "Release the brake",
      text: [
        "From now on, each device whose token the push service rejects becomes inactive again.",
        "If the app is set up wrong, that concerns every device to which something is sent.",
      ] })) return;
    await attempt(() => client.json("POST", `/v1/apps/${part(app)}/brake/release`,
      client.emptyBody("POST", "/v1/apps/{app}/brake/release")), (answer) => answer.released
      ? `The brake of ${app} is released.` : `The brake of ${app} was off already.`);
    live.soon(0);
  };
  return h("div", { class: "fault warn", "data-key": `brake ${app}` },
    h("h3", null, badge("warn", "The brake is on: no device is deactivated")),
    h("p", null, "The push service rejected so many tokens at once that a mistake is likelier than so many dead "
      + "devices. Carillon goes on sending, and deactivates no device."),
    h("p", { class: "todo" }, `${inWords(state.brake_advice ?? "check the settings of the app")} Compare them with the `
      + "app that the devices run. When the answers are normal again, the brake releases itself after ten minutes. If so many devices are really dead, "
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
