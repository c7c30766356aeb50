"""A manual page as a page of the site. `mandoc` reads it."""
import html, re, subprocess
import xml.etree.ElementTree as tree

from markdown import Heading, Refused, Section, Slugs

NAMES = {"b": "strong", "i": "em"}


class ManualPage:
    """The HTML, the headings and the text by section of one page, as those of `markdown.Page`."""

    def __init__(self, file, text, pages):
        self.pages, self.slugs = pages, Slugs()
        self.headings, self.sections = [], []
        made = subprocess.run(["mandoc", "-W", "warning,stop", "-T", "html", "-O", "fragment"], input=text.encode(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if made.returncode:
            place = re.search(rb"<stdin>:(\d+):.*", made.stderr)
            raise Refused(file, int(place[1]) if place else 1, made.stderr.decode().strip())
        head, page = tree.fromstring(f"<page>{made.stdout.decode()}</page>")[:2]
        parts = [self.heading(1, plain(head[0][0]).lower())]
        for section in page:
            parts += [self.block(block) for block in section]
        self.html = "\n".join(filter(None, parts))

    @property
    def title(self):
        return self.headings[0].text

    def heading(self, level, text):
        anchor = self.slugs.make(text)
        self.headings.append(Heading(level, text, anchor, 1))
        self.sections.append(Section(self.headings[-1]))
        return f'<h{level} id="{anchor}">{html.escape(text)}</h{level}>'

    def block(self, node):
        if node.tag in ("h1", "h2"):
            text = plain(node)
            return self.heading(int(node.tag[1]) + 1, text.capitalize() if text.isupper() else text)
        if node.tag in ("section", "div"):
            return "\n".join(filter(None, map(self.block, node)))
        if not plain(node):
            return None
        self.sections[-1].words.append(plain(node))
        if node.tag == "pre":
            return ('<div class="listing"><pre tabindex="0" role="group" aria-label="Code"><code>'
                    f"{self.inline(node).strip(chr(10))}</code></pre></div>")
        return f"<{node.tag}>{self.linked(self.inline(node))}</{node.tag}>"

    def inline(self, node):
        parts = [html.escape(node.text or "", quote=False)]
        for one in node:
            name = NAMES.get(one.tag, one.tag)
            inner = self.inline(one)
            parts.append("<br>" if name == "br" else inner if name == "a" else f"<{name}>{inner}</{name}>")
            parts.append(html.escape(one.tail or "", quote=False))
        return "".join(parts)

    def linked(self, text):
        """Names of other pages lead to them."""
        return re.sub(
            r"<strong>([\w.-]+)</strong>\((\d)\)",
            lambda match: f'<a href="{self.pages[match[1] + "." + match[2]]}">{match[1]}({match[2]})</a>'
            if match[1] + "." + match[2] in self.pages else match[0], text)


def plain(node):
    return re.sub(r"[ \n]+", " ", "".join(node.itertext())).strip()
