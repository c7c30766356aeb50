// More: live events, changes by operators, credentials, webhooks, the configuration in force, keys. Each is a page of its
// own.

import * as changes from "./changes.js";
import * as configuration from "./configuration.js";
import * as credentials from "./credentials.js";
import { h } from "./dom.js";
import * as events from "./events.js";
import * as keys from "./keys.js";
import * as webhooks from "./webhooks.js";

export const title = "More";
const parts = { events, changes, credentials, webhooks, configuration, keys };

function chosen({ path }) {
  return Object.hasOwn(parts, path[0] ?? "") ? path[0] : "events";
}

/** What a key may not see is not offered: keys are for admins, and the configuration and the webhooks are not for keys of some apps. */
function offered({ may, onlyApps }) {
  return Object.keys(parts).filter((name) => name === "keys" ? may("admin") && !onlyApps
    : ["configuration", "webhooks"].includes(name) ? !onlyApps : true);
}

export function open(context) {
  const name = chosen(context);
  // On a narrow screen the parts scroll sideways, and the chosen one may be outside.
  document.querySelector("nav.parts [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
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
