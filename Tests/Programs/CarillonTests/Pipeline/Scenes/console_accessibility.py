"""Accessibility of the operator console: every page by axe-core and by own rules, in both color schemes, from 320 pixels
on, at a zoom of 200 %, and by keyboard alone."""
import os

from console import Console, home, PICTURES
from harness import main, note, Producer, token

PAGES = {
    "overview": "#/overview", "devices": "#/devices", "device": "#/devices/{device}", "messages": "#/messages",
    "message": "#/messages/shop/order-1", "deliveries": "#/messages/shop/order-1/deliveries", "test": "#/messages/new",
    "activity": "#/messages/activity",
    "gateways": "#/gateways", "events": "#/more/events", "changes": "#/more/changes",
    "credentials": "#/more/credentials", "webhooks": "#/more/webhooks",
    "configuration": "#/more/configuration", "keys": "#/more/keys"}
# What Tools/setup installs.
AXE = os.environ.get("CARILLON_AXE", os.path.join(home, ".build", "axe", "axe.min.js"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Auditor:
    """Looks at pages, and collects their faults."""

    def __init__(self, browser, preloads=True):
        # Without preloads, axe-core does not ask for the style sheets, which the policy of a page may forbid.
        self.browser, self.faults, self.preloads = browser, [], "true" if preloads else "false"
        self.rules = read(os.path.join(home, "Tools", "console", "audit.js"))
        # Without a network, Tools/setup cannot fetch axe-core. The own rules are applied all the same.
        self.axe = read(AXE) if os.path.exists(AXE) else None
        if not self.axe:
            print(f"there is no {AXE}, which Tools/setup fetches: the pages are checked by the own rules only")

    def prove(self):
        """Checks that both sets of rules find faults on a page that has some."""
        self.browser.run(
            "(() => { const wrong = document.createElement('div'); wrong.id = 'wrong'; document.body.append(wrong);"
            " const image = document.createElement('img'); const button = document.createElement('button');"
            " const field = document.createElement('input'); const text = document.createElement('p');"
            " text.textContent = 'faint'; text.className = 'faint'; text.style.color = '#eee';"
            " wrong.append(image, button, field, text); })()")
        self.check("proof")
        found = "\n".join(self.faults)
        both = ("axe image-alt", "axe button-name", "axe label", "axe color-contrast") if self.axe else ()
        for word in (*both, "has no label", "has a contrast of"):
            assert word in found, (word, found)
        self.faults.clear()
        self.browser.run("document.getElementById('wrong').remove()")

    def check(self, name):
        """Applies both sets of rules to the page as it is."""
        browser = self.browser
        self.faults += [f"{name}: {fault}" for fault in browser.run(self.rules)]
        if not self.axe:
            return
        # The policy of the page does not concern what a debugger evaluates.
        browser.run(f"globalThis.axe ? null : (() => {{ {self.axe} }})()")
        found = browser.run(
            f"axe.run(document, {{ preload: {self.preloads}, resultTypes: ['violations'],"
            " runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) => violations.flatMap(({ id, help, nodes }) =>"
            " nodes.map(({ html }) => `${id}: ${help}: ${html.slice(0, 160)}`)))")
        self.faults += [f"{name}: axe {fault}" for fault in found]

    def look(self, name):
        """Checks the page in all widths and schemes, and takes its pictures."""
        browser = self.browser
        for scheme in ("light", "dark"):
            for width in (320, 360, 1024, 1920):
                browser.view(width, scheme=scheme)
                browser.run("for (const one of document.querySelectorAll('details')) one.open = true")
                browser.until(
                    f"innerWidth === {width} && new Promise((done) => requestAnimationFrame(() => done(true)))")
                self.check(f"{name}, {width}, {scheme}")
                if width != 320:
                    browser.run("for (const one of document.querySelectorAll('details')) one.open = false")
                    browser.picture(os.path.join(PICTURES, f"{name}-{width}-{scheme}.png"))
        # A window of 1280 pixels at a zoom of 200 % has 640; text alone can be twice as large, too.
        browser.view(640, height=450, ratio=2)
        self.check(f"{name}, zoom")
        browser.view(1280)
        browser.call("Page.setFontSizes", fontSizes={"standard": 32})
        browser.until("getComputedStyle(document.documentElement).fontSize === '30px'", "the text is twice as large")
        self.check(f"{name}, large text")
        browser.call("Page.setFontSizes", fontSizes={"standard": 16})
        browser.until("getComputedStyle(document.documentElement).fontSize === '15px'", "the text has its size again")
        self.faults += [f"{name}: a {role} has no name" for role in browser.unnamed()]
        self.faults += [f"{name}: {fault}" for fault in walk_by_tab(browser)]


def pages():
    """Names, roles, contrast, focus and reflow of every page."""
    console = Console(news={})
    browser = console.browser
    device = console.register(1, "ada", "beta", "ios")
    console.register(3, "grace", app="news")
    producer = Producer(console.serve)
    producer.batch([note(f"order-{number}", token(1), token(2)) for number in range(10)])
    os.makedirs(PICTURES, exist_ok=True)
    auditor = Auditor(browser)
    browser.open(console.url)
    browser.see("Sign in to Carillon")
    auditor.prove()
    auditor.look("sign-in")
    console.sign_in()
    console.value_becomes("Sent", 20)
    for name, address in PAGES.items():
        console.go(address.format(device=device))
        browser.until("document.querySelector('main h1') && !/Reading the/.test(document.body.innerText)", name)
        auditor.look(name)
    # The question before a deed, a failure, selected devices, and an outage with its alarms.
    console.go(f"#/devices/{device}", "Story")
    browser.click("button", "Erase…")
    browser.until("document.activeElement.innerText === 'Do nothing'", "the focus begins at the harmless button")
    auditor.check("question")
    browser.press("Escape")
    browser.until("document.activeElement.innerText === 'Erase…'", "the focus returns to the button that asked")
    console.go("#/devices", "Registered devices")
    browser.click("thead input")
    browser.see("devices selected")
    auditor.look("selection")
    console.scene.simulator.kill()
    console.serve.become_ready("refused")
    console.go("#/overview", "shop cannot send")
    auditor.look("outage")
    assert not auditor.faults, "\n".join([f"{len(auditor.faults)} faults", *dict.fromkeys(auditor.faults)][:60])
    console.end(allowed=["503", "net::ERR_"])


def walk_by_tab(browser):
    """Walks through the page with Tab. Each stop is visible, and the order is that of the page."""
    browser.until("document.hasFocus()", "the page has the focus")
    browser.run("document.activeElement.blur()")
    count = browser.run(
        "[...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex=\"0\"]')]"
        ".filter((one) => !one.disabled && one.tabIndex >= 0 && one.checkVisibility()).length")
    last, faults = -1, []
    for _ in range(min(count, 40)):
        browser.press("Tab")
        stop = browser.run(
            "(() => { const one = document.activeElement; if (one === document.body) return null;"
            " const { outlineStyle, outlineWidth } = getComputedStyle(one);"
            " const text = one.nodeName + ' ' + (one.innerText ?? '').slice(0, 30);"
            " const { top, bottom } = one.getBoundingClientRect();"
            " return { at: [...document.querySelectorAll('*')].indexOf(one), text,"
            " isSeen: bottom > 0 && top < innerHeight,"
            " isVisible: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2 }; })()")
        if stop is None:
            break
        if stop["at"] < last:
            faults.append(f"Tab goes back to {stop['text']}")
            break
        last = stop["at"]
        if not stop["isVisible"]:
            faults.append(f"the focus is not visible at {stop['text']}")
        if not stop["isSeen"]:
            faults.append(f"{stop['text']} has the focus outside of the window")
    if last < 0:
        faults.append(f"Tab reaches none of {count}")
    return faults


def keyboard():
    """Everything by keyboard: the sign-in, a search, a question, a reading of a chart, a selection, and the way back."""
    console = Console()
    browser = console.browser
    for number in range(3):
        console.register(number, f"user-{number}")
    browser.open(console.url)
    browser.see("Sign in to Carillon")
    browser.type(console.key[0])
    browser.press("Tab")
    browser.type(console.key[1])
    browser.press("Enter")
    browser.see("Outcomes since the start")
    # The link over the header is visible when it has the focus.
    browser.tab_to(".skip")
    assert browser.run("document.activeElement.getBoundingClientRect().top") >= 0
    browser.press("Enter")
    assert browser.run("document.activeElement.id") == "main"
    browser.tab_to("[role=slider]")
    browser.until("Number(document.querySelector('[role=slider]').ariaValueMax) >= 2", "a point before the newest one")
    browser.press("ArrowLeft")
    browser.until("document.querySelector('.when').innerText.startsWith('at ')", "a reading")
    browser.tab_to("#tabs a", "Devices")
    browser.press("Enter")
    browser.see("Registered devices: 3")
    assert browser.focused() == "Devices", browser.focused()
    browser.tab_to("#device-search")
    browser.type("user-1")
    browser.press("Enter")
    browser.see("1 device found")
    browser.tab_to("td.select input")
    browser.press(" ")
    browser.see("1 device selected")
    browser.tab_to("button", "Deactivate 1…")
    browser.press("Enter")
    browser.see("Deactivate 1 device?")
    # The focus begins at the button that does nothing, and stays in the dialog.
    assert browser.focused() == "Do nothing"
    browser.press("Enter")
    browser.until("!document.querySelector('dialog')", "nothing is done")
    assert console.count("inactive") == 0
    browser.tab_to("button", "Deactivate 1…")
    browser.press("Enter")
    browser.tab_to("dialog button", "Deactivate 1 device")
    browser.press("Enter")
    browser.see("1 device deactivated.")
    assert console.count("inactive") == 1
    browser.tab_to("tbody .code a")
    browser.press("Enter")
    browser.see("Story, the latest first")
    browser.tab_to("main button", "Reactivate…")
    browser.press("Enter")
    browser.press("Tab")
    browser.press("Enter")
    browser.see("The device is active.")
    browser.tab_to("#bar button", "Sign out")
    browser.press("Enter")
    browser.see("Sign in to Carillon")
    assert browser.run("document.activeElement.id") == "key-id"
    console.end()


if __name__ == "__main__":
    main(globals())
