// A story: the events of a message or a device, in order, with what each says.

import { part } from "./client.js";
import { h } from "./dom.js";
import { clock, count, moment, shortID } from "./format.js";
import { badge, foreign, notice } from "./parts.js";
import { kindOf, particulars, sentence } from "./words.js";

const firstPart = 200;
const lastPart = 5;
/** From that many events of one kind on, the deliveries between two other events are told together. */
const leastFolded = 5;
const graveness = ["bad", "warn", "idle", "good"];

/** Returns the number of an event, in a cluster with the part of the log. */
export function numberOf({ part, seq }) {
  return part ? `${part}:${seq}` : String(seq);
}

/** What an event says of any device. */
function common({ family, app, kind, status, reason, resend, by }) {
  return { family, app, kind, status, reason, resend, by };
}

/** Returns the lines of one stretch of deliveries: groups of events that say the same, the gravest first. */
function groups(stretch) {
  const found = new Map();
  for (const event of stretch) {
    const name = JSON.stringify(common(event));
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(event);
  }
  if (![...found.values()].some((group) => group.length >= leastFolded)) return stretch.map((event) => [event]);
  const rank = ([event]) => graveness.indexOf(kindOf(event));
  return [...found.values()].sort((one, other) => rank(one) - rank(other))
    .flatMap((group) => group.length >= leastFolded ? [group] : group.map((event) => [event]));
}

/** Returns the lines of a story, each with its events. Between two events of the message, its deliveries are alike. */
function folded(events) {
  const lines = [];
  let stretch = [];
  for (const event of events) {
    if (["delivery", "device"].includes(event.family)) {
      stretch.push(event);
    } else {
      lines.push(...groups(stretch), [event]);
      stretch = [];
    }
  }
  return [...lines, ...groups(stretch)];
}

/** The groups that are open, by the number of their first event. */
const unfolded = new Set();
const mostUnfolded = 100;

/** Makes the list of a trace. `about` is what the story is about, which is not repeated in each line. */
export function story({ trace, about, shown, more }) {
  if (!trace) return h("p", { class: "empty" }, "Reading the story…");
  const limit = shown ?? firstPart;
  // What a device got last is what is asked for; a message is told from its beginning.
  const events = about === "device" ? [...trace.events].reverse().map((event) => [event]) : folded(trace.events);
  let day = "";
  const timeOf = (event) => {
    const date = new Date(event.ts).toDateString();
    const time = date === day ? clock(event.ts, true) : moment(event.ts, true);
    day = date;
    return h("time", { datetime: new Date(event.ts).toISOString() }, time);
  };
  const single = (event) => h("li", { "data-key": `event ${numberOf(event)}` }, timeOf(event),
    h("div", null, badge(kindOf(event), sentence(event))), links(event, about), details(event));
  const line = (group) => {
    const [first] = group;
    if (group.length === 1) return single(first);
    const number = numberOf(first);
    const isOpen = unfolded.has(number);
    const [from, to] = [first, group.at(-1)].map(({ ts }) => clock(ts, true));
    const toggle = () => {
      if (isOpen) unfolded.delete(number);
      else unfolded.add(number);
      more(shown);
    };
    return [
      h("li", { class: "group", "data-key": `group ${number}` }, timeOf(first),
        h("div", null, badge(kindOf(first), h("strong", null, `${count(group.length)} ×`), " ", sentence(common(first)),
          from !== to && h("span", { class: "quiet" }, ` until ${to}`))),
        h("button", { type: "button", "aria-expanded": String(isOpen), onclick: toggle }, isOpen ? "Fold" : "Show")),
      isOpen && group.slice(0, mostUnfolded).map(single),
      isOpen && group.length > mostUnfolded && h("li", { class: "gap", "data-key": `rest ${number}` },
        h("p", { class: "help" }, `${count(group.length - mostUnfolded)} more are in the list of all deliveries.`)),
    ];
  };
  // The end of a long story is shown as well: it says how the story ended.
  const left = Math.max(0, events.length - limit - lastPart);
  return [
    trace.complete === false && notice("warn",
      `The story goes on: the answer leaves out further ${(trace.left_out ?? ["events"]).join(", ")}.`),
    events.length === 0 && h("p", { class: "empty" }, "No event is kept."),
    events.length > 0 && h("ol", { class: "story" },
      (left ? events.slice(0, limit) : events).map(line),
      left > 0 && h("li", { class: "gap", "data-key": "gap" },
        h("button", { type: "button", onclick: () => more(limit + 500) },
          `Show ${Math.min(500, left)} more of ${count(left)}`)),
      left > 0 && events.slice(-lastPart).map(line)),
  ];
}

/** Links to what an event is about. */
export function links(event, about) {
  return h("div", { class: "links" },
    about !== "message" && event.message_id !== undefined && h("a",
      { href: `#/messages/${part(event.app)}/${part(event.message_id)}` }, foreign(event.message_id, 40)),
    about !== "device" && event.device && h("a", { href: `#/devices/${part(event.device)}`, class: "code",
      "aria-label": `Device ${event.device}` }, shortID(event.device)));
}

/** The numbers of the events that are open. Others have no particulars in the page, so that long lists are cheap. */
const opened = new Set();

/** Makes the number of an event, which opens to all that it says. */
export function details(event) {
  const all = () => h("dl", { class: "facts small" }, particulars(event).map(([name, value]) =>
    h("div", null, h("dt", null, name), h("dd", { class: "code" }, foreign(value, 2000)))));
  const ontoggle = ({ currentTarget }) => {
    const isOpen = currentTarget.open;
    if (isOpen) opened.add(numberOf(event));
    else opened.delete(numberOf(event));
    if (isOpen !== currentTarget.children.length > 1) {
      if (isOpen) currentTarget.append(all());
      else currentTarget.lastChild.remove();
    }
  };
  return h("details", { ontoggle }, h("summary", null, h("span", { class: "unseen" }, "Event "), numberOf(event)),
    opened.has(numberOf(event)) && all());
}
