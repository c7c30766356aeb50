import PushGateways
import PushLogic
import PushLoop
import PushModel
import TestSupport
import TestTraits
import Testing

/// Random worlds in which anything may fail. Each submitted delivery must be reported exactly once.
@Suite struct GatewayChaosTests {
    @Test(arguments: [false, true]) func `Every delivery is reported exactly once, whatever happens`(
        _ usesTokens: Bool
    ) async {
        let loop = EventLoop(name: "chaos", clock: .manual())
        var outcomes: [String: Int] = [:]
        for seed in UInt64(1)...RunKind.rounds(60, long: 400) {
            let chaos = Chaos(on: loop, seed: seed, usesTokens: usesTokens)
            await chaos.run()
            guard await chaos.scene.drain(within: .seconds(60)) else {
                Issue.record("seed \(seed): the gateway does not finish its drain")
                return
            }
            await loop.advance(by: .seconds(1))
            let faults = await chaos.faults(counting: &outcomes)
            if !faults.isEmpty {
                Issue.record("seed \(seed): \(faults)")
                return
            }
        }
        // The test is meaningful only if every outcome has occurred.
        #expect(Set(outcomes.keys) == ["accepted", "rejected", "retry", "unknown", "expired", "returned"])
        await loop.shutDown()
    }
}

private final class Chaos: @unchecked Sendable {
    // Unchecked: `random` is used by the test's task only, everything else on the loop of the scene only.
    let scene: GatewayScene
    private var random: SeededRandom

    init(on loop: EventLoop, seed: UInt64, usesTokens: Bool) {
        var random = SeededRandom(seed: seed &* 0x9e37)
        let minimum = Int.random(in: 0...3, using: &random)
        let maximum = Int.random(in: 1...5, using: &random)
        let queueLimit = [50, 300, 20_000].randomElement(using: &random) ?? 300
        let isLimited = Bool.random(using: &random)
        // In one of three worlds faults are rare.
        let chance = [0.01, 0.1, 0.4].randomElement(using: &random) ?? 0.1
        let haltChance = Bool.random(using: &random) ? 0.001 : 0
        scene = GatewayScene(
            on: loop, seed: seed, usesTokens: usesTokens,
            policy: .with {
                $0.minimum = minimum
                $0.maximum = maximum
                $0.queueLimit = queueLimit
                $0.requeueLimit = 4
                if isLimited { $0.connects = ConnectBudget.Policy() }
            },
            world: { world in
                func happens(_ chance: Double) -> Bool { Double.random(in: 0..<1, using: &world.random) < chance }
                world.connectTime = { .milliseconds(Int.random(in: 0...300, using: &world.random)) }
                world.answerTime = { .milliseconds(Int.random(in: 1...80, using: &world.random)) }
                world.reportTime = { .milliseconds(Int.random(in: 0...3, using: &world.random)) }
                world.limit = { _ in usesTokens ? 1 : [1, 5, 50].randomElement(using: &world.random) ?? 1 }
                world.failsToConnect = { _ in
                    guard happens(chance) else { return nil }
                    if happens(haltChance * 10) { return ConnectionEnd(.credential, message: "chaos") }
                    let kinds: [ConnectionEnd.Kind] = [.unreachable, .broken, .silent, .goAway, .lost]
                    return ConnectionEnd(kinds.randomElement(using: &world.random) ?? .broken, message: "chaos")
                }
                world.answer = { _, _ in
                    guard happens(chance) else { return .accepted(providerID: nil) }
                    if happens(haltChance * 10) { return Self.refusal("halt", 403) }
                    switch Int.random(in: 0..<12, using: &world.random) {
                    case 0: return nil
                    case 1: return .notProcessed
                    case 2: return .unknown(.reset)
                    case 3: return Self.refusal("drop", 400)
                    case 4: return Self.refusal("deactivate", 410)
                    case 5: return Self.refusal("reconnect", 503)
                    case 6 where usesTokens: return Self.refusal("renewToken", 403)
                    case 7 where usesTokens && happens(0.1): return Self.refusal("renewTokenOnce", 403)
                    case 8: return Self.refusal("slowMinting", 429)
                    default: return Self.refusal("retry", 503)
                    }
                }
            })
        self.random = random
    }

    private static func refusal(_ word: String, _ status: Int) -> AttemptResult {
        .refused(Refusal(status: status, reason: ProviderReason(rawValue: word)))
    }

    func run() async {
        for _ in 0..<40 {
            await scene.pass(.milliseconds(Int.random(in: 0...400, using: &random)))
            let number = Int.random(in: 1...120, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<7:
                await scene.on { _ = $0.submit(min($0.window, number)) }
            case 7:
                // This submission ignores the credit.
                await scene.on { _ = $0.submit(number) }
            case 8:
                let expiresAt: Int64 = [0, 1_699_999_999, 1_700_000_001].randomElement(using: &random) ?? 0
                await scene.on { _ = $0.submit(number / 8, expiresAt: expiresAt) }
            case 9:
                let minimum = number % 4
                let maximum = Int.random(in: 0...6, using: &random)
                scene.gateway.scale(minimum: minimum, maximum: maximum)
            case 10:
                let source = scene.tokens?.source
                scene.gateway.credentialChanged(
                    connect: { [world = scene.world] in world.connect($0) }, tokens: source)
            case 11:
                await scene.on { $0.wall = WallTime(milliseconds: $0.wall.milliseconds + 1000) }
            case 12:
                await scene.pass(.seconds(number))
            default:
                await scene.on { scene in
                    guard let connection = scene.world.open.randomElement(using: &scene.world.random) else { return }
                    switch number % 6 {
                    case 0: connection.goAway(reason: "chaos", unprocessed: number % 7)
                    case 1: connection.end(ConnectionEnd(.lost, message: "chaos"))
                    case 2: connection.end(ConnectionEnd(.silent, message: "chaos"))
                    case 3: connection.takeNoMore(.retiring)
                    default: connection.setLimit([1, 20, 100][number % 3])
                    }
                }
            }
        }
    }

    func faults(counting counts: inout [String: Int]) async -> [String] {
        let (faults, words) = await scene.on { scene -> ([String], [String: Int]) in
            var faults = scene.world.breaches
            var words: [String: Int] = [:]
            for ticket in 1..<max(1, scene.submitted + 1) {
                let reports = scene.outcomes[ticket] ?? []
                if reports.count != 1 { faults.append("ticket \(ticket) was reported \(reports.count) times") }
                for report in reports { words[Self.word(report.outcome), default: 0] += 1 }
            }
            if scene.outcomes.count != Int(scene.submitted) { faults.append("reports of unknown deliveries") }
            for connection in scene.world.connections where connection.state != .closed {
                faults.append("connection \(connection.id) remained \(connection.state)")
            }
            return (faults, words)
        }
        counts.merge(words, uniquingKeysWith: +)
        return Array(faults.prefix(5))
    }

    private static func word(_ outcome: DeliveryOutcome?) -> String {
        switch outcome {
        case .sent: "accepted"
        case .rejected: "rejected"
        case .retry: "retry"
        case .unknown: "unknown"
        case .expired: "expired"
        case .suppressed, .superseded, .expiredBecause: "decided by the router"
        case nil: "returned"
        }
    }
}
