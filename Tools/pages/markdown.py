"""The Markdown of the books as HTML, which `cmark-gfm` reads as GitHub does."""
import html, re, subprocess, unicodedata
import xml.etree.ElementTree as tree

from highlight import highlighted

LABELS = {"sh": "Commands", "shell": "Commands", "bash": "Commands"}


class Refused(Exception):
    """A fault of a file, with its line."""

    def __init__(self, file, line, what):
        super().__init__(f"{file}:{line}: {what}")


class Slugs:
    """Anchors as GitHub makes them, so that a link leads to the same place there and here."""

    def __init__(self):
        self.taken = {}

    def make(self, text):
        kept = [c for c in text.lower() if c in " -_" or unicodedata.category(c)[0] in "LN"]
        slug = "".join(kept).replace(" ", "-")
        number = self.taken.get(slug)
        self.taken[slug] = 0 if number is None else number + 1
        return slug if number is None else f"{slug}-{number + 1}"


class Heading:
    def __init__(self, level, text, anchor, line):
        self.level, self.text, self.anchor, self.line = level, text, anchor, line


class Section:
    """A heading and the plain text below it, for the search."""

    def __init__(self, heading):
        self.heading, self.words = heading, []


def parsed(text):
    """Returns the tree of a text, without the namespace of its names."""
    command = ["cmark-gfm", "-e", "table", "-e", "strikethrough", "--to", "xml", "--sourcepos"]
    made = subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    return tree.fromstring(made.decode().replace(' xmlns="http://commonmark.org/xml/1.0"', "", 1))


def plain(node):
    """Returns the text of a node without its marks."""
    return "".join("\n" if one.tag == "softbreak" else one.text or "" for one in node.iter() if not len(one))


class Page:
    """One file: its HTML, its headings, and its text by section.

    `link` turns the target of a link or an image into an address, and raises a LookupError if it cannot. `title` returns
    the title of the page that a link names by its file, as in [Keys.md](Keys.md)."""

    def __init__(self, file, text, link, title=lambda target: None):
        self.file, self.resolve, self.name_of, self.slugs = file, link, title, Slugs()
        self.headings, self.sections, self.line = [], [Section(None)], 1
        self.html = "\n".join(filter(None, map(self.block, parsed(text))))
        titles = [heading for heading in self.headings if heading.level == 1]
        if len(titles) != 1 or self.headings[0].level != 1:
            raise Refused(file, 1, "a page begins with its title, '# …', and has no other")
        for before, after in zip(self.headings, self.headings[1:]):
            if after.level > before.level + 1:
                raise Refused(file, after.line, f"a heading of level {after.level} follows one of level {before.level}")

    @property
    def title(self):
        return self.headings[0].text

    def refuse(self, what):
        raise Refused(self.file, self.line, what)

    def note(self, text):
        self.sections[-1].words.append(text)

    def block(self, node):
        self.line = int(node.get("sourcepos", f"{self.line}:").split(":")[0])
        return getattr(self, node.tag)(node)

    def blocks(self, node):
        return "\n".join(filter(None, map(self.block, node)))

    def inline(self, node):
        return "".join(map(self.block, node))

    # Blocks

    def paragraph(self, node):
        self.note(plain(node))
        is_figure = len(node) == 1 and node[0].tag == "image"
        return f'<figure tabindex="0">{self.inline(node)}</figure>' if is_figure else f"<p>{self.inline(node)}</p>"

    def heading(self, node):
        text, level = plain(node), node.get("level")
        anchor = self.slugs.make(text)
        self.headings.append(Heading(int(level), text, anchor, self.line))
        self.sections.append(Section(self.headings[-1]))
        mark = f' <a class="anchor" href="#{anchor}" aria-label="Link to {html.escape(text)}">#</a>'
        return f'<h{level} id="{anchor}">{self.inline(node)}{"" if level == "1" else mark}</h{level}>'

    def code_block(self, node):
        text = (node.text or "").removesuffix("\n")
        self.note(text)
        language = (node.get("info", "").split() or ["text"])[0]
        label = LABELS.get(language, "Code")
        kind = "commands" if label == "Commands" else "listing"
        return (f'<div class="{kind}"><pre tabindex="0" role="group" aria-label="{label}">'
                f"<code>{highlighted(language, text)}</code></pre></div>")

    def block_quote(self, node):
        return f"<blockquote>\n{self.blocks(node)}\n</blockquote>"

    def list(self, node):
        name = "ol" if node.get("type") == "ordered" else "ul"
        items = []
        for item in node:
            blocks = [self.block(block) for block in item]
            if node.get("tight") == "true":
                blocks = [re.sub(r"^<p>(.*)</p>$", r"\1", block, flags=re.S) for block in blocks]
            items.append("<li>" + "\n".join(blocks) + "</li>\n")
        return f"<{name}>\n{''.join(items)}</{name}>"

    def table(self, node):
        sides = [cell.get("align") for cell in node[0]]
        rows = []
        for row in node:
            self.line = int(row.get("sourcepos").split(":")[0])
            cells = []
            for cell, side in zip(row, sides):
                self.note(plain(cell))
                mark = ' class="number"' if side == "right" else ""
                if row.tag == "table_row":
                    cells.append(f"<td{mark}>{self.inline(cell)}</td>")
                else:
                    cells.append(f'<th{mark} scope="col">{self.inline(cell)}</th>' if len(cell) else "<td></td>")
            rows.append("<tr>" + "".join(cells) + "</tr>")
        about = html.escape(f"Table: {self.headings[-1].text}" if self.headings else "Table")
        body = "\n".join(rows[1:])
        return (f'<div class="table" tabindex="0" role="group" aria-label="{about}"><table>\n'
                f'<caption class="unseen">{about}</caption>\n<thead>{rows[0]}</thead>\n'
                f"<tbody>\n{body}\n</tbody></table></div>")

    def html_block(self, node):
        if not re.fullmatch(r"<!--.*-->\s*", node.text, re.S):
            self.refuse(f"HTML that is not a comment: {node.text.strip()}")

    def thematic_break(self, _):
        return "<hr>"

    # Text

    def text(self, node):
        return html.escape(node.text or "", quote=False)

    def code(self, node):
        return f"<code>{html.escape(node.text or '', quote=False)}</code>"

    def softbreak(self, _):
        return "\n"

    def linebreak(self, _):
        return "<br>\n"

    def emph(self, node):
        return f"<em>{self.inline(node)}</em>"

    def strong(self, node):
        return f"<strong>{self.inline(node)}</strong>"

    def strikethrough(self, node):
        return f"<del>{self.inline(node)}</del>"

    def html_inline(self, node):
        self.refuse(f"HTML, or a '<' that is not in `…`: {node.text}")

    def image(self, node):
        if not plain(node).strip():
            self.refuse(f"an image without a text: {node.get('destination')}")
        return f'<img src="{html.escape(self.address(node))}" alt="{html.escape(plain(node))}">'

    def link(self, node):
        address, inner = self.address(node), self.inline(node)
        if re.fullmatch(r"[\w/]+\.md", inner):
            inner = html.escape(self.name_of(node.get("destination")) or inner, quote=False)
        outside = ' rel="noreferrer"' if re.match(r"[a-z]+:", address) else ""
        return f'<a href="{html.escape(address)}"{outside}>{inner}</a>'

    def address(self, node):
        try:
            return self.resolve(node.get("destination"))
        except LookupError as error:
            self.refuse(str(error.args[0]))
