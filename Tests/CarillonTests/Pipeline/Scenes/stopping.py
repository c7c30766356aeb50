"""Stops, restarts and reloads."""
import json, signal
from ground import apns_id, main, Monitor, note, pick, Producer, replay, Scene, token, until


def drained():
    """SIGTERM under load waits for deliveries in flight; the next process sends the rest, each once."""
    scene = Scene()
    scene.simulator.faults({"latency": {"fixed": "300ms", "spread": "200ms"}})
    scene.apps["shop"]["gateway"]["connections"] = {"min": 1, "max": 1}
    serve = scene.serve()
    producer = Producer(serve)
    statuses, first = [], []
    # On a busy machine all messages may be completed by now; then there must be more.
    while len(statuses) < 4000 or len(first) == len(statuses):
        start = len(statuses)
        statuses += producer.batch([note(f"m{n}", token(n)) for n in range(start, start + 500)])
        if len(statuses) >= 4000:
            first = set(pick(replay(serve, prefix="message/shop/completed")[0], "message_id"))
    assert set(pick(statuses, "status")) == {"accepted"}
    serve.signal(signal.SIGTERM)
    serve.line("draining")
    assert serve.end() == 0, serve.lines[-20:]
    assert serve.lines[-1:] and serve.said("stopped"), serve.lines[-5:]
    serve = scene.serve()
    monitor = Monitor(serve, since=0)
    done = monitor.completed(*pick(statuses, "id"))
    assert all(e["sent"] == 1 for e in done.values())
    count = len(statuses)
    assert len(monitor.wait("message/completed", count=count)) == len(monitor.wait("delivery/sent", count=count)) == count
    taken = scene.simulator.accepted()
    assert len(taken) == len(set(taken)) == count, (len(taken), len(set(taken)))
    serve.stop()


def insisted():
    """The push service does not respond: SIGTERM waits, `/readyz` is not ready, a second SIGTERM ends the process."""
    scene = Scene()
    scene.simulator.faults({"match": {"token": "aa*"}, "silence": True})
    serve = scene.serve("--drain", "1h")
    producer = Producer(serve)
    assert serve.become_ready()["ready"]
    producer.push(note("stuck", token(1, "aa")))
    until_received(scene, 1)
    serve.signal(signal.SIGTERM)
    serve.line("draining")
    assert serve.become_ready("intake is closed")["reason"] == "intake is closed"
    serve.signal(signal.SIGTERM)
    assert serve.end() == 1, serve.lines[-20:]
    # The outcome is unknown, so the notification is sent again with the same apns-id.
    scene.simulator.faults()
    serve = scene.serve()
    done = Monitor(serve, since=0).completed("stuck")["stuck"]
    assert done["sent"] == 1, done
    ids = [r["id"].lower() for r in scene.simulator.received()]
    assert set(ids) == {apns_id("shop", "stuck", token(1, "aa"))}, ids
    serve.stop()


def overdue():
    """The push service does not respond until the drain times out: the log reports it, also at the next start."""
    scene = Scene()
    scene.more = {"log": {"format": "json"}}
    scene.simulator.faults({"match": {"token": "aa*"}, "silence": True})
    serve = scene.serve("--drain", "0s")
    Producer(serve).push(note("stuck", token(1, "aa")))
    until_received(scene, 1)
    serve.stop()
    ending = json.loads(serve.said('"event":"carillon.drained"')[-1])
    assert ending["message"] == "drain timed out: 1 delivery is unanswered" and ending["unanswered"] == 1, ending
    scene.simulator.faults()
    serve = scene.serve(up=False)
    start = json.loads(serve.line('"event":"carillon.recovered"'))
    assert start["message"] == ("recovered 1 message after a stop that did not wait for all answers, "
                                "up to 1 delivery may arrive twice"), start
    assert Monitor(serve, since=0).completed("stuck")["stuck"]["sent"] == 1
    serve.stop()
    assert json.loads(serve.said('"event":"carillon.drained"')[-1])["message"] == "drained", serve.lines[-5:]
    serve = scene.serve(up=False)
    serve.stop()
    assert not serve.said("carillon.recovered"), serve.lines


def until_received(scene, count):
    until(lambda: len(scene.simulator.received()) >= count)


def mended():
    """Messages of an app with an unusable credential wait; they are sent after the credential is fixed and SIGHUP."""
    scene = Scene()
    late = scene.app("late")
    good = late["credential"]
    late["credential"] = {**good, "key": scene.path("nowhere.p8")}
    scene.apps["late"] = late
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    statuses = producer.batch([note(f"m{n}", token(n), app="late") for n in range(50)])
    assert set(pick(statuses, "status")) == {"accepted"}
    producer.push(note("other", token(1)))
    monitor.completed("other")
    status, answer = serve.ready()
    assert status == 503 and [a["ready"] for a in answer["apps"]] == [False, True], answer
    assert not monitor.of("delivery/sent", "m0")
    assert Monitor(serve, "credential/late/", since=0).wait("credential/failed")[0]["reason"] == "unusable"
    late["credential"] = good
    serve.reload()
    done = monitor.completed(*pick(statuses, "id"))
    assert sum(e["sent"] for e in done.values()) == 51
    assert monitor.wait("credential/rotated")[0]["app"] == "late"
    # A message for an unknown app is rejected before the reload that adds the app, and accepted after it.
    assert producer.push(note("new", token(1), app="new"))["reason"] == "unknown_app"
    scene.apps["new"] = scene.app("new")
    serve.reload()
    status = producer.push(note("new", token(1), app="new"))
    assert status["status"] == "accepted", (status, serve.lines[-10:])
    assert monitor.completed("new")["new"]["sent"] == 1
    # An app that is removed keeps its waiting messages until it returns.
    scene.simulator.faults({
        "match": {"topic": "com.example.new"}, "times": 1,
        "answer": {"status": 429, "reason": "TooManyRequests", "retry_after": 1}})
    assert producer.push(note("kept", token(2), app="new"))["status"] == "accepted"
    monitor.wait("delivery/retry", "kept")
    app = scene.apps.pop("new")
    serve.reload()
    assert producer.push(note("gone", token(2), app="new"))["reason"] == "unknown_app"
    scene.apps["new"] = app
    serve.reload()
    assert monitor.completed("kept")["kept"]["sent"] == 1
    serve.stop()


if __name__ == "__main__":
    main(globals())
