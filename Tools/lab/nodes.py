"""Processes of a demonstration: for Tools/cluster."""

import json
import os
import pathlib
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

from lab import patience
from lab.postgresql import DATABASE, Broken, free_port

APP, TOPIC = "shop", "com.example.shop"
# The stream limit of the simulated Apple, and the connections of a node.
STREAMS, CONNECTIONS = 20, 1
BEGAN = time.monotonic()


def say(text):
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


def until(what, look):
    """Returns what `look` finds, as soon as it finds something."""
    try:
        return patience.find(what, look)
    except patience.RanOut as fault:
        raise Broken(str(fault)) from None


def now():
    """Returns the time in milliseconds, as the records of the simulated Apple have it."""
    return time.time_ns() / 1e6


class Child:
    """A process whose output is read line by line. It ends with this process, even if this one is killed."""

    def __init__(self, log, *words, environment=None):
        self.log, self.isBelow = open(log, "ab"), False
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=self.log, text=True, env=environment, start_new_session=True)

    def first(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                threading.Thread(target=self.drain, daemon=True).start()
                return json.loads(line)
        raise Broken(f"{self.process.args[3:5]} did not start: see {self.log.name}")

    def drain(self):
        for _ in self.process.stdout:
            pass

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        # A program that has started the node waits for it.
        pid = self.process.pid
        try:
            below = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            os.kill(int(below[0]) if self.isBelow and below else pid, signal.SIGTERM)
        except (OSError, ProcessLookupError):
            pass
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.kill()
            return -9


class Node(Child):
    """A node. Its connections to the servers of PostgreSQL, and those of other nodes to it, can be cut.

    The topic of its app names it, so that the records of the simulated Apple show which node has sent what."""

    def __init__(self, lab, name):
        self.lab, self.name = lab, name
        self.topic = f"{TOPIC}.{name}"
        self.file = lab.directory / f"{name}.json5"
        names = ["router", "pull", "publish", "replay", "http", "peers"]
        ports = {kind: free_port() for kind in names}
        at = {kind: f"tcp://127.0.0.1:{port}" for kind, port in ports.items()}
        self.router, self.publish, self.replay = at["router"], at["publish"], at["replay"]
        self.http = f"http://127.0.0.1:{ports['http']}"
        hosts = ",".join(
            f"127.0.0.1:{lab.wires.add(self.database, server.port, free_port())}" for server in lab.servers)
        peers = lab.wires.add(self.peers, ports["peers"], free_port())
        self.file.write_text(json.dumps({
            "data": str(lab.directory / f"data-{name}"),
            "store": f"postgres://carillon@{hosts}/{DATABASE}",
            "cluster": {
                "node": name, "listen": at["peers"], "advertise": f"tcp://127.0.0.1:{peers}",
                "lease": f"{lab.options.lease}s"},
            "intake": {"router": at["router"], "pull": at["pull"]},
            "events": {"publish": at["publish"], "replay": at["replay"]},
            "http": {"listen": f"127.0.0.1:{ports['http']}"},
            "apps": {APP: {
                "topic": self.topic, "environment": "production",
                "credential": {"key": lab.apple["key"], "key_id": lab.apple["key_id"],
                               "team_id": lab.apple["team_id"]},
                "gateway": {"connections": {"min": CONNECTIONS, "max": CONNECTIONS}, "connects_per_minute": 600},
                "endpoint": {"host": "127.0.0.1", "port": int(lab.apple["provider"]), "trust": lab.apple["ca"]}}}},
            indent=2))
        self.start()

    @property
    def database(self):
        """The name of its wires to the database."""
        return f"{self.name} to the database"

    @property
    def peers(self):
        """The name of the wire of the other nodes to it."""
        return f"others to {self.name}"

    def start(self, *before):
        """Starts the node, perhaps below another program."""
        super().__init__(self.lab.directory / f"{self.name}.log", *before, self.lab.binary, "serve", "--config",
                         self.file, "--json", environment=self.lab.environment)
        self.isBelow = bool(before)
        self.first()

    def ready(self):
        """Returns why the node cannot send now; an empty string if it can."""
        try:
            with urllib.request.urlopen(self.http + "/readyz", timeout=5) as answer:
                answer.read()
                return ""
        except urllib.error.HTTPError as error:
            text = error.read().decode()
            try:
                return json.loads(text).get("reason") or text
            except ValueError:
                return text
        except OSError as error:
            return f"no answer: {error}"

    def await_ready(self):
        until(f"node {self.name} is ready", lambda: self.ready() == "")

    def lines(self, since=0):
        """Returns the lines of its log after a number of bytes."""
        self.log.flush()
        with open(self.log.name, "rb") as file:
            file.seek(since)
            return file.read().decode(errors="replace").splitlines()

    def logged(self):
        """Returns the size of its log."""
        return os.path.getsize(self.log.name)

    def await_line(self, text, since=0):
        """Returns the first line of its log after `since` that contains a text."""
        return until(f"the log of node {self.name} has: {text}",
                     lambda: next((line for line in self.lines(since) if text in line), None))

    def metric(self, name):
        with urllib.request.urlopen(self.http + "/metrics", timeout=10) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith(name + " "):
                    return float(line.split()[1])
        raise Broken(f"node {self.name} has no metric {name}")
