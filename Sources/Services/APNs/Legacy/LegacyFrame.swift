package import PushModel

/// The framing of a notification on the legacy binary interface (Documentation/Protocols.md, "B1. Frames").
package enum LegacyCommand: UInt8, CaseIterable, Sendable {
    /// Token and payload only. Without an identifier, an error packet cannot name the notification.
    case simple = 0
    case enhanced = 1
    /// A frame of items. Only this command carries a priority, and only this one may omit the expiration.
    case modern = 2

    package var carriesIdentifier: Bool { self != .simple }
}

/// Why a notification cannot be framed.
package enum LegacyFrameError: Error, Equatable, CustomStringConvertible {
    case payloadEmpty
    case payloadTooLarge(Int)
    /// The address is none that the interface can have issued.
    case tokenTooLong(Int)
    /// Identifier 0 is reserved: an error packet with it names no particular notification.
    case identifierZero

    package var description: String {
        switch self {
        case .payloadEmpty: "the payload is empty; give it at least {\"aps\":{}}"
        case .payloadTooLarge(let count):
            "the payload has \(count) bytes; the binary interface allows \(LegacyFrame.payloadLimit)"
        case .tokenTooLong(let count):
            "the token has \(count) bytes; the binary interface allows \(Address.maxTokenLength)"
        case .identifierZero: "identifier 0 does not name a notification; start with 1"
        }
    }
}

/// The encoder of frames of the legacy binary interface.
package enum LegacyFrame {
    /// The largest payload according to Apple's last documentation; the first had 256.
    package static let payloadLimit = 2048

    /// The expiration for command 1, which requires one: the latest that peers with a signed number can read.
    private static let latestExpiration: UInt32 = 0x7fff_ffff

    /// Appends the frame of one notification, or throws and appends nothing.
    ///
    /// The error packet contains `identifier`. Command 0 has neither an identifier nor an expiration nor a priority.
    package static func append(
        _ message: Message, for token: Address, as command: LegacyCommand, identifier: UInt32,
        to bytes: inout [UInt8]
    ) throws(LegacyFrameError) {
        let payload = message.payload
        guard !payload.isEmpty else { throw .payloadEmpty }
        guard payload.count <= payloadLimit else { throw .payloadTooLarge(payload.count) }
        guard token.byteCount <= Address.maxTokenLength else { throw .tokenTooLong(token.byteCount) }
        guard identifier != 0 || !command.carriesIdentifier else { throw .identifierZero }
        let expiration = message.expiry.expiresAt.map { UInt32(clamping: $0) }
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
            append(identifier, item: 3, to: &bytes)
            if let expiration { append(expiration, item: 4, to: &bytes) }
            bytes += [5, 0, 1, message.priority == .ten ? 10 : 5]
            return
        }
        append(UInt16(token.byteCount), to: &bytes)
        token.append(to: &bytes)
        append(UInt16(payload.count), to: &bytes)
        bytes += payload
    }

    /// Appends a notification with an empty token, which is invalid on purpose: the error packet that it causes proves
    /// that the peer accepted everything before it (Documentation/Protocols.md, "B2. The error packet").
    package static func appendProbe(as command: LegacyCommand, identifier: UInt32, to bytes: inout [UInt8]) {
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
            append(identifier, item: 3, to: &bytes)
            return
        }
        append(UInt16(0), to: &bytes)
        append(UInt16(payload.count), to: &bytes)
        bytes += payload
    }

    private static func append(_ value: UInt32, item: UInt8, to bytes: inout [UInt8]) {
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
