"""Invalid bytes, frames and JSON: each is rejected, counted, and does no harm."""
import random, socket as sockets
import zmq
from harness import context, main, Monitor, note, pick, Producer, ROOM, Scene, SIZE, text, token


def invalid_data():
    """Invalid bytes, frames and JSON on all sockets."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    chance = random.Random(7)
    before = serve.resident
    good = text(note("good", token(1)))
    wrong = 0

    def broken():
        kind = chance.randrange(6)
        if kind == 0:
            return [chance.randbytes(chance.randrange(1, 300)) for _ in range(chance.randrange(1, 6))]
        if kind == 1:
            return [b"push/1", chance.randbytes(chance.randrange(1, 2000))]
        if kind == 2:
            return [b"push/1", good[:chance.randrange(1, len(good))]]
        if kind == 3:
            changed = bytearray(good)
            changed[0] = chance.randrange(0x80, 0x100)
            return [b"push/1", bytes(changed)]
        if kind == 4:
            return [b"push/1", b"[" * chance.randrange(1, 20000)]
        return [b"push-batch/1", b"\n".join(chance.randbytes(40).replace(b"\n", b"") for _ in range(5))]

    for _ in range(5 * SIZE):
        for _ in range(300):
            producer.socket.send_multipart(broken())
            wrong += 1
        # Each response has a reason.
        for _ in range(300):
            kind, statuses = producer.answer()
            assert kind in ("ack/1", "ack-batch/1") and statuses, (kind, statuses)
            assert set(pick(statuses, "status")) == {"rejected"}, statuses
            assert set(pick(statuses, "reason")) <= {"bad_frame", "bad_json", "missing_field", "bad_field"}, statuses
    with context.socket(zmq.PUSH) as pull:
        pull.connect(serve.places["pull"])
        for _ in range(1500 * SIZE):
            pull.send_multipart(broken())
        pull.send_multipart([b"push/1", text(note("pulled", token(2)))])
        monitor.completed("pulled")
    rejected = monitor.of("message/rejected")
    assert rejected and {e["reason"] for e in rejected} <= {"bad_frame", "bad_json", "missing_field", "bad_field"}
    # A flood of rejections has few events; the skipped ones are counted.
    assert len(rejected) < 1500 * SIZE or sum(e.get("skipped", 0) for e in rejected), len(rejected)
    for place in ("router", "pull", "publish", "replay", "http"):
        host, port = serve.places[place].split("//")[1].split(":")
        for _ in range(20):
            with sockets.create_connection((host, int(port))) as raw:
                try:
                    raw.sendall(chance.randbytes(chance.randrange(1, 5000)))
                except OSError:
                    pass  # the connection was closed
    assert producer.push(note("good", token(1)))["status"] == "accepted"
    assert monitor.completed("good")["good"]["sent"] == 1
    assert serve.ready()[0] == 200
    assert serve.resident - before < ROOM, (before, serve.resident)
    print("grew by", (serve.resident - before) >> 20, "MiB")
    serve.stop()


if __name__ == "__main__":
    main(globals())
