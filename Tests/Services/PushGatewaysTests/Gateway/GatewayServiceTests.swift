import APNs
import PushGateways
import PushLogic
import PushLoop
import PushModel
import TestSupport
import TestTraits
import Testing

/// A gateway with real connections: tests of what a scripted connection cannot show, such as loops and addresses.
@Suite(.waits)
struct GatewayServiceTests {
    @Test func `Connections on other loops send the deliveries of the gateway`() async throws {
        let loops = LoopGroup(count: 3, name: "connections")
        let script = """
            { rules: [{ match: { every: 900 }, goaway: { back: 5 } }, { match: { every: 1700 }, close: true },
                      { match: { share: 0.01 }, reset: "REFUSED_STREAM" }] }
            """
        try await withSimulatedApple(script: script) { apple in
            let deliveries = ConnectionOwner.deliveries(0..<10_000)
            let book = try await GatewayOwner.send(deliveries, to: apple, connections: 4...4, loops: loops.loops)
            let faults = try await Accounts(apple).faults(book, deliveries)
            #expect(faults.isEmpty, "\(faults.prefix(5))")
            #expect(book.accepted == 10_000)
        }
        await loops.shutDown()
    }

    @Test func `Connections spread over the addresses of the host`() async throws {
        try await withSimulatedApple(host: "0.0.0.0") { apple in
            let deliveries = ConnectionOwner.deliveries(0..<2000)
            let addresses = (1...4).map { "127.0.0.\($0)" }
            let book = try await GatewayOwner.send(
                deliveries, to: apple, connections: 4...4, whenUp: 4
            ) { settings in
                settings.lookUp = { _, completion in completion(.success(addresses)) }
            }
            let used = book.events.compactMap { event in
                if case .up(_, let address, _) = event { address } else { nil }
            }
            #expect(Set(used) == Set(addresses))
            #expect(book.accepted == 2000)
        }
    }

    @Test func `An address that does not respond is skipped`() async throws {
        try await withSimulatedApple { apple in
            let deliveries = ConnectionOwner.deliveries(0..<500)
            let book = try await GatewayOwner.send(deliveries, to: apple, connections: 2...2) { settings in
                settings.lookUp = { _, completion in completion(.success(["127.0.0.9", "127.0.0.1"])) }
            }
            #expect(book.accepted == 500)
            let faults = try await Accounts(apple).faults(book, deliveries)
            #expect(faults.isEmpty, "\(faults.prefix(5))")
        }
    }

    @Test func `What expires by the clock of the cluster is sent by a machine whose clock is ahead`() async throws {
        try await withSimulatedApple { apple in
            let behind: @Sendable () -> WallTime = { .current() - .seconds(3600) }
            let deliveries = ConnectionOwner.deliveries(0..<100).map { delivery in
                var delivery = delivery
                delivery.deadline = UnixSeconds(behind().seconds + 100)
                return delivery
            }
            let book = try await GatewayOwner.send(
                deliveries, to: apple, connections: 1...1, change: { $0.wallClock = behind },
                connection: { $0.wallClock = behind })
            #expect(book.accepted == 100 && book.retries == 0)
            #expect(try await Accounts(apple).faults(book, deliveries) == [])
        }
    }

    /// The right to send ends in the middle of the work, and is renewed later.
    @Test func `Nothing is sent without the right to send, and everything after it is renewed`() async throws {
        try await withSimulatedApple { settings in
            settings.streamLimit = 100
        } _: { apple in
            let permit = SendingPermit(until: .distantFuture)
            let deliveries = ConnectionOwner.deliveries(0..<5000)
            let counts = EventRecorder<Int>()
            let loop = apple.clientLoop
            let book = try await GatewayOwner.send(
                deliveries, to: apple, connections: 2...2,
                change: { $0.permit = permit },
                connection: { settings in
                    settings.http2.permit = permit
                    // On a slow machine, too, no request is repeated because its answer is late.
                    settings.http2.pingAfter = nil
                    settings.http2.pingTimeout = .seconds(300)
                    settings.machine.answerTimeout = .seconds(300)
                },
                progress: { ended, _ in
                    guard ended == 300 else { return }
                    permit.end(at: .distantPast)
                    loop.schedule(after: .milliseconds(300)) {
                        Task {
                            counts.record((try? await apple.count("requests")) ?? .max)
                            permit.end(at: .distantFuture)
                        }
                    }
                })
            let sent = try #require(await counts.wait(count: 1).first)
            // The turn in which the right ended may have had the answers to all streams of both connections, and all of
            // them may have been in use again.
            #expect(sent >= 300 && sent <= 300 + 4 * 100, "\(sent)")
            #expect(book.accepted == 5000)
            let faults = try await Accounts(apple).faults(book, deliveries)
            #expect(faults.isEmpty, "\(faults.prefix(5))")
        }
    }

    @Test func `After an outage a connection that answers a PING ends the backoff, without a delivery`() async throws {
        let script = "{ rules: [{ on: 'connect', refuse: true, times: 8 }] }"
        try await withSimulatedApple(script: script) { apple in
            let loop = apple.clientLoop
            let events = EventRecorder<GatewayEvent>()
            let connections = try apple.settings()
            var settings = GatewaySettings(
                app: AppID("shop")!, endpoint: apple.provider, reasons: .apns, resolver: apple.resolver,
                connect: { GatewayConnection($0, settings: connections) })
            settings.serverName = "localhost"
            settings.policy.connects = .unlimited
            settings.policy.reconnect = Backoff(first: .milliseconds(2), maxDelay: .milliseconds(10))
            let gateway = Gateway(
                on: loop, connectionLoops: [loop], settings: settings,
                client: GatewayClient(on: loop) { for event in $0.events { events.record(event) } },
                tokens: try TestTokens(apple).source)
            _ = await events.wait { $0.contains(.breakerClosed) }
            let opened = events.events.contains { event in
                if case .breakerOpened(_, .unreachable(attempts: 5)) = event { true } else { false }
            }
            #expect(opened)
            let status = await gateway.status()
            #expect(status.state == .running && status.credit > 0 && status.fault == nil)
            #expect(try await apple.count("requests") == 0)
            await gateway.drain(within: .seconds(5))
        }
    }

    @Test func `A service that allows more streams than are used keeps its connection`() async throws {
        try await withSimulatedApple { settings in
            settings.streamLimit = 2000
        } _: { apple in
            let deliveries = ConnectionOwner.deliveries(0..<6000)
            let book = try await GatewayOwner.send(
                deliveries, to: apple, connections: 1...1,
                connection: { settings in
                    // These limits hold on a slow machine too.
                    settings.http2.pingAfter = nil
                    settings.http2.pingTimeout = .seconds(300)
                    settings.machine.answerTimeout = .seconds(300)
                })
            #expect(book.accepted == 6000)
            let ends = book.events.compactMap { event in if case .down(_, _, let end, _, _) = event { end } else { nil }
            }
            #expect(ends.isEmpty, "\(ends)")
        }
    }

    @Test func `An unknown key halts the gateway, keeps waiting deliveries, and reports the reason`() async throws {
        try await withSimulatedApple(
            script: #"{ rules: [{ answer: { reason: "InvalidProviderToken" } }] }"#
        ) { settings in
            settings.tokens.minRenewalInterval = 0
        } _: { apple in
            let deliveries = ConnectionOwner.deliveries(0..<100)
            let book = try await GatewayOwner.send(deliveries, to: apple, connections: 1...2)
            #expect(book.terminal.allSatisfy { $0 == nil })
            let halts = book.events.compactMap { event in
                if case .credentialFailed(let halt) = event { halt } else { nil }
            }
            #expect(halts.first?.reason?.rawValue == "InvalidProviderToken")
        }
    }
}
