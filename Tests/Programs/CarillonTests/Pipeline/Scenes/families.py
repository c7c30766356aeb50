"""Families: one message for the apps of a product on all platforms, at simulated push services."""
import json, time
from harness import control, main, Monitor, Producer, ROOM, Scene, SIZE, until
from http_requests import Door
from raw_http import make_key

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
    counts = control(serve, "GET", "/v1/messages/once?app=all", None)[1]
    assert (counts["counts"]["preferred"], counts["counts"]["suppressed"]) == (3, 3), counts
    assert [one["counts"].get("preferred") for one in counts["members"]] == [1, 2, None], counts
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


def cancel(producer, name, app="all"):
    producer.send("cancel/1", {"id": name, "app": app})
    kind, (status,) = producer.answer()
    assert kind == "ack/1" and status["id"] == name, (kind, status)
    return status


def lookup():
    """Under the name of a family, a message is one: looked up, traced and cancelled, with what became of each member."""
    scene = family()
    serve = scene.serve()
    serve.become_ready()
    people(serve)
    door = Door(serve, control=True)
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(envelope("sent", prefer=["android"]))
    completed(monitor, "sent")
    for path in ("/v1/messages/sent?app=all", "/v1/apps/all/messages/sent"):
        found = door.ask("GET", path).json
        assert (found["app"], found["state"], found["counts"]["sent"], found["counts"]["suppressed"]) == (
            "all", "completed", 5, 3), found
        assert [(one["app"], one["counts"]["sent"]) for one in found["members"]] == [
            ("shop", 2), ("tablet", 0), ("android", 3)], found
    story = door.ask("GET", "/v1/trace?message=sent&app=all").json
    assert story["complete"] and {event["app"] for event in story["events"]} == set(FAMILY), story
    assert [event["seq"] for event in story["events"]] == sorted(event["seq"] for event in story["events"]), story
    # Its deliveries are those of all members, in the order of their ends, page by page.
    listed, after = [], ""
    while after is not None:
        page = door.ask("GET", f"/v1/apps/all/messages/sent/deliveries?limit=2{after and f'&after={after}'}").json
        listed, after = listed + page["deliveries"], page["next"]
        assert len(page["deliveries"]) <= 2, page
    assert [one["seq"] for one in listed] == sorted(one["seq"] for one in listed), listed
    assert sorted(one["app"] for one in listed) == ["android"] * 3 + ["shop"] * 2, listed
    (one,) = door.ask("GET", "/v1/apps/shop/messages/sent/deliveries?limit=1").json["deliveries"]
    assert "app" not in one, one
    assert door.ask("GET", "/v1/apps/all/messages/never/deliveries").status == 404
    refused = door.ask("GET", "/v1/messages/sent")
    assert refused.status == 422 and "or the family all" in refused.json["detail"], refused
    assert door.ask("GET", "/v1/messages/never?app=all").status == 404
    shown = serve.verb("messages", "sent", "--app", "all")
    assert all(word in shown for word in ("all", *FAMILY, "5 sent")), shown
    assert "tablet" in serve.verb("trace", "sent", "--app", "all")

    # One member is complete, one waits, and a third never had the message.
    serve.verb("pause", "shop")
    for app in ("shop", "android"):
        assert producer.push({**envelope("half"), "app": app})["status"] == "accepted"
    completed(monitor, "half", 1)
    assert door.ask("GET", "/v1/messages/half?app=all").json["state"] == "waiting"
    statuses = {"shop": "cancelled", "tablet": "unknown_message", "android": "too_late"}
    expected = cancel(producer, "half")
    assert (expected["status"], expected["sent"], expected["apps"]) == ("cancelled", 0, statuses), expected
    for _ in range(2):
        serve.kill()
        serve = scene.serve()
        producer, door = Producer(serve), Door(serve, control=True)
        assert cancel(producer, "half") == expected
    answer = door.ask("POST", "/v1/apps/all/messages/half/cancel").json
    assert answer["apps"] == statuses and answer["status"] == "cancelled", answer
    assert answer["counts"] == {"shop": {"sent": 0, "cancelled": answer["cancelled"]}}, answer
    assert door.ask("GET", "/v1/messages/half?app=all").json["state"] == "cancelled"
    late = dict.fromkeys(FAMILY, "too_late")
    assert cancel(producer, "sent") == {"id": "sent", "status": "too_late", "apps": late}
    refused = door.ask("POST", "/v1/apps/all/messages/sent/cancel")
    assert refused.status == 409 and refused.json["code"] == "too_late", refused
    assert cancel(producer, "never")["reason"] == "unknown_message"
    assert door.ask("POST", "/v1/apps/all/messages/never/cancel").status == 404
    assert producer.push(envelope("whole", not_before=int(time.time()) + 86_400))["status"] == "accepted"
    assert "3 apps" in serve.verb("messages", "cancel", "whole", "--app", "all")
    assert door.ask("GET", "/v1/messages/whole?app=all").json["state"] == "cancelled"
    serve.stop()


def audience():
    """The audience of a family is counted for each member and service, as a message would choose it."""
    scene = family()
    scene.more["intake"] = {"router": "ipc://" + scene.path("intake"), "pull": "off"}
    serve = scene.serve()
    serve.become_ready()
    people(serve)
    door = Door(serve, control=True)

    def count(to, **more):
        answer = door.ask("POST", "/v1/audience", {"app": "all", "to": to, **more})
        assert answer.status == 200, answer
        return answer.json["count"], [(one["app"], one["service"], one["count"], one.get("preferred"))
                                      for one in answer.json["members"]]

    assert count({"all": True}) == (
        8, [("shop", "apns", 3, None), ("tablet", "apns", 2, None), ("android", "fcm", 3, None)])
    assert count({"all": True}, prefer=["android"]) == (
        5, [("shop", "apns", 2, 1), ("tablet", "apns", 0, 2), ("android", "fcm", 3, None)])
    assert count({"users": ["cleo"]}, prefer=["tablet"]) == (
        1, [("shop", "apns", 0, 1), ("tablet", "apns", 1, None), ("android", "fcm", 0, 0)])
    for prefer in (["other"], [], "shop", ["shop", "shop"]):
        answer = door.ask("POST", "/v1/audience", {"app": "all", "to": {"all": True}, "prefer": prefer})
        assert answer.status == 422 and answer.json["errors"][0]["pointer"] == "/prefer", answer
    answer = door.ask("POST", "/v1/audience", {"app": "shop", "to": {"all": True}, "prefer": ["shop"]})
    assert answer.status == 422, answer
    shown = serve.verb("send", "--app", "all", "--user", "ada", "--body", "Hi", "--prefer", "android", "--dry-run")
    assert "1 device" in shown and "fcm" in shown and "tablet" in shown, shown
    serve.stop()


def hostile():
    """Members that leave while their messages wait, names that change hands, families with common members, and keys for
    some of the members."""
    scene = family()
    scene.more["families"]["pair"] = ["tablet", "shop"]
    serve = scene.serve()
    serve.become_ready()
    people(serve)
    producer, monitor = Producer(serve), Monitor(serve)
    # Two families with common members are the same messages there.
    assert producer.push(envelope("common"))["status"] == "accepted"
    shared = producer.push({**envelope("common"), "app": "pair"})
    assert (shared["status"], shared["apps"]) == ("duplicate", {"tablet": "duplicate", "shop": "duplicate"}), shared
    assert producer.push({**envelope("other"), "app": "pair"})["status"] == "accepted"
    status = producer.push(envelope("other"))
    assert status["apps"] == {"shop": "duplicate", "tablet": "duplicate", "android": "accepted"}, status
    assert producer.push({**envelope("other", badge=1), "app": "pair"})["reason"] == "id_conflict"
    for name in ("common", "other"):
        assert completed(monitor, name) == {"shop": (3, 0), "tablet": (2, 0), "android": (3, 0)}

    # A key for one member neither sends to the family nor sees or cancels its messages, and learns no other name.
    limited, former = (make_key(serve, f"limited-{number}", "push", "observe", apps=[app])
                       for number, app in enumerate(("shop", "tablet")))
    door = Door(serve, bearer=f"{limited.id}.{limited.secret}")
    for method, path, body in (
            ("POST", "/v1/messages", envelope("stolen")), ("GET", "/v1/messages/common?app=all", None),
            ("GET", "/v1/apps/all/messages/common", None),
            ("GET", "/v1/apps/all/messages/common/deliveries", None), ("GET", "/v1/trace?message=common&app=all", None),
            ("GET", "/v1/trace?activity=x&app=all", None),
            ("POST", "/v1/apps/all/messages/common/cancel", None),
            ("POST", "/v1/audience", {"app": "all", "to": {"all": True}})):
        answer = door.ask(method, path, body)
        assert answer.status == 403 and b"tablet" not in answer.body and b"android" not in answer.body, answer
    answer = door.ask("GET", "/v1/trace?activity=x&app=android")
    assert answer.status == 403 and b"tablet" not in answer.body, answer

    # A member leaves the configuration with messages that wait, under a family that is renamed.
    serve.verb("pause", "tablet")
    assert producer.push(envelope("left"))["status"] == "accepted"
    completed(monitor, "left", 2)
    tablet = scene.apps.pop("tablet")
    scene.more["families"] = {"rest": ["shop", "android"]}
    serve.reload()
    assert producer.push(envelope("left"))["reason"] == "unknown_app"
    again = producer.push({**envelope("left"), "app": "rest"})
    assert (again["status"], again["apps"]) == ("duplicate", {"shop": "duplicate", "android": "duplicate"}), again
    door = Door(serve, control=True)
    assert door.ask("GET", "/v1/messages/left?app=rest").json["counts"]["sent"] == 6
    assert door.ask("GET", "/v1/apps/tablet/messages/left").json["state"] == "waiting"

    # The name of the member becomes that of a family: the family's rules hold, and the old message is nobody else's.
    scene.more["families"] = {"tablet": ["shop", "android"]}
    serve.reload()
    door = Door(serve, bearer=f"{former.id}.{former.secret}")
    answer = door.ask("POST", "/v1/messages", {**envelope("name"), "app": "tablet"})
    assert answer.status == 403 and b"shop" not in answer.body, answer
    assert door.ask("POST", "/v1/apps/tablet/messages/common/cancel").status == 403

    # The name of a family is that of a new app: the reload is refused, and what was valid stays in force.
    scene.more["families"] = {"rest": ["shop", "android"]}
    serve.reload()
    scene.apps["rest"] = scene.app("rest")
    serve.scene.configure()
    refused = " ".join(serve.verb("reload", code=1).split())
    assert "rest is the name of an app" in refused, refused
    assert set(producer.push({**envelope("still"), "app": "rest"})["apps"]) == {"shop", "android"}
    del scene.apps["rest"]

    # The member comes back, and what waited is sent to it, also after a kill.
    scene.apps["tablet"] = tablet
    scene.more["families"] = {"all": FAMILY}
    serve.kill()
    serve = scene.serve()
    serve.verb("resume", "tablet")
    door = Door(serve, control=True)
    until(lambda: door.ask("GET", "/v1/messages/left?app=all").json["state"] == "completed")
    found = door.ask("GET", "/v1/messages/left?app=all").json
    assert {one["app"]: one["counts"]["sent"] for one in found["members"]} == {"shop": 3, "tablet": 2, "android": 3}
    assert not [line for line in scene.simulator.received() if "stolen" in json.dumps(line)]
    serve.stop()


def crowd():
    """Everybody has all apps, in three locales: a message to a tag, killed in its middle, reaches each address or each
    user once, in the words of its locale, and the memory does not grow with what is registered."""
    count = 3000 * SIZE
    locales = ["en", "de", "fr"]
    scene = family()
    # All at Apple, whose simulator counts each notification, however many there are.
    scene.apps["android"] = scene.app("android")
    serve = scene.serve()
    serve.become_ready()
    door = Door(serve, control=True)
    for start in range(0, count, 300):
        devices = []
        for number in range(start, min(start + 300, count)):
            # Every second person is a fan, but on Android every fourth.
            for place, (app, every) in enumerate((("shop", 2), ("tablet", 2), ("android", 4))):
                devices.append({"app": app, "token": token(3 * number + place), "user": f"u{number}",
                                "locale": locales[number % 3], "tags": ["fan" if number % every == 0 else "other"]})
        assert door.ask("POST", "/v1/devices", {"devices": devices}).status == 200
    serve.kill()
    serve = scene.serve()
    serve.become_ready()
    before = peak = serve.resident
    words = {"alert": {"locales": {one: f"in {one}" for one in locales}, "default": "en"}}
    half, quarter = count // 2, count // 4
    for name, prefer, expected in (
            ("all", {}, {"shop": (half, 0), "tablet": (half, 0), "android": (quarter, 0)}),
            ("once", {"prefer": ["android", "tablet"]},
             {"shop": (0, half), "tablet": (half - quarter, quarter), "android": (quarter, 0)})):
        wanted = sum(sent for sent, _ in expected.values())
        assert Producer(serve).push(envelope(name, {"tags": "fan"}, **prefer, **words))["status"] == "accepted"
        door = Door(serve, control=True)

        def counts():
            nonlocal peak
            peak = max(peak, serve.resident)
            found = {app: door.ask("GET", f"/v1/apps/{app}/messages/{name}").json for app in FAMILY}
            return {app: (one["counts"]["sent"], one["counts"]["suppressed"], one["counts"]["unknown"], one["state"])
                    for app, one in found.items()}

        until(lambda: sum(one[0] for one in counts().values()) > wanted // 10, 0.05)
        serve.kill()
        serve = scene.serve(up=False)
        serve.become_ready()
        door = Door(serve, control=True)
        until(lambda: all(one[3] == "completed" for one in counts().values()), 0.2)
        assert {app: one[:2] for app, one in counts().items()} == expected, (counts(), expected)
        print(f"{name}: {wanted:,} sent")
    answers = json.loads(scene.simulator.ask("/counts"))
    print(answers, f"memory from {before >> 20} to {peak >> 20} MiB")
    assert answers["accepted"] - answers["accepted_again"] == 2 * half + 2 * quarter + half - quarter, answers
    for record in scene.simulator.received("&status=200&payload=true"):
        number = int(record["token"], 16) // 3
        assert record["payload"]["aps"]["alert"] == f"in {locales[number % 3]}", record
    assert peak - before < ROOM, (before, peak)
    serve.stop()


if __name__ == "__main__":
    main({"life": life, "outage": outage, "lookup": lookup, "audience": audience, "hostile": hostile,
          "crowd": crowd})
