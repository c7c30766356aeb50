"""What messages to many recipients hold in memory."""
import json
from harness import main, Monitor, Producer, Scene, token
from http_connection_limits import MEMORY

USERS = 500


def peak_while(serve, work):
    """Does some work, and returns by how many bytes the resident memory exceeded what it was before."""
    with open(f"/proc/{serve.process.pid}/clear_refs", "w") as file:
        file.write("5")
    before = serve.resident
    work()
    with open(f"/proc/{serve.process.pid}/status") as file:
        peak = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
    return peak - before


def values():
    """A message with long values for each user needs no more memory for ten times as many devices than one without."""
    scene = Scene("--streams", "100")
    scene.simulator.faults({"latency": {"fixed": "10ms"}})
    serve = scene.serve()
    number = 0
    with open(scene.path("devices.jsonl"), "w") as file:
        for name, each in (("few", 10), ("many", 100)):
            for n in range(USERS * each):
                number += 1
                file.write(json.dumps({
                    "app": "shop", "token": token(number), "user": f"{name}-{n % USERS}",
                    "locale": ("en", "de_AT", "fr")[n % 3]}) + "\n")
    serve.verb("devices", "import", scene.path("devices.jsonl"))
    monitor = Monitor(serve, "message/shop/completed", since=0)
    producer = Producer(serve)

    def send(id, users, **more):
        names = [f"{users}-{n}" for n in range(USERS)]
        answer = producer.push({"id": id, "app": "shop", "to": {"users": names}, **more})
        assert answer["status"] == "accepted", answer
        sent = monitor.completed(id)[id]["sent"]
        assert sent == USERS * (10 if users == "few" else 100), sent

    def send_values(id, users):
        send(id, users, alert={"locales": {"en": "{text}", "de": "Neu: {text}"}, "default": "en"},
             values={f"{users}-{n}": {"text": f"{n} " + "x" * 3000} for n in range(USERS)})

    plain = peak_while(serve, lambda: send("plain", "many", alert="Hello"))
    few = peak_while(serve, lambda: send_values("few", "few"))
    many = peak_while(serve, lambda: send_values("many", "many"))
    print(f"{plain >> 20} MiB for a plain message, {few >> 20} and {many >> 20} MiB with values")
    # All payloads together have 150 MB.
    assert many < max(plain, 0) + MEMORY * (48 << 20), (plain, few, many)
    serve.stop()


if __name__ == "__main__":
    main(globals())
