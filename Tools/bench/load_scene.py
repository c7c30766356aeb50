"""A simulated Apple, Carillon with an HTTP door and API keys, the load generators, and h2load: shared by the scripts
that measure a whole Carillon."""

import base64
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

BENCH = pathlib.Path(__file__).resolve().parent
ROOT = BENCH.parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
# The timeout in seconds for every wait.
PATIENCE = 300


class Failure(Exception):
    """A measurement that cannot be made. The text says why."""


def binary():
    program = os.environ.get("CARILLON", ROOT / ".build/release/carillon")
    if not os.access(program, os.X_OK):
        raise Failure(f"{program} is missing; build it with: swift build -c release --product carillon")
    return os.path.abspath(program)


def progress(text):
    print(text, file=sys.stderr, flush=True)


def load_average():
    return os.getloadavg()[0]


class Service:
    """A child process that prints one line of JSON when it is ready. Its log goes to a file."""

    def __init__(self, *words, directory, name=None):
        self.log = pathlib.Path(directory, f"{name or words[1]}.log")
        with self.log.open("w") as errors:
            self.child = subprocess.Popen(
                [str(word) for word in words], cwd=directory, stdout=subprocess.PIPE, stderr=errors, text=True)
        line = self.child.stdout.readline()
        if not line:
            self.child.wait()
            raise Failure(f"cannot start {words[1]}: {self.log.read_text()[-1000:]}")
        self.places = json.loads(line)

    def cpu(self):
        """Returns the CPU time that the process has used, in seconds."""
        fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_kib(self):
        for line in pathlib.Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise Failure("the process has no VmRSS")

    def end(self):
        self.child.send_signal(signal.SIGTERM)
        try:
            self.child.wait(30)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


# h2load against the simulated Apple

H2LOAD_PAYLOAD = {"aps": {"alert": {"title": "Order shipped", "body": "x" * 160}, "sound": "default"}}


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def provider_token(apple, directory):
    header = base64url(json.dumps({"alg": "ES256", "kid": apple.places["key_id"]}).encode())
    claims = base64url(json.dumps({"iss": apple.places["team_id"], "iat": int(time.time())}).encode())
    signature = subprocess.run(
        ["openssl", "dgst", "-sha256", "-sign", apple.places["key"]], input=f"{header}.{claims}".encode(),
        cwd=directory, stdout=subprocess.PIPE, check=True).stdout
    return f"{header}.{claims}.{base64url(signature)}"


def h2load(apple, directory, count, connections=2):
    """Sends requests to a simulated Apple with h2load. Returns the CPU time that it used, in seconds."""
    body = pathlib.Path(directory, "body")
    body.write_text(json.dumps(H2LOAD_PAYLOAD))
    headers = {
        "authorization": f"bearer {provider_token(apple, directory)}", "apns-topic": "com.example.shop",
        "apns-push-type": "alert", "apns-priority": "10", "apns-expiration": "1900000000",
    }
    words = ["h2load", "-n", count, "-c", connections, "-m", 100, "-d", body]
    for name, value in headers.items():
        words += ["-H", f"{name}: {value}"]
    words.append(f"https://127.0.0.1:{apple.places['provider']}/3/device/{'ab' * 32}")
    with tempfile.TemporaryFile("w+") as output:
        child = subprocess.Popen([str(word) for word in words], stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if child.returncode != 0 or f"{count} succeeded, 0 failed" not in text:
        raise Failure(f"some requests of h2load failed:\n{text[-1000:]}")
    return usage.ru_utime + usage.ru_stime


class Watcher:
    """A subscriber to all events of some nodes."""

    def __init__(self, scene, endpoints):
        self.child = subprocess.Popen(
            [scene.tool("zmq_watch"), *endpoints], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()

    def completed(self):
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        return int(self.child.stdout.readline())

    def await_completed(self, count, name="carillon"):
        until = time.monotonic() + PATIENCE
        while (completed := self.completed()) < count:
            if time.monotonic() > until:
                raise Failure(f"{name}: {count - completed} messages were not completed")
            time.sleep(0.01)

    def end(self):
        self.child.communicate()


class Scene:
    """The programs of a measurement in a temporary directory."""

    def __init__(self, tls=False):
        self.program = binary()
        self.temporary = tempfile.TemporaryDirectory()
        self.directory = self.temporary.name
        self.tools = {}
        self.number = 0
        self.services = []
        try:
            self.apple = self.start(
                "simulate", "--port", "0", "--binary-port", "0", "--feedback-port", "0", "--control-port", "0",
                "--data", f"{self.directory}/simulator", "--open-streams", "--json")
            self.serve(tls)
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        for service in reversed(self.services):
            service.end()
        self.temporary.cleanup()

    def serve(self, tls):
        self.configure(self.http_door(tls))
        self.carillon = self.start("serve", "--json", "--config", "carillon.json5")
        self.port = int(self.carillon.places["http"].rsplit(":", 1)[1])
        self.key = self.make_key()

    def start(self, *words, name=None):
        self.services.append(Service(self.program, *words, directory=self.directory, name=name))
        return self.services[-1]

    def http_door(self, tls):
        http = {"listen": "127.0.0.1:0"}
        if tls:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                 "/CN=localhost", "-days", "2", "-keyout", "http.key", "-out", "http.pem"],
                cwd=self.directory, check=True, stderr=subprocess.DEVNULL)
            os.chmod(f"{self.directory}/http.key", 0o600)
            http["tls"] = {"certificate": "http.pem", "key": "http.key"}
        return http

    def configure(self, http, data="data", **app):
        places = self.apple.places
        configuration = {
            "data": f"./{data}",
            "intake": {"router": "tcp://127.0.0.1:0", "pull": "off"},
            # No round has the work of removing old events.
            "events": {"publish": "tcp://127.0.0.1:0", "replay": "tcp://127.0.0.1:0", "retention": {"size": "1TiB"}},
            "http": http,
            "apps": {"shop": {
                "topic": "com.example.shop", "environment": "production",
                "credential": {name: places[name] for name in ("key", "key_id", "team_id")},
                "endpoint": {"host": "127.0.0.1", "port": places["provider"], "trust": places["ca"]},
                # Messages for a later time stay, and each round adds some.
                "limits": {"scheduled": 100_000_000}, **app,
            }},
        }
        pathlib.Path(self.directory, "carillon.json5").write_text(json.dumps(configuration))

    def make_key(self):
        made = json.loads(subprocess.run(
            [self.program, "keys", "api", "add", "load", "--role", "push", "--role", "register", "--app", "shop",
             "--bearer", "--json", "--data", "data"],
            cwd=self.directory, stdout=subprocess.PIPE, check=True, text=True).stdout)
        return made["key_id"], made["secret"]

    # Load

    def tool(self, name):
        """Returns the path of a load generator, which is compiled when it is needed first."""
        if name not in self.tools:
            self.tools[name] = f"{self.directory}/{name}"
            library = "-lcrypto" if name == "http_load" else "-lzmq"
            subprocess.run(["cc", "-O2", "-o", self.tools[name], BENCH / f"{name}.c", library], check=True)
        return self.tools[name]

    def numbers(self, count):
        """Returns the first of `count` numbers that were not used before."""
        first = self.number
        # Batches begin at multiples of their size.
        self.number += (count + 99_999) // 100_000 * 100_000
        return first

    def http_words(self, way, count, connections=64, **options):
        words = [self.tool("http_load"), self.port, way, "shop", self.numbers(count), count, connections, *self.key]
        for name, value in options.items():
            words += [f"--{name.replace('_', '-')}", value]
        return [str(word) for word in words]

    def zeromq_words(self, count, window, batch=1, not_before=0, endpoint=None, users=0):
        endpoint = endpoint or self.carillon.places["router"]
        return [str(word) for word in (
            self.tool("zmq_load"), endpoint, "shop", self.numbers(count), count, window, batch, not_before, users)]

    def run(self, words):
        """Runs a load generator to its end. Returns its figures."""
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        if done.returncode != 0:
            raise Failure(f"{os.path.basename(words[0])} failed: {done.stderr[-1000:]}")
        return json.loads(done.stdout)

    def accepted(self):
        """Returns the number of notifications that the simulated Apple has accepted."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.apple.places['control']}/counts", timeout=30) as answer:
            return json.load(answer)["accepted"]

    def await_accepted(self, count):
        until = time.monotonic() + PATIENCE
        while (accepted := self.accepted()) < count:
            if time.monotonic() > until:
                raise Failure(f"the simulated Apple accepted {accepted} of {count} notifications")
            time.sleep(0.02)
        if accepted > count:
            raise Failure(f"the simulated Apple accepted {accepted} notifications, {accepted - count} too many")

    def settle(self):
        """Waits until Carillon uses no more CPU time for what has ended."""
        before = -1.0
        while (now := self.carillon.cpu()) - before > 0.01:
            before = now
            time.sleep(0.2)


class PlainScene(Scene):
    """A simulated Apple, and one Carillon after another, without HTTP."""

    def serve(self, tls):
        """Nothing is served until it is opened."""

    def open(self, connections, data="data"):
        self.data = pathlib.Path(self.directory, data)
        self.configure(
            {"listen": "off"}, data, gateway={"connections": {"min": connections, "max": connections}})
        self.carillon = self.start("serve", "--json", "--config", "carillon.json5")
        self.watcher = Watcher(self, [self.carillon.places["publish"]])
        self.await_subscription()

    def await_subscription(self):
        until = time.monotonic() + PATIENCE
        while self.stats()["events"]["subscriptions"] == 0:
            if time.monotonic() > until:
                raise Failure("the subscription does not reach Carillon")
            time.sleep(0.02)

    def stats(self):
        words = [self.program, "stats", "--json", "--data", self.data]
        return json.loads(subprocess.run(
            words, cwd=self.directory, stdout=subprocess.PIPE, check=True, text=True).stdout)

    def close(self):
        self.watcher.end()
        self.services.remove(self.carillon)
        self.carillon.end()
        if self.carillon.child.returncode != 0:
            raise Failure(f"carillon ended badly: {self.carillon.log.read_text()[-1000:]}")

    def push(self, count, window, batch=1, **more):
        figures = self.run(self.zeromq_words(count, window, batch, **more))
        if figures["accepted"] != count:
            raise Failure(f"{figures['accepted']} of {count} messages were accepted: {figures}")

    def deliver(self, count, window, batch=1, users=0):
        """Pushes messages for one device each. Returns when the last event has come."""
        before, completed = self.accepted(), self.watcher.completed()
        self.push(count, window, batch, users=users)
        self.await_accepted(before + count)
        self.watcher.await_completed(completed + count)
        self.settle()

    def cost(self, count, window, batch=1, users=0):
        """Delivers messages. Returns the CPU time of Carillon for each, in microseconds."""
        before = self.carillon.cpu()
        self.deliver(count, window, batch, users)
        return (self.carillon.cpu() - before) / count * 1e6


def spread(values, form=".2f"):
    """Returns the median of values, and their range."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"
