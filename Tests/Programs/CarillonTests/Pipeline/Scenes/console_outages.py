"""The operator console while Carillon restarts, is busy, fails, or loses an answer."""
import os, time
from console import Console
from harness import main, note, pace, Producer, token, until


def lost_answer():
    """A test whose answer is lost is sent again with the same id, and every device gets it once."""
    console = Console(behind=True)
    browser = console.browser
    console.register(1, "ada")
    console.sign_in()
    console.go("#/messages/new", "Preview")
    browser.fill("#test-name", "ada")
    browser.fill("#test-body", "Once")
    console.door.loses = b"POST /v1/messages"
    browser.click("button.main", "Send…")
    browser.click("dialog button", "Send to 1 device")
    browser.see("The test may have been accepted.")
    browser.click("button.main", "Send…")
    browser.click("dialog button", "Send to 1 device")
    browser.see("Message console-", "Completed: 1 sent")
    assert len(console.scene.simulator.accepted()) == 1
    # Another test has another id.
    console.go("#/messages/new", "Preview")
    browser.fill("#test-body", "Twice")
    browser.click("button.main", "Send…")
    browser.click("dialog button", "Send to 1 device")
    browser.see("Completed: 1 sent")
    until(lambda: len(console.scene.simulator.accepted()) == 2)
    console.end(allowed=["net::ERR_", "401"])


def restart():
    """The page comes back by itself after a restart, with the live events since then, and reports an outage."""
    console = Console(behind=True)
    browser = console.browser
    producer = Producer(console.serve)
    console.sign_in(stay=True)
    console.go("#/more/events?prefix=message%2F", "Live events")
    browser.until("document.querySelector('main h2 .badge.good')", "the events are live")
    producer.push(note("before", token(1)))
    # Both events of it are there, so that those below are of the next message.
    browser.until("document.querySelector('.stream')?.textContent.split('before').length > 2", "before is completed")
    assert "delivery/shop" not in browser.run("document.querySelector('.stream').innerText")
    # What is read under the pointer does not move away.
    browser.point_at(".stream li")
    browser.see("The list is held while the pointer is over it; 0 new since then.")
    producer.push(note("pointed", token(1)))
    browser.see("2 new since then.")
    assert "pointed" not in browser.text()
    browser.point_at("h1")
    browser.see("pointed")
    # The list can be held while it is read.
    browser.click("button", "Hold the list")
    producer.push(note("meanwhile", token(1)))
    browser.see("The list is held; 2 new since then.")
    assert "meanwhile" not in browser.text()
    browser.click("button", "Show new events")
    browser.see("meanwhile")
    producer.close()
    console.serve.stop()
    browser.see("Reconnecting", "Carillon does not answer. These are the values of")
    browser.until("document.querySelector('#status').textContent.includes('Reconnecting')", "the status region")
    console.picture("restart-gone")
    console.serve = console.scene.serve()
    browser.until("document.querySelector('#bar').innerText.includes('Live')", "the page is live again")
    Producer(console.serve).push(note("after", token(1)))
    browser.see("after", "before")

    # A Carillon that accepts requests and does not answer is noticed, too.
    console.door.is_stalled = True
    browser.see("Reconnecting")
    console.door.is_stalled = False
    browser.until("document.querySelector('#bar').innerText.includes('Live')", "the page is live again")

    # An outage of the push service is an alarm with its reason and what to do, in the bar of every page.
    console.scene.simulator.kill()
    console.serve.become_ready("refused")
    browser.until("document.querySelector('#bar').innerText.includes('1 alarm')", "the bar has the alarm")
    assert browser.run("document.title").startswith("■ ")
    browser.click("#bar a", "1 alarm")
    browser.see("shop cannot send", "cannot connect to 127.0.0.1", "Check that the push service listens")
    console.picture("restart-outage")
    # The header keeps to one row beside an alarm, and nothing touches.
    for width, height in [(1024, 70), (360, 140)]:
        browser.view(width)
        browser.until(f"innerWidth === {width} && document.querySelector('header').offsetHeight < {height}", "a low header")
        assert browser.run(
            "document.querySelector('#bar .alarm').getBoundingClientRect().left"
            " - document.querySelector('#bar .live').getBoundingClientRect().right") >= 4
    browser.view(1280)
    browser.click(".alarms a", "Open the gateway shop")
    browser.see("Gateway shop", "refused")
    console.end(allowed=["net::ERR_", "503"])


def busy_server():
    """A Carillon that asks to come later, fails, lies, or is gone: the page says so and comes back by itself."""
    console = Console(behind=True)
    browser = console.browser
    console.register(1, "ada")
    console.sign_in()
    live = "document.querySelector('#bar').innerText.includes('Live')"
    for status, code, words in (
            (429, "too_many_requests", "Carillon asks to slow down"), (503, "unavailable", "it is starting")):
        browser.answer_with(
            "/v1/stats", status, {"code": code, "detail": "it is starting"}, Retry_After=1)
        browser.see("Busy", words, "The page tries again by itself.")
        browser.answer_normally("/v1/stats")
        browser.until(live, "the page is live again")
    for status, body in ((500, {}), (502, None), (200, None)):
        browser.answer_with("/v1/stats", status, body)
        browser.until(f"!({live})", f"an answer {status} {body} is no value")
        browser.answer_normally("/v1/stats")
        browser.until(live, "the page is live again")
    # A list that cannot be read says why, and is read again by a button.
    browser.answer_with("/v1/devices?limit=50", 503, {"code": "unavailable", "detail": "the registry is busy"})
    console.go("#/devices", "the registry is busy", "Try again")
    browser.answer_normally("/v1/devices?limit=50")
    browser.click("button", "Try again")
    browser.see("Registered devices: 1")
    # A right that ends while the page is open.
    browser.answer_with("/v1/gateways", 403, {"code": "forbidden", "detail": "the key anna has no right to do this"})
    console.go("#/gateways", "This key may not do that: the key anna has no right to do this.")
    browser.answer_normally("/v1/gateways")
    browser.see("127.0.0.1:")
    # Carillon is gone, for as long as the environment says.
    gone = float(os.environ.get("CARILLON_CONSOLE_GONE", "3"))
    console.door.shut()
    browser.see("Reconnecting", "Carillon does not answer.")
    browser.click("button", "Pause…")
    browser.click("dialog button", "Pause shop")
    browser.until("document.querySelector('.note.failure')", "a deed that fails says so")
    begun = time.monotonic()  # timed: that the page does not come back is no state that could be waited for
    while time.monotonic() - begun < gone:  # timed: see above
        assert not browser.run(live)
        pace(0.2)
    console.door.shut(False)
    browser.until(live, "the page is live again")
    # A sign-in while it is gone waits for it.
    browser.click("#bar button", "Sign out")
    browser.see("Sign in to Carillon")
    browser.fill("#key-id", console.key[0])
    browser.fill("#secret", console.key[1])
    console.door.shut()
    browser.click("button.main", "Sign in")
    browser.see("Signing in", "Carillon does not answer. The page tries again by itself.")
    console.door.shut(False)
    browser.see("Gateways")
    browser.until(live, "signed in")
    console.end(allowed=["status of", "net::ERR_"])


if __name__ == "__main__":
    main(globals())
