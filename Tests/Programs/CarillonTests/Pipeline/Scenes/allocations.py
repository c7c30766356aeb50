"""How many blocks of memory Carillon allocates for a notification, from the push to its event."""
import os, struct, subprocess
from harness import main, Monitor, note, Producer, Scene, text, token

WARM_UP, COUNT = 2000, 6000
# The measured numbers of a debug build and a sixth more. Those of a release build are 14, 12 and 0.7.
SINGLE, BATCH, FAN = 130, 126, 73


def served():
    scene = Scene("--streams", "1000")
    library, counter = scene.path("count_allocations.so"), scene.path("allocations")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "count_allocations.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    serve = scene.serve(wrap=("env", f"LD_PRELOAD={library}", f"ALLOCATIONS={counter}"))
    return serve, Producer(serve), Monitor(serve), counter


def allocated(counter):
    with open(counter, "rb") as file:
        return struct.unpack("=Q", file.read(8))[0]


def measure(name, most, send):
    """Counts the allocations for some notifications. `send` sends those of a range and returns the ids of its messages."""
    serve, producer, monitor, counter = served()
    for round, count in (("warm", WARM_UP), ("m", COUNT)):
        before = allocated(counter)
        names = send(producer, round, count)
        done = monitor.completed(*names)
        sent = sum(done[name]["sent"] for name in names)
        assert sent == count, (sent, count)
    each = (allocated(counter) - before) / COUNT
    print(f"{each:.1f} allocations for a notification: {name}")
    assert each <= most, (name, each)
    # The counter works: a process that allocates nothing would pass otherwise.
    assert each > 0.5, (name, each)
    serve.stop()


def single():
    """One message a push, a thousand of them not yet acknowledged."""
    def send(producer, round, count):
        for n in range(count):
            producer.send("push/1", note(f"{round}-{n}", token(n)))
            if n >= 1000:
                producer.answer()
        for n in range(min(count, 1000)):
            producer.answer()
        return [f"{round}-{n}" for n in range(count)]

    measure("one message a push", SINGLE, send)


def batch():
    """A hundred messages a push."""
    def send(producer, round, count):
        for start in range(0, count, 100):
            producer.send("push-batch/1", b"\n".join(
                text(note(f"{round}-{n}", token(n))) for n in range(start, start + 100)))
        for start in range(0, count, 100):
            producer.answer()
        return [f"{round}-{n}" for n in range(count)]

    measure("a hundred messages a push", BATCH, send)


def fan():
    """A thousand devices a message."""
    def send(producer, round, count):
        for start in range(0, count, 1000):
            producer.push(note(f"{round}-{start}", *(token(n) for n in range(start, start + 1000))))
        return [f"{round}-{start}" for start in range(0, count, 1000)]

    measure("a thousand devices a message", FAN, send)


if __name__ == "__main__":
    main(globals())
