// What is wrong, as Carillon finds it, with the place where an operator follows the advice. The gravest comes first.

import { part } from "./client.js";
import { duration, inWords } from "./format.js";
import { difference } from "./time.js";

const gateways = ["#/gateways", "Look at the gateways"];
const credentials = ["#/more/credentials", "Show the credentials"];
const webhooks = ["#/more/webhooks", "Show the webhooks"];
const settings = ["#/more/configuration", "Show the settings"];
const deliveries = ["#/more/events?prefix=delivery/", "Show the deliveries as they end"];

// By code: the title, for an app or for the whole, and the place if it is not the gateway of the app.
const kinds = {
  not_ready: [(app) => (app ? `${app} cannot send` : "Messages cannot be sent")],
  paused: [(app) => `${app} is paused`],
  brake: [(app) => `The brake of ${app} is on`],
  breaker: [(app) => `The circuit breaker of ${app} is open`],
  backlog: [(app) => (app ? `Messages of ${app} wait for long` : "Messages of unknown apps wait"), gateways],
  slow_answers: [(app) => `The push service answers ${app} slowly`],
  deferrals: [() => "Nothing is sent", deliveries],
  rejections: [() => "Many notifications are rejected", deliveries],
  unknown_outcomes: [() => "Some outcomes are unknown", deliveries],
  intake_full: [() => "The intake is full", gateways],
  credential: [(app) => `The ${credentialOf(app)} cannot be used`, credentials],
  credential_expires: [(app) => `The ${credentialOf(app)} expires`, credentials],
  restart_needed: [() => "Settings wait for a restart", settings],
  webhook: [() => "A webhook does not deliver", webhooks],
  events_lost: [() => "Events were lost"],
  deaf_subscribers: [() => "Subscribers do not read"],
};

function credentialOf(app) {
  return app ? `credential of ${app}` : "certificate of the HTTP port";
}

/** Returns alarms: `kind` is bad or warn, `todo` is the advice, and `link` has an address and its words. */
export function alarms(live) {
  if (!live.stats) return [];
  const found = (live.findings ?? []).filter(({ severity }) => severity !== "note").map(
    ({ severity, code, what, app, advice }) => {
      const [title, link] = kinds[code] ?? [() => "Something needs attention"];
      return { kind: severity === "fault" ? "bad" : "warn", title: title(app), text: inWords(what),
        todo: advice && inWords(advice), link: link ?? (app && [`#/gateways/${part(app)}`, `Open the gateway ${app}`]) };
    });
  const ahead = -difference();
  if (ahead) {
    found.push({ kind: "warn",
      title: `The clock of this browser is ${duration(roughly(Math.abs(ahead)))} ${ahead > 0 ? "ahead" : "behind"}`,
      text: "The page shows the times of Carillon, and signs with them.",
      todo: "Set the clock of this machine, or that of Carillon if it is the wrong one." });
  }
  return found;
}

/** A difference of clocks as far as it is known: answers name the second, and take time. */
function roughly(ms) {
  const unit = ms >= 120_000 ? 60_000 : 1000;
  return Math.round(ms / unit) * unit;
}
