"""Reads Swift sources for the checks in Tools: removes comments and strings, and finds declarations."""

import os
import re

# Where a comment, a string or a regular expression may begin, a name in backquotes, or a parenthesis is.
MARK = re.compile(r'//|/\*|#*"""|#*"|#+/|(?:(?<=[(,])|(?<=[(,=:] ))/(?=[^\s/*=])|`[^`\n]+`|[()]')
NEWLINES_ONLY = re.compile(r"[^\n]")


def blank(text):
    """Returns as many spaces, with the same line breaks."""
    return NEWLINES_ONLY.sub(" ", text)


def code_of(source):
    """Returns the source with comments and strings replaced by spaces, so that each remaining character keeps its
    offset and its line. Code that is interpolated in strings remains."""
    result = []
    _copy_code(source, 0, result, in_text=False)
    return "".join(result)


def _copy_code(source, position, result, in_text):
    """Copies code until the end, or, inside a string, until the parenthesis that ends the interpolation. Returns the
    offset behind it."""
    depth = 0
    while match := MARK.search(source, position):
        start, mark = match.start(), match[0]
        result.append(source[position:start])
        if mark == "(":
            depth += 1
            result.append(mark)
            position = match.end()
        elif mark == ")":
            result.append(mark)
            position = match.end()
            if in_text and depth == 0:
                return position
            depth -= 1
        elif mark.startswith("`"):
            # A name may have any characters in it.
            result.append(mark)
            position = match.end()
        elif mark == "//":
            end = source.find("\n", start)
            position = len(source) if end < 0 else end
            result.append(blank(source[start:position]))
        elif mark == "/*":
            position = _end_of_comment(source, match.end())
            result.append(blank(source[start:position]))
        elif mark.endswith("/"):
            position = _end_of_pattern(source, match.end(), mark.rstrip("/"))
            result.append(blank(source[start:position]))
        else:
            position = _copy_text(source, match, result)
    result.append(source[position:])
    return len(source)


def _end_of_comment(source, position):
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(source, position):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    return len(source)


def _end_of_pattern(source, position, hashes):
    """Returns the offset behind a regular expression. One without number signs ends at its line at the latest."""
    pattern = rf"(?:\\.|[^\\])*?/{hashes}" if hashes else r"(?:\\.|[^\\/\n])*/?"
    end = re.compile(pattern, re.DOTALL).match(source, position)
    return end.end() if end else len(source)


def _copy_text(source, opening, result):
    """Replaces one string by spaces, except for its interpolations. Returns the offset behind it."""
    hashes = opening[0].rstrip('"')
    quote = opening[0][len(hashes):]
    # In order: an interpolation, another escape, the end. A string of one line ends at the line break if it is broken.
    marks = rf"(?P<code>\\{hashes}\()|(?P<escape>\\{hashes}.)|(?P<end>{quote}{hashes})"
    if quote == '"':
        marks += r"|(?P<line>\n)"
    marks = re.compile(marks, re.DOTALL)
    position = opening.end()
    result.append(blank(opening[0]))
    while match := marks.search(source, position):
        result.append(blank(source[position:match.end()]))
        position = match.end()
        if match["end"] or match.groupdict().get("line"):
            return position
        if match["code"]:
            # The parentheses of an interpolation remain, so that its code stays an expression of its own.
            result[-1] = result[-1][:-1] + "("
            position = _copy_code(source, position, result, in_text=True)
    result.append(blank(source[position:]))
    return len(source)


def line_of(source, offset):
    return source.count("\n", 0, offset) + 1


def folders(place):
    """Yields the names of the folders in a folder, sorted."""
    yield from sorted(name for name in os.listdir(place) if os.path.isdir(os.path.join(place, name)))


def targets(folder):
    """Yields the name and the folder of each target below Sources or Tests. Their folders are rooms of targets."""
    for room in folders(folder):
        for name in folders(os.path.join(folder, room)):
            yield name, os.path.join(folder, room, name)


def swift_files(folder):
    """Returns the paths of all Swift files in a folder and below, sorted."""
    return sorted(
        os.path.join(place, name) for place, _, names in os.walk(folder) for name in names if name.endswith(".swift")
    )


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()
