"""Messages that go out at a local time of each device, with a time zone database of the scene's own."""
import json, os, struct, time
from harness import control, main, Monitor, Producer, Scene, token, until, verb

DAY = 86_400


def zone(offset):
    """Returns a file of a zone whose clock is always ahead of UTC by so many seconds."""
    block = b"TZif2" + bytes(15) + struct.pack(">6I", 0, 0, 0, 0, 1, 4) + struct.pack(">iBB", offset, 0, 0) + b"ABC\0"
    return block + block + b"\n\n"


class Clock:
    """A local time, and zones in which it is this time so many seconds from now."""

    def __init__(self, scene, **ahead):
        self.now = int(time.time()) + 1
        # Carillon shows a time without seconds if there are none.
        self.local = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.now)).removesuffix(":00")
        self.directory = scene.path("zones")
        os.makedirs(os.path.join(self.directory, "Test"), exist_ok=True)
        os.environ["TZDIR"] = self.directory
        self.at = {name: self.now + seconds for name, seconds in ahead.items()}
        for name, seconds in ahead.items():
            self.add(name, zone(-seconds))

    def add(self, name, file):
        with open(os.path.join(self.directory, "Test", name), "wb") as opened:
            opened.write(file)


def add(serve, number, name=None, *more):
    serve.verb("devices", "add", "shop", token(number), *(["--time-zone", f"Test/{name}"] if name else []), *more)


def message(name, clock, **more):
    return {"id": name, "app": "shop", "to": {"all": True}, "alert": "Hello", "at_local": clock.local,
            "time_zone": "Test/Home", **more}


def look_up(serve, name):
    return control(serve, "GET", f"/v1/apps/shop/messages/{name}")[1]


def counts(serve, name):
    return {outcome: n for outcome, n in look_up(serve, name)["counts"].items() if n}


def turns():
    """Each device gets a message at its own time, once, also after a kill between two times; and the look-up tells how
    many times are left."""
    scene = Scene()
    # The times are far enough apart for the starts of the program, which this waits for.
    clock = Clock(scene, Past=-3600, Home=0, Soon=60, Later=75)
    serve = scene.serve()
    for number, name in enumerate(["Past", "Home", None, "Soon", "Later"]):
        add(serve, number, name)
    producer = Producer(serve)
    envelope = message("morning", clock)
    assert producer.push(envelope)["status"] == "accepted"
    assert producer.push(envelope)["status"] == "duplicate"
    assert producer.push({**envelope, "late": "drop"})["reason"] == "id_conflict"
    until(lambda: counts(serve, "morning") == {"sent": 3})
    found = look_up(serve, "morning")
    assert found["at_local"] == clock.local and found["acceptances"] == 4 and found["state"] == "sending", found
    until(lambda: look_up(serve, "morning")["turns_left"] == 2)
    assert look_up(serve, "morning")["not_before_at"] == clock.at["Soon"] * 1000, look_up(serve, "morning")
    # A traveller who flies east past the own time, and one who flies west after it.
    add(serve, 4, "Home")
    add(serve, 1, "Later")
    serve.kill()
    serve = scene.serve()
    monitor = Monitor(serve, since=0)
    until(lambda: look_up(serve, "morning")["state"] == "completed")
    assert counts(serve, "morning") == {"sent": 5, "suppressed": 1}, look_up(serve, "morning")
    assert sorted(scene.simulator.accepted()) == [token(number) for number in range(5)]
    sent = monitor.wait("delivery/sent", "morning", 5)
    assert sent[3]["ts"] >= clock.at["Soon"] * 1000, sent
    (twice,) = monitor.wait("delivery/suppressed", "morning", 1)
    assert twice["reason"] == "duplicate" and twice["ts"] >= clock.at["Later"] * 1000, twice
    serve.stop()


def ends():
    """What is late is dropped on demand; what is cancelled or expired does not go out in the zones that are left."""
    scene = Scene()
    clock = Clock(scene, Past=-3600, Home=0, Soon=30, Far=DAY)
    serve = scene.serve()
    for number, name in enumerate(["Past", "Home", "Soon", "Far"]):
        add(serve, number, name)
    producer, monitor = Producer(serve), Monitor(serve)
    assert producer.push(message("short", clock, expires_at=clock.at["Soon"] - 1))["status"] == "accepted"
    assert producer.push(message("dropped", clock, late="drop"))["status"] == "accepted"
    late = monitor.wait("delivery/expired", "dropped", 1)
    assert {event["reason"] for event in late} == {"late"}, late
    assert producer.push(message("cancelled", clock))["status"] == "accepted"
    until(lambda: counts(serve, "cancelled") == {"sent": 2})
    producer.send("cancel/1", {"id": "cancelled", "app": "shop"})
    _, (answer,) = producer.answer()
    # The moments that were complete before are counted, too.
    assert (answer["status"], answer["sent"], answer["cancelled"]) == ("cancelled", 2, 0), answer
    assert counts(serve, "cancelled") == {"sent": 2}, look_up(serve, "cancelled")
    assert look_up(serve, "cancelled")["state"] == "cancelled"
    until(lambda: look_up(serve, "short")["turns_left"] == 1)
    assert counts(serve, "short") == {"sent": 2} and monitor.wait("message/expired", "short"), look_up(serve, "short")
    serve.stop()


def zones():
    """A zone that does not exist is refused by its name; a reload reads the database again; a damaged file is left out."""
    scene = Scene()
    clock = Clock(scene, Home=0)
    clock.add("Broken", zone(0)[:-5])
    serve = scene.serve()
    serve.heard("of the time zones", "Test/Broken")
    path = "/v1/apps/shop/devices"

    def register(name):
        return control(serve, "POST", path, {"token": token(1), "time_zone": name})

    for name in "Test/Away", "Test/Broken", "Europe/Berlin":
        status, answer = register(name)
        assert status == 422 and answer["errors"][0]["pointer"] == "/time_zone", answer
        assert name in answer["errors"][0]["detail"], answer
    assert register("Test/Home")[0] == 201
    clock.add("Away", zone(-60))
    serve.reload()
    assert register("Test/Away")[0] == 200
    # Each of many is judged by itself.
    answers = control(serve, "POST", "/v1/devices", {"devices": [
        {"app": "shop", "token": token(2), "time_zone": "Test/Home"},
        {"app": "shop", "token": token(3), "time_zone": "Mars/Olympus"}]})[1]
    assert "Mars/Olympus" in json.dumps(answers), answers
    output = verb(
        "send", "--via", serve.places["router"], "--app", "shop", "--all", "--title", "Hello", "--at-local", clock.local,
        "--time-zone", "Test/Home", "--late", "send", "--id", "sent")
    assert "accepted" in output, output
    until(lambda: look_up(serve, "sent")["acceptances"] == 2)
    serve.stop()


if __name__ == "__main__":
    main({"turns": turns, "ends": ends, "zones": zones})
