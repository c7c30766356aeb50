// What is wrong, in words, with what to do. The gravest comes first.

import { part } from "./client.js";
import { count, distance, duration, inWords, percent, some } from "./format.js";
import { difference } from "./time.js";
import { advice } from "./words.js";

const gateways = ["#/gateways", "Look at the gateways"];
const gateway = (app) => [`#/gateways/${part(app)}`, `Open the gateway ${app}`];
const oldAge = 60_000;
const slowAnswer = 15_000;
const badShare = 0.05;

/**
 * Returns alarms: `kind` is bad or warn, `todo` is the advice, and `link` leads to the place where it is followed, with
 * the words of that link.
 */
export function alarms(live) {
  const found = [];
  const { stats, readiness, history } = live;
  if (!stats) return found;
  // A reason may end with its advice.
  const bad = (title, text, todo, link) => found.push({ kind: "bad", title, text,
    todo: text?.includes(todo) ? null : todo, link });
  const warn = (title, text, todo, link) => found.push({ kind: "warn", title, text, todo, link });

  if (stats.ledger?.fault) {
    bad("Nothing can be stored", stats.ledger.fault,
      "Check the disk of the data directory: free space, and permission to write.");
  }
  if (readiness?.reason && readiness.reason !== stats.ledger?.fault) bad("Messages are not accepted", readiness.reason);
  const reasons = [stats.ledger?.fault, readiness?.reason];
  for (const app of readiness?.apps ?? []) {
    if (app.ready) continue;
    reasons.push(app.reason);
    if (/^paused by an operator/.test(app.reason ?? "")) {
      warn(`${app.app} is paused`, "An operator paused it. Messages are accepted and wait.",
        "Resume it when the reason is gone.", gateway(app.app));
    } else {
      bad(`${app.app} cannot send`, app.reason, advice[app.code], gateway(app.app));
    }
  }
  for (const obstacle of stats.obstacles ?? []) {
    if (!reasons.some((reason) => reason && obstacle.includes(reason))) bad("Something is in the way", obstacle);
  }
  for (const warning of readiness?.warnings ?? []) warn("Needs attention", warning);
  outcomes(history, warn);
  waiting(stats, history, warn);
  credentials(live.credentials, stats.taken_at, bad, warn);
  const ahead = -difference();
  if (ahead) {
    warn(`The clock of this browser is ${duration(roughly(Math.abs(ahead)))} ${ahead > 0 ? "ahead" : "behind"}`,
      "The page shows the times of Carillon, and signs with them.",
      "Set the clock of this machine, or that of Carillon if it is the wrong one.");
  }
  return found.sort((one, other) => (one.kind === other.kind ? 0 : one.kind === "bad" ? -1 : 1));
}

function outcomes(history, warn) {
  const [sent, rejected, lost, busy] = ["sent", "rejected", "unknown", "busy"].map(
    (name) => history.lastMinute(name) ?? 0);
  const all = sent + rejected;
  if (rejected >= 5 && rejected / all > badShare) {
    warn("The push service rejects many notifications",
      `${percent(rejected / all)} of the last minute: ${count(Math.round(rejected))} of ${count(Math.round(all))}.`,
      "The live events with the prefix delivery/ name the reasons. Old tokens are normal; a wrong topic is not.",
      ["#/more/events?prefix=delivery/", "Show the deliveries as they end"]);
  }
  if (lost >= 1) {
    warn("Some outcomes are unknown",
      `${some(Math.round(lost), "notification")} of the last minute had no answer when a connection ended.`,
      "Carillon sends them again unless the message says on_unknown: drop.");
  }
  if (busy >= 1) {
    warn("The intake is full",
      `Producers were asked ${some(Math.round(busy), "time")} in the last minute to come again.`,
      "A gateway may be too slow for the load: look at its connections, and scale it.", gateways);
  }
}

function waiting(stats, history, warn) {
  const age = history.points.at(-1)?.oldest;
  if (age > oldAge) {
    warn("Messages wait for long",
      `The oldest one waits for ${duration(age)}; ${some(stats.backlog?.waiting ?? 0, "message")} wait in all.`,
      "Look at the gateways: one that is not up, or has too few connections, holds its messages.", gateways);
  }
  for (const app of stats.apps ?? []) {
    if (app.oldest_unanswered_ms > slowAnswer) {
      warn(`The push service answers ${app.app} slowly`,
        `The oldest request waits for ${duration(app.oldest_unanswered_ms)}.`,
        "Its connections show which request is open. A busy push service answers later by itself.", gateway(app.app));
    }
    if (app.brake_on) {
      warn(`The brake of ${app.app} is on`, "The push service rejected so many tokens at once that no device is "
        + "deactivated any more.", `${inWords(app.brake_advice ?? "check the settings of the app")} If `
        + "they are right, release the brake.", gateway(app.app));
    }
  }
}

function credentials(all, now, bad, warn) {
  for (const credential of all ?? []) {
    if (!Number.isFinite(credential.expires_at)) continue;
    const left = credential.expires_at - now;
    const renew = credential.renewal ? inWords(credential.renewal)
      : "Get a new one, put it in the place of the old one, and reload.";
    if (left <= 0) bad(`The credential of ${credential.app} has expired`,
      `It expired ${distance(credential.expires_at, now)}.`, renew, ["#/more/credentials", "Show the credentials"]);
    else if (left < 14 * 86_400_000) warn(`The credential of ${credential.app} expires soon`,
      `It expires ${distance(credential.expires_at, now)}.`, renew, ["#/more/credentials", "Show the credentials"]);
  }
}

/** A difference of clocks as far as it is known: answers name the second, and take time. */
function roughly(ms) {
  const unit = ms >= 120_000 ? 60_000 : 1000;
  return Math.round(ms / unit) * unit;
}
