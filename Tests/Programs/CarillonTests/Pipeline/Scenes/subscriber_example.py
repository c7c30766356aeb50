"""The subscriber of Tools/examples with the real program: it ends with no gap, whatever it missed."""
import json, os, signal, socket as sockets, sys, threading
from examples import TOOLS
from harness import Child, http, main, Monitor, note, Producer, replay, Scene, take_port, token

FLOOD = 3000


class Wire:
    """A TCP proxy to an endpoint. `cut` ends the connections, as a network does that fails; later ones work again."""

    def __init__(self, endpoint, port=0):
        host, target = endpoint.removeprefix("tcp://").split(":")
        self.target, self.open = (host, int(target)), []
        self.listener = sockets.create_server(("127.0.0.1", port))
        self.endpoint = f"tcp://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                server = sockets.create_connection(self.target)
            except OSError:
                client.close()  # Carillon is restarting.
                continue
            self.open += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(one, other), daemon=True).start()

    def copy(self, one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
        except OSError:
            pass
        for side in (one, other):
            try:
                side.shutdown(sockets.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        for side in self.open:
            try:
                side.shutdown(sockets.SHUT_RDWR)
            except OSError:
                pass
        self.open = []


def subscriber(publish, replay, since=0):
    return Child(sys.executable, os.path.join(TOOLS, "subscriber.py"), publish, replay, str(since))


def flood(serve, monitor, name, count=FLOOD, app="shop"):
    ids = [f"{name}-{n}" for n in range(count)]
    producer = Producer(serve)
    for start in range(0, count, 500):
        producer.batch([note(i, token(n, "b0"), app=app) for n, i in enumerate(ids[start:start + 500], start)])
    monitor.completed(*ids)


def printed(child):
    return [json.loads(line) for line in list(child.lines) if line.startswith("{")]


def has_all(child, serve):
    """Waits until the subscriber has printed every delivery event of the log, and checks that none came twice."""
    wanted = [event["seq"] for event in replay(serve, prefix="delivery/")[0]]
    child.heard(f'"seq": {wanted[-1]},')
    # A heartbeat after the last event has checked all topics.
    count = len(child.said("since "))
    while len(child.said("since ")) < count + 2:
        child.line("since ")
    events = printed(child)
    assert sorted(e["seq"] for e in events) == wanted, (len(events), len(wanted))
    last = {}
    for event in events:
        topic = f"{event['family']}/{event['app']}/{event['kind']}"
        assert event["prev"] == last.get(topic, 0), (topic, event, last.get(topic))
        last[topic] = event["seq"]


def stopped_subscriber():
    """The subscriber is stopped, a flood fills its queue, and its connection is lost: it ends with no gap."""
    scene = Scene()
    scene.apps["news"] = scene.app("news")
    serve = scene.serve()
    monitor = Monitor(serve)
    wire = Wire(serve.places["publish"])
    child = subscriber(wire.endpoint, serve.places["replay"])
    child.line("since ")
    flood(serve, monitor, "before", 10)
    child.heard('"before-9"')
    before = replays(serve)
    child.signal(signal.SIGSTOP)
    flood(serve, monitor, "queued")
    wire.cut()
    # A stopped process does not connect again, so these events are published to nobody.
    flood(serve, monitor, "lost")
    flood(serve, monitor, "lost-news", 100, app="news")
    child.signal(signal.SIGCONT)
    flood(serve, monitor, "after", 10)
    has_all(child, serve)
    assert replays(serve) > before, "the subscriber never asked for what it had missed"
    serve.stop()


def lost_last_events():
    """The last events of a topic are lost, and nothing follows: a heartbeat shows that they are missing."""
    scene = Scene()
    serve = scene.serve()
    monitor = Monitor(serve)
    wire = Wire(serve.places["publish"])
    child = subscriber(wire.endpoint, serve.places["replay"])
    child.line("since ")
    child.signal(signal.SIGSTOP)
    wire.cut()
    flood(serve, monitor, "last", 20)
    child.signal(signal.SIGCONT)
    has_all(child, serve)
    serve.stop()


def replay_outage():
    """The replay socket does not answer at first: nothing after the gap is printed before the gap is filled."""
    scene = Scene()
    serve = scene.serve()
    monitor = Monitor(serve)
    flood(serve, monitor, "early", 20)
    port = take_port()
    child = subscriber(serve.places["publish"], f"tcp://127.0.0.1:{port}")
    flood(serve, monitor, "more", 20)
    child.line("no answer")
    assert not printed(child), child.lines
    Wire(serve.places["replay"], port)
    has_all(child, serve)
    serve.stop()


def server_restart():
    """Carillon is killed under load and starts again: the subscriber goes on, from its SINCE too."""
    scene = Scene()
    # The ports are reserved, so that nobody takes them between the kill and the next start.
    scene.more["events"] = {key: f"tcp://127.0.0.1:{take_port()}" for key in ("publish", "replay")}
    serve = scene.serve()
    monitor = Monitor(serve)
    child = subscriber(serve.places["publish"], serve.places["replay"])
    flood(serve, monitor, "one", 100)
    producer = Producer(serve)
    producer.batch([note(f"two-{n}", token(n, "c0")) for n in range(1000)])
    serve.kill()
    serve = scene.serve()
    monitor = Monitor(serve, since=0)
    monitor.completed(*(f"two-{n}" for n in range(1000)))
    has_all(child, serve)
    since = int(child.said("since ")[-1].split()[1])
    child.kill()
    flood(serve, monitor, "three", 50)
    again = subscriber(serve.places["publish"], serve.places["replay"], since)
    wanted = [e["seq"] for e in replay(serve, since=since, prefix="delivery/")[0]]
    again.heard(f'"seq": {wanted[-1]},')
    assert sorted(e["seq"] for e in printed(again)) == wanted
    serve.stop()


def replays(serve):
    """Returns how many replays were requested."""
    lines = http(serve.places["http"] + "/metrics")[1].splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("carillon_replay_requests_total")))


if __name__ == "__main__":
    main(globals())
