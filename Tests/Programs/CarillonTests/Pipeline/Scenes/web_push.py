"""Web Push to the simulated push service, which decrypts what it gets as browsers do."""
import json
from harness import control, main, Monitor, Producer, Scene, until, verb

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


def subscribe(scene, count):
    answer = scene.simulator.ask(f"/subscriptions?count={count}", "POST")
    return [json.loads(line) for line in answer.splitlines()]


def name(subscription):
    return subscription["endpoint"].rsplit("/", 1)[1]


def received(scene):
    lines = scene.simulator.ask("/webpush/received?limit=100000").splitlines()
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


main({"fates": fates})
