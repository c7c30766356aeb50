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
  return isFiltered ? [
    h("p", null, "No device matches."), h("p", null, h("a", { href: "#/devices" }, "Show all")),
  ] : [
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
