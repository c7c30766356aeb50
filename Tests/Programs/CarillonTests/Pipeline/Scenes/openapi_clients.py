"""Clients that generators make of /openapi.json: the traps of generators, and a Python client that sends a message."""
import json, os, re, shutil, subprocess
from harness import http, main, Monitor, Scene, SIZE, token
from http_requests import Door
from openapi import OpenAPI

GENERATOR = "openapi-python-client"
# A finder of differences between a description and the answers, which Tools/setup installs.
FINDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 5, ".build/schemathesis/bin/schemathesis")
# A schema does not say these rules: which parameters exclude each other, which ids and cursors there are, what a token
# is, what a signature needs, and that each item of a list has an answer of its own.
RULES = {
    "positive_data_acceptance": [
        "GET /v1/events", "GET /v1/keys", "GET /v1/trace", "GET /v1/users/{user}", "POST /admin/apns_devices.json",
        "POST /api/push", "POST /v1/apps/{app}/devices", "POST /v1/apps/{app}/devices/remove",
        "POST /v1/appstore/notifications", "POST /v1/audience", "POST /v1/devices", "POST /v1/devices/find",
        "POST /v1/keys", "POST /v1/messages", "POST /v1/receipts/verify", "PUT /v1/apps/{app}/devices/{device}",
        "PUT /v1/gateways/{app}/connections", "GET /v1/devices", "GET /v1/credentials", "GET /v1/gateways",
        "GET /v1/export/devices", "GET /v1/messages", "GET /v1/apps/{app}/messages/{id}/deliveries"],
    "negative_data_rejection": ["POST /v1/devices", "POST /v1/messages", "POST /api/push"],
    # A server that is not ready says so with 503.
    "not_a_server_error": ["GET /readyz"]}
HOOKS = """
import json, schemathesis
@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return (value if isinstance(value, str) else json.dumps(value)).encode(errors="surrogatepass")
"""
CLIENT = """
import importlib, json, pkgutil, sys, time
sys.path.insert(0, sys.argv[1])
import generated
names = {module.name for module in pkgutil.walk_packages(generated.__path__, "generated.")}
for name in names:
    importlib.import_module(name)
from generated import AuthenticatedClient
from generated.api.devices import register_device
from generated.api.events import read_events
from generated.api.messages import cancel_message, list_deliveries, send_message
from generated.models import Message, RegisterDeviceBody
client = AuthenticatedClient(base_url=sys.argv[2], token=sys.argv[3])
def message(to):
    return Message.from_dict({"id": "generated", "app": "shop", "to": to, "alert": "Made by a generator"})
ack = send_message.sync(client=client, body=message({"tokens": [sys.argv[4]]}))
assert (ack.id, ack.status.value) == ("generated", "accepted") and ack.seq > 0, ack
ack = send_message.sync(client=client, body=message({"tokens": ["zz"]}))
assert (ack.status.value, ack.reason.value) == ("rejected", "bad_token"), ack
assert message({"all": True}).to_dict()["to"] == {"all": True}
# A life: a device registers, its user gets a message, another message is cancelled, and the events tell it.
made = register_device.sync_detailed("shop", client=client, body=RegisterDeviceBody(token=sys.argv[4], user="ada"))
assert made.status_code == 201 and made.parsed.change == "registered", made
assert send_message.sync(client=client, body=Message.from_dict(
    {"id": "to-ada", "app": "shop", "to": {"users": ["ada"]}, "alert": "Hello"})).status.value == "accepted"
assert send_message.sync(client=client, body=Message.from_dict(
    {"id": "later", "app": "shop", "to": {"all": True}, "alert": "x",
     "not_before": int(time.time()) + 3600})).status.value == "accepted"
cancelled = cancel_message.sync("shop", "later", client=client)
assert (cancelled.status, cancelled.sent) == ("cancelled", 0), cancelled
place, kinds = "0", []
while "to-ada" not in [e["message_id"] for e in kinds if e["kind"] == "completed"]:
    answer = read_events.sync_detailed(client=client, since=place, wait=30, prefix="message/shop/")
    assert answer.status_code == 200, answer
    kinds += [json.loads(line) for line in answer.content.splitlines()]
    place = answer.headers["carillon-next"]
assert {e["kind"] for e in kinds if e["message_id"] == "later"} >= {"accepted", "cancelled"}, kinds
(delivery,) = list_deliveries.sync("shop", "to-ada", client=client).deliveries
assert delivery.outcome == "sent", delivery
print(len(names), "modules")
"""


class Described:
    def __init__(self):
        self.scene = scene = Scene()
        scene.more["http"] = {"listen": "127.0.0.1:0", "legacy_registration": {"app": "shop"}}
        scene.more["doors"] = {"gorush": {"apps": {"ios": "shop"}}}
        scene.more["receipts"] = {"roots": scene.simulator.places["ca"], "revocation": "off"}
        self.serve = scene.serve()
        self.serve.become_ready()
        self.text = http(self.serve.places["http"] + "/openapi.json")[1]
        self.openapi = OpenAPI(json.loads(self.text))


def schemas(value, place=""):
    """Visits each part of a document, with its place."""
    if isinstance(value, dict):
        yield place, value
        for name, part in value.items():
            if name not in ("example", "x-line-schema"):
                yield from schemas(part, f"{place}/{name}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from schemas(part, f"{place}/{index}")


def generator_traps():
    """The document has nothing of which known generators make a client that cannot be imported."""
    described = Described()
    document, names = described.openapi.document, []
    for (method, path), operation in described.openapi.operations.items():
        names.append(operation["operationId"])
        assert re.fullmatch(r"[a-z]+([A-Z]+[a-z]*)+", names[-1]), (method, path, names[-1])
        if "requestBody" in operation:
            body = operation["requestBody"]
            # Two types, and a body that may be absent, lack an import in Python.
            assert body["required"] is True, (method, path)
            kinds = [kind for kind in body["content"] if kind != "application/x-ndjson"]
            assert len(kinds) == 1, (method, path, kinds)
    assert len({re.sub("[^a-z]", "", name.lower()) for name in names}) == len(names), "two names differ in case only"
    for place, schema in schemas(document):
        if place.endswith(("/properties", "/paths")):
            continue
        # An optional constant that is not a text is not Python.
        assert "const" not in schema, place
        if {"anyOf", "oneOf", "allOf"} & set(schema) and not {"if", "then", "else", "not"} & set(place.split("/")):
            assert "properties" not in schema, place
            # Nameless parts would have the same name.
            parts = [part for name in ("anyOf", "oneOf", "allOf") for part in schema.get(name, [])]
            inline = [part for part in parts if "properties" in part]
            items = [json.dumps(one.get("items")) for part in inline for one in part["properties"].values()]
            assert not any("properties" in item for item in items), place
    described.serve.stop()


def schema_refusals():
    """What the server refuses for its form, the schema of the body refuses, too. What it takes, the schema takes."""
    described = Described()
    door, message = Door(described.serve, control=True), {"id": "m", "app": "shop", "to": {"users": ["ada"]}}
    device, seen = {"app": "shop", "token": token(1)}, {"what": "displayed"}
    for method, path, body in (
        ("POST", "/v1/messages", message),
        ("POST", "/v1/messages", {**message, "alert": "x", "payload": {"aps": {"alert": "x"}}}),
        ("POST", "/v1/messages", {**message, "alert": "x", "id": "a\u0007"}),
        ("POST", "/v1/messages", {**message, "alert": "x", "app": "a b"}),
        ("POST", "/v1/messages", {**message, "alert": "x", "to": {"tags": ""}}),
        ("POST", "/v1/messages", {**message, "alert": "x", "to": {"tags": {}}}),
        ("POST", "/v1/messages", {**message, "alert": "x", "to": {"all": False}}),
        ("POST", "/v1/messages", {**message, "alert": "x", "to": {"users": ["a\u009b"]}}),
        ("POST", "/v1/audience", {"app": "shop", "to": {"tags": ""}}),
        ("POST", "/v1/audience", {"app": "shop", "to": {"tags": "a\u0092"}}),
        ("POST", "/v1/devices", {**device, "user": "a\u009b"}), ("POST", "/v1/devices", {**device, "app": "a b"}),
        ("POST", "/v1/devices", {**device, "tags": [""]}), ("POST", "/v1/devices", {**device, "tags": [None]}),
        ("POST", "/v1/audience", {"app": "shop", "to": {"all": True}, "push_type": ""}),
        ("POST", "/v1/apps/{app}/devices", {"token": token(1), "user": "a\u0001"}),
        ("POST", "/v1/apps/{app}/seen", {"seen": [seen]}),
        ("POST", "/v1/apps/{app}/seen", {"seen": [{**seen, "apns_id": "x", "provider_id": "x"}]}),
        ("POST", "/v1/receipts/verify", {}), ("POST", "/v1/receipts/verify", {"signed": "a", "receipt": "a"}),
        ("POST", "/v1/apps/{app}/seen", {"seen": [{**seen, "apns_id": None}]}),
        ("POST", "/v1/keys", {"name": "a b", "roles": ["push"]}),
        ("POST", "/v1/keys", {"name": "a", "roles": ["push"], "from": [""]}),
    ):
        operation = described.openapi.operations[method, path]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        try:
            described.openapi.validate(body, schema)
        except AssertionError:
            pass
        else:
            raise AssertionError(f"the schema of {method} {path} takes {body}")
        answer = door.ask(method, path.replace("{app}", "shop"), body)
        assert answer.status in (404, 422), (path, body, answer)
    for method, path, body in (
        ("POST", "/v1/apps/{app}/devices", {"token": token(1), "user": None, "tags": None, "environment": None}),
        ("POST", "/v1/apps/{app}/seen", {"seen": [{**seen, "apns_id": None, "provider_id": "x", "at": None}]}),
        ("POST", "/admin/apns_devices.json", {"token": token(1), "locale": "de"}),
    ):
        content = described.openapi.operations[method, path]["requestBody"]["content"]
        (kind, media), = content.items()
        described.openapi.validate(body, media["schema"])
        answer = door.ask(method, path.replace("{app}", "shop"), body, kind)
        assert answer.status in (200, 201, 202), (path, body, answer)
    for operation in described.openapi.operations.values():
        assert operation.get("requestBody", {"required": True})["required"]
    described.serve.stop()


def python_client():
    """A generated Python client is imported whole, and sends a message."""
    generator = shutil.which(GENERATOR)
    described = Described()
    made = Door(described.serve, control=True).ask(
        "POST", "/v1/keys", {"name": "generated", "roles": ["push", "register", "observe"], "bearer": True}).json
    folder = described.scene.path("client")
    os.makedirs(folder)
    with open(os.path.join(folder, "openapi.json"), "w") as file:
        file.write(described.text if isinstance(described.text, str) else described.text.decode())
    with open(os.path.join(folder, "client.py"), "w") as file:
        file.write(CLIENT)
    # The generator formats its files with tools beside it.
    tools = {**os.environ, "PATH": os.path.dirname(os.path.realpath(generator)) + ":" + os.environ["PATH"]}
    subprocess.run(
        [generator, "generate", "--path", "openapi.json", "--meta", "none", "--output-path", "generated"],
        cwd=folder, env=tools, check=True, capture_output=True, text=True)
    with open(generator) as file:
        interpreter = file.readline().removeprefix("#!").strip()
    monitor = Monitor(described.serve, "message/")
    ended = subprocess.run(
        [interpreter, "client.py", folder, described.serve.places["http"], f"{made['key_id']}.{made['secret']}",
         token(1)], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    monitor.completed("generated")
    described.serve.stop()


def whole_numbers():
    """A whole number is one however it is written, as JSON Schema has it; a fraction is none."""
    described = Described()
    door = Door(described.serve, control=True)
    kind = {"Content-Type": "application/json"}
    message = '{"id": "%s", "app": "shop", "to": {"users": ["ada"]}, "alert": "x", "priority": %s}'
    scale = '{"min": 1, "max": %s}'
    for number, is_whole in ("5.0", True), ("0.5e1", True), ("50e-1", True), ("5.5", False), ("1e400", False):
        for method, path, text in (
                ("POST", "/v1/messages", message % (number, number)), ("PUT", "/v1/gateways/shop/connections", scale % number)):
            answer = door.ask(method, path, text, headers=kind)
            assert (answer.status < 300) == is_whole and answer.status < 500, (path, number, answer)
    described.serve.stop()


def generated_requests():
    """Requests that Schemathesis derives from the description: none makes the server fail, answers are as described, and
    what the description allows is taken."""
    described = Described()
    made = Door(described.serve, control=True).ask("POST", "/v1/keys", {
        "name": "finder", "roles": ["admin", "operate", "push", "register", "observe"], "bearer": True,
        "rate": 1_000_000}).json
    folder = described.scene.path("finder")
    os.makedirs(folder)
    with open(os.path.join(folder, "finder_hooks.py"), "w") as file:
        file.write(HOOKS)
    with open(os.path.join(folder, "schemathesis.toml"), "w") as file:
        file.write('hooks = "finder_hooks"\n')
        for check, operations in RULES.items():
            for operation in operations:
                file.write(f'[[operations]]\ninclude-name = "{operation}"\n[operations.checks]\n'
                           f"{check}.enabled = false\n")
    ended = subprocess.run(
        [FINDER, "run", described.serve.places["http"] + "/openapi.json", "--no-color",
         # A key that revokes itself ends the run.
         "--exclude-path-regex", "^/v1/keys/",
         # The requests without a key would close the door for its address, and TRACE has no body.
         "--exclude-checks", "ignored_auth,unsupported_method,missing_required_header",
         "--header", f"Authorization: Bearer {made['key_id']}.{made['secret']}", "--seed", "1",
         "--max-examples", str(5 * SIZE),
         "--generation-database", "none", "--no-shrink", "--continue-on-failure", "--workers", "1"],
        cwd=folder, capture_output=True, text=True)
    said = ended.stdout[ended.stdout.find("= FAILURES ="):] if "= FAILURES =" in ended.stdout else ended.stdout[-3000:]
    assert ended.returncode == 0, said[:20000] + ended.stderr[-2000:]
    print(ended.stdout[-400:])
    described.serve.stop()


if __name__ == "__main__":
    main(globals())
