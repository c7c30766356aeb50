import PushLoop
import PushPostgreSQL

/// The sessions of one store, which are opened together.
enum StoreSessions {
    /// Opens sessions and waits until each is up. Throws the reason of the last failed attempt when `limit` is over.
    static func open(
        _ count: Int, on loop: EventLoop, _ settings: PostgreSQLLedger.Settings, within limit: Duration
    ) async throws(StoreError) -> LoopBound<[PostgreSQLSession]> {
        let opened: Result<LoopBound<[PostgreSQLSession]>, StoreError> = await withCheckedContinuation { continuation in
            loop.execute {
                let opening = Opening(on: loop) { continuation.resume(returning: $0) }
                opening.start(count, settings, within: limit)
            }
        }
        return try opened.get()
    }

    /// Sessions that are not all up yet. It keeps itself until they are, or until the time is over.
    private final class Opening {
        private let loop: EventLoop
        private var sessions: [PostgreSQLSession] = []
        private var missing = 0
        private var reason = "no answer"
        private var done: ((Result<LoopBound<[PostgreSQLSession]>, StoreError>) -> Void)?

        init(
            on loop: EventLoop, done: @escaping (Result<LoopBound<[PostgreSQLSession]>, StoreError>) -> Void
        ) {
            self.loop = loop
            self.done = done
        }

        func start(_ count: Int, _ settings: PostgreSQLLedger.Settings, within limit: Duration) {
            missing = count
            for _ in 0..<count {
                let session = PostgreSQLSession(
                    on: loop, options: settings.options, settings: settings.session, resolver: settings.resolver,
                    retryDelay: settings.retryDelay)
                session.onFailure = { [unowned self] text in
                    reason = text
                    settings.failed(text)
                }
                session.onChange = { [unowned self] change in
                    guard case .up = change else { return }
                    missing -= 1
                    if missing == 0 { finish(.success(LoopBound(sessions, on: loop))) }
                }
                sessions.append(session)
            }
            for session in sessions { session.start() }
            loop.schedule(after: limit) { [self] in
                guard done != nil else { return }
                for session in sessions { session.stop() }
                finish(.failure(StoreError(.cannotOpen, "cannot reach \(settings.options): \(reason)")))
            }
        }

        private func finish(_ result: Result<LoopBound<[PostgreSQLSession]>, StoreError>) {
            for session in sessions {
                session.onChange = nil
                session.onFailure = nil
            }
            done.take()?(result)
        }
    }
}
