import APNs
import PushGateways
import PushLoop
import PushModel
import PushTransport
import PushWire
import TestSupport
import TestTraits
import Testing

/// Tests of the connection against the simulated legacy gateway, over real TLS.
@Suite(.waits) struct LegacyConnectionTests {
    private static let message = Message(
        id: MessageID("m")!, app: AppID("shop")!, expiry: Expiry(expiresAt: 0),
        payload: Array(#"{"aps":{"alert":"Hello"}}"#.utf8))

    private static func token(_ number: UInt64) -> Address { Address(words: (number, 1, 2, 3)) }

    private static func deliveries(_ numbers: ClosedRange<UInt64>) -> [Delivery] {
        numbers.map {
            Delivery(ticket: $0, message: message, token: token($0), deliveryID: DeliveryID(high: 1, low: $0))
        }
    }

    private struct Line: Sendable {
        let connection: LegacyConnection
        let reports = EventRecorder<ConnectionReport>()

        init(
            _ apple: LegacyApple, to endpoint: HostPort? = nil, number: UInt32 = 1,
            _ change: (inout LegacyConnection.Settings) -> Void = { _ in }
        ) throws {
            var settings = LegacyConnection.Settings(
                tls: try LegacyApple.clientTLS(), serverName: "127.0.0.1", resolver: apple.resolver,
                wallClock: WallTime.current)
            // The times are long, so that nothing settles by itself on a busy machine.
            settings.settleAfter = .seconds(600)
            settings.drainFor = .seconds(600)
            settings.connectTimeout = .seconds(300)
            change(&settings)
            connection = LegacyConnection(
                id: ConnectionID(number), on: apple.clientLoop, to: endpoint ?? apple.binary, settings: settings,
                outlet: ConnectionOutlet(on: apple.clientLoop) { [reports] in reports.record($0) })
        }

        /// Creates a connection and passes the deliveries to it, before any event can occur on it.
        static func delivering(
            _ numbers: ClosedRange<UInt64>, _ apple: LegacyApple, to endpoint: HostPort? = nil
        ) async throws -> Line {
            try await apple.clientLoop.run {
                let line = try Line(apple, to: endpoint)
                line.connection.deliver(LegacyConnectionTests.deliveries(numbers))
                return line
            }
        }

        /// Waits until all deliveries were sent or have ended.
        func untilSent() async {
            await wait(while: await connection.status().waiting > 0)
        }

        func untilReady() async {
            await reports.wait { $0.contains { $0.event != nil } }
        }

        func untilClosed() async -> (end: ConnectionEnd, ended: [AttemptReport]) {
            let all = await reports.wait { $0.contains { if case .closed? = $0.event { true } else { false } } }
            for (index, report) in all.enumerated() {
                if case .closed(let end)? = report.event { return (end, all[..<index].flatMap(\.ended)) }
            }
            fatalError("no closed event found")
        }

        var ended: [UInt64: AttemptResult] {
            Dictionary(uniqueKeysWithValues: reports.events.flatMap(\.ended).map { ($0.delivery.ticket, $0.result) })
        }
    }

    @Test(arguments: LegacyCommand.allCases)
    func `A drain is exact with every command`(command: LegacyCommand) async throws {
        try await withLegacyApple { apple in
            let line = try Line(apple) { $0.command = command }
            line.connection.deliver(Self.deliveries(1...1000))
            await line.untilSent()
            let status = await line.connection.status()
            #expect(status.state == .open && status.streamLimit == 8192 && status.inFlight == 1000)
            #expect(status.address == "\(apple.binary)")
            line.connection.drain()
            let (end, ended) = await line.untilClosed()
            #expect(end.kind == .byUs)
            #expect(ended.map(\.delivery.ticket) == Array(1...1000))
            #expect(ended.allSatisfy { $0.result == .accepted(providerID: nil) })
            let seen = await apple.seen()
            #expect(seen.count == 1001 && seen.last?.status == 2)
            #expect(seen.dropLast().map(\.token) == Array(1...1000))
            #expect(seen.dropLast().allSatisfy { $0.status == 200 && $0.priority == 10 })
            let expected: [UInt32] = command == .simple ? Array(repeating: 0, count: 1000) : Array(1...1000)
            #expect(seen.dropLast().map(\.identifier) == expected)
            let last = await line.connection.status()
            #expect(last.state == .closed && last.answered == 1000)
        }
    }

    @Test func `A connection judges what has expired by the clock that it is given`() async throws {
        try await withLegacyApple { apple in
            let behind: @Sendable () -> WallTime = { .current() - .seconds(3600) }
            let line = try Line(apple) { $0.wallClock = behind }
            var deliveries = Self.deliveries(1...2)
            deliveries[0].deadline = UnixSeconds(behind().seconds + 100)
            deliveries[1].deadline = UnixSeconds(behind().seconds)
            line.connection.deliver(deliveries)
            await line.untilSent()
            line.connection.drain()
            let (_, ended) = await line.untilClosed()
            #expect(ended.map(\.result).contains(.accepted(providerID: nil)))
            #expect(ended.filter { $0.result == .notProcessed }.map(\.delivery.ticket) == [2])
            #expect(ended.count == 2)
        }
    }

    @Test func `Deliveries without an error within the settle time count as accepted`() async throws {
        try await withLegacyApple(clientClock: .manual()) { apple in
            let line = try Line(apple) {
                $0.settleAfter = .seconds(2)
                // The TCP acknowledgement takes a moment of real time, in which the loop's clock runs far ahead.
                $0.stallAfter = .seconds(1_000_000)
            }
            line.connection.deliver(Self.deliveries(1...10))
            await apple.untilSeen(10)
            #expect(line.ended.isEmpty)
            await apple.clientLoop.advance(by: .milliseconds(1999))
            #expect(line.ended.isEmpty)
            while line.ended.isEmpty { await apple.clientLoop.advance(by: .milliseconds(500)) }
            #expect(line.ended.count == 10 && line.ended.values.allSatisfy { $0 == .accepted(providerID: nil) })
            #expect(await line.connection.status().inFlight == 0)
            line.connection.close()
            let (end, _) = await line.untilClosed()
            #expect(end.kind == .byUs)
        }
    }

    @Test func `Bad tokens in the middle lose and duplicate no delivery`() async throws {
        try await withLegacyApple { apple in
            let bad = Set((1...5000).filter { $0 % 263 == 7 }.map { UInt64($0) })
            for number in bad { await apple.forbid(Self.token(number).bytes) }
            let endings = EventRecorder<(UInt64, AttemptResult)>()
            let connections = EventRecorder<Int>()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<4 {
                    group.addTask {
                        var left = Self.deliveries(UInt64(lane) * 1250 + 1...UInt64(lane + 1) * 1250)
                        while !left.isEmpty {
                            let line = try Line(apple)
                            line.connection.deliver(left)
                            await line.untilSent()
                            line.connection.drain()
                            let ended = await line.untilClosed().ended
                            #expect(ended.map(\.delivery.ticket) == left.map(\.ticket))
                            left = []
                            for end in ended {
                                if end.result == .notProcessed {
                                    left.append(end.delivery)
                                } else {
                                    endings.record((end.delivery.ticket, end.result))
                                }
                            }
                            connections.record(lane)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let outcome = Dictionary(uniqueKeysWithValues: endings.events)
            #expect(outcome.count == 5000)
            for (ticket, ending) in outcome {
                guard bad.contains(ticket) else {
                    #expect(ending == .accepted(providerID: nil))
                    continue
                }
                #expect(ending == .refused(Refusal(status: 400, reason: ProviderReason(rawValue: "BadDeviceToken"))))
            }
            #expect(connections.events.count == bad.count + 4)
            let seen = await apple.seen()
            let accepted = seen.filter { $0.status == 200 }.map(\.token)
            #expect(accepted.count == 5000 - bad.count && Set(accepted).count == accepted.count, "some were duplicated")
            #expect(Set(accepted).isDisjoint(with: bad))
            #expect(Set(seen.filter { $0.status == 8 }.map(\.token)) == bad)
        }
    }

    @Test func `A shutdown names the last accepted notification, and the others go to the next connection`()
        async throws
    {
        let script = #"{ rules: [{ on: "binary", match: { connection: 1, request: 70 }, packet: 10 }] }"#
        try await withLegacyApple(script: script) { apple in
            let first = try Line(apple)
            first.connection.deliver(Self.deliveries(1...200))
            let (end, ended) = await first.untilClosed()
            #expect(end.kind == .errorPacket && end.reason?.rawValue == "Shutdown")
            #expect(ended.prefix(70).allSatisfy { $0.result == .accepted(providerID: nil) })
            #expect(ended.count == 200 && ended.dropFirst(70).allSatisfy { $0.result == .notProcessed })
            let second = try Line(apple, number: 2)
            second.connection.deliver(ended.dropFirst(70).map(\.delivery))
            await second.untilSent()
            second.connection.drain()
            #expect(await second.untilClosed().ended.allSatisfy { $0.result == .accepted(providerID: nil) })
            #expect(await apple.seen().filter { $0.status == 200 }.map(\.token) == Array(1...200))
        }
    }

    @Test(arguments: [
        #"close: true"#, #"half_frame: true"#,
    ])
    func `When the connection ends without a complete error packet, sent deliveries are unknown`(fault: String)
        async throws
    {
        try await withLegacyApple(script: "{ rules: [{ on: \"binary\", match: { request: 5 }, \(fault) }] }") { apple in
            let line = try await Line.delivering(1...10, apple)
            let (end, ended) = await line.untilClosed()
            // No delivery was accepted before. An incomplete packet does not point to the certificate.
            #expect(end.kind == (fault.hasPrefix("half") ? .lost : .credential))
            #expect(ended.count == 10 && ended.allSatisfy { $0.result == .unknown(.connectionLost) })
            #expect(end.message.contains("incomplete error packet") == fault.hasPrefix("half"))
        }
    }

    @Test func `A peer that closes at once points to the certificate`() async throws {
        try await withLegacyApple(script: #"{ rules: [{ on: "binary_connect", close: true }] }"#) { apple in
            let line = try await Line.delivering(1...3, apple)
            let (end, ended) = await line.untilClosed()
            #expect(end.kind == .credential && end.message.contains("certificate"))
            #expect(ended.count == 3 && ended.allSatisfy { $0.result != .accepted(providerID: nil) })
        }
    }

    @Test func `After a rejected handshake or without a listener, deliveries are not processed`() async throws {
        try await withLegacyApple(script: #"{ rules: [{ on: "binary_connect", tls: "refuse" }] }"#) { apple in
            let refused = try await Line.delivering(1...3, apple)
            let first = await refused.untilClosed()
            #expect(first.end.kind == .credential && first.ended.allSatisfy { $0.result == .notProcessed })
            #expect(first.ended.count == 3)
            let nobody = try await Line.delivering(1...3, apple, to: HostPort(host: "127.0.0.1", port: 1))
            let second = await nobody.untilClosed()
            #expect(second.end.kind == .unreachable && second.ended.allSatisfy { $0.result == .notProcessed })
            nobody.connection.deliver(Self.deliveries(4...4))
            await nobody.reports.wait { $0.flatMap(\.ended).count == 4 }
            #expect(nobody.ended[4] == .notProcessed)
        }
    }

    @Test func `A TLS handshake that does not complete times out`() async throws {
        try await withLegacyApple(
            script: #"{ rules: [{ on: "binary_connect", latency: "1h" }] }"#, clientClock: .manual()
        ) { apple in
            let line = try Line(apple) { $0.connectTimeout = .seconds(10) }
            line.connection.deliver(Self.deliveries(1...3))
            await apple.until { $0.connectionCount == 1 }
            await apple.clientLoop.advance(by: .seconds(10))
            let (end, ended) = await line.untilClosed()
            #expect(end.kind == .unreachable && ended.allSatisfy { $0.result == .notProcessed })
        }
    }

    @Test func `A peer that does not answer the probe is disconnected, and its deliveries are unknown`() async throws {
        let script = #"{ rules: [{ on: "binary", match: { request: 2 }, silence: true }] }"#
        try await withLegacyApple(script: script, clientClock: .manual()) { apple in
            let line = try Line(apple) { $0.drainFor = .seconds(10) }
            line.connection.deliver(Self.deliveries(1...5))
            await apple.untilSeen(2)
            await line.untilSent()
            line.connection.drain()
            #expect(await line.connection.status().state == .draining)
            await apple.clientLoop.advance(by: .seconds(10))
            let (end, ended) = await line.untilClosed()
            #expect(end.kind == .silent && ended.count == 5)
            #expect(ended.allSatisfy { $0.result == .unknown(.timeout) })
        }
    }

    @Test func `A close makes deliveries in flight unknown, and an idle connection drains at once`() async throws {
        try await withLegacyApple { apple in
            let line = try Line(apple)
            line.connection.deliver(Self.deliveries(1...5))
            await line.untilSent()
            line.connection.close()
            let (end, ended) = await line.untilClosed()
            #expect(end.kind == .byUs && ended.count == 5)
            #expect(ended.allSatisfy { $0.result == .unknown(.connectionLost) })
            let idle = try Line(apple)
            await idle.untilReady()
            idle.connection.drain()
            #expect(await idle.untilClosed().end.kind == .byUs)
            // On the loop, all of this happens before the connection can be established.
            let unborn = try await apple.clientLoop.run {
                let line = try Line(apple)
                line.connection.deliver(Self.deliveries(6...6))
                line.connection.close()
                return line
            }
            #expect(await unborn.untilClosed().ended.map(\.result) == [.notProcessed])
        }
    }

    @Test(arguments: [Array("HTTP/1.1 400 Bad Request\r\n".utf8), [8, 8, 0, 0], [8, 200, 9, 9, 9, 9, 1, 2, 3], [0]])
    func `Whatever a peer sends, every delivery ends once`(bytes: [UInt8]) async throws {
        try await TalkingPeer.run(sending: bytes) { apple, endpoint in
            let line = try await Line.delivering(1...50, apple, to: endpoint)
            let (end, ended) = await line.untilClosed()
            #expect(ended.map(\.delivery.ticket) == Array(1...50))
            #expect(ended.allSatisfy { $0.result == .unknown(.connectionLost) || $0.result == .notProcessed })
            #expect([.broken, .lost, .goAway, .errorPacket].contains(end.kind))
        }
    }
}
