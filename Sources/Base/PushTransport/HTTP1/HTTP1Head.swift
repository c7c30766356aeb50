/// The request line and the header fields of a request, strictly validated (RFC 9112), and the framing of its body.
///
/// The head keeps its bytes as they were sent; text is made of them when it is asked for.
package struct HTTP1Head: Sendable {
    enum Framing: Equatable {
        case length(Int)
        case chunked
    }

    /// What the request line says, as ranges of the bytes of the head.
    struct RequestLine {
        var method = HTTP1Method.get
        var target = 0..<0
        /// The end of the path: the position of the question mark, or the end of the target.
        var pathEnd = 0
        /// Whether the target has neither escapes nor dots in its path.
        var isPlain = false
        var isHTTP10 = false
    }

    package let method: HTTP1Method
    package let headers: HTTP1Headers
    let framing: Framing
    let isHTTP10: Bool
    /// Whether the client closes the connection after this request, or uses HTTP/1.0.
    let wantsClose: Bool
    let expectsContinue: Bool
    private let targetRange: Range<Int>
    private let pathEnd: Int
    /// Whether the path begins with a slash and needs no decoding: its segments are the bytes between slashes.
    package let hasPlainPath: Bool

    init(
        _ line: RequestLine, headers: HTTP1Headers, framing: Framing, wantsClose: Bool, expectsContinue: Bool
    ) {
        method = line.method
        targetRange = line.target
        pathEnd = line.pathEnd
        hasPlainPath = line.isPlain
        isHTTP10 = line.isHTTP10
        self.headers = headers
        self.framing = framing
        self.wantsClose = wantsClose
        self.expectsContinue = expectsContinue
    }

    /// Parses a request head.
    ///
    /// - Parameter head: The bytes from the request line to the line end before the empty line.
    init(_ head: [UInt8], limits: HTTP1Limits) throws(HTTP1Refusal) {
        var machine = HTTP1RequestMachine(limits: limits)
        var queue = ByteQueue()
        queue.append(head + Array("\r\n".utf8))
        self = try machine.readHeadAlone(&queue)
    }

    // MARK: Target

    /// The target as sent by the client: path and query, still encoded.
    package var target: String { String(decoding: encodedTarget, as: UTF8.self) }

    /// The bytes of the target as sent.
    package var encodedTarget: ArraySlice<UInt8> { headers.bytes[targetRange] }

    /// The bytes of the path as sent, without the query. Signatures cover this form.
    package var encodedPath: ArraySlice<UInt8> { headers.bytes[targetRange.lowerBound..<pathEnd] }

    /// Whether the target has a question mark.
    package var hasQuery: Bool { pathEnd < targetRange.upperBound }

    /// The path segments: the path is split at the slashes in the encoded form, and each segment is then decoded. `/`
    /// has no segment, and `/a/` ends with an empty one. No segment contains a control character, or `.` or `..` as a
    /// path step. An encoded slash stays within its segment.
    ///
    /// - Complexity: The path is split with every access.
    package var path: [String] { parsedTarget?.path ?? [] }

    /// The decoded items of the query.
    ///
    /// - Complexity: The query is split with every access.
    package var query: [HTTP1QueryItem] {
        pathEnd < targetRange.upperBound ? parsedTarget?.query ?? [] : []
    }

    // The parser has already rejected targets that cannot be parsed.
    private var parsedTarget: HTTP1Target? { try? HTTP1Target(target, method: method) }
}
