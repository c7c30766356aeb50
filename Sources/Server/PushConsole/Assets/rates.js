// What the overview draws: rates and quantiles, computed from two answers of /v1/stats.

import { now } from "./time.js";

const outcomes = ["sent", "rejected", "expired", "suppressed", "superseded", "cancelled", "unknown"];
export const maxSpan = 15 * 60 * 1000;
const maxPoints = 500;
// Longer without a value, the past is asked for again.
const maxGap = 10_000;

/** The difference of two counters, or null if there is none, as after a restart. */
function grown(now, before) {
  return Number.isFinite(now) && Number.isFinite(before) && now >= before ? now - before : null;
}

function latencyBetween(now, before) {
  if (!now) return null;
  const isSame = before && before.bounds_ms.length === now.bounds_ms.length;
  if (!isSame) return null;
  const counts = now.counts.map((count, index) => count - before.counts[index]);
  return counts.some((number) => number < 0) ? null : { bounds_ms: now.bounds_ms, counts };
}

export function merged(all) {
  const known = all.filter((latency) => latency);
  if (!known.length) return null;
  const first = known[0];
  const alike = known.filter((one) => one.bounds_ms.length === first.bounds_ms.length);
  return { bounds_ms: first.bounds_ms, counts: first.counts.map(
    (_, at) => alike.reduce((sum, one) => sum + one.counts[at], 0)) };
}

/** A quantile in milliseconds, interpolated within its bucket; null if nothing was counted. */
export function quantile(latency, share) {
  if (!latency) return null;
  const { bounds_ms: bounds, counts } = latency;
  const total = counts.reduce((sum, number) => sum + number, 0);
  if (!total || !bounds.length) return null;
  const rank = Math.max(1, share * total);
  let below = 0;
  for (let at = 0; at < bounds.length; at += 1) {
    if (counts[at] && below + counts[at] >= rank) {
      const low = at === 0 ? 0 : bounds[at - 1];
      return low + (bounds[at] - low) * (rank - below) / counts[at];
    }
    below += counts[at];
  }
  return bounds[bounds.length - 1];
}

export function total(stats, name) {
  return (stats.apps ?? []).reduce((sum, app) => sum + (app[name] ?? 0), 0);
}

/** The latest statistics and the points that are computed from them. Their number is bounded. */
export class History {
  constructor() {
    this.points = [];
    this.latest = null;
    this.before = null;
    this.apps = new Map();
  }

  /** Whether the next answer should have the past: at first, and after a pause. */
  get wantsPast() {
    return !this.latest || now() - this.latest.taken_at > maxGap;
  }

  add(stats) {
    const before = this.latest;
    this.latest = stats;
    if (before && stats.taken_at <= before.taken_at) return;
    this.before = before;
    const past = (stats.history ?? []).filter((one) => one.taken_at < stats.taken_at).map(pointOf);
    if (past.length) this.points = [...this.points.filter(({ at }) => at < past[0].at), ...past];
    // Rates over a long pause are none of the moment: those of the past are.
    const rates = before ? this.rates(stats, before) : {};
    this.points.push({ ...(past.length ? past.at(-1) : rates), at: stats.taken_at, ...levels(stats) });
    const oldest = stats.taken_at - maxSpan - 10_000;
    while (this.points.length > maxPoints || (this.points.length && this.points[0].at < oldest)) this.points.shift();
  }

  rates(stats, before) {
    const seconds = (stats.taken_at - before.taken_at) / 1000;
    const isSameProcess = stats.started_at === before.started_at;
    const perSecond = (now, then) => {
      const more = isSameProcess ? grown(now, then) : null;
      return more === null ? null : more / seconds;
    };
    this.apps = new Map();
    const latencies = [];
    for (const app of stats.apps ?? []) {
      const then = (before.apps ?? []).find((one) => one.app === app.app);
      const rates = Object.fromEntries(outcomes.map((name) =>
        [name, perSecond(app[name] ?? 0, then ? then[name] ?? 0 : NaN)]));
      const latency = isSameProcess ? latencyBetween(app.latency, then?.latency) : null;
      latencies.push(latency);
      this.apps.set(app.app, { ...rates, p99: quantile(latency, 0.99),
        retries: perSecond(app.retries, then?.retries) });
    }
    const latency = merged(latencies);
    const sum = (name) => isSameProcess ? perSecond(total(stats, name), total(before, name)) : null;
    return {
      accepted: perSecond(stats.intake?.accepted, before.intake?.accepted),
      duplicate: perSecond(stats.intake?.duplicate, before.intake?.duplicate),
      refused: perSecond((stats.intake?.rejected ?? 0), (before.intake?.rejected ?? 0)),
      busy: perSecond((stats.intake?.busy ?? 0), (before.intake?.busy ?? 0)),
      sent: sum("sent"), rejected: sum("rejected"), unknown: sum("unknown"), retries: sum("retries"),
      p50: quantile(latency, 0.5), p99: quantile(latency, 0.99),
    };
  }
}

/** A point of the past, as Carillon keeps it. */
function pointOf(one) {
  return {
    at: one.taken_at, accepted: one.accepted_per_s, refused: one.refused_per_s, busy: one.busy_per_s,
    sent: one.sent_per_s, rejected: one.rejected_per_s, unknown: one.unknown_per_s, p50: one.p50_ms ?? null,
    p99: one.p99_ms ?? null, waiting: one.waiting, oldest: one.oldest_waiting_ms,
  };
}

/** What one answer says by itself. */
function levels(stats) {
  const { waiting = null, scheduled = null } = stats.backlog ?? {};
  return { waiting, scheduled, oldest: oldest(stats) };
}

/** The age of the oldest message that waits, or of what waits longest on a connection, in milliseconds. */
export function oldest(stats) {
  const named = stats.oldest_waiting_ms ?? stats.backlog?.oldest_waiting_ms;
  if (Number.isFinite(named)) return named;
  const ages = (stats.apps ?? []).map((app) => app.oldest_waiting_ms ?? app.backlog?.oldest_waiting_ms)
    .filter(Number.isFinite);
  return ages.length ? Math.max(...ages) : null;
}
