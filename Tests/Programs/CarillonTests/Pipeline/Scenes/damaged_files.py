"""Files that are damaged, lost, replaced or unusable, below a running process and before a start."""
import json, os, shutil, sqlite3, time
from harness import CARILLON, Child, control, main, Monitor, note, pick, Producer, Scene, token, unreachable_app


def away(scene):
    """Returns the path of a place beside the data directory."""
    return scene.path("away")


def copied(scene):
    """Replaces the data directory by a copy of itself."""
    os.rename(scene.data, away(scene))
    shutil.copytree(away(scene), scene.data, ignore=lambda _, names: [n for n in names if n.endswith(".sock")])


def removed(scene, *names):
    for name in names:
        os.remove(os.path.join(scene.data, name))


# What may happen to the files below a running process.
LOSSES = {
    "the directory is removed": lambda scene: shutil.rmtree(scene.data, ignore_errors=True),
    "the directory is moved": lambda scene: os.rename(scene.data, away(scene)),
    "the directory is replaced": copied,
    "the ledger is removed": lambda scene: removed(scene, "ledger.db", "ledger.db-wal", "ledger.db-shm"),
    "the write-ahead log is removed": lambda scene: removed(scene, "ledger.db-wal"),
    "the registry is removed": lambda scene: removed(scene, "registry.db"),
    "the lock is removed": lambda scene: removed(scene, "carillon.lock"),
}


def lost_files():
    """When files lose their names below a running process, nothing more is acknowledged, and everybody is told."""
    for what, lose in LOSSES.items():
        scene = Scene()
        serve = scene.serve()
        producer = Producer(serve)
        assert producer.push(note("before", token(1)))["status"] == "accepted", what
        lose(scene)
        statuses = [producer.push(note(f"after-{number}", token(2)))["status"] for number in range(3)]
        assert "accepted" not in statuses, (what, statuses)
        answer = serve.become_ready("removed or replaced")
        assert answer, what
        serve.heard("the ledger cannot write: producers are answered busy", "removed or replaced")
        # It is found without a push, too, and stays so.
        assert producer.push(note("later", token(3)))["status"] == "busy", what
        serve.kill()
        scene.simulator.kill()


def moved_directory():
    """A directory that is lost while nothing is pushed is reported, and all is well when it is back."""
    scene = Scene()
    serve = scene.serve()
    os.rename(scene.data, away(scene))
    serve.become_ready("removed or replaced")
    os.rename(away(scene), scene.data)
    serve.become_ready()
    serve.heard("the ledger can write again")
    producer, monitor = Producer(serve), Monitor(serve)
    assert producer.push(note("back", token(1)))["status"] == "accepted"
    monitor.completed("back")
    serve.stop()


def flip(path, *texts):
    """Flips a bit in each place of a file that has one of the texts."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    places = 0
    for text in texts:
        place = data.find(text)
        while place >= 0:
            data[place + 1] ^= 1
            places += 1
            place = data.find(text, place + len(text))
    with open(path, "wb") as file:
        file.write(data)
    return places


def message_bit_flip():
    """Stored messages in which a bit has changed are not sent, whether they wait or are scheduled."""
    scene = Scene()
    serve = scene.serve()
    serve.verb("pause", "shop")
    producer = Producer(serve)
    # They are due after the next start.
    soon = int(time.time()) + 10
    envelopes = [
        {"id": f"m{n}", "app": "shop", "to": {"tokens": [token(n)]}, "alert": "whole or damaged",
         **({"not_before": soon} if n % 2 else {})}
        for n in range(20)]
    # Two that stay whole: one waits, one is scheduled.
    envelopes += [{**envelopes[n], "id": f"whole-{n}", "alert": "intact"} for n in range(2)]
    assert set(pick(producer.batch(envelopes), "status")) == {"accepted"}
    serve.stop()
    path = os.path.join(scene.data, "ledger.db")
    assert flip(path, b"whole or damaged") >= 20
    serve = scene.serve()
    monitor = Monitor(serve, "message/shop/", since=0)
    serve.verb("resume", "shop")
    names = [f"m{n}" for n in range(20)]
    done = monitor.completed(*names, "whole-0", "whole-1")
    assert all(done[name]["sent"] == 0 for name in names), done
    assert done["whole-0"]["sent"] == done["whole-1"]["sent"] == 1, done
    rejected = {event["message_id"]: event["reason"] for event in monitor.of("message/rejected")}
    assert all(rejected[name] == "damaged" for name in names), rejected
    serve.heard("damaged and is not sent")
    assert not any("or damaged" in json.dumps(record) for record in scene.simulator.received())
    serve.stop()


def spoil(path):
    """Flips a bit in the middle of a file, and returns its place."""
    place = os.path.getsize(path) // 2
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 8]))
    return place


def ledger_log_bit_flip():
    """A bit that flips in the write-ahead log loses what is behind it; it is said, and numbers go on above."""
    scene = Scene()
    serve = scene.serve()
    serve.verb("pause", "shop")
    producer, monitor = Producer(serve), Monitor(serve, since=0)
    for number in range(200):
        status = producer.push(note(f"m{number}", token(number)))
        assert status["status"] == "accepted", status
    newest = status["seq"]
    monitor.wait("message/accepted", "m199")
    serve.kill()
    path = os.path.join(scene.data, "ledger.db-wal")
    place = spoil(path)
    serve = scene.serve()
    serve.heard("the write-ahead log of ledger.db is damaged", "ledger.db-wal.damaged-1")
    assert os.path.getsize(path + ".damaged-1") > place
    producer = Producer(serve)
    status = producer.push(note("next", token(1)))
    assert status["status"] == "accepted" and status["seq"] > newest, (status, newest)
    # The first is known, the last is not.
    assert producer.push(note("m0", token(0)))["status"] == "duplicate"
    assert producer.push(note("m199", token(199)))["status"] == "accepted"
    serve.stop()
    # A start with sound files has nothing to say.
    serve = scene.serve()
    assert not serve.said("is damaged"), serve.said("is damaged")
    serve.stop()


def registry_log_bit_flip():
    """A bit that flips in the write-ahead log of the registry is reported, once."""
    scene = Scene()
    serve = scene.serve()
    for number in range(8):
        serve.verb("devices", "add", "shop", token(number))
    serve.kill()
    path = os.path.join(scene.data, "registry.db-wal")
    spoil(path)
    serve = scene.serve()
    serve.heard("the write-ahead log of registry.db is damaged", "registry.db-wal.damaged-1")
    # What is left is used, and the lost devices can register again.
    for number in range(8):
        serve.verb("devices", "add", "shop", token(number))
    assert len(serve.verb("devices", "list", "--json").splitlines()) == 8
    serve.kill()
    serve = scene.serve()
    assert not serve.said("is damaged"), serve.said("is damaged")
    serve.stop()


def served(scene):
    """Starts a server, which then has a device and a completed message. Returns it, and the number of the acceptance."""
    serve = scene.serve()
    serve.verb("devices", "add", "shop", token(1), "--user", "ada")
    producer, monitor = Producer(serve), Monitor(serve, since=0)
    newest = producer.push(note("before", token(1)))["seq"]
    monitor.completed("before")
    return serve, newest


def missing_database():
    """A database that is lost or cut after an orderly stop is missed at the next start."""
    losses = [("ledger.db", None), ("ledger.db", 0), ("ledger.db", 1), ("registry.db", None), ("registry.db", 1)]
    for name, size in losses:
        scene = Scene()
        serve, newest = served(scene)
        serve.stop()
        path = os.path.join(scene.data, name)
        if size is None:
            os.remove(path)
        else:
            os.truncate(path, size)
        serve = scene.serve()
        serve.heard(f"{name} is missing or empty")
        if name == "ledger.db":
            serve.heard("ledger.db ends before events that other files of the directory know")
            registered_again(scene, serve, newest)
        serve.stop()
        scene.simulator.kill()


def registered_again(scene, serve, newest):
    """Beside a ledger that is new, numbers go on above the lost ones, and each address is one device, as before."""
    producer, monitor = Producer(serve), Monitor(serve)
    assert producer.push(note("after", token(1)))["seq"] > newest + 1000
    monitor.completed("after")
    assert control(serve, "POST", "/v1/apps/shop/devices", {"token": token(1), "user": "eve"})[0] == 200
    sent = len(scene.simulator.accepted())
    for user in ("ada", "eve"):
        producer.push({"id": f"to-{user}", "app": "shop", "to": {"users": [user]}, "alert": "private"})
        monitor.completed(f"to-{user}")
    # The former owner of the address has none.
    assert len(scene.simulator.accepted()) == sent + 1
    assert len(serve.verb("devices", "list", "--json").splitlines()) == 1


def killed_without_ledger():
    """After a kill, too, numbers go on above those of a ledger that is lost, and new changes of operators are listed."""
    for lost in (["ledger.db"], ["ledger.db", "registry.db"]):
        scene = Scene()
        serve, newest = served(scene)
        serve.verb("pause", "shop")
        serve.verb("resume", "shop")
        newest = max([newest] + pick(operator_events(serve), "seq"))
        serve.kill()
        for name in lost:
            for end in ("", "-wal", "-shm"):
                os.remove(os.path.join(scene.data, name + end))
        serve = scene.serve()
        serve.heard("ledger.db ends before events that other files of the directory know")
        assert Producer(serve).push(note("after", token(1)))["seq"] > newest + 1000
        before = len(operator_events(serve))
        serve.verb("pause", "shop")
        assert [event["kind"] for event in operator_events(serve)[before:]] == ["pause"]
        serve.stop()
        scene.simulator.kill()


def operator_events(serve):
    """Returns the events of operators as `carillon events` lists them."""
    return [json.loads(line) for line in serve.verb("events", "--prefix", "operator/", "--json").splitlines()]


def two_installations():
    """The files of two installations are not served together, and doctor says what to do."""
    one, other = Scene(), Scene()
    for scene in (one, other):
        serve = scene.serve()
        serve.verb("devices", "add", "shop", token(1), "--user", "ada")
        serve.stop()
    path = os.path.join(one.data, "registry.db")
    shutil.copy(path, path + ".own")
    shutil.copy(os.path.join(other.data, "registry.db"), path)
    for words, code in ((["serve"], 1), (["doctor", "--offline"], 1)):
        child = Child(CARILLON, *words, "--config", one.configure())
        ended, said = child.end(), " ".join(child.lines)
        assert ended == code and "are not of one installation" in said and "move ledger.db* away" in said, (ended, said)
    # The way out that the text names: the devices stay.
    removed(one, "ledger.db")
    serve = one.serve()
    assert control(serve, "POST", "/v1/apps/shop/devices", {"token": token(1), "user": "ada"})[0] == 200
    assert len(serve.verb("devices", "list", "--json").splitlines()) == 1
    serve.stop()


def damaged_message():
    """A stored message that is damaged ends with an event; the log, `stats` and `/readyz` report it."""
    scene = Scene()
    scene.apps["late"] = unreachable_app(scene, "late")
    serve = scene.serve()
    producer = Producer(serve)
    for name in ("one", "two"):
        assert producer.push(note(name, token(1), app="late"))["status"] == "accepted"
    serve.kill()
    with sqlite3.connect(os.path.join(scene.data, "ledger.db")) as ledger:
        (first,) = ledger.execute("SELECT min(first) FROM messages").fetchone()
        ledger.execute("UPDATE messages SET bodies = zeroblob(length(bodies)) WHERE first = ?", (first,))
    ledger.close()
    scene.apps["late"] = scene.app("late")
    serve = scene.serve()
    monitor = Monitor(serve, "message/late/", since=0)
    done = monitor.completed("one", "two")
    assert done["one"]["sent"] == 0 and done["two"]["sent"] == 1, done
    (rejected,) = monitor.wait("message/rejected")
    assert rejected["message_id"] == "one" and rejected["reason"] == "damaged", rejected
    serve.heard("damaged and is not sent")
    assert any("damaged" in text for text in control(serve, "GET", "/v1/stats")[1]["obstacles"])
    answer = serve.become_ready()
    assert any("damaged" in text for text in answer["warnings"]), answer
    serve.stop()
    # After a restart the warning is gone.
    serve = scene.serve()
    assert "warnings" not in serve.become_ready()
    serve.stop()


def unusable_directory():
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


if __name__ == "__main__":
    main(globals())
