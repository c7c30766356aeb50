import PushLoop
import TestSupport
import TestTraits
import Testing

@testable import PushSimulator

/// Frames of the legacy interface, as its documentation shows them.
enum Frames {
    static func number(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    static func length(_ count: Int) -> [UInt8] { [UInt8(count >> 8 & 255), UInt8(count & 255)] }
    static let token = Array(repeating: UInt8(0xab), count: 32)
    static let payload = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)

    static func simple(_ token: [UInt8] = token, _ payload: [UInt8] = payload) -> [UInt8] {
        [0] + length(token.count) + token + length(payload.count) + payload
    }

    static func enhanced(
        _ id: UInt32, expires: UInt32 = 0, _ token: [UInt8] = token, _ payload: [UInt8] = payload
    ) -> [UInt8] {
        [1] + number(id) + number(expires) + length(token.count) + token + length(payload.count) + payload
    }

    static func item(_ id: UInt8, _ data: [UInt8]) -> [UInt8] { [id] + length(data.count) + data }

    static func items(_ items: [UInt8]...) -> [UInt8] {
        let all = items.flatMap { $0 }
        return [2] + number(UInt32(all.count)) + all
    }

    static func full(_ id: UInt32, _ token: [UInt8] = token, _ payload: [UInt8] = payload, priority: UInt8 = 10)
        -> [UInt8]
    {
        items(item(1, token), item(2, payload), item(3, number(id)), item(4, number(9)), item(5, [priority]))
    }

    static func error(_ status: UInt8, _ id: UInt32) -> [UInt8] { [8, status] + number(id) }
}

final class BinaryClient {
    var machine: SimulatorMachine
    var connection: BinaryConnection

    init(script: String = "{}", certificate: CertificateIdentity? = nil) throws {
        machine = SimulatorMachine(Provider.settings(), script: try FaultScript(Array(script.utf8)), now: noon)
        connection = machine.openBinary(machine.arrive(at: .binary), environment: .production, certificate: certificate)
    }

    func send(_ bytes: [UInt8]) -> BinaryReaction {
        ByteView.lending(bytes) { machine.receiveBinary($0, on: &connection, now: noon) }
    }

    func reconnect() { connection = machine.openBinary(machine.arrive(at: .binary), environment: .production) }

    /// The identifiers of the accepted notifications.
    var accepted: [UInt32] {
        (machine.log.ring.oldest..<machine.log.ring.newest + 1).map { machine.log.ring[$0] }
            .filter { $0.isAccepted }.map(\.stream)
    }
}

@Suite struct BinaryTests {
    static let quiet = BinaryReaction()

    @Test("Accepted notifications are not answered")
    func acceptsWithoutAWord() throws {
        let client = try BinaryClient()
        for frame in [Frames.simple(), Frames.enhanced(7), Frames.full(8), Frames.full(9, priority: 5)] {
            #expect(client.send(frame) == Self.quiet)
        }
        #expect(client.accepted == [0, 7, 8, 9])
        let record = client.machine.log.ring[2]
        #expect(client.machine.log.token(of: record) == Frames.token)
        #expect(client.machine.log.payload(of: record) == Frames.payload)
        #expect(record.service == .binary)
    }

    @Test("Items may be in any order, and optional items may be missing")
    func takesTheItemsInAnyOrderAndMostOfThemMayLack() throws {
        let client = try BinaryClient()
        #expect(
            client.send(
                Frames.items(
                    Frames.item(3, Frames.number(5)), Frames.item(2, Frames.payload), Frames.item(1, Frames.token)))
                == Self.quiet)
        #expect(client.send(Frames.items(Frames.item(2, Frames.payload), Frames.item(1, Frames.token))) == Self.quiet)
        #expect(client.accepted == [5, 0])
    }

    static let longToken = Array(repeating: UInt8(1), count: 101)
    static let longPayload = Array(repeating: UInt8(0x20), count: 2049)
    static let faulty: [([UInt8], UInt8, UInt32)] = [
        (Frames.simple([]), 2, 0), (Frames.enhanced(3, []), 2, 3), (Frames.full(4, []), 2, 4),
        (Frames.items(Frames.item(2, Frames.payload), Frames.item(3, Frames.number(5))), 2, 5),
        (Frames.simple(Frames.token, []), 4, 0), (Frames.enhanced(3, Frames.token, []), 4, 3),
        (Frames.full(4, Frames.token, []), 4, 4),
        (Frames.items(Frames.item(1, Frames.token)), 4, 0),
        (Frames.simple(longToken), 5, 0), (Frames.enhanced(3, longToken), 5, 3), (Frames.full(4, longToken), 5, 4),
        (Frames.simple(Frames.token, longPayload), 7, 0), (Frames.enhanced(3, Frames.token, longPayload), 7, 3),
        (Frames.full(4, Frames.token, longPayload), 7, 4), (Frames.full(4, longToken, longPayload), 5, 4),
        ([3], 128, 0), ([8, 0, 0, 0, 0, 0], 128, 0), ([255], 128, 0),
        ([2] + Frames.number(16_385), 128, 0), ([2] + Frames.number(.max), 128, 0),
        (Frames.items(Frames.item(3, Frames.number(6)), Frames.item(9, [])), 128, 6),
        (Frames.items(Frames.item(9, []), Frames.item(3, Frames.number(6))), 128, 6),
        (
            Frames.items(Frames.item(1, Frames.token), Frames.item(1, Frames.token), Frames.item(3, Frames.number(6))),
            128, 6
        ),
        (Frames.items(Frames.item(3, [0, 0, 1])), 128, 0), (Frames.items(Frames.item(4, [1])), 128, 0),
        (Frames.items(Frames.item(5, [10, 10])), 128, 0), (Frames.full(4, priority: 7), 128, 4),
        (Frames.items([1, 0, 32, 1]), 128, 0), (Frames.items([1, 0]), 128, 0), (Frames.items(), 2, 0),
    ]

    @Test("The first invalid frame is answered with its status, and the connection is closed", arguments: faulty)
    func answersTheFirstFaultAndCloses(frame: [UInt8], status: UInt8, id: UInt32) throws {
        let client = try BinaryClient()
        let reaction = client.send(Frames.enhanced(1) + frame + Frames.enhanced(2))
        #expect(reaction == BinaryReaction(packet: Frames.error(status, id), closes: true))
        #expect(client.accepted == [1], "frames before the fault are accepted, frames after it are ignored")
        #expect(client.send(Frames.enhanced(3)) == Self.quiet)
        #expect(client.accepted == [1])
        #expect(client.connection.isFinished == true)
    }

    @Test("Frames are parsed alike wherever the bytes are split in two")
    func everyTwoWaySplit() throws {
        let bytes = Frames.simple() + Frames.enhanced(1) + Frames.full(2) + Frames.enhanced(3)
        for split in 0...bytes.count {
            let client = try BinaryClient()
            #expect(client.send(Array(bytes[..<split])) == Self.quiet)
            #expect(client.send(Array(bytes[split...])) == Self.quiet)
            #expect(client.accepted == [0, 1, 2, 3], "\(split)")
            #expect(client.connection.parser.pendingCount == 0)
        }
    }

    @Test("Frames that arrive byte by byte are parsed, and the first fault ends the connection")
    func byteByByteWithAFault() throws {
        let client = try BinaryClient()
        var reactions: [BinaryReaction] = []
        for byte in Frames.full(1) + Frames.full(2, []) + Frames.full(3) {
            let reaction = client.send([byte])
            if reaction != Self.quiet { reactions.append(reaction) }
        }
        #expect(reactions == [BinaryReaction(packet: Frames.error(2, 2), closes: true)])
        #expect(client.accepted == [1])
    }

    @Test("The parser holds at most one frame")
    func holdsNoMoreThanOneFrame() throws {
        let client = try BinaryClient()
        _ = client.send([2] + Frames.number(16_384))
        for _ in 0..<100 {
            _ = client.send(Array(repeating: 0, count: 1000))
            #expect(client.connection.parser.pendingCount <= 16_384 + 5)
        }
        #expect(client.connection.isFinished == true)
    }

    /// Splits mutated frames at random and compares the result with that of the unsplit bytes.
    @Test("Mutated frames have the same result however they are split", .waits)
    func splitsDoNotMatterForMutations() throws {
        var random = SeededRandom(seed: 21)
        for _ in 0..<1500 {
            var bytes: [UInt8] = []
            for id in 1...3 as ClosedRange<UInt32> {
                bytes += [Frames.simple(), Frames.enhanced(id), Frames.full(id)].randomElement(using: &random)!
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] = UInt8(truncatingIfNeeded: random.next())
            }
            let whole = try BinaryClient()
            let cut = try BinaryClient()
            let expected = whole.send(bytes)
            var start = 0
            var found = Self.quiet
            while start < bytes.count {
                let end = min(start + Int.random(in: 1...40, using: &random), bytes.count)
                let reaction = cut.send(Array(bytes[start..<end]))
                if reaction != Self.quiet { found = reaction }
                start = end
            }
            #expect(found == expected)
            #expect(cut.accepted == whole.accepted)
        }
    }

    @Test("Bad tokens are rejected, and unregistered tokens are accepted and reported by the feedback service")
    func knowsDevices() throws {
        let client = try BinaryClient()
        let gone = Array(repeating: UInt8(0xcc), count: 32)
        _ = client.machine.devices.set(.init(state: .bad), for: SimulatedDevices.Pattern("abab*")!)
        _ = client.machine.devices.set(
            .init(state: .unregistered, since: after(-60)), for: SimulatedDevices.Pattern("cc*")!)
        #expect(client.send(Frames.enhanced(1, gone)) == Self.quiet)
        #expect(client.send(Frames.enhanced(2, gone)) == Self.quiet, "an unregistered device is accepted silently")
        #expect(client.machine.feedback.entries == [FeedbackList.Entry(time: UInt32(after(-60).seconds), token: gone)])
        #expect(client.send(Frames.enhanced(3)) == BinaryReaction(packet: Frames.error(8, 3), closes: true))
        #expect(client.accepted == [1, 2])
    }

    @Test("The feedback list is empty after it was read")
    func feedbackIsReadOnce() throws {
        var list = FeedbackList()
        list.add([1, 2, 3], at: after(0))
        list.add([0x0a], at: after(1))
        list.add([1, 2, 3], at: after(2))
        let expected =
            Frames.number(UInt32(after(2).seconds)) + [0, 3, 1, 2, 3] + Frames.number(UInt32(after(1).seconds)) + [
                0, 1, 0x0a,
            ]
        #expect(list.take() == expected)
        #expect(list.take() == [])
    }

    @Test("Payloads that Apple dropped cause a warning")
    func warnsOfPayloadsThatAppleDropped() throws {
        let client = try BinaryClient()
        #expect(client.send(Frames.enhanced(1, Frames.token, [0x78])) == Self.quiet)
        #expect(client.machine.log.ring[1].warnings == Warnings.payloadNotAnObject.rawValue)
        #expect(client.send(Frames.enhanced(2, expires: 1)) == Self.quiet)
        #expect(client.machine.log.ring[2].warnings == Warnings.expirationPassed.rawValue)
    }

    // MARK: Faults

    @Test("A script can answer with an error packet")
    func errorPacketsByScript() throws {
        let client = try BinaryClient(script: "{rules: [{on: 'binary', match: {request: 2}, packet: 7}]}")
        #expect(client.send(Frames.enhanced(1)) == Self.quiet)
        #expect(
            client.send(Frames.enhanced(2) + Frames.enhanced(3))
                == BinaryReaction(packet: Frames.error(7, 2), closes: true))
        #expect(client.accepted == [1])
    }

    @Test("A shutdown packet names the last accepted notification")
    func shutdownNamesTheLastAccepted() throws {
        let client = try BinaryClient(script: "{rules: [{on: 'binary', match: {request: 2}, packet: 10}]}")
        #expect(
            client.send(Frames.enhanced(1) + Frames.enhanced(2) + Frames.enhanced(3))
                == BinaryReaction(packet: Frames.error(10, 2), closes: true))
        #expect(client.accepted == [1, 2])
    }

    @Test("A script can close the connection, cut the error packet or silence the gateway")
    func otherWaysToEnd() throws {
        let close = try BinaryClient(script: "{rules: [{on: 'binary', close: true}]}")
        #expect(close.send(Frames.enhanced(1)) == BinaryReaction(packet: [], closes: true))
        #expect(close.accepted == [1])
        let lost = try BinaryClient(script: "{rules: [{on: 'binary', close: true, processed: false}]}")
        #expect(lost.send(Frames.enhanced(1)).closes)
        #expect(lost.accepted == [])
        let half = try BinaryClient(script: "{rules: [{on: 'binary', half_frame: true, latency: '5ms'}]}")
        #expect(half.send(Frames.enhanced(1)) == BinaryReaction(packet: [8, 1, 0], closes: true, delay: 5_000_000))
        let silent = try BinaryClient(script: "{rules: [{on: 'binary', match: {request: 2}, silence: true}]}")
        #expect(silent.send(Frames.enhanced(1) + Frames.enhanced(2) + Frames.full(3, [])) == Self.quiet)
        #expect(silent.accepted == [1, 2])
        #expect(silent.connection.isSilent == true)
    }

    @Test("A script can cut the feedback list")
    func feedbackByScript() throws {
        let client = try BinaryClient(script: "{rules: [{on: 'feedback', half_frame: true, times: 1}]}")
        client.machine.feedback.add(Frames.token, at: noon)
        let arrival = client.machine.arrive(at: .feedback)
        #expect(arrival.isCutShort)
        #expect(client.machine.takeFeedback(arrival).count == 38 - 3)
        client.machine.feedback.add(Frames.token, at: noon)
        let second = client.machine.arrive(at: .feedback)
        #expect(client.machine.takeFeedback(second).count == 38)
    }
}
