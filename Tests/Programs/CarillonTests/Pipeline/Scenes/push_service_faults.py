"""Faults of the push service: rate limits, outages, resets and missing responses; and many apps at once."""
import json, os, socket
from harness import (
    all_delivered, apns_id, control, http, main, Monitor, note, pick, Producer, replay, Scene, Simulator, SIZE, token,
    until)
from http_requests import Door
from raw_http import make_key


def rate_limit():
    """429 TooManyRequests concerns one device: other devices get their notifications, and the app stays ready."""
    scene = Scene()
    scene.simulator.faults({"match": {"token": "aa*"}, "answer": {"status": 429, "reason": "TooManyRequests"}})
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.batch([note(f"m{n}", token(1, "aa")) for n in range(60)])
    monitor.wait("delivery/retry", count=60)

    def findings():
        return [(one["severity"], one["code"]) for one in control(serve, "GET", "/v1/findings", None)[1]["findings"]]
    # Nothing but 429 in the last minute is worth a look.
    until(lambda: ("warning", "deferrals") in findings())
    producer.push(note("other", token(2)))
    assert monitor.completed("other")["other"]["sent"] == 1
    assert serve.ready()[0] == 200
    until(lambda: ("warning", "deferrals") not in findings())
    serve.stop()
    assert not serve.said("breaker.opened"), serve.lines[-10:]


def outage():
    """During an outage, the log, the event, `stats`, `scale` and `/readyz` report the same code and sentence. After it,
    the app becomes ready without a notification."""
    scene = Scene()
    serve = scene.serve()
    monitor = Monitor(serve)
    serve.become_ready()
    ports = scene.simulator.ports
    scene.simulator.kill()
    answer = serve.become_ready("refused")
    (app,) = answer["apps"]
    sentence = app["reason"][app["reason"].index("cannot connect to 127.0.0.1:"):]
    assert app["code"] == "refused", app
    gateway = json.loads(serve.verb("scale", "shop", "--json"))
    fault = gateway["fault"]
    assert fault["code"] == "refused" and fault["message"] == sentence, gateway
    assert fault["advice"].startswith("check that the push service listens at this address"), gateway
    assert sentence in serve.verb("scale", "shop")
    assert any(sentence in line for line in json.loads(serve.verb("stats", "--json"))["obstacles"])
    serve.line("connection.down", "refused", sentence)
    monitor.until(lambda: any(e["reason"] == "refused" for e in monitor.of("connection/down")))
    assert [e["message"] for e in monitor.of("connection/down") if e["reason"] == "refused"][0] == sentence
    scene.simulator = Simulator(scene.path("simulator"), ports=ports)
    serve.become_ready()
    assert scene.simulator.received() == []
    serve.stop()


def reset_streams():
    """A push service that takes each request and resets its stream: the circuit breaker opens, and the notifications are
    sent again after pauses, until they are answered. The statistics are the sums of the messages, also by the door of
    gorush."""
    scene = Scene()
    scene.more["doors"] = {"gorush": {"apps": {"ios": "shop"}}}
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(note("first", token(1)))
    monitor.completed("first")
    scene.simulator.faults({"match": {"token": "aa*"}, "reset": "INTERNAL_ERROR"})
    names = [f"m{n}" for n in range(30)]
    producer.push({**note("dropped", token(30, "aa")), "on_unknown": "drop"})
    monitor.completed("dropped")
    producer.batch([note(name, token(n, "aa")) for n, name in enumerate(names)])
    assert "of the last" in serve.line("breaker.opened")
    scene.simulator.faults()
    counts = monitor.completed(*names)
    assert all(counts[name]["sent"] == 1 for name in names), counts
    # Each was sent once, and few of them again before the breaker opened or to find out whether it may close.
    lost = replay(serve, prefix="delivery/shop/unknown")[0]
    assert lost and len(lost) <= 3 * len(names), len(lost)
    assert {e["reason"] for e in lost} == {"reset"}, lost[:3]
    assert [e["message_id"] for e in lost if not e["resend"]] == ["dropped"], lost[:3]
    (stats,) = control(serve, "GET", "/v1/stats", None)[1]["apps"]
    messages = control(serve, "GET", "/v1/messages", None)[1]["messages"]
    for name in ("sent", "rejected", "expired", "suppressed", "superseded", "cancelled", "unknown"):
        assert stats[name] == sum(m["counts"][name] for m in messages), (name, stats, messages)
    assert stats["retries"] == sum(m["retries"] for m in messages) >= len(names), (stats, messages)
    assert (stats["unknown"], stats["lost_answers"]) == (1, len(lost)), stats
    key = make_key(serve, "gorush", "push")
    door = Door(serve).ask("GET", "/api/stat/app", headers={"X-API-Key": f"{key.id}.{key.secret}"}).json
    assert (door["ios"], door["failure_tasks"]) == ({"push_success": 31, "push_error": 1}, 1), door
    serve.stop()


def stale_unregistered():
    """A 410 with the time of the request deactivates a device. A 410 with a time before the registration does not, and
    the log reports why."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    scene.simulator.faults(
        {"match": {"token": "aa*"}, "answer": {"reason": "Unregistered", "timestamp": 1_600_000_000_000}},
        {"match": {"token": "bb*"}, "answer": {"reason": "Unregistered"}})
    for start in ("aa", "bb"):
        serve.verb("devices", "add", "shop", token(1, start), "--user", start)
        producer.push(note(start, token(1, start)))
    (gone,) = monitor.wait("device/deactivated")
    assert gone["message_id"] == "bb", gone
    device = monitor.completed("aa") and monitor.of("delivery/rejected", "aa")[0]["device"]
    assert device in serve.line("device stays active")
    serve.stop()


def many_apps():
    """Only one of many apps can reach its push service. One metric has six series for each app; more than 10,000 series
    must not end the process."""
    scene = Scene()
    count = 1700
    closed = socket.socket()  # bound but not listening, so connections are refused
    closed.bind(("127.0.0.1", 0))
    for number in range(count):
        app = scene.app(f"app{number}")
        app["endpoint"]["port"] = closed.getsockname()[1]
        scene.apps[f"app{number}"] = app
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, prefix="message/shop/")
    producer.push(note("m", token(1)))
    assert monitor.completed("m")["m"]["sent"] == 1
    status, page = http(serve.places["http"] + "/metrics")
    lines = page.splitlines()
    assert status == 200 and len([l for l in lines if l.startswith("carillon_gateway_state{")]) == 6 * (count + 1)
    assert 'carillon_deliveries_total{app="shop",kind="accepted"} 1' in lines
    assert not [l for l in lines if l.startswith("carillon_deliveries_total{") and "app0" in l]
    assert "carillon_metrics_refused_series_total 0" in lines
    serve.reload()
    status, answer = serve.ready()
    assert status == 503 and len(answer["apps"]) == count + 1
    process = f"/proc/{serve.process.pid}"
    threads, descriptors = len(os.listdir(process + "/task")), len(os.listdir(process + "/fd"))
    assert threads < 100 and descriptors < 300, (threads, descriptors)
    producer.push(note("n", token(1)))
    assert monitor.completed("n")["n"]["sent"] == 1
    serve.stop()


def messages_during_outage():
    """The push service is down while messages are accepted: each is delivered once when it is back."""
    count = 4000 * SIZE
    scene = Scene()
    serve = scene.serve()
    ports = scene.simulator.ports
    scene.simulator.kill()
    serve.line("connection.down")
    producer = Producer(serve)
    names = []
    for start in range(0, count, 1000):
        statuses = producer.batch([note(f"m{n}", token(n)) for n in range(start, start + 1000)])
        assert set(pick(statuses, "status")) == {"accepted"}
        names += pick(statuses, "id")
    serve.become_ready("shop")
    scene.simulator = Simulator(scene.path("simulator"), ports=ports)
    _, taken = all_delivered(scene, serve, names)
    assert len(taken) == count
    serve.become_ready()
    serve.stop()


def missing_response():
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


def server_shutdown():
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
