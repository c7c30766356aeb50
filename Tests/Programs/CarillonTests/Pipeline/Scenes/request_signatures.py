"""Requests that are not what they claim to be: forged, copied, late, and signed in ways that another parser may read
differently. Each is refused before its body is parsed, and the owner of the key is served meanwhile."""
import base64, itertools, json, time
from harness import main, Monitor, note, Scene, token, until
from raw_http import COMPONENTS, digest_of, make_key, metric, nonce, problem, signed, Wire

PUSH = "POST", "/v1/messages"
addresses = (f"127.0.{a}.{b}" for a in range(1, 250) for b in range(1, 250))


def body(name="forged"):
    return json.dumps(note(name, token(9))).encode()


def post(serve, fields, data=None, target=PUSH[1]):
    """Sends a request from an address of its own, and returns the answer."""
    with Wire(serve, source=next(addresses)) as wire:
        return wire.ask("POST", target, data if data is not None else body(), fields=fields)


def swapped(fields, name, change):
    return [(n, change(v) if n == name else v) for n, v in fields]


def forged_signatures():
    """Signatures that are almost right."""
    scene = Scene()
    serve = scene.serve()
    key, other = make_key(serve, "orders", "push"), make_key(serve, "other", "push")
    data, monitor = body(), Monitor(serve)
    now = int(time.time())

    def sign(**more):
        return signed(key, *PUSH, data, **more)

    right = sign()
    wrong_mac = swapped(right, "Signature", lambda v: v[:12] + ("A" if v[12] != "A" else "B") + v[13:])
    covered = dict(right)["Signature-Input"].split("=", 1)[1]
    mac = dict(right)["Signature"].split("=", 1)[1]
    cases = {
        "no credentials": [],
        "a wrong MAC": wrong_mac,
        "the secret of another key": sign(secret=other.bytes),
        "an empty secret": sign(secret=b"\0"),
        "an unknown key": sign(keyid='"zzzzzzzz"'),
        "another key's id": sign(keyid=f'"{other.id}"'),
        "an id that is not one": sign(keyid='"../../api.key"'),
        "another algorithm": sign(alg='"rsa-v1_5-sha256"'),
        "no algorithm": sign(alg=None),
        "no time": sign(created=None), "no nonce": sign(nonce=None), "no key": sign(keyid=None),
        "a time that is text": sign(created='"now"'),
        "a time with a fraction": sign(created=f"{now}.5"),
        "a time beyond 64 bits": sign(created="9" * 40),
        "a negative time": sign(created="-1" * 1 + "0" * 20),
        "a short nonce": sign(nonce='"abc"'), "a long nonce": sign(nonce='"' + "n" * 65 + '"'),
        "a nonce with a quotation mark": sign(nonce='"aaaaaaaaaaaaaaaa\\"bbbb"'),
        "expired by itself": sign(expires=now - 1),
        "an unknown parameter": sign(extra="1"),
        "a parameter twice": sign(parameters=f';created={now};created={now};nonce="{nonce()}";keyid="{key.id}"'
                                             ';alg="hmac-sha256"'),
        "the digest is not covered": sign(components=COMPONENTS[:3]),
        "the path is not covered": sign(components=("@method", "@query", "content-digest")),
        "the method is not covered": sign(components=("@path", "@query", "content-digest")),
        "components twice": sign(components=COMPONENTS + ("@path",)),
        "structured-field component": swapped(right, "Signature-Input", lambda v: v.replace(
            '"content-digest"', '"content-digest";sf')),
        "component of the request": swapped(right, "Signature-Input", lambda v: v.replace('"@path"', '"@path";req')),
        "component of a byte sequence": swapped(right, "Signature-Input", lambda v: v.replace('"@path"', '"@path";bs')),
        "component in upper case": swapped(right, "Signature-Input", lambda v: v.replace("@path", "@PATH")),
        "digest of another body": sign(digest=digest_of(body("another"))),
        "digest header missing": [field for field in right if field[0] != "Content-Digest"],
        "digest header changed": swapped(right, "Content-Digest", lambda v: digest_of(b"x")),
        "digest header twice": right + [right[2]],
        "digest with another algorithm": sign(digest="md5=:AAAAAAAAAAAAAAAAAAAAAA==:"),
        "digest without padding": sign(digest=digest_of(data)[:-2] + ":"),
        "two Signature headers": right + [("Signature", dict(right)["Signature"])],
        "two Signature-Input headers": right + [("Signature-Input", dict(right)["Signature-Input"])],
        "the label twice": swapped(
            swapped(right, "Signature-Input", lambda v: f"{v}, {v}"), "Signature", lambda v: f"{v}, {v}"),
        "the label twice, the last is right": [
            ("Signature-Input", f"carillon=(), carillon={covered}"), ("Signature", f"carillon=:AAAA:, carillon={mac}"),
            right[2]],
        "another label": sign(label="sig1"),
        "the label in upper case": sign(label="Carillon"),
        "only Signature-Input": [f for f in right if f[0] != "Signature"],
        "only Signature": [f for f in right if f[0] != "Signature-Input"],
        "signature and bearer": right + key.bearer,
        "two bearers": key.bearer * 2,
        "a bearer with another secret": [("Authorization", f"Bearer {key.id}.{other.secret}")],
        "a bearer cut short": [("Authorization", f"Bearer {key.id}.{key.secret[:-1]}")],
        "a bearer that is longer": [("Authorization", f"Bearer {key.id}.{key.secret}A")],
        "a bearer of nothing": [("Authorization", "Bearer ")],
        "basic authentication": [("Authorization", "Basic " + base64.b64encode(
            f"{key.id}:{key.secret}".encode()).decode())],
        "not a list": swapped(right, "Signature-Input", lambda v: v.replace("(", "").replace(")", "")),
        "an inner list in a list": swapped(right, "Signature-Input", lambda v: v.replace("(", "((")),
        "a comma at the end": swapped(right, "Signature-Input", lambda v: v + ","),
        "a tab between components": swapped(right, "Signature-Input", lambda v: v.replace('" "', '"\t"')),
        "a signature of text": swapped(right, "Signature", lambda v: v.replace(":", '"')),
        "a signature without padding": swapped(right, "Signature", lambda v: v.replace("=:", ":").replace(
            "carillon:", "carillon=:")),
        "a signature of two": swapped(right, "Signature", lambda v: v[:-1] + "AAAA:"),
        "8 KiB of parameters": sign(tag='"' + "t" * 8000 + '"'),
        "500 other labels": swapped(right, "Signature-Input", lambda v: ", ".join(
            [f"l{n}=()" for n in range(1200)] + [v])),
        "a deep list": swapped(right, "Signature-Input", lambda v: "a=" + "(" * 4000 + ", " + v),
    }
    for name, fields in cases.items():
        answer = post(serve, fields, data)
        assert answer.status == 401 and answer.code == "unauthenticated", (name, answer)
        text = answer.body.decode()
        assert not any(word in text for word in (key.secret, key.id, other.id)), (name, text)
    # The times of the window's ends; the answer has the server's clock, so that a client can correct its own.
    now = int(time.time())
    for name, created in (("early", now + 400), ("late", now - 400), ("the end of time", 999_999_999_999_999)):
        answer = problem(post(serve, sign(created=created), data), 401, "clock_skew")
        assert abs(answer.json["server_time_at"] - time.time() * 1000) < 1e6, (name, answer)
    # Signed for another method, path or query.
    for method, target in (("PUT", PUSH[1]), ("POST", "/v1/devices"), ("POST", PUSH[1] + "?dry=1"),
                           ("POST", PUSH[1] + "?")):
        answer = post(serve, signed(key, method, target, data), data)
        assert (answer.status == 401) == (target != PUSH[1] + "?"), (method, target, answer)
    # A bad request without a body does not get a body accepted, and the other way.
    assert post(serve, signed(key, *PUSH), data).status == 401
    with Wire(serve, source=next(addresses)) as wire:
        assert wire.ask("POST", PUSH[1], b"", fields=sign()).status == 401
    # What is right is accepted once, in each order of components and parameters, whatever went wrong before.
    for number, order in enumerate(itertools.permutations(COMPONENTS)):
        fields = sign(components=order, expires=int(time.time()) + 100, tag='"x"')
        assert post(serve, fields, data).status in (200, 202), order
        problem(post(serve, fields, data), 401, "replayed")
        # The same nonce with another time is a replay as well.
        if number == 0:
            copied = nonce()
            assert post(serve, sign(nonce=f'"{copied}"'), data).status == 200
            later = int(time.time()) + 60
            problem(post(serve, sign(nonce=f'"{copied}"', created=later), data), 401, "replayed")
    # The same nonce of another key is not.
    shared = f'"{nonce()}"'
    for one in (key, other):
        assert post(serve, signed(one, *PUSH, data, nonce=shared), data).status == 200
    monitor.completed("forged")
    assert len(monitor.of("message/accepted")) == 1, monitor.events
    log = "\n".join(serve.lines)
    assert key.secret not in log and other.secret not in log
    serve.stop()


def copied_requests():
    """Copies of one signed request, at once, on 16 connections: exactly one is accepted; pipelined ones likewise."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "orders", "push")
    for number in range(5):
        data = body(f"copied-{number}")
        one = None
        wires = [Wire(serve, source=next(addresses)) for _ in range(16)]
        fields = signed(key, *PUSH, data)
        one = wires[0].request(*PUSH, data, fields=fields)
        for wire in wires:
            wire.send(one)
        codes = sorted(wire.answer().status for wire in wires)
        assert codes == [202] + [401] * 15, codes
        with Wire(serve, source=next(addresses)) as wire:
            fresh = wire.request(*PUSH, data, key=key, by="signature")
            created = int(time.time())
            wire.send(fresh * 4)
            answers = [wire.answer() for _ in range(4)]
            assert [a.status for a in answers] == [200, 401, 401, 401], answers
        for wire in wires:
            wire.close()
    # A kill forgets the nonces: copies of requests that were created before the second of the start are refused.
    serve.kill()
    until(lambda: int(time.time()) > created)
    serve = scene.serve()
    with Wire(serve, source=next(addresses)) as wire:
        wire.send(fresh)
        problem(wire.answer(), 401, "clock_skew")
    serve.stop()


def refusal_counts():
    """Refusals are counted by reason in the metrics and in the statistics, and logged without secrets and floods."""
    scene = Scene()
    scene.apps["bank"] = scene.app("bank")
    serve = scene.serve()
    push = make_key(serve, "push", "push", apps=["shop"])
    watch = make_key(serve, "watch", "observe", apps=["shop"], rate=10_000)
    slow = make_key(serve, "slow", "observe", rate=1)
    inside = make_key(serve, "inside", "observe", **{"from": ["10.0.0.0/8"]})
    data = body()
    guess = "Bearer " + push.id + "." + "A" * 43

    def ask(method, target, value=None, **more):
        with Wire(serve, source=next(addresses)) as wire:
            return wire.ask(method, target, value, **more)

    def flood(key):
        """Sends requests faster than one a second, and returns all answers."""
        with Wire(serve, source=next(addresses)) as wire:
            wire.send(wire.request("GET", "/v1/stats", key=key) * 100)
            return [wire.answer() for _ in range(100)]

    twice = signed(push, *PUSH, data)
    now = int(time.time())
    cases = {
        "no_credentials": [lambda: ask("GET", "/v1/stats")] * 3,
        "wrong_secret": [lambda: ask(*PUSH, data, fields=[("Authorization", guess)])] * 2,
        "unknown_key": [lambda: ask("GET", "/v1/stats", fields=[("Authorization", "Bearer zzzzzzzz." + "A" * 43)])],
        "malformed": [lambda: ask("GET", "/v1/stats", fields=[("Authorization", "Bearer x")])],
        "wrong_signature": [lambda: ask(*PUSH, data, fields=signed(push, *PUSH, data, secret=watch.bytes))],
        "wrong_digest": [lambda: ask(*PUSH, data + b" ", fields=signed(push, *PUSH, data))],
        "digest_missing": [lambda: ask(*PUSH, data, fields=signed(push, *PUSH, data, components=COMPONENTS[:3]))],
        "signature_expired": [lambda: ask(*PUSH, data, fields=signed(push, *PUSH, data, expires=now - 5))],
        "clock_skew": [lambda: ask(*PUSH, data, fields=signed(push, *PUSH, data, created=now - 4000))],
        "replayed": [lambda: ask(*PUSH, data, fields=twice)] * 2,
        "address_not_allowed": [lambda: ask("GET", "/v1/stats", key=inside)],
        "role_missing": [lambda: ask("GET", "/v1/stats", key=push)] * 2,
        "app_not_allowed": [lambda: ask("GET", "/v1/apps/bank/messages/x", key=watch)],
        "unknown_host": [lambda: ask("GET", "/v1/stats", key=watch, host="evil.example")],
        "cross_origin": [lambda: ask("GET", "/v1/stats", key=watch, fields=[("Origin", "https://evil.example")])],
        "too_many_requests": [lambda: flood(slow)],
    }
    assert ask(*PUSH, data, fields=twice).status == 202
    for reason, calls in cases.items():
        before = metric(serve, "carillon_http_refusals_total", reason=reason)
        others = metric(serve, "carillon_http_refusals_total") - before
        answers = [call() for call in calls]
        if reason == "too_many_requests":
            answers = [answer for answer in answers[0] if answer.status != 200]
        refused = sum(answer.status in (401, 403, 421, 429) for answer in answers)
        assert refused == len(answers) > 0, (reason, refused)
        assert metric(serve, "carillon_http_refusals_total", reason=reason) == before + refused, reason
        assert metric(serve, "carillon_http_refusals_total") == others + before + refused, reason
    with Wire(serve, "control") as wire:
        counted = wire.ask("GET", "/v1/stats").json["http"]["refused"]
    # The log limits the lines of an event, so that it has the first ones only.
    serve.heard("request refused", "reason=no_credentials", "address=127.0.")
    serve.heard("request refused", "reason=wrong_secret", f"key={push.id}", "key_name=push")
    assert set(cases) == set(counted), set(cases) ^ set(counted)
    for reason in cases:
        assert counted[reason] == metric(serve, "carillon_http_refusals_total", reason=reason), (reason, counted)
    # A flood of guesses fills neither the log nor the metrics.
    lines = len(serve.said("request refused"))
    with Wire(serve, source=next(addresses)) as wire:
        for _ in range(20):
            wire.send(wire.request(*PUSH, data, fields=[("Authorization", guess)]) * 100)
            for _ in range(100):
                assert wire.answer().status in (401, 429)
    with Wire(serve) as wire:
        series = [line for line in wire.ask("GET", "/metrics").body.decode().splitlines() if "refusals_total{" in line]
    assert len(series) < 40 and metric(serve, "carillon_http_refusals_total") > 2000, series
    serve.stop()
    log = "\n".join(serve.lines)
    assert len(serve.said("request refused")) - lines < 1000, len(serve.said("request refused"))
    assert not any(word in log for word in (push.secret, watch.secret, slow.secret, "A" * 43, dict(twice)["Signature"]))


if __name__ == "__main__":
    main(globals())
