"""Full disks, damaged files and killed processes: no acknowledged message is lost."""
import json, os, shutil, signal, struct, subprocess
import zmq
from ground import (
    apns_id, CARILLON, Child, context, endings, main, Monitor, note, pick, Producer, replay, Scene, Simulator,
    text, token)

SIZE = int(os.environ.get("CARILLON_SCENE_SIZE", "1"))


def all_delivered(scene, serve, names, exactly_once=True):
    """Checks that each message was sent, and that no device got one twice."""
    monitor = Monitor(serve, since=0)
    done = monitor.completed(*names)
    assert all(e["sent"] == 1 for e in done.values()), [e for e in done.values() if e["sent"] != 1][:3]
    taken = scene.simulator.accepted()
    if exactly_once:
        assert len(taken) == len(set(taken)), f"{len(taken) - len(set(taken))} got it twice"
    return monitor, taken


def limit(serve, size):
    """Sets the maximum file size of the process."""
    subprocess.run(["prlimit", "--pid", str(serve.process.pid), f"--fsize={size}:"], check=True)


def disk_full():
    """While files cannot grow, serve is busy and not ready; when they can, it continues."""
    scene = Scene()
    serve = scene.serve(wrap=("prlimit", "--fsize=2000000:"))
    producer = Producer(serve)
    accepted, busy, number = [], [], 0
    while not busy:
        statuses = producer.batch([
            note(f"m{number}-{n}", token(1000 * number + n), custom={"filler": "x" * 2000}) for n in range(100)])
        assert set(pick(statuses, "status")) <= {"accepted", "busy"}, statuses[0]
        accepted += [s["id"] for s in statuses if s["status"] == "accepted"]
        busy += [s for s in statuses if s["status"] == "busy"]
        number += 1
        assert number < 200, "the disk is never full"
    assert {s["retry_after_ms"] for s in busy} == {1000}, busy[0]
    serve.line("the ledger cannot write")
    limit(serve, 0)  # free pages of the write-ahead log could take some more data
    assert serve.become_ready("ledger.db")["reason"]
    for n in range(20):  # serve stays busy while the disk is full
        status = producer.push(note(f"full-{n}", token(n, "b0")))
        assert status["status"] == "busy" and status["retry_after_ms"] == 1000, status
    with context.socket(zmq.PUSH) as pull:
        pull.connect(serve.places["pull"])
        pull.send_multipart([b"push/1", text(note("pulled", token(1, "c0")))])
        limit(serve, "unlimited")
        serve.line("the ledger can write")
        serve.become_ready()
        assert producer.push(note("room", token(2, "c0")))["status"] == "accepted"
        monitor, taken = all_delivered(scene, serve, [*accepted, "room", "pulled"])
    refused = {f"full-{n}" for n in range(20)} | {s["id"] for s in busy}
    assert not refused & {e.get("message_id") for e in monitor.events}
    serve.stop()
    serve = scene.serve()
    all_delivered(scene, serve, accepted)
    assert Producer(serve).push(note(accepted[0], token(0), custom={"filler": "x" * 2000}))["status"] == "duplicate"
    serve.stop()


def disk_stays_full():
    """serve is stopped while the disk is full: the next start sends the acknowledged messages."""
    scene = Scene()
    scene.simulator.faults({"latency": {"fixed": "100ms"}})
    serve = scene.serve(wrap=("prlimit", "--fsize=1500000:"))
    producer, accepted, number, statuses = Producer(serve), [], 0, []
    while "busy" not in pick(statuses, "status"):
        statuses = producer.batch([
            note(f"m{number}-{n}", token(1000 * number + n), custom={"filler": "x" * 2000}) for n in range(100)])
        accepted += [s["id"] for s in statuses if s["status"] == "accepted"]
        number += 1
    limit(serve, 0)
    serve.signal(signal.SIGTERM)
    assert serve.end() == 0, serve.lines[-10:]
    serve = scene.serve()
    # Deliveries whose outcome could not be written are sent again.
    all_delivered(scene, serve, accepted, exactly_once=False)
    serve.stop()


def disk_small():
    """A separate disk, if one can be mounted, is full until another file on it is removed."""
    scene = Scene()
    os.mkdir(scene.data)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", scene.data], capture_output=True).returncode:
        return print("skipped: cannot mount a file system")
    endings.append(lambda: subprocess.run(["umount", "-l", scene.data], check=True))
    other = os.path.join(scene.data, "other")
    with open(other, "wb") as file:
        file.write(bytes(2_500_000))
    serve = scene.serve()
    producer, accepted, number, statuses = Producer(serve), [], 0, []
    # A checkpoint may make room again for a moment.
    while "busy" not in pick(statuses, "status") or serve.ready()[0] != 503:
        statuses = producer.batch([
            note(f"m{number}-{n}", token(1000 * number + n), custom={"filler": "x" * 1000}) for n in range(50)])
        accepted += [s["id"] for s in statuses if s["status"] == "accepted"]
        number += 1
    serve.line("the ledger cannot write", "full")
    serve.kill()
    # On the full disk serve cannot start, or it starts and is busy; neither loses an acknowledged message.
    os.remove(other)
    serve = scene.serve()
    all_delivered(scene, serve, accepted, exactly_once=False)
    assert Producer(serve).push(note("room", token(1, "b0")))["status"] == "accepted"
    serve.stop()


def killed():
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


def broadcast_killed():
    """A broadcast that is interrupted by kills reaches all devices, and few of them twice."""
    count, kills = 4000, 3
    scene = Scene("--streams", "50")
    scene.apps["shop"]["gateway"]["connections"] = {"min": 1, "max": 1}
    scene.simulator.faults({"latency": {"fixed": "20ms"}})
    serve = scene.serve()
    with open(scene.path("devices.jsonl"), "w") as file:
        for n in range(count):
            file.write(json.dumps({"app": "shop", "token": token(n), "tags": ["all"]}) + "\n")
    serve.verb("devices", "import", scene.path("devices.jsonl"))
    assert Producer(serve).push({"id": "news", "app": "shop", "to": {"all": True}, "alert": "Hello"})["status"] == "accepted"
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
    taken = scene.simulator.received()
    doubles = len(taken) - len({r["token"] for r in taken})
    print(f"{doubles} of {len(taken)} came twice")
    assert len({r["token"] for r in taken}) == count and len({r["id"] for r in taken}) == count
    assert doubles <= kills * (50 + 2 * 256), doubles
    serve.stop()


def unusable():
    """serve does not start with an unusable data directory or a damaged database, and reports which one and why."""
    scene = Scene()
    file = scene.configure()

    def refused(*words, code, wrap=(), program=CARILLON):
        child = Child(*wrap, program, "serve", "--config", file)
        ended = child.end()
        assert ended == code, (ended, child.lines)
        assert all(word in " ".join(child.lines) for word in words), (words, child.lines)

    open(scene.data, "w").close()
    refused(scene.data, "data directory", code=77)
    os.remove(scene.data)
    serve = scene.serve()
    serve.stop()
    if os.getuid() == 0:
        # The data directory belongs to this user, and another user cannot use it.
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        os.chmod(scene.directory, 0o755)
        # Another user may not have access to the build directory.
        program = shutil.copy(CARILLON, scene.path("carillon"))
        refused(scene.data, "Permission denied", code=77, wrap=nobody, program=program)
        os.chmod(scene.data, 0o555)
        refused(scene.data, "Permission denied", code=77, wrap=nobody, program=program)
        os.chmod(scene.data, 0o700)
    else:
        os.chmod(scene.data, 0o500)
        refused(scene.data, "Permission denied", code=77)
        os.chmod(scene.data, 0o700)
    for name in ("ledger.db", "registry.db"):
        path = os.path.join(scene.data, name)
        with open(path, "rb") as whole:
            kept = whole.read()
        with open(path, "wb") as garbage:
            garbage.write(os.urandom(len(kept)))
        for more in ("-wal", "-shm"):
            if os.path.exists(path + more):
                os.remove(path + more)
        refused(name, code=1)
        with open(path, "rb") as garbage:
            assert garbage.read() != kept, f"{name} was overwritten"
        with open(path, "wb") as whole:
            whole.write(kept)
    serve = scene.serve()
    assert Producer(serve).push(note("one", token(1)))["status"] == "accepted"
    serve.stop()


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


def torn():
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


def service_down():
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


if __name__ == "__main__":
    main(globals())
