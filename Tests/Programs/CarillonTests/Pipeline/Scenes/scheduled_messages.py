"""Scheduled messages, and messages that expire."""
import time
from harness import main, Monitor, note, Producer, push_before_expiry, Scene, Simulator, token


def scheduled_and_expired():
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


if __name__ == "__main__":
    main(globals())
