"""Credentials of apps: their states, as GET /v1/credentials shows them, unusable ones, and wrong ones."""
import json, re, subprocess, time
from harness import http, main, Monitor, note, pace, pick, Producer, Scene, token
from http_requests import Door
from openapi import OpenAPI
from protocol_page import certificate


def states():
    """Keys and certificates in use, kept and unusable, with the times that the metrics have, and nothing secret."""
    scene = Scene("--environment", "sandbox")
    pem = certificate(scene, "cert", 20)
    scene.apps = {name: scene.app(name, environment="sandbox") for name in ("shop", "late")}
    missing = scene.apps["late"]["credential"]["key"] = scene.path("late.p8")
    scene.apps["cert"] = scene.app("cert", environment="sandbox", credential={"certificate": pem})
    serve = scene.serve()
    control = Door(serve, control=True)
    openapi = OpenAPI(json.loads(http(serve.places["http"] + "/openapi.json")[1]))
    begun = time.time() * 1000

    def credentials(query="", door=control, **more):
        answer = door.ask("GET", "/v1/credentials" + query, **more)
        openapi.judge("GET", "/v1/credentials", answer)
        with open(pem) as file, open(scene.simulator.places["key"]) as other:
            secrets = [line for line in (file.read() + other.read()).splitlines() if len(line) > 40]
        assert not any(line in answer.body.decode() for line in secrets)
        return {one["app"]: one for one in answer.json["credentials"]}

    first = credentials()
    assert list(first) == ["cert", "late", "shop"], first
    shop, cert, late = first["shop"], first["cert"], first["late"]
    key_id = scene.simulator.places["key_id"]
    facts = (shop["kind"], shop["state"], shop["name"], shop["key_id"])
    assert facts == ("provider_key", "in_use", key_id, key_id), shop
    assert shop["used_by"] == ["gateway"] and "expires_at" not in shop and "fault" not in shop, shop
    assert "renewal" not in shop, shop
    assert (cert["kind"], cert["state"], cert["file"]) == ("certificate", "in_use", pem), cert
    assert "com.example.cert" in cert["name"] and cert["name"] == cert["subject"], cert
    assert cert["renewal"].startswith("create a new certificate on Apple's developer site"), cert
    assert abs(cert["expires_at"] - begun - 20 * 86_400_000) < 3_600_000 and cert["read_at"] <= begun, cert
    # The same source as the metric, which has seconds.
    metric = r'^carillon_credential_expiry_timestamp_seconds{app="(\w+)"} (\S+)$'
    found = {app: float(value) for app, value in re.findall(metric, http(serve.places["http"] + "/metrics")[1], re.M)}
    assert found == {"cert": cert["expires_at"] / 1000}, found
    assert (late["kind"], late["state"], late["used_by"]) == ("provider_key", "unusable", []), late
    assert missing in late["fault"] and late["failed_at"] <= begun and "read_at" not in late, late
    # A newer file that cannot be used leaves the earlier one in use.
    with open(pem) as file:
        good = file.read()
    with open(pem, "w") as file:
        file.write("no certificate")
    serve.reload()
    kept = credentials("?app=cert")["cert"]
    assert kept["state"] == "kept" and pem in kept["fault"] and kept["failed_at"] > cert["read_at"], kept
    assert {**kept, "state": 0, "fault": 0, "failed_at": 0} == {**cert, "state": 0, "fault": 0, "failed_at": 0}, kept
    with open(pem, "w") as file:
        file.write(good)
    with open(missing, "w") as file, open(scene.simulator.places["key"]) as source:
        file.write(source.read())
    serve.reload()
    again = credentials()
    assert again["cert"] == {**cert, "read_at": again["cert"]["read_at"]}, again
    assert again["cert"]["read_at"] > kept["failed_at"], again
    assert again["late"]["state"] == "in_use" and again["late"]["used_by"] == ["gateway"], again
    # Pages, and a key that is limited to some apps.
    page = control.ask("GET", "/v1/credentials?limit=2").json
    assert page["next"] == "late" and list(credentials("?limit=2&after=late")) == ["shop"], page
    made = control.ask("POST", "/v1/keys", {"name": "x", "roles": ["observe"], "apps": ["late"], "bearer": True}).json
    port = Door(serve, bearer=f"{made['key_id']}.{made['secret']}")
    assert list(credentials(door=port)) == ["late"]
    assert port.ask("GET", "/v1/credentials?app=shop").status == 403
    # A credential that the push service refuses.
    scene.simulator.faults({"match": {"token": "ab*"}, "answer": {"status": 403, "reason": "InvalidProviderToken"}})
    assert Producer(serve).push(note("refused", token(1, "ab")))["status"] == "accepted"
    while "fault" not in (shop := credentials()["shop"]):
        pace(0.1)
    assert "InvalidProviderToken" in shop["fault"] and "failed_at" not in shop and shop["state"] == "in_use", shop
    serve.stop()


def fixed_credential():
    """Messages of an app with an unusable credential wait; they are sent after the credential is fixed and SIGHUP."""
    scene = Scene()
    late = scene.app("late")
    good = late["credential"]
    late["credential"] = {**good, "key": scene.path("nowhere.p8")}
    scene.apps["late"] = late
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    statuses = producer.batch([note(f"m{n}", token(n), app="late") for n in range(50)])
    assert set(pick(statuses, "status")) == {"accepted"}
    producer.push(note("other", token(1)))
    monitor.completed("other")
    status, answer = serve.ready()
    assert status == 503 and [a["ready"] for a in answer["apps"]] == [False, True], answer
    assert not monitor.of("delivery/sent", "m0")
    assert Monitor(serve, "credential/late/", since=0).wait("credential/failed")[0]["reason"] == "unusable"
    late["credential"] = good
    serve.reload()
    done = monitor.completed(*pick(statuses, "id"))
    assert sum(e["sent"] for e in done.values()) == 51
    assert monitor.wait("credential/rotated")[0]["app"] == "late"
    # A message for an unknown app is rejected before the reload that adds the app, and accepted after it.
    assert producer.push(note("new", token(1), app="new"))["reason"] == "unknown_app"
    scene.apps["new"] = scene.app("new")
    serve.reload()
    status = producer.push(note("new", token(1), app="new"))
    assert status["status"] == "accepted", (status, serve.lines[-10:])
    assert monitor.completed("new")["new"]["sent"] == 1
    # An app that is removed keeps its waiting messages until it returns.
    scene.simulator.faults({
        "match": {"topic": "com.example.new"}, "times": 1,
        "answer": {"status": 429, "reason": "TooManyRequests", "retry_after": 1}})
    assert producer.push(note("kept", token(2), app="new"))["status"] == "accepted"
    monitor.wait("delivery/retry", "kept")
    app = scene.apps.pop("new")
    serve.reload()
    assert producer.push(note("gone", token(2), app="new"))["reason"] == "unknown_app"
    scene.apps["new"] = app
    serve.reload()
    assert monitor.completed("kept")["kept"]["sent"] == 1
    serve.stop()


def wrong_key():
    """A key that does not match its id: the response of the push service is reported at once."""
    scene = Scene()
    wrong = scene.path("wrong.p8")
    subprocess.run(
        ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", wrong], check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    scene.apps["shop"]["credential"]["key"] = wrong
    serve = scene.serve()
    producer, monitor = Producer(serve), Monitor(serve)
    producer.push(note("m", token(1)))
    serve.line("credential.refused", "403 InvalidProviderToken")
    (app,) = serve.become_ready("403 InvalidProviderToken")["apps"]
    assert app["code"] == "credential_refused", app
    assert "403 InvalidProviderToken" in serve.verb("stats")
    gateway = json.loads(serve.verb("scale", "shop", "--json"))
    assert gateway["fault"]["code"] == "credential_refused", gateway
    monitor.until(lambda: any(e.get("reason") == "InvalidProviderToken" for e in monitor.of("connection/down")))
    serve.stop()


if __name__ == "__main__":
    main(globals())
