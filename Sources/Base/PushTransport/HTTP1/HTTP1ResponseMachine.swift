/// The status and body of a response.
package struct HTTP1Response: Equatable, Sendable {
    package let status: Int
    package let headers: HTTP1Headers
    package let body: [UInt8]

    package init(status: Int, headers: HTTP1Headers = [:], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Parses one HTTP/1.1 response from its bytes as they arrive, and drops the interim responses before it. The size of all
/// of them is bounded.
package struct HTTP1ResponseMachine {
    package struct Fault: Error, Equatable, CustomStringConvertible {
        package let description: String
        /// Whether the connection ended before the response did.
        package let isCutOff: Bool

        init(_ description: String, isCutOff: Bool = false) {
            self.description = description
            self.isCutOff = isCutOff
        }
    }

    /// The bytes of a header, and of all interim responses together, which bounds their number to 1,000.
    package static let headLimit = 16 * 1024
    package static let bodyLimit = 16 * 1024 * 1024
    /// The bytes of a body that nobody reads after which a response counts as complete.
    package static let unreadLimit = 16 * 1024

    private enum State {
        case head
        /// `length` is nil for a body that ends with the connection.
        case body(status: Int, headers: HTTP1Headers, length: Int?)
        case chunks(status: Int, headers: HTTP1Headers)
    }

    private var state = State.head
    private var bytes: [UInt8] = []
    /// The bytes of the interim responses.
    private var interim = 0
    /// The index at which the search for the end of the header continues.
    private var searched = 0
    private var chunks: HTTP1ChunkDecoder
    private let readsBody: Bool

    /// - Parameter readsBody: Whether somebody reads the body. Otherwise it is dropped, whatever its length.
    package init(readsBody: Bool = true) {
        self.readsBody = readsBody
        chunks = HTTP1ChunkDecoder(limit: readsBody ? Self.bodyLimit : Self.unreadLimit)
    }

    /// The response without its body, once its header was received.
    package var head: HTTP1Response? {
        switch state {
        case .head: nil
        case .body(let status, let headers, _), .chunks(let status, let headers):
            HTTP1Response(status: status, headers: headers, body: [])
        }
    }

    /// Adds bytes, and returns the response once it is complete.
    package mutating func received(_ piece: some Sequence<UInt8>) throws(Fault) -> HTTP1Response? {
        bytes.append(contentsOf: piece)
        while case .head = state {
            guard let end = headEnd() else {
                if bytes.count > Self.headLimit { throw Fault("the header has no end") }
                return nil
            }
            state = try Self.head(bytes[..<end], readsBody: readsBody)
            bytes.removeSubrange(..<(end + 4))
            searched = 0
            if case .head = state { interim += end + 4 }
            guard interim <= Self.headLimit else { throw Fault("too many interim responses") }
        }
        if case .chunks(let status, let headers) = state {
            guard try chunks.take(&bytes) else { return nil }
            return HTTP1Response(status: status, headers: headers, body: chunks.body)
        }
        guard case .body(let status, let headers, let length) = state else { return nil }
        if !readsBody {
            let isComplete = bytes.count >= min(length ?? .max, Self.unreadLimit)
            return isComplete ? HTTP1Response(status: status, headers: headers, body: []) : nil
        }
        guard bytes.count <= Self.bodyLimit else {
            throw Fault("the response is longer than \(Self.bodyLimit >> 20) MiB")
        }
        guard let length else { return nil }
        guard bytes.count <= length else { throw Fault("the body is longer than its Content-Length") }
        return bytes.count == length ? HTTP1Response(status: status, headers: headers, body: bytes) : nil
    }

    /// Notes that the connection has ended, which completes a response without a length.
    package mutating func ended() throws(Fault) -> HTTP1Response {
        guard case .body(let status, let headers, nil) = state else {
            let isEmpty = if case .head = state { bytes.isEmpty } else { false }
            throw Fault(isEmpty ? "no response" : "the response is incomplete", isCutOff: true)
        }
        return HTTP1Response(status: status, headers: headers, body: bytes)
    }

    private mutating func headEnd() -> Int? {
        let mark: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a]
        while searched + 4 <= bytes.count {
            if bytes[searched..<(searched + 4)].elementsEqual(mark) { return searched }
            searched += 1
        }
        return nil
    }

    /// Spaces and tabs around the value of a field are no part of it.
    private static func withoutBlanks(_ value: Substring) -> Substring {
        guard let first = value.utf8.firstIndex(where: { !HTTP1HeadParser.isBlank($0) }),
            let last = value.utf8.lastIndex(where: { !HTTP1HeadParser.isBlank($0) })
        else { return "" }
        return value[first..<value.utf8.index(after: last)]
    }

    /// Returns the state after a header: that before it, if the response is an interim one.
    private static func head(_ bytes: ArraySlice<UInt8>, readsBody: Bool) throws(Fault) -> State {
        guard bytes.count <= headLimit else { throw Fault("the header is too long") }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0] == "HTTP/1.1" || words[0] == "HTTP/1.0", words[1].utf8.count == 3,
            let status = Int(words[1]), (100...599).contains(status), status != 101
        else { throw Fault("not an HTTP response") }
        if status < 200 { return .head }
        var length: Int?
        var isChunked = false
        var headers: HTTP1Headers = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = withoutBlanks(parts[1])
            headers.add(String(parts[0]), value: String(value))
            switch parts[0].lowercased() {
            case "content-length":
                let limit = readsBody ? bodyLimit : .max
                guard let number = Int(value), (0...limit).contains(number), length == nil else {
                    throw Fault("invalid Content-Length \"\(value)\"")
                }
                length = number
            case "transfer-encoding":
                guard value.lowercased() == "chunked", !isChunked else {
                    throw Fault("unsupported Transfer-Encoding")
                }
                isChunked = true
            default: break
            }
        }
        if isChunked {
            guard length == nil else { throw Fault("the response has Content-Length and Transfer-Encoding") }
            return .chunks(status: status, headers: headers)
        }
        return .body(status: status, headers: headers, length: status == 204 ? 0 : length)
    }
}
