import PushLoop
package import PushPostgreSQL

/// The way of an operator's command to the database of a store. Each visit has a connection and a loop of its own.
package struct StoreAccess: Sendable {
    package var options: PostgreSQLOptions
    /// How many copies the nodes of this store need.
    package var durability: PostgreSQLDurability
    package var resolver: PostgreSQLSession.Resolver

    package init(
        _ options: PostgreSQLOptions, durability: PostgreSQLDurability,
        resolver: @escaping PostgreSQLSession.Resolver
    ) {
        self.options = options
        self.durability = durability
        self.resolver = resolver
    }

    /// Connects to the primary, and returns the result of `body`. It tries each host once. Servers that could lose what
    /// they acknowledge are refused.
    ///
    /// - Parameter durability: How many copies a commit must have before it counts; nil for that of the nodes.
    func visit<Result: Sendable>(
        durability: PostgreSQLDurability? = nil, _ body: (StoreCall, ServerInfo) async throws -> Result
    ) async throws -> Result {
        var settings = PostgreSQLSession.Settings()
        settings.durability = durability ?? self.durability
        settings.limits.maxSections = 64
        return try await connected(options, with: settings, body: body)
    }

    /// Connects to one host, whatever the state of its server, and returns what it reports.
    func examine(_ host: PostgreSQLHost) async throws -> ServerInfo {
        try await lenient(host) { _, info in info }
    }

    /// Connects to one host, whatever its settings, and returns the result of `body`.
    func inspect<Result: Sendable>(
        _ host: PostgreSQLHost, body: (StoreCall) async throws -> Result
    ) async throws -> Result {
        try await lenient(host) { call, _ in try await body(call) }
    }

    private func lenient<Result: Sendable>(
        _ host: PostgreSQLHost, body: (StoreCall, ServerInfo) async throws -> Result
    ) async throws -> Result {
        var settings = PostgreSQLSession.Settings()
        settings.durability = durability
        settings.refusesFaults = false
        var options = options
        options.hosts = [host]
        return try await connected(options, with: settings, body: body)
    }

    private func connected<Result: Sendable>(
        _ options: PostgreSQLOptions, with settings: PostgreSQLSession.Settings,
        body: (StoreCall, ServerInfo) async throws -> Result
    ) async throws -> Result {
        var options = options
        // The check of the session names the fault of a standby. libpq would only name its symptom.
        options.requiresPrimary = false
        let loop = EventLoop(name: "store")
        let gate = LoopGate(loop)
        let result: Swift.Result<Result, any Error>
        do {
            let (session, info) = try await Self.open(options, with: settings, resolver: resolver, on: loop)
            do {
                result = .success(try await body(StoreCall(session, gate: gate, name: "\(options)"), info))
            } catch {
                result = .failure(error)
            }
            await session.with { $0.stop() }
        } catch {
            result = .failure(error)
        }
        _ = gate.close()
        await loop.shutDown()
        return try result.get()
    }

    /// Opens a session. If one round over all hosts fails, it throws the reasons.
    private static func open(
        _ options: PostgreSQLOptions, with settings: PostgreSQLSession.Settings,
        resolver: @escaping PostgreSQLSession.Resolver, on loop: EventLoop
    ) async throws(StoreError) -> (LoopBound<PostgreSQLSession>, ServerInfo) {
        typealias Opened = Result<(LoopBound<PostgreSQLSession>, ServerInfo), StoreError>
        let opened: Opened = await withCheckedContinuation { continuation in
            loop.execute {
                let session = PostgreSQLSession(
                    on: loop, options: options, settings: settings, resolver: resolver,
                    retryDelay: { _ in .seconds(3600) })
                // The closures keep the session until they are removed.
                let finish = { (opened: Opened) in
                    session.onChange = nil
                    session.onFailure = nil
                    if case .failure = opened { session.stop() }
                    continuation.resume(returning: opened)
                }
                session.onChange = { change in
                    guard case .up(let info) = change else { return }
                    finish(.success((LoopBound(session, on: loop), info)))
                }
                session.onFailure = { reason in
                    finish(.failure(StoreError(.cannotOpen, "cannot use \(options): \(reason)")))
                }
                session.start()
            }
        }
        return try opened.get()
    }
}
