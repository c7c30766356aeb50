"""Input that no client should send: every value of every operation is replaced by each of many wrong ones."""
import json
from harness import main
from http_requests import LINES
from openapi_answers import body_of, Described, operations

VALUES = [
    None, True, -1, 0, 1.5, 1e308, 2**63 - 1, 2**63, 2**64, -2**63, "", " ", "a", "a" * 300, "a" * 100_000, "\0",
    "\ud800", "\u202e\ufeff", "é" * 128, "../..", [], {}, [[]], [None], ["a"] * 2000, {"a": {"b": []}}, {"": 0}]
# Numbers that Python does not write.
TEXTS = ["1e999", "-0", "01", "0x10", "NaN", '"\\u12"', '"\t"', "[1,]", '{"a"}', "'a'", "1 2"]
WORDS = ["-1", "0", "1.5", "99999999999999999999", "%20", "%C3%A9", "a%00b", "%ff", "a,b,,c", "true", "a" * 3000,
         "%E2%80%AE", "..", "null", "*", "%27%22%3C"]


def changed(value):
    """Returns all copies of a JSON value in which one part is replaced, as text."""
    mark = "\ue000"
    for copy in marked(value, mark):
        text = json.dumps(copy)
        for other in VALUES:
            yield text.replace(json.dumps(mark), json.dumps(other))
        for other in TEXTS:
            yield text.replace(json.dumps(mark), other)


def marked(value, mark):
    yield mark
    if isinstance(value, dict):
        for name in value:
            for part in marked(value[name], mark):
                yield {**value, name: part}
            yield {other: value[other] for other in value if other != name}
    elif isinstance(value, list) and value:
        for part in marked(value[0], mark):
            yield [part, *value[1:]]


def every_value():
    """No input makes the server fail, or answer something that it does not declare."""
    scene, count = Described(), 0
    for method, path, operation, roles in operations(scene):
        body, kind = body_of(operation)
        targets = [(scene.path(path), "")]
        for place in operation.get("parameters", []):
            for word in WORDS:
                if place["in"] == "query":
                    targets.append((scene.path(path), f"?{place['name']}={word}"))
                else:
                    targets.append((scene.path(path, **{place["name"]: word}), ""))
        for target, query in targets:
            answer = scene.control.ask(method, target + query, body, kind)
            judge(scene, method, path, answer, target + query)
            count += 1
        if kind == "application/json":
            for text in changed(body):
                answer = scene.control.ask(method, scene.path(path), text.encode("utf-8", "surrogatepass"), kind)
                judge(scene, method, path, answer, text)
                count += 1
        if LINES in operation.get("requestBody", {}).get("content", {}):
            lines = [text for text in changed(body) if "\n" not in text]
            answer = scene.control.ask(method, path, "\n".join(lines).encode("utf-8", "surrogatepass"), LINES)
            judge(scene, method, path, answer, "lines")
            assert len(answer.lines) == len(lines), (len(answer.lines), len(lines))
    assert count > 3000, count
    scene.serve.become_ready("gone")
    scene.serve.stop()


def judge(scene, method, path, answer, given):
    assert answer.status < 500 or answer.type == "application/json", (method, path, given[:300], answer)
    try:
        scene.openapi.judge(method, path, answer)
    except AssertionError as fault:
        raise AssertionError(f"{given[:300]}: {fault}") from None


if __name__ == "__main__":
    main(globals())
