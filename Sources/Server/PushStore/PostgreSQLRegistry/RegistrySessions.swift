import PushLoop
import PushPostgreSQL
import PushTime

/// The connections of a registry: one that writes and follows, and two that read, so that a long list does not delay
/// what is short.
final class RegistrySessions: Sendable {
    private let sessions: LoopBound<[PostgreSQLSession]>
    private let gate: LoopGate
    private let name: String
    /// How often the connection that writes was opened.
    private let openings = Locked(0)
    private let isClosed = Locked(false)
    private let watcher = Locked<LoopBound<TimerHandle>?>(nil)

    private init(_ sessions: LoopBound<[PostgreSQLSession]>, gate: LoopGate, name: String) {
        self.sessions = sessions
        self.gate = gate
        self.name = name
    }

    static func open(_ settings: PostgreSQLLedger.Settings) async throws -> RegistrySessions {
        let loop = EventLoop(name: "registry")
        var settings = settings
        settings.session.limits.maxSections = 512
        do {
            let sessions = try await StoreSessions.open(3, on: loop, settings, within: .seconds(30))
            let opened = RegistrySessions(sessions, gate: LoopGate(loop), name: "\(settings.options)")
            let failed = settings.failed
            await sessions.with { sessions in
                for (index, session) in sessions.enumerated() {
                    opened.prepare(session)
                    session.onFailure = failed
                    session.onChange = { [weak opened, weak session] change in
                        guard case .up = change, let session else { return }
                        if index == 0 { opened?.openings.withLock { $0 += 1 } }
                        opened?.prepare(session)
                    }
                }
            }
            return opened
        } catch {
            await loop.shutDown()
            throw error
        }
    }

    private func prepare(_ session: PostgreSQLSession) {
        let section = PostgreSQLSection()
        section.call(RegistryStatements.plans)
        session.send(section, timeout: .seconds(30)) { _ in }
    }

    var openingCount: Int { openings.withLock { $0 } }

    /// The time by the clock that also runs while the machine is suspended.
    static var now: MonotonicTime { .sinceBoot() }

    func repeating(every interval: Duration, _ action: @escaping @Sendable () -> Void) async {
        let timer = await sessions.with { [gate] _ in
            LoopBound(gate.loop.scheduleRepeating(every: interval, action: action), on: gate.loop)
        }
        watcher.withLock { $0 = timer }
    }

    func close() async {
        if isClosed.withLock({ exchange(&$0, with: true) }) { return }
        let timer = watcher.withLock { $0.take() }
        if let timer { await timer.with { [gate] in gate.loop.cancel($0) } }
        await sessions.with { for session in $0 { session.stop() } }
        if gate.close() { await gate.loop.shutDown() }
    }

    func pause(_ time: Duration) async {
        await withCheckedContinuation { continuation in
            let isTaken = gate.execute { [gate] in gate.loop.schedule(after: time) { continuation.resume() } }
            if !isTaken { continuation.resume() }
        }
    }

    // MARK: Calls

    typealias Write = @Sendable (PostgreSQLSection) -> Void

    /// Sends a section on the connection that writes.
    func write(within timeout: Duration, _ write: @escaping Write) async -> PostgreSQLReply {
        await send(timeout, write) { $0[0] }
    }

    private func send(
        _ timeout: Duration, _ write: @escaping Write,
        on choose: @escaping @Sendable ([PostgreSQLSession]) -> PostgreSQLSession
    ) async -> PostgreSQLReply {
        await withCheckedContinuation { continuation in
            let isTaken = gate.execute { [sessions] in
                let section = PostgreSQLSection()
                write(section)
                choose(sessions.wrapped).send(section, timeout: timeout) { continuation.resume(returning: $0) }
            }
            if !isTaken { continuation.resume(returning: .notSent("the registry is closed")) }
        }
    }

    /// The time for which a call that reads waits for the database.
    private static let patience: Duration = .seconds(10)
    /// The longest time for one question.
    private static let longest: Duration = .seconds(60)
    private static let pause: Duration = .milliseconds(50)

    /// Reads, and tries again while the database is away.
    ///
    /// - Parameter isOrdered: Whether the reading follows all earlier writes on their connection.
    func read(
        isOrdered: Bool = false, until deadline: MonotonicTime? = nil, _ write: @escaping Write
    ) async throws -> [PostgreSQLResult] {
        let limit = deadline.map { max(.milliseconds(100), $0 - Self.now) } ?? Self.longest
        let deadline = deadline ?? Self.now + Self.patience
        while true {
            let reply = await send(min(limit, Self.longest), write) { sessions in
                isOrdered || sessions.count < 3
                    ? sessions[0]
                    : sessions[1].sectionsInFlight <= sessions[2].sectionsInFlight ? sessions[1] : sessions[2]
            }
            let reason: String
            switch reply {
            case .done(let results): return results
            case .refused(let failure):
                // The question is too complex, now and later.
                if failure.sqlState.rawValue.hasPrefix("54") { throw failure }
                guard failure.sqlState.mayPassForRegistry else { throw self.failure("\(failure)") }
                reason = "\(failure)"
            case .unknown(let text), .notSent(let text): reason = text
            }
            if isClosed.withLock({ $0 }) || Self.now >= deadline { throw unavailable(reason) }
            await pause(Self.pause)
        }
    }

    /// Returns the results of a section that may be carried out twice.
    @discardableResult
    func check(_ reply: PostgreSQLReply) throws -> [PostgreSQLResult] {
        switch reply {
        case .done(let results): return results
        case .refused(let failure) where !failure.sqlState.mayPassForRegistry: throw self.failure("\(failure)")
        case .refused(let failure): throw unavailable("\(failure)")
        case .unknown(let reason), .notSent(let reason): throw unavailable(reason)
        }
    }

    func unavailable(_ reason: String) -> RegistryError {
        RegistryError(
            .unavailable, "the registry cannot use its database \(name): \(reason); check PostgreSQL, and try again")
    }

    func failure(_ reason: String) -> RegistryError {
        RegistryError(.damaged, "the registry's database \(name) refused a statement: \(reason)")
    }
}

extension SQLState {
    /// Whether the same section may succeed if it is sent again: another transaction was in the way, or the server is
    /// about to stop, starts, or lacks something.
    var mayPassForRegistry: Bool {
        ["08", "40", "53", "55", "57", "58"].contains(rawValue.prefix(2)) || self == .readOnlyTransaction
    }
}
