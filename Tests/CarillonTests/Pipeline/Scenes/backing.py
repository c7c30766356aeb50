"""Backups of a running and of a stopped Carillon, and what a restore makes of them."""
import contextlib, hashlib, json, os, shutil, signal, sqlite3, subprocess, sys, threading, time

from ground import (
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


def watched():
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


def killed():
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


def full():
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


def refused():
    """What is not a backup is not restored, and what is not empty is not written."""
    scene = Scene()
    serve = scene.serve()
    Producer(serve).push(note("one", token(1)))
    serve.verb("keys", "api", "add", "me", "--role", "push")
    copy = scene.path("copy")
    backup(scene.data, copy)
    for name, make in (("directory", os.mkdir), ("file", lambda path: open(path, "w").close()),
                       ("link", lambda path: os.symlink("/nonexistent", path)),
                       ("link-2", lambda path: os.symlink(copy, path))):
        make(scene.path(name))
        assert "already exists" in verb("backup", scene.path(name), "--data", scene.data, code=65)
    assert "ledger.db" in verb("backup", scene.path("x"), "--data", scene.path("none"), code=65)
    assert "cannot create" in verb("backup", scene.path("none/x"), "--data", scene.data, code=1)
    # A place that somebody else has prepared.
    os.symlink(scene.data, scene.path("trap.partial"))
    verb("backup", scene.path("trap"), "--data", scene.data, code=1)
    os.mkdir(scene.path("busy.partial"))
    open(scene.path("busy.partial/mine.txt"), "w").close()
    assert "mine.txt" in verb("backup", scene.path("busy"), "--data", scene.data, code=65)
    assert os.path.exists(scene.path("busy.partial/mine.txt"))

    assert "runs on the data directory" in verb("restore", copy, "--data", scene.data, "--replace", code=75)
    serve.stop()
    before = digests(scene.data)
    assert "not empty" in verb("restore", copy, "--data", scene.data, code=65)
    verb("restore", copy, "--data", scene.data, "--cancel-waiting", "--pause", code=64)
    assert "not a backup" in verb("restore", scene.path("directory"), "--data", scene.data, "--replace", code=65)
    assert "no such file" in verb("restore", scene.path("nothing"), "--data", scene.data, "--replace", code=65).lower()

    def spoil(change, words, also=None):
        bad = scene.path("bad")
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(copy, bad)
        with open(f"{bad}/manifest.json") as file:
            manifest = json.load(file)
        change(manifest, bad)
        with open(f"{bad}/manifest.json", "w") as file:
            file.write(manifest if isinstance(manifest, str) else json.dumps(manifest))
        for words_of in (["backup", "--check", bad], ["restore", bad, "--data", scene.data, "--replace"]):
            said = verb(*words_of, code=65)
            assert words in said, (words, said)

    def entry(manifest, name="ledger.db"):
        return next(f for f in manifest["files"] if f["name"] == name)

    def append(path, what=b"x"):
        with open(path, "ab") as file:
            file.write(what)

    def flip(path):
        with open(path, "r+b") as file:
            file.seek(5000)
            byte = file.read(1)
            file.seek(5000)
            file.write(bytes([byte[0] ^ 1]))

    def link(path, target):
        os.remove(path)
        os.symlink(target, path)

    for name in ("../../etc/passwd", "/etc/passwd", "..", "", "carillon.lock", "feedback-../x.spool", "ledger.db/x",
                 "feedback-.spool", "control.sock", "restore.ready", "x" * 5000, "ledger.db\0", "\u2028"):
        spoil(lambda m, d: m["files"].append(dict(entry(m), name=name)), "not part of a backup")
    spoil(lambda m, d: m["files"].append(dict(entry(m))), "is invalid")
    spoil(lambda m, d: m.update(files=[]), "does not name ledger.db")
    for size in (0, 1, 1 << 40, (1 << 63) - 1):
        spoil(lambda m, d: entry(m).update(size_bytes=size), "the manifest says")
    spoil(lambda m, d: entry(m).update(size_bytes=-1), "is invalid")
    spoil(lambda m, d: entry(m).update(size_bytes=1e300), "is not the manifest")
    spoil(lambda m, d: entry(m).update(sha256="0" * 64), "SHA-256 differs")
    spoil(lambda m, d: append(f"{d}/ledger.db"), "the manifest says")
    spoil(lambda m, d: flip(f"{d}/registry.db"), "SHA-256 differs")
    spoil(lambda m, d: os.remove(f"{d}/api.key"), "api.key is missing")
    spoil(lambda m, d: link(f"{d}/api.key", "/etc/hostname"), "is a symbolic link")
    spoil(lambda m, d: (os.remove(f"{d}/api.key"), os.mkfifo(f"{d}/api.key")), "not a regular file")
    spoil(lambda m, d: m.update(registry_seq=m["seq"] + 1), "ahead of the ledger")
    spoil(lambda m, d: m.update(seq=m["seq"] + 1), "the manifest says")
    spoil(lambda m, d: m.update(format=2, carillon="9.9.9"), "made by a newer Carillon (9.9.9, format 2)")
    spoil(lambda m, d: entry(m).update(version=99), "ledger.db has version 99")
    spoil(lambda m, d: entry(m, "registry.db").update(version=99), "registry.db has version 99")
    spoil(lambda m, d: m.pop("files"), "is not the manifest")

    def damage(manifest, directory, file="ledger.db"):
        # The manifest fits, and the database is damaged.
        path = f"{directory}/{file}"
        with open(path, "r+b") as handle:
            handle.seek(8192)
            handle.write(os.urandom(2048))
        with open(path, "rb") as handle:
            entry(manifest, file)["sha256"] = hashlib.sha256(handle.read()).hexdigest()

    spoil(damage, "is damaged")
    for junk in ("", "null", "[]", "{", "{}", '"x"', "[" * 100000, '{"format":1}'):
        bad = scene.path("bad")
        with open(f"{bad}/manifest.json", "w") as file:
            file.write(junk)
        assert "is not the manifest" in verb("backup", "--check", bad, code=65)
    assert digests(scene.data) == before, "a refused restore changes nothing"

    # The same backup is good.
    told = restore(copy, scene.data, "--replace")
    assert digests(told["earlier"]) == before
    assert len(scene.serve().verb("keys", "api", "list", "--json").splitlines()) == 1


def waiting():
    """What waited at the time of a backup is sent, cancelled or held, as the operator chooses."""
    scene = Scene()
    serve = scene.serve()
    serve.verb("pause", "shop")
    producer = Producer(serve)
    later = int(time.time()) + 86400
    producer.push(note("wide", *[token(n) for n in range(5)]))
    producer.batch([note(f"m-{i}", token(i)) for i in range(600)])
    producer.push(note("later", token(1), not_before=later))
    copy = scene.path("copy")
    made = backup(scene.data, copy)
    assert made["scheduled"] == 1, made
    serve.verb("resume", "shop")
    serve.kill()

    sent = restore(copy, scene.path("sent"))
    assert (sent["waiting"], sent["scheduled"], sent["waiting_are"]) == (601, 1, "sent"), sent
    cancelled = restore(copy, scene.path("cancelled"), "--cancel-waiting")
    assert (cancelled["waiting"], cancelled["scheduled"]) == (601, 1), cancelled
    # A person is told the same.
    said = verb("restore", copy, "--data", scene.path("again"))
    assert "601 messages waited and 1 were scheduled" in said and "--cancel-waiting" in said, said

    scene.data = scene.path("cancelled")
    count = len(scene.simulator.received())
    serve = scene.serve(up=False)
    serve.verb("resume", "shop")
    monitor = Monitor(serve, since=0)
    done = monitor.completed("wide", "later", *[f"m-{i}" for i in range(600)])
    assert done["wide"]["cancelled"] == 5 and done["later"]["cancelled"] == 1 and done["m-7"]["sent"] == 0, done["wide"]
    producer = Producer(serve)
    assert producer.push(note("m-7", token(7)))["status"] == "duplicate"
    assert producer.push(note("new", token(7)))["status"] == "accepted"
    monitor.completed("new")
    assert len(scene.simulator.received()) == count + 1
    serve.stop()

    # The apps of a backup that was not paused are paused on request.
    scene.data = scene.path("sent")
    serve = scene.serve(up=False)
    serve.verb("resume", "shop")
    monitor = Monitor(serve, since=0)
    monitor.completed("wide", *[f"m-{i}" for i in range(600)])
    backup(scene.data, scene.path("copy-2"))
    held = restore(scene.path("copy-2"), scene.path("held"), "--pause")
    assert held["paused"] == ["shop"] and (held["waiting"], held["scheduled"]) == (0, 1), held
    serve.stop()
    scene.data = scene.path("held")
    serve = scene.serve(up=False)
    serve.become_ready("paused by an operator")
    serve.stop()


def stopped():
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


def halted():
    """A restore that is killed before any of its steps leaves a directory that is wholly the old or wholly the new one,
    and the next command completes it or says what to do."""
    scene = Scene()
    shim = scene.path("halting.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "halting.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    first = scene.serve()
    producer, monitor = Producer(first), Monitor(first)
    producer.push(note("one", token(1)))
    monitor.completed("one")
    made = backup(scene.data, scene.path("copy"))
    producer.push(note("two", token(1)))
    monitor.completed("two")
    # The files of a process that was killed include the write-ahead log.
    first.kill()
    old, data = scene.path("old"), scene.data
    shutil.copytree(data, old, ignore=shutil.ignore_patterns("control.sock"))

    def content(directory):
        # The index of a log is made anew by each reader.
        found = {name: digest for name, digest in digests(directory).items() if not name.endswith("-shm")}
        # An empty file that says that all earlier files are there. The last step removes it.
        found.pop("complete", None)
        return found

    def state():
        """Returns "old" or "new" if the directory is wholly that, and otherwise what is there."""
        names = set(os.listdir(data))
        earlier = [name for name in names if name.startswith("before-restore-")]
        if content(data) == content(old) and not earlier:
            return "old"
        files = {file["name"] for file in json.load(open(f"{scene.path('copy')}/manifest.json"))["files"]}
        if names == files | {"carillon.lock", *earlier} and [content(f"{data}/{name}") for name in earlier] == [content(old)]:
            sound(data)
            if query(f"{data}/ledger.db", "SELECT first FROM gaps") == [(made["seq"] + 1,)]:
                return "new"
        return f"{sorted(names)} {[sorted(os.listdir(f'{data}/{name}')) for name in earlier]}"

    step, outcomes = 0, []
    while True:
        step += 1
        shutil.rmtree(data)
        shutil.copytree(old, data)
        words = ["restore", scene.path("copy"), "--data", data, "--replace"]
        halted = Child("env", f"LD_PRELOAD={shim}", f"HALT_BEFORE={step}", CARILLON, *words)
        if halted.end() != -signal.SIGKILL:
            assert halted.process.returncode == 0 and state() == "new", (step, halted.lines, state())
            break
        # The exchange is not yet completed, or nothing has changed.
        was_decided = os.path.exists(f"{data}/restore.ready") or state() == "new"
        # The next command completes what was decided. It refuses the directory, which is not empty, and says what to do.
        said = verb("restore", scene.path("copy"), "--data", data, code=65)
        assert "not empty" in said and "--replace" in said, said
        outcomes.append(state())
        assert outcomes[-1] == ("new" if was_decided else "old"), (step, outcomes, was_decided)
        assert not {"restore.partial", "restore.ready"} & set(os.listdir(data)), (step, os.listdir(data))
    # The steps of one kind come before those of the other.
    turn = outcomes.count("old")
    assert outcomes == ["old"] * turn + ["new"] * (len(outcomes) - turn) and 5 < turn < len(outcomes) - 5, outcomes
    # What a start finds around the decision, and what it knows.
    for step, known in ((turn, {"one", "two"}), (turn + 1, {"one"}), (turn + 5, {"one"}), (len(outcomes), {"one"})):
        shutil.rmtree(data)
        shutil.copytree(old, data)
        Child("env", f"LD_PRELOAD={shim}", f"HALT_BEFORE={step}", CARILLON, *words).end()
        serve = scene.serve()
        producer = Producer(serve)
        for name in ("one", "two"):
            status = producer.push(note(name, token(1)))["status"]
            assert status == ("duplicate" if name in known else "accepted"), (step, name, status)
        serve.stop()
        assert not {"restore.partial", "restore.ready"} & set(os.listdir(data)), (step, os.listdir(data))
        # And a restore over it works.
        verb(*words)
    print(f"{len(outcomes)} steps, {turn} of them before the decision")


def clustered():
    """The nodes of a cluster have nothing to copy."""
    scene = Scene()
    scene.more = {"store": "postgres://carillon@127.0.0.1/carillon", "cluster": {"node": "a", "durability": "single"}}
    said = verb("backup", scene.path("copy"), "--config", scene.configure(), code=78)
    assert "pg_basebackup" in said and "store restored" in said, said


def page():
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


main(globals())
