"""Users that are erased: what waits for them, and what is left of them in the files."""
import glob
import json
import os
import sqlite3
import subprocess
import time
from harness import control, main, Monitor, pick, Producer, replay, Scene, token

NAME, TAG = "zacharias.quintel", "tag-of-zacharias"


def push(producer, name, *users, **more):
    envelope = {"id": name, "app": "shop", "to": {"users": list(users)}, "alert": "Hello", **more}
    assert producer.push(envelope)["status"] == "accepted", name


def copies(data, text):
    """Returns how often the files contain a text, and how often the rows of the log do."""
    found = 0
    for path in glob.glob(data + "/**", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found += file.read().count(text.encode())
    ledger = sqlite3.connect(f"file:{data}/ledger.db?mode=ro", uri=True)
    logged = sum(bytes(body).count(text.encode()) for body, in ledger.execute("SELECT body FROM log"))
    ledger.close()
    return found, logged


def erased_user():
    """After the erasure nothing goes out to the user, and only the log's past has the name."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    device = json.loads(serve.verb("devices", "add", "shop", token(1), "--user", NAME, "--tag", TAG, "--json"))["device"]
    serve.verb("devices", "add", "shop", token(2), "--user", "other")
    push(producer, "sent", NAME)
    assert monitor.completed("sent")["sent"]["sent"] == 1
    serve.verb("pause", "shop")
    push(producer, "held", NAME, "other")
    push(producer, "later", NAME, not_before=int(time.time()) + 2)
    push(producer, "much-later", NAME, "other", not_before=int(time.time()) + 86400)
    exported = json.loads(serve.verb("users", "export", NAME, "--json"))
    assert [one["device"] for one in exported["devices"]] == [device], exported
    assert {one["message_id"] for one in exported["messages"]} == {"sent", "held", "later", "much-later"}, exported
    assert token(1) not in json.dumps(exported)

    erased = json.loads(serve.verb("users", "erase", NAME, "--json"))
    assert erased["devices"] == 1 and erased["messages"] >= 3, erased
    assert "names this user" in serve.verb("users", "erase", NAME, code=65)
    (event,) = monitor.wait("device/deactivated")
    assert (event["device"], event["reason"], event["erased"]) == (device, "erased", True), event
    serve.stop()
    found, logged = copies(scene.data, NAME)
    assert 0 < found <= logged, (found, logged)
    assert copies(scene.data, TAG) == (0, 0)

    # Messages of the files are carried out without the user.
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, since=0)
    serve.verb("resume", "shop")
    counts = monitor.completed("held", "later")
    assert (counts["held"]["sent"], counts["held"]["suppressed"]) == (1, 1), counts
    assert (counts["later"]["sent"], counts["later"]["suppressed"]) == (0, 1), counts
    for message in ("held", "later"):
        (lost,) = monitor.of("delivery/suppressed", message)
        assert (lost["device"], lost["reason"]) == (device, "erased"), lost
    assert sorted(scene.simulator.accepted()) == [token(1), token(2)]
    # The address may belong to another user now.
    serve.verb("devices", "add", "shop", token(1), "--user", "new")
    push(producer, "welcome", "new")
    assert monitor.completed("welcome")["welcome"]["sent"] == 1
    serve.stop()


def erased_while_messages_are_in_memory():
    """A message that is in memory, or waits for its next attempt, loses the user, too."""
    scene = Scene()
    scene.simulator.faults({"match": {"token": token(1)}, "answer": {"status": 503, "reason": "ServiceUnavailable"}})
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    serve.verb("devices", "add", "shop", token(1), "--user", NAME)
    push(producer, "tried", NAME)
    monitor.wait("delivery/retry", "tried")
    serve.verb("pause", "shop")
    push(producer, "held", NAME)
    serve.verb("users", "erase", NAME)
    scene.simulator.faults()
    serve.verb("resume", "shop")
    counts = monitor.completed("tried", "held")
    assert all((one["sent"], one["suppressed"]) == (0, 1) for one in counts.values()), counts
    assert [one["reason"] for one in monitor.of("delivery/suppressed")] == ["erased"] * 2
    assert scene.simulator.accepted() == []
    serve.stop()


def next_owner():
    """What was found for a user does not go to the next user of the phone, nor to nobody."""
    scene = Scene()
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    add = lambda number, user: json.loads(
        serve.verb("devices", "add", "shop", token(number), "--user", user, "--json"))["device"]
    names = ["erased", "removed", "switched", "signed-out", "deactivated"]
    devices = [add(number, name) for number, name in enumerate(names)]
    scene.simulator.faults({"match": {}, "answer": {"status": 503, "reason": "ServiceUnavailable"}})
    for name in names:
        push(producer, f"tried-{name}", name, values={name: {"name": name}}, alert="Hello {name}")
        monitor.wait("delivery/retry", f"tried-{name}")
    serve.verb("pause", "shop")
    for name in names:
        push(producer, f"held-{name}", name)
    serve.verb("users", "erase", "erased")
    serve.verb("devices", "remove", devices[1])
    assert control(serve, "POST", f"/v1/devices/{devices[4]}/deactivate", {"reason": "lost"})[0] == 200
    for number in (0, 1, 2, 4):
        add(number, "next")
    assert control(serve, "POST", "/v1/apps/shop/devices", {"token": token(3), "user": ""})[0] < 300
    scene.simulator.faults()
    serve.verb("resume", "shop")
    counts = monitor.completed(*(f"{kind}-{name}" for kind in ("tried", "held") for name in names))
    assert all(one["sent"] == 0 for one in counts.values()), counts
    reasons = [monitor.of("delivery/suppressed", f"tried-{name}")[0]["reason"] for name in names]
    assert reasons == ["erased", "unknown_device"] + 3 * ["reassigned"], reasons
    assert scene.simulator.accepted() == []
    push(producer, "welcome", "next")
    assert monitor.completed("welcome")["welcome"]["sent"] == 4
    serve.stop()


def limit(serve, size):
    """Sets the maximum file size of the process."""
    subprocess.run(["prlimit", "--pid", str(serve.process.pid), f"--fsize={size}:"], check=True)


def erasures(serve):
    """Returns what the events of operators say about erasures."""
    events = replay(serve, 0, "operator/")[0]
    return [(event["what"], event["after"]) for event in events if event["kind"] == "user_erase"]


def failed_erasure(scene):
    """Erases a user of stored messages while the disk is full. Returns the server, with room, and the messages."""
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve, "operator/")
    serve.verb("devices", "add", "shop", token(1), "--user", NAME)
    serve.verb("pause", "shop")
    held = [f"held-{number}" for number in range(300)]
    statuses = producer.batch([
        {"id": name, "app": "shop", "to": {"users": [NAME, "other"]}, "alert": "Hello", "custom": {"filler": "x" * 2000}}
        for name in held])
    assert set(pick(statuses, "status")) == {"accepted"}, statuses[0]
    limit(serve, os.path.getsize(scene.data + "/ledger.db-wal") + 150_000)
    status, answer = control(serve, "DELETE", f"/v1/users/{NAME}")
    assert status == 503 and "repeat the request" in answer["detail"], (status, answer)
    limit(serve, "unlimited")
    monitor.wait("operator/user_erase")
    assert erasures(serve) == [("1 devices, 0 messages", "begun, and not ended")], erasures(serve)
    return serve, held


def erasure_cut_off():
    """An erasure that fails midway is recorded, and the one that repeats it completes it with the outcomes."""
    scene = Scene()
    serve, held = failed_erasure(scene)
    status, answer = control(serve, "DELETE", f"/v1/users/{NAME}")
    # The ledger may have stored the change of the messages as soon as there was room.
    count = answer.get("messages")
    assert (status, answer["devices"]) == (200, 0) and count in (0, 300), (status, answer)
    assert erasures(serve)[1:] == [(f"0 devices, {count} messages", "erased, in more than one attempt")], erasures(serve)
    assert control(serve, "DELETE", f"/v1/users/{NAME}")[0] == 404
    serve.stop()
    serve = scene.serve()
    assert len(erasures(serve)) == 2, erasures(serve)
    monitor = Monitor(serve, since=0)
    serve.verb("resume", "shop")
    counts = monitor.completed(*held)
    # A look-up that is under way while the address goes finds nothing, or an address that is only inactive yet. All others
    # have the outcome; if the repetition took another random word for the name, none had.
    assert all(one["sent"] == 0 and one["suppressed"] <= 1 for one in counts.values()), counts
    reasons = {event["reason"] for event in monitor.of("delivery/suppressed")}
    assert "erased" in reasons and reasons <= {"erased", "inactive"}, reasons
    serve.stop()


def killed_erasure():
    """An erasure that a kill cuts off is recorded by the next start, and the one that repeats it ends it."""
    scene = Scene()
    serve, _ = failed_erasure(scene)
    serve.kill()
    serve = scene.serve()
    serve.heard("erasures of users have begun and not ended")
    assert erasures(serve)[1:] == [("1 erasures that an earlier run has begun", "not ended: erase these users again")]
    status, answer = control(serve, "DELETE", f"/v1/users/{NAME}")
    assert status == 200 and answer["devices"] == 0, (status, answer)
    assert [state for _, state in erasures(serve)[2:]] == ["erased, in more than one attempt"], erasures(serve)
    serve.stop()
    serve = scene.serve()
    assert len(erasures(serve)) == 3, erasures(serve)
    serve.stop()


if __name__ == "__main__":
    main(globals())
