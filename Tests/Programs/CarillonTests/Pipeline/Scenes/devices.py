"""Devices: audiences, users with similar names, deactivation and reactivation, export and import."""
import base64, json, time
from harness import apns_id, control, main, Monitor, note, Producer, Scene, token, verb


def audiences():
    """Devices that the verb registers are reached by user, tag, `all` and device id."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    names = {}
    for number, (user, tags) in enumerate([("ada", ["beta"]), ("ada", []), ("bob", ["beta", "vip"]), (None, ["old"])]):
        words = (["--user", user] if user else []) + [w for t in tags for w in ("--tag", t)]
        answer = json.loads(serve.verb("devices", "add", "shop", token(number), *words, "--json"))
        assert answer["change"] == "registered", answer
        names[answer["device"]] = number
    assert [e["device"] for e in monitor.wait("device/registered", count=4)] == list(names)
    assert len(serve.verb("devices", "list", "--app", "shop", "--json").splitlines()) == 4
    ids = list(names)
    for name, to, wanted in [
        ("users", {"users": ["ada", "nobody"]}, [0, 1]), ("all", {"all": True}, [0, 1, 2, 3]),
        ("devices", {"devices": [ids[1], ids[3]]}, [1, 3]), ("any", {"tags": {"any": ["vip", "old"]}}, [2, 3]),
        ("not", {"tags": {"all": ["beta", {"not": "vip"}]}}, [0]), ("none", {"tags": {"all": ["vip", "old"]}}, []),
    ]:
        status = producer.push({"id": name, "app": "shop", "to": to, "alert": "Hello"})
        assert status["status"] == "accepted", (name, status)
        done = monitor.completed(name)[name]
        assert done["sent"] == len(wanted), (name, done)
        assert sorted(names[e["device"]] for e in monitor.of("delivery/sent", name)) == wanted, name
    # With `again`, only the device that joined the audience later gets the message.
    answer = json.loads(serve.verb("devices", "add", "shop", token(9), "--user", "ada", "--json"))
    again = {"id": "users", "app": "shop", "to": {"users": ["ada", "nobody"]}, "alert": "Hello"}
    assert producer.push(again)["status"] == "duplicate"
    assert producer.push({**again, "again": True})["status"] == "accepted"
    monitor.until(lambda: len(monitor.of("message/completed", "users")) == 2)
    assert monitor.of("delivery/sent", "users")[-1]["device"] == answer["device"]
    assert len(monitor.of("delivery/sent", "users")) == 3 and monitor.of("message/completed", "users")[1]["counts"]["sent"] == 1
    serve.stop()


def address_kinds():
    """A type of message finds the addresses of its kind; a named one of another kind is rejected and stays active."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    kinds = ["alert", "voip", "widget", None]
    ids = []
    for number, kind in enumerate(kinds):
        words = ["--kind", kind] if kind else []
        answer = json.loads(serve.verb("devices", "add", "shop", token(number), "--user", "ada", *words, "--json"))
        ids.append(answer["device"])
    payloads = {"alert": {"alert": "hi"}, "voip": {"payload": {"call": 1}}}
    for push_type, wanted in [("alert", [0, 3]), ("voip", [1])]:
        for name, to in [("users", {"users": ["ada"]}), ("all", {"all": True})]:
            name = f"{push_type}-{name}"
            status = producer.push(
                {"id": name, "app": "shop", "to": to, "push_type": push_type, **payloads[push_type]})
            assert status["status"] == "accepted", status
            monitor.completed(name)
            assert sorted(ids.index(e["device"]) for e in monitor.of("delivery/sent", name)) == wanted, name
        for name, to in [("tokens", {"tokens": [token(n) for n in range(5)]}), ("devices", {"devices": ids})]:
            name = f"{push_type}-{name}"
            producer.push({"id": name, "app": "shop", "to": to, "push_type": push_type, **payloads[push_type]})
            done = monitor.completed(name)[name]
            rejected = monitor.of("delivery/rejected", name)
            wrong = [n for n, kind in enumerate(kinds) if kind not in (push_type, None)]
            assert sorted(ids.index(e["device"]) for e in rejected) == wrong, (name, rejected)
            assert {e["reason"] for e in rejected} == {"wrong_kind"} and "status" not in rejected[0], rejected
            assert done["sent"] == len(to.get("tokens", ids)) - len(wrong) and done["rejected"] == len(wrong), done
    # A single token, which needs no page of devices.
    for push_type in payloads:
        name = f"{push_type}-one"
        producer.push({"id": name, "app": "shop", "to": {"tokens": [token(2)]}, "push_type": push_type,
                       **payloads[push_type]})
        assert monitor.completed(name)[name]["rejected"] == 1
    assert not monitor.of("device/deactivated")
    listed = [json.loads(line)["device"] for line in serve.verb("devices", "list", "--kind", "voip", "--json").splitlines()]
    assert listed == [ids[1]], listed
    # The kinds are known after a kill.
    serve.kill()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push({"id": "later", "app": "shop", "to": {"tokens": [token(1)]}, "alert": "hi"})
    assert monitor.completed("later")["later"]["rejected"] == 1
    serve.stop()


def unregistered_device():
    """A 410 deactivates a device, which is suppressed until it registers again; also across a restart."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    serve.verb("devices", "add", "shop", token(1), "--user", "ada")
    since = int(time.time() * 1000) + 3_600_000
    scene.simulator.device(token(1), state="unregistered", since=since)
    producer.push(note("first", token(1)))
    done = monitor.completed("first")["first"]
    assert done["rejected"] == 1, done
    (rejected,) = monitor.of("delivery/rejected")
    assert rejected["status"] == 410 and rejected["reason"] == "Unregistered", rejected
    (deactivated,) = monitor.wait("device/deactivated")
    evidence = {k: deactivated.get(k) for k in ("device", "reason", "message_id", "apns_id", "time")}
    assert evidence == {
        "device": rejected["device"], "reason": "Unregistered", "message_id": "first", "time": since,
        "apns_id": apns_id("shop", "first", token(1))}, deactivated
    # The deactivation applies as soon as its event is published, although the registry is written a moment later.
    producer.push(note("second", token(1)))
    assert monitor.completed("second")["second"]["suppressed"] == 1
    (suppressed,) = monitor.of("delivery/suppressed", "second")
    assert suppressed["reason"] == "inactive" and suppressed["device"] == rejected["device"], suppressed
    serve.kill()

    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(note("third", token(1)))
    assert monitor.completed("third")["third"]["suppressed"] == 1
    shown = json.loads(serve.verb("devices", "show", rejected["device"], "--json"))
    assert shown["active"] is False and shown["reason"] == "Unregistered", shown
    scene.simulator.device(token(1), state="active")
    answer = json.loads(serve.verb("devices", "add", "shop", token(1), "--json"))
    assert answer["change"] == "reactivated" and answer["device"] == rejected["device"], answer
    assert monitor.wait("device/reactivated")[0]["device"] == rejected["device"]
    producer.push(note("fourth", token(1)))
    assert monitor.completed("fourth")["fourth"]["sent"] == 1
    # A device that registered after the time in a 410 stays active: the 410 is about its earlier registration.
    scene.simulator.device(token(1), state="unregistered", since=1_600_000_000_000)
    producer.push(note("fifth", token(1)))
    assert monitor.completed("fifth")["fifth"]["rejected"] == 1
    serve.verb("devices", "deactivate", rejected["device"], "--reason", "lost")
    assert [e["reason"] for e in monitor.wait("device/deactivated")] == ["lost"]
    serve.stop()


def bad_token_brake():
    """A flood of bad tokens trips the brake: deactivation pauses, and an event reports it."""
    scene = Scene()
    scene.simulator.device("bad*", state="bad")
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    bad = [token(n, "bad0") for n in range(400)]
    producer.push(note("flood", *bad))
    done = monitor.completed("flood")["flood"]
    assert done["rejected"] == 400, done
    (alarm,) = monitor.wait("device/brake")
    assert alarm["state"] == "on" and alarm["candidates"] >= 50 <= alarm["answers"], alarm
    before = len(monitor.of("device/deactivated"))
    assert before < 200, before
    producer.push(note("more", *(token(n, "bad1") for n in range(100))))
    assert monitor.completed("more")["more"]["rejected"] == 100
    producer.push(note("good", token(1)))
    assert monitor.completed("good")["good"]["sent"] == 1
    assert len(monitor.of("device/deactivated")) == before and len(monitor.of("device/brake")) == 1
    (app,) = json.loads(serve.verb("stats", "--json"))["apps"]
    assert app["brake_reason"] == "BadDeviceToken", app
    assert app["brake_advice"] == "check topic and environment of the app", app
    serve.heard("too many bad tokens")
    serve.stop()


def similar_names():
    """Two users, and two tags, whose names look equal but have different bytes."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    names = ["caf\u00e9", "cafe\u0301"]
    for number, name in enumerate(names):
        serve.verb("devices", "add", "shop", token(number), "--user", name, "--tag", name)
    for name, to, count in [
        ("users", {"users": names}, 2), ("one", {"users": names[1:]}, 1), ("tags", {"tags": {"any": names}}, 2),
        ("both", {"tags": {"all": names}}, 0),
    ]:
        assert producer.push({"id": name, "app": "shop", "to": to, "alert": "Hello"})["status"] == "accepted"
        assert monitor.completed(name)[name]["sent"] == count, (name, monitor.completed(name))
    # A device with both tags.
    serve.verb("devices", "add", "shop", token(7), "--tag", names[0], "--tag", names[1])
    assert producer.push({"id": "all", "app": "shop", "to": {"tags": {"all": names}}, "alert": "Hi"})["status"] == "accepted"
    assert monitor.completed("all")["all"]["sent"] == 1
    serve.stop()


def transfer():
    """What is exported is imported again as it was, at all three push services: every address that a registration takes."""
    scene = Scene("--fcm-port", "0", "--webpush-port", "0")
    places = scene.simulator.places
    scene.apps["android"] = {
        "service": "fcm", "credential": {"service_account": places["service_account"]},
        "endpoint": {"host": "127.0.0.1", "port": int(places["fcm"]), "trust": places["ca"]}}
    verb("keys", "vapid", scene.path("vapid.pem"))
    scene.apps["web"] = {
        "service": "webpush", "credential": {"vapid": scene.path("vapid.pem"), "subject": "mailto:ops@example.com"},
        "endpoint": {"host": "127.0.0.1", "port": int(places["webpush"]), "trust": places["ca"]},
        "navigate": "https://shop.example.com/"}
    serve = scene.serve()
    subscriptions = [json.loads(line) for line in scene.simulator.ask("/subscriptions?count=2", "POST").splitlines()]
    given = {
        # Hexadecimal, with brackets, in base64, and short.
        "shop": [token(1), f"<{token(2)}>", base64.b64encode(bytes.fromhex(token(3))).decode(), "abcd"],
        # A registration token, an installation id, and an old token, which could be read as base64.
        "android": ["cBO4W9qkR0mSx1:APA91b-a_" + "x" * 130, "c" * 22, "APA91b" + "y" * 134],
        "web": subscriptions}
    rows = [{"app": app, "token": one, "user": f'{app} "{number}", {number}', "tags": ["a;b", app], "locale": "de-CH"}
            for app, tokens in given.items() for number, one in enumerate(tokens)]
    for row in rows:
        status, answer = control(serve, "POST", f"/v1/apps/{row['app']}/devices",
                                 {key: value for key, value in row.items() if key != "app"})
        assert status == 201, (row, answer)

    def export(name):
        path = scene.path(name)
        serve.verb("devices", "export", "--out", path)
        return path

    def devices():
        with open(export("seen.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        return sorted(({key: value for key, value in line.items() if not key.endswith("_at")} for line in lines),
                      key=lambda line: line["device"])

    before = devices()
    assert len(before) == len(rows), before
    for form in "csv", "jsonl":
        path = export(f"devices.{form}")
        serve.verb("devices", "remove", *(one["device"] for one in before))
        assert devices() == []
        imported = serve.verb("devices", "import", path)
        assert f"Imported: {len(rows)} new" in imported, imported
        assert devices() == before, form
    # In the forms in which they were registered, too.
    with open(scene.path("given.jsonl"), "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    assert f"0 new, {len(rows)} known" in serve.verb("devices", "import", scene.path("given.jsonl"))
    assert devices() == before
    # An address of another push service is refused on its line, and is not shown.
    with open(scene.path("wrong.jsonl"), "w") as file:
        for app, one in (("shop", "APA91b" + "-" * 134), ("android", subscriptions[0]), ("web", token(1))):
            file.write(json.dumps({"app": app, "token": one}) + "\n")
    refused = verb("devices", "import", scene.path("wrong.jsonl"), "--config", serve.file, code=65)
    assert all(f"line {number}: rejected" in refused for number in (1, 2, 3)), refused
    assert subscriptions[0]["keys"]["auth"] not in refused and token(1) not in refused, refused
    serve.stop()


if __name__ == "__main__":
    main(globals())
