"""Callers over HTTP, which write their bytes themselves: with API keys, signatures, and whatever no library sends."""
import base64, hashlib, hmac, json, os, re, select, socket as sockets, struct, time

COMPONENTS = ("@method", "@path", "@query", "content-digest")


class Key:
    """An API key, made over the control socket."""

    def __init__(self, made):
        self.id, self.secret = made["key_id"], made["secret"]
        self.bytes = base64.urlsafe_b64decode(self.secret + "=")

    @property
    def bearer(self):
        return [("Authorization", f"Bearer {self.id}.{self.secret}")]


def make_key(serve, name, *roles, **more):
    with Wire(serve, "control") as wire:
        answer = wire.ask("POST", "/v1/keys", json.dumps({"name": name, "roles": roles, "bearer": True, **more}))
    assert answer.status == 201, answer
    return Key(answer.json)


def digest_of(body):
    return "sha-256=:" + base64.b64encode(hashlib.sha256(body).digest()).decode() + ":"


def nonce():
    return os.urandom(12).hex()


def signed(key, method, target, body=b"", *, components=None, parameters=None, label="carillon", digest=None,
           secret=None, **changed):
    """Returns the header fields of a signed request; each part of them can be changed."""
    path, _, query = target.partition("?")
    digest = digest or (digest_of(body) if body else None)
    values = {"@method": method, "@path": path, "@query": "?" + query, "content-digest": digest or ""}
    components = components or COMPONENTS[:4 if body else 3]
    if parameters is None:
        given = {"created": int(time.time()), "nonce": f'"{nonce()}"', "keyid": f'"{key.id}"', "alg": '"hmac-sha256"'}
        given.update(changed)
        parameters = "".join(f";{name}={value}" for name, value in given.items() if value is not None)
    covered = "(" + " ".join(f'"{name}"' for name in components) + ")" + parameters
    base = "".join(f'"{name}": {values[name]}\n' for name in components) + '"@signature-params": ' + covered
    mac = base64.b64encode(hmac.new(secret or key.bytes, base.encode(), hashlib.sha256).digest()).decode()
    fields = [("Signature-Input", f"{label}={covered}"), ("Signature", f"{label}=:{mac}:")]
    return fields + ([("Content-Digest", digest)] if digest else [])


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The code of a problem, or the reason of a rejected message."""
        return self.json.get("code", self.json.get("reason")) if self.body else None

    def __repr__(self):
        return f"{self.status} {self.fields} {self.body[:500]}"


class Wire:
    """A connection to `http.listen` or to the control socket. `source` is one of the addresses of loopback: failures
    are counted for each address."""

    def __init__(self, serve, door="http", buffer=None, source=None):
        place = serve.places[door]
        if door == "control":
            self.socket, self.host = sockets.socket(sockets.AF_UNIX), "localhost"
        else:
            self.host = place.split("//")[1]
            self.socket = sockets.socket()
            if buffer:
                self.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, buffer)
            if source:
                self.socket.bind((source, 0))
            name, port = self.host.split(":")
            place = name, int(port)
        self.socket.connect(place)
        self.held = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()

    def reset(self):
        self.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data):
        """Sends bytes; returns whether the server took them."""
        try:
            self.socket.sendall(data)
            return True
        except ConnectionError:
            return False

    def send_until_answered(self, data):
        """Sends bytes until the server answers: one that refuses a long body reads more of it only for a while, and the
        answer is lost to a client that sends for longer. Returns whether the server took all of them."""
        rest = memoryview(data)
        while rest:
            answers, _, _ = select.select([self.socket], [self.socket], [])
            if answers:
                return False
            try:
                rest = rest[self.socket.send(rest[:1 << 16], sockets.MSG_DONTWAIT):]
            except BlockingIOError:
                continue
            except ConnectionError:
                return False
        return True

    def head(self, method, target, fields=(), body=b"", host=None):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or self.host}"]
        lines += [f"{name}: {value}" for name, value in fields]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    def request(self, method, target, body=None, key=None, fields=(), by="bearer", host=None):
        """Returns the bytes of a request; a body is JSON unless a field names another type."""
        body = body.encode() if isinstance(body, str) else body or b""
        fields = list(fields)
        if body and not any(name.lower() == "content-type" for name, _ in fields):
            fields.append(("Content-Type", "application/json"))
        if key:
            fields += key.bearer if by == "bearer" else signed(key, method, target, body)
        return self.head(method, target, fields, body, host) + body

    def ask(self, method, target, *words, **more):
        request = self.request(method, target, *words, **more)
        # One that the buffers of sockets hold is on its way before the server can refuse it.
        taken = self.send(request) if len(request) < 1 << 16 else self.send_until_answered(request)
        answer = self.answer(is_head=method == "HEAD")
        assert taken or answer, "the connection was closed"
        return answer

    # ---- Reading

    def more(self):
        """Reads more; returns False at the end of the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        self.held += data
        return bool(data)

    def until(self, end):
        """Reads up to and including these bytes. Returns None if the connection ends before."""
        while end not in self.held:
            if not self.more():
                return None
        data, self.held = self.held.split(end, 1)
        return data

    def take(self, count):
        while len(self.held) < count:
            if not self.more():
                return None
        data, self.held = self.held[:count], self.held[count:]
        return data

    def answer(self, is_head=False):
        """Reads an answer. Returns None if the connection ends instead."""
        while True:
            head = self.until(b"\r\n\r\n")
            if head is None:
                return None
            first, *lines = head.decode().split("\r\n")
            assert re.fullmatch(r"HTTP/1\.1 \d{3} .*", first), first
            status = int(first[9:12])
            if status != 100:
                break
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
        if is_head or status in (204, 304):
            return Answer(status, fields, b"")
        if fields.get("transfer-encoding") == "chunked":
            body = b""
            while (line := self.until(b"\r\n")) not in (b"0", None):
                body += self.take(int(line, 16) + 2)[:-2]
            assert line is not None and self.until(b"\r\n") == b"", "the answer was cut off"
        else:
            body = self.take(int(fields["content-length"]))
        return None if body is None else Answer(status, fields, body)

    def has_ended(self):
        """Waits for the end of the connection, and returns what was sent before it."""
        while self.more():
            pass
        return self.held

    def is_quiet(self):
        """Whether there is nothing to be read, not even the end."""
        return not self.held and not select.select([self.socket], [], [], 0)[0]


def problem(answer, status, code=None):
    """Checks a refusal."""
    assert answer is not None and answer.status == status, (status, answer)
    if code:
        assert answer.code == code, answer
    return answer


def metric(serve, name, **labels):
    """Returns the sum of a metric's series that have these labels."""
    with Wire(serve) as wire:
        text = wire.ask("GET", "/metrics").body.decode()
    total = 0.0
    for line in text.splitlines():
        if re.match(re.escape(name) + r"[{ ]", line) and all(f'{k}="{v}"' in line for k, v in labels.items()):
            total += float(line.rsplit(" ", 1)[1])
    return total


def descriptors(serve):
    return len(os.listdir(f"/proc/{serve.process.pid}/fd"))
