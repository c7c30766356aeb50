#!/usr/bin/env python3
"""Prints all delivery events and misses none: subscriber.py PUBLISH REPLAY [SINCE]
An event has the number of its predecessor, a heartbeat the newest number of each topic. Gaps are replayed."""
import json, sys, zmq
if len(sys.argv) < 3: sys.exit(print(__doc__) or 64)
publish, replay, start = sys.argv[1], sys.argv[2], int((sys.argv + [0])[3])
context, last = zmq.Context.instance(), {}  # the newest seq of each topic; the largest one is the next SINCE
def take(topic, lines):
    for event in map(json.loads, lines.splitlines()):
        if event["seq"] > last.get(topic, start):
            last[topic] = event["seq"]
            print(json.dumps(event), flush=True)  # replace this with your code

def catch_up(since):
    with context.socket(zmq.DEALER) as asking:
        asking.linger = 0
        asking.connect(replay)
        while since is not None:
            asking.send_multipart([b"replay/1", json.dumps({"since": since, "prefix": "delivery/"}).encode()])
            frames, asked, since = [], since, None
            while asking.poll(5000) and (frames := asking.recv_multipart())[0] == b"event/1":
                take(frames[1].decode(), frames[2])
            if frames[:1] == [b"replay-end/1"]:  # otherwise a later heartbeat shows what is missing
                end = json.loads(frames[1])
                if asked + 1 < end["oldest"]:
                    print(f"events before {end['oldest']} are no longer available", file=sys.stderr, flush=True)
                since = end["next"] if end["next"] > asked else None

(live := context.socket(zmq.SUB)).connect(publish)
[live.subscribe(prefix) for prefix in ("delivery/", "heartbeat")]
catch_up(start)
while True:
    topic, lines = live.recv_multipart()
    name, first = topic.decode(), json.loads(lines.splitlines()[0])
    newest = first["topics"] if name == "heartbeat" else {name: first["prev"]}
    behind = [last.get(t, start) for t, seq in newest.items() if t.startswith("delivery/") and seq > last.get(t, start)]
    catch_up(min(behind, default=None))
    if name != "heartbeat":
        take(name, lines)
