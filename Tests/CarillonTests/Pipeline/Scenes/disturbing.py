"""What disturbs the operator console: hostile names, floods of events, large registries, and a Carillon that is busy or
gone."""
import json, os, time, urllib.parse

from console import ASSETS, Console, home
from ground import main, note, pace, Producer, token

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>'\"&{{7*7}}"
# Names that producers and apps may choose: markup, another direction of writing, marks of direction, emoji, and length.
NAMES = [
    "שלום עולם", "admin\u202egnp.exe", "a\u2066b\u2069c", "👩‍👩‍👧‍👦 e\u0301\u0302\u0303", "javascript:alert(1)",
    "%2e%2e%2f%00", "..%2f..", "a/b?c#d", "#tag", "##", " spaces ", "constructor", "__proto__",
    "\ufeffbom", "\u00a0nbsp\u00a0", "x" * 120, EVIL]


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


def hostile():
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
    """A name as the page shows it: marks of direction are visible."""
    for code in (0x202e, 0x2066, 0x2069, 0xfeff):
        name = name.replace(chr(code), f"⟨U+{code:04X}⟩")
    return name


def policy():
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
    folder = ASSETS or os.path.join(home, "Sources", "PushAdmin", "Console", "Assets")
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                     "DOMParser", "createContextualFragment", "setHTML", "style=", ".cssText"):
            assert word not in text, (name, word)
    browser.complaints.clear()
    browser.requests[:] = [url for url in browser.requests if ":1/" not in url]
    console.end()


def flood():
    """5,000 events a second: the list is bounded, frames stay short, memory does not grow, and the page answers."""
    console = Console(behind=True)
    browser = console.browser
    console.sign_in()
    browser.call("Performance.enable")
    console.door.flood = 5000
    console.go("#/more/events", "Live events")
    browser.until("document.querySelector('main h2 .badge.good')", "the events are live")
    # Text that is read this way does not make the browser lay out the page.
    received = "Number((document.querySelector('main section p.quiet')?.textContent ?? '').replace(/ new.*|,/g, ''))"
    browser.until(f"{received} > 20000", "the flood has begun")
    before = memory(browser)
    # The longest time between two frames, and the number of frames, while 50,000 events come.
    busy = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration")
    spent = seconds(browser)
    seen = browser.run("""new Promise((done) => {
        const count = () => %s;
        const first = count(), begun = performance.now();
        let frames = 0, longest = 0, last = begun;
        const frame = (now) => {
            frames += 1;
            longest = Math.max(longest, now - last);
            last = now;
            if (count() < first + 50000) requestAnimationFrame(frame);
            else done({ frames, longest, took: performance.now() - begun });
        };
        requestAnimationFrame(frame);
    })""" % received)
    spent = {name: round(value - spent[name], 2) for name, value in seconds(browser).items() if name in busy}
    after = memory(browser)
    rows = browser.run("document.querySelectorAll('.stream li').length")
    print(f"flood: {json.dumps(seen)}, seconds {json.dumps(spent)}, nodes {before['Nodes']} to {after['Nodes']}, "
          f"heap {before['JSHeapUsedSize'] >> 10} to {after['JSHeapUsedSize'] >> 10} KiB")
    assert rows <= 100, rows
    # What the page holds is bounded; the time is not asserted, because it belongs to the machine.
    assert after["Nodes"] < 1.5 * before["Nodes"] + 2000, (before, after)
    assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] + (8 << 20), (before, after)
    browser.click("button", "Hold the list")
    browser.see("The list is held")
    held = browser.run("document.querySelector('.stream').innerText")
    browser.until("!document.querySelector('main').innerText.includes('; 0 new since')", "events come meanwhile")
    assert held == browser.run("document.querySelector('.stream').innerText")
    browser.click("#tabs a", "Overview")
    browser.see("Outcomes since the start")
    console.door.flood = 0
    console.end()


def seconds(browser):
    return {one["name"]: one["value"] for one in browser.call("Performance.getMetrics")["metrics"]}


def memory(browser):
    browser.call("HeapProfiler.collectGarbage")
    return {one["name"]: int(one["value"]) for one in browser.call("Performance.getMetrics")["metrics"]}


def many():
    """Many devices and messages cost the page what one page of them costs."""
    count = int(os.environ.get("CARILLON_CONSOLE_DEVICES", "3000"))
    console = Console()
    browser = console.browser
    path = console.scene.path("devices.csv")
    with open(path, "w") as file:
        file.write("token,user,tags\n")
        file.writelines(f"{token(number)},user-{number},all\n" for number in range(count))
    console.serve.verb("devices", "import", path, "--app", "shop")
    producer = Producer(console.serve)
    messages = count // 10
    for start in range(0, messages, 500):
        producer.batch([note(f"m-{number}", token(number)) for number in range(start, min(start + 500, messages))])
    producer.push({"id": "wide", "app": "shop", "to": {"all": True}, "alert": "x"})
    console.sign_in()
    console.value_becomes("Sent", messages + count)
    browser.call("Performance.enable")
    times = {}
    for name, address, text in (
            ("devices", "#/devices", "50 on this page"), ("user", f"#/devices?user=user-{count - 1}", "1 device found"),
            ("tag", "#/devices?tag=all", "50 devices found on this page"), ("messages", "#/messages", "older ones"),
            ("message", "#/messages/shop/wide", f"{count:,}\n100 % of devices"),
            ("deliveries", "#/messages/shop/wide/deliveries", "there are more")):
        begun = time.monotonic()  # timed: it is printed, and not judged
        console.go(address, text)
        times[name] = round(1000 * (time.monotonic() - begun))  # timed: see above
        rows = browser.run("document.querySelectorAll('main tr, main li').length")
        assert rows < 350, (name, rows)
    print(f"many: {count} devices, {messages} messages: {json.dumps(times)} ms, {memory(browser)['Nodes']} nodes, "
          f"{memory(browser)['JSHeapUsedSize'] >> 10} KiB")
    # All pages of deliveries, once each.
    console.go("#/messages/shop/wide/deliveries", "there are more")
    seen = set()
    pages = min(10, count // 100)
    for number in range(pages):
        browser.until("document.querySelectorAll('tbody tr').length === 100", "a page of deliveries")
        new = set(browser.run("[...document.querySelectorAll('tbody th a')].map((one) => one.hash)"))
        assert len(new) == 100 and not new & seen, (number, len(new), len(new & seen))
        seen |= new
        if number < pages - 1:
            browser.click("button", "Next page")
            browser.until(f"document.querySelector('tbody th a')?.hash !== {json.dumps(sorted(new)[0])} &&"
                          f" !{json.dumps(sorted(new))}.includes(document.querySelector('tbody th a')?.hash)", "the next")
    console.end(allowed=["503"])


def busy():
    """A Carillon that asks to come later, fails, lies, or is gone: the page says so and comes back by itself."""
    console = Console(behind=True)
    browser = console.browser
    console.register(1, "ada")
    console.sign_in()
    live = "document.querySelector('#bar').innerText.includes('Live')"
    for status, code, words in (
            (429, "too_many_requests", "Carillon asks to slow down"), (503, "unavailable", "it is starting")):
        browser.answer_with(
            "/v1/stats", status, {"code": code, "detail": "it is starting"}, Retry_After=1)
        browser.see("Busy", words, "The page tries again by itself.")
        browser.answer_normally("/v1/stats")
        browser.until(live, "the page is live again")
    for status, body in ((500, {}), (502, None), (200, None)):
        browser.answer_with("/v1/stats", status, body)
        browser.until(f"!({live})", f"an answer {status} {body} is no value")
        browser.answer_normally("/v1/stats")
        browser.until(live, "the page is live again")
    # A list that cannot be read says why, and is read again by a button.
    browser.answer_with("/v1/devices?limit=50", 503, {"code": "unavailable", "detail": "the registry is busy"})
    console.go("#/devices", "the registry is busy", "Try again")
    browser.answer_normally("/v1/devices?limit=50")
    browser.click("button", "Try again")
    browser.see("Registered devices: 1")
    # A right that ends while the page is open.
    browser.answer_with("/v1/gateways", 403, {"code": "forbidden", "detail": "the key anna has no right to do this"})
    console.go("#/gateways", "This key may not do that: the key anna has no right to do this.")
    browser.answer_normally("/v1/gateways")
    browser.see("127.0.0.1:")
    # Carillon is gone, for as long as the environment says.
    gone = float(os.environ.get("CARILLON_CONSOLE_GONE", "3"))
    console.door.shut()
    browser.see("Reconnecting", "Carillon does not answer.")
    browser.click("button", "Pause…")
    browser.click("dialog button", "Pause shop")
    browser.until("document.querySelector('.note.failure')", "a deed that fails says so")
    begun = time.monotonic()  # timed: that the page does not come back is no state that could be waited for
    while time.monotonic() - begun < gone:  # timed: see above
        assert not browser.run(live)
        pace(0.2)
    console.door.shut(False)
    browser.until(live, "the page is live again")
    # A sign-in while it is gone waits for it.
    browser.click("#bar button", "Sign out")
    browser.see("Sign in to Carillon")
    browser.fill("#key-id", console.key[0])
    browser.fill("#secret", console.key[1])
    console.door.shut()
    browser.click("button.main", "Sign in")
    browser.see("Signing in", "Carillon does not answer. The page tries again by itself.")
    console.door.shut(False)
    browser.see("Gateways")
    browser.until(live, "signed in")
    console.end(allowed=["status of", "net::ERR_"])


if __name__ == "__main__":
    main(globals())
