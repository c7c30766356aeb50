"""ZMTP peers that write their bytes themselves."""
import socket as sockets, struct
from harness import pace, until

# ---- The part of ZMTP 3.1 that is needed to send what no library sends.

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01" + b"NULL".ljust(20, b"\0") + bytes(32)


def frame(body, flags=0):
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | 2]) + struct.pack(">Q", len(body)) + body


def command(name, body):
    return frame(bytes([len(name)]) + name + body, 4)


def ready(kind, identity=b""):
    return command(b"READY", b"".join(
        bytes([len(name)]) + name + struct.pack(">I", len(value)) + value
        for name, value in ((b"Socket-Type", kind), (b"Identity", identity))))


def place_of(serve, name):
    host, port = serve.places[name].split("//")[1].split(":")
    return host, int(port)


def take(peer, count):
    """Reads exactly this many bytes."""
    have = b""
    while len(have) < count:
        more = peer.recv(count - len(have))
        if not more:
            raise EOFError
        have += more
    return have


def raw(serve, name, kind, identity=b""):
    """Returns a connection after its handshake. On a busy machine the handshake may time out; then it is retried."""
    while True:
        peer = sockets.create_connection(place_of(serve, name))
        try:
            peer.sendall(GREETING)
            take(peer, 64)
            peer.sendall(ready(kind, identity))
            size = take(peer, 2)[1]
            assert take(peer, size)[1:6] == b"READY"
            return peer
        except (ConnectionError, EOFError):
            peer.close()
            pace()


def reset(peer):
    peer.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()


def pour(peer, data):
    """Sends the data, or as much as possible until the peer closes the connection."""
    try:
        peer.sendall(data)
    except ConnectionError:
        pass


def until_hung_up(peer):
    """Waits until the peer closes the connection, possibly after more data."""
    try:
        while peer.recv(65536):
            pass
    except ConnectionError:
        pass


def connection(port, peer_port, here=True):
    """Returns the state of a TCP connection in the kernel: (state, bytes to be sent, bytes to be read)."""
    with open("/proc/net/tcp") as file:
        for line in file.readlines()[1:]:
            words = line.split()
            if [int(words[n].split(":")[1], 16) for n in (1, 2)] == [port, peer_port]:
                to_send, to_read = words[4].split(":")
                return words[3], int(to_send, 16), int(to_read, 16)
    return None


def until_read(serve, name, peer):
    """Waits until the program has read all data that the peer sent."""
    port, own = place_of(serve, name)[1], peer.getsockname()[1]

    def look():
        sent, taken = connection(own, port), connection(port, own)
        return sent and taken and sent[1] == 0 and taken[2] == 0

    until(look)
