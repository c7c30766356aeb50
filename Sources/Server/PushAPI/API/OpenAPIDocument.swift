import PushModel
package import PushWire

/// The OpenAPI 3.1 document of a table of endpoints, made from their declarations.
package enum OpenAPIDocument {
    package static func make(of endpoints: [AnyEndpoint], version: String) -> JSONValue {
        var book = NamedSchemas()
        var paths: [String: [String: JSONValue]] = [:]
        for endpoint in endpoints {
            paths[endpoint.operation.path, default: [:]][endpoint.operation.method.rawValue.lowercased()] =
                operation(endpoint, in: &book)
        }
        _ = book.schema(of: Problem.self)
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Carillon", "version": .string(version), "description": .string(about),
                "license": ["name": "Apache License 2.0", "identifier": "Apache-2.0"],
            ],
            "paths": .object(paths.mapValues { .object($0) }),
            "components": [
                "schemas": .object(book.schemas),
                "securitySchemes": securitySchemes,
                "responses": [OpenAPIResponses.refusedName: OpenAPIResponses.refused],
            ],
        ]
    }

    private static let about = """
        The HTTP side of the push gateway Carillon. Requests need an API key, except on the control socket and where \
        security is empty. A GET also answers HEAD. The response x-codes lists the codes of the problems with its \
        status. x-roles lists the roles of which a key needs one. x-line-schema is the schema of each line of a body \
        with lines.
        """

    private static var securitySchemes: JSONValue {
        [
            "signature": [
                "type": "http", "scheme": "signature",
                "description":
                    "HTTP Message Signatures (RFC 9421) with hmac-sha256, in Signature-Input and Signature, label carillon.",
            ],
            "bearer": [
                "type": "http", "scheme": "bearer",
                "description": "KEYID.SECRET of a key that allows it, over TLS or on loopback.",
            ],
            "key": ["type": "apiKey", "in": "header", "name": "X-API-Key", "description": "The same as bearer."],
        ]
    }

    private static func operation(_ endpoint: AnyEndpoint, in book: inout NamedSchemas) -> JSONValue {
        let operation = endpoint.operation
        var members: [String: JSONValue] = [
            "summary": .string(operation.summary),
            "operationId": .string(operation.id),
            "tags": [.string(operation.subject)],
            "responses": OpenAPIResponses.all(of: endpoint, in: &book),
        ]
        switch operation.access {
        case .open: members["security"] = []
        case .roles(let roles):
            var ways: [JSONValue] = [["signature": []], ["bearer": []]]
            if operation.takesKeyField { ways.append(["key": []]) }
            members["security"] = .array(ways)
            members["x-roles"] = .array(roles.map { .string($0.rawValue) })
        }
        if !operation.records.isEmpty {
            members["x-events"] = .array(operation.records.map { .string("\($0.family).\($0.name)") })
        }
        let parameters = (endpoint.input.values(in: .path) + endpoint.input.values(in: .query)).map(parameter)
        if !parameters.isEmpty { members["parameters"] = .array(parameters) }
        if let body = requestBody(endpoint, in: &book) { members["requestBody"] = body }
        return .object(members)
    }

    private static func parameter(_ value: InputDeclaration.Value) -> JSONValue {
        let parameter: JSONValue = [
            "name": .string(value.name), "in": .string(value.place.rawValue), "required": .bool(value.isRequired),
            "schema": value.schema, "description": .string(value.about),
        ]
        guard value.isList else { return parameter }
        // A list is one text with commas.
        return parameter.adding("style", "form").adding("explode", false)
    }

    // MARK: Bodies

    private static func requestBody(_ endpoint: AnyEndpoint, in book: inout NamedSchemas) -> JSONValue? {
        let body = endpoint.operation.body
        if case .raw(let contents) = body {
            var media: [String: JSONValue] = [:]
            for content in contents where content.type != Operation.Body.anyType {
                media[content.type] = raw(content, in: &book)
            }
            return ["required": true, "content": .object(media)]
        }
        guard let type = body.types.first else { return nil }
        var request: JSONValue = ["required": true, "content": [type: content(endpoint, as: type)]]
        // The Python that a generator makes of two types cannot be imported.
        if body.types.count > 1 {
            request = request.adding(
                "description",
                .string("The same members may be sent as a form (\(Operation.Body.formType)), lists with commas."))
        }
        return request
    }

    private static func raw(_ content: Operation.Content, in book: inout NamedSchemas) -> JSONValue {
        for (name, part) in content.parts() { _ = book.schema(named: name, part) }
        let schema = book.schema(named: content.schemaName, content.schema())
        guard content.isLines else { return ["schema": schema, "example": content.example()] }
        return [
            "schema": ["type": "string", "description": "One JSON object on each line."], "x-line-schema": schema,
            "example": content.example(),
        ]
    }

    private static func content(_ endpoint: AnyEndpoint, as type: String) -> JSONValue {
        var media: JSONValue = ["schema": endpoint.input.bodySchema]
        if let example = endpoint.operation.example() { media = media.adding("example", example) }
        let lists = endpoint.input.values(in: .body).filter(\.isList)
        guard type == Operation.Body.formType, !lists.isEmpty else { return media }
        let encoding: JSONValue = ["style": "form", "explode": false]
        return media.adding("encoding", .object(map(lists) { ($0.name, encoding) }))
    }

    private static func map<Element>(
        _ elements: [Element], _ entry: (Element) -> (String, JSONValue)
    ) -> [String: JSONValue] {
        Dictionary(elements.map(entry), uniquingKeysWith: { first, _ in first })
    }
}
