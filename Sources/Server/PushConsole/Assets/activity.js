// A Live Activity for tests: its start, its updates and its end, and what became of them, as one story.

import { part, target } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { some } from "./format.js";
import { check, fault, field, foreign, notice, options } from "./parts.js";
import { story } from "./story.js";
import { now } from "./time.js";

const updateInterval = 3000;
const empty = { app: "", name: "", content: "{}", title: "", body: "", type: "", to: "user", recipient: "",
  attributes: "", dismiss: false };
const state = { ...empty, place: "", trace: null, missing: null, fault: null, shown: undefined, readAt: 0,
  pause: updateInterval, isReading: false };

/** The apps that have Live Activities: those at Apple, which alone have an environment. */
function appsOf({ live, onlyApps }) {
  const all = (live.stats?.apps ?? []).filter(({ environment }) => environment).map(({ app }) => app);
  return all.filter((app) => onlyApps?.includes(app) ?? true);
}

/** Chooses an app that has Live Activities: an address may name a family, or an app at another push service. */
function chooseApp(context) {
  const apps = appsOf(context);
  if (apps.length && !apps.includes(state.app)) state.app = apps[0];
  return apps;
}

/** The address names what is followed, and what is filled in. */
export function open(context) {
  const { query, redraw } = context;
  const place = query.get("name") ? `${query.get("app")}/${query.get("name")}` : "";
  if (place !== state.place) Object.assign(state, { place, trace: null, missing: null, shown: undefined });
  const given = { app: query.get("app"), name: query.get("name"), type: query.get("type"),
    recipient: query.get("device"), to: query.get("device") && "device" };
  for (const [name, value] of Object.entries(given)) {
    if (!value) continue;
    state[name] = value;
    if (name === "app") chooseApp(context);
    const control = document.getElementById(`activity-${name}`);
    if (control) control.value = state[name];
  }
  state.fault = null;
  redraw();
  return place ? read(context) : undefined;
}

export function forget() {
  Object.assign(state, empty, { place: "", trace: null, missing: null, fault: null, shown: undefined });
}

/** Reads the story: of the messages to the activity, of the one that started it, and of its addresses. */
async function read({ client, query, redraw }) {
  if (state.isReading) return;
  const { place } = state;
  const [app, activity, begun] = [query.get("app"), query.get("name"), Date.now()];
  state.isReading = true;
  try {
    const start = startOf(activity);
    // The app may have reported a name for which there is no such id.
    const message = new TextEncoder().encode(start).length <= 128 ? start : undefined;
    const trace = await client.get(target("/v1/trace", { activity, app, message }));
    if (place === state.place) Object.assign(state, { trace, missing: null });
  } catch (problem) {
    if (place === state.place && !(problem.isLost && state.trace)) state.missing = problem;
  } finally {
    // A large log takes longer to search, so it is asked less often.
    Object.assign(state, { isReading: false, readAt: place === state.place ? Date.now() : 0,
      pause: Math.max(updateInterval, 5 * (Date.now() - begun)) });
  }
  redraw();
}

/** Reads the story again while it goes on, and seldom after the end of the address. */
export function tick(context) {
  const isOver = state.trace?.events.at(-1)?.reason === "activity_ended";
  if (state.place && Date.now() - state.readAt >= (isOver ? 5 : 1) * state.pause) read(context);
}

// MARK: Messages

/** A start names no activity: the story finds it by this id. */
function startOf(name) {
  return `${name}-start`;
}

/** The object of a field; throws a sentence if it is not one. */
function object(id, label) {
  const [text, name] = [state[id].trim(), `activity-${id}`];
  try {
    const value = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return value;
  } catch {
    // The sentence below says it.
  }
  throw { detail: `${label} is not a JSON object, such as {"eta": 20}.`, field: name };
}

/** Throws a sentence if a field is empty. */
function needed(id, label) {
  const text = state[id].trim();
  if (text) return text;
  throw { detail: `${label} is missing.`, field: `activity-${id}` };
}

/** Returns the envelope of an event. */
function envelope(event) {
  const [app, name] = [needed("app", "The app"), needed("name", "The name")];
  const live = { event, content_state: object("content", "The content state") };
  const alert = Object.entries({ title: state.title.trim(), body: state.body.trim() }).filter(([, text]) => text);
  if (alert.length) live.alert = Object.fromEntries(alert);
  if (event === "end" && state.dismiss) live.dismiss_at = Math.floor(now() / 1000);
  if (event !== "start") {
    const id = `${name}-${event}-${crypto.randomUUID().slice(0, 8)}`;
    return { id, app, to: { activities: [name] }, live_activity: live };
  }
  needed("body", "The text of an alert, without which Apple starts no activity,");
  const recipient = needed("recipient", "The recipient");
  const attributes = state.attributes.trim() ? object("attributes", "The attributes") : { name };
  return { id: startOf(name), app, to: state.to === "user" ? { users: [recipient] }
    : { devices: [recipient.toLowerCase()] },
    live_activity: { ...live, type: needed("type", "The type"), attributes } };
}

/** The number of addresses that start activities of the type. */
async function starters({ client }, { app, to, live_activity: { type } }) {
  const device = to.devices?.[0];
  const found = device ? [await client.get(`/v1/devices/${part(device)}`)]
    : (await client.get(target("/v1/devices", { app, user: to.users[0], kind: "push_to_start", active: true,
      limit: 1000 }))).devices;
  return found.filter((one) => one.app === app && one.active && one.kind === "push_to_start"
    && one.activity_type === type).length;
}

async function submit(event, context) {
  const { client, go, redraw } = context;
  let message;
  try {
    message = envelope(event);
  } catch (problem) {
    state.fault = problem;
    redraw();
    document.getElementById(problem.field)?.focus();
    return;
  }
  const [name, { place }] = [state.name.trim(), state];
  state.fault = null;
  redraw();
  if (event === "start" && !await isWanted(context, message)) return;
  const sent = await attempt(() => client.json("POST", "/v1/messages", message),
    ({ status, detail, reason }) => status === "accepted" ? `Accepted as ${message.id}.`
      : status === "duplicate" ? `Accepted as ${message.id} before, and not sent again.`
      : `${status}: ${detail ?? reason ?? ""}`);
  if (!["accepted", "duplicate"].includes(sent?.status)) return;
  // The system allows few updates with an alert: each gets its own.
  for (const id of ["title", "body"]) {
    state[id] = "";
    const control = document.getElementById(`activity-${id}`);
    if (control) control.value = "";
  }
  // The user may have gone to another page, or to another activity.
  if (place !== state.place || !document.getElementById("activity-name")) return;
  go(target("#/messages/activity", { app: message.app, name }));
}

async function isWanted(context, message) {
  const { app, to, live_activity: { type } } = message;
  const count = await attempt(async () => ({ of: await starters(context, message) }));
  if (!count) return false;
  if (!count.of) {
    state.fault = { detail: `No active address of kind push_to_start and type ${type} in ${app} belongs to the `
      + `${to.users ? `user ${to.users[0]}` : `device ${to.devices[0]}`}. The app registers it.` };
    context.redraw();
    return false;
  }
  return ask({
    title: `Start an activity on ${some(count.of, "device")}?`, deed: `Start on ${some(count.of, "device")}`,
    isGrave: false, text: `It appears on the lock screens of real devices. "End" ends it.`,
  });
}

// MARK: The page

export function draw(context) {
  const { may, redraw } = context;
  const set = (name) => (event) => {
    state[name] = event.currentTarget.type === "checkbox" ? event.currentTarget.checked : event.currentTarget.value;
    state.fault = null;
    redraw();
  };
  const input = (name, more) => h("input", { id: `activity-${name}`, value: state[name], oninput: set(name),
    autocomplete: "off", spellcheck: "false", ...more });
  const text = (name, rows) => h("textarea", { id: `activity-${name}`, rows, oninput: set(name), class: "code",
    spellcheck: "false" }, state[name]);
  const button = (event, words, kind) => h("button", { type: "button", class: kind, disabled: !may("push"),
    onclick: () => submit(event, context) }, words);
  const apps = chooseApp(context);
  return [
    h("p", { class: "back" }, h("a", { href: "#/messages" }, "Messages")),
    h("h1", { tabindex: -1 }, "Test a Live Activity"),
    !may("push") && notice("warn", "This key may not push: it lacks the role push."),
    !apps.length && notice("warn", "No app is at Apple: only Apple has Live Activities."),
    h("form", { class: "panel form", novalidate: true, onsubmit: (event) => event.preventDefault() },
      field("App", h("select", { id: "activity-app", value: state.app, onchange: set("app") },
        options(apps.map((app) => [app, app]), state.app))),
      field("Name", input("name", { maxlength: 100 }),
        "The name of the activity, which the app reports with the token that updates it."),
      field("Content state", text("content", 3), "A JSON object, as the app declares it."),
      field("Title", input("title", { maxlength: 200 })),
      field("Text", input("body", { maxlength: 1000 }), "An alert. A start needs one."),
      h("details", { open: !state.place }, h("summary", null, "For the start"),
        h("div", { class: "form" },
          field("Type", input("type", { maxlength: 128 }), "The type of the attributes that the app declares."),
          field("Recipient", h("select", { id: "activity-to", value: state.to, onchange: set("to") },
            options([["user", "A user"], ["device", "A device"]], state.to))),
          field(state.to === "user" ? "User" : "Device id", input("recipient"),
            "It needs an address of kind push_to_start."),
          field("Attributes", text("attributes", 2),
            "A JSON object, as the app declares it. Empty gives the name to the app, in the attribute name."))),
      check("activity-dismiss", "With the end, remove it from the lock screen at once",
        { checked: state.dismiss, onchange: set("dismiss") }),
      fault(state.fault),
      h("div", { class: "buttons" }, button("start", "Start…", "main"), button("update", "Update"),
        button("end", "End"))),
    state.place && h("section", { "aria-labelledby": "story-title", "data-key": `story ${state.place}` },
      h("h2", { id: "story-title" }, "Story of ", h("span", { class: "code" }, foreign(context.query.get("name"), 200))),
      h("p", { class: "help" }, "Of updates that wait, only the newest is sent. An update waits for the address of its "
        + "activity, which the app registers."),
      fault(state.missing, () => read(context)),
      story({ trace: state.trace ?? (state.missing && { events: [] }), about: "activity", shown: state.shown,
        more: (shown) => {
          state.shown = shown;
          redraw();
        } })),
  ];
}
