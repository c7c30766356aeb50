"""The clients of Tools/examples over HTTP, with the real program. `LANGUAGE` names one of them."""
import contextlib, json, os, signal, socket as sockets, subprocess, threading
from examples import TOOLS
from harness import Child, main, Monitor, Scene, take_port, token, until
from raw_http import make_key
from subscriber_example import Wire

# The time limit of a client that waits for as long as it takes, in seconds.
EVER = 1_000_000


class Client:
    """The client in the language of this scene, with a key of a running Carillon."""

    def __init__(self, serve, url=None):
        self.url, self.key = url or serve.places["http"], make_key(serve, "client", "push", "observe")
        if os.environ["LANGUAGE"] == "go":
            program = serve.scene.path("client")
            caches = {"GOCACHE": serve.scene.path("cache"), "GOPATH": serve.scene.path("modules"), "GO111MODULE": "off"}
            subprocess.run(
                ["go", "build", "-o", program, os.path.join(TOOLS, "client.go")], check=True, env={**os.environ, **caches})
            self.command = [program]
        else:
            self.command = ["node", os.path.join(TOOLS, "client.mjs")]

    def start(self, *words, patience=EVER, secret=None):
        # timed: the examples have a time limit
        return Child("env", f"PATIENCE={patience}", *self.command, self.url, self.key.id, secret or self.key.secret, *words)

    def push(self, message, code=0, **more):
        child = self.start("push", json.dumps(message), **more)
        ended = child.end()
        assert ended == code, (ended, child.lines)
        return json.loads(child.lines[-1]) if code in (0, 1) else child.lines[-1]


def hello(name=None, app="shop", to=1):
    message = {"app": app, "to": {"tokens": [token(to)]}, "alert": 'Grüße "\\ \t 🔔'}
    return {"id": name, **message} if name else message


def statuses():
    """Each answer has its exit code, and the text and the id arrive as they were given."""
    scene = Scene()
    serve = scene.serve()
    client = Client(serve)
    status = client.push(hello("größe-1"))
    assert status["status"] == "accepted" and status["id"] == "größe-1" and status["seq"] > 0, status
    assert Monitor(serve, "message/", since=0).completed("größe-1")["größe-1"]["sent"] == 1
    (record,) = scene.simulator.received("&payload=true")
    payload = record["payload"] if isinstance(record["payload"], dict) else json.loads(record["payload"])
    assert payload["aps"]["alert"] == hello()["alert"], record
    assert client.push(hello("größe-1"))["status"] == "duplicate"
    # Without an id, each call is a message of its own.
    assert len({client.push(hello(to=2))["id"] for _ in range(2)}) == 2
    assert client.push(hello("m", app="nowhere"), code=1)["reason"] == "unknown_app"
    assert client.push(hello("m"), code=1, secret=client.key.secret[::-1])["code"] == "unauthenticated"
    for words in ([], ["push"], ["pull", "{}"]):
        child = client.start(*words)
        assert child.end() == 64 and any("URL KEYID SECRET" in line for line in child.lines), child.lines
    refused = client.start("watch", scene.path("cursor"), secret=client.key.secret[::-1])
    assert refused.end() == 1 and any("unauthenticated" in line for line in refused.lines), refused.lines
    serve.stop()
    # Nobody listens any more: no answer, and the message is to be kept.
    assert "same id" in client.push(hello("late"), code=75, patience=1)  # timed: the example gives up after its time limit


class Deaf:
    """A proxy that loses the first answers of the server, and passes on those that follow. With the last one that it
    loses it is silent, and before that it closes the connection."""

    def __init__(self, address, lost):
        host, port = address.removeprefix("http://").split(":")
        self.target, self.lost, self.answers = (host, int(port)), lost, []
        self.listener = sockets.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, sockets.create_connection(self.target) as server, contextlib.suppress(OSError):
            threading.Thread(target=self.copy, args=(client, server), daemon=True).start()
            answer = b""
            while part := server.recv(65536):
                answer += part
                if not answer.rstrip().endswith(b"}"):
                    continue
                self.answers.append(answer)
                if len(self.answers) < self.lost:
                    return client.shutdown(sockets.SHUT_RDWR)
                if len(self.answers) > self.lost:
                    client.sendall(answer)
                answer = b""

    @staticmethod
    def copy(client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)


def lost_answers():
    """The answers to two requests are lost: the client signs it anew each time, and exactly one notification arrives."""
    scene = Scene()
    serve = scene.serve()
    proxy = Deaf(serve.places["http"], lost=2)
    client = Client(serve, proxy.url)
    status = client.push(hello("order-1"))
    assert status["status"] == "duplicate", status
    assert b'"accepted"' in proxy.answers[0] and len(proxy.answers) == 3, proxy.answers
    Monitor(serve, "message/", since=0).completed("order-1")
    serve.stop()
    assert scene.simulator.accepted() == [token(1)]


def busy_server():
    """The client waits as long as a busy Carillon says, and ends as soon as there is room."""
    scene = Scene()
    broken = scene.app("broken", limits={"waiting": 1})
    broken["credential"]["key"] = scene.path("missing.p8")
    scene.apps["broken"] = broken
    serve = scene.serve()
    proxy = Deaf(serve.places["http"], lost=0)
    client = Client(serve, proxy.url)
    assert client.push(hello("first", app="broken"))["status"] == "accepted"
    child = client.start("push", json.dumps(hello("second", app="broken")))
    until(lambda: any(b'"busy"' in answer for answer in proxy.answers))
    scene.apps["broken"]["limits"]["waiting"] = 10
    serve.reload()
    assert child.end() == 0 and json.loads(child.lines[-1])["status"] == "accepted", child.lines
    serve.signal(signal.SIGKILL)


def watch():
    """Each event is printed once, in order, although the connection is cut, the client killed, and Carillon restarted."""
    scene = Scene()
    scene.more["http"] = {"listen": f"127.0.0.1:{take_port()}"}
    serve = scene.serve()
    wire = Wire(serve.places["http"].removeprefix("http://"), 0)
    client, cursor = Client(serve), scene.path("cursor")
    client.url = wire.endpoint.replace("tcp:", "http:")
    pushed = 0

    def push(count):
        nonlocal pushed
        monitor = Monitor(serve, "message/", since=0)
        direct = Client.__new__(Client)
        direct.__dict__.update(client.__dict__, url=serve.places["http"])
        for _ in range(count):
            pushed += 1
            direct.push(hello(f"m{pushed}", to=pushed))
        monitor.completed(*(f"m{number}" for number in range(1, pushed + 1)))
        monitor.close()

    push(2)
    watcher = client.start("watch", cursor, "delivery/")
    watcher.heard('"m2"')
    wire.cut()
    push(3)
    watcher.heard('"m5"')
    serve.stop()
    serve = scene.serve()
    push(2)
    watcher.heard('"m7"')
    events = [json.loads(line) for line in watcher.said('"seq"')]
    until(lambda: open(cursor).read() == str(events[-1]["seq"]))
    watcher.kill()
    push(2)
    again = client.start("watch", cursor, "delivery/")
    again.heard('"m9"')
    events += [json.loads(line) for line in again.said('"seq"')]
    again.kill()
    sent = [event["message_id"] for event in events if event["kind"] == "sent"]
    assert sent == [f"m{number}" for number in range(1, pushed + 1)], sent
    serve.stop()


if __name__ == "__main__":
    main(globals())
