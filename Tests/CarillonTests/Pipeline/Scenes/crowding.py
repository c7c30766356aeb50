"""Peers that misbehave do not affect other peers, and memory stays limited."""
import os, random, socket as sockets
import zmq
from ground import context, keyed, main, Monitor, note, pick, Producer, Scene, text, token

SIZE = int(os.environ.get("CARILLON_SCENE_SIZE", "1"))
# A sanitizer delays the release of memory, and keeps shadow memory.
ROOM = (1600 if os.environ.get("CARILLON_SANITIZER") else 160) << 20


def deaf_subscriber():
    """A subscriber that never reads misses events; all others receive every event."""
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
    assert not monitor.gaps, monitor.gaps[:3]
    assert serve.resident - before < ROOM, (before, serve.resident)
    print("grew by", (serve.resident - before) >> 20, "MiB")
    serve.stop()


def deaf_producer():
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


def as_many_ids():
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


def garbage():
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


def too_many():
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


if __name__ == "__main__":
    main(globals())
