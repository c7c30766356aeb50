import PushText

/// A request to the control port, already parsed by the HTTP server.
package struct ControlRequest: Sendable {
    package var method: String
    /// The path without the query.
    package var path: String
    /// The text after the question mark, still percent-encoded.
    package var query: String
    package var body: [UInt8]

    package init(method: String, path: String, query: String = "", body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
    }
}

package struct ControlResponse: Sendable {
    package var status: UInt16
    package var contentType: String
    package var body: [UInt8]

    static func json(_ status: UInt16 = 200, _ write: (inout JSONText) -> Void) -> ControlResponse {
        var text = JSONText()
        text.object(nil, write)
        text.newline()
        return ControlResponse(status: status, contentType: "application/json", body: text.bytes)
    }

    static func lines(_ bytes: [UInt8]) -> ControlResponse {
        ControlResponse(status: 200, contentType: "application/x-ndjson", body: bytes)
    }

    static func text(_ text: String) -> ControlResponse {
        ControlResponse(status: 200, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }
}

/// A request to the control port that fails: the HTTP status, the problem, and how to correct the request.
struct ControlError: Error {
    var status: UInt16
    var problem: String
    var advice: String

    init(_ status: UInt16, _ problem: String, advice: String) {
        self.status = status
        self.problem = problem
        self.advice = advice
    }

    init(_ problem: String, advice: String) {
        self.init(400, problem, advice: advice)
    }

    /// Parses a request body. An error is reported together with the advice.
    static func reading<Value>(advice: String, _ body: () throws -> Value) throws(ControlError) -> Value {
        do {
            return try body()
        } catch let error as ControlError {
            throw error
        } catch {
            throw ControlError("\(error)", advice: advice)
        }
    }

    var response: ControlResponse {
        .json(status) {
            $0.string("error", problem)
            $0.string("advice", advice)
        }
    }
}

/// The parameters of a request's query.
struct ControlQuery {
    private var values: [(key: String, value: String)] = []

    init(_ text: String, keys: [String]) throws(ControlError) {
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let pieces = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let key = try Self.decode(pieces[0])
            let value = try pieces.count > 1 ? Self.decode(pieces[1]) : ""
            guard keys.contains(key) else {
                let nearest = NearestWord.to(key, in: keys)
                throw ControlError(
                    "unknown parameter \"\(key)\"",
                    advice: nearest.map { "did you mean \"\($0)\"?" }
                        ?? (keys.isEmpty ? "remove the query" : "known parameters: \(keys.joined(separator: ", "))"))
            }
            values.append((key, value))
        }
    }

    subscript(key: String) -> String? { values.last { $0.key == key }?.value }

    func integer(_ key: String, in range: ClosedRange<UInt64>) throws(ControlError) -> UInt64? {
        guard let text = self[key] else { return nil }
        guard let number = UInt64(text), range.contains(number) else {
            throw ControlError(
                "\"\(text)\" is not a valid \(key)",
                advice: "use a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func flag(_ key: String) throws(ControlError) -> Bool {
        guard let text = self[key] else { return false }
        if text.isEmpty || text == "true" { return true }
        if text == "false" { return false }
        throw ControlError("\"\(text)\" is not a valid \(key)", advice: "write \(key)=true or remove it")
    }

    /// Percent-decodes a text, with + for a space.
    private static func decode(_ text: Substring.UTF8View) throws(ControlError) -> String {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(Hex.value), let low = rest.popFirst().flatMap(Hex.value) else {
                    throw ControlError(
                        "the query contains a % that is not followed by two hexadecimal digits",
                        advice: "write %25 for a percent sign")
                }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
