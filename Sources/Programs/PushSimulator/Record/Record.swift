/// The record of one request. It always takes 96 bytes.
///
/// Parts that do not fit (token bytes after the first 32, the collapse id, the payload) are stored in
/// ``RetainedBytes``, where newer records overwrite them.
package struct Record: Sendable {
    package enum Service: UInt8, Sendable {
        case device, broadcast, channels, binary
    }

    struct Flags: OptionSet {
        let rawValue: UInt8
        /// The client chose the id.
        static let hasOwnID = Flags(rawValue: 1 << 0)
        static let isUppercaseID = Flags(rawValue: 1 << 1)
        /// An earlier request had the same id.
        static let isDuplicate = Flags(rawValue: 1 << 2)
        /// The answer did not reach the client, because of a fault or a lost connection.
        static let isUnanswered = Flags(rawValue: 1 << 3)
        /// The request was rejected before processing (REFUSED_STREAM, or a stream above the last one of a GOAWAY
        /// frame). The client may safely repeat it.
        static let isUnprocessed = Flags(rawValue: 1 << 4)
        static let hasExpiration = Flags(rawValue: 1 << 5)
        /// A fault produced the answer.
        static let isFault = Flags(rawValue: 1 << 6)
        /// The request and an earlier one with the same id were accepted, so a device may have received the
        /// notification twice.
        static let isAcceptedAgain = Flags(rawValue: 1 << 7)
    }

    var at: Int64 = 0
    var idFirst: UInt64 = 0
    var idSecond: UInt64 = 0
    var token: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    /// The position of the record's bytes in ``RetainedBytes``.
    var extra: UInt64 = 0
    var connection: UInt32 = 0
    /// The stream id, or the identifier of a binary frame.
    var stream: UInt32 = 0
    var expiration: UInt32 = 0
    var payloadLength: UInt32 = 0
    var warnings: UInt32 = 0
    var status: UInt16 = 0
    var topic: UInt16 = 0
    var reason = Reason.none
    /// The index of the fault script's reason, if `reason` is `custom`.
    var customReason: UInt8 = 0
    var pushType = PushType.unspecified
    var priority: UInt8 = 0
    var service = Service.device
    var tokenLength: UInt8 = 0
    /// The length of the collapse id, or of the channel id of a broadcast.
    var labelLength: UInt8 = 0
    var flags: Flags = []

    static let inlineToken = 32

    /// Stores the length of a token and the bytes of it that fit.
    @inline(__always)
    mutating func setToken(_ whole: TokenBytes) {
        tokenLength = UInt8(whole.count)
        token = (whole.words[0], whole.words[1], whole.words[2], whole.words[3])
    }

    var id: MessageID {
        MessageID(first: idFirst, second: idSecond, isUppercase: flags.contains(.isUppercaseID))
    }

    /// Whether Apple accepted the notification, even if the client did not receive the answer.
    var isAccepted: Bool { status / 100 == 2 && !flags.contains(.isUnprocessed) }
}
