"""The files of the repository as a folder of pages: which page is where, what it links to, and what surrounds it."""
import html, json, pathlib, re

from highlight import highlighted
from manual import ManualPage
from markdown import Page, Refused

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = pathlib.Path(__file__).resolve().parent
CONSOLE = ROOT / "Sources/Server/PushConsole/Assets"
INDEX = "Documentation/README.md"
# The pages outside of Documentation, with their addresses.
OUTSIDE = {"README.md": "index.html", INDEX: "books.html", "CHANGELOG.md": "changelog.html",
           "SECURITY.md": "security-policy.html", "CONTRIBUTING.md": "contributing.html"}
# The colors and the typeface of the console come first; site.css changes what a book needs.
STYLES = (CONSOLE / "theme.css", HERE / "site.css")
# `frame-ancestors` has no effect in a page. "self" includes file: in a folder without a server.
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; "
          "form-action 'none'")
SEARCH_LIMIT = 1500
PICTURES = (".svg", ".png")


class Group:
    """A book: its title, and the pages that it has."""

    def __init__(self, title):
        self.title, self.pages = title, []


class Book:
    def __init__(self, manual=None):
        files = sorted(pathlib.Path(manual).rglob("*.[1-9]")) if manual else []
        self.manual = {path.name: f"manual-{path.name}.html" for path in files}
        self.addresses = dict(OUTSIDE)
        for path in sorted((ROOT / "Documentation").glob("*.md")):
            name = str(path.relative_to(ROOT))
            self.addresses.setdefault(name, path.stem.lower() + ".html")
        # Files that are not pages, and that pages link to: examples and configurations.
        self.sources, self.pictures = {}, {}
        self.pages = {name: self.read(name) for name in self.addresses}
        self.groups = self.order()
        if files:
            group = Group("Manual pages")
            for path in files:
                self.pages[path.name] = ManualPage(str(path), path.read_text(encoding="utf-8"), self.manual)
                group.pages.append((self.pages[path.name].title, path.name))
            self.addresses |= self.manual
            self.groups.append(group)

    def read(self, name):
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        return Page(name, text, lambda target: self.resolve(path, target), lambda target: self.title(path, target))

    def title(self, path, target):
        """Returns the title of the page that a link leads to, or None if it is not a page."""
        there = (path.parent / target.partition("#")[0]).resolve()
        if not there.is_file() or str(there.relative_to(ROOT)) not in self.addresses:
            return None
        return there.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ").replace("`", "")

    def resolve(self, path, target):
        """Returns the address of what a page links to."""
        if re.match(r"(https|mailto):", target) or target.startswith("#"):
            return target
        if re.match(r"[a-z]+:", target):
            raise LookupError(f"a link to {target}, which is neither a file nor https")
        file, hash, anchor = target.partition("#")
        there = (path.parent / file).resolve()
        if not there.exists() or not there.is_relative_to(ROOT):
            raise LookupError(f"there is no file {target}")
        name = str(there.relative_to(ROOT))
        if name in self.addresses:
            return self.addresses[name] + hash + anchor
        if there.suffix in PICTURES:
            self.pictures[name] = f"assets/{there.name}"
            return self.pictures[name]
        if there.is_dir():
            for inner in sorted(one for one in there.iterdir() if one.is_file()):
                self.source(inner)
        else:
            self.source(there)
        return self.sources[name] if name in self.sources else self.folder(there)

    def source(self, path):
        name = str(path.relative_to(ROOT))
        self.sources[name] = "file-" + re.sub(r"[^a-z0-9.]+", "-", name.lower()) + ".html"

    def folder(self, path):
        name = str(path.relative_to(ROOT))
        self.sources[name] = "folder-" + re.sub(r"[^a-z0-9]+", "-", name.lower()) + ".html"
        return self.sources[name]

    def order(self):
        """Returns the books in the order of the index. Each page of Documentation belongs to one of them."""
        groups, listed = [], {}
        for number, line in enumerate((ROOT / INDEX).read_text(encoding="utf-8").split("\n"), 1):
            if line.startswith("## "):
                groups.append(Group(line[3:]))
            for text, target in re.findall(r"^(?:- |\d+\. )\[([^\]]+)\]\(([^)#]+)\)", line):
                name = str((ROOT / "Documentation" / target).resolve().relative_to(ROOT))
                if name not in self.pages:
                    raise Refused(INDEX, number, f"{target} is not a page")
                if name in listed or not groups:
                    raise Refused(INDEX, number, f"{target} is in two books, or in none")
                listed[name] = number
                groups[-1].pages.append((text, name))
        if missing := sorted(set(self.pages) - set(listed) - {"README.md", INDEX}):
            raise Refused(INDEX, 1, f"the index does not have {', '.join(missing)}")
        return groups

    # Pages

    def write(self, folder):
        """Writes all pages, and returns their number."""
        (folder / "assets").mkdir(parents=True, exist_ok=True)
        names = ["README.md", INDEX] + [name for group in self.groups for _, name in group.pages]
        titles = {name: title for group in self.groups for title, name in group.pages}
        titles |= {"README.md": "Carillon", INDEX: "The books"}
        for place, name in enumerate(names):
            before, after = (names[n] if 0 <= n < len(names) else None for n in (place - 1, place + 1))
            steps = "".join(
                f'<a class="{kind}" rel="{kind}" href="{self.addresses[other]}"><small>{word}</small>'
                f"{html.escape(titles[other])}</a>"
                for kind, word, other in (("prev", "Before", before), ("next", "Next", after)) if other)
            page = self.pages[name]
            contents = [heading for heading in page.headings if heading.level in (2, 3)]
            body = page.html + f'\n<nav class="steps" aria-label="Pages before and after">{steps}</nav>'
            self.page(folder, self.addresses[name], page.title, body, contents)
        for name, address in self.sources.items():
            self.page(folder, address, name, self.source_page(name), [])
        styles = "\n".join(path.read_text(encoding="utf-8") for path in STYLES)
        (folder / "assets/site.css").write_text(styles, encoding="utf-8")
        for name in ("site.js", "theme.js"):
            (folder / "assets" / name).write_bytes((HERE / name).read_bytes())
        (folder / "assets/icon.svg").write_bytes((CONSOLE / "icon.svg").read_bytes())
        for name, address in self.pictures.items():
            (folder / address).write_bytes((ROOT / name).read_bytes())
        (folder / "assets/words.js").write_text(self.words(names, titles), encoding="utf-8")
        return len(list(folder.glob("*.html")))

    def source_page(self, name):
        path = ROOT / name
        title = f"<h1><code>{html.escape(name)}</code></h1>\n"
        if path.is_dir():
            files = [f'<li><a href="{self.sources[str(one.relative_to(ROOT))]}">{html.escape(one.name)}</a></li>'
                     for one in sorted(path.iterdir()) if str(one.relative_to(ROOT)) in self.sources]
            return title + "<ul>" + "".join(files) + "</ul>"
        text = path.read_text(encoding="utf-8").rstrip("\n")
        first = text.split("\n", 1)[0]
        language = path.suffix[1:] or ("python" if "python" in first else "sh" if first.startswith("#!") else "text")
        return title + (f'<div class="listing"><pre tabindex="0" role="group" aria-label="Code"><code>'
                        f"{highlighted(language, text)}</code></pre></div>")

    def page(self, folder, address, title, body, contents):
        links = []
        for group in self.groups:
            items = "".join(self.entry(address, self.addresses[name], text) for text, name in group.pages)
            links.append(f"<li><p>{html.escape(group.title)}</p>\n<ul>{items}</ul></li>")
        first = self.entry(address, "index.html", "Carillon") + self.entry(address, "books.html", "The books")
        inside = ""
        if len(contents) > 1:
            # A route breaks at its slashes.
            items = "".join(f'<li class="level-{one.level}"><a href="#{one.anchor}">'
                            f'{html.escape(one.text).replace("/", "/<wbr>")}</a></li>' for one in contents)
            inside = (f'<nav id="site-contents" aria-label="On this page"><details open><summary>On this page</summary>'
                      f"<ul>{items}</ul></details></nav>")
        shown = title if title == "Carillon" else f"{title} · Carillon"
        (folder / address).write_text(f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{html.escape(shown)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" type="image/svg+xml" href="assets/icon.svg">
<link rel="stylesheet" href="assets/site.css">
<script src="assets/theme.js"></script>
<script src="assets/site.js" defer></script>
</head>
<body>
<a class="skip" href="#site-main">Skip to the content</a>
<header>
<p class="brand"><a href="index.html"><img src="assets/icon.svg" alt="" width="24" height="24"> Carillon</a></p>
<div id="site-search" role="search" hidden>
<input id="site-query" type="search" role="combobox" aria-label="Search the books" aria-expanded="false"
aria-controls="site-found" aria-autocomplete="list" autocomplete="off" spellcheck="false" placeholder="Search (press /)">
<div id="site-found" role="listbox" aria-label="Found" hidden></div>
<p id="site-count" class="unseen" role="status" aria-live="polite"></p>
</div>
<button id="site-theme" type="button" hidden></button>
</header>
<div class="frame">
<nav id="site-books" aria-label="Books"><details open><summary>Books</summary><ul><li><ul>{first}</ul></li>
{"".join(links)}</ul></details></nav>
<main id="site-main" tabindex="-1">
<article>
{body}
</article>
</main>
{inside}
</div>
</body>
</html>
""", encoding="utf-8")

    @staticmethod
    def entry(address, target, text):
        current = ' aria-current="page"' if address == target else ""
        return f'<li><a href="{target}"{current}>{html.escape(text)}</a></li>'

    def words(self, names, titles):
        """The index of the search: each section with its page, its heading and its text. It is a script, because a page
        that is opened from a file may not read another file."""
        sections = []
        for name in names:
            page = self.pages[name]
            for section in page.sections:
                text = re.sub(r"\s+", " ", " ".join(section.words)).strip()
                if section.heading is None:
                    continue
                anchor = "" if section.heading.level == 1 else f"#{section.heading.anchor}"
                sections.append([f"{self.addresses[name]}{anchor}", titles[name], section.heading.text,
                                 text[:SEARCH_LIMIT * 4]])
        return "globalThis.words = " + json.dumps(sections, ensure_ascii=False, separators=(",", ":")) + ";\n"
