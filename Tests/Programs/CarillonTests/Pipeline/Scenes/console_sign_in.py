"""Who may sign in to the operator console, what it then offers, and what it does when a key, a clock or a storage
fails."""
import base64, hashlib, hmac, json, time

from console import Console
from harness import main, note, Producer, token

# The key of the contract: the bytes 00 to 1f.
SECRET = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"


def signatures():
    """The signature of the contract, byte for byte; the stream of events in any pieces."""
    console = Console()
    browser = console.browser
    browser.open(console.url)
    browser.see("Sign in to Carillon")
    base = browser.run("document.querySelector('script').src.replace(/[^/]*$/, '')")
    body = '{"id":"order-4711","app":"shop","to":{"users":["ada"]},"alert":"On its way"}'
    script = f"""(async () => {{
        const {{ signed, importKey, secretBytes }} = await import({json.dumps(base)} + 'signing.js');
        const key = await importKey(secretBytes({json.dumps(SECRET)}));
        const one = {{ keyID: 'k7f3qk2m', key, now: 1795313619, once: 'b3k2pp5k7z50gnwp' }};
        return [await signed({{ ...one, method: 'POST', target: '/v1/messages', body: {json.dumps(body)} }}),
            await signed({{ ...one, method: 'GET', target: '/v1/devices?user=a%20b&tag=%23x' }})];
    }})()"""
    post, get = browser.run(script)
    assert post == {
        "Content-Digest": "sha-256=:DI40nLko7mF0ISNou547yPm5t36WMSRW8WvnnxXQ7FQ=:",
        "Signature-Input": 'carillon=("@method" "@path" "@query" "content-digest");created=1795313619;'
        'keyid="k7f3qk2m";alg="hmac-sha256";nonce="b3k2pp5k7z50gnwp"',
        "Signature": "carillon=:xqlJfRFmeD5YVCnmd/jUmi0LZ2Ae8O+ZHPvDvahO8lM=:"}, post
    assert get == {"Signature-Input": get["Signature-Input"], "Signature": own_signature(get["Signature-Input"])}, get
    # Every wrong secret is refused by the page.
    wrong = ["", "short", SECRET + "A", SECRET[:-1] + "!", SECRET[:-1] + " "]
    refused = f"""(async () => {{ const {{ secretBytes }} = await import({json.dumps(base)} + 'signing.js');
        return {json.dumps(wrong)}.map((text) => secretBytes(text)); }})()"""
    assert browser.run(refused) == [None] * len(wrong)
    stream = (
        ": hello\r\nid: 7\r\nevent: message.accepted\r\ndata: {\"a\":\"ü\"}\r\n\r\n\n"
        "id: 8\ndata: 1\ndata: 2\n\ndata: lost")
    parsed = f"""(async () => {{
        const {{ StreamParser }} = await import({json.dumps(base)} + 'stream.js');
        const bytes = new TextEncoder().encode({json.dumps(stream)});
        const results = [];
        for (let size = 1; size <= bytes.length; size += 1) {{
            const parser = new StreamParser();
            const events = [];
            for (let at = 0; at < bytes.length; at += size) events.push(...parser.take(bytes.subarray(at, at + size)));
            results.push(JSON.stringify(events));
        }}
        return [...new Set(results)];
    }})()"""
    (events,) = browser.run(parsed)
    assert json.loads(events) == [
        {"id": "7", "kind": "message.accepted", "data": '{"a":"ü"}'},
        {"id": "8", "kind": "message", "data": "1\n2"}], events
    console.end()


def own_signature(parameters):
    """The signature of the GET request above, made by other code than that of the page."""
    lines = ['"@method": GET', '"@path": /v1/devices', '"@query": ?user=a%20b&tag=%23x']
    base = "\n".join([*lines, '"@signature-params": ' + parameters.removeprefix("carillon=")])
    mac = hmac.new(bytes(range(32)), base.encode(), hashlib.sha256).digest()
    return f"carillon=:{base64.b64encode(mac).decode()}:"



def has_button(pattern):
    return f"[...document.querySelectorAll('main button, main a.button')].some((one) => /{pattern}/.test(one.innerText))"


def roles():
    """A key is offered only what it may do, and a key of some apps sees those apps."""
    console = Console(news={})
    browser = console.browser
    device = console.register(1, "ada", "beta")
    console.register(2, "grace", app="news")
    producer = Producer(console.serve)
    producer.push({"id": "later", "app": "shop", "to": {"users": ["ada"]}, "alert": "Hi",
                   "not_before": int(time.time()) + 3600})
    # For each role: what is offered on the pages of a device, a message, a gateway, and in More.
    pages = {
        "device": (f"#/devices/{device}", "Deactivate|Erase"), "message": ("#/messages/shop/later", "Cancel"),
        "gateways": ("#/gateways", "Scale|Pause"), "configuration": ("#/more/configuration", "Reload"),
        "messages": ("#/messages", "Send a test"), "devices": ("#/devices", "Select")}
    offered = {
        "observe": set(), "operate": {"device", "message", "gateways", "configuration"},
        "push": {"message", "messages"}, "admin": {"device", "message", "gateways", "configuration"}}
    for role, expected in offered.items():
        console.sign_in(console.add_key(role, *({role, "observe"} if role == "push" else {role})))
        for name, (address, pattern) in pages.items():
            console.go(address)
            browser.until(
                "!document.querySelector('.empty') && document.querySelector('main dl, main table, main nav')", name)
            assert browser.run(has_button(pattern)) == (name in expected), (role, name)
        has_boxes = browser.run("document.querySelectorAll('td.select').length > 0")
        assert has_boxes == (role in ("operate", "admin")), role
        console.go("#/more")
        browser.until("document.querySelector('nav.parts a')", "the parts of More")
        parts = browser.run("[...document.querySelectorAll('nav.parts a')].map((one) => one.innerText)")
        assert ("API keys" in parts) == (role == "admin"), (role, parts)
        browser.click("#bar button", "Sign out")
        browser.see("Sign in to Carillon")
    # Roles that may not look at anything.
    browser.open(console.url)
    for role in ("push", "register"):
        console.sign_in(console.add_key(f"only-{role}", role), see=f"The key only-{role} may not look at anything")
    # A key of two apps searches in one at a time, because the server does not search in all for it.
    console.sign_in(console.add_key("team", "observe", options=("--app", "shop", "--app", "news")))
    console.go("#/devices", "grace")
    choices = browser.run("[...document.querySelector('#device-app').options].map(({ value }) => value)")
    assert choices == ["news", "shop"], choices
    console.go("#/devices?app=shop", f"{device[:8]}…")
    lists = [url for url in browser.requests if "/v1/devices?" in url][-2:]
    assert "app=news" in lists[0] and "app=shop" in lists[1], lists
    assert "Configuration" not in browser.run("document.querySelector('main').innerText")
    # A key of one app does not see the other.
    console.sign_in(console.add_key("one", "operate", options=("--app", "news")))
    console.go("#/devices", "grace")
    console.go("#/gateways", "news")
    assert "shop" not in browser.text()
    console.go(f"#/devices/{device}")
    browser.until("document.querySelector('.failed, main [role=status]')", "that there is none")
    console.go("#/messages/shop/later")
    browser.until("document.querySelector('.failed, main [role=status]')", "that there is none")
    assert "Hi" not in browser.text() and "ada" not in browser.text()
    console.end(allowed=["status of 403", "status of 404"])


def keys():
    """Keys are made, rotated and revoked; the end of the own key signs out with words."""
    console = Console()
    browser = console.browser
    console.sign_in()
    console.go("#/more/keys", "anna", "(yours)")
    browser.click("summary", "Make a key")
    browser.fill("#key-name", "grafana")
    browser.click("label", "observe: look at everything")
    browser.fill("#key-days", "30")
    browser.click("button", "Make the key")
    browser.see("The secret is shown this once")
    made = [browser.run(f"document.querySelector('{field}').value") for field in ("#made-id", "#made-secret")]
    assert len(made[1]) == 43, made
    console.picture("keys-made")
    browser.click("dialog button", "Close")
    browser.see("grafana", "in 29 d")
    assert made[1] not in browser.run("document.documentElement.outerHTML")
    # A fault of the form is named.
    browser.click("summary", "Make a key")
    browser.fill("#key-name", "grafana")
    browser.click("label", "push: push and cancel")
    browser.click("button", "Make the key")
    browser.until("document.querySelector('.note.failure')", "the name is taken")

    # Rotated with an overlap: both work, and the old one says when it ends.
    browser.click("button[aria-label='Rotate grafana']")
    browser.see("The old ones still work for")
    browser.click("dialog button", "Rotate grafana")
    browser.see("New secret of grafana")
    rotated = [browser.run(f"document.querySelector('{field}').value") for field in ("#made-id", "#made-secret")]
    browser.click("dialog button", "Close")
    browser.see("rotated, ends in")
    console.picture("keys-rotated")
    # Another browser of the same person, with a stream that ends with the key.
    browser.click("#bar button", "Sign out")
    console.sign_in(rotated)
    console.go("#/more/events", "Live events")
    browser.until("document.querySelector('main h2 .badge.good')", "the events are live")
    console.ask("POST", "/v1/keys/grafana/revoke")
    browser.see("Sign in to Carillon", "Carillon does not accept this key any more")
    assert "Overview" not in browser.text()
    console.sign_in(made, see="Carillon does not accept this key id with this secret.")

    # The own key.
    console.sign_in()
    console.go("#/more/keys", "(yours)")
    browser.click("a", "Also keys that have ended")
    browser.see("revoked")
    browser.click("button[aria-label='Revoke anna']")
    browser.see("You are signed in with this key: this page signs out.")
    browser.click("dialog button", "Revoke anna")
    browser.see("You revoked the key anna, with which you were signed in.")
    console.picture("keys-revoked")
    console.end(allowed=["status of 401", "status of 409", "status of 422", "net::ERR_"])


def wrong_clock():
    """A browser whose clock is an hour off signs with the time of the server, says so, and shows right times."""
    for hours in (1, -1):
        console = Console()
        browser = console.browser
        browser.before_each_page(f"""{{
            const real = Date.now;
            const off = {hours} * 3600000;
            const Plain = Date;
            globalThis.Date = class extends Plain {{
                constructor(...all) {{ all.length ? super(...all) : super(real() + off); }}
                static now() {{ return real() + off; }}
            }};
        }}""")
        console.register(1, "ada")
        console.sign_in()
        browser.see(f"The clock of this browser is 1 h {'ahead' if hours > 0 else 'behind'}")
        Producer(console.serve).push(note("now", token(1)))
        console.go("#/messages", "now")
        ago = browser.run("document.querySelector('tbody td:last-child').innerText")
        assert ago == "now" or ago.endswith(" s ago"), ago
        refused = len([text for text in browser.complaints if "401" in text])
        console.go("#/devices", "ada")
        console.go("#/overview", "Outcomes since the start")
        # Only the first request was refused.
        assert refused == len([text for text in browser.complaints if "401" in text]) == 1, browser.complaints
        console.picture(f"clock-{hours}")
        console.end(allowed=["status of 401"])


def entries(extra=""):
    """A script that returns the number of kept keys, after something was done to them."""
    return (
        "(async () => { const open = indexedDB.open('carillon');"
        " open.onupgradeneeded = () => open.result.createObjectStore('keys');"
        " await new Promise((done) => open.onsuccess = done);"
        f" const store = open.result.transaction('keys', 'readwrite').objectStore('keys'); {extra}"
        " const count = store.count(); await new Promise((done) => count.onsuccess = done); open.result.close();"
        " return count.result + 1; })()")


def old_keys():
    """The key of a closed tab, and an old one, are removed by the next start of the page; that of a living tab stays."""
    console = Console()
    browser = console.browser
    console.sign_in(stay=True)
    hour = 3_600_000
    left = f"store.put({{ keptAt: Date.now() - {hour} }}, 'closed'); store.put({{ keptAt: Date.now() - 13 * {hour} }}, 'old');"
    assert browser.run(entries(left)) == 4
    # Another tab is opened. It finds out which tabs live.
    session, browser.session = browser.session, None
    other = browser.call("Target.createTarget", url=console.url)["targetId"]
    browser.session = session
    browser.until(f"{entries()}.then((count) => count === 2)", "the key of this tab is left")
    # A page that is hidden reads nothing.
    browser.call("Page.bringToFront")
    browser.run("location.reload()")
    browser.see("Outcomes since the start")
    # After twelve hours the key is removed, also from an open page, which goes on.
    browser.before_each_page(
        f"const real = setTimeout; setTimeout = (work, time, ...more) => real(work, time > {hour} ? 0 : time, ...more);")
    browser.run("location.reload()")
    browser.until(f"{entries()}.then((count) => count === 1)", "the kept key has lapsed")
    browser.see("Outcomes since the start")
    session, browser.session = browser.session, None
    browser.call("Target.closeTarget", targetId=other)
    browser.session = session
    console.end()


def key_storage():
    """A kept key cannot be read and is gone after the sign-out. Where storage is blocked, the page works without it."""
    console = Console()
    browser = console.browser
    key_id, secret = console.key
    console.sign_in(stay=True)
    browser.run("location.reload()")
    browser.see("Outcomes since the start")
    stored = "JSON.stringify({ ...localStorage, ...sessionStorage })"
    assert secret not in browser.run(stored) and key_id not in browser.run(stored)
    keys = (
        "(async () => { const open = indexedDB.open('carillon'); await new Promise((done) => open.onsuccess = done);"
        " const all = open.result.transaction('keys').objectStore('keys').getAll();"
        " await new Promise((done) => all.onsuccess = done); open.result.close();"
        " return all.result.map(({ key }) => key.extractable); })()")
    assert browser.run(keys) == [False]
    # A reload while Carillon is away waits for it, with the kept key.
    console.serve.stop()
    console.serve = console.scene.serve()
    browser.run("location.reload()")
    browser.see("Outcomes since the start")
    browser.click("#bar button", "Sign out")
    browser.see("Sign in to Carillon")
    browser.until(f"{keys}.then((all) => all.length === 0)", "the kept key is removed")

    browser.before_each_page("""
        for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
            Object.defineProperty(globalThis, name, { get() { throw new DOMException("blocked", "SecurityError"); } });
        }""")
    console.sign_in(stay=True)
    browser.see("This browser blocks storage: the sign-in lasts until the page is loaded again.")
    browser.click("#bar button", "Auto")
    browser.until("document.documentElement.dataset.theme === 'light'", "the colors change")
    console.go("#/gateways", "Gateways")
    browser.click("#bar button", "Sign out")
    browser.see("Sign in to Carillon")
    console.end(allowed=["net::ERR_"])


if __name__ == "__main__":
    main(globals())
