"""A cluster as browsers and producers see it: two nodes with the database that the variable CARILLON_STORE names."""
import json, os, time, zlib

from asking import Door
from auditing import Auditor
from console import Console
from ground import CARILLON, Child, main, note, PATIENCE, Producer, Scene, token

PARTS = 8
DRIVER = os.path.join(os.path.dirname(CARILLON), "ClientDriver")


def node(name):
    return {"store": os.environ["CARILLON_STORE"],
            "cluster": {"node": name, "listen": "tcp://127.0.0.1:0", "lease": "10s", "durability": "single"}}


def walk():
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

    serve.kill()
    browser.see("this node declared b dead: its lease has ended", "this node took partitions of b")
    browser.until(f"{owners} === '{' '.join('a' * PARTS)}'", "the other node has taken all partitions")
    browser.until("document.querySelector('.badge.bad')?.innerText === 'dead'", "the dead node is shown")
    console.picture("cluster-taken")
    # For a moment, the node that has just started has no partition, and is not ready.
    console.end(allowed=["503"])


def pair():
    """Starts two nodes. Returns their scenes and processes, a producer of the first, and both as the first knows them
    when each of them owns its share."""
    scenes, serves = [Scene(), Scene()], []
    for scene, name in zip(scenes, "ab"):
        scene.more.update(node(name))
        serves.append(scene.serve())
    producer = Producer(serves[0])
    until = time.monotonic() + PATIENCE
    while True:
        producer.send("cluster/1")
        kind, (answer,) = producer.answer()
        assert kind == "nodes/1" and answer["node"] == "a", (kind, answer)
        if answer["partitions"] == PARTS and [len(one["parts"]) for one in answer["nodes"]] == [PARTS // 2] * 2 and \
                all("router" in one and "http" in one for one in answer["nodes"]):
            return scenes, serves, producer, {one["node"]: one for one in answer["nodes"]}
        assert time.monotonic() < until, answer


def library():
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


def hints():
    """A producer learns the nodes from one of them, and hands a message to the owner of its partition."""
    _, serves, producer, nodes = pair()
    assert sorted(nodes["a"]["parts"] + nodes["b"]["parts"]) == list(range(PARTS)), nodes
    for name, serve in zip("ab", serves):
        assert (nodes[name]["router"], nodes[name]["http"]) == (serve.places["router"], serve.places["http"]), nodes
    for number in range(20):
        envelope = note(f"order-{number}", token(1))
        part = zlib.crc32(f"shop\0order-{number}".encode()) % PARTS
        owner = serves[0 if part in nodes["a"]["parts"] else 1]
        assert Producer(owner).push(envelope)["status"] == "accepted", (number, part)
        assert producer.push(envelope)["status"] == "duplicate", (number, part)
    for serve in reversed(serves):
        serve.stop()


def together():
    """A flood of bad tokens that no node would notice alone sets the brake of both, with one event. A release on one
    node releases both, and a restart of both keeps the brake."""
    scenes, serves, _, nodes = pair()
    for scene in scenes:
        scene.simulator.device("bad*", state="bad")

    def flood(name, count, start):
        """Pushes to bad tokens, in partitions of one node."""
        producer, number, parts = Producer(serves["ab".index(name)]), 0, nodes[name]["parts"]
        while count > 0:
            number += 1
            id = f"{start}-{number}"
            if zlib.crc32(f"shop\0{id}".encode()) % PARTS in parts:
                assert producer.push(note(id, token(number, start)))["status"] == "accepted", id
                count -= 1

    def until(condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "the condition was not met"

    def brakes():
        return [json.loads(serve.verb("stats", "--json", "--node", name))["apps"][0]["brake_on"]
                for serve, name in zip(serves, "ab")]

    def events():
        lines = serves[0].verb("events", "--json", "--prefix", "device/shop/brake").splitlines()
        return [json.loads(line)["state"] for line in lines]

    assert brakes() == [False, False]
    flood("a", 35, "bad0")
    flood("b", 35, "bad1")
    until(lambda: brakes() == [True, True])
    until(lambda: events() == ["on"])

    released = Door(serves[1], control=True).ask("POST", "/v1/apps/shop/brake/release")
    assert released.status == 200 and released.json["released"], released
    until(lambda: brakes() == [False, False])
    until(lambda: events() == ["on", "off"])

    flood("a", 80, "bad2")
    until(lambda: brakes() == [True, True] and events() == ["on", "off", "on"])
    for serve in serves:
        serve.kill()
    serves[:] = [scene.serve() for scene in scenes]
    until(lambda: brakes() == [True, True])
    until(lambda: events() == ["on", "off", "on"])
    for serve in reversed(serves):
        serve.stop()


if __name__ == "__main__":
    main(globals())
