"""What each key may do, compared with what `/openapi.json` declares: each route, each role, own and other apps, and
the methods that a route does not have."""
import json, select
from harness import main, Monitor, note, Producer, Scene, token, unheard_webhook
from raw_http import make_key, problem, Wire

ROLES = ("register", "push", "observe", "operate", "admin")
INCLUDED = {"register": {"register"}, "push": {"push"}, "observe": {"observe"}, "operate": {"operate", "observe"},
            "admin": {"admin", "operate", "observe"}}
REGISTER = {"token": token(1), "user": "ada"}

# Each route: the scope of its data, the status for a key that may use it, and a valid body. The scope says what a key
# gets that is limited to another app:
#   app       403, because the request names an app that is not the key's
#   absent    404, as for a thing that does not exist
#   filtered  the same status, and nothing of other apps
#   whole     403, as each key that is limited to some apps
#   same      the same answer: the route has no data of apps
ROUTES = {
    "GET /healthz": ("same", 200), "GET /metrics": ("same", 200), "GET /openapi.json": ("same", 200),
    "GET /readyz": ("same", 200), "GET /v1/caller": ("same", 200),
    "POST /v1/messages": ("app", 200, note("m1", token(1))),
    "GET /v1/messages": ("filtered", 200), "GET /v1/messages/{id}": ("absent", 200),
    "GET /v1/apps/{app}/messages/{id}": ("app", 200), "GET /v1/apps/{app}/messages/{id}/deliveries": ("app", 200),
    "POST /v1/apps/{app}/messages/{id}/cancel": ("app", 409),
    "POST /v1/apps/{app}/devices": ("app", 200, REGISTER),
    "PUT /v1/apps/{app}/devices/{device}": ("app", 200, REGISTER),
    "POST /v1/devices": ("filtered", 200, {"devices": [{"app": "shop", **REGISTER}]}),
    "POST /v1/apps/{app}/seen": ("app", 202, {"seen": [{"apns_id": "6851d77c-0000-4000-8000-000000000000",
                                                        "what": "opened"}]}),
    "GET /v1/devices": ("filtered", 200), "GET /v1/devices/{device}": ("absent", 200),
    "GET /v1/devices/{device}/trace": ("filtered", 200),
    "POST /v1/devices/find": ("app", 200, {"app": "shop", "token": token(1)}),
    "POST /v1/devices/{device}/deactivate": ("absent", 200, {"reason": "a test"}),
    "POST /v1/devices/{device}/reactivate": ("absent", 200),
    "GET /v1/export/devices": ("filtered", 200),
    "POST /v1/audience": ("app", 200, {"app": "shop", "to": {"all": True}}),
    "GET /v1/trace?message=m1&app=shop": ("app", 200), "GET /v1/events?since=0": ("filtered", 200),
    "GET /v1/stats": ("filtered", 200), "GET /v1/gateways": ("filtered", 200), "GET /v1/gateways/{app}": ("app", 200),
    "GET /v1/credentials": ("filtered", 200), "GET /v1/findings": ("filtered", 200),
    "GET /v1/cluster": ("same", 200), "GET /v1/configuration": ("whole", 200), "POST /v1/reload": ("whole", 200),
    "PUT /v1/gateways/{app}/connections": ("app", 200, {"min": 1, "max": 2}),
    "POST /v1/gateways/{app}/pause": ("app", 200), "POST /v1/gateways/{app}/resume": ("app", 200),
    "POST /v1/apps/{app}/brake/release": ("app", 200), "POST /v1/backlog/{app}/drop": ("app", 409),
    "GET /v1/keys": ("filtered", 200),
    "POST /v1/keys": ("whole", 409, {"name": "admin-all", "roles": ["push"]}),
    "POST /v1/keys/{name}/rotate": ("whole", 404, {"overlap_ms": 0}), "POST /v1/keys/{name}/revoke": ("whole", 404),
    "GET /v1/webhooks": ("whole", 200), "GET /v1/webhooks/{name}": ("whole", 200),
    "POST /v1/webhooks/{name}/pause": ("whole", 200), "POST /v1/webhooks/{name}/resume": ("whole", 200),
    "POST /v1/webhooks/{name}/test": ("whole", 200), "POST /v1/webhooks/{name}/seek": ("whole", 200, {"seq": 0}),
    "GET /v1/users/{user}": ("absent", 200),
    # Erased again by each key, and registered again before the next one.
    "DELETE /v1/apps/{app}/devices/{device}": ("app", 200), "DELETE /v1/users/{user}": ("absent", 200),
    "POST /v1/apps/{app}/devices/remove": ("app", 200, {"token": token(1)}),
    # Data that nobody signed. That of another app is refused in app_store.py.
    "POST /v1/receipts/verify": ("same", 200, {"signed": "a.b.c"}),
    "POST /v1/appstore/notifications": ("same", 422, {"signedPayload": "a.b.c"}),
}


class RightsScene:
    def __init__(self):
        scene = Scene()
        scene.apps["bank"] = scene.app("bank")
        scene.more["webhooks"] = {"nobody": unheard_webhook(scene, "receipt/")}
        self.serve = scene.serve()
        # `serve` waits for the connection of one app, and the routes of both are asked.
        self.serve.become_ready()
        monitor = Monitor(self.serve)
        self.control = Wire(self.serve, "control")
        self.device = self.register()
        assert self.control.ask("POST", "/v1/messages", json.dumps(note("m1", token(1)))).status == 202
        monitor.completed("m1")
        self.paths = self.control.ask("GET", "/openapi.json").json["paths"]

    def register(self):
        # A kept connection would be idle for too long between two of these calls on a busy machine.
        with Wire(self.serve, "control") as control:
            return control.ask("POST", "/v1/apps/shop/devices", json.dumps(REGISTER)).json["device"]

    def target(self, path):
        return path.format(app="shop", device=self.device, id="m1", name="nobody", user="ada")

    def declared(self):
        return {f"{method.upper()} {path}": operation for path, operations in self.paths.items()
                for method, operation in operations.items()}


def route_matrix():
    setting = RightsScene()
    serve, declared = setting.serve, setting.declared()
    served = {route.split("?")[0]: route for route in ROUTES}
    assert set(served) == set(declared), ("a route is missing here, or is not served", set(served) ^ set(declared))
    keys = {(role, app): make_key(serve, f"{role}-{app or 'all'}", role, **({"apps": [app]} if app else {}))
            for role in ROLES for app in (None, "shop", "bank")}
    wires = {who: Wire(serve) for who in keys}
    anyone = Wire(serve, source="127.0.5.5")
    for route, (scope, status, *body) in ROUTES.items():
        roles = declared[route.split("?")[0]].get("x-roles")
        method, path = route.split(" ")
        data = json.dumps(body[0]) if body else None
        answer = anyone.ask(method, setting.target(path), data)
        assert answer.status == (401 if roles else status), (route, "anyone", answer)
        for (role, app), wire in wires.items():
            if "remove" in route or method == "DELETE":
                setting.register()
            answer = wire.ask(method, setting.target(path), data, key=keys[role, app])
            expected = status
            if roles and not INCLUDED[role] & set(roles):
                expected = 403
            elif app == "bank":
                expected = {"app": 403, "whole": 403, "absent": 404}.get(scope, status)
            elif app == "shop" and scope == "whole":
                expected = 403
            assert answer.status == expected, (route, role, app, expected, answer)
            if expected == 403:
                assert answer.code == "forbidden", (route, role, answer)
            if app == "bank" and roles:
                # Errors may repeat the path, which has the name of the app.
                assert answer.status >= 400 or all(
                    word not in answer.body.decode() for word in (token(1), '"ada"', '"shop"', '"m1"')), (route, answer)
    serve.stop()


def methods():
    """HEAD is GET without a body, and methods that a route does not have are refused with the ones that it has."""
    setting = RightsScene()
    serve = setting.serve
    key = make_key(serve, "all", *ROLES)
    with Wire(serve) as wire:
        for path, operations in setting.paths.items():
            allowed = {method.upper() for method in operations}
            allowed |= {"HEAD"} if "GET" in allowed else set()
            target = setting.target(path)
            if path == "/v1/trace":
                target += "?message=m1&app=shop"
            for method in ("GET", "HEAD", "OPTIONS", "TRACE", "PATCH", "PUT", "DELETE", "POST"):
                if method not in allowed:
                    answer = wire.ask(method, target, key=key)
                    assert answer.status == 405, (method, path, answer)
                    assert set(answer.fields["allow"].split(", ")) == allowed, (method, path, answer)
            if "GET" in allowed:
                read, head = wire.ask("GET", target, key=key), wire.ask("HEAD", target, key=key)
                assert read.status == head.status == 200 and not head.body, (path, read, head)
                assert read.fields["content-type"] == head.fields["content-type"], (path, read, head)
                # Nothing is changed by a method that only reads, and a body with it is not taken for anything.
                problem(wire.ask("GET", target, "{}", key=key), 422, "invalid") if "v1" in path else None
        assert wire.ask("OPTIONS", "*", key=key).status in (404, 405)
    serve.stop()


def event_streams():
    """A live stream of a key that is limited to an app has the events of this app only, whatever prefix it names."""
    setting = RightsScene()
    serve = setting.serve
    bank, everyone = make_key(serve, "bank", "observe", apps=["bank"]), make_key(serve, "everyone", "observe")
    producer = Producer(serve)

    def stream(key, query, *more):
        wire = Wire(serve)
        fields = [("Accept", "text/event-stream"), *more]
        wire.send(wire.request("GET", "/v1/events" + query, key=key, fields=fields))
        assert b" 200 " in wire.until(b"\r\n\r\n")
        return wire

    limited = [stream(bank, query) for query in ("", "?since=0", "?prefix=message/", "?since=0&prefix=message/shop/",
                                                 "?prefix=delivery/shop/sent", "?prefix=registry/")]
    limited.append(stream(bank, "", ("Last-Event-ID", "0")))
    whole = stream(everyone, "?since=0")
    for number in range(20):
        for app in ("shop", "bank"):
            assert producer.push(note(f"{app}-{number}", token(number), app=app))["status"] == "accepted"
    assert whole.until(b'"message_id":"bank-19"') is not None
    Monitor(serve, since=0).completed("bank-19", "shop-19")
    for number, wire in enumerate(limited):
        # The last event of the streams that have any; the others have had their chance when it came.
        while number in (0, 1, 2, 6) and b'"message_id":"bank-19"' not in wire.held:
            assert wire.more()
    for wire in limited:
        while select.select([wire], [], [], 0)[0] and wire.more():
            pass
        assert not any(word in wire.held for word in (b"shop", b'"ada"', token(1).encode())), wire.held
    for value in ("-1", "x", "18446744073709551616", "0x1", "1e1", "\u0661"):
        with Wire(serve) as wire:
            answer = wire.ask("GET", "/v1/events", key=everyone, fields=[
                ("Accept", "text/event-stream"), ("Last-Event-ID", value.encode().decode("latin-1"))])
            assert answer.status in (400, 422), (value, answer)
    serve.stop()


if __name__ == "__main__":
    main(globals())
