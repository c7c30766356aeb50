"""Web Push to the simulated push service, which decrypts what it gets as browsers do."""
import json
import os
import re
from harness import control, http, main, Monitor, Producer, Scene, Simulator, take_port, until, verb

COUNT = 300


def start():
    scene = Scene("--webpush-port", "0")
    places = scene.simulator.places
    key = scene.path("vapid.pem")
    verb("keys", "vapid", key)
    scene.apps["web"] = {
        "service": "webpush", "credential": {"vapid": key, "subject": "mailto:ops@example.com"},
        "endpoint": {"host": "127.0.0.1", "port": int(places["webpush"]), "trust": places["ca"]},
        "navigate": "https://shop.example.com/", "title": "Shop"}
    return scene


def subscribe(scene, count, key=None, simulator=None):
    more = f"&application_server_key={key}" if key else ""
    answer = (simulator or scene.simulator).ask(f"/subscriptions?count={count}{more}", "POST")
    return [json.loads(line) for line in answer.splitlines()]


def register(serve, subscriptions):
    for one in subscriptions:
        status, answer = control(serve, "POST", "/v1/apps/web/devices", {"token": one})
        assert status == 201, (status, answer)


def name(subscription):
    return subscription["endpoint"].rsplit("/", 1)[1]


def received(scene, simulator=None):
    lines = (simulator or scene.simulator).ask("/webpush/received?limit=100000").splitlines()
    return [json.loads(line) for line in lines]


def rules(scene, *rules_):
    scene.simulator.ask("/webpush/faults", "PUT", json.dumps({"rules": rules_}))


def fates():
    """A message to all while some subscriptions have ended and others are busy, with a kill in the middle."""
    scene = start()
    serve = scene.serve()
    subscriptions = subscribe(scene, COUNT)
    gone, busy = subscriptions[:50], subscriptions[50:100]
    for number, one in enumerate(subscriptions):
        # The subscription is a JSON object, as a page sends it.
        status, answer = control(serve, "POST", "/v1/apps/web/devices", {"token": one, "user": f"user-{number}"})
        assert status == 201, (status, answer)
    for one in gone:
        scene.simulator.ask(f"/subscriptions/{name(one)}", "DELETE")
    refusal = {"times": 2, "answer": {"status": 503, "retry_after": 1}}
    rules(
        scene, *({"match": {"token": name(one)}, **refusal} for one in busy),
        # The answers are late, so that many are unknown at the kill.
        {"latency": "50ms"})
    producer = Producer(serve)
    message = {"id": "all-1", "app": "web", "to": {"all": True},
               "alert": {"title": "Hello", "body": "Grüße 🔔"}, "link": "https://shop.example.com/sale"}
    assert producer.push(message)["status"] == "accepted"
    producer.close()
    until(lambda: sum(record["accepted"] for record in received(scene)) >= COUNT // 4)
    serve.kill()
    serve = scene.serve()
    monitor = Monitor(serve, since=0)
    counts = {key: value for key, value in monitor.completed("all-1")["all-1"].items() if value}
    assert counts == {"sent": COUNT - len(gone), "rejected": len(gone)}, counts
    records = received(scene)
    assert not [record for record in records if record.get("warnings")], records
    for one in subscriptions:
        of_one = [record for record in records if record.get("id") == name(one)]
        taken = [record for record in of_one if record["accepted"]]
        if one in gone:
            assert not taken and {record["status"] for record in of_one} == {410}, of_one
            continue
        # A second copy goes out only after an unknown outcome, and replaces the first by its topic.
        assert 1 <= len(taken) <= 2 and len({record.get("topic") for record in of_one}) == 1, of_one
        assert of_one[0].get("topic"), of_one
        for record in taken:
            payload = record["payload"]
            assert payload["web_push"] == 8030, payload
            shown = payload["notification"]
            assert (shown["title"], shown["body"]) == ("Hello", "Grüße 🔔"), shown
            assert shown["navigate"] == "https://shop.example.com/sale", shown
        if len(taken) == 2:
            assert taken[1]["replaces"] == taken[0]["number"], taken
    assert len({event["device"] for event in monitor.of("device/deactivated")}) == len(gone)
    named = {event.get("provider_id") for event in monitor.of("delivery/sent")}
    assert None not in named and len(named) == COUNT - len(gone), named
    # Those that have ended get nothing more.
    scene.simulator.ask("/webpush/received", "DELETE")
    rules(scene)
    producer = Producer(serve)
    assert producer.push({**message, "id": "all-2"})["status"] == "accepted"
    counts = {key: value for key, value in monitor.completed("all-2")["all-2"].items() if value}
    assert counts["sent"] == COUNT - len(gone) and "rejected" not in counts, counts
    records = received(scene)
    assert sorted(record["id"] for record in records) == sorted(name(one) for one in subscriptions[len(gone):])
    assert all(record["accepted"] for record in records)
    serve.stop()


def origins():
    """Push services that answer, that fail and that are slow, and a stop while messages are under way."""
    scene = start()
    others = [Simulator(scene.path(f"simulator-{number}"), "--webpush-port", "0") for number in range(2)]
    failing, slow = others
    # Carillon trusts the authorities of all of them, as those of public push services.
    with open(scene.path("roots.pem"), "w") as roots:
        for one in [scene.simulator, *others]:
            with open(one.places["ca"]) as file:
                roots.write(file.read())
    os.environ["SSL_CERT_FILE"] = scene.path("roots.pem")
    web = scene.apps["web"]
    del web["endpoint"]
    every = [scene.simulator, *others]
    web["origins"] = [f"127.0.0.1:{one.places['webpush']}" for one in every] + ["no-such-name.invalid"]
    web["private_networks"] = ["127.0.0.0/8"]
    failing.ask("/webpush/faults", "PUT", json.dumps({"rules": [
        {"latency": "5ms"}, {"match": {"every": 40}, "goaway": {"back": 3}}, {"match": {"every": 31}, "streams": 1},
        {"match": {"every": 37}, "streams": 20}, {"match": {"every": 43}, "reset": "REFUSED_STREAM"},
        {"match": {"every": 29}, "times": 5, "answer": {"status": 429, "retry_after": 1}},
        {"match": {"every": 53}, "times": 3, "close": True}]}))
    slow.ask("/webpush/faults", "PUT", json.dumps({"rules": [{"latency": "400ms"}]}))
    serve = scene.serve()
    subscriptions = [subscribe(scene, 150, simulator=one) for one in every]
    for some in subscriptions:
        register(serve, some)
    lost = {**subscriptions[0][0], "endpoint": "https://no-such-name.invalid/push/1"}
    register(serve, [lost])
    producer = Producer(serve)
    message = {"id": "all", "app": "web", "to": {"all": True}, "alert": "Hello"}
    assert producer.push(message)["status"] == "accepted"
    until(lambda: sum(record["accepted"] for record in received(scene, slow)) >= 40)
    producer.close()
    serve.stop()
    serve = scene.serve()
    monitor = Monitor(serve, since=0)
    monitor.until(lambda: len(monitor.of("delivery/sent")) >= 450)
    for one, some in zip(every, subscriptions):
        records = received(scene, one)
        unknown = len(monitor.of("delivery/unknown"))
        accepted = [record["id"] for record in records if record["accepted"]]
        assert set(accepted) == {name(subscription) for subscription in some}
        assert len(accepted) <= len(some) + unknown, (len(accepted), unknown)
        assert one is failing or len(accepted) == len(some), (len(accepted), unknown)
    # Each is sent once, and the one whose name leads nowhere waits.
    assert len(monitor.of("delivery/sent")) == 450
    assert not monitor.of("device/deactivated") and not monitor.of("delivery/rejected")
    status, answer = control(serve, "GET", "/v1/messages/all")
    assert status == 200 and answer["state"] != "completed", answer
    serve.stop()


def keys():
    """Two VAPID keys side by side: each subscription is sent with the key with which it was made."""
    scene = start()
    public = {}
    for word in ["old", "new"]:
        verb("keys", "vapid", scene.path(f"{word}.pem"))
        public[word] = re.search(r"\bB[\w-]{86}\b", verb("keys", "show", scene.path(f"{word}.pem")))[0]
    credential = scene.apps["web"]["credential"]
    credential["vapid"] = scene.path("old.pem")
    serve = scene.serve()
    bare = subscribe(scene, 20, public["old"])
    register(serve, bare)
    producer, monitor = Producer(serve), Monitor(serve)

    def push(number):
        message = {"id": f"m{number}", "app": "web", "to": {"all": True}, "alert": "Hello"}
        assert producer.push(message)["status"] == "accepted"
        counts = monitor.completed(f"m{number}")[f"m{number}"]
        rejected = [event["reason"] for event in monitor.of("delivery/rejected", f"m{number}")]
        return counts["sent"], sorted(rejected)

    assert push(1) == (20, [])
    credential.update({"vapid": scene.path("new.pem"), "former_vapid": scene.path("old.pem")})
    serve.reload()
    register(serve, [{**one, "applicationServerKey": public["old"]} for one in subscribe(scene, 5, public["old"])])
    register(serve, [{**one, "applicationServerKey": public["new"]} for one in subscribe(scene, 10, public["new"])])
    assert push(2) == (35, [])
    # What is exported is registered again with the same key.
    exported = serve.verb("devices", "export")
    assert exported.count("applicationServerKeyID") == 15, exported
    del credential["former_vapid"]
    serve.reload()
    sent, rejected = push(3)
    assert sent == 10 and rejected.count("other_vapid_key") == 5 and len(rejected) == 25, (sent, rejected)
    assert not monitor.of("device/deactivated")
    serve.stop()


def outages():
    """A push service that refuses connections, and one whose certificate is not trusted, are told with the cause and
    what to do, while the app with the first goes on with other devices. A reset is told as one."""
    scene = start()
    other = Simulator(scene.path("other"), "--webpush-port", "0")
    web = scene.apps["web"]
    verb("keys", "vapid", scene.path("wrong.pem"))
    scene.apps["wrong"] = {
        **web, "credential": {**web["credential"], "vapid": scene.path("wrong.pem")},
        "endpoint": {**web["endpoint"], "port": int(other.places["webpush"])}}
    places = {"web": f"127.0.0.1:{take_port()}", "wrong": f"127.0.0.1:{other.places['webpush']}"}
    web.update({"origins": [places["web"]], "private_networks": ["127.0.0.0/8"]})
    serve = scene.serve()
    subscriptions = subscribe(scene, 3)
    register(serve, subscriptions)
    one = subscribe(scene, 1, simulator=other)[0]
    assert control(serve, "POST", "/v1/apps/wrong/devices", {"token": one})[0] == 201
    producer, monitor = Producer(serve), Monitor(serve)

    def push(name, app):
        assert producer.push({"id": name, "app": app, "to": {"all": True}, "alert": "Hello"})["status"] == "accepted"

    rules(scene, {"times": 1, "reset": "INTERNAL_ERROR"})
    push("reset", "web")
    monitor.completed("reset")
    assert [(e["reason"], e["resend"]) for e in monitor.of("delivery/unknown")] == [("reset", True)], monitor.tell()
    register(serve, [{**subscriptions[0], "endpoint": f"https://{places['web']}/push/1"}])
    push("refused", "web")
    push("untrusted", "wrong")

    def down():
        return {(e["app"], e["address"], e["reason"]) for e in monitor.of("connection/down")}

    expected = {("web", places["web"], "refused"), ("wrong", places["wrong"], "not_trusted")}
    monitor.until(lambda: expected <= down())
    assert len(monitor.of("delivery/sent", "refused")) == 3, monitor.tell()
    for app in places:
        serve.heard("circuit breaker opened", f"app={app} ", f"address={places[app]} ")
    status, answer = control(serve, "GET", "/v1/findings")
    found = {finding["app"]: finding for finding in answer["findings"] if finding["code"] == "breaker"}
    assert set(found) == {"web", "wrong"}, answer
    assert places["web"] in found["web"]["what"] and "endpoint.trust" in found["wrong"]["advice"], found
    status, answer = control(serve, "GET", "/v1/gateways/wrong")
    assert answer["fault"]["code"] == "not_trusted", answer
    metrics = http(serve.places["http"] + "/metrics")[1]
    assert 'carillon_failing_origins{app="wrong"} 1' in metrics, metrics
    for message, reason in [("refused", "origin_refused"), ("untrusted", "origin_not_trusted")]:
        monitor.until(lambda: monitor.of("delivery/retry", message))
        assert {e["reason"] for e in monitor.of("delivery/retry", message)} == {reason}, monitor.tell()
    assert "endpoint.trust" in serve.verb("trace", "untrusted")
    checked = serve.verb("check", "--connect", "wrong", code=69)
    assert "is not trusted" in checked, checked
    with open(scene.path("wrong.json"), "w") as file:
        json.dump(one, file)
    sent = serve.verb("send", "--app", "wrong", "--token-file", scene.path("wrong.json"), "--title", "Hello", code=69)
    assert "not trusted" in sent and "origins" not in sent, sent
    # The finding ends with its cause.
    scene.apps["wrong"]["endpoint"]["trust"] = other.places["ca"]
    serve.reload()
    assert monitor.completed("untrusted")["untrusted"]["sent"] == 1
    apps = {finding.get("app") for finding in control(serve, "GET", "/v1/findings")[1]["findings"]}
    assert "web" in apps and "wrong" not in apps, apps
    assert "completes TLS" in serve.verb("check", "--connect", "wrong")
    serve.stop()


main({"fates": fates, "keys": keys, "origins": origins, "outages": outages})
