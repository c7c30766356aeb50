// Shows each message as a notification, and passes it on to the open pages.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

// The parts of a message. Browsers that know declarative messages show them without this worker; for all others they
// are taken apart here.
function parts(text) {
  try {
    const value = JSON.parse(text);
    const one = value?.web_push === 8030 ? value.notification : value;
    if (typeof one?.title === "string") return { ...one, text };
  } catch {
    // The text is not JSON, and is shown as it is.
  }
  return { title: "Message", body: text, text };
}

async function take(text) {
  const { title, body, tag, image, navigate, data, ...rest } = parts(text);
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  for (const page of pages) page.postMessage({ title, body, text: rest.text });
  await self.registration.showNotification(title, { body, tag, image, data: { navigate, data } });
}

self.addEventListener("push", (event) => event.waitUntil(take(event.data?.text() ?? "")));

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { navigate } = event.notification.data ?? {};
  if (navigate) event.waitUntil(self.clients.openWindow(navigate));
});
