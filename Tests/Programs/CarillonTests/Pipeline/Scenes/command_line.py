"""Log lines, verbs across a restart, tables on a narrow terminal, queries about one message, and `check`."""
import fcntl, json, os, pty, re, signal, socket, struct, subprocess, termios
from harness import (
    apns_id, CARILLON, Child, context, main, Monitor, note, pace, pick, Producer, Scene, token, until, verb)


def log_lines():
    """There are log lines for a start, a crash and a drain; a JSON log contains nothing else."""
    scene = Scene()
    scene.more = {"log": {"format": "json"}}
    file = scene.configure()

    def start():
        """Starts serve without --json, so that both streams contain only the log."""
        child = Child(CARILLON, "serve", "--config", file)
        line = child.line('"event":"carillon.started"')
        child.place = 0  # a connection may be up before the start is reported
        return child, json.loads(line)

    first, line = start()
    assert line["version"] and line["data"] == scene.data and line["apps"] == 1, line
    assert line["router"].startswith("tcp://127.0.0.1:") and line["http"].startswith("http://"), line
    first.line("connection.up")
    # The push service does not respond, so all messages wait when the process is killed.
    scene.simulator.faults({"silence": True})
    first.places = line
    producer = Producer(first)
    statuses = producer.batch([note(f"m{n}", token(n)) for n in range(40)])
    assert set(pick(statuses, "status")) == {"accepted"}
    with open(os.path.join(scene.data, "running.json")) as mark:
        while not re.search('"most_in_flight":[1-9]', mark.read()):
            pace()
            mark.seek(0)
    first.kill()
    scene.simulator.faults()
    with open(os.path.join(scene.data, "running.json")) as mark:
        most = json.load(mark)["most_in_flight"]
    second, line = start()
    crash = json.loads(second.line('"event":"carillon.recovered"'))
    twice = re.fullmatch("recovered 40 messages after a crash, up to ([0-9]+) deliveries may arrive twice", crash["message"])
    assert twice and int(twice[1]) == most == crash["maximum"] >= 40, (most, crash)
    second.places = line
    Monitor(second, since=0).completed(*(f"m{n}" for n in range(40)))
    second.signal(signal.SIGTERM)
    assert second.end() == 0
    drained = json.loads(second.said('"event":"carillon.drained"')[-1])
    assert drained["waiting"] == 0 and drained["scheduled"] == 0, drained
    third, _ = start()
    third.signal(signal.SIGTERM)
    assert third.end() == 0
    assert not third.said("carillon.recovered"), third.lines
    for child in (first, second, third):
        for each in child.lines:
            assert each.startswith("{") and json.loads(each), each


def restart():
    """`events --follow` and `stats --watch` report a lost connection and continue when serve is back."""
    scene = Scene()
    serve = scene.serve()
    assert Producer(serve).push(note("before", token(1)))["status"] == "accepted"
    follow = Child(CARILLON, "events", "--follow", "--since", "0", "--json", "--config", serve.file)
    watch = Child(CARILLON, "stats", "--watch", "--json", "--interval", "100ms", "--config", serve.file)
    follow.line('"message_id":"before"', '"completed"')
    old = json.loads(watch.line('{"apps"'))["started_at"]
    serve.stop()
    follow.line("carillon events: connection lost: ", "retrying")
    watch.line("carillon stats: connection lost: ")
    serve = scene.serve()
    follow.line("carillon events: reconnected")
    watch.line("carillon stats: reconnected")
    assert Producer(serve).push(note("after", token(2)))["status"] == "accepted"
    follow.line('"message_id":"after"', '"completed"')
    assert json.loads(watch.line('{"apps"'))["started_at"] > old
    seqs = [json.loads(each)["seq"] for each in follow.lines if each.startswith("{")]
    assert seqs == sorted(set(seqs)), seqs
    for child in (follow, watch):
        child.signal(signal.SIGINT)
        assert child.end() == 0
    serve.stop()


def on_terminal(*words, columns=80):
    """Runs a verb on a terminal of this width and returns its output without colors."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
        env={k: v for k, v in os.environ.items() if not k.startswith("CARILLON_")})
    os.close(theirs)
    output = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # on Linux this is the end of the output
            piece = b""
        if not piece:
            break
        output += piece
    os.close(ours)
    process.wait()
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", output.decode()).replace("\r", "").split("\n")


def narrow_terminal():
    """No table is wider than a terminal of 80 columns, and no text is cut off."""
    scene = Scene()
    scene.apps["a-rather-long-name-for-an-app"] = scene.app("a-rather-long-name-for-an-app")
    serve = scene.serve()
    devices = [
        json.loads(serve.verb("devices", "add", "shop", token(n), "--user", "ada.lovelace@example.com", "--tag",
                              "beta", "--tag", "a-tag-that-is-rather-long", "--platform", "ios", "--json"))["device"]
        for n in range(3)]
    producer = Producer(serve)
    for name in ("order-4711-shipped-to-the-customer", "b"):
        assert producer.push(note(name, token(1)))["status"] == "accepted"
    to_all = {"id": "to-all", "app": "shop", "to": {"users": ["ada.lovelace@example.com"]}, "alert": "Hello"}
    assert producer.push({**to_all, "collapse_id": "c" * 60, "push_type": "alert", "priority": 5})["status"] == "accepted"
    Monitor(serve, since=0).completed("b", "to-all", "order-4711-shipped-to-the-customer")
    shown = {}
    for words in (
            ["check"], ["devices", "list"], ["devices", "show", devices[0]], ["messages"], ["messages", "to-all"],
            ["trace", "to-all"], ["events"], ["stats", "--interval", "100ms"], ["scale", "shop"]):
        lines = shown[words[0] if len(words) == 1 else " ".join(words[:2])] = on_terminal(
            CARILLON, *words, "--config", serve.file)
        # The terminal wraps sentences outside of tables.
        wide = [line for line in lines if len(line) > 80 and line.startswith("  ")]
        assert lines and not wide, (words, wide)
    for words, whole in (
            ("devices list", [*(device[:8] for device in devices), "ada.lovelace@example.com", "a-tag-that-is-rather-long", "last seen"]),
            ("messages", ["order-4711-shipped-to-the-customer", "sent", "completed"]),
            ("check", ["a-rather-long-name-for-an-app", "connections", "credential"])):
        page = "\n".join(shown[words])
        assert all(part in page for part in whole), (words, page)
    # The sentence about each app is wrapped between words.
    lines = on_terminal(CARILLON, "check", "--connect", "--config", serve.file)
    said = " ".join(lines)
    assert all(f"{name}: passed: " in said for name in scene.apps), lines
    assert any(line.startswith("  ") for line in lines[-3:]) and all(len(line) <= 80 for line in lines[-5:]), lines
    # Commands are not wrapped, so that they can be copied.
    for words in (["help"], ["help", "send"], ["help", "trace"], ["help", "serve"], ["help", "devices", "add"], ["help", "bench"]):
        lines = on_terminal(CARILLON, *words)
        wide = [line for line in lines if len(line) > 80 and not line.startswith(("  carillon", "      --"))]
        assert len(lines) > 5 and not wide, (words, wide)
    # Without a terminal, each row is one line.
    plain = serve.verb("devices", "list").splitlines()
    assert len(plain) == 4 and all(len(line) > 80 for line in plain), plain
    serve.stop()


def message_queries():
    """The verbs show the audience, options and client of a message, and find it by id, apns-id, user and time."""
    scene = Scene()
    scene.more = {"intake": {"router": "ipc://" + scene.path("intake"), "pull": "off"}}
    serve = scene.serve()
    device = json.loads(serve.verb("devices", "add", "shop", token(1), "--user", "ada", "--tag", "beta", "--json"))
    device = device["device"]

    def send(*words, code=0):
        return serve.verb("send", "--app", "shop", "--title", "Hello", *words, code=code)

    # Without `--via`, the configuration names the intake.
    assert "accepted: Carillon has stored the message" in send("--user", "ada", "--id", "known", "--priority", "5")
    hint = send("--user", "nobody", "--id", "unknown")
    assert "the user nobody has no active devices of shop: nothing is sent" in hint, hint
    assert "no active device" not in send("--tag", "beta", "--id", "tagged")
    assert "the tag gamma has no active device" in send("--tag", "gamma", "--id", "untagged")
    assert "no active device" not in send("--tags", "beta", "--id", "bare")
    slip = serve.verb("send", "--app", "shop", "--user", "ada", "--payload", '{"aps":{"alert":"x","bagde":1}}', "--id", "slip")
    assert "aps.bagde: there is no such key; did you mean badge?" in slip, slip
    refused = serve.verb("send", "--app", "shop", "--user", "ada", "--payload", '{"aps":5}', code=65)
    assert "bad_payload: aps: it is a number" in refused, refused
    for name in ("known", "unknown", "tagged", "untagged", "bare", "slip"):
        until(lambda: json.loads(serve.verb("messages", name, "--json"))["state"] == "completed", 0.1)
    known = json.loads(serve.verb("messages", "known", "--json"))
    assert known["message_id"] == "known" and known["users"] == ["ada"] and known["priority"] == 5, known
    words = serve.verb("messages", "known")
    assert "the user ada" in words and "priority 5" in words, words
    assert 'the devices with the tags "beta"' in serve.verb("messages", "tagged")
    named = [json.loads(line)["message_id"] for line in serve.verb("messages", "--user", "ada", "--json").splitlines()]
    assert sorted(named) == ["known", "slip"], named
    assert len(serve.verb("messages", "--since", "10m", "--json").splitlines()) == 6
    assert "no matching messages" in serve.verb("messages", "--until", "10m")
    apns = apns_id("shop", "known", token(1))
    story = serve.verb("trace", "--apns-id", apns)
    assert "message known: accepted from a producer for the user ada: priority 5" in story, story
    assert f"message known: sent to device {device}" in story, story
    story = serve.verb("trace", "--user", "ada", "--since", "10m")
    assert "message known: sent" in story and "message tagged: sent" in story, story
    assert "in that time" in serve.verb("trace", "known", "--until", "10m", code=65)
    lines = serve.verb("events", "--since", "10m", "--prefix", "message/shop/accepted", "--json").splitlines()
    assert len(lines) == 6, lines
    assert serve.verb("events", "--until", "10m", "--json") == ""
    # A removed device is erased, but past events keep its id.
    assert json.loads(serve.verb("devices", "remove", device, "--json")) == {"device": device, "removed": True}
    assert "there is no device" in serve.verb("devices", "show", device, code=65)
    assert "there is no device" in serve.verb("devices", "remove", device, code=65)
    assert "an operator removed it" in serve.verb("trace", device)
    assert "the user ada has no active device" in send("--user", "ada", "--id", "later")
    serve.stop()
    serve = scene.serve()
    assert "There are no matching devices." in serve.verb("devices", "list")
    serve.stop()


def check_faults():
    """`check` reports all faults for which `serve` does not start, with the same text and the same exit code."""
    scene = Scene()

    def both(code, *words, more=None, data=None):
        scene.more = more or {}
        if data:
            scene.more["data"] = data
        file = scene.configure()
        for name in ("check", "serve"):
            child = Child(CARILLON, name, "--config", file)
            ended = child.end()
            output = " ".join(child.lines)
            assert ended == code, (name, ended, child.lines)
            assert all(word in output for word in words), (name, words, child.lines)
            assert "Error Domain" not in output and "CocoaError" not in output, output

    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]
    both(78, "absent.curve", "carillon keys curve", more={"security": {"curve": {"secret_key_file": "absent.curve"}}})
    both(78, "http.tls", "absent.pem", more={"http": {"listen": "127.0.0.1:0", "tls": {"certificate": "absent.pem"}}})
    both(69, f"cannot open http.listen 127.0.0.1:{port}", "another process listens there",
         more={"http": {"listen": f"127.0.0.1:{port}"}})
    both(69, f"cannot open intake.pull 127.0.0.1:{port}",
         more={"intake": {"router": "off", "pull": f"tcp://127.0.0.1:{port}"}})
    both(69, "cannot open events.replay ipc://", "absent",
         more={"events": {"publish": "off", "replay": "ipc://absent/replay"}})
    # Several faults are reported together, with the most severe exit code.
    both(78, "absent.curve", "absent.pem", f"intake.router 127.0.0.1:{port}", more={
        "security": {"curve": {"secret_key_file": "absent.curve"}},
        "http": {"listen": "127.0.0.1:0", "tls": {"certificate": "absent.pem"}},
        "intake": {"router": f"tcp://127.0.0.1:{port}", "pull": "off"}})
    with open(scene.path("file"), "w"):
        pass
    both(77, "cannot use the data directory", "is not a directory", data=scene.path("file"))
    both(77, "cannot use the data directory", "is not a directory", data=scene.path("file") + "/data")
    # The permissions of the data directory, and its files.
    os.mkdir(scene.path("open"))
    os.chmod(scene.path("open"), 0o777)
    both(77, "every user may write to the data directory", data=scene.path("open"))
    os.mkdir(scene.path("linked"))
    os.symlink(scene.path("file"), scene.path("linked/carillon.lock"))
    both(77, "cannot use the lock file", "it is a symbolic link", data=scene.path("linked"))
    both(1, "cannot open the control socket", "choose a data directory with a shorter path",
         data=scene.path("d" * 100))
    # Unix sockets.
    long = scene.path("i" * 100)
    both(69, "cannot open intake.pull", "a path to a socket has at most 107 bytes",
         more={"intake": {"router": "off", "pull": "ipc://" + long}})
    both(69, "cannot open intake.pull", "the file that is there is not a socket",
         more={"intake": {"router": "off", "pull": "ipc://" + scene.path("file")}})
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(scene.path("listening"))
    listening.listen()
    both(69, "cannot open events.publish", "another process listens there",
         more={"events": {"publish": "ipc://" + scene.path("listening"), "replay": "off"}})
    both(78, "http.listen", "conflicts with the endpoint of events.publish",
         more={"http": {"listen": "127.0.0.1:7999"}, "events": {"publish": "tcp://0.0.0.0:7999", "replay": "off"}})
    # A socket in a data directory that does not exist yet, and a leftover socket without a listener, are no faults.
    listening.close()
    for data, bind in (("./new", "ipc://new/intake"), ("./new", "ipc://listening")):
        scene.more = {"data": data, "http": {"listen": "127.0.0.1:0"}, "intake": {"router": "off", "pull": bind}}
        verb("check", "--config", scene.configure())
        scene.serve().stop()
    # Both report the same warnings.
    os.chmod(scene.simulator.places["key"], 0o644)
    verb("keys", "curve", scene.path("open.curve"))
    os.chmod(scene.path("open.curve"), 0o644)
    scene.more = {"http": {"listen": "127.0.0.1:0"},
                  "security": {"curve": {"secret_key_file": scene.path("open.curve")}}}
    caution = f"every user may read {scene.path('open.curve')}, which holds a secret (mode 0644): chmod 600"
    assert caution in verb("check", "--config", scene.configure())
    serve = scene.serve()
    assert serve.said(caution), serve.lines
    serve.stop()
    # Endpoints that the running serve of this data directory uses are not a fault.
    scene.more = {"http": {"listen": "127.0.0.1:0"}}
    serve = scene.serve()
    place = serve.places["http"].removeprefix("http://")
    scene.more = {"http": {"listen": place}}
    scene.configure()
    verb("check", "--config", serve.file)
    serve.stop()
    # Both can bind an IPv6 address, if this machine has one.
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        print("no IPv6 here")
    else:
        any_port = "tcp://[::1]:0"
        scene.more = {
            "intake": {"router": any_port, "pull": any_port}, "events": {"publish": any_port, "replay": any_port},
            "http": {"listen": "[::1]:0"}}
        verb("check", "--config", scene.configure())
        serve = scene.serve()
        assert all(serve.places[name].startswith("tcp://[::1]:") for name in ("router", "pull", "publish", "replay"))
        context.ipv6 = 1
        assert Producer(serve).push(note("six", token(6)))["status"] == "accepted"
        Monitor(serve, since=0).completed("six")
        sent = serve.verb("send", "--via", serve.places["router"], "--app", "shop", "--all", "--title", "x", code=64)
        assert "cannot be combined" in sent, sent  # --config and --via each name a Carillon
        assert "accepted" in verb("send", "--via", serve.places["router"], "--app", "shop", "--all", "--title", "x")
        serve.stop()
    # `check` leaves no files behind.
    scene.data = scene.path("fresh")
    verb("check", "--config", scene.configure())
    assert not os.path.exists(scene.data)


if __name__ == "__main__":
    main(globals())
