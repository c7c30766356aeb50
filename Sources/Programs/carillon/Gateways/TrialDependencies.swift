import APNs
import PushConfiguration
import PushGateways
import PushLoop
import PushTransport

/// The shared resources of trials: a loop, threads for DNS lookups, and the provider tokens, so that apps with the same
/// key share a token.
struct TrialDependencies: Sendable {
    let loop: EventLoop
    let tokens: ServiceTokens
    private let pool: BlockingPool

    init(lookUps: Int = 1) {
        loop = EventLoop(name: "trial")
        pool = BlockingPool(name: "resolve", threadCount: lookUps, queueLimit: 4096)
        tokens = ServiceTokens(on: loop, resolver: NameResolver(pool: pool), wallClock: WallTime.current)
    }

    var resolver: NameResolver { NameResolver(pool: pool) }

    /// Shuts the resources down. It does not wait for a DNS lookup that hangs, whose result is dropped.
    func end() async {
        await loop.shutDown()
        if pool.load == (0, 0) { await pool.shutDown() }
    }

    /// Returns the provider token of a key as soon as it is signed.
    func token(of key: ProviderKey) async throws -> ProviderToken {
        let once = Locked<CheckedContinuation<ProviderToken, any Error>?>(nil)
        let subscription = Locked<ProviderTokens.Subscription?>(nil)
        defer { if let subscription = subscription.withLock({ $0 }) { tokens.apns.cancel(subscription) } }
        return try await withCheckedThrowingContinuation { continuation in
            once.withLock { $0 = continuation }
            let made = tokens.apns.subscribe(key, on: loop) { result in
                once.withLock { $0.take() }?.resume(with: result.mapError { $0 })
            }
            subscription.withLock { $0 = made }
        }
    }
}
