"""Webhooks: receivers of events over HTTP that are slow, fail, restart, are dead or hostile, while serve is killed."""
import base64, contextlib, hashlib, hmac, json, os, socket as sockets, ssl, subprocess, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from harness import http, main, Monitor, note, Producer, Scene, SIZE, take_port, taken_ports, token, until, verb, witnesses
from http_requests import Door

SLOW = 0.2 / min(SIZE, 10)


class Receiver:
    """A receiver that verifies signatures and keeps every body, by its id and in the order of arrival."""

    def __init__(self, behave=lambda number: 200, tls=None):
        self.behave, self.tls, self.secret, self.fields = behave, tls, None, {}
        self.batches, self.answers, self.news, self.progress = [], 0, threading.Condition(), ""
        self.bodies, self.numbers = {}, []  # what is read of the batches: by id, and the events of each
        witnesses.append(lambda: f"the receiver at {self.port}: {self.answers} requests, {self.progress}")
        self.port = take_port()
        self.reserved = taken_ports[-1]
        self.open()

    def open(self):
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                verify(receiver.secret, self.headers, body)
                with receiver.news:
                    receiver.answers += 1
                    status = receiver.behave(receiver.answers)
                    if 200 <= status < 300:
                        receiver.batches.append((self.headers["webhook-id"], body))
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for field in {"Content-Length": "2", **receiver.fields}.items():
                        self.send_header(*field)
                    self.end_headers()
                    self.wfile.write(b"ok")

            def log_message(self, *words):
                pass

        class Server(ThreadingHTTPServer):
            allow_reuse_address = daemon_threads = True

            def handle_error(self, request, address):
                receiver.failures.append(address)

        self.failures = []
        self.server = Server(("127.0.0.1", self.port), Handler, bind_and_activate=False)
        self.server.socket.close()
        if self.reserved is not None:
            self.server.socket, self.reserved = self.reserved, None
        else:
            self.server.socket = sockets.socket()
            self.server.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
            self.server.socket.bind(("127.0.0.1", self.port))
        self.server.socket.listen(16)
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path="/hook"):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}{path}"

    def read(self):
        """Reads the batches that are new: the same id always has the same body, and a batch has its bounds."""
        with self.news:
            batches = self.batches[len(self.numbers):]
        for name, body in batches:
            assert self.bodies.setdefault(name, body) == body, f"{name} has two bodies"
            events = json.loads(body)
            assert 1 <= len(events) <= 100 and len(body) <= 256 << 10, (len(events), len(body))
            self.numbers.append(({event.get("part", 0) for event in events}, [event["seq"] for event in events]))

    def check(self, expected, part=None):
        """Whether all events have come, in a cluster those of a part. They come in order, without gaps, and the same id
        always has the same body."""
        self.read()
        expected = sorted(expected)  # a monitor gets events topic by topic
        batches = [numbers for parts, numbers in self.numbers if part is None or parts == {part}]
        assert part is None or all(len(parts) == 1 for parts, _ in self.numbers), "a batch has events of several parts"
        newest, wanted = max((numbers[-1] for numbers in batches), default=0), max(expected, default=0)
        if newest != wanted:
            self.progress = f"events to {newest}, wanted to {wanted}, in {len(batches)} batches"
            return False
        have, places = 0, {seq: place for place, seq in enumerate(expected)}
        unknown = [seq for batch in batches for seq in batch if seq not in places]
        if unknown:  # the monitor may get it later than the receiver
            self.progress = f"events that were not asked for: {unknown[:5]}"
            return False
        for batch in batches:
            numbers = [places[seq] for seq in batch]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "events of a batch are missing"
            assert numbers[0] <= have, (numbers[0], have, "events were left out")
            have = max(have, numbers[-1] + 1)
        self.progress = f"{have} of {len(expected)} events in {len(batches)} batches"
        return have == len(expected)


def verify(secret, headers, body):
    name, time_stamp = headers["webhook-id"], headers["webhook-timestamp"]
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{name}.{time_stamp}.".encode() + body, hashlib.sha256).digest()
    assert "v1," + base64.b64encode(digest).decode() in headers["webhook-signature"].split(" "), "the signature is wrong"
    assert abs(time.time() - int(time_stamp)) < 300, time_stamp
    with contextlib.suppress(ImportError):  # the library of the standard, where it is installed
        from standardwebhooks.webhooks import Webhook
        Webhook(secret).verify(body, dict(headers))


def certificate(scene):
    pem, key = scene.path("receiver.pem"), scene.path("receiver.key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=receiver", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", pem],
        check=True, capture_output=True)
    return pem, key


def add(scene, name, url, receiver=None, **more):
    """Adds a webhook with a secret of its own."""
    file = scene.path(f"{name}.hook")
    verb("keys", "webhook", file)
    assert os.stat(file).st_mode & 0o777 == 0o600
    with open(file) as lines:
        secret = lines.read().strip()
    if receiver is not None:
        receiver.secret = secret
    scene.more.setdefault("webhooks", {})[name] = {
        "url": url, "prefixes": ["delivery/shop/"], "secret_file": file, "private_networks": ["127.0.0.0/8"],
        "timeout": "5s", **({} if url.startswith("https") else {"insecure": True}), **more}


def states(serve):
    return {w["name"]: w for w in map(json.loads, serve.verb("webhooks", "--json").splitlines())}


def push(producer, life, count):
    for first in range(0, count, 500):
        statuses = producer.batch([
            note(f"{life}-{n}", token(life * 1_000_000 + n)) for n in range(first, min(count, first + 500))])
        assert all(status["status"] == "accepted" for status in statuses)


def slow(number):
    time.sleep(SLOW)  # timed: the receiver is slow
    return 200


def deliveries():
    """Ten receivers, among them a dead one, a slow one, one that fails and one that restarts; five kills of serve."""
    scene = Scene()
    receivers = {f"good-{n}": Receiver() for n in range(5)}
    receivers["secure"] = Receiver(tls=certificate(scene))
    receivers["slow"] = Receiver(slow)
    receivers["third"] = Receiver(lambda number: 500 if number % 3 == 0 else 200)
    receivers["restarting"] = Receiver()
    for name, receiver in receivers.items():
        add(scene, name, receiver.url(), receiver, **({"trust": receiver.tls[0]} if receiver.tls else {}))
    add(scene, "dead", f"http://127.0.0.1:{take_port()}/")
    serve = scene.serve()
    per_life = 100 * SIZE
    for life in range(5):
        push(Producer(serve), life, per_life)
        restarting = receivers["restarting"]
        restarting.close()
        until(lambda: receivers["slow"].answers > life)
        restarting.open()
        serve.kill()
        serve = scene.serve()
    push(Producer(serve), 5, per_life)
    monitor = Monitor(serve, "delivery/shop/", since=0)
    sent = lambda: monitor.kinds.get("delivery/sent", [])
    monitor.until(lambda: len(sent()) >= 6 * per_life and len({e["message_id"] for e in sent()}) == 6 * per_life)
    print(f"{len(monitor.events)} events, {serve.resident >> 20} MiB resident")
    numbers = [event["seq"] for event in monitor.events]
    for name, receiver in receivers.items():
        until(lambda: receiver.check(numbers))
        assert not receiver.failures or name == "secure", (name, receiver.failures)
    shown = states(serve)
    assert shown["dead"]["state"] in ("backing_off", "sending") and shown["dead"]["failures"] > 0, shown["dead"]
    assert shown["dead"]["lag"] > 0, shown["dead"]
    page = http(serve.places["http"] + "/metrics")[1]
    assert 'carillon_webhook_requests_total{webhook="third",status="5xx"}' in page, page
    assert 'carillon_webhook_lag_events{webhook="dead"}' in page
    assert 'carillon_webhook_last_success_timestamp_seconds{webhook="slow"}' in page
    for name, receiver in receivers.items():
        ids = [name for name, _ in receiver.batches]
        print(f"{name}: {len(ids)} requests taken, {len(ids) - len(set(ids))} repeated")
    serve.stop()


def operation():
    """410 disables a webhook, also across a restart; pause, resume, seek and test; reload adds, changes and removes."""
    scene = Scene()
    gone = Receiver(lambda number: 410 if number == 1 else 200)
    other = Receiver()
    add(scene, "gone", gone.url(), gone)
    serve = scene.serve()
    monitor = Monitor(serve, "")
    producer = Producer(serve)
    push(producer, 0, 3)
    disabled = monitor.wait("webhook/disabled")[0]
    assert disabled["webhook"] == "gone" and disabled["app"] == "-", disabled
    serve.kill()
    serve = scene.serve()
    assert states(serve)["gone"]["state"] == "disabled"
    assert not gone.batches
    control = Door(serve, control=True)
    (finding,) = [one for one in control.ask("GET", "/v1/findings").json["findings"] if one["code"] == "webhook"]
    assert finding["where"] == "webhook gone" and "410" in finding["what"], finding
    assert "carillon webhooks gone resume" in serve.verb("doctor", "--json"), "doctor does not say it"
    assert control.ask("GET", "/v1/webhooks/nobody").json["code"] == "unknown_webhook"
    serve.verb("webhooks", "gone", "resume")
    monitor = Monitor(serve, "", since=0)
    monitor.wait("webhook/resumed")
    seqs = lambda: [e["seq"] for e in monitor.events if e["family"] == "delivery"]
    monitor.until(lambda: len(seqs()) == 3)
    until(lambda: gone.check(seqs()))
    # A receiver of everything gets no events about webhooks.
    add(scene, "other", other.url(), other, prefixes=[""])
    serve.reload()
    until(lambda: "other" in states(serve))
    begin = states(serve)["other"]["position"]
    serve.verb("webhooks", "gone", "pause")
    monitor.wait("webhook/paused")
    producer = Producer(serve)
    push(producer, 1, 3)
    monitor.until(lambda: len(monitor.of("message/completed")) == 6)
    wanted = lambda: [e["seq"] for e in monitor.events if e["seq"] > begin and e["family"] != "webhook"]
    monitor.until(lambda: other.check(wanted()))
    assert len(gone.batches) == len({name for name, _ in gone.batches}) and states(serve)["gone"]["state"] == "paused"
    assert states(serve)["gone"]["lag"] > 0
    first = len(gone.batches)
    serve.verb("webhooks", "gone", "seek", "0")
    serve.verb("webhooks", "gone", "resume")
    monitor.until(lambda: len(seqs()) == 6)
    until(lambda: sum(len(json.loads(body)) for _, body in gone.batches[first:]) >= 6 or None)
    assert [e["seq"] for _, body in gone.batches[first:] for e in json.loads(body)] == sorted(seqs())
    answer = json.loads(serve.verb("webhooks", "other", "test", "--json"))
    assert answer["status"] == 200, answer
    (event,) = json.loads(other.batches[-1][1])
    assert event["type"] == "webhook.test" and event["webhook"] == "other", event
    assert json.loads(json.dumps(states(serve)["other"]))["state"] in ("idle", "reading", "sending")
    serve.verb("webhooks", "other", "seek", "999999999", code=75)
    # A second secret signs, too; the first one may then go.
    with open(scene.path("other.hook")) as lines:
        old = lines.read()
    verb("keys", "webhook", scene.path("new.hook"))
    with open(scene.path("new.hook")) as lines:
        new = lines.read()
    with open(scene.path("other.hook"), "w") as lines:
        lines.write(new + old)
    serve.reload()
    for secret in (new, old):
        other.secret = secret.strip()
        assert json.loads(serve.verb("webhooks", "other", "test", "--json"))["status"] == 200
    # What is removed and added again begins anew.
    kept = scene.more["webhooks"].pop("gone")
    serve.reload()
    until(lambda: "gone" not in states(serve))
    assert not os.path.exists(os.path.join(scene.data, "webhook-gone.json"))
    scene.more["webhooks"]["gone"] = kept
    serve.reload()
    until(lambda: "gone" in states(serve))
    assert states(serve)["gone"]["position"] > max(seqs())
    serve.stop()


def findings(serve):
    return {one["where"]: one for one in Door(serve, control=True).ask("GET", "/v1/findings").json["findings"]
            if one["code"] == "webhook"}


def events_of(receiver):
    return [event for _, body in receiver.batches for event in json.loads(body)]


def replace(path, text):
    with open(path, "r+") as file:
        old = file.read()
        file.seek(0)
        file.truncate()
        file.write(text)
    return old


def refused():
    """A reload applies each webhook by itself: one whose secret cannot be used goes on as before and is a finding, while
    another one is changed or removed."""
    scene = Scene()
    a, b, c = Receiver(), Receiver(), Receiver()
    add(scene, "a", a.url(), a)
    add(scene, "b", b.url(), b)
    serve = scene.serve()
    good = replace(scene.path("b.hook"), "whsec_broken\n")
    scene.more["webhooks"]["a"]["prefixes"] = ["device/"]
    scene.more["webhooks"]["b"]["prefixes"] = ["message/"]
    serve.reload()
    shown = states(serve)
    assert (shown["a"]["prefixes"], shown["b"]["prefixes"]) == (["device/"], ["delivery/shop/"]), shown
    (finding,) = findings(serve).values()
    assert finding["where"] == "webhook b" and "secret_file" in finding["what"], finding
    assert "earlier settings" in finding["what"] and "broken" not in finding["what"], finding
    assert finding["what"] in serve.verb("doctor", "--json", code=1), "doctor does not say it"
    assert serve.said("configuration.refused", "webhooks.b.secret_file"), serve.lines[-5:]

    # It is removed, although b cannot be read, and nothing more is sent to it.
    scene.more["webhooks"].pop("a")
    add(scene, "c", c.url(), c)
    secret = replace(scene.path("c.hook"), "junk\n")
    serve.reload()
    assert list(states(serve)) == ["b"], states(serve)
    assert "has not begun" in findings(serve)["webhook c"]["what"], findings(serve)
    before = a.answers
    serve.verb("devices", "add", "shop", token(77))
    push(Producer(serve), 0, 3)
    monitor = Monitor(serve, "", since=0)
    monitor.wait("device/registered")
    monitor.wait("delivery/sent", count=3)
    until(lambda: len(events_of(b)) == 3)
    assert a.answers == before and not c.answers, "a webhook that is removed got events"

    replace(scene.path("b.hook"), good)
    replace(scene.path("c.hook"), secret)
    serve.reload()
    shown = states(serve)
    assert list(shown) == ["b", "c"] and shown["b"]["prefixes"] == ["message/"], shown
    assert not findings(serve), findings(serve)
    serve.stop()


def changed():
    """A receiver that takes the place of another one gets only what it is configured for, at once, and what the earlier
    one answers has no effect."""
    scene = Scene()
    refuses, wanted = Receiver(lambda number: 503), Receiver()
    gate, mended = threading.Event(), threading.Event()
    repaired = Receiver(lambda number: 200 if mended.is_set() else 503)
    refuses.fields = repaired.fields = {"Retry-After": "3600"}
    leaves, stays = Receiver(lambda number: 410 if gate.wait() else 500), Receiver()
    add(scene, "filter", refuses.url(), refuses)
    add(scene, "repaired", repaired.url(), repaired)
    add(scene, "moved", leaves.url(), leaves, **{"timeout": "5m"})
    serve = scene.serve()
    push(Producer(serve), 0, 3)
    until(lambda: {name: one["state"] for name, one in states(serve).items()} == {
        "filter": "backing_off", "repaired": "backing_off", "moved": "sending"})
    settings = scene.more["webhooks"]
    settings["filter"].update(url=wanted.url(), prefixes=["device/"])
    settings["moved"]["url"] = stays.url()
    wanted.secret, stays.secret = refuses.secret, leaves.secret
    verb("keys", "webhook", scene.path("new.hook"))
    os.replace(scene.path("new.hook"), settings["repaired"]["secret_file"])
    with open(settings["repaired"]["secret_file"]) as lines:
        repaired.secret = lines.read().strip()
    mended.set()
    serve.reload()
    shown = states(serve)["filter"]
    assert shown["state"] != "backing_off" and shown["failures"] == 0 and "next_attempt_at" not in shown, shown
    gate.set()
    serve.verb("devices", "add", "shop", token(77))
    until(lambda: (len(events_of(wanted)), len(events_of(stays)), len(events_of(repaired))) == (1, 3, 3))
    assert [(event["family"], event["kind"]) for event in events_of(wanted)] == [("device", "registered")]
    assert states(serve)["moved"]["state"] != "disabled", states(serve)
    assert not Monitor(serve, "webhook/", since=0).events
    serve.stop()


def damaged():
    """A webhook whose position cannot be read says so, and resume sends everything that is kept."""
    scene = Scene()
    receiver = Receiver()
    add(scene, "billing", receiver.url(), receiver)
    serve = scene.serve()
    push(Producer(serve), 0, 3)
    until(lambda: len(events_of(receiver)) == 3)
    serve.kill()
    path = os.path.join(scene.data, "webhook-billing.json")
    replace(path, "{")
    lags = []
    for life in (1, 2):
        serve = scene.serve()
        (disabled,) = Monitor(serve, "", since=0).wait("webhook/disabled", count=life)[life - 1:]
        assert (disabled["webhook"], disabled["reason"]) == ("billing", "damaged"), disabled
        push(Producer(serve), life, 3)
        monitor = Monitor(serve, "", since=0)
        monitor.wait("delivery/sent", count=3 + 3 * life)
        shown = states(serve)["billing"]
        assert (shown["state"], shown["reason"], shown["position"]) == ("disabled", "damaged", 0), shown
        newest = max(event["seq"] for event in monitor.events)
        assert shown["lag"] >= newest, (shown, newest)
        lags.append(shown["lag"])
        finding = findings(serve)["webhook billing"]
        assert "410" not in finding["what"] and "position" in finding["what"], finding
        serve.kill()
        with open(path) as file:
            assert file.read() == "{", "a file that nobody could read was written"
    assert lags[0] < lags[1], lags
    serve = scene.serve()
    monitor = Monitor(serve, "delivery/shop/", since=0)
    monitor.wait("delivery/sent", count=9)
    # Where an operator puts it is kept, and why it is disabled.
    serve.verb("webhooks", "billing", "seek", "0")
    serve.kill()
    serve = scene.serve()
    assert states(serve)["billing"]["reason"] == "damaged", states(serve)
    assert len(Monitor(serve, "webhook/", since=0).events) == 3
    first = len(receiver.batches)
    serve.verb("webhooks", "billing", "resume")
    wanted = sorted(event["seq"] for event in monitor.events)
    until(lambda: [e["seq"] for _, body in receiver.batches[first:] for e in json.loads(body)] == wanted)
    assert not findings(serve) and "reason" not in states(serve)["billing"], states(serve)
    serve.stop()


def kept():
    """What an operator was answered is on disk, also while the receiver keeps a request waiting."""
    scene = Scene()
    gate = threading.Event()
    held = Receiver(lambda number: 200 if gate.wait() else 500)
    add(scene, "held", held.url(), held, **{"timeout": "60s"})
    serve = scene.serve()
    monitor = Monitor(serve, "delivery/")
    push(Producer(serve), 0, 3)
    monitor.until(lambda: len(monitor.of("delivery/sent")) == 3)
    newest = max(event["seq"] for event in monitor.events)
    until(lambda: held.answers == 1)
    serve.verb("webhooks", "held", "pause")
    serve.kill()
    serve = scene.serve()
    assert states(serve)["held"]["state"] == "paused", states(serve)
    serve.verb("webhooks", "held", "resume")
    until(lambda: states(serve)["held"]["state"] == "sending")
    serve.verb("webhooks", "held", "seek", str(newest))
    serve.kill()
    serve = scene.serve()
    assert states(serve)["held"]["position"] >= newest, (states(serve), newest)
    gate.set()
    serve.stop()


def hostile():
    """Receivers that never read, trickle, answer without end or with garbage, redirect, or are inside the network: each
    request is bounded, and none reaches what was not asked for."""
    scene = Scene()
    ends = threading.Event()

    def socket_server(talk):
        port = take_port()
        listener = taken_ports[-1]
        listener.listen(16)

        def accept():
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=run, args=(connection,), daemon=True).start()

        def run(connection):
            with contextlib.suppress(OSError), connection:
                talk(connection)

        threading.Thread(target=accept, daemon=True).start()
        return port

    def reads(connection):
        connection.recv(1 << 16)

    def silent(connection):
        ends.wait()

    def trickle(connection):
        reads(connection)
        for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100:
            connection.sendall(bytes([byte]))
            if ends.wait(0.3):  # timed: the receiver trickles
                return

    def endless(head):
        def talk(connection):
            reads(connection)
            connection.sendall(head)
            while True:
                connection.sendall(b"x" * 65536)
        return talk

    def informational(connection):
        reads(connection)
        while True:
            connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\n")

    def hints(connection):
        reads(connection)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0 \r\n\r\n")

    inside = Receiver()
    inside.secret = "whsec_" + base64.b64encode(bytes(32)).decode()

    def redirect(connection):
        reads(connection)
        connection.sendall(f"HTTP/1.1 307 Go\r\nLocation: {inside.url()}\r\nContent-Length: 0\r\n\r\n".encode())

    kinds = {
        "silent": (silent, None, "timed out"), "trickle": (trickle, None, "timed out"),
        "endless": (endless(b"HTTP/1.1 200 OK\r\n\r\n"), 200, None),
        "long": (endless(b"HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n"), 200, None),
        "header": (endless(b"HTTP/1.1 200 OK\r\nX: "), None, "the header has no end"),
        "garbage": (endless(b"\x16\x03\x01 what is this\r\n\r\n"), None, "not an HTTP response"),
        "1xx": (informational, None, "too many interim responses"), "hints": (hints, 200, None),
        "redirect": (redirect, 307, None)}
    for name, (talk, _, _) in kinds.items():
        add(scene, name, f"http://127.0.0.1:{socket_server(talk)}/", **{"timeout": "2s"})
    add(scene, "private", f"http://localhost:{inside.port}/", private_networks=[])
    add(scene, "address", f"http://127.0.0.1:{inside.port}/", private_networks=["10.0.0.0/8"])
    good = Receiver()
    add(scene, "good", good.url(), good)
    serve = scene.serve()
    for name, (_, status, fault) in kinds.items():
        answer = json.loads(serve.verb("webhooks", name, "test", "--json", code=0 if status == 200 else 1))
        assert answer.get("status") == status, (name, answer)
        assert fault is None or fault in answer["fault"], (name, answer)
        print(f"{name}: {answer}")
    for name in ("private", "address"):
        answer = json.loads(serve.verb("webhooks", name, "test", "--json", code=1))
        assert "private address" in answer["fault"], answer
    push(Producer(serve), 0, 20)
    monitor = Monitor(serve, "delivery/shop/", since=0)
    monitor.until(lambda: len(monitor.of("delivery/sent")) == 20)
    until(lambda: good.check([e["seq"] for e in monitor.events]))
    assert not inside.batches and not inside.answers, "a request went where it must not"
    shown = states(serve)
    assert shown["redirect"]["last_status"] == 307 or shown["redirect"]["last_at"] is None, shown["redirect"]
    ends.set()
    serve.stop()


if __name__ == "__main__":
    main({"deliveries": deliveries, "operation": operation, "refused": refused, "changed": changed, "damaged": damaged,
          "kept": kept, "hostile": hostile})
