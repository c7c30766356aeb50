"""The producers of Tools/examples in all languages, with the real program. `LANGUAGE` names one of them."""
import json, os, shutil, subprocess, sys, threading
import zmq
from examples import TOOLS
from harness import Child, clean, context, main, Monitor, note, pace, Producer, receive, Scene, take_port, token

JNI = "/usr/lib/x86_64-linux-gnu/jni"
# The time limit of a producer that waits for as long as it takes, in seconds.
EVER = 1_000_000


def compiled(scene):
    """Returns the command of the producer in C, which it compiles as the first lines of the source say."""
    program = scene.path("producer")
    subprocess.run(
        ["cc", "-Wall", "-Wextra", "-Werror", "-o", program, os.path.join(TOOLS, "producer.c"), "-lzmq", "-ljson-c"],
        check=True)
    return [program]


def java(scene):
    jar = "/usr/share/java/jzmq.jar"
    if not shutil.which("java") or not os.path.exists(jar):
        return None
    return ["java", "-cp", jar, f"-Djava.library.path={JNI}", os.path.join(TOOLS, "Producer.java")]


COMMANDS = {
    "c": compiled,
    "java": java,
    "perl": lambda scene: ["perl", os.path.join(TOOLS, "producer.pl")],
    "php": lambda scene: ["php", os.path.join(TOOLS, "producer.php")],
    "python": lambda scene: [sys.executable, os.path.join(TOOLS, "producer.py")],
    "ruby": lambda scene: ["ruby", os.path.join(TOOLS, "producer.rb")],
}


class Example:
    """The producer in the language of this scene."""

    def __init__(self, scene):
        self.command = COMMANDS[os.environ["LANGUAGE"]](scene)
        if self.command is None:
            print(f"skipped: {os.environ['LANGUAGE']} is not installed")
            clean()
            os._exit(77)

    def start(self, *words, patience=EVER):
        # timed: the examples have a time limit
        return Child("env", f"PATIENCE={patience}", *self.command, *words)

    def run(self, *words, code=0, patience=EVER):
        child = self.start(*words, patience=patience)
        ended = child.end()
        assert ended == code, (ended, child.lines)
        return json.loads(child.lines[-1]) if code in (0, 1) else child.lines[-1]


class Proxy:
    """A proxy between producers and a Carillon, which may be replaced. `rule` decides about each ack: it gets the
    number of the ack and the status, and returns whether the ack is passed on."""

    def __init__(self, serve, rule):
        self.front = context.socket(zmq.ROUTER)
        self.front.linger = 0
        self.endpoint = f"tcp://127.0.0.1:{self.front.bind_to_random_port('tcp://127.0.0.1')}"
        self.requests, self.acks, self.rule = [], [], rule
        self.connect(serve)
        threading.Thread(target=self.run, daemon=True).start()

    def connect(self, serve):
        self.serve = serve
        self.back = context.socket(zmq.DEALER)
        self.back.linger = 0
        self.back.connect(serve.places["router"])

    def run(self):
        while True:
            peer, *request = self.front.recv_multipart()
            self.requests.append(request)
            self.back.send_multipart(request)
            answer = receive(self.back, self.serve)
            self.acks.append(json.loads(answer[-1]))
            if self.rule(self, len(self.acks), self.acks[-1]):
                self.front.send_multipart([peer, *answer])


def statuses():
    """Each status has its exit code, and the text and the id arrive as they were given."""
    scene = Scene()
    serve = scene.serve()
    example, router = Example(scene), serve.places["router"]
    odd = 'Grüße "\\ \t 🔔'
    status = example.run(router, "shop", token(1), odd, "größe-1")
    assert status["status"] == "accepted" and status["seq"] > 0, status
    assert status.get("id", "größe-1") == "größe-1", status
    monitor = Monitor(serve, since=0)
    assert monitor.completed("größe-1")["größe-1"]["sent"] == 1
    (record,) = scene.simulator.received("&payload=true")
    payload = record["payload"] if isinstance(record["payload"], dict) else json.loads(record["payload"])
    assert payload["aps"]["alert"] == odd, record
    assert example.run(router, "shop", token(1), odd, "größe-1")["status"] == "duplicate"
    # Without an id, each call is a message of its own.
    ids = {example.run(router, "shop", token(2))["id"] for _ in range(2)}
    assert len(ids) == 2, ids
    refused = example.run(router, "nowhere", token(1), "Hello", code=1)
    assert refused["status"] == "rejected" and refused["reason"] == "unknown_app", refused
    assert example.run(router, "shop", "xyz", code=1)["reason"] == "bad_token"
    for words in ([], [router, "shop"], [router, "shop", token(1), "Hello", "id", "more"]):
        child = example.start(*words)
        assert child.end() == 64 and any("ENDPOINT APP TOKEN" in line for line in child.lines), child.lines
    serve.stop()
    assert sorted(scene.simulator.accepted()) == [token(1), token(2), token(2)]
    # Nobody listens any more: no answer, and the message is to be kept.
    patience = 1  # timed: the example gives up when its time limit is over
    assert "same id" in example.run(router, "shop", token(3), "Hello", code=75, patience=patience)


def lost_ack():
    """Carillon is killed after it accepted the message, and the ack is lost: the example sends it again, once only."""
    scene = Scene()
    serve = scene.serve()

    def rule(proxy, number, status):
        if number > 1:
            return True
        proxy.serve.kill()
        proxy.connect(scene.serve())
        return False

    example, proxy = Example(scene), Proxy(serve, rule)
    status = example.run(proxy.endpoint, "shop", token(1), "Hello", "order-1")
    assert status["status"] == "duplicate" and status["seq"] == proxy.acks[0]["seq"], (status, proxy.acks)
    assert proxy.acks[0]["status"] == "accepted" and len(set(map(tuple, proxy.requests))) == 1, proxy.requests
    monitor = Monitor(proxy.serve, since=0)
    monitor.completed("order-1")
    records = scene.simulator.received("&status=200")
    # A kill may send once more what Apple had not answered, but never as another notification.
    assert len({(record["token"], record["id"]) for record in records}) == 1, records
    assert len(monitor.of("message/accepted", "order-1")) == len(monitor.of("delivery/sent", "order-1")) == 1
    assert len(monitor.of("message/completed", "order-1")) == 1
    proxy.serve.stop()


def delayed_ack():
    """The first ack is lost while Carillon runs: exactly one notification arrives."""
    scene = Scene()
    serve = scene.serve()
    example = Example(scene)
    proxy = Proxy(serve, lambda proxy, number, status: number > 1)
    status = example.run(proxy.endpoint, "shop", token(1), "Hello", "order-1")
    assert status["status"] == "duplicate", status
    # On a busy machine the second ack may be late as well.
    first, *others = [ack["status"] for ack in proxy.acks]
    assert first == "accepted" and set(others) == {"duplicate"}, proxy.acks
    Monitor(serve, since=0).completed("order-1")
    serve.stop()
    assert scene.simulator.accepted() == [token(1)]


def late_server():
    """The producer starts before Carillon does: it waits for the connection."""
    scene = Scene()
    endpoint = f"tcp://127.0.0.1:{take_port()}"
    scene.more["intake"] = {"router": endpoint, "pull": "off"}
    child = Example(scene).start(endpoint, "shop", token(1))
    serve = scene.serve()
    assert child.end() == 0, child.lines
    status = json.loads(child.lines[-1])
    # The first attempt may have had no answer in time on a busy machine.
    assert status["status"] in ("accepted", "duplicate"), status
    Monitor(serve, since=0).completed(status["id"])
    serve.stop()
    assert scene.simulator.accepted() == [token(1)]


def busy_server():
    """The example waits as long as `busy` says; it ends with 75 if that lasts, and with 0 if there is room again."""
    scene = Scene()
    broken = scene.app("broken", limits={"waiting": 1})
    broken["credential"]["key"] = scene.path("missing.p8")
    scene.apps["broken"] = broken
    serve = scene.serve()
    assert Producer(serve).push(note("first", token(1), app="broken"))["status"] == "accepted"
    example = Example(scene)
    proxy = Proxy(serve, lambda proxy, number, status: True)
    # On a busy machine its time may be over before the first ack.
    patience = 0
    while not proxy.acks:
        patience += 2.5  # timed: the example gives up when its time limit is over
        assert "same id" in example.run(
            proxy.endpoint, "broken", token(2), "Hello", "second", code=75, patience=patience)
    assert {ack["status"] for ack in proxy.acks} == {"busy"}, proxy.acks
    # Each request but the first follows a pause of a second.
    assert patience > 2.5 or 1 <= len(proxy.requests) <= 3, proxy.requests
    child = example.start(proxy.endpoint, "broken", token(2), "Hello", "second")
    heard = len(proxy.acks)
    while len(proxy.acks) == heard:
        assert child.process.poll() is None, child.lines
        pace()
    scene.apps["broken"]["limits"]["waiting"] = 10
    serve.reload()
    assert child.end() == 0 and json.loads(child.lines[-1])["status"] == "accepted", child.lines
    serve.signal(9)


if __name__ == "__main__":
    main(globals())
