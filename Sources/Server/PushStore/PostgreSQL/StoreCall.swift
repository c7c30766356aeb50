import PushLoop
import PushPostgreSQL

/// A session with calls that suspend, for what is not on the way of a notification: the start, and commands of
/// operators.
struct StoreCall: Sendable {
    private let session: LoopBound<PostgreSQLSession>
    private let gate: LoopGate
    /// The name of the database in errors.
    let name: String
    /// The time for a section that has no other.
    private let limit: Duration

    init(
        _ session: LoopBound<PostgreSQLSession>, gate: LoopGate, name: String, limit: Duration = .seconds(60)
    ) {
        self.session = session
        self.gate = gate
        self.name = name
        self.limit = limit
    }

    /// Runs a section and returns its outcome.
    func reply(
        within limit: Duration? = nil, _ write: @escaping @Sendable (PostgreSQLSection) -> Void
    ) async -> PostgreSQLReply {
        let (session, limit) = (session, limit ?? self.limit)
        return await withCheckedContinuation { continuation in
            let isTaken = gate.execute {
                let section = PostgreSQLSection()
                write(section)
                session.wrapped.send(section, timeout: limit) { continuation.resume(returning: $0) }
            }
            if !isTaken { continuation.resume(returning: .notSent("the store is closed")) }
        }
    }

    /// Runs a section and returns the results.
    func run(
        timeout: Duration? = nil, _ write: @escaping @Sendable (PostgreSQLSection) -> Void
    ) async throws(StoreError) -> [PostgreSQLResult] {
        try results(of: await reply(within: timeout, write))
    }

    /// Returns the results of a section.
    func results(of reply: PostgreSQLReply) throws(StoreError) -> [PostgreSQLResult] {
        switch reply {
        case .done(let results): return results
        case .refused(let failure): throw StoreError(.cannotOpen, "\(name): \(failure)")
        case .unknown(let reason), .notSent(let reason): throw StoreError(.cannotOpen, "\(name): \(reason)")
        }
    }

    /// Runs one statement and returns its result.
    func run(_ sql: String) async throws(StoreError) -> PostgreSQLResult {
        try await run { $0.call(.once(sql: sql)) }[0]
    }
}
