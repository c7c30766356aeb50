/// The rules that the frames of an answer must keep (RFC 9113, section 8.1). An answer that breaks them is malformed, and
/// its stream is reset.
struct HTTP2AnswerRules {
    private enum State: UInt8 {
        /// The final head has not come; there may be any number of interim ones. Can transition to: body, ended.
        case expectsHead
        /// Can transition to: ended.
        case body
        case ended
    }

    private enum Block: UInt8 {
        /// Nothing but pseudo-fields has come.
        case headBegin
        case headRest
        case trailers
    }

    private(set) var status: Int32 = 0
    private var state = State.expectsHead
    private var block = Block.headBegin
    private var isMalformed = false
    /// The length of the body as the head says it; -1 if it does not.
    private var expectedLength: Int64 = -1
    private var length: Int64 = 0

    /// Whether the answer is complete.
    var isComplete: Bool { state == .ended }

    /// Whether the final head has come, so that the peer has processed the request.
    var hasHead: Bool { state != .expectsHead }

    /// Called at the begin of a header block. Returns whether it is a head; otherwise it has trailers.
    mutating func begin() -> Bool {
        isMalformed = false
        guard state == .expectsHead else {
            block = .trailers
            return false
        }
        block = .headBegin
        status = 0
        expectedLength = -1
        return true
    }

    enum Verdict {
        case keep
        /// The field is no part of the answer.
        case ignore
    }

    /// Checks a field. What is wrong with it counts at the end of the block.
    mutating func check(_ field: HTTP2Field) -> Verdict {
        guard unsafe HPACKDecoder.isValidName(field.name) else {
            // As nghttp2 does, ignore impossible names, but not uppercase ones, which a peer may take for another name.
            if unsafe field.name.first == UInt8(ascii: ":") || field.name.contains(where: { (65...90).contains($0) }) {
                isMalformed = true
            }
            return .ignore
        }
        if unsafe field.name.first == UInt8(ascii: ":") {
            unsafe checkPseudoField(field)
            return .ignore
        }
        if block == .headBegin { block = .headRest }
        guard unsafe HPACKDecoder.isValidValue(field.value) else { return .ignore }
        if unsafe !isAllowed(field) { isMalformed = true }
        return block == .trailers ? .ignore : .keep
    }

    private mutating func checkPseudoField(_ field: HTTP2Field) {
        guard block == .headBegin, status == 0, unsafe field.isNamed(":status"), unsafe field.value.count == 3,
            let number = unsafe Self.decimal(field.value), number >= 100, number != 101
        else {
            isMalformed = true
            return
        }
        status = Int32(number)
    }

    /// Whether a field may be in an answer. Those of a single connection of HTTP/1 may not.
    private mutating func isAllowed(_ field: HTTP2Field) -> Bool {
        switch unsafe field.name.count {
        case 2: return unsafe !field.isNamed("te") || ("trailers" as StaticString).hasBytes(field.value)
        case 7: return unsafe !field.isNamed("upgrade")
        case 10: return unsafe !field.isNamed("connection") && !field.isNamed("keep-alive")
        case 14: return unsafe !field.isNamed("content-length") || takeLength(field.value)
        case 16: return unsafe !field.isNamed("proxy-connection")
        case 17: return unsafe !field.isNamed("transfer-encoding")
        default: return true
        }
    }

    private mutating func takeLength(_ value: UnsafeRawBufferPointer) -> Bool {
        guard block != .trailers else { return true }
        guard expectedLength < 0, status >= 200, let number = unsafe Self.decimal(value) else { return false }
        expectedLength = number
        return status != 204 || number == 0
    }

    /// Called at the end of a header block. Returns whether the answer may go on.
    mutating func endBlock(endsStream: Bool, isHead: Bool) -> Bool {
        guard !isMalformed else { return false }
        switch (state, block) {
        case (_, .trailers):
            guard endsStream else { return false }
        case _ where status == 0:
            return false
        case _ where status < 200:
            return !endsStream
        default:
            state = .body
            if isHead || status == 204 || status == 304 { expectedLength = 0 }
        }
        return !endsStream || end()
    }

    /// Called with each piece of the body. Returns whether the answer may go on.
    mutating func body(_ count: Int) -> Bool {
        guard state == .body else { return false }
        length += Int64(count)
        return expectedLength < 0 || length <= expectedLength
    }

    /// Called at the end of the stream. Returns whether the answer is complete and well-formed.
    mutating func end() -> Bool {
        guard state == .body, expectedLength < 0 || length == expectedLength else { return false }
        state = .ended
        return true
    }

    private static func decimal(_ digits: UnsafeRawBufferPointer) -> Int64? {
        guard digits.count > 0, digits.count < 19 else { return nil }
        var number: Int64 = 0
        for index in 0..<digits.count {
            let digit = unsafe digits[index]
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
            number = number * 10 + Int64(digit - UInt8(ascii: "0"))
        }
        return number
    }
}
