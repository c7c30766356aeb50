"""Checks a folder of pages: each is well-formed, each link leads somewhere, and nothing is requested from elsewhere."""
import html.parser, pathlib, re, urllib.parse

VOID = {"meta", "link", "img", "input", "br", "hr", "source", "wbr"}
# Attributes whose value the browser requests by itself.
LOADED = {"src", "srcset", "poster", "data", "action", "formaction", "background", "ping"}
STYLE = re.compile(r"url\(\s*['\"]?(?!data:|#)([a-z]+:|//)|@import", re.I)
SCRIPT = re.compile(
    r"\b(fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|eval|innerHTML|document\.write)\b|https?://")


class Reader(html.parser.HTMLParser):
    """Reads one page, and notes its faults, its anchors and its links."""

    def __init__(self, name):
        super().__init__(convert_charrefs=True)
        self.name, self.open, self.faults = name, [], []
        self.anchors, self.links, self.titles, self.has_policy = set(), [], 0, False

    def fault(self, text):
        self.faults.append(f"{self.name}:{self.getpos()[0]}: {text}")

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        if len(names) != len(set(names)):
            self.fault(f"<{tag}> has an attribute twice")
        values = {name: value or "" for name, value in attributes}
        if tag not in VOID:
            self.open.append(tag)
        self.titles += tag == "h1"
        if anchor := values.get("id"):
            if anchor in self.anchors:
                self.fault(f"the id {anchor} is there twice")
            self.anchors.add(anchor)
        if tag == "img" and "alt" not in values:
            self.fault(f"an image without a text: {values.get('src')}")
        if values.get("http-equiv", "").lower() == "content-security-policy":
            self.has_policy = "default-src 'none'" in values.get("content", "")
        if "style" in values or any(name.startswith("on") for name in values) or tag in ("style", "iframe", "object"):
            self.fault(f"<{tag}> has a style or a script of its own, which the policy forbids")
        if tag == "script" and "src" not in values:
            self.fault("a script within the page, which the policy forbids")
        for name, value in values.items():
            if name in LOADED or name == "href" and tag == "link":
                if re.match(r"([a-z]+:|//)", value, re.I):
                    self.fault(f"a request to elsewhere: {value}")
                self.links.append((self.getpos()[0], value))
            elif name == "href":
                self.links.append((self.getpos()[0], value))

    def handle_endtag(self, tag):
        if tag in VOID or not self.open or self.open[-1] != tag:
            self.fault(f"</{tag}> closes {self.open[-1:] or 'nothing'}")
        else:
            self.open.pop()


def faults(folder):
    """Returns what is wrong with a folder of pages."""
    folder, found, pages = pathlib.Path(folder), [], {}
    for path in sorted(folder.rglob("*.html")):
        reader = Reader(path.name)
        reader.feed(path.read_text(encoding="utf-8"))
        reader.close()
        found += reader.faults
        if reader.open:
            found.append(f"{path.name}: <{reader.open[-1]}> does not end")
        if reader.titles != 1:
            found.append(f"{path.name}: {reader.titles} titles")
        if not reader.has_policy:
            found.append(f"{path.name}: no policy")
        pages[path.name] = reader
    for name, reader in pages.items():
        for line, link in reader.links:
            if re.match(r"(https|mailto):", link):
                continue
            file, _, anchor = link.partition("#")
            file, anchor = urllib.parse.unquote(file) or name, urllib.parse.unquote(anchor)
            if file.startswith("/") or re.match(r"[a-z]+:", file):
                found.append(f"{name}:{line}: a link that depends on the place of the folder: {link}")
            elif not (folder / file).is_file():
                found.append(f"{name}:{line}: there is no file {file}")
            elif anchor and (file not in pages or anchor not in pages[file].anchors):
                found.append(f"{name}:{line}: there is no anchor #{anchor} in {file}")
    for path in sorted([*folder.rglob("*.css"), *folder.rglob("*.svg")]):
        if match := STYLE.search(path.read_text(encoding="utf-8")):
            found.append(f"{path.name}: a request to elsewhere: {match[0]}")
    for path in sorted(folder.rglob("*.svg")):
        text = path.read_text(encoding="utf-8")
        if match := re.search(r"<script|<foreignObject|\bon\w+=|href=\"(?!#)", text):
            found.append(f"{path.name}: a picture that does more than to show: {match[0]}")
    for path in sorted(folder.rglob("*.js")):
        # The index of the search has the text of the books, with their addresses.
        if path.name != "words.js" and (match := SCRIPT.search(path.read_text(encoding="utf-8"))):
            found.append(f"{path.name}: {match[0]} in a script")
    return found
