"""Clients that send without an end, or ask without reading: what they can hold is bounded, and others are served."""
import json, select
from harness import http, main, note, Scene, token
from http_connection_limits import MEMORY, serves
from raw_http import make_key, Wire
from raw_zmtp import until_read


def endless_bodies():
    """Bodies and heads without an end are cut off at their limit, whatever their form."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "orders", "push")
    before = serve.resident
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    lines = [("Content-Type", "application/x-ndjson"), *key.bearer]
    chunked = ("Transfer-Encoding", "chunked")
    for name, fields, part, status, most in (
            ("one message", [chunked, *key.bearer], chunk, 413, 1 << 20),
            ("nobody's lines", [chunked, lines[0]], chunk, 413, 1 << 20),
            ("lines of a key with a wrong secret", [chunked, lines[0], (
                "Authorization", f"Bearer {key.id}.{'A' * 43}")], chunk, 413, 1 << 20),
            ("lines", [chunked, *lines], chunk, 413, 32 << 20),
            ("chunks of a byte", [chunked, *key.bearer], b"1\r\nx\r\n" * 8192, 413, 1 << 20),
            ("extensions", [chunked, *key.bearer], (b"1;" + b"e" * 250 + b"\r\nx\r\n") * 64, 400, 1 << 20),
            ("trailers", [chunked, *key.bearer], b"0\r\n" + b"X: y\r\n" * 100, 431, 0),
            ("fields", [], b"", 431, 0)):
        with Wire(serve) as wire:
            head = wire.head("POST", "/v1/messages", fields)
            wire.send(head if part else head[:-2])
            part = part or b"X: " + b"y" * 1000 + b"\r\n"
            while not select.select([wire], [], [], 0)[0] and wire.send(part):
                part = part.removeprefix(b"0\r\n")
            answer = wire.answer()
            assert answer.status == status and answer.fields["connection"] == "close", (name, answer)
            assert wire.has_ended() == b"", name
    serves(serve, key, "after")
    grown = serve.resident - before
    assert grown < MEMORY * (100 << 20), grown
    serve.stop()


def unfinished_bodies():
    """Large bodies that never end, of keys and of strangers, fill the room for bodies; small ones get through."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "orders", "push")
    before = serve.resident
    hoarders = []
    block = b"\n" * (1 << 20)
    # All but a few bytes of the room: 8 times 32 MiB, each without its last byte.
    for _ in range(8):
        wire = Wire(serve)
        fields = [("Content-Type", "application/x-ndjson"), ("Content-Length", str(32 << 20)), *key.bearer]
        wire.send(wire.head("POST", "/v1/messages", fields))
        for _ in range(31):
            wire.send(block)
        wire.send(block[1:])
        hoarders.append(wire)
    for wire in hoarders:
        until_read(serve, "http", wire.socket)
    peak = serve.resident - before
    # Honest ones send their bodies in parts.
    for number in range(20):
        with Wire(serve) as wire:
            data = wire.request("POST", "/v1/messages", json.dumps(note(f"small-{number}", token(1))), key=key)
            wire.send(data[:-20])
            # The first part is in the server's hands when a later request is answered.
            assert http(serve.places["http"] + "/healthz")[0] == 200
            wire.send(data[-20:])
            answer = wire.answer()
            assert answer is not None and answer.status == 202, (number, answer)
    assert peak < MEMORY * (400 << 20), peak
    for wire in hoarders:
        wire.reset()
    serves(serve, key, "after")
    serve.stop()


def unread_answers():
    """Clients that ask and do not read: of many small answers, of large ones, and of an event stream."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "all", "push", "observe", "operate")
    with Wire(serve, "control") as wire:
        batch = {"devices": [
            {"app": "shop", "token": token(n), "user": f"u{n}", "tags": ["x" * 60]} for n in range(1000)]}
        assert wire.ask("POST", "/v1/devices", json.dumps(batch)).status == 200
    before = serve.resident
    crowd = []

    def ask(count, *request, **more):
        wire = Wire(serve, buffer=4096)
        one = wire.request(*request, key=key, **more)
        wire.socket.setblocking(False)
        crowd.append(wire)
        try:
            wire.socket.send(one * count)
        except BlockingIOError:
            pass

    for _ in range(4):
        ask(1000, "GET", "/healthz")
        ask(200, "GET", "/openapi.json")
        ask(200, "GET", "/v1/export/devices?limit=1000")
        ask(200, "GET", "/metrics")
        ask(1, "GET", "/v1/events?since=0&limit=10000")
        ask(1, "GET", "/v1/events?since=0", fields=[("Accept", "text/event-stream")])
        ask(20, "POST", "/v1/messages", b"{}\n" * 1000, fields=[("Content-Type", "application/x-ndjson")])
    for number in range(5):
        serves(serve, key, f"deaf-{number}")
    grown = serve.resident - before
    assert grown < MEMORY * (160 << 20), grown
    # One that reads at last gets all of it, in order.
    reader = Wire(serve)
    reader.send(reader.request("GET", "/openapi.json", key=key) * 20)
    sizes = {len(reader.answer().body) for _ in range(20)}
    assert len(sizes) == 1, sizes
    for wire in crowd:
        wire.reset()
    serves(serve, key, "after")
    serve.stop()


if __name__ == "__main__":
    main(globals())
