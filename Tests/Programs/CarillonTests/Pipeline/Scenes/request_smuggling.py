"""Requests that two parsers read differently, paths that try to leave their tree, and callers from other sites. A
request with a second one hidden in it is refused and its connection closed, so that nothing behind it is read."""
import json, random, ssl, socket as sockets
from harness import main, Monitor, note, Scene, token
from raw_http import make_key, problem, signed, Wire

# A request that would be carried out if it were read as one.
HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def framing():
    """Lengths, encodings, line ends and versions: one answer, then the end of the connection."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "all", "push", "observe")
    data = json.dumps(note("smuggled", token(1))).encode()
    auth = "\r\n".join(f"{n}: {v}" for n, v in key.bearer)
    host = f"Host: {serve.places['http'].split('//')[1]}"

    def post(*fields, body=data, line="POST /v1/messages HTTP/1.1", end="\r\n"):
        return (end.join([line, host, auth, "Content-Type: application/json", *fields]) + end * 2).encode() + body

    length = f"Content-Length: {len(data)}"
    chunked = "Transfer-Encoding: chunked"
    chunks = f"{len(data):x}\r\n".encode() + data + b"\r\n0\r\n\r\n"
    cases = {
        "length and encoding": (400, post(length, chunked, body=chunks)),
        "encoding and length": (400, post(chunked, length, body=chunks)),
        "two equal lengths": (400, post(length, length)),
        "two lengths": (400, post(length, "Content-Length: 0")),
        "a list of lengths": (400, post(f"Content-Length: {len(data)}, {len(data)}")),
        "a signed length": (400, post(f"Content-Length: +{len(data)}")),
        "a negative length": (400, post("Content-Length: -1")),
        "a length with a space": (400, post("Content-Length: 1 2")),
        "an empty length": (400, post("Content-Length:")),
        "a hexadecimal length": (400, post("Content-Length: 0x10")),
        "a length with an exponent": (400, post("Content-Length: 1e3")),
        "a length above 2^63": (413, post("Content-Length: 9223372036854775808")),
        "a length above 2^64": (413, post("Content-Length: 18446744073709551617")),
        "a length of 1000 digits": (413, post("Content-Length: " + "9" * 1000)),
        "a length in other digits": (400, post("Content-Length: \u0661\u0662")),
        "an encoding twice": (400, post(chunked, chunked, body=chunks)),
        "a list of encodings": (501, post("Transfer-Encoding: gzip, chunked", body=chunks)),
        "an unknown encoding": (501, post("Transfer-Encoding: xchunked", body=chunks)),
        "an encoding in quotation marks": (501, post('Transfer-Encoding: "chunked"', body=chunks)),
        "an encoding after a vertical tab": (400, post("Transfer-Encoding: \x0bchunked", body=chunks)),
        "an empty encoding": (501, post("Transfer-Encoding:", body=chunks)),
        "an encoding in HTTP/1.0": (400, post(chunked, line="POST /v1/messages HTTP/1.0", body=chunks)),
        "a space before the colon": (400, post(f"Content-Length : {len(data)}")),
        "a tab before the colon": (400, post("Transfer-Encoding\t: chunked", body=chunks)),
        "a name with a NUL": (400, post(f"Content\0-Length: {len(data)}")),
        "a value with a NUL": (400, post("X: a\0b", length)),
        "a bare CR in a value": (400, post(f"X: a\rContent-Length: {len(data)}")),
        "a bare LF between fields": (400, post(f"X: a\nContent-Length: {len(data)}")),
        "bare LFs": (400, post(length, end="\n")),
        "bare CRs": (400, post(length, end="\r") + b"\r\n\r\n"),
        "a folded field": (400, post("X: a", " " + length)),
        "a folded first field": (400, f"POST /v1/messages HTTP/1.1\r\n {host}\r\n\r\n".encode() + data),
        "a field without a colon": (400, post("Content-Length")),
        "a field without a name": (400, post(": 5")),
        "no host": (400, post(length).replace(host.encode() + b"\r\n", b"")),
        "two hosts": (400, post("Host: localhost", length)),
        "a chunk longer than its size": (400, post(chunked, body=b"3\r\nabcd\r\n0\r\n\r\n")),
        "a chunk of 2^64": (413, post(chunked, body=b"10000000000000000\r\n")),
        "a chunk of 2^63": (413, post(chunked, body=b"8000000000000000\r\n")),
        "a chunk of -1": (400, post(chunked, body=b"-1\r\n")),
        "a chunk of 0x": (400, post(chunked, body=b"0x5\r\nhello\r\n0\r\n\r\n")),
        "a chunk without a size": (400, post(chunked, body=b"\r\n")),
        "a chunk with a bare LF": (400, post(chunked, body=b"5\nhello\r\n0\r\n\r\n")),
        "a chunk with a bare CR": (400, post(chunked, body=b"5\rhello\r\n0\r\n\r\n")),
        "a chunk extension of 64 KiB": (400, post(chunked, body=b"5;" + b"x" * 65536 + b"\r\nhello\r\n0\r\n\r\n")),
        "a chunk extension with a NUL": (400, post(chunked, body=b"5;a=\0\r\nhello\r\n0\r\n\r\n")),
        "a trailer that is a length": (400, post(chunked, body=chunks[:-2] + b"Content-Length : 5\r\n\r\n")),
        "a trailer of 64 KiB": (431, post(chunked, body=b"0\r\n" + b"X: y\r\n" * 11000 + b"\r\n")),
        "the target of another server": (400, HIDDEN.replace(b"/healthz", b"http://localhost/healthz")),
        "an authority as target": (400, HIDDEN.replace(b"/healthz", b"localhost:80")),
        "a tunnel": (405, b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n"),
        "HTTP/0.9": (400, b"GET /healthz\r\n\r\n"),
        "HTTP/1.2": (505, HIDDEN.replace(b"1.1", b"1.2")),
        "HTTP/2.0": (505, HIDDEN.replace(b"1.1", b"2.0")),
        "HTTP/01.1": (400, HIDDEN.replace(b"1.1", b"01.1")),
        "http in lower case": (400, HIDDEN.replace(b"HTTP/1.1", b"http/1.1")),
        "two spaces": (400, HIDDEN.replace(b"GET /", b"GET  /")),
        "a tab in the request line": (400, HIDDEN.replace(b"GET ", b"GET\t")),
        "a space at the end of the request line": (400, HIDDEN.replace(b"1.1\r", b"1.1 \r")),
        "a method in lower case": (501, HIDDEN.replace(b"GET", b"get")),
        "a long method": (501, HIDDEN.replace(b"GET", b"G" * 300)),
        "three empty lines": (400, b"\r\n\r\n\r\n" + HIDDEN),
        "an expectation of something else": (417, post(length, "Expect: 200-ok")),
        "the preface of HTTP/2": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"),
        "a TLS hello": (400, client_hello()),
        "a socks hello": (400, b"\5\1\0"),
        "a field of 64 KiB": (431, post("X: " + "y" * 65536, length)),
        "100,000 fields": (431, post("X: y\r\n" * 100_000, length)),
        "a target of 64 KiB": (414, HIDDEN.replace(b"healthz", b"h" * 65536)),
    }
    for name, (status, attack) in cases.items():
        with Wire(serve, source="127.0.2.2") as wire:
            wire.send(attack + HIDDEN)
            answer = wire.answer()
            assert answer is not None and answer.status == status, (name, status, answer)
            assert answer.fields.get("connection") == "close", (name, answer, answer.fields)
            # Nothing behind the refused request is answered.
            assert wire.has_ended() == b"", (name, wire.held)
    # What is allowed stays allowed.
    fine = {
        "an empty line": (202, b"\r\n" + post(length)),
        "chunks": (200, post(chunked, body=chunks)),
        "an encoding in upper case": (200, post("TRANSFER-ENCODING: CHUNKED", body=chunks)),
        "zeros before the length": (200, post(f"Content-Length: 000{len(data)}")),
        "an upgrade": (200, post(length, "Connection: upgrade", "Upgrade: h2c, websocket", "HTTP2-Settings: AAAA")),
        "an expectation": (200, post(length, "Expect: 100-continue")),
        "a trailer": (200, post(chunked, body=chunks[:-2] + b"X-Sum: 5\r\nContent-Length: 5\r\n\r\n")),
    }
    for name, (status, request) in fine.items():
        with Wire(serve) as wire:
            wire.send(request + HIDDEN)
            for expected in (status, 200):
                answer = wire.answer()
                assert answer is not None and answer.status == expected, (name, expected, answer)
    # Each prefix of a good request, and then the end: never an answer that is a success.
    request = post(length)
    for end in random.Random(1).sample(range(1, len(request)), 60):
        with Wire(serve) as wire:
            wire.send(request[:end])
            wire.socket.shutdown(sockets.SHUT_WR)
            assert wire.has_ended() == b"" or b" 400 " in wire.held[:20], (end, wire.held)
    monitor = Monitor(serve, since=0)
    monitor.completed("smuggled")
    assert len(monitor.of("message/accepted")) == 1
    serve.stop()


def client_hello():
    """The first bytes of a client that speaks TLS."""
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    engine = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    try:
        engine.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def paths():
    """Paths and queries: each is exactly the route that it names, or is refused."""
    scene = Scene()
    serve = scene.serve()
    key = make_key(serve, "all", "observe", "operate")
    long = "a" * 8100
    cases = {
        "/../etc/passwd": 400, "/v1/../healthz": 400, "/%2e%2e/healthz": 400, "/v1/%2E%2e/healthz": 400,
        "/./healthz": 400, "/v1/apps/..%2f..%2fshop/devices": 400, "/..%5c..%5cetc": 400, "/.%2e/": 400,
        "//healthz": 404, "/healthz/": 404, "/healthz//": 404, "///": 404, "/v1//stats": 404, "/v1/stats/": 404,
        "/healthz%00": 400, "/%00": 400, "/healthz%0d%0aX:%20y": 400, "/healthz%7f": 400, "/healthz%c2%85": 400,
        "/%c0%ae%c0%ae/healthz": 400, "/%e0%80%af": 400, "/%ff": 400, "/%": 400, "/%4": 400, "/%zz": 400,
        "/%ed%a0%80": 400, "/healthz;x=1": 404, "/healthz%3bx": 404, "/HEALTHZ": 404, "/V1/stats": 404,
        "/v1%2fstats": 404, "/v1/stats%2f": 404, "/v1/stats%20": 404, "/v1/stat%73": 200, "/%76%31/stats": 200,
        "/healthz#fragment": 400, "/healthz\\": 404, "/heal\u00e4": 400, "/" + long: 404, "/v1/devices/" + long: 422,
        "/v1/gateways/" + long: 422, "/v1/gateways/a%2fb": 422, "/v1/gateways/%3cscript%3e": 422,
        "/v1/gateways/sh\u00f6p".encode().decode("latin-1"): 400, "/v1/gateways/shop": 200, "/v1/gateways/shop?": 200,
        "/v1/devices?limit=1&limit=2": 422, "/v1/devices?limit=1&Limit=2": 422, "/v1/devices?nothing=1": 422,
        "/v1/devices?limit": 422, "/v1/devices?limit=": 422, "/v1/devices?limit=1e3": 422, "/v1/devices?limit=-1": 422,
        "/v1/devices?limit=99999999999999999999": 422, "/v1/devices?limit=1%00": 400, "/v1/devices?%6cimit=1": 200,
        "/v1/devices?limit=1;limit=2": 422, "/v1/devices?&&": 200, "/v1/devices?limit=1?limit=2": 422,
        "/v1/devices?after=zzzz": 422, "/v1/devices?after=" + "A" * 8000: 422, "/v1/devices?user=%ff": 400,
        "/v1/devices?" + "&".join(f"a{n}=1" for n in range(1500)): 422,
        "/v1/events?since=18446744073709551616": 422, "/v1/events?since=9223372036854775807": 200,
        "/v1/events?prefix=" + "x" * 3000: 422, "/v1/events?limit=0": 422, "/v1/events?limit=10001": 422,
        "/v1/trace": 422, "/v1/trace?message=a&device=b": 422, "/v1/trace?apns_id=%00": 400,
        "/v1/messages?since=9999999999999999999": 422, "/v1/messages?state=exploded": 422,
        "/v1/messages?app=shop&app=bank": 422,
    }
    with Wire(serve) as wire:
        for path, status in cases.items():
            if not wire.send(wire.request("GET", path, key=key)):
                wire = Wire(serve)
                wire.send(wire.request("GET", path, key=key))
            answer = wire.answer()
            assert answer is not None and answer.status == status, (path[:100], status, answer)
            assert len(answer.body) < 40_000 or status == 200, (path[:100], len(answer.body))
            if answer.fields.get("connection") == "close":
                wire.close()
                wire = Wire(serve)
        # The signature covers the path and the query as they were sent, not as they are understood.
        fields = signed(key, "GET", "/v1/stats")
        problem(wire.ask("GET", "/%76%31/stats", fields=fields), 401)
        assert wire.ask("GET", "/v1/stats", fields=signed(key, "GET", "/v1/stats")).status == 200
        assert wire.ask("GET", "/v1/stat%73", fields=signed(key, "GET", "/v1/stat%73")).status == 200
    serve.stop()


def other_sites():
    """Pages of other sites, other names for this server, and bodies that a form of another site could send."""
    scene = Scene()
    scene.more["http"] = {"listen": "127.0.0.1:0", "hosts": ["push.example.com"]}
    serve = scene.serve()
    key = make_key(serve, "all", "push", "observe")
    port = serve.places["http"].rsplit(":", 1)[1]
    data = json.dumps(note("cross", token(1)))
    with Wire(serve) as wire:
        for host, status in (
                ("localhost", 200), (f"localhost:{port}", 200), ("LOCALHOST", 200), ("push.example.com", 200),
                ("push.example.com:443", 200), ("PUSH.example.com", 200), ("[::1]", 200), (f"[::1]:{port}", 200),
                ("127.0.0.1", 200), ("192.0.2.1", 200), ("evil.example", 421), ("localhost.evil.example", 421),
                ("push.example.com.evil.example", 421), ("evil.example:80", 421), ("127.0.0.1.evil.example", 421),
                ("localhost.", 200), ("push.example.com.", 200), ("evil.example.", 421), ("127.1", 421),
                ("[::1].evil.example", 421), ("[evil.example]", 421), ("localhost:evil", 421), ("[::1", 421),
                ("2130706433", 421), ("0x7f.1", 421), ("localhost:80:80", 421), ("localhost:", 200), (":80", 421)):
            answer = wire.ask("GET", "/v1/stats", key=key, host=host)
            assert answer.status == status, (host, status, answer)
            if status == 421:
                assert answer.code == "unknown_host", answer
        # Without a key, a foreign name gets what is open to all, and nothing else.
        assert wire.ask("GET", "/healthz", host="evil.example").status == 200
        own = f"http://{serve.places['http'].split('//')[1]}"
        for fields, status in (
                ([("Origin", own)], 200), ([("Origin", own.upper().replace("HTTP", "http"))], 200),
                ([("Origin", "https://evil.example")], 403), ([("Origin", "null")], 403), ([("Origin", "")], 403),
                ([("Origin", own + ".evil.example")], 403), ([("Origin", "http://127.0.0.1")], 403),
                ([("Origin", own), ("Origin", "https://evil.example")], 403),
                ([("Origin", "file://")], 403), ([("Sec-Fetch-Site", "cross-site")], 403),
                ([("Sec-Fetch-Site", "same-site")], 403), ([("Sec-Fetch-Site", "same-origin")], 200),
                ([("Sec-Fetch-Site", "none")], 200), ([("Sec-Fetch-Site", "same-origin, cross-site")], 403),
                ([("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")], 403)):
            answer = wire.ask("GET", "/v1/stats", key=key, fields=fields)
            assert answer.status == status, (fields, status, answer)
            assert not any(name.startswith("access-control") for name in answer.fields), answer
        # A preflight of a page of another site gets no permission.
        answer = wire.ask("OPTIONS", "/v1/messages", fields=[
            ("Origin", "https://evil.example"), ("Access-Control-Request-Method", "POST"),
            ("Access-Control-Request-Headers", "signature")])
        assert answer.status == 405 and not any(name.startswith("access-control") for name in answer.fields), answer
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json",
                     "application/json-seq", "", "application/json, text/plain"):
            answer = wire.ask("POST", "/v1/messages", data, key=key, fields=[("Content-Type", kind)])
            assert answer.status == 415, (kind, answer)
        assert wire.ask("POST", "/v1/messages", data, key=key, fields=[
            ("Content-Type", "application/json"), ("Content-Type", "text/plain")]).status == 415
        for kind in ("application/json", "Application/JSON; charset=utf-8", "application/json;charset=latin-1"):
            assert wire.ask("POST", "/v1/messages", data, key=key, fields=[("Content-Type", kind)]).status < 300, kind
    serve.stop()


if __name__ == "__main__":
    main(globals())
