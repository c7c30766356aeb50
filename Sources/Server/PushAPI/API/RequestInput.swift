import PushText
import PushTransport
import PushWire

/// Reads the input of an endpoint from a request.
enum RequestInput {
    /// The maximum nesting of objects and arrays in a body.
    static let depthLimit = 16

    static func read<Input: EndpointInput>(
        _ request: HTTP1Request, parameters: [String: String], body: Operation.Body
    ) throws(Problem) -> Input {
        guard !request.headers.isRepeated("Content-Type") else {
            throw Problem(.unsupportedMediaType, detail: "Content-Type is given twice; send it once")
        }
        if Input.self == NoInput.self, case .raw = body, !request.head.hasQuery {
            // The endpoint reads everything itself.
            try expect(mediaType(request.headers), in: body)
            var reader = InputReader()
            return Input(&reader)
        }
        var reader = try reader(of: request, parameters: parameters, body: body)
        reader.peer = request.peer
        let input = Input(&reader)
        let faults = reader.finish()
        guard faults.isEmpty else { throw .invalid(faults.list) }
        return input
    }

    private static func reader(
        of request: HTTP1Request, parameters: [String: String], body: Operation.Body
    ) throws(Problem) -> InputReader {
        let type = mediaType(request.headers)
        switch body {
        case .none:
            // A client that always sends a type and an empty body is harmless; content that is not read is an error.
            guard request.body.isEmpty else {
                throw Problem(.invalid, detail: "this request has no body; send none")
            }
            return InputReader(path: parameters, query: request.query)
        case .raw:
            try expect(type, in: body)
            return InputReader(path: parameters, query: request.query)
        case .json:
            guard type == nil || type == jsonType else { throw unsupported(type, allowed: body.types) }
            return try json(request, parameters: parameters)
        case .form:
            guard type == nil || type == formType else { throw unsupported(type, allowed: body.types) }
            return try form(request, parameters: parameters)
        case .jsonOrForm:
            if type == formType { return try form(request, parameters: parameters) }
            guard type == nil || type == jsonType else { throw unsupported(type, allowed: body.types) }
            return try json(request, parameters: parameters)
        }
    }

    /// The media type of a body with one JSON object on each line.
    static let linesType = Operation.Body.linesType
    private static let formType = Operation.Body.formType
    private static let jsonType = Operation.Body.jsonType

    /// The usual values of `Content-Type`, of which no text is made.
    private static let usualTypes = ["application/json", linesType, formType].map { (text: $0, bytes: Array($0.utf8)) }

    /// Returns the media type of the body in lower case, without parameters; nil if none is given.
    static func mediaType(_ headers: HTTP1Headers) -> String? {
        guard let value = headers.bytes(of: "Content-Type") else { return nil }
        for type in usualTypes where type.bytes.count == value.count && type.bytes.elementsEqual(value) {
            return type.text
        }
        let type = String(decoding: value.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
        return type[...].trimming(while: { $0 == " " || $0 == "\t" }).lowercased()
    }

    /// Whether the body that follows a head has one JSON object on each line.
    static func isLines(_ head: HTTP1Head) -> Bool {
        head.method == .post && mediaType(head.headers) == linesType
    }

    private static func expect(_ type: String?, in body: Operation.Body) throws(Problem) {
        guard type.map({ body.accepts($0) }) ?? true else { throw unsupported(type, allowed: body.types) }
    }

    private static func unsupported(_ type: String?, allowed: [String]) -> Problem {
        Problem(
            .unsupportedMediaType,
            detail: "the body has the type \"\(PlainText.line(type ?? "", limit: 80))\"; send "
                + allowed.joined(separator: " or "))
    }

    private static func json(_ request: HTTP1Request, parameters: [String: String]) throws(Problem) -> InputReader {
        InputReader(path: parameters, query: request.query, document: try document(request.body))
    }

    /// Parses a body.
    static func document(_ body: [UInt8]) throws(Problem) -> JSONDocument {
        do {
            return try JSONDocument(body, depthLimit: depthLimit)
        } catch  where error.code == .tooDeep {
            throw .invalid(
                InputFault(.tooDeep, at: .pointer(""), detail: "objects and arrays are nested too deeply \(error)"))
        } catch {
            throw Problem(.badJSON, detail: "the body is not JSON: \(error)")
        }
    }

    private static func form(_ request: HTTP1Request, parameters: [String: String]) throws(Problem) -> InputReader {
        guard let items = HTTP1QueryItem.items(form: request.body) else {
            throw Problem(.invalid, detail: "the body is not a form: percent-encoded UTF-8 without NUL is expected")
        }
        return InputReader(path: parameters, query: request.query, form: items)
    }
}

extension Substring {
    fileprivate func trimming(while isSpace: (Character) -> Bool) -> Substring {
        var text = drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}
