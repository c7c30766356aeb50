"""The examples for backend developers, with the real program."""
import json, os, signal, sys
from harness import Child, main, Monitor, note, Producer, Scene, token
from raw_http import make_key

TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5, "Tools", "examples")


def push_and_subscribe():
    """A subscriber that is stopped misses events, and receives each of them once by replay when it continues."""
    scene = Scene()
    serve = scene.serve()

    def produce(name, number, code=0):
        child = Child(
            sys.executable, os.path.join(TOOLS, "producer.py"), serve.places["router"], "shop", token(number), "Hello",
            name)
        assert child.end() == code, child.lines
        return json.loads(child.lines[-1])

    def subscriber(since):
        return Child(
            sys.executable, os.path.join(TOOLS, "subscriber.py"), serve.places["publish"], serve.places["replay"],
            str(since))

    def sent(child):
        return json.loads(child.line('"sent"'))

    assert produce("m1", 1)["status"] == "accepted"
    first = subscriber(0)
    seen = [sent(first)]
    for number in range(2, 5):
        produce(f"m{number}", number)
        seen.append(sent(first))
    first.kill()
    for number in range(5, 9):
        assert produce(f"m{number}", number)["status"] == "accepted"
    monitor = Monitor(serve, since=0)
    monitor.completed("m8")
    second = subscriber(max(e["seq"] for e in seen))
    seen += [sent(second) for _ in range(4)]
    assert produce("m9", 9)["status"] == "accepted"
    seen.append(sent(second))
    assert [e["message_id"] for e in seen] == [f"m{n}" for n in range(1, 10)], seen
    # The subscriber is suspended: events published meanwhile, more than its queue holds, come by replay.
    second.signal(signal.SIGSTOP)
    Producer(serve).batch([note(f"x{n}", token(n)) for n in range(300)])
    monitor.completed(*(f"x{n}" for n in range(300)))
    second.signal(signal.SIGCONT)
    later = [sent(second)["message_id"] for _ in range(300)]
    assert sorted(later) == sorted(f"x{n}" for n in range(300))
    assert produce("m9", 9)["status"] == "duplicate"
    assert produce("m9", 10, code=0)["status"] == "accepted"
    refused = Child(
        sys.executable, os.path.join(TOOLS, "producer.py"), serve.places["router"], "nowhere", token(1), "Hello")
    assert refused.end() == 1 and "unknown_app" in refused.lines[-1], refused.lines
    serve.stop()


def registration():
    """`register.sh` registers a device, and `push.sh` pushes to its user."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "all", "register", "push")

    def run(name, *words):
        child = Child("bash", os.path.join(TOOLS, name), serve.places["http"], key.id, *words)
        assert child.end() == 0, child.lines
        return json.loads(child.lines[-1])

    device = json.dumps({"token": token(1), "user": "ada", "tags": ["vip & co", "\u20ac"]}, ensure_ascii=False)
    assert run("register.sh", key.secret, "shop", device)["change"] == "registered"
    assert run("register.sh", key.secret, "shop", device)["change"] == "known"
    message = {"id": "hello", "app": "shop", "to": {"users": ["ada"]}, "alert": "Hello"}
    assert run("push.sh", key.secret, json.dumps(message))["status"] == "accepted"
    assert Monitor(serve, "message/", since=0).completed("hello")["hello"]["sent"] == 1
    assert scene.simulator.accepted() == [token(1)]
    assert run("register.sh", key.secret[::-1], "shop", device)["code"] == "unauthenticated"
    serve.stop()


if __name__ == "__main__":
    main(globals())
