"""Directories that earlier versions wrote, opened by this one as a process."""
import contextlib, json, os, sqlite3, tarfile, urllib.request

from harness import CARILLON, Child, http, main, Monitor, Producer, replay, Scene, token

FIXTURES = os.environ.get("CARILLON_FIXTURES", "")
PAYLOAD = b'{"aps":{"alert":"hello"}}'


def envelope(pushed):
    return {"to": {"tokens": pushed["tokens"]}, **{k: v for k, v in pushed.items() if k not in ("tokens", "seq")}}


def change(path, name, version):
    with contextlib.closing(sqlite3.connect(path)) as database:
        if name == "ledger.db":
            database.execute(f"PRAGMA user_version = {version}")
        elif version == 99:
            database.execute("INSERT INTO active_object_migrations (name, time) VALUES ('carillon-99', '')")
        else:
            database.execute("DELETE FROM active_object_migrations WHERE name = 'carillon-99'")
        database.commit()


def earlier_versions():
    """Each directory is upgraded in place: devices, keys, ids, pauses and events are there, and it goes on."""
    names = sorted(name[:-5] for name in os.listdir(FIXTURES) if name.endswith(".json"))
    assert len(names) >= 2, names
    for name in names:
        scene = Scene()
        scene.apps["news"] = scene.app("news")
        with open(f"{FIXTURES}/{name}.json") as file:
            facts = json.load(file)
        with tarfile.open(f"{FIXTURES}/{name}.tar.xz") as archive:
            archive.extractall(scene.data)
        os.chmod(scene.data, 0o700)
        serve = scene.serve(up=False)
        serve.line("connection up")
        producer = Producer(serve)
        for pushed in facts["done"] + facts["waiting"] + [facts["half"], facts["cancelled"]]:
            producer.send("push/1", envelope(pushed), PAYLOAD)
            _, (status,) = producer.answer()
            assert (status["status"], status["seq"]) == ("duplicate", pushed["seq"]), (name, pushed, status)
        found = {d["device"]: d for d in map(json.loads, serve.verb("devices", "list", "--json").splitlines())}
        for device in facts["devices"]:
            # The address of a Live Activity has ended, which nobody has updated for twelve hours.
            kept = {k: v for k, v in device.items() if k != "active" or device.get("kind") != "activity"}
            assert {k: found[device["device"]].get(k) for k in kept} == kept, (name, device)
        keys = {json.loads(line)["name"] for line in serve.verb("keys", "api", "list", "--json").splitlines()}
        assert keys == {key["name"] for page in facts["keys"] for key in page["keys"]}, (name, keys)
        # The secret of a key is sealed with api.key.
        request = urllib.request.Request(
            serve.places["http"] + "/v1/messages", method="POST",
            data=json.dumps(envelope(facts["done"][0])).encode()[:-1] + b',"payload":' + PAYLOAD + b"}",
            headers={"Authorization": "Bearer {key_id}.{secret}".format(**facts["bearer"]),
                     "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200 and json.load(answer)["status"] == "duplicate"
        assert "paused by an operator" in json.dumps(serve.ready()[1]), name
        events, _ = replay(serve)
        assert [e["seq"] for e in events[:facts["events"]]] == list(range(1, facts["newest"] + 1)), name
        monitor = Monitor(serve)
        producer.push({"id": "new", "app": "shop", "to": {"tokens": [token(99)]}, "alert": "Hello"})
        monitor.completed("new")
        serve.stop()
        with contextlib.closing(sqlite3.connect(f"{scene.data}/ledger.db")) as ledger:
            assert ledger.execute("PRAGMA user_version").fetchone()[0] == 4
        # A file of a newer version is refused by name.
        for file, words in (("ledger.db", "file version 99"), ("registry.db", "a newer program ran it")):
            change(f"{scene.data}/{file}", file, 99)
            refused = Child(CARILLON, "serve", "--config", scene.configure())
            assert refused.end() == 1, refused.lines
            refused.heard("written by a newer Carillon", words, file)
            change(f"{scene.data}/{file}", file, {"ledger.db": 4, "registry.db": 3}[file])
        serve = scene.serve()
        assert http(serve.places["http"] + "/healthz")[0] == 200
        serve.stop()


if __name__ == "__main__":
    main(globals())
