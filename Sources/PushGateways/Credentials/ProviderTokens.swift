import PushLogic
package import PushLoop
import PushTransport
import PushWire
import Synchronization

/// The provider tokens of a process: one for each key, whoever asks, minted when it has to be and not more often.
///
/// One for a process: Apple counts the tokens of a key, not of a connection or an app (PROTOCOLS A9). A key whose last
/// subscriber left keeps its token until it is too old to be used, so that a reload of the configuration mints nothing.
package actor ProviderTokens {
    private struct Entry {
        var machine = ProviderTokenMachine()
        var current: ProviderToken?
        /// Why there is none, or no newer one.
        var failure: CredentialError?
        /// In the order in which they came. As many as there are gateways.
        var subscriptions: [TokenSubscription] = []
        var timer: TimerID?
    }

    private nonisolated let loop: EventLoop
    private let wallClock: @Sendable () -> WallTime
    private var entries: [ProviderKey: Entry] = [:]
    private var lastGeneration: UInt64 = 0

    /// How long a token is kept that nobody subscribes to: as long as it could be used.
    private static let kept = ProviderTokenMachine.Settings().longestAge

    package init(on loop: EventLoop, wallClock: @escaping @Sendable () -> WallTime = WallTime.current) {
        self.loop = loop
        self.wallClock = wallClock
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// The current token now (minted if there is none or it is due) and each later one, on `loop`, in order.
    ///
    /// A failure says that the key could not sign; it is tried again, and a token may follow. Returns at once, from
    /// wherever it is called.
    package nonisolated func subscribe(
        _ key: ProviderKey, on loop: EventLoop,
        _ take: @escaping @Sendable (Result<ProviderToken, CredentialError>) -> Void
    ) -> TokenSubscription {
        let subscription = TokenSubscription(key: key, loop: loop, take: take)
        run { $0.begin(subscription) }
        return subscription
    }

    /// Nothing is handed to it any more; called on its own loop, from this moment on.
    package nonisolated func cancel(_ subscription: TokenSubscription) {
        subscription.isCancelled.store(true, ordering: .relaxed)
        run { $0.end(subscription) }
    }

    /// The provider called the token with this generation expired or invalid. Mints a new one unless a newer exists or
    /// the floor forbids it; subscribers hear of a new one.
    package nonisolated func refused(_ key: ProviderKey, generation: UInt64) {
        run { $0.input(.refused(generation: generation), key) }
    }

    /// The provider said TooManyProviderTokenUpdates.
    package nonisolated func mintedTooOften(_ key: ProviderKey) {
        run { $0.input(.mintedTooOften, key) }
    }

    private nonisolated func run(_ work: @escaping @Sendable (isolated ProviderTokens) -> Void) {
        loop.execute { self.assumeIsolated { work($0) } }
    }

    // MARK: On the loop

    private func begin(_ subscription: TokenSubscription) {
        guard !subscription.isCancelled.load(ordering: .relaxed) else { return }
        let key = subscription.key
        var entry = entries[key] ?? Entry()
        let before = entry.current?.generation
        entry.subscriptions.append(subscription)
        entries[key] = entry
        let told = input(.looked, key)
        // Who was told of a new token or of a failure just now has heard it with the others.
        guard !told, let entry = entries[key] else { return }
        if let current = entry.current, current.generation == before {
            subscription.hand(.success(current))
        } else if let failure = entry.failure {
            subscription.hand(.failure(failure))
        }
    }

    private func end(_ subscription: TokenSubscription) {
        guard var entry = entries[subscription.key] else { return }
        entry.subscriptions.removeAll { $0 === subscription }
        entries[subscription.key] = entry
        if entry.subscriptions.isEmpty { schedule(subscription.key) }
    }

    /// True if subscribers were told something.
    @discardableResult
    private func input(_ input: ProviderTokenMachine.Input, _ key: ProviderKey) -> Bool {
        guard var entry = entries[key] else { return false }
        let wall = wallClock()
        let action = entry.machine.input(input, now: loop.now, wall: wall)
        var told = false
        // A token that nobody waits for is not minted: it would count, and be of no use.
        if case .mint(let issuedAt) = action, !entry.subscriptions.isEmpty {
            mint(key, issuedAt: issuedAt, &entry)
            told = true
        }
        entries[key] = entry
        schedule(key)
        return told
    }

    private func mint(_ key: ProviderKey, issuedAt: WallTime, _ entry: inout Entry) {
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
        for subscription in entry.subscriptions { subscription.hand(result) }
    }

    private func sign(_ key: ProviderKey, issuedAt: WallTime) throws(CredentialError) -> ProviderToken {
        guard let text = ProviderTokenText(keyID: key.keyID, teamID: key.teamID, issuedAt: issuedAt.seconds) else {
            preconditionFailure("a provider key with ids that were not checked")
        }
        let signature: [UInt8]
        do {
            signature = try key.key.sign(text.signingInput)
        } catch {
            throw CredentialError(.failed, "\(key): a provider token could not be signed: \(error)")
        }
        lastGeneration += 1
        return ProviderToken(
            text: Secret(text.text(signature: signature)), keyID: key.keyID, teamID: key.teamID,
            generation: lastGeneration, mintedAt: loop.now)
    }

    /// One timer a key: to look again, or to forget what nobody uses.
    private func schedule(_ key: ProviderKey) {
        guard var entry = entries[key] else { return }
        if let timer = entry.timer.take() { loop.cancel(timer) }
        if entry.subscriptions.isEmpty {
            guard let end = entry.current.map({ $0.mintedAt + Self.kept }), end > loop.now else {
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
        input(.looked, key)
    }
}

/// What `ProviderTokens.cancel` takes. To let go of it cancels nothing.
package final class TokenSubscription: Sendable {
    fileprivate let key: ProviderKey
    private let loop: EventLoop
    private let take: @Sendable (Result<ProviderToken, CredentialError>) -> Void
    fileprivate let isCancelled = Atomic(false)

    fileprivate init(
        key: ProviderKey, loop: EventLoop, take: @escaping @Sendable (Result<ProviderToken, CredentialError>) -> Void
    ) {
        self.key = key
        self.loop = loop
        self.take = take
    }

    fileprivate func hand(_ result: Result<ProviderToken, CredentialError>) {
        // A gateway that has gone with its loop misses nothing.
        loop.executeUnlessStopped { [self] in
            if !isCancelled.load(ordering: .relaxed) { take(result) }
        }
    }
}

extension TokenSubscription: CustomReflectable {
    package var customMirror: Mirror { Mirror(self, children: ["key": key], displayStyle: .class) }
}
