"""A TCP port of this machine that leads to a Carillon on another port, and can stop answering."""
import json, os, socket, sys, threading, time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lab.patience import pace


class Doorway:
    def __init__(self, port):
        self.target = port
        # A stalled doorway accepts connections and requests, and gives no answer. A shut one ends every connection.
        self.is_stalled = self.is_shut = False
        # The beginning of a request that is passed on and whose answer is lost, once: the connection ends instead.
        self.loses = None
        self.mute = set()
        # With a number of events a second, the doorway answers requests for a live stream itself.
        self.flood = 0
        self.open = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def shut(self, is_shut=True):
        self.is_shut = is_shut
        for end in list(self.open) if is_shut else []:
            self.end(end)

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        server = socket.socket()
        try:
            if self.is_shut:
                raise OSError
            server.connect(("127.0.0.1", self.target))
        except OSError:
            # Carillon is not there. The browser sees a connection that ends without an answer.
            client.close()
            return
        self.open |= {client, server}
        threading.Thread(target=self.copy, args=(client, server), daemon=True).start()
        self.copy(server, client)

    def copy(self, source, target):
        try:
            while piece := source.recv(1 << 16):
                while self.is_stalled:
                    pace(0.05)
                if self.flood and piece.startswith(b"GET /v1/events") and b"text/event-stream" in piece:
                    self.pour(source)
                    break
                if source in self.mute:
                    break
                if self.loses and piece.startswith(self.loses):
                    self.loses = None
                    self.mute.add(target)
                target.sendall(piece)
        except OSError:
            pass
        for end in (source, target):
            self.end(end)

    def pour(self, client):
        """Sends events at a steady rate, as Carillon does in a flood."""
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\r\n")
        begun, sent = time.monotonic(), 0  # timed: a rate
        while self.flood and not self.is_shut:
            due = int((time.monotonic() - begun) * self.flood) - sent  # timed: a rate
            client.sendall(b"".join(map(self.event, range(sent, sent + due))))
            sent += due
            pace()

    @staticmethod
    def event(number):
        seq = 1_000_000 + number
        line = json.dumps({
            "v": 1, "seq": seq, "prev": seq - 1, "ts": int(time.time() * 1000), "family": "delivery", "app": "shop",
            "kind": "sent", "message_id": f"flood-{number}", "device": f"{number:032x}", "status": 200, "attempt": 1,
            "latency_ms": number % 900, "apns_id": "0f3b9f4e-2f0c-4c57-a1b3-b5d4f2e6a111"})
        return f"id: {seq}\nevent: delivery.sent\ndata: {line}\n\n".encode()

    def end(self, socket_):
        self.open.discard(socket_)
        try:
            socket_.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
