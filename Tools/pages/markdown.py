"""The subset of Markdown in which the books are written, as HTML.

What is not in the subset is refused with its file and line, because a construct that one program renders and another one
shows as text would be read by nobody. The subset: headings, paragraphs, lists, tables, quotations, fenced code, images,
links, code, strong and emphasized text, and comments."""
import html, re, unicodedata

from highlight import highlighted

HEADING = re.compile(r"(#{1,4}) (\S.*)$")
FENCE = re.compile(r"(`{3,})(.*)$")
ITEM = re.compile(r"(- |\d{1,3}\. )(\S.*)$")
ROW = re.compile(r"\|.*\|$")
RULE = re.compile(r"\|( *:?-+:? *\|)+$")
COMMENT = re.compile(r"<!--.*-->$")
# The start of a tag, an entity or a declaration; "a < b" is text.
TAG = re.compile(r"<[A-Za-z/!?]|&(#?\w+);")
REFUSED = (
    (re.compile(r"(=+|-{2,})$"), "an underlined heading or a line across the page"),
    (re.compile(r"#+[^# ]|#{5,} "), "a heading that is not '# ' to '#### '"),
    (re.compile(r"[*+] |\d+\) "), "a list that does not begin with '- ' or '1. '"),
    (re.compile(r"~~~"), "a fence of tildes"),
    (re.compile(r"\[[^\]]+\]: "), "a link definition; write the link in its place"),
    (re.compile(r"\s"), "an indented line outside of a list"),
)
INLINE = re.compile(
    r"(?P<code>(`+)(?P<inner>(?:(?!\2).)+?)\2(?!`))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|!\[(?P<alt>[^\]]*)\]\((?P<source>[^)\s]+)\)"
    r"|(?P<open>\[)"
    r"|\*\*(?P<strong>(?=\S).+?(?<=\S))\*\*"
    r"|\*(?P<emphasis>(?=[^\s*]).+?(?<=[^\s*]))\*(?!\*)",
    re.S)


class Refused(Exception):
    """A construct outside of the subset."""

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


class Page:
    """One file: its HTML, its headings, and its text by section.

    `link` turns the target of a link or an image into an address, and raises a LookupError if it cannot. `title` returns
    the title of the page that a link names by its file, as in [Keys.md](Keys.md)."""

    def __init__(self, file, text, link, title=lambda target: None):
        self.file, self.link, self.name_of, self.slugs = file, link, title, Slugs()
        self.headings, self.sections = [], [Section(None)]
        lines = list(enumerate(text.split("\n"), 1))
        self.html = "\n".join(self.blocks(lines))
        titles = [heading for heading in self.headings if heading.level == 1]
        if len(titles) != 1 or self.headings[0].level != 1:
            raise Refused(file, 1, "a page begins with its title, '# …', and has no other")
        for before, after in zip(self.headings, self.headings[1:]):
            if after.level > before.level + 1:
                raise Refused(file, after.line, f"a heading of level {after.level} follows one of level {before.level}")

    @property
    def title(self):
        return self.headings[0].text

    def refuse(self, line, what):
        raise Refused(self.file, line, what)

    def note(self, text):
        self.sections[-1].words.append(text)

    # Blocks

    def blocks(self, lines):
        """Yields the HTML of each block. A line is a pair of its number and its text."""
        place = 0
        while place < len(lines):
            number, line = lines[place]
            if not line.strip():
                place += 1
            elif line.startswith("<!--"):
                end = next((n for n in range(place, len(lines)) if "-->" in lines[n][1]), None)
                if end is None or not lines[end][1].rstrip().endswith("-->"):
                    self.refuse(number, "a comment that does not end at the end of a line")
                place = end + 1
            elif match := FENCE.match(line):
                end = next((n for n in range(place + 1, len(lines)) if lines[n][1] == match[1]), None)
                if end is None:
                    self.refuse(number, "a fence that does not end")
                yield self.code(match[2], [text for _, text in lines[place + 1:end]])
                place = end + 1
            elif match := HEADING.match(line):
                yield self.heading(len(match[1]), match[2], number)
                place += 1
            elif line.startswith("> ") or line == ">":
                end = self.run(lines, place, lambda text: text.startswith(">"))
                inner = [(n, text[2:] if text.startswith("> ") else text[1:]) for n, text in lines[place:end]]
                yield "<blockquote>\n" + "\n".join(self.blocks(inner)) + "\n</blockquote>"
                place = end
            elif ROW.match(line):
                end = self.run(lines, place, lambda text: text.startswith("|"))
                yield self.table(lines[place:end])
                place = end
            elif ITEM.match(line):
                place, text = self.list(lines, place)
                yield text
            else:
                self.check_start(number, line)
                end = self.run(lines, place, self.continues)
                yield self.paragraph(lines[place:end])
                place = end

    @staticmethod
    def run(lines, place, belongs):
        end = place + 1
        while end < len(lines) and lines[end][1].strip() and belongs(lines[end][1]):
            end += 1
        return end

    @staticmethod
    def continues(line):
        """A line that belongs to the paragraph above it."""
        return not (HEADING.match(line) or FENCE.match(line) or ROW.match(line) or ITEM.match(line)
                    or line.startswith(("> ", "<!--")))

    def check_start(self, number, line):
        for pattern, what in REFUSED:
            if pattern.match(line):
                self.refuse(number, what)

    def paragraph(self, lines):
        for number, line in lines:
            self.check_start(number, line)
            if line.endswith(("  ", "\\")):
                self.refuse(number, "a line break within a paragraph")
        text = "\n".join(line for _, line in lines)
        self.note(plain(text))
        only = re.fullmatch(r"!\[([^\]]*)\]\(([^)\s]+)\)", text)
        inner = self.inline(text, lines[0][0])
        return f'<figure tabindex="0">{inner}</figure>' if only else f"<p>{inner}</p>"

    def heading(self, level, text, number):
        anchor = self.slugs.make(plain(text))
        self.headings.append(Heading(level, plain(text), anchor, number))
        self.sections.append(Section(self.headings[-1]))
        inner = self.inline(text, number)
        mark = f' <a class="anchor" href="#{anchor}" aria-label="Link to {html.escape(plain(text))}">#</a>'
        return f'<h{level} id="{anchor}">{inner}{"" if level == 1 else mark}</h{level}>'

    def code(self, info, lines):
        self.note(" ".join(lines))
        words = info.split()
        language = words[0] if words else "text"
        text = highlighted(language, "\n".join(lines))
        label = {"sh": "Commands", "shell": "Commands", "bash": "Commands"}.get(language, "Code")
        kind = "commands" if label == "Commands" else "listing"
        return (f'<div class="{kind}"><pre tabindex="0" role="group" aria-label="{label}">'
                f"<code>{text}</code></pre></div>")

    def list(self, lines, place):
        """Returns the place after a list, and its HTML."""
        ordered = lines[place][1][0].isdigit()
        items, number = [], lines[place][0]
        while place < len(lines):
            match = ITEM.match(lines[place][1])
            if not match or match[1][0].isdigit() != ordered:
                break
            width = len(match[1])
            inner = [(lines[place][0], match[2])]
            place += 1
            while place < len(lines):
                text = lines[place][1]
                if text.startswith(" " * width):
                    inner.append((lines[place][0], text[width:]))
                elif not text.strip() and self.has_more(lines, place, width):
                    inner.append((lines[place][0], ""))
                else:
                    break
                place += 1
            if place < len(lines) and lines[place][1].strip() and not ITEM.match(lines[place][1]):
                self.refuse(lines[place][0], "a line directly after a list; indent it or leave a line empty before it")
            items.append(self.item(inner))
            # A list goes on after an empty line.
            following = next((n for n in range(place, len(lines)) if lines[n][1].strip()), None)
            if following is not None and ITEM.match(lines[following][1]):
                place = following
        if not items:
            self.refuse(number, "a list without an item")
        name = "ol" if ordered else "ul"
        return place, f"<{name}>\n" + "\n".join(items) + f"\n</{name}>"

    @staticmethod
    def has_more(lines, place, width):
        """Whether an empty line within a list is followed by more of the same item."""
        while place < len(lines) and not lines[place][1].strip():
            place += 1
        return place < len(lines) and lines[place][1].startswith(" " * width)

    def item(self, lines):
        blocks = list(self.blocks(lines))
        # The paragraph of an item that has no other needs no space around it.
        if blocks and blocks[0].startswith("<p>") and not any(block.startswith("<p>") for block in blocks[1:]):
            blocks[0] = blocks[0][3:-4]
        return "<li>" + "\n".join(blocks) + "</li>"

    def table(self, lines):
        number = lines[0][0]
        if len(lines) < 2 or not RULE.match(lines[1][1]):
            self.refuse(number, "a table without a header and a line of dashes")
        rows = [(n, self.cells(text, n)) for n, text in lines]
        sides = ["right" if cell.endswith(":") and not cell.startswith(":") else "" for cell in rows[1][1]]
        for n, row in rows:
            if len(row) != len(sides):
                self.refuse(n, f"a row with {len(row)} cells in a table with {len(sides)} columns")

        def line(n, row, name):
            cells = []
            for column, (cell, side) in enumerate(zip(row, sides)):
                self.note(plain(cell))
                mark = ' class="number"' if side else ""
                if name == "th" and not cell:
                    cells.append("<td></td>")
                    continue
                scope = ' scope="col"' if name == "th" else ""
                cells.append(f"<{name}{mark}{scope}>{self.inline(cell, n)}</{name}>")
            return "<tr>" + "".join(cells) + "</tr>"

        head = line(*rows[0], "th")
        body = "\n".join(line(n, row, "td") for n, row in rows[2:])
        about = html.escape(f"Table: {self.headings[-1].text}" if self.headings else "Table")
        return (f'<div class="table" tabindex="0" role="group" aria-label="{about}"><table>\n'
                f'<caption class="unseen">{about}</caption>\n<thead>{head}</thead>\n'
                f"<tbody>\n{body}\n</tbody></table></div>")

    def cells(self, line, number):
        if not ROW.match(line):
            self.refuse(number, "a row of a table that does not end with '|'")
        return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line[1:-1])]

    # Text

    def inline(self, text, number):
        parts, place = [], 0
        while match := INLINE.search(text, place):
            parts.append(self.text(text[place:match.start()], number))
            place = match.end()
            if match["code"]:
                inner = match["inner"]
                if inner.startswith(" ") and inner.endswith(" ") and inner.strip():
                    inner = inner[1:-1]
                parts.append(f"<code>{html.escape(inner, quote=False)}</code>")
            elif match["escape"]:
                parts.append(html.escape(match["escape"][1:], quote=False))
            elif match["source"]:
                if not match["alt"].strip():
                    self.refuse(number, f"an image without a text: {match['source']}")
                address = self.address(match["source"], number)
                parts.append(f'<img src="{html.escape(address)}" alt="{html.escape(match["alt"])}">')
            elif match["open"]:
                inner, target, place = self.linked(text, match.end(), number)
                if target is None:
                    parts.append("[")
                else:
                    address = self.address(target, number)
                    if re.fullmatch(r"[\w/]+\.md", inner):
                        inner = self.name_of(target) or inner
                    outside = ' rel="noreferrer"' if re.match(r"[a-z]+:", address) else ""
                    parts.append(f'<a href="{html.escape(address)}"{outside}>{self.inline(inner, number)}</a>')
            elif match["strong"]:
                parts.append(f"<strong>{self.inline(match['strong'], number)}</strong>")
            else:
                parts.append(f"<em>{self.inline(match['emphasis'], number)}</em>")
        parts.append(self.text(text[place:], number))
        return "".join(parts)

    def linked(self, text, place, number):
        """Returns the text and the target of a link whose '[' is before the place, and the place after it. The target is
        nil for brackets that are text."""
        depth, end = 1, place
        for end in range(place, len(text)):
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            if depth == 0:
                break
        if depth:
            return None, None, place
        if match := re.compile(r"\(([^)\s]+)\)").match(text, end + 1):
            return text[place:end], match[1], match.end()
        if text[end + 1:end + 2] in ("[", "("):
            self.refuse(number, f"a link without a plain target: [{text[place:end]}]")
        return None, None, place

    def address(self, target, number):
        try:
            return self.link(target)
        except LookupError as error:
            self.refuse(number, str(error.args[0]))

    def text(self, text, number):
        if match := TAG.search(text):
            self.refuse(number + text[:match.start()].count("\n"), f"HTML, or a '<' that is not in `…`: {match[0]}")
        if "`" in text:
            self.refuse(number, "a '`' without its partner")
        if match := re.search(r"(?<![\w/])_(?=\S)[^_\n]*_(?!\w)|~~|\*\*", text):
            self.refuse(number, f"marks that are neither *emphasis* nor **strong**: {match[0]}")
        return html.escape(text, quote=False)


def plain(text):
    """Returns a text without its marks."""
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"\*\*?(?=\S)([^*]+)(?<=\S)\*\*?", r"\1", text)
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text.replace("`", ""))
