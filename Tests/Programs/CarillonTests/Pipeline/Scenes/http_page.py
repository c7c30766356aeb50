"""Documentation/HTTP.md is held to a running Carillon: its examples are run, its routes and parameters compared."""
import json, os, re, signal, subprocess
from harness import http, main, Monitor, Scene, unheard_webhook
from http_requests import Door
from openapi import OpenAPI

HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5)
PAGE = os.path.join(HOME, "Documentation", "HTTP.md")
# What stands in the page for the place of a Carillon.
SOCKET, PORT = "/var/lib/carillon/control.sock", "http://127.0.0.1:8470"
# What the answers name anew in each run: ids, and the secrets of keys.
NAME = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[a-z0-9]{8}|[A-Za-z0-9_-]{43}")
MARK = "\nstatus %{http_code} %{content_type}\n"
# A section may name the parameters of another one, with some left out.
OTHERS = re.compile(
    r"parameters are\s+those\s+of\s+\[`([A-Z]+) (/\S*)`\]\([^)]*\)(?:,\s+without\s+((?:`\w+`(?:,\s+|\s+and\s+)?)+))?")
# Served, and described in one paragraph: static files, whose paths change with the version.
STATIC = {("GET", "/")}


class Example:
    """A command of the page, with the answer that the page shows."""

    def __init__(self, command, status, kind, text):
        self.command, self.status, self.kind, self.text = command, int(status), kind, text

    def parsed(self):
        """The JSON values of the answer, in which an ellipsis stands for further members or elements."""
        text = re.sub(r"([{,])\s*…\s*}", lambda match: match[1] + '"…":0}', self.text)
        text = re.sub(r",?\s*…\s*\]", "]", text)
        decoder, found = json.JSONDecoder(), []
        while text.strip():
            value, end = decoder.raw_decode(text.strip())
            found.append(value)
            text = text.strip()[end:]
        return found


class Page:
    def __init__(self):
        with open(PAGE) as file:
            self.text = file.read()
        parts = re.split(r"^### `([A-Z]+) (/\S*)`$", self.text, flags=re.M)
        self.sections = {(parts[n], parts[n + 1]): parts[n + 2] for n in range(1, len(parts), 3)}
        assert len(self.sections) * 3 + 1 == len(parts), "a route has two sections"
        self.examples = [
            Example(*match.groups()) for match in re.finditer(
                r"^```shell\n(.*?)\n```\n\n```answer (\d+) (\S+)\n(.*?)\n?```$", self.text, re.S | re.M)]
        commands = re.findall(r"^```shell$", self.text, re.M)
        assert len(commands) == len(self.examples), "a command has no answer"

    def table(self, header, text=None):
        """Returns the rows of the only table with this first header, without backquotes."""
        found = re.findall(rf"^\| {re.escape(header)} \|.*\n\|[- |]+\|\n((?:\|.*\n)+)", text or self.text, re.M)
        assert len(found) <= 1, (header, len(found))
        return [[cell.strip().replace("`", "") for cell in line.split("|")[1:-1]]
                for line in "".join(found).splitlines()]

    def parameters(self, place):
        """Returns the names that the section of a route describes, with those of the section that it names."""
        names = {row[0] for row in self.table("parameter", self.sections[place])}
        for method, path, omitted in OTHERS.findall(self.sections[place]):
            names |= self.parameters((method, path)) - set(re.findall(r"\w+", omitted))
        return names


class Runner:
    """Runs the commands of the page in their order, each with what the earlier ones have made."""

    def __init__(self):
        self.scene = scene = Scene()
        scene.more["http"] = {"listen": "127.0.0.1:0", "legacy_registration": {"app": "shop"}}
        scene.more["doors"] = {"gorush": {"apps": {"ios": "shop"}}}
        scene.more["webhooks"] = {"billing": unheard_webhook(scene, "device/")}
        self.serve = scene.serve()
        self.serve.become_ready()
        self.monitor = Monitor(self.serve, "message/")
        # The first ping has been answered.
        while "last_ping_ms" not in Door(self.serve, control=True).ask("GET", "/v1/gateways/shop").body.decode():
            self.monitor.wait_for_heartbeat()
        self.names = {}

    def run(self, setup, example):
        """Returns the status, the media type and the body of the answer."""
        command = example.command
        for name, value in self.names.items():
            command = command.replace(name, value)
        script = f"""curl() {{ command curl --write-out '{MARK}' "$@"; }}\n{setup}\n{command}\n"""
        script = script.replace(SOCKET, os.path.join(self.scene.data, "control.sock"))
        script = script.replace(PORT, self.serve.places["http"])
        if "text/event-stream" in command:
            return self.stream(script)
        ended = subprocess.run(["bash", "-c", script], cwd=HOME, capture_output=True, text=True)
        if "push.sh" in command:
            return 202, "application/json", ended.stdout
        assert ended.stdout.count("\nstatus ") == 1, (command, ended)
        body, _, marked = ended.stdout.rpartition("\nstatus ")
        status, _, kind = marked.strip().partition(" ")
        return int(status), kind.split(";")[0], body

    def stream(self, script):
        """Returns a live stream up to its first event. The time limit of the page would depend on the machine."""
        script = script.replace("--max-time 1", "--include")
        lines = []
        with subprocess.Popen(
                ["bash", "-c", script], cwd=HOME, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            for line in process.stdout:
                lines.append(line.rstrip())
                if line.startswith("data:"):
                    break
            os.killpg(process.pid, signal.SIGTERM)
        fields = lines[:lines.index("")]
        kind = next(line.split(": ")[1] for line in fields if line.lower().startswith("content-type"))
        return int(fields[0].split()[1]), kind, "\n".join(lines[len(fields):])

    def learn(self, page, real):
        """Remembers the names of this run for those in the page."""
        if isinstance(page, dict) and isinstance(real, dict):
            for name in page.keys() & real.keys():
                self.learn(page[name], real[name])
        elif isinstance(page, list) and isinstance(real, list):
            for one, other in zip(page, real):
                self.learn(one, other)
        elif isinstance(page, str) and isinstance(real, str) and page != real and NAME.fullmatch(page):
            assert NAME.fullmatch(real), (page, real)
            self.names[page] = real

    def settle(self, example, values):
        """Waits for what an example has begun."""
        ids = [v["id"] for v in values if isinstance(v, dict) and v.get("status") == "accepted" and "seq" in v]
        if "not_before" not in example.command:
            self.monitor.completed(*ids)


def differences(page, real, place=""):
    """Compares two JSON values: members, types, words and truth; other texts, numbers and lengths may differ."""
    if isinstance(page, dict) and isinstance(real, dict):
        names = set(page) - {"…"}
        wrong = names - set(real) if "…" in page else names ^ set(real)
        found = [f"{place}/{name}: only in the {'page' if name in page else 'answer'}" for name in sorted(wrong)]
        for name in sorted(names & set(real)):
            found += differences(page[name], real[name], f"{place}/{name}")
        return found
    if isinstance(page, list) and isinstance(real, list):
        if bool(page) != bool(real):
            return [f"{place}: one is empty"]
        return [fault for one, other in zip(page, real) for fault in differences(one, other, f"{place}/0")]
    if isinstance(page, float) or isinstance(real, float):
        page, real = float(page), float(real)
    if type(page) is not type(real):
        return [f"{place}: {page!r} in the page, {real!r} in the answer"]
    is_word = isinstance(page, bool) or page is None or isinstance(page, str) and re.fullmatch(r"[a-z][a-z_ ]*", page)
    return [f"{place}: {page!r} in the page, {real!r} in the answer"] if is_word and page != real else []


def shape(kind, example, body):
    """Returns the differences of a body to the example."""
    if kind.endswith("json"):
        values, wanted = [json.loads(line) for line in body.splitlines() if line], example.parsed()
        if len(values) != len(wanted) and "…" not in example.text.splitlines()[-1]:
            return [f"{len(wanted)} values in the page, {len(values)} in the answer"]
        return [fault for one, other in zip(wanted, values) for fault in differences(one, other)]
    shown, got = ([line.split(":")[0].split(" ")[0].split("{")[0] for line in text.strip().splitlines()]
                  for text in (example.text, body))
    return [] if all(word in got for word in shown if word != "…") else [f"{shown} in the page, {got[:20]}"]


def examples():
    """Each command of the page gets the answer of the page."""
    page, runner = Page(), Runner()
    setup = re.search(r"^```bash\n(.*?)\n```$", page.text, re.S | re.M)[1]
    for example in page.examples:
        status, kind, body = runner.run(setup, example)
        assert (status, kind) == (example.status, example.kind), (example.command, status, kind, body)
        faults = shape(kind, example, body)
        assert not faults, (example.command, faults, body[:2000])
        if kind.endswith("json"):
            values = [json.loads(line) for line in body.splitlines() if line]
            runner.learn(example.parsed(), values)
            runner.settle(example, values)
    with_example = [place for place, text in page.sections.items() if "```shell" in text]
    assert set(page.sections) - set(with_example) == set(), set(page.sections) - set(with_example)
    runner.serve.stop()


def routes():
    """The page has every route that is served, with its roles and parameters, and no other."""
    page, runner = Page(), Runner()
    openapi = OpenAPI(json.loads(http(runner.serve.places["http"] + "/openapi.json")[1]))
    served = {place: operation for place, operation in openapi.operations.items()}
    assert set(page.sections) == set(served) | STATIC, set(page.sections) ^ (set(served) | STATIC)
    rows = {tuple(row[0].split(" ")): row for row in page.table("route")}
    assert set(rows) == set(page.sections), set(rows) ^ set(page.sections)
    assert all(Door(runner.serve).ask(*place).status == 200 for place in STATIC)
    for place, operation in served.items():
        roles = rows[place][1].split(", ")
        assert roles == operation.get("x-roles", ["none"]), (place, roles, operation.get("x-roles"))
        # A contract: generators make the names of methods from it.
        assert rows[place][3] == operation["operationId"], (place, rows[place], operation["operationId"])
        names = {one["name"] for one in operation.get("parameters", []) if one["in"] != "path"}
        for media in operation.get("requestBody", {}).get("content", {}).values():
            schema = openapi.resolved(media.get("x-line-schema", media["schema"]))
            for one in map(openapi.resolved, [schema, *schema.get("anyOf", [])]):
                names |= set(one.get("properties", {}))
        described = page.parameters(place)
        # The keys of a message have a page of their own.
        if place != ("POST", "/v1/messages"):
            assert described == names, (place, described ^ names)
    codes = {row[0]: int(row[1]) for row in page.table("code")}
    problem = openapi.document["components"]["schemas"]["Problem"]["properties"]["code"]
    assert set(codes) == set(openapi.resolved(problem)["enum"]), set(codes) ^ set(openapi.resolved(problem)["enum"])
    for operation in served.values():
        for status, response in operation["responses"].items():
            for code in openapi.resolved(response).get("x-codes", []):
                assert status == "default" or codes[code] == int(status), (code, status)
    faults = {row[0] for row in page.table("fault")}
    assert faults == set(openapi.document["components"]["schemas"]["InputFault"]["properties"]["code"]["enum"]), faults
    assert max(len(line) for line in page.text.splitlines() if not line.startswith("|")) <= 80
    runner.serve.stop()


if __name__ == "__main__":
    main(globals())
