// Live events: server-sent events, read with fetch because EventSource cannot sign requests.

/** Parses a text/event-stream (HTML standard, 9.2.6). Bytes come in any pieces. */
export class StreamParser {
  constructor() {
    this.decoder = new TextDecoder();
    this.rest = "";
    this.clear();
    this.lastID = "";
  }

  clear() {
    this.data = [];
    this.kind = "";
  }

  /** Returns the events that are complete. */
  take(bytes) {
    this.rest += this.decoder.decode(bytes, { stream: true });
    const events = [];
    for (;;) {
      const end = this.rest.search(/\r\n|\n|\r(?!$)/);
      if (end < 0) return events;
      const line = this.rest.slice(0, end);
      this.rest = this.rest.slice(end + (this.rest.startsWith("\r\n", end) ? 2 : 1));
      if (line !== "") {
        this.field(line);
      } else {
        if (this.data.length) events.push({ id: this.lastID, kind: this.kind || "message",
          data: this.data.join("\n") });
        this.clear();
      }
    }
  }

  field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.data.push(value);
    else if (name === "event") this.kind = value;
    else if (name === "id" && !value.includes("\0")) this.lastID = value;
  }
}

const silenceLimit = 45_000;

/**
 * The events of a prefix, from now on. It connects again after each end, with the number of the last event, so that
 * none is lost. It passes the lines of the events, which their receiver parses.
 */
export class EventStream {
  constructor(client, prefix, since, { onEvents, onGap, onState }) {
    Object.assign(this, { client, prefix, last: since, onEvents, onGap, onState, isOpen: true, wait: 500 });
    this.run();
  }

  close() {
    this.isOpen = false;
    this.abort?.abort();
  }

  async run() {
    while (this.isOpen) {
      this.abort = new AbortController();
      try {
        await this.connect();
      } catch (error) {
        if (!this.isOpen) return;
        const isFinal = error.status >= 400 && error.status < 500 && error.status !== 429;
        this.onState(isFinal ? "failed" : "reconnecting", error);
        if (isFinal) return;
        if (error.retryAfter) this.wait = Math.min(1000 * error.retryAfter, 60_000);
      }
      if (!this.isOpen) return;
      await new Promise((resolve) => setTimeout(resolve, this.wait));
      this.wait = Math.min(this.wait * 2, 5000);
    }
  }

  async connect() {
    const query = new URLSearchParams(this.prefix ? { prefix: this.prefix } : {});
    // No timeout ends the stream, so that the one of its beginning is here.
    const opening = setTimeout(() => this.abort.abort(), silenceLimit);
    const answer = await this.client.send("GET", query.size ? `/v1/events?${query}` : "/v1/events", {
      accept: "text/event-stream", headers: { "Last-Event-ID": this.last },
      signal: this.abort.signal, timeout: 0,
    }).finally(() => clearTimeout(opening));
    this.onState("live");
    this.wait = 500;
    const parser = new StreamParser();
    const reader = answer.body.getReader();
    for (;;) {
      // A comment comes every 15 s. A connection that is silent for longer is dead, whatever TCP believes.
      const timer = setTimeout(() => this.abort.abort(), silenceLimit);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return this.onState("reconnecting");
      const events = parser.take(value);
      if (!events.length) continue;
      this.last = parser.lastID || this.last;
      // An event is named family.kind; what Carillon says about the stream itself has no dot.
      const lines = events.filter(({ kind }) => kind.includes(".")).map(({ data }) => data);
      const gap = events.find(({ kind }) => kind === "gap");
      if (gap) this.onGap(JSON.parse(gap.data));
      if (lines.length) this.onEvents(lines);
      if (events.some(({ kind }) => kind === "error")) return this.onState("reconnecting");
    }
  }
}
