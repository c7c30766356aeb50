"""Requests that HTTP refuses before they reach an operation."""
import json, re
from harness import http, main, Scene
from http_requests import Door
from openapi import OpenAPI

PARAMETER = re.compile(r"{([^}]*)}")

# Requests that HTTP refuses, with the status, the code, and the method in the metrics.
REFUSALS = [
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "bad_request", "other"),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "unsupported_version", "other"),
    (b"GET /\r\n\r\n", 400, "bad_request", "other"), (b"\r\n\r\n\r\n", 400, "bad_request", "other"),
    (b"BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", 501, "not_implemented", "other"),
    (b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method_not_allowed", "other"),
    (b"GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET /a/../b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET /%2e%2e/b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET /?a=%ff HTTP/1.1\r\nHost: x\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET / HTTP/1.1\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET / HTTP/1.1\nHost: x\n\n", 400, "bad_request", "other"),
    (b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", 400, "bad_request", "GET"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n", 400, "bad_request", "GET"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n", 400, "bad_request", "POST"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400, "bad_request", "POST"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "bad_request",
     "POST"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "not_implemented", "POST"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n", 400, "bad_request", "POST"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413, "too_large", "POST"),
    (b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", 413, "too_large", "PUT"),
    (b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 1\r\n\r\n", 417, "expectation_failed", "PUT"),
    (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "path_too_long", "other"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 20_000 + b"\r\n\r\n", 431, "head_too_large", "GET"),
    (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431, "head_too_large", "GET"),
    (b"HEAD / HTTP/1.1\r\nHost: x y\r\n\r\n", 400, None, "HEAD"),
]


def counts(serve):
    """The counters of requests without a route, by method and status."""
    found = re.findall(
        r'^carillon_http_requests_total{route="none",method="(\w+)",status="(\w+)"} (\d+)$',
        http(serve.places["http"] + "/metrics")[1], re.M)
    return {(method, status): int(count) for method, status, count in found}


def refusals():
    """What HTTP refuses is a problem with a code at both doors; the port counts it, and each path names its methods."""
    scene = Scene()
    serve = scene.serve()
    openapi = OpenAPI(json.loads(http(serve.places["http"] + "/openapi.json")[1]))
    declared = openapi.document["components"]["responses"]["Refused"]
    # Two of them need time or many connections, and are in openapi_answers.py; the server should never fail.
    elsewhere = {"request_timeout", "unavailable", "internal"}
    assert {code for _, _, code, _ in REFUSALS if code} | elsewhere == set(declared["x-codes"])
    for door in (Door(serve, control=True), Door(serve)):
        before, expected = counts(serve), {}
        for data, status, code, method in REFUSALS:
            answer = door.raw(data) if method != "HEAD" else head(door, data)
            assert answer.status == status and answer.type == "application/problem+json", (data[:80], answer)
            assert answer.headers["connection"] == "close" and answer.headers["cache-control"] == "no-store", answer
            assert ("allow" in answer.headers) == (status == 405), answer
            if code:
                problem = answer.json
                openapi.validate(problem, declared["content"]["application/problem+json"]["schema"])
                assert problem["code"] == code and code in declared["x-codes"] and problem["status"] == status, answer
            expected[method, str(status)] = expected.get((method, str(status)), 0) + 1
        after = counts(serve)
        grown = {place: after[place] - before.get(place, 0) for place in after}
        grown = {place: count for place, count in grown.items() if count}
        assert grown == ({} if door.is_control else expected), (grown, expected)
        methods(openapi, door)
    serve.become_ready()
    serve.stop()


def head(door, data):
    with door.connect() as socket:
        socket.sendall(data)
        text = b""
        while piece := socket.recv(65536):
            text += piece
    lines = text.split(b"\r\n")
    assert text.endswith(b"\r\n\r\n") and text.count(b"\r\n\r\n") == 1, "a refused HEAD has no body"
    fields = dict(line.decode().split(": ", 1) for line in lines[1:] if line)
    answer = type("Head", (), {})()
    answer.status, answer.headers = int(lines[0].split()[1]), {name.lower(): value for name, value in fields.items()}
    answer.type = answer.headers["content-type"]
    return answer


def methods(openapi, door):
    """Every other method of each path is 405 with the list of those that it has; unknown paths are 404."""
    for path, item in openapi.document["paths"].items():
        target = PARAMETER.sub("x", path)
        own = {method.upper() for method in item} | ({"HEAD"} if "get" in item else set())
        for method in {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "QUERY"} - own:
            # A word is preferred to a parameter; the word's own methods count.
            answer = door.ask(method, target)
            assert answer.status == 405 and answer.type == "application/problem+json", (method, target, answer)
            assert set(answer.headers["allow"].split(", ")) == own, (method, target, answer)
            assert method == "HEAD" or answer.json["code"] == "method_not_allowed", answer
        for wrong in (target + "/", target.upper() + "X", "/" + target, target + "/x/y/z", target + ";x=1",
                      "/%2f" + target):
            answer = door.ask("GET", wrong)
            assert answer.type == "application/problem+json" and answer.status in (401, 404, 405, 422), (wrong, answer)


if __name__ == "__main__":
    main(globals())
