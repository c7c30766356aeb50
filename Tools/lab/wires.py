"""TCP connections that a demonstration can hold and cut. They are forwarded by a process of their own.

Run as a program, it reads one JSON object on each line and answers with one:

  {"add": NAME, "target": PORT}    listens, and answers with {"port": PORT}
  {"find": NAME, "text": TEXT}     answers with {"found": whether TEXT is in what
      is held back on its way to the target}
  {"set": NAME, "state": STATE}    changes all listeners of the name; STATE is
      open     bytes are passed on
      late     what the target would receive is held back
      mute     what the target sends is held back
      held     bytes of both directions are held back
      cut      connections are closed, and new ones at once"""

import asyncio
import json
import os
import subprocess
import sys


# The bytes that are held back of one direction of a connection. The rest stays in the buffers of the kernel.
LIMIT = 1 << 20


class Wire:
    """The listeners of one name, and their connections."""

    def __init__(self):
        self.state, self.writers, self.changed = "open", set(), asyncio.Condition()
        # What is held back on its way to the target, for each connection.
        self.held = {}

    def finds(self, text):
        return any(text in held for held in self.held.values())

    async def change(self, state):
        async with self.changed:
            self.state = state
            if state == "cut":
                for writer in self.writers:
                    writer.transport.abort()
                self.writers.clear()
            self.changed.notify_all()

    async def accept(self, near, to_near, target):
        if self.state == "cut":
            to_near.transport.abort()
            return
        try:
            far, to_far = await asyncio.open_connection("127.0.0.1", target, limit=1 << 18)
        except OSError:
            to_near.transport.abort()
            return
        both = {to_near, to_far}
        if self.state == "cut":
            both.clear()
            to_near.transport.abort()
            to_far.transport.abort()
            return
        self.writers |= both
        try:
            await asyncio.gather(
                self.pump(near, to_far, ("held", "late")), self.pump(far, to_near, ("held", "mute")))
        except OSError:
            pass
        finally:
            self.writers -= both
            for writer in both:
                writer.transport.abort()

    async def pump(self, source, target, holding):
        while data := await source.read(1 << 16):
            if self.state in holding:
                data = await self.hold(bytearray(data), source, holding)
            target.write(data)
            await target.drain()
        raise ConnectionResetError

    async def hold(self, data, source, holding):
        """Holds data back, and what follows it, until the state is another one."""
        free = asyncio.ensure_future(self.until_free(holding))
        if "late" in holding:
            self.held[source] = data
        try:
            while not free.done() and len(data) < LIMIT:
                more = asyncio.ensure_future(source.read(1 << 16))
                await asyncio.wait({free, more}, return_when=asyncio.FIRST_COMPLETED)
                # A read that waits for data has taken none.
                more.cancel()
                await asyncio.wait({more})
                if more.cancelled() or not more.result():
                    break
                data += more.result()
            await free
        finally:
            free.cancel()
            self.held.pop(source, None)
        return data

    async def until_free(self, holding):
        async with self.changed:
            await self.changed.wait_for(lambda: self.state not in holding)


async def main():
    wires, servers = {}, []
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        order = json.loads(line)
        wire = wires.setdefault(order.get("add") or order.get("find") or order["set"], Wire())
        answer = {}
        if "add" in order:
            server = await asyncio.start_server(
                lambda reader, writer, wire=wire, target=order["target"]: wire.accept(reader, writer, target),
                "127.0.0.1", order.get("port", 0))
            servers.append(server)
            answer = {"port": server.sockets[0].getsockname()[1]}
        elif "find" in order:
            answer = {"found": wire.finds(order["text"].encode())}
        else:
            await wire.change(order["state"])
        print(json.dumps(answer), flush=True)
    # The connections end with the process.
    os._exit(0)


class Wires:
    """The process that forwards the connections."""

    def __init__(self):
        self.child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", sys.executable, "-B", __file__], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, start_new_session=True)

    def ask(self, order):
        self.child.stdin.write(json.dumps(order) + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def add(self, name, target, port=0):
        return self.ask({"add": name, "target": target, "port": port})["port"]

    def set(self, name, state):
        self.ask({"set": name, "state": state})

    def find(self, name, text):
        """Returns whether a text is in what is held back on its way to the target."""
        return self.ask({"find": name, "text": text})["found"]

    def end(self):
        self.child.stdin.close()
        self.child.wait()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass
