// Subscribes this browser, and lists the messages that the service worker passes on.

const find = (id) => document.getElementById(id);
const say = (text) => { find("state").textContent = text; };

// The bytes of a text in Base64URL.
function bytes(text) {
  const plain = atob(text.trim().replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

// A text as one word of a shell.
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function commands(subscription) {
  const app = find("app").value;
  const device = JSON.stringify({ token: subscription, user: "ada" });
  const message = JSON.stringify({
    id: `web-${Date.now()}`, app, to: { users: ["ada"] }, alert: { title: "Hello", body: "From Carillon" },
    link: location.href,
  });
  const curl = `curl -sS --unix-socket ${quoted(find("socket").value)} http://carillon/v1`;
  return `${curl}/apps/${encodeURIComponent(app)}/devices --json ${quoted(device)}\n`
    + `${curl}/messages --json ${quoted(message)}`;
}

function show(subscription) {
  find("subscription").textContent = JSON.stringify(subscription, null, 2);
  find("commands").textContent = commands(subscription);
  find("subscribed").hidden = false;
}

async function subscribe() {
  try {
    const key = bytes(find("key").value);
    if (key.length !== 65 || key[0] !== 4) throw new Error("the public key is not 65 bytes that begin with 4");
    if (await Notification.requestPermission() !== "granted") throw new Error("notifications are not allowed");
    const registration = await navigator.serviceWorker.ready;
    // A subscription belongs to the key that it was made with.
    await (await registration.pushManager.getSubscription())?.unsubscribe();
    show(await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
    say("Subscribed.");
  } catch (error) {
    say(`Not subscribed: ${error.message}`);
  }
}

function list({ title, body, text }) {
  const item = document.createElement("li");
  item.textContent = [title, body].filter(Boolean).join(": ");
  item.title = text;
  find("messages").prepend(item);
}

async function start() {
  if (!("serviceWorker" in navigator)) {
    say("This browser has no service workers here: they need https, or localhost.");
    return;
  }
  navigator.serviceWorker.addEventListener("message", ({ data }) => list(data));
  await navigator.serviceWorker.register("worker.js");
  const registration = await navigator.serviceWorker.ready;
  const subscription = await registration.pushManager?.getSubscription();
  if (subscription) show(subscription);
  say(registration.pushManager ? "Ready." : "This browser has no Web Push here.");
}

find("subscribe").addEventListener("click", subscribe);
for (const button of document.querySelectorAll("button.copy")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(find(button.dataset.of).textContent);
    say("Copied.");
  });
}
start().catch((error) => say(`Failed: ${error.message}`));
