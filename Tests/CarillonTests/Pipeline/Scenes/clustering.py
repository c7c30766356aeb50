"""The page of the console for a cluster: two nodes with the database that the variable CARILLON_STORE names."""
import os

from auditing import Auditor
from console import Console
from ground import main, Scene

PARTS = 8


def node(name):
    return {"store": os.environ["CARILLON_STORE"],
            "cluster": {"node": name, "listen": "tcp://127.0.0.1:0", "lease": "2s", "durability": "single"}}


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


if __name__ == "__main__":
    main(globals())
