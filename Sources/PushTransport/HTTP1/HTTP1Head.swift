/// The request line and the header fields of a request, strictly validated (RFC 9112), and the framing of its body.
///
/// The rules are strict to prevent request smuggling: either Content-Length or Transfer-Encoding, only once, in its
/// plain form; no folded lines; no space before a colon; exactly one Host in HTTP/1.1.
struct HTTP1Head {
    enum Framing: Equatable {
        case length(Int)
        case chunked
    }

    let method: HTTP1Method
    let target: String
    let path: [String]
    let query: [HTTP1QueryItem]
    let headers: HTTP1Headers
    let framing: Framing
    let isHTTP10: Bool
    /// Whether the client closes the connection after this request, or uses HTTP/1.0.
    let wantsClose: Bool
    let expectsContinue: Bool

    /// Parses a request head.
    ///
    /// - Parameter head: The bytes from the request line to the line end before the empty line. The caller has verified
    ///   that all line ends are CR LF and that there is no NUL.
    init(_ head: [UInt8], limits: HTTP1Limits) throws(HTTP1Refusal) {
        let lines = Self.lines(of: head)
        let parts = head[lines[0]].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3 else {
            throw HTTP1Refusal(
                400, because: "the request line must be a method, a target and a version, separated by one space")
        }
        isHTTP10 = try Self.isHTTP10(parts[2])
        method = try Self.method(parts[0])
        guard !parts[1].isEmpty, parts[1].allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") }) else {
            throw HTTP1Refusal(400, because: "the target contains a character that must be percent-encoded")
        }
        target = String(decoding: parts[1], as: UTF8.self)
        let taken = try HTTP1Target(target, method: method)
        path = taken.path
        query = taken.query
        guard lines.count - 1 <= limits.headerCount else {
            throw HTTP1Refusal(431, because: "more than \(limits.headerCount) header fields")
        }
        var headers = HTTP1Headers()
        for line in lines.dropFirst() {
            try parseField(head[line], into: &headers)
        }
        self.headers = headers
        try Self.checkHost(headers, isHTTP10: isHTTP10)
        framing = try Self.framing(headers, isHTTP10: isHTTP10, bodyLimit: limits.bodyBytes)
        guard method != .trace || framing == .length(0) else {
            throw HTTP1Refusal(400, because: "TRACE has no body")
        }
        // A "keep-alive" of an HTTP/1.0 client is ignored, because evhttp frames streamed answers to such clients
        // wrongly.
        wantsClose = isHTTP10 || headers.listed("Connection").contains { $0.isSameToken(as: "close") }
        expectsContinue = try Self.expectsContinue(headers, isHTTP10: isHTTP10)
    }

    private static func lines(of head: [UInt8]) -> [Range<Int>] {
        var lines: [Range<Int>] = []
        var start = 0
        for (index, byte) in head.enumerated() where byte == UInt8(ascii: "\n") {
            lines.append(start..<(index - 1))
            start = index + 1
        }
        return lines
    }

    private static func isHTTP10(_ version: ArraySlice<UInt8>) throws(HTTP1Refusal) -> Bool {
        if version.elementsEqual("HTTP/1.1".utf8) { return false }
        if version.elementsEqual("HTTP/1.0".utf8) { return true }
        let isVersion = version.count == 8 && version.starts(with: "HTTP/".utf8)
        throw isVersion
            ? HTTP1Refusal(505, because: "this server speaks HTTP/1.1")
            : HTTP1Refusal(400, because: "the request line does not end in an HTTP version")
    }

    private static func method(_ name: ArraySlice<UInt8>) throws(HTTP1Refusal) -> HTTP1Method {
        guard !name.isEmpty, name.allSatisfy(isTokenByte) else {
            throw HTTP1Refusal(400, because: "the method is not a token")
        }
        let name = String(decoding: name, as: UTF8.self)
        if let method = HTTP1Method(rawValue: name) { return method }
        throw name == "CONNECT"
            ? HTTP1Refusal(405, because: "this server is not a proxy")
            : HTTP1Refusal(501, because: "this server does not know the method")
    }

    private static let notInHosts = Set(" \t,/?#@\\".utf8)

    private static func checkHost(_ headers: HTTP1Headers, isHTTP10: Bool) throws(HTTP1Refusal) {
        let hosts = headers.all("Host")
        guard hosts.count == 1 || (isHTTP10 && hosts.isEmpty) else {
            throw HTTP1Refusal(400, because: "a request must have exactly one Host")
        }
        guard hosts.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x7f && !notInHosts.contains($0) } }) else {
            throw HTTP1Refusal(400, because: "Host is not a valid host")
        }
    }

    private static func framing(
        _ headers: HTTP1Headers, isHTTP10: Bool, bodyLimit: Int
    ) throws(HTTP1Refusal) -> Framing {
        let lengths = headers.all("Content-Length")
        let encodings = headers.all("Transfer-Encoding")
        if let encoding = encodings.first {
            guard lengths.isEmpty else {
                throw HTTP1Refusal(400, because: "Content-Length and Transfer-Encoding exclude each other")
            }
            guard !isHTTP10 else { throw HTTP1Refusal(400, because: "HTTP/1.0 has no Transfer-Encoding") }
            guard encodings.count == 1 else { throw HTTP1Refusal(400, because: "Transfer-Encoding is given twice") }
            guard encoding.isSameToken(as: "chunked") else {
                throw HTTP1Refusal(501, because: "the only supported Transfer-Encoding is chunked")
            }
            return .chunked
        }
        guard let length = lengths.first else { return .length(0) }
        guard lengths.count == 1 else { throw HTTP1Refusal(400, because: "Content-Length is given twice") }
        guard !length.isEmpty, length.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            throw HTTP1Refusal(400, because: "Content-Length is not a number")
        }
        // A number that does not fit into an Int also exceeds the limit.
        guard let count = Int(length), count <= bodyLimit else {
            throw HTTP1Refusal(413, because: "the body exceeds \(bodyLimit) bytes")
        }
        return .length(count)
    }

    private static func expectsContinue(_ headers: HTTP1Headers, isHTTP10: Bool) throws(HTTP1Refusal) -> Bool {
        let expectations = headers.listed("Expect")
        guard !isHTTP10, !expectations.isEmpty else { return false }
        guard expectations.allSatisfy({ $0.isSameToken(as: "100-continue") }) else {
            throw HTTP1Refusal(417, because: "the only supported expectation is 100-continue")
        }
        return true
    }
}

/// Parses one header or trailer line without its line end.
func parseField(_ line: ArraySlice<UInt8>, into headers: inout HTTP1Headers) throws(HTTP1Refusal) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        throw HTTP1Refusal(400, because: "a header line has no colon")
    }
    let name = line[..<colon]
    guard !name.isEmpty, name.allSatisfy(isTokenByte) else {
        // This also rejects a folded line, which starts with a space, and a space before the colon.
        throw HTTP1Refusal(400, because: "a header name is not a token")
    }
    var value = line[(colon + 1)...]
    while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
    while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
    guard value.allSatisfy(isFieldValueByte), let text = String(validating: value, as: UTF8.self) else {
        throw HTTP1Refusal(400, because: "a header value contains a control character or is not UTF-8")
    }
    headers.add(String(decoding: name, as: UTF8.self), value: text)
}
