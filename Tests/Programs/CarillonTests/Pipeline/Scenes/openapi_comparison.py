"""The comparison of answers with /openapi.json: it finds descriptions that are wrong."""
import json
from jsonschema import SchemaError
from harness import http, main, Scene
from http_requests import Door
from openapi import OpenAPI


def differences():
    """The comparison itself can fail: with a description that lacks, adds or changes something."""
    scene = Scene()
    serve = scene.serve()
    control, document = Door(serve, control=True), json.loads(http(serve.places["http"] + "/openapi.json")[1])
    answers = {path: control.ask("GET", path) for path in ("/v1/gateways", "/v1/gateways/nope", "/healthz")}
    # The connection to the push service is an event.
    answers["/v1/events"] = control.ask("GET", "/v1/events?since=0&wait=60")
    assert answers["/v1/events"].lines

    def faults(change, path, answer):
        changed = json.loads(json.dumps(document))
        change(changed)
        openapi = OpenAPI(changed)
        try:
            openapi.check()
            openapi.judge("GET", path, answers[answer])
        except (AssertionError, KeyError, SchemaError):
            return True
        return False

    one, all_of = "/v1/gateways/{app}", "/v1/gateways"
    gateway = lambda d: d["components"]["schemas"]["Gateway"]
    responses = lambda d, path: d["paths"][path]["get"]["responses"]
    for change, path, answer in (
        (lambda d: responses(d, one).pop("404"), one, "/v1/gateways/nope"),
        (lambda d: responses(d, one)["404"]["x-codes"].remove("unknown_app"), one, "/v1/gateways/nope"),
        (lambda d: responses(d, one)["404"]["content"].pop("application/problem+json"), one, "/v1/gateways/nope"),
        (lambda d: gateway(d)["properties"].pop("queue"), all_of, "/v1/gateways"),
        (lambda d: gateway(d)["properties"].update(queue={"type": "string"}), all_of, "/v1/gateways"),
        (lambda d: gateway(d)["required"].append("more"), all_of, "/v1/gateways"),
        (lambda d: d["components"]["schemas"]["Event"]["required"].append("more"), "/v1/events", "/v1/events"),
        (lambda d: responses(d, "/healthz")["200"].update(content={"text/html": {"schema": {}}}), "/healthz",
         "/healthz"),
        (lambda d: gateway(d).update(type="thing"), all_of, "/v1/gateways"),
        (lambda d: d["paths"][one]["get"].pop("parameters"), one, "/v1/gateways/nope"),
        (lambda d: d["paths"][one]["get"].update(operationId=d["paths"][all_of]["get"]["operationId"]), one,
         "/v1/gateways/nope"),
        (lambda d: d["components"]["schemas"].pop("Problem"), one, "/v1/gateways/nope"),
        (lambda d: d["paths"]["/v1/messages"]["post"]["requestBody"]["content"]["application/json"].update(
            example={"id": "x", "app": "shop"}), all_of, "/v1/gateways"),
    ):
        assert faults(change, path, answer), (path, answer)
    for path, answer in ((one, "/v1/gateways/nope"), (all_of, "/v1/gateways"), ("/v1/events", "/v1/events")):
        assert not faults(lambda d: None, path, answer), path
    openapi = OpenAPI(document)
    openapi.judge("GET", one, answers["/v1/gateways/nope"])
    assert ("GET", one, 200) in openapi.missing() and ("GET", one, 404) not in openapi.missing()
    serve.stop()


if __name__ == "__main__":
    main(globals())
