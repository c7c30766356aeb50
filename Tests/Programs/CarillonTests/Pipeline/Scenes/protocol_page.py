"""What Documentation/Protocol.md describes: every kind of event, and every exchange of the page."""
import json, os, re, subprocess, threading, time
from http.server import BaseHTTPRequestHandler, HTTPServer
import zmq
from curve_security import keys
from harness import (
    context, control, keyed, main, Monitor, note, Producer, push_before_expiry, receive, replay, Scene, token, verb)

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5, "Documentation", "Protocol.md")
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def certificate(scene, name, days):
    """Issues a client certificate of the simulator's CA, and returns its file."""
    files = {kind: scene.path(f"{name}.{kind}") for kind in ("key", "csr", "crt", "ext", "pem")}
    with open(files["ext"], "w") as file:
        file.write("extendedKeyUsage=clientAuth\n")
    for words in (
        ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", files["key"], "-out", files["csr"], "-subj",
         f"/CN=Push/UID=com.example.{name}"],
        ["x509", "-req", "-in", files["csr"], "-CA", scene.path("simulator/ca.pem"), "-CAkey",
         scene.path("simulator/ca.key"), "-CAcreateserial", "-days", str(days), "-extfile", files["ext"], "-out",
         files["crt"]],
    ):
        subprocess.run(["openssl", *words], check=True, capture_output=True)
    with open(files["pem"], "w") as file:
        for part in ("crt", "key"):
            with open(files[part]) as source:
                file.write(source.read())
    return files["pem"]


def webhooks(scene):
    """Adds a webhook whose receiver wants no events at first, and whose position is that of a longer log."""
    statuses = [410]

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(statuses.pop() if statuses else 200)
            self.end_headers()

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    verb("keys", "webhook", scene.path("gone.hook"))
    scene.more["webhooks"] = {"gone": {
        "url": f"http://127.0.0.1:{server.server_port}/", "prefixes": ["ledger/", "webhook/"],
        "secret_file": scene.path("gone.hook"), "insecure": True, "private_networks": ["127.0.0.0/8"]}}
    with open(os.path.join(scene.data, "webhook-gone.json"), "w") as file:
        json.dump({"v": 1, "position": 1 << 60, "standing": "active"}, file)


def event_kinds():
    """Makes the program emit each kind of event with each of its fields, and prints all of them."""
    scene = Scene("--environment", "sandbox")
    server = keys(scene.directory, "server")[0]
    orders, grafana = (keys(scene.directory, name) for name in ("orders", "grafana"))
    places = scene.simulator.places
    scene.apps = {name: scene.app(name, environment="sandbox") for name in ("shop", "late")}
    missing = scene.apps["late"]["credential"]["key"] = scene.path("late.p8")
    scene.apps["cert"] = scene.app("cert", environment="sandbox", credential={"certificate": certificate(scene, "cert", 20)})
    scene.more["security"] = {
        "curve": {"secret_key_file": scene.path("server.curve")},
        "clients": {
            "orders": {"public_key": orders[0].decode(), "push": ["shop", "late", "cert"]},
            "grafana": {"public_key": grafana[0].decode(), "observe": True}}}
    scene.more["receipts"] = {"roots": places["ca"], "revocation": "off"}
    scene.serve().stop()
    backup = scene.path("backup")
    verb("backup", backup, "--data", scene.data)
    verb("restore", backup, "--data", scene.data, "--replace")
    webhooks(scene)
    serve = scene.serve()
    monitor = Monitor(serve, keys=(server, *grafana), since=0)
    producer = Producer(serve, keys=(server, *orders))

    def push(name, *tokens, status="accepted", **more):
        answer = producer.push(note(name, *tokens, **more))
        assert answer["status"] == status, answer

    # Webhooks.
    monitor.wait("webhook/skipped")
    monitor.wait("webhook/disabled")
    serve.verb("webhooks", "gone", "resume")
    monitor.wait("webhook/resumed")
    serve.verb("webhooks", "gone", "pause")
    monitor.wait("webhook/paused")
    # Devices.
    serve.verb("devices", "add", "shop", token(1), "--user", "ada", "--tag", "beta")
    device = monitor.wait("device/registered")[0]["device"]
    serve.verb("devices", "deactivate", device, "--reason", "lost")
    serve.verb("devices", "add", "shop", token(1), "--kind", "alert")
    serve.verb("devices", "add", "shop", token(2), "--replaces", token(1))
    monitor.wait("device/reactivated")
    other = json.loads(serve.verb("devices", "add", "shop", token(3), "--user", "bob", "--kind", "alert", "--json"))["device"]
    serve.verb("devices", "remove", other)
    # Messages of each audience, with all options.
    soon = int(time.time()) + 3600
    options = {"traceparent": TRACE, "priority": 5, "collapse_id": "c", "on_unknown": "drop", "expires_at": soon,
               "not_before": 1_700_000_000}
    push("options", token(4), **options)
    push("options", token(4), status="duplicate", **options)
    push("options", token(4), token(5), **options)
    for name, to in (("users", {"users": ["ada"]}), ("tags", {"tags": {"any": ["beta", {"not": "x"}]}}),
                     ("all", {"all": True})):
        answer = producer.push({"id": name, "app": "shop", "to": to, "alert": "Hello"})
        assert answer["status"] == "accepted", answer
    answer = producer.push({"id": "wake", "app": "shop", "to": {"tokens": [token(4)]}, "push_type": "background",
                            "payload": {"aps": {"content-available": 1}}})
    assert answer["status"] == "accepted", answer
    answer = producer.push({"id": "ids", "app": "shop", "to": {"devices": ["f" * 32]}, "alert": "Hello"})
    assert answer["status"] == "accepted", answer
    monitor.completed("options", "users", "tags", "all", "wake", "ids")
    # The app reports what the device has shown.
    sent = monitor.wait("delivery/sent")[0]["apns_id"]
    for what in "displayed", "opened":
        seen = {"apns_id": sent, "what": what, "at": int(time.time() * 1000)}
        status, answer = control(serve, "POST", "/v1/apps/shop/seen", {"seen": [seen]})
        assert (status, answer["taken"]) == (202, 1), answer
        monitor.wait(f"delivery/{what}")
    # A message at a local time that has passed everywhere.
    answer = producer.push({"id": "local", "app": "shop", "to": {"all": True}, "alert": "Hello", "late": "drop",
                            "at_local": "2026-01-01T09:00", "time_zone": "Europe/Berlin"})
    assert answer["status"] == "accepted", answer
    # A message whose time has not come is cancelled.
    push("cancelled", token(7), not_before=soon)
    producer.send("cancel/1", json.dumps({"id": "cancelled", "app": "shop"}))
    assert producer.answer()[1][0]["status"] == "cancelled"
    monitor.wait("message/cancelled")
    receipts(scene, serve)
    monitor.wait("receipt/EXTERNAL_PURCHASE_TOKEN")
    # Rejections: without id and app, and more than the budget of events allows.
    producer.send("push/1", b"{")
    producer.answer()
    while not any("skipped" in event for event in monitor.of("message/rejected")):
        producer.batch([{"id": "x"}] * 1000)
        monitor.wait_for_heartbeat()
    # Answers of the push service.
    simulator = scene.simulator
    simulator.faults(
        {"match": {"token": "aa*"}, "close": True, "times": 1},
        {"match": {"token": "dd*"}, "goaway": {"back": 1, "reason": "Shutdown"}, "times": 1},
        {"match": {"token": "ee*"}, "answer": {"status": 503, "reason": "Shutdown"}})
    simulator.device("bad*", state="bad")
    simulator.device("de*", state="unregistered", since=int(time.time() * 1000) + 3_600_000)
    # Each fault has the connection for itself: one that closes would take the frame of another one with it.
    push("unknown", token(1, "aa"), traceparent=TRACE)
    monitor.completed("unknown")
    push("gone", token(1, "de"), traceparent=TRACE)
    push("goaway", token(1, "dd"))
    monitor.wait("connection/goaway")
    # One app has a push service that asks for retries, the other one has no usable credential.
    for name, device, app in (("retried", token(1, "ee"), "shop"), ("expired", token(1), "late")):
        push_before_expiry(producer, 10, name, device, app=app, traceparent=TRACE)
    # A newer state of a Live Activity takes the place of one that is to be sent again; another activity is not known.
    serve.verb("devices", "add", "shop", token(9, "ee"), "--kind", "activity", "--activity", "order-1", "--activity-type",
               "Delivery")
    for name, activity in ("state-1", "order-1"), ("state-2", "order-1"), ("state-3", "order-2"):
        answer = producer.push({
            "id": name, "app": "shop", "to": {"activities": [activity]}, "traceparent": TRACE,
            "expires_at": int(time.time()) + 10, "live_activity": {"event": "update", "content_state": {}}})
        assert answer["status"] == "accepted", answer
        while name == "state-1" and not any(event["message_id"] == name for event in monitor.of("delivery/retry")):
            monitor.wait_for_heartbeat()
    monitor.wait("delivery/superseded")
    monitor.completed("gone", "goaway", "retried", "expired", "state-1", "state-2", "state-3")
    push("suppressed", token(1, "de"), traceparent=TRACE)
    push("flood", *(token(n, "bad0") for n in range(400)))
    monitor.completed("flood", "suppressed")
    monitor.wait("device/brake")
    serve.verb("scale", "shop", "--connections", "3")
    monitor.wait("connection/scaled")
    # Waiting messages are dropped; the router knows of a message a moment after its ack.
    push("dropped", token(1), app="late")
    while not control(serve, "POST", "/v1/backlog/late/drop")[1]["messages"]:
        monitor.wait_for_heartbeat()
    monitor.completed("dropped")
    with open(places["key"]) as source, open(missing, "w") as file:
        file.write(source.read())
    serve.reload()
    monitor.wait("credential/rotated")
    events = replay(serve, keys=(server, *grafana))[0]
    assert {f"{e['family']}.{e['kind']}" for e in events} >= {"credential.expiring", "credential.failed"}
    for event in events:
        print(json.dumps(event))
    serve.stop()


def receipts(scene, serve):
    """Sends notifications of the App Store with each content that one can have."""
    now = int(time.time() * 1000)
    common = {"bundleId": "com.example.shop", "environment": "Sandbox", "signedDate": now}

    def sign(claims):
        return scene.simulator.ask("/store/sign", "POST", json.dumps(claims)).strip()

    transaction = sign({
        **common, "transactionId": "7", "originalTransactionId": "3", "productId": "pro", "purchaseDate": now,
        "expiresDate": now + 1000, "revocationDate": now, "price": 9990, "currency": "EUR",
        "appAccountToken": "6851d77c-dfe0-5021-a5a1-7e79436331fb"})
    renewal = sign({
        "originalTransactionId": "3", "autoRenewProductId": "pro", "autoRenewStatus": 1, "environment": "Sandbox",
        "renewalDate": now + 1000, "signedDate": now})
    data = {**common, "status": 1, "consumptionRequestReason": "OTHER", "signedTransactionInfo": transaction,
            "signedRenewalInfo": renewal}
    summary = {**common, "requestIdentifier": "r", "productId": "pro", "succeededCount": 5, "failedCount": 1}
    outside = {"externalPurchaseId": "SANDBOX_1", "tokenCreationDate": now, "bundleId": "com.example.shop"}
    for kind, more in (
        ("CONSUMPTION_REQUEST", {"data": data}), ("RENEWAL_EXTENSION", {"subtype": "SUMMARY", "summary": summary}),
        ("EXTERNAL_PURCHASE_TOKEN", {"subtype": "UNREPORTED", "externalPurchaseToken": outside}),
    ):
        notification = sign({
            "notificationType": kind, "notificationUUID": kind, "version": "2.0", "signedDate": now, **more})
        body = json.dumps({"signedPayload": notification})
        assert control(serve, "POST", "/v1/appstore/notifications", json.loads(body)) == (200, {"status": "stored"})


def blocks(kind):
    """Returns the contents of the page's fenced blocks of a kind, and of the reply that follows each of them."""
    with open(PAGE) as file:
        page = file.read()
    found = re.findall(rf"```{kind}\n(.*?)\n```\n\n```reply\n(.*?)\n```\n", page, re.S)
    assert len(found) == len(re.findall(rf"```{kind}\n", page)), f"a block {kind} has no reply"
    return found


def frames(block):
    return [frame.encode() for frame in block.split("\n---\n")]


def objects(text):
    """Returns the JSON objects of a text, which may be wrapped between members."""
    decoder, found = json.JSONDecoder(), []
    while text.strip():
        value, end = decoder.raw_decode(text.strip())
        found.append(value)
        text = text.strip()[end:]
    return found


def exchanges():
    """Sends each request of the page, in order, and compares the replies with those of the page."""
    scene = Scene()
    serve = scene.serve()
    serve.verb("devices", "add", "shop", token(1), "--user", "ada", "--tag", "beta")
    pairs = blocks("request")
    assert len(pairs) >= 5, len(pairs)
    numbers = {}
    for kind, socket in (("DEALER", zmq.DEALER), ("REQ", zmq.REQ)):
        producer = Producer(serve, socket)
        for request, reply in pairs:
            producer.send(*frames(request))
            got, statuses = producer.answer()
            expected, *rest = reply.split("\n---\n")
            wanted = objects("".join(rest))
            assert got == expected and len(statuses) == len(wanted), (request, got, statuses)
            for status, want in zip(statuses, wanted):
                if kind == "REQ" and want.get("status") == "accepted":
                    want["status"] = "duplicate"  # the requests are repeated
                seq, number = status.pop("seq", None), want.pop("seq", None)
                assert status == want, (request, status, want)
                assert (seq is None) == (number is None), (request, status)
                assert numbers.setdefault(number, seq) == seq, (request, number, seq)
    assert len(set(numbers.values())) == len(numbers), numbers
    serve.stop()


def replay_replies():
    """Sends each replay request of the page after one message, and compares the kinds and members of the answer."""
    scene = Scene()
    serve = scene.serve()
    Producer(serve).push(note("order-4711-shipped", token(1)))
    Monitor(serve, since=0).completed("order-4711-shipped")
    ((request, reply),) = blocks("request replay")
    with keyed(context.socket(zmq.DEALER), None) as socket:
        socket.connect(serve.places["replay"])
        socket.send_multipart(frames(request))
        for message in reply.split("\n===\n"):
            wanted, got = frames(message), receive(socket, serve)
            assert got[:-1] == wanted[:-1], (got, wanted)
            if got[0] == b"replay-end/1":
                assert set(json.loads(got[1])) == set(json.loads(wanted[1])), got
    # What the page says about frames in front of the kind.
    for door, kind in (("router", b"ack/1"), ("replay", b"replay-error/1")):
        with keyed(context.socket(zmq.DEALER), None) as socket:
            socket.connect(serve.places[door])
            for front, extra in (
                    ([b"\0\0\0\1", b""], []), ([b""], [b""]), ([], [b"push/2"]), ([], []), ([b"1"] * 8 + [b""], []),
                    ([], [b"1"] * 9 + [b""])):
                socket.send_multipart([*front, *extra, b"x", b"{}"])
                answer = receive(socket, serve)
                assert answer[:len(front)] == front, (door, front, answer)
                answer = answer[len(front):]
                assert answer[0] == kind and b"bad_frame" in answer[1], (door, front, extra, answer)
    serve.stop()


if __name__ == "__main__":
    main(globals())
