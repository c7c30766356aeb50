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
        var reader = try reader(of: request, parameters: parameters, body: body)
        let input = Input(&reader)
        let faults = reader.finish()
        guard faults.isEmpty else { throw .invalid(faults.list) }
        return input
    }

    private static func reader(
        of request: HTTP1Request, parameters: [String: String], body: Operation.Body
    ) throws(Problem) -> InputReader {
        let type = mediaType(request)
        switch body {
        case .none:
            // A client that always sends a type and an empty body is harmless; content that is not read is an error.
            guard request.body.isEmpty else {
                throw Problem(.invalid, detail: "this request has no body; send none")
            }
            return InputReader(path: parameters, query: request.query)
        case .raw(let types):
            guard type == nil || types.contains(where: { $0 == type }) else {
                throw unsupported(type, allowed: types)
            }
            return InputReader(path: parameters, query: request.query)
        case .json:
            guard type == nil || type == "application/json" else {
                throw unsupported(type, allowed: ["application/json"])
            }
            return try json(request, parameters: parameters)
        case .form:
            guard type == nil || type == formType else { throw unsupported(type, allowed: [formType]) }
            return try form(request, parameters: parameters)
        case .jsonOrForm:
            if type == formType { return try form(request, parameters: parameters) }
            guard type == nil || type == "application/json" else {
                throw unsupported(type, allowed: ["application/json", formType])
            }
            return try json(request, parameters: parameters)
        }
    }

    /// The media type of a body with one JSON object on each line.
    static let linesType = "application/x-ndjson"
    private static let formType = "application/x-www-form-urlencoded"

    /// Returns the media type of the body in lower case, without parameters; nil if none is given.
    static func mediaType(_ request: HTTP1Request) -> String? {
        guard let value = request.headers["Content-Type"] else { return nil }
        let type = value.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)[0]
        return type.trimming(while: { $0 == " " || $0 == "\t" }).lowercased()
    }

    /// Whether the body that follows a head has one JSON object on each line.
    static func isLines(_ head: HTTP1Head) -> Bool {
        guard head.method == .post, let type = head.headers["Content-Type"] else { return false }
        return type.lowercased().hasPrefix(linesType)
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
