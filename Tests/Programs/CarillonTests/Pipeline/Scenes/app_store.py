"""Notifications and receipts of the App Store, from the simulated one to the events that backends receive."""
import base64, json, os
from harness import http, main, Monitor, Scene, take_port
from raw_http import make_key, Wire

INTO = "/v1/appstore/notifications"
BUNDLE = "com.example.shop"


def prepare(**receipts):
    """A scene in which the simulator is the App Store: its root is trusted, and it verifies old receipts."""
    scene = Scene("--store-port", str(store := take_port()))
    root = scene.simulator.places["ca"]
    scene.more["receipts"] = {
        "roots": root,
        "verify": {
            "production": f"https://localhost:{store}/verifyReceipt",
            "sandbox": f"https://localhost:{store}/sandbox/verifyReceipt", "trust": root},
        "revocation": "off", **receipts}
    scene.apps["shop"]["receipts"] = {"app_apple_id": 42}
    return scene


def notify(scene, serve, kind, **more):
    """Lets the store sign a notification and send it; returns its id, the statuses, and the signed text."""
    order = {"type": kind, "bundle_id": BUNDLE, "url": serve.places["http"] + INTO, **more}
    answer = json.loads(scene.simulator.ask("/store/notifications", "POST", json.dumps(order)))
    return answer["id"], answer["answers"], answer["signed_payload"]


def give(serve, payload, source=None):
    with Wire(serve, source=source) as wire:
        return wire.ask("POST", INTO, json.dumps({"signedPayload": payload}))


def notifications():
    """Each notification becomes one event with what a backend needs, however often it arrives, also after a kill."""
    scene = prepare()
    serve = scene.serve()
    monitor = Monitor(serve, "receipt/")
    person = "6851d77c-dfe0-5021-a5a1-7e79436331fb"
    first, statuses, signed = notify(
        scene, serve, "DID_RENEW", subtype="BILLING_RECOVERY", product_id="pro", transaction_id="7",
        original_transaction_id="3", app_account_token=person, times=3)
    assert statuses == ["200", "200", "200"], statuses
    (event,) = monitor.wait("receipt/DID_RENEW")
    expected = {
        "family": "receipt", "app": "shop", "kind": "DID_RENEW", "notification_id": first,
        "notification_type": "DID_RENEW", "subtype": "BILLING_RECOVERY", "environment": "Sandbox", "product_id": "pro",
        "transaction_id": "7", "original_transaction_id": "3", "app_account_token": person, "subscription_status": 1}
    assert {name: event.get(name) for name in expected} == expected, event
    assert event["expires_at"] - event["purchased_at"] == 30 * 86_400_000, event
    answer = give(serve, signed)
    assert answer.status == 200 and answer.json == {"status": "duplicate"}, answer
    _, statuses, _ = notify(scene, serve, "REFUND", environment="Production", app_apple_id=42)
    assert statuses == ["200"], statuses
    _, statuses, _ = notify(scene, serve, "BRAND_NEW")
    assert statuses == ["200"], statuses
    (unknown,) = monitor.wait("receipt/other")
    assert unknown["notification_type"] == "BRAND_NEW", unknown
    serve.kill()
    serve = scene.serve()
    answer = give(serve, signed)
    assert answer.status == 200 and answer.json == {"status": "duplicate"}, answer
    _, statuses, _ = notify(scene, serve, "TEST")
    monitor = Monitor(serve, "receipt/", since=0)
    monitor.wait("receipt/TEST")
    assert [e["kind"] for e in monitor.events] == ["DID_RENEW", "REFUND", "other", "TEST"], monitor.events
    page = http(serve.places["http"] + "/metrics")[1]
    for result, count in ("stored", 1), ("duplicate", 1), ("refused", 0), ("failed", 0):
        assert f'carillon_store_notifications_total{{result="{result}"}} {count}\n' in page, (result, page)
    lines = serve.verb("events", "--prefix", "receipt/", "--since", "0")
    assert "DID_RENEW" in lines and "pro" in lines, lines
    serve.stop()


def forged_notifications():
    """What the App Store did not sign for a configured app is refused and makes no event; floods of it are limited."""
    scene = prepare()
    serve = scene.serve()
    monitor = Monitor(serve, "receipt/")
    _, _, signed = notify(scene, serve, "TEST")
    monitor.wait("receipt/TEST")
    head, payload, signature = signed.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    changed = base64.urlsafe_b64encode(json.dumps({**claims, "notificationUUID": "new"}).encode()).decode().rstrip("=")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    other = json.loads(scene.simulator.ask(
        "/store/notifications", "POST", json.dumps({"type": "TEST", "bundle_id": "com.example.other"})))
    production = json.loads(scene.simulator.ask("/store/notifications", "POST", json.dumps(
        {"type": "TEST", "bundle_id": BUNDLE, "environment": "Production", "app_apple_id": 43})))
    local = json.loads(scene.simulator.ask("/store/notifications", "POST", json.dumps(
        {"type": "TEST", "bundle_id": BUNDLE, "environment": "Xcode"})))
    transaction = scene.simulator.ask("/store/sign", "POST", json.dumps(
        {"transactionId": "1", "bundleId": BUNDLE, "environment": "Sandbox", "signedDate": claims["signedDate"]})).strip()
    for text, code in (
        (f"{head}.{changed}.{signature}", "wrong_signature"), (f"{none}.{payload}.{signature}", "algorithm"),
        (f"{head}.{payload}.", "signature"), ("a.b.c", ""), ("x" * 200_000, ""),
        (other["signed_payload"], "wrong_bundle_id"), (production["signed_payload"], "wrong_app_id"),
        (local["signed_payload"], "local_environment"), (transaction, "wrong_kind"),
    ):
        answer = give(serve, text)
        assert answer.status == 422 and answer.code == "invalid", (code, answer)
        (fault,) = answer.json["errors"]
        assert fault["pointer"] == "/signedPayload" and code in fault["detail"].split(":")[0], (code, fault)
    with Wire(serve) as wire:
        assert wire.ask("POST", INTO, "{}").status == 422
        assert wire.ask("POST", INTO, "garbage").status == 400
        assert wire.ask("GET", INTO).status == 405
    serve.heard("App Store notification refused", "wrong_signature")
    flood = []
    while 429 not in flood:
        flood.append(give(serve, "a.b.c", source="127.0.0.7").status)
    assert len(flood) > 60 and set(flood[:-1]) == {422}, flood
    # The flood is that of one address; the store has another.
    _, statuses, _ = notify(scene, serve, "REFUND")
    assert statuses == ["200"], statuses
    monitor.wait("receipt/REFUND")
    assert [e["kind"] for e in monitor.events] == ["TEST", "REFUND"], monitor.events
    serve.stop()


def flood():
    """What one address sends without a right does not stop the App Store, which has the same address behind a proxy."""
    scene = prepare()
    serve = scene.serve()

    def send(payload, count=70):
        with Wire(serve) as wire:
            return [wire.ask("POST", INTO, json.dumps({"signedPayload": payload})).status for _ in range(count)]

    # The store has signed nothing yet, so that its certificates are not known.
    assert send("a.b.c").count(422) >= 60
    other = json.loads(scene.simulator.ask(
        "/store/notifications", "POST", json.dumps({"type": "TEST", "bundle_id": "com.example.other"})))["signed_payload"]
    # After this they are known, although it is for nobody here.
    assert set(send(other)) == {422}
    _, statuses, signed = notify(scene, serve, "TEST")
    assert statuses == ["200"], statuses
    head, payload, signature = signed.split(".")
    strange = base64.urlsafe_b64encode(b'{"alg":"ES256","x5c":["AA==","AA==","AA=="]}').decode().rstrip("=")
    assert send(f"{strange}.{payload}.{signature}").count(422) >= 60
    # Anyone can copy the certificates of the store.
    assert set(send(f"{head}.e30.{signature}")) == {422}
    for _ in range(2):
        _, statuses, _ = notify(scene, serve, "REFUND")
        assert statuses == ["200"], statuses
        # After a reload they are known still.
        serve.reload()
        send(f"{strange}.{payload}.{signature}")
    Monitor(serve, "receipt/", since=0).wait("receipt/REFUND")
    serve.stop()


def receipt(**claims):
    return base64.b64encode(json.dumps({"bundle_id": BUNDLE, **claims}).encode()).decode()


def receipts():
    """Backends with the role push learn whether a purchase is genuine, for their apps."""
    scene = prepare(shared_secret_file="secret.txt")
    with open(scene.path("secret.txt"), "w") as file:
        file.write("hush\n")
    os.chmod(scene.path("secret.txt"), 0o600)
    scene.apps["news"] = {**scene.app("news")}
    serve = scene.serve()
    keys = {
        "push": make_key(serve, "pusher", "push"), "news": make_key(serve, "news", "push", apps=["news"]),
        "observe": make_key(serve, "watcher", "observe")}

    def ask(body, key="push"):
        with Wire(serve) as wire:
            return wire.ask("POST", "/v1/receipts/verify", json.dumps(body), keys[key])

    _, _, signed = notify(scene, serve, "DID_RENEW", product_id="pro", transaction_id="7")
    answer = ask({"signed": signed})
    assert answer.status == 200 and answer.json["valid"] is True, answer
    shown = {name: answer.json[name] for name in ("kind", "app", "bundle_id", "environment", "revocation")}
    assert shown == {
        "kind": "notification", "app": "shop", "bundle_id": BUNDLE, "environment": "Sandbox",
        "revocation": "not_checked"}, shown
    inner = answer.json["claims"]["data"]["signedTransactionInfo"]
    answer = ask({"signed": inner})
    assert answer.json["kind"] == "transaction" and answer.json["claims"]["transactionId"] == "7", answer
    answer = ask({"signed": inner[:-4] + "AAAA"})
    assert answer.status == 200 and answer.json["valid"] is False, answer
    assert answer.json["code"] == "wrong_signature" and answer.json["detail"].endswith("."), answer
    assert ask({"signed": inner}, "news").status == 403
    assert ask({"signed": inner}, "observe").status == 403
    for body in ({}, {"signed": inner, "receipt": "AAAA"}, {"signed": 1}, {"signed": ""}, {"receipt": "A" * 1_100_000}):
        assert ask(body).status in (413, 422), body
    # Old receipts: production first, then the sandbox; the shared secret is sent.
    for claims, valid, words in (
        ({}, True, "Production"), ({"environment": "Sandbox"}, True, "Sandbox"),
        ({"shared_secret": "hush"}, True, "Production"), ({"shared_secret": "other"}, False, "wrong_shared_secret"),
        ({"status": 21003}, False, "receipt_not_authentic"), ({"status": 21010}, False, "account_not_found"),
        ({"bundle_id": "com.example.other"}, False, "wrong_bundle_id"),
        ({"status": 21005, "times": 1}, True, "Production"),
    ):
        answer = ask({"receipt": receipt(**claims)})
        assert answer.status == 200 and answer.json["valid"] is valid and words in json.dumps(answer.json), (claims, answer)
    assert ask({"receipt": "***"}).json["code"] == "malformed_receipt"
    assert "hush" not in "\n".join(serve.lines)
    # The store is away: that is not a verdict.
    scene.simulator.kill()
    answer = ask({"receipt": receipt(product_id="later")})
    assert answer.status == 503 and "retry-after" in answer.fields, answer
    serve.stop()


def reload():
    """Apps and roots are those of the configuration in force; a root that cannot be read keeps the earlier ones."""
    scene = prepare()
    serve = scene.serve()
    late = {"bundle_id": "com.example.late"}
    _, statuses, _ = notify(scene, serve, "TEST", **late)
    assert statuses == ["422"], statuses
    scene.apps["late"] = scene.app("late")
    serve.reload()
    _, statuses, _ = notify(scene, serve, "TEST", **late)
    assert statuses == ["200"], statuses
    event = Monitor(serve, "receipt/late/", since=0).wait("receipt/TEST")[0]
    assert event["app"] == "late", event
    kept = scene.more["receipts"]["roots"]
    scene.more["receipts"]["roots"] = scene.path("nowhere.pem")
    serve.reload()
    serve.heard("receipts.roots cannot be used", "nowhere.pem")
    _, statuses, _ = notify(scene, serve, "TEST", **late)
    assert statuses == ["200"], statuses
    del scene.more["receipts"]["roots"]
    serve.reload()
    _, statuses, _ = notify(scene, serve, "TEST", **late)
    assert statuses == ["422"], statuses
    scene.more["receipts"]["roots"] = kept
    serve.reload()
    _, statuses, _ = notify(scene, serve, "TEST", **late)
    assert statuses == ["200"], statuses
    serve.stop()


if __name__ == "__main__":
    main(globals())
