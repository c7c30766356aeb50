import PushWire

/// The part of an OpenAPI document that describes the answers of an operation: those that it declares, and those that
/// follow from its declaration.
package enum OpenAPIResponses {
    static let refusedName = "Refused"

    static func all(of endpoint: AnyEndpoint, in book: inout NamedSchemas) -> JSONValue {
        let usual = media(endpoint.answerSchema(&book), lines: endpoint.lineSchema(&book))
        var responses: [Int: JSONValue] = [:]
        for answer in endpoint.operation.answers {
            var content: [String: JSONValue] = [:]
            for kind in answer.kinds {
                content[name(of: kind.mediaType)] = media(
                    kind.schema(in: &book), lines: kind.lineSchema(in: &book))
            }
            if content.isEmpty { content[name(of: endpoint.mediaType)] = usual }
            responses[answer.status] = response(about: answer.about, content: content, headers: answer.headers)
        }
        var codes: [Int: [ProblemCode]] = [:]
        for code in problems(of: endpoint) { codes[code.status, default: []].append(code) }
        // The default is not for a status that has an entry of its own.
        for status in Set(responses.keys).union(codes.keys) {
            codes[status, default: []] += Problem.ofAnyRequest.filter { $0.status == status }
        }
        for (status, codes) in codes where !codes.isEmpty {
            let known = responses[status] ?? response(about: "", content: [:], headers: [:])
            responses[status] = adding(distinct(codes), status: status, to: known)
        }
        var named = Dictionary(uniqueKeysWithValues: responses.map { ("\($0.key)", $0.value) })
        named["default"] = ["$ref": .string("#/components/responses/\(refusedName)")]
        return .object(named)
    }

    /// The problems that a request to the endpoint may have, except those that any request may have.
    package static func problems(of endpoint: AnyEndpoint) -> [ProblemCode] {
        let operation = endpoint.operation
        var codes = operation.problems + [.invalid]
        if operation.access != .open {
            codes += [
                .unauthenticated, .clockSkew, .replayed, .forbidden, .crossOrigin, .tooManyRequests, .unknownHost,
            ]
        }
        if !operation.body.types.isEmpty { codes.append(.tooLarge) }
        if !operation.body.types.isEmpty, !operation.body.acceptsAnyType { codes.append(.unsupportedMediaType) }
        // An operation with an answer of its own for this status describes the fault in it.
        if operation.body.types.contains(Operation.Body.jsonType),
            !operation.answers.contains(where: { $0.status == 400 })
        {
            codes.append(.badJSON)
        }
        return distinct(codes)
    }

    /// The answer that any request may get before its endpoint, or in its stead.
    static var refused: JSONValue {
        let codes = Problem.ofAnyRequest
        return response(
            about: "The request did not reach its endpoint, or the server failed. " + sentences(codes),
            content: [Problem.mediaType: problem],
            headers: ["Retry-After": "The seconds after which the client may try again, if the status is 503."]
        ).adding("x-codes", words(codes))
    }

    // MARK: Parts

    /// Returns a media type without its parameters, as clients compare it.
    private static func name(of mediaType: String) -> String { String(mediaType.prefix { $0 != ";" }) }

    private static var problem: JSONValue { media(["$ref": "#/components/schemas/Problem"], lines: nil) }

    private static func media(_ schema: JSONValue, lines: JSONValue?) -> JSONValue {
        let media: JSONValue = ["schema": schema]
        return lines.map { media.adding("x-line-schema", $0) } ?? media
    }

    private static func response(
        about: String, content: [String: JSONValue], headers: [String: String]
    ) -> JSONValue {
        let response: JSONValue = ["description": .string(about), "content": .object(content)]
        if headers.isEmpty { return response }
        return response.adding(
            "headers",
            .object(headers.mapValues { ["description": .string($0), "schema": ["type": "string"]] }))
    }

    /// Adds problems to the answer with their status.
    private static func adding(_ codes: [ProblemCode], status: Int, to response: JSONValue) -> JSONValue {
        guard case .object(var members) = response else { return response }
        if case .object(var content)? = members["content"] {
            content[Problem.mediaType] = problem
            members["content"] = .object(content)
        }
        if case .string(let about)? = members["description"] {
            members["description"] = .string(about.isEmpty ? sentences(codes) : "\(about) \(sentences(codes))")
        }
        members["x-codes"] = words(codes)
        let field: (name: String, about: String)? =
            switch status {
            case 401: ("WWW-Authenticate", "The ways to authenticate.")
            case 429, 503: ("Retry-After", "The seconds after which the client may try again.")
            default: nil
            }
        if let field {
            var headers: [String: JSONValue] = [:]
            if case .object(let known)? = members["headers"] { headers = known }
            headers[field.name] = ["description": .string(field.about), "schema": ["type": "string"]]
            members["headers"] = .object(headers)
        }
        return .object(members)
    }

    private static func words(_ codes: [ProblemCode]) -> JSONValue { .array(codes.map { .string($0.rawValue) }) }

    private static func sentences(_ codes: [ProblemCode]) -> String {
        codes.map { "\($0.rawValue): \($0.title)." }.joined(separator: " ")
    }

    private static func distinct(_ codes: [ProblemCode]) -> [ProblemCode] {
        codes.indices.filter { !codes[..<$0].contains(codes[$0]) }.map { codes[$0] }
    }
}
