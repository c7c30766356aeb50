private import Glibc

/// A machine that parses requests from the bytes of a connection, as strictly as RFC 9112 allows. It uses no I/O and no
/// clock.
///
/// The lines of a head are parsed where they are, as soon as they are complete, and no byte is searched twice for a line
/// end, however the client splits the input. The limits bound the memory.
@safe
struct HTTP1RequestMachine: ~Copyable {
    enum Step {
        /// All bytes that can be processed were consumed.
        case needsMore
        /// The header fields are complete, a body follows, and the client waits for "100 Continue".
        case expectsContinue
        case request(HTTP1Head, body: [UInt8])
        /// The final step: the start of the next request is no longer known.
        case refused(HTTP1Refusal, isHead: Bool)
    }

    /// The part of a request that is expected next. Each part has its own time limit.
    enum Stage {
        case idle
        case head
        case body
    }

    private enum Phase {
        /// Up to the empty line. Can transition to: body, chunkSize, head (a request without a body), refused.
        case head
        /// `remaining` bytes of a body with Content-Length. Can transition to: head.
        case body(remaining: Int)
        /// The first line of a chunk. Can transition to: chunk, trailers, refused.
        case chunkSize
        /// `remaining` bytes of a chunk. Can transition to: chunkEnd.
        case chunk(remaining: Int)
        /// The line end after a chunk. Can transition to: chunkSize, refused.
        case chunkEnd
        /// The fields after the last chunk, which are validated and dropped. Can transition to: head, refused.
        case trailers
        case refused(HTTP1Refusal)
    }

    private enum Line {
        case partial
        /// A complete line; the value is its length without the line end.
        case whole(Int)
        case bad(HTTP1Refusal)
    }

    /// The maximum length of the line before a chunk. The RFC allows extensions there; they are rarely used and are
    /// dropped.
    private static let chunkLineBytes = 256
    /// The memory that is reserved for a body when its first bytes arrive.
    private static let firstReservation = 64 * 1024
    /// The largest limit of a body, so that no arithmetic with sizes can overflow.
    private static let largestLimit = 1 << 40

    private let limits: HTTP1Limits
    private var phase = Phase.head
    private var parser: HTTP1HeadParser
    private var head: HTTP1Head?
    private var body: [UInt8] = []
    private var bodyLimit = 0
    /// The start of the current line of the head, and the position up to which a line end was searched, both from the
    /// first byte that was not consumed.
    private var lineStart = 0
    private var scanned = 0
    private var skippedEmptyLine = false
    private var trailerBytes = 0
    /// The bytes of chunk extensions, which are no part of the body.
    private var extensionBytes = 0

    init(limits: HTTP1Limits) {
        self.limits = limits
        parser = HTTP1HeadParser(maxFields: limits.headerCount)
    }

    /// The number of bytes of an incomplete body.
    var bodyCount: Int { body.count }

    /// Whether the method of the request that is being read is HEAD.
    var asksForHead: Bool { head.map { $0.method == .head } ?? parser.asksForHead }

    /// The method of the request that is being read; nil if its request line was not read.
    var method: HTTP1Method? { head?.method ?? parser.method }

    func stage(with bytes: borrowing ByteQueue) -> Stage {
        stage(hasBytes: !bytes.isEmpty)
    }

    /// Returns the current stage, given whether there are bytes that were not consumed.
    func stage(hasBytes: Bool) -> Stage {
        guard case .head = phase else { return .body }
        return hasBytes || skippedEmptyLine ? .head : .idle
    }

    /// Consumes bytes from the front. Call it again until it returns `needsMore`.
    mutating func next(_ bytes: inout ByteQueue) -> Step {
        var used = 0
        let step = unsafe bytes.withBytes { unsafe next($0, used: &used) }
        bytes.consume(used)
        return step
    }

    /// Parses one head, and nothing else.
    mutating func readHeadAlone(_ bytes: inout ByteQueue) throws(HTTP1Refusal) -> HTTP1Head {
        switch next(&bytes) {
        case .request(let head, _): return head
        case .refused(let refusal, _): throw refusal
        case .needsMore, .expectsContinue:
            guard let head else { throw HTTP1Refusal(400, because: "the head is incomplete") }
            return head
        }
    }

    /// Consumes bytes from `used` on, and adds their number to it. Call it again until it returns `needsMore`; the bytes
    /// that are left then must be the first ones of the next call.
    mutating func next(_ bytes: UnsafeRawBufferPointer, used: inout Int) -> Step {
        while true {
            switch phase {
            case .head:
                do throws(HTTP1Refusal) {
                    guard let step = try unsafe readHead(bytes, used: &used) else { continue }
                    return step
                } catch {
                    return refuse(error)
                }
            case .body(let remaining):
                let taken = unsafe take(upTo: remaining, from: bytes, used: &used)
                if taken == remaining { return finished() }
                phase = .body(remaining: remaining - taken)
                return .needsMore
            case .chunk(let remaining):
                let taken = unsafe take(upTo: remaining, from: bytes, used: &used)
                phase = taken == remaining ? .chunkEnd : .chunk(remaining: remaining - taken)
                if taken < remaining { return .needsMore }
            case .chunkSize, .chunkEnd, .trailers:
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[used...])
                switch unsafe line(in: rest) {
                case .partial: return .needsMore
                case .bad(let refusal): return refuse(refusal)
                case .whole(let length):
                    used += length + 2
                    do throws(HTTP1Refusal) {
                        let line = unsafe UnsafeRawBufferPointer(rebasing: rest[..<length])
                        if let step = try unsafe readLine(line) { return step }
                    } catch {
                        return refuse(error)
                    }
                }
            case .refused(let refusal):
                used = bytes.count
                return .refused(refusal, isHead: asksForHead)
            }
        }
    }

    // MARK: Head

    /// Parses the lines of the head that are complete. Returns nil if the caller must try again.
    private mutating func readHead(
        _ bytes: UnsafeRawBufferPointer, used: inout Int
    ) throws(HTTP1Refusal) -> Step? {
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: bytes[used...])
        if scanned == 0, let first = unsafe bytes.first, !isTokenByte(first), first != UInt8(ascii: "\r") {
            throw HTTP1Refusal(400, because: "the input is not HTTP")
        }
        while true {
            guard let end = unsafe Self.lineFeed(in: bytes, from: scanned) else {
                scanned = bytes.count
                // Check here and not after the whole head has arrived: the answer must not depend on how the bytes
                // were split.
                try checkHeadSize(bytes.count)
                return .needsMore
            }
            try checkHeadSize(end)
            guard end > lineStart, unsafe bytes[end - 1] == UInt8(ascii: "\r") else {
                throw HTTP1Refusal(400, because: "a line feed without a carriage return")
            }
            let line = lineStart..<(end - 1)
            if line.isEmpty {
                if lineStart > 0 { break }
                // RFC 9112, section 2.2: ignore an empty line before a request, but only one.
                guard !skippedEmptyLine else {
                    throw HTTP1Refusal(400, because: "more than one empty line before a request")
                }
                skippedEmptyLine = true
                scanned = 0
                used += 2
                return nil
            }
            if lineStart == 0 {
                try unsafe parser.readRequestLine(line, in: bytes)
            } else {
                try unsafe parser.readField(line, in: bytes)
            }
            (lineStart, scanned) = (end + 1, end + 1)
        }
        let text = unsafe [UInt8](UnsafeRawBufferPointer(rebasing: bytes[..<lineStart]))
        used += lineStart + 2
        return try finishHead(text)
    }

    /// Takes a head whose lines are complete.
    private mutating func finishHead(_ text: [UInt8]) throws(HTTP1Refusal) -> Step? {
        (lineStart, scanned) = (0, 0)
        skippedEmptyLine = false
        let head = try parser.finish(text)
        self.head = head
        parser = HTTP1HeadParser(maxFields: limits.headerCount)
        if head.framing == .length(0) { return finished() }
        bodyLimit = min(max(limits.bodyBytes(for: head), 0), Self.largestLimit)
        switch head.framing {
        case .length(let length):
            guard length <= bodyLimit else { throw tooLarge }
            phase = .body(remaining: length)
        case .chunked: phase = .chunkSize
        }
        return head.expectsContinue ? .expectsContinue : nil
    }

    /// Throws if a head of which `count` bytes were scanned exceeds its limit. The last of them may be a line feed.
    private func checkHeadSize(_ count: Int) throws(HTTP1Refusal) {
        let limit = limits.headerBytes
        guard count - 1 <= limit else {
            throw HTTP1Refusal(
                lineStart == 0 ? 414 : 431, because: "the request line and header fields exceed \(limit) bytes")
        }
    }

    private static func lineFeed(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress else { return nil }
        guard let found = unsafe memchr(base + start, 0x0a, bytes.count - start) else { return nil }
        return unsafe UnsafeRawPointer(found) - base
    }

    private var tooLarge: HTTP1Refusal { HTTP1Refusal(413, because: "the body exceeds \(bodyLimit) bytes") }

    // MARK: Body

    private mutating func readLine(_ line: UnsafeRawBufferPointer) throws(HTTP1Refusal) -> Step? {
        switch phase {
        case .chunkEnd:
            guard unsafe line.isEmpty else { throw HTTP1Refusal(400, because: "a chunk is longer than its size") }
            phase = .chunkSize
        case .trailers:
            if unsafe line.isEmpty { return finished() }
            trailerBytes += line.count + 2
            guard trailerBytes <= limits.headerBytes else {
                throw HTTP1Refusal(431, because: "the trailers exceed \(limits.headerBytes) bytes")
            }
            _ = try unsafe HTTP1HeadParser.slot(0..<line.count, in: line)
        default:
            let size = try unsafe chunkSize(line)
            phase = size == 0 ? .trailers : .chunk(remaining: size)
        }
        return nil
    }

    private mutating func chunkSize(_ line: UnsafeRawBufferPointer) throws(HTTP1Refusal) -> Int {
        let digits = unsafe line.prefix { hexDigit($0) != nil }
        let extensions = unsafe line.dropFirst(digits.count).drop { $0 == 0x20 || $0 == 0x09 }
        guard unsafe !digits.isEmpty, unsafe extensions.first ?? UInt8(ascii: ";") == UInt8(ascii: ";"),
            unsafe extensions.allSatisfy(isFieldValueByte)
        else {
            throw HTTP1Refusal(400, because: "a chunk does not begin with its size")
        }
        // A client must not keep the server busy with bytes that no limit of the body counts.
        unsafe extensionBytes += line.count - digits.count
        guard extensionBytes <= limits.headerBytes + body.count else {
            throw HTTP1Refusal(400, because: "the chunk extensions are larger than the body")
        }
        var size = 0
        for index in unsafe digits.indices {
            size = unsafe size << 4 | (hexDigit(digits[index]) ?? 0)
            guard size <= bodyLimit - body.count else { throw tooLarge }
        }
        return size
    }

    /// Finds the line that begins at the first byte.
    private mutating func line(in bytes: UnsafeRawBufferPointer) -> Line {
        var limit = Self.chunkLineBytes
        if case .trailers = phase { limit = limits.headerBytes }
        if case .chunkEnd = phase, let first = unsafe bytes.first, first != UInt8(ascii: "\r") {
            return .bad(HTTP1Refusal(400, because: "a chunk is longer than its size"))
        }
        let end = unsafe Self.lineFeed(in: bytes, from: scanned)
        guard (end ?? bytes.count) - 1 <= limit else {
            return .bad(HTTP1Refusal(400, because: "a line of the chunked body is too long"))
        }
        guard let end else {
            scanned = bytes.count
            return .partial
        }
        scanned = 0
        guard end > 0, unsafe bytes[end - 1] == UInt8(ascii: "\r") else {
            return .bad(HTTP1Refusal(400, because: "a line of the chunked body does not end in CR LF"))
        }
        return .whole(end - 1)
    }

    private mutating func take(upTo limit: Int, from bytes: UnsafeRawBufferPointer, used: inout Int) -> Int {
        let taken = min(limit, bytes.count - used)
        guard taken > 0 else { return 0 }
        // Not more at first: a client may announce a body and never send it.
        if body.isEmpty { body.reserveCapacity(min(limit, max(taken, Self.firstReservation))) }
        unsafe body.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[used..<used + taken]))
        used += taken
        return taken
    }

    // MARK: End

    private mutating func finished() -> Step {
        guard let head = head.take() else { preconditionFailure("HTTP/1.1 machine: a body without its head") }
        let body = self.body
        self.body = []
        (trailerBytes, extensionBytes) = (0, 0)
        scanned = 0
        phase = .head
        return .request(head, body: body)
    }

    /// Ends the machine for a reason that it does not know, such as a time limit, and frees its memory.
    mutating func stop(_ refusal: HTTP1Refusal) {
        _ = refuse(refusal)
    }

    private mutating func refuse(_ refusal: HTTP1Refusal) -> Step {
        body = []
        phase = .refused(refusal)
        return .refused(refusal, isHead: asksForHead)
    }
}
