/// The only message of the legacy gateway: the notification that ended the connection, and why
/// (Documentation/Protocols.md, "B2. The error packet").
package struct LegacyErrorPacket: Equatable, Sendable {
    package let status: UInt8
    /// The identifier of the notification; 0 if the gateway does not know it or the notification had none.
    package let identifier: UInt32

    package init(status: UInt8, identifier: UInt32) {
        self.status = status
        self.identifier = identifier
    }
}

/// The error for a response that is not an error packet.
package struct LegacyPacketError: Error, Equatable, CustomStringConvertible {
    package let firstByte: UInt8

    package init(firstByte: UInt8) {
        self.firstByte = firstByte
    }

    package var description: String {
        "the response begins with byte \(firstByte) instead of 8: the peer is not a legacy push gateway"
    }
}

/// Decodes an error packet from reads of any size. Bytes after the first packet carry no information.
package struct LegacyErrorDecoder: Sendable {
    package static let packetLength = 6
    private static let command: UInt8 = 8

    private var pending: [UInt8] = []

    package init() {}

    /// The number of bytes of an incomplete packet.
    package var pendingCount: Int { pending.count }

    package mutating func decode(_ bytes: some Sequence<UInt8>) throws(LegacyPacketError) -> LegacyErrorPacket? {
        for byte in bytes {
            if pending.isEmpty, byte != Self.command { throw LegacyPacketError(firstByte: byte) }
            pending.append(byte)
            guard pending.count == Self.packetLength else { continue }
            let identifier = pending[2...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            let packet = LegacyErrorPacket(status: pending[1], identifier: identifier)
            pending.removeAll()
            return packet
        }
        return nil
    }
}
