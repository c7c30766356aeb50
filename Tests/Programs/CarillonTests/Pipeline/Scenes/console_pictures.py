"""Pictures of the operator console with a shop at work behind it: for the books (`Tools/console/pictures`), and of all
pages in three widths, to look at before a change of the console is done."""
import os, random, threading, time

from console import Console, PICTURES
from harness import main, pace, Producer, token, until

USERS = ["ada", "grace", "linus", "barbara", "edsger", "margaret", "ken", "radia", "dennis", "frances"]
PAGES = {
    "overview": "#/overview", "devices": "#/devices", "device": "#/devices/{device}", "none": "#/devices?user=nobody",
    "messages": "#/messages", "message": "#/messages/shop/summer-sale", "waiting": "#/messages/kiosk/morning-edition",
    "deliveries": "#/messages/shop/summer-sale/deliveries", "nothing": "#/messages?id=nope", "test": "#/messages/new",
    "activity": "#/messages/activity",
    "gateways": "#/gateways", "more": "#/more", "events": "#/more/events", "changes": "#/more/changes",
    "credentials": "#/more/credentials",
    "configuration": "#/more/configuration", "keys": "#/more/keys", "cluster": "#/more/cluster"}


class Shop:
    """Apps with devices, and messages that go on while pictures are taken; with trouble, one of the apps is paused."""

    def __init__(self, trouble=True):
        self.console = Console(news={}, kiosk={})
        self.random, self.over = random.Random(7), threading.Event()
        self.console.scene.simulator.faults(
            {"match": {"share": 0.05 if trouble else 0.003}, "answer": {"status": 429, "reason": "TooManyRequests", "retry_after": 2}})
        for number in range(240):
            tags = ["beta"] * (number % 3 == 0) + ["vip"] * (number % 7 == 0)
            user = USERS[number % 10] if number < 10 else f"user-{number}"
            device = self.console.register(number, user, *tags, locale="en_GB", app_version="4.2.1")
            self.device = device if number == 0 else self.device
            if number % 29 == 5:
                self.console.scene.simulator.device(token(number), state="unregistered")
        self.producer = Producer(self.console.serve)
        self.push("summer-sale", {"all": True}, alert={"title": "Summer sale", "body": "Everything at half price"})
        self.push("winter-sale", {"tags": "beta"}, not_before=int(time.time()) + 86_400)
        if trouble:
            self.console.ask("POST", "/v1/gateways/kiosk/pause")
            self.push("morning-edition", {"tokens": [token(1)]}, app="kiosk")
        until(lambda: self.console.count("inactive") > 5)

    def push(self, name, to, **more):
        status = self.producer.push({"id": name, "app": "shop", "to": to, "alert": "Hello", **more})
        assert status["status"] == "accepted", status

    def work(self):
        """Sends orders at a rate that rises and falls, until the pictures are taken."""
        number = 4711
        while not self.over.is_set():
            for _ in range(self.random.randrange(2, 30)):
                number += 1
                self.push(f"order-{number}-shipped", {"users": [self.random.choice(USERS)]})
            pace(0.5)

    def go_on(self, seconds):
        """Works for so long in the background."""
        threading.Thread(target=self.work, daemon=True).start()
        time.sleep(seconds)  # timed: the charts of a picture show this time

    def show(self, name):
        self.console.go(PAGES[name].format(device=self.device))
        self.console.browser.until(
            "document.querySelector('main h1') && !/Reading the/.test(document.body.innerText)", name)
        pace(0.5)

    def end(self):
        self.over.set()
        self.console.end(allowed=["status of 40"])


def pages():
    """All pages in three widths, light, and dark at the middle one."""
    shop = Shop()
    shop.console.sign_in()
    shop.go_on(20)
    for name in os.environ.get("CARILLON_PAGES", " ".join(PAGES)).split():
        for width in (360, 1024, 1920):
            shop.console.browser.view(width)
            shop.show(name)
            shop.console.picture(f"{name}-{width}")
            wide = shop.console.browser.run("document.documentElement.scrollWidth - innerWidth")
            if wide > 0:
                print(f"{name} is {wide} pixels wider than {width}")
    shop.end()


def books():
    """The overview, for README.md."""
    shop = Shop(trouble=False)
    shop.console.sign_in()
    shop.go_on(200)
    shop.console.browser.view(1280, height=860)
    shop.show("overview")
    shop.console.browser.picture(os.path.join(PICTURES, "console-overview.png"), whole=False)
    shop.end()


if __name__ == "__main__":
    main(globals())
