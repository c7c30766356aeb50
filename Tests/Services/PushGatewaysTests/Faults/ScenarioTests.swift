import PushGateways
import PushLogic
import PushModel
import TestSupport
import TestTraits
import Testing

/// Random scenarios of faults and load, each generated from a seed: a thousand in `Tools/test --long`. Every accepted delivery was processed
/// exactly once, and a delivery that may have been processed twice was reported as unknown.
@Suite(.waits) struct ScenarioTests {
    /// The number of batches that run at a time. More would starve tests with deadlines.
    private static let batches = 4
    private static let perBatch = RunKind.rounds(40, long: 250)

    @Test(arguments: 0..<batches) func `Every delivery is reported once, whatever fails`(batch: Int)
        async throws
    {
        try await withSimulatedApple { settings in
            settings.tokens.minRenewalInterval = 0
            settings.streamLimit = UInt32([3, 40, 500][batch % 3])
        } _: { apple in
            var known = 0
            for number in 0..<Self.perBatch {
                let scenario = Scenario(seed: UInt64(batch * Self.perBatch + number))
                let answer = await apple.control("PUT", "/faults", scenario.script)
                #expect(answer.contains("rules"), "\(scenario.script): \(answer)")
                // Each scenario has its own devices, so that the simulator's records can be told apart.
                let first = number * 1000
                let deliveries = ConnectionOwner.deliveries(first..<first + scenario.count).enumerated().map {
                    Delivery(
                        ticket: UInt64($0.offset), message: $0.element.message, token: $0.element.token,
                        deliveryID: $0.element.deliveryID)
                }
                let book = try await GatewayOwner.send(
                    deliveries, to: apple, connections: scenario.connections, seed: scenario.seed,
                    resendsUnknown: scenario.resendsUnknown)
                let accounts = try await Accounts(apple, since: known)
                known = accounts.last
                let faults = accounts.faults(book, deliveries)
                #expect(faults.isEmpty, "seed \(scenario.seed): \(faults.prefix(3)) with \(scenario.script)")
            }
        }
    }
}

/// The faults and the load of one scenario.
private struct Scenario {
    let seed: UInt64
    let script: String
    let count: Int
    let connections: ClosedRange<Int>
    let resendsUnknown: Bool

    init(seed: UInt64) {
        self.seed = seed
        var random = SeededRandom(seed: seed)
        count = Int.random(in: 1...300, using: &random)
        let most = Int.random(in: 1...3, using: &random)
        connections = Int.random(in: 1...most, using: &random)...most
        resendsUnknown = Int.random(in: 0..<4, using: &random) > 0
        let rules = (0..<Int.random(in: 1...4, using: &random)).map { _ in Self.rule(&random) }
        script = "{ seed: \(seed + 1), rules: [\(rules.joined(separator: ", "))] }"
    }

    private static func rule(_ random: inout SeededRandom) -> String {
        let every = Int.random(in: 1...200, using: &random)
        let times = Int.random(in: 1...4, using: &random)
        let back = Int.random(in: 0...100, using: &random)
        let processed = Bool.random(using: &random)
        let match = "match: { every: \(every) }, times: \(times)"
        let reasons = [
            "ServiceUnavailable", "InternalServerError", "TooManyRequests", "Unregistered", "BadDeviceToken",
            "Shutdown", "ExpiredProviderToken", "PayloadTooLarge", "IdleTimeout",
        ]
        let codes = ["REFUSED_STREAM", "CANCEL", "INTERNAL_ERROR", "ENHANCE_YOUR_CALM"]
        switch Int.random(in: 0..<16, using: &random) {
        case 0: return "{ latency: { fixed: \"1ms\", spread: \"\(1 + every % 5)ms\" } }"
        case 1, 2: return "{ \(match), answer: { reason: \"\(reasons.randomElement(using: &random)!)\" } }"
        case 3: return "{ \(match), streams: \(1 + back) }"
        case 4, 5: return "{ \(match), goaway: { back: \(back) } }"
        case 6: return "{ \(match), goaway: { back: \(back), close: true } }"
        case 7: return "{ \(match), goaway: { last: \(2 * back + 1) } }"
        case 8, 9:
            let code = codes.randomElement(using: &random)!
            return "{ \(match), reset: \"\(code)\"\(code == "REFUSED_STREAM" ? "" : ", processed: \(processed)") }"
        case 10: return "{ match: { every: \(every) }, times: 1, silence: true }"
        case 11: return "{ \(match), half_frame: true }"
        case 12: return "{ \(match), close: true, processed: \(processed) }"
        case 13: return "{ \(match), wedge: true }"
        case 14: return "{ on: \"connect\", times: \(times), \(["refuse: true", "close: true"][times % 2]) }"
        default: return "{ on: \"connect\", times: 1, tls: \"\(["refuse", "expired_certificate"][times % 2])\" }"
        }
    }
}
