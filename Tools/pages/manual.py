"""A manual page, in the requests that `carillon manual` writes, as a page of the site. Others are refused."""
import html, re

from markdown import Heading, Refused, Section, Slugs

ESCAPE = re.compile(r"\\(\[u([0-9A-F]{4,6})\]|\((..)|f([BIPR])|(.))")
NAMED = {"aq": "'", "dq": '"', "rs": "\\", "ti": "~", "ha": "^", "ga": "`", "bu": "•", "em": "—", "en": "–"}
PLAIN = {"-": "-", "&": "", " ": "\u00a0", "e": "\\"}
FONTS = {"B": "strong", "I": "em"}
# Requests without a meaning here: hyphenation, adjustment.
IGNORED = (".nh", ".ad")


class ManualPage:
    """The HTML, the headings and the text by section of one page, as those of `markdown.Page`."""

    def __init__(self, file, text, pages):
        self.file, self.pages, self.slugs = file, pages, Slugs()
        self.headings, self.sections, self.parts, self.line = [], [], [], 0
        self.paragraph, self.tag, self.is_literal = [], None, False
        self.open = []
        for self.line, line in enumerate(text.rstrip("\n").split("\n"), 1):
            self.take(line)
        self.end()
        if not self.headings:
            self.refuse("a page without .TH")
        self.html = "\n".join(self.parts)

    @property
    def title(self):
        return self.headings[0].text

    def refuse(self, what):
        raise Refused(self.file, self.line, what)

    def take(self, line):
        if not line.startswith((".", "'")):
            if self.tag == "":
                self.tag = line
            else:
                self.paragraph.append(line)
            return
        name, _, rest = line.partition(" ")
        if name in IGNORED:
            return
        if name == ".br":
            self.paragraph.append("\n")
            return
        if name == ".nf" and not self.is_literal:
            self.flush()
            self.is_literal = True
        elif name == ".fi" and self.is_literal:
            lines = self.inline("\n".join(self.paragraph))
            self.parts.append(f'<div class="listing"><pre tabindex="0" role="group" aria-label="Code"><code>{lines}'
                              "</code></pre></div>")
            self.note("\n".join(self.paragraph))
            self.paragraph, self.is_literal = [], False
        elif name == ".TP":
            self.flush()
            if "dl" not in self.open:
                self.parts.append("<dl>")
                self.open.append("dl")
            self.tag = ""
        elif name in (".PP", ".RS", ".RE"):
            self.flush()
            if name == ".PP" or name == ".RS":
                self.close()
        elif name == ".TH":
            words = re.findall(r'"([^"]*)"|(\S+)', rest)
            self.heading(1, "".join(words[0]).lower() + f"({''.join(words[1])})")
        elif name in (".SH", ".SS"):
            self.end()
            text = rest.strip('"')
            self.heading(2 if name == ".SH" else 3, text.capitalize() if text.isupper() else text)
        else:
            self.refuse(f"a request that carillon manual does not write: {name}")

    def flush(self):
        """Ends a paragraph, or the description of a tag."""
        text = " ".join(self.paragraph)
        if self.tag is not None and self.tag != "":
            self.parts.append(f"<dt>{self.inline(self.tag)}</dt><dd>{self.inline(text)}</dd>")
            self.note(self.tag + " " + text)
        elif text.strip():
            self.parts.append(f"<p>{self.inline(text)}</p>")
            self.note(text)
        self.paragraph, self.tag = [], None

    def close(self):
        if self.open:
            self.parts.append("</dl>")
            self.open = []

    def end(self):
        self.flush()
        self.close()

    def heading(self, level, text):
        text = plain(text)
        anchor = self.slugs.make(text)
        self.headings.append(Heading(level, text, anchor, self.line))
        self.sections.append(Section(self.headings[-1]))
        self.parts.append(f'<h{level} id="{anchor}">{html.escape(text)}</h{level}>')

    def note(self, text):
        if self.sections:
            self.sections[-1].words.append(plain(text))

    def inline(self, text):
        parts, place, font = [], 0, None
        for match in ESCAPE.finditer(text):
            parts.append(html.escape(text[place:match.start()], quote=False))
            place = match.end()
            if match[4]:
                if font:
                    parts.append(f"</{font}>")
                font = FONTS.get(match[4])
                if font:
                    parts.append(f"<{font}>")
            else:
                parts.append(html.escape(self.character(match), quote=False))
        parts.append(html.escape(text[place:], quote=False))
        if font:
            parts.append(f"</{font}>")
        # Names of other pages lead to them.
        return re.sub(
            r"<strong>([\w.-]+)</strong>\((\d)\)",
            lambda match: f'<a href="{self.pages[match[1] + "." + match[2]]}">{match[1]}({match[2]})</a>'
            if match[1] + "." + match[2] in self.pages else match[0], "".join(parts))

    def character(self, match):
        if match[2]:
            return chr(int(match[2], 16))
        found = NAMED.get(match[3]) if match[3] else PLAIN.get(match[5])
        if found is None:
            self.refuse(f"an escape that carillon manual does not write: {match[0]}")
        return found


def plain(text):
    """Returns a text without its escapes."""
    return ESCAPE.sub(
        lambda match: chr(int(match[2], 16)) if match[2] else NAMED.get(match[3] or "", "") if match[3]
        else "" if match[4] else PLAIN.get(match[5], ""), text).replace("\u00a0", " ")
