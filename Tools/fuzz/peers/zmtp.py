"""Bytes of ZMTP according to its specification, so that a peer can also send what no library would send."""


def greeting(mechanism=b"NULL", as_server=False, major=3, minor=0, signature=b"\xff" + bytes(8) + b"\x7f"):
    return signature + bytes([major, minor]) + mechanism.ljust(20, b"\0")[:20] + bytes([as_server]) + bytes(31)


def frame(body, more=False, is_command=False, length=None):
    """With `length`, the frame announces a length that it does not have."""
    length = len(body) if length is None else length
    flags = more | is_command << 2
    if length < 256:
        return bytes([flags, length]) + body
    return bytes([flags | 2]) + length.to_bytes(8, "big") + body


def message(*frames):
    return b"".join(frame(body, more=at < len(frames) - 1) for at, body in enumerate(frames))


def command(name, body=b""):
    return frame(bytes([len(name)]) + name + body, is_command=True)


def ping(context=b"", ttl=0):
    return command(b"PING", ttl.to_bytes(2, "big") + context)


def ready(kind, identity=b"", **more):
    """The metadata of the NULL mechanism: the socket type, the routing id, and additional properties."""
    properties = [(b"Socket-Type", kind), (b"Identity", identity), *((n.encode(), v) for n, v in more.items())]
    return command(b"READY", b"".join(
        bytes([len(name)]) + name + len(value).to_bytes(4, "big") + value for name, value in properties))


def old_greeting(version, kind=5, identity=b""):
    """The greeting of ZMTP 1.0 is a routing id in a frame; that of 2.0 is a signature, the socket type and the
    routing id."""
    if version == 1:
        return bytes([len(identity) + 1, 0]) + identity
    return b"\xff" + bytes(7) + b"\x01\x7f" + bytes([1, kind]) + frame(identity)
