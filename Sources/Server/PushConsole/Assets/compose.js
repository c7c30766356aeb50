// Send a test: a notification to a few devices, with a preview.

import { part, target } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, some } from "./format.js";
import { check, fault, field, notice, options, table } from "./parts.js";
import * as timing from "./when.js";

const services = { apns: "Apple", fcm: "Google", webpush: "Browser" };

const empty = { app: "", to: "user", name: "", title: "", body: "", badge: "", sound: true, image: "", link: "",
  category: "", thread: "", once: false, ...timing.empty };
// A test keeps its id until it is accepted or the form changes: Carillon does not send an id twice.
const state = { ...empty, id: null, audience: null, fault: null, families: {}, isLocal: false };

export async function open(context) {
  show(context);
  // Families and time zones change with a reload of the configuration: those known at the sign-in may be old.
  const caller = await attempt(() => context.client.get("/v1/caller"));
  if (!caller) return;
  state.families = Object.fromEntries((caller.families ?? []).map(({ name, members }) => [name, members]));
  state.isLocal = Boolean(caller.at_local);
  if (!state.isLocal && state.when === "local") state.when = "now";
  show(context);
}

function show({ live, redraw, onlyApps, query }) {
  const apps = appsOf({ live, onlyApps });
  const named = query.get("app") ?? state.app;
  const app = apps.includes(named) ? named : apps[0] ?? "";
  Object.assign(state, { id: app === state.app ? state.id : null, audience: null, fault: null, app });
  if (query.get("device")) Object.assign(state, { id: null, to: "device", name: query.get("device") });
  for (const [id, name] of [["test-app", "app"], ["test-to", "to"], ["test-name", "name"], ["test-when", "when"]]) {
    const control = document.getElementById(id);
    if (control) control.value = state[name];
  }
  redraw();
}

export function forget() {
  Object.assign(state, empty, { id: null, audience: null, fault: null });
}

function appsOf({ live, onlyApps }) {
  return [...onlyApps ?? (live.stats?.apps ?? []).map(({ app }) => app), ...Object.keys(state.families).sort()];
}

/** The members of the envelope that say whom it reaches. */
function addressed() {
  const members = state.families[state.app];
  // A device id belongs to one app, so that there is nothing to choose.
  const isOnce = members && state.once && state.to !== "device";
  return { app: state.app, to: audience(), ...isOnce && { prefer: members.map(({ app }) => app) } };
}

/** The audience of the envelope; null while something is missing. */
function audience() {
  const name = state.name.trim();
  if (!name) return null;
  return state.to === "user" ? { users: [name] } : state.to === "tag" ? { tags: { all: [name] } }
    : { devices: [name.toLowerCase()] };
}

/** The plain fields of the envelope. */
function content() {
  const fields = { alert: state.title ? { title: state.title, body: state.body } : state.body };
  if (/^\d+$/.test(state.badge)) fields.badge = Number(state.badge);
  if (state.sound) fields.sound = "default";
  for (const name of ["image", "link", "category", "thread"]) if (state[name].trim()) fields[name] = state[name].trim();
  return fields;
}

function newID() {
  return `console-${crypto.randomUUID().slice(0, 13)}`;
}

async function reach({ client }) {
  return client.json("POST", "/v1/audience", addressed());
}

async function submit(event, context) {
  event.preventDefault();
  const { client, go, redraw } = context;
  const [fault, field] = !audience() ? ["A recipient is missing.", "test-name"]
    : !timing.members(state) ? ["A date and a time are missing.", `test-${state.when}`]
    : !state.body.trim() ? ["A text is missing.", "test-body"] : [];
  state.fault = fault ?? null;
  if (fault) {
    redraw();
    document.getElementById(field)?.focus();
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
      ...state.when === "now" ? [] : timing.words(state),
      timing.isLater(state) ? "Until it goes out, you can cancel it on the page of the message."
        : "It appears on real devices and cannot be called back.",
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
    return await client.json("POST", "/v1/messages", { id, ...addressed(), ...content(), ...timing.members(state) });
  } catch (problem) {
    if (problem.isLost || problem.code === "replayed") {
      problem.detail += " The test may have been accepted. Send it again as it is: each device gets it once.";
    }
    throw problem;
  }
}

/** A notification as a device shows it; of a family, one for each app with its push service. */
function screen({ app, service }) {
  return h("div", { class: "screen", "data-key": `screen ${app}` },
    service && h("p", { class: "help" }, `${app}: ${services[service] ?? service}`),
    h("p", { class: "time", "aria-hidden": "true" }, "9:41"),
    h("div", { class: "notification" },
      h("div", { class: "app-icon", "aria-hidden": "true" }, (app || "?").slice(0, 1).toUpperCase(),
        // Android has no number on the icon that a message could set.
        service !== "fcm" && /^[1-9]\d*$/.test(state.badge) && h("span", null, state.badge)),
      h("div", { class: "words" },
        h("p", { class: "head" }, h("strong", null, state.title || app || "App"), h("span", null, "now")),
        h("p", null, state.body || "The text of the notification."))));
}

/** The devices of each member of a family, with the push service that decides how they show the notification. */
function reachTable(members) {
  return table({
    caption: "Devices by app", rows: members, key: ({ app }) => app,
    columns: [
      { name: "App", cell: ({ app }) => app }, { name: "Service", cell: ({ service }) => services[service] ?? service },
      { name: "Devices", class: "number", cell: (one) => `${one.count_is_complete ? "" : "≥ "}${count(one.count)}` },
      { name: "In another app", class: "number", cell: ({ preferred }) => preferred ? count(preferred) : "" },
    ],
  });
}

export function draw(context) {
  const { redraw, may } = context;
  const set = (name) => (event) => {
    state[name] = event.currentTarget.type === "checkbox" ? event.currentTarget.checked : event.currentTarget.value;
    Object.assign(state, { id: null, audience: null, fault: null });
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
    h("div", { class: "title" }, h("h1", { tabindex: -1 }, "Send a test"),
      may("push") && h("a", { class: "button", href: target("#/messages/activity", { app: state.app }) },
        "Test a Live Activity…")),
    !may("push") && notice("warn", "This key may not push: it lacks the role push."),
    h("div", { class: "compose" },
      h("form", { class: "panel form", novalidate: true, onsubmit: (event) => submit(event, context) },
        field("App", h("select", { id: "test-app", value: state.app, onchange: set("app") }, options(apps, state.app))),
        state.families[state.app] && check("test-once", "Each user once, in the first of these apps that reaches them: "
          + state.families[state.app].map(({ app }) => app).join(", "), { checked: state.once, onchange: set("once") }),
        field("Recipient", h("select", { id: "test-to", value: state.to, onchange: set("to") },
          options([["user", "A user"], ["tag", "A tag"], ["device", "A device"]], state.to))),
        field({ user: "User", tag: "Tag", device: "Device id" }[state.to],
          input("test-name", "name", { spellcheck: "false", required: true })),
        h("p", { class: "inline" },
          h("button", { type: "button", disabled: !audience(), onclick: count_ }, "Count the devices"),
          h("span", { "aria-live": "polite" }, state.audience && `${count(state.audience.count)} now${
            state.audience.count_is_complete === false ? " at least" : ""}${
            state.audience.inactive ? `, ${count(state.audience.inactive)} inactive` : ""}`)),
        state.audience?.members && reachTable(state.audience.members),
        timing.fields(state, set, state.isLocal),
        field("Title", input("test-title", "title", { maxlength: 200 })),
        field("Text", h("textarea", { id: "test-body", rows: 3, oninput: set("body"), maxlength: 1500,
          required: true }, state.body)),
        field("Badge", input("test-badge", "badge", { inputmode: "numeric", pattern: "[0-9]*", maxlength: 4 }),
          "A number on the icon; 0 removes it. Empty leaves it."),
        check("test-sound", "With sound", { checked: state.sound, onchange: set("sound") }),
        field("Image", input("test-image", "image", { type: "url", maxlength: 1000 }),
          "An address. On Apple's devices, the app's extension adds the image."),
        field("Link", input("test-link", "link", { maxlength: 1000, spellcheck: "false" }),
          "What the notification opens."),
        field("Category", input("test-category", "category", { maxlength: 200, spellcheck: "false" }),
          "Decides the buttons."),
        field("Thread", input("test-thread", "thread", { maxlength: 200, spellcheck: "false" }),
          "The device shows notifications of one thread together."),
        fault(state.fault && { detail: state.fault }),
        h("div", { class: "buttons" }, h("button", { class: "main", type: "submit",
          disabled: !may("push") }, "Send…"))),
      h("section", { class: "preview", "aria-labelledby": "preview-title" },
        h("h2", { id: "preview-title" }, "Preview"),
        h("div", { id: "test-fate", "data-key": "fate" }, (timing.words(state) ?? []).map((line) => h("p", null, line))),
        (state.families[state.app] ?? [{ app: state.app }]).map(screen),
        h("details", null, h("summary", null, "Content"),
          h("pre", { tabindex: 0, "aria-label": "Content" }, JSON.stringify({ ...content(), ...timing.members(state) }, null, 2))))),
  ];
}
