// One device: what is known about it, its story, and what is done to it.

import { part, target } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, distance, moment, shortID, some } from "./format.js";
import { badge, facts, fault, foreign } from "./parts.js";
import { story } from "./story.js";

const state = { id: "", device: null, siblings: [], trace: null, fault: null, shown: undefined };

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
    const siblings = device.installation ? await others(client, device) : [];
    if (id !== state.id) return;
    state.siblings = siblings;
    redraw();
    const trace = await client.get(`/v1/devices/${part(id)}/trace`);
    if (id === state.id) state.trace = trace;
  } catch (problem) {
    if (id === state.id) state.fault = problem;
  }
  redraw();
}

export function forget() {
  Object.assign(state, { id: "", device: null, siblings: [], trace: null, fault: null, shown: undefined });
}

/** The other addresses of the installation, the active ones first. */
async function others(client, { app, device, installation }) {
  const { devices } = await client.get(target("/v1/devices", { app, installation, limit: 1000 }));
  return devices.filter((other) => other.device !== device).sort((one, other) => other.active - one.active);
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
        ["Kind of address", device.kind], ["Activity", device.activity], ["Type of activity", device.activity_type],
        ["Installation", device.installation], ["Platform", device.platform], ["App version", device.app_version],
        ["Locale", device.locale], ["Time zone", device.time_zone],
        ["Registered", device.registered_at && moment(device.registered_at)],
        ["Last seen", device.seen_at && `${moment(device.seen_at)} (${distance(device.seen_at)})`],
        ["Deactivated", device.deactivated_at && moment(device.deactivated_at)]),
      h("div", { class: "buttons" },
        device.user && h("a", { class: "button", href: target("#/messages", { user: device.user, app: device.app }) },
          "Messages to this user"),
        context.may("push") && device.active && h("a", { class: "button",
          href: target("#/messages/new", { app: device.app, device: device.device }) }, "Send a test…"),
        context.may("push") && device.active && device.kind === "push_to_start" && h("a", { class: "button",
          href: target("#/messages/activity", { app: device.app, device: device.device, type: device.activity_type }) },
        "Start a Live Activity…"),
        device.activity && h("a", { class: "button",
          href: target("#/messages/activity", { app: device.app, name: device.activity }) }, "Its Live Activity"),
        context.may("operate") && deeds(context, device))),
    state.siblings.length > 0 && installation(state.siblings),
    device && h("section", { "aria-labelledby": "story-title" },
      h("h2", { id: "story-title" }, "Story, the latest first"),
      story({ trace: trace ?? (state.fault && { events: [] }), about: "device", shown: state.shown, more: (shown) => {
        state.shown = shown;
        redraw();
      } })),
  ];
}

function installation(siblings) {
  return h("section", { class: "panel", "aria-labelledby": "installation-title" },
    h("h2", { id: "installation-title" }, "Other addresses of the installation"),
    facts(...siblings.slice(0, 64).map((other) => [
      [other.kind ?? "alert", other.activity ?? other.activity_type].filter(Boolean).join(" "),
      [h("a", { class: "code", href: `#/devices/${part(other.device)}` }, shortID(other.device)), " ",
        other.active ? badge("good", "active") : badge("idle", `inactive${other.reason ? `: ${other.reason}` : ""}`)],
    ])),
    siblings.length > 64 && h("p", { class: "quiet" }, `and ${count(siblings.length - 64)} more`));
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
