import PushTime
import PushTransport
import Receipts
import Testing

@testable import PushAPI

@Suite struct RefusalLimitsTests {
    private let store = HTTP1Peer.address(host: "192.0.2.1", port: 1)
    private let start = MonotonicTime(nanoseconds: 5_000_000_000)

    /// Sends refused texts from an address until it has to wait, and returns their number.
    private func flood(
        _ limits: inout RefusalLimits, _ signer: ClaimedSigner, length: Int = 1000, at now: MonotonicTime
    ) -> Int {
        for number in 0..<10_000 {
            if limits.wait(of: store, signer: signer, now: now) != nil { return number }
            limits.count(length: length, from: store, signer: signer, now: now)
        }
        return .max
    }

    @Test func `A flood of one kind holds back nothing of another kind, and nothing of another address`() {
        for flooded in ClaimedSigner.allCases {
            var limits = RefusalLimits()
            #expect(flood(&limits, flooded, at: start) == (flooded == .known ? 600 : 60))
            for signer in ClaimedSigner.allCases {
                let wait = limits.wait(of: store, signer: signer, now: start)
                #expect((wait == nil) == (signer != flooded))
                let other = HTTP1Peer.address(host: "192.0.2.2", port: 1)
                #expect(limits.wait(of: other, signer: signer, now: start) == nil)
            }
        }
    }

    @Test func `Texts that are verified at the same time all count`() {
        var limits = RefusalLimits()
        for signer in ClaimedSigner.allCases {
            for _ in 0..<1600 {
                #expect(limits.wait(of: .local, signer: signer, now: start) == nil)
                limits.count(length: 1000, from: store, signer: signer, now: start)
                limits.count(length: 1000, from: .local, signer: signer, now: start)
            }
        }
        #expect(limits.wait(of: store, signer: .known, now: start + .seconds(4)) != nil)
        #expect(limits.wait(of: store, signer: .known, now: start + .seconds(6)) == nil)
        #expect(limits.wait(of: store, signer: .unknown, now: start + .seconds(150)) != nil)
    }

    @Test func `In each second, an address gets few verifications, and few of long texts`() {
        for (signer, length, count) in [
            (.none, 1000, 1), (.unknown, 1000, 10), (.known, 1000, 200), (.known, 262_144, 22), (.unknown, 262_144, 1),
        ] as [(ClaimedSigner, Int, Int)] {
            var limits = RefusalLimits()
            _ = flood(&limits, signer, length: length, at: start)
            var seconds: [Int] = []
            for second in 1...5 {
                seconds.append(flood(&limits, signer, length: length, at: start + .seconds(second)))
            }
            #expect(seconds.reduce(0, +) <= count * 5 + 5 && seconds.reduce(0, +) >= count * 4, "\(signer) \(seconds)")
        }
    }
}
