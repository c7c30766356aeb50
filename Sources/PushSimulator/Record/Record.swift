/// What the simulator keeps of one request: 96 bytes, whatever the request was.
///
/// What does not fit (a token beyond 32 bytes, the collapse id, the payload) goes to the `RetainedBytes` and may be
/// gone when it is asked for.
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
        /// The answer did not reach the client: withheld by a fault, or its connection died.
        static let isUnanswered = Flags(rawValue: 1 << 3)
        /// Refused before it was looked at (REFUSED_STREAM, beyond a GOAWAY): the client may send it again freely.
        static let isUnprocessed = Flags(rawValue: 1 << 4)
        static let hasExpiration = Flags(rawValue: 1 << 5)
        /// A fault made the answer.
        static let isFault = Flags(rawValue: 1 << 6)
        /// Accepted, and so was an earlier request with the same id: a device may have got it twice.
        static let isAcceptedAgain = Flags(rawValue: 1 << 7)
    }

    var at: Int64 = 0
    var idFirst: UInt64 = 0
    var idSecond: UInt64 = 0
    var token: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    /// Where its bytes begin in the `RetainedBytes`.
    var extra: UInt64 = 0
    var connection: UInt32 = 0
    /// Stream id, or the identifier of a binary frame.
    var stream: UInt32 = 0
    var expiration: UInt32 = 0
    var payloadLength: UInt32 = 0
    var warnings: UInt32 = 0
    var status: UInt16 = 0
    var topic: UInt16 = 0
    var reason = Reason.none
    /// Of the reasons of fault scripts, when `reason` is `custom`.
    var customReason: UInt8 = 0
    var pushType = PushType.unspecified
    var priority: UInt8 = 0
    var service = Service.device
    var tokenLength: UInt8 = 0
    /// Collapse id, or the channel id of a broadcast.
    var labelLength: UInt8 = 0
    var flags: Flags = []

    static let inlineToken = 32

    var id: MessageID {
        MessageID(first: idFirst, second: idSecond, isUppercase: flags.contains(.isUppercaseID))
    }

    /// Apple took it, whether or not the client heard.
    var isAccepted: Bool { status / 100 == 2 && !flags.contains(.isUnprocessed) }
}
