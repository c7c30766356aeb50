"""The base of all scenes: the program as child processes, and peers that use another ZeroMQ library.

A scene is a function without arguments; `main` runs the scene that the command line names. Scenes do not sleep: they
wait for a line, an event, a response or an exit code. No wait has a limit of its own: `main` watches the whole process,
and ends it when it has waited for so long that only a hang explains it (Tools/lab/patience.py)."""
import contextlib, fcntl, json, os, signal, socket as sockets, subprocess, sys, tempfile, threading, time, traceback, uuid
import urllib.error, urllib.request
from http.client import HTTPConnection
import zmq

HOME = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5))
sys.path.append(os.path.join(HOME, "Tools"))

from lab import patience

pace, until = patience.pace, patience.until
CARILLON = os.environ["CARILLON_PROGRAM"]
context = zmq.Context()
children = []
directories = []
taken_ports = []
# Calls that end what is not a child, and calls that return what is known when a wait has run out.
endings = []
witnesses = []
ran_out = threading.Event()
# Some scenes are this many times as large: for a measurement by hand.
SIZE = int(os.environ.get("CARILLON_SCENE_SIZE", "1"))
# How much the memory may grow. A sanitizer delays the release of memory, and keeps shadow memory.
ROOM = (1600 if os.environ.get("CARILLON_SANITIZER") else 160) << 20


class Child:
    """A process whose standard output and error are read together, line by line."""

    def __init__(self, *words, **more):
        surroundings = {k: v for k, v in os.environ.items() if not k.startswith("CARILLON_")}
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env=surroundings, **more)
        with contextlib.suppress(OSError):
            # A line longer than the usual 64 KiB would be split by a line of the log.
            fcntl.fcntl(self.process.stdout, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.words, self.lines, self.place, self.news, self.ended = words, [], 0, threading.Condition(), False
        children.append(self)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            with self.news:
                self.lines.append(line.rstrip("\n"))
                self.news.notify_all()
        self.process.stdout.close()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def line(self, *words):
        """Waits for the next line that contains all these words; lines before it are not searched again."""
        with self.news:
            while True:
                while self.place < len(self.lines):
                    self.place += 1
                    if all(word in self.lines[self.place - 1] for word in words):
                        return self.lines[self.place - 1]
                assert not self.ended, f"the process ended before {words}: {self.lines[-30:]}"
                self.news.wait()

    def heard(self, *words):
        """Waits until there is a line that contains all these words, also among the lines already searched."""
        place = 0
        with self.news:
            while True:
                while place < len(self.lines):
                    place += 1
                    if all(word in self.lines[place - 1] for word in words):
                        return
                assert not self.ended, f"never printed {words}: {self.lines[-30:]}"
                self.news.wait()

    def said(self, *words):
        return [line for line in self.lines if all(word in line for word in words)]

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Waits for the end of the process and returns its exit code."""
        code = self.process.wait()
        with self.news:
            while not self.ended:
                self.news.wait()
        return code

    def kill(self):
        self.signal(signal.SIGKILL)
        assert self.end() == -signal.SIGKILL

    @property
    def has_crashed(self):
        """Whether the process has ended with a fault, and not by a stop or a kill."""
        return self.process.poll() not in (None, 0, -signal.SIGKILL)

    @property
    def resident(self):
        """The resident memory of the process in bytes."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * 4096


def take_port():
    """Returns a port that refuses connections and is reserved until a program of the scene listens on it."""
    socket = sockets.socket()
    socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
    socket.bind(("127.0.0.1", 0))
    taken_ports.append(socket)
    return socket.getsockname()[1]


def verb(*words, code=0):
    """Runs a verb of the program and returns its output."""
    child = Child(CARILLON, *words)
    ended = child.end()
    assert ended == code, (words, ended, child.lines)
    return "\n".join(child.lines)


def http(url, method="GET", body=None):
    request = urllib.request.Request(url, method=method, data=body and body.encode())
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def control(serve, method, path, body=None):
    """Sends a request over the control socket, as the verbs do."""
    connection = HTTPConnection("carillon")
    connection.sock = sockets.socket(sockets.AF_UNIX)
    connection.sock.connect(os.path.join(serve.scene.data, "control.sock"))
    headers = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, path, body=None if body is None else json.dumps(body), headers=headers)
    answer = connection.getresponse()
    status, body = answer.status, json.loads(answer.read())
    connection.close()
    return status, body


class Simulator(Child):
    def __init__(self, directory, *more, ports=None):
        # The ports are reserved, so that a simulator that restarts can use them again.
        ports = ports or {n: take_port() for n in ("port", "binary-port", "feedback-port", "control-port")}
        named = [word for name, port in ports.items() for word in ("--" + name, str(port))]
        super().__init__(CARILLON, "simulate", *named, "--data", directory, "--json", *more)
        self.places = json.loads(self.line('{"'))
        self.ports = ports

    def ask(self, path, method="GET", body=None):
        status, text = http(f"http://127.0.0.1:{self.places['control']}{path}", method, body)
        assert status < 300, (path, status, text)
        return text

    def received(self, query=""):
        return [json.loads(line) for line in self.ask("/received?limit=100000" + query).splitlines()]

    def accepted(self):
        """The tokens of all accepted requests, including duplicates."""
        return [record["token"] for record in self.received("&status=200")]

    def device(self, token, **state):
        self.ask(f"/devices/{token}", "PUT", json.dumps(state))

    def faults(self, *rules):
        self.ask("/faults", "PUT", json.dumps({"rules": rules}))


class Scene:
    """A directory, a simulated Apple push service, and a configuration for it."""

    def __init__(self, *more):
        temporary = tempfile.TemporaryDirectory(prefix="carillon-scene-", ignore_cleanup_errors=True)
        directories.append(temporary)
        self.directory = temporary.name
        self.simulator = Simulator(self.path("simulator"), *more)
        self.apps = {"shop": self.app("shop")}
        self.more = {}
        self.data = self.path("data")

    def path(self, name):
        return os.path.join(self.directory, name)

    def app(self, name, **more):
        places = self.simulator.places
        return {
            "topic": f"com.example.{name}", "environment": "production",
            "credential": {"key": places["key"], "key_id": places["key_id"], "team_id": places["team_id"]},
            "gateway": {"connects_per_minute": 600},
            "endpoint": {"host": "127.0.0.1", "port": int(places["provider"]), "trust": places["ca"]}, **more}

    def configure(self):
        with open(self.path("carillon.json5"), "w") as file:
            json.dump(
                {
                    "data": self.data, "http": {"listen": "127.0.0.1:0"},
                    "intake": {"router": "tcp://127.0.0.1:0", "pull": "tcp://127.0.0.1:0"},
                    "events": {"publish": "tcp://127.0.0.1:0", "replay": "tcp://127.0.0.1:0"},
                    "apps": self.apps, **self.more,
                }, file)
        return self.path("carillon.json5")

    def serve(self, *more, wrap=(), up=True):
        serve = Carillon(self, *more, wrap=wrap)
        if up:
            serve.line("connection up")
        return serve


def unreachable_app(scene, name):
    """Returns an app whose push service refuses all connections."""
    app = scene.app(name)
    app["endpoint"] = {**app["endpoint"], "port": take_port()}
    return app


def unheard_webhook(scene, prefix):
    """Returns a webhook without a receiver: nothing listens on its port."""
    secret = scene.path("unheard.hook")
    verb("keys", "webhook", secret)
    return {"url": "http://127.0.0.1:9/", "prefixes": [prefix], "secret_file": secret, "insecure": True,
            "private_networks": ["127.0.0.0/8"]}


class Carillon(Child):
    def __init__(self, scene, *more, wrap=()):
        self.scene, self.file = scene, scene.configure()
        super().__init__(*wrap, CARILLON, "serve", "--config", self.file, "--json", *more)
        self.places = json.loads(self.line('{"apps"'))
        self.place = 0  # the lines before are searched as well

    def verb(self, *words, code=0):
        return verb(*words, "--config", self.file, code=code)

    def reload(self):
        self.scene.configure()
        before = self.place = len(self.lines)
        self.signal(signal.SIGHUP)
        self.line("configuration.reloaded")
        self.place = before  # a reload starts connections, which may be up before it is reported

    def ready(self):
        status, text = http(self.places["http"] + "/readyz")
        return status, json.loads(text)

    def become_ready(self, *reason):
        """Waits until `/readyz` reports ready; or, with `reason`, until it reports not ready for that reason."""

        def look():
            status, answer = self.ready()
            is_it = status == (503 if reason else 200) and all(word in json.dumps(answer) for word in reason)
            return answer if is_it else None

        return until(look)

    def stop(self, code=0):
        self.signal(signal.SIGTERM)
        ended = self.end()
        assert ended == code, (ended, self.lines[-30:])


def has_message(socket):
    """Whether a message has arrived."""
    return bool(socket.getsockopt(zmq.EVENTS) & zmq.POLLIN)


def receive(socket, child):
    """Waits for a message of a child, and returns its frames. A crash of the child is noticed at once."""
    while not socket.poll(100):  # timed: a pace
        assert not child.has_crashed, f"the process crashed: {child.lines[-30:]}"
    return socket.recv_multipart()


def keyed(socket, keys):
    if keys:
        socket.curve_serverkey, socket.curve_publickey, socket.curve_secretkey = keys
    socket.linger = 0
    return socket


class Producer:
    """A DEALER (or a REQ) without a limit of outstanding requests."""

    def __init__(self, serve, kind=zmq.DEALER, keys=None):
        self.serve, self.socket = serve, keyed(context.socket(kind), keys)
        self.socket.sndhwm = self.socket.rcvhwm = 0
        self.socket.connect(serve.places["router"])

    def send(self, *frames):
        self.socket.send_multipart([f if isinstance(f, bytes) else text(f) for f in frames])

    def answer(self):
        kind, *rest = receive(self.socket, self.serve)
        return kind.decode(), [json.loads(line) for line in b"".join(rest).splitlines()]

    def push(self, envelope, payload=None):
        self.send("push/1", envelope, *([] if payload is None else [payload]))
        kind, (status,) = self.answer()
        assert kind == "ack/1", kind
        return status

    def batch(self, envelopes):
        self.send("push-batch/1", b"\n".join(map(text, envelopes)))
        kind, statuses = self.answer()
        assert kind == "ack-batch/1", kind
        return statuses

    def close(self):
        self.socket.close()


def text(value):
    return (value if isinstance(value, str) else json.dumps(value)).encode()


class Monitor:
    """A subscriber of events. With `since` it first requests earlier events by replay. PUB drops messages for a
    subscriber that is slow, as on a loaded machine: it records such gaps, and fills them at the next heartbeat."""

    def __init__(self, serve, prefix="", keys=None, since=None):
        self.serve, self.prefix, self.keys = serve, prefix, keys
        self.socket = keyed(context.socket(zmq.SUB), keys)
        self.socket.rcvhwm = 0
        self.socket.connect(serve.places["publish"])
        self.socket.subscribe(prefix)
        self.socket.subscribe("heartbeat")
        self.events, self.kinds, self.seen = [], {}, set()
        self.heads, self.gaps, self.filled, self.heartbeat = {}, [], 0, None
        witnesses.append(self.tell)
        # All events after this number are wanted. Without `since`, these are the ones after the first heartbeat. Numbers of
        # a cluster belong to parts: there it stays None, and no gap is filled.
        self.base = since
        self.wait_for_heartbeat()  # the subscription is active from now on
        if since is None:
            self.base = self.heartbeat.get("seq")
        else:
            self.replay()

    def add(self, event):
        if event["seq"] not in self.seen:
            self.seen.add(event["seq"])
            self.events.append(event)
            self.kinds.setdefault(f"{event['family']}/{event['kind']}", []).append(event)

    def tell(self):
        return f"a monitor of '{self.prefix}' has {len(self.events)} events, the last of them: {self.events[-10:]}"

    def step(self):
        topic, lines = receive(self.socket, self.serve)
        topic = topic.decode()
        if topic == "heartbeat":
            self.heartbeat = json.loads(lines)
            if self.base is not None and self.misses_some():
                self.filled = len(self.gaps)
                self.replay()
            return
        for event in map(json.loads, lines.splitlines()):
            assert topic == f"{event['family']}/{event['app']}/{event['kind']}", (topic, event)
            if event["seq"] > self.heads.get(topic, 0):  # otherwise a replay was faster
                if self.heads.get(topic, event["prev"]) != event["prev"]:
                    self.gaps.append((topic, self.heads[topic], event["prev"]))
                self.heads[topic] = event["seq"]
            self.add(event)

    def misses_some(self):
        """Whether an event did not come between two others, or a heartbeat names one that has not come."""
        newest = self.heartbeat.get("topics", {}).items()
        return len(self.gaps) > self.filled or any(
            seq > max(self.base, self.heads.get(topic, 0)) for topic, seq in newest if topic.startswith(self.prefix))

    def replay(self):
        for event in replay(self.serve, since=self.base, prefix=self.prefix, keys=self.keys)[0]:
            self.add(event)
            topic = f"{event['family']}/{event['app']}/{event['kind']}"
            self.heads[topic] = max(event["seq"], self.heads.get(topic, 0))
        for events in (self.events, *self.kinds.values()):
            events.sort(key=lambda event: event["seq"])

    def wait_for_heartbeat(self):
        self.heartbeat = None
        while self.heartbeat is None:
            self.step()
        return self.heartbeat

    def until(self, condition):
        while not condition():
            self.step()

    def of(self, kind, message=None):
        """Returns the events of a `family/kind` in their order."""
        return [e for e in self.kinds.get(kind, []) if message in (None, e.get("message_id"))]

    def wait(self, kind, message=None, count=1):
        self.until(lambda: len(self.of(kind, message)) >= count)
        return self.of(kind, message)

    def completed(self, *messages):
        """Waits until all messages are completed, and returns the counts of each one's last `message.completed`."""
        wanted = set(messages)
        self.until(lambda: wanted <= {e["message_id"] for e in self.of("message/completed")})
        return {e["message_id"]: e["counts"] for e in self.of("message/completed")}

    def close(self):
        self.socket.close()


def ask_replay(serve, request, keys=None):
    with keyed(context.socket(zmq.DEALER), keys) as socket:
        socket.connect(serve.places["replay"])
        socket.send_multipart([b"replay/1", text(request)])
        events = []
        while True:
            kind, *rest = receive(socket, serve)
            if kind != b"event/1":
                return kind.decode(), events, json.loads(rest[0])
            topic, lines = rest
            for event in map(json.loads, lines.splitlines()):
                assert topic.decode() == f"{event['family']}/{event['app']}/{event['kind']}"
                events.append(event)


def replay(serve, since=0, prefix="", limit=10000, keys=None):
    """Returns all events after a sequence number, with as many requests as needed, and the end of the last response."""
    events = []
    while True:
        kind, some, end = ask_replay(serve, {"since": since, "prefix": prefix, "limit": limit}, keys)
        assert kind == "replay-end/1", (kind, end)
        events += some
        if end["next"] == since or not some:
            return events, end
        since = end["next"]


def token(number, start="a0"):
    return start + f"{number:0{64 - len(start)}x}"


def apns_id(app, message, device):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"carillon:/{app}/{message}/{device.lower()}"))


def note(name, *tokens, app="shop", **more):
    """Returns an envelope."""
    return {"id": name, "app": app, "to": {"tokens": list(tokens)}, "alert": "Hello", **more}


def push_before_expiry(producer, seconds, name, *tokens, **more):
    """Pushes a message that expires after a few seconds, again while it has expired before it is accepted. Returns its
    envelope."""
    while True:
        envelope = note(name, *tokens, expires_at=int(time.time()) + seconds, **more)
        status = producer.push(envelope)
        if status["status"] == "accepted":
            return envelope
        assert status["reason"] == "expired", status


def pick(statuses, name):
    return [s.get(name) for s in statuses]


def all_delivered(scene, serve, names, exactly_once=True):
    """Checks that each message was sent, and that no device got one twice."""
    monitor = Monitor(serve, since=0)
    done = monitor.completed(*names)
    assert all(e["sent"] == 1 for e in done.values()), [e for e in done.values() if e["sent"] != 1][:3]
    taken = scene.simulator.accepted()
    if exactly_once:
        assert len(taken) == len(set(taken)), f"{len(taken) - len(set(taken))} got it twice"
    return monitor, taken


def clean():
    """Ends all that belongs to the scene, and removes its directories."""
    for child in children:
        if child.process.poll() is None:
            child.process.kill()
            child.process.wait()
    for ending in endings:
        ending()
    for directory in directories:
        directory.cleanup()


def last_words():
    """Prints what the children have printed last, and what the witnesses know, and ends all."""
    try:
        for witness in witnesses:
            print(witness(), file=sys.stderr)
        for child in children:
            # Of those that have ended, the latest ones are enough.
            if not child.ended or child in children[-10:]:
                print(" ".join(map(str, child.words)), *child.lines[-30:], sep="\n    ", file=sys.stderr)
    finally:
        # What fails from now on, fails because its peers are killed.
        ran_out.set()
        threading.excepthook = lambda _: None
        clean()


def main(scenes):
    patience.watch(last_words)
    code = 1
    try:
        scenes[sys.argv[1]]()
        code = 0
    except BaseException:
        if not ran_out.is_set():
            traceback.print_exc()
    finally:
        if ran_out.is_set():
            threading.Event().wait()  # the watch ends this process
        try:
            clean()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # does not wait for sockets that are half open
