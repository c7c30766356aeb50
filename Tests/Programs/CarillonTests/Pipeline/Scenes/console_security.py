"""Hostile names, inline scripts and other hosts in the operator console."""
import json, os, urllib.parse
from console import ASSETS, Console, home
from harness import main, Producer

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>'\"&{{7*7}}"

# Names that producers and apps may choose: markup, another direction of writing, marks of direction, emoji, length, and
# characters that no font draws.
NAMES = [
    "שלום עולם", "admin\u202egnp.exe", "a\u2066b\u2069c", "👩‍👩‍👧‍👦 e\u0301\u0302\u0303", "javascript:alert(1)",
    "%2e%2e%2f%00", "..%2f..", "a/b?c#d", "#tag", "##", " spaces ", "constructor", "__proto__",
    "a\u200bd\u00ada\u2060\U000e0041", "\ufeffbom", "\u00a0nbsp\u00a0", "x" * 120, EVIL]


def watched(browser):
    """Reports each call that parses HTML or code, as a complaint of the page."""
    browser.before_each_page("""
        for (const [owner, name] of [[Element.prototype, "innerHTML"], [Element.prototype, "outerHTML"]]) {
            const { get, set } = Object.getOwnPropertyDescriptor(owner, name);
            const watch = function (text) { console.error("parses HTML"); set.call(this, text); };
            Object.defineProperty(owner, name, { get, set: watch });
        }
        for (const [owner, name] of [[Element.prototype, "insertAdjacentHTML"], [document, "write"],
            [globalThis, "eval"], [Range.prototype, "createContextualFragment"],
            [DOMParser.prototype, "parseFromString"]]) {
            const was = owner[name];
            owner[name] = function (...all) { console.error("parses HTML"); return was.apply(this, all); };
        }
        globalThis.alert = () => console.error("alert was called");
        """)


def hostile_names():
    """What producers and devices send is text on the page and nothing else, and no name hides what follows it."""
    console = Console()
    browser = console.browser
    watched(browser)
    producer = Producer(console.serve)
    devices = {}
    for number, name in enumerate(NAMES):
        devices[name] = console.register(number, name, name, locale="de", app_version="1.0")
        status = producer.push({"id": name, "app": "shop", "to": {"users": [name]}, "alert": name})
        assert status["status"] == "accepted", (name, status)
    long = "y" * 255
    devices[long] = console.register(99, long, *[f"{number}-" + "t" * 50 for number in range(30)])
    console.sign_in()
    console.value_becomes("Sent", len(NAMES))
    for name in NAMES:
        quoted = json.dumps(shown(name))
        # A page does not show spaces at the ends of a text.
        seen = shown(name).strip(" ")
        console.go("#/messages")
        # The list shows the beginning of a long id.
        link = ("[...document.querySelectorAll('tbody a')].find((one) =>"
                f" one.textContent.startsWith({json.dumps(shown(name)[:50])}))")
        browser.until(link, name)
        address = browser.run(f"{link}.hash")
        console.go(address, "Completed: 1 sent", f"the user {seen}")
        browser.until(f"document.querySelector('h1').textContent.endsWith({quoted})", name)
        console.go(f"#/devices/{devices[name]}", seen, "Sent: accepted by the push service")
        # The links of a user and of a tag lead to the one device that has it: each name is tried with one of them, and in
        # `Tools/test --long` with both.
        links = ["dd a[href*='devices?']:not(.tag)", "dd a.tag"]
        for selector in links if "CARILLON_LONG" in os.environ else [links[len(name) % 2]]:
            console.go(f"#/devices/{devices[name]}", seen)
            browser.run(f"document.querySelector({json.dumps(selector)}).click()")
            browser.until(f"document.querySelector('tbody a[href=\"#/devices/{devices[name]}\"]')", (selector, name))
            browser.see("1 device found")
            # A search with the text that the field has finds the same device.
            browser.click("button.main", "Search")
            browser.see("1 device found")
    console.go("#/devices", "and 22 more")
    console.go("#/more/events", "Live events")
    # Lines outside of the window are not drawn, and have no innerText.
    browser.until(
        f"document.querySelector('.stream')?.textContent.includes({json.dumps(EVIL[:30])})", "the name in an event")
    for width in (360, 1280):
        for address in ("#/devices", f"#/devices/{devices[long]}", "#/messages", "#/more/events"):
            browser.view(width)
            console.go(address)
            browser.until("!document.querySelector('.empty')", address)
            wide = browser.run("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, (address, width, wide)
            console.picture(f"hostile-{width}-{address.split('/')[1]}")
    browser.view(1280)
    assert browser.run("document.querySelectorAll('main img, main script, main iframe').length") == 0
    # What this Carillon does not let in, another one may have in its registry: control characters and 10,000 letters.
    user = "nul\0esc\x1b[31m" + "z" * 10_000
    wild = {"device": "0" * 32, "app": "shop", "active": True, "user": user, "tags": [EVIL]}
    browser.answer_with("/v1/devices?limit=50", 200, {"devices": [wild], "next": None})
    console.go("#/overview")
    console.go("#/devices", "nul␀esc␛[31m", "z…")
    assert len(browser.text()) < 2000
    # A message with an id that no address of a browser can have.
    for dots in (".", "..", "../../v1/keys", "..\\.."):
        producer.push({"id": dots, "app": "shop", "to": {"users": ["שלום עולם"]}, "alert": "x"})
        console.go("#/overview")
        console.go(f"#/messages/shop/{urllib.parse.quote(dots, safe='')}")
        browser.see("No address can name a message with this id")
    # Addresses that no link has.
    for address in (
            "#/devices/%", "#/messages/%00/%ff", "#//", "#/nowhere", "#/devices/../..", "#/more/nothing",
            "#/constructor",
            "#/gateways/%3Cb%3E", "#/more/__proto__", "#/messages?since=x&until=-1", "#/devices?after=x",
            "#/messages/a/b/c/d", "#/messages/shop/a/deliveries?after=x", "#/more/keys?after=x", f"#/{'a' * 9000}"):
        console.go(address)
        browser.until("document.querySelector('h1')?.innerText && !/Reading the/.test(document.body.innerText)", address)
    console.end(allowed=["status of 40", "status of 42"])


def shown(name):
    """A name as the page shows it: marks of direction are visible, and what no font draws."""
    for code in (0x202e, 0x2066, 0x2069, 0xfeff, 0x200b, 0xad, 0x2060, 0xe0041):
        name = name.replace(chr(code), f"⟨U+{code:04X}⟩")
    return name


def content_policy():
    """The policy of the page stops inline scripts and other hosts, and a test would see it."""
    console = Console()
    browser = console.browser
    console.sign_in()
    browser.run("""(() => {
        globalThis.reports = [];
        document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => reports.push(violatedDirective));
        const script = document.createElement("script");
        script.textContent = "globalThis.isEvil = true";
        document.body.append(script);
        document.body.setAttribute("style", "color: red");
        const image = document.createElement("img");
        image.src = "http://127.0.0.1:1/x.png";
        document.body.append(image);
        fetch("http://127.0.0.1:1/").catch(() => {});
    })()""")
    browser.until("reports.length >= 4", "four reports")
    kinds = browser.run("[...new Set(reports)].sort()")
    assert kinds == ["connect-src", "img-src", "script-src-elem", "style-src-attr"], kinds
    assert browser.run("globalThis.isEvil") is None
    # Such a report fails every scene of the console.
    assert sum("Content Security Policy" in text for text in browser.complaints) >= 4, browser.complaints
    # No file asks for what the policy forbids.
    folder = ASSETS or os.path.join(home, "Sources", "Server", "PushConsole", "Assets")
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                     "DOMParser", "createContextualFragment", "setHTML", "style=", ".cssText"):
            assert word not in text, (name, word)
    browser.complaints.clear()
    browser.requests[:] = [url for url in browser.requests if ":1/" not in url]
    console.end()


if __name__ == "__main__":
    main(globals())
