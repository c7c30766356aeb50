"""What messages to many recipients hold in memory."""
import json
from harness import main, Monitor, Producer, Scene, token
from http_connection_limits import MEMORY

USERS = {"few": 5_000, "many": 50_000}


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
    """A message with values for each user needs little more memory than one without, also for ten times as many users."""
    scene = Scene("--streams", "100")
    scene.simulator.faults({"latency": {"fixed": "10ms"}})
    serve = scene.serve()
    number = 0
    with open(scene.path("devices.jsonl"), "w") as file:
        for name, count in USERS.items():
            for n in range(count):
                number += 1
                file.write(json.dumps({
                    "app": "shop", "token": token(number), "user": f"{name}-{n}",
                    "locale": ("en", "de_AT", "fr")[n % 3]}) + "\n")
    serve.verb("devices", "import", scene.path("devices.jsonl"))
    monitor = Monitor(serve, "message/shop/completed", since=0)
    producer = Producer(serve)

    def send(id, users, **more):
        names = [f"{users}-{n}" for n in range(USERS[users])]
        answer = producer.push({"id": id, "app": "shop", "to": {"users": names}, **more})
        assert answer["status"] == "accepted", answer
        sent = monitor.completed(id)[id]["sent"]
        assert sent == USERS[users], sent

    text = "x" * 3000

    def send_values(id, users):
        send(id, users, alert={"locales": {"en": f"{{n}} {text}", "de": f"{text} {{n}}"}, "default": "en"},
             values={f"{users}-{n}": {"n": f"{n}"} for n in range(USERS[users])})

    plain = peak_while(serve, lambda: send("plain", "many", alert=text))
    few = peak_while(serve, lambda: send_values("few", "few"))
    many = peak_while(serve, lambda: send_values("many", "many"))
    print(f"{plain >> 20} MiB for a plain message, {few >> 20} and {many >> 20} MiB with values")
    # All payloads of one locale together have 150 MB.
    assert many < plain + MEMORY * (48 << 20), (plain, few, many)
    serve.stop()


if __name__ == "__main__":
    main(globals())
