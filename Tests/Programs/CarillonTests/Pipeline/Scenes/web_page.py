"""The sample page of Web Push, in Chromium and without a push service."""
import functools, http.server, itertools, json, os, sys, threading

ROOT = os.path.dirname(os.path.abspath(__file__)).split("/Tests/Programs/")[0]
sys.path.append(os.path.join(ROOT, "Tools", "console"))

from browser import Browser, close_all, tell_all
from harness import endings, main, pace, witnesses

KEY = "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class WorkerBrowser(Browser):
    """A browser that knows the service workers of its page."""

    registrations = ()

    def take(self, message):
        if message.get("method") == "ServiceWorker.workerRegistrationUpdated":
            self.registrations = message["params"]["registrations"] or self.registrations
        super().take(message)


def open_page():
    folder = os.path.join(ROOT, "Tools", "examples", "web")
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endings.append(close_all)
    witnesses.append(tell_all)
    browser = WorkerBrowser()
    origin = f"http://localhost:{server.server_port}"
    browser.call("Browser.grantPermissions", origin=origin, permissions=["notifications"])
    browser.call("ServiceWorker.enable")
    browser.open(f"{origin}/")
    browser.see("Ready.")
    return browser, origin


def messages():
    """The page loads, its worker starts, and each kind of message is shown and listed."""
    browser, origin = open_page()
    browser.until("navigator.serviceWorker.controller?.state === 'activated'", "the worker controls the page")
    assert browser.registrations, "the browser reports no service worker"
    number = browser.registrations[0]["registrationId"]
    declarative = {"web_push": 8030, "notification": {
        "title": "On its way", "body": "Two stops", "navigate": f"{origin}/#order", "tag": "order-1"}}
    for data, shown, notification in [
            (json.dumps(declarative), "On its way: Two stops", ("On its way", "Two stops", "order-1")),
            ('{"title": "Grüße 🔔"}', "Grüße 🔔", ("Grüße 🔔", "", "")),
            ('{"no": "title"}', 'Message: {"no": "title"}', ("Message", '{"no": "title"}', "")),
            ("plain text", "Message: plain text", ("Message", "plain text", "")), ("", "Message", ("Message", "", ""))]:
        browser.run("document.querySelector('#messages').replaceChildren()")
        is_shown = " && ".join(
            f"one.{member} === {json.dumps(value)}" for member, value in zip(("title", "body", "tag"), notification))
        browser.awaited = f"the message {shown} and its notification"
        # Chromium answers the call before the worker has the message, and rarely drops it, or its notification.
        for look in itertools.count():
            if look % 500 == 0:
                browser.call("ServiceWorker.deliverPushMessage", origin=origin, registrationId=number, data=data)
            if browser.run("document.querySelector('#messages li')?.textContent") == shown and browser.run(
                    "navigator.serviceWorker.ready.then((one) => one.getNotifications())"
                    f".then((all) => all.some((one) => {is_shown}))"):
                break
            pace()
    assert not browser.complaints, browser.complaints


def subscriptions():
    """A wrong key is refused by the page, and a subscription is shown with its commands."""
    browser, _ = open_page()
    for wrong in ("", "abc", "***", KEY[:-4]):
        browser.fill("#key", wrong)
        browser.click("#subscribe")
        browser.see("Not subscribed")
        browser.run("document.querySelector('#state').textContent = ''")
    # The browser cannot reach the push service of its maker here.
    browser.run("""PushManager.prototype.subscribe = async function ({ applicationServerKey }) {
        window.given = [...applicationServerKey];
        return { endpoint: "https://push.example.com/it's", expirationTime: null, keys: { p256dh: 'p', auth: 'a' } };
    }""")
    browser.fill("#key", KEY)
    browser.click("#subscribe")
    browser.see("Subscribed.", '"endpoint": "https://push.example.com/it\'s"', "/v1/apps/shop-web/devices", "it'\\''s")
    assert browser.run("window.given.length === 65 && window.given[0] === 4")
    assert not browser.complaints, browser.complaints


main({"messages": messages, "subscriptions": subscriptions})
