/// The one thing that the legacy gateway ever says: which notification ended the connection, and why (PROTOCOLS B2).
package struct LegacyErrorPacket: Equatable, Sendable {
    package let status: UInt8
    /// 0 when the gateway does not know, or the notification had none.
    package let identifier: UInt32

    package init(status: UInt8, identifier: UInt32) {
        self.status = status
        self.identifier = identifier
    }
}

/// What came back is no error packet.
package struct LegacyPacketError: Error, Equatable, CustomStringConvertible {
    package let firstByte: UInt8

    package init(firstByte: UInt8) {
        self.firstByte = firstByte
    }

    package var description: String {
        "the peer's answer begins with byte \(firstByte) instead of 8: it is no legacy push gateway"
    }
}

/// Reads an error packet however it is cut into pieces. What follows the first packet says nothing more.
package struct LegacyErrorDecoder: Sendable {
    package static let packetLength = 6
    private static let command: UInt8 = 8

    private var pending: [UInt8] = []

    package init() {}

    /// Bytes of a packet that is not complete.
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
