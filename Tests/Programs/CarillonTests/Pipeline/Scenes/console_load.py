"""Floods of events and large registries in the operator console."""
import json, os, time
from console import Console
from harness import main, note, Producer, token


def event_flood():
    """5,000 events a second: the list is bounded, frames stay short, memory does not grow, and the page answers."""
    console = Console(behind=True)
    browser = console.browser
    console.sign_in()
    browser.call("Performance.enable")
    console.door.flood = 5000
    console.go("#/more/events", "Live events")
    # A pointer over the list would hold it.
    browser.point_at("main h2")
    browser.until("document.querySelector('main h2 .badge.good')", "the events are live")
    # Text that is read this way does not make the browser lay out the page.
    received = "Number((document.querySelector('main section p.quiet')?.textContent ?? '').replace(/ new.*|,/g, ''))"
    browser.until(f"{received} > 20000", "the flood has begun")
    before = memory(browser)
    # The longest time between two frames, and the number of frames, while 50,000 events come.
    busy = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration")
    spent = seconds(browser)
    seen = browser.run("""new Promise((done) => {
        const count = () => %s;
        const first = count(), begun = performance.now();
        let frames = 0, longest = 0, last = begun;
        const frame = (now) => {
            frames += 1;
            longest = Math.max(longest, now - last);
            last = now;
            if (count() < first + 50000) requestAnimationFrame(frame);
            else done({ frames, longest, took: performance.now() - begun });
        };
        requestAnimationFrame(frame);
    })""" % received)
    spent = {name: round(value - spent[name], 2) for name, value in seconds(browser).items() if name in busy}
    after = memory(browser)
    rows = browser.run("document.querySelectorAll('.stream li').length")
    print(f"flood: {json.dumps(seen)}, seconds {json.dumps(spent)}, nodes {before['Nodes']} to {after['Nodes']}, "
          f"heap {before['JSHeapUsedSize'] >> 10} to {after['JSHeapUsedSize'] >> 10} KiB")
    assert rows <= 100, rows
    # What the page holds is bounded; the time is not asserted, because it belongs to the machine.
    assert after["Nodes"] < 1.5 * before["Nodes"] + 2000, (before, after)
    assert after["JSHeapUsedSize"] < before["JSHeapUsedSize"] + (8 << 20), (before, after)
    browser.click("button", "Hold the list")
    browser.see("The list is held")
    held = browser.run("document.querySelector('.stream').innerText")
    browser.until("!document.querySelector('main').innerText.includes('; 0 new since')", "events come meanwhile")
    assert held == browser.run("document.querySelector('.stream').innerText")
    browser.click("#tabs a", "Overview")
    browser.see("Outcomes since the start")
    console.door.flood = 0
    console.end()


def seconds(browser):
    return {one["name"]: one["value"] for one in browser.call("Performance.getMetrics")["metrics"]}


def memory(browser):
    browser.call("HeapProfiler.collectGarbage")
    return {one["name"]: int(one["value"]) for one in browser.call("Performance.getMetrics")["metrics"]}


def many_devices():
    """Many devices and messages cost the page what one page of them costs."""
    count = int(os.environ.get("CARILLON_CONSOLE_DEVICES", "3000"))
    console = Console()
    browser = console.browser
    path = console.scene.path("devices.csv")
    with open(path, "w") as file:
        file.write("token,user,tags\n")
        file.writelines(f"{token(number)},user-{number},all\n" for number in range(count))
    console.serve.verb("devices", "import", path, "--app", "shop")
    producer = Producer(console.serve)
    messages = count // 10
    for start in range(0, messages, 500):
        producer.batch([note(f"m-{number}", token(number)) for number in range(start, min(start + 500, messages))])
    producer.push({"id": "wide", "app": "shop", "to": {"all": True}, "alert": "x"})
    console.sign_in()
    console.value_becomes("Sent", messages + count)
    browser.call("Performance.enable")
    times = {}
    for name, address, text in (
            ("devices", "#/devices", "50 on this page"), ("user", f"#/devices?user=user-{count - 1}", "1 device found"),
            ("tag", "#/devices?tag=all", "50 devices found on this page"), ("messages", "#/messages", "older ones"),
            ("message", "#/messages/shop/wide", f"{count:,}\n100 % of devices"),
            ("deliveries", "#/messages/shop/wide/deliveries", "there are more")):
        begun = time.monotonic()  # timed: it is printed, and not judged
        console.go(address, text)
        times[name] = round(1000 * (time.monotonic() - begun))  # timed: see above
        rows = browser.run("document.querySelectorAll('main tr, main li').length")
        assert rows < 350, (name, rows)
    print(f"many: {count} devices, {messages} messages: {json.dumps(times)} ms, {memory(browser)['Nodes']} nodes, "
          f"{memory(browser)['JSHeapUsedSize'] >> 10} KiB")
    # All pages of deliveries, once each.
    console.go("#/messages/shop/wide/deliveries", "there are more")
    seen = set()
    pages = min(10, count // 100)
    for number in range(pages):
        browser.until("document.querySelectorAll('tbody tr').length === 100", "a page of deliveries")
        new = set(browser.run("[...document.querySelectorAll('tbody th a')].map((one) => one.hash)"))
        assert len(new) == 100 and not new & seen, (number, len(new), len(new & seen))
        seen |= new
        if number < pages - 1:
            browser.click("button", "Next page")
            browser.until(f"document.querySelector('tbody th a')?.hash !== {json.dumps(sorted(new)[0])} &&"
                          f" !{json.dumps(sorted(new))}.includes(document.querySelector('tbody th a')?.hash)", "the next")
    console.end(allowed=["503"])


if __name__ == "__main__":
    main(globals())
