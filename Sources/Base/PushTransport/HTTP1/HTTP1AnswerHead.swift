/// The head of an answer. It is written into the output of the connection together with the first bytes of the body.
struct HTTP1AnswerHead {
    /// The framing of the body, as the head announces it.
    enum Framing {
        case length(Int)
        case chunked
        /// There is no body, or the end of the connection ends it.
        case none
    }

    let status: Int
    let headers: HTTP1Headers
    let framing: Framing
    /// Whether the connection closes after this answer.
    let closes: Bool
    let isHTTP10: Bool
    /// The `Date` field with its line end.
    let date: [UInt8]

    /// Appends the head and the body to the output of a channel.
    func write(body: [UInt8], to channel: Channel) {
        let phrase = HTTP1Status.phrase(of: status)
        let hasDate = headers.bytes(of: "Date") != nil
        let capacity = headers.bytes.count + 4 * headers.slots.count + phrase.utf8.count + date.count + body.count + 128
        unsafe channel.write(upTo: capacity) { room in
            var pen = unsafe HTTP1Pen(room)
            pen.write(isHTTP10 ? "HTTP/1.0 " : "HTTP/1.1 ")
            pen.write(decimal: status)
            pen.write(" ")
            pen.write(text: phrase)
            pen.write("\r\n")
            if !hasDate { pen.write(date[...]) }
            for slot in headers.slots {
                pen.write(headers.bytes[slot.name])
                pen.write(": ")
                pen.write(headers.bytes[slot.value])
                pen.write("\r\n")
            }
            switch framing {
            case .length(let length):
                pen.write("Content-Length: ")
                pen.write(decimal: length)
                pen.write("\r\n")
            case .chunked: pen.write("Transfer-Encoding: chunked\r\n")
            case .none: break
            }
            if closes { pen.write("Connection: close\r\n") }
            pen.write("\r\n")
            pen.write(body[...])
            return pen.count
        }
    }

    // MARK: Checks

    /// The headers that concern framing. Only the server sets them, because a handler's values could contradict the
    /// sent data.
    private static let ownHeaders = [
        "Connection", "Content-Length", "Keep-Alive", "Proxy-Connection", "Trailer", "Transfer-Encoding", "Upgrade",
    ]

    static func check(status: Int, headers: HTTP1Headers) throws(HTTP1Error) {
        guard (200...599).contains(status) else {
            throw HTTP1Error(.badStatus, message: "invalid status \(status) of an HTTP/1.1 answer: use 200 to 599")
        }
        if !headers.areChecked { try check(headers) }
    }

    static func check(_ headers: HTTP1Headers) throws(HTTP1Error) {
        for slot in headers.slots {
            guard !slot.name.isEmpty, headers.bytes[slot.name].allSatisfy(isTokenByte) else {
                throw HTTP1Error(.badHeader, message: "a header name of an HTTP/1.1 answer is not a token")
            }
            guard headers.bytes[slot.value].allSatisfy(isFieldValueByte) else {
                throw HTTP1Error(
                    .badHeader,
                    message: "the header \(headers.text(slot.name)) of an HTTP/1.1 answer has a control character: "
                        + "remove it")
            }
            for name in ownHeaders where headers.has(slot, name: name) {
                throw HTTP1Error(.badHeader, message: "an HTTP/1.1 answer must not set \(name): the server sets it")
            }
        }
    }
}

/// A cursor that writes text into memory. What does not fit is a mistake of the caller, who reserves the room.
@safe
struct HTTP1Pen {
    private let room: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    /// Starts at the front of `room`, which must outlive the cursor.
    @unsafe init(_ room: UnsafeMutableRawBufferPointer) {
        unsafe self.room = room
    }

    mutating func write(_ text: StaticString) {
        unsafe write(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func write(text: String) {
        var text = text
        text.withUTF8 { unsafe write(UnsafeRawBufferPointer($0)) }
    }

    mutating func write(_ bytes: ArraySlice<UInt8>) {
        unsafe bytes.withUnsafeBytes { unsafe write($0) }
    }

    mutating func write(decimal number: Int) {
        write(UInt(number.magnitude), radix: 10)
    }

    mutating func write(hexadecimal number: Int) {
        write(UInt(number.magnitude), radix: 16)
    }

    private mutating func write(_ number: UInt, radix: UInt) {
        var divisor: UInt = 1
        while number / divisor >= radix { divisor *= radix }
        while divisor > 0 {
            let digit = UInt8(truncatingIfNeeded: number / divisor % radix)
            write(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            divisor /= radix
        }
    }

    private mutating func write(byte: UInt8) {
        precondition(unsafe count < room.count, "an HTTP/1.1 answer is longer than the room for it")
        unsafe room[count] = byte
        count += 1
    }

    private mutating func write(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0, let source = bytes.baseAddress, let target = unsafe room.baseAddress else { return }
        precondition(unsafe bytes.count <= room.count - count, "an HTTP/1.1 answer is longer than the room for it")
        unsafe (target + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }
}
