import PushLoop
import PushPostgreSQL
import TestSupport

/// A session of a test with a loop of its own.
final class TestSession: Sendable {
    let loop = EventLoop(name: "session")
    let changes = EventRecorder<PostgreSQLSession.Change>()
    let failures = EventRecorder<String>()
    private let session: LoopBound<PostgreSQLSession>

    init(
        _ url: String, durability: PostgreSQLDurability = .replicated, checkInterval: Duration = .seconds(60),
        connectTimeout: Duration = .seconds(60), primary: SeenPrimary? = SeenPrimary(),
        resolver: @escaping PostgreSQLSession.Resolver = { host in throw PostgreSQLError(message: "no name \(host)") },
        before: @Sendable (EventLoop) async -> Void = { _ in }
    ) async throws {
        await before(loop)
        var options = try PostgreSQLURL.parse(url)
        options.connectTimeout = connectTimeout
        let (loop, changes, failures) = (loop, changes, failures)
        session = await loop.run { [options] in
            var settings = PostgreSQLSession.Settings()
            settings.durability = durability
            settings.checkTimeout = .seconds(60)
            settings.checkInterval = checkInterval
            settings.primary = primary
            let session = PostgreSQLSession(
                on: loop, options: options, settings: settings, resolver: resolver,
                retryDelay: { $0 == 0 ? .zero : .milliseconds(20) })
            session.onChange = { changes.record($0) }
            session.onFailure = { failures.record($0) }
            session.start()
            return LoopBound(session, on: loop)
        }
    }

    /// Waits for the first server that passes the check after `count` changes.
    func up(after count: Int = 0) async throws -> ServerInfo {
        let changes = await changes.wait { $0.dropFirst(count).contains { $0.info != nil } }
        guard let info = changes.dropFirst(count).lazy.compactMap(\.info).first else {
            throw PostgreSQLError(message: "the session is not up: \(changes) \(failures.events)")
        }
        return info
    }

    func send(
        timeout: Duration = .seconds(120), _ write: @escaping @Sendable (PostgreSQLSection) -> Void
    ) async -> PostgreSQLReply {
        let session = session
        return await withCheckedContinuation { continuation in
            loop.execute {
                let section = PostgreSQLSection()
                write(section)
                session.wrapped.send(section, timeout: timeout) { continuation.resume(returning: $0) }
            }
        }
    }

    func run(_ sql: String, timeout: Duration = .seconds(120)) async -> PostgreSQLReply {
        await send(timeout: timeout) { $0.call(.once(sql: sql)) }
    }

    func stop() async {
        await session.with { $0.stop() }
        await loop.shutDown()
    }
}

extension PostgreSQLSession.Change {
    var info: ServerInfo? {
        guard case .up(let info) = self else { return nil }
        return info
    }

    var reason: String? {
        guard case .down(let reason) = self else { return nil }
        return reason
    }
}
