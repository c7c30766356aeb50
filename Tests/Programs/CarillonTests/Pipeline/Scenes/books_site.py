"""The site of the books in Chromium: every page is readable, accessible, and asks no other host for anything."""
import functools, http.server, json, os, subprocess, sys, tempfile, threading

home = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5))
sys.path.append(os.path.join(home, "Tools", "console"))

from browser import Browser
from console import PICTURES
from console_accessibility import Auditor, walk_by_tab
from harness import directories, main

# Pages with pictures of the run, and with every kind of part. The others are looked at in one width and scheme.
CLOSE = ("index.html", "quickstart.html", "delivery.html", "securitymodel.html")


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Site:
    """The pages in a folder, and a server that has this folder below a path."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="carillon-site-")
        directories.append(self.folder)
        self.place = os.path.join(self.folder.name, "docs", "carillon")
        subprocess.run([os.path.join(home, "Tools", "site"), "--output", self.place], check=True, stdout=sys.stderr)
        self.pages = sorted(name for name in os.listdir(self.place) if name.endswith(".html"))
        handler = functools.partial(Quiet, directory=self.folder.name)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.file = f"file://{self.place}/"
        self.below = f"http://127.0.0.1:{self.server.server_port}/docs/carillon/"

    def open(self, browser, base, page):
        browser.open(base + page)
        # The script has run when the field of the search is there.
        browser.until(
            f"location.href === {json.dumps(base + page)} && document.readyState === 'complete'"
            " && document.getElementById('site-search').hidden === false", page)


def fits(browser):
    """Returns the elements that are wider than the window, outside of regions that scroll."""
    return browser.run(
        "(() => { const width = document.documentElement.clientWidth;"
        " if (document.documentElement.scrollWidth <= width) return [];"
        " return [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > width + 1"
        " && !one.closest('pre, .table')).map((one) => one.outerHTML.slice(0, 120)).slice(0, 5).concat('too wide'); })()")


def pages():
    """Every page fits into 360 pixels, has no fault that axe-core or the own rules find, and requests only its files."""
    site, browser = Site(), Browser()
    auditor = Auditor(browser, preloads=False)
    os.makedirs(PICTURES, exist_ok=True)
    browser.view(1280)
    site.open(browser, site.file, "index.html")
    auditor.prove()
    for number, page in enumerate(site.pages):
        base = (site.file, site.below)[number % 2]
        scheme = ("light", "dark")[number // 2 % 2]
        browser.view(360, scheme=scheme)
        site.open(browser, base, page)
        auditor.faults += [f"{page}, 360: {fault}" for fault in fits(browser)]
        # All files and folders are pages of one kind.
        if not page.startswith(("file-", "folder-")):
            auditor.check(f"{page}, 360, {scheme}")
        if page not in CLOSE:
            continue
        for width, scheme in ((360, "light"), (360, "dark"), (1024, "light"), (1440, "dark"), (1440, "light")):
            browser.view(width, scheme=scheme)
            browser.until(f"innerWidth === {width}")
            auditor.faults += [f"{page}, {width}: {fault}" for fault in fits(browser)]
            browser.picture(os.path.join(PICTURES, f"site-{page[:-5]}-{width}-{scheme}.png"), whole=False)
        for scheme in ("light", "dark"):
            browser.view(1440, scheme=scheme)
            auditor.check(f"{page}, 1440, {scheme}")
        auditor.faults += [f"{page}: a {role} has no name" for role in browser.unnamed()]
        browser.view(1440)
        auditor.faults += [f"{page}: {fault}" for fault in walk_by_tab(browser)]
        # On paper there is the text alone.
        browser.call("Emulation.setEmulatedMedia", media="print", features=[])
        shown = browser.run(
            "['header', '#site-books', '.steps'].filter((one) => document.querySelector(one)?.checkVisibility())")
        assert shown == [], (page, shown)
        browser.call("Emulation.setEmulatedMedia", media="", features=[])
    strangers = {
        url for url in browser.requests if not url.startswith((site.file, site.below, "data:"))}
    favicon = {url for url in strangers if url.endswith("/favicon.ico")}
    assert strangers == favicon, strangers
    assert len(site.pages) > 40, site.pages
    assert not auditor.faults, "\n".join([f"{len(auditor.faults)} faults", *dict.fromkeys(auditor.faults)][:60])
    assert not browser.complaints, browser.complaints
    browser.close()


def search():
    """The search finds sections by their words, with the keyboard alone, on a page that was opened from a file; the
    colors can be chosen, and the policy stops what is not the site's."""
    site, browser = Site(), Browser()
    auditor = Auditor(browser, preloads=False)
    for base in (site.file, site.below):
        browser.view(1280)
        site.open(browser, base, "index.html")
        assert not any("words.js" in url for url in browser.requests if url.startswith(base)), "it is read when it is used"
        for words, page in (
                ("crash repeat", "delivery.html#what-a-crash-can-repeat"), ("CarillonBrake", "alerts.html#carillonbrake"),
                ("replay socket", ""), ("<script>", "")):
            browser.press("Escape")
            browser.run("document.activeElement.blur()")
            browser.call("Input.dispatchKeyEvent", type="keyDown", key="/", code="Slash", text="/")
            browser.call("Input.dispatchKeyEvent", type="keyUp", key="/", code="Slash")
            browser.until("document.activeElement.id === 'site-query'", "the slash leads to the search")
            browser.fill("#site-query", words)
            first = words.split()[0].lower()
            browser.until(
                "(() => { const found = document.getElementById('site-found'); return found.checkVisibility()"
                f" && (found.firstElementChild?.textContent.toLowerCase().includes({json.dumps(first)})"
                " || found.innerText.includes('Nothing has')); })()", words)
            auditor.check(f"found {words}")
            if page:
                browser.press("Enter")
                browser.until(f"location.href.endsWith({json.dumps(page)})", page)
                browser.until("document.getElementById('site-search')?.hidden === false")
                assert browser.run("document.querySelector(':target').getBoundingClientRect().top < innerHeight"), page
        browser.fill("#site-query", "nothing-has-this-word")
        browser.see("Nothing has all of these words.")
        browser.press("Escape")
        browser.until("document.getElementById('site-found').hidden")
        for theme in ("light", "dark", "system"):
            browser.click("#site-theme")
            wanted = {"light": "light", "dark": "dark", "system": "light dark"}[theme]
            browser.until(f"getComputedStyle(document.documentElement).colorScheme === '{wanted}'", theme)
    assert not auditor.faults, "\n".join(auditor.faults[:40])
    assert not browser.complaints, browser.complaints
    browser.run(
        "new Promise((done) => { const one = new Image(); one.onerror = () => done(true); one.onload = () => done(false);"
        " one.src = 'https://example.com/picture.png'; })")
    assert any("Content Security Policy" in text for text in browser.complaints), browser.complaints
    browser.close()


if __name__ == "__main__":
    main(globals())
