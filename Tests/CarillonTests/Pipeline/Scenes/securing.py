"""CURVE from end to end: who is let in, for what, and what SIGHUP changes of it."""
from ground import *


def keys(directory, name):
    """Made by the verb: the public key, and the secret one as its file has it."""
    path = os.path.join(directory, name + ".curve")
    public = json.loads(verb("keys", "curve", path, "--json"))["public_key"]
    with open(path) as file:
        secret = re.search(r'secret-key = "(.{40})"', file.read()).group(1)
    return public.encode(), secret.encode()


def curve():
    scene = Scene()
    scene.apps["news"] = scene.app("news")
    server = keys(scene.directory, "server")[0]
    orders, grafana, stranger = (keys(scene.directory, name) for name in ("orders", "grafana", "stranger"))
    clients = {
        "orders": {"public_key": orders[0].decode(), "push": ["shop"]},
        "grafana": {"public_key": grafana[0].decode(), "observe": True}}
    scene.more["security"] = {
        "curve": {"secret_key_file": scene.path("server.curve")}, "clients": clients}
    serve = scene.serve()
    producer = Producer(serve, keys=(server, *orders))
    monitor = Monitor(serve, keys=(server, *grafana))
    assert producer.push(note("one", token(1)))["status"] == "accepted"
    assert monitor.completed("one")["one"]["sent"] == 1
    assert replay(serve, keys=(server, *grafana), prefix="message/shop/accepted")[0][0]["message_id"] == "one"
    refused = producer.push(note("two", token(1), app="news"))
    assert refused["status"] == "rejected" and refused["reason"] == "forbidden", refused
    # A client that may only observe does not get in to intake at all, nor does one that may only push to the events.
    watching = Producer(serve, keys=(server, *grafana))
    watching.send("push/1", note("three", token(1)))
    line = serve.line("connection refused", "may not push", grafana[0].decode())
    assert "intake.router" in line and "grafana" in line and "missing_right" in line, line

    # Unknown keys, and none at all, are let in nowhere: the log says which key asked.
    unknown = Producer(serve, keys=(server, *stranger))
    unknown.send("push/1", note("four", token(1)))
    serve.line("connection refused", "no client", stranger[0].decode()[:10])
    open_one = Producer(serve)
    open_one.send("push/1", note("five", token(1)))
    # Who may push and not observe hears nothing.
    deaf = keyed(context.socket(zmq.SUB), (server, *orders))
    deaf.connect(serve.places["publish"])
    deaf.subscribe("")
    serve.line("connection refused", "may not observe", "events.publish", orders[0].decode()[:10])
    refused = [line for line in http(serve.places["http"] + "/metrics")[1].splitlines()
               if line.startswith("carillon_refused_connections_total{") and not line.endswith(" 0")]
    assert sorted(refused) == [
        'carillon_refused_connections_total{kind="events.publish",reason="missing_right"} 1',
        'carillon_refused_connections_total{kind="intake.router",reason="missing_right"} 1',
        'carillon_refused_connections_total{kind="intake.router",reason="unknown_key"} 1'], refused
    assert producer.push(note("six", token(2)))["status"] == "accepted"
    monitor.completed("six")
    monitor.wait_for_heartbeat()
    assert not any(socket.poll(0) for socket in (deaf, unknown.socket, open_one.socket, watching.socket))
    told = replay(serve, keys=(server, *grafana), prefix="message/")[0]
    assert not {"three", "four", "five"} & {e.get("message_id") for e in told}
    # What a client may not do is an event that names it.
    assert [(e["kind"], e["app"], e["reason"], e["client"]) for e in told if e.get("message_id") == "two"] == [
        ("rejected", "news", "forbidden", "orders")], told

    # Rights change with a reload, for connections that stand as for new ones.
    clients["orders"]["push"] = ["news"]
    clients["stranger"] = {"public_key": stranger[0].decode(), "push": ["shop"], "observe": True}
    del clients["grafana"]
    serve.reload()
    assert producer.push(note("seven", token(3)))["reason"] == "forbidden"
    assert producer.push(note("eight", token(3), app="news"))["status"] == "accepted"
    monitor = Monitor(serve, keys=(server, *stranger), since=0)
    assert monitor.completed("eight")["eight"]["sent"] == 1
    known = Producer(serve, keys=(server, *stranger))
    assert known.push(note("four", token(1)))["status"] == "accepted"
    kind, _, answer = refused_replay(serve, (server, *grafana))
    assert kind is None, (kind, answer)
    serve.stop()


def revoked():
    """A reload takes rights from connections that stand: a replaced key, and a live subscription."""
    scene = Scene()
    server = keys(scene.directory, "server")[0]
    old, new, grafana, auditor = (keys(scene.directory, name) for name in ("old", "new", "grafana", "auditor"))
    clients = {
        "orders": {"public_key": old[0].decode(), "push": ["shop"]},
        "grafana": {"public_key": grafana[0].decode(), "observe": True},
        "auditor": {"public_key": auditor[0].decode(), "observe": True}}
    scene.more["security"] = {"curve": {"secret_key_file": scene.path("server.curve")}, "clients": clients}
    serve = scene.serve()
    producer = Producer(serve, keys=(server, *old))
    keeps, loses = Monitor(serve, keys=(server, *grafana)), Monitor(serve, keys=(server, *auditor))
    assert producer.push(note("one", token(1)))["status"] == "accepted"
    keeps.completed("one"), loses.completed("one")

    # A credential that cannot be read holds nothing up: opening a FIFO that nobody writes to would never return.
    os.mkfifo(scene.path("slow.p8"))
    scene.apps["slow"] = scene.app("slow")
    scene.apps["slow"]["credential"]["key"] = scene.path("slow.p8")
    clients["orders"]["public_key"] = new[0].decode()
    del clients["auditor"]
    scene.configure()
    serve.signal(signal.SIGHUP)
    serve.line("security.clients.auditor: gone", "applies now")
    refused = producer.push(note("two", token(1)))
    assert refused["reason"] == "forbidden" and old[0].decode() in refused["detail"], refused
    rotated = Producer(serve, keys=(server, *new))
    three = rotated.push(note("three", token(2)))
    assert three["status"] == "accepted", three
    # The monitor that keeps its right connects again by itself and asks for what it missed in between. A heartbeat of
    # before may still be in its queue.
    while keeps.wait_for_heartbeat()["seq"] < three["seq"]:
        pass
    for event in replay(serve, keys=(server, *grafana))[0]:
        keeps.add(event)
    assert keeps.completed("three")["three"]["sent"] == 1
    serve.line("connection refused", "no client", auditor[0].decode()[:10])
    while loses.socket.poll(0):
        loses.step()
    assert not loses.of("message/accepted", "three")
    serve.stop()


def revoked_without_replay():
    """A live subscription ends with its key's right also where the replay socket asks for no keys, or is not there."""
    for place in "off", "ipc":
        scene = Scene()
        server, auditor = (keys(scene.directory, name) for name in ("server", "auditor"))
        clients = {"auditor": {"public_key": auditor[0].decode(), "observe": True}}
        scene.more["security"] = {"curve": {"secret_key_file": scene.path("server.curve")}, "clients": clients}
        scene.more["events"] = {
            "publish": "tcp://127.0.0.1:0", "replay": "ipc://" + scene.path("replay") if place == "ipc" else place}
        serve = scene.serve()
        subscriber = Monitor(serve, keys=(server[0], *auditor))
        del clients["auditor"]
        serve.reload()
        # The connection of the subscriber has ended, and its next one is refused.
        serve.line("connection refused", "no client", auditor[0].decode()[:10])
        if place == "ipc":
            # The file's permissions say who may ask here.
            assert ask_replay(serve, {"since": 0})[0] == "replay-end/1"
        subscriber.close()
        serve.stop()


def private_memory():
    """A process that holds keys leaves no core dump, whatever limit it was started with, and lets no other user's or its
    own user's processes read its memory."""
    scene = Scene()
    serve = scene.serve(wrap=("sh", "-c", 'ulimit -S -c "$(ulimit -H -c)"; exec "$@"', "sh"))
    with open(f"/proc/{serve.process.pid}/limits") as file:
        limit = next(line for line in file if line.startswith("Max core file size")).split()
    assert limit[4:6] == ["0", "0"], limit
    # What cannot be dumped belongs to root there, which is how the system keeps others from it.
    assert os.stat(f"/proc/{serve.process.pid}/mem").st_uid == 0
    serve.stop()


def quotas():
    """An app that has reached a limit is busy, and the others go on; what it holds counts again after a restart."""
    scene = Scene()
    scene.apps["news"] = scene.app("news")
    broken = scene.app("broken", limits={"waiting": 5, "scheduled": 3})
    broken["credential"]["key"] = scene.path("missing.p8")
    scene.apps["broken"] = broken
    serve = scene.serve()
    producer = Producer(serve)
    later = int(time.time()) + 86_400

    def fill(name, count, **more):
        statuses = [producer.push(note(f"{name}-{n}", token(n), app="broken", **more)) for n in range(count)]
        return [status["status"] for status in statuses], statuses[-1]

    kinds, last = fill("wait", 7)
    assert kinds == ["accepted"] * 5 + ["busy"] * 2 and last["retry_after_ms"] == 1000, (kinds, last)
    kinds, last = fill("later", 5, not_before=later)
    assert kinds == ["accepted"] * 3 + ["busy"] * 2 and last["retry_after_ms"] == 10_000, (kinds, last)
    batch = producer.batch([note("wait-9", token(9), app="broken"), note("mine", token(9), app="news")])
    assert pick(batch, "status") == ["busy", "accepted"], batch
    serve.line("intake is busy for this app", "broken", "limits.waiting")
    assert producer.push(note("other", token(1)))["status"] == "accepted"
    # Over PULL nobody could be told to wait, and others are not held back: it is an event.
    monitor = Monitor(serve)
    push = context.socket(zmq.PUSH)
    push.connect(serve.places["pull"])
    push.send_multipart([b"push/1", text(note("pulled", token(1), app="broken"))])
    push.send_multipart([b"push/1", text(note("taken", token(1)))])
    assert monitor.wait("message/rejected", "pulled")[0]["reason"] == "too_many"
    assert monitor.completed("taken")["taken"]["sent"] == 1
    metrics = http(serve.places["http"] + "/metrics")[1]
    assert 'carillon_intake_over_limit_total{reason="scheduled"} 2' in metrics, metrics
    serve.kill()
    serve = scene.serve()
    producer = Producer(serve)
    assert fill("again", 1)[0] == ["busy"]
    assert fill("again-later", 1, not_before=later)[0] == ["busy"]
    # A higher limit applies at once, and what waited goes out when there is a credential.
    broken["limits"]["waiting"] = 6
    serve.reload()
    assert fill("again", 2)[0] == ["accepted", "busy"]
    broken["credential"]["key"] = scene.apps["shop"]["credential"]["key"]
    monitor = Monitor(serve)
    serve.reload()
    monitor.completed("again-0")
    assert fill("free", 1)[0] == ["accepted"]
    push.close(0)
    serve.stop()


def refused_replay(serve, keys):
    """Nothing at all, until the log says that it was not let in; or a refusal."""
    with keyed(context.socket(zmq.DEALER), keys) as socket:
        socket.connect(serve.places["replay"])
        socket.send_multipart([b"replay/1", b'{"since":0}'])
        serve.line("connection refused", keys[1].decode()[:10])
        if not socket.poll(0):
            return None, None, None
        kind, text = socket.recv_multipart()
        return kind.decode(), None, json.loads(text)


if __name__ == "__main__":
    main(globals())
