import PushModel
import PushWire
import TestSupport
import TestTraits
import Testing

@testable import APNs

@Suite struct LegacyFrameTests {
    private static let token = Address(bytes: [0xde, 0xad, 0xbe, 0xef])!

    private static func message(
        _ payload: String = "{}", expiresAt: Int64? = nil, priority: PushPriority = .ten
    ) -> Message {
        Message(
            id: MessageID("m")!, app: AppID("shop")!, priority: priority, expiry: Expiry(expiresAt: expiresAt),
            payload: Array(payload.utf8))
    }

    private func frame(
        _ command: LegacyCommand, _ message: Message, to token: Address = token, identifier: UInt32 = 0x0102_0304
    ) throws -> [UInt8] {
        var bytes: [UInt8] = [0x55]
        try LegacyFrame.append(message, for: token, as: command, identifier: identifier, to: &bytes)
        #expect(bytes.removeFirst() == 0x55, "earlier bytes are kept")
        return bytes
    }

    @Test func `Command 0 contains token and payload`() throws {
        #expect(
            try frame(.simple, Self.message()) == [0, 0, 4, 0xde, 0xad, 0xbe, 0xef, 0, 2, 0x7b, 0x7d])
    }

    @Test func `Command 1 contains identifier and expiration before token and payload`() throws {
        #expect(
            try frame(.enhanced, Self.message(expiresAt: 0x1122_3344))
                == [1, 1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 0, 4, 0xde, 0xad, 0xbe, 0xef, 0, 2, 0x7b, 0x7d])
    }

    @Test func `Command 2 contains items, preceded by their total length`() throws {
        #expect(
            try frame(.modern, Self.message(expiresAt: 0x1122_3344, priority: .five)) == [
                2, 0, 0, 0, 30, 1, 0, 4, 0xde, 0xad, 0xbe, 0xef, 2, 0, 2, 0x7b, 0x7d, 3, 0, 4, 1, 2, 3, 4, 4, 0, 4,
                0x11,
                0x22, 0x33, 0x44, 5, 0, 1, 5,
            ])
    }

    @Test func `Without an expiration, command 2 omits its item and command 1 contains the latest time`() throws {
        #expect(
            try frame(.modern, Self.message()) == [
                2, 0, 0, 0, 23, 1, 0, 4, 0xde, 0xad, 0xbe, 0xef, 2, 0, 2, 0x7b, 0x7d, 3, 0, 4, 1, 2, 3, 4, 5, 0, 1, 10,
            ])
        #expect(try Array(frame(.enhanced, Self.message())[5..<9]) == [0x7f, 0xff, 0xff, 0xff])
    }

    @Test(arguments: [(Int64(0), UInt8(0)), (-5, 0), (1 << 40, 255)])
    func `An expiration outside of 32 bits is clamped`(time: Int64, byte: UInt8) throws {
        let bytes = try frame(.enhanced, Self.message(expiresAt: time))
        #expect(Array(bytes[5..<9]) == Array(repeating: byte, count: 4))
    }

    @Test(arguments: [(PushPriority.ten, UInt8(10)), (.five, 5), (.one, 5)])
    func `Priorities are written as 10 or 5`(priority: PushPriority, byte: UInt8) throws {
        #expect(try frame(.modern, Self.message(priority: priority)).last == byte)
    }

    @Test(arguments: LegacyCommand.allCases)
    func `Payloads of 1 to 2048 bytes and tokens of 1 to 100 bytes are framed`(command: LegacyCommand) throws {
        let overhead: [LegacyCommand: Int] = [.simple: 5, .enhanced: 13, .modern: 5 + 3 + 3 + 7 + 4]
        for count in [1, 255, 256, 257, 2047, 2048] {
            let bytes = try frame(command, Self.message(String(repeating: "x", count: count)))
            #expect(bytes.count == overhead[command]! + 4 + count)
        }
        for count in [1, 31, 32, 33, 100] {
            let token = Address(bytes: Array((0..<count).map { UInt8($0) }))!
            #expect(try frame(command, Self.message(), to: token).count == overhead[command]! + count + 2)
        }
        let long = try #require(Address(bytes: Array(repeating: 0, count: 101)))
        #expect(throws: LegacyFrameError.tokenTooLong(101)) { try frame(command, Self.message(), to: long) }
        #expect(throws: LegacyFrameError.payloadTooLarge(2049)) {
            try frame(command, Self.message(String(repeating: "x", count: 2049)))
        }
        #expect(throws: LegacyFrameError.payloadEmpty) { try frame(command, Self.message("")) }
    }

    @Test func `The length of a payload is its number of bytes`() throws {
        let bytes = try frame(.simple, Self.message("ä€😀"))
        #expect(Array(bytes[7..<9]) == [0, 9] && bytes.count == 5 + 4 + 9)
    }

    @Test func `Identifier 0 is rejected by the commands that contain it`() throws {
        #expect(throws: LegacyFrameError.identifierZero) { try frame(.modern, Self.message(), identifier: 0) }
        #expect(throws: LegacyFrameError.identifierZero) { try frame(.enhanced, Self.message(), identifier: 0) }
        #expect(try frame(.simple, Self.message(), identifier: 0).count == 11)
    }

    @Test func `The probe is a notification with an empty token`() {
        var bytes: [UInt8] = []
        LegacyFrame.appendProbe(as: .simple, identifier: 7, to: &bytes)
        LegacyFrame.appendProbe(as: .enhanced, identifier: 7, to: &bytes)
        LegacyFrame.appendProbe(as: .modern, identifier: 7, to: &bytes)
        #expect(
            bytes == [0, 0, 0, 0, 2, 0x7b, 0x7d] + [1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 2, 0x7b, 0x7d] + [
                2, 0, 0, 0, 15, 1, 0, 0, 2, 0, 2, 0x7b, 0x7d, 3, 0, 4, 0, 0, 0, 7,
            ])
    }
}

@Suite struct LegacyErrorDecoderTests {
    private static let packet: [UInt8] = [8, 10, 0xff, 0, 1, 2]

    @Test func `A packet is decoded at every split`() throws {
        for first in 0...6 {
            for second in first...6 {
                var decoder = LegacyErrorDecoder()
                var found: [LegacyErrorPacket] = []
                for piece in [Self.packet[..<first], Self.packet[first..<second], Self.packet[second...]] {
                    if let packet = try decoder.decode(piece) { found.append(packet) }
                }
                #expect(found == [LegacyErrorPacket(status: 10, identifier: 0xff00_0102)])
                #expect(decoder.pendingCount == 0)
            }
        }
    }

    @Test func `The decoder reports the number of bytes of an incomplete packet`() throws {
        for count in 0..<6 {
            var decoder = LegacyErrorDecoder()
            #expect(try decoder.decode(Self.packet[..<count]) == nil)
            #expect(decoder.pendingCount == count)
        }
    }

    @Test func `Bytes that do not begin with 8 are rejected`() {
        for byte in UInt8.min...UInt8.max where byte != 8 {
            var decoder = LegacyErrorDecoder()
            #expect(throws: LegacyPacketError(firstByte: byte)) { try decoder.decode([byte] + Self.packet) }
        }
    }

    @Test func `With any input the decoder keeps at most five bytes`() {
        var random = SeededRandom(seed: 21)
        for _ in 0..<RunKind.rounds(20_000) {
            var decoder = LegacyErrorDecoder()
            var bytes = random.mutate(Self.packet + Self.packet, chance: 0.9)[...]
            while !bytes.isEmpty {
                let piece = bytes.prefix(Int.random(in: 1...4, using: &random))
                bytes = bytes.dropFirst(piece.count)
                guard (try? decoder.decode(piece)) != nil else { break }
                #expect(decoder.pendingCount < 6)
            }
        }
    }
}
