"""Live Activities from start to end, against phones that the simulator plays."""
import json, os
from harness import Child, control, main, Monitor, Producer, Scene, token, until

LONG = os.environ.get("CARILLON_LONG") is not None
START = {"type": "Delivery", "attributes": {"name": "order-1"}, "alert": {"title": "On its way", "body": "Soon"}}


def live(name, to, event, state=None, **more):
    return {"id": name, "app": "shop", "to": to,
            "live_activity": {"event": event, "content_state": {} if state is None else state, **more}}


def phone(scene, *types):
    """Returns the tokens of a new phone by kind."""
    answer = scene.simulator.ask("/phones", "POST", json.dumps(
        {"app": "com.example.shop", "kinds": ["alert"], "activity_types": list(types)}))
    answer = json.loads(answer)
    return answer["phone"], {one.get("activity_type", one["kind"]): one["token"] for one in answer["tokens"]}


def activities(scene):
    return [json.loads(line) for line in scene.simulator.ask("/activities?limit=10000").splitlines()]


def register(serve, token, name):
    return serve.verb("devices", "add", "shop", token, "--kind", "activity", "--activity", name, "--activity-type", "Delivery")


def life():
    """An activity is started, updated before and after its token is known, and ended; then nothing goes to it."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    _, tokens = phone(scene, "Delivery", "Match")
    serve.verb("devices", "add", "shop", tokens["alert"], "--user", "ada")
    for kind in "Delivery", "Match":
        serve.verb("devices", "add", "shop", tokens[kind], "--kind", "push_to_start", "--activity-type", kind, "--user", "ada")
    assert producer.push(live("start", {"users": ["ada"]}, "start", {"eta": 9}, **START))["status"] == "accepted"
    assert monitor.completed("start")["start"]["sent"] == 1
    (activity,) = activities(scene)
    assert activity["name"] == "order-1" and activity["content_state"] == {"eta": 9}, activity
    # The backend is faster than the app.
    to = {"activities": ["order-1"]}
    assert producer.push(live("early-1", to, "update", {"eta": 8}))["status"] == "accepted"
    assert producer.push(live("early-2", to, "update", {"eta": 7}))["status"] == "accepted"
    assert monitor.completed("early-1")["early-1"]["superseded"] == 1
    register(serve, activity["token"], "order-1")
    assert monitor.completed("early-2")["early-2"]["sent"] == 1
    (activity,) = activities(scene)
    assert activity["content_state"] == {"eta": 7} and activity["updates"]["shown"] == 1, activity
    assert producer.push(live("end", to, "end", {"eta": 0}))["status"] == "accepted"
    assert monitor.completed("end")["end"]["sent"] == 1
    (ended,) = monitor.wait("device/deactivated")
    assert ended["reason"] == "activity_ended", ended
    (activity,) = activities(scene)
    assert activity["state"] == "ended", activity
    # Until the registry has applied the event, the address is one that is not sent to.
    until(lambda: not control(serve, "GET", f"/v1/devices/{ended['device']}")[1]["active"])
    assert producer.push(live("late", to, "update"))["status"] == "accepted"
    late = monitor.completed("late")["late"]
    assert late["expired"] == 1, late
    assert monitor.of("delivery/expired")[-1]["reason"] == "no_address"
    assert len(scene.simulator.received()) == 3
    serve.stop()


def outage():
    """While Apple refuses everything, and with two kills: each activity gets its newest state once, and nothing older."""
    count, rounds = (10_000, 60) if LONG else (200, 8)
    # Nothing is in flight when Apple is back: what was, may have been taken although a newer state was accepted then.
    kills = {rounds // 2, rounds - 1}
    scene = Scene("--streams", "100")
    serve = scene.serve()
    with open(scene.path("addresses.jsonl"), "w") as file:
        for n in range(count):
            if n % 20 == 0:
                number, _ = phone(scene)
            answer = scene.simulator.ask("/activities", "POST", json.dumps(
                {"phone": number, "type": "Delivery", "attributes": {"name": f"order-{n}"}, "content_state": {"n": -1}}))
            file.write(json.dumps({
                "app": "shop", "token": json.loads(answer)["token"], "kind": "activity", "activity": f"order-{n}",
                "activity_type": "Delivery"}) + "\n")
    serve.verb("devices", "import", scene.path("addresses.jsonl"))
    scene.simulator.faults({"answer": {"status": 503, "reason": "ServiceUnavailable"}})
    accepted = []
    for number in range(rounds):
        producer = Producer(serve)
        for first in range(0, count, 1000):
            names = [f"{number}-{n}" for n in range(first, min(count, first + 1000))]
            statuses = producer.batch([
                live(name, {"activities": [f"order-{name.split('-')[1]}"]}, "update", {"n": number}) for name in names])
            assert all(status["status"] == "accepted" for status in statuses), statuses[0]
            accepted += names
        producer.close()
        if number in kills:
            serve.kill()
            if number == rounds - 1:
                scene.simulator.faults()
            serve = scene.serve()
    monitor = Monitor(serve, since=0)
    done = monitor.completed(*accepted)
    for name in accepted:
        counts = {outcome: n for outcome, n in done[name].items() if n}
        assert counts == ({"sent": 1} if name.startswith(f"{rounds - 1}-") else {"superseded": 1}), (name, counts)
    shown = activities(scene)
    assert len(shown) == count
    for activity in shown:
        updates = {key: n for key, n in activity["updates"].items() if n}
        assert activity["content_state"] == {"n": rounds - 1} and updates == {"shown": 1}, activity
    print(f"{len(accepted)} updates of {count} activities")
    serve.stop()


def commands():
    """One activity by the command line: a start, an update that is superseded, and an end, and all of it as one story."""
    scene = Scene()
    serve = scene.serve()
    _, tokens = phone(scene, "Delivery")
    serve.verb("devices", "add", "shop", tokens["Delivery"], "--kind", "push_to_start", "--activity-type", "Delivery",
               "--user", "ada")

    def act(what, state, *more, code=0):
        return serve.verb("activities", what, "order-1", "--app", "shop", "--state", json.dumps(state), *more, code=code)

    # It begins before there is anything, and ends with the activity.
    words = ["activities", "show", "order-1", "--app", "shop", "--follow", "--json", "--data", scene.data]
    following = Child(os.environ["CARILLON_PROGRAM"], *words)
    start = ["--type", "Delivery", "--user", "ada", "--title", "On its way"]
    assert "carillon activities show order-1 --app shop" in act("start", {"eta": 9}, *start)
    until(lambda: activities(scene))
    (activity,) = activities(scene)
    assert activity["name"] == "order-1" and activity["content_state"] == {"eta": 9}, activity
    assert "was accepted before" in act("start", {"eta": 9}, *start)
    # The app has not reported the token.
    for eta in 8, 7:
        act("update", {"eta": eta})
    register(serve, activity["token"], "order-1")
    until(lambda: activities(scene)[0]["content_state"] == {"eta": 7})
    following.heard('"registered"')
    serve.kill()
    following.heard("connection lost")
    serve = scene.serve()
    act("end", {"eta": 0}, "--dismiss")
    until(lambda: activities(scene)[0]["content_state"] == {"eta": 0})

    def show(*more):
        return serve.verb("activities", "show", "order-1", "--app", "shop", *more)

    until(lambda: "activity_ended" in show())
    assert all(words in " ".join(show().split()) for words in (
        "Live Activity order-1 of shop", "order-1-start", "for the Live Activity order-1",
        "a newer message for the Live Activity takes its place")), show()
    events = [json.loads(line) for line in show("--json").splitlines()]
    story = [f"{event['family']}.{event['kind']}" for event in events if event["family"] in ("delivery", "device")]
    assert story == ["delivery.sent", "delivery.superseded", "device.registered", "delivery.sent", "delivery.sent",
                     "device.deactivated"], events
    assert [event["seq"] for event in events] == sorted({event["seq"] for event in events}), "each event once, in order"
    assert following.end() == 0, following.lines
    assert [json.loads(line) for line in following.said('"seq"')] == events, following.lines
    # What was superseded is among the deliveries of its message.
    (superseded,) = [event for event in events if event["kind"] == "superseded"]
    path = f"/v1/apps/shop/messages/{superseded['message_id']}"
    (delivery,) = control(serve, "GET", path + "/deliveries")[1]["deliveries"]
    assert delivery["outcome"] == "superseded", delivery
    assert control(serve, "GET", path)[1]["activities"] == ["order-1"]
    # The story of a stopped Carillon, and what is refused.
    assert control(serve, "GET", "/v1/trace?activity=order-1")[0] == 422
    assert control(serve, "GET", f"/v1/trace?activity=order-1&app=shop&device={'0' * 32}")[0] == 422
    assert control(serve, "GET", "/v1/trace?activity=order-2&app=shop")[1] == {"events": [], "complete": True}
    for words, code in ((["start", "a", "--app", "shop", "--type", "T", "--user", "ada"], 64),
                        (["update", "a", "--app", "shop", "--state", "[]"], 64), (["end", "a"], 64),
                        (["update", "a", "--app", "nobody"], 65), (["show", "a", "--app", "shop"], 65),
                        (["show", "a", "--app", "nobody"], 65), (["show", "a", "--app", "nobody", "--follow"], 65),
                        (["update", "x" * 101, "--app", "shop"], 64), (["show", "x" * 128, "--app", "shop"], 65),
                        (["show", "x" * 129, "--app", "shop"], 64)):
        answer = serve.verb("activities", *words, code=code)
        assert ("nobody" in words) == ('there is no app "nobody"' in answer), answer
    # An activity is over, too, when its last address is removed.
    following = Child(os.environ["CARILLON_PROGRAM"], "activities", "show", "order-2", "--app", "shop", "--follow",
                      "--data", scene.data)
    following.heard("no event mentions the Live Activity order-2 of shop yet")
    register(serve, activity["token"], "order-2")
    following.heard("egistered")
    assert control(serve, "POST", "/v1/apps/shop/devices/remove", {"token": activity["token"]})[0] == 200
    assert following.end() == 0, following.lines
    serve.stop()
    assert "activity_ended" in show()


def unaddressed():
    """Ten thousand activities of which the registry has no address may wait. More is busy, at all doors and after a
    kill, until one of them is cancelled or has an address. An activity with an address is not."""
    scene = Scene()
    scene.apps["news"] = scene.app("news")
    serve = scene.serve()
    producer = Producer(serve)

    def update(name, activity, **more):
        return live(name, {"activities": [activity]}, "update", **more)

    number, _ = phone(scene)

    def open_activity(name):
        """Opens an activity on a phone, and registers its address."""
        opened = json.loads(scene.simulator.ask("/activities", "POST", json.dumps(
            {"phone": number, "type": "Delivery", "attributes": {"name": name}, "content_state": {}})))
        register(serve, opened["token"], name)

    open_activity("addressed")
    count, step = 10_000, 2000
    for first in range(0, count, step):
        # A message to two activities is one to each.
        statuses = producer.batch([
            live(f"u-{n}", {"activities": [f"order-{n}", f"order-{n + 1}"]}, "update")
            for n in range(first, first + step, 2)])
        assert all(status["status"] == "accepted" for status in statuses), statuses[-1]

    probes, asked = [], 0

    def is_busy():
        """Whether an update of another activity is busy. If it is not, the activity waits, too."""
        nonlocal asked, count
        asked += 1
        answer = producer.push(update(f"m-{asked}", f"more-{asked}"))
        assert answer["status"] in ("accepted", "busy"), answer
        if answer["status"] == "accepted":
            probes.append(f"m-{asked}")
            count += 1
        return answer["status"] == "busy"

    def cancel(name):
        producer.send("cancel/1", {"id": name, "app": "shop"})
        assert producer.answer()[1][0]["status"] == "cancelled"

    def reduce(most):
        nonlocal count
        while count > most:
            cancel(probes.pop())
            count -= 1

    # An activity counts from its look-up on, so that a few more may be accepted before.
    until(is_busy)
    assert producer.push(update("busy", "more"))["retry_after_ms"] == 10_000
    answer = serve.verb("activities", "update", "more", "--app", "shop", code=69)
    assert "the update is not accepted: Carillon is busy; try again in 10s" in answer and "{" not in answer, answer
    assert [one["status"] for one in producer.batch([update("busy", "more"), update("newer", "order-0")])] == [
        "busy", "accepted"]
    assert control(serve, "POST", "/v1/messages", update("busy", "more"))[0] == 503
    serve.heard("10000 Live Activities")
    # Other messages, and other apps, have room.
    assert producer.push({"id": "plain", "app": "shop", "to": {"tokens": [token(1)]}, "alert": "Hello"})[
        "status"] == "accepted"
    assert producer.push({**update("other", "more"), "app": "news"})["status"] == "accepted"
    serve.kill()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, since=0)
    until(is_busy)
    # The look-up follows the first refusal since the start.
    until(lambda: producer.push(
        live("addressed-end", {"activities": ["addressed"]}, "end"))["status"] in ("accepted", "duplicate"))
    assert monitor.completed("addressed-end")["addressed-end"]["sent"] == 1
    # A message to two activities leaves two.
    reduce(10_000)
    cancel("u-2")
    count -= 2
    until(lambda: not is_busy())
    until(lambda: not is_busy())
    until(is_busy)
    reduce(10_000)
    open_activity("order-9")
    assert monitor.completed("u-8")["u-8"]["sent"] == 1
    count -= 1
    until(lambda: not is_busy())
    until(is_busy)
    assert producer.push(update("known", "order-9", state={"n": 1}))["status"] == "accepted"
    assert monitor.completed("known")["known"]["sent"] == 1
    serve.stop()


if __name__ == "__main__":
    main({"life": life, "outage": outage, "unaddressed": unaddressed, "commands": commands})
