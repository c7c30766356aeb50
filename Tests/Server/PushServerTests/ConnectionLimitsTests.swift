import Testing

@testable import PushServer

@Suite struct ConnectionLimitsTests {
    /// The descriptors that each process must keep for files, push services and the control socket.
    private static func own(of all: Int) -> Int { 128 + min(all / 4, 2048) }

    @Test func `All doors together leave descriptors for files and push services`() {
        for all in Array(1024...8192) + [10_000, 20_000, 65_536, 524_288, 1 << 20] {
            for wanted in [16, 256, 16_384, 1_000_000] {
                let limits = ConnectionLimits(descriptors: UInt64(all), http: wanted)
                let used = limits.intake + limits.events + limits.http + limits.httpRefused
                #expect(used + Self.own(of: all) <= all, "\(all) descriptors, \(wanted) wanted: \(limits)")
                #expect(limits.http <= wanted && limits.http >= min(wanted, all / 8), "\(all): \(limits)")
            }
        }
    }

    @Test func `Ten thousand HTTP connections need twenty thousand descriptors`() {
        #expect(ConnectionLimits(descriptors: 20_000, http: 16_384).http >= 10_000)
        #expect(ConnectionLimits(descriptors: 65_536, http: 16_384).http == 16_384)
        #expect(ConnectionLimits(descriptors: 65_536, http: 100).http == 100)
    }

    @Test func `A start mentions the limit only if it leaves few connections`() {
        #expect(ConnectionLimits(descriptors: 1024, http: 16_384).leavesFewHTTP(of: 16_384))
        #expect(!ConnectionLimits(descriptors: 1024, http: 16).leavesFewHTTP(of: 16))
        let usual = ConnectionLimits(descriptors: 20_000, http: 16_384)
        #expect(usual.http < 16_384 && !usual.leavesFewHTTP(of: 16_384))
    }

    @Test func `With few descriptors, each door still has some`() {
        for all in 64..<1024 {
            let limits = ConnectionLimits(descriptors: UInt64(all), http: 16_384)
            #expect(limits.intake >= 16 && limits.events >= 8 && limits.http >= 16 && limits.httpRefused >= 8)
            let used = limits.intake + limits.events + limits.http + limits.httpRefused
            #expect(all < 256 || used <= all - 128, "\(all): \(limits)")
        }
    }
}
