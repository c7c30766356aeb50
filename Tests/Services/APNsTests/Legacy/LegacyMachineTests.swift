import PushLogic
import PushModel
import PushTime
import TestSupport
import Testing

@testable import APNs

@Suite struct LegacyMachineTests {
    @Test func `Deliveries that arrive before the connection is open are sent after it, in order`() {
        var scene = LegacyScene()
        scene.deliver(1...3)
        #expect(scene.frames().isEmpty && scene.machine.waitingCount == 3)
        let action = scene.machine.opened(now: scene.now)
        #expect(action.event == .ready(limit: 8192))
        #expect(scene.frames() == [.sent(1, 1), .sent(2, 2), .sent(3, 3)])
        #expect(scene.machine.inFlight == 3 && scene.machine.waitingCount == 0)
    }

    // The table in `Documentation/Protocols.md`, "The error packet": the end of the named delivery, for 128 and 255 on
    // the first and a later attempt.
    @Test(arguments: [
        (UInt8(1), UInt16(1), 500, "InternalServerError"), (2, 1, 400, "MissingDeviceToken"),
        (3, 1, 400, "MissingTopic"), (4, 1, 400, "PayloadEmpty"), (5, 1, 400, "InvalidTokenSize"),
        (6, 1, 400, "BadTopic"), (7, 1, 413, "PayloadTooLarge"), (8, 1, 400, "BadDeviceToken"), (128, 1, 0, ""),
        (255, 1, 0, ""), (128, 2, 400, "ProtocolError"), (255, 2, 400, "UnknownError"), (9, 1, 0, ""),
        (77, 3, 400, "UnknownError"),
    ])
    func `A failure ends its delivery, proves earlier ones accepted and later ones discarded`(
        status: UInt8, attempt: UInt16, code: Int, reason: String
    ) {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...5, attempt: attempt)
        #expect(scene.frames().count == 5)
        scene.deliver(6...6)
        scene.take(scene.machine.errorReceived(status: status, identifier: 3, now: scene.now))
        let third: AttemptResult =
            code == 0
            ? .notProcessed : .refused(Refusal(status: code, reason: ProviderReason(rawValue: reason)))
        #expect(scene.endings[1] == .accepted(providerID: nil) && scene.endings[2] == .accepted(providerID: nil))
        #expect(scene.endings[3] == third)
        #expect((4...6).allSatisfy { scene.endings[$0] == .notProcessed })
        #expect(scene.end?.kind == .errorPacket && scene.end?.reason == nil)
        #expect(scene.order == [1, 2, 3, 4, 5, 6])
        // What the peer discarded was not tried.
        #expect((4...5).allSatisfy { scene.attempts[$0] == attempt - 1 })
    }

    /// The first bad token of a connection proves nothing about the frames before it, of which there are none.
    @Test func `Only an end after an accepted delivery is that of a connection that was of use`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...3)
        #expect(scene.frames().count == 3)
        scene.take(scene.machine.errorReceived(status: 8, identifier: 1, now: scene.now))
        #expect(scene.end?.kind == .goAway)
    }

    @Test func `A delivery that waits for the ring is not sent after its message was cancelled or has expired`() {
        var scene = LegacyScene { $0.ringSize = 1 }
        let gone = Message(id: MessageID("gone")!, app: AppID("shop")!, payload: [0x20])
        let brief = Message(
            id: MessageID("brief")!, app: AppID("shop")!, expiry: Expiry(expiresAt: scene.wall.seconds + 5),
            payload: [0x20])
        scene.open()
        scene.deliver(1...2, of: gone)
        scene.deliver(3...3, of: brief)
        scene.deliver(4...4)
        #expect(scene.frames() == [.sent(1, 1)])
        gone.withdraw()
        scene.wall = WallTime(seconds: scene.wall.seconds + 5)
        scene.machine.handedOver(bytes: 100, now: scene.now)
        scene.pass(.seconds(2), acknowledged: 100)
        #expect(scene.frames() == [.sent(4, 2)])
        #expect(scene.endings == [1: .accepted(providerID: nil), 2: .notProcessed, 3: .notProcessed])
    }

    @Test func `A recall returns what was cancelled, and a pause everything that was not sent`() {
        var scene = LegacyScene { $0.ringSize = 1 }
        let gone = Message(id: MessageID("gone")!, app: AppID("shop")!, payload: [0x20])
        scene.open()
        scene.deliver(1...2)
        scene.deliver(3...4, of: gone)
        #expect(scene.frames() == [.sent(1, 1)])
        gone.withdraw()
        #expect(scene.machine.recall().map(\.delivery.ticket) == [3, 4])
        scene.take(scene.machine.giveBack())
        #expect(scene.endings == [2: .notProcessed])
        #expect(scene.machine.inFlight == 1 && scene.machine.status == .open)
    }

    @Test func `Only status 8 has the reason that deactivates a device`() {
        for status in UInt8.min...UInt8.max where status != 8 {
            for attempt in [1, 2] as [UInt16] {
                if case .refused(let refusal) = LegacyStatus(rawValue: status).result(attempt: attempt) {
                    #expect(
                        refusal.reason?.rawValue != "BadDeviceToken"
                            && ReasonTable.apns.disposition(of: refusal) != .deactivate)
                }
            }
        }
    }

    @Test func `A shutdown names the last delivery that was accepted`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...5)
        #expect(scene.frames().count == 5)
        scene.take(scene.machine.errorReceived(status: 10, identifier: 3, now: scene.now))
        #expect((1...3).allSatisfy { scene.endings[$0] == .accepted(providerID: nil) })
        #expect((4...5).allSatisfy { scene.endings[$0] == .notProcessed })
        #expect(scene.end?.kind == .errorPacket && scene.end?.reason?.rawValue == "Shutdown")
    }

    @Test(arguments: [(UInt8(8), UInt32(0)), (10, 0), (8, 6), (8, .max), (2, 0), (0, 3)])
    func `A packet without a known notification makes the ring unknown`(status: UInt8, identifier: UInt32) {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...5)
        #expect(scene.frames().count == 5)
        scene.deliver(6...6)
        scene.take(scene.machine.errorReceived(status: status, identifier: identifier, now: scene.now))
        #expect((1...5).allSatisfy { scene.endings[$0] == .unknown(.connectionLost) })
        #expect(scene.endings[6] == .notProcessed)
    }

    @Test func `With command 0 a packet names no notification`() {
        var scene = LegacyScene { $0.hasIdentifiers = false }
        scene.open()
        scene.deliver(1...3)
        #expect(scene.frames().count == 3)
        scene.take(scene.machine.errorReceived(status: 8, identifier: 2, now: scene.now))
        #expect((1...3).allSatisfy { scene.endings[$0] == .unknown(.connectionLost) })
    }

    @Test func `A delivery that the peer's TCP has had for the settle time is presumed accepted`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...2)
        #expect(scene.frames().count == 2)
        scene.machine.handedOver(bytes: 100, now: scene.now)
        #expect(scene.machine.nextDeadline == scene.now + .seconds(2))
        scene.pass(.milliseconds(1999), acknowledged: 100)
        #expect(scene.endings.isEmpty)
        scene.pass(.milliseconds(1), acknowledged: 100)
        #expect(scene.endings == [1: .accepted(providerID: nil), 2: .accepted(providerID: nil)])
        #expect(scene.latencies[1] == .seconds(2))
        #expect(scene.machine.nextDeadline == nil)
    }

    @Test func `A delivery that the peer's TCP does not have is not presumed accepted, and times out`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...1)
        #expect(scene.frames().count == 1)
        scene.machine.handedOver(bytes: 100, now: scene.now)
        scene.deliver(2...2)
        #expect(scene.frames().count == 1)
        scene.machine.handedOver(bytes: 200, now: scene.now)
        scene.pass(.seconds(2), acknowledged: 99)
        #expect(scene.endings.isEmpty && scene.machine.nextDeadline == scene.now + .milliseconds(500))
        scene.pass(.milliseconds(500), acknowledged: 100)
        #expect(scene.endings == [1: .accepted(providerID: nil)])
        scene.pass(.milliseconds(29_999), acknowledged: 100)
        #expect(scene.end == nil)
        scene.pass(.milliseconds(1), acknowledged: 100)
        #expect(scene.endings[2] == .unknown(.timeout) && scene.end?.kind == .silent)
    }

    @Test func `Nothing settles after a part of an error packet has arrived`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...2)
        #expect(scene.frames().count == 2)
        scene.machine.handedOver(bytes: 100, now: scene.now)
        scene.machine.packetBegan()
        scene.pass(.seconds(5), acknowledged: 100)
        #expect(scene.endings.isEmpty)
        scene.take(scene.machine.errorReceived(status: 8, identifier: 1, now: scene.now))
        #expect(scene.endings[2] == .notProcessed && scene.endings[1] != .accepted(providerID: nil))
    }

    @Test func `A packet about a settled delivery proves that those in the ring were discarded`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...3)
        #expect(scene.frames().count == 3)
        scene.machine.handedOver(bytes: 100, now: scene.now)
        scene.pass(.seconds(2), acknowledged: 100)
        scene.deliver(4...5)
        #expect(scene.frames().count == 2)
        scene.take(scene.machine.errorReceived(status: 8, identifier: 2, now: scene.now))
        #expect(scene.endings[4] == .notProcessed && scene.endings[5] == .notProcessed)
        #expect(scene.end?.message.contains("; 2 deliveries after it were wrongly presumed accepted") == true)
    }

    @Test func `A full ring delays waiting deliveries until the oldest settle`() {
        var scene = LegacyScene { $0.ringSize = 4 }
        scene.open()
        scene.deliver(1...10)
        #expect(scene.frames() == (1...4).map { .sent($0, UInt32($0)) })
        scene.machine.handedOver(bytes: 10, now: scene.now)
        #expect(scene.frames().isEmpty)
        scene.pass(.seconds(2), acknowledged: 10)
        #expect(scene.frames() == (5...8).map { .sent($0, UInt32($0)) })
    }

    @Test func `Deliveries beyond the limit of the queue come back`() {
        var scene = LegacyScene {
            $0.ringSize = 4
            $0.waitingRings = 2
        }
        scene.deliver(1...10)
        #expect(scene.endings == [9: .notProcessed, 10: .notProcessed])
    }

    @Test func `A payload of an invalid size is refused before it is sent`() {
        var scene = LegacyScene { $0.payloadLimit = 10 }
        scene.open()
        scene.deliver(1...1, payload: 11)
        scene.deliver(2...2, payload: 0)
        scene.deliver(3...3, payload: 10)
        #expect(scene.endings[1] == LegacyStatus.invalidPayloadSize.result(attempt: 1))
        #expect(scene.endings[2] == LegacyStatus.missingPayload.result(attempt: 1))
        #expect(scene.frames() == [.sent(3, 1)])
    }

    @Test func `An address that is longer than any token is refused before it is sent`() {
        var scene = LegacyScene { _ in }
        scene.open()
        scene.deliver(1...1, to: Address(bytes: Array(repeating: 1, count: 101)))
        scene.deliver(2...2, to: Address(bytes: Array(repeating: 1, count: 100)))
        #expect(scene.endings[1] == LegacyStatus.invalidTokenSize.result(attempt: 1))
        #expect(scene.frames() == [.sent(2, 1)])
    }

    @Test(arguments: [UInt64(1), 3, 5])
    func `Identifiers wrap and skip 0`(bad: UInt64) {
        let period = UInt64(UInt32.max)
        var scene = LegacyScene { $0.firstSequence = 2 * period - 2 }
        scene.open()
        scene.deliver(1...5)
        let identifiers: [UInt32] = [0xffff_fffd, 0xffff_fffe, 0xffff_ffff, 1, 2]
        let expected = identifiers.enumerated().map { LegacyScene.Frame.sent(UInt64($0.offset) + 1, $0.element) }
        #expect(scene.frames() == expected)
        let identifier = identifiers[Int(bad) - 1]
        scene.take(scene.machine.errorReceived(status: 8, identifier: identifier, now: scene.now))
        #expect((1..<bad).allSatisfy { scene.endings[$0] == .accepted(providerID: nil) })
        #expect(scene.endings[bad] == LegacyStatus.invalidToken.result(attempt: 1))
        #expect((bad...5).dropFirst().allSatisfy { scene.endings[$0] == .notProcessed })
    }

    @Test(arguments: [(UInt8(2), UInt32(4)), (5, 4), (2, 0), (8, 4), (10, 4)])
    func `The answer to the probe proves that all deliveries were accepted`(status: UInt8, identifier: UInt32) {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...3)
        #expect(scene.frames().count == 3)
        scene.deliver(4...5)
        scene.take(scene.machine.drain(now: scene.now))
        #expect(scene.endings == [4: .notProcessed, 5: .notProcessed])
        #expect(scene.frames() == [.probe(4)])
        scene.deliver(6...6)
        #expect(scene.endings[6] == .notProcessed)
        scene.take(scene.machine.errorReceived(status: status, identifier: identifier, now: scene.now))
        #expect((1...3).allSatisfy { scene.endings[$0] == .accepted(providerID: nil) })
        #expect(scene.end?.kind == .byUs && scene.isOrderly)
    }

    @Test func `A failure before the probe is handled as a failure`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...3)
        #expect(scene.frames().count == 3)
        scene.take(scene.machine.drain(now: scene.now))
        #expect(scene.frames() == [.probe(4)])
        scene.take(scene.machine.errorReceived(status: 8, identifier: 2, now: scene.now))
        #expect(scene.endings[1] == .accepted(providerID: nil) && scene.endings[3] == .notProcessed)
        #expect(scene.endings[2] == LegacyStatus.invalidToken.result(attempt: 1))
    }

    @Test func `A probe without an answer leaves the deliveries in the ring unknown`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...3)
        #expect(scene.frames().count == 3)
        scene.take(scene.machine.drain(now: scene.now))
        #expect(scene.frames() == [.probe(4)])
        scene.machine.handedOver(bytes: 10, now: scene.now)
        scene.pass(.milliseconds(9_999), acknowledged: 10)
        #expect(scene.endings.isEmpty && scene.end == nil)
        scene.pass(.milliseconds(1), acknowledged: 10)
        #expect((1...3).allSatisfy { scene.endings[$0] == .unknown(.timeout) } && scene.end?.kind == .silent)
    }

    @Test func `Without the probe a drain waits for the settle time`() {
        var scene = LegacyScene { $0.probes = false }
        scene.open()
        scene.deliver(1...2)
        #expect(scene.frames().count == 2)
        scene.take(scene.machine.drain(now: scene.now))
        #expect(scene.frames().isEmpty)
        scene.machine.handedOver(bytes: 10, now: scene.now)
        scene.pass(.seconds(2), acknowledged: 10)
        #expect(scene.endings[2] == .accepted(providerID: nil) && scene.end?.kind == .byUs && scene.isOrderly)
    }

    @Test func `A drain with an empty ring ends at once`() {
        var scene = LegacyScene()
        scene.open()
        scene.take(scene.machine.drain(now: scene.now))
        #expect(scene.end?.kind == .byUs && scene.isOrderly && scene.machine.status == .closed)
        var early = LegacyScene()
        early.deliver(1...2)
        early.take(early.machine.drain(now: early.now))
        #expect(early.endings == [1: .notProcessed, 2: .notProcessed] && early.end?.kind == .byUs)
    }

    @Test func `An end without a packet leaves the ring unknown, and an early one is a credential fault`() {
        for (wait, kind) in [(Duration.zero, ConnectionEnd.Kind.credential), (.seconds(2), .lost)] {
            var scene = LegacyScene()
            scene.open()
            scene.now = scene.now + wait
            scene.deliver(1...2)
            #expect(scene.frames().count == 2)
            scene.deliver(3...3)
            let lost = ConnectionEnd(.lost, message: "closed by the peer")
            scene.take(scene.machine.connectionEnded(lost, isWordless: true, now: scene.now))
            #expect(scene.endings[1] == .unknown(.connectionLost) && scene.endings[2] == .unknown(.connectionLost))
            #expect(scene.endings[3] == .notProcessed)
            #expect(scene.end?.kind == kind)
        }
    }

    @Test func `Closing leaves the ring unknown and returns waiting deliveries`() {
        var scene = LegacyScene()
        scene.open()
        scene.deliver(1...2)
        #expect(scene.frames().count == 2)
        scene.deliver(3...3)
        scene.take(scene.machine.close(now: scene.now))
        #expect(scene.endings[1] == .unknown(.connectionLost) && scene.endings[3] == .notProcessed)
        #expect(scene.end?.kind == .byUs && !scene.isOrderly)
        // Nothing ends twice.
        scene.take(scene.machine.close(now: scene.now))
        scene.take(scene.machine.errorReceived(status: 8, identifier: 1, now: scene.now))
        scene.take(scene.machine.connectionEnded(ConnectionEnd(.lost, message: ""), isWordless: true, now: scene.now))
        scene.pass(.seconds(100), acknowledged: 0)
        scene.deliver(4...4)
        #expect(scene.order.sorted() == [1, 2, 3, 4] && scene.endings[4] == .notProcessed && scene.ends == 1)
    }
}

/// A machine with its clock and the results of its inputs.
struct LegacyScene: ~Copyable {
    enum Frame: Equatable {
        case sent(UInt64, UInt32)
        case probe(UInt32)
    }

    var machine: LegacyMachine
    var now = MonotonicTime(nanoseconds: 1_000_000_000)
    var endings: [UInt64: AttemptResult] = [:]
    var latencies: [UInt64: Duration] = [:]
    var attempts: [UInt64: UInt16] = [:]
    var wall = WallTime(milliseconds: 1_000_000)
    var order: [UInt64] = []
    var end: ConnectionEnd?
    var ends = 0
    var isOrderly = false

    init(_ change: (inout LegacyMachine.Options) -> Void = { _ in }) {
        var options = LegacyMachine.Options()
        change(&options)
        machine = LegacyMachine(options)
    }

    mutating func open() { take(machine.opened(now: now)) }

    mutating func deliver(
        _ tickets: ClosedRange<UInt64>, attempt: UInt16 = 1, payload: Int = 2, of known: Message? = nil,
        to address: Address? = nil
    ) {
        let message =
            known
            ?? Message(
                id: MessageID("m")!, app: AppID("shop")!, payload: Array(repeating: 0x20, count: payload))
        let deliveries = tickets.map { ticket in
            Delivery(
                ticket: ticket, message: message, token: address ?? Address(words: (ticket, 0, 0, 1)),
                deliveryID: DeliveryID(high: 0, low: ticket), attempt: attempt - 1)
        }
        take(machine.deliver(deliveries))
    }

    mutating func frames(_ limit: Int = .max) -> [Frame] {
        var frames: [Frame] = []
        var unsent: [AttemptReport] = []
        while frames.count < limit, let frame = machine.nextFrame(now: now, at: wall, unsent: &unsent) {
            switch frame {
            case .notification(let delivery, let identifier): frames.append(.sent(delivery.ticket, identifier))
            case .probe(let identifier): frames.append(.probe(identifier))
            }
        }
        take(unsent)
        return frames
    }

    mutating func pass(_ time: Duration, acknowledged: UInt64) {
        now = now + time
        take(machine.timePassed(now: now, acknowledged: acknowledged))
    }

    mutating func take(_ action: LegacyMachine.Action) {
        take(action.ended)
        guard let end = action.end else { return }
        self.end = end
        ends += 1
        isOrderly = action.isOrderly
    }

    private mutating func take(_ ended: [AttemptReport]) {
        for ended in ended {
            #expect(endings.updateValue(ended.result, forKey: ended.delivery.ticket) == nil, "ended twice")
            latencies[ended.delivery.ticket] = ended.latency
            attempts[ended.delivery.ticket] = ended.delivery.attempt
            order.append(ended.delivery.ticket)
        }
    }
}
