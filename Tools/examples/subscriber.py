#!/usr/bin/env python3
"""Prints all delivery events and misses none: subscriber.py PUBLISH REPLAY [SINCE]

An event names its predecessor in its topic, a heartbeat the newest event of each topic. What is missing is replayed.
The standard error has the next SINCE: a number up to which everything was printed. Needs python3-zmq."""
import json, sys, time
import zmq

PREFIX = "delivery/"

class Subscriber:
    def __init__(self, replay, since):
        # All events up to the number `base` were printed, and all events of a topic up to its number in `last`.
        self.replay, self.base, self.last = replay, since, {}

    def is_missing(self, topic, seq):
        return seq > max(self.base, self.last.get(topic, 0))

    def take(self, topic, lines):
        for event in map(json.loads, lines.splitlines()):
            if self.is_missing(topic, event["seq"]):
                print(json.dumps(event), flush=True)  # replace this with your code
                self.last[topic] = event["seq"]

    def ask(self, socket):
        """Prints a page of what follows `base`, and returns the end of the answer."""
        socket.send_multipart([b"replay/1", json.dumps({"since": self.base, "prefix": PREFIX}).encode()])
        while socket.poll(5000):
            kind, *rest = socket.recv_multipart()
            if kind != b"event/1": return json.loads(rest[0])
            self.take(rest[0].decode(), rest[1])
        return {"error": "no answer"}

    def catch_up(self, newest):
        """Prints what was missed up to a number. Returns false if that failed; the next message tries again."""
        with zmq.Context.instance().socket(zmq.DEALER) as socket:
            socket.linger, before = 0, None
            socket.connect(self.replay)
            while self.base < newest and self.base != before:
                answer, before = self.ask(socket), self.base
                if "error" in answer: note(f"replay: {answer}")
                elif before + 1 < answer["oldest"]: note(f"events before {answer['oldest']} are no longer available")
                time.sleep(answer.get("retry_after_ms", 0) / 1000)
                if "next" not in answer: return False
                self.base = max(before, answer["next"])
        return True

    def run(self, publish):
        live, heard = zmq.Context.instance().socket(zmq.SUB), -60  # when the last heartbeat arrived
        # With CURVE, set curve_serverkey, curve_publickey and curve_secretkey of both sockets before they connect.
        live.connect(publish)
        for prefix in (PREFIX, "heartbeat"): live.subscribe(prefix)
        while True:
            topic, lines = live.recv_multipart()
            topic, first, now = topic.decode(), json.loads(lines.splitlines()[0]), time.monotonic()
            if topic == "heartbeat":
                # It lists the topics of the last minute, so after a longer silence it may not list all.
                behind = any(self.is_missing(t, s) for t, s in first["topics"].items() if t.startswith(PREFIX))
                if now - heard < 30 and not behind or self.catch_up(first["seq"]):
                    heard, self.base = now, max(self.base, first["seq"])
                    note(f"since {self.base}")
            # After a gap, nothing of this topic is printed before the gap is filled.
            elif not self.is_missing(topic, first["prev"]) or self.catch_up(first["prev"]):
                self.take(topic, lines)

def note(text):
    print(text, file=sys.stderr, flush=True)

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4): sys.exit(print(__doc__) or 64)
    Subscriber(sys.argv[2], int((sys.argv + [0])[3])).run(sys.argv[1])
