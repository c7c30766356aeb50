package import PushModel

/// The statuses of acks (DESIGN §4): each one JSON object, without a newline.
package enum AckText {
    package static func accepted(id: MessageID, seq: UInt64, to bytes: inout [UInt8]) {
        begin(id.text, &bytes)
        word(#","status":"accepted","seq":"#, &bytes)
        DecimalText.append(seq, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    package static func duplicate(id: MessageID, seq: UInt64, to bytes: inout [UInt8]) {
        begin(id.text, &bytes)
        word(#","status":"duplicate","seq":"#, &bytes)
        DecimalText.append(seq, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    /// - Parameter id: as it was given; nil, when it could not be read, is written as `null`.
    package static func rejected(id: String?, _ rejection: Rejection, to bytes: inout [UInt8]) {
        begin(id, &bytes)
        word(#","status":"rejected","reason":""#, &bytes)
        bytes.append(contentsOf: rejection.reason.rawValue.utf8)
        word(#"","detail":"#, &bytes)
        JSONText.appendQuoted(rejection.detail, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    package static func busy(id: String?, retryAfterMS: Int64, to bytes: inout [UInt8]) {
        begin(id, &bytes)
        word(#","status":"busy","retry_after_ms":"#, &bytes)
        DecimalText.append(retryAfterMS, to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }

    private static func begin(_ id: String?, _ bytes: inout [UInt8]) {
        word(#"{"id":"#, &bytes)
        guard var id else {
            word("null", &bytes)
            return
        }
        let start = bytes.count
        let isPlain = id.withUTF8 { text in
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: text)
            bytes.append(UInt8(ascii: "\""))
            return text.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        }
        if !isPlain {
            bytes.removeLast(bytes.count - start)
            JSONText.appendQuoted(id, to: &bytes)
        }
    }

    private static func word(_ word: StaticString, _ bytes: inout [UInt8]) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }
}
