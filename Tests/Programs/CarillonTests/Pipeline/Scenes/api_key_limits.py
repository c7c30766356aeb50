"""The limits of keys: their end, their addresses and their rate."""
import json
from harness import main, Scene
from raw_http import Key, make_key, problem, Wire
from request_signatures import addresses, body, PUSH


def revoked_keys():
    """Connections and event streams of a key end with its rights, and those of others do not."""
    scene = Scene()
    serve = scene.serve()
    watch = [("Accept", "text/event-stream")]

    def open_both(key):
        idle, stream = Wire(serve), Wire(serve)
        answer = idle.ask("GET", "/v1/stats", key=key)
        if answer.status == 401:
            return None
        assert answer.status == 200, answer
        stream.send(stream.request("GET", "/v1/events", key=key, fields=watch))
        head = stream.until(b"\r\n\r\n")
        if b" 401 " in head:
            return None
        assert b" 200 " in head and b"text/event-stream" in head, head
        return idle, stream

    def control(method, target, value=None):
        with Wire(serve, "control") as wire:
            answer = wire.ask(method, target, json.dumps(value) if value is not None else None)
            assert answer.status in (200, 201), answer
            return answer.json

    keeper = make_key(serve, "keeper", "observe")
    kept = open_both(keeper)
    # Revoked: at once.
    key = make_key(serve, "revoked", "observe")
    wires = open_both(key)
    control("POST", "/v1/keys/revoked/revoke")
    for wire in wires:
        wire.has_ended()
    with Wire(serve, source=next(addresses)) as wire:
        problem(wire.ask("GET", "/v1/stats", key=key), 401)
    # Expired: within about a second of its time, in the middle of a stream. On a busy machine a key may have expired
    # before both connections are open; the next one lasts longer.
    wires, lasts = None, 1500
    while wires is None:
        key = make_key(serve, f"expiring-{lasts}", "observe", expires_in_ms=lasts)
        wires, lasts = open_both(key), 2 * lasts
    for wire in wires:
        wire.has_ended()
    with Wire(serve, source=next(addresses)) as wire:
        problem(wire.ask("GET", "/v1/stats", key=key), 401)
    # Rotated: both secrets serve during the overlap; after it, only the new one does.
    key = make_key(serve, "rotated", "observe")
    wires = open_both(key)
    made = control("POST", "/v1/keys/rotated/rotate", {"overlap_ms": 1500})
    assert made["key_id"] != key.id
    for wire in wires:
        wire.has_ended()
    new = Key(made)
    with Wire(serve, source=next(addresses)) as wire:
        problem(wire.ask("GET", "/v1/stats", key=key), 401)
        assert wire.ask("GET", "/v1/stats", key=new).status == 200
    # A connection belongs to the key of its last request.
    first, second = make_key(serve, "first", "observe"), make_key(serve, "second", "observe")
    wire = Wire(serve)
    assert wire.ask("GET", "/v1/stats", key=first).status == wire.ask("GET", "/v1/stats", key=second).status == 200
    control("POST", "/v1/keys/first/revoke")
    assert wire.ask("GET", "/v1/stats", key=second).status == 200
    control("POST", "/v1/keys/second/revoke")
    wire.has_ended()
    # Requests in the middle of which the key is revoked are not carried out.
    key = make_key(serve, "half", "push")
    half = Wire(serve)
    data = half.request(*PUSH, body("half"), key=key)
    half.send(data[:-5])
    control("POST", "/v1/keys/half/revoke")
    half.send(data[-5:])
    answer = half.answer()
    assert answer is None or answer.status == 401, answer
    assert kept[0].ask("GET", "/v1/stats", key=keeper).status == 200 and not kept[1].socket.recv(1) == b""
    with Wire(serve) as wire:
        assert wire.ask("GET", "/v1/messages", key=keeper).json["messages"] == []
    serve.stop()


def addresses_and_rates():
    """Addresses and rates: a key serves from its networks only, and above its rate it waits, and nobody else does."""
    scene = Scene()
    serve = scene.serve()
    inside = make_key(serve, "inside", "push", **{"from": ["127.9.0.0/16", "127.8.8.8/32"]})
    for source, status in (("127.9.1.2", 202), ("127.9.255.255", 200), ("127.8.8.8", 200), ("127.8.8.9", 403),
                           ("127.10.0.0", 403), ("127.0.0.1", 403)):
        for by in ("bearer", "signature"):
            with Wire(serve, source=source) as wire:
                answer = wire.ask(*PUSH, body("inside"), key=inside, by=by)
                assert answer.status == (200 if by == "signature" and status == 202 else status), (source, by, answer)
    # A forwarded address is not believed.
    with Wire(serve, source="127.0.0.1") as wire:
        for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "True-Client-IP", "CF-Connecting-IP"):
            value = "for=127.9.1.2" if name == "Forwarded" else "127.9.1.2"
            problem(wire.ask(*PUSH, body(), key=inside, fields=[(name, value)]), 403, "forbidden")
    # One that floods at many times its rate, without reading, is refused; another one is served all the while.
    slow, fast = make_key(serve, "slow", "push", rate=5), make_key(serve, "fast", "push")
    flood = Wire(serve)
    one = flood.request(*PUSH, body("flood"), key=slow)
    flood.send(one * 500)
    with Wire(serve) as wire:
        for number in range(100):
            answer = wire.ask(*PUSH, body(f"fast-{number}"), key=fast)
            assert answer.status == 202, answer
    answers = [flood.answer() for _ in range(500)]
    refused = [a for a in answers if a.status == 429]
    assert len(refused) > 400 and all(int(a.fields["retry-after"]) >= 1 for a in refused), len(refused)
    assert {a.status for a in answers} == {200, 202, 429}
    # Guessing: the address waits, and the owner at the same address does not.
    with Wire(serve, source="127.77.0.1") as wire:
        assert wire.ask(*PUSH, body("fast-0"), key=fast).status == 200
        codes = []
        for _ in range(40):
            answer = wire.ask(*PUSH, body(), fields=[("Authorization", "Bearer zzzzzzzz." + "A" * 43)])
            codes.append(answer.status)
        assert codes[0] == 401 and codes[-1] == 429 and answer.code == "too_many_requests", codes
        assert int(answer.fields["retry-after"]) >= 1
        assert wire.ask(*PUSH, body("fast-0"), key=fast).status == 200
        # Its rate may have recovered since the flood, and is used up again.
        wire.send(wire.request(*PUSH, body("fast-0"), key=slow) * 100)
        statuses = {wire.answer().status for _ in range(100)}
        assert 429 in statuses <= {200, 429}, statuses
    serve.stop()


if __name__ == "__main__":
    main(globals())
