import PushLoop
import Testing

@testable import PushServer

@Suite struct ServeSignalsTests {
    @Test func `Reload requests are merged, and a stop request precedes them`() async {
        let insisted = Locked(0)
        let signals = ServeSignals { insisted.withLock { $0 += 1 } }
        for _ in 0..<5 { signals.came(.hangUp) }
        #expect(await signals.next() == .reload)
        async let next = signals.next()
        signals.came(.hangUp)
        #expect(await next == .reload)
        signals.came(.hangUp)
        signals.came(.terminate)
        #expect(await signals.next() == .stop)
        #expect(insisted.withLock { $0 } == 0 && !signals.hasInsisted)
        signals.came(.hangUp)
        signals.came(.interrupt)
        signals.came(.terminate)
        #expect(insisted.withLock { $0 } == 1 && signals.hasInsisted)
        #expect(await signals.next() == .stop)
    }
}
