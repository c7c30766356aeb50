import PushGateways
import PushLoop
import PushModel
import TestSupport
import Testing

/// A gateway and real connections, over what a scripted connection cannot show: loops, addresses.
@Suite(.timeLimit(.minutes(10))) struct GatewayServiceTests {
    @Test func `Connections on loops of their own send what the gateway gives them`() async throws {
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

    @Test func `An address where nobody answers is passed over`() async throws {
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

    @Test func `A key of nobody's halts the gateway, keeps what waits, and says why`() async throws {
        try await withSimulatedApple(
            script: #"{ rules: [{ answer: { reason: "InvalidProviderToken" } }] }"#
        ) { settings in
            settings.tokens.shortestRenewal = 0
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
