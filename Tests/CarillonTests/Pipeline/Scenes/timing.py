"""Scheduled messages, expiry, and missing responses."""
import time
from ground import apns_id, main, Monitor, note, Producer, push_before_expiry, Scene, Simulator, token


def later():
    """A scheduled message is not sent early, also after a kill; an expired message is not sent."""
    scene = Scene()
    serve = scene.serve()
    producer = Producer(serve)
    due = int(time.time()) + 3
    assert producer.push(note("later", token(1), not_before=due))["status"] == "accepted"
    assert producer.push(note("later", token(1), not_before=due))["status"] == "duplicate"
    serve.kill()
    was_early = time.time() < due
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, since=0)
    assert monitor.completed("later")["later"]["sent"] == 1
    (sent,) = monitor.of("delivery/sent", "later")
    assert sent["ts"] >= due * 1000, (sent, due)
    # On a machine so busy that the kill came after the time, the delivery may have been in flight.
    taken = scene.simulator.accepted()
    assert taken == [token(1)] or not was_early and taken == [token(1)] * 2, taken

    # The push service is down until the message expires.
    ports = scene.simulator.ports
    scene.simulator.kill()
    serve.line("connection.down")
    short = push_before_expiry(producer, 2, "short", token(2))
    done = monitor.completed("short")["short"]
    assert done["expired"] == 1 and done["sent"] == 0, done
    assert monitor.of("delivery/expired", "short") or monitor.of("message/expired", "short")
    # A producer that repeats an expired message learns that it was accepted before.
    assert producer.push(short)["status"] == "duplicate"
    assert producer.push(note("now", token(2), expires_at=int(time.time()) - 5))["reason"] == "expired"
    scene.simulator = Simulator(scene.path("simulator"), ports=ports)
    producer.push(note("after", token(3)))
    assert monitor.completed("after")["after"]["sent"] == 1
    assert scene.simulator.accepted() == [token(3)]
    serve.stop()


def unknown():
    """The connection is lost during a request: it is sent again unless `on_unknown` is `drop`; both have events."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    scene.simulator.faults(
        {"match": {"token": "aa*"}, "close": True, "times": 1}, {"match": {"token": "bb*"}, "close": True, "times": 1})
    producer.push(note("resend", token(1, "aa")))
    done = monitor.completed("resend")["resend"]
    assert done["sent"] == 1 and done["unknown"] == 0, done
    (lost,) = monitor.of("delivery/unknown", "resend")
    (sent,) = monitor.of("delivery/sent", "resend")
    assert lost["apns_id"] == sent["apns_id"] == apns_id("shop", "resend", token(1, "aa"))
    assert (lost["attempt"], sent["attempt"]) == (1, 2), (lost, sent)
    producer.push(note("drop", token(1, "bb"), on_unknown="drop"))
    done = monitor.completed("drop")["drop"]
    assert done["sent"] == 0 and done["unknown"] == 1, done
    assert len(monitor.of("delivery/unknown", "drop")) == 1 and not monitor.of("delivery/sent", "drop")
    assert len(scene.simulator.received("&token=bb*")) == 1
    serve.stop()


def shutting_down():
    """All servers of the push service report a shutdown for a moment: the retry follows soon, not after 15 minutes."""
    scene = Scene()
    scene.simulator.faults({"match": {"token": "cc*"}, "answer": {"status": 503, "reason": "Shutdown"}, "times": 17})
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(note("moment", token(1, "cc")))
    (retry,) = monitor.wait("delivery/retry", "moment")
    assert retry["reason"] == "Shutdown" and 0 < retry["retry_after_ms"] <= 60_000, retry
    producer.push(note("other", token(2)))
    assert monitor.completed("other")["other"]["sent"] == 1
    serve.stop()


if __name__ == "__main__":
    main(globals())
