"""FCM that fails in every way: the simulated one, with a fault script and a kill."""
import json
from harness import control, main, Monitor, Producer, Scene, until

COUNT = 300
DEAD = ["UNREGISTERED-1", "SENDER_ID_MISMATCH-1", "INVALID_ARGUMENT-1"]
LIVE = [f"phone-{number}" for number in range(COUNT)]


def start():
    scene = Scene("--fcm-port", "0")
    places = scene.simulator.places
    scene.apps["android"] = {
        "service": "fcm", "credential": {"service_account": places["service_account"]},
        "endpoint": {"host": "127.0.0.1", "port": int(places["fcm"]), "trust": places["ca"]}}
    return scene


def rules(scene, *rules_):
    scene.simulator.ask("/fcm/faults", "PUT", json.dumps({"rules": rules_}))


def answer(every, times, status, reason, **more):
    return {"match": {"every": every}, "times": times, "answer": {"status": status, "reason": reason, **more}}


def taken(scene):
    """Returns the messages that phones got."""
    lines = [json.loads(line) for line in scene.simulator.ask("/fcm/received").splitlines()]
    return [line for line in lines if "name" in line]


def faults():
    """A message to all while FCM fails: all that live get it, and no answer but those about devices ends one."""
    scene = start()
    serve = scene.serve()
    for name in LIVE + DEAD:
        status, answer_ = control(serve, "POST", "/v1/apps/android/devices", {"token": name})
        assert status == 201, (status, answer_)
    rules(
        scene, {"latency": "20ms"}, {"match": {"every": 50}, "reset": "REFUSED_STREAM"},
        {"match": {"every": 53}, "times": 3, "reset": "INTERNAL_ERROR"},
        {"match": {"every": 97}, "times": 2, "close": True}, {"match": {"every": 67}, "times": 3, "goaway": {}},
        answer(29, 5, 503, "UNAVAILABLE"), answer(31, 5, 500, "INTERNAL"), answer(37, 3, 502, "HTML"),
        answer(41, 3, 503, "GARBAGE"), answer(43, 3, 503, "HUGE"),
        answer(47, 3, 429, "QUOTA_EXCEEDED", retry_after=1), answer(71, 1, 401, "ACCESS_TOKEN_EXPIRED"))
    producer = Producer(serve)
    message = {"id": "all", "app": "android", "to": {"all": True}, "alert": {"title": "Hello", "body": "Grüße"}}
    assert producer.push(message)["status"] == "accepted"
    producer.close()
    until(lambda: len(taken(scene)) >= COUNT // 4)
    serve.kill()
    before = len(taken(scene))
    serve = scene.serve()
    monitor = Monitor(serve, since=0)
    counts = {key: value for key, value in monitor.completed("all")["all"].items() if value}
    assert counts == {"sent": COUNT, "rejected": len(DEAD)}, counts
    ended = monitor.of("device/deactivated")
    assert sorted(event["reason"] for event in ended) == ["INVALID_TOKEN", "SENDER_ID_MISMATCH", "UNREGISTERED"], ended
    got = taken(scene)
    assert {line["target"] for line in got} == set(LIVE), set(LIVE) ^ {line["target"] for line in got}
    # A second copy goes out only after an unknown outcome, or after the kill for what was not recorded before, and
    # replaces the first on the phone.
    unknown = len(monitor.of("delivery/unknown"))
    assert len(got) - COUNT <= unknown + before, (len(got), unknown, before)
    assert {line["message"]["android"]["notification"]["tag"] for line in got} == {"all"}
    reasons = {(event.get("status"), event.get("reason")) for event in monitor.of("delivery/retry")}
    assert {(503, "UNAVAILABLE"), (500, "INTERNAL"), (502, None), (503, None)} <= reasons, reasons
    serve.stop()


main({"faults": faults})
