#!/usr/bin/env python3
"""An HTTP/1.1 server with faults. Prints its port, and serves until its output is closed.

The path selects the behavior; see the functions named after its first part."""

import hashlib
import json
import os
import select
import socket
import struct
import sys
import threading
import urllib.parse
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..", "Tools"))

from lab.patience import pace

counts = {}
events = {}
lock = threading.Lock()


class Hangup(Exception):
    """Ends the connection."""


def content(size, version="1"):
    """Returns bytes of which no two parts are alike."""
    block = b"".join(hashlib.sha256(f"{version}/{n}".encode()).digest() for n in range(-(-min(size, 1 << 16) // 32)))
    return (block * (size // max(1, len(block)) + 1))[:size]


class Exchange:
    """One request on a connection."""

    def __init__(self, connection, head, rest, number):
        self.connection, self.rest, self.number = connection, rest, number
        lines = head.decode("latin-1").split("\r\n")
        self.method, target, _ = lines[0].split(" ", 2)
        url = urllib.parse.urlsplit(target)
        self.parts = [urllib.parse.unquote(part) for part in url.path.split("/")[1:]]
        self.query = dict(urllib.parse.parse_qsl(url.query))
        self.headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            self.headers[name.strip().lower()] = value.strip()

    def receive(self):
        if self.rest:
            data, self.rest = self.rest, b""
        else:
            data = self.connection.recv(1 << 20)
        if not data:
            raise Hangup
        return data

    def body(self):
        """Yields the body in pieces."""
        left = int(self.headers.get("content-length", 0))
        if "chunked" in self.headers.get("transfer-encoding", ""):
            raise Hangup
        while left > 0:
            data = self.receive()
            self.rest = data[left:]
            yield data[:left]
            left -= len(data)

    def send(self, data):
        self.connection.sendall(data)

    def answer(self, status=200, body=b"", fields=(), length=None):
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body) if length is None else length}"]
        lines += [f"{name}: {value}" for name, value in fields]
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if self.method == "HEAD" else body))

    def count(self, key):
        with lock:
            counts[key] = counts.get(key, 0) + 1
            return counts[key]

    def leave(self):
        raise Hangup

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Hangup


def ok(exchange, *_):
    exchange.answer(body=b"ok", fields=[("Content-Type", "text/plain")])


def status(exchange, code, *_):
    exchange.answer(int(code), b"status " + code.encode(), [(k, v) for k, v in exchange.query.items()])


def flaky(exchange, key, times, *_):
    number = exchange.count(key)
    if number <= int(times):
        if exchange.query.get("how") == "reset":
            exchange.reset()
        exchange.answer(int(exchange.query.get("status", 503)), b"later", [("Retry-After", exchange.query.get("after", "0"))])
    else:
        exchange.answer(body=f"{number}".encode())


def count(exchange, key, *_):
    with lock:
        exchange.answer(body=str(counts.get(key, 0)).encode())


def reset(exchange, *_):
    exchange.reset()


def half(exchange, *_):
    exchange.answer(body=b"x" * 5000, length=10000)
    exchange.reset()


def short(exchange, *_):
    exchange.answer(body=b"x" * 50, length=100)
    raise Hangup


def extra(exchange, *_):
    exchange.answer(body=b"0123456789", length=5)
    raise Hangup


def promise(exchange, *_):
    exchange.answer(body=content(1 << 20), length=10 << 30, fields=[("ETag", '"p"')])
    raise Hangup


def endless(exchange, *_):
    exchange.send(b"HTTP/1.1 200 X\r\nConnection: close\r\n\r\n")
    while True:
        exchange.send(b"x" * 65536)


def slow(exchange, *_):
    exchange.send(b"HTTP/1.1 200 X\r\nContent-Length: 20\r\n\r\n")
    for _ in range(20):
        exchange.send(b"s")
        pace()


def silent(exchange, *_):
    while exchange.receive():
        pass


def stalled(exchange, *_):
    exchange.send(b"HTTP/1.1 200 X\r\nContent-Length: 20\r\n\r\nabc")
    while exchange.receive():
        pass


def hold(exchange, key, *_):
    with lock:
        event = events.setdefault(key, threading.Event())
        counts[key] = counts.get(key, 0) + 1
    event.wait()
    if "if-none-match" in exchange.headers:
        return exchange.send(b"HTTP/1.1 304 X\r\n\r\n")
    exchange.answer(body=b"held", fields=[(k, v) for k, v in exchange.query.items()])


def release(exchange, key, *_):
    with lock:
        events.setdefault(key, threading.Event()).set()
    exchange.answer()


def rearm(exchange, key, *_):
    with lock:
        events[key] = threading.Event()
    exchange.answer()


def raw(exchange, *_):
    exchange.send(bytes.fromhex(exchange.query["hex"]))
    raise Hangup


def ring(exchange, number, *_):
    exchange.answer(302, fields=[("Location", f"/ring/{(int(number) + 1) % 3}")])


def hop(exchange, number, *_):
    if number == "0":
        return echo(exchange)
    for _ in exchange.body():
        pass
    exchange.answer(int(exchange.query.get("status", 302)), b"moved",
                    fields=[("Location", f"{int(number) - 1}?status={exchange.query.get('status', 302)}")])


def to(exchange, *_):
    for _ in exchange.body():
        pass
    exchange.answer(int(exchange.query.get("status", 302)), fields=[("Location", exchange.query["url"])])


def echo(exchange, *_):
    digest, size = hashlib.sha256(), 0
    text = b""
    for data in exchange.body():
        digest.update(data)
        size += len(data)
        text = (text + data)[:4096]
    answer = {"method": exchange.method, "fields": exchange.headers, "bytes": size, "sha256": digest.hexdigest(),
              "body": text.decode("latin-1")}
    exchange.answer(body=json.dumps(answer).encode(), fields=[("Content-Type", "application/json")])


def drop(exchange, *_):
    """Answers the first request of a connection, and ends the connection after the body of the second."""
    if exchange.number == 1:
        return echo(exchange)
    for _ in exchange.body():
        pass
    exchange.reset() if exchange.query.get("how") == "reset" else exchange.leave()


def sink(exchange, *_):
    exchange.answer(body=str(sum(len(data) for data in exchange.body())).encode())


def bomb(exchange, *_):
    """Compressed zeros: a thousand times as many bytes as are sent."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    body = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    exchange.answer(body=body, fields=[("Content-Encoding", "gzip")])


def file(exchange, key, size, *_):
    """A file with versions: `cut` ends the body early, `change` changes the version with the nth request."""
    size, number = int(size), exchange.count(key)
    change = int(exchange.query.get("change", 1 << 30))
    version = "2" if number >= change else "1"
    body = content(size, version)
    fields = [("ETag", f'"{version}"')] if exchange.query.get("etag", "yes") == "yes" else []
    tag = exchange.headers.get("if-range")
    span = exchange.headers.get("range", "")
    start, code = 0, 200
    if span.startswith("bytes=") and (tag is None or tag == f'"{version}"') and "norange" not in exchange.query:
        start, code = int(span[6:].rstrip("-")), 206
        if start >= size:
            return exchange.answer(416, fields=[("Content-Range", f"bytes */{size}")])
        shift = int(exchange.query.get("shift", 0))
        fields.append(("Content-Range", f"bytes {start + shift}-{size - 1 + shift}/{size}"))
    cut = int(exchange.query.get("cut", 0))
    end = min(size, start + cut) if cut and number <= int(exchange.query.get("cuts", 1 << 30)) else size
    exchange.answer(code, body[start:end], fields, length=size - start)
    if end < size:
        raise Hangup


def cached(exchange, key, *_):
    """Counts, and answers with the fields of the query; `tag` makes it answer 304 to that tag. From the second request
    on, `later` is the Cache-Control, and `moves` the location of a redirect."""
    number = exchange.count(key)
    fields = [(k, v) for k, v in exchange.query.items() if k not in ("tag", "fail", "later", "moves")]
    if "later" in exchange.query and number > 1:
        fields = [("Cache-Control", exchange.query["later"])]
    if "moves" in exchange.query and number > 1:
        return exchange.answer(302, fields=[("Location", exchange.query["moves"])])
    if "fail" in exchange.query and number >= int(exchange.query["fail"]):
        return exchange.answer(500, b"failed")
    if "tag" in exchange.query:
        fields.append(("ETag", f'"{exchange.query["tag"]}"'))
        if exchange.headers.get("if-none-match") == f'"{exchange.query["tag"]}"':
            fields.append(("X-Validated", str(number)))
            head = "".join(f"{name}: {value}\r\n" for name, value in fields)
            return exchange.send(f"HTTP/1.1 304 X\r\n{head}\r\n".encode())
    for _ in exchange.body():
        pass
    exchange.answer(body=f"{number}".encode(), fields=fields)


def serve(connection):
    data, number = b"", 0
    try:
        while True:
            number += 1
            while b"\r\n\r\n" not in data:
                more = connection.recv(65536)
                if not more:
                    return
                data += more
            head, data = data.split(b"\r\n\r\n", 1)
            exchange = Exchange(connection, head, data, number)
            globals()[exchange.parts[0]](exchange, *exchange.parts[1:])
            data = exchange.rest
    except (Hangup, ConnectionError, BrokenPipeError):
        pass
    finally:
        connection.close()


def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    # A pipe whose other end is closed has an error, for which nobody needs to ask.
    closed = select.poll()
    closed.register(sys.stdout, 0)
    closed.poll()


if __name__ == "__main__":
    main()
