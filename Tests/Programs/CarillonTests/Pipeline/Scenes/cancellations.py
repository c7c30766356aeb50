"""Cancelled messages, and apps that an operator pauses."""
import json, time, zmq
from harness import (
    control, http, main, Monitor, note, Producer, push_before_expiry, replay, Scene, Simulator, token, until)


def cancel(producer, name, app="shop"):
    producer.send("cancel/1", {"id": name, "app": app})
    kind, (status,) = producer.answer()
    assert kind == "ack/1" and status["id"] == name, (kind, status)
    return status


def only(events, kind, name):
    """Returns the only event of a kind about a message."""
    found = [e for e in events if (e["family"], e["kind"]) == ("message", kind) and e.get("message_id") == name]
    assert len(found) == 1, (kind, name, found)
    return found[0]


def story(serve, name):
    return [e for e in replay(serve, prefix="message/shop/")[0] if e.get("message_id") == name]


def waiting_messages():
    """A scheduled message, a message of an app that cannot send, and one beyond the memory are cancelled, also after a
    restart and a kill; repeated requests get the same answer, and the id stays known."""
    scene = Scene()
    serve = scene.serve()
    producer = Producer(serve)
    later = note("later", token(1), token(2), token(2), not_before=int(time.time()) + 3600)
    assert producer.push(later)["status"] == "accepted"
    cancelled = {"id": "later", "status": "cancelled", "sent": 0, "cancelled": 2}
    assert cancel(producer, "later") == cancelled
    assert cancel(producer, "later") == cancelled
    backlog = control(serve, "GET", "/v1/stats")[1]["backlog"]
    assert backlog["scheduled"] == 0 and "next_due_at" not in backlog, backlog
    assert producer.push(later)["status"] == "duplicate"
    # Another audience of a cancelled id, and a repetition for devices that joined, do not go out either.
    assert producer.push({**later, "to": {"tokens": [token(3)]}})["status"] == "duplicate"
    assert producer.push({**later, "to": {"all": True}, "again": True})["status"] == "duplicate"
    assert producer.push({**later, "alert": "Other"})["reason"] == "id_conflict"

    scene.simulator.kill()
    serve.line("connection.down")
    names = [f"down-{n}" for n in range(25_000)]
    for start in range(0, len(names), 5000):
        statuses = producer.batch([note(name, token(n)) for n, name in enumerate(names[start:start + 5000])])
        assert {s["status"] for s in statuses} == {"accepted"}, statuses[:3]
    gone = [names[0], names[1], names[12_000], names[-1]]
    for name in gone[:3]:
        assert cancel(producer, name) == {"id": name, "status": "cancelled", "sent": 0, "cancelled": 1}
    serve.kill()
    serve = scene.serve(up=False)
    producer, monitor = Producer(serve), Monitor(serve, "message/")
    assert cancel(producer, "later") == cancelled
    for name in gone[:3] + gone[3:]:
        assert cancel(producer, name) == {"id": name, "status": "cancelled", "sent": 0, "cancelled": 1}
    assert cancel(producer, "never")["reason"] == "unknown_message"
    scene.simulator = Simulator(scene.path("simulator"), ports=scene.simulator.ports)
    # A subscriber may miss events of a burst; replay has all of them.
    count = since = 0
    while count < len(names) + 1:
        monitor.wait_for_heartbeat()
        events, end = replay(serve, since=since, prefix="message/shop/completed")
        count, since = count + len(events), end["next"]
    assert len(scene.simulator.accepted()) == len(names) - len(gone)
    told = replay(serve, prefix="message/shop/")[0]
    for name in gone + ["later"]:
        events = [event for event in told if event.get("message_id") == name]
        done = only(events, "completed", name)
        assert done["counts"]["cancelled"] == (2 if name == "later" else 1) and done["counts"]["sent"] == 0, done
        assert only(events, "cancelled", name)["seq"] < done["seq"]
    shown = json.loads(serve.verb("messages", "later", "--json"))
    assert shown["state"] == "cancelled" and shown["counts"]["cancelled"] == 2, shown
    assert cancel(producer, names[5]) == {"id": names[5], "status": "too_late"}
    assert serve.verb("messages", "cancel", names[5], "--app", "shop", code=1)
    serve.stop()


def partial_broadcast():
    """A broadcast that is half out stops: what the push service got is what the answer counts."""
    scene = Scene()
    scene.apps["shop"]["gateway"]["connections"] = {"min": 1, "max": 1}
    # All of it would take 40 seconds, so that the request to cancel comes in its midst also on a busy machine.
    scene.simulator.faults({"on": "request", "latency": "1s"})
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(note("wide", *[token(n) for n in range(40_000)]))
    monitor.wait("delivery/sent", "wide")
    answer = cancel(producer, "wide")
    assert answer["status"] == "cancelled" and answer["sent"] + answer["cancelled"] == 40_000, answer
    assert 0 < answer["sent"] < 40_000, answer
    counts = monitor.completed("wide")["wide"]
    assert counts["sent"] == answer["sent"] and counts["cancelled"] == answer["cancelled"], (counts, answer)
    assert len(scene.simulator.accepted()) == answer["sent"], answer
    assert cancel(producer, "wide") == answer
    # A retry with back-off does not start either.
    scene.simulator.faults({"match": {"token": "cc*"}, "answer": {"status": 503, "reason": "Shutdown"}})
    producer.push(note("again", token(1, "cc")))
    monitor.wait("delivery/retry", "again")
    assert cancel(producer, "again") == {"id": "again", "status": "cancelled", "sent": 0, "cancelled": 1}
    assert monitor.completed("again")["again"]["cancelled"] == 1
    (event,) = monitor.wait("message/cancelled", "again")
    assert event["sent"] == 0 and event["cancelled"] == 1 and "by" not in event, event
    scene.simulator.faults()
    producer.push(note("next", token(9)))
    assert monitor.completed("next")["next"]["sent"] == 1
    assert cancel(producer, "next") == {"id": "next", "status": "too_late"}
    serve.stop()


def race_with_delivery():
    """Cancellations race with deliveries: each message is either sent or cancelled, and its answer is right."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    answers = {}
    names = [f"race-{n}" for n in range(2000)]
    for name in names:
        producer.send("push/1", note(name, token(len(answers))))
        producer.send("cancel/1", {"id": name, "app": "shop"})
    for _ in range(2 * len(names)):
        _, (status,) = producer.answer()
        if status["status"] != "accepted":
            answers[status["id"]] = status
    counts = monitor.completed(*names)
    for name in names:
        answer, count = answers[name], counts[name]
        gone = count["sent"], count.get("cancelled", 0)
        assert sum(gone) == 1, (name, count)
        if answer["status"] == "too_late":
            assert gone == (1, 0), (name, answer, count)
        else:
            assert (answer["sent"], answer["cancelled"]) == gone, (name, answer, count)
    sent = sum(c["sent"] for c in counts.values())
    assert len(scene.simulator.accepted()) == sent, sent
    assert {a["status"] for a in answers.values()} <= {"cancelled", "too_late"} and sent < len(names), sent
    completed = [e["message_id"] for e in replay(serve, prefix="message/shop/completed")[0]]
    assert len(completed) == len(set(completed)) == len(names)
    serve.stop()


def race_with_answer():
    """A cancellation that comes together with the answer: it says what happened, and the message is completed once."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    answers = {}
    for number in range(600):
        name = f"close-{number}"
        assert producer.push(note(name, token(number)))["status"] == "accepted"
        answers[name] = cancel(producer, name)
    counts = monitor.completed(*answers)
    for name, answer in answers.items():
        gone = counts[name]["sent"], counts[name].get("cancelled", 0)
        assert gone == ((1, 0) if answer["status"] == "too_late" else (answer["sent"], answer["cancelled"])), (
            name, answer, counts[name])
    completed = [e["message_id"] for e in replay(serve, prefix="message/shop/completed")[0]]
    assert len(completed) == len(set(completed)) == len(answers), sorted(completed)
    assert len(scene.simulator.accepted()) == sum(c["sent"] for c in counts.values())
    serve.stop()


def race_with_look_up():
    """Cancellations that come while devices are looked up or claimed: the answer, its event and `message.completed` have
    the same counts, and repeated requests get the same answer."""
    scene = Scene()
    serve = scene.serve()
    devices = [{"app": "shop", "token": token(number), "user": "ada"} for number in range(20)]
    assert control(serve, "POST", "/v1/devices", {"devices": devices})[0] == 200
    producer, monitor = Producer(serve), Monitor(serve)
    answers = {}
    for number in range(600):
        name = f"look-{number}"
        status = producer.push({"id": name, "app": "shop", "to": {"users": ["ada"]}, "alert": "Hello"})
        assert status["status"] == "accepted", status
        for _ in range(3):
            producer.send("cancel/1", {"id": name, "app": "shop"})
        answers[name], *repeated = (producer.answer()[1][0] for _ in range(3))
        assert repeated == [answers[name]] * 2, (name, answers[name], repeated)
    counts = monitor.completed(*answers)
    told = {event["message_id"]: event for event in replay(serve, prefix="message/shop/cancelled")[0]}
    stopped = [name for name, answer in answers.items() if answer["status"] != "too_late"]
    assert sorted(stopped) == sorted(told), (stopped, sorted(told))
    wrong = []
    for name in stopped:
        answer, event = answers[name], told[name]
        assert (event["sent"], event["cancelled"]) == (answer["sent"], answer["cancelled"]), (answer, event)
        if (counts[name]["sent"], counts[name].get("cancelled", 0)) != (answer["sent"], answer["cancelled"]):
            wrong.append((answer, counts[name]))
    assert not wrong, (len(wrong), len(stopped), wrong[:3])
    serve.stop()


def held_answers():
    """A push service that holds its answers: what waits for a stream does not start after a pause or a cancellation was
    answered, and the answer counts what had started."""
    scene = Scene("--streams", "20")
    scene.apps["shop"]["gateway"] |= {"connections": {"min": 1, "max": 1}, "answer_timeout": "10m"}
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    # The first answer lets the connection use all its streams.
    producer.push(note("first", token(1)))
    monitor.completed("first")
    scene.simulator.faults({"match": {"token": "bb*"}, "silence": True})
    producer.push(note("wide", *[token(number, "bb") for number in range(600)]))

    def streams():
        (connection,) = control(serve, "GET", "/v1/gateways/shop")[1]["connections"]
        return connection["in_flight"], connection["waiting"]

    until(lambda: streams() == (20, 16))
    serve.verb("pause", "shop")
    assert streams() == (20, 0), streams()
    serve.verb("resume", "shop")
    until(lambda: streams() == (20, 16))
    assert cancel(producer, "wide") == {"id": "wide", "status": "cancelled", "sent": 20, "cancelled": 580}
    assert streams() == (20, 0), streams()
    # Nothing ends the silent streams.
    serve.kill()


def kill():
    """A kill right after the ack: nothing of the message goes out afterwards, and it is completed once."""
    scene = Scene()
    scene.simulator.faults({"on": "request", "latency": "1s"})
    scene.apps["shop"]["gateway"]["connections"] = {"min": 1, "max": 1}
    for turn in range(4):
        serve = scene.serve(up=False)
        producer, monitor = Producer(serve), Monitor(serve)
        wide = note(f"wide-{turn}", *[token(n + 100_000 * turn) for n in range(20_000)])
        devices = set(wide["to"]["tokens"])
        assert producer.push(wide)["status"] == "accepted"
        if turn % 2:
            monitor.wait("delivery/sent", wide["id"])
        answer = cancel(producer, wide["id"])
        serve.kill()
        before = len([t for t in scene.simulator.accepted() if t in devices])
        assert before <= answer["sent"], (before, answer)
        serve = scene.serve()
        producer, monitor = Producer(serve), Monitor(serve, since=0)
        counts = monitor.completed(wide["id"])[wide["id"]]
        assert counts["cancelled"] == answer["cancelled"], (counts, answer)
        assert counts["sent"] + counts["unknown"] == answer["sent"], (counts, answer)
        assert producer.push(wide)["status"] == "duplicate"
        assert cancel(producer, wide["id"]) == answer
        producer.push(note(f"after-{turn}", token(7, "bb")))
        assert monitor.completed(f"after-{turn}")[f"after-{turn}"]["sent"] == 1
        only(story(serve, wide["id"]), "cancelled", wide["id"])
        only(story(serve, wide["id"]), "completed", wide["id"])
        after = len([t for t in scene.simulator.accepted() if t in devices])
        assert after <= answer["sent"], (before, after, answer)
        serve.stop()


def invalid_requests():
    """Requests that are no cancellations are refused with a reason, with and without a delimiter."""
    scene = Scene()
    serve = scene.serve()
    producer, request = Producer(serve), Producer(serve, kind=zmq.REQ)
    producer.push(note("known", token(1)))
    for frames, reason in [
        (["cancel/1"], "bad_frame"), (["cancel/1", {"id": "known", "app": "shop"}, "x"], "bad_frame"),
        (["cancel/1", "[1]"], "bad_json"), (["cancel/1", "{"], "bad_json"), (["cancel/1", {"app": "shop"}], "missing_field"),
        (["cancel/1", {"id": "known"}], "missing_field"), (["cancel/1", {"id": "known", "app": "bank"}], "unknown_app"),
        (["cancel/1", {"id": 7, "app": "shop"}], "bad_field"), (["cancel/1", {"id": "", "app": "shop"}], "bad_field"),
        (["cancel/1", {"id": "known", "app": "shop", "all": True}], "bad_field"),
        (["cancel/1", '{"id":"known","id":"known","app":"shop"}'], "bad_field"),
        (["cancel/1", {"id": "known", "app": "shop", "x": "y" * 5000}], "bad_json"),
        (["cancel/1", {"id": "never", "app": "shop"}], "unknown_message"),
    ]:
        for peer in (producer, request):
            peer.send(*frames)
            _, (status,) = peer.answer()
            assert status["status"] == "rejected" and status["reason"] == reason, (frames, status)
    def counted(metric, number):
        return f"carillon_intake_{metric} {number}" in http(serve.places["http"] + "/metrics")[1]
    assert counted('rejections_total{reason="unknown_message"}', 2)
    # Those over HTTP count, too.
    monitor = Monitor(serve, since=0)
    producer.push({**note("later", token(1)), "not_before": int(time.time()) + 86400})
    monitor.completed("known")
    for name, status in (("never", 404), ("known", 409), ("later", 200)):
        assert control(serve, "POST", f"/v1/apps/shop/messages/{name}/cancel", None)[0] == status, name
    until(lambda: counted('rejections_total{reason="unknown_message"}', 3)
          and counted('requests_total{status="too_late"}', 1)
          and counted('requests_total{status="cancelled"}', 1))
    serve.stop()


def paused_app():
    """A paused app sends nothing, also after a restart; others do. It accepts, and its messages expire."""
    scene = Scene()
    scene.apps["bank"] = scene.app("bank")
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    assert "paused by an operator" in serve.verb("pause", "shop")
    serve.line("app.paused")
    assert producer.push(note("wait", token(1)))["status"] == "accepted"
    push_before_expiry(producer, 4, "short", token(2))
    producer.push(note("other", token(3), app="bank"))
    assert monitor.completed("other")["other"]["sent"] == 1
    assert monitor.completed("short")["short"]["expired"] == 1
    status, answer = serve.ready()
    (shop,) = [a for a in answer["apps"] if a["app"] == "shop"]
    assert status == 503 and shop["reason"] == "paused by an operator", answer
    assert "paused_at" in json.loads(serve.verb("scale", "shop", "--json"))
    serve.stop()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(note("more", token(4), app="bank"))
    assert monitor.completed("more")["more"]["sent"] == 1
    assert sorted(scene.simulator.accepted()) == sorted([token(3), token(4)])
    # A message can be cancelled while its app is paused.
    producer.push(note("gone", token(5)))
    assert cancel(producer, "gone") == {"id": "gone", "status": "cancelled", "sent": 0, "cancelled": 1}
    assert json.loads(serve.verb("resume", "shop", "--json")).get("paused_at") is None
    assert monitor.completed("wait")["wait"]["sent"] == 1
    serve.become_ready()
    assert sorted(scene.simulator.accepted()) == sorted([token(1), token(3), token(4)])
    serve.verb("pause", "nowhere", code=65)
    serve.stop()


if __name__ == "__main__":
    main(globals())
