"""Backups of a running and of a stopped Carillon."""
import contextlib, hashlib, json, os, shutil, signal, sqlite3, subprocess, sys, threading, time
from harness import (
    apns_id, ask_replay, CARILLON, Child, endings, main, Monitor, note, pace, pick, Producer, replay, Scene, token,
    verb)

# The start after a restore counts from the next multiple of this on.
STRIDE = 1_000_000_000


class Load:
    """A producer that pushes message after message on a thread of its own, and records what is acknowledged."""

    def __init__(self, serve, prefix):
        self.acknowledged, self.ending, self.fault = [], False, None
        self.news = threading.Condition()
        self.serve, self.prefix = serve, prefix
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            producer, number = Producer(self.serve), 0
            while not self.ending:
                batch = [note(f"{self.prefix}-{number + i}", token((number + i) % 50)) for i in range(10)]
                number += len(batch)
                statuses = producer.batch(batch)
                assert pick(statuses, "status") == ["accepted"] * len(batch), statuses
                with self.news:
                    self.acknowledged += [envelope["id"] for envelope in batch]
                    self.news.notify_all()
            producer.close()
        except BaseException as error:
            with self.news:
                self.fault = error
                self.news.notify_all()

    def reach(self, count):
        """Waits for so many acknowledgments, and returns all there are."""
        with self.news:
            while len(self.acknowledged) < count:
                assert self.fault is None, self.fault
                self.news.wait()
            return list(self.acknowledged)

    def end(self):
        self.ending = True
        self.thread.join()
        assert self.fault is None, self.fault
        return self.acknowledged


def backup(source, target, *more, code=0):
    text = verb("backup", target, "--data", source, "--json", *more, code=code)
    return json.loads(text.splitlines()[-1])


def restore(source, target, *more, code=0):
    return json.loads(verb("restore", source, "--data", target, "--json", *more, code=code).splitlines()[-1])


def query(file, sql):
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(sql).fetchall()


def sound(directory):
    for name in ("ledger.db", "registry.db"):
        assert query(f"{directory}/{name}", "PRAGMA integrity_check") == [("ok",)], name


def digests(directory):
    found = {}
    for name in sorted(os.listdir(directory)):
        path = os.path.join(directory, name)
        if os.path.isfile(path) and name != "carillon.lock":
            with open(path, "rb") as file:
                found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def under_load():
    """A backup while producers push is restored elsewhere: it has all that was acknowledged before, and numbers go on."""
    scene = Scene()
    scene.simulator.faults({"on": "request", "latency": "5ms"})
    first = scene.serve()
    for number in range(50):
        first.verb("devices", "add", "shop", token(number), "--user", f"u{number % 7}", "--tag", "ios")
    load = Load(first, "load")
    before = load.reach(500)
    made = backup(scene.data, scene.path("copy"), "--rate", "8MiB")
    assert made["was_running"] and made["seq"] > 500 and made["devices"] == 50, made
    assert made["registry_seq"] <= made["seq"]
    load.reach(len(load.acknowledged) + 300)
    after = load.end()
    events, _ = replay(first)
    first.kill()
    # What the lost process had published after the last replay has no higher number than this.
    with contextlib.closing(sqlite3.connect(f"{scene.data}/ledger.db")) as ledger:
        lost = ledger.execute("SELECT max(first + count - 1) FROM log").fetchone()[0]
    shutil.rmtree(scene.data)

    verb("backup", "--check", scene.path("copy"))
    sound(scene.path("copy"))
    assert query(scene.path("copy/ledger.db"), "SELECT sum(count) FROM log") == [(made["events"],)]
    kept = [event for event in events if event["seq"] <= made["seq"]]
    assert len(kept) == made["events"], (len(kept), made)

    scene.data = scene.path("elsewhere")
    told = restore(scene.path("copy"), scene.data)
    assert told["next_seq"] % STRIDE == 1 and told["next_seq"] > lost + STRIDE // 2, (told, lost)
    sound(scene.data)
    second = scene.serve()
    producer, monitor = Producer(second), Monitor(second, since=0)
    producer.push(note("fresh", token(1)))
    monitor.completed("fresh")
    # A monitor that was there until the end: all of its events are in the copy or in the gap.
    kind, none, end = ask_replay(second, {"since": lost})
    assert kind == "replay-end/1" and end["oldest"] == told["next_seq"], (end, told)
    # One that was away has the events of the backup first, and then sees the gap.
    again, end = replay(second)
    assert [e for e in again if e["seq"] <= made["seq"]] == kept
    kind, _, end = ask_replay(second, {"since": made["seq"]})
    assert end["oldest"] == told["next_seq"], end
    new, _ = replay(second, since=told["next_seq"] - 1)
    assert new and min(e["seq"] for e in new) >= told["next_seq"]
    # The first event of each topic that had one names the end of the gap.
    heads = {}
    for event in new:
        heads.setdefault((event["family"], event["app"], event["kind"]), event["prev"])
    known = {(e["family"], e["app"], e["kind"]) for e in kept}
    assert all(prev == told["next_seq"] - 1 for topic, prev in heads.items() if topic in known), heads

    # All that was acknowledged before the backup is carried out or known.
    statuses = producer.batch([note(name, token(number % 50)) for number, name in enumerate(before)])
    assert pick(statuses, "status") == ["duplicate"] * len(before), [s for s in statuses if s["status"] != "duplicate"]
    monitor.until(lambda: set(before) <= {e["message_id"] for e in monitor.of("message/completed")})
    ids = {record["id"] for record in scene.simulator.received("&status=200")}
    missing = [n for i, n in enumerate(before) if apns_id("shop", n, token(i % 50)) not in ids]
    assert not missing, missing
    # What came after it is unknown to the copy unless the copy has it.
    status = producer.push(note(after[-1], token((len(after) - 1) % 50)))
    assert status["status"] == "accepted" and status["seq"] >= told["next_seq"], status
    assert len(second.verb("devices", "list", "--app", "shop", "--json").splitlines()) >= 50
    # A second restore counts on from there.
    second.stop()
    backup(scene.data, scene.path("copy-2"))
    third = restore(scene.path("copy-2"), scene.path("third"))
    assert third["next_seq"] > told["next_seq"] and third["next_seq"] % STRIDE == 1, (third, told)


def monitor_gap():
    """A monitor with examples/subscriber.py notices the gap of a restore and goes on."""
    scene = Scene()
    first = scene.serve()
    producer, monitor = Producer(first), Monitor(first)
    producer.push(note("one", token(1)))
    monitor.completed("one")
    backup(scene.data, scene.path("copy"))
    producer.push(note("two", token(1)))
    monitor.completed("two")
    seen = max(event["seq"] for event in monitor.events)
    first.stop()
    old = sorted(name for name in os.listdir(scene.data) if name not in ("carillon.lock", "control.sock"))
    told = restore(scene.path("copy"), scene.data, "--replace")
    assert sorted(os.listdir(told["earlier"])) == old, told
    assert set(os.listdir(scene.data)) >= {"ledger.db", "registry.db"}
    assert query(f"{told['earlier']}/ledger.db", "SELECT max(first + count - 1) FROM log")[0][0] >= seen
    second = scene.serve()
    Producer(second).push(note("three", token(1)))
    monitor = Monitor(second, since=0)
    monitor.completed("three")
    # It is told why, once, also after another start.
    (restored,) = monitor.of("ledger/restored")
    assert restored["seq"] == restored["continues_at"] == told["next_seq"] and restored["app"] == "-", restored
    assert (restored["backup_at"], restored["lost_after"]) == (told["created_at"], told["seq"]), (restored, told)
    second.stop()
    second = scene.serve()
    events, _ = replay(second, since=restored["seq"] - 1, prefix="ledger/")
    assert [event["seq"] for event in events] == [restored["seq"]], events
    for since in (seen, 1):
        watching = Child(
            sys.executable, "-u", os.environ["CARILLON_SUBSCRIBER"], second.places["publish"], second.places["replay"],
            str(since))
        watching.heard('"message_id": "three"')
        watching.heard(f"events before {told['next_seq']} are no longer available")
        assert not watching.said('"message_id": "two"')
        watching.signal(signal.SIGKILL)


def killed_backup():
    """A backup that is killed leaves nothing that looks like one, and the next one removes what is left."""
    scene = Scene()
    serve = scene.serve()
    producer = Producer(serve)
    for part in range(10):
        producer.batch([note(f"m-{part}-{i}", token(i), custom={"x": "y" * 2000}) for i in range(100)])
    copy = scene.path("copy")
    slow = Child(CARILLON, "backup", copy, "--data", scene.data, "--rate", "64KiB")
    while not os.path.exists(f"{copy}.partial/ledger.db"):
        assert not slow.ended, slow.lines
        pace()
    # A second one to the same place is refused while the first one runs; it cannot end meanwhile.
    slow.process.send_signal(signal.SIGSTOP)
    assert "another backup" in verb("backup", copy, "--data", scene.data, code=75)
    slow.kill()
    assert not os.path.exists(copy) and os.path.exists(f"{copy}.partial")
    assert "not a complete one" in verb("backup", "--check", f"{copy}.partial", code=65)
    backup(scene.data, copy)
    assert not os.path.exists(f"{copy}.partial") and "ledger.db" in os.listdir(copy)
    assert sorted(os.listdir(copy)) == sorted([f["name"] for f in json.load(open(f"{copy}/manifest.json"))["files"]]
                                             + ["manifest.json"])
    assert os.stat(copy).st_mode & 0o777 == 0o700 and os.stat(f"{copy}/ledger.db").st_mode & 0o777 == 0o600
    verb("backup", "--check", copy)
    assert producer.push(note("after", token(1)))["status"] == "accepted"


def full_disk():
    """A backup to a full disk fails, leaves nothing, and does not disturb the server."""
    scene = Scene()
    serve = scene.serve()
    producer = Producer(serve)
    for part in range(10):
        producer.batch([note(f"m-{part}-{i}", token(i), custom={"x": "y" * 3000}) for i in range(100)])
    small = scene.path("small")
    os.mkdir(small)
    # Without the check of the free space: a limit on the size of files shows only when it is reached.
    limited = Child("sh", "-c", 'ulimit -f 512; exec "$@"', "sh", CARILLON, "backup", f"{small}/copy", "--data", scene.data)
    assert limited.end() == 1 and limited.said("disk is full"), limited.lines
    assert os.listdir(small) == []
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "none", small], capture_output=True).returncode:
        return print("skipped: cannot mount a file system")
    endings.append(lambda: subprocess.run(["umount", "-l", small], check=True))
    assert "free space" in verb("backup", f"{small}/copy", "--data", scene.data, code=1)
    assert os.listdir(small) == []
    assert "free space" in verb("restore", scene.path("copy"), "--data", f"{small}/data", code=1) if backup(
        scene.data, scene.path("copy")) else False
    assert sorted(os.listdir(f"{small}/data")) == ["carillon.lock"]
    assert producer.push(note("after", token(1)))["status"] == "accepted"
    serve.stop()


def stopped_directory():
    """A directory on which no Carillon runs is copied without a change to it, also after a kill."""
    scene = Scene()
    serve = scene.serve()
    producer = Producer(serve)
    producer.batch([note(f"m-{i}", token(i)) for i in range(100)])
    Monitor(serve, since=0).completed(*[f"m-{i}" for i in range(100)])
    serve.kill()
    assert os.path.getsize(f"{scene.data}/ledger.db-wal") > 0
    before = digests(scene.data)
    made = backup(scene.data, scene.path("copy"))
    assert not made["was_running"] and made["message_ids"] == 100, made
    # The trace of the backup is all that it leaves.
    after = digests(scene.data)
    assert after.pop("backup.json") and after == before and "backup.json" not in os.listdir(scene.path("copy"))
    with open(f"{scene.data}/backup.json") as file:
        record = json.load(file)
    assert record["v"] == 1 and record["backup"] == scene.path("copy"), record
    assert os.stat(f"{scene.data}/backup.json").st_mode & 0o777 == 0o600
    assert made["created_at"] <= record["ended_at"] <= time.time() * 1000, (record, made)
    verb("backup", "--check", scene.path("copy"))
    # Nor by the check of a backup on a medium that is read-only.
    copied = digests(scene.path("copy"))
    os.chmod(scene.path("copy"), 0o500)
    verb("backup", "--check", scene.path("copy"))
    os.chmod(scene.path("copy"), 0o700)
    assert digests(scene.path("copy")) == copied
    serve = scene.serve()
    serve.stop()
    again = backup(scene.data, scene.path("copy-2"))
    assert not again["was_running"] and again["message_ids"] == 100 and again["seq"] >= made["seq"], again


def cluster():
    """The nodes of a cluster have nothing to copy."""
    scene = Scene()
    scene.more = {"store": "postgres://carillon@127.0.0.1/carillon", "cluster": {"node": "a", "durability": "single"}}
    said = verb("backup", scene.path("copy"), "--config", scene.configure(), code=78)
    assert "pg_basebackup" in said and "store restored" in said, said


def page_commands():
    """The commands of Documentation/Backup.md do what the page says."""
    scene = Scene()
    serve = scene.serve()
    Producer(serve).push(note("one", token(1)))
    with open(os.environ["CARILLON_BACKUP_PAGE"]) as file:
        blocks = file.read().split("```sh\n")[1:]
    places = {"/backup/carillon-1": scene.path("carillon-1"), "/var/lib/carillon": scene.data}
    blocks = [[[places.get(word, word) for word in line.split()] for line in block.split("```")[0].splitlines()]
              for block in blocks]
    assert len(blocks) == 2 and all(words[0] == "carillon" for block in blocks for words in block), blocks
    for words in blocks[0]:
        verb(*words[1:])
    serve.stop()
    for words in blocks[1]:
        verb(*words[1:])
    assert any(name.startswith("before-restore-") for name in os.listdir(scene.data))
    serve = scene.serve()
    assert Producer(serve).push(note("one", token(1)))["status"] == "duplicate"
    serve.stop()


if __name__ == "__main__":
    main(globals())
