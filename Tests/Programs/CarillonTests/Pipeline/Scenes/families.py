"""Families: one message for the apps of a product on all platforms, at simulated push services."""
from harness import main, Monitor, Producer, Scene

FAMILY = ["shop", "tablet", "android"]


def token(number):
    return f"{number:064x}"


def fcm_token(name):
    return f"{name:A<22}:APA91b{name}"


def family(*members):
    """Returns a scene with two apps at Apple and one at Google, and a family of them."""
    scene = Scene("--fcm-port", "0")
    places = scene.simulator.places
    scene.apps["tablet"] = scene.app("tablet")
    scene.apps["android"] = {
        "service": "fcm", "credential": {"service_account": places["service_account"]},
        "endpoint": {"host": "127.0.0.1", "port": int(places["fcm"]), "trust": places["ca"]}}
    scene.more["families"] = {"all": list(members or FAMILY)}
    return scene


def add(serve, app, address, user=None):
    serve.verb("devices", "add", app, address, *(["--user", user] if user else []))


def people(serve):
    """Ada has all apps, bob the phone of Google alone, cleo both of Apple; and there are devices of nobody."""
    add(serve, "shop", token(1), "ada")
    add(serve, "tablet", token(2), "ada")
    add(serve, "android", fcm_token("ada"), "ada")
    add(serve, "android", fcm_token("bob"), "bob")
    add(serve, "shop", token(3), "cleo")
    add(serve, "tablet", token(4), "cleo")
    add(serve, "shop", token(5))
    add(serve, "android", fcm_token("nobody"))


def completed(monitor, message, count=len(FAMILY)):
    """Returns what was sent and suppressed, by app."""
    events = monitor.wait("message/completed", message, count)
    return {event["app"]: (event["counts"]["sent"], event["counts"]["suppressed"]) for event in events}


def envelope(name, to=None, **more):
    return {"id": name, "app": "all", "to": to or {"all": True}, "alert": "Hello", **more}


def life():
    """Each member gets a message; or each user in the first app that reaches them."""
    scene = family()
    serve = scene.serve()
    serve.become_ready()
    people(serve)
    producer, monitor = Producer(serve), Monitor(serve)
    status = producer.push(envelope("plain"))
    assert status["status"] == "accepted" and status["apps"] == dict.fromkeys(FAMILY, "accepted"), status
    assert completed(monitor, "plain") == {"shop": (3, 0), "tablet": (2, 0), "android": (3, 0)}
    status = producer.push(envelope("plain"))
    assert status["status"] == "duplicate" and set(status["apps"].values()) == {"duplicate"}, status
    assert producer.push(envelope("plain", badge=1))["reason"] == "id_conflict"
    # Ada by Google, cleo by the phone of Apple, and everything that belongs to nobody.
    assert producer.push(envelope("once", prefer=["android"]))["status"] == "accepted"
    assert completed(monitor, "once") == {"shop": (2, 1), "tablet": (0, 2), "android": (3, 0)}
    suppressed = [e for e in monitor.of("delivery/suppressed") if e["message_id"] == "once"]
    assert not suppressed, suppressed
    assert {e["app"]: e["counts"].get("preferred") for e in monitor.of("message/completed", "once")} == {
        "shop": 1, "tablet": 2, "android": None}
    assert producer.push(envelope("users", {"users": ["ada", "cleo"]}, prefer=["tablet"]))["status"] == "accepted"
    assert completed(monitor, "users") == {"shop": (0, 2), "tablet": (2, 0), "android": (0, 1)}
    refused = producer.push(envelope("bad", subtitle="no"))
    assert refused["reason"] == "bad_field", refused
    refused = producer.push(envelope("bad", {"tokens": [token(1)]}))
    assert refused["reason"] == "bad_audience", refused
    refused = producer.push({**envelope("bad"), "alert": {"title": "a", "subtitle": "b"}})
    assert refused["reason"] == "bad_payload" and refused["detail"].startswith("android: "), refused
    serve.stop()


def outage():
    """One member is paused: the others are sent at once, and after two kills it sends what waited, to the same users."""
    scene = family()
    serve = scene.serve()
    serve.become_ready()
    people(serve)
    serve.verb("pause", "shop")
    producer, monitor = Producer(serve), Monitor(serve)
    for number in range(20):
        assert producer.push(envelope(f"m{number}", prefer=["android", "tablet"]))["status"] == "accepted"
    for number in range(20):
        assert completed(monitor, f"m{number}", 2) == {"tablet": (1, 1), "android": (3, 0)}
    for _ in range(2):
        serve.kill()
        serve = scene.serve()
    # A member that has left the family keeps what was accepted before.
    scene.more["families"] = {"all": ["android"]}
    serve.reload()
    monitor = Monitor(serve, since=0)
    serve.verb("resume", "shop")
    for number in range(20):
        assert completed(monitor, f"m{number}")["shop"] == (1, 2), number
    assert len([push for push in scene.simulator.received() if push["token"] == token(5)]) == 20
    producer = Producer(serve)
    assert producer.push(envelope("less"))["apps"] == {"android": "accepted"}
    serve.stop()


main({"life": life, "outage": outage})
