// Events in sentences, in the words of `carillon trace` and `carillon events`.

import { count, duration } from "./format.js";

const rejections = {
  bad_frame: "the frames are invalid", bad_json: "invalid JSON", missing_field: "a required field is missing",
  bad_field: "a field is invalid", unknown_app: "the configuration has no such app",
    bad_audience: "the audience is invalid",
  bad_token: "a device token is invalid", payload_too_large: "the payload is larger than its push type allows",
  bad_payload: "the payload is invalid for its push type",
  id_conflict: "its id was used before for a message with different content", expired: "it had expired when it arrived",
  forbidden: "the client has no permission to push to this app", too_many: "it exceeds the maximum number of items",
};
const suppressions = {
  inactive: "the device is inactive", duplicate: "this message was already processed for the device",
  unknown_device: "the registry has no device with this id",
  erased: "the user of the device was erased",
  reassigned: "the device has another user since it was found",
};
const expiries = {
  no_address: "no address of the Live Activity was registered in time, or it has ended",
  ended: "a message that ends the Live Activity was accepted before",
};
const causes = {
  timeout: "timed out waiting for the response", connection_lost: "connection lost before the response",
  reset: "the push service reset the request", server_error: "the push service answered with an error of its own",
};
const deactivations = {
  feedback: "the feedback service reported that the app was uninstalled", by_hand: "an operator deactivated it",
  removed: "an operator removed it and its data", erased: "its user was erased", replaced: "another token replaced its token",
  activity_ended: "its Live Activity has ended",
};

/** A code in words, for reasons without a sentence: "TooManyRequests" stays, "id_conflict" becomes "id conflict". */
function plain(reason) {
  return reason ? String(reason).replaceAll("_", " ") : "no reason recorded";
}

function attempt(event) {
  const parts = [];
  if (event.attempt > 1) parts.push(`attempt ${event.attempt}`);
  if (Number.isFinite(event.latency_ms)) parts.push(`${duration(event.latency_ms)} after acceptance`);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

function retryText(event) {
  return Number.isFinite(event.retry_after_ms) ? `, retry in ${duration(event.retry_after_ms)}` : "";
}

function resendText({ resend }) {
  if (resend === undefined) return "it may have been accepted";
  return resend ? "it is sent again" : "it is not sent again";
}

function answered(event) {
  return [event.status, event.reason].filter(Boolean).join(" ") || "no reason given";
}

export function countsText(counts) {
  const some = Object.entries(counts ?? {}).filter(([, number]) => number);
  return some.length ? some.map(([name, number]) => `${count(number)} ${plain(name)}`).join(", ")
    : "there were no devices to send to";
}

/** An expression of tags in words, as in the envelope: a tag, or an object with all, any or not. */
export function tagsText(tags, isInside = false) {
  if (typeof tags === "string") return `#${tags}`;
  const [[name, value] = []] = tags && typeof tags === "object" && !Array.isArray(tags) ? Object.entries(tags) : [];
  if (name === "not") return `not ${tagsText(value, true)}`;
  const joint = { all: " and ", any: " or " }[name];
  if (!joint || !Array.isArray(value) || Object.keys(tags).length > 1) return JSON.stringify(tags);
  const text = value.map((one) => tagsText(one, value.length > 1)).join(joint);
  return isInside && value.length > 1 ? `(${text})` : text;
}

export function audienceText(message) {
  if (message.audience === "all") return "all devices of the app";
  if (message.audience === "tags") return `devices with ${tagsText(message.tags)}`;
  if (message.audience === "users" && message.users?.length === 1 && !(message.user_count > 1)) {
    return `the user ${message.users[0]}`;
  }
  if (message.audience === "users") {
    const more = (message.user_count ?? 0) - (message.users?.length ?? 0);
    return `the users ${(message.users ?? []).join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
  }
  if (message.audience === "activities") {
    const names = message.activities ?? [];
    return `the Live ${names.length === 1 ? "Activity" : "Activities"} ${names.join(", ")}`;
  }
  return Number.isFinite(message.devices)
    ? `${count(message.devices)} named ${message.devices === 1 ? "device" : "devices"}` : "named devices";
}

const sentences = {
  "message/accepted": (event) =>
    `Accepted from ${event.client ? `the client ${event.client}` : "a producer"} for ${audienceText(event)}`,
  "message/duplicate": () => "Duplicate: this message was accepted before and is not sent again",
  "message/rejected": (event) =>
    `Rejected: ${rejections[event.reason] ?? plain(event.reason)}${event.detail ? ` (${event.detail})` : ""}`,
  "message/expired": () => "Expired before its devices were looked up",
  "message/completed": (event) => `Completed: ${countsText(event.counts)}`,
  "message/cancelled": ({ by, counts, sent, cancelled }) =>
    `Cancelled${by ? ` by ${by}` : ""}: ${countsText(counts ?? { sent, cancelled })}`,
  "delivery/sent": (event) => `Sent: accepted by the push service${attempt(event)}`,
  "delivery/rejected": (event) => `Rejected by the push service: ${answered(event)}${attempt(event)}`,
  "delivery/retry": (event) =>
    `Deferred by the push service: ${answered(event)}${retryText(event)}${attempt(event)}`,
  "delivery/unknown": (event) =>
    `Outcome unknown: ${causes[event.reason] ?? plain(event.reason)}; ${resendText(event)}${attempt(event)}`,
  "delivery/expired": (event) =>
    `Not sent: expired${event.reason ? `, ${expiries[event.reason] ?? plain(event.reason)}` : ""}${attempt(event)}`,
  "delivery/superseded": () => "Not sent: a newer message for the Live Activity takes its place",
  "delivery/suppressed": (event) => `Not sent: ${suppressions[event.reason] ?? plain(event.reason)}`,
  "delivery/displayed": () => "Displayed on the device",
  "delivery/opened": () => "Opened on the device",
  "device/registered": () => "Device registered",
  "device/reactivated": () => "Device reactivated",
  "device/deactivated": (event) => `Device deactivated: ${deactivations[event.reason] ?? plain(event.reason)}`,
  "device/brake": (event) => event.state === "off"
    ? "Deactivation of devices resumed: the responses of the push service are normal again"
    : "Deactivation of devices paused: the push service rejects too many tokens at once. Check the settings of the app",
  "connection/up": (event) => `Connection up${event.address ? ` to ${event.address}` : ""}`,
  "connection/down": (event) => `Connection ended: ${event.message ?? plain(event.reason)}`,
  "connection/goaway": (event) =>
    `The push service asked to end a connection${event.reason ? `: ${event.reason}` : ""}`,
  "connection/scaled": () => "Gateway scaled",
  "credential/expiring": () => "Credential expires soon",
  "credential/rotated": () => "Credential replaced",
  "credential/failed": (event) =>
    `Credential unusable, sending halted until it is replaced${event.message ? `: ${event.message}` : ""}`,
  "ledger/restored": (event) =>
    `Restored from a backup: what happened after it is lost, and numbers go on at ${event.continues_at}`,
  "webhook/disabled": ({ webhook, reason }) => (reason === "damaged"
    ? `The position of the webhook ${webhook} cannot be read`
    : `The receiver of the webhook ${webhook} wants no more events`) + ": disabled until it is resumed",
  "webhook/paused": ({ webhook }) => `Webhook ${webhook} paused by an operator`,
  "webhook/resumed": ({ webhook }) => `Webhook ${webhook} resumed by an operator`,
  "webhook/skipped": ({ webhook }) => `Webhook ${webhook} skipped events that are no longer stored`,
};

/** What a notification of the App Store is about. */
function purchaseText({ subtype, product_id, environment }) {
  const about = [subtype, product_id, environment === "Production" ? undefined : environment].filter(Boolean);
  return about.length > 0 ? ` (${about.join(", ")})` : "";
}

/** A sentence for an event. Kinds that this page does not know are shown by their names. */
export function sentence(event) {
  if (event.family === "receipt") return `App Store: ${event.notification_type}${purchaseText(event)}`;
  return sentences[`${event.family}/${event.kind}`]?.(event)
    ?? `${plain(event.family)} ${plain(event.kind)}${event.reason ? `: ${event.reason}` : ""}`;
}

/** The sign of an event: its shape and color. */
export function kindOf({ family, kind, state }) {
  if (["rejected", "failed"].includes(kind) || kind === "brake" && state !== "off") return "bad";
  if (["retry", "unknown", "expired", "deactivated", "suppressed", "superseded", "down", "expiring", "cancelled",
    "goaway"].includes(kind)) return "warn";
  if (kind === "sent" || kind === "up" || kind === "reactivated" || kind === "completed"
    || family === "delivery") return "good";
  return "idle";
}

const common = new Set(["v", "seq", "prev", "ts", "family", "app", "kind", "message_id", "device", "users"]);

/** The other members of an event, as pairs of name and text. */
export function particulars(event) {
  return Object.entries(event).filter(([name]) => !common.has(name))
    .map(([name, value]) => [plain(name), typeof value === "object" ? JSON.stringify(value) : String(value)]);
}
