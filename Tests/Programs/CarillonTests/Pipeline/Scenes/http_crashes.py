"""Kills, stops, full disks and missing descriptors while HTTP producers push: what was answered with 202 is carried
out, each device once except for what was in flight, and a producer that repeats unanswered requests loses nothing."""
import json, random, signal, subprocess, threading, time
from harness import apns_id, main, Monitor, note, pace, Scene, token, until
from raw_http import make_key, Wire

LINES = [("Content-Type", "application/x-ndjson")]
PUSH = "POST", "/v1/messages"
PRODUCERS = 8
STREAMS = 50


class Producer(threading.Thread):
    """Pushes messages one after another, or as lines, signed or with a bearer secret. It repeats what got no answer,
    with the same id, until it has one. `place` has the program as it is now."""

    def __init__(self, place, number, size=0, repeats=True):
        super().__init__(daemon=True)
        self.place, self.number, self.size, self.repeats = place, number, size, repeats
        self.many, self.by = number % 2 == 1, "signature" if number % 4 >= 2 else "bearer"
        self.acked, self.sent, self.refused, self.stop, self.fault = [], 0, [], False, None
        self.wire, self.waits = None, set()

    def run(self):
        try:
            while not self.stop:
                self.deliver()
        except BaseException as error:
            self.fault = error
            raise

    def name(self, number):
        return f"p{self.number}-{number}"

    def deliver(self):
        names = [self.name(self.sent + n) for n in range(20 if self.many else 1)]
        more = {"custom": {"x": "y" * self.size}} if self.size else {}
        notes = [note(name, self.token(name), **more) for name in names]
        self.sent += len(names)
        body, fields = "\n".join(map(json.dumps, notes)), LINES if self.many else []
        while names and not (self.stop and self.waits):
            answer = self.ask(body, fields)
            if answer is None or answer.status in (503, 401):
                if answer is not None and answer.status == 503:
                    assert int(answer.fields["retry-after"]) >= 1, answer
                    self.refused += names
                elif answer is not None:
                    # What was signed before the second of the start is refused.
                    assert answer.code == "clock_skew", answer
                self.waits.add(answer and answer.status)
                if not self.repeats:
                    self.stop = True
                    return
                pace(0.02)
                continue
            acks = [json.loads(line) for line in answer.body.splitlines()]
            assert answer.status == (200 if self.many or acks[0]["status"] == "duplicate" else 202), answer
            assert [ack["id"] for ack in acks] == names, acks
            assert {ack["status"] for ack in acks} <= {"accepted", "duplicate", "busy"}, acks
            busy = [ack["id"] for ack in acks if ack["status"] == "busy"]
            self.acked += [name for name in names if name not in busy]
            self.refused += busy
            self.waits = {"busy"} if busy else set()
            if busy and not self.repeats:
                self.stop = True
                return
            names = busy
            body = "\n".join(json.dumps(one) for one in notes if one["id"] in busy)

    def ask(self, body, fields):
        """Returns the answer, or None if there is none."""
        try:
            if self.wire is None:
                self.wire = Wire(self.place["serve"])
            answer = self.wire.ask(*PUSH, body, key=self.place["key"], by=self.by, fields=fields)
            if answer is None or answer.fields.get("connection") == "close":
                self.wire = None
            return answer
        except (OSError, AssertionError):
            # The connection was refused, or has ended within the request or its answer.
            self.wire = None
            return None

    def token(self, name):
        producer, number = name[1:].split("-")
        return token(int(producer) * 1_000_000 + int(number))


def begin(serve, **more):
    place = {"serve": serve, "key": make_key(serve, "orders", "push")}
    producers = [Producer(place, number, **more) for number in range(PRODUCERS)]
    for producer in producers:
        producer.start()
    return place, producers


def acked(producers):
    return sum(len(p.acked) for p in producers)


def wait_for(producers, condition):
    while not condition():
        assert not any(p.fault for p in producers), [p.fault for p in producers]
        pace(0.002)


def end(producers):
    for producer in producers:
        producer.stop = True
    for producer in producers:
        producer.join()
        assert producer.fault is None, producer.fault
    return [name for producer in producers for name in producer.acked]


def carried_out(scene, serve, names, doubles=0):
    """Checks that every acknowledged message was sent, and how many deliveries were sent twice."""
    assert names and len(names) == len(set(names)), "acknowledged twice"
    monitor = Monitor(serve, "message/", since=0)
    done = monitor.completed(*names)
    assert all(done[name]["sent"] == 1 and sum(done[name].values()) == 1 for name in names)
    accepted = [e["message_id"] for e in monitor.of("message/accepted")]
    assert len(accepted) == len(set(accepted)), "an id was accepted twice"
    taken = scene.simulator.received()
    twice = len(taken) - len({r["token"] for r in taken})
    assert twice <= doubles, (twice, doubles, len(taken))
    ids = {r["token"]: r["id"].lower() for r in taken}
    assert all(ids[Producer.token(None, n)] == apns_id("shop", n, Producer.token(None, n)) for n in names)
    print(f"{len(names)} acknowledged, {len(taken)} received, {twice} twice")
    monitor.close()
    return set(accepted)


def kills():
    """SIGKILL at random moments, five times, while eight producers push."""
    chance, kills = random.Random(42), 5
    scene = Scene("--streams", str(STREAMS))
    scene.apps["shop"]["gateway"]["connections"] = {"min": 1, "max": 1}
    serve = scene.serve()
    place, producers = begin(serve)
    for _ in range(kills):
        goal = acked(producers) + chance.randrange(1, 400)
        wait_for(producers, lambda: acked(producers) >= goal)
        serve.kill()
        place["serve"] = serve = scene.serve()
    goal = acked(producers) + 100
    wait_for(producers, lambda: acked(producers) >= goal)
    # In flight are at most the streams of the connection, and two groups whose outcomes were not synced yet.
    carried_out(scene, serve, end(producers), doubles=kills * (STREAMS + 2 * 256))
    serve.stop()


def drain():
    """SIGTERM while eight producers push: 202 before the end, or no answer, or 503; nothing acknowledged is lost."""
    scene = Scene()
    everything = []
    for life in range(3):
        serve = scene.serve()
        if life == 0:
            key = make_key(serve, "orders", "push")
        place = {"serve": serve, "key": key}
        producers = [Producer(place, number + 10 * life, repeats=False) for number in range(PRODUCERS)]
        second = int(time.time())
        until(lambda: int(time.time()) > second)  # signatures of the second of the start are refused
        for producer in producers:
            producer.start()
        wait_for(producers, lambda: acked(producers) >= 150)
        serve.signal(signal.SIGTERM)
        assert serve.end() == 0, serve.lines[-10:]
        wait_for(producers, lambda: all(p.stop for p in producers))
        everything += end(producers)
        assert all(p.waits <= {None, 503, "busy"} for p in producers), [p.waits for p in producers]
    serve = scene.serve()
    carried_out(scene, serve, everything)
    serve.stop()


def full_disk():
    """While files cannot grow: 503 with Retry-After, and whatever was answered with 202 survives a kill."""
    scene = Scene()
    serve = scene.serve(wrap=("prlimit", "--fsize=2000000:"))
    operator = make_key(serve, "operator", "register", "operate", "admin", "observe")
    place, producers = begin(serve, size=2000)
    wait_for(producers, lambda: all(p.refused for p in producers))
    serve.line("the ledger cannot write")
    subprocess.run(["prlimit", "--pid", str(serve.process.pid), "--fsize=0:"], check=True)
    with Wire(serve) as wire:
        for method, target, body in (
                ("POST", "/v1/apps/shop/devices", {"token": token(7, "b0")}),
                ("POST", "/v1/keys", {"name": "late", "roles": ["push"]})):
            answer = wire.ask(method, target, json.dumps(body), key=operator)
            assert answer.status == 503 and int(answer.fields["retry-after"]) >= 1, (target, answer)
            assert answer.code == "unavailable", answer
        # Reading goes on.
        for target in ("/v1/stats", "/v1/devices", "/v1/messages", "/v1/gateways", "/metrics", "/v1/keys"):
            assert wire.ask("GET", target, key=operator).status == 200, target
    # It could write for a moment, until a producer asked it to write more.
    serve.become_ready("ledger.db")
    serve.kill()
    for producer in producers:
        producer.repeats = False
    before = end(producers)
    place["serve"] = serve = scene.serve()
    accepted = carried_out(scene, serve, before, doubles=10_000)
    with Wire(serve) as wire:
        assert wire.ask("GET", "/v1/devices", key=operator).json["devices"] == []
        assert [k["name"] for k in wire.ask("GET", "/v1/keys", key=operator).json["keys"]] == ["operator", "orders"]
    # Those without an answer may be there; those that were refused and not repeated with success are not.
    unanswered = {p.name(p.sent - n - 1) for p in producers for n in range(20 if p.many else 1)}
    assert accepted <= set(before) | unanswered, accepted - set(before) - unanswered
    serve.stop()


def open_files():
    """More clients than descriptors: each gets its answer or none, and what was acknowledged is carried out."""
    scene = Scene()
    serve = scene.serve(wrap=("prlimit", "--nofile=128:128"))
    place, producers = begin(serve)
    crowd = [Wire(serve) for _ in range(200)]
    for wire in crowd:
        wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /hea")
    goal = acked(producers) + 300
    wait_for(producers, lambda: acked(producers) >= goal)
    with Wire(serve, "control") as wire:
        assert wire.ask("GET", "/v1/stats").status == 200
    for wire in crowd:
        wire.close()
    names = end(producers)
    carried_out(scene, serve, names)
    serve.stop()


def registrations():
    """Kills while devices register: each device whose registration was answered is there, once, with its user."""
    chance = random.Random(9)
    scene = Scene()
    serve = scene.serve()
    place = {"serve": serve, "key": make_key(serve, "all", "register", "operate")}
    known, stop, faults = [[] for _ in range(4)], threading.Event(), []

    def register(own, number):
        wire, at = None, 0
        try:
            while not stop.is_set():
                device = {"token": token(number * 1_000_000 + at), "user": f"u{number}-{at}"}
                try:
                    wire = wire or Wire(place["serve"])
                    answer = wire.ask("POST", "/v1/apps/shop/devices", json.dumps(device), key=place["key"])
                except (OSError, AssertionError):
                    answer = None
                if answer is None:
                    wire = None
                    pace(0.02)
                    continue
                # A repetition of a request that was not answered is known.
                assert answer.status in (200, 201), answer
                own.append((answer.json["device"], device["user"]))
                at += 1
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=register, args=(own, n), daemon=True) for n, own in enumerate(known)]
    for thread in threads:
        thread.start()

    def reach(goal):
        while sum(map(len, known)) < goal:
            assert not faults, faults
            pace(0.002)

    for _ in range(4):
        reach(sum(map(len, known)) + chance.randrange(1, 150))
        serve.kill()
        place["serve"] = serve = scene.serve()
    reach(sum(map(len, known)) + 50)
    stop.set()
    for thread in threads:
        thread.join()
    assert not faults, faults
    found, after = {}, ""
    with Wire(serve) as wire:
        while after is not None:
            page = wire.ask("GET", f"/v1/devices?app=shop&limit=500{after}", key=place["key"]).json
            for device in page["devices"]:
                assert device["device"] not in found, device
                found[device["device"]] = device["user"]
            after = page["next"] and f"&after={page['next']}"
    missing = [one for own in known for one in own if found.get(one[0]) != one[1]]
    assert not missing, missing[:3]
    assert len(found) <= sum(map(len, known)) + 4, "more than the unanswered ones"
    serve.stop()


def busy_stop():
    """SIGTERM with streams, long polls, half requests, deaf readers and floods on their connections: it ends in time,
    and each of them sees the end."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "all", "push", "observe", "operate")
    watch = [("Accept", "text/event-stream")]
    wires = []

    def open_one(data):
        wire = Wire(serve, buffer=4096)
        wire.socket.setblocking(False)
        try:
            wire.socket.send(data(wire))
        except BlockingIOError:
            pass
        wires.append(wire)

    for _ in range(6):
        open_one(lambda w: w.request("GET", "/v1/events?since=0", key=key, fields=watch))
        open_one(lambda w: w.request("GET", "/v1/events?since=9000000&wait=60", key=key))
        open_one(lambda w: w.request(*PUSH, json.dumps(note("half", token(1))), key=key)[:-10])
        open_one(lambda w: w.request(*PUSH, "x", key=key)[:20])
        open_one(lambda w: w.request("GET", "/metrics") * 200)
        open_one(lambda w: b"")
    with Wire(serve) as wire:
        assert wire.ask(*PUSH, json.dumps(note("last", token(2))), key=key).status == 202
    serve.signal(signal.SIGTERM)
    assert serve.end() == 0, serve.lines[-5:]
    for wire in wires:
        wire.socket.setblocking(True)
        wire.has_ended()
    serve = scene.serve()
    assert carried_out_alone(scene, serve, "last")
    serve.stop()


def carried_out_alone(scene, serve, name):
    monitor = Monitor(serve, "message/", since=0)
    return monitor.completed(name)[name]["sent"] == 1 and {e["message_id"] for e in monitor.of("message/accepted")} == {
        name}


if __name__ == "__main__":
    main(globals())
