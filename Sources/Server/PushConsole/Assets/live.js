// The state of this Carillon, read every two seconds while somebody looks.

import { History } from "./rates.js";
import { learn } from "./time.js";

const interval = 2000;
const timeout = 6000;
const findingsInterval = 10_000;

export class Live {
  constructor(client, onChange) {
    Object.assign(this, { client, onChange, history: new History(), stats: null, findings: null });
    // One of: starting, live, paused, reconnecting, busy, refused.
    this.state = "starting";
    this.isPaused = false;
    this.wait = interval;
    this.failure = null;
    this.since = Date.now();
    this.onVisible = () => document.visibilityState === "visible" && this.soon(0);
    document.addEventListener("visibilitychange", this.onVisible);
    this.soon(0);
  }

  end() {
    this.isOver = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.onVisible);
  }

  soon(delay) {
    clearTimeout(this.timer);
    if (!this.isOver) this.timer = setTimeout(() => this.read(), delay);
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    this.set(isPaused ? "paused" : "starting");
    if (!isPaused) this.soon(0);
  }

  set(state) {
    if (this.state !== state) this.since = Date.now();
    this.state = state;
    this.onChange();
  }

  async read() {
    if (this.isOver || this.isPaused || this.isReading || document.visibilityState === "hidden") return;
    this.isReading = true;
    const sentAt = Date.now();
    try {
      const stats = await this.client.get(this.place(), { timeout });
      learn(stats.taken_at, sentAt);
      const findings = await this.readFindings(stats);
      if (this.isPaused || this.isOver) return;
      const isNew = this.stats && this.stats.started_at !== stats.started_at;
      this.hasRestarted ||= Boolean(isNew);
      this.isOtherVersion ||= Boolean(isNew && this.stats.version !== stats.version);
      Object.assign(this, { stats, findings, failure: null, wait: interval });
      this.history.add(stats);
      this.set("live");
      this.readCluster(stats.started_at);
    } catch (problem) {
      this.failure = problem;
      this.wait = problem.retryAfter ? Math.min(problem.retryAfter * 1000, 60_000)
        : problem.isLost ? Math.min(this.wait * 1.5, 10_000) : 10_000;
      const state = problem.isBusy ? "busy" : problem.isLost || problem.status >= 500 ? "reconnecting" : "refused";
      if (!this.isOver && !this.isPaused) this.set(state);
    } finally {
      this.isReading = false;
      this.soon(this.state === "reconnecting" && this.wait < 4000 ? 1000 : this.wait);
    }
  }

  /** What is wrong. To find it out costs more than the numbers: when nothing else is in the way, ten seconds are enough. */
  async readFindings(stats) {
    const obstacles = (stats.obstacles ?? []).join("\n");
    const isRecent = Date.now() - (this.findingsReadAt ?? 0) < findingsInterval;
    if (this.findings && isRecent && obstacles === this.obstacles) return this.findings;
    const { findings } = await this.client.get("/v1/findings", { timeout });
    Object.assign(this, { obstacles, findingsReadAt: Date.now() });
    return findings;
  }

  /** A key that is limited to some apps has no past. */
  place() {
    return this.history.wantsPast ? "/v1/stats?history=true" : "/v1/stats";
  }

  /** Whether there is a cluster. It changes with a restart only, so that it is asked once for each. */
  async readCluster(startedAt) {
    if (this.clusterAskedOf === startedAt || !this.client.offers("GET", "/v1/cluster")) return;
    this.clusterAskedOf = startedAt;
    try {
      this.isCluster = Boolean((await this.client.get("/v1/cluster")).cluster);
      this.onChange();
    } catch {
      this.clusterAskedOf = null;
    }
  }
}
