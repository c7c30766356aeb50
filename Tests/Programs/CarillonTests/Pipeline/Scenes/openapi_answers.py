"""A running Carillon is held to its own description, /openapi.json: every operation, with every status."""
import json, re, time
from http.client import HTTPResponse
from harness import http, main, Monitor, note, pace, Scene, token, unheard_webhook, unreachable_app
from http_requests import addresses, Answer, Door, FORM, LINES, read, signed
from openapi import OpenAPI

LEGACY = "/admin/apns_devices.json"
STORE = "/v1/appstore/notifications"
GORUSH = "/api/push"
# What is declared and cannot be produced here, with the reason: statuses, and codes of problems.
NEVER = {
    ("POST", LEGACY, 404): "its app must be in the file, and a reload does not change the setting",
    ("POST", GORUSH, 503): "the app of the door has room; gorush.py fills one",
}
NEVER_CODES = {
    ("POST", LEGACY, "unknown_app"): "as above",
    ("POST", GORUSH, "unavailable"): "of any request; here the status has a body of its own",
    ("GET", "/v1/caller", "forbidden"): "every key may ask who it is",
    ("GET", "/readyz", "unavailable"): "of any request; here the status has a body of its own",
    ("POST", "/v1/messages", "unavailable"): "of any request; here the status has a body of its own",
}
ROLES = ("register", "push", "observe", "operate", "admin")
PARAMETER = re.compile(r"{([^}]*)}")


class Described:
    """A Carillon with apps, devices and messages in every state that a request can meet."""

    def __init__(self):
        self.scene = scene = Scene()
        scene.apps["news"] = scene.app("news")
        scene.apps["full"] = {**unreachable_app(scene, "full"), "limits": {"waiting": 1}}
        gone = scene.app("gone")
        scene.apps["gone"] = {**gone, "credential": {**gone["credential"], "key": scene.path("nowhere.p8")}}
        scene.more["http"] = {"listen": "127.0.0.1:0", "legacy_registration": {"app": "shop"}}
        scene.more["doors"] = {"gorush": {"apps": {"ios": "shop"}}}
        scene.more["receipts"] = {"roots": scene.simulator.places["ca"], "revocation": "off"}
        # It has the name of a key, as each parameter of paths has one value.
        scene.more["webhooks"] = {"pusher": unheard_webhook(scene, "credential/")}
        self.serve = serve = scene.serve()
        serve.become_ready("gone")
        self.control = Door(serve, control=True)
        self.keys = {}
        for name, roles, more in (
            ("all", ("register", "push", "admin"), {}),
            ("pusher", ("push",), {"apps": ["news"]}), ("slow-pusher", ("push",), {"rate": 1}),
            ("watcher", ("observe",), {}), ("slow-watcher", ("observe",), {"rate": 1}),
        ):
            made = self.control.ask("POST", "/v1/keys", {"name": name, "roles": roles, "bearer": True, **more}).json
            self.keys[name] = f"{made['key_id']}.{made['secret']}"
        self.port = Door(serve, bearer=self.keys["all"])
        self.openapi = OpenAPI(json.loads(http(serve.places["http"] + "/openapi.json")[1]))
        self.refused = 0
        self.fill()

    def fill(self):
        """Makes devices and messages; `values` are the parameters of paths that exist."""
        register = "/v1/apps/shop/devices"
        device, other = (
            self.control.ask("POST", register, {"token": token(n), "user": "ada", "tags": ["beta"]}).json["device"]
            for n in (1, 2))
        # A device without a token: only an answer of the push service has named it.
        self.scene.simulator.device("de*", state="unregistered", since=int(time.time() * 1000) + 3_600_000)
        monitor = Monitor(self.serve)
        later = {"not_before": int(time.time()) + 3600}
        for envelope in (
            note("sent", token(1)), note("later", token(2), **later), note("gone", token(9, "de")),
            note("waits", token(1), app="gone"), note("first", token(1), app="full"),
        ):
            assert self.control.ask("POST", "/v1/messages", envelope).status == 202, envelope
        monitor.completed("sent", "gone")
        self.values = {"app": "shop", "device": device, "id": "sent", "name": "pusher", "user": "ada"}
        self.other, self.nameless = other, monitor.wait("device/deactivated")[0]["device"]
        self.envelope = note("sent", token(1))

    def path(self, path, **values):
        return PARAMETER.sub(lambda match: {**self.values, **values}[match[1]], path)

    def ask(self, method, path, body=None, kind=None, door=None, target=None, query="", expect=None, values={}, **more):
        """Sends a request for an operation, and compares the answer with its description."""
        answer = (door or self.control).ask(
            method, (target or self.path(path, **values)) + query, body, kind, **more)
        assert expect is None or answer.status == expect, (method, path, expect, answer)
        self.openapi.judge(method, path, answer)
        return answer


def every_status():
    """Each declared status of each operation is served as it is declared, and no other."""
    scene = Described()
    scene.openapi.check()
    waiting = slow_heads(scene)
    doors(scene)
    inputs(scene)
    examples(scene)
    found(scene)
    conflicts(scene)
    pushes(scene)
    gorush(scene)
    for socket, place in waiting:
        answer = read(socket)
        assert (answer.status, answer.json["code"]) == (408, "request_timeout"), (place, answer)
    streams(scene)
    rates(scene)
    for missing, never in ((scene.openapi.missing(), NEVER), (scene.openapi.missing_codes(), NEVER_CODES)):
        assert missing == set(never), (sorted(missing - set(never)), sorted(set(never) - missing))
    scene.serve.stop()


def operations(scene, guarded=None):
    for (method, path), operation in scene.openapi.operations.items():
        roles = operation.get("x-roles")
        if guarded is None or guarded == bool(roles):
            yield method, path, operation, roles


def doors(scene):
    """The door of the port refuses what it must, before anything else is looked at."""
    for method, path, operation, roles in operations(scene, guarded=True):
        target, ask = scene.path(path), scene.ask
        other = "watcher" if "push" in roles else "pusher"
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": f"Bearer {scene.keys['all'][:-1]}_"},
                        {"Signature": "a=:YQ==:", "Signature-Input": "carillon=()"}):
            ask(method, path, door=Door(scene.serve), headers=headers, expect=401, source=next(addresses))
        if set(roles) != set(ROLES):
            answer = ask(method, path, door=scene.port, bearer=scene.keys[other], expect=403)
            assert answer.json["code"] == "forbidden", answer
        for name, value in (("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")):
            answer = ask(method, path, door=scene.port, headers={name: value}, expect=403)
            assert answer.json["code"] == "cross_origin", answer
        answer = ask(method, path, door=scene.port, headers={"Host": "evil.example"}, expect=421)
        assert answer.json["code"] == "unknown_host", answer
        # A request that is too old, and one that is sent twice; its key may do nothing else.
        key = scene.keys[other].split(".")
        old = signed(*key, method, target, created=int(time.time()) - 3600)
        answer = ask(method, path, door=Door(scene.serve), headers=old, expect=401, source=next(addresses))
        assert answer.json["code"] == "clock_skew" and abs(answer.json["server_time_at"] / 1000 - time.time()) < 60
        once = signed(*key, method, target)
        Door(scene.serve).ask(method, target, headers=once)
        answer = ask(method, path, door=Door(scene.serve), headers=once, expect=401, source=next(addresses))
        assert answer.json["code"] == "replayed", answer
        # A key whose rate is used up. Its requests are counted before its roles are looked at, so it needs none.
        while (answer := ask(method, path, door=scene.port, bearer=scene.keys[f"slow-{other}"])).status != 429:
            assert answer.status == 403 or path == "/v1/caller", answer
        assert answer.json["code"] == "too_many_requests", answer


def inputs(scene):
    """Invalid input of each kind is refused at both doors, and HEAD is answered like GET."""
    for method, path, operation, roles in operations(scene):
        for door in (scene.control, scene.port):
            sent = {"door": door, "target": scene.path(path)}
            answer = scene.ask(method, path, *body_of(operation), query="?nonsense=1", expect=422, **sent)
            assert "nonsense" in (fault.get("parameter") for fault in answer.json["errors"]), answer
            for place in operation.get("parameters", []):
                if place["in"] == "path":
                    long = {"id": "a" * 129, "user": "a" * 1025}
                    bad = scene.path(path, **{place["name"]: long.get(place["name"], "%20")})
                    answer = scene.ask(method, path, *body_of(operation), door=door, target=bad, expect=422)
                    assert place["name"] in (fault.get("parameter") for fault in answer.json["errors"]), answer
                    continue
                # An unset variable of a client must not become a filter that selects everything.
                answer = scene.ask(method, path, *body_of(operation), query=f"?{place['name']}=", expect=422, **sent)
                assert (place["name"], "too_short") in (
                    (fault.get("parameter"), fault["code"]) for fault in answer.json["errors"]), answer
                if place["schema"]["type"] in ("integer", "boolean"):
                    scene.ask(method, path, query=f"?{place['name']}=x", expect=422, **sent)
            if "400" in operation["responses"]:
                answer = scene.ask(method, path, *body_of(operation), query="?a=%ff", expect=400, **sent)
                assert answer.json["code"] == "bad_request", answer
            if "requestBody" in operation:
                bodies(scene, method, path, operation, sent)
            elif method != "GET":
                scene.ask(method, path, "{}", expect=422, **sent)
            if method == "GET":
                get, head = (door.ask(one, sent["target"]) for one in ("GET", "HEAD"))
                assert head.status == get.status and not head.body, (path, head, get)
                assert head.type == get.type and set(head.headers) == set(get.headers), (path, head, get)


def body_of(operation):
    """Returns a body of an operation that is accepted, and its media type."""
    content = operation.get("requestBody", {}).get("content", {})
    return next(((media["example"], kind) for kind, media in content.items() if kind != LINES), (None, None))


def bodies(scene, method, path, operation, sent):
    kinds = operation["requestBody"]["content"]
    if path == GORUSH:
        # Its faults are those of gorush, and it does not look at the type.
        scene.ask(method, path, b" " * ((1 << 20) + 1), expect=413, **sent)
        for text in ("{", "", "[]", "{}", b"\xff\xfe", '{"a":1,"a":2}'):
            answer = scene.ask(method, path, text, "text/xml", expect=400, **sent)
            assert answer.json["code"] == 400, answer
        return
    scene.ask(method, path, "<x/>", "text/xml", expect=415, **sent)
    big = b"[" + b" " * (33 << 20 if LINES in kinds else 1 << 20) + b"]"
    scene.ask(method, path, big, LINES if LINES in kinds else next(iter(kinds)), expect=413, **sent)
    if "application/json" in kinds:
        for text in ("{", "", "{}x", '{"a":1e}', "\xff", "nul", b"\xff\xfe"):
            scene.ask(method, path, text, "application/json", expect=400, **sent)
        for text in ("[]", "{}", "1", "[" * 17 + "]" * 17, '{"\\u0000":1}', '{"a":1,"a":2}', "{\"nonsense\":1}"):
            answer = scene.ask(method, path, text, "application/json", **sent)
            # Properties of a device may all be absent.
            assert answer.status == 422 or (method, text) == ("PUT", "{}") or path == "/v1/messages", answer
    if FORM in kinds:
        scene.ask(method, path, "token=%ff", FORM, expect=422, **sent)


def examples(scene):
    """The example of each operation is accepted."""
    later = []
    for method, path, operation, roles in operations(scene):
        for kind, media in operation.get("requestBody", {}).get("content", {}).items():
            if path.endswith("/rotate"):
                later.append((method, path, media))
                continue
            # An example cannot have the signature of the App Store.
            body = media["example"] if path != STORE else json.loads(scene.scene.simulator.ask(
                "/store/notifications", "POST", '{"type": "TEST", "bundle_id": "com.example.shop"}'))
            if path == STORE:
                body = {"signedPayload": body["signed_payload"]}
            answer = scene.ask(method, path, body, kind)
            assert 200 <= answer.status < 300, (method, path, kind, body, answer)
            if kind == LINES:
                assert {ack["status"] for ack in answer.lines} <= {"accepted", "duplicate"}, answer
    for method, path, media in later:
        scene.ask(method, path, media["example"], expect=200)
    for deed in "pause", "resume", "test":
        scene.ask("POST", f"/v1/webhooks/{{name}}/{deed}", expect=200)
    scene.ask("POST", "/v1/webhooks/{name}/seek", {"seq": 1 << 60}, expect=409)


def found(scene):
    """Reading works at both doors, and names that do not exist are not found."""
    none = {"app": "nope", "device": "f" * 32, "id": "nope", "name": "nope", "user": "nope"}
    for method, path, operation, roles in operations(scene):
        if method == "GET":
            query = "?message=sent" if path == "/v1/trace" else ""
            for door in (scene.control, scene.port):
                scene.ask(method, path, door=door, query=query, expect=503 if path == "/readyz" else 200)
            app = [one for one in operation.get("parameters", []) if (one["name"], one["in"]) == ("app", "query")]
            if app and "404" in operation["responses"] and "{" not in path:
                answer = scene.ask(method, path, query=query.replace("?", "?app=nope&") or "?app=nope", expect=404)
                assert answer.json["code"] == ("unknown_message" if path == "/v1/trace" else "unknown_app"), answer
            node = [one for one in operation.get("parameters", []) if (one["name"], one["in"]) == ("node", "query")]
            if node:
                answer = scene.ask(method, path, query="?node=nope", expect=404)
                assert answer.json["code"] == "unknown_node", answer
        for name in PARAMETER.findall(path):
            if "404" in operation["responses"]:
                answer = scene.ask(method, path, *body_of(operation), values={name: none[name]})
                assert answer.status == 404, (method, path, name, answer)
    scene.ask("POST", "/v1/devices", {"app": "shop", "token": token(77), "user": "eve"}, expect=200)
    for method in ("GET", "DELETE"):
        scene.ask(method, "/v1/users/{user}", query="?app=nope", expect=404)
    scene.ask("DELETE", "/v1/users/{user}", values={"user": "eve"}, expect=200)
    answer = scene.ask("GET", "/v1/trace", query="?message=nope", expect=404)
    assert answer.json["code"] == "unknown_message", answer
    answer = scene.ask("GET", "/v1/trace", query="?activity=nope&app=nope", expect=404)
    assert answer.json["code"] == "unknown_app", answer
    scene.ask("GET", "/readyz", query="?app=shop", expect=200)
    scene.ask("GET", "/readyz", query="?app=gone", expect=503)
    scene.ask("GET", "/v1/devices", query="?limit=1&user=ada&tag=beta&active=true", expect=200)
    scene.ask("GET", "/v1/messages", query="?limit=1&state=waiting,completed&app=shop", expect=200)
    for body in ({"app": "nope", "token": token(1)}, {"app": "shop", "token": token(99)}):
        scene.ask("POST", "/v1/devices/find", body, expect=404)
    scene.ask("POST", "/v1/devices", {"app": "nope", "token": token(1)}, expect=404)
    scene.ask("POST", "/v1/devices", {"app": "shop", "token": token(1)}, expect=200)
    mixed = [{"app": "nope", "token": token(1)}, {"app": "shop"}, {"app": "shop", "token": token(1)}]
    scene.ask("POST", "/v1/devices", {"devices": mixed}, expect=200)
    scene.ask("PUT", "/v1/gateways/{app}/connections", {"min": 1, "max": 2, "node": "nope"}, expect=404)
    scene.ask("POST", "/v1/audience", {"app": "nope", "to": {"all": True}}, expect=404)
    scene.ask("POST", "/v1/keys", {"name": "x", "roles": ["push"], "apps": ["nope"]}, expect=404)


def conflicts(scene):
    """Requests that the state does not allow, then those that it does."""
    scene.ask("PUT", "/v1/apps/{app}/devices/{device}", {"user": "x"}, values={"device": scene.nameless}, expect=409)
    scene.ask("POST", "/v1/devices/{device}/reactivate", values={"device": scene.nameless}, expect=409)
    scene.ask("POST", "/v1/apps/{app}/messages/{id}/cancel", expect=409)
    scene.ask("POST", "/v1/apps/{app}/messages/{id}/cancel", values={"id": "later"}, expect=200)
    scene.ask("POST", "/v1/backlog/{app}/drop", expect=409)
    scene.ask("POST", "/v1/backlog/{app}/drop", values={"app": "gone"}, expect=200)
    scene.ask("POST", "/v1/keys", {"name": "watcher", "roles": ["push"]}, expect=409)
    scene.ask("POST", "/v1/keys/{name}/revoke", values={"name": "orders"}, expect=200)
    for change in ("deactivate", "reactivate"):
        for body in ({"reason": "lost"}, {"reason": "again"}) if change == "deactivate" else (None, None):
            scene.ask("POST", f"/v1/devices/{{device}}/{change}", body, expect=200)
    for change in ("pause", "resume"):
        scene.ask("POST", f"/v1/gateways/{{app}}/{change}", expect=200)
        scene.ask("GET", "/v1/gateways/{app}", expect=200)
    scene.ask("POST", "/v1/apps/{app}/brake/release", expect=200)
    scene.ask("POST", "/v1/apps/{app}/devices", {"token": token(50)}, expect=201)
    scene.ask("DELETE", "/v1/apps/{app}/devices/{device}", values={"device": scene.other}, expect=200)
    scene.ask("POST", "/v1/reload", expect=200)
    with open(scene.serve.file, "w") as file:
        file.write("{")
    answer = scene.ask("POST", "/v1/reload", expect=200)
    assert answer.json["reloaded"] is False, answer
    scene.ask("GET", "/v1/configuration", expect=200)
    scene.scene.configure()


def pushes(scene):
    """Every answer to a message, with the ack as its body."""
    path = "/v1/messages"
    for body, status, reason in (
        (scene.envelope, 200, None), (note("new", token(1)), 202, None), ("{", 400, "bad_json"),
        (note("x", token(1), app="nope"), 404, "unknown_app"), ({**scene.envelope, "alert": "x"}, 409, "id_conflict"),
        (note("x", token(1), alert="x" * 5000), 413, "payload_too_large"),
        (note("x", *(token(n) for n in range(2)), sond="x"), 422, "bad_field"),
        ({"id": "x", "app": "shop", "to": {"tokens": ["zz"]}, "alert": "x"}, 422, "bad_token"),
        (note("x", token(1), alert={"body": "x"}, custom={"bagde": 1}, id="findings"), 202, None),
        (note("x", token(1), alert="x", image="https://a.example/b.png", link="shop:1", category="c", thread="t",
              id="plain"), 202, None),
        (note("x", token(1), alert={"titel": "x"}), 422, "bad_field"),
        ({"id": "f", "app": "shop", "to": {"all": True}, "payload": {"aps": {"alert": "x", "bagde": 1}}}, 202, None),
    ):
        answer = scene.ask("POST", path, body, "application/json", expect=status)
        assert answer.type == "application/json" and answer.json.get("reason") == reason, answer
    answer = scene.ask("POST", path, note("x", token(1)), door=scene.port, bearer=scene.keys["pusher"], expect=403)
    assert answer.json["reason"] == "forbidden", answer
    while (answer := scene.ask("POST", path, note("second", token(1), app="full"))).status == 202:
        pass
    assert answer.status == 503 and answer.json["status"] == "busy" and int(answer.headers["retry-after"]) >= 1, answer
    lines = "\n".join(["{", json.dumps(scene.envelope), "", json.dumps(note("y", token(1), app="nope"))])
    answer = scene.ask("POST", path, lines, LINES, expect=200)
    assert answer.type == LINES and len(answer.lines) == 4, answer
    for body in ("", "\n".join(["{}"] * 10_001)):
        scene.ask("POST", path, body, LINES)


def gorush(scene):
    """Every answer of the door for clients of gorush."""
    def ask(expect, *notes, **more):
        notes = [{"tokens": [token(1)], "platform": 1, **one} for one in notes]
        answer = scene.ask("POST", GORUSH, {"notifications": notes}, expect=expect, **more)
        assert expect == 200 or answer.json["code"] == expect, answer

    ask(200, {"message": "x"}, {"message": "y", "tokens": ["zz"], "retry": 1})
    ask(403, {"message": "x"}, door=scene.port, bearer=scene.keys["pusher"])
    ask(200, {"message": "x"}, headers={"Idempotency-Key": "k"})
    ask(409, {"message": "y"}, headers={"Idempotency-Key": "k"})
    ask(413, {"message": "x" * 5000})


def streams(scene):
    """Events as lines and as a live stream; the last free connection of the control socket is refused with words."""
    answer = scene.ask("GET", "/v1/events", query="?limit=2", expect=200)
    assert answer.type == LINES and len(answer.lines) == 2 and answer.headers["carillon-more"] == "true", answer
    declared = scene.openapi.operations["GET", "/v1/events"]["responses"]["200"]
    assert "text/event-stream" in declared["content"]
    assert {"Carillon-Next", "Carillon-Oldest", "Carillon-Newest", "Carillon-More"} <= set(declared["headers"])
    with scene.control.connect() as socket:
        socket.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
        begun = HTTPResponse(socket)
        begun.begin()
        scene.openapi.judge("GET", "/v1/events", Answer(begun.status, begun.getheaders(), b""))
        assert (200, "text/event-stream") in scene.openapi.kinds["GET", "/v1/events"]
    # HEAD of a live stream has an end, and the connection serves the next request.
    with scene.control.connect() as socket:
        socket.sendall(b"HEAD /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
                       b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = b""
        while piece := socket.recv(65536):
            got += piece
        assert got.startswith(b"HTTP/1.1 200") and b"text/event-stream" in got and got.endswith(b"ok\n"), got
    open_streams = []
    head = b"GET /v1/events?since=0 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
    while True:
        socket = scene.control.connect()
        socket.sendall(head)
        first = socket.recv(12)
        open_streams.append(socket)
        if first != b"HTTP/1.1 200":
            break
    assert first == b"HTTP/1.1 503" and len(open_streams) > 20, (first, len(open_streams))
    answer = scene.ask("GET", "/v1/gateways", expect=503)
    assert answer.json["code"] == "unavailable" and answer.headers["retry-after"] == "1", answer
    for socket in open_streams:
        socket.close()
    while scene.control.ask("GET", "/healthz").status != 200:
        pace()


def rates(scene):
    """Apps in the field without keys may register a few times a second from each address."""
    body, source = {"token": token(1)}, next(addresses)
    statuses = set()
    while 429 not in statuses:
        statuses.add(scene.ask("POST", LEGACY, body, FORM, door=Door(scene.serve), source=source).status)
    assert statuses == {200, 429}, statuses
    statuses, source = set(), next(addresses)
    while 429 not in statuses:
        door = Door(scene.serve)
        statuses.add(scene.ask("POST", STORE, {"signedPayload": "a.b.c"}, door=door, source=source).status)
    assert statuses == {422, 429}, statuses


def slow_heads(scene):
    """Begins requests that never end. Their answers come when their time is over."""
    found = []
    for text in (b"GET / HTT", b"POST /v1/keys HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"):
        socket = scene.control.connect()
        socket.sendall(text)
        found.append((socket, text))
    return found


if __name__ == "__main__":
    main(globals())
