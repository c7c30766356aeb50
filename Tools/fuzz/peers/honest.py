"""Honest peers, which follow the protocol beside the hostile ones and record what was acknowledged.

The module `harness` is the one that the scenes of the tests use."""
import collections, json, threading, time, urllib.request
import zmq
from harness import keyed, patience, replay, text


class Peer(threading.Thread):
    """A thread that ends when it is asked to and its work is done. Errors are in `faults`."""

    def __init__(self, name):
        super().__init__(name=name, daemon=True)
        self.stopping, self.faults = threading.Event(), []

    def run(self):
        try:
            self.work()
        except BaseException as error:
            self.faults.append(f"{self.name}: {error!r}")

    def finish(self):
        self.stopping.set()
        try:
            patience.find(f"{self.name} ends", lambda: not self.is_alive())
        except patience.RanOut as fault:
            self.faults.append(str(fault))


class Sender(Peer):
    """A backend: it sends each message with the same id until an answer confirms that it is on disk.

    With `routing_id` it uses this id for all its connections. After `rolls` messages it closes its connection with
    unread acknowledgments, like a backend that is restarted."""

    ANSWER_WITHIN = 5

    def __init__(self, serve, name, number, keys=None, kind=zmq.DEALER, batch=0, window=20, routing_id=None, rolls=0):
        super().__init__(name)
        self.serve, self.number, self.keys, self.kind, self.batch = serve, number, keys, kind, batch
        self.window, self.routing_id, self.rolls = window, routing_id, rolls
        self.sent = 0
        self.open = {}  # the messages without an answer, by id
        self.acknowledged = {}  # the token of each acknowledged message, by id
        self.connects = self.busy = 0

    def token(self, number):
        return f"{self.number:02x}{number:062x}"

    def connect(self):
        self.socket = keyed(zmq.Context.instance().socket(self.kind), self.keys)
        if self.routing_id:
            self.socket.routing_id = self.routing_id
        self.socket.connect(self.serve.places["router"])
        self.connects += 1

    def work(self):
        self.connect()
        while self.open or not self.stopping.is_set():
            # A REQ socket has one request at a time.
            waits = self.stopping.is_set() or (self.kind == zmq.REQ and self.open)
            self.send([] if waits else self.make(max(self.batch, 1)))
            if self.kind == zmq.REQ or len(self.open) >= self.window * max(self.batch, 1) or self.stopping.is_set():
                self.take()
            while self.socket.poll(5):  # this also limits the rate of an honest peer
                self.take()
            if self.rolls and self.sent and self.sent % self.rolls == 0 and not self.stopping.is_set():
                self.reconnect()
        self.socket.close()

    def reconnect(self):
        self.socket.close()
        self.connect()
        self.send(list(self.open.values()))

    def make(self, count):
        fresh = []
        for _ in range(count):
            self.sent += 1
            fresh.append({"id": f"{self.name}-{self.sent}", "app": "shop", "to": {"tokens": [self.token(self.sent)]}, "alert": "Hello"})
        self.open |= {envelope["id"]: envelope for envelope in fresh}
        return fresh

    def send(self, envelopes):
        if self.kind == zmq.REQ:
            for envelope in envelopes:
                self.socket.send_multipart([b"push/1", text(envelope)])
        elif self.batch:
            for at in range(0, len(envelopes), self.batch):
                self.socket.send_multipart([b"push-batch/1", b"\n".join(map(text, envelopes[at:at + self.batch]))])
        else:
            for envelope in envelopes:
                self.socket.send_multipart([b"push/1", text(envelope)])

    def take(self):
        """Reads an answer. After a timeout it sends everything again on a new connection."""
        if not self.socket.poll(self.ANSWER_WITHIN * 1000):
            return self.reconnect()
        kind, *rest = self.socket.recv_multipart()
        if not kind:
            return  # the answer is for a REQ socket that took the routing id
        again = []
        for status in map(json.loads, b"\n".join(rest).splitlines()):
            envelope = self.open.get(status.get("id"))
            if "id" in status and not envelope:
                continue  # an old answer, or an answer to a peer that took the routing id
            if status["status"] in ("accepted", "duplicate"):
                self.acknowledged[status["id"]] = self.open.pop(status["id"])["to"]["tokens"][0]
            elif status["status"] == "busy":
                self.busy += 1
                again += [envelope] if envelope else self.open.values()
                time.sleep(status["retry_after_ms"] / 1000)
            elif envelope:
                raise AssertionError(f"an honest message was rejected: {status}")
        self.send(again)


class Monitor(Peer):
    """A monitor that reads which messages were completed, and requests a replay of missed events."""

    PREFIX = "message/shop/completed"

    def __init__(self, serve, keys=None):
        super().__init__("monitor")
        self.serve, self.keys = serve, keys
        self.completed, self.last, self.gaps = collections.Counter(), 0, 0

    def connect(self):
        self.socket = keyed(zmq.Context.instance().socket(zmq.SUB), self.keys)
        self.socket.connect(self.serve.places["publish"])
        for prefix in (self.PREFIX, "heartbeat"):
            self.socket.subscribe(prefix)

    def work(self):
        self.connect()
        while not self.stopping.is_set():
            if not self.socket.poll(5000):  # a heartbeat comes every second
                self.socket.close()
                self.connect()
                continue
            topic, lines = self.socket.recv_multipart()
            if topic == b"heartbeat":
                if json.loads(lines)["topics"].get(self.PREFIX, 0) > self.last:
                    self.fill()
                continue
            for event in map(json.loads, lines.splitlines()):
                if event["seq"] > self.last and event["prev"] != self.last:
                    self.fill()
                self.take(event)
        self.fill()
        self.socket.close()

    def take(self, event):
        if event["seq"] <= self.last:
            return
        self.last = event["seq"]
        self.completed[event["message_id"]] += 1
        if event["counts"].get("sent") != 1:
            raise AssertionError(f"an honest message was not sent: {event}")

    def fill(self):
        self.gaps += 1
        for event in replay(self.serve, since=self.last, prefix=self.PREFIX, keys=self.keys)[0]:
            self.take(event)


class Auditor(Peer):
    """Reads the records of the simulator: how often it accepted a notification for each token of the honest peers."""

    def __init__(self, simulator):
        super().__init__("auditor")
        self.simulator, self.since, self.taken = simulator, 0, collections.Counter()

    def work(self):
        while not self.stopping.wait(1):
            self.read()
        self.read()

    def read(self):
        while True:
            records = [json.loads(line) for line in self.simulator.ask(
                f"/received?topic=com.example.shop&limit=100000&since={self.since}").splitlines()]
            for record in records:
                self.since = record["number"]
                if record["status"] == 200:
                    self.taken[record["token"]] += 1
            if not records:
                return


class Prober(Peer):
    """A health check, once a second."""

    def __init__(self, serve):
        super().__init__("prober")
        self.serve, self.answers, self.slowest = serve, 0, 0.0

    def work(self):
        while not self.stopping.wait(1):
            began = time.monotonic()
            with urllib.request.urlopen(self.serve.places["http"] + "/healthz") as answer:
                answer.read()
            self.answers += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
