// API keys: list, make, rotate, revoke. A secret is shown once, here, and is kept nowhere in the page.

import { part, target } from "./client.js";
import { ask, attempt, show } from "./dialog.js";
import { h } from "./dom.js";
import { distance, moment, some } from "./format.js";
import { badge, check, copyButton, fault, field, options, table } from "./parts.js";

export const title = "API keys";
const roles = [
  ["observe", "look at everything"], ["operate", "observe, and change what runs"],
  ["admin", "operate, and manage keys"],
  ["push", "push and cancel"], ["register", "register and remove devices of its apps, by token"],
];
const overlaps = [["3600000", "one hour"], ["86400000", "one day"], ["604800000", "one week"], ["0", "not at all"]];
const day = 86_400_000;
const state = { keys: null, next: null, loading: "", fault: null };

export async function open({ client, redraw, query }) {
  const loading = `${query}`;
  if (loading !== state.loading) Object.assign(state, { loading, keys: null });
  try {
    const answer = await client.get(target("/v1/keys", { after: query.get("after"), ended: query.get("ended") }));
    if (loading !== state.loading) return;
    Object.assign(state, { keys: answer.keys, next: answer.next, fault: null });
  } catch (problem) {
    if (loading !== state.loading) return;
    Object.assign(state, { fault: problem });
  }
  redraw();
}

export function forget() {
  Object.assign(state, { keys: null, next: null, fault: null });
}

/** Whether the key itself has ended. The successor of a rotated key has its name, and the buttons. */
function isOver({ state: name }) {
  return name !== "active";
}

async function secretShown(name, made) {
  const readonly = (id, value) => h("input", { id, readonly: true, value, class: "code",
    onfocus: (event) => event.currentTarget.select() });
  const text = readonly("made-secret", made.secret);
  await show({ title: name, content: h("div", { class: "form" },
    h("p", null, "The secret is shown this once. Keep it now, where secrets are kept."),
    field("Key id", readonly("made-id", made.key_id)), field("Secret", text),
    copyButton("Copy the secret", () => made.secret)) });
  text.value = "";
}

export function draw(context) {
  const { may, query } = context;
  if (!state.keys) return fault(state.fault, () => open(context)) ?? h("p", { class: "empty" }, "Reading the keys…");
  const isAdmin = may("admin");
  const hasEnded = query.get("ended") === "true";
  return [
    fault(state.fault, () => open(context)),
    table({
      caption: `${some(state.keys.length, "key")}${hasEnded ? ", with those that have ended" : ""}`, rows: state.keys,
      key: ({ key_id: id }) => id, empty: "There is no key. Make the first one with `carillon keys api add`.",
      columns: [
        { name: "Name", cell: ({ name, key_id: id }) => [h("strong", null, name),
          id === context.client.keyID && h("span", { class: "quiet" }, " (yours)")] },
        { name: "State", cell: (key) => badge({ active: "good", rotated: "warn", expired: "warn" }[key.state] ?? "idle",
          key.state === "rotated" && key.overlap_ends_at ? `rotated, ends ${distance(key.overlap_ends_at)}`
            : key.state) },
        { name: "Key id", class: "code id", cell: ({ key_id: id }) => id },
        { name: "Roles", cell: ({ roles: all }) => (all ?? []).join(", ") },
        { name: "Apps", cell: ({ apps }) => apps ? apps.join(", ") : "all" },
        { name: "From", cell: ({ from }) => from?.length ? from.join(", ") : "anywhere" },
        { name: "Expires", class: "number", cell: ({ expires_at: at }) => at
          ? h("span", { title: moment(at) }, distance(at)) : "never" },
        ...(isAdmin ? [{ name: "Change", cell: (key) => isOver(key) ? null : deeds(context, key) }] : []),
      ],
    }),
    h("div", { class: "pages" },
      state.next && h("a", { class: "button", href: target("#/more/keys", { after: state.next,
        ended: query.get("ended") }) }, "Next page"),
      h("a", { href: target("#/more/keys", { ended: hasEnded ? "" : "true" }) },
        hasEnded ? "Only valid keys" : "Also keys that have ended")),
    isAdmin && form(context),
  ];
}

function deeds(context, key) {
  const { client, signOut } = context;
  const isOwn = key.key_id === client.keyID;
  const rotate = async () => {
    const overlap = h("select", { id: "overlap" }, options(overlaps, "3600000"));
    if (!await ask({ title: `Rotate ${key.name}?`, deed: `Rotate ${key.name}`, isGrave: false,
      text: ["A new key id and secret take its place.", field("The old ones still work for", overlap),
        isOwn && "You are signed in with this key. Sign in with the new one before the old one ends."] })) return;
    const overlapMS = Number(overlap.value);
    const made = await attempt(() => client.json("POST", `/v1/keys/${part(key.name)}/rotate`,
      { overlap_ms: overlapMS }));
    if (made) await secretShown(`New secret of ${key.name}`, made);
    if (isOwn && !overlapMS && made) signOut(`You rotated the key ${key.name}. Sign in with its new id and secret.`);
    else open(context);
  };
  const revoke = async () => {
    if (!await ask({ title: `Revoke ${key.name}?`, deed: `Revoke ${key.name}`,
      text: ["Every request that it signs is refused from now on, and its open connections and streams end.",
        `Its roles are ${(key.roles ?? []).join(", ")}. This cannot be undone.`,
        isOwn && "You are signed in with this key: this page signs out."] })) return;
    try {
      // The answer may be lost with the connections of the key.
      await attempt(() => client.json("POST", `/v1/keys/${part(key.name)}/revoke`,
        client.emptyBody("POST", "/v1/keys/{name}/revoke")).catch((problem) => {
        if (!isOwn || !problem.isLost) throw problem;
      }), `${key.name} is revoked.`);
    } finally {
      if (isOwn) await client.get("/v1/caller").catch((problem) => problem.status === 401
        && signOut(`You revoked the key ${key.name}, with which you were signed in.`));
    }
    open(context);
  };
  return h("div", { class: "buttons" }, h("button", { type: "button", onclick: rotate,
    "aria-label": `Rotate ${key.name}` }, "Rotate…"),
    h("button", { type: "button", class: "grave quietly", onclick: revoke, "aria-label": `Revoke ${key.name}` },
      "Revoke…"));
}

function form(context) {
  const { client, live } = context;
  const submit = async (event) => {
    event.preventDefault();
    const target = event.currentTarget;
    const chosen = (name) => [...target.querySelectorAll(`input[data-group="${name}"]:checked`)]
      .map(({ value }) => value);
    const days = Number(target.elements["key-days"].value);
    const from = target.elements["key-from"].value.split(/[\s,]+/).filter(Boolean);
    const body = { name: target.elements["key-name"].value.trim(), roles: chosen("role") };
    if (chosen("app").length) body.apps = chosen("app");
    if (from.length) body.from = from;
    if (days > 0) body.expires_in_ms = days * day;
    if (target.elements["key-bearer"].checked) body.bearer = true;
    const made = await attempt(() => client.json("POST", "/v1/keys", body));
    if (!made) return;
    target.reset();
    target.closest("details").open = false;
    await secretShown(`The key ${body.name}`, made);
    open(context);
  };
  const group = (name, legend, all) => h("fieldset", null, h("legend", null, legend),
    all.map(([value, words]) => check(`key-${name}-${value}`, words, { value, "data-group": name })));
  return h("details", { class: "panel" }, h("summary", null, "Make a key"),
    h("form", { class: "form", onsubmit: submit },
      field("Name", h("input", { id: "key-name", name: "key-name", required: true, maxlength: 64,
        autocomplete: "off", spellcheck: "false" })),
      group("role", "It may", roles.map(([role, words]) => [role, `${role}: ${words}`])),
      group("app", "For these apps; for all, if none is chosen", (live.stats?.apps ?? []).map(({ app }) => [app, app])),
      field("From", h("input", { id: "key-from", name: "key-from", autocomplete: "off" }),
        "Networks, such as 10.0.0.0/8. Empty is anywhere."),
      field("Expires after", h("input", { id: "key-days", name: "key-days", type: "number", min: 1, max: 36500 }),
        "Days. Empty is never."),
      check("key-bearer", "May also be sent as a bearer token, for tools that cannot sign"),
      h("div", { class: "buttons" }, h("button", { class: "main", type: "submit" }, "Make the key"))));
}
