// Webhooks: the receivers of events over HTTP, where they stand, and what an operator can do with one.

import { part, refresh } from "./client.js";
import { ask, attempt } from "./dialog.js";
import { h } from "./dom.js";
import { count, distance, moment, some } from "./format.js";
import { badge, fault, foreign, table } from "./parts.js";

export const title = "Webhooks";
const place = "/v1/webhooks";
const state = { list: null, fault: null, isReading: false };

export async function open({ client, redraw }) {
  await refresh(state, redraw, async () => {
    client.require("GET", place);
    return { list: (await client.get(place)).webhooks ?? [] };
  });
}

export function tick(context) {
  open(context);
}

export function forget() {
  Object.assign(state, { list: null, fault: null });
}

const kinds = { backing_off: "warn", unowned: "warn", paused: "warn", disabled: "bad" };

// Where a webhook is: its position, or in a cluster those of its parts.
function position({ position: number, parts }) {
  if (Number.isFinite(number)) return count(number);
  const said = (parts ?? []).map((one) => `part ${one.part}: ${one.state.replaceAll("_", " ")}, at ${one.position}, `
    + `${one.lag} behind, node ${one.node ?? "none"}`);
  return h("span", { title: said.join("\n") }, some(said.length, "part"));
}

function last({ last_status: status, last_fault: problem, last_at: at }) {
  if (!Number.isFinite(at)) return null;
  return h("span", { title: moment(at) }, Number.isFinite(status) ? `${status}, ` : "no answer, ", distance(at),
    problem && h("span", { class: "quiet" }, " ", foreign(problem, 200)));
}

export function draw(context) {
  if (!state.list) return fault(state.fault, () => open(context)) ?? h("p", { class: "empty" }, "Reading the webhooks…");
  return h("section", { class: "view", "aria-labelledby": "webhooks-title" },
    h("h2", { id: "webhooks-title" }, title),
    fault(state.fault, () => open(context)),
    table({
      caption: some(state.list.length, "webhook"), rows: state.list, key: ({ name }) => name,
      empty: "There is no webhook. Add one below webhooks in the configuration, and reload.",
      columns: [
        { name: "Name", cell: ({ name }) => h("strong", null, name) },
        { name: "State", cell: ({ state: name }) => badge(kinds[name] ?? "good", name.replaceAll("_", " ")) },
        { name: "Position", class: "number", cell: position },
        { name: "Behind", class: "number", cell: ({ lag }) => count(lag) },
        { name: "Last request", cell: last },
        { name: "Failures", class: "number", cell: ({ failures }) => count(failures) },
        { name: "Receiver", class: "code", cell: ({ host }) => foreign(host, 200) },
        ...(context.may("operate") ? [{ name: "Change", cell: (one) => deeds(context, one) }] : []),
      ],
    }));
}

function deeds(context, { name, state: now }) {
  const { client } = context;
  const post = (verb) => client.json("POST", `${place}/${part(name)}/${verb}`,
    client.emptyBody("POST", `${place}/{name}/${verb}`));
  const isStopped = now === "paused" || now === "disabled";
  const change = async () => {
    if (!isStopped && !await ask({ title: `Pause ${name}?`, deed: `Pause ${name}`, isGrave: false,
      text: "Nothing more is sent to it until it is resumed. Events wait as long as they are kept." })) return;
    await attempt(() => post(isStopped ? "resume" : "pause"), `${name} is ${isStopped ? "resumed" : "paused"}.`);
    open(context);
  };
  const test = () => attempt(() => post("test"), (answer) => Number.isFinite(answer.status)
    ? `${name} answered ${answer.status}.` : `${name} did not answer: ${answer.fault}`);
  return h("div", { class: "buttons" },
    h("button", { type: "button", onclick: test, "aria-label": `Test ${name}` }, "Test"),
    h("button", { type: "button", onclick: change, "aria-label": `${isStopped ? "Resume" : "Pause"} ${name}` },
      isStopped ? "Resume" : "Pause…"));
}
