"""Subscribers and producers that never read: others are not affected, and memory stays limited."""
import zmq
from harness import context, main, Monitor, note, Producer, ROOM, Scene, SIZE, token


def subscriber():
    """A subscriber that never reads misses events; all others have every event."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    deaf = context.socket(zmq.SUB)
    deaf.linger, deaf.rcvhwm, deaf.rcvbuf = 0, 1, 4096
    deaf.connect(serve.places["publish"])
    deaf.subscribe("")
    deaf.poll()  # the subscription is active when the first heartbeat arrives
    before = serve.resident
    for number in range(5):
        producer.push(note(f"m{number}", *(token(2000 * SIZE * number + n) for n in range(2000 * SIZE))))
    done = monitor.completed(*(f"m{n}" for n in range(5)))
    assert sum(e["sent"] for e in done.values()) == 10_000 * SIZE
    monitor.until(lambda: len(monitor.of("delivery/sent")) == 10_000 * SIZE)
    assert serve.resident - before < ROOM, (before, serve.resident)
    print("grew by", (serve.resident - before) >> 20, "MiB")
    serve.stop()


def producer():
    """A producer never reads its acks; another producer is served meanwhile."""
    scene = Scene()
    serve = scene.serve()
    deaf = Producer(serve)
    deaf.socket.close()
    deaf.socket = context.socket(zmq.DEALER)
    deaf.socket.linger, deaf.socket.sndhwm, deaf.socket.rcvhwm, deaf.socket.rcvbuf = 0, 0, 1, 4096
    deaf.socket.connect(serve.places["router"])
    before = serve.resident
    monitor = Monitor(serve, "message/")
    for n in range(4000 * SIZE):
        deaf.send("push/1", note(f"deaf-{n}", token(n)))
        # Invalid messages get a long ack at once.
        deaf.send("push/1", {"id": f"wrong-{n}", "app": "x" * 60})
    producer = Producer(serve)
    assert producer.push(note("heard", token(1, "b0")))["status"] == "accepted"
    # All its accepted messages are sent, although it does not read the acks.
    monitor.completed("heard", *(f"deaf-{n}" for n in range(4000 * SIZE)))
    assert serve.resident - before < ROOM, (before, serve.resident)
    print("grew by", (serve.resident - before) >> 20, "MiB")
    again = Producer(serve)
    assert again.push(note("deaf-0", token(0)))["status"] == "duplicate"
    serve.stop()


if __name__ == "__main__":
    main(globals())
