package import PushGateways
package import PushLoop
package import PushModel
package import PushTime
package import PushTransport

/// The access tokens of a process. Each service account has one token, which all its subscribers share.
///
/// There is one instance for a process. An account without subscribers keeps its token for a while, so that a reload of
/// the configuration asks for no token. The actor is pinned to its loop.
package actor AccessTokens {
    /// An account, and the context for the requests of its tokens, without ALPN protocols.
    package struct Source: Sendable {
        let account: ServiceAccount
        let tls: TLSContext
    }

    package typealias Subscription = TokenSubscription<Source, AccessTokenError>

    private struct Entry {
        var machine: AccessTokenMachine
        var current: ProviderToken?
        /// Why there is no token, or no newer one.
        var failure: AccessTokenError?
        var subscriptions: [Subscription] = []
        var timer: TimerID?
    }

    private nonisolated let loop: EventLoop
    private let resolver: NameResolver
    private let wallClock: @Sendable () -> WallTime
    private let settings: AccessTokenMachine.Settings
    private var entries: [ServiceAccount: Entry] = [:]
    private var lastGeneration: UInt64 = 0

    private static let requestTime: Duration = .seconds(20)
    /// How long the token of an account without subscribers is kept.
    private static let idleTime: Duration = .seconds(60)

    package init(
        on loop: EventLoop, resolver: NameResolver, wallClock: @escaping @Sendable () -> WallTime = WallTime.current
    ) {
        self.init(on: loop, resolver: resolver, settings: AccessTokenMachine.Settings(), wallClock: wallClock)
    }

    init(
        on loop: EventLoop, resolver: NameResolver, settings: AccessTokenMachine.Settings,
        wallClock: @escaping @Sendable () -> WallTime = WallTime.current
    ) {
        self.loop = loop
        self.resolver = resolver
        self.settings = settings
        self.wallClock = wallClock
    }

    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Passes the current token and each later one to `take`, on `loop` and in order. A token is asked for if there is
    /// none. A failure means that there is no new token now; a token may follow. May be called on any thread, and returns
    /// at once.
    ///
    /// - Parameter tls: The context for the requests of tokens, without ALPN protocols.
    package nonisolated func subscribe(
        _ account: ServiceAccount, tls: TLSContext, on loop: EventLoop,
        take: @escaping @Sendable (Result<ProviderToken, AccessTokenError>) -> Void
    ) -> Subscription {
        let subscription = Subscription(key: Source(account: account, tls: tls), loop: loop, take: take)
        run { $0.begin(subscription) }
        return subscription
    }

    /// Ends a subscription. If called on the subscription's loop, no token is passed from this moment on.
    package nonisolated func cancel(_ subscription: Subscription) {
        subscription.cancel()
        run { $0.end(subscription) }
    }

    /// Reports that the provider refused the token of this generation.
    package nonisolated func refused(_ account: ServiceAccount, generation: UInt64) {
        run { $0.input(.refused(generation: generation), for: account) }
    }

    private nonisolated func run(_ work: @escaping @Sendable (isolated AccessTokens) -> Void) {
        loop.execute { self.assumeIsolated { work($0) } }
    }

    // MARK: On the loop

    private func begin(_ subscription: Subscription) {
        guard !subscription.isCancelled else { return }
        let account = subscription.key.account
        var entry = entries[account] ?? Entry(machine: AccessTokenMachine(settings))
        entry.subscriptions.append(subscription)
        entries[account] = entry
        input(.looked, for: account)
        if let current = entries[account]?.current {
            subscription.deliver(.success(current))
        } else if let failure = entries[account]?.failure {
            subscription.deliver(.failure(failure))
        }
    }

    private func end(_ subscription: Subscription) {
        guard var entry = entries[subscription.key.account] else { return }
        entry.subscriptions.removeAll { $0 === subscription }
        entries[subscription.key.account] = entry
        if entry.subscriptions.isEmpty { schedule(subscription.key.account) }
    }

    private func input(_ input: AccessTokenMachine.Input, for account: ServiceAccount) {
        guard var entry = entries[account] else { return }
        // Without subscribers no token is asked for.
        if input == .looked, entry.subscriptions.isEmpty { return }
        let action = entry.machine.input(input, now: loop.now)
        if entry.machine.generation == nil { entry.current = nil }
        if action == .end {
            let failure = entry.failure ?? AccessTokenError("the access token has ended, and there is no other yet")
            for subscription in entry.subscriptions { subscription.deliver(.failure(failure)) }
        }
        entries[account] = entry
        // A request may end at once.
        if action == .mint { mint(account) }
        schedule(account)
    }

    private func mint(_ account: ServiceAccount) {
        guard let tls = entries[account]?.subscriptions.last?.key.tls else {
            input(.mintFailed, for: account)
            return
        }
        let form: [UInt8]
        do {
            form = try TokenRequest.form(for: account, at: wallClock())
        } catch {
            failed("cannot sign a request for an access token: \(error)", for: account)
            return
        }
        let request = HTTP1ClientRequest(
            post: form, to: account.tokenAddress, contentType: TokenRequest.contentType)
        HTTP1ClientCall.start(request, on: loop, resolver: resolver, tls: tls, within: Self.requestTime) {
            [weak self] result in
            self?.assumeIsolated { $0.answered(result, for: account) }
        }
    }

    private func answered(_ result: Result<HTTP1Response, HTTP1ClientFault>, for account: ServiceAccount) {
        switch result {
        case .failure(let fault):
            let code = ConnectionFault(fault, at: fault.address.description).code
            failed("cannot ask for an access token: \(fault)", unreached: code, for: account)
        case .success(let response):
            switch TokenAnswer(status: response.status, body: response.body) {
            case .token(let text, let lifetime): minted(text, lifetime: lifetime, for: account)
            case .refused(let reason):
                failed(
                    "\(account.tokenAddress) gave no access token for \(account): \(reason)", for: account)
            }
        }
    }

    private func minted(_ text: Secret<String>, lifetime: Duration, for account: ServiceAccount) {
        guard var entry = entries[account] else { return }
        lastGeneration += 1
        let token = ProviderToken(text: text, generation: lastGeneration, mintedAt: loop.now)
        entry.current = token
        entry.failure = nil
        _ = entry.machine.input(.minted(generation: token.generation, lifetime: lifetime), now: loop.now)
        entries[account] = entry
        for subscription in entry.subscriptions { subscription.deliver(.success(token)) }
        schedule(account)
    }

    private func failed(_ message: String, unreached: ConnectionFault.Code? = nil, for account: ServiceAccount) {
        guard var entry = entries[account] else { return }
        let failure = AccessTokenError(message, unreached: unreached)
        entry.failure = failure
        entries[account] = entry
        for subscription in entry.subscriptions { subscription.deliver(.failure(failure)) }
        input(.mintFailed, for: account)
    }

    /// Sets the timer of an account: for the next look, or for removing an unused entry.
    private func schedule(_ account: ServiceAccount) {
        guard var entry = entries[account] else { return }
        if let timer = entry.timer.take() { loop.cancel(timer) }
        if entry.subscriptions.isEmpty {
            entry.timer = loop.schedule(after: Self.idleTime) { [weak self] in
                self?.assumeIsolated { tokens in
                    if tokens.entries[account]?.subscriptions.isEmpty == true { tokens.entries[account] = nil }
                }
            }
        } else if entry.machine.nextLook < .distantFuture {
            entry.timer = loop.schedule(at: entry.machine.nextLook) { [weak self] in
                self?.assumeIsolated { $0.look(account) }
            }
        }
        entries[account] = entry
    }

    private func look(_ account: ServiceAccount) {
        entries[account]?.timer = nil
        input(.looked, for: account)
    }
}

/// Why there is no access token. The message describes what is wrong, where, and what to do.
package struct AccessTokenError: TokenFailure, Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package let unreached: ConnectionFault.Code?

    init(_ description: String, unreached: ConnectionFault.Code? = nil) {
        self.description = description
        self.unreached = unreached
    }
}
