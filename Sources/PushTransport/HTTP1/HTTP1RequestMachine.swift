/// A machine that parses requests from the bytes of a connection, as strictly as RFC 9112 allows. It uses no I/O and no
/// clock.
///
/// Each byte of a head and of a body is examined once, however the client splits the input. The limits bound the
/// memory.
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

    private let limits: HTTP1Limits
    private var phase = Phase.head
    private var head: HTTP1Head?
    private var body: [UInt8] = []
    /// The start of the current line of the head, and the position up to which it was scanned.
    private var lineStart = 0
    private var scanned = 0
    private var skippedEmptyLine = false
    private var trailerBytes = 0
    /// Whether the method is HEAD. It is known before the rest of the head, for use in refusals.
    private var asksForHead = false

    init(limits: HTTP1Limits) {
        self.limits = limits
    }

    func stage(with bytes: borrowing ByteQueue) -> Stage {
        guard case .head = phase else { return .body }
        return bytes.isEmpty && !skippedEmptyLine ? .idle : .head
    }

    /// Consumes bytes from the front. Call it again until it returns `needsMore`.
    mutating func next(_ bytes: inout ByteQueue) -> Step {
        while true {
            switch phase {
            case .head:
                do throws(HTTP1Refusal) {
                    guard let step = try readHead(&bytes) else { continue }
                    return step
                } catch {
                    return refuse(error)
                }
            case .body(let remaining):
                let taken = take(upTo: remaining, from: &bytes)
                if taken == remaining { return finished() }
                phase = .body(remaining: remaining - taken)
                return .needsMore
            case .chunk(let remaining):
                let taken = take(upTo: remaining, from: &bytes)
                phase = taken == remaining ? .chunkEnd : .chunk(remaining: remaining - taken)
                if taken < remaining { return .needsMore }
            case .chunkSize, .chunkEnd, .trailers:
                switch line(in: bytes) {
                case .partial: return .needsMore
                case .bad(let refusal): return refuse(refusal)
                case .whole(let length):
                    let line = unsafe bytes.withBytes { unsafe Array($0[..<length]) }
                    bytes.consume(length + 2)
                    do throws(HTTP1Refusal) {
                        if let step = try readLine(line) { return step }
                    } catch {
                        return refuse(error)
                    }
                }
            case .refused(let refusal):
                bytes.removeAll()
                return .refused(refusal, isHead: asksForHead)
            }
        }
    }

    // MARK: Head

    /// Parses the head. Returns nil if the caller must try again.
    private mutating func readHead(_ bytes: inout ByteQueue) throws(HTTP1Refusal) -> Step? {
        guard let end = try findHeadEnd(bytes) else { return .needsMore }
        if end == 0 {
            // RFC 9112, section 2.2: ignore an empty line before a request, but only one.
            guard !skippedEmptyLine else {
                throw HTTP1Refusal(400, because: "more than one empty line before a request")
            }
            skippedEmptyLine = true
            bytes.consume(2)
            (lineStart, scanned) = (0, 0)
            return nil
        }
        let text = unsafe bytes.withBytes { unsafe Array($0[..<end]) }
        bytes.consume(end + 2)
        (lineStart, scanned) = (0, 0)
        skippedEmptyLine = false
        asksForHead = text.starts(with: "HEAD ".utf8)
        let head = try HTTP1Head(text, limits: limits)
        self.head = head
        switch head.framing {
        case .length(0): return finished()
        case .length(let length): phase = .body(remaining: length)
        case .chunked: phase = .chunkSize
        }
        return head.expectsContinue ? .expectsContinue : nil
    }

    /// Returns the start of the empty line that ends the head, or nil if it has not arrived yet.
    private mutating func findHeadEnd(_ bytes: borrowing ByteQueue) throws(HTTP1Refusal) -> Int? {
        var (index, start) = (scanned, lineStart)
        let limit = limits.headerBytes
        let end = unsafe try bytes.withBytes { (bytes) throws(HTTP1Refusal) -> Int? in
            if index == 0, let first = unsafe bytes.first, !isTokenByte(first), first != UInt8(ascii: "\r") {
                throw HTTP1Refusal(400, because: "the input is not HTTP")
            }
            while index < bytes.count {
                // Check here and not after the whole head has arrived: the answer must not depend on how the bytes were
                // split.
                guard index <= limit else {
                    throw start == 0
                        ? HTTP1Refusal(414, because: "the request line and header fields exceed \(limit) bytes")
                        : HTTP1Refusal(431, because: "the request line and header fields exceed \(limit) bytes")
                }
                switch unsafe bytes[index] {
                case 0:
                    throw HTTP1Refusal(400, because: "a NUL byte in the header section")
                case UInt8(ascii: "\n"):
                    throw HTTP1Refusal(400, because: "a line feed without a carriage return")
                case UInt8(ascii: "\r"):
                    guard index + 1 < bytes.count else { return nil }
                    guard unsafe bytes[index + 1] == UInt8(ascii: "\n") else {
                        throw HTTP1Refusal(400, because: "a carriage return without a line feed")
                    }
                    if index == start { return index }
                    index += 2
                    start = index
                default:
                    index += 1
                }
            }
            return nil
        }
        (scanned, lineStart) = (index, start)
        return end
    }

    // MARK: Body

    private mutating func readLine(_ line: [UInt8]) throws(HTTP1Refusal) -> Step? {
        switch phase {
        case .chunkEnd:
            guard line.isEmpty else { throw HTTP1Refusal(400, because: "a chunk is longer than its size") }
            phase = .chunkSize
        case .trailers:
            if line.isEmpty { return finished() }
            trailerBytes += line.count + 2
            guard trailerBytes <= limits.headerBytes else {
                throw HTTP1Refusal(431, because: "the trailers exceed \(limits.headerBytes) bytes")
            }
            var dropped = HTTP1Headers()
            try parseField(line[...], into: &dropped)
        default:
            let size = try chunkSize(line)
            phase = size == 0 ? .trailers : .chunk(remaining: size)
        }
        return nil
    }

    private func chunkSize(_ line: [UInt8]) throws(HTTP1Refusal) -> Int {
        let digits = line.prefix { hexDigit($0) != nil }
        let extensions = line.dropFirst(digits.count).drop { $0 == 0x20 || $0 == 0x09 }
        guard !digits.isEmpty, extensions.first ?? UInt8(ascii: ";") == UInt8(ascii: ";"),
            extensions.allSatisfy(isFieldValueByte)
        else {
            throw HTTP1Refusal(400, because: "a chunk does not begin with its size")
        }
        var size = 0
        for digit in digits {
            size = size << 4 | (hexDigit(digit) ?? 0)
            guard size <= limits.bodyBytes - body.count else {
                throw HTTP1Refusal(413, because: "the body exceeds \(limits.bodyBytes) bytes")
            }
        }
        return size
    }

    private func line(in bytes: borrowing ByteQueue) -> Line {
        // These lines are short. Scanning them again when more bytes arrive is cheaper than storing the position.
        var limit = Self.chunkLineBytes
        if case .trailers = phase { limit = limits.headerBytes }
        return unsafe bytes.withBytes { bytes in
            for index in 0..<min(bytes.count, limit + 1) {
                switch unsafe bytes[index] {
                case UInt8(ascii: "\n"), 0:
                    return .bad(HTTP1Refusal(400, because: "a line of the chunked body does not end in CR LF"))
                case UInt8(ascii: "\r"):
                    guard index + 1 < bytes.count else { return .partial }
                    return unsafe bytes[index + 1] == UInt8(ascii: "\n")
                        ? .whole(index)
                        : .bad(HTTP1Refusal(400, because: "a line of the chunked body does not end in CR LF"))
                default:
                    continue
                }
            }
            return bytes.count > limit
                ? .bad(HTTP1Refusal(400, because: "a line of the chunked body is too long")) : .partial
        }
    }

    private mutating func take(upTo limit: Int, from bytes: inout ByteQueue) -> Int {
        let taken = min(limit, bytes.count)
        unsafe bytes.withBytes { unsafe body.append(contentsOf: $0[..<taken]) }
        bytes.consume(taken)
        return taken
    }

    // MARK: End

    private mutating func finished() -> Step {
        guard let head = head.take() else { preconditionFailure("HTTP/1.1 machine: a body without its head") }
        let body = self.body
        self.body = []
        trailerBytes = 0
        phase = .head
        return .request(head, body: body)
    }

    private mutating func refuse(_ refusal: HTTP1Refusal) -> Step {
        body = []
        phase = .refused(refusal)
        return .refused(refusal, isHead: asksForHead)
    }
}
