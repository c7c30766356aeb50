"""Limits of messages: remembered ids, tokens, bytes, levels of tag expressions, and the backlog of an app."""
import json, time
import zmq
from harness import context, http, keyed, main, Monitor, note, pick, Producer, ROOM, Scene, text, token


def remembered_ids():
    """At the maximum number of remembered ids, new ids are busy, known ids are duplicates, and the log reports it."""
    scene = Scene()
    scene.more["dedupe"] = {"limit": 1000}
    serve = scene.serve()
    producer = Producer(serve)
    notes = [note(f"m{n}", token(n)) for n in range(1010)]
    statuses = pick([answer for at in range(0, 1010, 101) for answer in producer.batch(notes[at:at + 101])], "status")
    assert statuses.count("accepted") == 1000 and statuses[-1] == "busy", statuses
    assert "dedupe.limit" in serve.line("ledger rejects new messages")
    assert producer.push(notes[0])["status"] == "duplicate"
    serve.stop()


def large_audience():
    """An envelope with too many tokens, and a frame with too many bytes."""
    scene = Scene()
    serve = scene.serve()
    producer = Producer(serve)
    before = serve.resident
    many = producer.push(note("many", *(token(n) for n in range(100_001))))
    assert many["status"] == "rejected" and many["reason"] == "too_many", many
    half = Producer(serve)
    half.send("push/1", note("half a million", *(token(n) for n in range(470_000))))
    print("half a million:", half.answer())
    # A frame that is too large: its connection is closed, and other producers are not affected.
    million = keyed(context.socket(zmq.DEALER), None)
    watch = million.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    million.connect(serve.places["router"])
    million.send_multipart([b"push/1", text(note("million", *(token(n) for n in range(1_000_000))))])
    assert million not in zmq.select([watch, million], [], [])[0], "a frame of 67 MB is accepted"
    million.disable_monitor()
    million.close()
    assert producer.push(note("one", token(1)))["status"] == "accepted"
    assert Monitor(serve, since=0).completed("one")["one"]["sent"] == 1
    print("grew by", (serve.resident - before) >> 20, "MiB")
    assert serve.resident - before < 2 * ROOM, (before, serve.resident)
    serve.stop()


def app_backlog():
    """An app that has reached a limit is busy, and other apps are not; its waiting messages count after a restart."""
    scene = Scene()
    scene.apps["news"] = scene.app("news")
    broken = scene.app("broken", limits={"waiting": 5, "scheduled": 3})
    broken["credential"]["key"] = scene.path("missing.p8")
    scene.apps["broken"] = broken
    serve = scene.serve()
    producer = Producer(serve)
    later = int(time.time()) + 86_400

    def fill(name, count, **more):
        statuses = [producer.push(note(f"{name}-{n}", token(n), app="broken", **more)) for n in range(count)]
        return [status["status"] for status in statuses], statuses[-1]

    kinds, last = fill("wait", 7)
    assert kinds == ["accepted"] * 5 + ["busy"] * 2 and last["retry_after_ms"] == 1000, (kinds, last)
    kinds, last = fill("later", 5, not_before=later)
    assert kinds == ["accepted"] * 3 + ["busy"] * 2 and last["retry_after_ms"] == 10_000, (kinds, last)
    batch = producer.batch([note("wait-9", token(9), app="broken"), note("mine", token(9), app="news")])
    assert pick(batch, "status") == ["busy", "accepted"], batch
    serve.line("intake is busy for this app", "broken", "limits.waiting")
    assert producer.push(note("other", token(1)))["status"] == "accepted"
    # PULL has no acks, and other apps must not wait, so the message is rejected with an event.
    monitor = Monitor(serve)
    push = context.socket(zmq.PUSH)
    push.connect(serve.places["pull"])
    push.send_multipart([b"push/1", text(note("pulled", token(1), app="broken"))])
    push.send_multipart([b"push/1", text(note("taken", token(1)))])
    assert monitor.wait("message/rejected", "pulled")[0]["reason"] == "too_many"
    assert monitor.completed("taken")["taken"]["sent"] == 1
    metrics = http(serve.places["http"] + "/metrics")[1]
    assert 'carillon_intake_over_limit_total{reason="scheduled"} 2' in metrics, metrics
    serve.kill()
    serve = scene.serve()
    producer = Producer(serve)
    assert fill("again", 1)[0] == ["busy"]
    assert fill("again-later", 1, not_before=later)[0] == ["busy"]
    # A higher limit applies at once, and waiting messages are sent when there is a usable credential.
    broken["limits"]["waiting"] = 6
    serve.reload()
    assert fill("again", 2)[0] == ["accepted", "busy"]
    broken["credential"]["key"] = scene.apps["shop"]["credential"]["key"]
    monitor = Monitor(serve)
    serve.reload()
    monitor.completed("again-0")
    assert fill("free", 1)[0] == ["accepted"]
    push.close(0)
    serve.stop()


def tag_depth():
    """A tag expression of sixteen levels is rejected at the intake, and audiences of other apps work."""
    scene = Scene()
    scene.apps["news"] = scene.app("news")
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    for number in range(3):
        serve.verb("devices", "add", "news", token(number), "--tag", "vip")
    tags = "vip"
    for level in range(16):
        tags = {"any" if level % 2 else "all": [tags, f"tag-{level}"]}
    status = producer.push({"id": "deep", "app": "shop", "to": {"tags": tags}, "alert": "Hello"})
    for audience in ({"all": True}, {"tags": "vip"}):
        name = json.dumps(audience)
        assert producer.push({"id": name, "app": "news", "to": audience, "alert": "Hello"})["status"] == "accepted"
        assert monitor.completed(name)[name]["sent"] == 3
    serve.become_ready()
    assert status["status"] == "rejected" and status["reason"] == "bad_audience", status
    serve.stop()


if __name__ == "__main__":
    main(globals())
