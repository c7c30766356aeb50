"""Producers and monitors without faults."""
import json, time
import zmq
from harness import apns_id, ask_replay, context, main, Monitor, note, pick, Producer, replay, Scene, text, token


def every_socket():
    """Messages to ROUTER from a DEALER and a REQ, in a batch, and to PULL; invalid messages; and the events of all."""
    scene = Scene()
    serve = scene.serve()
    monitor = Monitor(serve)
    producer = Producer(serve)
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    begun = time.time()
    one = producer.push(note("one", token(1), traceparent=trace))
    assert one["status"] == "accepted" and one["id"] == "one", one
    accepted = monitor.wait("message/accepted", "one")[0]
    assert accepted["seq"] == one["seq"], (accepted, one)
    sent = monitor.wait("delivery/sent", "one")[0]
    assert {k: sent[k] for k in ("v", "family", "app", "kind", "message_id", "attempt", "status", "traceparent")} == {
        "v": 1, "family": "delivery", "app": "shop", "kind": "sent", "message_id": "one", "attempt": 1, "status": 200,
        "traceparent": trace}, sent
    assert sent["apns_id"] == apns_id("shop", "one", token(1)), sent
    assert len(sent["device"]) == 32 and set(sent["device"]) <= set("0123456789abcdef"), sent
    # It was sent meanwhile; a second is more than the units of the clocks differ.
    ended = time.time()
    assert 0 <= sent["latency_ms"] <= (ended - begun + 1) * 1000, sent
    assert begun - 1 <= sent["ts"] / 1000 <= ended + 1, sent
    assert sent["seq"] > accepted["seq"] and sent["prev"] == 0, sent
    (record,) = scene.simulator.received()
    assert record["id"].lower() == sent["apns_id"] and record["token"] == token(1), record

    # A payload in its own frame is delivered unchanged.
    exact = b'{ "aps" : {"alert":"\\u0048i"},  "n": 1.50 }'
    assert producer.push({"id": "two", "app": "shop", "to": {"tokens": [token(2).upper()]}}, exact)["status"] == "accepted"
    monitor.completed("two")
    (record,) = scene.simulator.received("&payload=true&token=" + token(2))
    assert record["payload"] in (exact.decode(), json.loads(exact)), record

    request = Producer(serve, zmq.REQ)
    assert request.push(note("three", token(3)))["status"] == "accepted"
    assert request.push(note("three", token(3)))["status"] == "duplicate"

    batch = producer.batch([
        note("b1", token(4)), note("b2", token(5), token(6), token(5)), note("b2", token(5), token(6)),
        note("b3", "xyz"), note("b4", token(4), app="nowhere"), {**note("b5", token(4)), "sond": 1}, note("b1", token(4)),
        note("b6", token(7), expires_at=1000), {"id": "b7"}])
    assert pick(batch, "status") == [
        "accepted", "accepted", "duplicate", "rejected", "rejected", "rejected", "duplicate", "rejected", "rejected"]
    assert pick(batch, "reason")[3:6] == ["bad_token", "unknown_app", "bad_field"], batch
    assert "sond" in batch[5]["detail"] and pick(batch, "reason")[7:] == ["expired", "missing_field"], batch
    assert batch[0]["seq"] == batch[6]["seq"] and batch[1]["seq"] == batch[2]["seq"], batch

    pull = context.socket(zmq.PUSH)
    pull.connect(serve.places["pull"])
    pull.send_multipart([b"push/1", text(note("p1", token(8)))])
    pull.send_multipart([b"push/1", text(note("p2", "not a token"))])
    pull.send_multipart([b"push-batch/1", text(note("p3", token(9))) + b"\n{"])
    done = monitor.completed("one", "two", "three", "b1", "b2", "p1", "p3")
    # Each rejected message has an event, on whichever socket it arrived; events of different topics have no order.
    rejected = monitor.wait("message/rejected", count=7)
    assert sorted((e.get("message_id") or "", e["reason"]) for e in rejected) == [
        ("", "bad_json"), ("b3", "bad_token"), ("b4", "unknown_app"), ("b5", "bad_field"), ("b6", "expired"),
        ("b7", "missing_field"), ("p2", "bad_token")], rejected
    # A token that is named twice gets one delivery.
    assert done["b2"]["sent"] == 2 and done["one"]["sent"] == 1, done
    assert sorted(scene.simulator.accepted()) == sorted(token(n) for n in (1, 2, 3, 4, 5, 6, 8, 9))
    assert len(monitor.wait("message/duplicate", count=3)) == 3
    serve.stop()


def message_ids():
    """Duplicates, conflicts and other audiences of a message id, within one process and across restarts."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    first = producer.push(note("order", token(1)))
    monitor.completed("order")
    device = monitor.of("delivery/sent")[0]["device"]
    serve.stop()

    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, since=0)
    again = producer.push(note("order", token(1), traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
    assert again == {"id": "order", "status": "duplicate", "seq": first["seq"]}, again
    for change in ({"alert": "Bye"}, {"priority": 5}, {"collapse_id": "x"}):
        conflict = producer.push({**note("order", token(1)), **change})
        assert conflict["status"] == "rejected" and conflict["reason"] == "id_conflict", conflict
    wider = producer.push(note("order", token(1), token(2)))
    assert wider["status"] == "accepted" and wider["seq"] > first["seq"], wider
    monitor.until(lambda: len(monitor.of("message/completed", "order")) == 2)
    counts = monitor.of("message/completed", "order")[1]["counts"]
    assert counts["sent"] == 1 and counts["suppressed"] == 1, counts
    (suppressed,) = monitor.of("delivery/suppressed")
    assert suppressed["reason"] == "duplicate" and suppressed["device"] == device, suppressed
    assert sorted(scene.simulator.accepted()) == [token(1), token(2)]

    # A device keeps its id for other messages and across restarts.
    producer.push(note("other", token(1)))
    monitor.completed("other")
    assert monitor.of("delivery/sent", "other")[0]["device"] == device
    # The process is killed right after an ack: after the restart the message is a duplicate.
    seen = producer.push(note("last", token(3)))
    serve.kill()
    serve = scene.serve()
    assert Producer(serve).push(note("last", token(3))) == {**seen, "status": "duplicate"}
    assert Monitor(serve, since=0).completed("last")["last"]["sent"] == 1
    serve.stop()


def event_chains():
    """Published and replayed events are equal, name their predecessors, and survive restarts; `oldest` is reported."""
    scene = Scene()
    scene.apps["news"] = scene.app("news")
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    ids = [f"m{n}" for n in range(300)]
    producer.batch([note(i, token(n), app=("shop", "news")[n % 2]) for n, i in enumerate(ids)])
    monitor.completed(*ids)
    told, end = replay(serve, limit=70)
    published = {e["seq"]: e for e in monitor.events}
    assert [e["seq"] for e in told] == sorted({e["seq"] for e in told})
    assert published and all(e == published[e["seq"]] for e in told if e["seq"] in published)
    assert {e["seq"] for e in monitor.events} <= {e["seq"] for e in told} and not monitor.gaps, monitor.gaps
    check_chains(told)
    heads = {f"{e['family']}/{e['app']}/{e['kind']}": e["seq"] for e in told}
    beat = monitor.wait_for_heartbeat()
    assert set(beat) == {"seq", "ts", "topics"}, beat
    while beat["seq"] < max(heads.values()):  # an earlier heartbeat was still queued
        beat = monitor.wait_for_heartbeat()
    assert all(beat["topics"][topic] >= seq for topic, seq in heads.items()), (beat, heads)
    some = replay(serve, prefix="delivery/news/")[0]
    assert some == [e for e in told if e["family"] == "delivery" and e["app"] == "news"] and len(some) == 150
    assert ask_replay(serve, {"since": some[-1]["seq"], "prefix": "delivery/"})[1][-1:] != some[-1:]
    for bad in ({"since": -1}, {"since": "x"}, {"sinse": 1}, []):
        kind, _, answer = ask_replay(serve, bad)
        assert kind == "replay-error/1" and answer["error"] in ("bad_field", "bad_json", "missing_field"), (bad, answer)
    serve.stop()

    serve = scene.serve()
    monitor = Monitor(serve)
    # The first heartbeat shows which events a monitor missed before the restart.
    assert all(monitor.heartbeat["topics"][t] >= s for t, s in heads.items() if t.startswith("delivery/"))
    Producer(serve).push(note("after", token(1)))
    monitor.completed("after")
    after = replay(serve)[0]
    assert after[:len(told)] == told
    check_chains(after)
    assert replay(serve, since=told[-1]["seq"])[0] == after[len(told):]

    # The size of the log is limited; `oldest` shows which events were removed.
    scene.more["events"] = {
        "publish": "tcp://127.0.0.1:0", "replay": "tcp://127.0.0.1:0", "retention": {"size": "1MiB", "age": "7d"}}
    serve.reload()
    producer = Producer(serve)
    oldest, number = 1, 0
    while oldest == 1:
        producer.batch([note(f"x{number}-{n}", *map(token, range(40))) for n in range(25)])
        number += 1
        monitor.wait("message/completed", count=1 + 25 * number)
        oldest = ask_replay(serve, {"since": 0, "limit": 1})[2]["oldest"]
        assert number < 200, "the log is not limited"
    _, left, end = ask_replay(serve, {"since": 0})
    assert left[0]["seq"] >= oldest > 1 and end["oldest"] >= oldest, (left[0], oldest, end)
    # More events may have been removed during the replay, which its end reports.
    check_chains([event for event in left if event["seq"] >= end["oldest"]])
    serve.stop()


def check_chains(events):
    heads, oldest = {}, min((event["seq"] for event in events), default=0)
    for event in events:
        topic = (event["family"], event["app"], event["kind"])
        known = heads.get(topic)
        assert event["prev"] == known or (known is None and (event["prev"] == 0 or event["prev"] < oldest)), event
        heads[topic] = event["seq"]


if __name__ == "__main__":
    main(globals())
