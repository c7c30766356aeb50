// Requests to the API of this Carillon.

import { signed } from "./signing.js";
import { learn } from "./time.js";

const patience = 20_000;

/** A request that was not carried out. The detail is a sentence for people. */
export class Problem extends Error {
  constructor(status, code, detail, more = {}) {
    super(detail);
    Object.assign(this, { status, code, detail, ...more });
  }

  /** Whether the request never reached Carillon, or its answer was lost. */
  get isLost() {
    return this.code === "lost";
  }

  /** Whether Carillon is there and asks to come again later. */
  get isBusy() {
    return this.status === 429 || this.status === 503;
  }
}

export class Client {
  /** @param onRefused is called with the problem if the server does not accept the key. */
  constructor(keyID, key, onRefused) {
    Object.assign(this, { keyID, key, onRefused });
    this.document = null;
  }

  /**
   * Sends a request and returns the answer of fetch; throws a Problem unless its status is a success. A request without
   * an answer ends after its timeout, in milliseconds; 0 is none.
   */
  async send(method, target, { body, accept, headers = {}, signal, timeout = patience } = {}) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    for (const isSecondTime of [false, true]) {
      const signature = await signed({ method, target, body: text, keyID: this.keyID, key: this.key });
      const fields = { Accept: accept ?? "application/json", ...headers, ...signature };
      if (text !== undefined) fields["Content-Type"] = "application/json";
      const sentAt = Date.now();
      const answer = await this.fetched(target, { method, headers: fields, body: text, signal, timeout });
      if (answer.ok) return answer;
      const problem = await Client.problem(answer);
      // The answer names the time of the server in whole seconds. The next signature has that time.
      if (problem.code === "clock_skew" && !isSecondTime) {
        learn(problem.server_time_at, sentAt);
        continue;
      }
      if (problem.code === "unauthenticated" || problem.code === "clock_skew") this.onRefused?.(problem);
      throw problem;
    }
    return undefined;
  }

  async fetched(target, { signal, timeout = patience, ...more } = {}) {
    const signals = [signal, timeout ? AbortSignal.timeout(timeout) : null].filter(Boolean);
    const options = { cache: "no-store", credentials: "omit", redirect: "error", ...more };
    try {
      return await fetch(target, { ...options, signal: AbortSignal.any(signals) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "lost", "Carillon does not answer.");
    }
  }

  static async problem(answer) {
    let body = {};
    try {
      body = await answer.json() ?? {};
    } catch {
      // The status says enough.
    }
    const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
    const faults = (body.errors ?? []).map(({ pointer, parameter, detail: words }) => {
      const place = (pointer ?? parameter ?? "").replace(/^\//, "");
      return place ? `${place}: ${words}` : words;
    });
    const later = retryAfter ? ` Try again in ${retryAfter} s.` : "";
    const words = faults.join("; ") || body.detail || `Carillon answered with the status ${answer.status}.`;
    const detail = answer.status === 403 ? `This key may not do that: ${words}.`.replace(/\.\.$/, ".")
      : answer.status === 429 ? `Carillon asks to slow down: ${words}.${later}` : words;
    return new Problem(answer.status, body.code ?? "failed", detail, {
      server_time_at: body.server_time_at, retryAfter,
    });
  }

  async json(method, target, body, more) {
    const answer = await this.send(method, target, { body, ...more });
    try {
      return await answer.json();
    } catch {
      throw new Problem(0, "lost", "The answer of Carillon is not complete.");
    }
  }

  get(target, more) {
    return this.json("GET", target, undefined, more);
  }

  /** Returns stored events with the numbers that the answer names. */
  async events(query, signal) {
    const answer = await this.send("GET", target("/v1/events", query), { accept: "application/x-ndjson", signal });
    const lines = (await answer.text()).split("\n").filter((line) => line !== "");
    return { events: lines.map((line) => JSON.parse(line)), next: answer.headers.get("Carillon-Next") ?? "0" };
  }

  /** Reads which operations this Carillon has. Without the document, everything is offered and a 404 is explained. */
  async learn() {
    try {
      this.document = await (await this.fetched("/openapi.json")).json();
    } catch {
      this.document = null;
    }
  }

  offers(method, path) {
    return !this.document?.paths || Boolean(this.document.paths[path]?.[method.toLowerCase()]);
  }

  /** Throws the problem of an operation that this Carillon does not have, without asking for it. */
  require(method, path) {
    if (!this.offers(method, path)) {
      throw new Problem(404, "not_offered", `This Carillon does not offer ${method} ${path}.`);
    }
  }

  /** An empty object for an operation that has a body, and nothing for one that has none. */
  emptyBody(method, path) {
    return this.document?.paths?.[path]?.[method.toLowerCase()]?.requestBody ? {} : undefined;
  }
}

/** Makes a target of a path and a query without its empty values. */
export function target(path, query = {}) {
  const some = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return some.length ? `${path}?${new URLSearchParams(some)}` : path;
}

/** A part of a path. A browser resolves "." and ".." even if they are encoded, so that they cannot be one. */
export function part(text) {
  return encodeURIComponent(text);
}

/**
 * Reads what a page shows, unless that is under way: `read` returns the new members of its state. What is shown stays if
 * an answer is lost.
 */
export async function refresh(state, redraw, read) {
  if (state.isReading) return;
  state.isReading = true;
  try {
    Object.assign(state, await read(), { fault: null });
  } catch (problem) {
    if (!problem.isLost) state.fault = problem;
  } finally {
    state.isReading = false;
  }
  redraw();
}
