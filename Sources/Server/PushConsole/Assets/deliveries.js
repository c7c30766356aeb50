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
      columns: columns.filter(({ isShown }) => isShown?.(list.deliveries) ?? true),
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
  { name: "App", isShown: (all) => all.some(({ app }) => app), cell: ({ app }) => app },
  { name: "Outcome", cell: ({ outcome }) => badge(kindOf({ family: "delivery", kind: outcome }), outcome) },
  { name: "Answer", cell: ({ status, reason }) => [status, reason?.replaceAll("_", " ")].filter(Boolean).join(" ") },
  { name: "Attempt", class: "number", cell: ({ attempt }) => attempt && count(attempt) },
  { name: "Ended", class: "number", cell: ({ ended_at: at }) => moment(at, true) },
  { name: "apns-id", class: "code", cell: ({ apns_id: id }) => id },
];
