"""Kills of Carillon, also during a write: no acknowledged message is lost."""
import json, os, struct
from harness import apns_id, main, Monitor, note, Producer, replay, Scene, text, token


def repeated_kills():
    """serve is killed repeatedly under load: no message is lost, and the number of duplicates is within its limit."""
    scene = Scene("--streams", "100")
    scene.apps["shop"]["gateway"]["connections"] = {"min": 1, "max": 1}
    accepted, kills = [], 6
    serve = scene.serve()
    for life in range(kills):
        producer = Producer(serve)
        for number in range(6):
            producer.send("push-batch/1", b"\n".join(
                text(note(f"{life}-{number}-{n}", token(life * 100000 + number * 1000 + n))) for n in range(200)))
        for _ in range(4):
            accepted += [s["id"] for s in producer.answer()[1] if s["status"] == "accepted"]
        serve.kill()
        serve = scene.serve()
    monitor = Monitor(serve, since=0)
    done = monitor.completed(*accepted)
    assert all(e["sent"] == 1 for e in done.values())
    taken = scene.simulator.received()
    doubles = len(taken) - len({r["token"] for r in taken})
    print(f"{doubles} of {len(taken)} came twice")
    # Duplicates are deliveries in flight, and outcomes that were not synced yet: two groups of them.
    assert doubles <= kills * (100 + 2 * 256), doubles
    # Duplicates have the same apns-id, so that a device shows only one.
    for record in taken:
        life = int(record["token"][2:], 16)
        name = f"{life // 100000}-{life % 100000 // 1000}-{life % 1000}"
        assert record["id"].lower() == apns_id("shop", name, record["token"]), record
    serve.stop()


def broadcast():
    """A broadcast that is interrupted by kills reaches all devices, and few of them twice."""
    interrupted_broadcast("Hello")


def words_by_locale():
    """A broadcast with words by locale that is interrupted by kills reaches each device in the words of its locale."""
    locales = {"en-GB": "Hello", "de_AT": "Hallo", "de-CH": "Hoi", "fr": "Hello"}
    alert = {"locales": {"en": "Hello", "de": "Hallo", "de-CH": "Hoi"}, "default": "en"}
    names = list(locales)
    taken = interrupted_broadcast(alert, lambda n: {"locale": names[n % len(names)]}, "&payload=true")
    for record in taken:
        words = locales[names[int(record["token"], 16) % len(names)]]
        assert record["payload"]["aps"]["alert"] == words, record


def interrupted_broadcast(alert, more=lambda number: {}, query=""):
    """Sends a broadcast and kills serve while it goes out. Returns what the simulator has received."""
    count, kills = 4000, 3
    scene = Scene("--streams", "50")
    scene.apps["shop"]["gateway"]["connections"] = {"min": 1, "max": 1}
    scene.simulator.faults({"latency": {"fixed": "20ms"}})
    serve = scene.serve()
    with open(scene.path("devices.jsonl"), "w") as file:
        for n in range(count):
            file.write(json.dumps({"app": "shop", "token": token(n), "tags": ["all"], **more(n)}) + "\n")
    serve.verb("devices", "import", scene.path("devices.jsonl"))
    news = {"id": "news", "app": "shop", "to": {"all": True}, "alert": alert}
    assert Producer(serve).push(news)["status"] == "accepted"
    for part in range(kills):
        monitor = Monitor(serve, "delivery/shop/sent", since=0)
        monitor.wait("delivery/sent", count=(part + 1) * count // (kills + 2))
        monitor.close()
        serve.kill()
        serve = scene.serve()
    monitor = Monitor(serve, since=0)
    done = monitor.completed("news")["news"]
    assert done["sent"] == count and sum(done.values()) == count, done
    devices = [e["device"] for e in monitor.wait("delivery/sent", count=count)]
    assert len(devices) == len(set(devices)) == count, "an outcome was published twice"
    taken = scene.simulator.received(query)
    doubles = len(taken) - len({r["token"] for r in taken})
    print(f"{doubles} of {len(taken)} came twice")
    assert len({r["token"] for r in taken}) == count and len({r["id"] for r in taken}) == count
    assert doubles <= kills * (50 + 2 * 256), doubles
    serve.stop()
    return taken


def frames_of(path):
    """Returns the valid frames of the write-ahead log: the offset of each, and whether it ends a transaction."""
    with open(path, "rb") as file:
        log = file.read()
    if len(log) < 32:
        return log, [], 0
    size = struct.unpack(">I", log[8:12])[0]
    salts, frames, at = log[16:24], [], 32
    while at + 24 + size <= len(log) and log[at + 8:at + 16] == salts:
        frames.append((at, struct.unpack(">I", log[at + 4:at + 8])[0] > 0))
        at += 24 + size
    return log, frames, size


def torn_write():
    """serve is killed under load, and its last write is incomplete: all acknowledged messages are sent."""
    scene = Scene()
    serve = scene.serve()
    acknowledged = []
    path = os.path.join(scene.data, "ledger.db-wal")
    for life, way in enumerate(("half a frame", "a frame of zeros", "a frame of garbage", "cut")):
        producer = Producer(serve)
        for number in range(12):
            producer.send("push-batch/1", b"\n".join(
                text(note(f"{life}-{number}-{n}", token(life * 100000 + number * 1000 + n))) for n in range(100)))
        for _ in range(6):
            acknowledged += [s["id"] for s in producer.answer()[1] if s["status"] == "accepted"]
        serve.kill()
        log, frames, size = frames_of(path)
        committed = max((at + 24 + size for at, ends in frames if ends), default=32)
        if frames and way != "cut":
            # The incomplete write is a part of a frame, zeros, or garbage at the end of the committed frames.
            tail = {
                "half a frame": log[frames[-1][0]:frames[-1][0] + 24 + size // 2],
                "a frame of zeros": bytes(24 + size),
                "a frame of garbage": log[committed - 24 - size:committed - size] + os.urandom(size)}[way]
            with open(path, "r+b") as file:
                file.truncate(committed)
                file.seek(committed)
                file.write(tail)
        elif frames:
            with open(path, "r+b") as file:
                file.truncate(committed)
        serve = scene.serve()
        monitor = Monitor(serve, since=0)
        done = monitor.completed(*acknowledged)
        assert all(e["sent"] == 1 for e in done.values())
        told = replay(serve)[0]
        assert [e["seq"] for e in told] == sorted({e["seq"] for e in told})
        monitor.close()
    # A disk that loses synced data: only that data is lost, and serve works.
    serve.kill()
    log, frames, size = frames_of(path)
    ends = [at + 24 + size for at, is_end in frames if is_end]
    if len(ends) > 1:
        with open(path, "r+b") as file:
            file.truncate(ends[-1] - 100)
    serve = scene.serve()
    producer = Producer(serve)
    assert producer.push(note("after", token(1, "b0")))["status"] == "accepted"
    assert Monitor(serve, since=0).completed("after")["after"]["sent"] == 1
    serve.stop()


if __name__ == "__main__":
    main(globals())
