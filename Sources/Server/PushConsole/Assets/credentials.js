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
