#!/usr/bin/env node
// Pushes and watches over HTTP: client.mjs URL KEYID SECRET push JSON, or the same with watch FILE [PREFIX]
//
// `push` repeats the message with the same id until there is a final answer. Exit status: 0 accepted or duplicate, 1
// refused, 75 no final answer (keep the message and run this again with the same id: each device receives it once). The
// variable PATIENCE is the time limit in seconds (60). `watch` prints each event as a line of JSON. FILE has the number
// of the last one, so that it goes on there after an outage and after its own restart.
// Requests are signed (RFC 9421). Needs Node.js 18, and no packages.
import { createHash, createHmac, randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const [url, key, secret, verb, argument, prefix = ""] = process.argv.slice(2);

/** Sends a request with a new signature, because a nonce is accepted once. */
function send(method, target, headers, signal, body) {
  const { pathname, search } = new URL(target, url);
  const covered = [["@method", method], ["@path", pathname], ["@query", search || "?"]];
  if (body !== undefined) {
    headers["content-digest"] = `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
    covered.push(["content-digest", headers["content-digest"]]);
  }
  const params = `(${covered.map(([name]) => `"${name}"`).join(" ")});created=${Math.floor(Date.now() / 1000)}` +
    `;keyid="${key}";alg="hmac-sha256";nonce="${randomBytes(18).toString("base64url")}"`;
  const base = [...covered, ["@signature-params", params]].map(([name, value]) => `"${name}": ${value}`).join("\n");
  const signature = createHmac("sha256", Buffer.from(secret, "base64url")).update(base).digest("base64");
  headers = { ...headers, "signature-input": `carillon=${params}`, signature: `carillon=:${signature}:` };
  return fetch(new URL(target, url), { method, headers, body, signal });
}

const isPassing = (status) => status === 408 || status === 429 || status >= 500;
const delay = (answer, usual) => 1000 * (Number(answer.headers.get("retry-after")) || usual);

/** Runs a task, which fails after `limit` ms. A signal alone is not enough: Node.js 18 may forget that of a request. */
function within(limit, task) {
  const lost = new AbortController();
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => { lost.abort(); reject(new Error("late")); }, limit);
  });
  return Promise.race([task(lost.signal, timer), late]).finally(() => clearTimeout(timer));
}

async function push(message) {
  message.id ??= randomUUID();
  const deadline = Date.now() + 1000 * Number(process.env.PATIENCE ?? 60);
  const left = () => Math.max(0, deadline - Date.now()), body = JSON.stringify(message);
  do {
    const { answer, text } = await within(Math.min(10_000, left() + 1), async (signal) => {
      const answer = await send("POST", "/v1/messages", { "content-type": "application/json" }, signal, body);
      return { answer, text: await answer.text() };
    }).catch(() => ({})); // There was no answer.
    if (answer && !isPassing(answer.status)) return console.log(text.trim()) ?? (answer.ok ? 0 : 1);
    await pause(Math.min(answer ? delay(answer, 1) : 1000, left()));
  } while (left() > 0);
  console.error(`${message.id}: no final answer; send the message again with the same id`);
  return 75;
}

async function watch(file) {
  let cursor = existsSync(file) ? readFileSync(file, "utf8") : "0";
  const target = `/v1/events?since=0&prefix=${encodeURIComponent(prefix)}`;

  /** Prints the events of one connection until it ends, and returns the time until the next one; null to give up. */
  async function follow(signal, timer) {
    const answer = await send("GET", target, { accept: "text/event-stream", "last-event-id": cursor }, signal);
    if (!answer.ok) return isPassing(answer.status) ? delay(answer, 2) : console.error(await answer.text()) ?? null;
    let rest = "", event = {};
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      if (signal.aborted) return 0; // Another connection has taken over.
      timer.refresh();
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        const [, name, value] = /^(id|data): (.*)$/.exec(line) ?? [];
        if (name) event[name] = value;
        if (line !== "") continue; // An event ends with an empty line.
        if (event.data) console.log(event.data);
        cursor = event.id ?? cursor;
        event = {};
      }
      writeFileSync(`${file}.new`, cursor);
      renameSync(`${file}.new`, file);
    }
    return 2000;
  }

  for (;;) {
    // A comment comes every 15 seconds, so that a longer silence means a lost connection.
    const wait = await within(45_000, follow).catch((error) => {
      if (error.syscall) throw error; // Of the file. Those of the connection have none.
      return 2000;
    });
    if (wait === null) return 1;
    await pause(wait);
  }
}

if (verb === "push" && argument) process.exit(await push(JSON.parse(argument)));
if (verb === "watch" && argument) process.exit(await watch(argument));
console.log("usage: client.mjs URL KEYID SECRET push JSON, or client.mjs URL KEYID SECRET watch FILE [PREFIX]");
process.exit(64);
