"""Who did what: each changing call of an operator leaves one event, also what is done while Carillon is stopped."""
import json, os, signal, time
from harness import http, main, Monitor, note, Producer, Scene, token, unheard_webhook, until, verb
from http_requests import Door

FOR_OPERATORS = {"operate", "admin"}
MEMBERS = {"v", "seq", "prev", "ts", "family", "app", "kind", "who", "roles", "from", "what", "before", "after",
           "done_at"}


def events(data):
    lines = verb("events", "--prefix", "operator/", "--since", "0", "--json", "--data", data).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


class Office:
    """A Carillon, its control socket, a key of an operator, and the events of operators that were seen so far."""

    def __init__(self):
        self.scene = Scene()
        gone = self.scene.app("gone")
        self.scene.apps["gone"] = {**gone, "credential": {**gone["credential"], "key": self.scene.path("nowhere.p8")}}
        self.scene.more["webhooks"] = {"billing": unheard_webhook(self.scene, "receipt/")}
        self.serve = self.scene.serve()
        self.monitor = Monitor(self.serve, "operator/")
        self.control = Door(self.serve, control=True)
        self.secrets = [token(n) for n in range(1, 6)] + ["ada", "house-9"]
        self.seen = 0
        self.called = set()

    def events(self):
        """The events of operators that are new."""
        found = self.control.ask("GET", f"/v1/events?prefix=operator/&since={self.seen}")
        new = [json.loads(line) for line in found.body.decode().splitlines()]
        self.seen = max([self.seen] + [event["seq"] for event in new])
        text = found.body.decode()
        assert not [secret for secret in self.secrets if secret in text], text
        assert all(set(event) <= MEMBERS for event in new), new
        return new

    def call(self, door, method, path, target, body=None, *, kind, app="shop", status=200):
        """Makes a call, and returns its answer and its event, which must be the only one."""
        answer = door.ask(method, target, body)
        assert answer.status == status, (method, target, answer.status, answer.body)
        new = self.events()
        assert [(event["kind"], event["app"]) for event in new] == [(kind, app)], (method, target, new)
        self.called.add((method, path))
        return answer.json, new[0]

    def silent(self, door, method, target, body=None, status=200):
        """Makes a call that leaves no event, and returns its answer."""
        answer = door.ask(method, target, body)
        assert answer.status == status, (method, target, answer.status, answer.body)
        assert self.events() == []
        return answer.json


def each_call():
    """Each operation that changes something for operators leaves exactly one event, by each of the doors."""
    office = Office()
    serve, control, call = office.serve, office.control, office.call
    made, event = call(control, "POST", "/v1/keys", "/v1/keys",
                       {"name": "ops", "roles": ["admin"], "bearer": True}, kind="key_add", app="-", status=201)
    assert event["who"] == f"uid:{os.getuid()}" and event["what"] == "key ops", event
    assert event["after"] == "admin; all apps; bearer" and "from" not in event and "roles" not in event, event
    office.secrets.append(made["secret"])
    ops = Door(serve, bearer=f"{made['key_id']}.{made['secret']}")
    other, _ = call(ops, "POST", "/v1/keys", "/v1/keys",
                    {"name": "apps", "roles": ["push", "register"], "bearer": True}, kind="key_add", app="-",
                    status=201)
    office.secrets.append(other["secret"])
    apps = Door(serve, bearer=f"{other['key_id']}.{other['secret']}")

    def gateway(action, before, after):
        event = call(ops, "POST", f"/v1/gateways/{{app}}/{action}", f"/v1/gateways/shop/{action}", kind=action)[1]
        assert (event["before"], event["after"]) == (before, after), event
        assert (event["who"], event["roles"], event["from"]) == ("key:ops", "admin", "127.0.0.1"), event

    gateway("pause", "running", "paused")
    gateway("pause", "paused", "paused")
    gateway("resume", "paused", "running")
    event = call(ops, "PUT", "/v1/gateways/{app}/connections", "/v1/gateways/shop/connections", {"min": 2, "max": 3},
                 kind="scale")[1]
    assert event["before"] != event["after"] == "2 to 3", event
    event = call(ops, "POST", "/v1/apps/{app}/brake/release", "/v1/apps/shop/brake/release", kind="brake_release")[1]
    assert (event["before"], event["after"]) == ("off", "off"), event
    for limits, what, after in (
            ({"waiting": 5000}, "apps.shop.limits.waiting", "in force"), ([], "no setting", "refused")):
        office.scene.apps["shop"]["limits"] = limits
        office.scene.configure()
        event = call(ops, "POST", "/v1/reload", "/v1/reload", kind="reload", app="-")[1]
        assert (event["what"], event["after"]) == (what, after), event
    serve.signal(signal.SIGHUP)
    (event,) = until(office.events)
    assert (event["kind"], event["who"], event["what"], event["after"]) == (
        "reload", "local", "no setting", "refused"), event
    devices(office, ops, apps)
    messages(office, ops, apps)
    users_and_webhooks(office, ops, apps)
    event = call(ops, "POST", "/v1/keys/{name}/rotate", "/v1/keys/apps/rotate", {"overlap_ms": 0}, kind="key_rotate",
                 app="-")[1]
    assert event["before"] == other["key_id"] not in event["after"], event
    event = call(control, "POST", "/v1/keys/{name}/revoke", "/v1/keys/apps/revoke", kind="key_revoke", app="-")[1]
    assert event["after"] == "revoked", event
    # What fails changes nothing.
    office.silent(ops, "POST", "/v1/gateways/nobody/pause", status=404)
    office.silent(ops, "POST", "/v1/keys/nobody/revoke", status=404)
    declared(office)
    watched_by_one_app(office, ops)
    # Subscribers get the same events.
    office.monitor.wait("operator/key_revoke")
    assert len(events(office.scene.data)) == len(control.ask("GET", "/v1/events?prefix=operator/").body.splitlines())


def watched_by_one_app(office, ops):
    """A key of an app finds the events of its app, however many others are newer or older."""
    made, _ = office.call(ops, "POST", "/v1/keys", "/v1/keys",
                          {"name": "gone", "roles": ["observe"], "apps": ["gone"], "bearer": True}, kind="key_add",
                          app="-", status=201)
    office.secrets.append(made["secret"])
    watcher = Door(office.serve, bearer=f"{made['key_id']}.{made['secret']}")
    for query in "last=1", "since=0&limit=1":
        found = watcher.ask("GET", f"/v1/events?prefix=operator/&{query}").body.decode().splitlines()
        assert [(event["kind"], event["app"]) for event in map(json.loads, found)] == [("drop", "gone")], (query, found)


def devices(office, ops, apps):
    call, silent = office.call, office.silent
    one = {"app": "shop", "token": token(1), "user": "ada", "tags": ["beta"]}
    silent(ops, "POST", "/v1/devices?dry_run=true", one)
    # What is refused has changed nothing, whatever app it names.
    silent(ops, "POST", "/v1/devices", {"devices": [{"app": "invented", "token": token(1)}, {"app": "shop"}]})
    added, event = call(ops, "POST", "/v1/devices", "/v1/devices", one, kind="device_add")
    device = added["device"]
    assert (event["what"], event["after"]) == (f"device {device}", "registered"), event
    event = call(ops, "POST", "/v1/devices", "/v1/devices",
                 {"devices": [{"app": "shop", "token": token(n), "installation": "house-9"} for n in (2, 3)] + [{}]},
                 kind="devices_import")[1]
    assert (event["what"], event["after"]) == ("2 devices", "2 registered"), event
    # Apps and backends change what is their own, and leave no event.
    silent(apps, "POST", "/v1/devices", {"app": "shop", "token": token(4), "user": "ada"})
    silent(apps, "POST", "/v1/apps/shop/devices", {"token": token(5)}, status=201)
    silent(apps, "POST", "/v1/apps/shop/devices/remove", {"token": token(5)})
    place = f"/v1/apps/shop/devices/{device}"
    event = call(ops, "PUT", "/v1/apps/{app}/devices/{device}", place, {"user": "ada", "locale": "de"},
                 kind="device_change")[1]
    assert event["after"] == "other user, locale", event
    path = "/v1/devices/{device}/"
    event = call(ops, "POST", path + "deactivate", f"/v1/devices/{device}/deactivate", {"reason": "ada lost it"},
                 kind="device_deactivate")[1]
    assert (event["before"], event["after"]) == ("active", "inactive"), event
    call(ops, "POST", path + "reactivate", f"/v1/devices/{device}/reactivate", kind="device_reactivate")
    event = call(ops, "GET", "/v1/export/devices", "/v1/export/devices?app=shop&user=ada", kind="devices_export")[1]
    assert (event["what"], event["after"]) == ("2 devices", "by user"), event
    event = call(ops, "DELETE", "/v1/apps/{app}/devices/{device}", place, kind="device_remove")[1]
    assert event["after"] == "erased", event
    event = call(ops, "POST", "/v1/apps/{app}/devices/remove", "/v1/apps/shop/devices/remove",
                 {"installation": "house-9"}, kind="device_remove")[1]
    assert event["before"] == "1", event


def messages(office, ops, apps):
    later = {"not_before": int(time.time()) + 3600}
    for name in "one", "two":
        assert apps.ask("POST", "/v1/messages", note(name, token(1), **later)).status == 202
    place = "/v1/apps/{app}/messages/{id}/cancel"
    event = office.call(ops, "POST", place, "/v1/apps/shop/messages/one/cancel", kind="cancel")[1]
    assert event["what"] == "message one" and "1 cancelled" in event["after"], event
    office.silent(apps, "POST", "/v1/apps/shop/messages/two/cancel")
    # Waiting messages of an app without a gateway; the router knows of them a moment after their ack. Of an app that
    # never had one it knows nothing, and a drop is refused.
    assert apps.ask("POST", "/v1/messages", note("first", token(1), app="gone")).status == 202
    until(lambda: ops.ask("POST", "/v1/backlog/gone/drop").status == 200)
    assert [event["kind"] for event in office.events()] == ["drop"]
    until(lambda: office.control.ask("GET", "/v1/apps/gone/messages/first").json["state"] == "completed")
    assert apps.ask("POST", "/v1/messages", note("waits", token(1), app="gone")).status == 202
    path = "/v1/backlog/{app}/drop"
    while True:
        event = office.call(ops, "POST", path, "/v1/backlog/gone/drop", kind="drop", app="gone")[1]
        if event["before"] == "1":
            break
        office.monitor.wait_for_heartbeat()


def users_and_webhooks(office, ops, apps):
    office.silent(apps, "POST", "/v1/devices", {"app": "shop", "token": token(4), "user": "ada"})
    path, place = "/v1/users/{user}", "/v1/users/ada"
    event = office.call(ops, "GET", path, place, kind="user_export", app="-")[1]
    assert event["what"].startswith("1 devices, "), event
    event = office.call(ops, "DELETE", path, place + "?app=shop", kind="user_erase")[1]
    assert event["after"] == "erased" and event["what"].startswith("1 devices, "), event
    for action, body in ("pause", None), ("resume", None), ("seek", {"seq": 0}):
        event = office.call(ops, "POST", f"/v1/webhooks/{{name}}/{action}", f"/v1/webhooks/billing/{action}", body,
                            kind=f"webhook_{action}", app="-")[1]
        assert event["what"] == "webhook billing", event


def declared(office):
    """Each operation of operators that changes something declares its events, and has been called here."""
    description = json.loads(http(office.serve.places["http"] + "/openapi.json")[1])
    recorded = set()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            here = (method.upper(), path)
            # The test of a webhook changes nothing.
            is_change = (here[0] != "GET" and FOR_OPERATORS & set(operation.get("x-roles", []))
                         and not path.endswith("/test"))
            assert not is_change or operation.get("x-events"), f"{here} declares no event"
            if operation.get("x-events"):
                recorded.add(here)
    assert recorded == office.called, recorded ^ office.called


def while_stopped():
    """Keys that are made, exports and restores while Carillon is stopped are in the log after the next start."""
    scene = Scene()
    serve = scene.serve()
    serve.verb("devices", "add", "shop", token(1), "--user", "ada")
    serve.stop()
    before = len(events(scene.data))
    made = json.loads(verb("keys", "api", "add", "night", "--role", "observe", "--json", "--data", scene.data))
    verb("devices", "export", "--data", scene.data)
    backup = scene.path("backup")
    verb("backup", backup, "--data", scene.data)
    verb("restore", backup, "--data", scene.data, "--replace")
    serve = scene.serve()
    monitor = Monitor(serve, "operator/", since=0)
    monitor.wait("operator/store_restored")
    new = events(scene.data)[before:]
    assert [event["kind"] for event in new] == ["key_add", "devices_export", "store_restored"], new
    assert all(event["who"] == f"uid:{os.getuid()}" and event["done_at"] <= event["ts"] for event in new), new
    assert new[0]["what"] == "key night" and made["secret"] not in json.dumps(new) and token(1) not in json.dumps(new)
    # The next start has nothing to add.
    serve.stop()
    serve = scene.serve()
    serve.verb("pause", "shop")
    assert [event["kind"] for event in events(scene.data)[before:]][3:] == ["pause"]
    assert not os.path.exists(os.path.join(scene.data, "operators.pending"))


def kept():
    """Events of operators outlive the log, are in a backup, and are completed after a crash; the oldest ones end."""
    scene = Scene()
    place = "tcp://127.0.0.1:0"
    scene.more["events"] = {"publish": place, "replay": place, "retention": {"size": "1MiB"}}
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    serve.verb("pause", "shop")
    serve.verb("resume", "shop")
    first = events(scene.data)
    assert [event["kind"] for event in first] == ["pause", "resume"], first

    def oldest():
        return int(Door(serve, control=True).ask("GET", "/v1/events?last=1").headers["carillon-oldest"])

    rounds = 0
    while oldest() <= first[-1]["seq"]:
        rounds += 1
        producer.batch([note(f"m{rounds}-{number}", token(1)) for number in range(1000)])
        monitor.wait_for_heartbeat()
    assert events(scene.data) == first
    last = Door(serve, control=True).ask("GET", "/v1/events?prefix=operator/shop/&last=1").body.splitlines()
    assert [json.loads(line) for line in last] == first[1:], last
    serve.verb("pause", "shop")
    serve.kill()
    # The last line is cut, and an old one has a time of long ago.
    path = os.path.join(scene.data, "operators.jsonl")
    with open(path) as file:
        lines = file.read().splitlines()
    assert len(lines) == 3 and os.stat(path).st_mode & 0o777 == 0o600, lines
    old = json.dumps({**first[0], "ts": int(time.time() * 1000) - 366 * 86_400_000})
    with open(path, "w") as file:
        file.write("\n".join([old, lines[1], lines[2][:40]]))
    serve = scene.serve()
    assert [event["kind"] for event in events(scene.data)] == ["resume", "pause"], events(scene.data)
    backup = scene.path("backup")
    verb("backup", backup, "--data", scene.data)
    with open(os.path.join(backup, "operators.jsonl")) as copy, open(path) as file:
        assert copy.read() == file.read()


if __name__ == "__main__":
    main(globals())
