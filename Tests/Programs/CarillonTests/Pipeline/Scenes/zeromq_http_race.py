"""One message that arrives at two doors at the same moment: over ZeroMQ, and over HTTP."""
import threading
from harness import control, main, Monitor, note, Producer, replay, Scene, token


def together(*calls):
    """Runs calls on threads that begin together, and returns their results."""
    results, gate = [None] * len(calls), threading.Barrier(len(calls))

    def run(index):
        gate.wait()
        results[index] = calls[index]()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def pushes():
    """Each message is accepted at one door and a duplicate at the other one, and is sent once."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, "message/")
    doors = set()
    names = [f"both-{n}" for n in range(300)]
    for number, name in enumerate(names):
        envelope = note(name, token(number), token(number + 1000))
        acks = together(
            lambda: producer.push(envelope), lambda: control(serve, "POST", "/v1/messages", envelope)[1])
        assert sorted(ack["status"] for ack in acks) == ["accepted", "duplicate"], acks
        assert acks[0]["seq"] == acks[1]["seq"] and acks[0]["id"] == acks[1]["id"] == name, acks
        doors.add(acks[0]["status"])
    counts = monitor.completed(*names)
    assert all(counts[name]["sent"] == 2 for name in names), counts
    received = scene.simulator.accepted()
    assert len(received) == len(set(received)) == 2 * len(names), len(received)
    accepted = [e["message_id"] for e in replay(serve, prefix="message/shop/accepted")[0]]
    assert sorted(accepted) == sorted(names)
    print("first at", doors)
    # Other content under the same id is a conflict at the door that comes second.
    acks = together(
        lambda: producer.push(note("clash", token(1), alert="a")),
        lambda: control(serve, "POST", "/v1/messages", note("clash", token(1), alert="b"))[1])
    assert sorted(ack["status"] for ack in acks) == ["accepted", "rejected"], acks
    assert {ack.get("reason") for ack in acks} == {None, "id_conflict"}, acks
    serve.stop()


def cancellations():
    """Both doors cancel at the same moment, and push again meanwhile: one cancellation, the same counts, nothing goes
    out."""
    scene = Scene()
    serve = scene.serve()
    serve.verb("pause", "shop")
    producer, other, monitor = Producer(serve), Producer(serve), Monitor(serve, "message/")
    names = [f"gone-{n}" for n in range(100)]
    for number, name in enumerate(names):
        envelope = note(name, token(number), token(number + 1000))
        assert producer.push(envelope)["status"] == "accepted"

        def cancel():
            producer.send("cancel/1", {"id": name, "app": "shop"})
            return producer.answer()[1][0]

        over_zeromq, (status, over_http), again = together(
            cancel, lambda: control(serve, "POST", f"/v1/apps/shop/messages/{name}/cancel"),
            lambda: other.push(envelope))
        assert status == 200 and over_zeromq["status"] == over_http["status"] == "cancelled", (over_zeromq, over_http)
        assert (over_zeromq["sent"], over_zeromq["cancelled"]) == (over_http["sent"], over_http["cancelled"]) == (0, 2)
        assert again["status"] == "duplicate", again
    serve.verb("resume", "shop")
    counts = monitor.completed(*names)
    assert all(counts[name] ["sent"] == 0 and counts[name]["cancelled"] == 2 for name in names), counts
    events = [e["message_id"] for e in replay(serve, prefix="message/shop/cancelled")[0]]
    assert sorted(events) == sorted(names), len(events)
    assert producer.push(note("after", token(1)))["status"] == "accepted"
    monitor.completed("after")
    assert scene.simulator.accepted() == [token(1)]
    serve.stop()


if __name__ == "__main__":
    main(globals())
