"""The walk through the operator console: what an operator looks at and changes, with a key, through `http.listen`."""
import json, os, re, tempfile, time
from types import SimpleNamespace
from console import Console
from console_accessibility import Auditor
from harness import main, note, Producer, token, until
from live_activities import activities, phone, register
from local_time import Clock


def walk():
    """Numbers move; devices and messages are found, read and changed; a test is sent."""
    console = Console()
    browser, scene = console.browser, console.scene
    console.sign_in()
    # A newcomer sees what to do first.
    browser.see("All is well", "First steps", "Register a device")
    ada = console.register(1, "ada", "beta")
    console.register(2, "grace")
    producer = Producer(console.serve)

    # Numbers move, and a chart is read by keyboard.
    producer.batch([note(f"order-{number}", token(1), token(2)) for number in range(20)])
    console.value_becomes("Sent", 40)
    assert "First steps" not in browser.text()
    browser.until("document.querySelectorAll('.plot polyline').length > 0", "a chart has a line")
    first = browser.run("document.querySelector('.plot').ariaValueText")
    browser.run("document.querySelector('.plot').focus()")
    browser.press("Home")
    browser.until(f"document.querySelector('.plot').ariaValueText !== {json.dumps(first)}", "the reading moves")
    browser.until("document.querySelector('.when').innerText.startsWith('at ')", "the time of the reading")
    browser.press("End")

    # A pause holds the values, and its end brings new ones.
    browser.click("#bar button", "Pause")
    browser.see("Paused")
    producer.push(note("paused", token(1)))
    browser.click("#bar button", "Resume")
    console.value_becomes("Sent", 41)
    console.picture("walk-overview")

    # A device is found by its user, its story is read, and it is deactivated.
    browser.click("#tabs a", "Devices")
    browser.fill("#device-search", "ada")
    browser.click("button.main", "Search")
    browser.see("1 device found")
    browser.click("tbody a.code, tbody .code a")
    browser.see("Story", "Sent: accepted by the push service", "order-3", ada)
    browser.click("button", "Deactivate…")
    browser.see("Deactivate 1 device?", "Nothing more is sent to the device of ada")
    browser.press("Escape")
    browser.until("!document.querySelector('dialog')", "Escape closes the question")
    browser.see("active")
    browser.click("button", "Deactivate…")
    browser.click("dialog button", "Deactivate 1 device")
    browser.see("inactive: by_hand", "an operator deactivated it")
    browser.click("button", "Reactivate…")
    browser.click("dialog button", "Reactivate 1 device")
    browser.see("The device is active.")
    browser.until("document.querySelector('.facts .badge.good')", "the device is active")
    console.picture("walk-device")
    browser.click("button", "Erase…")
    browser.see("Erase 1 device?", "1 tag", "This cannot be undone")
    browser.click("dialog button", "Erase 1 device")
    browser.see("The device is erased.")
    browser.until("!document.querySelector('.failed')", "no fault is shown")

    # By id, by tag, and by token; the token is in no address.
    grace = console.register(2, "grace", "gamma")
    console.go("#/devices?tag=gamma", "1 device found", "grace")
    browser.fill("#device-search", grace)
    browser.click("button.main", "Search")
    browser.see(f"Device {grace}")
    console.go("#/devices", "Registered devices")
    browser.fill("#device-search", token(2))
    browser.click("button.main", "Search")
    browser.see(f"Device {grace}")
    assert not any(token(2) in url for url in browser.requests)
    assert token(2) not in browser.run("location.href + document.documentElement.outerHTML")

    # A message: its audience, its counts, its story, and its deliveries.
    in_an_hour = int(time.time()) + 3600
    producer.push({"id": "later", "app": "shop", "to": {"users": ["grace"]}, "alert": "Hi", "not_before": in_an_hour})
    console.go("#/messages", "later", "the user grace", "waiting")
    browser.choose("#message-state", "waiting,sending")
    browser.click("button.main", "Search")
    browser.until("document.querySelectorAll('tbody tr').length === 1", "one message is in progress")
    browser.click("tbody a", "later")
    browser.see("Message later", "Not before", "Accepted from a producer for the user grace")
    browser.click("button", "Cancel the message…")
    browser.see("Cancel this message?", "0 notifications of it have gone out")
    browser.click("dialog button", "Cancel the message")
    browser.see("The message is cancelled", "cancelled")
    console.go("#/messages?id=order-3", "Message order-3", "Completed: 2 sent", "From acceptance to the user")
    browser.click("a", "All deliveries, one by one")
    browser.see("Deliveries of order-3", "2 deliveries", "sent")

    # A search without a hit is an answer, and no failure.
    console.go("#/messages?id=nope", "No message has the id nope.", "Events are kept back to", "Show all")
    assert not browser.run("document.querySelector('.failed, [role=alert]')")

    console.go("#/devices?user=nobody", "No device matches.")
    browser.click("a", "Show all")
    browser.see("Registered devices")

    # The fields have room beside each other, and on a narrow screen they leave room for what is found.
    console.go("#/messages", "later")
    for width in (1920, 1500, 1024):
        browser.view(width)
        browser.until(f"innerWidth === {width}")
        browser.until(f"{overlapping} === ''", "no field lies over another one")
    browser.view(360, height=740)
    browser.until("innerWidth === 360")
    browser.until("document.querySelector('main tbody tr').getBoundingClientRect().top < 420", "room for what is found")
    assert browser.run("document.querySelector('header').getBoundingClientRect().height") < 100
    assert "Carillon" in browser.run("document.querySelector('header').innerText")
    browser.click("button", "Filter (0)")
    browser.choose("#message-state", "completed")
    browser.click("button.main", "Search")
    browser.see("Filter (1)")
    # The parts of More scroll sideways there, and the chosen one is in sight.
    console.go("#/more/keys", "Make a key")
    browser.until(
        "document.querySelector('nav.parts [aria-current]').getBoundingClientRect().right <= innerWidth", "API keys")
    browser.view(1280)

    # Deliveries that say the same are one line, which opens.
    producer.push(note("many", *(token(number) for number in range(100, 140))))
    console.go("#/messages/shop/many", "40 × Sent: accepted by the push service", "Completed: 40 sent")
    browser.until("document.querySelectorAll('.story li').length === 3", "a short story")
    browser.click(".story button", "Show")
    browser.until("document.querySelectorAll('.story li').length === 43", "the whole story")

    # By time, with an address that another browser understands.
    past = int(time.time() * 1000) - 3_600_000
    console.go(f"#/messages?until={past}", "No message matches.")
    console.go(f"#/messages?since={past}&state=completed", "order-3")
    assert browser.run("document.querySelector('#message-since').value") != ""

    # A test with its preview.
    before = len(scene.simulator.accepted())
    console.go("#/messages/new", "Preview")
    browser.fill("#test-name", "nobody")
    browser.fill("#test-body", "It works")
    browser.click("button.main", "Send…")
    browser.see("No active device in shop belongs to the user nobody.")
    browser.fill("#test-name", "grace")
    browser.fill("#test-title", "A test")
    browser.until("document.querySelector('.notification').innerText.includes('It works')", "the preview")
    browser.fill("#test-link", "shop:orders/4711")
    browser.until("document.querySelector('main pre').textContent.includes('shop:orders/4711')", "the link")
    console.picture("walk-test")
    browser.click("button.main", "Send…")
    browser.click("dialog button", "Send to 1 device")
    browser.see("Message console-", "Completed: 1 sent")
    assert len(scene.simulator.accepted()) == before + 1

    # The credential of an app is a card.
    console.go("#/more/credentials", "does not expire", "the gateway")
    assert "in_use" not in browser.text() and "[" not in browser.text(), browser.text()
    browser.run("history.back()")
    browser.see("Message console-")

    # What apps report is at the end of its way.
    message = browser.run("location.hash.split('/').at(-1)")
    one, = console.ask("GET", f"/v1/apps/shop/messages/{message}/deliveries")["deliveries"]
    now = int(time.time() * 1000)
    seen = [{"apns_id": one["apns_id"], "what": what, "at": now} for what in ("displayed", "opened")]
    console.ask("POST", "/v1/apps/shop/seen", {"seen": seen})
    browser.see("Displayed on the device", "100 % of displayed")
    console.picture("walk-message")

    # A page that is opened has a past.
    until(lambda: len(console.ask("GET", "/v1/stats?history=true")["history"]) >= 5)
    browser.run("location.hash = '#/overview'")
    browser.run("location.reload()")
    console.sign_in()
    assert browser.run("Number(document.querySelector('[role=slider]').ariaValueMax)") >= 4
    assert re.fullmatch(r"\d\d:\d\d(:\d0)?", browser.run("document.querySelector('.tick[text-anchor=middle]').innerHTML"))
    console.end(allowed=["404"])


# The first field or button whose box lies over another one.
overlapping = (
    "(() => { const all = [...document.querySelectorAll('.search :is(input, select, button)')]"
    ".filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect());"
    " const over = all.find((one, at) => all.some((other, place) => place > at && one.left < other.right - 1"
    " && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1));"
    " return over ? `${over.left} ${over.right}` : ''; })()")


def broadcast():
    """A broadcast is cancelled half out; selected devices are changed together; the brake is seen and released."""
    console = Console()
    browser = console.browser
    for number in range(60):
        console.register(number, f"user-{number % 3}", "all", start="cc" if number % 2 else "a0")
    # The push service takes one half, and asks to come again with the other.
    console.scene.simulator.faults({"match": {"token": "cc*"}, "answer": {"status": 503, "reason": "Shutdown"}})
    producer = Producer(console.serve)
    console.sign_in()
    producer.push({"id": "campaign", "app": "shop", "to": {"tags": {"all": ["all"]}}, "alert": "Sale"})
    console.go("#/messages/shop/campaign", "devices with #all", "sending")
    browser.until("document.querySelector('.funnel').innerText.match(/Sent\\s+30/)", "one half is sent")
    browser.click("button", "Cancel the message…")
    browser.see("30 notifications of it have gone out already")
    browser.click("dialog button", "Cancel the message")
    browser.see("The message is cancelled: 30 had gone out, 30 did not.", "Cancelled by anna: 30 sent, 30 cancelled")
    console.picture("broadcast-cancelled")

    # Selected devices, of two pages.
    console.go("#/devices", "50 on this page")
    browser.click("thead input")
    browser.see("50 devices selected")
    browser.click("button", "Next page")
    browser.see("10 on this page")
    browser.click("tbody input")
    browser.see("51 devices selected", "Deactivate 51…", "Reactivate 0…")
    console.picture("broadcast-selected")
    browser.click("button", "Deactivate 51…")
    browser.see("Deactivate 51 devices?")
    browser.click("dialog button", "Deactivate 51 devices")
    browser.see("51 devices deactivated.")
    assert console.count("inactive") == 51
    console.go("#/devices?active=false", "50 devices found on this page")
    browser.click("tbody tr:first-child input")
    browser.click("button", "Reactivate 1…")
    browser.click("dialog button", "Reactivate 1 device")
    browser.see("1 device reactivated.")
    assert console.count("inactive") == 50
    browser.until("document.querySelector('caption').innerText === '50 devices found'", "the list is read again")
    browser.click("tbody tr:first-child input")
    browser.click("button", "Erase 1…")
    browser.click("dialog button", "Erase 1 device")
    browser.see("1 device erased.")
    assert console.count("inactive") == 49
    # Some fail, because somebody else was faster. The others are done, and the number is right.
    rest = console.ask("GET", "/v1/devices?active=false")["devices"]
    console.go("#/devices?active=false&app=shop", "49 devices found")
    browser.click("thead input")
    console.ask("DELETE", f"/v1/apps/shop/devices/{rest[0]['device']}")
    browser.click("button", "Erase 49…")
    browser.click("dialog button", "Erase 49 devices")
    browser.see("48 devices erased, 1 not: ")
    assert console.count("inactive") == 0

    # So many bad tokens that the brake is on.
    console.scene.simulator.faults({"match": {"token": "dd*"}, "answer": {"status": 400, "reason": "BadDeviceToken"}})
    for number in range(120):
        console.register(number, "flood", start="dd")
    producer.push({"id": "flood", "app": "shop", "to": {"users": ["flood"]}, "alert": "x"})
    console.go("#/overview", "The brake of shop is on", "Check topic and environment")
    assert "1 alarm" in browser.run("document.querySelector('#bar').innerText") or "alarms" in browser.text()
    browser.click(".alarms a", "Open the gateway shop")
    browser.see("The brake is on: no device is deactivated", "releases itself after ten minutes")
    console.picture("broadcast-brake")
    browser.click("button", "Release the brake…")
    browser.click("dialog button", "Release the brake")
    browser.see("The brake of shop is released.")
    browser.until("!document.querySelector('.fault.warn')", "the brake is off")
    # While the push service only refuses, the app is not ready; and one device was gone.
    console.end(allowed=["503", "404"])


def gateways_and_reload():
    """A gateway is scaled, paused and resumed; the configuration is reloaded, with changes, and with a mistake."""
    console = Console(news={})
    browser = console.browser
    console.sign_in()
    console.go("#/gateways/shop", "Gateway shop", "1, from 1 to 4")
    browser.fill("#min-shop", "2")
    browser.fill("#max-shop", "3")
    browser.click("button", "Scale")
    browser.see("shop has 2 to 3 connections now", "from 2 to 3")
    browser.fill("#min-shop", "9")
    browser.click("button", "Scale")
    browser.see("min must not be greater")
    browser.click("button", "Pause…")
    browser.see("Pause shop?")
    browser.click("dialog button", "Pause shop")
    browser.see("shop is paused", "Resume…")
    console.go("#/overview", "An operator has paused the app since", "messages are accepted and wait")
    browser.click(".alarms a", "Open the gateway shop")
    browser.click("button", "Resume…")
    browser.click("dialog button", "Resume shop")
    browser.see("shop is resumed")
    console.go("#/overview", "All is well")

    # Who did it. What was refused is not there.
    console.go("#/more/changes", "key:anna", "from 127.0.0.1", "connections", "1 to 4", "2 to 3", "pause", "resume",
               "key anna", f"uid:{os.getuid()}", "4 changes")
    browser.fill("#change-text", "to 3")
    browser.click("button.main", "Filter")
    browser.see("1 change\n")

    console.go("#/more/configuration", "apps.shop.topic", "com.example.shop", "on restart", "from the file")
    assert "apps.shop.topic" in browser.run("document.querySelector('main table').innerText"), "what was set is first"
    assert "cluster.listen" not in browser.text()
    browser.fill("#setting-filter", "news.topic")
    browser.see("com.example.news")
    browser.until("document.querySelectorAll('tbody tr').length === 1", "one setting is left")
    # What a reload changes, and what needs a restart.
    console.scene.apps["news"]["gateway"] = {"connects_per_minute": 600, "connections": {"min": 2, "max": 6}}
    console.scene.more["http"]["signature_window"] = "4m"
    console.scene.more["intake"] = {
        "router": console.serve.places["router"], "pull": "tcp://127.0.0.1:0"}
    console.scene.configure()
    assert "Cluster" not in browser.run("document.querySelector('#tabs').innerText"), "a single node has no such tab"
    console.go("#/cluster", "This Carillon is a single node.")
    console.go("#/overview", "Outcomes since the start")
    console.go("#/more/configuration", "not in force", "apps.news.gateway.connections.max")
    console.picture("running-differences")
    browser.click("button", "Reload…")
    browser.see("Reload the configuration?")
    browser.click("dialog button", "Reload")
    browser.see("The configuration was reloaded", "need a restart", "intake.router")
    browser.see("apps.news.gateway.connections.max")
    console.picture("running-reloaded")
    # A file with a mistake changes nothing.
    with open(console.scene.path("carillon.json5"), "a") as file:
        file.write("}")
    browser.click("button", "Reload…")
    browser.click("dialog button", "Reload")
    browser.see("The configuration was refused; the one before stays in force")
    console.go("#/gateways/news", "from 2 to 6")
    # The browser reports the refused scale, and the readiness of a paused app.
    console.end(allowed=["422", "503"])


def family():
    """A test for a family: its devices by app and service before it is sent, and its page with each member."""
    console = Console(more={"families": {"all": ["shop", "tablet"]}}, tablet={})
    browser = console.browser
    for number, (user, app) in enumerate([("ada", "shop"), ("ada", "tablet"), ("bob", "tablet"), ("bob", "tablet")]):
        console.register(number, user, app=app)
    console.sign_in()
    console.go("#/messages/new", "Preview")
    browser.until("[...document.querySelectorAll('#test-app option')].some((one) => one.value === 'all')", "the family")
    browser.choose("#test-app", "all")
    browser.see("shop: Apple", "tablet: Apple")
    browser.fill("#test-name", "ada")
    browser.fill("#test-body", "For all")

    def count(*rows):
        # The rows of an earlier count stay until the answer comes.
        browser.click("button", "Count the devices")
        browser.until("[...document.querySelectorAll('.compose tbody tr')].map((row) => [...row.cells].map("
                      f"(cell) => cell.innerText).join()).join('; ') === {json.dumps('; '.join(rows))}", f"the rows {rows}")

    count("shop,Apple,1,–", "tablet,Apple,1,–")
    browser.click("#test-once")
    count("shop,Apple,1,–", "tablet,Apple,0,1")
    console.picture("family-test")
    browser.click("button.main", "Send…")
    browser.click("dialog button", "Send to 1 device")
    browser.see("Message console-", "Apps of the family", "Completed: 1 sent")
    assert console.scene.simulator.accepted() == [token(0)]
    console.picture("family-message")
    name = browser.run("location.hash.split('/').at(-1)")
    browser.click("a", "All deliveries, one by one")
    browser.see("1 delivery", "shop")
    console.go(f"#/messages/tablet/{name}", "Message console-", "Suppressed")

    # What waits in both apps is cancelled at once.
    console.ask("POST", "/v1/messages", {
        "id": "later", "app": "all", "to": {"all": True}, "alert": "x", "not_before": int(time.time()) + 86_400})
    console.go("#/messages/all/later", "Apps of the family", "waiting")
    browser.click("button", "Cancel the message…")
    browser.click("dialog button", "Cancel the message")
    browser.see("The message is cancelled")
    for app in ("shop", "tablet"):
        assert console.ask("GET", f"/v1/apps/{app}/messages/later")["state"] == "cancelled"
    browser.view(360)
    console.go("#/messages/all/later", "Apps of the family")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    console.end()


def check(browser):
    """Applies the rules of accessibility to the page as it is, from its beginning: below it, the header covers parts."""
    browser.run("scrollTo(0, 0)")
    auditor = Auditor(browser)
    auditor.check("the page")
    assert not auditor.faults, auditor.faults


def activity():
    """A Live Activity is started, updated and ended, and its states are one story; also on a narrow screen."""
    console = Console()
    browser, scene = console.browser, console.scene
    _, tokens = phone(scene, "Delivery")
    starter = console.ask("POST", "/v1/apps/shop/devices", {
        "token": tokens["Delivery"], "user": "ada", "kind": "push_to_start", "activity_type": "Delivery"})["device"]
    console.sign_in()
    browser.view(360)
    console.go("#/messages/new", "Preview")
    browser.click("a", "Test a Live Activity…")
    browser.see("Test a Live Activity", "An alert. A start needs one.")
    browser.click("button", "Start…")
    browser.see("The name is missing.")
    browser.until("document.activeElement.id === 'activity-name'", "the field that is missing")
    browser.fill("#activity-name", "order-1")
    browser.fill("#activity-content", "[1]")
    browser.click("button", "Start…")
    browser.see("The content state is not a JSON object")
    browser.fill("#activity-content", json.dumps({"eta": 9}))
    browser.fill("#activity-body", "On its way")
    browser.fill("#activity-type", "Match")
    browser.fill("#activity-recipient", "ada")
    browser.click("button", "Start…")
    browser.see("No active address of kind push_to_start and type Match in shop belongs to the user ada.")
    # The page of the device fills in its address and its type.
    console.go(f"#/devices/{starter}", "push_to_start", "Start a Live Activity…")
    browser.click("a", "Start a Live Activity…")
    browser.until("document.querySelector('#activity-type')?.value === 'Delivery'", "the type of the device")
    browser.click("button", "Start…")
    browser.see("Start an activity on 1 device?")
    browser.click("dialog button", "Start on 1 device")
    browser.see("Story of order-1", "Accepted as order-1-start.", "Sent: accepted by the push service")
    until(lambda: activities(scene))
    (one,) = activities(scene)
    assert one["name"] == "order-1" and one["content_state"] == {"eta": 9}, one
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    check(browser)

    # The app has not reported the token: the second update takes the place of the first.
    for eta in 8, 7:
        browser.fill("#activity-content", json.dumps({"eta": eta}))
        browser.click("button", "Update")
        until(lambda: len(console.ask("GET", "/v1/messages?app=shop")["messages"]) == 10 - eta)
    browser.see("for the Live Activity order-1", "a newer message for the Live Activity takes its place")
    register(console.serve, one["token"], "order-1")
    until(lambda: activities(scene)[0]["content_state"] == {"eta": 7})
    browser.see("Device registered")
    browser.click("#activity-dismiss")
    browser.click("button", "End")
    browser.see("Device deactivated: its Live Activity has ended")
    console.picture("activity-360")
    browser.view(1280)
    console.picture("activity")
    # The address of the page is enough for the story.
    browser.run("location.hash = '#/overview'")
    browser.run("location.reload()")
    console.sign_in()
    console.go("#/messages/activity?app=shop&name=order-1", "Story of order-1",
               "Device deactivated: its Live Activity has ended")
    console.end(allowed=["422"])


def local_time():
    """A test goes out at a local time, with a zone for devices without one, and is not sent where the time has passed; or
    at one moment. What will happen is shown in words before."""
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock(SimpleNamespace(path=lambda name: os.path.join(folder, name)), Past=-3600, Home=0, Later=80_000)
        console = Console()
        browser = console.browser
        for number, zone in enumerate(["Past", None, "Later"]):
            console.register(number, "ada", **({"time_zone": f"Test/{zone}"} if zone else {}))
        console.sign_in()
        browser.view(360)
        console.go("#/messages/new", "Preview", "It goes out at once.")
        browser.fill("#test-name", "ada")
        browser.fill("#test-body", "Good morning")
        browser.choose("#test-when", "local")
        browser.until("document.querySelector('#test-local')", "the fields of a local time")
        browser.click("button.main", "Send…")
        browser.see("A date and a time are missing.")
        browser.until("document.activeElement.id === 'test-local'", "the field that is missing")
        browser.choose("#test-local", clock.local)
        assert browser.run("document.querySelector('#test-zone').value"), "the zone of the browser is the default"
        browser.fill("#test-zone", "Mars/Olympus")
        shown = clock.local.replace("T", " ")
        browser.see(f"Each device gets it when its own clock shows {shown}", "the clock of Mars/Olympus counts",
                    "a device gets it at once")
        browser.choose("#test-late", "drop")
        browser.see("a device does not get it, and its delivery ends as expired")
        browser.until("document.querySelector('main pre').textContent.includes('\"late\": \"drop\"')", "the content")
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
        console.picture("local-time-360")
        check(browser)
        browser.click("button.main", "Send…")
        browser.see("Send to 3 devices?", f"its own clock shows {shown}", "Until it goes out, you can cancel it")
        browser.click("dialog button", "Send to 3 devices")
        # What is refused can be corrected.
        browser.see("there is no time zone \"Mars/Olympus\"")
        browser.fill("#test-zone", "Test/Home")
        browser.click("button.main", "Send…")
        browser.click("dialog button", "Send to 3 devices")
        browser.see("Message console-", "Local time", clock.local, "1 times of day left", "Cancel the message…")
        name = browser.run("location.hash.split('/').at(-1)")
        # One device is past the time by its own zone, and one by the zone of the message.
        until(lambda: console.ask("GET", f"/v1/apps/shop/messages/{name}")["counts"]["expired"] == 2)
        assert not console.scene.simulator.accepted()

        # At one moment; another field does not take over what was written.
        console.go("#/messages/new", "Preview")
        browser.choose("#test-when", "moment")
        browser.until("document.querySelector('#test-moment')?.value === ''", "a field of its own")
        browser.choose("#test-moment", "2000-01-01T00:00")
        browser.see("This time has passed: it goes out at once.")
        later = time.strftime("%Y-%m-%dT%H:%M", time.localtime(clock.now + 86_400))
        browser.choose("#test-moment", later)
        browser.see("It goes out to all devices at")
        browser.fill("#test-name", "ada")
        browser.fill("#test-body", "Tomorrow")
        browser.click("button.main", "Send…")
        browser.click("dialog button", "Send to 3 devices")
        browser.see("Message console-", "Not before", "waiting")

        # Without a time zone database, or with too short a memory, it is not offered.
        caller = console.ask("GET", "/v1/caller")
        assert caller.pop("at_local") is True
        browser.answer_with("/v1/caller", 200, caller)
        console.go("#/overview", "Outcomes since the start")
        console.go("#/messages/new", "Preview")
        browser.until("document.querySelectorAll('#test-when option').length === 2", "no local time")
        console.end(allowed=["422"])


if __name__ == "__main__":
    main(globals())
