"""Limits of open files: more connections than descriptors, and starts with too few of them."""
import os, re, socket as sockets
from curve_security import keys
from harness import CARILLON, Child, http, main, Monitor, note, Producer, Scene, token
from raw_zmtp import place_of, take


def many_http_connections():
    """With more HTTP connections than descriptors, requests get a response."""
    scene = Scene()
    serve = scene.serve(wrap=("prlimit", "--nofile=128:128"))
    crowd = [sockets.create_connection(place_of(serve, "http")) for _ in range(150)]
    crowd[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert take(crowd[-1], 12) == b"HTTP/1.1 200"
    for peer in crowd:
        peer.close()
    assert http(serve.places["http"] + "/healthz")[0] == 200
    serve.stop()


def silent_connections():
    """With hundreds of silent connections and few descriptors, health checks and the control socket respond."""
    scene = Scene()
    server = keys(scene.directory, "server")[0]
    orders = keys(scene.directory, "orders")
    scene.more["security"] = {
        "curve": {"secret_key_file": scene.path("server.curve")},
        "clients": {"orders": {"public_key": orders[0].decode(), "push": ["shop"]}}}
    serve = scene.serve(wrap=("prlimit", "--nofile=256:256"))
    inside = Producer(serve, keys=(server, *orders))
    assert inside.push(note("before", token(1)))["status"] == "accepted"
    crowd = []
    for number in range(400):
        peer = sockets.socket()
        peer.setblocking(False)
        peer.connect_ex(place_of(serve, "router"))
        crowd.append(peer)
    serve.line("connections are accepted")
    assert http(serve.places["http"] + "/healthz")[0] == 200
    serve.verb("stats")
    text_of_metrics = http(serve.places["http"] + "/metrics")[1]
    assert float(re.search(r'^carillon_client_connections\{kind="intake"\} (\S+)', text_of_metrics, re.M).group(1)) > 0
    assert inside.push(note("meanwhile", token(1)))["status"] == "accepted"
    for peer in crowd:
        peer.close()
    assert Producer(serve, keys=(server, *orders)).push(note("after", token(1)))["status"] == "accepted"
    serve.stop()


def full_http_port():
    """While the HTTP door is full, new ZeroMQ connections, push services, the disk and the control socket have
    descriptors."""
    scene = Scene()
    serve = scene.serve(wrap=("prlimit", "--nofile=1024:1024"))
    serve.heard("fewer HTTP connections than http.connections")
    crowd = []
    for number in range(700):
        peer = sockets.create_connection(place_of(serve, "http"))
        peer.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        # At the limit, the connection that has waited longest makes room.
        assert take(peer, 12) == b"HTTP/1.1 200"
        crowd.append(peer)
    descriptors = len(os.listdir(f"/proc/{serve.process.pid}/fd"))
    # ZeroMQ has 448, and the process itself 384.
    assert 128 < descriptors < 1024 - 448, descriptors
    monitor = Monitor(serve)
    names = [f"full-{number}" for number in range(30)]
    for number, name in enumerate(names):
        assert Producer(serve).push(note(name, token(number)))["status"] == "accepted"
    monitor.completed(*names)
    serve.verb("stats")
    assert http(serve.places["http"] + "/healthz")[0] == 200
    assert not serve.said("too many ZeroMQ connections")
    for peer in crowd:
        peer.close()
    serve.stop()


def raised_limit():
    """The soft limit of descriptors is raised to the hard limit."""
    scene = Scene()
    serve = scene.serve(wrap=("prlimit", "--nofile=300:2000"))
    assert "process_max_fds 2000" in http(serve.places["http"] + "/metrics")[1]
    serve.stop()


def too_few():
    """A start with too few descriptors, or too little address space, is refused with words."""
    scene = Scene()
    file = scene.configure()
    limits = [f"--nofile={count}:{count}" for count in (24, 28, 30, 32, 34, 36, 38, 40, 44, 64, 100, 127)]
    if not os.environ.get("CARILLON_SANITIZER"):
        # A sanitizer maps terabytes.
        limits += [f"--as={mebibytes << 20}:{mebibytes << 20}" for mebibytes in (600, 1000)]
    for limit in limits:
        serve = Child("prlimit", limit, CARILLON, "serve", "--config", file)
        code = serve.end()
        assert code == 1, (limit, code, serve.lines[-5:])
        assert any("needs at least" in line for line in serve.lines), (limit, serve.lines[-5:])
    serve = scene.serve(wrap=("prlimit", "--nofile=128:128"))
    assert Producer(serve).push(note("few", token(1)))["status"] == "accepted"
    serve.stop()


if __name__ == "__main__":
    main(globals())
