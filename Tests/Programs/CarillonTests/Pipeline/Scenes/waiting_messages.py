"""Messages that wait, and messages that must not wait for them."""
import json, signal, time
from harness import control, main, Monitor, note, pick, Producer, Scene, token, unreachable_app, until


def unreachable_apps():
    """Five apps with unreachable push services have more messages than memory holds; a sixth app still sends."""
    scene = Scene()
    dead = [f"dead{n}" for n in range(5)]
    for name in dead:
        scene.apps[name] = unreachable_app(scene, name)
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, "message/shop/completed")
    # The first app has the most messages; each further app gets its share of the room that is left.
    for name, counts in zip(dead, [(17000, 3500), (1500, 600), (400, 400), (200, 200), (200, 200)]):
        for priority, count in zip((10, 5), counts):
            for start in range(0, count, 5000):
                statuses = producer.batch([
                    note(f"{name}-{priority}-{n}", token(n), app=name, priority=priority)
                    for n in range(start, min(start + 5000, count))])
                assert set(pick(statuses, "status")) == {"accepted"}
    for priority in (10, 5):
        names = [f"alive-{priority}-{n}" for n in range(500)]
        statuses = producer.batch([note(name, token(n), priority=priority) for n, name in enumerate(names)])
        assert set(pick(statuses, "status")) == {"accepted"}
        done = monitor.completed(*names)
        assert all(done[name]["sent"] == 1 for name in names)
    serve.kill()


def dropped_messages():
    """Messages of an app with an unusable credential wait until an operator drops them."""
    scene = Scene()
    gone = scene.app("gone")
    scene.apps["gone"] = {**gone, "credential": {**gone["credential"], "key": scene.path("nowhere.p8")}}
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    statuses = producer.batch([note(f"m{n}", token(n), app="gone") for n in range(3000)])
    assert set(pick(statuses, "status")) == {"accepted"}
    status, answer = control(serve, "POST", "/v1/backlog/shop/drop")
    assert status == 409 and answer["code"] == "conflict", answer
    status, answer = control(serve, "POST", "/v1/backlog/gone/drop")
    assert status == 200 and answer["messages"] == 3000, answer
    done = monitor.completed(*(f"m{n}" for n in range(3000)))
    assert all(counts["sent"] == 0 for counts in done.values())
    assert {e["reason"] for e in monitor.of("message/rejected")} == {"dropped"}
    assert control(serve, "POST", "/v1/backlog/never/drop")[0] == 409
    assert control(serve, "GET", "/v1/stats")[1]["backlog"]["waiting"] == 0
    serve.stop()


def obstacle(serve, name):
    """Returns what the message says about why it has not gone out."""
    status, message = control(serve, "GET", f"/v1/messages/{name}")
    assert status == 200, message
    return message.get("obstacle", {})


def await_obstacle(serve, name, code):
    """Returns the obstacle as soon as it is this one, with what the trace says about it."""
    found = until(lambda: (found := obstacle(serve, name)).get("code") == code and found, 0.05)
    return found, serve.verb("trace", name)


def message_obstacles():
    """A message that has not gone out says why, and when the next attempt is, over HTTP and in its trace."""
    scene = Scene()
    # A connection on which one request has no answer holds up others, so that it has an app of its own.
    scene.apps["away"], scene.apps["quiet"] = unreachable_app(scene, "away"), scene.app("quiet")
    scene.simulator.faults(
        {"match": {"token": "aa*"}, "silence": True},
        {"match": {"token": "bb*"}, "answer": {"status": 429, "reason": "TooManyRequests", "retry_after": 3600}})
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    for name, (to, more) in {
        "silent": (token(1, "aa"), {"app": "quiet"}), "later": (token(2), {"not_before": int(time.time()) + 3600}),
        "refused": (token(3, "bb"), {}), "alone": (token(4), {"app": "away"}), "fine": (token(5), {})}.items():
        assert producer.push(note(name, to, **more))["status"] == "accepted", name
    monitor.completed("fine")
    assert obstacle(serve, "fine") == {}
    # Each has its own reason; times are those of the next attempt, in milliseconds.
    now = time.time() * 1000
    found, text = await_obstacle(serve, "silent", "unanswered")
    assert "1 delivery is at the gateway, no answer yet, for " in text and found["since_at"] < now, (found, text)
    found, text = await_obstacle(serve, "later", "scheduled")
    assert 0 < found["next_attempt_at"] - now <= 3_600_000 and "; next attempt in " in text, (found, text)
    found, text = await_obstacle(serve, "refused", "retry")
    assert found["next_attempt_at"] > now and "waits for attempt 2; next attempt in " in text, (found, text)
    found, text = await_obstacle(serve, "alone", "connection")
    assert "nothing listens" in found["detail"] and ("away: no connection is open" in text or "breaker open" in text), text
    # What holds up all messages of an app comes first.
    serve.verb("pause", "shop")
    assert producer.push(note("held", token(6)))["status"] == "accepted"
    found, text = await_obstacle(serve, "held", "paused")
    assert found["since_at"] and "an operator has paused the app shop, for " in text, (found, text)
    serve.verb("resume", "shop")
    monitor.completed("held")
    # Nothing was sent, because the user has no active device; because the message was cancelled in time.
    serve.verb("devices", "add", "shop", token(7), "--user", "ada")
    device = json.loads(serve.verb("devices", "list", "--app", "shop", "--user", "ada", "--json"))["device"]
    serve.verb("devices", "deactivate", device)
    assert producer.push({"id": "nobody", "app": "shop", "to": {"users": ["ada"]}, "alert": "Hi"})["status"] == "accepted"
    monitor.completed("nobody")
    found, text = await_obstacle(serve, "nobody", "no_devices")
    assert "the user ada has 0 active and 1 inactive (by_hand" in text and "Nothing was sent" in text, text
    early = {"id": "early", "app": "shop", "to": {"all": True}, "alert": "Hi", "not_before": int(time.time()) + 3600}
    assert producer.push(early)["status"] == "accepted"
    assert "its devices had not been looked up" in serve.verb("messages", "cancel", "early")
    monitor.completed("early")
    found, text = await_obstacle(serve, "early", "cancelled")
    assert "cancelled before its devices were looked up" in text, text
    scene.simulator.faults()
    serve.signal(signal.SIGTERM)
    serve.end()


if __name__ == "__main__":
    main(globals())
