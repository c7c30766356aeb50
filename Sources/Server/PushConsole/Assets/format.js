// Numbers, times and sizes as text.

import { now as serverTime } from "./time.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const unknown = "–";

export function count(number) {
  return Number.isFinite(number) ? whole.format(number) : unknown;
}

/** A count with its noun: "1 device", "2 devices". */
export function some(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

/** A phrase of the API as a sentence of its own: a capital at its begin, and a period at its end. */
export function inWords(phrase) {
  return `${phrase.slice(0, 1).toUpperCase()}${phrase.slice(1)}.`;
}

export function rate(number) {
  if (!Number.isFinite(number)) return unknown;
  return number !== 0 && number < 100 ? tenth.format(number) : whole.format(number);
}

/** A rate on an axis. */
export function tick(number) {
  return short.format(number);
}

export function percent(share) {
  if (!Number.isFinite(share)) return unknown;
  const hundred = share * 100;
  if (hundred > 0 && hundred < 0.1) return "< 0.1 %";
  return `${hundred === 0 || hundred === 100 ? whole.format(hundred) : tenth.format(hundred)} %`;
}

/** A duration in milliseconds, with the precision that its size deserves. */
export function duration(ms) {
  if (!Number.isFinite(ms)) return unknown;
  if (ms === 0) return "0 ms";
  if (ms < 10 && !Number.isInteger(ms)) return `${tenth.format(ms)} ms`;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${tenth.format(seconds)} s`;
  if (seconds < 60) return `${whole.format(seconds)} s`;
  const parts = [["d", 86400], ["h", 3600], ["min", 60]];
  const at = parts.findIndex(([, size]) => seconds >= size);
  const [unit, size] = parts[at];
  const first = Math.floor(seconds / size);
  const next = parts[at + 1];
  const rest = next && first < 10 ? Math.floor((seconds - first * size) / next[1]) : 0;
  return rest ? `${first} ${unit} ${rest} ${next[0]}` : `${first} ${unit}`;
}

export function bytes(number) {
  if (!Number.isFinite(number)) return unknown;
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (number >= 1024 && at < units.length - 1) {
    number /= 1024;
    at += 1;
  }
  return `${at && number < 100 ? tenth.format(number) : whole.format(number)} ${units[at]}`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

/** The time of day in the zone of the browser. */
export function clock(at, withTenths = false) {
  const date = new Date(at);
  const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return withTenths ? `${text}.${String(date.getMilliseconds()).padStart(3, "0")}` : text;
}

/** The time of day, with the date unless it is today. */
export function moment(at, withTenths = false) {
  if (!Number.isFinite(at)) return unknown;
  const date = new Date(at);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const isToday = date.toDateString() === new Date(serverTime()).toDateString();
  return isToday ? clock(at, withTenths) : `${day} ${clock(at, withTenths)}`;
}

/** How long ago a time was, or how far away it is. */
export function distance(at, now = serverTime()) {
  if (!Number.isFinite(at)) return unknown;
  // The clocks agree to a second at best.
  if (Math.abs(at - now) < 1000) return "now";
  return at <= now ? `${duration(Math.max(0, now - at))} ago` : `in ${duration(at - now)}`;
}

export function shortID(id) {
  return id && id.length > 12 ? `${id.slice(0, 8)}…` : id;
}

/** The value of a field for a time, in the zone of the browser; empty if there is none. */
export function toInput(at) {
  if (!Number.isFinite(at) || at <= 0) return "";
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}T${clock(at)}`;
}

/** The time in milliseconds in a field; undefined if it is empty. */
export function ofInput(text) {
  const at = text ? new Date(text).getTime() : NaN;
  return Number.isFinite(at) && at >= 0 ? at : undefined;
}
