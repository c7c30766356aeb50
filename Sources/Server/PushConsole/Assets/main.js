// The console: sign-in, addresses, and the drawing of the page.

import * as bar from "./bar.js";
import { Client } from "./client.js";
import { h, patch } from "./dom.js";
import { note } from "./dialog.js";
import { clock } from "./format.js";
import { Live } from "./live.js";
import { badge } from "./parts.js";
import { refusalWords, signInForm, waitingForm } from "./signin.js";
import * as vault from "./vault.js";
import * as cluster from "./cluster.js";
import * as devices from "./devices.js";
import * as gateways from "./gateways.js";
import * as messages from "./messages.js";
import * as more from "./more.js";
import * as overview from "./overview.js";

const views = { overview, devices, messages, gateways, cluster, more };
const main = document.getElementById("main");
const tabs = document.getElementById("tabs");
const user = { client: null, caller: null, live: null };
let route = { name: "overview", path: [], query: new URLSearchParams() };
let isDrawn = false;

function readRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, ...rest] = path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { name: Object.hasOwn(views, name ?? "") ? name : "overview", path: rest,
    query: new URLSearchParams(query ?? "") };
}

function context() {
  return {
    ...route, ...user, redraw: draw, signOut,
    // A key for several apps searches in one at a time; the server refuses to search in all.
    onlyApps: user.caller?.apps ?? null,
    app: route.query.get("app") || (user.caller?.apps?.length > 1 ? user.caller.apps[0] : null),
    may: (role) => Boolean(user.caller?.roles.includes(role)),
    go: (hash, isReplacement) => {
      if (hash === location.hash) return changed();
      return isReplacement ? location.replace(hash) : location.assign(hash);
    },
  };
}

/** Draws in the next frame, however often it is asked to. */
function draw() {
  if (isDrawn || !user.client) return;
  isDrawn = true;
  const work = () => {
    isDrawn = false;
    if (!user.client) return;
    patch(main, page());
    drawTabs();
    drawBar();
  };
  // A hidden page has no frames.
  if (document.visibilityState === "hidden") setTimeout(work, 100);
  else requestAnimationFrame(work);
}

/** The page of the address, below what is to be known about its values. */
function page() {
  const { state, stats, failure } = user.live;
  const age = stats ? `These are the values of ${clock(stats.taken_at)}. ` : "";
  const words = {
    reconnecting: `Carillon does not answer. ${age}The page tries again by itself.`,
    busy: `${failure?.detail ?? "Carillon is busy."} ${age}The page tries again by itself.`,
    refused: failure?.detail,
  }[state];
  return [
    words && h("p", { class: "notice warn", "data-key": "connection" }, badge("warn", words)),
    h("div", { class: "view", "data-key": `view ${route.name} ${route.path.join("/")}` },
      views[route.name].draw(context())),
  ];
}

function changed() {
  const before = route;
  route = readRoute();
  if (!user.client) return;
  if (before.name !== route.name) views[before.name].close?.();
  tabs.hidden = false;
  drawTabs();
  // Another page begins at its heading; another filter of the same page leaves the focus where it is.
  const isOther = before.name !== route.name || before.path.join("/") !== route.path.join("/");
  patch(main, page());
  drawBar();
  if (isOther) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
  for (const control of main.querySelectorAll("[data-address]")) control.value = control.dataset.address;
  views[route.name].open?.(context());
}

function drawTabs() {
  const shown = Object.entries(views).filter(([, view]) => view.isOffered?.(user) ?? true);
  patch(tabs, shown.map(([name, { title }]) =>
    h("a", { href: `#/${name}`, "aria-current": name === route.name && "page" }, title)));
}

function drawBar() {
  const place = [...route.path.slice(-1), views[route.name].title].join(" – ");
  bar.draw({ ...user, place, signOut: () => signOut() });
}

// MARK: Sign-in

function showSignIn(words, focused) {
  document.title = "Sign in – Carillon";
  document.body.dataset.signed = "out";
  tabs.hidden = true;
  patch(main, [signInForm({ words, signIn, refuse: showSignIn })]);
  bar.draw(user);
  (document.getElementById(focused ?? "key-id") ?? main.querySelector("h1")).focus();
}

/** Signs in, or says why not. While Carillon does not answer, it tries again. */
async function signIn(keyID, key, isKept) {
  let isOver = false;
  const cancel = () => {
    isOver = true;
    vault.forget().catch(() => {});
    showSignIn();
  };
  const client = new Client(keyID, key, (problem) => user.client === client && signOut(refusalWords(problem)));
  let caller = null;
  for (let wait = 500; !caller; wait = Math.min(2 * wait, 5000)) {
    try {
      caller = await client.get("/v1/caller");
    } catch (problem) {
      if (isOver) return;
      if (!problem.isLost && !problem.isBusy) {
        vault.forget().catch(() => {});
        showSignIn(problem.status === 401 && problem.code !== "clock_skew"
          ? "Carillon does not accept this key id with this secret." : problem.detail, "key-id");
        return;
      }
      patch(main, [waitingForm(problem, cancel)]);
      await new Promise((resolve) => setTimeout(resolve, Math.max(wait, 1000 * (problem.retryAfter ?? 0))));
      if (isOver) return;
    }
  }
  if (!caller.roles.includes("observe")) {
    showSignIn(`The key ${caller.name} may not look at anything: the console needs the role observe.`, "key-id");
    return;
  }
  await client.learn();
  if (isOver) return;
  const isForgotten = isKept && !await vault.keep(keyID, key).then(() => true, () => false);
  main.replaceChildren();
  Object.assign(user, { client, caller, live: new Live(client, onLive) });
  document.body.dataset.signed = "in";
  changed();
  if (isForgotten) note("This browser blocks storage: the sign-in lasts until the page is loaded again.", true);
}

function onLive() {
  // An update that does not change the page costs nothing; the open view may read its own values.
  if (["live", "paused"].includes(user.live?.state)) views[route.name].tick?.(context());
  draw();
}

function signOut(words) {
  user.live?.end();
  views[route.name].close?.();
  for (const view of Object.values(views)) view.forget?.();
  Object.assign(user, { client: null, caller: null, live: null });
  vault.forget().catch(() => {});
  for (const dialog of document.querySelectorAll("dialog")) dialog.remove();
  document.getElementById("notes").replaceChildren();
  bar.say("Signed out.");
  showSignIn(words);
}

addEventListener("hashchange", changed);
// The address is of the tab, so that the link cannot be an ordinary fragment.
document.querySelector(".skip").onclick = (event) => {
  event.preventDefault();
  main.focus();
};
bar.begin();
route = readRoute();
const kept = await vault.kept().catch(() => null);
if (kept) await signIn(kept.keyID, kept.key, false);
else showSignIn();
