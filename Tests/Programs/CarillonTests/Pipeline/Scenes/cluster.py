"""A cluster as browsers and producers see it: two nodes with the database that the variable CARILLON_STORE names."""
import json, os, signal, subprocess, threading, time, zlib

from console import Console
from console_accessibility import Auditor
from families import cancel, envelope, FAMILY, family, fcm_token, people
from harness import CARILLON, Child, control, endings, main, Monitor, note, pace, Producer, Scene, token, until, verb
from http_requests import Door
import webhooks as hooks

PARTS = 8
# The pace of looks by verbs, each of which is a process.
VERB = 0.2
DRIVER = os.path.join(os.path.dirname(CARILLON), "ClientDriver")


def node(name):
    return {"store": os.environ["CARILLON_STORE"],
            "cluster": {"node": name, "listen": "tcp://127.0.0.1:0", "lease": "10s", "durability": "single"}}


def console_pages():
    """Nodes, the map of partitions, the database, and a take-over as it happens."""
    console = Console(more=node("a"))
    browser = console.browser
    console.sign_in()
    browser.until("document.querySelector('#tabs').innerText.includes('Cluster')", "the tab is offered")
    browser.click("#tabs a", "Cluster")
    browser.see("(answers)", "connected", "this node joined the cluster", "this node took partitions without an owner")
    owners = "[...document.querySelectorAll('.map li span')].map((one) => one.innerText).sort().join(' ')"
    browser.until(f"{owners} === '{' '.join('a' * PARTS)}'", "one node owns all partitions")

    other = Scene()
    other.more.update(node("b"))
    serve = other.serve()
    browser.until(f"{owners} === '{' '.join('a' * (PARTS // 2) + 'b' * (PARTS // 2))}'", "both own their share")
    browser.see("this node handed partitions over to b")
    cells = "[...document.querySelectorAll('.map li')]"
    assert browser.run(f"new Set({cells}.map((one) => getComputedStyle(one).borderLeftColor)).size") == 2
    assert browser.run(f"{cells}.map((one) => one.querySelector('b').innerText).join()") == ",".join(
        map(str, range(PARTS)))
    browser.view(1280)
    console.picture("cluster-shared")

    # Every width, both color schemes, and the keyboard.
    auditor = Auditor(browser)
    auditor.look("cluster")
    assert not auditor.faults, "\n".join(auditor.faults)
    browser.view(1280)

    # The gateways are those of both nodes, each connection with its node.
    console.go("#/gateways/shop", "Gateway shop", "a: up, 1 to 4", "b: up, 1 to 4")
    named = "[...document.querySelectorAll('.gateway table tbody tr')].map((row) => row.cells[0].innerText).sort()"
    browser.until(f"[...new Set({named})].join() === 'a,b'", "the connections name their nodes")
    console.picture("cluster-gateways")
    auditor.look("cluster-gateways")
    assert not auditor.faults, "\n".join(auditor.faults)
    browser.view(1280)
    console.go("#/cluster", "this node handed partitions over to b")

    serve.kill()
    browser.see("this node declared b dead: its lease has ended", "this node took partitions of b")
    browser.until(f"{owners} === '{' '.join('a' * PARTS)}'", "the other node has taken all partitions")
    browser.until("document.querySelector('.badge.bad')?.innerText === 'dead'", "the dead node is shown")
    console.picture("cluster-taken")
    # For a moment, the node that has just started has no partition, and is not ready.
    console.end(allowed=["503"])


def pair(first=None, *, share=False, webhook=None):
    """Starts two nodes, with a simulated push service each, or one for both, and a webhook for its receiver. Returns
    their scenes and processes, a producer of the first, and both as the first knows them when each of them owns its
    share."""
    scenes, serves = [first or Scene(), Scene()], []
    if share:
        scenes[1].simulator, scenes[1].apps, scenes[1].more = scenes[0].simulator, scenes[0].apps, {**scenes[0].more}
    if webhook is not None:
        hooks.add(scenes[0], "billing", webhook.url(), webhook)
        scenes[1].more["webhooks"] = scenes[0].more["webhooks"]
    for scene, name in zip(scenes, "ab"):
        scene.more.update(node(name))
        serves.append(scene.serve())
    producer = Producer(serves[0])
    while True:
        producer.send("cluster/1")
        kind, (answer,) = producer.answer()
        assert kind == "nodes/1" and answer["node"] == "a", (kind, answer)
        if answer["partitions"] == PARTS and [len(one["parts"]) for one in answer["nodes"]] == [PARTS // 2] * 2 and \
                all("router" in one and "http" in one for one in answer["nodes"]):
            return scenes, serves, producer, {one["node"]: one for one in answer["nodes"]}
        pace()


def statistics_of_both():
    """The past of the statistics, with which the charts begin, is that of all nodes."""
    _, serves, _, _ = pair()
    for serve in serves:
        producer = Producer(serve)
        left = {f"{serve.places['router']}-{number}": token(number) for number in range(50)}
        while left:
            # A partition that moves is busy.
            statuses = producer.batch([note(name, device) for name, device in left.items()])
            assert {one["status"] for one in statuses} <= {"accepted", "busy"}, statuses
            for one in statuses:
                if one["status"] == "accepted":
                    del left[one["id"]]
            pace(VERB)

    def accepted(serve, query=""):
        points = control(serve, "GET", "/v1/stats?history=true" + query, None)[1]["history"]
        assert sorted(points, key=lambda one: one["taken_at"]) == points, points
        return sum(one["accepted_per_s"] for one in points)
    for serve in serves:
        until(lambda: accepted(serve, "&node=a") > 0 and accepted(serve, "&node=b") > 0)
        each = [accepted(serve, f"&node={name}") for name in "ab"]
        assert accepted(serve) > max(each), (accepted(serve), each)
    assert "history" not in control(serves[0], "GET", "/v1/stats", None)[1]
    for serve in serves:
        serve.stop()


def client_library():
    """A program with CarillonClient pushes to two nodes and listens to both, and one of them is killed."""
    count, before = 2000, 500
    scenes, serves, _, _ = pair()
    publish, replay, router = (",".join(one.places[name] for one in serves) for name in ("publish", "replay", "router"))
    watch = Child(
        DRIVER, "watch", "--publish", publish, "--replay", replay, "--prefix", "delivery/shop/sent", "--count",
        str(count))
    push = Child(DRIVER, "push", "--endpoint", router, "--count", str(count), "--tasks", "100", "--announce", "yes")
    for _ in range(before):
        push.line()
    serves[0].kill()
    assert push.end() == 0, push.lines[-5:]
    outcome = json.loads(push.lines[-1])
    assert outcome["failed"] == 0 and outcome["accepted"] + outcome["duplicate"] == count, outcome
    assert watch.end() == 0, watch.lines[-5:]
    assert json.loads(watch.lines[-1])["events"] == count, watch.lines[-5:]
    received = {one for scene in scenes for one in scene.simulator.accepted()}
    assert received == {token(number, start="b0") for number in range(count)}, len(received)
    serves[1].stop()


def owner_hints():
    """A producer learns the nodes from one of them, and hands a message to the owner of its partition."""
    _, serves, producer, nodes = pair()
    assert sorted(nodes["a"]["parts"] + nodes["b"]["parts"]) == list(range(PARTS)), nodes
    for name, serve in zip("ab", serves):
        assert (nodes[name]["router"], nodes[name]["http"]) == (serve.places["router"], serve.places["http"]), nodes
    for number in range(20):
        envelope = note(f"order-{number}", token(1))
        part = zlib.crc32(f"order-{number}".encode()) % PARTS
        owner = serves[0 if part in nodes["a"]["parts"] else 1]
        assert Producer(owner).push(envelope)["status"] == "accepted", (number, part)
        assert producer.push(envelope)["status"] == "duplicate", (number, part)
    for serve in reversed(serves):
        serve.stop()


def push(serve, parts, count, start):
    """Pushes to tokens that begin with `start`, in some partitions."""
    producer, number = Producer(serve), 0
    while count > 0:
        number += 1
        name = f"{start}-{number}"
        if zlib.crc32(name.encode()) % PARTS in parts:
            assert producer.push(note(name, token(number, start)))["status"] == "accepted", name
            count -= 1
    producer.close()


def balanced(serve):
    """Waits until both nodes own their share, and returns the owner of each partition."""

    def look():
        found = [one.get("owner") for one in json.loads(serve.verb("cluster", "--json"))["cluster"]["partitions"]]
        return found if [found.count(name) for name in "ab"] == [PARTS // 2] * 2 else None

    return until(look, VERB)


def brake_events(serve):
    lines = serve.verb("events", "--json", "--prefix", "device/shop/brake").splitlines()
    return [json.loads(line)["state"] for line in lines]


def release(serve):
    released = Door(serve, control=True).ask("POST", "/v1/apps/shop/brake/release")
    assert released.status == 200 and released.json["released"], released


def shared_brake():
    """A flood of bad tokens that no node would notice alone sets the brake of both, with one event. A release on one
    node releases both, and a restart of both keeps the brake."""
    scenes, serves, _, nodes = pair()
    for scene in scenes:
        scene.simulator.device("bad*", state="bad")

    def brakes():
        return [json.loads(serve.verb("stats", "--json", "--node", name))["apps"][0]["brake_on"]
                for serve, name in zip(serves, "ab")]

    def events():
        return brake_events(serves[0])

    assert brakes() == [False, False]
    push(serves[0], nodes["a"]["parts"], 35, "bad0")
    push(serves[1], nodes["b"]["parts"], 35, "bad1")
    until(lambda: brakes() == [True, True], VERB)
    until(lambda: events() == ["on"], VERB)

    release(serves[1])
    until(lambda: brakes() == [False, False], VERB)
    until(lambda: events() == ["on", "off"], VERB)

    push(serves[0], nodes["a"]["parts"], 80, "bad2")
    until(lambda: brakes() == [True, True] and events() == ["on", "off", "on"], VERB)
    for serve in serves:
        serve.kill()
    serves[:] = [scene.serve() for scene in scenes]
    until(lambda: brakes() == [True, True], VERB)
    until(lambda: events() == ["on", "off", "on"], VERB)
    for serve in reversed(serves):
        serve.stop()


class Database:
    """A session of psql."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", os.environ["CARILLON_STORE"]], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        endings.append(self.process.kill)

    def ask(self, statement):
        """Carries out a statement that returns one value."""
        self.process.stdin.write(statement + ";\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def brake_after_kill():
    """The event of a brake is published once: after the death of the node that decided, and after the death of the node
    that was about to publish it. The lock of a row keeps it from being published in between."""
    scenes, serves, _, nodes = pair()
    for scene in scenes:
        scene.simulator.device("bad*", state="bad")
    database, lock = Database(), Database()
    pending = "SELECT count(*) FROM carillon.app_marks WHERE kind = 'brake-event'"
    blocked = "FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO carillon.groups%'"
    owner = 0 if 0 in nodes["a"]["parts"] else 1
    publisher, decider = serves[owner], serves[1 - owner]

    def hold():
        assert lock.ask("BEGIN; SELECT part FROM carillon.leases WHERE part = 0 FOR UPDATE") == "0"

    hold()
    push(decider, nodes["ba"[owner]]["parts"], 80, "bad0")
    decider.heard("device brake on")
    until(lambda: database.ask(pending) == "1")
    decider.kill()
    assert brake_events(publisher) == [] and database.ask(pending) == "1"
    assert lock.ask("COMMIT; SELECT 1") == "1"
    until(lambda: brake_events(publisher) == ["on"], VERB)
    assert database.ask(pending) == "0"

    serves[1 - owner] = scenes[1 - owner].serve()
    publisher.heard("device brake on")
    owners = balanced(publisher)
    # The first partition may have moved.
    owner = "ab".index(owners[0])
    publisher, heir = serves[owner], serves[1 - owner]
    hold()
    release(publisher)
    until(lambda: database.ask(f"SELECT count(*) {blocked}") != "0")
    publisher.kill()
    # What the dead node has sent would otherwise be carried out when the lock ends.
    assert int(database.ask(f"SELECT count(pg_terminate_backend(pid, 60000)) {blocked}")) > 0
    assert database.ask(pending) == "1"
    assert lock.ask("COMMIT; SELECT 1") == "1"
    until(lambda: brake_events(heir) == ["on", "off"], VERB)
    until(lambda: database.ask(pending) == "0")
    serves[owner] = scenes[owner].serve()
    balanced(heir)
    assert brake_events(heir) == brake_events(serves[owner]) == ["on", "off"]
    for one in (database, lock):
        one.close()
    for one in reversed(serves):
        one.stop()


def circuit_breaker():
    """A push service fails for one of two nodes, whose circuit breaker opens. The other opens its own after a single
    failure, and its log says why."""
    scenes, (one, other), _, nodes = pair(share=True)
    # Until the first node has found it, a failure opens nothing.
    scenes[0].simulator.faults({"match": {"token": "ff*"}, "answer": {"status": 503, "reason": "Shutdown"}})
    monitor = Monitor(other, "delivery/shop/retry")
    push(other, nodes["b"]["parts"], 1, "ff0")
    monitor.wait("delivery/retry")
    assert not other.said("breaker.opened"), other.lines[-10:]

    push(one, nodes["a"]["parts"], 25, "ff1")
    assert "of the last" in one.line("breaker.opened"), one.lines[-10:]
    # The same delivery fails again and again, and the first failure after the report opens the breaker.
    opened = other.line("breaker.opened")
    assert "1 of 1 responses was a failure of the push service, and another node reports the same" in opened, opened
    assert len(monitor.of("delivery/retry")) < 20, monitor.events

    # Both find by themselves that the service works again.
    scenes[0].simulator.faults()
    for serve in (one, other):
        serve.line("breaker.closed")
    for serve in (other, one):
        serve.stop()


def logged(serve, prefix):
    """The stored events of all parts."""
    lines = serve.verb("events", "--json", "--prefix", prefix, "--since", "0", "--limit", "20000").splitlines()
    return [json.loads(line) for line in lines]


def shown(serve):
    return json.loads(serve.verb("webhooks", "billing", "--json"))


def owned_by(serve, name):
    """Waits until a node owns all partitions."""
    until(lambda: {one.get("owner") for one in json.loads(
        serve.verb("cluster", "--json"))["cluster"]["partitions"]} == {name}, VERB)


def has_all(receiver, serve, count):
    """Whether the messages are sent, and the receiver has the events of all parts."""
    events = logged(serve, "delivery/shop/")
    if len({one["message_id"] for one in events if one["kind"] == "sent"}) < count:
        return False
    by_part = {}
    for event in events:
        by_part.setdefault(event.get("part", 0), []).append(event["seq"])
    return all([receiver.check(numbers, part) for part, numbers in by_part.items()])


def webhook_owners():
    """Both nodes deliver the events of their partitions. Each of them is killed while it does: the other goes on where
    it stopped, and nothing is missing."""
    slow = threading.Event()
    count = 150

    def behave(number):
        slow.wait(0.1)  # timed: the receiver is slow
        return 200

    receiver = hooks.Receiver(behave)
    scenes, serves, producer, _ = pair(share=True, webhook=receiver)
    until(lambda: {one.get("node") for one in shown(serves[0])["parts"]} == {"a", "b"}, VERB)
    for life, victim in enumerate((0, 1)):
        before = receiver.answers
        hooks.push(producer, life, count)
        until(lambda: receiver.answers > before + 1)
        serves[victim].kill()
        heir = serves[1 - victim]
        owned_by(heir, "ba"[victim])
        until(lambda: has_all(receiver, heir, (life + 1) * count), VERB)
        serves[victim] = scenes[victim].serve()
        balanced(heir)
        producer = Producer(heir)
    hooks.push(producer, 2, count)
    until(lambda: has_all(receiver, serves[0], 3 * count), VERB)
    slow.set()
    view = shown(serves[1])
    assert [one["part"] for one in view["parts"]] == list(range(PARTS)), view
    until(lambda: (lambda view: (view["state"], view["lag"]) == ("idle", 0) or None)(shown(serves[1])), VERB)
    assert f"{PARTS} parts" in serves[1].verb("webhooks"), serves[1].verb("webhooks")
    names = [name for name, _ in receiver.batches]
    print(f"{len(names)} requests taken, {len(names) - len(set(names))} repeated")
    for serve in reversed(serves):
        serve.stop()


def webhook_operation():
    """A webhook that is paused, disabled or moved by one node is so on all, also when the owners of partitions change."""
    answers = {"status": 200}
    receiver = hooks.Receiver(lambda number: answers["status"])
    scenes, serves, producer, _ = pair(share=True, webhook=receiver)
    until(lambda: {one.get("node") for one in shown(serves[0])["parts"]} == {"a", "b"}, VERB)
    assert json.loads(serves[1].verb("webhooks", "billing", "pause", "--json"))["state"] == "paused"
    until(lambda: {one["state"] for one in shown(serves[0])["parts"]} == {"paused"}, VERB)
    hooks.push(producer, 0, 40)
    until(lambda: len([e for e in logged(serves[0], "delivery/shop/sent")]) == 40, VERB)
    serves[1].kill()
    owned_by(serves[0], "a")
    until(lambda: {one["state"] for one in shown(serves[0])["parts"]} == {"paused"}, VERB)
    assert not receiver.batches, "a paused webhook has delivered"
    serves[1] = scenes[1].serve()
    balanced(serves[0])
    serves[1].verb("webhooks", "billing", "resume")
    until(lambda: has_all(receiver, serves[0], 40), VERB)

    answers["status"] = 410
    hooks.push(Producer(serves[0]), 1, 40)
    until(lambda: shown(serves[0])["state"] == "disabled" and {
        one["state"] for one in shown(serves[1])["parts"]} == {"disabled"}, VERB)
    asked = receiver.answers
    serves[0].kill()
    owned_by(serves[1], "b")
    until(lambda: {one["state"] for one in shown(serves[1])["parts"]} == {"disabled"}, VERB)
    assert receiver.answers == asked, "a disabled webhook has sent"
    answers["status"] = 200
    serves[1].verb("webhooks", "billing", "resume")
    until(lambda: len({e["message_id"] for e in logged(serves[1], "delivery/shop/sent")}) == 80, VERB)
    until(lambda: has_all(receiver, serves[1], 80), VERB)
    until(lambda: [e["kind"] for e in logged(serves[1], "webhook/-/disabled")] == ["disabled"], VERB)
    assert len(logged(serves[1], "webhook/-/paused")) == 1 and len(logged(serves[1], "webhook/-/resumed")) == 2

    numbers = sorted(e["seq"] for e in logged(serves[1], "delivery/shop/") if e.get("part", 0) == 3)
    first = len(receiver.batches)
    assert "parts" in serves[1].verb("webhooks", "billing", "seek", "1", code=75)
    serves[1].verb("webhooks", "billing", "seek", "3:0")
    again = lambda: [e["seq"] for _, body in receiver.batches[first:] for e in json.loads(body)]
    until(lambda: again() == numbers)

    # A reload applies each webhook by itself.
    webhooks = scenes[1].more["webhooks"] = {**scenes[1].more["webhooks"]}
    hooks.add(scenes[1], "other", hooks.Receiver().url())
    webhooks["billing"]["prefixes"] = ["device/"]
    secret = hooks.replace(webhooks["billing"]["secret_file"], "junk\n")
    serves[1].reload()
    assert {name: one["prefixes"] for name, one in hooks.states(serves[1]).items()} == {
        "billing": ["delivery/shop/"], "other": ["delivery/shop/"]}
    webhooks.pop("other")
    serves[1].reload()
    assert list(hooks.states(serves[1])) == ["billing"] and list(hooks.findings(serves[1])) == ["webhook billing"]
    hooks.replace(webhooks["billing"]["secret_file"], secret)
    serves[1].reload()
    assert shown(serves[1])["prefixes"] == ["device/"] and not hooks.findings(serves[1])
    serves[1].stop()


def erased_user():
    """After an erasure by one node, nothing goes out to the user on any, and only the log's past has the name."""
    name = "zacharias.quintel"
    scenes, serves, producer, nodes = pair(share=True)
    for number, user in enumerate((name, "other"), 1):
        serves[0].verb("devices", "add", "shop", token(number), "--user", user)
    for serve in serves:
        serve.verb("pause", "shop")
    for number in range(24):
        envelope = {"id": f"held-{number}", "app": "shop", "to": {"users": [name, "other"]}, "alert": "Hello"}
        if number % 3 == 0:
            envelope["not_before"] = int(time.time()) + 86_400
        assert producer.push(envelope)["status"] == "accepted", number

    def left():
        tables = ("bodies", "later", "devices", "app_marks", "reports", "cancels", "receipts")
        written = [name, name.encode().hex()]
        rows = [database.ask(f"SELECT count(*) FROM carillon.{table} AS one WHERE " + " OR ".join(
            f"position('{text}' IN one::text) > 0" for text in written)) for table in tables]
        return dict(zip(tables, map(int, rows)))

    database = Database()
    before = left()
    assert before["bodies"] > 1 and before["later"] == 8 and before["devices"] == 1, before
    erased = json.loads(serves[1].verb("users", "erase", name, "--json"))
    assert erased["devices"] == 1 and erased["messages"] == 24, erased
    assert not any(left().values()), left()
    # A node that has started since answers as the one that has not.
    serves[0].stop()
    serves[0] = scenes[0].serve()
    balanced(serves[1])
    assert "names this user" in serves[0].verb("users", "erase", name, code=65)
    for serve in serves:
        serve.verb("resume", "shop")
    counts = lambda: {e["message_id"]: e["counts"] for e in logged(serves[0], "message/shop/completed")}
    until(lambda: len(counts()) == 16, VERB)
    assert all((one["sent"], one["suppressed"]) == (1, 1) for one in counts().values()), counts()
    assert {e["reason"] for e in logged(serves[0], "delivery/shop/suppressed")} == {"erased"}
    assert set(serves[0].scene.simulator.accepted()) == {token(2)}
    database.close()
    for serve in reversed(serves):
        serve.stop()


def operator_events():
    """What operators do is recorded once: by a node without partitions that is killed at once, by a signal, and before the
    node was started. The database has one partition."""
    scenes = [Scene(), Scene()]
    for scene, name in zip(scenes, "ab"):
        scene.more.update(node(name))
    one = scenes[0].serve()
    owned_by(one, "a")
    stopped = Scene()
    stopped.serve().stop()
    verb("keys", "api", "add", "night", "--role", "observe", "--json", "--data", stopped.data)
    os.makedirs(scenes[1].data, exist_ok=True)
    os.chmod(scenes[1].data, 0o700)
    os.rename(os.path.join(stopped.data, "operators.pending"), os.path.join(scenes[1].data, "operators.pending"))
    other = scenes[1].serve()
    until(lambda: [one["state"] for one in json.loads(other.verb("cluster", "--json"))["cluster"]["partitions"]] == [
        "remote"], VERB)
    other.verb("pause", "shop")
    other.verb("resume", "shop")
    other.signal(signal.SIGHUP)
    database = Database()
    kinds = lambda: [event["kind"] for event in logged(one, "operator/")]
    until(lambda: "reload" in kinds() or int(database.ask(
        "SELECT count(*) FROM carillon.app_marks WHERE kind = 'operator-event' AND numbers[1] = 148")) > 0)
    other.kill()
    one.verb("pause", "shop")
    expected = ["key_add", "pause", "pause", "reload", "resume"]
    until(lambda: sorted(kinds()) == expected, VERB)
    assert not os.path.exists(os.path.join(scenes[1].data, "operators.pending"))
    (made,) = logged(one, "operator/-/key_add")
    assert made["what"] == "key night" and made["done_at"] <= made["ts"], made
    one.kill()
    one = scenes[0].serve()
    owned_by(one, "a")
    one.verb("resume", "shop")
    until(lambda: sorted(kinds()) == sorted(expected + ["resume"]), VERB)
    assert database.ask("SELECT count(*) FROM carillon.app_marks WHERE kind = 'operator-event'") == "0"

    # Rows that no version understands stay, as all do while the first partition has no owner.
    add = "WITH added AS (INSERT INTO carillon.app_marks (app, kind, node, since) SELECT '', 'operator-event', " \
        "'held-' || n, 0 FROM generate_series({}, {}) AS n RETURNING 1) SELECT count(*) FROM added"
    assert database.ask(add.format(1, 9_000)) == "9000"
    one.verb("pause", "shop")
    assert database.ask(add.format(9_001, 10_000)) == "1000"
    door = Door(one, control=True)

    def refused():
        answer = door.ask("POST", "/v1/gateways/shop/resume")
        assert answer.status in (200, 503), answer
        return answer.json["detail"] if answer.status == 503 else None

    detail = until(refused, VERB)
    assert "nothing was changed" in detail and "partition 0" in detail, detail
    until(lambda: database.ask("SELECT count(*) FROM carillon.app_marks WHERE kind = 'operator-event' "
                               "AND node NOT LIKE 'held-%'") == "0", VERB)
    done = len(kinds())
    door = Door(one, control=True)
    assert door.ask("POST", "/v1/gateways/shop/pause").status == 503
    assert "could not be recorded" in one.verb("devices", "add", "shop", token(1), code=69)
    # What reads, and what apps and producers do, goes on.
    assert door.ask("GET", "/v1/messages?app=shop").status == 200
    assert Producer(one).push(note("meanwhile", token(2)))["status"] == "accepted"
    assert len(kinds()) == done
    database.ask("WITH gone AS (DELETE FROM carillon.app_marks WHERE node LIKE 'held-%' RETURNING 1) "
                 "SELECT count(*) FROM gone")
    until(lambda: door.ask("POST", "/v1/gateways/shop/pause").status == 200, VERB)
    until(lambda: len(kinds()) == done + 1, VERB)
    database.close()
    one.stop()


def told(serve, name):
    """Returns the states of a message of a family, and what was sent and suppressed, by app."""
    door = Door(serve, control=True)
    found = {app: door.ask("GET", f"/v1/apps/{app}/messages/{name}") for app in FAMILY}
    return {app: (one.json["state"], one.json["counts"]["sent"], one.json["counts"]["suppressed"])
            for app, one in found.items() if one.status == 200}


def families():
    """A family on two nodes: its members are accepted together by the owner of the message, or not at all, and nothing
    is lost when that node is killed."""
    scenes, serves, producer, nodes = pair(family(), share=True)
    people(serves[0])
    simulator = scenes[0].simulator

    def owner(name):
        return 0 if zlib.crc32(name.encode()) % PARTS in nodes["a"]["parts"] else 1

    def status(name, kind):
        return {"id": name, "status": kind, "apps": dict.fromkeys(FAMILY, kind)}

    names = [f"once-{number}" for number in range(24)]
    assert {owner(name) for name in names} == {0, 1}
    for name in names:
        found = producer.push(envelope(name, prefer=["android"]))
        assert {**found, **status(name, "accepted")} == found, found
    # Ada by Google, cleo by the phone of Apple, and everything that belongs to nobody.
    expected = {"shop": ("completed", 2, 1), "tablet": ("completed", 0, 2), "android": ("completed", 3, 0)}
    for name in names:
        until(lambda: told(serves[1], name) == expected, VERB)
    other = Producer(serves[1])
    for name in names:
        found = other.push(envelope(name, prefer=["android"]))
        assert {**found, **status(name, "duplicate")} == found, found
        assert other.push(envelope(name))["reason"] == "id_conflict"
    # One member has the id with other content: the others get nothing, whichever node is asked.
    for one in (producer, other):
        for name in [f"single-{id(one)}-{number}" for number in range(8)]:
            assert producer.push({**envelope(name, badge=1), "app": "tablet"})["status"] == "accepted"
            refused = one.push(envelope(name))
            assert refused["reason"] == "id_conflict" and "tablet" in refused["detail"], refused
            assert set(told(serves[0], name)) == {"tablet"}
    # The owner cancels all members in one transaction, whichever node is asked.
    for number in range(8):
        later = envelope(f"later-{number}", not_before=int(time.time()) + 86_400)
        assert producer.push(later)["status"] == "accepted"
        assert cancel(other, later["id"]) == {"id": later["id"], "status": "cancelled", "sent": 0, "cancelled": 0,
                                              "apps": dict.fromkeys(FAMILY, "cancelled")}
        for serve in serves:
            found = Door(serve, control=True).ask("GET", f"/v1/messages/{later['id']}?app=all").json
            assert found["state"] == "cancelled" and len(found["members"]) == len(FAMILY), found
        assert producer.push(later)["status"] == "duplicate"

    # The push service is slow, so that the node is killed with deliveries under way.
    simulator.faults({"on": "request", "latency": "1s"})
    names = {f"killed-{number}" for number in range(60)}

    def send(name):
        producer.send("push/1", envelope(name, custom={"name": name}))

    def take():
        """Takes a status. What was busy is sent again, and no member is ahead of the others."""
        kind, (found,) = producer.answer()
        assert kind == "ack/1" and found["status"] in ("accepted", "duplicate", "busy"), found
        if found["status"] == "busy":
            pace(VERB)
            return send(found["id"])
        assert found["apps"] == dict.fromkeys(FAMILY, found["status"]), found
        left.remove(found["id"])

    left = set(names)
    for name in names:
        send(name)
    while len(left) > len(names) - 10:
        take()
    serves[1].kill()
    while left:
        take()
    simulator.faults()
    everywhere = {"shop": ("completed", 3, 0), "tablet": ("completed", 2, 0), "android": ("completed", 3, 0)}
    for name in names:
        until(lambda: told(serves[0], name) == everywhere, VERB)
    apple = {(push["payload"].get("name"), push["token"]) for push in simulator.received("&status=200&payload=true")}
    assert {(name, token(one, "00")) for name in names for one in range(1, 6)} <= apple, len(apple)
    google = [json.loads(line) for line in simulator.ask("/fcm/received").splitlines()]
    google = {(one["message"].get("data", {}).get("name"), one["target"]) for one in google}
    assert {(name, fcm_token(one)) for name in names for one in ("ada", "bob", "nobody")} <= google, len(google)
    serves[0].stop()


def live_activities():
    """A message to several activities, of which both nodes have some, is looked up and cancelled from either."""
    scenes, serves, producer, nodes = pair(share=True)

    def look(serve, name):
        return control(serve, "GET", f"/v1/apps/shop/messages/{name}")[1]

    def accept(message):
        """Pushes a message until all nodes have taken their parts of it: a call to another node may fail."""
        until(lambda: producer.push(message)["status"] in ("accepted", "duplicate"), VERB)

    def cancel_at(serve, name):
        return control(serve, "POST", f"/v1/apps/shop/messages/{name}/cancel")

    for number, asked in enumerate(serves * 2):
        name = f"state-{number}"
        names = [f"order-{number}-{n}" for n in range(16)]
        assert {zlib.crc32(b"shop\0" + one.encode()) % PARTS in nodes["a"]["parts"] for one in names} == {True, False}
        accept({"id": name, "app": "shop", "to": {"activities": names},
                "live_activity": {"event": "update", "content_state": {}}})
        for serve in serves:
            found = look(serve, name)
            assert (found["acceptances"], found["state"]) == (16, "waiting"), found
            lines = control(serve, "GET", f"/v1/apps/shop/messages/{name}/deliveries")[1]
            assert lines["deliveries"] == [], lines
        code, answer = cancel_at(asked, name)
        assert code == 200 and (answer["status"], answer["sent"], answer["cancelled"]) == ("cancelled", 0, 0), answer
        for serve in serves:
            until(lambda: look(serve, name)["state"] == "cancelled", VERB)
            other = Producer(serve)
            other.send("cancel/1", {"id": name, "app": "shop"})
            _, (again,) = other.answer()
            assert again == {"id": name, "status": "cancelled", "sent": 0, "cancelled": 0}, again
            other.send("cancel/1", {"id": "unknown", "app": "shop"})
            _, (unknown,) = other.answer()
            assert unknown["reason"] == "unknown_message", unknown
            assert cancel_at(serve, "unknown")[0] == 404
    # A message that is complete in all parts is too late.
    accept({"id": "late", "app": "shop", "to": {"activities": [f"late-{n}" for n in range(16)]},
            "expires_at": int(time.time()) + 10, "live_activity": {"event": "update", "content_state": {}}})
    for serve in serves:
        until(lambda: look(serve, "late")["state"] in ("completed", "expired"), VERB)
        assert look(serve, "late")["counts"]["expired"] == 16, look(serve, "late")
        assert cancel_at(serve, "late")[0] == 409
    # While a partition has no owner, what is not known elsewhere may be in it.
    serves[1].kill()
    code, answer = cancel_at(serves[0], "unknown")
    assert code in (404, 503), answer
    until(lambda: cancel_at(serves[0], "unknown")[0] == 404, VERB)
    code, answer = cancel_at(serves[0], "state-0")
    assert code == 200 and answer["status"] == "cancelled", answer
    serves[0].stop()


if __name__ == "__main__":
    main(globals())
