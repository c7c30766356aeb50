import PushLoop
import Testing

@testable import PushServer

@Suite struct ServeSignalsTests {
    @Test func `Reload requests are merged, and a stop request precedes them`() async {
        let insisted = Locked(0)
        let signals = ServeSignals { insisted.withLock { $0 += 1 } }
        for _ in 0..<5 { signals.received(.hangUp) }
        #expect(await signals.next() == .reload)
        async let next = signals.next()
        signals.received(.hangUp)
        #expect(await next == .reload)
        signals.received(.hangUp)
        signals.received(.terminate)
        #expect(await signals.next() == .stop)
        #expect(insisted.withLock { $0 } == 0 && !signals.hasInsisted)
        signals.received(.hangUp)
        signals.received(.interrupt)
        signals.received(.terminate)
        #expect(insisted.withLock { $0 } == 1 && signals.hasInsisted)
        #expect(await signals.next() == .stop)
    }

    @Test func `A server that cannot continue stops, and a signal beside it does not count as the second`() async {
        let insisted = Locked(0)
        let signals = ServeSignals { insisted.withLock { $0 += 1 } }
        async let next = signals.next()
        signals.halt()
        #expect(await next == .stop)
        #expect(signals.hasHalted)
        signals.received(.hangUp)
        signals.received(.terminate)
        #expect(insisted.withLock { $0 } == 0 && !signals.hasInsisted)
        #expect(await signals.next() == .stop)
        signals.received(.terminate)
        #expect(insisted.withLock { $0 } == 1)
    }
}
