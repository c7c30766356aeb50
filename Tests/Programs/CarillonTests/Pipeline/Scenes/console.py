"""A running Carillon with devices, and a browser that looks at its console through `http.listen` with real API keys."""
import http.client, json, os, socket, sys

home = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5))
sys.path.append(os.path.join(home, "Tools", "console"))

import browser
from browser import Browser
from doorway import Doorway
from harness import endings, Scene, take_port, token, until, verb, witnesses

PICTURES = os.environ.get("CARILLON_PICTURES", os.path.join(home, ".build", "console"))
# With a folder here, the browser takes the files of the console from there: changes can be tried without a build.
ASSETS = os.environ.get("CARILLON_CONSOLE_ASSETS")
ALL = ("operate", "push", "admin")
endings.append(browser.close_all)
witnesses.append(browser.tell_all)


class Console:
    """A running Carillon, a browser, and the keys with which the page signs in."""

    def __init__(self, *roles, behind=False, more=None, **apps):
        self.scene = Scene()
        for name, settings in apps.items():
            self.scene.apps[name] = self.scene.app(name, **settings)
        # The same port after a restart, as in real life.
        self.port = take_port()
        self.scene.more["http"] = {"listen": f"127.0.0.1:{self.port}"}
        self.scene.more.update(more or {})
        self.serve = self.scene.serve()
        self.serve.become_ready()
        self.url = f"http://127.0.0.1:{self.port}"
        self.door = Doorway(self.port) if behind else None
        if behind:
            self.url = self.door.url
        self.key = self.add_key("anna", *(roles or ALL))
        self.browser = Browser()
        if ASSETS:
            self.browser.serve_files(ASSETS)
        self.browser.view(1280)

    def add_key(self, name, *roles, options=()):
        """Makes a key with the verb, and returns its id and secret."""
        words = [word for role in roles for word in ("--role", role)]
        answer = json.loads(verb("keys", "api", "add", name, *words, *options, "--json", "--data", self.scene.data))
        return answer["key_id"], answer["secret"]

    def ask(self, method, path, body=None):
        """Asks the control socket, which needs no key."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.serve.places["control"])
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"} if text else {})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        assert answer.status < 300, (method, path, answer.status, data)
        return json.loads(data)

    def register(self, number, user, *tags, app="shop", start="a0", **more):
        body = {"token": token(number, start), "user": user, "tags": list(tags), "platform": "ios", **more}
        return self.ask("POST", f"/v1/apps/{app}/devices", body)["device"]

    def count(self, name):
        """A number of the registry."""
        return self.ask("GET", "/v1/stats")["registry"][name]

    def sign_in(self, key=None, stay=False, see="Outcomes since the start"):
        browser = self.browser
        browser.open(self.url)
        browser.see("Sign in to Carillon")
        key_id, secret = key or self.key
        browser.fill("#key-id", key_id)
        browser.fill("#secret", secret)
        if stay:
            browser.click("#stay")
        browser.click("button.main", "Sign in")
        browser.see(see)

    def go(self, address, *texts):
        # The page draws the new view when it hears of the change; until then the old one could be taken for it.
        self.browser.run(
            f"(() => {{ const before = location.href; location.hash = {json.dumps(address)};"
            " return location.href === before ? null : new Promise((done) =>"
            " addEventListener('hashchange', () => done(null), { once: true })); })()")
        self.browser.see(*texts)

    def value(self, row):
        """The count in a row of the outcomes."""
        return self.browser.run(
            f"[...document.querySelectorAll('.panel tr')].find((row) => row.innerText.includes({json.dumps(row)}))"
            "?.querySelector('.number')?.innerText.replaceAll(',', '')")

    def value_becomes(self, row, number):
        until(lambda: self.value(row) == str(number), 0.05)

    def picture(self, name):
        os.makedirs(PICTURES, exist_ok=True)
        self.browser.picture(os.path.join(PICTURES, f"{name}.png"))

    def end(self, allowed=()):
        """Checks that the console asked nobody else, and that the browser complained about nothing."""
        elsewhere = [url for url in self.browser.requests if not url.startswith((self.url, "about:", "data:"))]
        assert not elsewhere, elsewhere
        # The console asks whether Carillon is ready; that it is not, during a start or a stop, is an answer.
        complaints = [
            text for text in self.browser.complaints
            if not any(word in text for word in allowed) and not ("503" in text and text.endswith("/readyz"))]
        assert not complaints, complaints
        self.browser.close()
        self.serve.stop()
