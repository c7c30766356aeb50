/// The answer to one request, as bytes. One value is reused for all answers, so that writing an answer allocates
/// nothing.
@safe
package struct AnswerText: ~Copyable {
    private enum Field: Int, CaseIterable {
        case id, requestID, uniqueID, channelID, retryAfter

        var name: StaticString {
            switch self {
            case .id: "apns-id"
            case .requestID: "apns-request-id"
            case .uniqueID: "apns-unique-id"
            case .channelID: "apns-channel-id"
            case .retryAfter: "retry-after"
            }
        }
    }

    private static let room = 64
    /// The values of the headers, in one section of `room` bytes per field.
    private let text: UnsafeMutableRawPointer
    /// The length of each field's value; 0 if the answer does not have the field.
    private var lengths = InlineArray<5, Int>(repeating: 0)
    package private(set) var body: [UInt8] = []

    package init() {
        unsafe text = .allocate(byteCount: Self.room * Field.allCases.count, alignment: 16)
        body.reserveCapacity(256)
    }

    deinit {
        unsafe text.deallocate()
    }

    /// Calls `body` for each header except `:status`. The bytes are valid only during the call.
    @inline(__always)
    package func forEachHeader(_ body: (_ name: StaticString, _ value: UnsafeRawBufferPointer) -> Void) {
        for index in 0..<5 where lengths[index] > 0 {
            let value = unsafe UnsafeRawBufferPointer(start: text + Self.room * index, count: lengths[index])
            unsafe body(Field(rawValue: index)!.name, value)
        }
    }

    @inline(__always)
    mutating func render(_ reaction: Reaction, customReasons: [String]) {
        lengths = InlineArray(repeating: 0)
        put(reaction.id, in: reaction.isRequestID ? .requestID : .id)
        if let unique = reaction.uniqueID { put(unique, in: .uniqueID) }
        if !body.isEmpty { body.removeAll(keepingCapacity: true) }
        if reaction.reason != .none || !reaction.body.isEmpty || !reaction.channelID.isEmpty
            || reaction.retryAfter != nil
        {
            renderMore(reaction, customReasons: customReasons)
        }
    }

    @inline(__always)
    private mutating func put(_ id: MessageID, in field: Field) {
        unsafe id.write(to: text + Self.room * field.rawValue)
        lengths[field.rawValue] = MessageID.textLength
    }

    private mutating func put(_ value: [UInt8], in field: Field) {
        precondition(value.count <= Self.room, "a header value of \(value.count) bytes")
        ByteView.lending(value) { unsafe $0.copy(to: text + Self.room * field.rawValue) }
        lengths[field.rawValue] = value.count
    }

    private mutating func renderMore(_ reaction: Reaction, customReasons: [String]) {
        if !reaction.channelID.isEmpty { put(reaction.channelID, in: .channelID) }
        if let seconds = reaction.retryAfter { put(Array(String(seconds).utf8), in: .retryAfter) }
        if !reaction.body.isEmpty {
            body.append(contentsOf: reaction.body)
        } else if reaction.reason != .none {
            renderReason(of: reaction, customReasons: customReasons)
        }
    }

    private mutating func renderReason(of reaction: Reaction, customReasons: [String]) {
        append("{\"reason\":\"")
        if reaction.reason == .custom {
            let index = Int(reaction.customReason)
            var escaped = JSONText()
            escaped.element(index < customReasons.count ? customReasons[index] : "")
            body.append(contentsOf: escaped.bytes.dropFirst().dropLast())
        } else {
            append(reaction.reason.name)
        }
        append("\"")
        if reaction.timestamp > 0 {
            append(",\"timestamp\":")
            body.append(contentsOf: String(reaction.timestamp).utf8)
        }
        append("}")
    }

    private mutating func append(_ literal: StaticString) {
        literal.withUTF8Buffer { bytes in
            for index in 0..<bytes.count { body.append(unsafe bytes[index]) }
        }
    }
}
