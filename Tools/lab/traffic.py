"""Producers that push to all nodes of a cluster, and a monitor that listens to all of them: for Tools/cluster."""

import collections
import hashlib
import json
import random
import threading
import time

from lab.postgresql import PATIENCE, Broken

APP = "shop"
PRODUCERS = 4


class Producers:
    """Backends that push one message after the other to any node, each until it is acknowledged."""

    def __init__(self, nodes, rate):
        import zmq
        self.zmq, self.context, self.nodes = zmq, zmq.Context(), nodes
        self.pause = PRODUCERS / rate
        # For how long an answer is waited for, in seconds.
        self.patience = 3
        self.lock, self.number, self.ends = threading.Lock(), 0, False
        # By message: the token, and how often it was answered `accepted`.
        self.acknowledged, self.accepted, self.answers = {}, collections.Counter(), collections.Counter()
        self.waits, self.faults = [], []
        # Cleared while no new message is pushed, and the number of those that are not acknowledged.
        self.goes, self.under_way = threading.Event(), 0
        self.goes.set()
        # By node: until when it is not asked, because it did not answer.
        self.silent = {}
        self.threads = [threading.Thread(target=self.run, args=[n], daemon=True) for n in range(PRODUCERS)]
        for thread in self.threads:
            thread.start()

    def run(self, first):
        try:
            place = first
            sockets = {}
            while not self.ends:
                self.goes.wait(PATIENCE)
                with self.lock:
                    self.number += 1
                    number = self.number
                    self.under_way += 1
                message, token = f"order-{number}", hashlib.sha256(b"phone %d" % (number % 997)).hexdigest()
                began = time.monotonic()
                while True:
                    place += 1
                    node = self.nodes[place % len(self.nodes)]
                    if self.silent.get(node.name, 0) > time.monotonic() and len(self.silent) < len(self.nodes):
                        continue
                    status = self.ask(sockets, node, message, token)
                    if status in ("accepted", "duplicate"):
                        break
                    if time.monotonic() - began > PATIENCE:
                        raise Broken(f"{message} was not accepted in {PATIENCE} s")
                    time.sleep(0.02)
                self.acknowledged[message] = token
                self.accepted[message] += status == "accepted"
                self.waits.append((began, time.monotonic() - began))
                with self.lock:
                    self.under_way -= 1
                time.sleep(self.pause)
        except Exception as error:  # The waiting thread reports it.
            self.faults.append(f"a producer failed: {error!r}")

    def ask(self, sockets, node, message, token, patience=None, **more):
        asking = sockets.get(node.name)
        if asking is None:
            asking = sockets[node.name] = self.context.socket(self.zmq.DEALER)
            asking.linger = 0
            asking.connect(node.router)
        envelope = {"id": message, "app": APP, "to": {"tokens": [token]}, "alert": "Your order is on its way",
                    **more}
        asking.send_multipart([b"push/1", json.dumps(envelope).encode()])
        deadline = time.monotonic() + (patience or self.patience)
        while asking.poll(max(0, (deadline - time.monotonic()) * 1000)):
            _, text = asking.recv_multipart()
            answer = json.loads(text)
            if answer.get("id") != message:
                continue
            self.answers[answer["status"]] += 1
            self.silent.pop(node.name, None)
            return answer["status"]
        # The node is gone, or slow: what it answers later is of no use.
        asking.close()
        del sockets[node.name]
        self.answers["none"] += 1
        self.silent[node.name] = time.monotonic() + 2
        return None

    def stop(self):
        self.ends = True
        self.goes.set()
        for thread in self.threads:
            thread.join(PATIENCE)
        if self.faults:
            raise Broken(self.faults[0])


class Monitor(threading.Thread):
    """Listens to all nodes, keeps the last number of each topic of each part, and replays what is missing."""

    def __init__(self, nodes):
        super().__init__(daemon=True)
        import zmq
        self.zmq, self.context, self.nodes = zmq, zmq.Context(), nodes
        self.seen, self.twice, self.last, self.missed = {}, 0, {}, 0
        self.ends, self.fault, self.heard = False, None, 0
        self.live = self.context.socket(zmq.SUB)
        self.live.rcvhwm = 0
        self.live.linger = 0
        for node in nodes:
            self.live.connect(node.publish)
        self.live.subscribe("delivery/")
        self.live.subscribe("message/")
        self.start()

    def run(self):
        try:
            while not self.ends:
                if self.live.poll(100):
                    topic, lines = self.live.recv_multipart()
                    self.take(topic.decode(), [json.loads(line) for line in lines.splitlines()])
        except Exception as error:
            self.fault = f"the monitor failed: {error!r}"

    def take(self, topic, events):
        for event in events:
            key = (event.get("part", 0), topic)
            if self.last.get(key, 0) < event["prev"]:
                # What lies between is replayed at the end: nothing of it may be lost.
                self.missed += 1
            self.last[key] = max(self.last.get(key, 0), event["seq"])
            self.add(event, topic)
            self.heard += 1

    def add(self, event, topic):
        place = (event.get("part", 0), event["seq"])
        if place in self.seen:
            self.twice += 1
        else:
            self.seen[place] = (topic, event["prev"], event)

    def replay(self):
        """Asks one node for all events of all parts. Returns them by part and number."""
        found, since = {}, {}
        with self.context.socket(self.zmq.DEALER) as asking:
            asking.linger = 0
            asking.connect(random.choice(self.nodes).replay)
            while True:
                asking.send_multipart([b"replay/1", json.dumps({"since": since, "limit": 50000}).encode()])
                count = 0
                while True:
                    if not asking.poll(PATIENCE * 1000):
                        raise Broken("replay: no answer")
                    kind, *rest = asking.recv_multipart()
                    if kind != b"event/1":
                        break
                    for event in map(json.loads, rest[1].splitlines()):
                        count += 1
                        found[(event.get("part", 0), event["seq"])] = (rest[0].decode(), event["prev"], event)
                answer = json.loads(rest[0])
                if kind == b"replay-error/1":
                    if answer.get("code") != "busy":
                        raise Broken(f"replay: {answer}")
                    time.sleep(answer.get("retry_after_ms", 100) / 1000)
                    continue
                if answer["next"] == since or count == 0:
                    return found
                since = answer["next"]
