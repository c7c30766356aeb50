/// A parser for the lines of a head, which it examines one after the other as they arrive.
///
/// The rules are strict to prevent request smuggling: either Content-Length or Transfer-Encoding, only once, in its
/// plain form; no folded lines; no space before a colon; exactly one Host in HTTP/1.1.
@safe
struct HTTP1HeadParser {
    private let maxFields: Int
    private var line = HTTP1Head.RequestLine()
    private var slots: [HTTP1Headers.Slot] = []
    /// Whether the method is HEAD. It is known before the rest of the head, for use in refusals.
    private(set) var asksForHead = false
    /// The method; nil until the request line was read.
    private(set) var method: HTTP1Method?

    private var hostCount = 0
    private var isHostValid = true
    private var length: Range<Int>?
    private var lengthCount = 0
    private var encodingCount = 0
    private var isChunked = false
    private var wantsClose = false
    private var expectations = 0
    private var knownExpectations = 0

    init(maxFields: Int) {
        self.maxFields = maxFields
    }

    // MARK: Request line

    /// Reads the request line.
    ///
    /// - Parameter bytes: The bytes of the head from its start. All ranges are positions in them.
    mutating func readRequestLine(_ range: Range<Int>, in bytes: UnsafeRawBufferPointer) throws(HTTP1Refusal) {
        slots.reserveCapacity(8)
        var position = range.lowerBound
        var packed: UInt64 = 0
        while position < range.upperBound, unsafe isTokenByte(bytes[position]) {
            packed = unsafe packed << 8 | UInt64(bytes[position])
            position += 1
        }
        let methodEnd = position
        asksForHead = packed == 0x4845_4144
        let target = try unsafe Self.target(after: methodEnd, in: bytes, upTo: range.upperBound)
        line.isHTTP10 = try unsafe Self.isHTTP10(target.upperBound + 1..<range.upperBound, in: bytes)
        guard methodEnd > range.lowerBound, unsafe bytes[methodEnd] == UInt8(ascii: " ") else {
            throw HTTP1Refusal(400, because: "the method is not a token")
        }
        line.method = try Self.method(packed, length: methodEnd - range.lowerBound)
        method = line.method
        line.target = target
        try unsafe checkTarget(in: bytes)
    }

    /// Returns the part between the two spaces of the request line.
    private static func target(
        after start: Int, in bytes: UnsafeRawBufferPointer, upTo end: Int
    ) throws(HTTP1Refusal) -> Range<Int> {
        var spaces = 0
        var (first, second) = (end, end)
        for index in start..<end where unsafe bytes[index] == UInt8(ascii: " ") {
            spaces += 1
            if spaces == 1 { first = index } else { second = index }
        }
        guard spaces == 2 else {
            throw HTTP1Refusal(
                400, because: "the request line must be a method, a target and a version, separated by one space")
        }
        return first + 1..<second
    }

    private static func isHTTP10(
        _ range: Range<Int>, in bytes: UnsafeRawBufferPointer
    ) throws(HTTP1Refusal) -> Bool {
        if unsafe isSame(range, in: bytes, as: "HTTP/1.1") { return false }
        if unsafe isSame(range, in: bytes, as: "HTTP/1.0") { return true }
        let isVersion =
            unsafe range.count == 8
            && isSame(range.lowerBound..<range.lowerBound + 5, in: bytes, as: "HTTP/")
        throw isVersion
            ? HTTP1Refusal(505, because: "this server speaks HTTP/1.1")
            : HTTP1Refusal(400, because: "the request line does not end in an HTTP version")
    }

    /// - Parameter packed: The last eight bytes of the method.
    private static func method(_ packed: UInt64, length: Int) throws(HTTP1Refusal) -> HTTP1Method {
        let unknown = HTTP1Refusal(501, because: "this server does not know the method")
        guard length <= 7 else { throw unknown }
        switch packed {
        case 0x47_4554: return .get
        case 0x4845_4144: return .head
        case 0x504F_5354: return .post
        case 0x50_5554: return .put
        case 0x4445_4C45_5445: return .delete
        case 0x4F50_5449_4F4E_53: return .options
        case 0x54_5241_4345: return .trace
        case 0x50_4154_4348: return .patch
        case 0x51_5545_5259: return .query
        case 0x434F_4E4E_4543_54: throw HTTP1Refusal(405, because: "this server is not a proxy")
        default: throw unknown
        }
    }

    /// Validates the target. Most targets have neither escapes nor dots, and are not decoded here.
    private mutating func checkTarget(in bytes: UnsafeRawBufferPointer) throws(HTTP1Refusal) {
        var isPlain = true
        line.pathEnd = line.target.upperBound
        for index in line.target {
            let byte = unsafe bytes[index]
            guard byte > 0x20, byte < 0x7f, byte != UInt8(ascii: "#") else {
                throw HTTP1Refusal(400, because: "the target contains a character that must be percent-encoded")
            }
            switch byte {
            case UInt8(ascii: "%"): isPlain = false
            case UInt8(ascii: ".") where index < line.pathEnd: isPlain = false
            case UInt8(ascii: "?") where index < line.pathEnd: line.pathEnd = index
            default: break
            }
        }
        guard !line.target.isEmpty else {
            throw HTTP1Refusal(400, because: "the target contains a character that must be percent-encoded")
        }
        line.isPlain = unsafe isPlain && bytes[line.target.lowerBound] == UInt8(ascii: "/")
        if line.isPlain { return }
        let text = unsafe String(decoding: bytes[line.target], as: UTF8.self)
        _ = try HTTP1Target(text, method: line.method)
    }

    // MARK: Fields

    /// Reads the line of a field.
    mutating func readField(_ range: Range<Int>, in bytes: UnsafeRawBufferPointer) throws(HTTP1Refusal) {
        guard slots.count < maxFields else {
            throw HTTP1Refusal(431, because: "more than \(maxFields) header fields")
        }
        let slot = try unsafe Self.slot(range, in: bytes)
        slots.append(slot)
        switch slot.name.count {
        case 4 where unsafe Self.isSame(slot.name, in: bytes, asLowercase: "host"):
            hostCount += 1
            for index in slot.value where unsafe !Self.isHostByte(bytes[index]) { isHostValid = false }
        case 6 where unsafe Self.isSame(slot.name, in: bytes, asLowercase: "expect"):
            let list = unsafe Self.elements(slot.value, in: bytes, like: "100-continue")
            expectations += list.count
            knownExpectations += list.matching
        case 10 where unsafe Self.isSame(slot.name, in: bytes, asLowercase: "connection"):
            if unsafe Self.elements(slot.value, in: bytes, like: "close").matching > 0 { wantsClose = true }
        case 14 where unsafe Self.isSame(slot.name, in: bytes, asLowercase: "content-length"):
            lengthCount += 1
            length = slot.value
        case 17 where unsafe Self.isSame(slot.name, in: bytes, asLowercase: "transfer-encoding"):
            encodingCount += 1
            isChunked = unsafe Self.isSame(slot.value, in: bytes, asLowercase: "chunked")
        default: break
        }
    }

    /// Parses one header or trailer line without its line end.
    static func slot(
        _ range: Range<Int>, in bytes: UnsafeRawBufferPointer
    ) throws(HTTP1Refusal) -> HTTP1Headers.Slot {
        var colon = range.lowerBound
        while colon < range.upperBound, unsafe isTokenByte(bytes[colon]) { colon += 1 }
        guard colon > range.lowerBound, colon < range.upperBound, unsafe bytes[colon] == UInt8(ascii: ":") else {
            // A folded line starts with a space, and there may be a space before the colon.
            let hasColon = unsafe bytes[range].contains(UInt8(ascii: ":"))
            throw HTTP1Refusal(
                400, because: hasColon ? "a header name is not a token" : "a header line has no colon")
        }
        var (start, end) = (colon + 1, range.upperBound)
        while start < end, unsafe isBlank(bytes[start]) { start += 1 }
        while end > start, unsafe isBlank(bytes[end - 1]) { end -= 1 }
        guard unsafe isValue(start..<end, in: bytes) else {
            throw HTTP1Refusal(400, because: "a header value contains a control character or is not UTF-8")
        }
        return HTTP1Headers.Slot(name: range.lowerBound..<colon, value: start..<end)
    }

    /// Returns whether the bytes have no control characters besides tabs, and are UTF-8.
    private static func isValue(_ range: Range<Int>, in bytes: UnsafeRawBufferPointer) -> Bool {
        var index = range.lowerBound
        // Eight bytes at a time, as long as all are printable ASCII: signatures are long.
        while index + 8 <= range.upperBound {
            let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let low: UInt64 = 0x0101_0101_0101_0101
            // The highest bit of a byte is set where it is below 0x20, at or above 0x80, or 0x7f.
            let control = (word &- (0x20 &* low)) & ~word
            let delete = word &+ low
            guard (control | delete | word) & (0x80 &* low) == 0 else { break }
            index += 8
        }
        var all: UInt8 = 0
        for index in index..<range.upperBound {
            let byte = unsafe bytes[index]
            guard isFieldValueByte(byte) else { return false }
            all |= byte
        }
        return unsafe all < 0x80 || String(validating: bytes[range], as: UTF8.self) != nil
    }

    // MARK: End

    /// Validates the fields together.
    ///
    /// - Parameter bytes: A copy of the bytes of the head.
    func finish(_ bytes: [UInt8]) throws(HTTP1Refusal) -> HTTP1Head {
        guard hostCount == 1 || (line.isHTTP10 && hostCount == 0) else {
            throw HTTP1Refusal(400, because: "a request must have exactly one Host")
        }
        guard isHostValid else { throw HTTP1Refusal(400, because: "Host is not a valid host") }
        let framing = try framing(bytes)
        guard line.method != .trace || framing == .length(0) else {
            throw HTTP1Refusal(400, because: "TRACE has no body")
        }
        guard line.isHTTP10 || expectations == knownExpectations else {
            throw HTTP1Refusal(417, because: "the only supported expectation is 100-continue")
        }
        // A "keep-alive" of an HTTP/1.0 client is ignored: the end of the connection ends a streamed answer.
        return HTTP1Head(
            line, headers: HTTP1Headers(slots, in: bytes), framing: framing,
            wantsClose: wantsClose || line.isHTTP10, expectsContinue: !line.isHTTP10 && expectations > 0)
    }

    private func framing(_ bytes: [UInt8]) throws(HTTP1Refusal) -> HTTP1Head.Framing {
        if encodingCount > 0 {
            guard lengthCount == 0 else {
                throw HTTP1Refusal(400, because: "Content-Length and Transfer-Encoding exclude each other")
            }
            guard !line.isHTTP10 else { throw HTTP1Refusal(400, because: "HTTP/1.0 has no Transfer-Encoding") }
            guard encodingCount == 1 else { throw HTTP1Refusal(400, because: "Transfer-Encoding is given twice") }
            guard isChunked else {
                throw HTTP1Refusal(501, because: "the only supported Transfer-Encoding is chunked")
            }
            return .chunked
        }
        guard let length else { return .length(0) }
        guard lengthCount == 1 else { throw HTTP1Refusal(400, because: "Content-Length is given twice") }
        guard !length.isEmpty else { throw HTTP1Refusal(400, because: "Content-Length is not a number") }
        var count = 0
        for index in length {
            guard let digit = decimalDigit(bytes[index]) else {
                throw HTTP1Refusal(400, because: "Content-Length is not a number")
            }
            // A number that does not fit into an Int also exceeds every limit.
            count = count > (Int.max - 9) / 10 ? Int.max - 9 : count * 10 + digit
        }
        return .length(count)
    }

    // MARK: Text

    static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "@"),
            UInt8(ascii: "\\"):
            false
        default: byte > 0x20 && byte < 0x7f
        }
    }

    private static func isSame(_ range: Range<Int>, in bytes: UnsafeRawBufferPointer, as text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count
        where unsafe bytes[range.lowerBound + offset] != text.utf8Start[offset] { return false }
        return true
    }

    private static func isSame(
        _ range: Range<Int>, in bytes: UnsafeRawBufferPointer, asLowercase text: StaticString
    ) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count
        where unsafe lowercase(bytes[range.lowerBound + offset]) != text.utf8Start[offset] { return false }
        return true
    }

    /// Returns the number of elements of a comma-separated list, and of those that are the given token.
    private static func elements(
        _ range: Range<Int>, in bytes: UnsafeRawBufferPointer, like token: StaticString
    ) -> (count: Int, matching: Int) {
        var (count, matching, start) = (0, 0, range.lowerBound)
        while start < range.upperBound {
            var end = start
            while end < range.upperBound, unsafe bytes[end] != UInt8(ascii: ",") { end += 1 }
            var (first, last) = (start, end)
            while first < last, unsafe isBlank(bytes[first]) { first += 1 }
            while last > first, unsafe isBlank(bytes[last - 1]) { last -= 1 }
            if end > start { count += 1 }
            if unsafe isSame(first..<last, in: bytes, asLowercase: token) { matching += 1 }
            start = end + 1
        }
        return (count, matching)
    }
}

private func decimalDigit(_ byte: UInt8) -> Int? {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") ? Int(byte - UInt8(ascii: "0")) : nil
}
