package import PushModel

/// How notifications are framed on the legacy binary interface (PROTOCOLS B1).
package enum LegacyCommand: UInt8, CaseIterable, Sendable {
    /// Token and payload. It carries no identifier, so an error packet cannot say which one it is about.
    case simple = 0
    case enhanced = 1
    /// Items in a frame: the only one with a priority, and the one whose expiration may be left out.
    case modern = 2

    package var carriesIdentifier: Bool { self != .simple }
}

/// Why a notification has no frame.
package enum LegacyFrameError: Error, Equatable, CustomStringConvertible {
    case payloadEmpty
    case payloadTooLarge(Int)
    /// An error packet with identifier 0 is about no notification in particular.
    case identifierZero

    package var description: String {
        switch self {
        case .payloadEmpty: "the payload is empty; give it at least {\"aps\":{}}"
        case .payloadTooLarge(let count):
            "the payload has \(count) bytes; the binary interface takes \(LegacyFrame.payloadLimit)"
        case .identifierZero: "identifier 0 stands for no notification; count from 1"
        }
    }
}

/// Writes the frames of the legacy binary interface.
package enum LegacyFrame {
    /// Of the last binary documentation; it began with 256.
    package static let payloadLimit = 2048

    /// For command 1, which must name a time: as late as those can read who take it for a signed number.
    private static let latestExpiration: UInt32 = 0x7fff_ffff

    /// Adds the frame of one notification, or throws and adds nothing.
    ///
    /// `identifier` comes back in the error packet; command 0 has no place for it, nor for expiration and priority.
    package static func append(
        _ command: LegacyCommand, _ message: Message, to token: DeviceToken, identifier: UInt32,
        into bytes: inout [UInt8]
    ) throws(LegacyFrameError) {
        let payload = message.payload
        guard !payload.isEmpty else { throw .payloadEmpty }
        guard payload.count <= payloadLimit else { throw .payloadTooLarge(payload.count) }
        guard identifier != 0 || !command.carriesIdentifier else { throw .identifierZero }
        let expiration = message.expiresAt.map { UInt32(clamping: $0) }
        switch command {
        case .simple:
            bytes.append(0)
        case .enhanced:
            bytes.append(1)
            append(identifier, to: &bytes)
            append(expiration ?? latestExpiration, to: &bytes)
        case .modern:
            let length = 3 + token.byteCount + 3 + payload.count + 7 + (expiration == nil ? 0 : 7) + 4
            bytes.append(2)
            append(UInt32(length), to: &bytes)
            bytes.append(1)
            append(UInt16(token.byteCount), to: &bytes)
            token.append(to: &bytes)
            bytes.append(2)
            append(UInt16(payload.count), to: &bytes)
            bytes += payload
            append(item: 3, identifier, to: &bytes)
            if let expiration { append(item: 4, expiration, to: &bytes) }
            bytes += [5, 0, 1, message.priority == .ten ? 10 : 5]
            return
        }
        append(UInt16(token.byteCount), to: &bytes)
        token.append(to: &bytes)
        append(UInt16(payload.count), to: &bytes)
        bytes += payload
    }

    /// Adds a notification that is bad on purpose, with a token of no bytes: the error packet that it must bring
    /// proves that everything before it was accepted (PROTOCOLS B2).
    package static func appendProbe(_ command: LegacyCommand, identifier: UInt32, into bytes: inout [UInt8]) {
        let payload = Array("{}".utf8)
        bytes.append(command.rawValue)
        switch command {
        case .simple:
            break
        case .enhanced:
            append(identifier, to: &bytes)
            append(UInt32(0), to: &bytes)
        case .modern:
            append(UInt32(3 + 3 + payload.count + 7), to: &bytes)
            bytes += [1, 0, 0, 2]
            append(UInt16(payload.count), to: &bytes)
            bytes += payload
            append(item: 3, identifier, to: &bytes)
            return
        }
        append(UInt16(0), to: &bytes)
        append(UInt16(payload.count), to: &bytes)
        bytes += payload
    }

    private static func append(item: UInt8, _ value: UInt32, to bytes: inout [UInt8]) {
        bytes.append(item)
        append(UInt16(4), to: &bytes)
        append(value, to: &bytes)
    }

    private static func append(_ value: UInt16, to bytes: inout [UInt8]) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    private static func append(_ value: UInt32, to bytes: inout [UInt8]) {
        append(UInt16(truncatingIfNeeded: value >> 16), to: &bytes)
        append(UInt16(truncatingIfNeeded: value), to: &bytes)
    }
}
