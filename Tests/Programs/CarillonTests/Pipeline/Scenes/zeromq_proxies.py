"""Answers that find their way back: through proxies, and to sockets that number their requests."""
import json, threading, zmq
from harness import context, main, Monitor, note, Scene, text, token


class Proxy:
    """A `zmq_proxy` of a ROUTER and a DEALER in front of an endpoint of Carillon. It runs until the scene ends."""

    def __init__(self, behind):
        front, back = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        self.endpoint = f"tcp://127.0.0.1:{front.bind_to_random_port('tcp://127.0.0.1')}"
        back.connect(behind)
        threading.Thread(target=lambda: zmq.proxy(front, back), daemon=True).start()


class Client:
    def __init__(self, endpoint, kind=zmq.REQ, correlates=False, delimiter=False, name=None):
        self.socket = context.socket(kind)
        self.socket.linger = 0
        self.front = [b""] if delimiter else []
        if correlates:
            # A REQ that may ask again although it has no answer yet, and drops answers to what it asked before.
            self.socket.req_correlate = self.socket.req_relaxed = 1
        if name:
            self.socket.routing_id = name
        self.socket.connect(endpoint)

    def send(self, *frames):
        self.socket.send_multipart([*self.front, *(f if isinstance(f, bytes) else text(f) for f in frames)])

    def answer(self):
        frames = self.socket.recv_multipart()
        assert frames[:len(self.front)] == self.front, frames
        kind, *rest = frames[len(self.front):]
        return kind.decode(), [json.loads(line) for line in b"".join(rest).splitlines()]

    def ask(self, *frames):
        self.send(*frames)
        return self.answer()


def intake():
    """All requests of intake, from REQ sockets with and without numbers and from DEALERs, directly and through one and
    two proxies."""
    scene = Scene()
    serve = scene.serve()
    monitor = Monitor(serve, "message/")
    first = Proxy(serve.places["router"])
    second = Proxy(first.endpoint)
    names = []
    for place, endpoint in (("direct", serve.places["router"]), ("one", first.endpoint), ("two", second.endpoint)):
        for kind, client in (
                ("req", Client(endpoint)), ("correlated", Client(endpoint, correlates=True)),
                ("dealer", Client(endpoint, zmq.DEALER, delimiter=True)),
                ("named", Client(endpoint, zmq.DEALER, delimiter=True, name=b"n" * 200))):
            name = f"{place}-{kind}"
            envelope = note(name, token(len(names)))
            assert client.ask("push/1", envelope)[1][0]["status"] == "accepted"
            got, statuses = client.ask("push-batch/1", b"\n".join([text(envelope)] * 3))
            assert got == "ack-batch/1" and [s["status"] for s in statuses] == ["duplicate"] * 3, (got, statuses)
            got, ((status,)) = client.ask("push-batch/1", b"{}", b"{}")
            assert got == "ack-batch/1" and status["reason"] == "bad_frame", (got, status)
            got, ((status,)) = client.ask("cancel/1", {"id": "never", "app": "shop"})
            assert got == "ack/1" and status["reason"] == "unknown_message", (got, status)
            assert client.ask("push/3", "{}")[1][0]["reason"] == "bad_frame"
            names.append(name)
    monitor.completed(*names)
    assert sorted(scene.simulator.accepted()) == sorted(token(n) for n in range(len(names)))
    serve.stop()


def renewed_request():
    """A REQ with numbers asks again before its answer came: it gets the answer to its last request only."""
    scene = Scene()
    serve = scene.serve()
    client = Client(Proxy(serve.places["router"]).endpoint, correlates=True)
    for turn in range(200):
        client.send("push/1", note(f"first-{turn}", token(1)))
        _, (status,) = client.ask("push/1", note(f"second-{turn}", token(1)))
        assert status["id"] == f"second-{turn}", status
    serve.stop()


def replay():
    """Several monitors behind one proxy: each gets its own answer, at the same time as the others."""
    scene = Scene()
    serve = scene.serve()
    first = Client(serve.places["router"])
    names = [f"m-{n}" for n in range(300)]
    for start in range(0, len(names), 100):
        envelopes = [note(name, token(1)) for name in names[start:start + 100]]
        assert len(first.ask("push-batch/1", b"\n".join(map(text, envelopes)))[1]) == 100
    Monitor(serve, "message/", since=0).completed(*names)
    proxy = Proxy(serve.places["replay"])
    monitors = [Client(proxy.endpoint, zmq.DEALER, delimiter=True) for _ in range(4)]
    prefixes = ["message/shop/accepted", "message/shop/completed", "delivery/shop/sent", "message/"]
    for monitor, prefix in zip(monitors, prefixes):
        monitor.send("replay/1", {"since": 0, "prefix": prefix})
    for monitor, prefix in zip(monitors, prefixes):
        count = 0
        while True:
            empty, kind, *rest = monitor.socket.recv_multipart()
            assert empty == b""
            if kind != b"event/1":
                break
            assert rest[0].decode().startswith(prefix), (rest[0], prefix)
            count += len(rest[1].splitlines())
        assert kind == b"replay-end/1" and count == (600 if prefix == "message/" else 300), (kind, rest, prefix, count)
    # A REQ gets the only message of an error, also with numbers.
    for client in (Client(proxy.endpoint), Client(proxy.endpoint, correlates=True)):
        kind, (problem,) = client.ask("replay/1", {"since": "x"})
        assert kind == "replay-error/1" and problem["error"] == "bad_field", (kind, problem)
    serve.stop()


if __name__ == "__main__":
    main(globals())
