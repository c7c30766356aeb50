import PushGateways
import PushLogic
import PushModel
import TestSupport
import TestTraits
import Testing

/// Every HTTP/2 fault of the simulated Apple, combined with load: each delivery is accounted for once.
@Suite(.serialized, .waits) struct FaultTableTests {
    /// The name of each fault, and the rules of its script.
    static let faults: [(name: String, rules: String)] = [
        ("none", ""),
        ("latency", #"{ latency: { fixed: "2ms", spread: "8ms" } }"#),
        ("503", #"{ match: { share: 0.05 }, answer: { status: 503, reason: "ServiceUnavailable" } }"#),
        ("503 for all, temporarily", #"{ times: 300, answer: { status: 503, reason: "ServiceUnavailable" } }"#),
        ("503 with a delay", #"{ match: { every: 400 }, answer: { reason: "ServiceUnavailable", retry_after: 1 } }"#),
        ("500", #"{ match: { share: 0.05 }, answer: { reason: "InternalServerError" } }"#),
        ("503 Shutdown", #"{ match: { every: 250 }, times: 6, answer: { reason: "Shutdown" } }"#),
        ("429", #"{ match: { share: 0.05 }, answer: { reason: "TooManyRequests", retry_after: 1 } }"#),
        ("429 minted too often", #"{ times: 20, answer: { reason: "TooManyProviderTokenUpdates" } }"#),
        (
            "410",
            #"{ match: { share: 0.1 }, answer: { status: 410, reason: "Unregistered", timestamp: 1767225600000 } }"#
        ),
        ("400 and one stream", #"{ match: { share: 0.02 }, answer: { reason: "BadDeviceToken" }, streams: 1 }"#),
        ("an unknown reason", #"{ match: { share: 0.05 }, answer: { status: 422, reason: "NotOnSundays" } }"#),
        ("expired token", #"{ match: { every: 300 }, times: 3, answer: { reason: "ExpiredProviderToken" } }"#),
        ("wedge", #"{ match: { every: 300 }, times: 2, wedge: true }"#),
        ("streams go up and down", #"{ match: { every: 50 }, streams: 7 }, { match: { every: 77 }, streams: 300 }"#),
        ("no streams temporarily", #"{ match: { every: 500 }, times: 1, streams: 0, latency: "5ms" }"#),
        ("GOAWAY", #"{ match: { request: 200 }, goaway: { back: 3, reason: "Shutdown" } }"#),
        ("GOAWAY, many back", #"{ match: { request: 400 }, goaway: { back: 350 } }"#),
        ("GOAWAY that closes", #"{ match: { request: 150 }, goaway: { back: 20, close: true } }"#),
        ("GOAWAY before all", #"{ match: { request: 90 }, goaway: { last: 0, close: true } }"#),
        ("GOAWAY at connect", #"{ on: "connect", times: 2, goaway: { reason: "ServiceUnavailable" } }"#),
        ("REFUSED_STREAM", #"{ match: { share: 0.05 }, reset: "REFUSED_STREAM" }"#),
        ("RST processed", #"{ match: { share: 0.02 }, reset: "INTERNAL_ERROR" }"#),
        ("RST not processed", #"{ match: { share: 0.02 }, reset: "CANCEL", processed: false }"#),
        ("silence", #"{ match: { request: 180 }, times: 2, silence: true }"#),
        ("silence from the start", #"{ on: "connect", times: 1, silence: true }"#),
        ("half a frame", #"{ match: { request: 120 }, times: 4, half_frame: true }"#),
        ("close", #"{ match: { request: 220 }, times: 5, close: true }"#),
        ("close, not processed", #"{ match: { request: 220 }, times: 5, close: true, processed: false }"#),
        ("close at connect", #"{ on: "connect", times: 3, close: true }"#),
        ("refused connects", #"{ on: "connect", times: 7, refuse: true }"#),
        ("TLS refused", #"{ on: "connect", times: 2, tls: "refuse" }"#),
        ("expired certificate", #"{ on: "connect", times: 2, tls: "expired_certificate" }"#),
        (
            "all at once",
            """
            { match: { share: 0.02 }, reset: "REFUSED_STREAM" }, { match: { request: 300 }, goaway: { back: 9 } },
            { match: { every: 433 }, times: 4, close: true }, { latency: { spread: "4ms" } },
            { match: { share: 0.01 }, answer: { reason: "ServiceUnavailable" } }, { on: "connect", times: 2, refuse: true }
            """
        ),
    ]

    /// The number of deliveries, the number of connections, and the stream limit of each connection.
    static let loads: [(count: Int, connections: ClosedRange<Int>, streams: UInt32)] = [
        (1, 1...1, 1000), (600, 1...1, 100), (2500, 2...4, 1000),
    ]

    @Test(arguments: faults, 0..<3) func `Each delivery is reported once`(
        fault: (name: String, rules: String), load: Int
    ) async throws {
        let (count, connections, streams) = Self.loads[load]
        let deliveries = ConnectionOwner.deliveries(0..<count)
        try await withSimulatedApple(script: "{ rules: [\(fault.rules)] }") { settings in
            settings.streamLimit = streams
            settings.tokens.minRenewalInterval = 0
        } _: { apple in
            let book = try await GatewayOwner.send(deliveries, to: apple, connections: connections)
            let accounts = try await Accounts(apple)
            let faults = accounts.faults(book, deliveries)
            #expect(faults.isEmpty, "\(fault.name): \(faults.prefix(5))")
        }
    }

    @Test(arguments: ["silence", "close", "RST processed", "all at once", "GOAWAY that closes", "half a frame"])
    func `With "drop" no delivery that may have been sent is sent again`(name: String) async throws {
        let rules = try #require(Self.faults.first { $0.name == name }?.rules)
        let deliveries = ConnectionOwner.deliveries(0..<2000)
        try await withSimulatedApple(script: "{ rules: [\(rules)] }") { apple in
            let book = try await GatewayOwner.send(
                deliveries, to: apple, connections: 2...3, resendsUnknown: false)
            let accounts = try await Accounts(apple)
            #expect(accounts.faults(book, deliveries, resendsUnknown: false).isEmpty)
            #expect(accounts.doubled == 0)
        }
    }
}
