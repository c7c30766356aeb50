"""Bodies that are meant to choke the parser: broken lines, deep and long JSON, numbers and text that no sane client
sends. Answers are bounded, nothing of it is accepted, and the messages of others go out once."""
import json, os, random, threading
from harness import main, Monitor, note, pick, Producer, Scene, text, token
from raw_http import make_key, problem, Wire

LINES = [("Content-Type", "application/x-ndjson")]
WHERE = "POST", "/v1/messages"


def broken_lines():
    """10,000 broken lines at once, again and again: each gets its ack, and another app is served meanwhile."""
    scene = Scene()
    scene.apps["bank"] = scene.app("bank")
    serve = scene.serve()
    key = make_key(serve, "orders", "push", apps=["shop"])
    monitor, producer = Monitor(serve, "message/bank/"), Producer(serve)
    chance = random.Random(11)
    good = text(note("good", token(1)))

    def broken():
        kind = chance.randrange(6)
        if kind == 0:
            return chance.randbytes(chance.randrange(1, 60)).replace(b"\n", b"?").replace(b"\r", b"?")
        if kind == 1:
            return good[:chance.randrange(1, len(good) - 1)]
        if kind == 2:
            return b"[" * chance.randrange(1, 200)
        if kind == 3:
            return b'{"id":"\xf0\x9f\x98'  # ends within a character
        if kind == 4:
            return text(note("other", token(1), app="bank"))  # an app of another key
        return b"{}"

    stop, pushed = threading.Event(), []

    def push():
        while not stop.is_set():
            name = f"bank-{len(pushed)}"
            assert producer.push(note(name, token(len(pushed)), app="bank"))["status"] == "accepted"
            pushed.append(name)

    beside = threading.Thread(target=push)
    beside.start()
    try:
        before = serve.resident
        with Wire(serve) as wire:
            for _ in range(3):
                lines = [broken() for _ in range(10_000)]
                answer = wire.ask(*WHERE, b"\n".join(lines), key=key, fields=LINES)
                acks = [json.loads(line) for line in answer.body.splitlines()]
                assert answer.status == 200 and len(acks) == 10_000, (answer.status, len(acks))
                assert set(pick(acks, "status")) == {"rejected"}, set(pick(acks, "status"))
                reasons = set(pick(acks, "reason"))
                assert {"bad_json", "missing_field", "forbidden"} <= reasons, reasons
                assert max(map(len, answer.body.splitlines())) < 1000
            # One line too many, and as many empty lines as fit, are one answer.
            answer = wire.ask(*WHERE, b"\n".join(lines + [b"{}"]), key=key, fields=LINES)
            assert answer.status == 413 and answer.code == "too_many", answer
            answer = wire.ask(*WHERE, b"\n" * 1_000_000, key=key, fields=LINES)
            assert answer.status in (200, 413, 422) and len(answer.body) < 1000, answer
        assert serve.resident - before < 300 << 20, serve.resident - before
    finally:
        stop.set()
        beside.join()
    assert pushed
    monitor.completed(*pushed)
    taken = scene.simulator.accepted()
    assert sorted(taken) == sorted(token(n) for n in range(len(pushed))), "each is delivered once"
    # A flood of rejections has few events and few lines in the log.
    assert len(serve.said("message rejected")) < 5000, len(serve.said("message rejected"))
    serve.stop()


def long_lines():
    """One line of 32 MiB, lines that end within a character, and the longest batch that is allowed."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "orders", "push")
    monitor = Monitor(serve)
    before = serve.resident
    full = 32 << 20
    wire = Wire(serve)

    def ask(body, fields=LINES):
        nonlocal wire
        answer = wire.ask(*WHERE, body, key=key, fields=fields)
        if answer.fields.get("connection") == "close":
            wire.close()
            wire = Wire(serve)
        return answer

    for name, body in (
            ("spaces", b" " * full), ("one string", b'{"id":"' + b"a" * (full - 7)), ("brackets", b"[" * full),
            ("one number", b'{"id":' + b"9" * (full - 6)), ("zeros", bytes(full)),
            ("an alert", b'{"id":"a","app":"shop","to":{"tokens":["' + token(1).encode() + b'"]},"alert":"'
             + b"x" * (full - 200) + b'"}')):
        answer = ask(body)
        assert answer.status in (200, 400, 413, 422) and len(answer.body) < 1000, (name, answer)
        assert b'"accepted"' not in answer.body, (name, answer)
    problem(ask(b" " * (full + 1)), 413)
    problem(ask(b" " * ((1 << 20) + 1), fields=[]), 413)
    # Each end of a character of four bytes, before and in front of a line end.
    face = "\U0001f600".encode()
    body = b"\n".join(b'{"id":"x","app":"shop","alert":"' + face[:cut] + end
                      for cut in range(1, 4) for end in (b"", b'"}', b"\r"))
    acks = [json.loads(line) for line in ask(body).body.splitlines()]
    assert pick(acks, "reason") == ["bad_json"] * 9, acks
    # Many messages of the largest size.
    many = [text(note(f"big-{n}", token(n), custom={"x": "y" * 3900})) for n in range(2000)]
    acks = [json.loads(line) for line in ask(b"\r\n".join(many)).body.splitlines()]
    assert set(pick(acks, "status")) <= {"accepted", "busy"} and len(acks) == 2000, acks[:3]
    taken = [a["id"] for a in acks if a["status"] == "accepted"]
    monitor.completed(*taken)
    assert sorted(scene.simulator.accepted()) == sorted(token(int(name[4:])) for name in taken)
    # The memory of a few bodies may not be given back at once; a sanitizer delays its release.
    room = (5000 if os.environ.get("CARILLON_SANITIZER") else 500) << 20
    assert serve.resident - before < room, serve.resident - before
    serve.stop()


def json_values():
    """Every fault has its answer, and each value that is taken is the one that was sent."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "all", "push", "register", "observe", "operate", "admin")
    base = f'"id":"s","app":"shop","to":{{"tokens":["{token(1)}"]}},"alert":"x"'
    deep = 100_000
    cases = {
        "nothing": ("", 400), "spaces": ("  ", 400), "null": ("null", 400), "a number": ("1", 400),
        "a list": ("[]", 400), "a text": ('"x"', 400), "two values": ("{}{}", 400), "a comma at the end": (
            "{%s,}" % base, 400),
        "a deep list": ("[" * deep + "]" * deep, 400), "a deep object": ('{"a":' * deep + "1" + "}" * deep, 400),
        "deep in a field": ("{%s,\"custom\":{\"a\":%s}}" % (base, "[" * deep + "]" * deep), 400),
        "deep and open": ("{%s,\"custom\":%s" % (base, '{"a":' * deep), 400),
        "a comment": ("{%s/* */}" % base, 400), "single quotation marks": ("{'id':'s'}", 400),
        "NaN": ('{%s,"badge":NaN}' % base, 400), "Infinity": ('{%s,"badge":Infinity}' % base, 400),
        "a huge number": ('{%s,"badge":1e999999}' % base, 422), "a tiny number": ('{%s,"badge":1e-999999}' % base, 422),
        "a number of 10,000 digits": ('{%s,"badge":%s}' % (base, "9" * 10_000), 422),
        "a fraction": ('{%s,"badge":1.5}' % base, 422), "minus zero": ('{%s,"badge":-0.0}' % base, 422),
        "a leading zero": ('{%s,"badge":01}' % base, 400), "a plus": ('{%s,"badge":+1}' % base, 400),
        "hexadecimal": ('{%s,"badge":0x1}' % base, 400), "2^63": ('{%s,"badge":9223372036854775808}' % base, 422),
        "a lone high surrogate": (r'{"id":"\ud800","app":"shop"}', 400),
        "a lone low surrogate": (r'{"id":"\udc00","app":"shop"}', 400),
        "surrogates in the wrong order": (r'{%s,"custom":{"x":"\udc00\ud800"}}' % base, 400),
        "a lone surrogate in a key": (r'{%s,"custom":{"\ud800":1}}' % base, 400),
        "an escape that is not one": (r'{%s,"custom":{"x":"\q"}}' % base, 400),
        "half an escape": (r'{%s,"custom":{"x":"\u12"}}' % base, 400),
        "a control character": ('{%s,"custom":{"x":"\x01"}}' % base, 400),
        "a byte order mark": ("\ufeff{%s}" % base, 400),
        "the same key twice": ('{%s,"id":"t"}' % base, 422),
        "the same key, escaped": (r'{%s,"\u0069d":"t"}' % base, 422),
        "an unknown key": ('{%s,"aps":1}' % base, 422), "the wrong type": ('{%s,"badge":"1"}' % base, 422),
        "an id of NUL": (r'{"id":"\u0000","app":"shop","to":{"tokens":["%s"]},"alert":"x"}' % token(1), 422),
        "an id of 10,000 characters": ('{"id":"%s","app":"shop"}' % ("i" * 10_000), 422),
    }
    monitor = Monitor(serve, "message/")
    with Wire(serve) as wire:
        for name, (body, status) in cases.items():
            answer = wire.ask(*WHERE, body.encode(), key=key)
            assert answer.status == status, (name, status, answer)
            assert len(answer.body) < 2000, (name, len(answer.body))
            json.loads(answer.body.decode())
        # The same bodies, and invalid UTF-8, at each route that takes JSON.
        document = wire.ask("GET", "/openapi.json").json
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if "requestBody" not in operation or path == "/v1/messages":
                    continue
                target = path.format(app="shop", device="d" * 22, id="m", name="n")
                for name, (body, _) in cases.items():
                    answer = wire.ask(method.upper(), target, body.encode(), key=key)
                    assert answer.status in (400, 422), (path, name, answer)
                    assert len(answer.body) < 70_000, (path, name, len(answer.body))
                    json.loads(answer.body.decode())
                for body in (b'{"token":"\xff"}', b"\xfe\xff{}", b'{"\xc0\x80":1}', b"%ff", b"a=%zz"):
                    answer = wire.ask(method.upper(), target, body, key=key)
                    assert answer.status in (400, 422), (path, body, answer)
        # What is right is taken as it is.
        strange = {"\u0000": "\u0000", "\U0001f600": ["\u202e", "\ufdd0", 1e300, -1e-300, 9007199254740993]}
        answer = wire.ask(*WHERE, json.dumps(note("right", token(1), custom=strange)), key=key)
        assert answer.status == 202, answer
    monitor.completed("right")
    assert {e["message_id"] for e in monitor.of("message/accepted")} == {"right"}, monitor.of("message/accepted")
    serve.stop()


if __name__ == "__main__":
    main(globals())
