import PushModel
package import PushWire

/// The OpenAPI 3.1 document of a table of endpoints, made from their declarations.
package enum OpenAPIDocument {
    package static func make(of endpoints: [AnyEndpoint], version: String) -> JSONValue {
        var book = SchemaBook()
        var paths: [String: [String: JSONValue]] = [:]
        for endpoint in endpoints {
            paths[endpoint.operation.path, default: [:]][endpoint.operation.method.rawValue.lowercased()] =
                operation(endpoint, in: &book)
        }
        _ = book.schema(of: Problem.self)
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Carillon", "version": .string(version),
                "description": "The HTTP side of the push gateway Carillon.",
                "license": ["name": "see LICENSE"],
            ],
            "paths": .object(paths.mapValues { .object($0) }),
            "components": [
                "schemas": .object(book.schemas),
                "securitySchemes": securitySchemes,
                "responses": [
                    "Problem": [
                        "description": "The request was not carried out (RFC 9457).",
                        "content": [
                            "application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]
                        ],
                    ]
                ],
            ],
        ]
    }

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
        ]
    }

    private static func operation(_ endpoint: AnyEndpoint, in book: inout SchemaBook) -> JSONValue {
        let operation = endpoint.operation
        var members: [String: JSONValue] = [
            "summary": .string(operation.summary),
            "operationId": .string(operationID(operation)),
            "tags": [.string(operation.subject)],
            "responses": responses(endpoint, in: &book),
        ]
        switch operation.access {
        case .open: members["security"] = []
        case .roles(let roles):
            members["security"] = [["signature": []], ["bearer": []]]
            members["x-roles"] = .array(roles.map { .string($0.rawValue) })
        }
        let parameters = (endpoint.input.values(in: .path) + endpoint.input.values(in: .query)).map { value in
            JSONValue.object([
                "name": .string(value.name), "in": .string(value.place.rawValue),
                "required": .bool(value.isRequired), "schema": value.schema, "description": .string(value.about),
            ])
        }
        if !parameters.isEmpty { members["parameters"] = .array(parameters) }
        if let body = requestBody(endpoint) { members["requestBody"] = body }
        return .object(members)
    }

    /// Returns a name such as `getGatewaysApp`.
    private static func operationID(_ operation: Operation) -> String {
        let words = operation.path.split { !$0.isLetter && !$0.isNumber }.filter { $0 != "v1" }
        return operation.method.rawValue.lowercased()
            + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func requestBody(_ endpoint: AnyEndpoint) -> JSONValue? {
        let schema = endpoint.input.bodySchema
        let types: [String]
        switch endpoint.operation.body {
        case .none: return nil
        case .json: types = ["application/json"]
        case .form: types = ["application/x-www-form-urlencoded"]
        case .jsonOrForm: types = ["application/json", "application/x-www-form-urlencoded"]
        case .raw(let all):
            return [
                "required": true,
                "content": .object(
                    Dictionary(
                        all.map { ($0, ["schema": ["type": "object"]]) }, uniquingKeysWith: { first, _ in first })),
            ]
        }
        let isRequired = endpoint.input.values(in: .body).contains(where: \.isRequired)
        return [
            "required": .bool(isRequired),
            "content": .object(
                Dictionary(types.map { ($0, ["schema": schema]) }, uniquingKeysWith: { first, _ in first })),
        ]
    }

    private static func responses(_ endpoint: AnyEndpoint, in book: inout SchemaBook) -> JSONValue {
        var responses: [String: JSONValue] = [:]
        let schema = endpoint.answerSchema(&book)
        for answer in endpoint.operation.answers {
            responses["\(answer.status)"] = [
                "description": .string(answer.about), "content": [endpoint.mediaType: ["schema": schema]],
            ]
        }
        for code in problems(of: endpoint) {
            responses["\(code.status)"] = ["$ref": "#/components/responses/Problem"]
        }
        return .object(responses)
    }

    /// The problems that a request to the endpoint may have.
    package static func problems(of endpoint: AnyEndpoint) -> [ProblemCode] {
        let operation = endpoint.operation
        var codes = operation.problems + [.internal, .unavailable, .unknownHost]
        if operation.access != .open {
            codes += [.unauthenticated, .forbidden, .tooManyRequests]
        }
        if !endpoint.input.values.isEmpty || operation.body != .none { codes.append(.invalid) }
        if operation.body != .none { codes += [.badJSON, .tooLarge, .unsupportedMediaType] }
        return codes
    }
}
