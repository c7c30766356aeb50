#!/usr/bin/env python3
"""Prints all delivery events and misses none: subscriber.py PUBLISH REPLAY [SINCE]

An event names its predecessor in its topic, a heartbeat the newest event of each topic. What is missing is replayed.
The standard error has the next SINCE: a number up to which everything was printed. Needs python3-zmq."""
import json, sys, time
import zmq

PREFIX = "delivery/"

class Subscriber:
    def __init__(self, publish, replay, since):
        self.publish, self.replay, self.context = publish, replay, zmq.Context.instance()
        self.base = since  # All events up to this number were printed,
        self.last = {}     # and all events of a topic up to this number.

    def is_missing(self, topic, seq):
        return seq > max(self.base, self.last.get(topic, 0))

    def take(self, topic, lines):
        for event in map(json.loads, lines.splitlines()):
            if self.is_missing(topic, event["seq"]):
                print(json.dumps(event), flush=True)  # replace this with your code
                self.last[topic] = event["seq"]

    def note(self, text):
        print(text, file=sys.stderr, flush=True)

    def catch_up(self, newest):
        """Prints what was missed up to a number. Returns false if that failed; the next message tries again."""
        with self.context.socket(zmq.DEALER) as asking:
            asking.linger = 0
            asking.connect(self.replay)
            while True:
                request = {"since": self.base, "prefix": PREFIX}
                asking.send_multipart([b"replay/1", json.dumps(request).encode()])
                kind = b"event/1"
                while kind == b"event/1":
                    if not asking.poll(5000): return self.note("replay: no answer") or False
                    kind, *rest = asking.recv_multipart()
                    if kind == b"event/1": self.take(rest[0].decode(), rest[1])
                answer = json.loads(rest[0])
                if kind == b"replay-error/1":
                    self.note(f"replay: {answer}")
                    time.sleep(answer.get("retry_after_ms", 0) / 1000)
                    if "next" not in answer: return False
                elif self.base + 1 < answer["oldest"]:
                    self.note(f"events before {answer['oldest']} are no longer available")
                before, self.base = self.base, max(self.base, answer["next"])
                if self.base >= newest or self.base == before: return True

    def run(self):
        live = self.context.socket(zmq.SUB)
        # With CURVE, set curve_serverkey, curve_publickey and curve_secretkey of both sockets before they connect.
        live.connect(self.publish)
        [live.subscribe(prefix) for prefix in (PREFIX, "heartbeat")]
        heard = None  # when the last heartbeat arrived
        while True:
            topic, lines = live.recv_multipart()
            topic, first, now = topic.decode(), json.loads(lines.splitlines()[0]), time.monotonic()
            if topic != "heartbeat":
                # After a gap, nothing of this topic is printed before the gap is filled.
                if not self.is_missing(topic, first["prev"]) or self.catch_up(first["prev"]):
                    self.take(topic, lines)
                continue
            # A heartbeat lists the topics of the last minute, so after a longer silence it may not list all.
            silent = heard is None or now - heard > 30
            behind = any(self.is_missing(t, s) for t, s in first["topics"].items() if t.startswith(PREFIX))
            if (silent or behind) and not self.catch_up(first["seq"]): continue
            heard, self.base = now, max(self.base, first["seq"])
            self.note(f"since {self.base}")

if __name__ == "__main__":
    if len(sys.argv) not in (3, 4): sys.exit(print(__doc__) or 64)
    Subscriber(sys.argv[1], sys.argv[2], int((sys.argv + [0])[3])).run()
