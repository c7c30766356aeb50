package import PushGateways
import PushLogic
package import PushLoop
import PushTransport
import PushWire

/// The provider tokens of a process. Each key has one token, which all its subscribers share and which is minted as
/// rarely as possible.
///
/// There is one instance for a process: Apple may count the tokens of a key and not those of a connection or app (see
/// "Provider tokens" in `Documentation/Protocols.md`). A key without subscribers keeps its token until the token is too
/// old to be used, so that a reload of the configuration mints no token.
package actor ProviderTokens {
    package typealias Subscription = TokenSubscription<ProviderKey, CredentialError>

    private struct Entry {
        var machine = ProviderTokenMachine()
        var current: ProviderToken?
        /// Why there is no token, or no newer one.
        var failure: CredentialError?
        /// The subscriptions in order of arrival; each gateway has one.
        var subscriptions: [Subscription] = []
        var timer: TimerID?
    }

    private nonisolated let loop: EventLoop
    private let wallClock: @Sendable () -> WallTime
    private var entries: [ProviderKey: Entry] = [:]
    private var lastGeneration: UInt64 = 0

    /// How long the token of a key without subscribers is kept: as long as it could be used.
    private static let maxIdleAge = ProviderTokenMachine.Settings().maxAge

    package init(on loop: EventLoop, wallClock: @escaping @Sendable () -> WallTime = WallTime.current) {
        self.loop = loop
        self.wallClock = wallClock
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Passes the current token and each later one to `take`, on `loop` and in order. A token is minted if there is
    /// none or a new one is due.
    ///
    /// A failure means that the key could not sign. Signing is tried again, and a token may follow. May be called on
    /// any thread, and returns at once.
    package nonisolated func subscribe(
        _ key: ProviderKey, on loop: EventLoop,
        take: @escaping @Sendable (Result<ProviderToken, CredentialError>) -> Void
    ) -> Subscription {
        let subscription = Subscription(key: key, loop: loop, take: take)
        run { $0.begin(subscription) }
        return subscription
    }

    /// Ends a subscription. If called on the subscription's loop, no token is passed from this moment on.
    package nonisolated func cancel(_ subscription: Subscription) {
        subscription.cancel()
        run { $0.end(subscription) }
    }

    /// Reports that the provider called the token of this generation expired or invalid. A new token is minted, unless
    /// there is a newer one already or the minimum interval forbids it, and passed to the subscribers.
    package nonisolated func refused(_ key: ProviderKey, generation: UInt64) {
        run { $0.input(.refused(generation: generation), for: key) }
    }

    /// Reports that the provider answered TooManyProviderTokenUpdates.
    package nonisolated func mintedTooOften(_ key: ProviderKey) {
        run { $0.input(.mintedTooOften, for: key) }
    }

    private nonisolated func run(_ work: @escaping @Sendable (isolated ProviderTokens) -> Void) {
        loop.execute { self.assumeIsolated { work($0) } }
    }

    // MARK: On the loop

    private func begin(_ subscription: Subscription) {
        guard !subscription.isCancelled else { return }
        let key = subscription.key
        var entry = entries[key] ?? Entry()
        let before = entry.current?.generation
        entry.subscriptions.append(subscription)
        entries[key] = entry
        let hasNotified = input(.looked, for: key)
        // If `input` has notified the subscribers, this one was among them.
        guard !hasNotified, let entry = entries[key] else { return }
        if let current = entry.current, current.generation == before {
            subscription.deliver(.success(current))
        } else if let failure = entry.failure {
            subscription.deliver(.failure(failure))
        }
    }

    private func end(_ subscription: Subscription) {
        guard var entry = entries[subscription.key] else { return }
        entry.subscriptions.removeAll { $0 === subscription }
        entries[subscription.key] = entry
        if entry.subscriptions.isEmpty { schedule(subscription.key) }
    }

    /// Passes an input to the machine. Returns true if the subscribers were notified.
    @discardableResult
    private func input(_ input: ProviderTokenMachine.Input, for key: ProviderKey) -> Bool {
        guard var entry = entries[key] else { return false }
        let wall = wallClock()
        let action = entry.machine.input(input, now: loop.now, wall: wall)
        var hasNotified = false
        // Without subscribers no token is minted: it would count at the provider without being used.
        if case .mint(let issuedAt) = action, !entry.subscriptions.isEmpty {
            mint(key, issuedAt: issuedAt, into: &entry)
            hasNotified = true
        }
        entries[key] = entry
        schedule(key)
        return hasNotified
    }

    private func mint(_ key: ProviderKey, issuedAt: WallTime, into entry: inout Entry) {
        let result: Result<ProviderToken, CredentialError>
        do throws(CredentialError) {
            let token = try sign(key, issuedAt: issuedAt)
            _ = entry.machine.input(.minted(generation: token.generation), now: token.mintedAt, wall: issuedAt)
            entry.current = token
            entry.failure = nil
            result = .success(token)
        } catch {
            _ = entry.machine.input(.mintFailed, now: loop.now, wall: issuedAt)
            entry.failure = error
            result = .failure(error)
        }
        for subscription in entry.subscriptions { subscription.deliver(result) }
    }

    private func sign(_ key: ProviderKey, issuedAt: WallTime) throws(CredentialError) -> ProviderToken {
        guard let text = ProviderTokenText(keyID: key.keyID, teamID: key.teamID, issuedAt: issuedAt.seconds) else {
            preconditionFailure("ProviderKey has an invalid key id or team id")
        }
        let signature: [UInt8]
        do {
            signature = try key.key.sign(text.signingInput)
        } catch {
            throw CredentialError(.failed, message: "\(key): cannot sign a provider token: \(error)")
        }
        lastGeneration += 1
        return ProviderToken(
            text: Secret(text.text(signature: signature)), generation: lastGeneration, mintedAt: loop.now)
    }

    /// Sets the key's timer: for the next check of the token, or for removing an unused entry.
    private func schedule(_ key: ProviderKey) {
        guard var entry = entries[key] else { return }
        if let timer = entry.timer.take() { loop.cancel(timer) }
        if entry.subscriptions.isEmpty {
            guard let end = entry.current.map({ $0.mintedAt + Self.maxIdleAge }), end > loop.now else {
                entries[key] = nil
                return
            }
            entry.timer = loop.schedule(at: end) { [weak self] in
                self?.assumeIsolated { $0.entries[key] = nil }
            }
        } else {
            entry.timer = loop.schedule(at: entry.machine.nextLook) { [weak self] in
                self?.assumeIsolated { $0.look(key) }
            }
        }
        entries[key] = entry
    }

    private func look(_ key: ProviderKey) {
        entries[key]?.timer = nil
        input(.looked, for: key)
    }
}
