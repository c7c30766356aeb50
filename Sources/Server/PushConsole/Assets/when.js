// When a test goes out: at once, at one moment, or when the clock of each device shows a time.

import { h } from "./dom.js";
import { distance, moment, ofInput } from "./format.js";
import { field, options } from "./parts.js";
import { now } from "./time.js";

// The clocks of all zones show a time within these hours before and after the one of UTC.
const [first, last] = [-14 * 3_600_000, 12 * 3_600_000];

export const empty = { when: "now", moment: "", local: "", zone: Intl.DateTimeFormat().resolvedOptions().timeZone ?? "",
  late: "send" };

/** The members of the envelope; null while the time is missing. */
export function members({ when, moment: at, local, zone, late }) {
  if (when === "now") return {};
  if (when === "moment") return ofInput(at) === undefined ? null : { not_before: Math.floor(ofInput(at) / 1000) };
  if (!Number.isFinite(Date.parse(`${local}Z`))) return null;
  return { at_local: local, ...zone.trim() && { time_zone: zone.trim() }, ...late === "drop" && { late } };
}

/** Whether it goes out later to some devices, so that it can be cancelled until then. */
export function isLater({ when, moment: at, local }) {
  if (when === "moment") return ofInput(at) > now();
  return when === "local" && Date.parse(`${local}Z`) + last > now();
}

/** What will happen, in words; null while the time is missing. */
export function words(state) {
  const { when, moment: at, local, zone, late } = state;
  if (!members(state)) return null;
  if (when === "now") return ["It goes out at once."];
  if (when === "moment") {
    return [ofInput(at) <= now() ? "This time has passed: it goes out at once."
      : `It goes out to all devices at ${moment(ofInput(at))}, ${distance(ofInput(at))}.`];
  }
  const [begin, end] = [first, last].map((offset) => Date.parse(`${local}Z`) + offset);
  const fate = late === "drop" ? "does not get it, and its delivery ends as expired" : "gets it at once";
  return [
    `Each device gets it when its own clock shows ${local.replace("T", " ")}.`,
    zone.trim() ? `For a device that registered without a time zone, the clock of ${zone.trim()} counts.`
      : "For a device that registered without a time zone, the clock of the app's time_zone counts.",
    now() < begin ? `It is that time first ${distance(begin)} and last ${distance(end)}, from one end of the world to `
      + "the other."
      : now() < end ? `Where that time has passed already, a device ${fate}. It is that time last ${distance(end)}.`
      : `That time has passed everywhere: a device ${fate}.`,
  ];
}

/**
 * The fields of the form.
 *
 * @param set makes the handler of a change of a member of the state.
 * @param isLocal whether this Carillon can send at a local time.
 */
export function fields(state, set, isLocal) {
  // Each has a key, so that one does not take over what was written into another.
  const keyed = (label, control, help) => {
    const whole = field(label, control, help);
    whole.dataset.key = control.id;
    return whole;
  };
  const time = (id, name) => h("input", { id, type: "datetime-local", value: state[name], onchange: set(name),
    required: true });
  return [
    field("When", h("select", { id: "test-when", value: state.when, onchange: set("when") }, options([
      ["now", "At once"], ["moment", "At one moment"], ...isLocal ? [["local", "At a local time of each device"]] : [],
    ], state.when))),
    state.when === "moment" && keyed("Date and time", time("test-moment", "moment"), "In the time zone of this browser."),
    state.when === "local" && [
      keyed("Local date and time", time("test-local", "local"), "The time on the clock of each device."),
      keyed("Time zone", h("input", { id: "test-zone", value: state.zone, oninput: set("zone"), list: "test-zones",
        autocomplete: "off", spellcheck: "false", maxlength: 64 }),
      "For devices that registered without one. Empty takes that of the app in the configuration."),
      h("datalist", { id: "test-zones", "data-key": "test-zones" }, Intl.supportedValuesOf("timeZone").map((name) => h("option", { value: name }))),
      keyed("Where the time has passed", h("select", { id: "test-late", value: state.late, onchange: set("late") },
        options([["send", "Send at once"], ["drop", "Do not send"]], state.late))),
    ],
  ];
}
