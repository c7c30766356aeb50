"""Hostile peers, many at a time, in one thread.

Each peer is a generator that yields the time to wait before its next step. The seed and the number of a peer
determine its actions, so that a peer can be repeated. Nothing is expected of the server: it may answer, close the
connection, or refuse it."""
import errno, heapq, itertools, json, random, signal, socket as sockets, struct, sys, time
import zmq
from zmtp import command, frame, greeting, message, old_greeting, ping, ready

MECHANISMS = [b"NULL", b"NULL", b"PLAIN", b"CURVE", b"GSSAPI", b"", b"NULL\0junk", b"\xff" * 20, b"CURVE" + b" " * 15]
KINDS = [b"DEALER", b"REQ", b"PUSH", b"SUB", b"XSUB", b"ROUTER", b"PULL", b"PUB", b"", b"X" * 300]
PREFIXES = [b"", b"delivery/", b"message/", b"message/shop/", b"heartbeat", b"device/", b"delivery/tenant/sent"]


class Gone(Exception):
    """The server closed or refused the connection."""


class Raw:
    """A TCP connection on which the peer decides about every byte."""

    def __init__(self, address):
        self.socket = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
        self.socket.setblocking(False)
        if self.socket.connect_ex(address) not in (0, errno.EINPROGRESS):
            raise Gone

    def send(self, data):
        """Sends the data as fast as the server reads it; gives up if the server reads nothing for a second."""
        patience = 50
        view = memoryview(data)
        while view and patience:
            try:
                view = view[self.socket.send(view):]
                patience = 50
                continue
            except BlockingIOError:
                patience -= 1
            except OSError:
                raise Gone from None
            yield 0.02

    def read(self, most=1 << 16):
        try:
            data = self.socket.recv(most)
        except BlockingIOError:
            return None
        except OSError:
            raise Gone from None
        if not data:
            raise Gone
        return data

    def reset(self):
        self.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def half_close(self):
        try:
            self.socket.shutdown(sockets.SHUT_WR)
        except OSError:
            raise Gone from None

    def close(self):
        self.socket.close()


class Crowd:
    def __init__(self, places, seed):
        self.places, self.seed = places, seed
        self.context = zmq.Context()
        self.counts = {}
        self.doors = {name: (host, int(port)) for name, (host, port) in places["doors"].items()}
        self.acts = [
            (8, self.noise), (10, self.greets), (30, self.talks), (12, self.floods), (10, self.listens), (8, self.asks),
            (12, self.browses), (5, self.crosses), (4, self.sits), (4, self.swells), (1, self.hoards),
            (6, self.commands),
        ]
        if places["keys"]:
            self.acts.append((40, self.holds_keys))
        self.weights = [weight for weight, _ in self.acts]

    # Parts of peers.

    def envelope(self, chance):
        """An envelope for the apps of the hostile peers: usually valid, sometimes wrong in one place."""
        envelope = {
            "id": f"h-{chance.randrange(100_000)}", "app": chance.choice(["tenant", "tenant", "dead", "nobody", "shop\0"]),
            "to": {"tokens": [f"{chance.getrandbits(256):064x}" for _ in range(chance.choice([1, 1, 1, 3, 50]))]},
            "alert": "x" * chance.choice([1, 10, 3000, 5000])}
        wrong = chance.randrange(12)
        if wrong == 0:
            envelope["to"] = chance.choice([{"all": True}, {"users": ["a\u0301", "\u00e1"]}, {"tags": {"any": ["a"] * 400}}, {}])
        elif wrong == 1:
            tags = "t"
            for level in range(chance.randrange(1, 40)):
                tags = {("any", "all")[level % 2]: [tags, "u"]}
            envelope["to"] = {"tags": tags}
        elif wrong == 2:
            envelope["not_before"] = int(time.time()) + chance.choice([-5, 3600, 10**7, 2**40, 2**63])
        elif wrong == 3:
            envelope["expires_at"] = chance.choice([0, 1, -1, 2**53, 1.5, "soon", 2**64])
        elif wrong == 4:
            envelope[chance.choice(["prioriti", "\u0080", "", "x" * 5000])] = 1
        elif wrong == 5:
            envelope["id"] = chance.choice(["", "x" * 129, "\u0000", "\u009b31m", 7, None, "h-1"])
        elif wrong == 6:
            envelope["priority"] = chance.choice([0, 3, 10, 2**31, -(2**63)])
        return json.dumps(envelope).encode()

    def request(self, chance):
        kind = chance.randrange(10)
        if kind < 5:
            return [b"push/1", self.envelope(chance)]
        if kind < 7:
            return [b"push-batch/1", b"\n".join(self.envelope(chance) for _ in range(chance.choice([1, 5, 100])))]
        if kind == 7:
            return [b"", b"push/1", self.envelope(chance)]
        if kind == 8:
            return [chance.randbytes(chance.randrange(60)) for _ in range(chance.randrange(1, 9))]
        return [b"push/1", b"[" * chance.randrange(1, 20_000)]

    def identity(self, chance):
        """A routing id: empty, the peer's own, that of another peer, or one that is too long."""
        return chance.choice([
            b"", b"", b"rolling", b"monitor", b"orders", b"\0" + chance.randbytes(4), chance.randbytes(8), b"x" * 255,
            b"x" * 256, b"x" * chance.choice([257, 511, 65_536])])

    def ends(self, chance, peer):
        """Ends the connection: gracefully, with a reset, half closed, or much later."""
        way = chance.randrange(5)
        if way == 0:
            peer.close()
        elif way == 1:
            peer.reset()
        elif way == 2:
            peer.half_close()
            yield chance.random() * 3
            peer.reset()
        else:
            yield chance.random() * 15
            (peer.reset if way == 3 else peer.close)()

    def connected(self, *names, chance):
        return Raw(self.doors[chance.choice(names)])

    def shaken(self, chance, door, kind):
        """Returns a connection after the part of the handshake that needs no answer."""
        peer = Raw(self.doors[door])
        yield from peer.send(greeting(minor=chance.choice([0, 1])) + ready(kind, self.identity(chance)))
        return peer

    # Actions of peers.

    def noise(self, chance):
        peer = self.connected(*self.doors, chance=chance)
        for _ in range(chance.randrange(1, 5)):
            yield from peer.send(chance.randbytes(chance.randrange(1, 5000)))
            yield chance.random() / 2
        yield from self.ends(chance, peer)

    def greets(self, chance):
        """Sends a handshake of any version and mechanism, cut at any position, or with one byte changed."""
        peer = self.connected("router", "pull", "publish", "replay", chance=chance)
        kind = chance.choice(KINDS)
        data = chance.choice([
            old_greeting(1, identity=chance.randbytes(chance.randrange(5))) + message(*self.request(chance)),
            old_greeting(2, chance.randrange(256), self.identity(chance)) + message(*self.request(chance)),
            greeting(chance.choice(MECHANISMS), chance.random() < 0.2, chance.choice([0, 1, 2, 3, 4, 255]), chance.randrange(3))
            + ready(kind, self.identity(chance)),
            greeting() + ready(kind, self.identity(chance), **{"X-" + "y" * chance.randrange(200): bytes(chance.randrange(5000))}),
            greeting(b"CURVE") + command(b"HELLO", b"\1\0" + chance.randbytes(chance.choice([0, 50, 198, 199, 5000]))),
            greeting(b"PLAIN") + command(b"HELLO", b"\5admin\5admin"),
            greeting() + command(b"ERROR", b"\xff" + chance.randbytes(chance.randrange(300))),
        ])
        if chance.random() < 0.4:
            data = data[:chance.randrange(1, len(data))]
        if chance.random() < 0.3:
            data = bytearray(data)
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        cut = chance.randrange(len(data))
        yield from peer.send(data[:cut])
        yield chance.random()
        yield from peer.send(data[cut:])
        yield chance.random()
        yield from self.ends(chance, peer)

    def talks(self, chance):
        """Pushes messages, and reads the acknowledgments or not."""
        door = chance.choice(["router", "router", "router", "pull"])
        peer = yield from self.shaken(chance, door, b"DEALER" if door == "router" else b"PUSH")
        reads = chance.random() < 0.5
        for _ in range(chance.randrange(1, 30)):
            data = message(*self.request(chance))
            if chance.random() < 0.05:
                data = data[:chance.randrange(1, len(data))]
            yield from peer.send(data)
            if reads:
                peer.read()
            if chance.random() < 0.3:
                yield chance.random() / 5
        yield from self.ends(chance, peer)

    def floods(self, chance):
        """Sends more requests than a queue holds and reads no acknowledgment; the replies must be bounded."""
        peer = yield from self.shaken(chance, "router", b"DEALER")
        peer.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 2048)
        one = message(b"push/1", chance.choice([b"{}", b'{"id":"x"}', self.envelope(chance)]))
        for _ in range(chance.choice([10, 30, 60])):
            yield from peer.send(one * 100)
        yield from self.ends(chance, peer)

    def listens(self, chance):
        """Subscribes to random prefixes, cancels subscriptions that do not exist, and reads little."""
        peer = yield from self.shaken(chance, "publish", b"SUB")
        peer.socket.setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 2048)
        for _ in range(chance.choice([1, 5, 300])):
            prefix = chance.choice(PREFIXES) if chance.random() < 0.5 else chance.randbytes(chance.choice([1, 20, 200, 5000]))
            yield from peer.send(frame(bytes([chance.choice([0, 1, 1, 1, 2])]) + prefix))
        for _ in range(chance.randrange(10)):
            if chance.random() < 0.5:
                peer.read(chance.randrange(1, 5000))
            yield chance.random()
        yield from self.ends(chance, peer)

    def asks(self, chance):
        """Asks for replays, sometimes under the name of another peer, and leaves before the answer."""
        peer = yield from self.shaken(chance, "replay", chance.choice([b"DEALER", b"REQ"]))
        for _ in range(chance.choice([1, 3, 100])):
            question = {"since": chance.choice([0, 1, 2**63, 2**64, -1, 1.5, "x"]), "prefix": chance.choice(["", "message/", "x" * 500]),
                        "limit": chance.choice([1, 10_000, 0, 2**40])}
            yield from peer.send(message(b"replay/1", json.dumps(question).encode()))
            if chance.random() < 0.3:
                peer.read()
        yield chance.random()
        yield from self.ends(chance, peer)

    def browses(self, chance):
        peer = self.connected("http", chance=chance)
        path = chance.choice(["/healthz", "/readyz", "/metrics", "/", "/v1/messages", "/" + "x" * 9000, "/%00", "/../etc/passwd"])
        head = f"{chance.choice(['GET', 'POST', 'HEAD', 'PUT', 'BREW'])} {path} HTTP/1.{chance.randrange(3)}\r\nHost: a\r\n"
        data = chance.choice([
            head + "\r\n", (head + "\r\n") * 50, head + "X: " + "y" * chance.randrange(70_000) + "\r\n\r\n",
            head + "X: y\r\n" * chance.randrange(500) + "\r\n", head + "Content-Length: 18446744073709551616\r\n\r\n",
            head + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", head + "Content-Length: -1\r\n\r\n",
            head + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx", head + "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
            head + "Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        ]).encode()
        if chance.random() < 0.5:
            data = data[:chance.randrange(1, len(data))]
        if chance.random() < 0.2:
            for at in range(min(len(data), 40)):
                yield from peer.send(data[at:at + 1])
                yield chance.random() / 4
        else:
            yield from peer.send(data)
        if chance.random() < 0.5:
            yield chance.random()
            peer.read()
        yield from self.ends(chance, peer)

    def crosses(self, chance):
        """Sends HTTP to ZeroMQ ports, and ZeroMQ to the HTTP port."""
        if chance.random() < 0.3:
            peer = self.connected("http", chance=chance)
            yield from peer.send(greeting() + ready(b"DEALER") + message(*self.request(chance)))
        else:
            peer = self.connected("router", "pull", "publish", "replay", chance=chance)
            body = chance.choice([b"", message(*self.request(chance)), self.envelope(chance)])
            yield from peer.send(b"POST /" + b"~" * chance.randrange(120) + b" HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        yield chance.random()
        yield from self.ends(chance, peer)

    def sits(self, chance):
        """Connects and sends nothing."""
        peer = self.connected(*self.doors, chance=chance)
        yield chance.random() * 10
        yield from self.ends(chance, peer)

    def swells(self, chance):
        """Sends frames that exceed the limit, that never end, or that belong to a message that never ends."""
        door, kind = chance.choice([("router", b"DEALER"), ("pull", b"PUSH"), ("publish", b"SUB"), ("replay", b"DEALER")])
        peer = yield from self.shaken(chance, door, kind)
        way = chance.randrange(4)
        if way == 0:
            yield from peer.send(frame(b"x", length=chance.choice([2**63, 2**64 - 1, 2**40, 100 << 20])))
        elif way == 1:
            yield from peer.send(frame(bytes(100_000), length=30 << 20))
        elif way == 2:
            for _ in range(chance.choice([10, 100])):
                yield from peer.send(frame(bytes(chance.choice([0, 1, 300])), more=True) * 500)
        else:
            yield from peer.send(frame(bytes(chance.choice([1 << 16, 1 << 20])), more=True) * chance.randrange(1, 5))
        yield from self.ends(chance, peer)

    def hoards(self, chance):
        """Opens many connections, each with an unfinished message that is too small to be noticed alone."""
        door, kind = chance.choice([("router", b"DEALER"), ("pull", b"PUSH"), ("publish", b"SUB"), ("replay", b"DEALER")])
        peers = []
        try:
            for _ in range(chance.choice([10, 20])):
                peers.append((yield from self.shaken(chance, door, kind)))
                if chance.random() < 0.5:
                    yield from peers[-1].send(message(*self.request(chance)))
                yield from peers[-1].send(frame(b"", more=True) * chance.choice([1000, 10_000, 30_000]))
            yield chance.random() * 5
        finally:
            for peer in peers:
                peer.close()

    def commands(self, chance):
        """Sends commands at the wrong time, with a wrong length, or with an unknown name."""
        door, kind = chance.choice([("router", b"DEALER"), ("publish", b"SUB"), ("replay", b"REQ")])
        peer = yield from self.shaken(chance, door, kind)
        for _ in range(chance.choice([1, 20, 500])):
            yield from peer.send(chance.choice([
                ping(bytes(chance.randrange(40)), chance.choice([0, 1, 65_535])), command(b"PONG", bytes(chance.randrange(40))),
                ready(kind), command(b"SUBSCRIBE", chance.choice(PREFIXES)), command(b"CANCEL", chance.choice(PREFIXES)),
                command(b"ERROR", b"\x03abc"), command(b"", b""), command(b"X" * 255, bytes(300)), frame(b"", is_command=True),
                frame(b"\xff", is_command=True), message(*self.request(chance))]))
        yield from self.ends(chance, peer)

    def holds_keys(self, chance):
        """Uses CURVE with the key of a stranger, of an observer, or of a tenant that may push for its own app."""
        role, door, kind = chance.choice([
            ("stranger", "router", zmq.DEALER), ("stranger", "publish", zmq.SUB), ("observer", "router", zmq.DEALER),
            ("observer", "publish", zmq.SUB), ("observer", "replay", zmq.DEALER), ("tenant", "router", zmq.DEALER),
            ("tenant", "router", zmq.DEALER), ("tenant", "pull", zmq.PUSH), ("tenant", "replay", zmq.DEALER)])
        server, public, secret = (word.encode() for word in (self.places["keys"]["server"], *self.places["keys"][role]))
        with self.context.socket(kind) as peer:
            peer.linger, peer.rcvhwm, peer.sndhwm = 0, 1, 10_000
            peer.curve_serverkey, peer.curve_publickey, peer.curve_secretkey = server, public, secret
            identity = self.identity(chance)[:255]
            if identity and identity[0] and kind == zmq.DEALER:
                peer.routing_id = identity
            peer.connect("tcp://%s:%d" % self.doors[door])
            if kind == zmq.SUB:
                for _ in range(chance.choice([1, 1, 5, 300])):
                    peer.subscribe(chance.choice(PREFIXES) if chance.random() < 0.5 else chance.randbytes(20))
            yield 0.2
            many = chance.choice([1, 10, 3000])
            for number in range(many if kind != zmq.SUB else 0):
                try:
                    peer.send_multipart([b"replay/1", b'{"since":0}'] if door == "replay" else self.request(chance), zmq.DONTWAIT)
                except zmq.Again:
                    break
                if number % 50 == 49:
                    yield 0.01
            yield chance.random() * chance.choice([0, 1, 12])

    # The schedule of peers.

    def play(self, number):
        chance = random.Random(f"{self.seed}/{number}")
        act = chance.choices(self.acts, self.weights)[0][1]
        self.counts[act.__name__] = self.counts.get(act.__name__, 0) + 1
        try:
            yield from act(chance)
        except Gone:
            self.counts["hung up on"] = self.counts.get("hung up on", 0) + 1

    def run(self, at_once, until, peers=None):
        """Plays peers until SIGTERM, until the time is over, or until the given number has been played."""
        numbers = itertools.count()
        agenda, played = [], 0
        stopping = []
        signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
        while not stopping and time.monotonic() < until and (peers is None or played < peers or agenda):
            while len(agenda) < at_once and (peers is None or played < peers):
                number = next(numbers)
                heapq.heappush(agenda, (time.monotonic(), number, self.play(number)))
                played += 1
            when, number, peer = heapq.heappop(agenda)
            wait = when - time.monotonic()
            if wait > 0:
                heapq.heappush(agenda, (when, number, peer))
                time.sleep(min(wait, 0.05))
                continue
            pause = next(peer, None)
            if pause is not None:
                heapq.heappush(agenda, (time.monotonic() + pause, number, peer))
        return played


def main():
    """`crowd.py PLACES SEED AT-ONCE SECONDS PEERS`: plays peers, and prints the number of each action."""
    with open(sys.argv[1]) as file:
        places = json.load(file)
    seed, at_once, seconds, peers = sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    crowd = Crowd(places, seed)
    played = crowd.run(at_once, time.monotonic() + seconds, peers or None)
    print(json.dumps({"played": played, **crowd.counts}), flush=True)
    import os
    os._exit(0)  # The remaining sockets close without a goodbye, as at a power failure.


if __name__ == "__main__":
    main()
