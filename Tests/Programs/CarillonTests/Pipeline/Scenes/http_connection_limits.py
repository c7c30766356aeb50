"""Clients that take and do not give: idle, slow, endless and deaf ones. What they can hold is bounded, and others are
served meanwhile, over HTTP, over the control socket and over ZeroMQ."""
import json, os, random, select, time
from harness import main, Monitor, note, pace, Producer, Scene, token, until
from raw_http import descriptors, make_key, Wire

# The connections that the program serves over HTTP with so many descriptors (`ConnectionLimits`).
DESCRIPTORS, CONNECTIONS = 640, 80
# The seconds in which a head must arrive (`HTTP1Limits`).
HEAD_TIME = 10
# The live streams of all clients but the control socket (`LongRequestQuota`).
STREAMS = 56
# A sanitizer delays the release of memory, and keeps shadow memory.
MEMORY = 10 if os.environ.get("CARILLON_SANITIZER") else 1


def limited(count):
    return "prlimit", f"--nofile={count}:{count}"


def serves(serve, key, name):
    """Checks that all doors answer: HTTP, the control socket and ZeroMQ."""
    with Wire(serve) as wire:
        answer = wire.ask("POST", "/v1/messages", json.dumps(note(f"{name}-http", token(1))), key=key)
        assert answer.status == 202, answer
    with Wire(serve, "control") as wire:
        assert wire.ask("GET", "/v1/stats").status == 200
    producer = Producer(serve)
    assert producer.push(note(f"{name}-zmq", token(2)))["status"] == "accepted"
    producer.close()


def idle_connections():
    """At the limit of connections, a new one replaces the one that has waited longest; all others go on."""
    scene = Scene()
    serve = scene.serve(wrap=limited(DESCRIPTORS))
    key = make_key(serve, "orders", "push", "observe")
    crowd = [Wire(serve) for _ in range(CONNECTIONS)]
    for wire in crowd:
        assert wire.ask("GET", "/healthz").status == 200
    for number in range(CONNECTIONS):
        crowd.append(Wire(serve))
        assert crowd[-1].ask("GET", "/healthz").status == 200
        assert crowd[number].has_ended() == b"", number
    serves(serve, key, "crowded")
    # The check above replaced one more connection; the others answer.
    for wire in crowd[CONNECTIONS + 1:]:
        assert wire.ask("GET", "/healthz").status == 200
    # Ones that never say anything, and incomplete requests, keep nobody out either.
    silent = [Wire(serve) for _ in range(CONNECTIONS * 3)]
    for wire in silent[::2]:
        wire.send(b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nhalf")
    serves(serve, key, "silent")
    for wire in crowd + silent:
        wire.close()
    serves(serve, key, "after")
    serve.stop()


def busy_connections():
    """If every connection is being answered, further ones get 503 and a time to come back, and are served later."""
    scene = Scene()
    serve = scene.serve(wrap=limited(160))
    keys = [make_key(serve, f"watcher{n}", "observe", "push") for n in range(2)]
    key, watch = keys[0], [("Accept", "text/event-stream")]
    streams = []
    while True:
        wire = Wire(serve)
        wire.send(wire.request("GET", "/v1/events", key=keys[len(streams) % 2], fields=watch))
        head = wire.until(b"\r\n\r\n")
        if b" 200 " not in head:
            break
        streams.append(wire)
        assert len(streams) < 100
    assert b" 503 " in head and b"Retry-After: " in head, head
    assert len(streams) == 20, len(streams)
    with Wire(serve) as late:
        answer = late.answer()  # without having asked
        assert answer.status == 503 and int(answer.fields["retry-after"]) >= 1, answer
    with Wire(serve, "control") as wire:
        assert wire.ask("POST", "/v1/messages", json.dumps(note("inside", token(1)))).status == 202
    # Every stream is live.
    for stream in streams:
        assert stream.until(b"message.accepted") is not None
    assert Producer(serve).push(note("zmq", token(1)))["status"] == "accepted"
    streams.pop().reset()
    while True:
        with Wire(serve) as wire:
            answer = wire.ask("POST", "/v1/messages", json.dumps(note("again", token(1))), key=key)
            if answer.status == 202:
                break
        assert answer.status == 503, answer
        pace()
    serve.stop()


def slow_requests():
    """Heads that come a byte at a time are ended after their time, and slow bodies keep nobody waiting."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "orders", "push")
    begun, at = time.monotonic(), 0  # timed: the server must wait for so long
    heads, bodies = [Wire(serve) for _ in range(40)], [Wire(serve) for _ in range(40)]
    slowly = json.dumps(note("slow", token(1), custom={"x": "y" * 900}))
    request = bodies[0].request("POST", "/v1/messages", slowly, key=key)
    for wire in bodies:
        wire.send(request[:-900])
    while heads:
        for wire in heads + bodies:
            wire.send(request[at % 200:at % 200 + 1] if wire in heads else b"y")
        at += 1
        ready = select.select(heads, [], [], 0.2)[0]  # a pace
        for wire in ready:
            answer = wire.answer()
            assert answer.status == 408 and answer.fields["connection"] == "close", answer
            heads.remove(wire)
            assert time.monotonic() - begun >= HEAD_TIME, "ended too early"  # timed: see above
        if at % 10 == 0:
            serves(serve, key, f"slow-{at}")
    for wire in bodies:
        wire.close()
    serve.stop()


def event_streams():
    """More event streams than are allowed; those that do not read lose nothing for the others."""
    scene = Scene()
    serve = scene.serve()
    # Each key and each address has a share.
    keys = [make_key(serve, f"watcher{n}", "observe", "push") for n in range(4)]
    key, watch = keys[0], [("Accept", "text/event-stream")]
    before, open_files = serve.resident, descriptors(serve)

    def stream(number):
        wire = Wire(serve, buffer=4096, source=f"127.0.0.{2 + number % 2}")
        wire.send(wire.request("GET", "/v1/events", key=keys[number // 2 % 4], fields=watch))
        return wire, wire.until(b"\r\n\r\n")

    wires = []
    for number in range(STREAMS):
        wire, head = stream(number)
        assert b" 200 " in head, head
        wires.append(wire)
    for number in range(10):
        wire, head = stream(number)
        assert b" 429 " in head and b"Retry-After: " in head, head
        wire.close()
    producer = Producer(serve)
    producer.batch([note(f"m-{n}", token(n), custom={"x": "y" * 100}) for n in range(400)])
    # The last stream gets every event in order; the others do not read.
    seen, last = set(), wires[-1]
    while len(seen) < 400:
        line = last.until(b"\n")
        assert line is not None, len(seen)
        if line.startswith(b"data:"):
            event = json.loads(line[5:])
            if event["kind"] == "sent":
                assert event["message_id"] not in seen, event
                seen.add(event["message_id"])
    assert serve.resident - before < MEMORY * (160 << 20), serve.resident - before
    # Half of them vanish without a word, the others close; there is room again at once for each that is gone.
    for number, wire in enumerate(wires):
        (wire.reset if number % 2 else wire.close)()
    for number in range(STREAMS):
        while True:
            wire, head = stream(number)
            if b" 200 " in head:
                wires.append(wire)
                break
            wire.close()
            pace()
    for wire in wires[STREAMS:]:
        wire.reset()
    serves(serve, key, "after")
    until(lambda: descriptors(serve) <= open_files + 8)
    serve.stop()


def connection_resets():
    """Connections that end in every state, by a reset or half: nothing leaks, and what was accepted is carried out."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "all", "push", "observe", "operate")
    monitor = Monitor(serve)
    chance = random.Random(5)
    serves(serve, key, "before")
    open_files = descriptors(serve)
    lines = [("Content-Type", "application/x-ndjson")]

    def request(wire, number):
        one = json.dumps(note(f"r{number}", token(1)))
        many = "\n".join(json.dumps(note(f"n{number}-{n}", token(n))) for n in range(50))
        return chance.choice((
            lambda: wire.request("GET", "/v1/export/devices", key=key),
            lambda: wire.request("GET", "/v1/events?since=0", key=key, fields=[("Accept", "text/event-stream")]),
            lambda: wire.request("POST", "/v1/messages", one, key=key, by="signature"),
            lambda: wire.request("POST", "/v1/messages", many, key=key, fields=lines),
            lambda: wire.request("POST", "/v1/apps/shop/devices", json.dumps({"token": token(number)}), key=key),
            lambda: wire.request("GET", "/healthz") * 50))()

    for number in range(300):
        wire = Wire(serve)
        data = request(wire, number)
        end = chance.choice((0, 1, chance.randrange(len(data)), len(data), len(data)))
        wire.send(data[:end])
        if chance.random() < 0.3:
            wire.socket.shutdown(1)
        if chance.random() < 0.3:
            wire.socket.setblocking(False)
            try:
                wire.socket.recv(100)
            except OSError:
                pass
        (wire.reset if chance.random() < 0.7 else wire.close)()
    serves(serve, key, "after")
    accepted = {e["message_id"] for e in monitor.wait("message/accepted", count=1)}
    monitor.until(lambda: {"after-http", "after-zmq"} <= {e["message_id"] for e in monitor.of("message/accepted")})
    accepted = {e["message_id"] for e in monitor.of("message/accepted")}
    monitor.completed(*accepted)
    ids = [e["message_id"] for e in monitor.of("message/completed")]
    # Requests of connections that were reset may be accepted meanwhile.
    assert accepted <= set(ids) and len(ids) == len(set(ids)), "each message is completed once"
    # A client that has only closed its sending side gets the answer to what it sent, if it is answered at once.
    with Wire(serve) as wire:
        wire.send(wire.request("GET", "/healthz"))
        wire.socket.shutdown(1)
        assert wire.answer().status == 200
    until(lambda: descriptors(serve) <= open_files + 2)
    serve.stop()


if __name__ == "__main__":
    main(globals())
