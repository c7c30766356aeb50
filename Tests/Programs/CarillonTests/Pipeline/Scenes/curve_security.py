"""CURVE security: rights of clients, and how a reload changes them; and core dumps."""
import json, os, re, signal
import zmq
from harness import (
    ask_replay, context, has_message, http, keyed, main, Monitor, note, Producer, replay, Scene, token, verb)


def keys(directory, name):
    """Creates a key pair with the verb and returns the public key and the secret key."""
    path = os.path.join(directory, name + ".curve")
    public = json.loads(verb("keys", "curve", path, "--json"))["public_key"]
    with open(path) as file:
        secret = re.search(r'secret-key = "(.{40})"', file.read()).group(1)
    return public.encode(), secret.encode()


def client_rights():
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
    # A client that may only observe cannot connect to the intake, and one that may only push cannot connect to events.
    watching = Producer(serve, keys=(server, *grafana))
    watching.send("push/1", note("three", token(1)))
    line = serve.line("connection refused", "may not push", grafana[0].decode())
    assert "intake.router" in line and "grafana" in line and "missing_right" in line, line

    # Clients with an unknown key or without a key cannot connect to any socket; the log names the key.
    unknown = Producer(serve, keys=(server, *stranger))
    unknown.send("push/1", note("four", token(1)))
    serve.line("connection refused", "no client", stranger[0].decode()[:10])
    open_one = Producer(serve)
    open_one.send("push/1", note("five", token(1)))
    # A client that may push but not observe receives no events.
    deaf = keyed(context.socket(zmq.SUB), (server, *orders))
    deaf.connect(serve.places["publish"])
    deaf.subscribe("")
    serve.line("connection refused", "may not observe", "events.publish", orders[0].decode()[:10])
    refused = [line for line in http(serve.places["http"] + "/metrics")[1].splitlines()
               if line.startswith("carillon_refused_connections_total{") and not line.endswith(" 0")]
    # The client without keys has another mechanism, and connects again and again.
    refused = [line for line in refused if 'reason="mechanism"' not in line]
    assert sorted(refused) == [
        'carillon_refused_connections_total{kind="events.publish",reason="missing_right"} 1',
        'carillon_refused_connections_total{kind="intake.router",reason="missing_right"} 1',
        'carillon_refused_connections_total{kind="intake.router",reason="unknown_key"} 1'], refused
    assert producer.push(note("six", token(2)))["status"] == "accepted"
    monitor.completed("six")
    monitor.wait_for_heartbeat()
    assert not any(has_message(socket) for socket in (deaf, unknown.socket, open_one.socket, watching.socket))
    told = replay(serve, keys=(server, *grafana), prefix="message/")[0]
    assert not {"three", "four", "five"} & {e.get("message_id") for e in told}
    # A forbidden request has an event that names the client, and is not among those of the app.
    assert [(e["kind"], e["app"], e["reason"], e["client"]) for e in told if e.get("message_id") == "two"] == [
        ("rejected", "-", "forbidden", "orders")], told

    # A reload changes rights, for existing and for new connections.
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


def revoked_keys():
    """A reload removes rights from existing connections: a replaced key, and a live subscription."""
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

    # A credential that cannot be read does not delay the change of rights: opening a FIFO without a writer blocks.
    os.mkfifo(scene.path("slow.p8"))
    scene.apps["slow"] = scene.app("slow")
    scene.apps["slow"]["credential"]["key"] = scene.path("slow.p8")
    clients["orders"]["public_key"] = new[0].decode()
    del clients["auditor"]
    scene.configure()
    serve.signal(signal.SIGHUP)
    serve.line("security.clients.auditor: removed", "applies now")
    refused = producer.push(note("two", token(1)))
    assert refused["reason"] == "forbidden" and old[0].decode() in refused["detail"], refused
    rotated = Producer(serve, keys=(server, *new))
    three = rotated.push(note("three", token(2)))
    assert three["status"] == "accepted", three
    # The monitor that keeps its right reconnects by itself and requests the events that it missed. An earlier heartbeat
    # may still be in its queue.
    while keeps.wait_for_heartbeat()["seq"] < three["seq"]:
        pass
    for event in replay(serve, keys=(server, *grafana))[0]:
        keeps.add(event)
    assert keeps.completed("three")["three"]["sent"] == 1
    # The socket may refuse the key before the reload reports the change.
    serve.heard("connection refused", "no client", auditor[0].decode()[:10])
    while has_message(loses.socket):
        loses.step()
    assert not loses.of("message/accepted", "three")
    serve.stop()


def revoked_subscription():
    """A live subscription ends with the right of its key, also if the replay socket is off or needs no keys."""
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
        # The connection of the subscriber was closed, and its next one is refused.
        serve.line("connection refused", "no client", auditor[0].decode()[:10])
        if place == "ipc":
            # The permissions of the socket file decide who may connect.
            assert ask_replay(serve, {"since": 0})[0] == "replay-end/1"
        subscriber.close()
        serve.stop()


def core_dumps():
    """A process with keys writes no core dump, whatever its initial limit, and no other process of this or another user
    can read its memory."""
    scene = Scene()
    serve = scene.serve(wrap=("sh", "-c", 'ulimit -S -c "$(ulimit -H -c)"; exec "$@"', "sh"))
    with open(f"/proc/{serve.process.pid}/limits") as file:
        limit = next(line for line in file if line.startswith("Max core file size")).split()
    assert limit[4:6] == ["0", "0"], limit
    # The files in /proc of a process that cannot be dumped belong to root, so that other processes have no access.
    assert os.stat(f"/proc/{serve.process.pid}/mem").st_uid == 0
    serve.stop()


def refused_replay(serve, keys):
    """Sends a replay request and waits until the log reports the refused connection; returns the response, if any."""
    with keyed(context.socket(zmq.DEALER), keys) as socket:
        socket.connect(serve.places["replay"])
        socket.send_multipart([b"replay/1", b'{"since":0}'])
        serve.line("connection refused", keys[1].decode()[:10])
        if not has_message(socket):
            return None, None, None
        kind, text = socket.recv_multipart()
        return kind.decode(), None, json.loads(text)


if __name__ == "__main__":
    main(globals())
