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
    watching = Producer(serve, keys=(server, *grafana))
    assert watching.push(note("three", token(1)))["reason"] == "forbidden"

    # Unknown keys, and none at all, are let in nowhere: the log says who asked.
    unknown = Producer(serve, keys=(server, *stranger))
    unknown.send("push/1", note("four", token(1)))
    serve.line("a client was not let in", stranger[0].decode()[:10])
    open_one = Producer(serve)
    open_one.send("push/1", note("five", token(1)))
    # Who may push and not observe hears nothing.
    deaf = keyed(context.socket(zmq.SUB), (server, *orders))
    deaf.connect(serve.places["publish"])
    deaf.subscribe("")
    serve.line("a client was not let in", orders[0].decode()[:10])
    assert producer.push(note("six", token(2)))["status"] == "accepted"
    monitor.completed("six")
    monitor.wait_for_heartbeat()
    assert not deaf.poll(0) and not unknown.socket.poll(0) and not open_one.socket.poll(0)
    assert not {"two", "three", "four", "five"} & {e.get("message_id") for e in replay(
        serve, keys=(server, *grafana), prefix="message/")[0]}

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
    assert kind is None or (kind == "replay-error/1" and answer["error"] == "forbidden"), (kind, answer)
    assert watching.push(note("nine", token(3)))["reason"] == "forbidden"
    serve.stop()


def refused_replay(serve, keys):
    """Nothing at all, until the log says that it was not let in; or a refusal."""
    with keyed(context.socket(zmq.DEALER), keys) as socket:
        socket.connect(serve.places["replay"])
        socket.send_multipart([b"replay/1", b'{"since":0}'])
        serve.line("a client was not let in", keys[1].decode()[:10])
        if not socket.poll(0):
            return None, None, None
        kind, text = socket.recv_multipart()
        return kind.decode(), None, json.loads(text)


if __name__ == "__main__":
    main(globals())
