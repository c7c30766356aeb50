// Credentials: the keys and certificates with which Carillon signs in to the push service, and when they expire.

import { h } from "./dom.js";
import { distance, moment } from "./format.js";
import { badge, fault, foreign, table } from "./parts.js";
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

function stateOf({ expires_at: at }) {
  if (!Number.isFinite(at)) return badge("good", "does not expire");
  return at <= now() ? badge("bad", "expired") : at - now() < soon ? badge("warn", "expires soon")
    : badge("good", "valid");
}

function named(name) {
  const text = name.replace(/_(at|ms)$/, "").replaceAll("_", " ");
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function valueText(name, value) {
  if (/_at$/.test(name) && Number.isFinite(value)) return `${moment(value)} (${distance(value)})`;
  return typeof value === "object" ? JSON.stringify(value) : String(value ?? "");
}

const kinds = { provider_key: "provider key", certificate: "certificate" };
const known = ["app", "kind", "name", "expires_at"];

export function draw(context) {
  if (state.fault && !state.list) return fault(state.fault.status === 404
    ? { code: "not_offered", detail: "This Carillon does not report its credentials. The settings name their files: "
      + "see Configuration, apps.….credential." } : state.fault, () => open(context));
  if (!state.list) return h("p", { class: "empty" }, "Reading the credentials…");
  const others = [...new Set(state.list.flatMap(Object.keys))].filter((name) => !known.includes(name));
  return table({
    caption: "Credentials of the apps. Replace the file and reload: no restart is needed.",
    rows: state.list, key: ({ app, kind, name }) => `${app}/${kind}/${name}`, empty: "There is no credential.",
    columns: [
      { name: "App", cell: ({ app }) => h("a", { href: `#/gateways/${encodeURIComponent(app)}` }, app) },
      { name: "State", cell: stateOf },
      { name: "Kind", cell: ({ kind }) => kinds[kind] ?? kind },
      { name: "Name", class: "code", cell: ({ name }) => name && foreign(name) },
      ...others.map((name) => ({ name: named(name), cell: (one) => one[name] !== undefined
        && foreign(valueText(name, one[name])) })),
      { name: "Expires", class: "number", cell: ({ expires_at: at }) => Number.isFinite(at)
        ? h("span", { title: moment(at) }, distance(at)) : "never" },
    ],
  });
}
