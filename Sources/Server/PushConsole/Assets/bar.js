// The bar: how fresh the values are, alarms, colors, sign-out. And the one place that speaks to screen readers.

import { alarms } from "./alarms.js";
import { h, patch } from "./dom.js";
import { clock, duration, rate, some } from "./format.js";
import { badge } from "./parts.js";
import * as store from "./store.js";

const place = document.getElementById("bar");
const status = document.getElementById("status");
const themes = ["auto", "light", "dark"];
const themeNames = { auto: "Auto", light: "Light", dark: "Dark" };
let theme = "auto";
let spoken = { text: "", at: 0 };

export function begin() {
  const kept = store.read("theme");
  theme = themes.includes(kept) ? kept : "auto";
  document.documentElement.dataset.theme = theme;
}

function liveBadge({ state, stats, since }) {
  const ago = stats ? `, values of ${clock(stats.taken_at)}` : "";
  switch (state) {
    case "live": return badge("good", "Live");
    case "paused": return badge("idle", `Paused${ago}`);
    case "reconnecting": return badge("warn", `Reconnecting${ago}`);
    case "busy": return badge("warn", `Busy${ago}`);
    case "refused": return badge("bad", "No values");
    default: return badge("idle", Date.now() - since > 1000 ? "Connecting" : "…");
  }
}

/** Draws the bar. `user` has the client, the caller and the live values; `place` is the name of the page. */
export function draw(user) {
  const { live, caller, client } = user;
  const next = themes[(themes.indexOf(theme) + 1) % themes.length];
  const setTheme = () => {
    theme = next;
    store.write("theme", theme);
    document.documentElement.dataset.theme = theme;
    draw(user);
  };
  const found = live ? alarms(live) : [];
  const gravest = found[0]?.kind;
  patch(place, [
    live && h("span", { class: "live" }, liveBadge(live)),
    found.length > 0 && h("a", { class: `alarm ${gravest}`, href: "#/overview", "data-key": "alarms" },
      badge(gravest, some(found.length, "alarm"))),
    live && h("button", { type: "button", "data-key": "pause",
      "aria-label": live.isPaused ? "Resume updates" : "Pause updates", onclick: () => live.pause(!live.isPaused) },
      live.isPaused ? "Resume" : "Pause"),
    h("button", { type: "button", "data-key": "theme", onclick: setTheme,
      "aria-label": `${themeNames[theme]} colors; change to ${themeNames[next].toLowerCase()}` },
      h("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
        h("circle", { cx: 8, cy: 8, r: 6.5, class: "sky" }), h("path", { d: "M8 1.5a6.5 6.5 0 0 1 0 13z" })),
      h("span", { class: "word" }, themeNames[theme])),
    client && h("button", { type: "button", "data-key": "out", onclick: () => user.signOut(),
      title: `Signed in with the key ${caller.name}: ${caller.roles.join(", ")}` }, "Sign out"),
  ]);
  if (!live) return;
  // The name of a tab among others says whether to look.
  const sign = live.state === "reconnecting" ? "… " : gravest === "bad" ? "■ " : gravest ? "▲ " : "";
  document.title = `${sign}${user.place.slice(0, 100)} – Carillon`;
  speak(live, found);
}

export function say(text) {
  spoken = { text, at: Date.now() };
  status.textContent = text;
}

/** Says in one place what has changed: each change of the state, and the rates twice a minute. */
function speak({ state, history, failure }, found) {
  const point = history.points.at(-1);
  const text = state === "live"
    ? found.length ? `Live. ${some(found.length, "alarm")}: ${found[0].title}.` : "Live. Notifications can be sent."
    : { paused: "Updates are paused.", reconnecting: "Carillon does not answer. Reconnecting.",
      busy: "Carillon is busy.", refused: failure?.detail ?? "" }[state] ?? "";
  const isOld = Date.now() - spoken.at > 30_000;
  if (text === spoken.text && !isOld) return;
  spoken = { text, at: Date.now() };
  const age = point?.oldest ? `, the oldest for ${duration(point.oldest)}` : "";
  const rates = state === "live" && point && Number.isFinite(point.sent)
    ? ` ${rate(point.sent)} sent a second, ${point.waiting ?? 0} waiting${age}.` : "";
  status.textContent = text + rates;
}
