import PushModel
import PushTime
import TestSupport
import TestTraits
import Testing

@testable import PushLogic

/// Random walks of the machine beside a simple model that remembers everything.
@Suite(.waits) struct AccessWalkTests {
    private struct Use: Hashable {
        let key: Int
        let nonce: Int
        let created: Int64
    }

    private static func policy(maxNonces: Int) -> AccessPolicy {
        var policy = AccessPolicy()
        policy.window = .seconds(10)
        policy.maxNonces = maxNonces
        policy.addressFailures = RateLimit(burst: 1_000_000, every: .microseconds(1))
        return policy
    }

    @Test(arguments: 0..<20)
    func `No request is accepted twice, whatever the clock and the bound do`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let bound = [5, 40, 200, 100_000][seed % 4]
        var desk = AccessDesk(Self.policy(maxNonces: bound), keys: (1...3).map { AccessDesk.key($0) })
        var accepted: Set<Use> = []
        var recent: [Use] = []
        for step in 0..<8000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<20: desk.wait(.milliseconds(Int.random(in: 0...1500, using: &random)))
            case 20: desk.wall = desk.wall + .seconds(Int.random(in: -1000...1000, using: &random))
            case 21 where step % 7 == 0:
                _ = desk.machine.replaceKeys((1...3).shuffled(using: &random).map { AccessDesk.key($0) }, at: desk.wall)
            default: break
            }
            let isReplay = Int.random(in: 0..<3, using: &random) == 0
            let fresh = Use(
                key: Int.random(in: 1...3, using: &random), nonce: Int.random(in: 0..<50_000, using: &random),
                created: desk.wall.seconds + Int64.random(in: -12...12, using: &random))
            let use = isReplay ? recent.randomElement(using: &random) ?? fresh : fresh
            if desk.send(use.nonce, created: use.created, key: use.key) == nil {
                #expect(accepted.insert(use).inserted, "step \(step): \(use) is accepted twice")
                #expect(abs(use.created - desk.wall.seconds) <= 10)
                recent.append(use)
                if recent.count > 500 { recent.removeFirst(250) }
            }
            #expect(desk.machine.nonceCount <= bound)
        }
        #expect(accepted.count > 40)
    }

    @Test(arguments: 0..<10)
    func `With a steady clock and enough memory, each decision is that of the model`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(100 + seed))
        var desk = AccessDesk(Self.policy(maxNonces: 100_000), keys: (1...3).map { AccessDesk.key($0) })
        var used: [[Int: Int64]] = Array(repeating: [:], count: 4)
        var floors = [Int64](repeating: AccessDesk.start.value - 1, count: 4)
        var counts: [AccessReason?: Int] = [:]
        for step in 0..<8000 {
            if Int.random(in: 0..<4, using: &random) == 0 {
                desk.wait(.milliseconds(Int.random(in: 0...900, using: &random)))
            }
            let key = Int.random(in: 1...3, using: &random)
            let nonce = Int.random(in: 0..<3000, using: &random)
            let now = desk.wall.seconds
            let created = now + Int64.random(in: -12...12, using: &random)
            // Nonces that are older than the window raise the floor; they may still be in memory.
            for (nonce, created) in used[key] where created < now - 10 {
                floors[key] = max(floors[key], created)
                used[key][nonce] = nil
            }
            let isSkewed = abs(created - now) > 10 || created <= floors[key]
            let expected: AccessReason? = isSkewed ? .clockSkew : used[key][nonce] != nil ? .replayed : nil
            let decision = desk.send(nonce, created: created, key: key, from: step)
            counts[decision, default: 0] += 1
            // A forgotten nonce may still be recognized until it is removed; it is never the other way around.
            #expect(decision == expected || (expected == nil && decision == .replayed), "step \(step)")
            if decision == nil { used[key][nonce] = created }
        }
        #expect(counts[nil, default: 0] > 400 && counts[.replayed, default: 0] > 40)
    }
}
