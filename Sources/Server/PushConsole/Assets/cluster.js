// The cluster: its nodes, the owners of its partitions, the database, and what changed last.

import { refresh } from "./client.js";
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
  await refresh(state, redraw, async () => {
    client.require("GET", "/v1/cluster");
    return { cluster: (await client.get("/v1/cluster")).cluster ?? null };
  });
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
