"""Requests over both doors of a running Carillon, also ones that no client library would send."""
import base64, hashlib, hmac, http.client, itertools, json, os, secrets, socket as sockets, time
from urllib.parse import urlencode, urlsplit

FORM = "application/x-www-form-urlencoded"
LINES = "application/x-ndjson"
# Each address of the loopback network has its own budget of failures.
addresses = (f"127.1.{n // 200}.{n % 200 + 1}" for n in itertools.count())


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, {k.lower(): v for k, v in headers}, body
        self.type = self.headers.get("content-type", "").split(";")[0]

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:2000]}"


class Door:
    """The control socket of a Carillon, or its port with a bearer key."""

    def __init__(self, serve, bearer=None, control=False):
        self.serve, self.bearer, self.is_control = serve, bearer, control

    def connect(self, source=None):
        if self.is_control:
            socket = sockets.socket(sockets.AF_UNIX)
            socket.connect(os.path.join(self.serve.scene.data, "control.sock"))
            return socket
        place = urlsplit(self.serve.places["http"])
        return sockets.create_connection(
            (place.hostname, place.port), source_address=(source, 0) if source else None)

    def ask(self, method, path, body=None, kind=None, headers={}, bearer=None, source=None):
        """Sends a request. A body that is not bytes is written as `kind`."""
        if body is not None and not isinstance(body, (bytes, str)):
            if kind == FORM:
                body = urlencode({k: ",".join(v) if isinstance(v, list) else v for k, v in body.items()})
            else:
                body, kind = json.dumps(body), kind or "application/json"
        sent = dict(headers)
        if kind and "Content-Type" not in sent:
            sent["Content-Type"] = kind
        if (bearer or self.bearer) and "Authorization" not in sent:
            sent["Authorization"] = f"Bearer {bearer or self.bearer}"
        sent = {name: value for name, value in sent.items() if value is not None}
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.connect(source)
        connection.request(method, path, body.encode() if isinstance(body, str) else body, sent)
        answer = connection.getresponse()
        result = Answer(answer.status, answer.getheaders(), answer.read())
        connection.close()
        return result

    def raw(self, data):
        """Sends bytes, and returns the last answer on the connection, which the server must close."""
        with self.connect() as socket:
            try:
                socket.sendall(data)
            except OSError:
                pass  # the server has refused and closed
            return read(socket)


def read(socket):
    """Reads one answer and the end of the connection."""
    answer = http.client.HTTPResponse(socket)
    answer.begin()
    return Answer(answer.status, answer.getheaders(), answer.read())


def signed(key, secret, method, path, body=b"", created=None, nonce=None):
    """Returns the header fields of a signed request."""
    target, _, query = path.partition("?")
    covered, lines = ['"@method"', '"@path"', '"@query"'], [method, target, "?" + query]
    fields = {}
    if body:
        fields["Content-Digest"] = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
        covered.append('"content-digest"')
        lines.append(fields["Content-Digest"])
    parameters = (f"({' '.join(covered)});created={created or int(time.time())};keyid=\"{key}\";alg=\"hmac-sha256\""
                  f";nonce=\"{nonce or secrets.token_hex(16)}\"")
    base = "".join(f"{name}: {value}\n" for name, value in zip(covered, lines)) + f'"@signature-params": {parameters}'
    code = hmac.new(base64.urlsafe_b64decode(secret + "="), base.encode(), "sha256").digest()
    return {**fields, "Signature-Input": f"carillon={parameters}",
            "Signature": f"carillon=:{base64.b64encode(code).decode()}:"}
