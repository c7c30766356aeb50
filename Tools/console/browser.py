"""A headless Chromium, driven over a pipe by the DevTools protocol.

It needs Chromium and nothing else: the protocol is JSON, with a NUL after each message, on two pipes. A wait ends when
its condition holds, and has no time limit: see Tools/lab/patience.py."""
import base64, itertools, json, os, queue, shutil, subprocess, sys, tempfile, threading

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lab.patience import pace

# The policy that the server sends with each file, for files that are not from the server.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
browsers = []


class BrowserError(Exception):
    pass


class Browser:
    """The process, and one page of it."""

    def __init__(self):
        program = next((path for name in PROGRAMS if (path := shutil.which(name))), None)
        if program is None:
            raise BrowserError("there is no Chromium; Tools/setup installs it")
        self.profile = tempfile.TemporaryDirectory(prefix="carillon-browser-", ignore_cleanup_errors=True)
        there, self.out = os.pipe()
        self.back, here = os.pipe()
        words = [
            program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking",
            "--disable-component-update", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            "--lang=en", f"--user-data-dir={self.profile.name}", "about:blank"]
        # Chromium reads its pipe from descriptor 3 and writes to descriptor 4.
        shell = 'a=$1 b=$2; shift 2; eval "exec 5<&$a 6>&$b"; exec 3<&5 4>&6 "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", str(there), str(here), *words], pass_fds=(there, here),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        browsers.append(self)
        os.close(there)
        os.close(here)
        self.numbers = itertools.count(1)
        self.answers, self.requests, self.complaints, self.fixed, self.folder = {}, [], [], {}, None
        self.session, self.awaited, self.has_ended = None, None, False
        self.lock, self.writing = threading.Lock(), threading.Lock()
        threading.Thread(target=self.read, daemon=True).start()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def read(self):
        rest = b""
        while piece := os.read(self.back, 1 << 16):
            *whole, rest = (rest + piece).split(b"\0")
            for message in whole:
                self.take(json.loads(message))
        self.has_ended = True
        for answer in list(self.answers.values()):
            answer.put({"error": {"message": "the browser has ended"}})

    def take(self, message):
        if "id" in message:
            if message["id"] in self.answers:
                self.answers[message["id"]].put(message)
            return
        method, more = message.get("method"), message.get("params", {})
        with self.lock:
            if method == "Fetch.requestPaused":
                self.fulfill(more)
            elif method == "Network.requestWillBeSent":
                self.requests.append(more["request"]["url"])
            elif method == "Runtime.exceptionThrown":
                details = more["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description") or details["text"])
            elif method == "Runtime.consoleAPICalled" and more["type"] in ("error", "warning", "assert"):
                parts = [part.get("value", part.get("description")) for part in more["args"]]
                self.complaints.append(" ".join(map(str, parts)))
            elif method == "Log.entryAdded" and more["entry"]["level"] == "error":
                self.complaints.append(f"{more['entry']['text']} {more['entry'].get('url', '')}")

    def send(self, method, parameters, number=None):
        message = {"id": number or next(self.numbers), "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        with self.writing:
            while data:
                data = data[os.write(self.out, data):]

    def call(self, method, **parameters):
        number = next(self.numbers)
        self.answers[number] = queue.Queue()
        if self.has_ended:
            raise BrowserError(f"{method}: the browser has ended")
        self.send(method, parameters, number)
        answer = self.answers[number].get()
        del self.answers[number]
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def answer_with(self, path, status, body, **headers):
        """Answers requests for a path in place of the server, from now on. The headers have "_" in place of "-"."""
        self.fixed[path] = (status, body, {name.replace("_", "-"): value for name, value in headers.items()})
        self.intercept()

    def answer_normally(self, path):
        """Lets the server answer a path again."""
        del self.fixed[path]
        self.intercept()

    def serve_files(self, folder):
        """Takes the files of the console from a folder, in place of those in the program."""
        self.folder = folder
        self.intercept()

    def before_each_page(self, script):
        """Runs a script before those of each page that is opened from now on."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def intercept(self):
        patterns = [*self.fixed, *(["/", "/console/*"] if self.folder else [])]
        self.call("Fetch.enable", patterns=[{"urlPattern": f"http://127.0.0.1:*{path}"} for path in patterns])

    def fulfill(self, request):
        path = "/" + request["request"]["url"].split("/", 3)[3].split("#")[0]
        more = {}
        if path in self.fixed:
            status, body, more = self.fixed[path]
            data, kind = json.dumps(body).encode(), "application/json"
        elif path == "/" or path.startswith("/console/"):
            name = path.rsplit("/", 1)[1] or "index.html"
            with open(os.path.join(self.folder, name), "rb") as file:
                status, data = 200, file.read().replace(b"{assets}", b"/console/files")
            ending = name.rsplit(".", 1)[1]
            kind = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}[ending]
            more = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"}
        else:
            return self.send("Fetch.continueRequest", {"requestId": request["requestId"]})
        headers = {"Content-Type": kind, **more}
        self.send("Fetch.fulfillRequest", {
            "requestId": request["requestId"], "responseCode": status,
            "responseHeaders": [{"name": name, "value": str(value)} for name, value in headers.items()],
            "body": base64.b64encode(data).decode()})

    def unnamed(self):
        """The roles of all controls to which the browser gives assistive technology no name."""
        roles = {
            "button", "link", "textbox", "searchbox", "combobox", "checkbox", "slider", "spinbutton", "table", "dialog",
            "img"}
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            node["role"]["value"] for node in nodes
            if not node["ignored"] and node["role"]["value"] in roles
            and not node.get("name", {}).get("value", "").strip()]

    def open(self, url):
        self.call("Page.navigate", url=url)

    def run(self, script):
        """Returns the value of an expression, or what its promise becomes."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(f"{script[:120]}: {details.get('exception', {}).get('description') or details['text']}")
        return answer["result"].get("value")

    def until(self, script, about=None):
        """Waits until the expression is true, and returns its value."""
        self.awaited, seconds = about or script, 0.01
        while True:
            try:
                # An element is an empty dictionary here.
                if (value := self.run(script)) not in (None, False, 0, ""):
                    self.awaited = None
                    return value
            except BrowserError as error:
                # The page may be between two documents.
                if "context" not in str(error) and "navigat" not in str(error):
                    raise
            # The browser has work to do for each look.
            pace(seconds)
            seconds = min(2 * seconds, 0.1)

    def tell(self):
        """What the browser waits for, and what it shows."""
        shown = []
        asking = threading.Thread(target=lambda: shown.append(self.text()[:3000]), daemon=True)
        asking.start()
        asking.join(5)  # timed: a browser that hangs does not say what it shows
        return "\n".join([f"the browser waits for {self.awaited}, and shows", *shown, f"complaints: {self.complaints}"])

    def text(self):
        return self.run("document.body?.innerText ?? ''")

    def see(self, *texts):
        """Waits until all texts are on the page."""
        for text in texts:
            self.until(f"document.body?.innerText.includes({json.dumps(text)})", f"the page shows {text}")

    def click(self, selector, text=None):
        """Clicks the first enabled element that matches, with the mouse, in the middle of it. An element that moves away
        under the mouse is clicked again."""
        wanted = json.dumps(text)
        find = (
            f"[...document.querySelectorAll({json.dumps(selector)})].find((one) => !one.disabled"
            f" && one.checkVisibility() && ({wanted} === null || one.innerText.trim().includes({wanted})))")
        while True:
            place = self.until(
                f"(() => {{ const one = {find}; if (!one) return null; one.scrollIntoView({{ block: 'center' }});"
                " const [box] = one.getClientRects(); const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];"
                " const hit = document.elementFromPoint(x, y); if (!hit || !one.contains(hit)) return null;"
                " window.isMissed = true;"
                " one.addEventListener('click', () => { window.isMissed = false; }, { capture: true, once: true });"
                " return [x, y]; })()",
                f"something to click: {selector} {text or ''}")
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)
            # A click may have led to another document, which knows nothing of it.
            if self.until("window.isMissed === true ? 'missed' : 'hit'", "the click") == "hit":
                return

    def point_at(self, selector):
        """Moves the mouse to the middle of the first element that matches."""
        x, y = self.until(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)})?.getBoundingClientRect();"
            " return box && [box.x + box.width / 2, box.y + box.height / 2]; })()", f"the place of {selector}")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def fill(self, selector, text):
        """Replaces the text of a field by typing."""
        self.until(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); one?.focus(); one?.select?.();"
            " return one && document.activeElement === one; })()", f"the field {selector}")
        if text:
            self.call("Input.insertText", text=text)
        else:
            self.press("Backspace")

    def choose(self, selector, value):
        self.until(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); if (!one) return false;"
            f" one.value = {json.dumps(value)}; one.dispatchEvent(new Event('change', {{ bubbles: true }}));"
            f" return one.value === {json.dumps(value)}; }})()", f"the choice {value} of {selector}")

    def type(self, text):
        """Types a text where the focus is."""
        self.call("Input.insertText", text=text)

    def focused(self):
        """The text of the element that has the focus."""
        return self.run("(document.activeElement.innerText ?? '').trim()")

    def tab_to(self, selector, text=None):
        """Presses Tab until an element has the focus that matches, and has the text."""
        wanted = json.dumps(text)
        for _ in range(400):
            if self.run(
                    f"(() => {{ const one = document.activeElement; return one.matches({json.dumps(selector)})"
                    f" && ({wanted} === null || one.innerText.trim().includes({wanted})); }})()"):
                return
            self.press("Tab")
        raise BrowserError(f"Tab does not reach {selector} {text or ''}\n{self.text()[:2000]}")

    def press(self, key, shift=False):
        codes = {
            "Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35,
            "Backspace": 8, " ": 32}
        more = {"key": key, "code": {" ": "Space"}.get(key, key), "windowsVirtualKeyCode": codes[key],
                "modifiers": 8 if shift else 0}
        if key in ("Enter", " "):
            more["text"] = "\r" if key == "Enter" else " "
        self.call("Input.dispatchKeyEvent", type="keyDown" if "text" in more else "rawKeyDown", **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    def view(self, width, height=900, scheme="light", ratio=1):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def picture(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait()
        # Its other processes write until they notice that it has ended.
        while os.path.exists(self.profile.name):
            self.profile.cleanup()
            pace()


def close_all():
    for browser in browsers:
        browser.close()


def tell_all():
    return "\n".join(browser.tell() for browser in browsers if not browser.has_ended)
