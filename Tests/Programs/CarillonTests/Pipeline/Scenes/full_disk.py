"""Disks without free space: no acknowledged message is lost."""
import os, signal, subprocess
import zmq
from harness import all_delivered, context, endings, main, note, pick, Producer, Scene, text, token


def limit(serve, size):
    """Sets the maximum file size of the process."""
    subprocess.run(["prlimit", "--pid", str(serve.process.pid), f"--fsize={size}:"], check=True)


def busy_intake():
    """While files cannot grow, serve is busy and not ready; when they can, it continues."""
    scene = Scene()
    serve = scene.serve(wrap=("prlimit", "--fsize=2000000:"))
    producer = Producer(serve)
    accepted, busy, number = [], [], 0
    while not busy:
        statuses = producer.batch([
            note(f"m{number}-{n}", token(1000 * number + n), custom={"filler": "x" * 2000}) for n in range(100)])
        assert set(pick(statuses, "status")) <= {"accepted", "busy"}, statuses[0]
        accepted += [s["id"] for s in statuses if s["status"] == "accepted"]
        busy += [s for s in statuses if s["status"] == "busy"]
        number += 1
        assert number < 200, "the disk is never full"
    assert {s["retry_after_ms"] for s in busy} == {1000}, busy[0]
    serve.line("the ledger cannot write")
    limit(serve, 0)  # free pages of the write-ahead log could take some more data
    assert serve.become_ready("ledger.db")["reason"]
    for n in range(20):  # serve stays busy while the disk is full
        status = producer.push(note(f"full-{n}", token(n, "b0")))
        assert status["status"] == "busy" and status["retry_after_ms"] == 1000, status
    with context.socket(zmq.PUSH) as pull:
        pull.connect(serve.places["pull"])
        pull.send_multipart([b"push/1", text(note("pulled", token(1, "c0")))])
        limit(serve, "unlimited")
        serve.line("the ledger can write")
        serve.become_ready()
        assert producer.push(note("room", token(2, "c0")))["status"] == "accepted"
        monitor, taken = all_delivered(scene, serve, [*accepted, "room", "pulled"])
    refused = {f"full-{n}" for n in range(20)} | {s["id"] for s in busy}
    assert not refused & {e.get("message_id") for e in monitor.events}
    serve.stop()
    serve = scene.serve()
    all_delivered(scene, serve, accepted)
    assert Producer(serve).push(note(accepted[0], token(0), custom={"filler": "x" * 2000}))["status"] == "duplicate"
    serve.stop()


def stop_while_full():
    """serve is stopped while the disk is full: the next start sends the acknowledged messages."""
    scene = Scene()
    scene.simulator.faults({"latency": {"fixed": "100ms"}})
    serve = scene.serve(wrap=("prlimit", "--fsize=1500000:"))
    producer, accepted, number, statuses = Producer(serve), [], 0, []
    while "busy" not in pick(statuses, "status"):
        statuses = producer.batch([
            note(f"m{number}-{n}", token(1000 * number + n), custom={"filler": "x" * 2000}) for n in range(100)])
        accepted += [s["id"] for s in statuses if s["status"] == "accepted"]
        number += 1
    limit(serve, 0)
    serve.signal(signal.SIGTERM)
    assert serve.end() == 0, serve.lines[-10:]
    serve = scene.serve()
    # Deliveries whose outcome could not be written are sent again.
    all_delivered(scene, serve, accepted, exactly_once=False)
    serve.stop()


def small_disk():
    """A separate disk, if one can be mounted, is full until another file on it is removed."""
    scene = Scene()
    os.mkdir(scene.data)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "none", scene.data], capture_output=True).returncode:
        return print("skipped: cannot mount a file system")
    endings.append(lambda: subprocess.run(["umount", "-l", scene.data], check=True))
    other = os.path.join(scene.data, "other")
    with open(other, "wb") as file:
        file.write(bytes(2_500_000))
    serve = scene.serve()
    producer, accepted, number, statuses = Producer(serve), [], 0, []
    # A checkpoint may make room again for a moment.
    while "busy" not in pick(statuses, "status") or serve.ready()[0] != 503:
        statuses = producer.batch([
            note(f"m{number}-{n}", token(1000 * number + n), custom={"filler": "x" * 1000}) for n in range(50)])
        accepted += [s["id"] for s in statuses if s["status"] == "accepted"]
        number += 1
    serve.line("the ledger cannot write", "full")
    serve.kill()
    # On the full disk serve cannot start, or it starts and is busy; neither loses an acknowledged message.
    os.remove(other)
    serve = scene.serve()
    all_delivered(scene, serve, accepted, exactly_once=False)
    assert Producer(serve).push(note("room", token(1, "b0")))["status"] == "accepted"
    serve.stop()


if __name__ == "__main__":
    main(globals())
