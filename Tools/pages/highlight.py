"""Code with its comments, strings, words and numbers marked. A language that is not known stays as it is."""
import html, re

STRING = r'"(?:\\.|[^"\\\n])*"'
SINGLE = r"'(?:\\.|[^'\\\n])*'"
NUMBER = r"\b\d[\d_]*(?:\.\d+)?\b"


def words(text):
    return r"\b(?:" + "|".join(text.split()) + r")\b"


SWIFT = words(
    "actor any as async await break case catch class continue default defer do else enum extension false fileprivate for "
    "func guard if import in init inout internal is let mutating nil nonisolated private protocol public repeat return "
    "self some static struct super switch throw throws true try typealias var where while")
PYTHON = words(
    "and as assert async await break class continue def del elif else except False finally for from global if import in is "
    "lambda None nonlocal not or pass raise return True try while with yield")
SHELL = words("if then else elif fi for in do done while case esac function export wait cd set exec kill sleep cat echo")
LANGUAGES = {
    "sh": (r"(?:(?<=\s)|^)#.*$", rf"{STRING}|'[^']*'", SHELL, r"\$\w+|\$\{\w+\}"),
    "json5": (r"//.*$", rf"{STRING}|{SINGLE}", words("true false null"), NUMBER),
    "swift": (r"//.*$", STRING, SWIFT, NUMBER),
    "python": (r"#.*$", rf'"""[\s\S]*?"""|[bfr]?{STRING}|[bfr]?{SINGLE}', PYTHON, NUMBER),
    "yaml": (r"#.*$", rf"{STRING}|{SINGLE}", r"^\s*(?:- )?[\w.-]+(?=:)", NUMBER),
    "c": (r"/\*[\s\S]*?\*/|//.*$", STRING, words(
        "break case char const continue default do double else enum for if int long return sizeof static struct switch "
        "void while unsigned uint64_t size_t bool"), NUMBER),
    "ini": (r"^[#;].*$", r"^\[.*\]$", r"^\w+(?==)", NUMBER),
}
SAME = {"shell": "sh", "bash": "sh", "json": "json5", "event": "json5", "request": "json5", "reply": "json5",
        "ack": "json5", "heartbeat": "json5", "nodes": "json5", "replay-error": "json5", "answer": "json5", "yml": "yaml",
        "py": "python", "rb": "python", "pl": "sh", "php": "c", "java": "c"}
KINDS = ("comment", "string", "word", "value")


def highlighted(language, text):
    """Returns the text as HTML."""
    rules = LANGUAGES.get(SAME.get(language, language))
    if rules is None:
        return html.escape(text, quote=False)
    pattern = re.compile("|".join(f"(?P<{kind}>{rule})" for kind, rule in zip(KINDS, rules)), re.M)
    parts, place = [], 0
    for match in pattern.finditer(text):
        parts.append(html.escape(text[place:match.start()], quote=False))
        parts.append(f'<span class="{match.lastgroup}">{html.escape(match[0], quote=False)}</span>')
        place = match.end()
    return "".join(parts) + html.escape(text[place:], quote=False)
