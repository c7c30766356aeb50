"""The books are held to the program: their commands are run, in order, with the output that they show."""
import contextlib, glob, os, re, shlex, signal, subprocess, tempfile
from harness import CARILLON, directories, endings, HOME, main, take_port, witnesses

# Why a command of the books is not run by this test.
REASONS = {
    "build": "it builds Carillon, or runs all tests",
    "containers": "it needs podman and the image of a release; Tools/packaging/try-containers runs it",
    "database": "it needs PostgreSQL with a standby; the tests of clusters run these verbs",
    "network": "it fetches a package",
    "optional": "it needs a package that Tools/setup does not install",
    "purchase": "it needs something that the App Store has signed; the tests of receipts sign it themselves",
    "systemd": "it needs root, and a machine that systemd has started",
}
# Pages whose commands another test runs, on a machine that this one cannot have.
ELSEWHERE = {
    "Documentation/Install.md": "Tools/package --try, on a Debian with systemd",
    "Documentation/Backup.md": "the tests of backup and restore, with directories of their own"}
# More than these would be a book that nobody has tried.
MOST_NOT_RUN = 16
# What may stand in a fence. Only `sh` has commands that are run here; HTTP.md has a scene of its own (http_page.py), and
# the examples in Swift are compared with files that are compiled.
LANGUAGES = {
    "sh", "output", "text", "json", "json5", "http", "ini", "swift", "python", "shell", "bash", "answer", "request",
    "reply", "ack", "event", "heartbeat", "nodes", "replay-error", ""}
COMMAND = re.compile(r"(\$ |sudo |carillon [a-z]|curl |Tools/|apt-get |systemctl |docker )")
PORTS = ("8470", "8090", "5560", "5561", "5570", "5571", "2197", "2195", "2196", "8474", "2443", "2444")
LISTEN = {
    "CARILLON_HTTP_LISTEN": "127.0.0.1:8470", "CARILLON_INTAKE_ROUTER": "tcp://127.0.0.1:5560",
    "CARILLON_INTAKE_PULL": "tcp://127.0.0.1:5561", "CARILLON_EVENTS_PUBLISH": "tcp://127.0.0.1:5570",
    "CARILLON_EVENTS_REPLAY": "tcp://127.0.0.1:5571"}
# A command that runs until it is stopped has shown that it works with its first line of output. A notification each
# second gives those that wait for events something to show.
PRELUDE = r"""
set -euo pipefail
set -m
trap 'status=$?; set +e; kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; exit $status' EXIT
pace() { sleep 0.05; }
until_output() {
    ( . "$1" ) >"$1.out" 2>&1 &
    local job=$! turn=0
    until [ -s "$1.out" ]; do
        kill -0 "$job" || return 1
        if [ $((turn++ % 20)) -eq 0 ]; then carillon send --app shop --user ada --title "$turn" >/dev/null; fi
        pace
    done
    kill -- "-$job"
    wait "$job" || true
}
until_simulated() { until curl --silent --fail --output /dev/null http://127.0.0.1:8474/; do pace; done; }
"""


class Block:
    """A fence of a page, with the comment before it."""

    def __init__(self, page, line, language, text, mark):
        self.page, self.line, self.language, self.text, self.mark = page, line, language, text, mark

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def reason(self):
        """Why the block is not run, or None if it is."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else None


class Page:
    def __init__(self, name):
        self.name, self.blocks, self.after, self.begin = name, [], None, None
        with open(os.path.join(HOME, name), encoding="utf-8") as file:
            self.lines = file.read().split("\n")
        mark, number = "", 0
        while number < len(self.lines):
            line = self.lines[number]
            if match := re.fullmatch(r"<!-- (.*) -->", line):
                mark = match[1]
                if mark.startswith("begins after: "):
                    assert self.after is None, f"{name}:{number + 1}: begins after two pages"
                    self.after, mark = mark[14:], ""
                elif mark == "others begin here":
                    self.begin, mark = len(self.blocks), ""
            elif match := re.fullmatch(r"(\s*)(`{3,})(.*)", line):
                end = self.lines.index(match[1] + match[2], number + 1)
                text = "\n".join(one[len(match[1]):] for one in self.lines[number + 1:end])
                self.blocks.append(Block(name, number + 1, match[3].split(" ")[0], text, mark))
                mark, number = "", end
            elif line.strip():
                assert not mark, f"{name}:{number + 1}: a mark '{mark}' without a block"
            number += 1

    @property
    def runs(self):
        return any(block.language == "sh" and block.reason is None for block in self.blocks)


def pages():
    names = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
    names += sorted(os.path.relpath(path, HOME) for path in glob.glob(os.path.join(HOME, "Documentation", "*.md")))
    return [Page(name) for name in names]


def skipped_commands():
    """Each command of the books is run, or has one of the reasons; nothing else looks like a command."""
    found, wrong = {}, []
    for page in pages():
        if page.name in ELSEWHERE:
            continue
        for block in page.blocks:
            if block.language not in LANGUAGES:
                wrong.append(f"{block.place}: the language {block.language} is not known")
            if block.language not in ("sh", "shell", "bash") and any(
                    COMMAND.match(line) for line in block.text.split("\n")):
                wrong.append(f"{block.place}: commands that are not marked as sh")
            if block.reason is not None:
                found.setdefault(block.reason, []).append(block.place)
            elif block.mark not in ("", "until stopped"):
                wrong.append(f"{block.place}: the mark '{block.mark}' is not known")
        if page.runs and page.begin is None and page.after is None:
            wrong.append(f"{page.name}: has commands, and does not say what it begins after")
    wrong += [f"{places[0]}: '{reason}' is not a reason" for reason, places in found.items() if reason not in REASONS]
    wrong += [f"no command is left out for the reason '{reason}'" for reason in REASONS if reason not in found]
    count = sum(len(places) for places in found.values())
    if count > MOST_NOT_RUN:
        wrong.append(f"{count} blocks are not run; at most {MOST_NOT_RUN} may be")
    assert not wrong, "\n".join(["", *wrong])


class Session:
    """One shell that runs blocks in their order, in a folder of its own. Only ports are other than those in the page."""

    def __init__(self, folder):
        self.folder, self.lines, self.expected = folder, [PRELUDE], []
        self.ports = {port: str(take_port()) for port in PORTS}
        os.mkdir(os.path.join(folder, "bin"))
        simulate = "--port 2197 --binary-port 2195 --feedback-port 2196 --control-port 8474"
        wrapper = os.path.join(folder, "bin", "carillon")
        with open(wrapper, "w") as file:
            file.write(self.placed(
                f'#!/bin/sh\nif [ "$1" = simulate ]; then shift; set -- simulate {simulate} "$@"; fi\n'
                f'exec {shlex.quote(CARILLON)} "$@"\n'))
        os.chmod(wrapper, 0o755)

    def placed(self, text):
        return re.sub(r"(?<![\d.])(" + "|".join(PORTS) + r")(?!\d)", lambda match: self.ports[match[1]], text)

    def add(self, blocks):
        for block, following in zip(blocks, [*blocks[1:], None]):
            if block.language != "sh" or block.reason is not None:
                continue
            number = len(self.expected)
            file = os.path.join(self.folder, f"block-{number}")
            self.lines.append(f'echo {shlex.quote(block.place)} >"{self.folder}/place"')
            if block.mark == "until stopped":
                with open(file, "w") as written:
                    written.write(self.placed(block.text) + "\n")
                self.lines.append(f"until_output {shlex.quote(file)}")
            else:
                self.lines.append(f"{{\n{block.text}\n}} >{shlex.quote(file)}.out 2>{shlex.quote(file)}.err")
            if "carillon simulate" in block.text:
                self.lines.append("until_simulated")
            shown = following.text if following is not None and following.language == "output" else ""
            self.expected.append((block, shown, file))

    def run(self):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CARILLON_")}
        environment |= {name: self.placed(value) for name, value in LISTEN.items()}
        environment["PATH"] = os.path.join(self.folder, "bin") + os.pathsep + environment["PATH"]
        environment["EXAMPLES"] = os.path.join(HOME, "Tools", "examples")
        with open(os.path.join(self.folder, "shell"), "w+") as output:
            shell = subprocess.Popen(
                ["bash", "-c", self.placed("\n".join(self.lines))], cwd=self.folder, env=environment, stdout=output,
                stderr=output, stdin=subprocess.DEVNULL, start_new_session=True)
            endings.append(lambda: shell.poll() is None and end_session(shell.pid))
            witnesses.append(lambda: "\n".join(self.last()))
            status = shell.wait()
            end_session(shell.pid)
            output.seek(0)
            if status:
                place, texts = self.last()
                raise AssertionError(f"{place} ended with {status}\n{texts}{output.read()}")
        for block, shown, file in self.expected:
            with open(file + ".out") as written:
                self.compare(block, shown, written.read())

    def last(self):
        """Returns the place of the block that was run last, and what it printed."""
        with open(os.path.join(self.folder, "place")) as file:
            place = file.read().strip()
        texts = []
        for block, _, name in self.expected:
            for ending in (".out", ".err"):
                if block.place == place and os.path.exists(name + ending):
                    with open(name + ending) as written:
                        texts.append(written.read()[-3000:])
        return place, "\n".join(texts)

    @staticmethod
    def compare(block, shown, real):
        """Each line of the page is a line of the output, in this order; '…' stands for any text."""
        rest = real.splitlines()
        for line in shown.splitlines():
            pattern = re.compile(".*".join(re.escape(part) for part in line.split("…")))
            place = next((number for number, one in enumerate(rest) if pattern.fullmatch(one)), None)
            assert place is not None, f"{block.place}: the output has no line\n{line}\nafter its other lines:\n{real}"
            rest = rest[place + 1:]


def end_session(number):
    """Ends what a shell has left behind. Its jobs have process groups of their own, and its session."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/stat") as file:
                session = int(file.read().rpartition(")")[2].split()[3])
            if session == number:
                os.kill(int(name), signal.SIGKILL)


def folder():
    """Makes a folder that is removed at the end."""
    made = tempfile.TemporaryDirectory(prefix="carillon-book-", ignore_cleanup_errors=True)
    directories.append(made)
    return made.name


def commands():
    """The commands of `PAGE` succeed, after those of the page that it begins after."""
    page = Page(os.environ["PAGE"])
    session = Session(folder())
    if page.after not in (None, "nothing"):
        first = Page(os.path.normpath(os.path.join(os.path.dirname(page.name), page.after)))
        session.add(first.blocks[:first.begin])
    session.add(page.blocks)
    assert any(block.page == page.name for block, _, _ in session.expected), f"{page.name} has no commands"
    session.run()


def failed_commands():
    """A command that fails, and an output that differs, are found."""
    for text, shown, words in (
            ("true\nfalse", "", "test.md:1 ended with 1"), ("echo one | grep two", "", "ended with 1"),
            ("echo one; echo two", "two\none", "has no line"), ("echo 12", "1", "has no line")):
        session = Session(folder())
        blocks = [Block("test.md", 1, "sh", text, "")]
        session.add(blocks + [Block("test.md", 9, "output", shown, "")])
        try:
            session.run()
        except AssertionError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"not found: {text!r}")


def alerts_and_figures():
    """Each alert has a section that says how urgent it is, figures say how they were measured, and README is short."""
    with open(os.path.join(HOME, "Config", "monitoring", "carillon.rules.yml")) as file:
        rules = dict(re.findall(r"- alert: (\w+).*?severity: (\w+)", file.read(), re.S))
    by_name = {page.name: "\n".join(page.lines) for page in pages()}
    sections = re.split(r"^## ", by_name["Documentation/Alerts.md"], flags=re.M)[1:]
    urgencies = {text.split("\n")[0]: re.match(r".*\n\n\*(\w+): ", text) for text in sections}
    assert {name: match and match[1] for name, match in urgencies.items()} == rules, (urgencies, rules)
    assert all(len(text.split()) > 20 for text in sections), "a section of an alert says too little"
    for text in re.split(r"^## ", by_name["Documentation/Capacity.md"], flags=re.M)[1:]:
        title, has_figures = text.split("\n")[0], re.search(r"^\|.*\d.*\|$", text, re.M)
        if title != "What to watch" and has_figures:
            assert re.search(r"^Measured (by|with|as) ", text, re.M), f"the figures of '{title}' are not explained"
    for path in glob.glob(os.path.join(HOME, "Documentation", "pictures", "*")):
        assert os.path.getsize(path) < 150_000, f"{path} is too large for a picture of a page"
    assert len(by_name["README.md"].split("\n")) <= 150


def scene_index():
    """Each file of the scenes has a line in their index, and the index names no other."""
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "README.md")) as file:
        named = re.findall(r"^\| `(\w+\.(?:py|c))` \| \S.* \|$", file.read(), re.M)
    files = [name for name in os.listdir(folder) if name.endswith((".py", ".c"))]
    assert sorted(named) == sorted(files), sorted(set(named) ^ set(files)) or "a file has two lines"


if __name__ == "__main__":
    main(globals())
