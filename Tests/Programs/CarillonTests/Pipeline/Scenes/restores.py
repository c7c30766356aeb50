"""Restores of backups: what is refused, what becomes of waiting messages, and a kill at any step."""
import hashlib, json, os, shutil, signal, subprocess, time
from backups import backup, digests, query, restore, sound
from harness import CARILLON, Child, main, Monitor, note, Producer, Scene, token, verb


def refused_backups():
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


def waiting_messages():
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


def killed_restore():
    """A restore that is killed before any of its steps leaves a directory that is wholly the old or wholly the new one,
    and the next command completes it or says what to do."""
    scene = Scene()
    shim = scene.path("kill_at_step.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kill_at_step.c")
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
        # What says that a backup was restored comes last.
        names = set(os.listdir(data)) - {"operators.pending"}
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
        killed = Child("env", f"LD_PRELOAD={shim}", f"KILL_BEFORE={step}", CARILLON, *words)
        if killed.end() != -signal.SIGKILL:
            assert killed.process.returncode == 0 and state() == "new", (step, killed.lines, state())
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
        Child("env", f"LD_PRELOAD={shim}", f"KILL_BEFORE={step}", CARILLON, *words).end()
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


if __name__ == "__main__":
    main(globals())
