"""A TCP relay whose connections a measurement can cut."""

import selectors
import socket
import struct
import threading
import time


class Relay:
    """Forwards connections to a port of this machine, until they are cut."""

    def __init__(self, target):
        self.target = target
        self.lock = threading.Lock()
        self.pairs = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def endpoint(self):
        return f"tcp://127.0.0.1:{self.port}"

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                near.close()
                continue
            with self.lock:
                self.pairs.append((near, far))
            threading.Thread(target=self.forward, args=(near, far), daemon=True).start()

    def forward(self, near, far):
        """Forwards both directions. A side that does not read holds up the other one, as on a network."""
        with selectors.DefaultSelector() as selector:
            try:
                selector.register(near, selectors.EVENT_READ, far)
                selector.register(far, selectors.EVENT_READ, near)
                while True:
                    for key, _ in selector.select():
                        data = key.fileobj.recv(1 << 18)
                        if not data:
                            return
                        key.data.sendall(data)
            except (OSError, ValueError):
                return
            finally:
                with self.lock:
                    if (near, far) in self.pairs:
                        self.pairs.remove((near, far))
                near.close()
                far.close()

    def await_connection(self, patience):
        until = time.monotonic() + patience
        while not self.pairs:
            if time.monotonic() > until:
                raise TimeoutError("no connection to the relay")
            time.sleep(0.01)

    def cut(self):
        """Resets all connections. Returns their number. Bytes on their way are lost."""
        with self.lock:
            pairs = list(self.pairs)
        for pair in pairs:
            for side in pair:
                try:
                    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    # Wakes the thread that forwards, which closes the socket.
                    side.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        return len(pairs)

    def close(self):
        self.listener.close()
        self.cut()
