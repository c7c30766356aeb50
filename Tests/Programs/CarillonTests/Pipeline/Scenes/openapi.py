"""An OpenAPI 3.1 document, as a test needs it: its structure, and the answers that it declares."""
import json, re
from jsonschema import Draft202012Validator, RefResolver

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}


def strict(schema):
    """Returns a schema in which objects with declared members have no others, without changes of its conditions."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {
        name: part if name in ("if", "then", "else", "not") else strict(part) for name, part in schema.items()}
    if isinstance(schema.get("properties"), dict):
        result.setdefault("additionalProperties", False)
    return result


checked = set()


def check_schema(schema):
    """Checks a schema, once for all documents that have it."""
    text = json.dumps(schema, sort_keys=True)
    if text not in checked:
        Draft202012Validator.check_schema(schema)
        checked.add(text)


class OpenAPI:
    def __init__(self, document):
        self.document = document
        # A resolver searches all of a document before it resolves the first reference, and remembers the others.
        self.resolvers = [
            RefResolver("", root) for root in (document, {**document, "components": strict(document["components"])})]
        self.operations = {
            (method.upper(), path): operation
            for path, item in document["paths"].items() for method, operation in item.items()}
        # The statuses that were served, and their problem codes.
        self.served = {operation: set() for operation in self.operations}
        self.codes = {operation: set() for operation in self.operations}
        self.kinds = {operation: set() for operation in self.operations}

    def resolved(self, value):
        while "$ref" in value:
            part = self.document
            for name in value["$ref"].removeprefix("#/").split("/"):
                part = part[name]
            value = part
        return value

    # MARK: Structure

    def check(self):
        """Checks the rules of OpenAPI 3.1 for the parts that this document has."""
        document = self.document
        assert re.fullmatch(r"3\.1\.\d+", document["openapi"]), document["openapi"]
        assert {"title", "version"} <= set(document["info"])
        assert set(document) <= {"openapi", "info", "paths", "components", "servers", "security", "tags"}, set(document)
        for name in [*document["components"]["schemas"], *document["components"]["responses"]]:
            assert re.fullmatch(r"[A-Za-z0-9._-]+", name), name
        for schema in document["components"]["schemas"].values():
            check_schema(schema)
        names = [operation["operationId"] for operation in self.operations.values()]
        assert len(set(names)) == len(names), sorted(names)
        templates = [re.sub(r"{[^}]*}", "{}", path) for path in document["paths"]]
        assert len(set(templates)) == len(templates), "two paths differ only in the names of parameters"
        for (method, path), operation in self.operations.items():
            assert path.startswith("/") and method.lower() in METHODS, (method, path)
            self.check_operation(path, operation)
        used = set(re.findall(r'"#/components/(schemas/[^"]*)"', json.dumps(document)))
        for name in used:
            self.resolved({"$ref": f"#/components/{name}"})
        unused = {f"schemas/{name}" for name in document["components"]["schemas"]} - used
        assert not unused, unused

    def check_operation(self, path, operation):
        assert operation["summary"] and operation["tags"] and operation["responses"], path
        known = self.document["components"]["securitySchemes"]
        assert all(scheme in known for one in operation["security"] for scheme in one), path
        parameters = operation.get("parameters", [])
        places = [(one["in"], one["name"]) for one in parameters]
        assert len(set(places)) == len(places), places
        in_path = {name for place, name in places if place == "path"}
        assert in_path == set(re.findall(r"{([^}]*)}", path)), (path, places)
        for one in parameters:
            assert one["in"] in ("path", "query", "header"), one
            assert one["in"] != "path" or one["required"] is True, one
            check_schema(one["schema"])
        if "requestBody" in operation:
            assert operation["requestBody"]["content"], path
            for kind, media in operation["requestBody"]["content"].items():
                self.check_media(kind, media)
                assert "example" in media, (path, kind)
                self.check_example(kind, media)
        for status, response in operation["responses"].items():
            assert status == "default" or re.fullmatch(r"[1-5]\d\d", status), status
            response = self.resolved(response)
            assert response["description"] and response["content"], (path, status)
            for kind, media in response["content"].items():
                self.check_media(kind, media)

    def check_media(self, kind, media):
        assert re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", kind), kind
        assert set(media) <= {"schema", "example", "encoding", "x-line-schema"}, media
        check_schema(media["schema"])

    def check_example(self, kind, media):
        if "x-line-schema" in media:
            for line in media["example"].splitlines():
                self.validate(json.loads(line), media["x-line-schema"])
        else:
            self.validate(media["example"], media["schema"])

    # MARK: Answers

    def validate(self, value, schema):
        """Checks a value against a schema, as written and without undeclared members."""
        for resolver, one in zip(self.resolvers, (schema, strict(schema))):
            errors = list(Draft202012Validator(one, resolver=resolver).iter_errors(value))
            assert not errors, [f"{'/'.join(map(str, e.absolute_path))}: {e.message}"[:500] for e in errors[:5]]

    def judge(self, method, path, answer):
        """Checks an answer of an operation: its status, its media type, its code and its body."""
        operation = self.operations[method, path]
        declared = operation["responses"].get(str(answer.status))
        place = (method, path, answer)
        if declared is None:
            declared = operation["responses"]["default"]
        else:
            self.served[method, path].add(answer.status)
        declared = self.resolved(declared)
        assert answer.type in declared["content"], place
        self.kinds[method, path].add((answer.status, answer.type))
        media = declared["content"][answer.type]
        if answer.type == "application/problem+json":
            problem = answer.json
            assert problem["status"] == answer.status and problem["code"] in declared["x-codes"], place
            assert problem["type"] == "about:blank" and problem["title"] and problem["detail"], place
            self.codes[method, path].add(problem["code"])
        try:
            if "x-line-schema" in media:
                for line in answer.lines:
                    self.validate(line, media["x-line-schema"])
            elif answer.type.endswith("json"):
                self.validate(answer.json, media["schema"])
        except AssertionError as fault:
            raise AssertionError(f"{method} {path} {answer.status}: {fault}") from None
        required = {401: "www-authenticate", 405: "allow", 429: "retry-after", 503: "retry-after"}.get(answer.status)
        if required and answer.type == "application/problem+json":
            assert required in answer.headers, place

    def missing_codes(self):
        """Returns the declared codes of problems that were never served."""
        return {
            (method, path, code) for (method, path), operation in self.operations.items()
            for status, response in operation["responses"].items() if status != "default"
            for code in response.get("x-codes", []) if code not in self.codes[method, path]}

    def missing(self):
        """Returns the declared statuses that were never served."""
        return {
            (method, path, int(status)) for (method, path), operation in self.operations.items()
            for status in operation["responses"] if status != "default"
            and int(status) not in self.served[method, path]}
