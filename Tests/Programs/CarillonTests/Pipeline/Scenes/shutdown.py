"""Stops by SIGTERM: the drain, its end, and the next start."""
import json, signal
from harness import apns_id, main, Monitor, note, pick, Producer, replay, Scene, Simulator, token, until


def drain():
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


def second_sigterm():
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


def drain_timeout():
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


def during_outage():
    """The push service is down and a message waits: nothing is in flight, so SIGTERM ends the process at once."""
    scene = Scene()
    serve = scene.serve("--drain", "1h")
    producer = Producer(serve)
    ports = scene.simulator.ports
    scene.simulator.kill()
    serve.become_ready("refused")
    assert producer.push(note("kept", token(1)))["status"] == "accepted"
    serve.stop()
    scene.simulator = Simulator(scene.path("simulator"), ports=ports)
    serve = scene.serve()
    assert Monitor(serve, since=0).completed("kept")["kept"]["sent"] == 1
    serve.stop()


if __name__ == "__main__":
    main(globals())
